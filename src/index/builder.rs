//! From pages to the files of an index.
//!
//! Input: a [`Corpus`], a model (or none), a cache. Output: [`Built`]: every file with its content-hashed name, the manifest
//! and a summary; [`write_files`] puts them into a folder.
//! 1. the pages are cut into chunks ([`chunker`]),
//! 2. what the cache does not have is embedded, the longest texts first,
//! 3. words, lexical index, vectors and graph are built ([`index_builder`]),
//! 4. core, vectors and text shards are written ([`reader`](crate::index::reader)).
//!
//! **Invariant:** identical input gives identical bytes: no clock, no random number, no order of threads goes into a file.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::index::chunker::{self, ChunkOptions};
use crate::index::embedding_cache::EmbeddingCache;
use crate::index::format::{VERSION, stated_hash};
use crate::index::manifest::{FileEntry, MANIFEST_FILE, MAX_FILE_BYTES, Manifest};
use crate::index::reader::{self, Meta};
use crate::index::sources::{Corpus, Skipped};
use crate::retrieval::analyzer::WordList;
use crate::retrieval::document::{Chunk, Document};
use crate::retrieval::facets::Filter;
use crate::retrieval::index_builder;
use crate::retrieval::model_manifest::ModelInfo;
use crate::retrieval::search_index::ModelInfo as IndexModel;
use crate::retrieval::synonyms::Synonyms;
use crate::retrieval::vector_engine::EngineConfig;
use crate::retrieval::vector_index::VectorIndex;
use crate::turn::{Language, TokenCounter};

/// Raw bytes of text in a shard at least, near enough: an answer quotes passages of several shards, and loads them whole.
const LEAST_SHARD_BYTES: usize = 16 << 10;
/// Raw bytes of text in a shard at most, near enough.
const LARGEST_SHARD_BYTES: usize = 64 << 10;
/// Shards that the texts are cut into at most, unless that makes them too large: the manifest names every one.
const MOST_SHARDS: usize = 1024;
/// Texts that are embedded between two writes of the cache: what a stopped run loses.
const EMBED_BATCH: usize = 256;
/// Times that a Chinese word must occur to get into the word list. Jieba's new words are guesses where they occur once.
pub const LEAST_WORD_COUNT: usize = 2;
/// Tokens that a chunk may have where no model says so: what the smallest supported model sees.
const LIMIT_WITHOUT_MODEL: usize = 254;

/// A model that embeds passages.
pub trait PassageModel {
    /// What is known about it.
    fn info(&self) -> &ModelInfo;
    /// Counts tokens as it does.
    fn tokens(&self) -> &(dyn TokenCounter + Sync);
    /// Tokens of a passage that it sees.
    ///
    /// # Errors
    /// [`Error::Model`].
    fn limit(&self) -> Result<usize>;
    /// The embeddings of passages, in their order. `done` hears how many were finished since it was last called.
    ///
    /// # Errors
    /// [`Error::Model`].
    fn embed(&self, passages: &[&str], done: &(dyn Fn(usize) + Sync)) -> Result<Vec<Vec<f32>>>;
}

/// Tokens guessed from characters, for an index without embeddings: four Latin letters or one Han character a token.
#[derive(Debug, Clone, Copy, Default)]
pub struct EstimatedTokens;

impl TokenCounter for EstimatedTokens {
    fn count(&self, text: &str) -> usize {
        let wide = text.chars().filter(|c| (*c as u32) >= 0x2e80).count();
        let narrow: usize =
            text.split_whitespace().map(|word| word.chars().filter(|c| (*c as u32) < 0x2e80).count().div_ceil(4)).sum();
        wide + narrow
    }
}

/// What a build is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Cutting pages.
    Chunking,
    /// Embedding chunks.
    Embedding,
    /// Building the lexical index, the graph and the files.
    Writing,
}

/// Hears of each stage how much is done and how much there is.
pub type Progress<'a> = &'a (dyn Fn(Stage, usize, usize) + Sync);

/// How an index is built.
#[derive(Clone, Copy)]
pub struct BuildOptions<'a> {
    /// The model; `None` builds an index that only searches lexically.
    pub model: Option<&'a dyn PassageModel>,
    /// The build time that goes into the files; `None` leaves it out, since it would make each build different.
    pub built: Option<&'a str>,
    /// Where the page finds the model's files, see [`Manifest::model_url`].
    pub model_url: Option<&'a str>,
    /// Options of the agent that go into the manifest.
    pub agent: Option<&'a serde_json::Value>,
}

