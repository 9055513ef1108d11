//! One search, from the reader's words to the passages that answer them.
//!
//! Input: an index whose parts may arrive one after the other, and a [`SearchRequest`]. Output: a [`SearchResponse`].
//! 1. the query is read ([`LexicalQuery`]) and both legs name candidates ([`LexicalIndex`], [`VectorIndex`]),
//! 2. each candidate gets both scores, which are fused ([`fusion`](crate::retrieval::fusion)),
//! 3. the best ones are looked at again ([`Reranker`]),
//! 4. copies and more than a fair share of one page are set aside,
//! 5. what is left becomes [`Passage`]s with evidence, best sentence and highlights.
//!
//! **Invariant:** a search is synchronous and pure. What is not there yet (vectors, texts) makes the answer poorer and
//! is named in it, and is never an error.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::error::{Error, IndexError, Result};
use crate::order;
use crate::retrieval::analyzer::{Analyzer, TokenKind};
use crate::retrieval::answer_form::{QuestionForm, names_question_page};
use crate::retrieval::best_passage::{best_passage, highlights};
use crate::retrieval::codec::damaged;
use crate::retrieval::dense_leg::DenseLeg;
use crate::retrieval::document::{Chunk, Document};
use crate::retrieval::evidence::{Signals, evidence};
use crate::retrieval::facets::{Filter, Preferences};
use crate::retrieval::fusion::{QueryScale, Support, fuse};
use crate::retrieval::lexical_index::{LexicalIndex, LexicalScores, page_starts};
use crate::retrieval::lexical_query::{LexicalQuery, QueryOptions};
use crate::retrieval::model_manifest;
use crate::retrieval::postings_cache::{PostingsCache, Reuse};
use crate::retrieval::second_stage::{Candidate, EvidenceReranker, RERANK_DEPTH, Reranker, TEXT_DEPTH, recencies};
use crate::retrieval::synonyms::{Synonyms, carrying};
use crate::retrieval::text_store::TextStore;
use crate::retrieval::vector_engine::{EngineAnswer, EngineCall, EngineConfig};
use crate::retrieval::vector_index::VectorIndex;
use crate::retrieval::weights::{DUPLICATE_COSINE, PREFERENCE_SHARE, Weights};
use crate::turn::{Language, Mode, Passage, Scores};

/// Candidates of each leg.
const LEG_DEPTH: usize = 100;

/// Results of a leg that are the best ones where two legs are compared, or one passage with all.
const AGREEMENT_DEPTH: usize = 10;

/// Results that a request may ask for at most.
pub const MOST_RESULTS: usize = 100;

/// What the index knows about the model it was built with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelInfo {
    /// Id of the model.
    pub id: String,
    /// Length of its vectors.
    pub dimension: usize,
    /// BCP 47 tags of the languages it knows; empty where that is not known.
    pub languages: Vec<String>,
}

impl From<&model_manifest::ModelInfo> for ModelInfo {
    fn from(model: &model_manifest::ModelInfo) -> Self {
        Self { id: model.id.clone(), dimension: model.dimension, languages: model.languages.clone() }
    }
}

/// What a search index is made of; everything but the vectors, which come later.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexParts {
    /// The pages.
    pub documents: Vec<Document>,
    /// The chunks, page by page; their `text` is empty, see [`IndexParts::texts`].
    pub chunks: Vec<Chunk>,
    /// The lexical leg.
    pub lexical: LexicalIndex,
    /// The analysis, with the corpus's word list.
    pub analyzer: Analyzer,
    /// The site's synonyms.
    pub synonyms: Synonyms,
    /// The texts, or the shards that they will come in.
    pub texts: TextStore,
    /// The model that the vectors were made with; `None` for an index without vectors.
    pub model: Option<ModelInfo>,
    /// What a search is limited to where the request says nothing.
    pub default_filter: Filter,
}

/// A search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest<'a> {
    /// The reader's words, as a stand-alone query.
    pub query: &'a str,
    /// Its embedding by the index's model.
    pub embedding: Option<&'a [f32]>,
    /// Which legs answer; `Hybrid` without an embedding becomes `Lexical`.
    pub mode: Mode,
    /// Passages wanted, 1..=[`MOST_RESULTS`].
    pub top_k: usize,
    /// Hard limit on the pages.
    pub filter: Filter,
    /// Soft wishes.
    pub preferences: Preferences,
    /// Whether the last word may be unfinished, for search-as-you-type.
    pub prefix: bool,
    /// What a vector engine said about the embedding, see [`SearchIndex::engine_call`]; it goes before the vectors in the
    /// page.
    pub engine: Option<&'a EngineAnswer>,
}

