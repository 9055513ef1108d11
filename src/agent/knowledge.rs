//! What a turn asks of the index: passages, and what lies around them.
//!
//! **Invariant:** a text or a model that cannot be had makes the findings poorer and is named in the trace; it never fails
//! the turn.

use super::run_turn::{IDLE_MODE, TurnRun};
use super::turn_path::Question;
use crate::dialogue::{FactKind, ReaderFact};
use crate::error::Error;
use crate::host::{ChatClient, Clock, EmbeddingModel, IndexFiles, join_all};
use crate::index::reader::{read_postings, read_texts};
use crate::order;
use crate::relevance::choices::{Choice, Choices, facet_choices, page_choices};
use crate::relevance::context_relevance::{CosineRange, MESSAGES, Ties, context_relevance};
use crate::relevance::question_shape::QuestionShape;
use crate::relevance::related_pages::{RelatedPage, related_pages};
use crate::retrieval::analyzer::{Analyzer, fold};
use crate::retrieval::search_index::{MOST_RESULTS, SearchIndex, SearchRequest, SearchResponse};
use crate::retrieval::vector_engine::EngineAnswer;
use crate::turn::{Language, Mode, Passage, Scores};

/// Times that texts are fetched for one search; each may change which passages stand on top.
const MOST_FETCHES: usize = 3;
/// Evidence of a page's passages that were not found by the question but opened by the reader, 0..=1: neither for nor
/// against.
const OPENED_EVIDENCE: f32 = 0.5;

/// What a search found.
#[derive(Debug, Clone)]
pub(super) struct Findings {
    /// Best first, all above zero evidence.
    pub(super) passages: Vec<Passage>,
    pub(super) mode: Mode,
    /// The model that embedded the question.
    pub(super) model: Option<String>,
    pub(super) in_vocabulary: f32,
}

impl Default for Findings {
    fn default() -> Self {
        Self { passages: Vec::new(), mode: IDLE_MODE, model: None, in_vocabulary: 0.0 }
    }
}

/// The weight of an analyzed term; `None` where the index does not hold it.
fn idf_of(index: &SearchIndex, term: &str) -> Option<f32> {
    let lexical = index.lexical();
    let number = lexical.terms().find(term)?;
    Some(lexical.idf(lexical.chunks_with(number)))
}

/// Whether a model's embeddings can be searched in an index.
pub(super) fn is_hybrid(index: &SearchIndex, model: Option<&str>) -> bool {
    index.has_dense_leg() && model.is_some_and(|model| index.accepts_model(model).is_ok())
}

impl<C: ChatClient, E: EmbeddingModel, F: IndexFiles, K: Clock> TurnRun<'_, '_, C, E, F, K> {
    /// Searches, and fetches the texts that the best passages need.
    pub(super) async fn search(&mut self, query: &str, depth: usize) -> Findings {
        self.fetch_postings(query).await;
        let mut embedding = self.embedding(query).await;
        let engine = match &embedding {
            Some(embedding) => self.ask_engine(query, embedding).await,
            None => Ok(None),
        };
        let engine = engine.unwrap_or_else(|error| {
            self.warn_once(format!("{error}; lexical search goes on"));
            embedding = None;
            None
        });
        let model = embedding.as_ref().and_then(|_| self.agent.hosts.embedding.model_id());
        let mut failed: Vec<u32> = Vec::new();
        for fetches in 0.. {
            let Some(response) = self.search_once(query, embedding.as_deref(), engine.as_ref(), depth) else {
                return Findings::default();
            };
            let needed: Vec<u32> =
                self.needed_texts(&response).into_iter().filter(|shard| !failed.contains(shard)).collect();
            if needed.is_empty() || fetches == MOST_FETCHES || self.stop.is_stopped() {
                self.trace.warnings.extend(response.warnings);
                return Findings {
                    passages: response.passages.into_iter().filter(|passage| passage.scores.evidence > 0.0).collect(),
                    mode: response.mode,
                    model,
                    in_vocabulary: response.in_vocabulary,
                };
            }
            failed.extend(self.fetch_texts(needed).await);
        }
        Findings::default()
    }

