//! Reading documentation: what is found under a path becomes pages of blocks.
//!
//! Input: a folder, a `corpus.json`, a `sitemap.xml` or one page, with the site's options. Output: a [`Corpus`]: the pages in
//! the order of their paths, and everything that was left out with the reason.
//! **Invariant:** the same files give the same corpus, whatever the number of threads.

pub mod anchors;
pub mod boilerplate;
pub mod corpus_json;
pub mod front_matter;
pub mod html;
pub mod markdown;
pub mod mdx;
pub mod page;
pub mod plain_text;
pub mod rst;
pub mod sitemap;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::index::address::{self, UrlSuffix};
use crate::index::site_config::{self, SiteConfig};
use crate::retrieval::document::Document;
use anchors::AnchorStyle;
use page::{Block, Page, PageFacts, language_of, nearest_language};

/// The largest file that is read, in bytes; a page that a person reads is far below.
const MAX_PAGE_BYTES: u64 = 5 << 20;
/// The file of site-specific exclusions, in the syntax of `.gitignore`.
const IGNORE_FILE: &str = ".docentignore";
/// Folders of generators that repeat pages as sources or hold no pages.
const SKIPPED_FOLDERS: &[&str] =
    &["node_modules", "_sources", "_static", "_modules", "__pycache__", "_includes", "_layouts", "_data", "_sass"];
/// Stems of files that generators write beside the pages, and of files about a repository.
const SKIPPED_STEMS: &[&str] = &[
    "404",
    "search",
    "genindex",
    "py-modindex",
    "modindex",
    "robots",
    "llms",
    "llms-full",
    "humans",
    "requirements",
    "print",
    "toc",
    "SUMMARY",
    "_sidebar",
    "_navbar",
    "_coverpage",
    "CMakeLists",
];

/// How a source is to be read. What is given here goes before what the site's file says.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Address that the paths of the pages are put behind.
    pub base_url: Option<String>,
    /// How the addresses of pages end; by the kind of the source when not given.
    pub url_suffix: Option<UrlSuffix>,
    /// Whose rule makes anchors.
    pub anchors: Option<AnchorStyle>,
    /// Globs of the pages to read; all when empty.
    pub include: Vec<String>,
    /// Globs of the pages to leave out.
    pub exclude: Vec<String>,
    /// The site's file, when it does not lie in the documentation folder.
    pub config: Option<PathBuf>,
}

/// A page with its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct SourcePage {
    /// The metadata.
    pub document: Document,
    /// The content, without the title.
    pub blocks: Vec<Block>,
    /// Its language tag, also of a language that the agent does not speak.
    pub language: String,
}

/// A file or entry that was left out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Skipped {
    /// Its path or id.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// What was read.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    /// The pages, in the order of their paths.
    pub pages: Vec<SourcePage>,
    /// What was left out.
    pub skipped: Vec<Skipped>,
    /// Odd things that did not stop a page from being read.
    pub warnings: Vec<String>,
    /// What the site's file says.
    pub config: SiteConfig,
}

/// The kinds of sources, by the end of the file name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Markdown,
    Mdx,
    Html,
    Rst,
    Text,
}

impl Kind {
    fn of(path: &str) -> Option<Self> {
        match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "md" | "markdown" | "mdown" | "mkd" => Some(Self::Markdown),
            "mdx" => Some(Self::Mdx),
            "html" | "htm" | "xhtml" => Some(Self::Html),
            "rst" | "rest" => Some(Self::Rst),
            "txt" | "text" => Some(Self::Text),
            _ => None,
        }
    }
}

/// A file that may be a page.
#[derive(Debug, Clone)]
struct Candidate {
    path: String,
    kind: Kind,
    /// Address and date from a sitemap.
    named: Option<sitemap::Named>,
}

/// What became of a candidate.
enum Outcome {
    Read(Box<Page>, Vec<String>, BTreeSet<String>, BTreeSet<String>),
    Skipped(String),
}

