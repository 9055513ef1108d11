//! Opening the files of an index, in the order in which a page gets them.
//!
//! Input: the bytes of one file. Output: of the core a [`SearchIndex`] that answers lexically, then the vectors and the text
//! shards that are put into it. **Invariant:** a file that is wrong in any way gives an [`crate::error::IndexError`] that
//! says what to do, and leaves what is loaded as it was.

use serde::{Deserialize, Serialize};

use crate::error::{IndexError, Result};
use crate::index::format::{Container, Kind, Section, write};
use crate::index::tables;
use crate::json;
use crate::retrieval::analyzer::{Analyzer, WordList};
use crate::retrieval::facets::Filter;
use crate::retrieval::lexical_index::LexicalIndex;
use crate::retrieval::model_manifest::ModelInfo;
use crate::retrieval::search_index::{IndexParts, ModelInfo as IndexModel, SearchIndex};
use crate::retrieval::synonyms::Synonyms;
use crate::retrieval::text_store::TextStore;
use crate::retrieval::vector_index::VectorIndex;
use crate::turn::Language;

/// Tag of the section with [`Meta`].
const META: [u8; 4] = *b"META";
/// Tag of the section with the page table.
const DOCUMENTS: [u8; 4] = *b"DOCS";
/// Tag of the section with the chunk table.
const CHUNKS: [u8; 4] = *b"CHNK";
/// Tag of the section with the first chunk of each text shard.
const SHARDS: [u8; 4] = *b"SHRD";
/// Tag of the section with the lexical index.
const LEXICAL: [u8; 4] = *b"LEXI";
/// Tag of the section with the corpus's Chinese words.
const WORDS: [u8; 4] = *b"WORD";
/// Tag of the section with the site's synonyms.
const SYNONYMS: [u8; 4] = *b"SYNO";
/// Tag of the section with the vectors and their graph.
const VECTORS: [u8; 4] = *b"VECT";
/// Tag of the section with a shard of the postings.
const POSTINGS: [u8; 4] = *b"POST";
/// Tag of the section with the texts of a shard.
const TEXTS: [u8; 4] = *b"TEXT";

/// What an index says about itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Meta {
    /// The program that wrote it, such as `docent 0.1.0`.
    pub generator: String,
    /// When it was built, `YYYY-MM-DDThh:mm:ssZ`, if the builder was told a time.
    pub built: Option<String>,
    /// Name of the site.
    pub title: Option<String>,
    /// Languages of the pages, the most frequent first.
    pub languages: Vec<Language>,
    /// Number of pages.
    pub documents: u32,
    /// Number of chunks.
    pub chunks: u32,
    /// The model that the vectors were made with: id, dimension, prefixes, languages; `None` without vectors.
    pub model: Option<ModelInfo>,
    /// What a search is limited to where the request says nothing.
    #[serde(default)]
    pub default_filter: Filter,
}

/// An opened core file.
#[derive(Debug)]
pub struct CoreFile {
    /// What the index says about itself.
    pub meta: Meta,
    /// The index; it answers lexically until it gets vectors.
    pub index: SearchIndex,
}

/// Opens a core file.
///
/// # Errors
/// [`IndexError`], see [`Container::open`]; [`IndexError::Damaged`] also when its parts contradict each other.
pub fn open_core(bytes: &[u8]) -> Result<CoreFile> {
    let file = Container::open(bytes, Kind::Core)?;
    let unreadable =
        |reason: &dyn std::fmt::Display| IndexError::Damaged(format!("its metadata cannot be read: {reason}"));
    let meta = file.section(META)?;
    let meta = std::str::from_utf8(&meta).map_err(|error| unreadable(&error))?;
    let meta =
        json::parse(meta).and_then(|value| json::from_foreign::<Meta>(&value)).map_err(|fault| unreadable(&fault))?;
    let documents = tables::documents_from_bytes(&file.section(DOCUMENTS)?)?;
    let chunks = tables::chunks_from_bytes(&file.section(CHUNKS)?, documents.len())?;
    if meta.documents as usize != documents.len() || meta.chunks as usize != chunks.len() {
        return Err(IndexError::Damaged("its tables have other lengths than it states".to_owned()).into());
    }
    let starts = tables::shard_starts_from_bytes(&file.section(SHARDS)?, chunks.len())?;
    let words = match file.optional_section(WORDS)? {
        Some(bytes) => WordList::from_bytes(&bytes)?,
        None => WordList::default(),
    };
    let synonyms = match file.optional_section(SYNONYMS)? {
        Some(bytes) => Synonyms::from_bytes(&bytes)?,
        None => Synonyms::default(),
    };
    let model = meta.model.as_ref().map(IndexModel::from);
    let index = SearchIndex::new(IndexParts {
        documents,
        chunks,
        lexical: LexicalIndex::from_bytes(&file.section(LEXICAL)?)?,
        analyzer: Analyzer::new(words),
        synonyms,
        texts: TextStore::new(starts)?,
        model,
        default_filter: meta.default_filter.clone(),
    })?;
    Ok(CoreFile { meta, index })
}

