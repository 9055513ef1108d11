//! Markdown and MDX as blocks.
//!
//! Input: a source text. Output: what its front matter says and its blocks. The text is rendered to HTML by comrak and read
//! by [`crate::index::sources::html`], so that HTML inside of Markdown (tables, `<div>`s, collapsible parts) is read as a
//! browser would show it. What generators add to Markdown is taken away before: containers and admonitions, includes,
//! shortcodes, `{{var.…}}` placeholders, and the imports, exports, tags and expressions of MDX.
//! **Invariant:** nothing inside of a code block is taken for markup, but for placeholders and the highlighting marks of
//! VitePress and Docusaurus, which readers of the site do not see either.

use std::collections::{BTreeMap, BTreeSet};

use comrak::{Options, markdown_to_html};

use crate::index::sources::anchors::{AnchorStyle, Anchors};
use crate::index::sources::front_matter;
use crate::index::sources::html;
use crate::index::sources::mdx;
use crate::index::sources::page::{Block, PageFacts};

/// How deep one page may include another.
const MAX_INCLUDE_DEPTH: usize = 4;

/// What reading needs to know of the site.
pub struct MarkdownContext<'a> {
    /// Whose rule makes anchors.
    pub anchors: AnchorStyle,
    /// Values of `{{name}}` placeholders.
    pub variables: &'a BTreeMap<String, String>,
    /// The text of another file of the folder, by its path relative to the folder.
    pub include: &'a dyn Fn(&str) -> Option<String>,
}

/// A page of Markdown.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MarkdownPage {
    /// What the front matter says.
    pub facts: PageFacts,
    /// The content.
    pub blocks: Vec<Block>,
    /// Names of placeholders that have no value.
    pub unknown_variables: BTreeSet<String>,
    /// Files that were included into it.
    pub included: BTreeSet<String>,
    /// What could not be read.
    pub complaint: Option<String>,
}

/// Reads a page of Markdown, or of MDX.
#[must_use]
pub fn read(source: &str, is_mdx: bool, context: &MarkdownContext<'_>) -> MarkdownPage {
    let split = front_matter::split(source);
    let mut page = MarkdownPage { facts: split.facts, complaint: split.complaint, ..MarkdownPage::default() };
    let text = split.body.replace("\r\n", "\n");
    let text = include_files(&text, context, &mut page.included, 0);
    let text = if is_mdx { mdx::to_markdown(&text) } else { text };
    let text = plain_markdown(&text, context, &mut page.unknown_variables);
    let rendered = markdown_to_html(&text, &options());
    page.blocks = html::read_rendered(&rendered, Anchors::new(context.anchors));
    page
}

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.cjk_friendly_emphasis = true;
    // HTML inside of Markdown is content; nothing of it reaches a page as HTML.
    options.render.r#unsafe = true;
    options
}

/// Puts included files in the place of `{{path.md}}` and `{% include "path.md" %}` lines.
fn include_files(text: &str, context: &MarkdownContext<'_>, included: &mut BTreeSet<String>, depth: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fences = Fences::default();
    for line in text.split_inclusive('\n') {
        let inside = fences.step(line).is_code();
        let trimmed = line.trim();
        let inner = trimmed
            .strip_prefix("{{")
            .and_then(|rest| rest.strip_suffix("}}"))
            .or_else(|| {
                let rest = trimmed.strip_prefix("{%")?.strip_suffix("%}")?.trim();
                rest.strip_prefix("include-markdown").or_else(|| rest.strip_prefix("include"))
            })
            .or_else(|| trimmed.strip_prefix("--8<--"));
        let path = inner.map(|inner| inner.trim().trim_matches(['"', '\''])).filter(|path| {
            !inside && depth < MAX_INCLUDE_DEPTH && path.ends_with(".md") && !path.contains(char::is_whitespace)
        });
        match path.and_then(|path| Some((path, (context.include)(path)?))) {
            Some((path, source)) => {
                included.insert(path.to_owned());
                out.push_str(&include_files(front_matter::split(&source).body, context, included, depth + 1));
                out.push('\n');
            }
            None => out.push_str(line),
        }
    }
    out
}

