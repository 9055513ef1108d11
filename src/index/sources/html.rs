//! HTML, of a built site or rendered from Markdown, as blocks of its main content.
//!
//! Input: a page's HTML. Output: [`HtmlPage`]. What is not content stays out: navigation, headers, footers, cookie banners,
//! tables of contents, buttons, and everything under `data-docent-ignore` or `data-pagefind-ignore`. What appears on most
//! pages of a site is removed later, by [`crate::index::sources::boilerplate`], which sees all of them.
//! **Invariant:** an anchor of a built page is an id that stands in its HTML; none is made up here.

use scraper::{ElementRef, Html, Selector};

use crate::index::sources::anchors::Anchors;
use crate::index::sources::page::{Block, PageFacts};

/// Where the main content of a page is, the most telling first. The first that holds enough text is taken.
const MAIN: &[&str] = &[
    "[data-docent-body]",
    "[data-pagefind-body]",
    ".vp-doc",
    ".theme-doc-markdown",
    "article.md-content__inner",
    ".sl-markdown-content",
    "[itemprop=articleBody]",
    ".markdown-body",
    "main article",
    "article main",
    "[role=main]",
    "main",
    "article",
    "#main-content",
    "#content",
    "div.body",
    ".content",
    "body",
];
/// A place of [`MAIN`] is taken when it holds at least this part of the body's own text, in per cent: a teaser inside of an
/// `<article>` is not the page.
const ENOUGH_PERCENT: usize = 15;

/// Elements that never hold content.
const SKIPPED_ELEMENTS: &[&str] = &[
    "script", "style", "noscript", "svg", "iframe", "nav", "footer", "form", "button", "select", "input", "textarea",
    "dialog", "object", "canvas", "video", "audio", "head", "template", "math",
];
/// Roles of what surrounds the content.
const SKIPPED_ROLES: &[&str] =
    &["navigation", "banner", "contentinfo", "search", "tablist", "dialog", "menu", "menubar"];
/// Words of a `class` or an `id` that name what surrounds the content. They are compared with whole words, so that
/// `toc` is found in `page-toc` and not in `stock`.
const SKIPPED_WORDS: &[&str] = &[
    "cookie",
    "cookies",
    "consent",
    "gdpr",
    "breadcrumb",
    "breadcrumbs",
    "toc",
    "sidebar",
    "pagination",
    "pager",
    "headerlink",
    "hashlink",
    "skiplink",
    "navbar",
    "navigation",
    "feedback",
    "linenos",
    "linenodiv",
    "lineno",
    "boring",
    "tabs__item",
];
/// Whole class names of what surrounds the content.
const SKIPPED_CLASSES: &[&str] = &[
    "header-anchor",
    "hash-link",
    "anchor-link",
    "skip-link",
    "skip-to-content",
    "sr-only",
    "visually-hidden",
    "edit-link",
    "edit-this-page",
    "theme-edit-this-page",
    "theme-doc-footer",
    "theme-doc-toc-mobile",
    "theme-doc-toc-desktop",
    "prev-next",
    "prev-next-area",
    "table-of-contents",
    "line-numbers-wrapper",
    "tabbed-labels",
    "md-source-file",
    "md-content__button",
    "related-pages",
    "last-updated",
    "page-metadata",
    "nav-wrapper",
    "nav-wide-wrapper",
    "nav-chapters",
    "mobile-nav-chapters",
    "footnote-backref",
    "sphinxsidebar",
    "viewcode-link",
    "viewcode-back",
    "copybtn",
    "copy-button",
    "tab-labels",
    "menu-bar",
    "back-to-top",
    "site-header",
    "site-footer",
    "page-nav",
    "docent-chat",
];
/// Elements that stand in a line of text and do not end it.
const INLINE_ELEMENTS: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub",
    "sup", "time", "tt", "u", "var", "wbr", "br",
];

/// A page's content and what it says about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HtmlPage {
    /// What `<meta>`, `<html lang>` and `<title>` say.
    pub facts: PageFacts,
    /// The main content.
    pub blocks: Vec<Block>,
}

/// Reads a page of a built site.
#[must_use]
pub fn read(html: &str) -> HtmlPage {
    let document = Html::parse_document(html);
    let facts = facts(&document);
    let mut reader = BlockReader::new(None);
    if let Some(main) = main_content(&document) {
        reader.children(main);
    }
    HtmlPage { facts, blocks: reader.finish() }
}

