//! The postings of a lexical index, which may arrive after the dictionary, shard by shard.
//!
//! Input: the postings of a run of terms as bytes. Output: the bytes of one term, or the shard that is missing. A query needs
//! those of its own terms only, and terms that begin alike stand together, so that a word that is still being typed needs
//! few shards.
//! **Invariant:** a shard has exactly the length that the dictionary states for its terms, or it is not there.

use crate::error::Result;
use crate::retrieval::codec::damaged;

/// Shards that an index is cut into at most: what a manifest can name without getting long.
const MOST_SHARDS: usize = 128;
/// Least size of a shard before its compression, in bytes: below, the request costs more than the bytes.
const LEAST_SHARD_BYTES: usize = 8 << 10;
/// Largest size of a shard before its compression, in bytes; a single term may be longer.
const LARGEST_SHARD_BYTES: usize = 64 << 10;

/// The postings, shard by shard.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Postings {
    /// First term of each shard.
    first_terms: Vec<u32>,
    /// Bytes of each shard.
    lengths: Vec<u32>,
    shards: Vec<Option<Vec<u8>>>,
}

impl Postings {
    /// All postings in one shard that is there.
    pub(crate) fn whole(bytes: Vec<u8>) -> Self {
        Self { first_terms: vec![0], lengths: vec![bytes.len() as u32], shards: vec![Some(bytes)] }
    }

    /// Shards that are not there yet: the first term and the length of each.
    pub(crate) fn absent(shards: &[(u32, u32)]) -> Self {
        Self {
            first_terms: shards.iter().map(|shard| shard.0).collect(),
            lengths: shards.iter().map(|shard| shard.1).collect(),
            shards: vec![None; shards.len()],
        }
    }

    /// Number of shards.
    pub(crate) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// The shard of a term.
    pub(crate) fn shard_of(&self, term: usize) -> usize {
        self.first_terms.partition_point(|first| *first as usize <= term).saturating_sub(1)
    }

    /// Whether a shard is there.
    pub(crate) fn has(&self, shard: usize) -> bool {
        self.shards.get(shard).is_some_and(Option::is_some)
    }

    /// A shard's bytes, where it is there.
    pub(crate) fn shard(&self, shard: usize) -> Option<&[u8]> {
        self.shards.get(shard)?.as_deref()
    }

    /// Puts a shard in place.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when there is no such shard, or it has another length.
    pub(crate) fn insert(&mut self, shard: usize, bytes: Vec<u8>) -> Result<()> {
        match self.lengths.get(shard) {
            Some(length) if *length as usize == bytes.len() => {
                self.shards[shard] = Some(bytes);
                Ok(())
            }
            Some(_) => Err(damaged("a shard of postings with another length")),
            None => Err(damaged("a shard of postings that the index does not name")),
        }
    }
}

/// Where to cut the postings of terms with these lengths: the first term of each shard. One shard for what is not worth
/// cutting.
pub(crate) fn cut(lengths: &[usize]) -> Vec<u32> {
    let total: usize = lengths.iter().sum();
    let size = (total / MOST_SHARDS).clamp(LEAST_SHARD_BYTES, LARGEST_SHARD_BYTES);
    let mut firsts = vec![0];
    if total <= 2 * LEAST_SHARD_BYTES {
        return firsts;
    }
    let mut filled = 0;
    for (term, length) in lengths.iter().enumerate() {
        if filled > 0 && filled + length > size {
            firsts.push(term as u32);
            filled = 0;
        }
        filled += length;
    }
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_postings_stay_together_and_many_are_cut_evenly() {
        assert_eq!(cut(&[100; 100]), [0]);
        let firsts = cut(&[100; 1000]);
        assert!(firsts.len() > 10 && firsts.len() < 16, "{firsts:?}");
        assert_eq!(cut(&[]), [0]);
        // A term longer than a shard has one of its own.
        assert_eq!(cut(&[10_000, 200_000, 10_000]), [0, 1, 2]);
    }

    #[test]
    fn a_shard_goes_where_its_terms_are() {
        let mut postings = Postings::absent(&[(0, 2), (5, 1)]);
        assert_eq!(
            (postings.shard_of(0), postings.shard_of(4), postings.shard_of(5), postings.shard_of(9)),
            (0, 0, 1, 1)
        );
        assert!(!postings.has(1));
        assert!(postings.insert(1, vec![1, 2]).is_err() && postings.insert(2, vec![]).is_err());
        postings.insert(1, vec![7]).unwrap();
        assert_eq!((postings.shard(1), postings.shard(0)), (Some(&[7_u8][..]), None));
    }
}