/// Reads a vectors file, for [`SearchIndex::set_vectors`].
///
/// # Errors
/// [`IndexError`], see [`Container::open`].
pub fn read_vectors(bytes: &[u8]) -> Result<VectorIndex> {
    let file = Container::open(bytes, Kind::Vectors)?;
    VectorIndex::from_bytes(&file.section(VECTORS)?)
}

/// Reads a text shard, for [`SearchIndex::set_texts`].
///
/// # Errors
/// [`IndexError`], see [`Container::open`].
pub fn read_texts(bytes: &[u8]) -> Result<Vec<String>> {
    let file = Container::open(bytes, Kind::Texts)?;
    tables::texts_from_bytes(&file.section(TEXTS)?)
}

/// Reads a shard of postings, for [`SearchIndex::set_postings`].
///
/// # Errors
/// [`IndexError`], see [`Container::open`].
pub fn read_postings(bytes: &[u8]) -> Result<Vec<u8>> {
    let file = Container::open(bytes, Kind::Postings)?;
    Ok(file.section(POSTINGS)?.into_owned())
}

/// A core file, and the shards of the postings that belong to it; none where they stand in the core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CoreFiles {
    /// The core.
    pub core: Vec<u8>,
    /// The shards.
    pub postings: Vec<Vec<u8>>,
}

/// Writes a core file and its postings. `starts` names the first chunk of each text shard and, last, the number of chunks.
///
/// # Errors
/// [`IndexError::Damaged`] when the metadata cannot be written.
pub fn write_core(meta: &Meta, parts: &IndexParts, starts: &[u32]) -> Result<CoreFiles> {
    let lexical = parts.lexical.to_parts();
    let meta = serde_json::to_vec(meta).map_err(|error| IndexError::Damaged(error.to_string()))?;
    let section = |tag, bytes| Section { tag, bytes };
    let mut sections = vec![
        section(META, meta),
        section(DOCUMENTS, tables::documents_to_bytes(&parts.documents)),
        section(CHUNKS, tables::chunks_to_bytes(&parts.chunks, parts.documents.len())),
        section(SHARDS, tables::shard_starts_to_bytes(starts)),
        section(LEXICAL, lexical.core),
    ];
    if !parts.analyzer.words().is_empty() {
        sections.push(section(WORDS, parts.analyzer.words().to_bytes()));
    }
    if !parts.synonyms.groups().is_empty() {
        sections.push(section(SYNONYMS, parts.synonyms.to_bytes()));
    }
    let core = write(Kind::Core, &sections)?;
    let shard = |bytes| write(Kind::Postings, &[section(POSTINGS, bytes)]);
    let postings = lexical.postings.into_iter().map(shard).collect::<std::result::Result<_, _>>()?;
    Ok(CoreFiles { core, postings })
}

/// Writes a vectors file.
///
/// # Errors
/// [`IndexError::Damaged`] when the graph cannot be written.
pub fn write_vectors(vectors: &VectorIndex) -> Result<Vec<u8>> {
    Ok(write(Kind::Vectors, &[Section { tag: VECTORS, bytes: vectors.to_bytes()? }])?)
}