/// Reads a fragment that was rendered from Markdown. Headings may end in an explicit `{#anchor}`; the others get theirs
/// from `anchors`.
#[must_use]
pub fn read_rendered(html: &str, anchors: Anchors) -> Vec<Block> {
    let fragment = Html::parse_fragment(html);
    let mut reader = BlockReader::new(Some(anchors));
    reader.claim_explicit(fragment.root_element());
    reader.children(fragment.root_element());
    reader.finish()
}

fn facts(document: &Html) -> PageFacts {
    let mut facts =
        PageFacts { language: document.root_element().attr("lang").map(str::to_owned), ..PageFacts::default() };
    for meta in document.select(&selector("meta")) {
        let name = meta.attr("name").or_else(|| meta.attr("property")).unwrap_or_default().to_ascii_lowercase();
        let Some(content) = meta.attr("content").map(str::trim).filter(|content| !content.is_empty()) else {
            continue;
        };
        match name.as_str() {
            "keywords" | "article:tag" | "docent:tags" => {
                facts.tags.extend(content.split(',').map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()));
            }
            "docsearch:version" | "docusaurus_version" | "docent:version" if content != "current" => {
                facts.version = Some(content.to_owned());
            }
            "docsearch:language" | "docusaurus_locale" if facts.language.is_none() => {
                facts.language = Some(content.to_owned());
            }
            "article:section" | "docent:section" => facts.section = Some(content.to_owned()),
            "date" | "article:modified_time" | "article:published_time" | "last-modified" if content.len() >= 10 => {
                facts.date = content.get(..10).map(str::to_owned);
            }
            "docent:boost" => facts.boost = content.parse().ok(),
            "docent:authority" => facts.authority = content.parse().ok(),
            "robots" if content.to_ascii_lowercase().contains("noindex") => facts.left_out = Some("marked noindex"),
            _ => {}
        }
        if meta.attr("http-equiv").is_some_and(|value| value.eq_ignore_ascii_case("refresh")) {
            facts.left_out = Some("a redirect");
        }
    }
    if let Some(title) = document.select(&selector("head > title, title")).next() {
        let text = collapse(&title.text().collect::<String>());
        // `Page | Site` and its like: the page stands first in every generator that is asked for it.
        let page =
            [" | ", " — ", " – ", " · ", " - "].iter().find_map(|mark| text.split_once(mark)).map(|(page, _)| page);
        facts.title = Some(page.unwrap_or(&text).trim().to_owned()).filter(|title| !title.is_empty());
    }
    facts
}

/// The element that holds the main content.
fn main_content(document: &Html) -> Option<ElementRef<'_>> {
    let body = document.select(&selector("body")).next()?;
    let whole = content_length(body);
    MAIN.iter().find_map(|place| {
        let found: Vec<ElementRef<'_>> = document.select(&selector(place)).collect();
        // Several articles are a list of posts, not a page.
        let first = match (found.as_slice(), *place) {
            ([], _) => return None,
            ([_, _, ..], "main article" | "article") => return None,
            ([first, ..], _) => *first,
        };
        (content_length(first) * 100 >= whole * ENOUGH_PERCENT).then_some(first)
    })
}

/// Characters of content under an element.
fn content_length(element: ElementRef<'_>) -> usize {
    if is_skipped(element) {
        return 0;
    }
    element
        .children()
        .map(|node| match (node.value().as_text(), ElementRef::wrap(node)) {
            (Some(text), _) => text.chars().filter(|c| !c.is_whitespace()).count(),
            (None, Some(child)) => content_length(child),
            (None, None) => 0,
        })
        .sum()
}

