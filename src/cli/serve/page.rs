//! Markdown files as pages, so that the links of answers lead to a heading that is there.

use std::fs;
use std::path::{Path, PathBuf};

use comrak::nodes::NodeValue;
use comrak::{Arena, Options};
use minijinja::{Environment, context};

use super::inside;
use crate::error::{Error, Result};
use crate::index::sources::anchors::{AnchorStyle, Anchors};

/// The page around a rendered file, where the site gives none.
const TEMPLATE: &str = include_str!("page.html");

/// What a path leads to beside a plain file.
pub(super) enum Found {
    /// A Markdown file.
    Page(PathBuf),
    /// A folder that was asked for without its slash, so that relative links would go wrong.
    Folder,
}

/// Finds the Markdown file of a path: the file itself, the path with `.md` in the place of nothing, `.html` or `/`, or the
/// start page of a folder. A file of the exact name goes first.
pub(super) fn find(dir: &Path, path: &str) -> Option<Found> {
    let whole = inside(dir, path)?;
    if whole.is_dir() {
        if whole.join("index.html").is_file() {
            return None;
        }
        let start = ["index.md", "README.md"].iter().map(|name| whole.join(name)).find(|file| file.is_file())?;
        return Some(if path.ends_with('/') { Found::Page(start) } else { Found::Folder });
    }
    if whole.is_file() {
        return is_markdown(&whole).then_some(Found::Page(whole));
    }
    let name = whole.file_name()?.to_str()?;
    let stem = name.strip_suffix(".html").unwrap_or(name);
    let page = whole.with_file_name(format!("{stem}.md"));
    page.is_file().then_some(Found::Page(page))
}

fn is_markdown(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}

/// The template of a page.
pub(super) struct PageTemplate(Environment<'static>);

impl PageTemplate {
    /// Reads a template, or takes the built-in one.
    pub(super) fn read(file: Option<&Path>) -> Result<Self> {
        let source = match file {
            None => TEMPLATE.to_owned(),
            Some(file) => fs::read_to_string(file).map_err(|error| input(file, &error.to_string()))?,
        };
        let mut environment = Environment::new();
        environment
            .add_template_owned("page.html", source)
            .map_err(|error| input(file.unwrap_or(Path::new("page.html")), &error.to_string()))?;
        Ok(Self(environment))
    }

    /// Renders a Markdown file.
    pub(super) fn render(&self, file: &Path, path: &str) -> Result<String> {
        let source = fs::read_to_string(file).map_err(|error| input(file, &error.to_string()))?;
        let Rendered { title, content } = markdown(&source);
        let title = title.unwrap_or_else(|| path.trim_matches('/').to_owned());
        let lang = if path.split('/').any(|part| part == "zh") { "zh-Hans" } else { "en" };
        self.0
            .get_template("page.html")
            .and_then(|template| template.render(context! { title, content, lang, path }))
            .map_err(|error| input(file, &error.to_string()))
    }
}

fn input(file: &Path, reason: &str) -> Error {
    Error::Input { path: file.display().to_string(), reason: reason.to_owned() }
}

struct Rendered {
    title: Option<String>,
    content: String,
}

/// Renders Markdown without any raw HTML, each heading with its anchor.
fn markdown(source: &str) -> Rendered {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.front_matter_delimiter = Some("---".to_owned());
    let arena = Arena::new();
    let root = comrak::parse_document(&arena, source, &options);
    let mut title = None;
    let mut headings = Vec::new();
    for node in root.descendants() {
        let level = match &node.data().value {
            NodeValue::FrontMatter(text) => {
                title = front_matter_title(text);
                continue;
            }
            NodeValue::Heading(heading) => heading.level,
            _ => continue,
        };
        let (text, explicit) = heading_text(node);
        if level == 1 && title.is_none() {
            title = Some(text.clone());
        }
        headings.push((node, text, explicit));
    }
    // The index builder's own rule, so that what an answer links to is what stands here.
    let mut anchors = Anchors::new(AnchorStyle::Github);
    headings.iter().filter_map(|(.., explicit)| explicit.as_deref()).for_each(|anchor| anchors.claim(anchor));
    for (node, text, explicit) in headings {
        let Some(anchor) = explicit.or_else(|| anchors.next(&text)) else { continue };
        let anchor = escape(&anchor);
        let mark = format!("<a class=\"anchor\" id=\"{anchor}\" href=\"#{anchor}\"></a>");
        node.prepend(arena.alloc(NodeValue::Raw(mark).into()));
    }
    let mut content = String::new();
    // Writing to a string cannot fail.
    let _ = comrak::format_html(root, &options, &mut content);
    Rendered { title, content }
}

/// The text of a heading and its explicit anchor `{#id}`, which is taken out of the heading.
fn heading_text<'a>(heading: &'a comrak::nodes::AstNode<'a>) -> (String, Option<String>) {
    let mut explicit = None;
    let mut whole = String::new();
    for node in heading.descendants() {
        match &mut node.data_mut().value {
            NodeValue::Text(text) => {
                if let Some((before, id)) = split_explicit_anchor(text) {
                    explicit = Some(id);
                    *text = before.into();
                }
                whole.push_str(text);
            }
            NodeValue::Code(code) => whole.push_str(&code.literal),
            NodeValue::SoftBreak | NodeValue::LineBreak => whole.push(' '),
            _ => {}
        }
    }
    (whole.trim().to_owned(), explicit)
}

