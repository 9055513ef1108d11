//! BM25F over the title, the tags, the headings and the body of each chunk.
//!
//! Input: at build time the pages and chunks, at search time a [`LexicalQuery`]. Output: a score for every chunk, and
//! which of the query's terms each holds. BM25F weighs the fields inside of the saturation (Robertson, Zaragoza, Taylor:
//! "Simple BM25 Extension to Multiple Weighted Fields", CIKM 2004), so that a term in title and body counts once.
//! Titles and tags belong to a page and are stored once for all of its chunks.
//!
//! **Invariant:** the chunks of a page follow each other. Postings are checked while they are read, so that a damaged
//! index gives an error and never an id out of range.

use std::collections::BTreeMap;
use std::collections::HashMap;

use crate::error::Result;
use crate::order;
use crate::retrieval::analyzer::{Analyzer, Token, TokenKind};
use crate::retrieval::answer_form::gives_verdict;
use crate::retrieval::codec::{ByteReader, damaged, put_bytes, put_varint};
use crate::retrieval::document::{Chunk, Document};
use crate::retrieval::lexical_query::LexicalQuery;
use crate::retrieval::postings::{Postings, cut};
use crate::retrieval::postings_cache::PostingsCache;
use crate::retrieval::term_dictionary::TermDictionary;
use crate::retrieval::weights::LexicalWeights;

/// Steps of the stored body length for each doubling of it; 16 keeps the error under 5 %.
const LENGTH_STEPS: f32 = 16.0;

/// The lexical leg of an index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LexicalIndex {
    terms: TermDictionary,
    entries: Vec<Entry>,
    postings: Postings,
    /// First chunk of each page, and the number of chunks at the end.
    page_starts: Vec<u32>,
    /// Terms in each page's title, at most 255.
    title_lengths: Vec<u8>,
    /// Terms in each chunk's headings, at most 255.
    heading_lengths: Vec<u8>,
    /// Terms in each chunk's body, on the scale of [`LENGTH_STEPS`].
    body_lengths: Vec<u8>,
    averages: Averages,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Averages {
    title: f32,
    heading: f32,
    body: f32,
}

/// An index in parts, for [`LexicalIndex::to_parts`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LexicalFiles {
    /// What [`LexicalIndex::from_bytes`] reads.
    pub core: Vec<u8>,
    /// The shards of the postings, for [`LexicalIndex::insert_postings`]; none where they stand in the core.
    pub postings: Vec<Vec<u8>>,
}

/// Where a term's postings stand in their shard, and how many chunks hold it in any field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Entry {
    start: u32,
    end: u32,
    chunks: u32,
}

/// How often a chunk holds a term, by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Frequencies {
    title: u8,
    tags: u8,
    heading: u8,
    body: u8,
}

#[derive(Default)]
struct PostingsBuilder {
    pages: BTreeMap<u32, (u8, u8)>,
    chunks: Vec<(u32, u8, u8)>,
}

/// The outcome of a lexical search: a score for every chunk.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LexicalScores {
    /// BM25F of each chunk, 0 where no term matches.
    pub scores: Vec<f32>,
    /// Which query terms each chunk holds: bit `i` for term `i` of the query.
    pub matched: Vec<u64>,
}

impl LexicalScores {
    /// The `limit` best chunks among those that `accept` lets pass, best first; ties by chunk number.
    pub fn top(&self, limit: usize, accept: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
        let mut hits: Vec<(u32, f32)> = self
            .scores
            .iter()
            .enumerate()
            .filter(|(chunk, score)| **score > 0.0 && accept(*chunk as u32))
            .map(|(chunk, score)| (chunk as u32, *score))
            .collect();
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        if hits.len() > limit && limit > 0 {
            hits.select_nth_unstable_by(limit - 1, order);
        }
        hits.truncate(limit);
        order::sort_by(&mut hits, order);
        hits
    }
}

