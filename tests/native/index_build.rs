//! Building an index: identical input, identical bytes; an edit costs only what it changed; every source is read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use docent::cli::local_index::LocalIndex;
use docent::error::Result;
use docent::index::builder::{self, BuildOptions, Built, EstimatedTokens, PassageModel};
use docent::index::embedding_cache::EmbeddingCache;
use docent::index::sources::{self, Corpus, ReadOptions};
use docent::retrieval::model_manifest::{ModelFile, ModelFileRole, ModelInfo, Pooling};
use docent::retrieval::search_index::SearchRequest;
use docent::turn::{Language, TokenCounter};

/// Embeds a text as the hashes of its words, and counts how many texts it was given.
pub(super) struct HashModel {
    info: ModelInfo,
    embedded: AtomicUsize,
}

impl HashModel {
    pub(super) fn new() -> Self {
        let file = |role, path: &str| ModelFile { role, path: path.to_owned(), bytes: 1, sha256: "0".repeat(64) };
        let info = ModelInfo {
            id: "hash".to_owned(),
            files: vec![file(ModelFileRole::Network, "hash/m"), file(ModelFileRole::Tokenizer, "hash/t")],
            license: "MIT".to_owned(),
            languages: vec!["en".to_owned(), "zh".to_owned()],
            dimension: 32,
            max_tokens: 128,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
        };
        Self { info, embedded: AtomicUsize::new(0) }
    }

    pub(super) fn vector(text: &str) -> Vec<f32> {
        let mut vector = [0.01_f32; 32];
        // A Chinese character is a word of its own.
        let spaced: String =
            text.chars().map(|c| if c.is_ascii() { c.to_string() } else { format!(" {c} ") }).collect();
        for word in spaced.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let hash =
                word.to_lowercase().bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31) + usize::from(byte));
            vector[hash % 32] += 1.0;
        }
        let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / norm).collect::<Vec<f32>>()
    }
}

impl PassageModel for HashModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn tokens(&self) -> &(dyn TokenCounter + Sync) {
        &EstimatedTokens
    }

    fn limit(&self) -> Result<usize> {
        Ok(126)
    }

    fn embed(&self, passages: &[&str], done: &(dyn Fn(usize) + Sync)) -> Result<Vec<Vec<f32>>> {
        self.embedded.fetch_add(passages.len(), Ordering::Relaxed);
        done(passages.len());
        Ok(passages.iter().map(|text| Self::vector(text)).collect())
    }
}

/// A folder that is gone when the test ends.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("docent-index-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        fn walk(root: &Path, folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(root, &path, found);
                } else {
                    let name = path.strip_prefix(root).unwrap().display().to_string();
                    found.insert(name, fs::read(&path).unwrap());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.0, &self.0, &mut found);
        found
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn documentation(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("guide/install.md", "# Install\n\nRun the installer of the kettle on your machine.\n\n## Linux\n\nUse the package manager of your system to install it, then start the kettle service and look at its log.\n\n```sh\napt install kettle\n```\n");
    folder.write("guide/use.md", "---\ntags: [tea]\nversion: 2\n---\n# Use\n\nBoil the water and pour it over the tea leaves, then wait for three minutes.\n");
    folder.write("zh/安装.md", "# 安装水壶\n\n先把底座放在台面上，然后接通电源，再加水。水壶会在水烧开之后自动断电。\n\n## 常见问题\n\n水烧不开的时候，请先检查电源插座，再检查水壶的底座。\n");
    folder.write(
        "reference.rst",
        "Reference\n=========\n\nThe reference of every option that the kettle knows, with its default.\n",
    );
    folder.write("notes.txt", "Notes about the kettle that nobody else wrote down anywhere.\n");
    folder.write("page.html", "<html><body><nav>Menu</nav><main><h1 id=top>Page</h1><p>A page about kettles in HTML.</p></main></body></html>");
    folder.write("comp.mdx", "import X from 'x'\n\n# Component\n\n<X>The kettle as a component of a page.</X>\n");
    folder
}

pub(super) fn build(docs: &Path, model: &HashModel, cache: &mut EmbeddingCache) -> Built {
    let corpus = sources::read(docs, &ReadOptions::default(), &|_, _| ()).unwrap();
    let options = BuildOptions { model: Some(model), built: None, model_url: None, agent: None };
    builder::build(corpus, options, cache, &|_, _, _| ()).unwrap()
}

fn read(docs: &Path) -> Corpus {
    sources::read(docs, &ReadOptions::default(), &|_, _| ()).unwrap()
}

