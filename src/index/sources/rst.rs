//! reStructuredText as blocks.
//!
//! Input: a source text. Output: its blocks. No kept Rust crate reads the directives that documentation is written with, so
//! this is a reader of what readers see: sections, paragraphs, lists, literal blocks, the common directives of docutils and
//! Sphinx, both kinds of tables, inline roles. It follows the reStructuredText specification
//! (<https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html>) and drops what it does not know how to show, but
//! never the text inside of an unknown directive.
//! **Invariant:** anchors are those of docutils' `make_id`, as Sphinx writes them.

use std::collections::BTreeMap;

use crate::index::sources::anchors::{AnchorStyle, Anchors};
use crate::index::sources::page::{Block, PageFacts};

/// Directives whose content is code; their argument is the language.
const CODE: &[&str] =
    &["code-block", "code", "sourcecode", "parsed-literal", "prompt", "ipython", "doctest", "testcode", "math"];
/// Directives that show nothing of their own.
const SILENT: &[&str] = &[
    "toctree",
    "contents",
    "raw",
    "index",
    "meta",
    "highlight",
    "currentmodule",
    "module",
    "include",
    "literalinclude",
    "automodule",
    "autoclass",
    "autofunction",
    "autosummary",
    "image",
    "sectnum",
    "default-role",
    "testsetup",
    "testcleanup",
    "py:currentmodule",
    "py:module",
    "graphviz",
    "tabularcolumns",
    "role",
];
/// How deep blocks may stand in each other; more is no text that a person wrote.
const MAX_DEPTH: usize = 32;

/// A page of reStructuredText.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RstPage {
    /// What the field list at its start says.
    pub facts: PageFacts,
    /// The content.
    pub blocks: Vec<Block>,
}

/// Reads a page.
#[must_use]
pub fn read(source: &str, style: AnchorStyle) -> RstPage {
    let text = source.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\t', "        ");
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut reader = Reader {
        blocks: Vec::new(),
        anchors: Anchors::new(style),
        styles: Vec::new(),
        substitutions: substitutions(&lines),
        module: String::new(),
        object: String::new(),
        level: 1,
    };
    reader.body(&lines, 0, true);
    RstPage { facts: facts(&lines), blocks: reader.blocks }
}

struct Reader {
    blocks: Vec<Block>,
    anchors: Anchors,
    /// The adornments of headings in the order in which they appeared: their rank is the level.
    styles: Vec<(char, bool)>,
    substitutions: BTreeMap<String, String>,
    module: String,
    /// The object that is being described: its members are named after it.
    object: String,
    level: u8,
}

impl Reader {
    fn body(&mut self, lines: &[&str], depth: usize, sections: bool) {
        if depth > MAX_DEPTH {
            return;
        }
        let mut at = 0;
        while at < lines.len() {
            let line = lines[at];
            if line.trim().is_empty() {
                at += 1;
                continue;
            }
            if sections && let Some((length, title, style)) = heading(&lines[at..]) {
                self.heading(title, style);
                at += length;
                continue;
            }
            if is_transition(line) && lines.get(at + 1).is_none_or(|next| next.trim().is_empty()) {
                at += 1;
                continue;
            }
            at += self.block(&lines[at..], depth, sections);
        }
    }

    fn heading(&mut self, title: &str, style: (char, bool)) {
        let rank = self.styles.iter().position(|known| *known == style).unwrap_or_else(|| {
            self.styles.push(style);
            self.styles.len() - 1
        });
        let text = self.inline(title).replace('`', "");
        let anchor = self.anchors.next(&text);
        self.level = (rank as u8 + 1).min(6);
        self.blocks.push(Block::Heading { level: self.level, text, anchor });
    }

    /// Reads one block at the start of `lines` and says how many lines it took.
    fn block(&mut self, lines: &[&str], depth: usize, sections: bool) -> usize {
        let first = lines[0];
        let indent = indent_of(first);
        let text = &first[indent..];
        if text.starts_with(".. ") || text == ".." {
            return self.explicit(lines, depth, sections);
        }
        if text.starts_with("+-") || text.starts_with("+=") {
            return self.grid_table(lines);
        }
        if text.starts_with("==") && text.contains(' ') && text.chars().all(|c| c == '=' || c == ' ') {
            return self.simple_table(lines);
        }
        if text.starts_with(">>> ") {
            let length = lines.iter().take_while(|line| !line.trim().is_empty()).count();
            self.code("python", &lines[..length]);
            return length;
        }
        if let Some(marker) = list_marker(text) {
            return self.item(lines, indent, marker, depth);
        }
        if text.starts_with(':') && text[1..].contains(':') && !text.starts_with(":`") && is_field(text) {
            return self.field(lines, indent, depth);
        }
        if indent > 0 {
            // A quotation.
            let length = indented_length(lines, indent);
            self.body(&dedented(&lines[..length], indent), depth + 1, false);
            return length;
        }
        self.paragraph(lines, depth)
    }

