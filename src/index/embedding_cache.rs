//! Embeddings that were computed before, so that a build after an edit only computes what changed.
//!
//! Input: texts and the hash of the model's files. Output: embeddings, exactly as the model gave them. The cache is a folder
//! a model with segment files; a run writes what it computed as a new segment, under a temporary name first, so that runs at
//! the same time and runs that are stopped leave it whole. **Invariant:** an entry is found by the text and the model that
//! made it; a segment whose hash does not fit is dropped, and costs only time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::error::{Error, Result};

/// First bytes of a segment: a name, and a version that counts up when this layout changes or the encoder gives other numbers.
const MAGIC: &[u8; 8] = b"DOCEMB\x02\n";
/// Bytes before the entries: magic, dimension, hash.
const HEADER: usize = 8 + 4 + 8;
/// Bytes of an entry's key.
const KEY: usize = 16;
/// More segments than this are joined into one when the cache is opened.
const MAX_SEGMENTS: usize = 24;

/// The cached embeddings of one model.
#[derive(Debug, Default)]
pub struct EmbeddingCache {
    folder: Option<PathBuf>,
    dimension: usize,
    entries: HashMap<u128, Box<[f32]>>,
    /// Keys that no segment holds yet, in the order in which they came.
    unsaved: Vec<u128>,
}

impl EmbeddingCache {
    /// A cache that forgets.
    #[must_use]
    pub fn none(dimension: usize) -> Self {
        Self { dimension, ..Self::default() }
    }

    /// Opens the cache of a model under `folder`. `model` is a hash of its files.
    ///
    /// # Errors
    /// [`Error::Input`] when the folder cannot be made or read.
    pub fn open(folder: &Path, model: &str, dimension: usize) -> Result<Self> {
        let folder = folder.join("embeddings").join(model);
        std::fs::create_dir_all(&folder).map_err(|error| unusable(&folder, &error))?;
        let mut segments: Vec<PathBuf> = std::fs::read_dir(&folder)
            .map_err(|error| unusable(&folder, &error))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|ending| ending == "seg"))
            .collect();
        segments.sort();
        let mut cache = Self { folder: Some(folder), dimension, ..Self::default() };
        for path in &segments {
            let whole = std::fs::read(path).ok().is_some_and(|bytes| cache.load(&bytes));
            if !whole {
                // Another run may have removed it, or a disk may have damaged it: it is computed again.
                let _ = std::fs::remove_file(path);
            }
        }
        if segments.len() > MAX_SEGMENTS {
            cache.unsaved = cache.entries.keys().copied().collect();
            cache.unsaved.sort_unstable();
            cache.save()?;
            segments.iter().for_each(|path| drop(std::fs::remove_file(path)));
        }
        Ok(cache)
    }

    /// The embedding of a text.
    #[must_use]
    pub fn get(&self, text: &str) -> Option<&[f32]> {
        self.entries.get(&key(text)).map(AsRef::as_ref)
    }

    /// Adds the embedding of a text; one of another length than the model's is no embedding of it and is left out.
    pub fn insert(&mut self, text: &str, embedding: &[f32]) {
        let key = key(text);
        if embedding.len() == self.dimension && self.entries.insert(key, embedding.into()).is_none() {
            self.unsaved.push(key);
        }
    }

    /// Writes what was added since the last call as a new segment.
    ///
    /// # Errors
    /// [`Error::Input`] when it cannot be written.
    pub fn save(&mut self) -> Result<()> {
        let Some(folder) = self.folder.clone().filter(|_| !self.unsaved.is_empty()) else { return Ok(()) };
        let mut body = Vec::with_capacity(self.unsaved.len() * (KEY + self.dimension * 4));
        for key in self.unsaved.drain(..) {
            if let Some(embedding) = self.entries.get(&key) {
                body.extend_from_slice(&key.to_le_bytes());
                embedding.iter().for_each(|value| body.extend_from_slice(&value.to_le_bytes()));
            }
        }
        let hash = xxh3_64(&body);
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&(self.dimension as u32).to_le_bytes());
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&body);
        let temporary = folder.join(format!("{hash:016x}.{}.tmp", std::process::id()));
        let path = folder.join(format!("{hash:016x}.seg"));
        std::fs::write(&temporary, bytes).map_err(|error| unusable(&temporary, &error))?;
        std::fs::rename(&temporary, &path).map_err(|error| unusable(&path, &error))
    }

    /// Takes over the entries of a segment; false when it is not one, or not whole.
    fn load(&mut self, bytes: &[u8]) -> bool {
        let entry = KEY + self.dimension * 4;
        let Some((header, body)) = bytes.split_at_checked(HEADER) else { return false };
        let whole = header.starts_with(MAGIC)
            && header[8..12] == (self.dimension as u32).to_le_bytes()
            && header[12..20] == xxh3_64(body).to_le_bytes()
            && body.len().is_multiple_of(entry);
        if !whole {
            return false;
        }
        for entry in body.chunks_exact(entry) {
            let mut key = [0; KEY];
            key.copy_from_slice(&entry[..KEY]);
            let values = entry[KEY..].chunks_exact(4).map(|v| f32::from_le_bytes([v[0], v[1], v[2], v[3]]));
            self.entries.insert(u128::from_le_bytes(key), values.collect());
        }
        true
    }
}