impl LexicalIndex {
    /// Indexes `chunks`, which come page by page in the order of `documents`.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when a chunk names a page that is not there, or stands out of order.
    pub fn build(analyzer: &Analyzer, documents: &[Document], chunks: &[Chunk]) -> Result<Self> {
        let page_starts = page_starts(documents.len(), chunks.iter().map(|chunk| chunk.document))?;
        let mut builders: HashMap<String, PostingsBuilder> = HashMap::new();
        let mut index = Self { page_starts, ..Self::default() };
        for (page, document) in documents.iter().enumerate() {
            let title = analyzer.analyze(&document.title);
            index.title_lengths.push(length(&title).min(255) as u8);
            for (term, count) in counts(title) {
                builders.entry(term).or_default().pages.entry(page as u32).or_default().0 = count;
            }
            for (term, count) in counts(analyzer.analyze(&document.tags.join(" \n "))) {
                builders.entry(term).or_default().pages.entry(page as u32).or_default().1 = count;
            }
        }
        for (number, chunk) in chunks.iter().enumerate() {
            let headings = analyzer.analyze(&chunk.heading_path.join(" \n "));
            let body = analyzer.analyze(&chunk.text);
            index.heading_lengths.push(length(&headings).min(255) as u8);
            index.body_lengths.push(quantize_length(length(&body)));
            let mut both: BTreeMap<String, (u8, u8)> = BTreeMap::new();
            for (term, count) in counts(headings) {
                both.entry(term).or_default().0 = count;
            }
            // Stopwords would fill the body's postings and say nothing; titles and headings are short and keep them.
            for (term, count) in counts(body.into_iter().filter(|token| !token.stopword)) {
                both.entry(term).or_default().1 = count;
            }
            if gives_verdict(&chunk.text) {
                both.insert(VERDICT_TERM.to_owned(), (0, 1));
            }
            for (term, (heading, body)) in both {
                builders.entry(term).or_default().chunks.push((number as u32, heading, body));
            }
        }
        let mut sorted: Vec<(String, PostingsBuilder)> = builders.into_iter().collect();
        order::sort_by(&mut sorted, |a, b| a.0.cmp(&b.0));
        index.terms = TermDictionary::from_sorted(sorted.iter().map(|(term, _)| term.as_str()));
        let mut postings = Vec::new();
        for (_, builder) in &sorted {
            let start = postings.len() as u32;
            write_postings(builder, &mut postings);
            let in_pages: u32 = builder.pages.keys().map(|page| index.chunks_of(*page).len() as u32).sum();
            let elsewhere = builder.chunks.iter().filter(|(chunk, ..)| {
                !builder.pages.contains_key(&chunks.get(*chunk as usize).map_or(u32::MAX, |chunk| chunk.document))
            });
            let chunks = in_pages + elsewhere.count() as u32;
            index.entries.push(Entry { start, end: postings.len() as u32, chunks });
        }
        index.postings = Postings::whole(postings);
        index.measure();
        Ok(index)
    }

    /// Number of chunks.
    #[must_use]
    pub fn chunk_count(&self) -> usize {
        self.body_lengths.len()
    }

    /// The dictionary.
    #[must_use]
    pub fn terms(&self) -> &TermDictionary {
        &self.terms
    }

    /// How many chunks hold the term of this number.
    #[must_use]
    pub fn chunks_with(&self, term: usize) -> u32 {
        self.entries.get(term).map_or(0, |entry| entry.chunks)
    }

    /// BM25's inverse document frequency for a term that `chunks` chunks hold: above 0, and higher for rarer terms.
    #[must_use]
    pub fn idf(&self, chunks: u32) -> f32 {
        let all = self.chunk_count() as f32;
        let held = (chunks as f32).min(all);
        (1.0 + (all - held + 0.5) / (held + 0.5)).ln()
    }

    /// The chunks of a page.
    fn chunks_of(&self, page: u32) -> std::ops::Range<u32> {
        let page = page as usize;
        match (self.page_starts.get(page), self.page_starts.get(page + 1)) {
            (Some(from), Some(to)) => *from..*to,
            _ => 0..0,
        }
    }

    /// Number of shards that the postings come in.
    #[must_use]
    pub fn postings_shards(&self) -> usize {
        self.postings.shard_count()
    }

    /// Puts a shard of the postings in place.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when there is no such shard, or it has another length.
    pub fn insert_postings(&mut self, shard: u32, bytes: Vec<u8>) -> Result<()> {
        self.postings.insert(shard as usize, bytes)
    }