    fn paragraph(&mut self, lines: &[&str], depth: usize) -> usize {
        let mut length = 1;
        while length < lines.len() && !lines[length].trim().is_empty() {
            // A term with its definition under it.
            if length == 1 && indent_of(lines[1]) > 0 && !lines[0].ends_with("::") {
                let definition = indented_length(&lines[1..], 1);
                self.push_text(self.inline(lines[0]));
                let indent = indent_of(lines[1]);
                self.body(&dedented(&lines[1..=definition], indent), depth + 1, false);
                return definition + 1;
            }
            length += 1;
        }
        let joined = if lines[..length].iter().all(|line| line.starts_with("| ") || *line == "|") {
            lines[..length].iter().map(|line| line.trim_start_matches('|').trim()).collect::<Vec<_>>().join("\n")
        } else {
            join_lines(&lines[..length])
        };
        let literal = joined.ends_with("::");
        let text = match joined.strip_suffix("::") {
            Some(before) if before.trim().is_empty() => String::new(),
            Some(before) if before.ends_with(' ') => before.trim_end().to_owned(),
            Some(before) => format!("{before}:"),
            None => joined,
        };
        self.push_text(self.inline(&text));
        if !literal {
            return length;
        }
        let start = length + lines[length..].iter().take_while(|line| line.trim().is_empty()).count();
        let Some(next) = lines.get(start).filter(|line| indent_of(line) > 0) else { return length };
        let code = indented_length(&lines[start..], indent_of(next).min(1));
        self.code("", &lines[start..start + code]);
        start + code
    }

    fn push_text(&mut self, text: String) {
        if text.chars().any(char::is_alphanumeric) {
            self.blocks.push(Block::Text(text));
        }
    }

    fn code(&mut self, language: &str, lines: &[&str]) {
        let lines = dedented(lines, usize::MAX);
        let code = lines.join("\n").trim_matches('\n').to_owned();
        if !code.trim().is_empty() {
            self.blocks.push(Block::Code { language: language.to_owned(), code });
        }
    }

    /// An item of a list: its text in lines under the marker, its code in blocks of its own.
    fn item(&mut self, lines: &[&str], indent: usize, marker: (usize, String), depth: usize) -> usize {
        let (width, shown) = marker;
        let inner = indent + width;
        let mut length = 1;
        while length < lines.len() && (lines[length].trim().is_empty() || indent_of(lines[length]) > indent) {
            length += 1;
        }
        while length > 1 && lines[length - 1].trim().is_empty() {
            length -= 1;
        }
        let mut content: Vec<&str> = vec![&lines[0][inner.min(lines[0].len())..]];
        content.extend(dedented(&lines[1..length], inner));
        let before = self.blocks.len();
        self.body(&content, depth + 1, false);
        let mut first = true;
        for block in &mut self.blocks[before..] {
            if let Block::Text(text) = block {
                let mark = if first { shown.as_str() } else { "  " };
                *text = format!("{mark}{}", text.replace('\n', "\n  "));
            }
            first = false;
        }
        // Items of a list stand together in one block of text.
        let joins = before > 0
            && self.blocks.len() > before
            && matches!(&self.blocks[before - 1], Block::Text(text) if text.lines().last().is_some_and(|line| list_marker(line.trim_start()).is_some() || line.starts_with("  ")));
        if joins
            && let Block::Text(text) = self.blocks.remove(before)
            && let Some(Block::Text(list)) = self.blocks.get_mut(before - 1)
        {
            list.push('\n');
            list.push_str(&text);
        }
        // The rest of the item's texts follow in their own lines.
        let from = if joins { before - 1 } else { before };
        let mut i = from + 1;
        while i < self.blocks.len() {
            if let (Block::Text(a), Block::Text(b)) = (&self.blocks[i - 1], &self.blocks[i]) {
                let joined = format!("{a}\n{b}");
                self.blocks[i - 1] = Block::Text(joined);
                self.blocks.remove(i);
            } else {
                i += 1;
            }
        }
        length
    }