impl Default for SearchRequest<'_> {
    fn default() -> Self {
        Self {
            query: "",
            embedding: None,
            mode: Mode::Hybrid,
            top_k: 5,
            filter: Filter::default(),
            preferences: Preferences::default(),
            prefix: false,
            engine: None,
        }
    }
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchResponse {
    /// The passages, best first.
    pub passages: Vec<Passage>,
    /// Which legs answered.
    pub mode: Mode,
    /// Shards whose texts the passages need; their `text` is empty until then. Sorted.
    pub missing_texts: Vec<u32>,
    /// Share of the query's words that the index holds, 0..=1.
    pub in_vocabulary: f32,
    /// What was worked around, in readable sentences.
    pub warnings: Vec<String>,
}

/// An index that can be searched.
pub struct SearchIndex {
    parts: IndexParts,
    page_starts: Vec<u32>,
    document_numbers: HashMap<String, u32>,
    vectors: Option<VectorIndex>,
    engine: Option<EngineConfig>,
    /// How recent each page is, see [`recencies`].
    recencies: Vec<f32>,
    weights: Weights,
    reranker: Box<dyn Reranker>,
    /// Borrowed only while the lexical leg scores, which calls nothing that could search again.
    postings: RefCell<PostingsCache>,
}

impl std::fmt::Debug for SearchIndex {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("SearchIndex")
            .field("documents", &self.parts.documents.len())
            .field("chunks", &self.parts.chunks.len())
            .field("vectors", &self.vectors)
            .finish_non_exhaustive()
    }
}

/// A candidate on its way through the stages.
#[derive(Debug, Clone)]
struct Hit {
    chunk: u32,
    lexical: f32,
    cosine: Option<f32>,
    fused: f32,
    score: f32,
    coverage: f32,
    heading: HeadingMatch,
}

#[derive(Debug, Clone, Copy, Default)]
struct HeadingMatch {
    coverage: f32,
    precision: f32,
}

impl SearchIndex {
    /// Puts the parts together.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] when the parts contradict each other.
    pub fn new(parts: IndexParts) -> Result<Self> {
        let starts = page_starts(parts.documents.len(), parts.chunks.iter().map(|chunk| chunk.document))?;
        if parts.lexical.chunk_count() != parts.chunks.len() || parts.texts.chunk_count() != parts.chunks.len() {
            return Err(damaged("its parts hold different numbers of chunks"));
        }
        let numbers = parts.documents.iter().enumerate().map(|(at, d)| (d.id.clone(), at as u32)).collect();
        let weights = Weights::default();
        let reranker = Box::new(EvidenceReranker { weights: weights.second_stage });
        let recencies = recencies(&parts.documents);
        Ok(Self {
            parts,
            page_starts: starts,
            document_numbers: numbers,
            vectors: None,
            engine: None,
            recencies,
            weights,
            reranker,
            postings: RefCell::default(),
        })
    }

    /// Adds the dense leg.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] when it holds another number of chunks, [`IndexError::ModelMismatch`] when another model
    /// made it than the index names. The index goes on without it.
    pub fn set_vectors(&mut self, vectors: VectorIndex) -> Result<()> {
        if vectors.len() != self.parts.chunks.len() {
            return Err(damaged("the vectors are those of another index"));
        }
        self.accepts_model(vectors.model())?;
        self.vectors = Some(vectors);
        Ok(())
    }

    /// Takes the dense leg from an engine, which the host asks before each search; `None`: from the vectors in the page.
    pub fn set_engine(&mut self, engine: Option<EngineConfig>) {
        self.engine = engine;
    }

    /// The engine that the dense leg comes from.
    #[must_use]
    pub fn engine(&self) -> Option<&EngineConfig> {
        self.engine.as_ref()
    }

    /// Whether a search with an embedding can be dense: the vectors are there, or an engine has them.
    #[must_use]
    pub fn has_dense_leg(&self) -> bool {
        self.vectors.is_some() || (self.engine.is_some() && self.parts.model.is_some())
    }

