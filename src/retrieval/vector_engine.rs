//! A vector engine in the place of the vectors in the page: Qdrant, by its REST interface.
//!
//! Input: an [`EngineConfig`], the query's vector, the chunks whose cosines the lexical leg wants, the facets. Output: an
//! [`EngineCall`] (address, headers, body) for the host to send, and from what came back an [`EngineAnswer`], which is the
//! dense leg of that one search. Everything else (words, fusion, policy) stays where it is.
//!
//! One call asks three things at once (`POST /collections/{name}/points/query/batch`): the nearest points under the facets,
//! the cosines of the chunks that the words found, and the cosines of a fixed sample as the background.
//!
//! A point is a chunk: its id is a hash of the passage's id, so that filling a collection twice changes nothing, and its
//! payload names the passage, the model and the facets. `docent push` writes them.
//!
//! **Invariant:** what an engine answers is checked before it counts: a point of a passage that this index does not have, a
//! score that is no number, an error page. No message carries the key.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::{Error, Result};
use crate::json;
use crate::retrieval::dense_leg::{Background, DenseLeg, sort_hits};
use crate::retrieval::document::Document;
use crate::retrieval::facets::{Filter, version_lines};

/// Longest message taken over from an engine, in characters.
const MAX_MESSAGE_CHARS: usize = 300;
/// Bits of a point's id: a JSON reader that holds numbers as doubles keeps it exactly.
const ID_BITS: u32 = 53;
/// Time for one search, in milliseconds, where nothing is said: a reader waits for it.
const DEFAULT_TIMEOUT_MS: u64 = 4_000;

/// The payload field with the id of the passage, `document#ordinal`.
pub const PASSAGE: &str = "passage";
/// The payload field with the id of the model that made the vector.
pub const MODEL: &str = "model";
/// The payload field that tells the points of one build from those of another.
pub const BUILD: &str = "build";
/// The payload field that the points have which stand for all.
pub const SAMPLE: &str = "sample";
/// Its value: a word, like every other facet, so that one kind of payload index serves all of them.
const SAMPLED: &str = "yes";
/// The payload field with the versions that a page answers for.
pub const VERSION: &str = "version";
/// The payload field with the page's language.
pub const LANGUAGE: &str = "language";
/// The payload field with the page's section.
pub const SECTION: &str = "section";
/// The payload field with the page's tags and the tags above them.
pub const TAGS: &str = "tags";

/// Which engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// Qdrant 1.10 or later, by REST.
    #[default]
    Qdrant,
}

/// Where the vectors are, when they are not in the page.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EngineConfig {
    /// Which engine.
    pub engine: EngineKind,
    /// Its address, such as `https://vectors.example.org:6333`; in a page also a path of the page's own host.
    pub url: String,
    /// The collection that `docent push` filled.
    pub collection: String,
    /// A key, sent as the header `api-key`. In a page it needs [`EngineConfig::allow_key_in_page`], and should be one that
    /// may only read this collection.
    #[serde(default, skip_serializing)]
    pub api_key: Option<String>,
    /// Accepts that every reader of the page can read the key.
    #[serde(default)]
    pub allow_key_in_page: bool,
    /// Further headers, for a gateway in front of the engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Time for one search, in milliseconds, 100..=60000; 4000 where nothing is said.
    #[serde(default = "default_timeout")]
    pub timeout_ms: u64,
}

const fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT_MS
}

impl fmt::Debug for EngineConfig {
    /// Without the key and the values of the headers: this ends in logs.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EngineConfig")
            .field("engine", &self.engine)
            .field("url", &self.url)
            .field("collection", &self.collection)
            .field("api_key", &self.api_key.as_ref().map(|_| "…"))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("timeout_ms", &self.timeout_ms)
            .finish_non_exhaustive()
    }
}

impl EngineConfig {
    /// Reads the option `vectors` of the agent and checks it.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the field.
    pub fn from_json(value: Value) -> Result<Self> {
        let config: Self = json::from_value(&value).map_err(|fault| {
            let name = if fault.path().is_empty() { "vectors".to_owned() } else { format!("vectors.{}", fault.path()) };
            Error::InvalidOption { name, reason: fault.reason().to_owned() }
        })?;
        config.check()?;
        Ok(config)
    }