    /// The shards that a query's terms stand in and that are not there, sorted. With `verdicts`, also the one that
    /// [`LexicalIndex::chunks_with_verdict`] reads.
    #[must_use]
    pub fn missing_postings(&self, query: &LexicalQuery, verdicts: bool) -> Vec<u32> {
        let terms = query.terms.iter().filter(|term| term.weight > 0.0).flat_map(|term| &term.alternatives);
        let verdict = verdicts.then(|| self.terms.find(VERDICT_TERM)).flatten();
        let mut shards: Vec<u32> = terms
            .map(|(number, _)| *number as usize)
            .chain(verdict)
            .map(|term| self.postings.shard_of(term))
            .filter(|shard| !self.postings.has(*shard))
            .map(|shard| shard as u32)
            .collect();
        order::sort(&mut shards);
        shards.dedup();
        shards
    }

    /// Scores every chunk; a term whose postings are not there counts nothing. Costs time in proportion to the postings of the query's terms.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when a posting names a chunk that is not there.
    pub fn score(&self, query: &LexicalQuery, weights: &LexicalWeights) -> Result<LexicalScores> {
        self.score_reusing(query, weights, &mut PostingsCache::default())
    }

    /// The same, with the postings that the searches before have read.
    ///
    /// # Errors
    /// See [`LexicalIndex::score`].
    pub(crate) fn score_reusing(
        &self,
        query: &LexicalQuery,
        weights: &LexicalWeights,
        cache: &mut PostingsCache,
    ) -> Result<LexicalScores> {
        let count = self.chunk_count();
        let mut result = LexicalScores { scores: vec![0.0; count], matched: vec![0; count] };
        let mut frequencies: Vec<(u32, f32)> = Vec::new();
        for (bit, term) in query.terms.iter().enumerate().take(64) {
            if term.weight <= 0.0 {
                continue;
            }
            frequencies.clear();
            for &(number, share) in &term.alternatives {
                let postings = cache.get(number, weights, || {
                    let mut read = Vec::with_capacity(self.chunks_with(number as usize) as usize);
                    self.each_posting(number as usize, |chunk, found| {
                        read.push((chunk, self.weighted(chunk, found, weights)));
                    })?;
                    Ok(read)
                })?;
                frequencies.extend(postings.iter().map(|(chunk, frequency)| (*chunk, share * frequency)));
            }
            if term.alternatives.len() > 1 {
                // Several spellings of one term: their frequencies add up before the saturation.
                order::sort_by_key(&mut frequencies, |(chunk, _)| *chunk);
                frequencies.dedup_by(|next, kept| {
                    let same = next.0 == kept.0;
                    if same {
                        kept.1 += next.1;
                    }
                    same
                });
            }
            let weight = term.weight * term.idf * (weights.k1 + 1.0);
            for &(chunk, frequency) in &frequencies {
                result.scores[chunk as usize] += weight * frequency / (weights.k1 + frequency);
                result.matched[chunk as usize] |= 1 << bit;
            }
        }
        Ok(result)
    }

    /// The chunks that begin as an answer to a yes-or-no question, in order.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when a posting names a chunk that is not there.
    pub fn chunks_with_verdict(&self) -> Result<Vec<u32>> {
        let mut chunks = Vec::new();
        if let Some(number) = self.terms.find(VERDICT_TERM) {
            self.each_posting(number, |chunk, _| chunks.push(chunk))?;
        }
        Ok(chunks)
    }

    /// The weighted and length-normalized frequency of BM25F.
    fn weighted(&self, chunk: u32, found: Frequencies, weights: &LexicalWeights) -> f32 {
        let normalized = |frequency: u8, b: f32, length: f32, average: f32| {
            if frequency == 0 { 0.0 } else { f32::from(frequency) / (1.0 - b + b * length / average.max(1.0)) }
        };
        let chunk = chunk as usize;
        let mut sum = weights.tags * f32::from(found.tags);
        if found.title > 0 {
            let page = self.page_starts.partition_point(|start| *start as usize <= chunk).saturating_sub(1);
            let length = f32::from(self.title_lengths[page]);
            sum += weights.title * normalized(found.title, weights.title_b, length, self.averages.title);
        }
        if found.heading > 0 {
            let length = f32::from(self.heading_lengths[chunk]);
            sum += weights.heading * normalized(found.heading, weights.heading_b, length, self.averages.heading);
        }
        if found.body > 0 {
            let length = length_of(self.body_lengths[chunk]);
            sum += normalized(found.body, weights.body_b, length, self.averages.body);
        }
        sum
    }