/// A built index.
#[derive(Debug, Clone)]
pub struct Built {
    /// Its files, with paths relative to its folder.
    pub files: Vec<(String, Vec<u8>)>,
    /// The manifest that names them.
    pub manifest: Manifest,
    /// What happened.
    pub summary: Summary,
}

/// What happened in a build.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// Pages in the index.
    pub pages: usize,
    /// Chunks in the index.
    pub chunks: usize,
    /// Bytes of the index, without the model.
    pub bytes: u64,
    /// Bytes that a page loads before it can answer lexically: manifest and core.
    pub first_bytes: u64,
    /// Pages by language tag.
    pub languages: BTreeMap<String, usize>,
    /// Id of the model.
    pub model: Option<String>,
    /// Chunks whose embedding was computed.
    pub embedded: usize,
    /// Chunks whose embedding was in the cache.
    pub cached: usize,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// What a person should look at.
    pub warnings: Vec<String>,
}

/// Cuts the pages of a corpus into chunks, in order.
///
/// # Errors
/// [`Error::Model`] when the model's limit cannot be told.
pub fn chunk(corpus: &Corpus, model: Option<&dyn PassageModel>, progress: Progress<'_>) -> Result<Chunked> {
    let estimated = EstimatedTokens;
    let options = match model {
        Some(model) => ChunkOptions { tokens: model.tokens(), limit: model.limit()? },
        None => ChunkOptions { tokens: &estimated, limit: LIMIT_WITHOUT_MODEL },
    };
    let total = corpus.pages.len();
    let done = std::sync::atomic::AtomicUsize::new(0);
    let pages: Vec<(Vec<Chunk>, Vec<String>)> = corpus
        .pages
        .par_iter()
        .enumerate()
        .map(|(number, page)| {
            let title = &page.document.title;
            let chunks = chunker::cut(number as u32, title, &page.blocks, options);
            let texts = chunks.iter().map(|chunk| chunker::embedded_text(title, chunk, options)).collect();
            progress(Stage::Chunking, done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, total);
            (chunks, texts)
        })
        .collect();
    let mut chunked = Chunked::default();
    for (chunks, texts) in pages {
        chunked.chunks.extend(chunks);
        chunked.embedded_texts.extend(texts);
    }
    Ok(chunked)
}

/// Chunks, and beside each the text that is embedded for it.
#[derive(Debug, Clone, Default)]
pub struct Chunked {
    /// The chunks, page by page.
    pub chunks: Vec<Chunk>,
    /// The texts that are embedded.
    pub embedded_texts: Vec<String>,
}

/// The embeddings of texts, from the cache where it has them, and how many were computed.
///
/// # Errors
/// [`Error::Model`] when the model cannot run, [`Error::Input`] when the cache cannot be written.
pub fn embed(
    texts: &[String],
    model: &dyn PassageModel,
    cache: &mut EmbeddingCache,
    progress: Progress<'_>,
) -> Result<(Vec<Vec<f32>>, usize)> {
    let mut missing: Vec<&str> = texts.iter().map(String::as_str).filter(|text| cache.get(text).is_none()).collect();
    let missing_chunks = missing.len();
    missing.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    missing.dedup();
    let done = std::sync::atomic::AtomicUsize::new(texts.len() - missing.len());
    progress(Stage::Embedding, texts.len() - missing.len(), texts.len());
    for batch in missing.chunks(EMBED_BATCH) {
        let embeddings = model.embed(batch, &|count| {
            let before = done.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
            progress(Stage::Embedding, before + count, texts.len());
        })?;
        batch.iter().zip(&embeddings).for_each(|(text, embedding)| cache.insert(text, embedding));
        cache.save()?;
    }
    let find = |text: &String| {
        let wrong = || {
            Error::Model(format!("an embedding of {} has another length than the description says", model.info().id))
        };
        cache.get(text).map(<[f32]>::to_vec).ok_or_else(wrong)
    };
    Ok((texts.iter().map(find).collect::<Result<_>>()?, missing_chunks))
}

