//! Pages that real site generators built (`tests/sites/build.sh`): what is read of them, and whether their anchors are ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use docent::index::sources::anchors::AnchorStyle;
use docent::index::sources::page::Block;
use docent::index::sources::{self, Corpus, ReadOptions};

/// The committed pages, or those in the folder that `DOCENT_SITES` names (`tests/sites/check.sh` builds one).
fn sites() -> PathBuf {
    if let Some(folder) = std::env::var_os("DOCENT_SITES") {
        return folder.into();
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sites")
}

fn read(path: &str, options: &ReadOptions) -> Corpus {
    sources::read(&sites().join(path), options, &|_, _| ()).unwrap()
}

fn text_of(corpus: &Corpus, id: &str) -> String {
    let page = corpus.pages.iter().find(|page| page.document.id == id).unwrap_or_else(|| panic!("no page {id}"));
    page.blocks.iter().map(Block::to_markdown).collect::<Vec<_>>().join("\n\n")
}

fn anchors_of(corpus: &Corpus, id: &str) -> Vec<String> {
    let page = corpus.pages.iter().find(|page| page.document.id == id).unwrap_or_else(|| panic!("no page {id}"));
    let anchor = |block: &Block| match block {
        Block::Heading { anchor, .. } => anchor.clone(),
        _ => None,
    };
    page.blocks.iter().filter_map(anchor).collect()
}

/// Text that no page of any generator may show: what surrounds its content.
const SURROUNDINGS: &[&str] = &[
    "ignored part",
    "cookies",
    "Accept",
    "Skip to content",
    "¶",
    "On this page",
    "Table of contents",
    "Made with",
    "Next page",
    "Previous topic",
    "Quick search",
    "Copy",
    "\u{200b}",
    "Appearance",
    "Navigation",
    "Show Source",
];

fn check_site(site: &str, install: &str) -> Corpus {
    let corpus = read(site, &ReadOptions::default());
    for page in &corpus.pages {
        let text = page.blocks.iter().map(Block::to_markdown).collect::<Vec<_>>().join("\n\n");
        for unwanted in SURROUNDINGS {
            assert!(!text.contains(unwanted), "{site}/{}: {unwanted:?} in\n{text}", page.document.id);
        }
        let html = fs::read_to_string(sites().join(site).join(format!("{}.html", page.document.id))).unwrap();
        for anchor in anchors_of(&corpus, &page.document.id) {
            assert!(html.contains(&format!("id=\"{anchor}\"")), "{site}/{}: no id {anchor}", page.document.id);
        }
    }
    let text = text_of(&corpus, install);
    for wanted in [
        "This page tells how to install Kettle on a counter",
        "Put the base on the counter.",
        "kettle plug --socket 3",
        "The lid closes by itself.",
        "2000 W",
    ] {
        assert!(text.contains(wanted), "{site}: {wanted:?} is not in\n{text}");
    }
    let title = &corpus.pages.iter().find(|page| page.document.id == install).unwrap().document.title;
    assert_eq!(title, "Install Kettle", "{site}");
    corpus
}

#[test]
fn mkdocs_pages_are_read_as_their_content() {
    let corpus = check_site("mkdocs", "guide/install/index");
    assert!(text_of(&corpus, "guide/install/index").contains("| Power | `2000 W` |"));
    assert_eq!(
        corpus.pages.iter().find(|p| p.document.id == "guide/install/index").unwrap().document.url,
        "/guide/install/"
    );
    assert!(corpus.skipped.iter().any(|page| page.path == "404.html"));
}

#[test]
fn sphinx_pages_are_read_as_their_content() {
    let corpus = check_site("sphinx", "install");
    assert!(text_of(&corpus, "install").contains("Never plug it in with wet hands."));
    assert!(text_of(&corpus, "api").contains("Heats the water until it has the temperature"));
    assert!(anchors_of(&corpus, "api").contains(&"kettle.boil".to_owned()));
    assert!(corpus.skipped.iter().any(|page| page.path == "genindex.html"));
}

#[test]
fn vitepress_pages_are_read_as_their_content() {
    let corpus = check_site("vitepress", "guide/install");
    assert!(text_of(&corpus, "guide/install").contains("```js\nimport { boil } from 'kettle'"));
    let chinese = corpus.pages.iter().find(|page| page.document.id == "zh/install").unwrap();
    assert_eq!((chinese.document.title.as_str(), chinese.language.as_str()), ("安装水壶", "zh"));
    assert_eq!(chinese.document.url, "/zh/install.html");
}

#[test]
fn eleventy_pages_are_read_as_their_content() {
    let corpus = check_site("eleventy", "guide/install/index");
    assert!(anchors_of(&corpus, "guide/install/index").is_empty(), "this generator makes no anchors");
}

/// The anchors that we predict for the Markdown are those that the generator wrote into the HTML.
#[test]
fn predicted_anchors_are_those_of_the_generators() {
    for (style, site, ending) in [(AnchorStyle::Mkdocs, "mkdocs", "/index"), (AnchorStyle::Vitepress, "vitepress", "")]
    {
        let markdown = read("docs", &ReadOptions { anchors: Some(style), ..ReadOptions::default() });
        let built = read(site, &ReadOptions::default());
        for page in ["guide/install", "zh/install"] {
            let predicted = anchors_of(&markdown, page);
            assert!(predicted.len() >= 4, "{predicted:?}");
            assert_eq!(predicted, anchors_of(&built, &format!("{page}{ending}")), "{site}: {page}");
        }
    }
    let rst = read("sphinx-docs", &ReadOptions::default());
    let built = read("sphinx", &ReadOptions::default());
    for page in ["install", "api"] {
        assert_eq!(anchors_of(&rst, page), anchors_of(&built, page), "sphinx: {page}");
    }
}

#[test]
fn predicted_anchors_are_those_of_github_slugger() {
    let expected: BTreeMap<String, Vec<String>> =
        serde_json::from_str(&fs::read_to_string(sites().join("github-slugger.json")).unwrap()).unwrap();
    let markdown = read("docs", &ReadOptions::default());
    for (page, slugs) in expected {
        let anchors = anchors_of(&markdown, page.trim_end_matches(".md"));
        // The first one belongs to the title, which is no heading of the content.
        assert_eq!(anchors, slugs[1..], "{page}");
    }
}

/// The source and the built page say the same, so that it does not matter which of them a site indexes.
#[test]
fn restructured_text_is_read_as_sphinx_shows_it() {
    let source = text_of(&read("sphinx-docs", &ReadOptions::default()), "install");
    let built = text_of(&read("sphinx", &ReadOptions::default()), "install");
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
    };
    let (source, built) = (words(&source), words(&built));
    let missing: Vec<&String> = built.iter().filter(|word| !source.contains(word)).collect();
    // Sphinx writes the name of an admonition above it, and numbers to items that the source leaves unnumbered.
    let is_added = |word: &str| word == "note" || word.chars().all(|c| c.is_ascii_digit());
    assert!(missing.iter().all(|word| is_added(word)), "not in the source's reading: {missing:?}");
}