    /// Checks what can be checked without asking the engine.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the field.
    pub fn check(&self) -> Result<()> {
        let invalid = |name: &str, reason: &str| {
            Err(Error::InvalidOption { name: format!("vectors.{name}"), reason: reason.to_owned() })
        };
        let url = self.url.trim();
        if url.is_empty() || url.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return invalid("url", "give the address of the engine, such as https://vectors.example.org:6333");
        }
        if url.contains("://") && !url.starts_with("https://") && !url.starts_with("http://") {
            return invalid("url", "only `http://` and `https://` are spoken");
        }
        if url.contains('?') || url.contains('#') || url.split("://").nth(1).unwrap_or("").contains('@') {
            return invalid("url", "a query, a fragment or a password cannot stand in it; use `apiKey` or `headers`");
        }
        // Qdrant's own rule for names, and what keeps a name inside of its place in the path.
        let allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.collection.is_empty() || self.collection.len() > 255 || !self.collection.chars().all(allowed) {
            return invalid("collection", "1 to 255 letters, digits, `-`, `_` and `.` are allowed");
        }
        if self.collection.chars().all(|c| c == '.') {
            return invalid("collection", "it is a path");
        }
        if !(100..=60_000).contains(&self.timeout_ms) {
            return invalid("timeoutMs", "100 to 60000 is allowed");
        }
        let key = self.api_key.as_deref().unwrap_or("");
        if key.chars().any(|c| c.is_control() || !c.is_ascii()) {
            return invalid(
                "apiKey",
                "it holds a character that no header can carry; was it copied with a line break?",
            );
        }
        let name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        let bad = |(header, value): (&String, &String)| {
            header.is_empty() || !header.chars().all(name) || value.chars().any(|c| c.is_control() || !c.is_ascii())
        };
        if self.headers.iter().any(bad) {
            return invalid("headers", "a name or a value holds a character that no header can carry");
        }
        Ok(())
    }

    /// Refuses a key that the page was not told to show.
    ///
    /// # Errors
    /// [`Error::InvalidOption`].
    pub fn check_in_page(&self) -> Result<()> {
        if self.api_key.is_some() && !self.allow_key_in_page {
            let reason = "puts a key into the page, where every reader can take it; use a key that may only read this \
                          collection and set `allowKeyInPage: true`, or put a proxy in front that adds the key";
            return Err(Error::InvalidOption { name: "vectors.apiKey".to_owned(), reason: reason.to_owned() });
        }
        Ok(())
    }

    /// The address of something about the collection, such as `/points/query`.
    #[must_use]
    pub fn address(&self, path: &str) -> String {
        let name: String = self.collection.bytes().map(percent).collect();
        format!("{}/collections/{name}{path}", self.url.trim().trim_end_matches('/'))
    }

    /// The headers of every request with a JSON body.
    #[must_use]
    pub fn request_headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        headers.extend(self.api_key.iter().map(|key| ("api-key".to_owned(), key.clone())));
        headers.extend(self.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
        headers
    }
}

/// A byte of a path segment, as it stands or as `%XX`.
fn percent(byte: u8) -> String {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
        char::from(byte).to_string()
    } else {
        format!("%{byte:02X}")
    }
}

/// The id of the point of a passage.
#[must_use]
pub fn point_id(passage: &str) -> u64 {
    xxh3_64(passage.as_bytes()) & ((1 << ID_BITS) - 1)
}

/// The payload of a chunk's point: what [`EngineCall`] filters by and reads back.
#[must_use]
pub fn payload(passage: &str, document: &Document, model: &str, build: &str, sample: bool) -> Value {
    let mut fields = json!({
        PASSAGE: passage,
        MODEL: model,
        BUILD: build,
        LANGUAGE: document.language,
    });
    if sample {
        fields[SAMPLE] = SAMPLED.into();
    }
    // A page without a version belongs to every version: the field is then missing, which the filter asks for.
    if let Some(version) = &document.version {
        fields[VERSION] = version_lines(version).into();
    }
    if let Some(section) = &document.section {
        fields[SECTION] = section.as_str().into();
    }
    if !document.tags.is_empty() {
        let mut tags: Vec<&str> = Vec::new();
        for tag in &document.tags {
            // A tag also stands for the tags below it, so a point carries the tags above its own.
            let above = tag.match_indices('/').map(|(at, _)| &tag[..at]);
            tags.extend(above.chain([tag.as_str()]));
        }
        crate::order::sort(&mut tags);
        tags.dedup();
        fields[TAGS] = tags.into();
    }
    fields
}