    /// Calls `visit` for each chunk that holds the term, in order.
    fn each_posting(&self, number: usize, mut visit: impl FnMut(u32, Frequencies)) -> Result<()> {
        let Some(entry) = self.entries.get(number) else { return Ok(()) };
        let Some(shard) = self.postings.shard(self.postings.shard_of(number)) else { return Ok(()) };
        let bytes = shard.get(entry.start as usize..entry.end as usize).ok_or_else(|| damaged(POSTINGS))?;
        let mut reader = ByteReader::new(bytes, POSTINGS);
        let page_count = reader.count(2)?;
        let mut pages = Vec::with_capacity(page_count);
        let mut page = 0_u64;
        for at in 0..page_count {
            page += reader.varint()? + u64::from(at > 0);
            let packed = reader.byte()?;
            if page as usize + 1 >= self.page_starts.len() {
                return Err(damaged(POSTINGS));
            }
            pages.push((page as u32, packed >> 4, packed & 15));
        }
        // Merges the pages' chunks with the chunks that have postings of their own.
        let mut inherited = pages
            .into_iter()
            .flat_map(|(page, title, tags)| self.chunks_of(page).map(move |chunk| (chunk, title, tags)))
            .peekable();
        let mut chunk = 0_u64;
        let mut first = true;
        while reader.remaining() > 0 {
            let head = reader.varint()?;
            chunk = chunk.saturating_add((head >> 2).saturating_add(u64::from(!first)));
            first = false;
            if chunk >= self.chunk_count() as u64 {
                return Err(damaged(POSTINGS));
            }
            let (heading, body) = match head & 3 {
                0 => (0, 1),
                1 => (0, 2),
                2 => (0, reader.byte()?),
                _ => {
                    let packed = reader.byte()?;
                    (packed >> 4, packed & 15)
                }
            };
            let own = chunk as u32;
            while let Some((before, title, tags)) = inherited.next_if(|(inherited, ..)| *inherited < own) {
                visit(before, Frequencies { title, tags, ..Frequencies::default() });
            }
            let (title, tags) =
                inherited.next_if(|(inherited, ..)| *inherited == own).map_or((0, 0), |(_, title, tags)| (title, tags));
            visit(own, Frequencies { title, tags, heading, body });
        }
        for (chunk, title, tags) in inherited {
            visit(chunk, Frequencies { title, tags, ..Frequencies::default() });
        }
        Ok(())
    }

    /// The average lengths, which follow from the lengths and are not stored.
    fn measure(&mut self) {
        let mean = |sum: f32, count: usize| if count == 0 { 1.0 } else { sum / count as f32 };
        self.averages = Averages {
            title: mean(self.title_lengths.iter().map(|l| f32::from(*l)).sum(), self.title_lengths.len()),
            heading: mean(self.heading_lengths.iter().map(|l| f32::from(*l)).sum(), self.heading_lengths.len()),
            body: mean(self.body_lengths.iter().map(|l| length_of(*l)).sum(), self.body_lengths.len()),
        };
    }

