//! The texts of the chunks, which may arrive after the rest of the index.
//!
//! Input: shards, each with the texts of a run of chunks. Output: the text of a chunk, or the shard that is missing.
//! **Invariant:** a shard holds exactly the texts of its run, or it is not there.

use crate::error::Result;
use crate::retrieval::codec::damaged;

/// The texts, shard by shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextStore {
    /// First chunk of each shard, and the number of chunks at the end.
    starts: Vec<u32>,
    shards: Vec<Option<Vec<String>>>,
}

impl TextStore {
    /// A store without any text yet; `starts` names the first chunk of each shard and, last, the number of chunks.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when the starts do not begin at 0 or do not rise.
    pub fn new(starts: Vec<u32>) -> Result<Self> {
        if starts.first().is_some_and(|first| *first != 0) || !starts.is_sorted() {
            return Err(damaged("the table of text shards"));
        }
        let shards = vec![None; starts.len().saturating_sub(1)];
        Ok(Self { starts, shards })
    }

    /// A store of one shard that is there.
    #[must_use]
    pub fn whole(texts: Vec<String>) -> Self {
        Self { starts: vec![0, texts.len() as u32], shards: vec![Some(texts)] }
    }

    /// Number of chunks.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.starts.last().map_or(0, |last| *last as usize)
    }

    /// Number of shards.
    #[must_use]
    pub fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// The first chunk of each shard, and the number of chunks at the end.
    #[must_use]
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Puts a shard's texts in place.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when there is no such shard, or it holds another number of chunks.
    pub fn insert(&mut self, shard: u32, texts: Vec<String>) -> Result<()> {
        let shard = shard as usize;
        let expected = match (self.starts.get(shard), self.starts.get(shard + 1)) {
            (Some(from), Some(to)) => (*to - *from) as usize,
            _ => return Err(damaged("a text shard that the index does not name")),
        };
        if texts.len() != expected {
            return Err(damaged("a text shard with another number of chunks"));
        }
        self.shards[shard] = Some(texts);
        Ok(())
    }

    /// The shard of a chunk.
    #[must_use]
    pub fn shard_of(&self, chunk: u32) -> u32 {
        self.starts.partition_point(|start| *start <= chunk).saturating_sub(1) as u32
    }

    /// The text of a chunk, where its shard is there.
    #[must_use]
    pub fn text(&self, chunk: u32) -> Option<&str> {
        let shard = self.shard_of(chunk) as usize;
        let texts = self.shards.get(shard)?.as_ref()?;
        texts.get((chunk - self.starts[shard]) as usize).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_once_their_shard_is_there() {
        let mut store = TextStore::new(vec![0, 2, 3]).unwrap();
        assert_eq!((store.chunk_count(), store.shard_count()), (3, 2));
        assert_eq!(store.text(2), None);
        assert_eq!(store.shard_of(2), 1);
        store.insert(1, vec!["c".into()]).unwrap();
        assert_eq!((store.text(2), store.text(1), store.text(3)), (Some("c"), None, None));
        assert!(store.insert(0, vec!["a".into()]).is_err());
        assert!(store.insert(2, vec![]).is_err());
        assert!(TextStore::new(vec![1, 2]).is_err());
        assert!(TextStore::new(vec![0, 3, 2]).is_err());
        assert_eq!(TextStore::default().text(0), None);
    }
}