/// Where a line stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Outside of code.
    Text,
    /// The line that opens a block of code.
    Opening,
    /// In a block of code.
    Inside,
    /// The line that closes it.
    Closing,
}

impl Place {
    fn is_code(self) -> bool {
        self != Self::Text
    }
}

/// Follows the fences of code blocks through the lines of a text.
#[derive(Debug, Default)]
pub(crate) struct Fences {
    open: Option<(char, usize)>,
}

impl Fences {
    fn step(&mut self, line: &str) -> Place {
        let trimmed = line.trim_start_matches([' ', '\t', '>']).trim_end();
        // A fence may open right after the marker of a list item.
        let trimmed = ["- ", "* ", "+ "].iter().find_map(|m| trimmed.strip_prefix(m)).unwrap_or(trimmed).trim_start();
        let Some(mark) = trimmed.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            return if self.open.is_some() { Place::Inside } else { Place::Text };
        };
        let length = trimmed.chars().take_while(|c| *c == mark).count();
        let rest = &trimmed[length..];
        match self.open {
            None if length >= 3 && !(mark == '`' && rest.contains('`')) => {
                self.open = Some((mark, length));
                Place::Opening
            }
            None => Place::Text,
            Some((open, least)) if open == mark && length >= least && rest.trim().is_empty() => {
                self.open = None;
                Place::Closing
            }
            Some(_) => Place::Inside,
        }
    }

    /// Whether the line belongs to a block of code, its fences included.
    pub(crate) fn is_code(&mut self, line: &str) -> bool {
        self.step(line).is_code()
    }
}

/// Titles in bold, as a paragraph of their own.
fn title_line(indent: &str, title: &str) -> String {
    format!("\n{indent}**{}**\n\n", title.trim())
}

/// Takes away what generators add to Markdown.
fn plain_markdown(text: &str, context: &MarkdownContext<'_>, unknown: &mut BTreeSet<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fences = Fences::default();
    // Indentations of the bodies of open `!!!` admonitions and `===` tabs, outermost first.
    let mut bodies: Vec<usize> = Vec::new();
    // A MyST directive: what closes it, and whether its content is dropped.
    let mut directive: Option<Directive> = None;
    let is_vue = is_vue_page(text);
    for line in text.lines() {
        let line = placeholders(line, fences.open.is_some(), context.variables, unknown);
        let line = dedent_body(&line, &mut bodies);
        if let Some(open) = &mut directive {
            if open.closes(&line) {
                directive = None;
                out.push('\n');
                continue;
            }
            if open.drops(&line) {
                continue;
            }
        }
        match fences.step(&line) {
            Place::Opening => {
                if let Some(opened) = Directive::open(&line) {
                    fences.open = None;
                    out.push_str(&opened.first_line());
                    directive = Some(opened);
                } else {
                    out.push_str(&code_fence(&line));
                    out.push('\n');
                }
            }
            Place::Inside => {
                if let Some(line) = code_line(&line) {
                    out.push_str(&line);
                    out.push('\n');
                }
            }
            Place::Closing => {
                out.push_str(&line);
                out.push('\n');
            }
            Place::Text if is_vue => text_line(&without_interpolations(&line), &mut bodies, &mut out),
            Place::Text => text_line(&line, &mut bodies, &mut out),
        }
    }
    out
}

/// Whether a page runs as a Vue component: then `{{ … }}` in its text is computed in the browser, and means nothing here.
fn is_vue_page(text: &str) -> bool {
    let mut fences = Fences::default();
    text.lines().any(|line| !fences.is_code(line) && line.starts_with("<script"))
}

/// A text line without `{{ … }}` outside of backticks.
fn without_interpolations(line: &str) -> String {
    let mut out = String::new();
    for (i, part) in line.split('`').enumerate() {
        if i > 0 {
            out.push('`');
        }
        let mut part = part.to_owned();
        while i % 2 == 0
            && let Some(start) = part.find("{{")
        {
            let Some(length) = part[start..].find("}}") else { break };
            part.replace_range(start..start + length + 2, "");
        }
        out.push_str(&part);
    }
    out
}

