//! `manifest.json`: the small file that names everything else of an index by its content.
//!
//! Input: JSON of unknown origin. Output: a checked [`Manifest`]. A file that changes gets another name, so a page and a
//! cache may keep every file but this one for ever. Files are at most [`MAX_FILE_BYTES`] long: hosts of static sites refuse
//! larger ones, so the core and the vectors may come in parts that the loader joins.
//! **Invariant:** paths of an accepted manifest stay inside its folder, and its lengths are safe to allocate by.

use serde::{Deserialize, Serialize};

use crate::error::{Error, IndexError, Result};
use crate::index::format::{VERSION, name_what_it_is, stated_hash};
use crate::json;
use crate::retrieval::model_manifest::ModelInfo;
use crate::retrieval::vector_engine::EngineConfig;
use crate::turn::Language;

/// The name of the manifest in the folder of an index.
pub const MANIFEST_FILE: &str = "manifest.json";
/// The largest file of an index, in bytes: 25 MiB is what common static hosts accept.
pub const MAX_FILE_BYTES: u64 = 25 << 20;
/// The largest core or vectors file when its parts are joined, in bytes: beyond it a page has no memory to work with.
const MAX_JOINED_BYTES: u64 = 1 << 30;

/// What `manifest.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// Version of the format, as in [`crate::index::format`].
    pub docent: u32,
    /// The program that wrote it, such as `docent 0.1.0`.
    pub generator: String,
    /// When it was built, `YYYY-MM-DDThh:mm:ssZ`, if the builder was told a time: see `docent index --help`.
    #[serde(default)]
    pub built: Option<String>,
    /// Languages of the pages, the most frequent first.
    pub languages: Vec<Language>,
    /// Number of pages.
    pub documents: u32,
    /// Number of chunks.
    pub chunks: u32,
    /// The parts of the core file, in order. Lexical search needs nothing else.
    pub core: Vec<FileEntry>,
    /// The parts of the vectors file, in order; empty in an index without embeddings.
    #[serde(default)]
    pub vectors: Vec<FileEntry>,
    /// The shards of the postings, fetched when a query holds their words; empty where they stand in the core.
    #[serde(default)]
    pub postings: Vec<FileEntry>,
    /// The shards of the texts, fetched when a hit needs them.
    pub texts: Vec<FileEntry>,
    /// The model that the vectors were made with; its paths are relative to `modelUrl`.
    #[serde(default)]
    pub model: Option<ModelInfo>,
    /// Where the model's files are: an absolute URL or a path relative to this manifest; `None` when the site keeps them
    /// elsewhere and the page is told by its own option.
    #[serde(default)]
    pub model_url: Option<String>,
    /// The vector engine that pages ask instead of loading the vectors, without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineConfig>,
    /// Options of the agent that the site's file gives; what the page says itself goes before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<serde_json::Value>,
}

/// A file of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Path relative to the manifest; it holds the hash.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// 16 hexadecimal digits: the hash in its header where it has one, see [`crate::index::format`], else XXH3-64 of it.
    pub hash: String,
}

