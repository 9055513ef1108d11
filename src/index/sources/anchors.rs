//! The anchors that site generators give to headings.
//!
//! Input: the text of a heading without markup. Output: the id that the generator would write, numbered where the page has
//! used it already. Each rule is taken from the generator's own source, named at its function, and checked against pages
//! that the generators really built (`tests/native/sites.rs`).

use std::collections::{HashMap, HashSet};

use comrak::Anchorizer;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Whose rule makes anchors for headings that name none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnchorStyle {
    /// GitHub, and everything that uses github-slugger (Docusaurus, Nextra, Starlight).
    #[default]
    Github,
    /// VitePress.
    Vitepress,
    /// MkDocs (Python-Markdown's toc extension).
    Mkdocs,
    /// Docusaurus: as GitHub.
    Docusaurus,
    /// mdBook.
    Mdbook,
    /// Sphinx (docutils), for reStructuredText and MyST.
    Sphinx,
    /// None: only anchors that the page itself names.
    None,
}

/// Makes the anchors of one page.
#[derive(Debug)]
pub struct Anchors {
    style: AnchorStyle,
    github: Anchorizer,
    used: HashSet<String>,
    counts: HashMap<String, usize>,
}

impl Anchors {
    /// For a new page.
    #[must_use]
    pub fn new(style: AnchorStyle) -> Self {
        Self { style, github: Anchorizer::new(), used: HashSet::new(), counts: HashMap::new() }
    }

    /// Takes an anchor that the page names itself, so that no other heading gets it.
    pub fn claim(&mut self, anchor: &str) {
        self.used.insert(anchor.to_owned());
    }

    /// The anchor of the next heading; `None` when the style makes none.
    pub fn next(&mut self, heading: &str) -> Option<String> {
        let anchor = match self.style {
            AnchorStyle::None => return None,
            AnchorStyle::Github | AnchorStyle::Docusaurus => loop {
                let anchor = self.github.anchorize(heading);
                if !self.used.contains(&anchor) {
                    break anchor;
                }
            },
            AnchorStyle::Vitepress => self.numbered(&vitepress(heading), 1),
            AnchorStyle::Mkdocs => self.python_markdown(&mkdocs(heading)),
            AnchorStyle::Mdbook => self.numbered(&mdbook(heading), 1),
            AnchorStyle::Sphinx => self.docutils(&docutils(heading)),
        };
        self.used.insert(anchor.clone());
        Some(anchor)
    }

    /// The slug, or `slug-N` with the first free N (markdown-it-anchor's `uniqueSlug`, mdBook's `unique_id_from_content`).
    fn numbered(&mut self, slug: &str, from: usize) -> String {
        if !self.used.contains(slug) {
            return slug.to_owned();
        }
        let count = self.counts.entry(slug.to_owned()).or_insert(from);
        loop {
            let anchor = format!("{slug}-{count}");
            *count += 1;
            if !self.used.contains(&anchor) {
                return anchor;
            }
        }
    }