    /// What the vector engine says about a question, where the index has one.
    async fn ask_engine(&self, query: &str, embedding: &[f32]) -> crate::error::Result<Option<EngineAnswer>> {
        let filter = self.filter.clone();
        let request = SearchRequest { query, embedding: Some(embedding), filter, ..SearchRequest::default() };
        self.stop.unless_stopped(self.agent.ask_engine(&request)).await.unwrap_or(Err(Error::Cancelled))
    }

    fn search_once(
        &mut self,
        query: &str,
        embedding: Option<&[f32]>,
        engine: Option<&EngineAnswer>,
        depth: usize,
    ) -> Option<SearchResponse> {
        let mut preferences = self.preferences.clone();
        {
            let session = self.agent.session.borrow();
            for fact in &session.memory.state().reader {
                prefer(&mut preferences, fact);
            }
        }
        let index = self.agent.index.borrow();
        let request = SearchRequest {
            query,
            embedding,
            mode: Mode::Hybrid,
            top_k: depth.clamp(1, MOST_RESULTS),
            filter: self.filter.clone(),
            preferences,
            engine,
            ..SearchRequest::default()
        };
        match index.as_ref()?.search(&request) {
            Ok(response) => Some(response),
            Err(error) => {
                drop(index);
                self.trace.warnings.push(format!("nothing could be searched: {error}"));
                None
            }
        }
    }

    /// The shards of the passages that the reply may quote.
    fn needed_texts(&self, response: &SearchResponse) -> Vec<u32> {
        let index = self.agent.index.borrow();
        let Some(index) = index.as_ref() else { return Vec::new() };
        let mut shards: Vec<u32> = response
            .passages
            .iter()
            .take(self.policy.top_k)
            .filter_map(|passage| index.chunk_of(&passage.id))
            .map(|chunk| index.texts().shard_of(chunk))
            .filter(|shard| response.missing_texts.contains(shard))
            .collect();
        order::sort(&mut shards);
        shards.dedup();
        shards
    }

    /// Fetches texts, all at once; gives the shards that could not be had.
    async fn fetch_texts(&mut self, shards: Vec<u32>) -> Vec<u32> {
        let files = &self.agent.hosts.files;
        let fetch = join_all(shards.iter().map(|shard| files.text_shard(*shard)));
        let Some(fetched) = self.stop.unless_stopped(fetch).await else { return shards };
        let mut failed = Vec::new();
        for (shard, bytes) in shards.into_iter().zip(fetched) {
            let put = bytes.and_then(|bytes| read_texts(&bytes)).and_then(|texts| {
                let mut index = self.agent.index.borrow_mut();
                let index = index.as_mut().ok_or_else(|| Error::Storage("the index is gone".to_owned()))?;
                index.set_texts(shard, texts)
            });
            if let Err(error) = put {
                self.trace.warnings.push(format!("the texts of shard {shard} are missing: {error}"));
                failed.push(shard);
            }
        }
        failed
    }

    /// Fetches the postings of the question's words, all at once.
    async fn fetch_postings(&mut self, query: &str) {
        let request = SearchRequest { query, ..SearchRequest::default() };
        let missing =
            self.agent.index.borrow().as_ref().map_or_else(Vec::new, |index| index.missing_postings(&request));
        let files = &self.agent.hosts.files;
        let fetch = join_all(missing.iter().map(|shard| files.postings_shard(*shard)));
        let Some(fetched) = self.stop.unless_stopped(fetch).await else { return };
        for (shard, bytes) in missing.into_iter().zip(fetched) {
            let put = bytes.and_then(|bytes| read_postings(&bytes)).and_then(|bytes| {
                let mut index = self.agent.index.borrow_mut();
                index.as_mut().map_or(Ok(()), |index| index.set_postings(shard, bytes))
            });
            if let Err(error) = put {
                self.warn_once(format!("the words of part {shard} of the index are missing: {error}"));
            }
        }
    }