/// Replaces `{{name}}`: with its value where the site gives one, with the bare name of a `var.` placeholder otherwise.
fn placeholders(
    line: &str,
    in_code: bool,
    variables: &BTreeMap<String, String>,
    unknown: &mut BTreeSet<String>,
) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(start) = rest.find("{{") {
        let Some(length) = rest[start..].find("}}") else { break };
        let name = rest[start + 2..start + length].trim();
        let bare =
            ["var.", "site.", "page.", "config.", "vars.", "variables."].iter().find_map(|p| name.strip_prefix(p));
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
        out.push_str(&rest[..start]);
        match (variables.get(name), bare.filter(|_| is_name)) {
            (Some(value), _) => out.push_str(value),
            (None, Some(bare)) => {
                unknown.insert(name.to_owned());
                // A reader of a command must see that something has to be filled in; in text the name says it.
                if in_code { out.push_str(&format!("<{bare}>")) } else { out.push_str(bare) }
            }
            (None, None) => out.push_str(&rest[start..start + length + 2]),
        }
        rest = &rest[start + length + 2..];
    }
    out.push_str(rest);
    out
}

/// Moves the body of `!!!` admonitions and `===` tabs to the left: four spaces would make it code.
fn dedent_body(line: &str, bodies: &mut Vec<usize>) -> String {
    if line.trim().is_empty() {
        return line.to_owned();
    }
    let mut line = line.to_owned();
    let mut kept = 0;
    for indent in bodies.iter() {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        if spaces < indent + 4 {
            break;
        }
        line.replace_range(*indent..indent + 4, "");
        kept += 1;
    }
    bodies.truncate(kept);
    line
}

fn text_line(line: &str, bodies: &mut Vec<usize>, out: &mut String) {
    let trimmed = line.trim();
    let indent = &line[..line.len() - line.trim_start().len()];
    if let Some(rest) = trimmed.strip_prefix(":::") {
        let rest = rest.trim_start_matches(':').trim();
        match container_title(rest) {
            Some(title) => out.push_str(&title_line(indent, &title)),
            None => out.push('\n'),
        }
        return;
    }
    if let Some(title) = admonition_title(trimmed) {
        bodies.push(indent.len());
        match title {
            Some(title) => out.push_str(&title_line(indent, &title)),
            None => out.push('\n'),
        }
        return;
    }
    let is_dropped = trimmed.starts_with("<<< ")
        || trimmed.starts_with("--8<--")
        || matches!(trimmed, "[[toc]]" | "[[TOC]]" | "[toc]" | "[TOC]" | "@[toc]" | "<!-- toc -->" | "{{ toc }}")
        || (trimmed.starts_with("{{")
            && trimmed.ends_with("}}")
            && trimmed.matches("{{").count() == 1
            && !trimmed.contains(' '))
        || (trimmed.starts_with("(") && trimmed.ends_with(")=") && !trimmed.contains(' '));
    if is_dropped {
        out.push('\n');
        return;
    }
    if let Some((before, kind)) = line.split_once("[!").filter(|(before, _)| before.trim_start().starts_with('>')) {
        let title = kind.split_once(']').map_or("", |(_, title)| title.trim_start_matches(['+', '-']).trim());
        out.push_str(before);
        if !title.is_empty() {
            out.push_str(&format!("**{title}**\n{before}"));
        }
        out.push('\n');
        return;
    }
    out.push_str(&without_shortcodes(line));
    out.push('\n');
}

/// The title of a `:::` container, if it has one that says more than its kind.
fn container_title(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches('{');
    let (kind, title) = rest.split_once([' ', '[', '}']).unwrap_or((rest, ""));
    let title = title.trim().trim_end_matches([']', '}']).trim();
    let silent = matches!(kind, "code-group" | "raw" | "v-pre" | "tabs" | "tab-set" | "div" | "grid" | "columns");
    if silent || title.is_empty() || title.starts_with("{") || title.contains('=') {
        None
    } else {
        Some(title.to_owned())
    }
}

