//! The dense leg: int8 vectors and the instant-distance graph over them.
//!
//! Input: unit vectors of the embedding model at build time, one query vector at search time. Output: chunks with
//! cosines. A vector is stored as one scale and a signed byte a dimension; the graph walks with integer products of the
//! stored bytes and the query's, and what it finds is scored again with the query in full precision. The graph answers
//! every open search; a search within few chunks scans those, since the graph knows no filter.
//!
//! **Invariant:** each vector is held once, inside of the graph. Every id that comes from a file is checked before the
//! graph may see it, since instant-distance does not.

use std::cell::RefCell;

use instant_distance::{Heuristic, Hnsw, Search};

use crate::error::Result;
use crate::retrieval::codec::{ByteReader, put_varint};
use crate::retrieval::dense_leg::{Background, DenseLeg, background_sample, sort_hits};
use crate::retrieval::graph_codec;
use crate::retrieval::quantized_vector::{BlockedQuery, QuantizedVector};

/// Candidates that the graph keeps while it searches. Higher finds more and costs time in proportion.
pub const EF_SEARCH: usize = 400;

/// Candidates that the graph keeps while it is built. Higher makes better edges and costs build time in proportion.
pub const EF_CONSTRUCTION: usize = 200;

/// Seed of the graph's random order; any fixed number makes the bytes of an index reproducible.
const SEED: u64 = 0x00d0_ce47;

/// Chunks up to which a filtered search compares with each; above, the graph is searched and its answer filtered.
const SCAN_LIMIT: usize = 4_000;

/// The dense leg of an index.
pub struct VectorIndex {
    model: String,
    dimension: usize,
    graph: Hnsw<QuantizedVector>,
    /// The chunk of each point of the graph, which shuffles its points.
    chunk_of: Vec<u32>,
    /// The point of each chunk.
    point_of: Vec<u32>,
    search: RefCell<Search>,
}

impl std::fmt::Debug for VectorIndex {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("VectorIndex")
            .field("model", &self.model)
            .field("dimension", &self.dimension)
            .field("vectors", &self.chunk_of.len())
            .finish_non_exhaustive()
    }
}

impl VectorIndex {
    /// Builds the graph over one unit vector a chunk. The same vectors give the same bytes: the seed is fixed, and the
    /// caller runs this in a thread pool of one thread, because the order of insertion follows the threads.
    ///
    /// # Errors
    /// [`crate::error::Error::Model`] when the vectors differ in length.
    pub fn build(model: &str, vectors: &[Vec<f32>]) -> Result<Self> {
        Self::build_with(model, vectors, EF_CONSTRUCTION)
    }