    fn field(&mut self, lines: &[&str], indent: usize, depth: usize) -> usize {
        let length = 1 + indented_length(&lines[1..], indent + 1);
        let text = &lines[0][indent + 1..];
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let mut content = vec![value.trim()];
        content.extend(dedented(&lines[1..length], usize::MAX));
        // The metadata of a page is no text of it.
        let is_metadata = self.blocks.is_empty() && depth == 0;
        if !is_metadata {
            let joined = join_lines(&content);
            self.push_text(self.inline(&format!("{name}: {joined}")));
        }
        length
    }

    /// Explicit markup: directives, targets, substitutions, footnotes, comments.
    fn explicit(&mut self, lines: &[&str], depth: usize, sections: bool) -> usize {
        let indent = indent_of(lines[0]);
        let rest = lines[0][indent..].trim_start_matches("..").trim_start();
        let length = 1 + indented_length(&lines[1..], indent + 1);
        let body = &lines[1..length];
        if rest.starts_with('_') || rest.starts_with('|') {
            return if rest.starts_with('|') { length } else { 1 };
        }
        if let Some(note) = rest.strip_prefix('[') {
            let (label, text) = note.split_once(']').unwrap_or((note, ""));
            let mut content = vec![text.trim()];
            content.extend(body.iter().copied());
            let joined = join_lines(&content);
            self.push_text(self.inline(&format!("[{label}] {joined}")));
            return length;
        }
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_:+.".contains(c));
        let Some((name, argument)) = rest.split_once("::").filter(|(name, _)| is_name(name)) else {
            return length;
        };
        self.directive(name, argument.trim(), body, depth, sections);
        length
    }

    fn directive(&mut self, name: &str, argument: &str, body: &[&str], depth: usize, sections: bool) {
        let body = dedented(body, usize::MAX);
        let options = body.iter().take_while(|line| is_field(line)).count();
        let (options, content) = body.split_at(options);
        let option = |wanted: &str| {
            options
                .iter()
                .find_map(|line| line.strip_prefix(&format!(":{wanted}:")))
                .map(|value| value.trim().to_owned())
        };
        match name {
            "module" | "py:module" | "currentmodule" | "py:currentmodule" => argument.clone_into(&mut self.module),
            name if CODE.contains(&name) => {
                if let Some(caption) = option("caption") {
                    self.push_text(self.inline(&caption));
                }
                self.code(if name == "math" { "math" } else { argument }, content);
            }
            name if SILENT.contains(&name) => {}
            "csv-table" => {
                let mut rows: Vec<Vec<String>> =
                    content.iter().filter(|line| !line.trim().is_empty()).map(|line| csv(line)).collect();
                let header = option("header")
                    .map(|header| csv(&header))
                    .or_else(|| (option("header-rows").is_some() && !rows.is_empty()).then(|| rows.remove(0)));
                self.caption(argument);
                self.table(header, rows);
            }
            "list-table" => {
                let mut rows = list_table(content);
                let header =
                    (option("header-rows").is_some_and(|n| n != "0") && !rows.is_empty()).then(|| rows.remove(0));
                self.caption(argument);
                self.table(header, rows);
            }
            "versionadded" | "versionchanged" | "deprecated" => {
                let (version, text) = argument.split_once(' ').unwrap_or((argument, ""));
                let words = match name {
                    "versionadded" => "New in version",
                    "versionchanged" => "Changed in version",
                    _ => "Deprecated since version",
                };
                let mut lines = vec![text];
                lines.extend(content.iter().copied());
                let joined = join_lines(&lines);
                let mark = if joined.is_empty() { "." } else { ": " };
                self.push_text(self.inline(&format!("{words} {version}{mark}{joined}")));
            }
            name if is_object(name) => {
                let signature = argument.trim_end_matches('\\').trim();
                let is_python = name.starts_with("py:") || !name.contains(':');
                let anchor = is_python.then(|| self.object_name(signature)).filter(|anchor| !anchor.is_empty());
                let level = self.level;
                let text = signature.to_owned();
                self.blocks.push(Block::Heading { level: (level + 1).min(6), text, anchor: anchor.clone() });
                let around = std::mem::replace(&mut self.object, anchor.unwrap_or_default());
                self.body(content, depth + 1, false);
                self.object = around;
                self.level = level;
            }
            // Admonitions, figures, tabs, `only`, and whatever extensions bring: their content is text.
            _ => {
                let shows_argument = !matches!(
                    name,
                    "figure"
                        | "only"
                        | "container"
                        | "rst-class"
                        | "class"
                        | "cssclass"
                        | "ifconfig"
                        | "tab-set"
                        | "grid"
                        | "table"
                        | "toggle"
                        | "seealso-inline"
                );
                let is_sentence = matches!(
                    name,
                    "note"
                        | "tip"
                        | "warning"
                        | "important"
                        | "caution"
                        | "danger"
                        | "attention"
                        | "hint"
                        | "error"
                        | "seealso"
                        | "todo"
                );
                if shows_argument && is_sentence {
                    let joins = content.iter().take_while(|line| !line.trim().is_empty()).count();
                    let mut lines = vec![argument];
                    if !argument.is_empty() {
                        lines.extend(&content[..joins]);
                        self.body(&lines, depth + 1, false);
                        self.body(&content[joins..], depth + 1, false);
                        return;
                    }
                } else if shows_argument {
                    self.push_text(self.inline(argument));
                } else if name == "table" {
                    self.caption(argument);
                }
                self.body(content, depth + 1, sections && name == "only");
            }
        }
    }

