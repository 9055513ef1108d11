//! The sorted terms of a lexical index: exact, prefix and near matches.
//!
//! Input: a folded term. Output: term numbers, which count from 0 in byte order.
//! **Invariant:** a look-up costs bounded work: exact and prefix are binary searches, a near match looks at no more than
//! [`NEAR_SCAN`] terms.

use crate::error::Result;
use crate::order;
use crate::retrieval::codec::{ByteReader, put_varint};

/// Terms that one near match may look at; one letter's share of a dictionary of about 400,000 terms.
const NEAR_SCAN: usize = 20_000;

/// Characters of the shortest term that may match with one slip; shorter ones have too many neighbors.
const SHORTEST_FOR_ONE_SLIP: usize = 4;

/// Characters of the shortest term that may match with two slips.
const SHORTEST_FOR_TWO_SLIPS: usize = 8;

/// Sorted, distinct terms.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TermDictionary {
    bytes: String,
    /// End of each term in `bytes`.
    ends: Vec<u32>,
}

impl TermDictionary {
    /// A dictionary of terms that come sorted and distinct.
    pub(crate) fn from_sorted<'a, I: IntoIterator<Item = &'a str>>(terms: I) -> Self {
        let mut dictionary = Self::default();
        for term in terms {
            dictionary.push(term);
        }
        dictionary
    }

    fn push(&mut self, term: &str) {
        self.bytes.push_str(term);
        self.ends.push(self.bytes.len() as u32);
    }