    /// The index as bytes, the postings among them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let all = self.all_postings();
        let mut out = self.head(&[(0, 0)]);
        put_bytes(&mut out, &all);
        out
    }

    /// The index as a core and the shards of its postings, which a page fetches when a query needs them. Few postings stay
    /// in the core.
    #[must_use]
    pub fn to_parts(&self) -> LexicalFiles {
        let lengths: Vec<usize> = self.entries.iter().map(|entry| (entry.end - entry.start) as usize).collect();
        let firsts = cut(&lengths);
        if firsts.len() == 1 {
            return LexicalFiles { core: self.to_bytes(), postings: Vec::new() };
        }
        let all = self.all_postings();
        let (mut shards, mut postings, mut at) = (Vec::new(), Vec::new(), 0);
        for (number, first) in firsts.iter().enumerate() {
            let end = firsts.get(number + 1).map_or(lengths.len(), |next| *next as usize);
            let length: usize = lengths[*first as usize..end].iter().sum();
            shards.push((*first, length as u32));
            postings.push(all[at..at + length].to_vec());
            at += length;
        }
        LexicalFiles { core: self.head(&shards), postings }
    }

    /// The postings of all terms in order; those of shards that are not there are left out.
    fn all_postings(&self) -> Vec<u8> {
        (0..self.postings.shard_count()).filter_map(|shard| self.postings.shard(shard)).flatten().copied().collect()
    }

    /// Everything but the postings, with the first term of each of their shards.
    fn head(&self, shards: &[(u32, u32)]) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(&mut out, self.title_lengths.len() as u64);
        for window in self.page_starts.windows(2) {
            put_varint(&mut out, u64::from(window[1] - window[0]));
        }
        put_bytes(&mut out, &self.title_lengths);
        put_bytes(&mut out, &self.heading_lengths);
        put_bytes(&mut out, &self.body_lengths);
        self.terms.write(&mut out);
        // Column by column, which compresses better than one entry after the other.
        self.entries.iter().for_each(|entry| put_varint(&mut out, u64::from(entry.chunks)));
        self.entries.iter().for_each(|entry| put_varint(&mut out, u64::from(entry.end - entry.start)));
        put_varint(&mut out, shards.len() as u64);
        let mut before = 0;
        for (first, _) in shards {
            put_varint(&mut out, u64::from(first - before));
            before = *first;
        }
        out
    }

    /// Reads what [`LexicalIndex::to_bytes`] wrote, or the core of [`LexicalIndex::to_parts`], whose postings are not there
    /// then.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when a length, an order or a count does not fit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes, "the lexical index");
        let pages = reader.count(1)?;
        let mut page_starts = Vec::with_capacity(pages + 1);
        page_starts.push(0);
        let mut chunks = 0_usize;
        for _ in 0..pages {
            chunks += reader.at_most(bytes.len())?;
            // One byte of length a chunk follows, so there cannot be more chunks than bytes.
            if chunks > bytes.len() {
                return Err(reader.damaged());
            }
            page_starts.push(chunks as u32);
        }
        let title_lengths = reader.bytes()?.to_vec();
        let heading_lengths = reader.bytes()?.to_vec();
        let body_lengths = reader.bytes()?.to_vec();
        if title_lengths.len() != pages || heading_lengths.len() != chunks || body_lengths.len() != chunks {
            return Err(reader.damaged());
        }
        let terms = TermDictionary::read(&mut reader)?;
        let held = (0..terms.len()).map(|_| reader.at_most(chunks)).collect::<Result<Vec<_>>>()?;
        let lengths = (0..terms.len()).map(|_| reader.at_most(LONGEST_POSTINGS)).collect::<Result<Vec<_>>>()?;
        // At least one shard, and each begins with a term of its own.
        let count = reader.at_most(terms.len().max(1))?;
        let mut shards: Vec<(u32, u32)> = Vec::with_capacity(count);
        for number in 0..count {
            let before = shards.last().map_or(0, |shard| shard.0 as usize);
            let first = before + reader.at_most(terms.len() - before)?;
            if (number == 0) != (first == 0) || (number > 0 && (first <= before || first >= terms.len())) {
                return Err(reader.damaged());
            }
            shards.push((first as u32, 0));
        }
        if shards.is_empty() {
            return Err(reader.damaged());
        }
        let mut entries = Vec::with_capacity(terms.len());
        let mut shard = 0;
        for (term, (chunks, length)) in held.into_iter().zip(lengths).enumerate() {
            if shards.get(shard + 1).is_some_and(|next| next.0 as usize == term) {
                shard += 1;
            }
            let start = shards[shard].1;
            let end = start.checked_add(length as u32).ok_or_else(|| reader.damaged())?;
            entries.push(Entry { start, end, chunks: chunks as u32 });
            shards[shard].1 = end;
        }
        let mut postings = Postings::absent(&shards);
        if count == 1 {
            postings.insert(0, reader.bytes()?.to_vec())?;
        }
        reader.finish()?;
        let averages = Averages::default();
        let mut index =
            Self { terms, entries, postings, page_starts, title_lengths, heading_lengths, body_lengths, averages };
        index.measure();
        Ok(index)
    }
}

/// The term under which the chunks stand that begin as an answer to a yes-or-no question. No query can hold it, since the
/// analyzer drops control characters.
const VERDICT_TERM: &str = "\u{1}verdict";

/// Longest postings of one term, in bytes: a chunk takes at most six.
const LONGEST_POSTINGS: usize = 1 << 28;

/// Names the postings in error messages.
const POSTINGS: &str = "the postings of the lexical index";