fn key(text: &str) -> u128 {
    xxh3_128(text.as_bytes())
}

fn unusable(path: &Path, error: &std::io::Error) -> Error {
    let reason = format!("the embedding cache cannot be used: {error}; choose another with --cache, or --no-cache");
    Error::Input { path: path.display().to_string(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("docent-cache-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn segments(folder: &Path) -> Vec<PathBuf> {
        std::fs::read_dir(folder.join("embeddings/m")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    #[test]
    fn what_was_saved_is_found_again_by_the_same_model_only() {
        let folder = folder("found");
        let mut cache = EmbeddingCache::open(&folder, "m", 2).unwrap();
        cache.insert("text", &[0.1, -0.2]);
        cache.insert("wrong length", &[0.1]);
        cache.save().unwrap();
        cache.save().unwrap();
        let again = EmbeddingCache::open(&folder, "m", 2).unwrap();
        assert_eq!(again.get("text"), Some(&[0.1, -0.2][..]));
        assert_eq!(again.get("wrong length"), None);
        assert_eq!(segments(&folder).len(), 1);
        assert_eq!(EmbeddingCache::open(&folder, "other", 2).unwrap().get("text"), None);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_damaged_segment_costs_only_time() {
        let folder = folder("damaged");
        let mut cache = EmbeddingCache::open(&folder, "m", 2).unwrap();
        cache.insert("text", &[0.1, -0.2]);
        cache.save().unwrap();
        let path = segments(&folder).remove(0);
        let mut bytes = std::fs::read(&path).unwrap();
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let again = EmbeddingCache::open(&folder, "m", 2).unwrap();
        assert_eq!(again.get("text"), None);
        assert!(segments(&folder).is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn many_segments_become_one() {
        let folder = folder("joined");
        for n in 0..=MAX_SEGMENTS {
            let mut cache = EmbeddingCache::open(&folder, "m", 1).unwrap();
            cache.insert(&n.to_string(), &[n as f32]);
            cache.save().unwrap();
        }
        let cache = EmbeddingCache::open(&folder, "m", 1).unwrap();
        assert_eq!(segments(&folder).len(), 1);
        assert!((0..=MAX_SEGMENTS).all(|n| cache.get(&n.to_string()) == Some(&[n as f32][..])));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_cache_that_forgets_writes_nothing() {
        let mut cache = EmbeddingCache::none(1);
        cache.insert("a", &[1.0]);
        assert_eq!(cache.get("a"), Some(&[1.0][..]));
        cache.save().unwrap();
    }
}