/// Whether an element and all that is in it stay out.
fn is_skipped(element: ElementRef<'_>) -> bool {
    let name = element.value().name();
    if SKIPPED_ELEMENTS.contains(&name) {
        return true;
    }
    let ignored = |attribute| element.attr(attribute).is_some_and(|value| value != "false");
    if ignored("data-docent-ignore") || ignored("data-pagefind-ignore") {
        return true;
    }
    let role = element.attr("role").unwrap_or_default();
    if SKIPPED_ROLES.contains(&role) {
        return true;
    }
    // The panels of tabs are hidden until they are chosen; their content counts all the same.
    if role != "tabpanel" && (element.attr("hidden").is_some() || element.attr("aria-hidden") == Some("true")) {
        return true;
    }
    // A header that holds the page's title is content, one around it is not.
    if name == "header" && element.select(&selector("h1")).next().is_none() {
        return true;
    }
    if name == "aside" && is_mostly_links(element) {
        return true;
    }
    if matches!(name, "div" | "ul" | "ol" | "p") && leads_only_into_this_page(element) {
        return true;
    }
    if matches!(name, "html" | "body" | "main" | "article") || is_heading(name) {
        return false;
    }
    if element.value().classes().any(|class| SKIPPED_CLASSES.contains(&class)) {
        return true;
    }
    // VitePress names the language of a block beside it, and the tabs of a code group above it.
    if (name == "span" && element.attr("class") == Some("lang"))
        || (element.attr("class") == Some("tabs") && parent_has_class(element, "vp-code-group"))
    {
        return true;
    }
    let id = element.attr("id").into_iter();
    element.value().classes().chain(id).any(|name| {
        name.split(['-', '_', ' ']).any(|word| SKIPPED_WORDS.contains(&word.to_ascii_lowercase().as_str()))
            // A layout that has a sidebar is not the sidebar (`has-sidebar`, `with-toc`).
            && !name.starts_with("has-")
            && !name.starts_with("with-")
            && !name.starts_with("no-")
    })
}

fn parent_has_class(element: ElementRef<'_>, class: &str) -> bool {
    let parent = element.parent().and_then(ElementRef::wrap);
    parent.is_some_and(|parent| parent.value().classes().any(|name| name == class))
}

fn is_heading(name: &str) -> bool {
    matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
}

fn is_mostly_links(element: ElementRef<'_>) -> bool {
    let all: usize = element.text().map(|text| text.trim().len()).sum();
    let linked: usize = element.select(&selector("a")).flat_map(|a| a.text()).map(|text| text.trim().len()).sum();
    linked * 2 > all
}

/// Whether an element is nothing but two or more links to places of the same page: a table of contents, or tabs.
fn leads_only_into_this_page(element: ElementRef<'_>) -> bool {
    let mut links = 0;
    for node in element.descendants() {
        if let Some(text) = node.value().as_text() {
            let in_link = node.ancestors().filter_map(ElementRef::wrap).any(|around| around.value().name() == "a");
            if !in_link && text.chars().any(char::is_alphanumeric) {
                return false;
            }
        } else if let Some(child) = ElementRef::wrap(node) {
            match child.value().name() {
                "a" if child.attr("href").is_some_and(|href| href.starts_with('#')) => links += 1,
                "a" | "pre" | "img" | "table" => return false,
                _ => {}
            }
        }
    }
    links >= 2
}

/// Turns a tree into blocks.
struct BlockReader {
    blocks: Vec<Block>,
    /// The paragraph or list that is being read.
    text: String,
    /// Markers of the lists that are open; a number for ordered ones.
    lists: Vec<Option<usize>>,
    /// What makes anchors for headings without one; `None` for a built page.
    anchors: Option<Anchors>,
    /// An anchor that stood before a heading (`<a id>`), for the heading that follows.
    pending: Option<String>,
    level: u8,
}

impl BlockReader {
    fn new(anchors: Option<Anchors>) -> Self {
        Self { blocks: Vec::new(), text: String::new(), lists: Vec::new(), anchors, pending: None, level: 1 }
    }

    /// Explicit anchors are taken before any is made: a generated one must not meet an explicit one further down.
    fn claim_explicit(&mut self, root: ElementRef<'_>) {
        let Some(anchors) = &mut self.anchors else { return };
        for heading in root.select(&selector("h1, h2, h3, h4, h5, h6")) {
            if let Some(id) = heading.attr("id").map(str::to_owned).or_else(|| explicit_anchor(&inline(heading)).1) {
                anchors.claim(&id);
            }
        }
    }

    fn finish(mut self) -> Vec<Block> {
        self.flush();
        self.blocks
    }

    fn flush(&mut self) {
        let text = tidy(&self.text);
        self.text.clear();
        if text.chars().any(char::is_alphanumeric) {
            self.blocks.push(Block::Text(text));
        }
    }