    /// The full name of a Python object, which Sphinx takes as its anchor.
    fn object_name(&self, signature: &str) -> String {
        let mut words = signature.split(' ');
        let first = words.next().unwrap_or_default();
        let named = if matches!(first, "class" | "async" | "staticmethod" | "classmethod") {
            words.next().unwrap_or_default()
        } else {
            first
        };
        let bare = named.split(['(', ':', '=']).next().unwrap_or_default();
        let around = if self.object.is_empty() { &self.module } else { &self.object };
        if around.is_empty() || bare.is_empty() || bare.starts_with(around.as_str()) {
            bare.to_owned()
        } else {
            format!("{around}.{bare}")
        }
    }

    fn caption(&mut self, argument: &str) {
        self.push_text(self.inline(argument));
    }

    fn table(&mut self, header: Option<Vec<String>>, rows: Vec<Vec<String>>) {
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(|cell| self.inline(cell).replace('|', "\\|")).collect();
            format!("| {} |", cells.join(" | "))
        };
        let rows: Vec<String> = rows.iter().filter(|row| row.iter().any(|cell| !cell.is_empty())).map(line).collect();
        let header =
            header.map_or(String::new(), |cells| format!("{}\n|{}", line(&cells), " --- |".repeat(cells.len())));
        if !rows.is_empty() {
            self.blocks.push(Block::Table { header, rows });
        }
    }

    /// A table drawn with `+---+`: cells are cut at the columns of its first line, spanning cells included in their first.
    fn grid_table(&mut self, lines: &[&str]) -> usize {
        let indent = indent_of(lines[0]);
        let length =
            lines.iter().take_while(|line| line.get(indent..).is_some_and(|l| l.starts_with(['+', '|']))).count();
        let table: Vec<Vec<char>> = lines[..length].iter().map(|line| line[indent..].chars().collect()).collect();
        let borders: Vec<usize> = table[0].iter().enumerate().filter(|(_, c)| **c == '+').map(|(i, _)| i).collect();
        let (mut header, mut rows): (Option<Vec<String>>, Vec<Vec<String>>) = (None, Vec::new());
        let mut cells: Vec<String> = vec![String::new(); borders.len().saturating_sub(1)];
        for line in &table[1..] {
            if line.first() == Some(&'+') {
                let row = std::mem::replace(&mut cells, vec![String::new(); borders.len().saturating_sub(1)]);
                rows.push(row.iter().map(|cell| cell.trim().to_owned()).collect());
                if line.contains(&'=') && header.is_none() {
                    header = rows.pop();
                }
                continue;
            }
            for (cell, border) in cells.iter_mut().zip(borders.windows(2)) {
                let part: String = line.iter().skip(border[0] + 1).take(border[1] - border[0] - 1).collect();
                cell.push_str(part.trim_matches(['|', ' ']));
                cell.push(' ');
            }
        }
        self.table(header, rows);
        length.max(1)
    }

    /// A table whose columns are ruled with `===`.
    fn simple_table(&mut self, lines: &[&str]) -> usize {
        let ruler: Vec<char> = lines[0].chars().collect();
        let mut columns: Vec<(usize, usize)> = Vec::new();
        for (i, c) in ruler.iter().enumerate() {
            match (c, columns.last_mut()) {
                ('=', Some(last)) if last.1 == i => last.1 = i + 1,
                ('=', _) => columns.push((i, i + 1)),
                _ => {}
            }
        }
        let is_ruler = |line: &str| line.trim_start().starts_with("==") && line.chars().all(|c| c == '=' || c == ' ');
        let rulers: Vec<usize> =
            lines.iter().enumerate().filter(|(_, line)| is_ruler(line)).map(|(i, _)| i).take(3).collect();
        let (head_end, end) = match rulers.as_slice() {
            [_, head, end] if lines[1..*end].iter().all(|line| !line.is_empty() || *end - *head > 1) => {
                (Some(*head), *end)
            }
            [_, end, ..] => (None, *end),
            _ => return 1,
        };
        let cut = |line: &str| -> Vec<String> {
            let chars: Vec<char> = line.chars().collect();
            columns
                .iter()
                .enumerate()
                .map(|(n, (from, to))| {
                    let to = if n + 1 == columns.len() { chars.len() } else { (*to).max(*from) };
                    chars
                        .get(*from..to.min(chars.len()))
                        .unwrap_or_default()
                        .iter()
                        .collect::<String>()
                        .trim()
                        .to_owned()
                })
                .collect()
        };
        let read = |range: &[&str]| {
            let mut rows: Vec<Vec<String>> = Vec::new();
            for line in range.iter().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--")) {
                let cells = cut(line);
                // A row whose first cell is empty continues the row before it.
                match rows.last_mut() {
                    Some(last) if cells.first().is_some_and(String::is_empty) => {
                        for (cell, more) in last.iter_mut().zip(&cells).filter(|(_, more)| !more.is_empty()) {
                            cell.push(' ');
                            cell.push_str(more);
                        }
                    }
                    _ => rows.push(cells),
                }
            }
            rows
        };
        let header = head_end.and_then(|head| read(&lines[1..head]).into_iter().next());
        let rows = read(&lines[head_end.map_or(1, |head| head + 1)..end]);
        self.table(header, rows);
        end + 1
    }

    /// Inline markup as text: roles, links, literals, emphasis, substitutions.
    fn inline(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['`', '*', '|', '\\', ':']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let taken = self.inline_mark(rest, &mut out);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        out.trim().to_owned()
    }

    /// Reads one inline mark at the start of a text and says how many bytes it took.
    fn inline_mark(&self, rest: &str, out: &mut String) -> usize {
        if let Some(escaped) = rest.strip_prefix('\\') {
            let next = escaped.chars().next();
            if let Some(c) = next.filter(|c| !c.is_whitespace()) {
                out.push(c);
            }
            return 1 + next.map_or(0, char::len_utf8);
        }
        if let Some(inside) = rest.strip_prefix("``")
            && let Some(end) = inside.find("``")
        {
            out.push_str(&format!("`{}`", &inside[..end]));
            return end + 4;
        }
        // :role:`text`, also :domain:role:`text`.
        if rest.starts_with(':')
            && let Some(tick) = rest.find(":`").filter(|tick| *tick > 0)
            && rest[1..tick].chars().all(|c| c.is_ascii_alphanumeric() || "-_:+.".contains(c))
            && let Some(end) = rest[tick + 2..].find('`')
        {
            let role = rest[1..tick].rsplit(':').next().unwrap_or_default();
            let shown = shown_text(&rest[tick + 2..tick + 2 + end]);
            let is_prose = matches!(
                role,
                "ref"
                    | "doc"
                    | "term"
                    | "abbr"
                    | "guilabel"
                    | "menuselection"
                    | "sup"
                    | "sub"
                    | "numref"
                    | "any"
                    | "download"
                    | "pep"
                    | "rfc"
                    | "emphasis"
                    | "strong"
                    | "title"
                    | "dfn"
            );
            out.push_str(&if is_prose { shown } else { format!("`{}`", shown.trim_start_matches(['~', '!'])) });
            return tick + 2 + end + 1;
        }
        if let Some(inside) = rest.strip_prefix('`')
            && let Some(end) = inside.find('`')
        {
            let after = &inside[end + 1..];
            let marks = after.bytes().take_while(|b| *b == b'_').count().min(2);
            let shown = shown_text(&inside[..end]);
            out.push_str(&if marks > 0 { shown } else { format!("`{shown}`") });
            return end + 2 + marks;
        }
        for mark in ["**", "*"] {
            if let Some(inside) = rest.strip_prefix(mark)
                && let Some(end) = inside.find(mark).filter(|end| *end > 0)
                && !inside.starts_with(' ')
            {
                out.push_str(&inside[..end]);
                return end + 2 * mark.len();
            }
        }
        if let Some(inside) = rest.strip_prefix('|')
            && let Some(end) = inside.find('|')
            && let Some(value) = self.substitutions.get(&inside[..end])
        {
            out.push_str(value);
            return end + 2;
        }
        let first = rest.chars().next().unwrap_or_default();
        out.push(first);
        first.len_utf8()
    }
}