/// The facets as conditions of the engine.
fn conditions(filter: &Filter, model: &str) -> Vec<Value> {
    let any = |key: &str, values: Value| json!({ "key": key, "match": { "any": values } });
    let mut must = vec![json!({ "key": MODEL, "match": { "value": model } })];
    if !filter.version.is_empty() {
        let wanted: Vec<String> =
            filter.version.iter().filter_map(|version| version_lines(version).into_iter().next()).collect();
        must.push(json!({ "should": [any(VERSION, wanted.into()), { "is_empty": { "key": VERSION } }] }));
    }
    if !filter.language.is_empty() {
        must.push(any(LANGUAGE, json!(filter.language)));
    }
    if !filter.section.is_empty() {
        must.push(any(SECTION, json!(filter.section)));
    }
    if !filter.tags.is_empty() {
        must.push(any(TAGS, json!(filter.tags)));
    }
    must
}

/// A request to an engine, for the host to send as `POST`, and what is needed to read its answer.
#[derive(Clone, PartialEq)]
pub struct EngineCall {
    /// The address.
    pub url: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body, JSON.
    pub body: String,
    /// Time for it, in milliseconds.
    pub timeout_ms: u64,
    model: String,
    dimension: usize,
    collection: String,
    asked: HashMap<u64, u32>,
}

impl fmt::Debug for EngineCall {
    /// Without headers, which hold the key, and body, which holds the reader's question as a vector.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("EngineCall").field("url", &self.url).finish_non_exhaustive()
    }
}

impl EngineCall {
    /// The search for `query`: the `limit` nearest points, and the cosines of `asked`, chunks with the ids of their
    /// passages.
    #[must_use]
    pub fn search(
        config: &EngineConfig,
        model: &str,
        query: &[f32],
        limit: usize,
        filter: &Filter,
        asked: impl IntoIterator<Item = (u32, String)>,
    ) -> Self {
        let asked: HashMap<u64, u32> = asked.into_iter().map(|(chunk, passage)| (point_id(&passage), chunk)).collect();
        let mut ids: Vec<u64> = asked.keys().copied().collect();
        crate::order::sort(&mut ids);
        let of_model = conditions(&Filter::default(), model);
        let mut sampled = of_model.clone();
        sampled.push(json!({ "key": SAMPLE, "match": { "value": SAMPLED } }));
        // Found with the quantized vectors, scored with the full ones: what the page compares are cosines.
        let params = json!({ "quantization": { "rescore": true } });
        let mut searches = vec![
            json!({ "query": query, "filter": { "must": conditions(filter, model) }, "params": params, "limit": limit,
                    "with_payload": [PASSAGE] }),
            json!({ "query": query, "filter": { "must": sampled }, "params": { "exact": true }, "limit": 512,
                    "with_payload": false }),
        ];
        if !ids.is_empty() {
            let mut must = of_model;
            must.push(json!({ "has_id": ids }));
            searches.push(json!({ "query": query, "filter": { "must": must }, "params": { "exact": true },
                                  "limit": ids.len(), "with_payload": false }));
        }
        Self {
            url: config.address("/points/query/batch"),
            headers: config.request_headers(),
            body: json::to_text(&json!({ "searches": searches })),
            timeout_ms: config.timeout_ms,
            model: model.to_owned(),
            dimension: query.len(),
            collection: config.collection.clone(),
            asked,
        }
    }