    fn children(&mut self, element: ElementRef<'_>) {
        for node in element.children() {
            if let Some(text) = node.value().as_text() {
                push_collapsed(&mut self.text, text);
            } else if let Some(child) = ElementRef::wrap(node) {
                self.element(child);
            }
        }
    }

    fn element(&mut self, element: ElementRef<'_>) {
        if is_skipped(element) {
            return;
        }
        let name = element.value().name();
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(element, name.as_bytes()[1] - b'0'),
            "pre" => self.code(element),
            "table" => self.table(element),
            "br" => self.text.push('\n'),
            "hr" => self.flush(),
            "img" => push_collapsed(&mut self.text, element.attr("alt").unwrap_or_default()),
            "code" | "kbd" | "samp" | "tt" => self.inline_code(element),
            "ul" | "ol" => {
                if self.lists.is_empty() {
                    self.flush();
                }
                let start = element.attr("start").and_then(|start| start.parse().ok()).unwrap_or(1);
                self.lists.push((name == "ol").then_some(start));
                self.children(element);
                self.lists.pop();
                if self.lists.is_empty() {
                    self.flush();
                }
            }
            "li" => self.item(element),
            "dt" => self.definition_term(element),
            "summary" | "figcaption" | "caption" | "legend" => {
                self.line_end();
                self.children(element);
                self.flush();
            }
            "a" if element.attr("href").is_none() => {
                self.pending = element.attr("id").or_else(|| element.attr("name")).map(str::to_owned);
                self.children(element);
            }
            "span" if element.attr("id").is_some() && element.children().next().is_none() => {
                self.pending = element.attr("id").map(str::to_owned);
            }
            name if INLINE_ELEMENTS.contains(&name) => self.children(element),
            _ => self.container(element),
        }
    }

    /// A block-level element: what is in it stands in lines of its own, and inside of a list it stays in the item.
    fn container(&mut self, element: ElementRef<'_>) {
        if self.lists.is_empty() {
            self.flush();
        } else if !self.text.ends_with("- ") && !self.text.ends_with(". ") {
            self.line_end();
        }
        self.children(element);
        if self.lists.is_empty() { self.flush() } else { self.line_end() }
    }

    fn line_end(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    fn item(&mut self, element: ElementRef<'_>) {
        self.line_end();
        let depth = self.lists.len().saturating_sub(1);
        self.text.push_str(&"  ".repeat(depth));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number += 1;
            }
            _ => self.text.push_str("- "),
        }
        self.children(element);
        self.line_end();
    }

    /// The term of a definition; the signature of a documented item (Sphinx) is a heading with the item's id.
    fn definition_term(&mut self, element: ElementRef<'_>) {
        let is_signature = element.value().classes().any(|class| class == "sig");
        match element.attr("id").filter(|_| is_signature) {
            Some(id) => {
                self.flush();
                let level = (self.level + 1).min(6);
                self.blocks.push(Block::Heading { level, text: inline(element), anchor: Some(id.to_owned()) });
            }
            None => {
                self.line_end();
                self.children(element);
                self.line_end();
            }
        }
    }

    fn heading(&mut self, element: ElementRef<'_>, level: u8) {
        self.flush();
        let text = inline(element);
        let (text, explicit) = if self.anchors.is_some() { explicit_anchor(&text) } else { (text, None) };
        // A mark that refers to a footnote is no part of the title.
        let text = text.trim_end_matches([' ', '*', '†']).to_owned();
        if text.is_empty() {
            return;
        }
        let own = element.attr("id").map(str::to_owned).or(explicit).or_else(|| {
            let inside = element.select(&selector("a[id], a[name], span[id]")).next()?;
            inside.attr("id").or_else(|| inside.attr("name")).map(str::to_owned)
        });
        let around = || {
            // Sphinx puts the id on the section around a heading.
            let section = element.parent().and_then(ElementRef::wrap)?;
            let is_first = ElementRef::wrap(section.children().find(|node| node.value().is_element())?)
                .is_some_and(|first| first.id() == element.id() || first.value().name() == "span");
            section
                .attr("id")
                .filter(|_| is_first && matches!(section.value().name(), "section" | "div"))
                .map(str::to_owned)
        };
        let pending = self.pending.take();
        let anchor = match &mut self.anchors {
            Some(anchors) => own.or_else(|| anchors.next(&text)).or(pending),
            None => own.or_else(around).or(pending),
        };
        self.level = level;
        self.blocks.push(Block::Heading { level, text, anchor });
    }

    fn inline_code(&mut self, element: ElementRef<'_>) {
        let mut code = String::new();
        raw_text(element, &mut code);
        let code = collapse(&code);
        if code.is_empty() {
            return;
        }
        let mark = if code.contains('`') { "``" } else { "`" };
        self.text.push_str(&format!("{mark}{code}{mark}"));
    }

    fn code(&mut self, element: ElementRef<'_>) {
        self.flush();
        let mut code = String::new();
        raw_text(element, &mut code);
        let code = code.replace("\r\n", "\n").replace(['\u{200b}', '\u{feff}'], "").replace('\u{a0}', " ");
        let lines: Vec<&str> = code.lines().map(str::trim_end).collect();
        let first = lines.iter().position(|line| !line.is_empty());
        let last = lines.iter().rposition(|line| !line.is_empty());
        let (Some(first), Some(last)) = (first, last) else { return };
        let code = dedent(&lines[first..=last]);
        self.blocks.push(Block::Code { language: code_language(element), code });
    }

    fn table(&mut self, element: ElementRef<'_>) {
        // Highlighters lay code out in a table: line numbers on the left, code on the right.
        let is_code = element.value().classes().any(|class| class.contains("highlight") || class.contains("rouge"));
        if is_code {
            if let Some(code) = element.select(&selector("td.code pre, td.rouge-code pre, pre")).last() {
                self.code(code);
            }
            return;
        }
        self.flush();
        let mut header = String::new();
        let mut rows = Vec::new();
        for row in element.select(&selector("tr")) {
            if is_skipped(row) || !belongs_to(row, element) {
                continue;
            }
            let cells: Vec<ElementRef<'_>> = row
                .children()
                .filter_map(ElementRef::wrap)
                .filter(|cell| matches!(cell.value().name(), "td" | "th") && !is_skipped(*cell))
                .collect();
            let texts: Vec<String> = cells.iter().map(|cell| cell_text(*cell)).collect();
            if texts.iter().all(String::is_empty) {
                continue;
            }
            let line = format!("| {} |", texts.join(" | "));
            let is_header =
                header.is_empty() && rows.is_empty() && cells.iter().all(|cell| cell.value().name() == "th");
            if is_header {
                header = format!("{line}\n|{}", " --- |".repeat(cells.len()));
            } else {
                rows.push(line);
            }
        }
        if rows.is_empty() && !header.is_empty() {
            rows.push(header.lines().next().unwrap_or_default().to_owned());
            header.clear();
        }
        if !rows.is_empty() {
            self.blocks.push(Block::Table { header, rows });
        }
    }
}