    /// [`VectorIndex::build`] with another width of the construction, for measurements.
    ///
    /// # Errors
    /// [`crate::error::Error::Model`] when the vectors differ in length.
    pub fn build_with(model: &str, vectors: &[Vec<f32>], ef_construction: usize) -> Result<Self> {
        let dimension = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != dimension) {
            return Err(crate::error::Error::Model("its vectors differ in length".to_owned()));
        }
        let points = vectors.iter().map(|vector| QuantizedVector::new(vector)).collect();
        let builder = instant_distance::Builder::default();
        // Only diverse edges are kept, not those that a better one makes superfluous: a node has about four instead of 64,
        // which finds as much with a wider search in a fraction of the time, and builds in a tenth of it.
        let edges = Heuristic { extend_candidates: false, keep_pruned: false };
        let (graph, ids) = builder
            .seed(SEED)
            .select_heuristic(Some(edges))
            .ef_construction(ef_construction)
            .ef_search(EF_SEARCH)
            .build_hnsw::<QuantizedVector>(points);
        let point_of: Vec<u32> = ids.into_iter().map(instant_distance::PointId::into_inner).collect();
        let mut chunk_of = vec![0; point_of.len()];
        for (chunk, point) in point_of.iter().enumerate() {
            chunk_of[*point as usize] = chunk as u32;
        }
        let built = Self { model: model.to_owned(), dimension, graph, chunk_of, point_of, search: RefCell::default() };
        // What was built is what will be read: writing connects the nodes that no edge leads to.
        Self::from_bytes(&built.to_bytes()?)
    }

    /// Id of the model that made the vectors.
    #[must_use]
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Length of a vector.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunk_of.len()
    }

    /// Whether there is no vector.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunk_of.is_empty()
    }

    /// The `limit` chunks nearest to a unit vector, by the graph, with their cosines, nearest first.
    ///
    /// `limit` above [`EF_SEARCH`] gives no more than [`EF_SEARCH`]. A query of another length than
    /// [`VectorIndex::dimension`] finds nothing.
    #[must_use]
    pub fn nearest(&self, query: &[f32], limit: usize) -> Vec<(u32, f32)> {
        if query.len() != self.dimension {
            return Vec::new();
        }
        let mut search = self.search.borrow_mut();
        let point = QuantizedVector::new(query);
        let query = BlockedQuery::new(query);
        let mut hits: Vec<(u32, f32)> = self
            .graph
            .search(&point, &mut search)
            .map(|item| (self.chunk_of[item.pid.into_inner() as usize], item.point.cosine(&query)))
            .collect();
        sort_hits(&mut hits, limit);
        hits
    }

    /// The `limit` nearest among `chunks`, by comparing with each of them.
    #[must_use]
    pub fn nearest_among(&self, query: &[f32], chunks: impl IntoIterator<Item = u32>, limit: usize) -> Vec<(u32, f32)> {
        let blocked = BlockedQuery::new(query);
        let fits = query.len() == self.dimension;
        let mut hits: Vec<(u32, f32)> = chunks
            .into_iter()
            .filter_map(|chunk| Some((chunk, self.vector(chunk).filter(|_| fits)?.cosine(&blocked))))
            .collect();
        sort_hits(&mut hits, limit);
        hits
    }

    /// The cosine of one chunk to a unit vector; `None` for a chunk that is not there or a query of another length.
    #[must_use]
    pub fn cosine(&self, query: &[f32], chunk: u32) -> Option<f32> {
        let vector = self.vector(chunk)?;
        (query.len() == self.dimension).then(|| vector.cosine(&BlockedQuery::new(query)))
    }

    /// The cosine of two chunks.
    #[must_use]
    pub fn similarity(&self, a: u32, b: u32) -> Option<f32> {
        Some(self.vector(a)?.dot(self.vector(b)?))
    }

    /// The vector of a chunk, as near to the model's as its bytes allow; empty for a chunk that is not there.
    #[must_use]
    pub fn vector_of(&self, chunk: u32) -> Vec<f32> {
        self.vector(chunk).map_or_else(Vec::new, |vector| {
            vector.values(self.dimension).map(|value| f32::from(value) * vector.scale()).collect()
        })
    }

    fn vector(&self, chunk: u32) -> Option<&QuantizedVector> {
        self.point_of.get(chunk as usize).map(|point| &self.graph[instant_distance::PointId::from(*point)])
    }

    /// The index as bytes: model, sizes, the chunk of each point, scales, values, and the graph's edges.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when the graph's edges cannot be read from instant-distance.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.len() * (self.dimension + 64));
        crate::retrieval::codec::put_bytes(&mut out, self.model.as_bytes());
        put_varint(&mut out, self.dimension as u64);
        put_varint(&mut out, self.len() as u64);
        for chunk in &self.chunk_of {
            out.extend_from_slice(&chunk.to_le_bytes());
        }
        for (_, point) in self.graph.iter() {
            out.extend_from_slice(&point.scale().to_le_bytes());
            out.extend(point.values(self.dimension).map(|value| value as u8));
        }
        graph_codec::write(&self.graph, &mut out)?;
        Ok(out)
    }

    /// Bytes of the graph's edges in a file, before its compression.
    ///
    /// # Errors
    /// As [`VectorIndex::to_bytes`].
    pub fn edge_bytes(&self) -> Result<usize> {
        let mut out = Vec::new();
        graph_codec::write(&self.graph, &mut out)?;
        Ok(out.len())
    }

    /// Reads what [`VectorIndex::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`crate::error::IndexError::Damaged`] when a length, an id or a layer does not fit.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = ByteReader::new(bytes, "the vectors");
        let model = reader.text()?.to_owned();
        let dimension = reader.at_most(1 << 16)?;
        let count = reader.count(dimension + 8)?;
        let mut chunk_of = Vec::with_capacity(count);
        let mut point_of = vec![u32::MAX; count];
        for (point, id) in reader.take(count * 4)?.chunks_exact(4).enumerate() {
            let chunk = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
            let slot = point_of.get_mut(chunk as usize).filter(|slot| **slot == u32::MAX);
            *slot.ok_or_else(|| reader.damaged())? = point as u32;
            chunk_of.push(chunk);
        }
        let vectors = reader.take(count * (dimension + 4))?;
        if vectors.chunks_exact(dimension + 4).any(|v| !f32::from_le_bytes([v[0], v[1], v[2], v[3]]).is_finite()) {
            return Err(reader.damaged());
        }
        let graph = graph_codec::read(&mut reader, vectors, dimension + 4, count, EF_SEARCH)?;
        reader.finish()?;
        Ok(Self { model, dimension, graph, chunk_of, point_of, search: RefCell::default() })
    }
}

