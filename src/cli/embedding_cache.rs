//! Embeddings on disk, so that a text is embedded once by a model and never again.
//!
//! Input: texts. Output: their embeddings, from the cache or from the model. The file is append-only and named by the
//! model's weights; a record is the hash of the text and its kind, then the numbers. What was computed is written in
//! small parts, so that an interrupted run goes on where it stopped.
//! **Invariant:** the cache may vanish or be cut short at any time and costs nothing but time.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_128;

use crate::error::{Error, Result};
use crate::retrieval::embedding_model::Kind;
use crate::retrieval::model_manifest::{ModelFileRole, ModelInfo};

/// Names the variable that moves the cache.
pub const CACHE_VARIABLE: &str = "DOCENT_CACHE";

/// Texts that are embedded between two writes: seconds of work, not minutes.
const PART: usize = 64;

/// The embeddings of one model.
#[derive(Debug)]
pub struct EmbeddingCache {
    path: PathBuf,
    dimension: usize,
    known: HashMap<u128, Box<[f32]>>,
}

impl EmbeddingCache {
    /// Opens the cache of a model in `folder`, or in the user's cache folder.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder cannot be made.
    pub fn open(folder: Option<&Path>, model: &ModelInfo) -> Result<Self> {
        let folder = folder.map_or_else(default_folder, Path::to_path_buf);
        fs::create_dir_all(&folder).map_err(|error| input(&folder, &error))?;
        let weights = &model.file(ModelFileRole::Network)?.sha256;
        let name = format!("embeddings-{}.bin", weights.get(..16).unwrap_or(weights));
        let path = folder.join(name);
        let record = 16 + 4 * model.dimension;
        let bytes = fs::read(&path).unwrap_or_default();
        let mut known = HashMap::with_capacity(bytes.len() / record);
        for record in bytes.chunks_exact(record) {
            let (key, numbers) = record.split_at(16);
            let key = key.iter().rev().fold(0_u128, |key, byte| key << 8 | u128::from(*byte));
            let vector = numbers.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
            known.insert(key, vector);
        }
        if bytes.len() % record != 0 {
            // A run that was killed while it wrote: what follows would be out of step, so the rest is dropped.
            fs::write(&path, &bytes[..bytes.len() - bytes.len() % record]).map_err(|error| input(&path, &error))?;
        }
        Ok(Self { path, dimension: model.dimension, known })
    }

    /// The embeddings of `texts`, in their order; `embed` is asked for those that are not known, and `done` hears how
    /// many of those are finished and how many there are.
    ///
    /// # Errors
    /// Those of `embed`, and [`Error::Input`] when the cache cannot be written.
    pub fn embeddings(
        &mut self,
        texts: &[String],
        kind: Kind,
        mut embed: impl FnMut(&[&str]) -> Result<Vec<Vec<f32>>>,
        mut done: impl FnMut(usize, usize),
    ) -> Result<Vec<Vec<f32>>> {
        let keys: Vec<u128> = texts.iter().map(|text| key(text, kind)).collect();
        let mut missing: Vec<usize> = (0..texts.len()).filter(|at| !self.known.contains_key(&keys[*at])).collect();
        missing.sort_by_key(|at| (keys[*at], *at));
        missing.dedup_by_key(|at| keys[*at]);
        // Texts of one length together keep the batches dense.
        missing.sort_by_key(|at| (texts[*at].len(), *at));
        let mut finished = 0;
        for part in missing.chunks(PART) {
            let asked: Vec<&str> = part.iter().map(|at| texts[*at].as_str()).collect();
            let vectors = embed(&asked)?;
            if vectors.len() != part.len() || vectors.iter().any(|vector| vector.len() != self.dimension) {
                return Err(Error::Model("it gave another number of embeddings than texts".to_owned()));
            }
            self.append(part.iter().map(|at| keys[*at]).zip(vectors).collect())?;
            finished += part.len();
            done(finished, missing.len());
        }
        Ok(keys.iter().filter_map(|key| self.known.get(key)).map(|vector| vector.to_vec()).collect())
    }

    fn append(&mut self, records: Vec<(u128, Vec<f32>)>) -> Result<()> {
        let mut bytes = Vec::new();
        for (key, vector) in records {
            bytes.extend_from_slice(&key.to_le_bytes());
            vector.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            self.known.insert(key, vector.into());
        }
        let open = OpenOptions::new().create(true).append(true).open(&self.path);
        let mut file: File = open.map_err(|error| input(&self.path, &error))?;
        file.write_all(&bytes).map_err(|error| input(&self.path, &error))
    }
}

fn key(text: &str, kind: Kind) -> u128 {
    let side: &[u8] = match kind {
        Kind::Query => b"q",
        Kind::Passage => b"p",
    };
    xxh3_128(&[side, text.as_bytes()].concat())
}

fn input(path: &Path, error: &std::io::Error) -> Error {
    Error::Input { path: path.display().to_string(), reason: error.to_string() }
}

/// `$DOCENT_CACHE`, else `docent` in the user's cache folder, else in the system's temporary one.
fn default_folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable(CACHE_VARIABLE)
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("docent")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache").join("docent")))
        .unwrap_or_else(|| std::env::temp_dir().join("docent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_embedded_once_is_not_asked_for_again() {
        let folder = std::env::temp_dir().join(format!("docent-cache-test-{}", std::process::id()));
        let json = r#"{"id":"m","license":"MIT","languages":["en"],"dimension":2,"max_tokens":16,"pooling":"mean",
            "files":[{"role":"network","path":"a","bytes":1,"sha256":"0123456789abcdef0123"},
                     {"role":"tokenizer","path":"b","bytes":1,"sha256":"00"}]}"#;
        let model: ModelInfo = serde_json::from_str(json).unwrap();
        let texts = vec!["one".to_owned(), "two".to_owned(), "one".to_owned()];
        let mut asked = 0;
        let embed = |texts: &[&str]| -> Result<Vec<Vec<f32>>> {
            Ok(texts.iter().map(|text| vec![text.len() as f32, f32::from(text.as_bytes()[0])]).collect())
        };
        let mut cache = EmbeddingCache::open(Some(&folder), &model).unwrap();
        let first = cache.embeddings(&texts, Kind::Passage, embed, |_, all| asked = all).unwrap();
        assert_eq!((first.len(), asked), (3, 2));
        assert_eq!(first[0], first[2]);
        // A run that was killed while it wrote leaves half a record.
        let mut file = OpenOptions::new().append(true).open(&cache.path).unwrap();
        file.write_all(&[1, 2, 3]).unwrap();
        let mut again = EmbeddingCache::open(Some(&folder), &model).unwrap();
        let refuse = |_: &[&str]| Err(Error::Model("asked again".to_owned()));
        assert_eq!(again.embeddings(&texts, Kind::Passage, refuse, |_, _| ()), Ok(first));
        assert!(again.embeddings(&texts, Kind::Query, refuse, |_, _| ()).is_err());
        let mut third = EmbeddingCache::open(Some(&folder), &model).unwrap();
        assert!(third.embeddings(&texts[..1], Kind::Passage, refuse, |_, _| ()).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }
}