/// The text of a link or role: what stands before `<target>`.
fn shown_text(inside: &str) -> String {
    match inside.rsplit_once('<') {
        Some((text, target)) if target.ends_with('>') && !text.trim().is_empty() => text.trim().to_owned(),
        Some(("", target)) => target.trim_end_matches('>').to_owned(),
        _ => inside.trim_start_matches('~').to_owned(),
    }
}

/// Whether a directive describes an item of an interface.
fn is_object(name: &str) -> bool {
    let name = name.rsplit(':').next().unwrap_or(name);
    matches!(
        name,
        "function"
            | "class"
            | "method"
            | "attribute"
            | "exception"
            | "data"
            | "decorator"
            | "property"
            | "classmethod"
            | "staticmethod"
            | "option"
            | "envvar"
            | "confval"
            | "setting"
            | "type"
            | "macro"
            | "struct"
            | "enum"
            | "member"
            | "describe"
            | "object"
            | "variable"
            | "cmdoption"
            | "directive"
    ) && name != "type:"
}

/// A section title at the start of `lines`: lines taken, title, adornment.
fn heading<'a>(lines: &[&'a str]) -> Option<(usize, &'a str, (char, bool))> {
    let first = *lines.first()?;
    if let (Some(mark), Some(title), Some(under)) = (adornment(first), lines.get(1), lines.get(2))
        && adornment(under) == Some(mark)
        && !title.trim().is_empty()
        && adornment(title).is_none()
        && width(first) >= width(title.trim())
    {
        return Some((3, title.trim(), (mark, true)));
    }
    let under = lines.get(1)?;
    let mark = adornment(under)?;
    let long_enough = width(under) >= width(first).min(4) && (width(under) + 1 >= width(first) || width(under) >= 4);
    (indent_of(first) == 0 && !first.is_empty() && adornment(first).is_none() && long_enough).then_some((
        2,
        first,
        (mark, false),
    ))
}