/// Builds an index.
///
/// # Errors
/// [`Error::Input`] when there is not one chunk, [`Error::Model`] when the model cannot run.
pub fn build(
    corpus: Corpus,
    options: BuildOptions<'_>,
    cache: &mut EmbeddingCache,
    progress: Progress<'_>,
) -> Result<Built> {
    let chunked = chunk(&corpus, options.model, progress)?;
    if chunked.chunks.is_empty() {
        return Err(Error::Input { path: "the documentation".to_owned(), reason: nothing_found(&corpus.skipped) });
    }
    let mut summary = summary_of(&corpus, &chunked);
    let vectors = match options.model {
        Some(model) => {
            let (vectors, computed) = embed(&chunked.embedded_texts, model, cache, progress)?;
            summary.embedded = computed;
            summary.cached = chunked.chunks.len() - computed;
            summary.model = Some(model.info().id.clone());
            progress(Stage::Writing, 0, 3);
            Some(index_builder::build_vectors(&model.info().id, &vectors)?)
        }
        None => None,
    };
    let info = options.model.map(|model| model.info().clone());
    let meta = meta_of(&corpus, &chunked, info, options.built)?;
    let assembly = Assembly {
        meta,
        documents: corpus.pages.into_iter().map(|page| page.document).collect(),
        chunks: chunked.chunks,
        vectors,
        synonyms: Synonyms::new(corpus.config.synonyms),
        engine: corpus.config.vectors,
    };
    let (files, manifest) = assemble(assembly, options.model_url, options.agent, progress)?;
    let manifest_bytes =
        files.iter().find(|(path, _)| path == MANIFEST_FILE).map_or(0, |(_, bytes)| bytes.len() as u64);
    summary.first_bytes = manifest_bytes + manifest.core.iter().map(|part| part.bytes).sum::<u64>();
    summary.bytes = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    Ok(Built { files, manifest, summary })
}

/// What the files of an index are made from, when chunks and vectors are there.
pub struct Assembly {
    /// What the index says about itself.
    pub meta: Meta,
    /// The pages.
    pub documents: Vec<Document>,
    /// The chunks with their texts, page by page.
    pub chunks: Vec<Chunk>,
    /// The dense leg, one vector a chunk by the model that [`Meta::model`] names.
    pub vectors: Option<VectorIndex>,
    /// The site's synonyms.
    pub synonyms: Synonyms,
    /// The vector engine that pages ask.
    pub engine: Option<EngineConfig>,
}

/// Files with their paths relative to the folder of an index.
pub type NamedFiles = Vec<(String, Vec<u8>)>;

/// Makes the files of an index; the manifest, which names the others, comes last.
///
/// # Errors
/// [`Error::Model`] when the vectors do not fit the chunks, [`Error::Index`] when a file cannot be written.
pub fn assemble(
    assembly: Assembly,
    model_url: Option<&str>,
    agent: Option<&serde_json::Value>,
    progress: Progress<'_>,
) -> Result<(NamedFiles, Manifest)> {
    let Assembly { meta, documents, chunks, vectors, synonyms, engine } = assembly;
    if vectors.as_ref().is_some_and(|vectors| vectors.len() != chunks.len() || meta.model.is_none()) {
        return Err(Error::Model("there must be one vector a chunk, and a model that made them".to_owned()));
    }
    let info = meta.model.clone();
    let starts = shard_starts(&chunks);
    let mut files = Files::default();
    let texts: Vec<Vec<u8>> = starts
        .par_windows(2)
        .map(|range| {
            let chunks = &chunks[range[0] as usize..range[1] as usize];
            reader::write_texts(&chunks.iter().map(|chunk| chunk.text.as_str()).collect::<Vec<_>>())
        })
        .collect::<Result<_>>()?;
    let texts: Vec<FileEntry> = texts.into_iter().map(|bytes| files.add("texts/", bytes)).collect();
    let words = WordList::from_texts(
        documents
            .iter()
            .map(|document| document.title.as_str())
            .chain(chunks.iter().flat_map(|c| c.heading_path.iter().map(String::as_str).chain([c.text.as_str()]))),
        LEAST_WORD_COUNT,
    );
    let parts = index_builder::build(index_builder::Corpus {
        documents,
        chunks,
        words,
        synonyms,
        default_filter: meta.default_filter.clone(),
        model: info.as_ref().map(IndexModel::from),
    })?;
    progress(Stage::Writing, 1, 3);
    let core = reader::write_core(&meta, &parts, &starts)?;
    let postings = core.postings.into_iter().map(|bytes| files.add("postings/", bytes)).collect();
    let core = files.add_in_parts("core-", core.core);
    let vectors = match vectors {
        Some(index) => files.add_in_parts("vectors-", reader::write_vectors(&index)?),
        None => Vec::new(),
    };
    progress(Stage::Writing, 2, 3);
    let manifest = Manifest {
        docent: VERSION,
        generator: meta.generator,
        built: meta.built,
        languages: meta.languages,
        documents: meta.documents,
        chunks: meta.chunks,
        core,
        vectors,
        postings,
        texts,
        model: info,
        model_url: model_url.map(str::to_owned),
        engine,
        agent: agent.cloned(),
    };
    files.files.push((MANIFEST_FILE.to_owned(), manifest.to_bytes()?));
    progress(Stage::Writing, 3, 3);
    Ok((files.files, manifest))
}