/// Whether the nearest table around a row is this one.
fn belongs_to(row: ElementRef<'_>, table: ElementRef<'_>) -> bool {
    let nearest = row.ancestors().filter_map(ElementRef::wrap).find(|element| element.value().name() == "table");
    nearest.is_some_and(|nearest| nearest.id() == table.id())
}

/// The text of a table's cell in one line, with code between backticks.
fn cell_text(cell: ElementRef<'_>) -> String {
    let mut reader = BlockReader::new(None);
    reader.children(cell);
    let parts: Vec<String> = reader
        .finish()
        .iter()
        .map(|block| match block {
            Block::Code { code, .. } => format!("`{}`", collapse(code)),
            Block::Heading { text, .. } => text.clone(),
            Block::Text(text) => collapse(text),
            Block::Table { rows, .. } => collapse(&rows.join(" ")),
        })
        .collect();
    parts.join(" ").replace('|', "\\|")
}

/// The text of an element in one line, without markup.
fn inline(element: ElementRef<'_>) -> String {
    fn walk(element: ElementRef<'_>, out: &mut String) {
        for node in element.children() {
            if let Some(text) = node.value().as_text() {
                push_collapsed(out, text);
            } else if let Some(child) = ElementRef::wrap(node).filter(|child| !is_skipped(*child)) {
                match child.value().name() {
                    "br" => out.push(' '),
                    "img" => push_collapsed(out, child.attr("alt").unwrap_or_default()),
                    _ => walk(child, out),
                }
            }
        }
    }
    let mut out = String::new();
    walk(element, &mut out);
    // The sign of a heading's own link, where its class does not tell.
    collapse(&out).trim_end_matches(['¶', '#', '\u{f0c1}', '🔗']).trim().to_owned()
}

