//! A sitemap on disk: `sitemap.xml` naming the pages of the folder in which it lies (<https://www.sitemaps.org/protocol.html>).
//!
//! Input: its text and the files of the folder. Output: which file is which page, with the address and date that the sitemap
//! gives. Nothing is fetched.

use std::collections::BTreeSet;

use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::{Error, Result};

/// A page named by a sitemap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Its address.
    pub url: String,
    /// When it was changed, `YYYY-MM-DD`.
    pub date: Option<String>,
}

/// What a sitemap names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sitemap {
    /// Its pages.
    pub pages: Vec<Named>,
    /// Other sitemaps (of a sitemap index).
    pub sitemaps: Vec<String>,
}

/// Reads a sitemap or a sitemap index.
///
/// # Errors
/// [`Error::Input`] when the file is no sitemap.
pub fn read(path: &str, text: &str) -> Result<Sitemap> {
    let refuse = |reason: String| Error::Input { path: path.to_owned(), reason };
    let mut reader = Reader::from_str(text);
    reader.config_mut().trim_text(true);
    let mut sitemap = Sitemap::default();
    let mut element = String::new();
    let mut in_index = false;
    let mut known = false;
    let mut current = Named { url: String::new(), date: None };
    loop {
        match reader.read_event().map_err(|error| refuse(format!("it is no XML: {error}")))? {
            Event::Start(start) => {
                element = start.local_name().as_ref().to_owned();
                known |= matches!(element.as_str(), "urlset" | "sitemapindex");
                in_index |= element == "sitemapindex";
            }
            Event::Text(text) => append(&mut current, &element, &text),
            Event::GeneralRef(entity) => {
                let escaped = format!("&{};", &*entity);
                let value = quick_xml::escape::unescape(&escaped).unwrap_or_default();
                append(&mut current, &element, &value);
            }
            Event::End(end) => {
                let name = end.local_name();
                if matches!(name.as_ref(), "url" | "sitemap") {
                    let named = std::mem::replace(&mut current, Named { url: String::new(), date: None });
                    match in_index {
                        _ if named.url.is_empty() => {}
                        true => sitemap.sitemaps.push(named.url),
                        false => sitemap.pages.push(named),
                    }
                }
                element.clear();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    if known {
        Ok(sitemap)
    } else {
        Err(refuse("it has neither <urlset> nor <sitemapindex>, so it is no sitemap".to_owned()))
    }
}

fn append(current: &mut Named, element: &str, value: &str) {
    match element {
        "loc" => current.url.push_str(value.trim()),
        "lastmod" if value.len() >= 10 => current.date = value.get(..10).map(str::to_owned),
        _ => {}
    }
}

/// The file that an address names: the longest end of its path under which a file lies.
#[must_use]
pub fn file_of(url: &str, files: &BTreeSet<String>) -> Option<String> {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest.split_once('/').map_or("", |(_, path)| path));
    let path = decode(path.split(['?', '#']).next().unwrap_or_default());
    let path = path.trim_matches('/');
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    // The address may hold a base that the folder does not have.
    (0..=parts.len()).find_map(|skipped| {
        let rest = parts[skipped..].join("/");
        let candidates = if rest.is_empty() {
            vec!["index.html".to_owned(), "index.md".to_owned()]
        } else {
            [".html", "/index.html", ".md", "/index.md", ".htm", ""].iter().map(|end| format!("{rest}{end}")).collect()
        };
        // Only the root may be found by dropping the whole path, and only when the whole path is a base.
        let is_root = rest.is_empty() && skipped > 0 && !url.ends_with('/');
        candidates.into_iter().find(|file| !is_root && files.contains(file))
    })
}

fn decode(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let hex = bytes.get(i + 1..i + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.filter(|_| bytes[i] == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                i += 3;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_nested_sitemaps_are_read() {
        let text = "<?xml version=\"1.0\"?><urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\
            <url><loc>https://x.org/docs/a?b=1&amp;c=2</loc><lastmod>2025-01-31T10:00:00Z</lastmod></url>\
            <url><loc> https://x.org/docs/%E5%AE%89 </loc></url></urlset>";
        let sitemap = read("sitemap.xml", text).unwrap();
        assert_eq!(
            sitemap.pages[0],
            Named { url: "https://x.org/docs/a?b=1&c=2".into(), date: Some("2025-01-31".into()) }
        );
        assert_eq!(sitemap.pages.len(), 2);
        let index =
            read("s.xml", "<sitemapindex><sitemap><loc>https://x.org/s1.xml</loc></sitemap></sitemapindex>").unwrap();
        assert_eq!(index.sitemaps, ["https://x.org/s1.xml"]);
    }

    #[test]
    fn what_is_no_sitemap_is_told() {
        for text in ["", "<html></html>", "<urlset><url>", "not xml at all", "<a></b>"] {
            let result = read("sitemap.xml", text);
            assert!(result.is_err() || text == "<urlset><url>", "{text}");
        }
    }

    #[test]
    fn addresses_find_their_files() {
        let files: BTreeSet<String> =
            ["index.html", "guide/start.html", "guide/index.html", "安.html", "api/index.html"]
                .iter()
                .map(|f| (*f).to_owned())
                .collect();
        for (url, expected) in [
            ("https://x.org/", Some("index.html")),
            ("https://x.org/guide/start", Some("guide/start.html")),
            ("https://x.org/base/guide/start.html", Some("guide/start.html")),
            ("https://x.org/base/guide/", Some("guide/index.html")),
            ("https://x.org/%E5%AE%89", Some("安.html")),
            ("https://x.org/base/", Some("index.html")),
            ("https://x.org/missing", None),
        ] {
            assert_eq!(file_of(url, &files).as_deref(), expected, "{url}");
        }
    }
}