/// The title of a line that opens a Python-Markdown admonition, collapsible or tab; the inner `None` is "without a title".
fn admonition_title(line: &str) -> Option<Option<String>> {
    let rest = ["!!!", "???+", "???", "===!", "===+", "==="].iter().find_map(|mark| {
        let rest = line.strip_prefix(mark)?;
        // Only a tab needs its title; `===` alone underlines a heading.
        (rest.starts_with(' ') && (!mark.starts_with('=') || rest.contains('"'))).then_some(rest.trim())
    })?;
    let title = rest.split('"').nth(1).map(str::to_owned).filter(|title| !title.is_empty());
    let kind = rest.split('"').next().unwrap_or_default();
    let is_kind = kind.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    is_kind.then_some(title)
}

/// A text line without `{% … %}`, `{{< … >}}`, `{{% … %}}` and attribute lists, code between backticks left alone.
fn without_shortcodes(line: &str) -> String {
    let mut out = String::new();
    for (i, part) in line.split('`').enumerate() {
        if i > 0 {
            out.push('`');
        }
        // Every second part stands between backticks.
        if i % 2 == 1 {
            out.push_str(part);
            continue;
        }
        let mut part = part.to_owned();
        for (open, close) in [("{{<", ">}}"), ("{{%", "%}}"), ("{%", "%}"), ("{:", "}"), ("{.", "}"), ("{ .", "}")] {
            while let Some(start) = part.find(open) {
                // `{: #anchor }` after a heading is its anchor.
                let Some(length) = part[start..].find(close).filter(|_| !line.starts_with('#')) else { break };
                part.replace_range(start..start + length + close.len(), "");
            }
        }
        out.push_str(&part);
    }
    out
}

/// The opening fence with only the language: `js{1,3} [config.js]` → `js`.
fn code_fence(line: &str) -> String {
    let start = line.find(['`', '~']).unwrap_or(0);
    let mark_end = start + line[start..].chars().take_while(|c| matches!(c, '`' | '~')).count();
    let info = line[mark_end..].trim();
    let info = info.strip_prefix('{').map_or(info, |inner| inner.trim_start_matches('.'));
    let language = info.split([' ', '{', '}', ':', ',', '[', '\t']).next().unwrap_or_default();
    format!("{}{language}", &line[..mark_end])
}

/// A line of code without the highlighting marks of VitePress and Docusaurus; `None` for a line that is only such a mark.
fn code_line(line: &str) -> Option<String> {
    let trimmed = line.trim();
    let comment = trimmed
        .trim_start_matches("//")
        .trim_start_matches('#')
        .trim_start_matches("{/*")
        .trim_start_matches("<!--")
        .trim();
    let comment = comment.trim_end_matches("*/}").trim_end_matches("-->").trim();
    if comment.len() < trimmed.len()
        && matches!(
            comment,
            "highlight-next-line" | "highlight-start" | "highlight-end" | "error-next-line" | "prettier-ignore"
        )
    {
        return None;
    }
    let Some(at) = line.find("[!code ") else { return Some(line.to_owned()) };
    let before = line[..at].trim_end();
    let before = ["//", "#", "<!--", "/*", "--"].iter().find_map(|mark| before.strip_suffix(mark)).unwrap_or(before);
    Some(before.trim_end().to_owned())
}

/// An open MyST directive (```` ```{note} Title ````).
#[derive(Debug)]
struct Directive {
    fence: String,
    title: Option<String>,
    dropped: bool,
    options: bool,
}