/// The text of a block of code as it stands, without line numbers.
fn raw_text(element: ElementRef<'_>, out: &mut String) {
    for node in element.children() {
        if let Some(text) = node.value().as_text() {
            out.push_str(text);
        } else if let Some(child) = ElementRef::wrap(node).filter(|child| !is_skipped(*child)) {
            match child.value().name() {
                "br" => out.push('\n'),
                _ => raw_text(child, out),
            }
        }
    }
}

/// The language of a block of code, from the class names that highlighters give to it or to what stands around it.
fn code_language(element: ElementRef<'_>) -> String {
    let inside = element.children().filter_map(ElementRef::wrap);
    let around = element.ancestors().filter_map(ElementRef::wrap).take(3);
    for candidate in [element].into_iter().chain(inside).chain(around) {
        if let Some(language) = candidate.attr("data-lang").or_else(|| candidate.attr("data-language")) {
            return language.to_owned();
        }
        for class in candidate.value().classes() {
            let named = ["language-", "lang-", "highlight-", "sourceCode-"].iter().find_map(|p| class.strip_prefix(p));
            if let Some(language) =
                named.filter(|name| !matches!(*name, "default" | "none" | "text" | "plaintext" | "notranslate"))
            {
                return language.split([',', '{']).next().unwrap_or_default().to_owned();
            }
        }
    }
    String::new()
}

/// Splits an explicit anchor off a heading: `Title {#anchor}` (VitePress, Docusaurus), `Title {: #anchor }` (Python-Markdown).
fn explicit_anchor(heading: &str) -> (String, Option<String>) {
    let split = heading.rfind('{').filter(|_| heading.ends_with('}')).map(|at| heading.split_at(at));
    let Some((text, braces)) = split else { return (heading.to_owned(), None) };
    let inside = braces.trim_start_matches('{').trim_end_matches('}').trim_start_matches(':');
    let anchor = inside.split_whitespace().find_map(|word| word.strip_prefix('#')).map(str::to_owned);
    let is_attributes = inside.split_whitespace().all(|word| word.starts_with(['#', '.']) || word.contains('='));
    if is_attributes && !inside.trim().is_empty() {
        (text.trim_end().to_owned(), anchor)
    } else {
        (heading.to_owned(), None)
    }
}