impl Manifest {
    /// Reads and checks a manifest.
    ///
    /// # Errors
    /// [`IndexError`] that says what was found instead and what to do.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Err(IndexError::Empty.into());
        }
        if bytes.starts_with(&crate::index::format::MAGIC) {
            return Err(IndexError::NotAnIndex {
                found: "one file of an index",
                advice: "give the address of manifest.json, which names all of them",
            }
            .into());
        }
        let text = std::str::from_utf8(bytes).map_err(|_| name_what_it_is(bytes))?;
        let text = text.trim_start_matches('\u{feff}').trim_start();
        if !text.starts_with('{') {
            return Err(name_what_it_is(bytes).into());
        }
        // The version is read first: what follows may have changed with it.
        let value = json::parse(text).map_err(|fault| unreadable(&fault))?;
        let start: VersionOnly = json::from_foreign(&value).map_err(|fault| unreadable(&fault))?;
        match start.docent {
            None => {
                return Err(IndexError::NotAnIndex {
                    found: "another JSON file",
                    advice: "give the address of the manifest.json that `docent index` wrote",
                }
                .into());
            }
            Some(found) if found != VERSION => {
                return Err(IndexError::Version { found, supported: VERSION }.into());
            }
            Some(_) => {}
        }
        let manifest: Self = json::from_foreign(&value).map_err(|fault| unreadable(&fault))?;
        manifest.check()?;
        Ok(manifest)
    }

    /// The manifest as JSON with a newline at the end; identical manifests give identical bytes.
    ///
    /// # Errors
    /// [`Error::Index`] when it cannot be written as JSON, which no manifest of the builder is.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|error| unreadable(&error))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    fn check(&self) -> Result<()> {
        if self.core.is_empty() {
            return Err(damaged("the manifest names no core file".to_owned()));
        }
        for parts in [&self.core, &self.vectors] {
            let joined = parts.iter().fold(0_u64, |sum, part| sum.saturating_add(part.bytes));
            if joined > MAX_JOINED_BYTES {
                return Err(damaged(format!("the manifest states {joined} bytes, at most {MAX_JOINED_BYTES} can be")));
            }
        }
        for file in self.core.iter().chain(&self.vectors).chain(&self.postings).chain(&self.texts) {
            file.check()?;
        }
        if let Some(model) = &self.model {
            model.check()?;
        }
        if let Some(engine) = &self.engine {
            engine.check()?;
        }
        Ok(())
    }
}

impl FileEntry {
    fn check(&self) -> Result<()> {
        let inside = self.path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !inside || self.path.contains(['\\', ':', '?', '#']) {
            return Err(damaged(format!("the manifest names the path {:?}, which leaves its folder", self.path)));
        }
        if !(1..=MAX_FILE_BYTES).contains(&self.bytes) {
            return Err(damaged(format!("the manifest states {} bytes for {}", self.bytes, self.path)));
        }
        if self.hash.len() != 16 || !self.hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(damaged(format!("the manifest states no hash for {}", self.path)));
        }
        Ok(())
    }

    /// Compares the length of what was loaded and the hash in its header, which tells a cut download, an error page and
    /// a file of another build without hashing. Whether the bytes fit that hash is checked when they are opened.
    ///
    /// # Errors
    /// [`IndexError::Empty`], [`IndexError::NotAnIndex`] for a page in its place, [`IndexError::Truncated`], or
    /// [`IndexError::Damaged`] for more bytes than expected.
    pub fn check_length(&self, bytes: &[u8]) -> Result<()> {
        let found = bytes.len() as u64;
        if found == self.bytes {
            return match stated_hash(bytes) {
                Some(hash) if format!("{hash:016x}") != self.hash => {
                    Err(damaged(format!("{} is a file of another build than the manifest", self.path)))
                }
                _ => Ok(()),
            };
        }
        if found == 0 {
            return Err(IndexError::Empty.into());
        }
        if let Some(b'<') = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            return Err(name_what_it_is(bytes).into());
        }
        if bytes.starts_with(&[0x1f, 0x8b]) {
            return Err(name_what_it_is(bytes).into());
        }
        if found < self.bytes {
            return Err(IndexError::Truncated { expected: self.bytes, found }.into());
        }
        Err(damaged(format!("{} has {found} bytes, {} were expected", self.path, self.bytes)))
    }
}

/// Joins the parts of a file in the order of the manifest.
///
/// # Errors
/// As [`FileEntry::check_length`], and [`IndexError::Truncated`] when a part is missing.
pub fn join(entries: &[FileEntry], parts: Vec<Vec<u8>>) -> Result<Vec<u8>> {
    let expected: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if entries.len() != parts.len() {
        let found = parts.iter().map(|part| part.len() as u64).sum();
        return Err(IndexError::Truncated { expected, found }.into());
    }
    for (entry, part) in entries.iter().zip(&parts) {
        entry.check_length(part)?;
    }
    let mut parts = parts.into_iter();
    let mut joined = parts.next().unwrap_or_default();
    for part in parts {
        joined.extend_from_slice(&part);
    }
    Ok(joined)
}

#[derive(Deserialize)]
struct VersionOnly {
    #[serde(default)]
    docent: Option<u32>,
}

fn unreadable(reason: &dyn std::fmt::Display) -> Error {
    damaged(format!("the manifest cannot be read: {reason}"))
}