/// Directives whose content is prose.
const PROSE_DIRECTIVES: &[&str] = &[
    "note",
    "tip",
    "warning",
    "important",
    "caution",
    "danger",
    "attention",
    "hint",
    "error",
    "seealso",
    "admonition",
    "dropdown",
    "tab-item",
    "tab-set",
    "grid",
    "grid-item",
    "card",
    "grid-item-card",
    "versionadded",
    "versionchanged",
    "deprecated",
    "margin",
    "sidebar",
    "topic",
    "todo",
    "figure",
    "epigraph",
    "pull-quote",
    "div",
    "table",
    "list-table",
];
/// Directives that show nothing of their own.
const SILENT_DIRECTIVES: &[&str] = &[
    "toctree",
    "eval-rst",
    "image",
    "contents",
    "include",
    "raw",
    "literalinclude",
    "bibliography",
    "index",
    "tableofcontents",
];

impl Directive {
    /// The directive that a fence opens; `None` for a block of code.
    fn open(line: &str) -> Option<Self> {
        let trimmed = line.trim_start();
        let fence: String = trimmed.chars().take_while(|c| matches!(c, '`' | '~')).collect();
        let (name, title) = trimmed[fence.len()..].trim_start().strip_prefix('{')?.split_once('}')?;
        let dropped = SILENT_DIRECTIVES.contains(&name);
        if !dropped && !PROSE_DIRECTIVES.contains(&name) {
            return None;
        }
        let title = Some(title.trim().to_owned()).filter(|title| !title.is_empty() && !dropped && name != "figure");
        Some(Self { fence, title, dropped, options: true })
    }

    fn first_line(&self) -> String {
        self.title.as_deref().map_or("\n".to_owned(), |title| title_line("", title))
    }

    fn closes(&self, line: &str) -> bool {
        let trimmed = line.trim();
        trimmed.starts_with(&self.fence) && trimmed.chars().all(|c| self.fence.contains(c))
    }