/// The first chunk of each page, and the number of chunks at the end.
pub(crate) fn page_starts(pages: usize, chunks: impl Iterator<Item = u32>) -> Result<Vec<u32>> {
    let mut starts = vec![0; pages + 1];
    let mut last = 0;
    for page in chunks {
        if page < last || page as usize >= pages {
            return Err(damaged("the chunks do not follow their pages"));
        }
        last = page;
        starts[page as usize + 1] += 1;
    }
    for page in 0..pages {
        starts[page + 1] += starts[page];
    }
    Ok(starts)
}

/// What counts into the length of a field: words that are no stopwords, each once.
fn length(tokens: &[Token]) -> usize {
    let counts = |token: &&Token| {
        !token.stopword && matches!(token.kind, TokenKind::Word | TokenKind::ChineseWord | TokenKind::ChinesePair)
    };
    tokens.iter().filter(counts).count()
}

fn counts(tokens: impl IntoIterator<Item = Token>) -> HashMap<String, u8> {
    let mut counts: HashMap<String, u8> = HashMap::new();
    for token in tokens {
        let count = counts.entry(token.term).or_default();
        *count = count.saturating_add(1);
    }
    counts
}

fn quantize_length(length: usize) -> u8 {
    ((length as f32 + 1.0).log2() * LENGTH_STEPS).round().min(255.0) as u8
}

fn length_of(quantized: u8) -> f32 {
    (f32::from(quantized) / LENGTH_STEPS).exp2() - 1.0
}

