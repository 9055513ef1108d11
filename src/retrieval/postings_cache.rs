//! The postings of the terms that were searched last, decoded and weighed.
//!
//! Input: a term's number and the way to read its postings. Output: the chunks that hold it with their weighted
//! frequencies. A reader who types, asks again, or asks on about the same thing repeats most of the terms; for a frequent
//! term, decoding costs more than scoring.
//! **Invariant:** what is kept is bounded by [`MOST_POSTINGS`] and [`MOST_TERMS`], and a kept list is the one that would be
//! read again, so that no result depends on what was searched before.

use std::rc::Rc;

use crate::error::Result;
use crate::retrieval::weights::LexicalWeights;

/// Postings that are kept together, of 8 bytes each: half a megabyte.
const MOST_POSTINGS: usize = 65_536;

/// Terms whose postings are kept; a look-up goes through them one by one, which costs less than one decoded list.
const MOST_TERMS: usize = 256;

/// Chunks that hold a term, in order, each with its weighted frequency.
pub(crate) type Postings = Rc<[(u32, f32)]>;

/// How often postings were found, and how often they had to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reuse {
    /// Look-ups that were answered from memory.
    pub hits: u64,
    /// Look-ups that read the index.
    pub misses: u64,
}

#[derive(Debug)]
struct Kept {
    term: u32,
    postings: Postings,
    used: u64,
}

/// Postings by term. The one that was not used for the longest time goes first.
#[derive(Debug, Default)]
pub(crate) struct PostingsCache {
    kept: Vec<Kept>,
    /// The weights that went into the frequencies.
    weights: LexicalWeights,
    postings: usize,
    reuse: Reuse,
}

impl PostingsCache {
    /// The postings of a term, read by `read` where they are not kept.
    ///
    /// # Errors
    /// Those of `read`.
    pub(crate) fn get(
        &mut self,
        term: u32,
        weights: &LexicalWeights,
        read: impl FnOnce() -> Result<Vec<(u32, f32)>>,
    ) -> Result<Postings> {
        if self.weights != *weights {
            *self = Self { weights: *weights, reuse: self.reuse, ..Self::default() };
        }
        let now = self.reuse.hits + self.reuse.misses + 1;
        if let Some(kept) = self.kept.iter_mut().find(|kept| kept.term == term) {
            self.reuse.hits += 1;
            kept.used = now;
            return Ok(Rc::clone(&kept.postings));
        }
        self.reuse.misses += 1;
        let postings: Postings = read()?.into();
        // One term of half the corpus must not push out the terms that tell questions apart.
        if postings.len() <= MOST_POSTINGS / 4 {
            self.make_room(postings.len());
            self.postings += postings.len();
            self.kept.push(Kept { term, postings: Rc::clone(&postings), used: now });
        }
        Ok(postings)
    }

    fn make_room(&mut self, wanted: usize) {
        while self.kept.len() >= MOST_TERMS || self.postings + wanted > MOST_POSTINGS {
            let Some(oldest) = (0..self.kept.len()).min_by_key(|at| self.kept[*at].used) else { return };
            self.postings -= self.kept.swap_remove(oldest).postings.len();
        }
    }

    /// How often it helped.
    pub(crate) fn reuse(&self) -> Reuse {
        self.reuse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(length: usize) -> Result<Vec<(u32, f32)>> {
        Ok((0..length as u32).map(|chunk| (chunk, 1.0)).collect())
    }

    #[test]
    fn a_term_is_read_once_until_the_weights_change() {
        let mut cache = PostingsCache::default();
        let weights = LexicalWeights::default();
        assert_eq!(cache.get(7, &weights, || list(3)).unwrap().len(), 3);
        assert_eq!(cache.get(7, &weights, || panic!("it is kept")).unwrap().len(), 3);
        assert_eq!(cache.reuse(), Reuse { hits: 1, misses: 1 });
        let other = LexicalWeights { k1: 2.0, ..weights };
        assert_eq!(cache.get(7, &other, || list(5)).unwrap().len(), 5);
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_oldest_goes_first() {
        let mut cache = PostingsCache::default();
        let weights = LexicalWeights::default();
        for term in 0..MOST_TERMS as u32 * 2 {
            cache.get(term, &weights, || list(10)).unwrap();
            cache.get(0, &weights, || list(10)).unwrap();
        }
        assert_eq!(cache.kept.len(), MOST_TERMS);
        assert!(cache.kept.iter().any(|kept| kept.term == 0), "it was used all the time");
        for term in 1_000..1_020 {
            cache.get(term, &weights, || list(MOST_POSTINGS / 4)).unwrap();
        }
        assert!(cache.postings <= MOST_POSTINGS);
        assert_eq!(cache.postings, cache.kept.iter().map(|kept| kept.postings.len()).sum::<usize>());
        cache.get(5_000, &weights, || list(MOST_POSTINGS)).unwrap();
        assert!(cache.kept.iter().all(|kept| kept.term != 5_000), "too long to be kept");
    }

    #[test]
    fn a_list_that_cannot_be_read_is_not_kept() {
        let mut cache = PostingsCache::default();
        let weights = LexicalWeights::default();
        assert!(cache.get(1, &weights, || Err(crate::retrieval::codec::damaged("test"))).is_err());
        assert_eq!(cache.get(1, &weights, || list(2)).unwrap().len(), 2);
    }
}
