//! A vector engine in the place of the vectors in the page: filling it, searching it, and what happens when it fails.
//!
//! The server here speaks the part of Qdrant's REST interface that is used. Its bodies are read by types that refuse any
//! field that the published schema (OpenAPI 1.20) does not have, and it does what the documentation says of each: filters,
//! cosines, counts. It is not the engine itself.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use docent::agent::{AgentConfig, ChatOptions, ConversationalAgent, Hosts};
use docent::cli::local_agent::{LocalFiles, NoChat, SystemClock};
use docent::cli::local_index::{LocalIndex, ask_engine};
use docent::cli::terminal::block_on;
use docent::error::{Error, Result};
use docent::host::EmbeddingModel;
use docent::index::builder;
use docent::index::embedding_cache::EmbeddingCache;
use docent::retrieval::facets::Filter;
use docent::retrieval::search_index::SearchRequest;
use docent::retrieval::vector_engine::EngineConfig;
use docent::turn::Mode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::index_build::{Folder, HashModel, build, documentation};

const KEY: &str = "read-write-key";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Point {
    id: u64,
    vector: Vec<f32>,
    payload: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateCollection {
    vectors: VectorParams,
    quantization_config: Quantization,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorParams {
    size: usize,
    distance: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quantization {
    scalar: Scalar,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scalar {
    r#type: String,
    quantile: f32,
    always_ram: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateIndex {
    field_name: String,
    field_schema: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Upsert {
    points: Vec<Point>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    filter: Conditions,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CountRequest {
    exact: bool,
    #[serde(default)]
    filter: Conditions,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    searches: Vec<Search>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    query: Vec<f32>,
    #[serde(default)]
    filter: Conditions,
    params: Params,
    limit: usize,
    with_payload: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Params {
    #[serde(default)]
    exact: bool,
    #[serde(default)]
    quantization: Option<Rescore>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rescore {
    rescore: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Conditions {
    must: Vec<Condition>,
    should: Vec<Condition>,
    must_not: Vec<Condition>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Condition {
    Field(FieldCondition),
    Empty(IsEmpty),
    Ids(HasId),
    Nested(Conditions),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldCondition {
    key: String,
    r#match: Match,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Match {
    Value(MatchValue),
    Any(MatchAny),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchValue {
    value: Value,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchAny {
    any: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct IsEmpty {
    is_empty: Field,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    key: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct HasId {
    has_id: Vec<u64>,
}

impl Conditions {
    fn accept(&self, point: &Point) -> bool {
        self.must.iter().all(|condition| condition.accepts(point))
            && (self.should.is_empty() || self.should.iter().any(|condition| condition.accepts(point)))
            && !self.must_not.iter().any(|condition| condition.accepts(point))
    }
}

impl Condition {
    fn accepts(&self, point: &Point) -> bool {
        // A field that holds a list matches when one of its values does.
        let values = |key: &str| match &point.payload[key] {
            Value::Array(values) => values.clone(),
            Value::Null => Vec::new(),
            value => vec![value.clone()],
        };
        match self {
            Self::Field(FieldCondition { key, r#match: Match::Value(wanted) }) => values(key).contains(&wanted.value),
            Self::Field(FieldCondition { key, r#match: Match::Any(wanted) }) => {
                values(key).iter().any(|value| wanted.any.contains(value))
            }
            Self::Empty(IsEmpty { is_empty }) => values(&is_empty.key).is_empty(),
            Self::Ids(HasId { has_id }) => has_id.contains(&point.id),
            Self::Nested(conditions) => conditions.accept(point),
        }
    }
}

#[derive(Default)]
struct Stored {
    collections: BTreeMap<String, (CreateCollectionKept, BTreeMap<u64, Point>)>,
    indexed: Vec<String>,
    requests: Vec<String>,
    /// Requests that are answered otherwise: how many, and how.
    fault: Option<(usize, Fault)>,
}

#[derive(Clone)]
struct CreateCollectionKept {
    size: usize,
    distance: String,
}

#[derive(Clone)]
enum Fault {
    Status(u16, &'static str),
    Page,
    Silence,
    Garbage,
    WrongCount,
}

type Shared = Arc<Mutex<Stored>>;

fn ok(result: Value) -> Response {
    axum::Json(json!({ "result": result, "status": "ok", "time": 0.001 })).into_response()
}

fn refuse(status: u16, error: &str) -> Response {
    let body = json!({ "status": { "error": error }, "time": 0.0 });
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

fn missing(name: &str) -> Response {
    refuse(404, &format!("Not found: Collection `{name}` doesn't exist!"))
}

/// Reads a body as the schema has it, or answers as the engine does.
fn body<T: serde::de::DeserializeOwned>(text: &str) -> std::result::Result<T, Box<Response>> {
    serde_json::from_str(text).map_err(|error| Box::new(refuse(400, &format!("Format error in JSON body: {error}"))))
}

async fn guard(State(state): State<Shared>, request: Request, next: Next) -> Response {
    let fault = {
        let mut stored = state.lock().unwrap();
        stored.requests.push(format!("{} {}", request.method(), request.uri().path()));
        match &mut stored.fault {
            Some((left, fault)) if *left > 0 => {
                *left -= 1;
                Some(fault.clone())
            }
            _ => None,
        }
    };
    if request.headers().get("api-key").is_none_or(|key| key != KEY) {
        return (StatusCode::UNAUTHORIZED, "Must provide an API key or an Authorization bearer token").into_response();
    }
    match fault {
        None => next.run(request).await,
        Some(Fault::Status(status, text)) => refuse(status, text),
        Some(Fault::Page) => (StatusCode::OK, "<!doctype html><title>Welcome</title>").into_response(),
        Some(Fault::Garbage) => (StatusCode::OK, "{\"result\": [{\"points\": 3}]}").into_response(),
        Some(Fault::WrongCount) => ok(json!([])),
        Some(Fault::Silence) => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            StatusCode::OK.into_response()
        }
    }
}

fn routes(state: Shared) -> Router {
    type Kept = State<Shared>;
    let collection = |State(state): Kept, Path(name): Path<String>| async move {
        let stored = state.lock().unwrap();
        let Some((params, points)) = stored.collections.get(&name) else { return missing(&name) };
        ok(json!({
            "status": "green", "optimizer_status": "ok", "points_count": points.len(), "segments_count": 2,
            "config": { "params": { "vectors": { "size": params.size, "distance": params.distance } } },
            "payload_schema": {},
        }))
    };
    let create = |State(state): Kept, Path(name): Path<String>, text: String| async move {
        let request: CreateCollection = match body(&text) {
            Ok(request) => request,
            Err(answer) => return *answer,
        };
        let scalar = request.quantization_config.scalar;
        assert!(scalar.r#type == "int8" && scalar.quantile <= 1.0 && scalar.always_ram);
        let kept = CreateCollectionKept { size: request.vectors.size, distance: request.vectors.distance };
        state.lock().unwrap().collections.insert(name, (kept, BTreeMap::new()));
        ok(json!(true))
    };
    let index = |State(state): Kept, Path(name): Path<String>, text: String| async move {
        let request: CreateIndex = match body(&text) {
            Ok(request) => request,
            Err(answer) => return *answer,
        };
        let mut stored = state.lock().unwrap();
        if !stored.collections.contains_key(&name) {
            return missing(&name);
        }
        assert_eq!(request.field_schema, "keyword");
        stored.indexed.push(request.field_name);
        ok(json!({ "operation_id": 1, "status": "completed" }))
    };
    let upsert = |State(state): Kept, Path(name): Path<String>, RawQuery(query): RawQuery, text: String| async move {
        assert_eq!(query.as_deref(), Some("wait=true"));
        let request: Upsert = match body(&text) {
            Ok(request) => request,
            Err(answer) => return *answer,
        };
        let mut stored = state.lock().unwrap();
        let Some((params, points)) = stored.collections.get_mut(&name) else { return missing(&name) };
        for point in request.points {
            if point.vector.len() != params.size {
                let said = format!("expected dim: {}, got {}", params.size, point.vector.len());
                return refuse(400, &format!("Wrong input: Vector dimension error: {said}"));
            }
            points.insert(point.id, point);
        }
        ok(json!({ "operation_id": 2, "status": "completed" }))
    };
    let delete = |State(state): Kept, Path(name): Path<String>, text: String| async move {
        let request: Delete = match body(&text) {
            Ok(request) => request,
            Err(answer) => return *answer,
        };
        let mut stored = state.lock().unwrap();
        let Some((_, points)) = stored.collections.get_mut(&name) else { return missing(&name) };
        points.retain(|_, point| !request.filter.accept(point));
        ok(json!({ "operation_id": 3, "status": "completed" }))
    };
    let count = |State(state): Kept, Path(name): Path<String>, text: String| async move {
        let request: CountRequest = match body(&text) {
            Ok(request) => request,
            Err(answer) => return *answer,
        };
        assert!(request.exact);
        let stored = state.lock().unwrap();
        let Some((_, points)) = stored.collections.get(&name) else { return missing(&name) };
        ok(json!({ "count": points.values().filter(|point| request.filter.accept(point)).count() }))
    };
    let query = |State(state): Kept, Path(name): Path<String>, text: String| async move {
        let request: Batch = match body(&text) {
            Ok(request) => request,
            Err(answer) => return *answer,
        };
        let stored = state.lock().unwrap();
        let Some((params, points)) = stored.collections.get(&name) else { return missing(&name) };
        let mut results = Vec::new();
        for search in &request.searches {
            if search.query.len() != params.size {
                let said = format!("expected dim: {}, got {}", params.size, search.query.len());
                return refuse(400, &format!("Wrong input: Vector dimension error: {said}"));
            }
            assert!(search.limit >= 1, "the schema's least limit");
            // What is found among all with quantized vectors is scored again with full ones.
            assert!(search.params.exact || search.params.quantization.as_ref().is_some_and(|params| params.rescore));
            let mut found: Vec<(f32, &Point)> = points
                .values()
                .filter(|point| search.filter.accept(point))
                .map(|point| (cosine(&point.vector, &search.query), point))
                .collect();
            found.sort_by(|a, b| b.0.total_cmp(&a.0));
            found.truncate(search.limit);
            let points: Vec<Value> = found
                .into_iter()
                .map(|(score, point)| {
                    let mut scored = json!({ "id": point.id, "version": 2, "score": score });
                    if let Some(fields) = search.with_payload.as_array() {
                        let fields = fields.iter().map(|field| field.as_str().unwrap());
                        scored["payload"] =
                            fields.map(|field| (field.to_owned(), point.payload[field].clone())).collect();
                    }
                    scored
                })
                .collect();
            results.push(json!({ "points": points }));
        }
        ok(results.into())
    };
    Router::new()
        .route("/collections/{name}", get(collection).put(create))
        .route("/collections/{name}/index", put(index))
        .route("/collections/{name}/points", put(upsert))
        .route("/collections/{name}/points/delete", post(delete))
        .route("/collections/{name}/points/count", post(count))
        .route("/collections/{name}/points/query/batch", post(query))
        .layer(middleware::from_fn_with_state(Arc::clone(&state), guard))
        .layer(axum::extract::DefaultBodyLimit::max(32 << 20))
        .with_state(state)
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// A server, an index of a few pages in a folder, and both of their names.
struct Setting {
    url: String,
    state: Shared,
    index: Folder,
    docs: Folder,
}

impl Setting {
    fn new(name: &str) -> Self {
        let state = Shared::default();
        let app = routes(Arc::clone(&state));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            block_on(async move {
                listener.set_nonblocking(true).unwrap();
                axum::serve(tokio::net::TcpListener::from_std(listener).unwrap(), app).await.unwrap();
            })
            .unwrap();
        });
        let docs = documentation(&format!("engine-{name}"));
        let setting = Self { url, state, index: Folder::new(&format!("engine-{name}-index")), docs };
        setting.build();
        setting
    }

    fn build(&self) {
        let built = build(&self.docs.0, &HashModel::new(), &mut EmbeddingCache::none(32));
        builder::write_files(&built, &self.index.0).unwrap();
    }

    fn local(&self) -> LocalIndex {
        LocalIndex::open(&self.index.0).unwrap()
    }

    fn config(&self) -> EngineConfig {
        let json =
            json!({ "engine": "qdrant", "url": self.url, "collection": "docs", "apiKey": KEY, "timeoutMs": 500 });
        EngineConfig::from_json(json).unwrap()
    }

    fn push(&self, key: &str, more: &[&str]) -> std::result::Result<Value, String> {
        let output = Command::new(env!("CARGO_BIN_EXE_docent"))
            .arg("push")
            .arg(&self.index.0)
            .args(["--to", &self.url, "--collection", "docs", "--api-key-env", "ENGINE_KEY", "--json"])
            .args(more)
            .env("ENGINE_KEY", key)
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!error.contains(KEY), "the key is in a message: {error}");
        if output.status.success() { Ok(serde_json::from_slice(&output.stdout).unwrap()) } else { Err(error) }
    }

    fn fail(&self, times: usize, fault: Fault) {
        self.state.lock().unwrap().fault = Some((times, fault));
    }

    fn points(&self) -> usize {
        self.state.lock().unwrap().collections["docs"].1.len()
    }
}

#[test]
fn a_collection_is_made_filled_and_filled_again_without_a_change() {
    let setting = Setting::new("fill");
    let chunks = setting.local().index.chunks().len();
    let first = setting.push(KEY, &["--batch", "3"]).unwrap();
    assert_eq!((&first["points"], &first["created"], &first["removed"]), (&json!(chunks), &json!(true), &json!(0)));
    let before: Vec<Point> = setting.state.lock().unwrap().collections["docs"].1.values().cloned().collect();
    let again = setting.push(KEY, &[]).unwrap();
    assert_eq!((&again["points"], &again["created"], &again["removed"]), (&json!(chunks), &json!(false), &json!(0)));
    let after: Vec<Point> = setting.state.lock().unwrap().collections["docs"].1.values().cloned().collect();
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    let indexed = setting.state.lock().unwrap().indexed.clone();
    for field in ["model", "build", "version", "language", "section", "tags", "sample"] {
        assert!(indexed.iter().any(|name| name == field), "{field} is not indexed");
    }
}

#[test]
fn points_of_an_earlier_build_go_once_the_new_ones_are_there() {
    let setting = Setting::new("edit");
    setting.push(KEY, &[]).unwrap();
    let before = setting.points();
    std::fs::remove_file(setting.docs.0.join("notes.txt")).unwrap();
    setting.build();
    let pushed = setting.push(KEY, &[]).unwrap();
    assert_eq!(pushed["removed"], json!(before - setting.local().index.chunks().len()));
    assert_eq!(setting.points(), setting.local().index.chunks().len());
    let requests = setting.state.lock().unwrap().requests.clone();
    let last = |path: &str| requests.iter().rposition(|request| request.ends_with(path)).unwrap();
    assert!(last("/points/delete") > last("/points"), "deleted before the new points were there: {requests:?}");
}

#[test]
fn the_engine_answers_as_the_vectors_in_the_page_do() {
    let setting = Setting::new("same");
    setting.push(KEY, &[]).unwrap();
    let mut local = setting.local();
    local.load_all_texts().unwrap();
    let filters = [
        json!({}),
        json!({ "language": "zh" }),
        json!({ "version": "2" }),
        json!({ "version": "3" }),
        json!({ "tags": "tea" }),
        json!({ "section": "guide" }),
    ];
    for question in ["how do I install the kettle", "pour water over tea", "水壶 安装", "every option"] {
        let embedding = HashModel::vector(question);
        for (filter, mode) in filters.iter().flat_map(|filter| [(filter, Mode::Hybrid), (filter, Mode::Dense)]) {
            let filter: Filter = serde_json::from_value(filter.clone()).unwrap();
            let request = SearchRequest {
                query: question,
                embedding: Some(&embedding),
                filter: filter.clone(),
                mode,
                top_k: 50,
                ..SearchRequest::default()
            };
            let inside = local.index.search(&request).unwrap();
            local.index.set_engine(Some(setting.config()));
            let answer = ask_engine(&local.index, &request).unwrap().unwrap();
            let outside = local.index.search(&SearchRequest { engine: Some(&answer), ..request }).unwrap();
            local.index.set_engine(None);
            assert_eq!(inside.mode, outside.mode);
            same_hits(&inside.passages, &outside.passages, &format!("{question} {filter:?} {mode:?}"));
        }
    }
}

/// The same passages with the same scores, but for what the bytes of a vector cost: the page compares with the bytes as they
/// are, an engine makes unit vectors of them first.
fn same_hits(inside: &[docent::turn::Passage], outside: &[docent::turn::Passage], what: &str) {
    let by_id = |passages: &[docent::turn::Passage]| -> BTreeMap<String, (f32, f32)> {
        let scores = |passage: &docent::turn::Passage| (passage.scores.dense.unwrap(), passage.scores.evidence);
        passages.iter().map(|passage| (passage.id.clone(), scores(passage))).collect()
    };
    let (inside, outside) = (by_id(inside), by_id(outside));
    assert!(inside.keys().eq(outside.keys()), "{what}: {inside:?} {outside:?}");
    for ((id, a), b) in inside.iter().zip(outside.values()) {
        assert!((a.0 - b.0).abs() < 0.01, "{what}: cosine of {id}: {} and {}", a.0, b.0);
        // The background decides what a cosine is worth.
        assert!((a.1 - b.1).abs() < 0.03, "{what}: evidence of {id}: {} and {}", a.1, b.1);
    }
}

#[test]
fn a_push_that_cannot_work_says_why_and_what_to_do() {
    let setting = Setting::new("wrong");
    let error = setting.push("another-key", &[]).unwrap_err();
    assert!(error.contains("refuses the key (HTTP 401)"), "{error}");
    let put = |size: usize, distance: &str| {
        let kept = CreateCollectionKept { size, distance: distance.to_owned() };
        setting.state.lock().unwrap().collections.insert("docs".to_owned(), (kept, BTreeMap::new()));
    };
    put(768, "Cosine");
    let error = setting.push(KEY, &[]).unwrap_err();
    assert!(error.contains("have 768 dimensions, those of the index 32"), "{error}");
    put(32, "Dot");
    let error = setting.push(KEY, &[]).unwrap_err();
    assert!(error.contains("compares by Dot"), "{error}");
    setting.state.lock().unwrap().collections.clear();
    setting.fail(1, Fault::Page);
    let error = setting.push(KEY, &[]).unwrap_err();
    assert!(error.contains("a web page was served"), "{error}");
    setting.fail(1, Fault::Status(400, "Bad request: no more collections"));
    let error = setting.push(KEY, &[]).unwrap_err();
    assert!(error.contains("HTTP 400: Bad request: no more collections"), "{error}");
    for (arguments, expected) in [
        (["--to", "ftp://x"], "only `http://` and `https://`"),
        (["--to", "http://u:p@127.0.0.1"], "a password cannot stand in it"),
        (["--collection", "a/b"], "letters, digits"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_docent"));
        command.arg("push").arg(&setting.index.0);
        for (name, value) in [("--to", setting.url.as_str()), ("--collection", "docs")] {
            let value = if name == arguments[0] { arguments[1] } else { value };
            command.args([name, value]);
        }
        let output = command.output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && error.contains(expected), "{error}");
    }
}

#[test]
fn an_overloaded_engine_is_asked_again() {
    let setting = Setting::new("busy");
    setting.fail(2, Fault::Status(503, "Service unavailable"));
    let pushed = setting.push(KEY, &[]).unwrap();
    assert_eq!(pushed["created"], json!(true));
    setting.fail(usize::MAX, Fault::Status(503, "Service unavailable"));
    let error = setting.push(KEY, &["--retries", "1"]).unwrap_err();
    assert!(error.contains("HTTP 503: Service unavailable"), "{error}");
}

#[test]
fn an_index_without_vectors_cannot_be_pushed() {
    let folder = Folder::new("engine-words");
    folder.write("docs/a.md", "# A page\n\nIt has some words that are long enough to be a chunk of its own.\n");
    let out: PathBuf = folder.0.join("index");
    let docent = || Command::new(env!("CARGO_BIN_EXE_docent"));
    let built = docent().arg("index").arg(folder.0.join("docs")).arg("--out").arg(&out).arg("--no-embeddings").output();
    assert!(built.unwrap().status.success());
    let output = docent().arg("push").arg(&out).args(["--to", "http://127.0.0.1:1", "--collection", "docs"]).output();
    let error = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(error.contains("has no vectors"), "{error}");
}

/// The model of the test's index, at search time.
struct Hash;

impl EmbeddingModel for Hash {
    fn model_id(&self) -> Option<String> {
        Some("hash".to_owned())
    }

    async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        Ok(HashModel::vector(text))
    }

    fn count_tokens(&self, text: &str) -> Option<usize> {
        Some(text.split_whitespace().count())
    }
}

type EngineAgent = ConversationalAgent<NoChat, Hash, LocalFiles, SystemClock>;

/// An agent that has words and texts, and asks the engine for the rest.
fn agent(setting: &Setting) -> EngineAgent {
    let core = setting.local().manifest.core[0].path.clone();
    let core = std::fs::read(setting.index.0.join(core)).unwrap();
    let mut index = docent::index::reader::open_core(&core).unwrap().index;
    let mut local = setting.local();
    local.load_all_texts().unwrap();
    for shard in 0..local.manifest.texts.len() as u32 {
        let bytes = std::fs::read(setting.index.0.join(&local.manifest.texts[shard as usize].path)).unwrap();
        index.set_texts(shard, docent::index::reader::read_texts(&bytes).unwrap()).unwrap();
    }
    index.set_engine(Some(setting.config()));
    let hosts = Hosts { chat: None, embedding: Hash, files: LocalFiles::default(), clock: SystemClock::default() };
    let agent = ConversationalAgent::new(AgentConfig::default(), hosts).unwrap();
    agent.set_index(index);
    agent
}

fn ask(agent: &EngineAgent, message: &str) -> docent::turn::Turn {
    block_on(agent.chat(message, ChatOptions::default())).unwrap().unwrap()
}

#[test]
fn the_agent_answers_by_words_and_says_so_when_the_engine_cannot_be_used() {
    let setting = Setting::new("down");
    let said = |turn: &docent::turn::Turn, expected: &str| {
        let warned = turn.trace.warnings.iter().any(|warning| warning.contains(expected));
        assert!(warned, "{expected}: {:?}", turn.trace.warnings);
    };
    // No collection yet: the engine answers, and says so.
    let agent = agent(&setting);
    assert_eq!(agent.mode(), Mode::Hybrid);
    let turn = ask(&agent, "How do I install the kettle?");
    assert_eq!(turn.mode, Mode::Lexical);
    assert!(turn.sources.iter().any(|source| source.document.contains("install")), "{turn:?}");
    said(&turn, "there is no collection `docs`; make it with `docent push`");
    setting.push(KEY, &[]).unwrap();
    let turn = ask(&agent, "How do I pour the tea?");
    assert_eq!((turn.mode, turn.trace.warnings.len()), (Mode::Hybrid, 0), "{:?}", turn.trace.warnings);
    for (fault, expected) in [
        (Fault::Status(500, "Service internal error"), "HTTP 500: Service internal error"),
        (Fault::Status(403, "Forbidden"), "refuses the key (HTTP 403)"),
        (Fault::Page, "a web page was served instead of its answer"),
        (Fault::Garbage, "not one of Qdrant's"),
        (Fault::WrongCount, "answered 0 searches, 3 were asked"),
    ] {
        setting.fail(1, fault);
        let turn = ask(&agent, "How do I install the kettle on Linux?");
        assert_eq!(turn.mode, Mode::Lexical, "{expected}");
        assert!(turn.error.is_none() && !turn.sources.is_empty(), "{expected}: {turn:?}");
        said(&turn, expected);
    }
    // An engine that does not answer is not waited for with every message.
    setting.fail(1, Fault::Silence);
    let turn = ask(&agent, "How do I install the kettle on Linux?");
    assert_eq!(turn.mode, Mode::Lexical);
    said(&turn, "no answer within 500 ms");
    let asked = setting.state.lock().unwrap().requests.len();
    let turn = ask(&agent, "How do I pour the water?");
    said(&turn, "could not be reached a moment ago");
    assert_eq!(setting.state.lock().unwrap().requests.len(), asked);
}

#[test]
fn points_of_another_model_or_another_index_do_not_count() {
    let setting = Setting::new("foreign");
    setting.push(KEY, &[]).unwrap();
    let mut local = setting.local();
    local.index.set_engine(Some(setting.config()));
    let embedding = HashModel::vector("kettle");
    let request = SearchRequest { query: "kettle", embedding: Some(&embedding), ..SearchRequest::default() };
    for point in setting.state.lock().unwrap().collections.get_mut("docs").unwrap().1.values_mut() {
        point.payload["passage"] = json!("gone#7");
    }
    let answer = ask_engine(&local.index, &request).unwrap().unwrap();
    let found =
        local.index.search(&SearchRequest { mode: Mode::Dense, engine: Some(&answer), ..request.clone() }).unwrap();
    assert!(found.passages.is_empty(), "{:?}", found.passages);
    for point in setting.state.lock().unwrap().collections.get_mut("docs").unwrap().1.values_mut() {
        point.payload["model"] = json!("another");
    }
    let error = ask_engine(&local.index, &request).unwrap_err();
    assert!(matches!(&error, Error::VectorEngine(reason) if reason.contains("no vector of the model hash")), "{error}");
    let short = [1.0; 5];
    let error = ask_engine(&local.index, &SearchRequest { embedding: Some(&short), ..request }).unwrap_err();
    assert!(error.to_string().contains("5 dimensions"), "{error}");
}

#[test]
fn options_of_an_engine_are_checked() {
    let config = |more: Value| {
        let mut options =
            json!({ "engine": "qdrant", "url": "https://vectors.example.org:6333", "collection": "docs" });
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        EngineConfig::from_json(options)
    };
    let good = config(json!({ "apiKey": "secret-1", "headers": { "x-team": "secret-2" } })).unwrap();
    assert_eq!(good.address("/points"), "https://vectors.example.org:6333/collections/docs/points");
    assert!(!format!("{good:?}").contains("secret"));
    assert!(!serde_json::to_string(&good).unwrap().contains("secret-1"));
    assert!(good.check_in_page().unwrap_err().to_string().contains("allowKeyInPage"));
    config(json!({ "apiKey": "secret-1", "allowKeyInPage": true })).unwrap().check_in_page().unwrap();
    assert_eq!(
        config(json!({ "collection": "文档" })).unwrap().address(""),
        "https://vectors.example.org:6333/collections/%E6%96%87%E6%A1%A3"
    );
    for bad in [
        json!({ "engine": "other" }),
        json!({ "url": "" }),
        json!({ "url": "https://x y" }),
        json!({ "url": "javascript://x" }),
        json!({ "url": "https://a:b@c" }),
        json!({ "url": "https://a?key=1" }),
        json!({ "collection": "../x" }),
        json!({ "collection": ".." }),
        json!({ "collection": "" }),
        json!({ "timeoutMs": 5 }),
        json!({ "apiKey": "a\nb" }),
        json!({ "headers": { "a b": "c" } }),
        json!({ "colour": "red" }),
    ] {
        assert_eq!(config(bad.clone()).unwrap_err().code(), "invalid_option", "{bad}");
    }
}

/// Qdrant's own engine core behind `tests/engine/gateway.py`; it ends with this value.
struct Gateway {
    process: std::process::Child,
    url: String,
}

impl Gateway {
    /// The gateway, or why there is none.
    fn start(folder: &std::path::Path) -> std::result::Result<Self, String> {
        use std::io::BufRead;
        if std::env::var_os("DOCENT_SLOW").is_none() {
            return Err("DOCENT_SLOW is not set".to_owned());
        }
        if std::env::var_os("DOCENT_NO_DOWNLOAD").is_some() {
            return Err("DOCENT_NO_DOWNLOAD is set".to_owned());
        }
        let tests = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine");
        let setup = Command::new("sh").arg(tests.join("setup.sh")).output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&setup.stderr).trim().lines().last().unwrap_or("").to_owned();
        match setup.status.code() {
            Some(0) => {}
            Some(3) => return Err(said),
            other => panic!("tests/engine/setup.sh ended with {other:?}: {said}"),
        }
        let python = String::from_utf8(setup.stdout).unwrap();
        let mut process = Command::new(python.trim())
            .arg(tests.join("gateway.py"))
            .arg(folder)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        std::io::BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        assert!(url.starts_with("http://"), "the gateway did not start");
        Ok(Self { process, url: url.trim().to_owned() })
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn the_engine_s_own_core_takes_the_requests_and_answers_as_the_page_does() {
    let folder = Folder::new("engine-core");
    let gateway = match Gateway::start(&folder.0.join("shards")) {
        Ok(gateway) => gateway,
        Err(reason) => return println!("skipped: the engine's own core ({reason})"),
    };
    let setting = Setting::new("core");
    let docent = |command: &str, more: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_docent"))
            .arg(command)
            .arg(&setting.index.0)
            .args(more)
            .env("DOCENT_VECTORS_KEY", "gateway-key")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let to = ["--to", &gateway.url, "--collection", "docs", "--json"];
    let mut local = setting.local();
    let chunks = local.index.chunks().len();
    let pushed = docent("push", &to);
    assert_eq!((&pushed["points"], &pushed["created"]), (&json!(chunks), &json!(true)));
    assert_eq!(docent("push", &to)["removed"], json!(0));
    std::fs::remove_file(setting.docs.0.join("notes.txt")).unwrap();
    setting.build();
    let fewer = setting.local().index.chunks().len();
    let pushed = docent("push", &to);
    assert_eq!((&pushed["points"], &pushed["removed"]), (&json!(fewer), &json!(chunks - fewer)));
    local = setting.local();
    local.load_all_texts().unwrap();
    let config = json!({ "engine": "qdrant", "url": gateway.url, "collection": "docs", "apiKey": "gateway-key" });
    let config = EngineConfig::from_json(config).unwrap();
    for question in ["how do I install the kettle", "pour water over tea", "水壶 安装"] {
        let embedding = HashModel::vector(question);
        for filter in [json!({}), json!({ "language": "zh" }), json!({ "version": "2" }), json!({ "tags": "tea" })] {
            let filter: Filter = serde_json::from_value(filter).unwrap();
            let request = SearchRequest {
                query: question,
                embedding: Some(&embedding),
                filter,
                top_k: 50,
                ..SearchRequest::default()
            };
            let inside = local.index.search(&request).unwrap();
            local.index.set_engine(Some(config.clone()));
            let answer = ask_engine(&local.index, &request).unwrap().unwrap();
            let outside = local.index.search(&SearchRequest { engine: Some(&answer), ..request }).unwrap();
            local.index.set_engine(None);
            assert_eq!(outside.mode, Mode::Hybrid);
            same_hits(&inside.passages, &outside.passages, question);
        }
    }
}