    /// The question that the engine must be asked before this search; `None` where there is no engine, or the search asks
    /// nothing of it. The answer belongs in [`SearchRequest::engine`].
    ///
    /// # Errors
    /// As [`SearchIndex::search`], and [`Error::VectorEngine`] when the embedding does not fit the index.
    pub fn engine_call(&self, request: &SearchRequest<'_>) -> Result<Option<EngineCall>> {
        let (Some(engine), Some(model), Some(embedding)) = (&self.engine, &self.parts.model, request.embedding) else {
            return Ok(None);
        };
        let foreign = request.mode == Mode::Hybrid && !self.model_knows(request.query);
        if request.mode == Mode::Lexical || foreign {
            return Ok(None);
        }
        if embedding.len() != model.dimension || embedding.iter().any(|value| !value.is_finite()) {
            return Err(Error::VectorEngine(unusable(embedding, model.dimension)));
        }
        let filter = request.filter.or_default(&self.parts.default_filter);
        let lexical = if request.mode == Mode::Dense {
            Vec::new()
        } else {
            let query = self.lexical_query(request);
            let accepted = self.accepted(&filter);
            self.parts
                .lexical
                .score(&query, &self.weights.lexical)?
                .top(LEG_DEPTH, |chunk| self.accepts(&accepted, chunk))
        };
        let asked = lexical.into_iter().map(|(chunk, _)| (chunk, self.passage_id(chunk)));
        Ok(Some(EngineCall::search(engine, &model.id, embedding, LEG_DEPTH, &filter, asked)))
    }

    /// Reads what the engine answered to [`SearchIndex::engine_call`].
    ///
    /// # Errors
    /// [`Error::VectorEngine`] with what went wrong and what to do.
    pub fn engine_answer(&self, call: &EngineCall, status: u16, body: &str) -> Result<EngineAnswer> {
        call.read(status, body, |passage| self.chunk_of(passage))
    }

    /// The id of the passage of a chunk, see [`SearchIndex::chunk_of`]; empty for a chunk that is not there.
    #[must_use]
    pub fn passage_id(&self, chunk: u32) -> String {
        self.parts.chunks.get(chunk as usize).map_or_else(String::new, |chunk| {
            format!("{}#{}", self.parts.documents[chunk.document as usize].id, chunk.ordinal)
        })
    }

    /// Adds the texts of a shard.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] when there is no such shard, or it holds another number of chunks.
    pub fn set_texts(&mut self, shard: u32, texts: Vec<String>) -> Result<()> {
        self.parts.texts.insert(shard, texts)
    }

    /// Adds a shard of the lexical leg's postings.
    ///
    /// # Errors
    /// [`IndexError::Damaged`] when there is no such shard, or it has another length.
    pub fn set_postings(&mut self, shard: u32, bytes: Vec<u8>) -> Result<()> {
        // A term of the shard may be remembered as found nowhere.
        self.postings = RefCell::default();
        self.parts.lexical.insert_postings(shard, bytes)
    }

    /// The shards of postings that a search needs and that are not there yet. Without them its words are not found.
    #[must_use]
    pub fn missing_postings(&self, request: &SearchRequest<'_>) -> Vec<u32> {
        let query = self.lexical_query(request);
        self.parts.lexical.missing_postings(&query, QuestionForm::of(request.query).wants_verdict)
    }

    /// Whether the vectors of a loaded model may meet this index.
    ///
    /// # Errors
    /// [`IndexError::ModelMismatch`] when the index was built for another model or for none.
    pub fn accepts_model(&self, model: &str) -> Result<()> {
        let built_for = self.parts.model.as_ref().map_or("none", |info| info.id.as_str());
        if built_for == model {
            return Ok(());
        }
        Err(Error::Index(IndexError::ModelMismatch { index: built_for.to_owned(), model: model.to_owned() }))
    }

    /// Whether the model of the vectors knows the language of a text. The embedding of a text that it does not know is
    /// noise, and near to any passage.
    #[must_use]
    pub fn model_knows(&self, text: &str) -> bool {
        match (&self.parts.model, Language::detect(text)) {
            (Some(model), Some(language)) if !model.languages.is_empty() => {
                model.languages.iter().any(|known| known.eq_ignore_ascii_case(language.tag()))
            }
            _ => true,
        }
    }

    /// Puts another second stage in the place of the default.
    pub fn set_reranker(&mut self, reranker: Box<dyn Reranker>) {
        self.reranker = reranker;
    }

    /// Sets all weights; the defaults are measured, see [`weights`](crate::retrieval::weights).
    pub fn set_weights(&mut self, weights: Weights) {
        self.weights = weights;
        self.reranker = Box::new(EvidenceReranker { weights: weights.second_stage });
    }

    /// How often searches found the postings of a term that a search before them had read.
    #[must_use]
    pub fn reuse(&self) -> Reuse {
        self.postings.borrow().reuse()
    }

    /// The pages.
    #[must_use]
    pub fn documents(&self) -> &[Document] {
        &self.parts.documents
    }

