//! reStructuredText as blocks.
//!
//! Input: a source text. Output: its blocks. No kept Rust crate reads the directives that documentation is written with, so
//! this is a reader of what readers see: sections, paragraphs, lists, literal blocks, the common directives of docutils and
//! Sphinx, both kinds of tables, inline roles. It follows the reStructuredText specification
//! (<https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html>) and drops what it does not know how to show, but
//! never the text inside of an unknown directive.
//! **Invariant:** anchors are those of docutils' `make_id`, as Sphinx writes them.

mod directive;
mod inline;
mod lines;
mod table;

use std::collections::BTreeMap;

use lines::{dedented, heading, indent_of, indented_length, is_field, is_transition, join_lines, list_marker};

use crate::index::sources::anchors::{AnchorStyle, Anchors};
use crate::index::sources::page::{Block, PageFacts};

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