/// The character of a line that underlines a title; a line of spaces and `=` rules a table instead.
fn adornment(line: &str) -> Option<char> {
    let first = line.chars().next()?;
    (line.len() >= 2 && first.is_ascii_punctuation() && !matches!(first, '|') && line.chars().all(|c| c == first))
        .then_some(first)
}

/// Columns that a text takes on a terminal; Chinese characters take two.
fn width(text: &str) -> usize {
    text.chars().map(|c| if (c as u32) >= 0x1100 && !c.is_ascii() { 2 } else { 1 }).sum()
}

fn is_transition(line: &str) -> bool {
    line.len() >= 4 && adornment(line).is_some()
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The number of lines that are empty or indented by at least `indent`, without the empty ones at the end.
fn indented_length(lines: &[&str], indent: usize) -> usize {
    let mut length = lines.iter().take_while(|line| line.trim().is_empty() || indent_of(line) >= indent).count();
    while length > 0 && lines[length - 1].trim().is_empty() {
        length -= 1;
    }
    length
}

/// Lines without the indentation that they share, at most `most`.
fn dedented<'a>(lines: &[&'a str], most: usize) -> Vec<&'a str> {
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
    let start = shared.min(most);
    lines.iter().map(|line| line.get(start..).unwrap_or_default()).collect()
}