/// Writes a text shard.
///
/// # Errors
/// None that a list of texts can cause.
pub fn write_texts(texts: &[&str]) -> Result<Vec<u8>> {
    Ok(write(Kind::Texts, &[Section { tag: TEXTS, bytes: tables::texts_to_bytes(texts) }])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::document::{Chunk, Document};
    use crate::retrieval::index_builder::{self, Corpus};
    use crate::retrieval::search_index::SearchRequest;

    const TEXTS_OF_CHUNKS: [&str; 3] =
        ["Create a virtual environment with venv.", "pip 安装很慢时使用镜像。", "Tokenize text with spaCy."];

    fn parts() -> IndexParts {
        let page = |id: &str, title: &str| Document {
            id: id.into(),
            title: title.into(),
            url: format!("/{id}"),
            tags: vec!["python".into()],
            authority: 0.5,
            boost: 1.0,
            ..Document::default()
        };
        let chunks = TEXTS_OF_CHUNKS.iter().enumerate().map(|(n, text)| Chunk {
            document: n as u32,
            heading_path: vec!["Use".into()],
            anchor: Some("use".into()),
            text: (*text).into(),
            ..Chunk::default()
        });
        index_builder::build(Corpus {
            documents: vec![page("venv", "Virtual environments"), page("pip", "pip 太慢"), page("spacy", "spaCy")],
            chunks: chunks.collect(),
            words: WordList::new(["安装", "镜像"]),
            synonyms: Synonyms::new(vec![vec!["venv".into(), "virtualenv".into()]]),
            ..Corpus::default()
        })
        .unwrap()
    }

    fn core() -> Vec<u8> {
        let meta = Meta { generator: "docent test".into(), documents: 3, chunks: 3, ..Meta::default() };
        write_core(&meta, &parts(), &[0, 2, 3]).unwrap().core
    }

    fn vectors() -> Vec<u8> {
        let unit = |at: usize| (0..8).map(|i| if i == at { 1.0 } else { 0.0 }).collect::<Vec<f32>>();
        write_vectors(&VectorIndex::build("tiny", &[unit(0), unit(1), unit(2)]).unwrap()).unwrap()
    }

    #[test]
    fn an_index_opens_step_by_step() {
        let mut opened = open_core(&core()).unwrap();
        let request = SearchRequest { query: "镜像 安装", ..SearchRequest::default() };
        let found = opened.index.search(&request).unwrap();
        assert_eq!(found.passages[0].document, "pip");
        assert_eq!(found.missing_texts, [0]);
        let shard = write_texts(&TEXTS_OF_CHUNKS[..2]).unwrap();
        opened.index.set_texts(0, read_texts(&shard).unwrap()).unwrap();
        let found = opened.index.search(&request).unwrap();
        assert_eq!(found.passages[0].text, TEXTS_OF_CHUNKS[1]);
        assert!(found.missing_texts.is_empty());
        assert_eq!(found.passages[0].url, "/pip#use");
        // The vectors are of a model that this index does not name.
        let error = opened.index.set_vectors(read_vectors(&vectors()).unwrap()).unwrap_err();
        assert_eq!(error.code(), "index_model_mismatch");
    }

    #[test]
    fn every_truncation_of_every_file_is_told() {
        for (bytes, opens) in files() {
            for length in 0..bytes.len() {
                let error = opens(&bytes[..length]).unwrap_err();
                assert!(matches!(error.code(), "index_empty" | "index_truncated"), "{length}: {error}");
            }
        }
    }

    #[test]
    fn every_flipped_bit_of_every_file_is_told() {
        for (bytes, opens) in files() {
            for bit in 0..bytes.len() * 8 {
                let mut flipped = bytes.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let error = opens(&flipped).unwrap_err();
                assert!(error.code().starts_with("index_"), "bit {bit}: {error}");
            }
        }
    }

    #[test]
    fn a_file_of_another_kind_is_told() {
        let error = open_core(&vectors()).unwrap_err();
        assert!(error.to_string().contains("not core"), "{error}");
        assert!(read_texts(&core()).unwrap_err().to_string().contains("not texts"));
    }

    type Opens = fn(&[u8]) -> Result<()>;

    fn files() -> [(Vec<u8>, Opens); 3] {
        [
            (core(), |bytes| open_core(bytes).map(|_| ())),
            (vectors(), |bytes| read_vectors(bytes).map(|_| ())),
            (write_texts(&TEXTS_OF_CHUNKS).unwrap(), |bytes| read_texts(bytes).map(|_| ())),
        ]
    }
}