fn nothing_found(skipped: &[Skipped]) -> String {
    if skipped.is_empty() {
        return "no page was found; Markdown, MDX, HTML, reStructuredText, plain text and corpus.json are read"
            .to_owned();
    }
    let first: Vec<String> = skipped.iter().take(5).map(|page| format!("{}: {}", page.path, page.reason)).collect();
    format!("every page was left out ({} of them), such as {}", skipped.len(), first.join("; "))
}

fn summary_of(corpus: &Corpus, chunked: &Chunked) -> Summary {
    let mut languages: BTreeMap<String, usize> = BTreeMap::new();
    corpus.pages.iter().for_each(|page| *languages.entry(page.language.clone()).or_default() += 1);
    Summary {
        pages: corpus.pages.len(),
        chunks: chunked.chunks.len(),
        languages,
        skipped: corpus.skipped.clone(),
        warnings: corpus.warnings.clone(),
        ..Summary::default()
    }
}

fn meta_of(corpus: &Corpus, chunked: &Chunked, model: Option<ModelInfo>, built: Option<&str>) -> Result<Meta> {
    let mut counts: HashMap<Language, usize> = HashMap::new();
    corpus.pages.iter().for_each(|page| *counts.entry(page.document.language).or_default() += 1);
    let mut languages: Vec<Language> = counts.keys().copied().collect();
    languages.sort_by_key(|language| (std::cmp::Reverse(counts[language]), *language == Language::Chinese));
    let filter = serde_json::to_value(&corpus.config.default_filter).and_then(serde_json::from_value::<Filter>);
    Ok(Meta {
        generator: concat!("docent ", env!("CARGO_PKG_VERSION")).to_owned(),
        built: built.map(str::to_owned),
        title: corpus.config.title.clone(),
        languages,
        documents: corpus.pages.len() as u32,
        chunks: chunked.chunks.len() as u32,
        model,
        default_filter: filter
            .map_err(|error| Error::InvalidOption { name: "default_filter".to_owned(), reason: error.to_string() })?,
    })
}

/// First chunk of each text shard and, last, the number of chunks. A shard that is three quarters full ends with its page,
/// so that a page's chunks arrive together.
fn shard_starts(chunks: &[Chunk]) -> Vec<u32> {
    let total: usize = chunks.iter().map(|chunk| chunk.text.len()).sum();
    let full = (total / MOST_SHARDS).clamp(LEAST_SHARD_BYTES, LARGEST_SHARD_BYTES);
    let mut starts = vec![0];
    let mut size = 0;
    for (at, pair) in chunks.windows(2).enumerate() {
        size += pair[0].text.len();
        let ends_page = pair[0].document != pair[1].document;
        if size + pair[1].text.len() > full || (ends_page && size >= full / 4 * 3) {
            starts.push(at as u32 + 1);
            size = 0;
        }
    }
    starts.push(chunks.len() as u32);
    starts
}

/// The files of an index under their content-hashed names.
#[derive(Default)]
struct Files {
    files: Vec<(String, Vec<u8>)>,
}

impl Files {
    fn add(&mut self, prefix: &str, bytes: Vec<u8>) -> FileEntry {
        let hash = stated_hash(&bytes).unwrap_or_else(|| xxh3_64(&bytes));
        let entry = FileEntry {
            path: format!("{prefix}{hash:016x}.bin"),
            bytes: bytes.len() as u64,
            hash: format!("{hash:016x}"),
        };
        // Equal content has an equal name: two shards of the same texts are one file.
        if !self.files.iter().any(|(path, _)| *path == entry.path) {
            self.files.push((entry.path.clone(), bytes));
        }
        entry
    }