/// The marker of a list item: its width in bytes and how it is shown.
fn list_marker(text: &str) -> Option<(usize, String)> {
    for mark in ["- ", "* ", "+ ", "• "] {
        if let Some(rest) = text.strip_prefix(mark) {
            let width = mark.len() + indent_of(rest);
            return Some((width, "- ".to_owned()));
        }
    }
    let digits = text.chars().take_while(|c| c.is_ascii_digit() || *c == '#').count();
    let rest = text.get(digits..)?;
    if (1..=4).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") ")) {
        let number = &text[..digits];
        let shown = if number == "#" { "- ".to_owned() } else { format!("{number}. ") };
        return Some((digits + 2 + indent_of(&rest[2..]), shown));
    }
    None
}

/// Whether a line starts with `:name:`.
fn is_field(line: &str) -> bool {
    let Some(rest) = line.strip_prefix(':') else { return false };
    rest.split_once(':').is_some_and(|(name, after)| {
        !name.is_empty()
            && !name.starts_with(' ')
            && !after.starts_with('`')
            && (after.is_empty() || after.starts_with(' '))
    })
}

/// Lines of a paragraph as one; a break between two Chinese characters is no space.
fn join_lines(lines: &[&str]) -> String {
    let mut out = String::new();
    for line in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        let wide = |c: char| (c as u32) >= 0x2e80;
        let joins = out.chars().next_back().is_some_and(wide) && line.chars().next().is_some_and(wide);
        if !out.is_empty() && !joins {
            out.push(' ');
        }
        out.push_str(line);
    }
    out
}

fn csv(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.trim().chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            c => {
                if let Some(cell) = cells.last_mut() {
                    cell.push(c);
                }
            }
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The rows of a `list-table`: a list of lists.
fn list_table(lines: &[&str]) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in lines {
        let trimmed = line.trim();
        if let Some(rest) = line.strip_prefix("* - ").or_else(|| line.strip_prefix("- - ")) {
            rows.push(vec![rest.trim().to_owned()]);
        } else if let (Some(cell), Some(row)) =
            (trimmed.strip_prefix("- ").or_else(|| (trimmed == "-").then_some("")), rows.last_mut())
        {
            row.push(cell.trim().to_owned());
        } else if let Some(cell) = rows.last_mut().and_then(|row| row.last_mut()).filter(|_| !trimmed.is_empty()) {
            cell.push(' ');
            cell.push_str(trimmed);
        }
    }
    rows
}

/// `.. |name| replace:: text` definitions.
fn substitutions(lines: &[&str]) -> BTreeMap<String, String> {
    let definition = |line: &&str| {
        let (name, text) = line.trim().strip_prefix(".. |")?.split_once("| replace::")?;
        Some((name.to_owned(), text.trim().to_owned()))
    };
    lines.iter().filter_map(definition).collect()
}

