//! `corpus.json`: `[{id, title, content, tags, url?}]`, or one such object a line (`.jsonl`).
//!
//! Input: its text. Output: an entry a page, and what was wrong with the others. The fields of front matter (version, date,
//! section, language, authority, boost) may stand beside the named ones; `_id` and `text` are read as `id` and `content`.

use serde_json::Value;

use crate::error::{Error, Result};
use crate::index::sources::front_matter;
use crate::index::sources::page::PageFacts;

/// One page of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// What it says of itself.
    pub facts: PageFacts,
    /// Its text, Markdown.
    pub content: String,
}

/// The entries of a file, and the ids of those that were refused with the reason.
pub type Entries = (Vec<Entry>, Vec<(String, String)>);

/// Reads the file: its entries, and those that were refused with the reason.
///
/// # Errors
/// [`Error::Input`] when the file is no list of objects.
pub fn read(path: &str, text: &str) -> Result<Entries> {
    let refuse = |reason: String| Error::Input { path: path.to_owned(), reason };
    let text = text.trim_start_matches('\u{feff}').trim();
    let values: Vec<Value> = if text.starts_with('{') {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines
            .map(|(n, line)| serde_json::from_str(line).map_err(|error| refuse(format!("line {}: {error}", n + 1))))
            .collect::<Result<_>>()?
    } else {
        serde_json::from_str(text).map_err(|error| {
            refuse(format!("{error}; expected is [{{\"id\", \"title\", \"content\", \"tags\", \"url\"}}, …]"))
        })?
    };
    let mut entries: Vec<Entry> = Vec::new();
    let mut refused = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for (n, value) in values.iter().enumerate() {
        let field = |names: [&str; 2]| {
            names.iter().find_map(|name| match &value[*name] {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
        };
        let Some(id) = field(["id", "_id"]).filter(|id| !id.trim().is_empty()) else {
            refused.push((format!("entry {}", n + 1), "it has no `id`".to_owned()));
            continue;
        };
        let Some(content) = field(["content", "text"]) else {
            refused.push((id, "it has no `content`".to_owned()));
            continue;
        };
        if !seen.insert(id.clone()) {
            refused.push((id, "its `id` is used by an entry before it".to_owned()));
            continue;
        }
        let mut facts = front_matter::facts(value);
        facts.id = Some(id.clone());
        facts.url = value["url"].as_str().map(str::to_owned).filter(|url| !url.is_empty());
        entries.push(Entry { id, facts, content });
    }
    Ok((entries, refused))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_and_bad_ones_are_told() {
        let text = r#"[{"id": "venv", "title": "Python 虚拟环境", "content": "用 venv。", "tags": ["python/venv"], "url": "/venv"},
            {"id": "venv", "content": "again"}, {"title": "no id", "content": "x"}, {"id": "empty"}, {"id": 7, "content": "seven"}]"#;
        let (entries, refused) = read("corpus.json", text).unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].facts.title.as_deref(), Some("Python 虚拟环境"));
        assert_eq!(entries[0].facts.tags, ["python/venv"]);
        assert_eq!(entries[0].facts.url.as_deref(), Some("/venv"));
        assert_eq!(entries[1].id, "7");
        let reasons: Vec<&str> = refused.iter().map(|(_, reason)| reason.as_str()).collect();
        assert_eq!(reasons, ["its `id` is used by an entry before it", "it has no `id`", "it has no `content`"]);
    }

    #[test]
    fn lines_of_json_are_read_too() {
        let (entries, _) = read(
            "corpus.jsonl",
            "{\"_id\": \"a\", \"title\": \"A\", \"text\": \"x\"}\n\n{\"_id\": \"b\", \"text\": \"y\"}\n",
        )
        .unwrap();
        assert_eq!(entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn what_is_no_list_is_told_with_the_place() {
        for text in ["", "[1, 2", "\"text\"", "<html>"] {
            assert_eq!(read("corpus.json", text).unwrap_err().code(), "input");
        }
        let error = read("corpus.jsonl", "{\"id\": \"a\", \"content\": \"x\"}\n{broken").unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
    }
}