    /// The chunks, page by page, without their texts.
    #[must_use]
    pub fn chunks(&self) -> &[Chunk] {
        &self.parts.chunks
    }

    /// The texts.
    #[must_use]
    pub fn texts(&self) -> &TextStore {
        &self.parts.texts
    }

    /// The analysis, with the corpus's word list.
    #[must_use]
    pub fn analyzer(&self) -> &Analyzer {
        &self.parts.analyzer
    }

    /// The lexical leg.
    #[must_use]
    pub fn lexical(&self) -> &LexicalIndex {
        &self.parts.lexical
    }

    /// The dense leg, where it is there.
    #[must_use]
    pub fn vectors(&self) -> Option<&VectorIndex> {
        self.vectors.as_ref()
    }

    /// The model that the vectors were made with.
    #[must_use]
    pub fn model(&self) -> Option<&ModelInfo> {
        self.parts.model.as_ref()
    }

    /// The page of this id.
    #[must_use]
    pub fn document(&self, id: &str) -> Option<&Document> {
        self.parts.documents.get(*self.document_numbers.get(id)? as usize)
    }

    /// The number of the chunk that a [`Passage::id`] names.
    #[must_use]
    pub fn chunk_of(&self, passage_id: &str) -> Option<u32> {
        let (document, ordinal) = passage_id.rsplit_once('#')?;
        let page = *self.document_numbers.get(document)?;
        let ordinal: u32 = ordinal.parse().ok()?;
        let range = self.page_range(page);
        let chunk = range.start.checked_add(ordinal)?;
        let named = self.parts.chunks.get(chunk as usize).filter(|named| named.ordinal == ordinal);
        if named.is_some() && chunk < range.end {
            return Some(chunk);
        }
        range.into_iter().find(|chunk| self.parts.chunks[*chunk as usize].ordinal == ordinal)
    }

    fn page_range(&self, page: u32) -> std::ops::Range<u32> {
        match (self.page_starts.get(page as usize), self.page_starts.get(page as usize + 1)) {
            (Some(from), Some(to)) => *from..*to,
            _ => 0..0,
        }
    }

    /// A passage with its neighbors of the same section joined to it, as long as their texts are there and the whole
    /// stays within `limit` characters: what a prompt should hold. Falls back to the passage's own text.
    #[must_use]
    pub fn with_neighbors(&self, passage: &Passage, limit: usize) -> String {
        let Some(chunk) = self.chunk_of(&passage.id) else { return passage.text.clone() };
        let home = &self.parts.chunks[chunk as usize];
        let page = self.page_range(home.document);
        let belongs =
            |other: u32| page.contains(&other) && self.parts.chunks[other as usize].heading_path == home.heading_path;
        let mut length = passage.text.chars().count();
        let (mut from, mut to) = (chunk, chunk);
        let (mut down, mut up) = (true, true);
        // What follows explains more often than what comes before, so it is asked first.
        while down || up {
            if up {
                up = belongs(to + 1) && self.grow(to + 1, &mut length, limit);
                to += u32::from(up);
            }
            if down {
                down = from > 0 && belongs(from - 1) && self.grow(from - 1, &mut length, limit);
                from -= u32::from(down);
            }
        }
        if from == to {
            return passage.text.clone();
        }
        let texts: Vec<&str> = (from..=to).filter_map(|chunk| self.parts.texts.text(chunk)).collect();
        texts.join("\n\n")
    }

    fn grow(&self, chunk: u32, length: &mut usize, limit: usize) -> bool {
        let Some(text) = self.parts.texts.text(chunk) else { return false };
        let longer = *length + text.chars().count() + 2;
        let fits = longer <= limit;
        if fits {
            *length = longer;
        }
        fits
    }

    /// Searches.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] when `top_k` is out of range, [`IndexError::Damaged`] when the index turns out to be.
    pub fn search(&self, request: &SearchRequest<'_>) -> Result<SearchResponse> {
        if !(1..=MOST_RESULTS).contains(&request.top_k) {
            let reason = format!("{} is not within 1..={MOST_RESULTS}", request.top_k);
            return Err(Error::InvalidOption { name: "topK".to_owned(), reason });
        }
        let mut warnings = Vec::new();
        let leg = self.leg(request);
        let known = self.model_knows(request.query);
        let embedding = usable_embedding(request, leg.map(DenseLeg::dimension), known, &mut warnings);
        let mode = match (request.mode, embedding) {
            (Mode::Lexical, _) | (_, None) => Mode::Lexical,
            (mode, Some(_)) => mode,
        };
        let embedding = if mode == Mode::Lexical { None } else { embedding };
        let query = self.lexical_query(request);
        let absent = self.parts.lexical.missing_postings(&query, false);
        if !absent.is_empty() {
            warnings.push(format!("some words were not searched: {} parts of the index are not loaded", absent.len()));
        }
        let scores = {
            let mut reused = self.postings.borrow_mut();
            self.parts.lexical.score_reusing(&query, &self.weights.lexical, &mut reused)?
        };
        let filter = request.filter.or_default(&self.parts.default_filter);
        let dense = leg.zip(embedding);
        let (hits, scale) = self.candidates(request.query, &query, &scores, dense, mode, &filter)?;
        let hits = self.order(request, &query, hits, &scale, mode, &mut warnings);
        let hits = self.select(hits, request.top_k);
        Ok(self.respond(&query, &scale, hits, mode, warnings))
    }