    /// Whether a line of it is dropped: all of a silent one, and the `:option: value` lines at the start of the others.
    fn drops(&mut self, line: &str) -> bool {
        let trimmed = line.trim();
        self.options = self.options && trimmed.starts_with(':') && !trimmed.starts_with(":::");
        self.dropped || self.options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(source: &str, is_mdx: bool, anchors: AnchorStyle) -> MarkdownPage {
        let variables = BTreeMap::from([("var.version".to_owned(), "2.4".to_owned())]);
        let include = |path: &str| (path == "part.md").then(|| "---\ntitle: x\n---\nIncluded **text**.\n".to_owned());
        read(source, is_mdx, &MarkdownContext { anchors, variables: &variables, include: &include })
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let page = read_with(source, false, AnchorStyle::Github);
        let text: Vec<String> = page.blocks.iter().map(Block::to_markdown).collect();
        assert_eq!(text.join("\n\n"), expected, "{source}");
    }

    #[test]
    fn markup_goes_and_text_stays() {
        check(
            "# Title\n\nSome *soft* and **hard** text with `code` and a [link](https://x.org \"t\").\n\n![a picture](x.png)\n",
            "# Title\n\nSome soft and hard text with `code` and a link.\n\na picture",
        );
        check("第一行\n第二行 English\nline\n", "第一行第二行 English line");
        check("- one\n- two\n  - nested\n\n1. first\n2. second\n", "- one\n- two\n  - nested\n\n1. first\n2. second");
        check("| a | b |\n|---|---|\n| `x\\|y` | 2 |\n", "| a | b |\n| --- | --- |\n| `x\\|y` | 2 |");
        check("text<!-- a comment -->\n\n<style>\n.a {}\n</style>\n", "text");
    }

    #[test]
    fn html_inside_of_markdown_is_read_as_shown() {
        check(
            "<div class=\"note\">\n\nA **note**.\n\n</div>\n\n<table><thead><tr><th>k</th></tr></thead><tbody><tr><td><code>v</code></td></tr></tbody></table>\n",
            "A note.\n\n| k |\n| --- |\n| `v` |",
        );
        check("<details><summary>More</summary>\n\nHidden text.\n\n</details>\n", "More\n\nHidden text.");
        check(
            "<div class=\"tabs\">\n  <a href=\"#python\">Python</a>\n  <a href=\"#java\">Java</a>\n</div>\n\nText with [one](#a).\n",
            "Text with one.",
        );
    }

    #[test]
    fn containers_and_admonitions_keep_their_text() {
        check("::: tip Mind this\nText.\n:::\n\n:::warning\nMore.\n:::\n", "Mind this\n\nText.\n\nMore.");
        check(":::note[A title]\nText.\n:::\n", "A title\n\nText.");
        check(
            "!!! note \"Title\"\n    Body text.\n\n    ```sh\n    make\n    ```\n\nAfter.\n",
            "Title\n\nBody text.\n\n```sh\nmake\n```\n\nAfter.",
        );
        check(
            "=== \"Linux\"\n\n    Use apt.\n\n=== \"macOS\"\n\n    Use brew.\n",
            "Linux\n\nUse apt.\n\nmacOS\n\nUse brew.",
        );
        check("> [!WARNING]\n> Careful.\n", "Careful.");
        check("```{note} Title\n:class: x\nText.\n```\n\n```{toctree}\na\nb\n```\n", "Title\n\nText.");
    }

    #[test]
    fn what_generators_put_into_code_blocks_goes() {
        check(
            "```js{1,3} [config.js]\na() // [!code focus]\n// highlight-next-line\nb()\n```\n",
            "```js\na()\nb()\n```",
        );
        check("```ts:line-numbers {1}\nx\n```\n", "```ts\nx\n```");
        check("````md\n```js\n{{ kept }} ::: tip\n```\n````\n", "````md\n```js\n{{ kept }} ::: tip\n```\n````");
    }

    #[test]
    fn placeholders_includes_and_shortcodes_are_filled_or_go() {
        check(
            "{{part.md}}\n\n{{tab}}\n\nversion {{var.version}}, {{ var.other_name }}\n",
            "Included text.\n\nversion 2.4, other_name",
        );
        check("```\nget v{{var.version}} {{var.other}}\n```\n", "```\nget v2.4 <other>\n```");
        check("{% raw %}Text{% endraw %} {{< note >}}more{{< /note >}} `{{< kept >}}`\n", "Text more `{{< kept >}}`");
        check("<script setup>\nimport x from 'y'\n</script>\n\nValue: {{ x }} and `{{ y }}`\n", "Value: and `{{ y }}`");
        check("Mustaches {{ stay }} without a script\n", "Mustaches {{ stay }} without a script");
        let page = read_with("{{var.a}} {{var.b}}\n{{part.md}}\n", false, AnchorStyle::Github);
        assert_eq!(page.unknown_variables.len(), 2);
        assert!(page.included.contains("part.md"));
    }

    #[test]
    fn headings_get_the_anchors_that_they_name_or_the_generators_rule() {
        let page = read_with(
            "# Title\n\n## One {#first}\n\n## First\n\n## 快速开始\n\n## `code()` & <Badge text=\"new\" />\n\n## 快速开始\n\n## Note \\*\\* {#n}\n",
            false,
            AnchorStyle::Github,
        );
        let anchors: Vec<(&str, Option<&str>)> = page
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Heading { text, anchor, .. } => Some((text.as_str(), anchor.as_deref())),
                _ => None,
            })
            .collect();
        assert_eq!(
            anchors,
            [
                ("Title", Some("title")),
                ("One", Some("first")),
                ("First", Some("first-1")),
                ("快速开始", Some("快速开始")),
                ("code() &", Some("code-")),
                ("快速开始", Some("快速开始-1")),
                ("Note", Some("n")),
            ]
        );
    }

    #[test]
    fn odd_input_never_panics() {
        for source in [
            "",
            "---",
            "{{",
            "{{}}",
            "```",
            "``` {",
            ":::",
            "!!!",
            "=== \"",
            "> [!",
            "<div",
            "`{{ `",
            "# {#",
            "{% include",
            "\u{feff}#",
        ] {
            let _ = read_with(source, false, AnchorStyle::Github);
            let _ = read_with(source, true, AnchorStyle::Vitepress);
        }
    }
}