    /// The embedding of a text, where the model is there and fits the index.
    async fn embedding(&mut self, text: &str) -> Option<Vec<f32>> {
        let model = self.agent.hosts.embedding.model_id()?;
        let (fits, knows) = {
            let index = self.agent.index.borrow();
            let index = index.as_ref()?;
            if !index.has_dense_leg() {
                return None;
            }
            (index.accepts_model(&model), index.model_knows(text))
        };
        if let Err(error) = fits {
            self.warn_once(error.to_string());
            return None;
        }
        if !knows {
            self.warn_once(format!("the words alone answer: {model} does not know the question's language"));
            return None;
        }
        // The model may be at work for a reader who has stopped waiting.
        match self.stop.unless_stopped(self.agent.embed_query(text)).await? {
            Ok(embedding) => Some(embedding),
            Err(error) => {
                self.warn_once(format!("{error}; lexical search goes on"));
                None
            }
        }
    }

    fn warn_once(&mut self, warning: String) {
        if !self.trace.warnings.contains(&warning) {
            self.trace.warnings.push(warning);
        }
    }

    /// The passages of a page that the question did not find: those that match it best, else the start of the page.
    pub(super) async fn search_page(&mut self, query: &str, document: &str) -> Findings {
        let mut findings = self.search(query, MOST_RESULTS).await;
        findings.passages.retain(|passage| passage.document == document);
        if findings.passages.is_empty() {
            let shards = {
                let index = self.agent.index.borrow();
                index.as_ref().map(|index| page_shards(index, document, self.policy.top_k)).unwrap_or_default()
            };
            self.fetch_texts(shards).await;
            let index = self.agent.index.borrow();
            findings.passages =
                index.as_ref().map(|index| page_start(index, document, self.policy.top_k)).unwrap_or_default();
        }
        findings
    }

    /// How much the query continues the messages before it, 0..=1.
    pub(super) async fn context_relevance(
        &mut self,
        query: &str,
        messages: &[String],
        carried: bool,
        findings: &Findings,
    ) -> Option<f32> {
        let messages: Vec<&str> = messages.iter().take(MESSAGES).map(String::as_str).collect();
        if messages.is_empty() {
            return None;
        }
        let mut embeddings = None;
        if let Some(model) = self.agent.hosts.embedding.model_id()
            && let Some(own) = self.embedding(query).await
        {
            let mut others = Vec::new();
            for message in &messages {
                if let Some(other) = self.embedding(message).await {
                    others.push(other);
                }
            }
            embeddings = Some((own, others, CosineRange::of_model(&model)));
        }
        let session = self.agent.session.borrow();
        let tags = findings.passages.first().map(|passage| passage.tags.clone()).unwrap_or_default();
        let ties = Ties {
            embeddings: embeddings.as_ref().map(|(own, others, range)| (own.as_slice(), others.as_slice(), *range)),
            tags: &tags,
            answer_tags: &session.progress.answer_tags,
            carried,
        };
        let index = self.agent.index.borrow();
        let fallback = Analyzer::default();
        let analyzer = index.as_ref().map_or(&fallback, SearchIndex::analyzer);
        context_relevance(query, &messages, &ties, analyzer)
    }
}

/// What a reader said about themselves, as a wish.
fn prefer(preferences: &mut crate::retrieval::facets::Preferences, fact: &ReaderFact) {
    match fact.kind {
        FactKind::Version => preferences.versions.push(fact.value.clone()),
        FactKind::Platform | FactKind::Language | FactKind::Tool => preferences.terms.push(fact.value.clone()),
    }
}

fn page_chunks(index: &SearchIndex, document: &str, most: usize) -> Vec<usize> {
    let Some(number) = index.documents().iter().position(|known| known.id == document) else { return Vec::new() };
    let chunks = index.chunks().iter().enumerate();
    chunks.filter(|(_, chunk)| chunk.document as usize == number).take(most).map(|(at, _)| at).collect()
}

fn page_shards(index: &SearchIndex, document: &str, most: usize) -> Vec<u32> {
    let chunks = page_chunks(index, document, most).into_iter().map(|chunk| chunk as u32);
    let mut shards: Vec<u32> = chunks
        .filter(|chunk| index.texts().text(*chunk).is_none())
        .map(|chunk| index.texts().shard_of(chunk))
        .collect();
    shards.dedup();
    shards
}