/// The fields at the very start of a page (`:orphan:`, `:date: …`).
fn facts(lines: &[&str]) -> PageFacts {
    let mut facts = PageFacts::default();
    for line in lines.iter().skip_while(|line| line.is_empty()).take_while(|line| is_field(line)) {
        let (name, value) = line[1..].split_once(':').unwrap_or_default();
        let value = value.trim();
        match name {
            "date" if value.len() >= 10 => facts.date = value.get(..10).map(str::to_owned),
            "version" => facts.version = Some(value.to_owned()),
            "tags" | "keywords" => facts.tags = value.split(',').map(|tag| tag.trim().to_owned()).collect(),
            "title" => facts.title = Some(value.to_owned()),
            "language" => facts.language = Some(value.to_owned()),
            "nosearch" => facts.left_out = Some("left out by its front matter"),
            _ => {}
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(blocks: &[Block]) -> String {
        blocks.iter().map(Block::to_markdown).collect::<Vec<_>>().join("\n\n")
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let page = read(source, AnchorStyle::Sphinx);
        assert_eq!(text_of(&page.blocks), expected);
    }

    #[test]
    fn sections_take_their_level_from_the_order_of_their_marks() {
        let source = "=====\nTitle\n=====\n\nOne\n---\n\ntext\n\nTwo\n~~~\n\n安装\n----\n\ntext\n";
        let page = read(source, AnchorStyle::Sphinx);
        let headings: Vec<_> = page
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Heading { level, text, anchor } => Some((*level, text.as_str(), anchor.as_deref())),
                _ => None,
            })
            .collect();
        assert_eq!(
            headings,
            [(1, "Title", Some("title")), (2, "One", Some("one")), (3, "Two", Some("two")), (2, "安装", Some("id1"))]
        );
    }

    #[test]
    fn literal_blocks_and_code_directives_are_code() {
        check(
            "Run::\n\n    pip install x\n\n    pip list\n\nThen:\n\n.. code-block:: python\n   :linenos:\n\n   import x\n\n   x.run()\n\nDone.\n",
            "Run:\n\n```\npip install x\n\npip list\n```\n\nThen:\n\n```python\nimport x\n\nx.run()\n```\n\nDone.",
        );
        check("Example\n\n>>> 1 + 1\n2\n", "Example\n\n```python\n>>> 1 + 1\n2\n```");
    }

    #[test]
    fn roles_and_links_are_read_as_their_text() {
        check(
            "See :ref:`the guide <guide>`, :func:`~os.path.join`, ``x = 1``, *soft*, **hard**, `docs <https://x.org>`_ and `Page`_.\n",
            "See the guide, `os.path.join`, `x = 1`, soft, hard, docs and Page.",
        );
        check(".. |v| replace:: 2.4\n\nVersion |v| of a\\ b.\n", "Version 2.4 of ab.");
    }

    #[test]
    fn admonitions_stay_and_silent_directives_go() {
        check(
            ".. _label:\n\n.. note:: Mind the gap\n   between platforms.\n\n.. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\n.. a comment\n   over lines\n\n.. image:: x.png\n   :alt: alt\n\n.. versionadded:: 2.0 It works.\n\n.. unknown-thing:: arg\n\n   Text inside.\n",
            "Mind the gap between platforms.\n\nNew in version 2.0: It works.\n\narg\n\nText inside.",
        );
    }

    #[test]
    fn lists_are_one_block_and_their_code_stays_apart() {
        check(
            "- one\n- two\n  more\n\n  * nested\n\n#. first\n\n1. second::\n\n     code\n",
            "- one\n- two more\n  - nested\n- first\n1. second:\n\n```\ncode\n```",
        );
        check("term\n    definition\n", "term\n\ndefinition");
    }

    #[test]
    fn both_kinds_of_tables_are_read() {
        check(
            "=====  =======\nName   Meaning\n=====  =======\na      first\nb      second\n       line\n=====  =======\n",
            "| Name | Meaning |\n| --- | --- |\n| a | first |\n| b | second line |",
        );
        check(
            "+------+---------+\n| Name | Meaning |\n+======+=========+\n| a    | first   |\n|      | line    |\n+------+---------+\n| b    | second  |\n+------+---------+\n",
            "| Name | Meaning |\n| --- | --- |\n| a | first line |\n| b | second |",
        );
        check(
            ".. list-table::\n   :header-rows: 1\n\n   * - Name\n     - Meaning\n   * - a\n     - first\n",
            "| Name | Meaning |\n| --- | --- |\n| a | first |",
        );
        check(
            ".. csv-table::\n   :header: \"Name\", \"Meaning\"\n\n   a, \"first, one\"\n",
            "| Name | Meaning |\n| --- | --- |\n| a | first, one |",
        );
    }

    #[test]
    fn objects_are_headings_with_their_own_anchor() {
        let page =
            read("API\n===\n\n.. module:: shop\n\n.. function:: buy(item)\n\n   Buys it.\n", AnchorStyle::Sphinx);
        assert!(page.blocks.contains(&Block::Heading {
            level: 2,
            text: "buy(item)".into(),
            anchor: Some("shop.buy".into())
        }));
        assert!(text_of(&page.blocks).ends_with("Buys it."));
    }

    #[test]
    fn odd_input_never_panics() {
        for source in [
            "", "=", "====", "==  ==\n", "+--\n|", "..", ".. ::", ":a", "::", "`", ":r:`", "- ", "* \n  *", "|",
            "=\n=\n=", "\u{feff}",
        ] {
            let _ = read(source, AnchorStyle::Sphinx);
        }
        let deep = (0..200).map(|i| format!("{}- x\n\n", "  ".repeat(i))).collect::<String>();
        let _ = read(&deep, AnchorStyle::Sphinx);
    }
}