    fn add_in_parts(&mut self, prefix: &str, bytes: Vec<u8>) -> Vec<FileEntry> {
        if bytes.len() as u64 <= MAX_FILE_BYTES {
            return vec![self.add(prefix, bytes)];
        }
        bytes.chunks(MAX_FILE_BYTES as usize).map(|part| self.add(prefix, part.to_vec())).collect()
    }
}

/// Writes an index into a folder: its files first, the manifest last, then the files of the build before are removed.
/// A page that loads meanwhile gets the old index or the new one, never a mixture.
///
/// # Errors
/// [`Error::Input`] with the path that cannot be written.
pub fn write_files(built: &Built, out: &Path) -> Result<()> {
    write_folder(&built.files, out)
}

/// [`write_files`] for files that [`assemble`] made.
///
/// # Errors
/// [`Error::Input`] with the path that cannot be written.
pub fn write_folder(files: &[(String, Vec<u8>)], out: &Path) -> Result<()> {
    let failed = |path: &Path, error: &std::io::Error| Error::Input {
        path: path.display().to_string(),
        reason: format!("cannot be written: {error}"),
    };
    let before = std::fs::read(out.join(MANIFEST_FILE)).ok().and_then(|bytes| Manifest::from_bytes(&bytes).ok());
    for folder in ["postings", "texts"] {
        std::fs::create_dir_all(out.join(folder)).map_err(|error| failed(out, &error))?;
    }
    for (path, bytes) in files {
        let target = out.join(path);
        // A file of this name has this content, unless a disk or a person damaged it.
        if path != MANIFEST_FILE && std::fs::read(&target).is_ok_and(|found| found == *bytes) {
            continue;
        }
        let temporary = out.join(format!("{path}.tmp"));
        std::fs::write(&temporary, bytes).map_err(|error| failed(&temporary, &error))?;
        std::fs::rename(&temporary, &target).map_err(|error| failed(&target, &error))?;
    }
    if let Some(before) = before {
        for entry in before.core.iter().chain(&before.vectors).chain(&before.postings).chain(&before.texts) {
            if !files.iter().any(|(path, _)| *path == entry.path) {
                let _ = std::fs::remove_file(out.join(&entry.path));
            }
        }
    }
    Ok(())
}

/// A number of seconds since the Unix epoch as `YYYY-MM-DDThh:mm:ssZ`.
#[must_use]
pub fn utc(seconds: u64) -> String {
    // Days to a date of the proleptic Gregorian calendar, after Howard Hinnant's `civil_from_days`.
    let days = seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let of_day = seconds % 86_400;
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", of_day / 3_600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_dates() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_735_689_599, "2024-12-31T23:59:59Z"),
            (4_102_444_800, "2100-01-01T00:00:00Z"),
        ] {
            assert_eq!(utc(seconds), expected);
        }
    }

    #[test]
    fn shards_cover_the_chunks_and_end_with_pages() {
        let chunk = |document, length: usize| Chunk { document, text: "x".repeat(length), ..Chunk::default() };
        let chunks: Vec<Chunk> = (0..40).map(|n| chunk(n / 4, 6_200)).collect();
        let starts = shard_starts(&chunks);
        assert_eq!((starts[0], *starts.last().unwrap()), (0, 40));
        assert!(starts.windows(2).all(|range| range[0] < range[1]));
        for range in starts.windows(2) {
            let size: usize = chunks[range[0] as usize..range[1] as usize].iter().map(|c| c.text.len()).sum();
            assert!(size <= LEAST_SHARD_BYTES, "{size}");
        }
        assert!(starts.contains(&8), "{starts:?}");
        assert_eq!(shard_starts(&[chunk(0, 200_000)]), [0, 1]);
        assert_eq!(shard_starts(&[chunk(0, 200_000), chunk(0, 5)]), [0, 1, 2]);
    }

    #[test]
    fn estimated_tokens_count_words_and_han_characters() {
        assert_eq!(EstimatedTokens.count("install Milvus"), 4);
        assert_eq!(EstimatedTokens.count("安装 Milvus"), 4);
        assert_eq!(EstimatedTokens.count(""), 0);
    }
}