/// Reads everything under `docs`. `progress` is told how many files are done and how many there are.
///
/// # Errors
/// [`Error::Input`] when nothing is at the path, when a file that all depends on (`corpus.json`, the sitemap, the site's
/// file) cannot be read, or when an option is malformed.
pub fn read(docs: &Path, options: &ReadOptions, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Corpus> {
    let metadata = std::fs::metadata(docs).map_err(|error| input(docs, &error.to_string()))?;
    let root = if metadata.is_dir() { docs.to_owned() } else { docs.parent().unwrap_or(Path::new("")).to_owned() };
    let config = read_config(&root, options.config.as_deref())?;
    let mut corpus = Corpus { config, ..Corpus::default() };
    let globs = Globs::new(options, &corpus.config)?;
    let file_name = docs.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ending = file_name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let mut candidates = Vec::new();
    let mut entries = Vec::new();
    if metadata.is_dir() {
        candidates = find_pages(&root, &globs, &mut corpus.skipped)?;
        let list = root.join("corpus.json");
        if list.is_file() {
            entries = read_entries(&list, &mut corpus.skipped)?;
        }
    } else if matches!(ending.as_str(), "json" | "jsonl") {
        entries = read_entries(docs, &mut corpus.skipped)?;
    } else if ending == "xml" {
        candidates = find_named(docs, &root, &globs, &mut corpus.skipped)?;
    } else if let Some(kind) = Kind::of(&file_name) {
        candidates.push(Candidate { path: file_name, kind, named: None });
    } else {
        return Err(input(docs, "it is neither a folder nor a .json, .xml, .md, .mdx, .html, .rst or .txt file"));
    }
    let mut pages = read_candidates(&root, candidates, options, &mut corpus, progress);
    for entry in entries {
        pages.push((page_of_entry(entry, options, &corpus.config), UrlSuffix::Clean));
    }
    finish(pages, options, &mut corpus);
    corpus.skipped.sort_by(|a, b| a.path.cmp(&b.path).then_with(|| a.reason.cmp(&b.reason)));
    Ok(corpus)
}

fn input(path: &Path, reason: &str) -> Error {
    Error::Input { path: path.display().to_string(), reason: reason.to_owned() }
}

fn read_config(root: &Path, given: Option<&Path>) -> Result<SiteConfig> {
    let found = given.map(Path::to_owned).or_else(|| {
        let candidates = site_config::FILES.iter().map(|name| root.join(name));
        candidates.into_iter().find(|path| path.is_file())
    });
    let Some(path) = found else { return Ok(SiteConfig::default()) };
    let text = std::fs::read_to_string(&path).map_err(|error| input(&path, &error.to_string()))?;
    SiteConfig::parse(&path.display().to_string(), &text)
}

/// Which paths are wanted.
struct Globs {
    include: Option<GlobSet>,
    exclude: GlobSet,
}

impl Globs {
    fn new(options: &ReadOptions, config: &SiteConfig) -> Result<Self> {
        let include: Vec<&String> =
            if options.include.is_empty() { config.include.iter() } else { options.include.iter() }.collect();
        let exclude = config.exclude.iter().chain(&options.exclude);
        Ok(Self {
            include: if include.is_empty() { None } else { Some(glob_set("include", include.into_iter())?) },
            exclude: glob_set("exclude", exclude)?,
        })
    }

    /// Why a path is not wanted.
    fn refuses(&self, path: &str) -> Option<&'static str> {
        if self.exclude.is_match(path) {
            return Some("excluded");
        }
        self.include.as_ref().is_some_and(|include| !include.is_match(path)).then_some("not included")
    }
}

fn glob_set<'a>(name: &str, patterns: impl Iterator<Item = &'a String>) -> Result<GlobSet> {
    let refuse = |error: globset::Error| Error::InvalidOption { name: name.to_owned(), reason: error.to_string() };
    let mut builder = GlobSetBuilder::new();
    for pattern in patterns {
        builder.add(Glob::new(pattern).map_err(refuse)?);
        // A folder's name means all that is in it.
        if !pattern.contains('*') {
            builder.add(Glob::new(&format!("{}/**", pattern.trim_end_matches('/'))).map_err(refuse)?);
        }
    }
    builder.build().map_err(refuse)
}