impl DenseLeg for VectorIndex {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    /// The graph answers, unless `accepts` leaves so few chunks that comparing with each is as quick.
    fn candidates(&self, query: &[f32], limit: usize, accepts: Option<&dyn Fn(u32) -> bool>) -> Vec<(u32, f32)> {
        let Some(accepts) = accepts else { return self.nearest(query, limit) };
        let left: Vec<u32> = (0..self.len() as u32).filter(|chunk| accepts(*chunk)).collect();
        if left.len() <= SCAN_LIMIT {
            return self.nearest_among(query, left, limit);
        }
        let mut hits = self.nearest(query, EF_SEARCH);
        hits.retain(|hit| accepts(hit.0));
        if hits.len() < EF_SEARCH / 4 {
            return self.nearest_among(query, left, limit);
        }
        hits.truncate(limit);
        hits
    }

    fn cosine(&self, query: &[f32], chunk: u32) -> Option<f32> {
        Self::cosine(self, query, chunk)
    }

    fn similarity(&self, a: u32, b: u32) -> Option<f32> {
        Self::similarity(self, a, b)
    }

    fn background(&self, query: &[f32]) -> Background {
        let sample = self.nearest_among(query, background_sample(self.len()), usize::MAX);
        let cosines: Vec<f32> = sample.into_iter().map(|hit| hit.1).collect();
        Background::of_sample(&self.model, &cosines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unit vectors in loose clusters, from a fixed linear congruential sequence.
    pub(crate) fn vectors(count: usize, dimension: usize) -> Vec<Vec<f32>> {
        let mut state = 7_u64;
        let mut next = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1_u64 << 24) as f32 - 0.5
        };
        let centers: Vec<Vec<f32>> = (0..8).map(|_| (0..dimension).map(|_| next()).collect()).collect();
        (0..count)
            .map(|i| {
                let raw: Vec<f32> = centers[i % 8].iter().map(|center| center + 0.7 * next()).collect();
                let norm = raw.iter().map(|value| value * value).sum::<f32>().sqrt();
                raw.into_iter().map(|value| value / norm).collect()
            })
            .collect()
    }

    #[test]
    fn the_graph_finds_what_the_exact_scan_finds() {
        let vectors = vectors(400, 32);
        let index = VectorIndex::build("test", &vectors).unwrap();
        let mut found = 0;
        for query in vectors.iter().step_by(10) {
            let exact: Vec<u32> = index.nearest_among(query, 0..400, 10).into_iter().map(|hit| hit.0).collect();
            found += index.nearest(query, 10).into_iter().filter(|hit| exact.contains(&hit.0)).count();
        }
        assert!(found >= 392, "recall {} of 400", found);
    }

    #[test]
    fn a_chunk_is_nearest_to_itself() {
        let vectors = vectors(100, 20);
        let index = VectorIndex::build("test", &vectors).unwrap();
        for (chunk, vector) in vectors.iter().enumerate() {
            let hits = index.nearest(vector, 1);
            assert_eq!(hits[0].0, chunk as u32);
            assert!((hits[0].1 - 1.0).abs() < 0.01);
            assert!((index.similarity(chunk as u32, chunk as u32).unwrap() - 1.0).abs() < 0.02);
        }
        assert!(index.nearest(&[1.0], 3).is_empty());
        assert_eq!(index.cosine(&vectors[0], 100), None);
    }

    #[cfg(feature = "cli")]
    #[test]
    fn the_bytes_are_reproducible_and_round_trip() {
        let vectors = vectors(300, 16);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let bytes = pool.install(|| VectorIndex::build("test", &vectors).unwrap().to_bytes().unwrap());
        let again = pool.install(|| VectorIndex::build("test", &vectors).unwrap().to_bytes().unwrap());
        assert!(bytes == again);
        let read = VectorIndex::from_bytes(&bytes).unwrap();
        assert!(read.to_bytes().unwrap() == bytes);
        let built = VectorIndex::build("test", &vectors).unwrap();
        assert_eq!(read.nearest(&vectors[5], 10)[0], built.nearest(&vectors[5], 10)[0]);
    }

    #[test]
    fn damage_gives_an_error_or_an_answer_and_never_a_panic() {
        let vectors = vectors(40, 8);
        let bytes = VectorIndex::build("test", &vectors).unwrap().to_bytes().unwrap();
        for end in 0..bytes.len() {
            assert!(VectorIndex::from_bytes(&bytes[..end]).is_err());
        }
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            if let Ok(index) = VectorIndex::from_bytes(&flipped) {
                let _ = index.nearest(&vectors[0], 10);
            }
        }
    }

    #[test]
    fn an_empty_index_answers_with_nothing() {
        let index = VectorIndex::build("test", &[]).unwrap();
        assert!(index.nearest(&[], 5).is_empty());
        let read = VectorIndex::from_bytes(&index.to_bytes().unwrap()).unwrap();
        assert!(read.is_empty());
        assert!(VectorIndex::build("test", &[vec![1.0], vec![1.0, 2.0]]).is_err());
    }
}