#[test]
fn identical_input_gives_identical_bytes_in_any_folder() {
    let (a, b) = (documentation("same-a"), documentation("same-b"));
    let model = HashModel::new();
    let first = build(&a.0, &model, &mut EmbeddingCache::none(32));
    let second = build(&b.0, &model, &mut EmbeddingCache::none(32));
    assert_eq!(first.files, second.files);
    assert!(first.files.len() >= 4, "core, vectors, texts and manifest");
}

#[test]
fn a_second_run_embeds_only_what_was_changed() {
    let docs = documentation("edit");
    let cache = Folder::new("edit-cache");
    let open = || EmbeddingCache::open(&cache.0, "hash", 32).unwrap();
    let model = HashModel::new();
    let first = build(&docs.0, &model, &mut open());
    assert_eq!(first.summary.cached, 0);
    assert_eq!(model.embedded.load(Ordering::Relaxed), first.summary.chunks);
    let again = build(&docs.0, &model, &mut open());
    assert_eq!((again.summary.embedded, again.summary.cached), (0, first.summary.chunks));
    assert_eq!(again.files, first.files, "the cache gives what the model gave");
    docs.write("guide/use.md", "---\ntags: [tea]\nversion: 2\n---\n# Use\n\nBoil the water and pour it over the tea leaves, then wait for FIVE minutes.\n");
    let edited = build(&docs.0, &model, &mut open());
    assert_eq!(edited.summary.embedded, 1);
    assert_eq!(model.embedded.load(Ordering::Relaxed), first.summary.chunks + 1);
    assert_ne!(edited.manifest.core, first.manifest.core);
    docs.write("guide/use.md", "---\ntags: [tea]\nversion: 2\n---\n# Use\n\nBoil the water and pour it over the tea leaves, then wait for three minutes.\n");
    assert_eq!(build(&docs.0, &model, &mut open()).files, first.files, "taken back");
}

#[test]
fn files_of_the_build_before_are_removed_and_nothing_else() {
    let docs = documentation("stale");
    let out = Folder::new("stale-out");
    let model = HashModel::new();
    let mut cache = EmbeddingCache::none(32);
    builder::write_files(&build(&docs.0, &model, &mut cache), &out.0).unwrap();
    out.write("mine.txt", "keep me");
    let before = out.files();
    docs.write("new.md", "# New\n\nA new page about the kettle that was not there before.\n");
    let built = build(&docs.0, &model, &mut cache);
    builder::write_files(&built, &out.0).unwrap();
    let after = out.files();
    assert!(after.contains_key("mine.txt"));
    assert_eq!(after.len(), built.files.len() + 1);
    assert!(before.keys().any(|path| !after.contains_key(path)), "the old core is gone");
}

#[test]
fn a_built_index_opens_and_answers_in_both_languages() {
    let docs = documentation("answers");
    let out = Folder::new("answers-out");
    let built = build(&docs.0, &HashModel::new(), &mut EmbeddingCache::none(32));
    builder::write_files(&built, &out.0).unwrap();
    let mut index = LocalIndex::open(&out.0).unwrap();
    assert_eq!(index.meta.languages, [Language::English, Language::Chinese]);
    for (query, page) in
        [("how long does the tea wait", "guide/use"), ("水烧不开怎么办", "zh/安装"), ("apt install", "guide/install")]
    {
        let embedding = HashModel::vector(query);
        let request = SearchRequest { query, embedding: Some(&embedding), ..SearchRequest::default() };
        let found = index.search(&request).unwrap();
        assert_eq!(found.passages[0].document, page, "{query}");
        assert!(found.missing_texts.is_empty() && !found.passages[0].text.is_empty());
    }
    assert!(LocalIndex::open(&out.0.join("manifest.json")).is_ok());
    assert_eq!(LocalIndex::open(&docs.0).unwrap_err().code(), "input");
}