    /// The dense leg of a search: what the engine said, else the vectors in the page.
    fn leg<'a>(&'a self, request: &SearchRequest<'a>) -> Option<&'a dyn DenseLeg> {
        let engine = request.engine.map(|answer| answer as &dyn DenseLeg);
        engine.or_else(|| self.vectors.as_ref().map(|vectors| vectors as &dyn DenseLeg))
    }

    fn lexical_query(&self, request: &SearchRequest<'_>) -> LexicalQuery {
        let options = QueryOptions { prefix: request.prefix, weights: self.weights.terms, ..QueryOptions::default() };
        let parts = &self.parts;
        LexicalQuery::new(&parts.analyzer, &parts.lexical, &parts.synonyms, request.query, &options)
    }

    /// Which pages a filter lets pass; `None` when all do.
    fn accepted(&self, filter: &Filter) -> Option<Vec<bool>> {
        (!filter.is_open()).then(|| self.parts.documents.iter().map(|document| filter.accepts(document)).collect())
    }

    fn accepts(&self, accepted: &Option<Vec<bool>>, chunk: u32) -> bool {
        accepted.as_ref().is_none_or(|accepted| {
            accepted.get(self.parts.chunks[chunk as usize].document as usize).copied().unwrap_or(false)
        })
    }

    /// The candidates of the legs that answer, each with every score that there is.
    fn candidates(
        &self,
        question: &str,
        query: &LexicalQuery,
        scores: &LexicalScores,
        leg: Option<(&dyn DenseLeg, &[f32])>,
        mode: Mode,
        filter: &Filter,
    ) -> Result<(Vec<Hit>, QueryScale)> {
        let accepted = self.accepted(filter);
        let accepts = |chunk: u32| self.accepts(&accepted, chunk);
        let lexical = if mode == Mode::Dense { Vec::new() } else { scores.top(LEG_DEPTH, accepts) };
        let filtered: Option<&dyn Fn(u32) -> bool> = if accepted.is_some() { Some(&accepts) } else { None };
        let dense = leg.map_or_else(Vec::new, |(leg, query)| leg.candidates(query, LEG_DEPTH, filtered));
        let scale = QueryScale {
            best_lexical: lexical.first().map_or(0.0, |hit| hit.1),
            most_lexical: query.terms.iter().map(|term| term.weight * term.idf).sum::<f32>()
                * (self.weights.lexical.k1 + 1.0),
            best_dense: dense.first().map_or(0.0, |hit| hit.1),
            background: leg.map(|(leg, query)| leg.background(query)),
            ten_best: mean_of_best(&dense),
            agreement: agreement(&lexical, &dense, self.parts.chunks.len()),
        };
        let mut chunks: Vec<u32> = lexical.iter().chain(&dense).map(|hit| hit.0).collect();
        order::sort(&mut chunks);
        chunks.dedup();
        let form = QuestionForm::of(question);
        let verdicts = if form.wants_verdict { self.parts.lexical.chunks_with_verdict()? } else { Vec::new() };
        let hits = chunks
            .into_iter()
            .map(|chunk| {
                let lexical = scores.scores.get(chunk as usize).copied().unwrap_or(0.0);
                let cosine = leg.and_then(|(leg, query)| leg.cosine(query, chunk));
                let support = Support {
                    lexical,
                    cosine,
                    question_page: form.is_question && self.is_question_page(chunk),
                    verdict: verdicts.binary_search(&chunk).is_ok(),
                    other_language: self.is_in_other_language(query, chunk),
                };
                let fused = match mode {
                    Mode::Dense => cosine.unwrap_or(-1.0) + 1.0,
                    Mode::Lexical | Mode::Hybrid => fuse(&scale, &support, &self.weights.fusion),
                };
                let coverage = covered(query, scores.matched.get(chunk as usize).copied().unwrap_or(0));
                Hit { chunk, lexical, cosine, fused, score: fused, coverage, heading: HeadingMatch::default() }
            })
            .collect();
        Ok((hits, scale))
    }

