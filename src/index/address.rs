//! From the path of a source file to the address of its page.

use serde::Deserialize;

/// How a site generator ends the addresses of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UrlSuffix {
    /// `guide/start.html` (VitePress, mdBook, Sphinx).
    Html,
    /// `guide/start` (Docusaurus, VitePress with `cleanUrls`).
    Clean,
    /// `guide/start/` (MkDocs, Hugo, Eleventy).
    Directory,
}

/// The address of the page at `path` (relative, with `/`), without an anchor.
///
/// `own` is what the page itself gives: an absolute address is taken as it is, another one is put behind the base. An index
/// page has the address of its folder. Characters that end or split an address are escaped; letters of any script stay.
#[must_use]
pub fn of_page(base: &str, path: &str, suffix: UrlSuffix, own: Option<&str>) -> String {
    let base = base.trim_end_matches('/');
    if let Some(own) = own {
        let is_absolute =
            own.starts_with("//") || own.split_once("://").is_some_and(|(scheme, _)| !scheme.contains('/'));
        return if is_absolute { own.to_owned() } else { format!("{base}/{}", own.trim_start_matches('/')) };
    }
    let (folder, file) = path.rsplit_once('/').map_or(("", path), |(folder, file)| (folder, file));
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let folder = if folder.is_empty() { String::new() } else { format!("{}/", escape(folder)) };
    if is_index(stem) {
        return format!("{base}/{folder}");
    }
    let stem = escape(stem);
    match suffix {
        UrlSuffix::Html => format!("{base}/{folder}{stem}.html"),
        UrlSuffix::Clean => format!("{base}/{folder}{stem}"),
        UrlSuffix::Directory => format!("{base}/{folder}{stem}/"),
    }
}

/// Whether a file is the page of its folder.
#[must_use]
pub fn is_index(stem: &str) -> bool {
    matches!(stem, "index" | "_index" | "README" | "readme" | "Readme" | "Index")
}

fn escape(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        match c {
            ' ' | '"' | '#' | '%' | '<' | '>' | '?' | '\\' | '^' | '`' | '{' | '|' | '}' => {
                out.push_str(&format!("%{:02X}", c as u32));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_addresses() {
        use UrlSuffix::{Clean, Directory, Html};
        for (base, path, suffix, own, expected) in [
            ("", "guide/start.md", Html, None, "/guide/start.html"),
            ("/", "guide/start.md", Clean, None, "/guide/start"),
            ("https://x.org/docs/", "guide/start.md", Directory, None, "https://x.org/docs/guide/start/"),
            ("https://x.org", "index.md", Html, None, "https://x.org/"),
            ("https://x.org", "guide/README.md", Clean, None, "https://x.org/guide/"),
            ("", "指南/安装 说明.md", Html, None, "/指南/安装%20说明.html"),
            ("", "what?.md", Html, None, "/what%3F.html"),
            ("https://x.org", "a.md", Html, Some("/start"), "https://x.org/start"),
            ("https://x.org", "a.md", Html, Some("https://y.org/z"), "https://y.org/z"),
            ("", "v1.2/a.b.md", Html, None, "/v1.2/a.b.html"),
        ] {
            assert_eq!(of_page(base, path, suffix, own), expected);
        }
    }
}
