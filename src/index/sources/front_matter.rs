//! The block of metadata at the start of a Markdown page: YAML between `---`, TOML between `+++`.
//!
//! Input: a source text. Output: what it says as [`PageFacts`], the text after it, and a complaint when it cannot be read:
//! a page with broken front matter is still a page.

use serde_json::Value;

use crate::index::sources::page::PageFacts;

/// A text without its front matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Split<'a> {
    /// What it says.
    pub facts: PageFacts,
    /// The text after it.
    pub body: &'a str,
    /// Why it could not be read.
    pub complaint: Option<String>,
}

/// Splits the front matter off a text.
#[must_use]
pub fn split(source: &str) -> Split<'_> {
    let source = source.trim_start_matches('\u{feff}');
    for fence in ["---", "+++"] {
        let Some((block, body)) = between(source, fence) else { continue };
        let parsed = match fence {
            "---" => serde_norway::from_str::<Value>(block).map_err(|error| error.to_string()),
            _ => toml::from_str::<Value>(block).map_err(|error| error.message().to_owned()),
        };
        return match parsed {
            Ok(Value::Object(fields)) => Split { facts: facts(&Value::Object(fields)), body, complaint: None },
            Ok(Value::Null) => Split { facts: PageFacts::default(), body, complaint: None },
            // A line of text between two rules is no front matter.
            Ok(_) => Split { facts: PageFacts::default(), body: source, complaint: None },
            Err(error) => {
                Split { facts: PageFacts::default(), body, complaint: Some(format!("its front matter: {error}")) }
            }
        };
    }
    Split { facts: PageFacts::default(), body: source, complaint: None }
}

fn between<'a>(source: &'a str, fence: &str) -> Option<(&'a str, &'a str)> {
    let first = source.lines().next()?;
    if first.trim_end() != fence {
        return None;
    }
    let start = source.find('\n')? + 1;
    let mut at = start;
    for line in source[start..].split_inclusive('\n') {
        if line.trim_end() == fence || (fence == "---" && line.trim_end() == "...") {
            return Some((&source[start..at], &source[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// What the fields that site generators agree on say. Unknown fields are no concern of ours.
#[must_use]
pub fn facts(fields: &Value) -> PageFacts {
    let text = |names: &[&str]| names.iter().find_map(|name| as_text(&fields[*name]));
    let list = |name: &str| as_list(&fields[name]);
    let number = |name: &str| fields[name].as_f64().map(|value| value as f32);
    let is = |name: &str, value: bool| fields[name].as_bool() == Some(value);
    let left_out = if is("draft", true) || is("published", false) {
        Some("a draft")
    } else if is("docent", false) || is("search", false) || is("pagefind", false) || is("noindex", true) {
        Some("left out by its front matter")
    } else if is("unlisted", true) || is("hidden", true) {
        Some("unlisted")
    } else {
        None
    };
    let date = text(&["date", "updated", "lastUpdated", "last_updated", "lastmod"])
        .or_else(|| as_text(&fields["last_update"]["date"]))
        .filter(|date| is_date(date))
        .and_then(|date| date.get(..10).map(str::to_owned));
    let mut tags = list("tags");
    tags.extend(list("keywords"));
    tags.dedup();
    PageFacts {
        title: text(&["title"]),
        id: None,
        url: text(&["permalink", "url", "slug"]).filter(|url| url.contains('/')),
        tags,
        version: text(&["version", "api_version"]),
        section: text(&["section", "category"]).or_else(|| list("categories").into_iter().next()),
        date,
        language: text(&["lang", "language", "locale"]),
        authority: number("authority").map(|value| value.clamp(0.0, 1.0)),
        boost: number("boost").map(|value| value.clamp(0.1, 10.0)),
        left_out,
    }
}

/// A string, number or date as text; `None` for anything else and for empty text.
fn as_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        // TOML dates come as a map of one field.
        Value::Object(fields) if fields.len() == 1 => return as_text(fields.values().next()?),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// A list of texts, or one text with commas between.
fn as_list(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().filter_map(as_text).collect(),
        Value::String(text) => {
            text.split([',', '，']).map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a text starts with `YYYY-MM-DD`.
pub(crate) fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes[..10].iter().enumerate().all(|(i, b)| if matches!(i, 4 | 7) { *b == b'-' } else { b.is_ascii_digit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_and_toml_say_the_same() {
        let yaml = "---\ntitle: 安装 Milvus\ntags: [python/venv, install]\nversion: 2.4\ndate: 2025-01-31\nlang: zh-CN\n\
                    authority: 0.9\nboost: 2\nsection: guide\n---\n# Text\n";
        let toml = "+++\ntitle = \"安装 Milvus\"\ntags = \"python/venv, install\"\nversion = 2.4\ndate = 2025-01-31\n\
                    lang = \"zh-CN\"\nauthority = 0.9\nboost = 2\ncategory = \"guide\"\n+++\n# Text\n";
        let facts = split(yaml).facts;
        assert_eq!(facts.title.as_deref(), Some("安装 Milvus"));
        assert_eq!(facts.tags, ["python/venv", "install"]);
        assert_eq!(facts.version.as_deref(), Some("2.4"));
        assert_eq!(facts.date.as_deref(), Some("2025-01-31"));
        assert_eq!((facts.authority, facts.boost), (Some(0.9), Some(2.0)));
        assert_eq!(split(toml).facts, facts);
        assert_eq!(split(yaml).body, "# Text\n");
        assert_eq!(split(toml).body, "# Text\n");
    }

    #[test]
    fn drafts_and_hidden_pages_stay_out() {
        for (line, reason) in [
            ("draft: true", Some("a draft")),
            ("published: false", Some("a draft")),
            ("search: false", Some("left out by its front matter")),
            ("draft: false", None),
        ] {
            assert_eq!(split(&format!("---\n{line}\n---\n")).facts.left_out, reason, "{line}");
        }
    }

    #[test]
    fn what_is_no_front_matter_stays_text() {
        for source in ["# Title\n---\n", "---\nunclosed: true\n", "---\njust a line\n---\ntext", "--- \nx"] {
            assert_eq!(split(source).body, source);
        }
        assert_eq!(split("---\n---\ntext").body, "text");
    }

    #[test]
    fn broken_front_matter_is_complained_of_and_the_page_stays() {
        let page = split("---\ntitle: [unclosed\n---\ntext\n");
        assert!(page.complaint.unwrap().contains("front matter"));
        assert_eq!(page.body, "text\n");
    }

    #[test]
    fn only_addresses_become_addresses() {
        assert_eq!(split("---\nslug: /guide/start\n---\n").facts.url.as_deref(), Some("/guide/start"));
        assert_eq!(split("---\nslug: start\n---\n").facts.url, None);
    }
}