    /// Whether a chunk is known to be written in another language than the query.
    fn is_in_other_language(&self, query: &LexicalQuery, chunk: u32) -> bool {
        let document = &self.parts.documents[self.parts.chunks[chunk as usize].document as usize];
        query.language.is_some_and(|language| language != document.language)
    }

    /// Whether a chunk's page or one of its headings says that it holds questions and answers.
    fn is_question_page(&self, chunk: u32) -> bool {
        let chunk = &self.parts.chunks[chunk as usize];
        let title = &self.parts.documents[chunk.document as usize].title;
        [title].into_iter().chain(&chunk.heading_path).any(|name| names_question_page(name))
    }

    /// Orders the candidates: fused score, boosts and wishes, then the second stage over the best.
    fn order(
        &self,
        request: &SearchRequest<'_>,
        query: &LexicalQuery,
        mut hits: Vec<Hit>,
        scale: &QueryScale,
        mode: Mode,
        warnings: &mut Vec<String>,
    ) -> Vec<Hit> {
        sort(&mut hits);
        // The legs by themselves stay as they are: they are what the fusion is measured against.
        if mode == Mode::Hybrid || mode == Mode::Lexical {
            hits.truncate(RERANK_DEPTH.max(request.top_k));
            for hit in &mut hits {
                hit.heading = self.heading_match(query, hit.chunk);
            }
            let phrases = self.phrases(query, &hits);
            let candidates: Vec<Candidate<'_>> =
                hits.iter().zip(phrases).map(|(hit, phrase)| self.candidate(hit, scale, phrase)).collect();
            match self.reranker.rerank(request.query, &candidates) {
                Ok(scores) if scores.len() == hits.len() => {
                    hits.iter_mut().zip(scores).for_each(|(hit, score)| hit.score = score);
                }
                Ok(scores) => warnings.push(format!(
                    "the second stage was skipped: it gave {} scores for {} candidates",
                    scores.len(),
                    hits.len()
                )),
                Err(error) => warnings.push(format!("the second stage was skipped: {error}")),
            }
        }
        for hit in &mut hits {
            let chunk = &self.parts.chunks[hit.chunk as usize];
            let document = &self.parts.documents[chunk.document as usize];
            let fit = request.preferences.fit(document, &chunk.heading_path);
            hit.score *= document.boost.clamp(0.1, 10.0) * (1.0 + PREFERENCE_SHARE * fit);
        }
        sort(&mut hits);
        hits
    }

    /// For each hit the share of the query's neighboring words that its text has side by side; the mean of the known ones
    /// where a text is not loaded.
    fn phrases(&self, query: &LexicalQuery, hits: &[Hit]) -> Vec<f32> {
        let known: Vec<Option<f32>> = hits
            .iter()
            .take(TEXT_DEPTH)
            .map(|hit| Some(self.phrase(query, hit.chunk, self.parts.texts.text(hit.chunk)?)))
            .collect();
        let (sum, count) = known.iter().flatten().fold((0.0, 0), |(sum, count), share| (sum + share, count + 1));
        let mean = if count > 0 { sum / count as f32 } else { 0.0 };
        (0..hits.len()).map(|at| known.get(at).copied().flatten().unwrap_or(mean)).collect()
    }

    /// The share of the query's neighboring words that a chunk's nearest heading and text have side by side.
    fn phrase(&self, query: &LexicalQuery, chunk: u32, text: &str) -> f32 {
        query.phrases.share(&self.parts.analyzer, &[self.nearest_heading(chunk), text])
    }

    /// The nearest heading of a chunk; the title, where there is none.
    fn nearest_heading(&self, chunk: u32) -> &str {
        let chunk = &self.parts.chunks[chunk as usize];
        chunk.heading_path.last().unwrap_or(&self.parts.documents[chunk.document as usize].title)
    }