    /// Number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no term.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The term of a number below [`TermDictionary::len`]; the empty text above.
    #[must_use]
    pub fn term(&self, number: usize) -> &str {
        let end = self.ends.get(number).copied().unwrap_or(0) as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0) as usize;
        self.bytes.get(start..end).unwrap_or("")
    }

    /// The number of `term`.
    #[must_use]
    pub fn find(&self, term: &str) -> Option<usize> {
        let at = self.lower_bound(term);
        (at < self.len() && self.term(at) == term).then_some(at)
    }

    /// The numbers of the terms that start with `prefix`.
    #[must_use]
    pub fn with_prefix(&self, prefix: &str) -> std::ops::Range<usize> {
        let from = self.lower_bound(prefix);
        let mut low = from;
        let mut high = self.len();
        while low < high {
            let middle = low + (high - low) / 2;
            if self.term(middle).starts_with(prefix) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        from..low
    }

    /// The terms within a few slips of `term` (a slip: a letter too many, too few, another, or two swapped), nearest
    /// first, each with its slips. One slip from 4 characters on, two from 8; the first letter must be right.
    #[must_use]
    pub fn near(&self, term: &str) -> Vec<(usize, usize)> {
        let letters: Vec<char> = term.chars().collect();
        let allowed = match letters.len() {
            0..SHORTEST_FOR_ONE_SLIP => return Vec::new(),
            SHORTEST_FOR_ONE_SLIP..SHORTEST_FOR_TWO_SLIPS => 1,
            _ => 2,
        };
        let mut buffer = [0; 4];
        let range = self.with_prefix(letters[0].encode_utf8(&mut buffer));
        let mut found = Vec::new();
        for number in range.take(NEAR_SCAN) {
            let candidate = self.term(number);
            // Bytes bound characters from above, which is enough to skip most terms without decoding them.
            if candidate.len() + allowed < letters.len() {
                continue;
            }
            let other: Vec<char> = candidate.chars().collect();
            if other.len().abs_diff(letters.len()) <= allowed
                && let Some(slips) = slips(&letters, &other, allowed)
            {
                found.push((number, slips));
            }
        }
        order::sort_by_key(&mut found, |(number, slips)| (*slips, *number));
        found
    }

    fn lower_bound(&self, term: &str) -> usize {
        let mut low = 0;
        let mut high = self.len();
        while low < high {
            let middle = low + (high - low) / 2;
            if self.term(middle) < term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Writes each term as the number of bytes shared with the one before it, the rest, and a zero, which no term holds.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        put_varint(out, self.bytes.len() as u64);
        let mut before: &[u8] = &[];
        for number in 0..self.len() {
            let term = self.term(number).as_bytes();
            let shared = before.iter().zip(term).take_while(|(a, b)| a == b).count();
            put_varint(out, shared as u64);
            out.extend(term[shared..].iter().filter(|byte| **byte != 0));
            out.push(0);
            before = term;
        }
    }

    /// Reads what [`TermDictionary::write`] wrote.
    pub(crate) fn read(reader: &mut ByteReader<'_>) -> Result<Self> {
        let count = reader.count(2)?;
        let total = reader.varint()?;
        // A term shares at most its predecessor's length, which is bounded by what was read; the total is only a check.
        let mut dictionary = Self { bytes: String::new(), ends: Vec::with_capacity(count) };
        let mut buffer: Vec<u8> = Vec::new();
        let mut last = 0..0;
        for number in 0..count {
            let shared = reader.at_most(buffer.len())?;
            buffer.truncate(shared);
            buffer.extend_from_slice(reader.until_zero()?);
            let term = std::str::from_utf8(&buffer).map_err(|_| reader.damaged())?;
            let start = dictionary.bytes.len();
            if number > 0 && dictionary.bytes[last.clone()] >= *term || (start + term.len()) as u64 > total {
                return Err(reader.damaged());
            }
            dictionary.push(term);
            last = start..dictionary.bytes.len();
        }
        if dictionary.bytes.len() as u64 != total {
            return Err(reader.damaged());
        }
        Ok(dictionary)
    }
}

/// The number of slips between two words, or `None` above `allowed`: the optimal string alignment distance, computed in
/// a band of `2 × allowed + 1` cells a row.
fn slips(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    let far = allowed + 1;
    let mut two_back = vec![far; b.len() + 1];
    let mut before: Vec<usize> = (0..=b.len()).map(|j| j.min(far)).collect();
    let mut row = vec![far; b.len() + 1];
    for i in 1..=a.len() {
        let from = i.saturating_sub(allowed);
        let to = (i + allowed).min(b.len());
        row.fill(far);
        if from == 0 {
            row[0] = i.min(far);
        }
        let mut best = row[0];
        for j in from.max(1)..=to {
            let same = usize::from(a[i - 1] != b[j - 1]);
            let mut cost = (before[j - 1] + same).min(before[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cost = cost.min(two_back[j - 2] + 1);
            }
            row[j] = cost.min(far);
            best = best.min(row[j]);
        }
        if best > allowed {
            return None;
        }
        std::mem::swap(&mut two_back, &mut before);
        std::mem::swap(&mut before, &mut row);
    }
    let slips = before[b.len()];
    (slips <= allowed).then_some(slips)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dictionary() -> TermDictionary {
        TermDictionary::from_sorted(["compos", "compon", "config", "configur", "instal", "instanc", "数据", "数据库"])
    }

    #[test]
    fn exact_and_prefix_matches() {
        let terms = TermDictionary::from_sorted(["compon", "compos", "config", "configur", "instal", "数据", "数据库"]);
        assert_eq!(terms.find("config"), Some(2));
        assert_eq!(terms.find("confi"), None);
        assert_eq!(terms.with_prefix("comp"), 0..2);
        assert_eq!(terms.with_prefix("数"), 5..7);
        assert_eq!(terms.with_prefix("zzz").len(), 0);
        assert_eq!(terms.with_prefix(""), 0..7);
    }

    #[test]
    fn slips_are_counted() {
        let check = |a: &str, b: &str, expected| {
            let a: Vec<char> = a.chars().collect();
            let b: Vec<char> = b.chars().collect();
            assert_eq!(slips(&a, &b, 2), expected, "{a:?} {b:?}");
        };
        check("isntal", "instal", Some(1));
        check("instal", "instal", Some(0));
        check("instl", "instal", Some(1));
        check("konfigur", "configur", Some(1));
        check("abcd", "wxyz", None);
        check("ab", "abcd", Some(2));
    }

    #[test]
    fn near_terms_come_nearest_first() {
        let terms = TermDictionary::from_sorted(["instal", "instanc", "instant", "interval"]);
        assert_eq!(terms.near("isntal"), [(0, 1)]);
        assert_eq!(terms.near("ins"), []);
    }

    #[test]
    fn the_bytes_round_trip_and_damage_is_noticed() {
        let mut sorted: Vec<String> = (0..dictionary().len()).map(|n| dictionary().term(n).to_owned()).collect();
        sorted.sort_unstable();
        let terms = TermDictionary::from_sorted(sorted.iter().map(String::as_str));
        let mut bytes = Vec::new();
        terms.write(&mut bytes);
        assert_eq!(TermDictionary::read(&mut ByteReader::new(&bytes, "test")), Ok(terms));
        for end in 0..bytes.len() {
            assert!(TermDictionary::read(&mut ByteReader::new(&bytes[..end], "test")).is_err());
        }
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            let _ = TermDictionary::read(&mut ByteReader::new(&flipped, "test"));
        }
    }
}