/// The first passages of a page.
fn page_start(index: &SearchIndex, document: &str, most: usize) -> Vec<Passage> {
    let Some(page) = index.document(document) else { return Vec::new() };
    page_chunks(index, document, most)
        .into_iter()
        .map(|at| {
            let chunk = &index.chunks()[at];
            Passage {
                id: format!("{}#{}", page.id, chunk.ordinal),
                document: page.id.clone(),
                title: page.title.clone(),
                heading_path: chunk.heading_path.clone(),
                url: match &chunk.anchor {
                    Some(anchor) if !anchor.is_empty() => format!("{}#{anchor}", page.url),
                    _ => page.url.clone(),
                },
                text: index.texts().text(at as u32).unwrap_or_default().to_owned(),
                best: String::new(),
                highlights: Vec::new(),
                tags: page.tags.clone(),
                version: page.version.clone(),
                section: page.section.clone(),
                language: page.language,
                scores: Scores { evidence: OPENED_EVIDENCE, ..Scores::default() },
            }
        })
        .collect()
}

/// What lies around the hits of a question.
pub(super) struct Surroundings {
    /// Pages worth offering with an answer.
    pub(super) related: Vec<RelatedPage>,
    /// Choices for an ambiguous question.
    pub(super) choices: Choices,
    /// The nearest pages, for a question that found too little.
    pub(super) nearest: Choices,
    pub(super) shape: QuestionShape,
}

impl Surroundings {
    /// Looks around the hits. Pages that were shown already are no choices as long as there are others.
    pub(super) fn of(
        index: Option<&SearchIndex>,
        question: &Question,
        hits: &[Passage],
        mentioned: &[String],
        offered: &[String],
        language: Language,
        max_options: usize,
    ) -> Self {
        let fallback = Analyzer::default();
        let analyzer = index.map_or(&fallback, SearchIndex::analyzer);
        let documents = index.map_or(&[][..], SearchIndex::documents);
        let related = related_pages(hits, documents, mentioned, offered, analyzer);
        let choices = facet_choices(&question.query, hits, max_options, analyzer)
            .unwrap_or_else(|| page_choices(hits, &[], max_options));
        let mut nearest = page_choices(hits, mentioned, max_options);
        if nearest.items.len() < 2 {
            let more = index.map(|index| titles_like(index, &question.query, mentioned, language)).unwrap_or_default();
            for item in more {
                if nearest.items.len() < max_options && nearest.items.iter().all(|known| known.id != item.id) {
                    nearest.items.push(item);
                }
            }
        }
        if nearest.items.is_empty() {
            nearest = page_choices(hits, &[], max_options);
        }
        let idf = |term: &str| index.and_then(|index| idf_of(index, term));
        let highest = index.map_or(1.0, |index| index.lexical().idf(1));
        let shape = QuestionShape::of(&question.query, hits.first(), question.carried, &idf, highest, analyzer);
        Self { related, choices, nearest, shape }
    }
}

/// The pages whose titles are written most like the question, for when nothing was found; in the reader's language where
/// there are such pages.
fn titles_like(index: &SearchIndex, query: &str, shown: &[String], language: Language) -> Vec<Choice> {
    let pairs = |text: &str| -> Vec<(char, char)> {
        let letters: Vec<char> = fold(text).chars().filter(|c| c.is_alphanumeric()).collect();
        letters.windows(2).map(|pair| (pair[0], pair[1])).collect()
    };
    let asked = pairs(query);
    let pages = || index.documents().iter().filter(|page| !shown.contains(&page.id));
    let speaks = pages().any(|page| page.language == language);
    let mut scored: Vec<(f32, usize, &crate::retrieval::document::Document)> = pages()
        .enumerate()
        .filter(|(_, page)| !speaks || page.language == language)
        .map(|(at, page)| {
            let title = pairs(&format!("{} {}", page.title, page.tags.join(" ")));
            let shared = title.iter().filter(|pair| asked.contains(pair)).count() as f32;
            // Among equals the site's own weight of a page decides, then its place in the table.
            (shared / (title.len().max(1) as f32).sqrt() + 0.01 * page.authority * page.boost, at, page)
        })
        .collect();
    order::sort_by(&mut scored, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored
        .into_iter()
        .take(6)
        .map(|(_, _, page)| Choice {
            id: page.id.clone(),
            title: page.title.clone(),
            url: Some(page.url.clone()),
            passages: 0,
        })
        .collect()
}