    /// Python-Markdown's `unique`: an empty or used id gets `_1`, then `_2`.
    fn python_markdown(&self, slug: &str) -> String {
        let mut anchor = slug.to_owned();
        let mut count = 0;
        let stem = match slug.rsplit_once('_') {
            Some((stem, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
                count = digits.parse().unwrap_or(0);
                stem
            }
            _ => slug,
        };
        while anchor.is_empty() || self.used.contains(&anchor) {
            count += 1;
            anchor = format!("{stem}_{count}");
        }
        anchor
    }

    /// docutils: a used or empty id becomes `id1`, `id2`, …, counted over the page.
    fn docutils(&mut self, slug: &str) -> String {
        if !slug.is_empty() && !self.used.contains(slug) {
            return slug.to_owned();
        }
        let count = self.counts.entry(String::new()).or_insert(1);
        loop {
            let anchor = format!("id{count}");
            *count += 1;
            if !self.used.contains(&anchor) {
                return anchor;
            }
        }
    }
}

/// VitePress: `slugify` of `@mdit-vue/shared`.
fn vitepress(heading: &str) -> String {
    let mut slug = String::new();
    for c in heading.nfkd().filter(|c| !('\u{300}'..='\u{36f}').contains(c) && !c.is_control()) {
        let special = c.is_whitespace() || "~`!@#$%^&*()-_+=[]{}|\\;:\"'“”‘’<>,.?/".contains(c);
        match special {
            true if !slug.ends_with('-') => slug.push('-'),
            true => {}
            false => slug.extend(c.to_lowercase()),
        }
    }
    let slug = slug.trim_matches('-');
    if slug.starts_with(|c: char| c.is_ascii_digit()) { format!("_{slug}") } else { slug.to_owned() }
}

/// MkDocs: `slugify` of Python-Markdown's toc extension: ASCII only.
fn mkdocs(heading: &str) -> String {
    let kept: String = heading
        .nfkd()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '-' || (c.is_ascii() && c.is_whitespace()))
        .collect();
    let mut slug = String::new();
    for c in kept.trim().chars() {
        match c {
            '-' | ' ' | '\t' | '\n' if slug.ends_with('-') => {}
            '-' | ' ' | '\t' | '\n' => slug.push('-'),
            c => slug.push(c.to_ascii_lowercase()),
        }
    }
    slug
}

/// mdBook: `normalize_id`.
fn mdbook(heading: &str) -> String {
    heading
        .trim()
        .chars()
        .filter_map(|c| match c {
            c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        })
        .collect()
}

/// docutils: `make_id`.
pub(crate) fn docutils(heading: &str) -> String {
    let mut slug = String::new();
    for c in heading.to_lowercase().nfkd().filter(|c| !is_combining_mark(*c)) {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if c.is_ascii() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit()).trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(style: AnchorStyle, headings: &[&str], expected: &[&str]) {
        let mut anchors = Anchors::new(style);
        let found: Vec<String> = headings.iter().filter_map(|heading| anchors.next(heading)).collect();
        assert_eq!(found, expected, "{style:?}");
    }

    #[test]
    fn each_generator_has_its_own_rule() {
        let headings = ["Getting Started", "What's new in 2.0?", "快速开始", "snake_case & C++", "2 Steps"];
        check(
            AnchorStyle::Github,
            &headings,
            &["getting-started", "whats-new-in-20", "快速开始", "snake_case--c", "2-steps"],
        );
        check(
            AnchorStyle::Vitepress,
            &headings,
            &["getting-started", "what-s-new-in-2-0", "快速开始", "snake-case-c", "_2-steps"],
        );
        check(AnchorStyle::Mkdocs, &headings, &["getting-started", "whats-new-in-20", "_1", "snake_case-c", "2-steps"]);
        check(
            AnchorStyle::Mdbook,
            &headings,
            &["getting-started", "whats-new-in-20", "快速开始", "snake_case--c", "2-steps"],
        );
        check(
            AnchorStyle::Sphinx,
            &headings,
            &["getting-started", "what-s-new-in-2-0", "id1", "snake-case-c", "steps"],
        );
        check(AnchorStyle::None, &headings, &[]);
    }

    #[test]
    fn repeated_headings_are_numbered() {
        let headings = ["Example", "Example", "Example 1", "Example"];
        check(AnchorStyle::Github, &headings, &["example", "example-1", "example-1-1", "example-2"]);
        check(AnchorStyle::Vitepress, &headings, &["example", "example-1", "example-1-1", "example-2"]);
        check(AnchorStyle::Mkdocs, &headings, &["example", "example_1", "example-1", "example_2"]);
        check(AnchorStyle::Sphinx, &headings, &["example", "id1", "example-1", "id2"]);
        check(AnchorStyle::Mkdocs, &["安装", "配置"], &["_1", "_2"]);
    }

    #[test]
    fn anchors_that_the_page_names_are_not_given_again() {
        let mut anchors = Anchors::new(AnchorStyle::Github);
        anchors.claim("setup");
        assert_eq!(anchors.next("Setup").as_deref(), Some("setup-1"));
    }
}