    fn candidate<'a>(&'a self, hit: &Hit, scale: &QueryScale, phrase: f32) -> Candidate<'a> {
        let chunk = &self.parts.chunks[hit.chunk as usize];
        let document = &self.parts.documents[chunk.document as usize];
        Candidate {
            chunk: hit.chunk,
            title: &document.title,
            heading_path: &chunk.heading_path,
            text: self.parts.texts.text(hit.chunk),
            fused: hit.fused,
            lexical: scale.lexical(hit.lexical),
            dense: hit.cosine.map(|cosine| scale.dense(cosine)),
            coverage: hit.coverage,
            heading_coverage: hit.heading.coverage,
            heading_precision: hit.heading.precision,
            phrase,
            authority: document.authority,
            recency: self.recencies.get(chunk.document as usize).copied().unwrap_or(0.5),
        }
    }

    /// How well the nearest heading (the title, where there is none) and the query are the same.
    fn heading_match(&self, query: &LexicalQuery, chunk: u32) -> HeadingMatch {
        let heading = self.nearest_heading(chunk);
        let tokens: Vec<_> =
            carrying(self.parts.analyzer.analyze(heading)).into_iter().filter(|token| !token.stopword).collect();
        if tokens.is_empty() {
            return HeadingMatch::default();
        }
        let in_query = |term: &str| query.terms.iter().any(|asked| asked.text == term);
        let precise = tokens.iter().filter(|token| in_query(&token.term)).count();
        let words = query.terms.iter().filter(|t| matches!(t.kind, TokenKind::Word | TokenKind::ChineseWord));
        let (mut all, mut found) = (0.0, 0.0);
        for term in words {
            let weight = term.weight * term.idf;
            all += weight;
            if tokens.iter().any(|token| token.term == term.text) {
                found += weight;
            }
        }
        HeadingMatch {
            coverage: if all > 0.0 { found / all } else { 0.0 },
            precision: precise as f32 / tokens.len() as f32,
        }
    }

    /// The `top_k` hits that are no copies of better ones, with no more of one page than its share as long as there
    /// are others.
    fn select(&self, hits: Vec<Hit>, top_k: usize) -> Vec<Hit> {
        let share = top_k.div_ceil(2).max(1);
        let mut taken: Vec<Hit> = Vec::with_capacity(top_k);
        let mut set_aside = Vec::new();
        let mut pages: HashMap<u32, usize> = HashMap::new();
        for hit in hits {
            if taken.len() == top_k {
                break;
            }
            if taken.iter().any(|better| self.is_copy(better.chunk, hit.chunk)) {
                continue;
            }
            let of_page = pages.entry(self.parts.chunks[hit.chunk as usize].document).or_default();
            if *of_page == share {
                set_aside.push(hit);
                continue;
            }
            *of_page += 1;
            taken.push(hit);
        }
        let room = top_k - taken.len();
        taken.extend(set_aside.into_iter().take(room));
        taken
    }

    /// Whether two chunks say the same: by their texts where both are there, else by their vectors.
    fn is_copy(&self, a: u32, b: u32) -> bool {
        if let (Some(a), Some(b)) = (self.parts.texts.text(a), self.parts.texts.text(b)) {
            return a == b;
        }
        self.vectors.as_ref().and_then(|vectors| vectors.similarity(a, b)).is_some_and(|s| s >= DUPLICATE_COSINE)
    }

    fn respond(
        &self,
        query: &LexicalQuery,
        scale: &QueryScale,
        hits: Vec<Hit>,
        mode: Mode,
        warnings: Vec<String>,
    ) -> SearchResponse {
        let mut missing_texts: Vec<u32> = Vec::new();
        let passages = hits
            .into_iter()
            .map(|hit| {
                if self.parts.texts.text(hit.chunk).is_none() {
                    missing_texts.push(self.parts.texts.shard_of(hit.chunk));
                }
                self.passage(query, scale, &hit)
            })
            .collect();
        order::sort(&mut missing_texts);
        missing_texts.dedup();
        SearchResponse { passages, mode, missing_texts, in_vocabulary: query.in_vocabulary, warnings }
    }

    fn passage(&self, query: &LexicalQuery, scale: &QueryScale, hit: &Hit) -> Passage {
        let chunk = &self.parts.chunks[hit.chunk as usize];
        let document = &self.parts.documents[chunk.document as usize];
        let text = self.parts.texts.text(hit.chunk).unwrap_or("");
        let (best, highlights) = if text.is_empty() {
            let heading = chunk.heading_path.last().unwrap_or(&document.title).clone();
            let ranges = highlights(&self.parts.analyzer, query, &heading);
            (heading, ranges)
        } else {
            best_passage(&self.parts.analyzer, query, text)
        };
        let signals = Signals {
            dense: hit.cosine.map(|cosine| scale.dense(cosine)),
            lexical: scale.lexical(hit.lexical),
            coverage: hit.coverage,
            in_vocabulary: query.in_vocabulary,
            // One word has no neighbors, and must not count for less than a question of two.
            phrase: if query.phrases.is_empty() { hit.coverage } else { self.phrase(query, hit.chunk, text) },
            agreement: scale.agreement,
            lead: hit.cosine.map_or(0.0, |cosine| scale.lead(cosine)),
            other_language: self.is_in_other_language(query, hit.chunk),
        };
        Passage {
            id: self.passage_id(hit.chunk),
            document: document.id.clone(),
            title: document.title.clone(),
            heading_path: chunk.heading_path.clone(),
            url: match &chunk.anchor {
                Some(anchor) if !anchor.is_empty() => format!("{}#{anchor}", document.url),
                _ => document.url.clone(),
            },
            text: text.to_owned(),
            best,
            highlights,
            tags: document.tags.clone(),
            version: document.version.clone(),
            section: document.section.clone(),
            language: document.language,
            scores: Scores {
                lexical: (hit.lexical > 0.0).then_some(hit.lexical),
                dense: hit.cosine,
                fused: hit.score.max(0.0),
                evidence: evidence(&signals, &self.weights.evidence),
            },
        }
    }
}