#[test]
fn every_source_is_read_and_what_is_left_out_is_told() {
    let docs = documentation("sources");
    docs.write("draft.md", "---\ndraft: true\n---\n# Draft\n\nNot yet.\n");
    docs.write("empty.md", "");
    docs.write("only-heading.md", "# Nothing more\n");
    docs.write("binary.md", b"# Title\n\0\x01\x02");
    docs.write("latin1.md", b"# Caf\xe9\n\ntext\n");
    docs.write("huge.md", "word ".repeat(1_100_000));
    docs.write("node_modules/x/README.md", "# No\n\nnever read\n");
    docs.write(".hidden/x.md", "# No\n\nnever read\n");
    docs.write("page.md", "# Page\n\nThe same page again, as Markdown.\n");
    docs.write("broken.md", "---\ntitle: [oops\n---\n# Broken\n\nIts text is still read.\n");
    docs.write("image.png", b"\x89PNG");
    let corpus = read(&docs.0);
    let pages: Vec<&str> = corpus.pages.iter().map(|page| page.document.id.as_str()).collect();
    assert_eq!(pages, ["broken", "comp", "guide/install", "guide/use", "notes", "page", "reference", "zh/安装"]);
    let skipped: BTreeMap<&str, &str> =
        corpus.skipped.iter().map(|page| (page.path.as_str(), page.reason.as_str())).collect();
    for (path, reason) in [
        ("draft.md", "a draft"),
        ("empty.md", "empty"),
        ("only-heading.md", "empty"),
        ("binary.md", "binary"),
        ("latin1.md", "not UTF-8"),
        ("page.md", "the same page as page.html"),
    ] {
        assert_eq!(skipped.get(path), Some(&reason), "{path}: {skipped:?}");
    }
    assert!(skipped["huge.md"].starts_with("too large"));
    assert!(corpus.warnings.iter().any(|warning| warning.contains("broken.md") && warning.contains("front matter")));
}

#[test]
fn globs_the_sites_file_and_facets_apply() {
    let docs = documentation("facets");
    docs.write(
        "docent.toml",
        "base_url = \"https://example.org/docs\"\nurl_suffix = \"clean\"\nexclude = [\"notes.txt\"]\n\
         synonyms = [[\"kettle\", \"boiler\"]]\n[[pages]]\nmatch = \"guide/**\"\nversion = \"3\"\ntags = [\"guide\"]\nboost = 2.0\n",
    );
    let corpus = read(&docs.0);
    let page = |id: &str| corpus.pages.iter().find(|page| page.document.id == id).map(|page| &page.document);
    let install = page("guide/install").unwrap();
    assert_eq!(install.url, "https://example.org/docs/guide/install");
    assert_eq!((install.version.as_deref(), install.boost), (Some("3"), 2.0));
    assert_eq!(install.section.as_deref(), Some("guide"));
    assert_eq!(page("guide/use").unwrap().tags, ["tea", "guide"]);
    assert_eq!(page("zh/安装").unwrap().language, Language::Chinese);
    assert!(page("notes").is_none());
    let options = ReadOptions {
        include: vec!["guide/**".into()],
        exclude: vec!["guide/use.md".into()],
        ..ReadOptions::default()
    };
    let limited = sources::read(&docs.0, &options, &|_, _| ()).unwrap();
    assert_eq!(limited.pages.len(), 1);
    let bad = ReadOptions { include: vec!["[".into()], ..ReadOptions::default() };
    assert_eq!(sources::read(&docs.0, &bad, &|_, _| ()).unwrap_err().code(), "invalid_option");
}

#[test]
fn a_sitemap_on_disk_names_the_pages_and_their_addresses() {
    let docs = Folder::new("sitemap");
    docs.write("a/index.html", "<main><h1>A</h1><p>The page called A of this site.</p></main>");
    docs.write("b.html", "<main><h1>B</h1><p>The page called B of this site.</p></main>");
    docs.write("unnamed.html", "<main><h1>C</h1><p>Not in the sitemap.</p></main>");
    docs.write(
        "sitemap.xml",
        "<urlset><url><loc>https://x.org/base/a/</loc><lastmod>2025-02-03</lastmod></url>\
         <url><loc>https://x.org/base/b</loc></url><url><loc>https://x.org/base/gone</loc></url></urlset>",
    );
    let corpus = read(&docs.0.join("sitemap.xml"));
    let pages: Vec<(&str, &str)> =
        corpus.pages.iter().map(|p| (p.document.title.as_str(), p.document.url.as_str())).collect();
    assert_eq!(pages, [("A", "https://x.org/base/a/"), ("B", "https://x.org/base/b")]);
    assert_eq!(corpus.pages[0].document.date.as_deref(), Some("2025-02-03"));
    assert_eq!(corpus.skipped.len(), 1);
    assert!(corpus.skipped[0].path.ends_with("/gone"));
}

#[test]
fn corpus_json_is_read_with_its_own_ids_and_addresses() {
    let docs = Folder::new("corpus-json");
    docs.write(
        "corpus.json",
        r#"[{"id": "venv", "title": "Python 虚拟环境", "content": "用 venv 模块创建虚拟环境。", "tags": ["python/venv"], "url": "https://x.org/venv"},
            {"id": "pip", "title": "pip", "content": "Use a mirror when pip is slow."}, {"id": "none"}]"#,
    );
    let corpus = read(&docs.0.join("corpus.json"));
    assert_eq!(corpus.pages.len(), 2);
    let venv = &corpus.pages.iter().find(|page| page.document.id == "venv").unwrap().document;
    assert_eq!(
        (venv.url.as_str(), venv.tags.as_slice(), venv.language),
        ("https://x.org/venv", &["python/venv".to_owned()][..], Language::Chinese)
    );
    assert_eq!(corpus.skipped[0].reason, "it has no `content`");
    assert_eq!(read(&docs.0).pages.len(), 2, "a folder with a corpus.json");
    docs.write("corpus.json", "{broken");
    assert_eq!(sources::read(&docs.0, &ReadOptions::default(), &|_, _| ()).unwrap_err().code(), "input");
}