/// Paths of all files under the folder, hidden ones and those that `.docentignore` names left out, sorted.
fn walk(root: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    let walker = WalkBuilder::new(root)
        .standard_filters(false)
        .hidden(true)
        .add_custom_ignore_filename(IGNORE_FILE)
        .filter_entry(|entry| {
            let name = entry.file_name().to_string_lossy();
            entry.depth() == 0 || !SKIPPED_FOLDERS.contains(&name.as_ref())
        })
        .build();
    for entry in walker {
        let entry = entry.map_err(|error| input(root, &error.to_string()))?;
        if entry.file_type().is_some_and(|kind| kind.is_file())
            && let Ok(relative) = entry.path().strip_prefix(root)
        {
            let parts: Vec<String> =
                relative.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            paths.push(parts.join("/"));
        }
    }
    paths.sort();
    Ok(paths)
}

fn find_pages(root: &Path, globs: &Globs, skipped: &mut Vec<Skipped>) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for path in walk(root)? {
        let Some(kind) = Kind::of(&path) else { continue };
        let file = path.rsplit('/').next().unwrap_or_default();
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        let reason = if let Some(reason) = globs.refuses(&path) {
            Some(reason)
        } else if SKIPPED_STEMS.contains(&stem) {
            Some("a page of the generator, not of the documentation")
        } else if stem.starts_with('_') && stem != "_index" {
            Some("a partial page (its name starts with `_`)")
        } else {
            None
        };
        match reason {
            // What was not asked for is no news.
            Some("not included") => {}
            Some(reason) => skipped.push(Skipped { path, reason: reason.to_owned() }),
            None => candidates.push(Candidate { path, kind, named: None }),
        }
    }
    Ok(candidates)
}

fn find_named(map: &Path, root: &Path, globs: &Globs, skipped: &mut Vec<Skipped>) -> Result<Vec<Candidate>> {
    let files: BTreeSet<String> = walk(root)?.into_iter().collect();
    let mut waiting = vec![map.to_owned()];
    let mut seen = BTreeSet::new();
    let mut candidates: BTreeMap<String, Candidate> = BTreeMap::new();
    while let Some(path) = waiting.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).map_err(|error| input(&path, &error.to_string()))?;
        let read = sitemap::read(&path.display().to_string(), &text)?;
        for url in read.sitemaps {
            match sitemap::file_of(&url, &files) {
                Some(file) => waiting.push(root.join(file)),
                None => skipped.push(Skipped { path: url, reason: "a sitemap that is not in the folder".to_owned() }),
            }
        }
        for named in read.pages {
            let found = sitemap::file_of(&named.url, &files).and_then(|file| Kind::of(&file).map(|kind| (file, kind)));
            match found {
                Some((file, kind)) if globs.refuses(&file).is_none() => {
                    candidates.insert(file.clone(), Candidate { path: file, kind, named: Some(named) });
                }
                Some(_) => {}
                None => skipped.push(Skipped {
                    path: named.url,
                    reason: "named in the sitemap, but no file of the folder is this page".to_owned(),
                }),
            }
        }
    }
    Ok(candidates.into_values().collect())
}

fn read_entries(path: &Path, skipped: &mut Vec<Skipped>) -> Result<Vec<corpus_json::Entry>> {
    let text = std::fs::read_to_string(path).map_err(|error| input(path, &error.to_string()))?;
    let (entries, refused) = corpus_json::read(&path.display().to_string(), &text)?;
    skipped.extend(refused.into_iter().map(|(path, reason)| Skipped { path, reason }));
    Ok(entries)
}

fn page_of_entry(entry: corpus_json::Entry, options: &ReadOptions, config: &SiteConfig) -> Page {
    let context = markdown::MarkdownContext {
        // The pages behind these entries are somebody else's: an anchor is only promised where the site says whose.
        anchors: options.anchors.or(config.anchors).unwrap_or(AnchorStyle::None),
        variables: &config.variables,
        include: &|_| None,
    };
    let read = markdown::read(&entry.content, false, &context);
    page_with_title(entry.id, entry.facts, read.blocks)
}