fn damaged(what: String) -> Error {
    IndexError::Damaged(what).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> FileEntry {
        FileEntry { path: path.to_owned(), bytes: 3, hash: "0123456789abcdef".to_owned() }
    }

    fn sample() -> Manifest {
        Manifest {
            docent: VERSION,
            generator: "docent 0.1.0".to_owned(),
            built: None,
            languages: vec![Language::English, Language::Chinese],
            documents: 2,
            chunks: 7,
            core: vec![entry("core-0123456789abcdef.bin")],
            vectors: vec![],
            postings: vec![entry("postings/0123456789abcdef.bin")],
            texts: vec![entry("texts/0123456789abcdef.bin")],
            model: None,
            model_url: None,
            engine: None,
            agent: None,
        }
    }

    #[test]
    fn a_manifest_round_trips() {
        let bytes = sample().to_bytes().unwrap();
        assert_eq!(Manifest::from_bytes(&bytes).unwrap(), sample());
        let with_mark = [b"\xef\xbb\xbf".as_slice(), &bytes].concat();
        assert_eq!(Manifest::from_bytes(&with_mark).unwrap(), sample());
    }

    #[test]
    fn every_truncation_is_told() {
        let bytes = sample().to_bytes().unwrap();
        // The last byte is the newline, which the JSON does not need.
        for length in 0..bytes.len() - 1 {
            assert!(Manifest::from_bytes(&bytes[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn what_is_no_manifest_is_named() {
        for (bytes, code, part) in [
            (b"".as_slice(), "index_empty", "empty"),
            (b"<!doctype html>", "index_not_an_index", "HTML"),
            (b"\x1f\x8b\x08\0", "index_not_an_index", "gzip"),
            (b"{\"name\": \"app\"}", "index_not_an_index", "another JSON"),
            (b"[1, 2]", "index_not_an_index", "JSON"),
            (b"\x89DOCENT\n\x01\0\0\0", "index_not_an_index", "one file of an index"),
            (b"{\"docent\": 99}", "index_version", "99"),
            (b"{\"docent\": 1}", "index_version", "format version 1"),
            (b"{\"docent\": 2}", "index_damaged", "cannot be read"),
            (b"{\"docent\": -1}", "index_damaged", "cannot be read"),
        ] {
            let error = Manifest::from_bytes(bytes).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert!(error.to_string().contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn paths_and_lengths_that_harm_are_refused() {
        let refused = |change: fn(&mut Manifest), part: &str| {
            let mut manifest = sample();
            change(&mut manifest);
            let error = Manifest::from_bytes(&manifest.to_bytes().unwrap()).unwrap_err();
            assert!(error.to_string().contains(part), "{part}: {error}");
        };
        refused(|m| m.core[0].path = "../core.bin".into(), "leaves its folder");
        refused(|m| m.texts[0].path = "https://elsewhere/x".into(), "leaves its folder");
        refused(|m| m.texts[0].path = String::new(), "leaves its folder");
        refused(|m| m.texts[0].bytes = u64::MAX, "bytes for");
        refused(|m| m.core[0].bytes = 0, "bytes for");
        refused(|m| m.core[0].hash = "x".into(), "no hash");
        refused(|m| m.core.clear(), "no core file");
        refused(|m| m.vectors = vec![FileEntry { bytes: MAX_FILE_BYTES, ..entry("v") }; 50], "at most");
    }

    #[test]
    fn parts_are_joined_in_order_and_checked() {
        let entries = [entry("a"), entry("b")];
        assert_eq!(join(&entries, vec![b"abc".to_vec(), b"def".to_vec()]).unwrap(), b"abcdef");
        for (parts, code) in [
            (vec![b"abc".to_vec()], "index_truncated"),
            (vec![b"abc".to_vec(), b"de".to_vec()], "index_truncated"),
            (vec![b"abc".to_vec(), b"".to_vec()], "index_empty"),
            (vec![b"abc".to_vec(), b"defg".to_vec()], "index_damaged"),
            (vec![b"abc".to_vec(), b"<html></html>".to_vec()], "index_not_an_index"),
        ] {
            assert_eq!(join(&entries, parts).unwrap_err().code(), code);
        }
    }
}