/// Lines without the indentation that all of them share.
fn dedent(lines: &[&str]) -> String {
    let indents =
        lines.iter().filter(|line| !line.is_empty()).map(|line| line.len() - line.trim_start_matches(' ').len());
    let shared = indents.min().unwrap_or(0);
    lines.iter().map(|line| line.get(shared..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Appends text as HTML shows it: runs of white space become one space, and a line break between two Chinese characters
/// nothing at all.
fn push_collapsed(out: &mut String, text: &str) {
    let mut space: Option<bool> = None;
    for c in text.chars() {
        match c {
            '\u{200b}' | '\u{ad}' | '\u{feff}' | '\u{2060}' => {}
            c if c.is_whitespace() => space = Some(space.unwrap_or(false) || c == '\n'),
            c => {
                if let Some(breaks) = space.take() {
                    let joins = breaks && is_wide(c) && out.chars().next_back().is_some_and(is_wide);
                    if !joins && !out.is_empty() && !out.ends_with([' ', '\n']) {
                        out.push(' ');
                    }
                }
                out.push(c);
            }
        }
    }
    if space.is_some() && !out.is_empty() && !out.ends_with([' ', '\n']) {
        out.push(' ');
    }
}

/// Han characters and the punctuation that stands with them.
fn is_wide(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{ff00}'..='\u{ffef}')
}

fn collapse(text: &str) -> String {
    let mut out = String::new();
    push_collapsed(&mut out, text);
    out.trim().to_owned()
}

/// A block's text without empty lines and spaces at the ends of lines; the indentation of nested items stays.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !matches!(line.trim(), "-" | "*")).collect();
    let mut text = lines.join("\n");
    if !text.starts_with("  ") {
        text = text.trim().to_owned();
    }
    text
}

/// A selector that is known to be right.
fn selector(text: &str) -> Selector {
    Selector::parse(text).expect("every call names a constant, which the tests parse")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(html: &str, expected: &str) {
        let text: Vec<String> = read(html).blocks.iter().map(Block::to_markdown).collect();
        assert_eq!(text.join("\n\n"), expected);
    }

    #[test]
    fn constant_selectors_parse() {
        MAIN.iter().for_each(|place| drop(selector(place)));
    }

    #[test]
    fn only_the_main_content_counts() {
        check(
            "<html><head><title>Page | Site</title></head><body><nav>Menu</nav><header>Site</header><div class=\"cookie-banner\">We use cookies</div>\
             <main><nav class=\"breadcrumb\">Home</nav><article><h1 id=\"t\">Title<a class=\"headerlink\" href=\"#t\">¶</a></h1><p>Text.</p>\
             <div data-docent-ignore>no</div><p data-pagefind-ignore=\"all\">no</p><p data-docent-ignore=\"false\">yes</p></article>\
             <aside><a href=\"/a\">Related</a></aside></main><footer>© Us</footer></body></html>",
            "# Title\n\nText.\n\nyes",
        );
    }

    #[test]
    fn a_page_without_landmarks_is_read_whole() {
        check("<body><h1>T</h1><p>One</p>loose<div>Two<br>lines</div></body>", "# T\n\nOne\n\nloose\n\nTwo\nlines");
        check(
            "<body><article><p>Teaser</p></article><div class=\"main\"><p>The long text of the page that matters, which is far longer than any teaser could be.</p></div></body>",
            "Teaser\n\nThe long text of the page that matters, which is far longer than any teaser could be.",
        );
    }

    #[test]
    fn facts_come_from_the_head() {
        let page = read(
            "<html lang=\"zh-CN\"><head><title>安装 | 站点</title><meta name=\"keywords\" content=\"a, b\"><meta name=\"docsearch:version\" content=\"2.4\">\
             <meta property=\"article:modified_time\" content=\"2025-01-31T00:00:00Z\"></head><body><p>x</p></body></html>",
        );
        assert_eq!(page.facts.title.as_deref(), Some("安装"));
        assert_eq!(page.facts.tags, ["a", "b"]);
        assert_eq!((page.facts.version.as_deref(), page.facts.date.as_deref()), (Some("2.4"), Some("2025-01-31")));
        assert_eq!(read("<meta name=robots content=noindex><p>x</p>").facts.left_out, Some("marked noindex"));
        assert_eq!(read("<meta http-equiv=refresh content='0; url=/'>").facts.left_out, Some("a redirect"));
    }

    #[test]
    fn anchors_are_ids_of_the_page_only() {
        let page = read(
            "<body><h2 id=a>A</h2><section id=b><h2>B</h2></section><h2><a name=c></a>C</h2><a id=d></a><h2>D</h2><h2>E</h2>\
             <dl><dt class=\"sig\" id=\"m.f\">f(x)</dt><dd>Does.</dd></dl></body>",
        );
        let anchors: Vec<Option<&str>> = page
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Heading { anchor, .. } => Some(anchor.as_deref()),
                _ => None,
            })
            .collect();
        assert_eq!(anchors, [Some("a"), Some("b"), Some("c"), Some("d"), None, Some("m.f")]);
    }

    #[test]
    fn code_keeps_its_lines_and_language() {
        check(
            "<div class=\"language-js\"><button class=\"copy\">Copy</button><span class=\"lang\">js</span><pre><code><span>a()</span>\n<span>  b()</span>\n</code></pre></div>",
            "```js\na()\n  b()\n```",
        );
        check("<pre><code><span>a</span><br><span>b</span><br></code></pre>", "```\na\nb\n```");
        check(
            "<table class=\"highlighttable\"><tr><td class=\"linenos\"><pre>1\n2</pre></td><td class=\"code\"><div class=\"highlight\"><pre>x\ny</pre></div></td></tr></table>",
            "```\nx\ny\n```",
        );
    }

    #[test]
    fn tables_are_lines_of_markdown() {
        check(
            "<table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td><ul><li>x</li><li>y</li></ul></td></tr></table>",
            "| k | v |\n| --- | --- |\n| a | - x - y |",
        );
        check("<table><tr><td>only</td></tr></table>", "| only |");
    }

    #[test]
    fn odd_input_never_panics() {
        for html in
            ["", "<", "<p", "<table><tr><th>", "<pre></pre>", "<h1></h1>", "<ul><li>", "\u{0}", "<li><pre>x</pre>"]
        {
            let _ = read(html);
        }
    }
}