/// Reads the candidates on all cores, in order, and removes what the site repeats on its HTML pages.
fn read_candidates(
    root: &Path,
    candidates: Vec<Candidate>,
    options: &ReadOptions,
    corpus: &mut Corpus,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Vec<(Page, UrlSuffix)> {
    let total = candidates.len();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let outcomes: Vec<Outcome> = candidates
        .par_iter()
        .map(|candidate| {
            let outcome = read_one(root, candidate, options, &corpus.config);
            progress(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, total);
            outcome
        })
        .collect();
    let mut pages = Vec::new();
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let mut included = BTreeSet::new();
    for (candidate, outcome) in candidates.iter().zip(outcomes) {
        match outcome {
            Outcome::Skipped(reason) => corpus.skipped.push(Skipped { path: candidate.path.clone(), reason }),
            Outcome::Read(page, warnings, variables, files) => {
                corpus.warnings.extend(warnings);
                variables.into_iter().for_each(|name| *unknown.entry(name).or_default() += 1);
                included.extend(files);
                pages.push((candidate, *page));
            }
        }
    }
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|(name, count)| format!("{name} ({count} pages)")).collect();
        corpus.warnings.push(format!(
            "placeholders without a value, give them under [variables] in docent.toml: {}",
            names.join(", ")
        ));
    }
    pages.retain(|(candidate, page)| {
        let reason = if included.contains(&candidate.path) {
            "included in other pages"
        } else if let Some(reason) = page.facts.left_out {
            reason
        } else {
            return true;
        };
        corpus.skipped.push(Skipped { path: candidate.path.clone(), reason: reason.to_owned() });
        false
    });
    let (html, other): (Vec<_>, Vec<_>) = pages.into_iter().partition(|(candidate, _)| candidate.kind == Kind::Html);
    let (kinds, mut html): (Vec<&Candidate>, Vec<Page>) = html.into_iter().unzip();
    boilerplate::remove(&mut html);
    let suffix = options.url_suffix.or(corpus.config.url_suffix);
    let built = kinds.into_iter().zip(html);
    let mut read: Vec<(Page, UrlSuffix)> = Vec::new();
    for (candidate, mut page) in other.into_iter().chain(built) {
        if let Some(named) = &candidate.named {
            page.facts.url = Some(named.url.clone());
            page.facts.date = page.facts.date.or_else(|| named.date.clone());
        }
        read.push((page, suffix.unwrap_or(UrlSuffix::Html)));
    }
    read
}

fn read_one(root: &Path, candidate: &Candidate, options: &ReadOptions, config: &SiteConfig) -> Outcome {
    let full = root.join(&candidate.path);
    let skip = |reason: String| Outcome::Skipped(reason);
    match std::fs::metadata(&full) {
        Ok(metadata) if metadata.len() > MAX_PAGE_BYTES => {
            return skip(format!("too large ({} bytes, at most {MAX_PAGE_BYTES})", metadata.len()));
        }
        Ok(metadata) if metadata.len() == 0 => return skip("empty".to_owned()),
        Ok(_) => {}
        Err(error) => return skip(format!("cannot be read: {error}")),
    }
    let bytes = match std::fs::read(&full) {
        Ok(bytes) => bytes,
        Err(error) => return skip(format!("cannot be read: {error}")),
    };
    if bytes.iter().take(8192).any(|byte| *byte == 0) {
        return skip("binary".to_owned());
    }
    let Ok(text) = String::from_utf8(bytes) else { return skip("not UTF-8".to_owned()) };
    let style = options.anchors.or(config.anchors);
    let mut warnings = Vec::new();
    let mut variables = BTreeSet::new();
    let mut included = BTreeSet::new();
    let (facts, blocks) = match candidate.kind {
        Kind::Markdown | Kind::Mdx => {
            let folder = candidate.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let include = |path: &str| read_included(root, folder, path);
            let context = markdown::MarkdownContext {
                anchors: style.unwrap_or_default(),
                variables: &config.variables,
                include: &include,
            };
            let page = markdown::read(&text, candidate.kind == Kind::Mdx, &context);
            warnings.extend(page.complaint.map(|complaint| format!("{}: {complaint}", candidate.path)));
            variables = page.unknown_variables;
            included = page.included;
            (page.facts, page.blocks)
        }
        Kind::Html => {
            let page = html::read(&text);
            (page.facts, page.blocks)
        }
        Kind::Rst => {
            let page = rst::read(&text, style.unwrap_or(AnchorStyle::Sphinx));
            (page.facts, page.blocks)
        }
        Kind::Text => (PageFacts::default(), plain_text::read(&text)),
    };
    let page = match candidate.kind {
        // The title of a built page is its first heading; <title> holds the site's name too.
        Kind::Html => page_with_heading_title(candidate.path.clone(), facts, blocks),
        _ => page_with_title(candidate.path.clone(), facts, blocks),
    };
    Outcome::Read(Box::new(page), warnings, variables, included)
}