/// The embedding of a search whose leg has vectors of `dimension`, where it can be used; `known`: whether the model knows the
/// question's language.
fn usable_embedding<'a>(
    request: &SearchRequest<'a>,
    dimension: Option<usize>,
    known: bool,
    warnings: &mut Vec<String>,
) -> Option<&'a [f32]> {
    let embedding = request.embedding?;
    let dimension = dimension?;
    if request.mode == Mode::Hybrid && !known {
        warnings.push("the words alone answer: the embedding model does not know the question's language".to_owned());
        return None;
    }
    if embedding.len() == dimension && embedding.iter().all(|value| value.is_finite()) {
        return Some(embedding);
    }
    warnings.push(format!("dense search is off: {}", unusable(embedding, dimension)));
    None
}

fn unusable(embedding: &[f32], dimension: usize) -> String {
    format!("the query's vector has {} dimensions or is not finite, the index has {dimension}", embedding.len())
}

/// Best first; ties by chunk number, so that a search replays the same.
fn sort(hits: &mut [Hit]) {
    order::sort_by(hits, |a, b| b.score.total_cmp(&a.score).then(a.chunk.cmp(&b.chunk)));
}

/// The mean of the best [`AGREEMENT_DEPTH`] scores of a ranking.
fn mean_of_best(hits: &[(u32, f32)]) -> f32 {
    let best = &hits[..hits.len().min(AGREEMENT_DEPTH)];
    best.iter().map(|hit| hit.1).sum::<f32>() / best.len().max(1) as f32
}

/// The share of the best [`AGREEMENT_DEPTH`] of two rankings of `chunks` chunks that both have, above what chance gives: in a
/// small index any two rankings share some.
fn agreement(lexical: &[(u32, f32)], dense: &[(u32, f32)], chunks: usize) -> f32 {
    let dense = &dense[..dense.len().min(AGREEMENT_DEPTH)];
    let both = lexical.iter().take(AGREEMENT_DEPTH).filter(|hit| dense.iter().any(|other| other.0 == hit.0)).count();
    let depth = AGREEMENT_DEPTH as f32;
    let chance = depth / chunks.max(AGREEMENT_DEPTH) as f32;
    if chance < 1.0 { ((both as f32 / depth - chance) / (1.0 - chance)).max(0.0) } else { 0.0 }
}

/// The share of the query's weight whose terms are among `matched`.
fn covered(query: &LexicalQuery, matched: u64) -> f32 {
    let (mut all, mut found) = (0.0, 0.0);
    for (bit, term) in query.terms.iter().enumerate() {
        let weight = term.weight * term.idf;
        all += weight;
        if matched >> bit & 1 == 1 {
            found += weight;
        }
    }
    if all > 0.0 { found / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legs_agree_where_they_share_more_than_chance_gives() {
        let ranking = |chunks: std::ops::Range<u32>| chunks.map(|chunk| (chunk, 1.0)).collect::<Vec<_>>();
        assert_eq!(agreement(&ranking(0..20), &ranking(0..20), 1_000), 1.0);
        assert_eq!(agreement(&ranking(0..20), &ranking(50..70), 1_000), 0.0);
        assert_eq!(agreement(&ranking(0..10), &ranking(0..10), 10), 0.0, "all of ten chunks are among the best ten");
        let half = agreement(&ranking(0..10), &ranking(5..15), 1_000);
        assert!((half - 0.5).abs() < 0.01, "{half}");
        assert_eq!(agreement(&[], &[], 0), 0.0);
    }
}