    /// Reads the answer. `chunk_of` gives the chunk of a passage's id, where the index has it.
    ///
    /// # Errors
    /// [`Error::VectorEngine`] with what went wrong and what to do.
    pub fn read(&self, status: u16, body: &str, chunk_of: impl Fn(&str) -> Option<u32>) -> Result<EngineAnswer> {
        if !(200..300).contains(&status) {
            return Err(Error::VectorEngine(failure(status, body, &self.collection)));
        }
        let reply: Reply<Vec<Found>> = read_reply(body)?;
        let expected = 2 + usize::from(!self.asked.is_empty());
        if reply.result.len() != expected {
            let reason = format!("it answered {} searches, {expected} were asked", reply.result.len());
            return Err(Error::VectorEngine(reason));
        }
        let mut results = reply.result.into_iter().map(|found| found.points);
        let finite = |point: &Point| point.score.is_finite();
        let mut nearest: Vec<(u32, f32)> = results
            .next()
            .unwrap_or_default()
            .into_iter()
            .filter(finite)
            .filter_map(|point| Some((chunk_of(&point.payload?.passage)?, point.score)))
            .collect();
        sort_hits(&mut nearest, usize::MAX);
        nearest.dedup_by_key(|hit| hit.0);
        let sample: Vec<f32> =
            results.next().unwrap_or_default().into_iter().filter(finite).map(|point| point.score).collect();
        if sample.is_empty() && nearest.is_empty() {
            let reason = format!(
                "the collection `{}` holds no vector of the model {}; fill it with `docent push`",
                self.collection, self.model
            );
            return Err(Error::VectorEngine(reason));
        }
        let mut cosines: HashMap<u32, f32> = nearest.iter().copied().collect();
        for point in results.next().unwrap_or_default().into_iter().filter(finite) {
            if let Some(chunk) = point.id.as_u64().and_then(|id| self.asked.get(&id)) {
                cosines.insert(*chunk, point.score);
            }
        }
        Ok(EngineAnswer {
            model: self.model.clone(),
            dimension: self.dimension,
            nearest,
            cosines,
            background: Background::of_sample(&self.model, &sample),
        })
    }
}

/// What an engine said about one query: the dense leg of that search.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineAnswer {
    model: String,
    dimension: usize,
    nearest: Vec<(u32, f32)>,
    cosines: HashMap<u32, f32>,
    background: Background,
}

impl DenseLeg for EngineAnswer {
    fn model(&self) -> &str {
        &self.model
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn candidates(&self, _: &[f32], limit: usize, accepts: Option<&dyn Fn(u32) -> bool>) -> Vec<(u32, f32)> {
        // The engine knows the facets; they are checked again, since it may hold the points of another build.
        let passes = |hit: &&(u32, f32)| accepts.is_none_or(|accepts| accepts(hit.0));
        self.nearest.iter().filter(passes).take(limit).copied().collect()
    }

    fn cosine(&self, _: &[f32], chunk: u32) -> Option<f32> {
        self.cosines.get(&chunk).copied()
    }

    fn similarity(&self, _: u32, _: u32) -> Option<f32> {
        None
    }

    fn background(&self, _: &[f32]) -> Background {
        self.background
    }
}

/// The envelope of every answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Reply<T> {
    pub(crate) result: T,
}

#[derive(Debug, Deserialize)]
struct Found {
    points: Vec<Point>,
}

#[derive(Debug, Deserialize)]
struct Point {
    id: Value,
    score: f32,
    #[serde(default)]
    payload: Option<Payload>,
}

#[derive(Debug, Deserialize)]
struct Payload {
    #[serde(default)]
    passage: String,
}

/// Reads an answer that is no error.
///
/// # Errors
/// [`Error::VectorEngine`] for anything else, such as a web page.
pub(crate) fn read_reply<T: serde::de::DeserializeOwned>(body: &str) -> Result<Reply<T>> {
    json::parse(body)
        .and_then(|value| json::from_foreign(&value))
        .map_err(|fault| Error::VectorEngine(strange(body, &fault.to_string())))
}

fn strange(body: &str, reason: &str) -> String {
    if body.trim_start().starts_with('<') {
        return "a web page was served instead of its answer; is the address that of the engine's REST interface?"
            .to_owned();
    }
    if body.trim().is_empty() {
        return "it answered nothing".to_owned();
    }
    format!("its answer is not one of Qdrant's: {reason}")
}

/// What an answer with an error status means and what to do.
#[must_use]
pub fn failure(status: u16, body: &str, collection: &str) -> String {
    let stated = json::parse(body).ok().and_then(|value| {
        let error = value.get("status")?.get("error")?.as_str()?;
        Some(error.chars().take(MAX_MESSAGE_CHARS).collect::<String>())
    });
    let said = stated.map(|error| format!(": {error}")).unwrap_or_default();
    match status {
        401 | 403 => format!("it refuses the key (HTTP {status}){said}"),
        // A page of another server says nothing of a collection.
        404 if said.is_empty() => format!("HTTP 404{}", page_note(body)),
        404 => format!("there is no collection `{collection}`; make it with `docent push`{said}"),
        429 => format!("it asks for fewer requests (HTTP 429){said}"),
        _ => format!("HTTP {status}{said}{}", if said.is_empty() { page_note(body) } else { "" }),
    }
}

fn page_note(body: &str) -> &'static str {
    if body.trim_start().starts_with('<') { "; a web page was served, is the address that of the engine?" } else { "" }
}