#[test]
fn the_command_reports_readable_errors_and_exit_codes() {
    let docent = env!("CARGO_BIN_EXE_docent");
    let docs = documentation("cli");
    let out = Folder::new("cli-out");
    let run = |arguments: &[&str]| {
        let output = Command::new(docent).args(arguments).output().unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    };
    let (docs_path, out_path) = (docs.0.display().to_string(), out.0.display().to_string());
    let (code, text) =
        run(&["index", &docs_path, "--out", &out_path, "--no-embeddings", "--json", "--build-time", "0"]);
    assert_eq!(code, Some(0), "{text}");
    let summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["pages"], 7);
    assert_eq!(summary["languages"]["zh"], 1);
    let (code, text) = run(&["query", &out_path, "水烧不开怎么办", "--json", "--filter", "language=zh"]);
    assert_eq!(code, Some(0), "{text}");
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((found["mode"].as_str(), found["hits"][0]["document"].as_str()), (Some("lexical"), Some("zh/安装")));
    for (arguments, expected, part) in [
        (vec!["index", "/no/such/folder", "--out", &out_path], 1, "/no/such/folder"),
        (vec!["index", &docs_path], 2, "--out"),
        (vec!["query", &docs_path, "x"], 1, "manifest.json"),
        (vec!["query", &out_path, "x", "--mode", "dense"], 1, "without embeddings"),
        (vec!["query", &out_path, "x", "--filter", "colour=red"], 1, "filter"),
        (vec!["query", &out_path, "x", "--top-k", "0"], 1, "topK"),
        (vec!["index", &docs_path, "--out", &out_path, "--model", "nonsense"], 1, "nonsense"),
    ] {
        let (code, text) = run(&arguments);
        assert_eq!(code, Some(expected), "{arguments:?}: {text}");
        assert!(text.contains(part), "{arguments:?}: {text}");
    }
}

/// Documentation as it is written: no markup of a generator reaches a chunk, and its words find their page.
#[test]
fn real_documentation_is_read_without_what_generators_add() {
    let Some(data) = std::env::var_os("DOCENT_TESTDATA").map(PathBuf::from) else {
        println!("skipped: real documentation (DOCENT_TESTDATA is not set)");
        return;
    };
    for (name, pages, query, expected) in [
        ("vue-docs-en", 105, "watch a ref source type", "watch"),
        ("vue-docs-zh", 105, "深层侦听器", "watch"),
        ("milvus-docs-en", 250, "how to install milvus with docker compose", "docker"),
    ] {
        let corpus = read(&data.join("corpora").join(name));
        assert!(corpus.pages.len() >= pages, "{name}: {} pages", corpus.pages.len());
        let chunked = builder::chunk(&corpus, None, &|_, _, _| ()).unwrap();
        for chunk in &chunked.chunks {
            assert!(EstimatedTokens.count(&chunk.text) <= 254, "{name}: a chunk over the limit");
            let prose: String = chunk
                .text
                .split("```")
                .step_by(2)
                .collect::<String>()
                .split('`')
                .step_by(2)
                .collect::<Vec<_>>()
                .join(" ");
            for garbage in ["{{var", "{% ", "<div", "<script", "</", "\n:::", "{#", "className="] {
                assert!(!prose.contains(garbage), "{name}: {garbage:?} in\n{}", chunk.text);
            }
            assert!(!chunk.text.starts_with("---\n"), "{name}: front matter in\n{}", chunk.text);
        }
        let out = Folder::new(name);
        let options = BuildOptions { model: None, built: None, model_url: None, agent: None };
        let built = builder::build(corpus, options, &mut EmbeddingCache::none(0), &|_, _, _| ()).unwrap();
        builder::write_files(&built, &out.0).unwrap();
        let request = SearchRequest { query, ..SearchRequest::default() };
        let found = LocalIndex::open(&out.0).unwrap().search(&request).unwrap();
        let urls: Vec<&str> = found.passages.iter().take(3).map(|passage| passage.url.as_str()).collect();
        assert!(urls.iter().any(|url| url.contains(expected)), "{name}: {query}: {urls:?}");
    }
}