/// `Title {#id}` → (`Title`, `id`).
fn split_explicit_anchor(text: &str) -> Option<(String, String)> {
    let (before, rest) = text.rsplit_once("{#")?;
    let id = rest.trim_end().strip_suffix('}')?;
    let plain = !id.is_empty() && id.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':'));
    plain.then(|| (before.trim_end().to_owned(), id.to_owned()))
}

/// The `title` of a page's front matter.
fn front_matter_title(front_matter: &str) -> Option<String> {
    let yaml = front_matter.trim().trim_matches('-');
    let fields: serde_norway::Value = serde_norway::from_str(yaml).ok()?;
    fields.get("title")?.as_str().map(str::to_owned)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_get_anchors_and_html_stays_out() {
        let check = |source: &str, expected: &str| {
            let Rendered { content, .. } = markdown(source);
            assert!(content.contains(expected), "{source} gave {content}");
        };
        check("## Getting started", "id=\"getting-started\"");
        check("## 安装 `docent`", "id=\"安装-docent\"");
        check("## A\n\n## A", "id=\"a-1\"");
        check(
            "## Options {#the-options}",
            "<h2><a class=\"anchor\" id=\"the-options\" href=\"#the-options\"></a>Options</h2>",
        );
        check("a | b\n--|--\n1 | 2", "<table>");
        let Rendered { content, .. } = markdown("x <script>alert(1)</script> [y](javascript:alert(1))");
        assert!(!content.contains("<script") && !content.contains("javascript:"), "{content}");
    }

    #[test]
    fn the_title_comes_from_front_matter_or_the_first_heading() {
        assert_eq!(markdown("---\ntitle: 标题\n---\n# Other").title.as_deref(), Some("标题"));
        assert_eq!(markdown("# A *b* `c`").title.as_deref(), Some("A b c"));
        assert_eq!(markdown("text").title, None);
    }

    #[test]
    fn a_path_finds_its_page() {
        let dir = std::env::temp_dir().join(format!("docent-serve-{}", std::process::id()));
        fs::create_dir_all(dir.join("guide")).unwrap();
        for (name, text) in [("a.md", "# A"), ("guide/index.md", "# G"), ("guide/b.md", "# B"), ("guide/b.html", "own")]
        {
            fs::write(dir.join(name), text).unwrap();
        }
        let page = |path: &str| match find(&dir, path) {
            Some(Found::Page(file)) => file.strip_prefix(&dir).unwrap().to_string_lossy().into_owned(),
            Some(Found::Folder) => "folder".to_owned(),
            None => "none".to_owned(),
        };
        assert_eq!(page("/a"), "a.md");
        assert_eq!(page("/a.md"), "a.md");
        assert_eq!(page("/a.html"), "a.md");
        assert_eq!(page("/guide/"), "guide/index.md");
        assert_eq!(page("/guide"), "folder");
        assert_eq!(page("/guide/b.html"), "none", "the file itself goes first");
        assert_eq!(page("/guide/b"), "guide/b.md");
        assert_eq!(page("/missing"), "none");
        assert_eq!(page("/../a"), "none");
        fs::remove_dir_all(dir).unwrap();
    }
}