/// The text of an included file: beside the page, or under the folder.
fn read_included(root: &Path, folder: &str, path: &str) -> Option<String> {
    let path = path.trim_start_matches("./").trim_start_matches('/');
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    [root.join(folder).join(path), root.join(path)].iter().find_map(|file| std::fs::read_to_string(file).ok())
}

/// A page whose title is what it says of itself, else its first heading of the first level, else its file name.
fn page_with_title(path: String, facts: PageFacts, mut blocks: Vec<Block>) -> Page {
    let first = blocks.iter().position(|block| matches!(block, Block::Heading { .. }));
    let heading = first.and_then(|at| match &blocks[at] {
        Block::Heading { level: 1, text, .. } => Some((at, text.clone())),
        _ => None,
    });
    let title = facts.title.clone().or_else(|| heading.as_ref().map(|(_, text)| text.clone()));
    // The heading that is the title is not part of the content, unless the page is called something else.
    if let Some((at, text)) = heading
        && title.as_deref().is_some_and(|title| title.trim().eq_ignore_ascii_case(text.trim()))
    {
        blocks.remove(at);
    }
    let title = title.unwrap_or_else(|| title_of_path(&path));
    Page { path, title, facts, blocks }
}

fn page_with_heading_title(path: String, mut facts: PageFacts, blocks: Vec<Block>) -> Page {
    let heading = blocks.iter().find_map(|block| match block {
        Block::Heading { level: 1, text, .. } => Some(text.clone()),
        _ => None,
    });
    facts.title = heading.or(facts.title);
    page_with_title(path, facts, blocks)
}

/// `guide/getting-started.md` → `Getting started`.
fn title_of_path(path: &str) -> String {
    let without_ending = path.rsplit_once('.').map_or(path, |(stem, _)| stem);
    let mut parts = without_ending.rsplit('/');
    let stem = parts.next().filter(|stem| !address::is_index(stem)).or_else(|| parts.next()).unwrap_or(without_ending);
    let words = stem.replace(['-', '_'], " ");
    let mut chars = words.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + chars.as_str())
}