/// Pages with the frequencies in title and tags, then chunks: the distance to the last one and, in two bits, the usual
/// cases: once in the body, twice, a byte of body, a byte of headings and body.
fn write_postings(builder: &PostingsBuilder, out: &mut Vec<u8>) {
    put_varint(out, builder.pages.len() as u64);
    let mut next = 0;
    for (page, (title, tags)) in &builder.pages {
        put_varint(out, u64::from(page - next));
        out.push((title.min(&15) << 4) | tags.min(&15));
        next = page + 1;
    }
    let mut next = 0;
    for &(chunk, heading, body) in &builder.chunks {
        let distance = u64::from(chunk - next) << 2;
        match (heading, body) {
            (0, 1) => put_varint(out, distance),
            (0, 2) => put_varint(out, distance | 1),
            (0, _) => {
                put_varint(out, distance | 2);
                out.push(body);
            }
            _ => {
                put_varint(out, distance | 3);
                out.push((heading.min(15) << 4) | body.min(15));
            }
        }
        next = chunk + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retrieval::lexical_query::QueryOptions;
    use crate::retrieval::synonyms::Synonyms;

    fn page(title: &str, tags: &[&str]) -> Document {
        Document { title: title.into(), tags: tags.iter().map(|t| (*t).into()).collect(), ..Document::default() }
    }

    fn chunk(document: u32, headings: &[&str], text: &str) -> Chunk {
        Chunk {
            document,
            heading_path: headings.iter().map(|h| (*h).into()).collect(),
            text: text.into(),
            ..Chunk::default()
        }
    }

    fn corpus() -> (Analyzer, LexicalIndex) {
        let analyzer = Analyzer::default();
        let documents =
            [page("Virtual environments", &["python/venv"]), page("pip is slow", &["python/pip"]), page("分词", &[])];
        let chunks = [
            chunk(0, &["Create"], "Run python -m venv to create one."),
            chunk(0, &["Delete"], "Remove the folder of the venv. The venv is gone."),
            chunk(1, &["Use a mirror"], "Set the index URL of pip to a mirror near you."),
            chunk(2, &["如何安装"], "用 pip 安装 spaCy，然后下载中文模型。"),
        ];
        let index = LexicalIndex::build(&analyzer, &documents, &chunks).unwrap();
        (analyzer, index)
    }

    fn best(query: &str) -> Vec<u32> {
        let (analyzer, index) = corpus();
        let query = LexicalQuery::new(&analyzer, &index, &Synonyms::default(), query, &QueryOptions::default());
        let scores = index.score(&query, &LexicalWeights::default()).unwrap();
        scores.top(10, |_| true).into_iter().map(|(chunk, _)| chunk).collect()
    }

    #[test]
    fn titles_headings_and_bodies_are_found() {
        assert_eq!(best("how do I create a virtual environment?")[0], 0);
        assert_eq!(best("deleting a venv")[0], 1);
        assert_eq!(best("mirror for pip")[0], 2);
        assert_eq!(best("怎么安装中文模型")[0], 3);
        assert_eq!(best("python/venv").len(), 3);
        assert!(best("kubernetes").is_empty());
    }

    #[test]
    fn a_page_s_title_serves_all_of_its_chunks() {
        assert_eq!(best("virtual"), [0, 1]);
    }

    #[test]
    fn chunks_that_begin_with_a_verdict_are_known_and_cannot_be_searched_for() {
        let chunks = [chunk(0, &[], "Install it."), chunk(0, &[], "Yes. It is supported.")];
        let index = LexicalIndex::build(&Analyzer::default(), &[page("FAQ", &[])], &chunks).unwrap();
        assert_eq!(index.chunks_with_verdict(), Ok(vec![1]));
        assert!(Analyzer::default().analyze(VERDICT_TERM).iter().all(|token| token.term != VERDICT_TERM));
    }

    #[test]
    fn chunks_out_of_order_are_refused() {
        let documents = [page("a", &[]), page("b", &[])];
        let chunks = [chunk(1, &[], "x"), chunk(0, &[], "y")];
        assert!(LexicalIndex::build(&Analyzer::default(), &documents, &chunks).is_err());
        assert!(LexicalIndex::build(&Analyzer::default(), &documents, &[chunk(2, &[], "x")]).is_err());
    }

    #[test]
    fn the_bytes_round_trip() {
        let (_, index) = corpus();
        assert_eq!(LexicalIndex::from_bytes(&index.to_bytes()), Ok(index));
    }

    #[test]
    fn an_index_in_parts_answers_once_the_postings_of_a_query_are_there() {
        let analyzer = Analyzer::default();
        let words =
            |chunk: usize| -> String { (0..60).map(|n| format!("w{:05} ", (chunk * 61 + n * 7) % 9000)).collect() };
        let chunks: Vec<Chunk> = (0..400).map(|n| chunk(0, &["Heading"], &words(n))).collect();
        let index = LexicalIndex::build(&analyzer, &[page("Words", &[])], &chunks).unwrap();
        let parts = index.to_parts();
        assert!(parts.postings.len() > 3, "{} shards", parts.postings.len());
        let mut split = LexicalIndex::from_bytes(&parts.core).unwrap();
        assert_eq!(split.postings_shards(), parts.postings.len());
        for text in ["w00061 w08999", "heading", "w00007 words"] {
            let query = LexicalQuery::new(&analyzer, &split, &Synonyms::default(), text, &QueryOptions::default());
            for shard in split.missing_postings(&query, true) {
                split.insert_postings(shard, parts.postings[shard as usize].clone()).unwrap();
            }
            assert!(split.missing_postings(&query, true).is_empty());
            let weights = LexicalWeights::default();
            assert_eq!(split.score(&query, &weights), index.score(&query, &weights), "{text}");
        }
        for (shard, bytes) in parts.postings.iter().enumerate() {
            split.insert_postings(shard as u32, bytes.clone()).unwrap();
            assert!(split.insert_postings(shard as u32, bytes[1..].to_vec()).is_err());
        }
        assert_eq!(split.to_bytes(), index.to_bytes());
        for end in 0..parts.core.len() {
            assert!(LexicalIndex::from_bytes(&parts.core[..end]).is_err());
        }
    }

    #[test]
    fn damage_gives_an_error_or_an_answer_and_never_a_panic() {
        let (analyzer, index) = corpus();
        let bytes = index.to_bytes();
        for end in 0..bytes.len() {
            assert!(LexicalIndex::from_bytes(&bytes[..end]).is_err());
        }
        let text = "create delete venv pip mirror 安装 模型 python virtual";
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            if let Ok(index) = LexicalIndex::from_bytes(&flipped) {
                let query = LexicalQuery::new(&analyzer, &index, &Synonyms::default(), text, &QueryOptions::default());
                let _ = index.score(&query, &LexicalWeights::default());
            }
        }
    }

    #[test]
    fn lengths_keep_their_size() {
        for length in [0, 1, 7, 50, 300, 5000] {
            let back = length_of(quantize_length(length));
            assert!((back - length as f32).abs() <= 0.05 * length as f32 + 0.05, "{length} {back}");
        }
    }
}