/// Gives every page its metadata, in the order of the paths, and leaves out the empty and the repeated ones.
fn finish(mut pages: Vec<(Page, UrlSuffix)>, options: &ReadOptions, corpus: &mut Corpus) {
    pages.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    let base = options.base_url.clone().or_else(|| corpus.config.base_url.clone()).unwrap_or_default();
    let mut ids: HashMap<String, String> = HashMap::new();
    for (page, suffix) in pages {
        let has_text = page.blocks.iter().any(|block| !matches!(block, Block::Heading { .. }));
        if !has_text {
            corpus.skipped.push(Skipped { path: page.path, reason: "empty".to_owned() });
            continue;
        }
        let without_ending = if page.facts.id.is_some() {
            page.path.clone()
        } else {
            page.path.rsplit_once('.').map_or(page.path.clone(), |(stem, _)| stem.to_owned())
        };
        let id = page.facts.id.clone().unwrap_or_else(|| without_ending.clone());
        if let Some(other) = ids.get(&id) {
            corpus.skipped.push(Skipped { path: page.path, reason: format!("the same page as {other}") });
            continue;
        }
        ids.insert(id.clone(), page.path.clone());
        let text: String = page
            .blocks
            .iter()
            .filter_map(|block| match block {
                Block::Text(text) | Block::Heading { text, .. } => Some(text.as_str()),
                Block::Table { .. } | Block::Code { .. } => None,
            })
            .collect::<Vec<_>>()
            .join("\n");
        let from_path = PathFacets::of(&page.path);
        let mut document = Document {
            url: address::of_page(&base, &page.path, suffix, page.facts.url.as_deref()),
            id,
            title: page.title.clone(),
            tags: page.facts.tags.clone(),
            language: crate::turn::Language::default(),
            version: page.facts.version.clone().or(from_path.version),
            section: page.facts.section.clone().or(from_path.section),
            date: page.facts.date.clone(),
            authority: page.facts.authority.unwrap_or(0.5),
            boost: page.facts.boost.unwrap_or(1.0).clamp(0.1, 10.0),
        };
        let ruled = corpus.config.apply(&page.path, &mut document);
        // The script of the text tells more than an attribute that a template sets on every page.
        let by_script = language_of(&format!("{}\n{text}", page.title));
        let declared = page.facts.language.clone().or(from_path.language).map(|tag| tag.to_lowercase());
        let language = ruled.unwrap_or_else(|| match (by_script, declared) {
            ("en", Some(tag)) if !tag.starts_with("zh") => tag.split(['-', '_']).next().unwrap_or("en").to_owned(),
            (script, _) => script.to_owned(),
        });
        document.language = nearest_language(&language);
        corpus.pages.push(SourcePage { document, blocks: page.blocks, language });
    }
}

/// Facets that a path names by itself: `v2/zh/guide/start.md`.
#[derive(Debug, PartialEq, Eq, Default)]
struct PathFacets {
    version: Option<String>,
    language: Option<String>,
    section: Option<String>,
}

impl PathFacets {
    fn of(path: &str) -> Self {
        let mut facets = Self::default();
        let Some((folders, _)) = path.rsplit_once('/') else { return facets };
        for folder in folders.split('/') {
            let number = folder.strip_prefix(['v', 'V']).unwrap_or(folder);
            let is_version = number.starts_with(|c: char| c.is_ascii_digit())
                && number.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'x'));
            let is_language = matches!(folder.len(), 2 | 5)
                && matches!(
                    folder.get(..2).unwrap_or_default(),
                    "en" | "zh" | "ja" | "ko" | "de" | "fr" | "es" | "pt" | "ru" | "it"
                )
                && (folder.len() == 2 || matches!(folder.as_bytes()[2], b'-' | b'_'));
            if is_version && facets.version.is_none() {
                facets.version = Some(number.to_owned());
            } else if matches!(folder, "latest" | "stable" | "next") && facets.version.is_none() {
                facets.version = Some(folder.to_owned());
            } else if is_language && facets.language.is_none() {
                facets.language = Some(folder.to_owned());
            } else {
                facets.section = Some(folder.to_owned());
                break;
            }
        }
        facets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_version_language_and_section() {
        let facets = |path| PathFacets::of(path);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            facets("v2.4/zh-CN/guide/a.md"),
            PathFacets { version: some("2.4"), language: some("zh-CN"), section: some("guide") }
        );
        assert_eq!(facets("api/v1/a.md"), PathFacets { section: some("api"), ..PathFacets::default() });
        assert_eq!(facets("a.md"), PathFacets::default());
    }

    #[test]
    fn titles_come_from_the_page_then_its_heading_then_its_name() {
        let heading = || Block::Heading { level: 1, text: "Real title".into(), anchor: None };
        let with = |title: Option<&str>, blocks| {
            page_with_title(
                "guide/getting-started.md".into(),
                PageFacts { title: title.map(str::to_owned), ..PageFacts::default() },
                blocks,
            )
        };
        assert_eq!(with(None, vec![]).title, "Getting started");
        assert_eq!(
            with(None, vec![heading()]),
            Page { title: "Real title".into(), blocks: vec![], ..with(None, vec![]) }
        );
        let other = with(Some("Named"), vec![heading()]);
        assert_eq!((other.title.as_str(), other.blocks.len()), ("Named", 1));
        assert_eq!(title_of_path("guide/index.md"), "Guide");
    }
}
