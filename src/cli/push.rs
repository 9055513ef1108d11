//! `docent push INDEX --to URL --collection NAME`: fills a collection of a vector engine from an index.
//!
//! Input: an index with vectors. Output: the collection, with one point a chunk, its payload for the facets, and the points
//! of earlier builds removed.
//! 1. the collection is made where there is none; where there is one, its dimension and its distance must fit,
//! 2. the payload fields that searches filter by are indexed,
//! 3. the points are written in batches; the id of a point follows from its passage, so that a run that was stopped is
//!    simply run again,
//! 4. points of other builds are deleted, and the number of points is compared.
//!
//! **Invariant:** readers search while this runs, so nothing is deleted before what takes its place is there.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::engine_client::{EngineClient, KEY_VARIABLE, key_from};
use super::local_index::LocalIndex;
use super::terminal;
use crate::error::{Error, Result};
use crate::retrieval::dense_leg::background_sample;
use crate::retrieval::vector_engine::{
    self, BUILD, EngineConfig, EngineKind, LANGUAGE, MODEL, SAMPLE, SECTION, TAGS, VERSION, payload, point_id,
};

/// Time for one request, in milliseconds: a batch is written to the disk before it is answered.
const TIMEOUT_MS: u64 = 60_000;
/// First wait before a request is repeated, in milliseconds; doubled each time.
const FIRST_WAIT_MS: u64 = 500;

/// Arguments of `docent push`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `docent index` wrote, or its manifest.json.
    pub index: PathBuf,
    /// Address of Qdrant's REST interface, such as https://vectors.example.org:6333.
    #[arg(long, value_name = "URL")]
    pub to: String,
    /// The collection; made where there is none.
    #[arg(long, value_name = "NAME")]
    pub collection: String,
    /// Environment variable with the engine's key.
    #[arg(long, value_name = "VAR", default_value = KEY_VARIABLE)]
    pub api_key_env: String,
    /// Points in one request, 1 to 2000.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=2000))]
    pub batch: u16,
    /// Times that a request is repeated when the engine cannot be reached or is overloaded.
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub retries: u32,
    /// Keep the points of earlier builds.
    #[arg(long)]
    pub keep_old: bool,
    /// Print the summary as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Runs `docent push`.
///
/// # Errors
/// [`Error::Index`] and [`Error::Input`] when the index cannot be opened, [`Error::InvalidOption`], [`Error::VectorEngine`]
/// with what the engine said.
pub fn run(args: &Args) -> Result<ExitCode> {
    let config = EngineConfig {
        engine: EngineKind::Qdrant,
        url: args.to.clone(),
        collection: args.collection.clone(),
        api_key: key_from(&args.api_key_env),
        allow_key_in_page: false,
        headers: std::collections::BTreeMap::new(),
        timeout_ms: TIMEOUT_MS,
    };
    config.check()?;
    if !config.url.contains("://") {
        let reason = "must start with `http://` or `https://`".to_owned();
        return Err(Error::InvalidOption { name: "to".to_owned(), reason });
    }
    let local = LocalIndex::open(&args.index)?;
    let start = Instant::now();
    let pushed = terminal::block_on(push(args, &config, &local))??;
    let report = json!({
        "points": pushed.points,
        "created": pushed.created,
        "removed": pushed.removed,
        "seconds": start.elapsed().as_secs_f64(),
        "url": config.url,
        "collection": config.collection,
    });
    if args.json {
        terminal::line(&report.to_string())?;
    } else {
        terminal::line(&format!(
            "{} points in `{}`{}{}",
            pushed.points,
            config.collection,
            if pushed.created { ", which was made" } else { "" },
            if pushed.removed > 0 { format!("; {} of earlier builds removed", pushed.removed) } else { String::new() },
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Pushed {
    points: u64,
    created: bool,
    removed: u64,
}

async fn push(args: &Args, config: &EngineConfig, local: &LocalIndex) -> Result<Pushed> {
    let vectors = local.index.vectors().ok_or_else(|| Error::Input {
        path: args.index.display().to_string(),
        reason: "the index has no vectors; build it without --no-embeddings".to_owned(),
    })?;
    let engine = Engine { config, client: EngineClient::new(&config.url)?, retries: args.retries };
    let created = engine.prepare(vectors.dimension()).await?;
    let build = local.manifest.core.first().map_or_else(String::new, |core| core.hash.clone());
    let sample: std::collections::HashSet<u32> = background_sample(vectors.len()).collect();
    let bar = if args.json { ProgressBar::hidden() } else { ProgressBar::new(vectors.len() as u64) };
    if let Ok(style) = ProgressStyle::with_template("pushing {bar:30} {pos}/{len} {per_sec} {eta}") {
        bar.set_style(style);
    }
    let chunks: Vec<u32> = (0..vectors.len() as u32).collect();
    let mut ids = std::collections::HashSet::new();
    for batch in chunks.chunks(usize::from(args.batch)) {
        let mut points = Vec::with_capacity(batch.len());
        for &chunk in batch {
            let passage = local.index.passage_id(chunk);
            let document = &local.index.documents()[local.index.chunks()[chunk as usize].document as usize];
            if !ids.insert(point_id(&passage)) {
                return Err(Error::VectorEngine(format!("two passages have the same id, {passage} is one of them")));
            }
            points.push(json!({
                "id": point_id(&passage),
                "vector": vectors.vector_of(chunk),
                "payload": payload(&passage, document, vectors.model(), &build, sample.contains(&chunk)),
            }));
        }
        engine.call(Method::PUT, "/points?wait=true", Some(json!({ "points": points }))).await?;
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    let all = engine.count(None).await?;
    let of_others = json!({ "must_not": [{ "key": BUILD, "match": { "value": build } }] });
    let removed = if args.keep_old { 0 } else { engine.count(Some(of_others.clone())).await? };
    if removed > 0 {
        engine.call(Method::POST, "/points/delete?wait=true", Some(json!({ "filter": of_others }))).await?;
    }
    let ours = json!({ "must": [{ "key": BUILD, "match": { "value": build } }] });
    let points = engine.count(Some(ours)).await?;
    if points != vectors.len() as u64 {
        return Err(Error::VectorEngine(format!(
            "it holds {points} points of this build ({all} in all), {} were written; does another build write into `{}`?",
            vectors.len(),
            config.collection
        )));
    }
    Ok(Pushed { points, created, removed })
}

/// The collection, and how often a request is repeated.
struct Engine<'a> {
    config: &'a EngineConfig,
    client: EngineClient,
    retries: u32,
}

#[derive(Deserialize)]
struct Count {
    count: u64,
}

impl Engine<'_> {
    /// Makes the collection, or checks the one that is there. Tells whether it was made.
    async fn prepare(&self, dimension: usize) -> Result<bool> {
        let (status, body) = self.ask(Method::GET, "", None).await?;
        let created = match status {
            200..300 => {
                let reply: vector_engine::Reply<Value> = vector_engine::read_reply(&body)?;
                self.check(&reply.result, dimension)?;
                false
            }
            404 if serde_json::from_str::<Value>(&body).is_ok_and(|value| value.get("status").is_some()) => {
                let body = json!({
                    "vectors": { "size": dimension, "distance": "Cosine" },
                    // The searched copies are bytes in memory; the full vectors score what was found.
                    "quantization_config": { "scalar": { "type": "int8", "quantile": 0.99, "always_ram": true } },
                });
                self.call(Method::PUT, "", Some(body)).await?;
                true
            }
            _ => return Err(self.failure(status, &body)),
        };
        for field in [MODEL, BUILD, VERSION, LANGUAGE, SECTION, TAGS, SAMPLE] {
            let body = json!({ "field_name": field, "field_schema": "keyword" });
            self.call(Method::PUT, "/index?wait=true", Some(body)).await?;
        }
        Ok(created)
    }

    /// Refuses a collection that other vectors live in.
    fn check(&self, collection: &Value, dimension: usize) -> Result<()> {
        let name = &self.config.collection;
        let vectors = &collection["config"]["params"]["vectors"];
        let Some(size) = vectors["size"].as_u64() else {
            return Err(Error::VectorEngine(format!(
                "the collection `{name}` holds several vectors a point; name another one, it is made by this command"
            )));
        };
        if size != dimension as u64 {
            return Err(Error::VectorEngine(format!(
                "the vectors of the collection `{name}` have {size} dimensions, those of the index {dimension}; name another \
                 collection, or delete this one"
            )));
        }
        match vectors["distance"].as_str() {
            Some("Cosine") => Ok(()),
            other => Err(Error::VectorEngine(format!(
                "the collection `{name}` compares by {}, cosines are needed; name another one",
                other.unwrap_or("an unknown distance")
            ))),
        }
    }

    async fn count(&self, filter: Option<Value>) -> Result<u64> {
        let mut body = json!({ "exact": true });
        if let Some(filter) = filter {
            body["filter"] = filter;
        }
        let body = self.call(Method::POST, "/points/count", Some(body)).await?;
        let reply: vector_engine::Reply<Count> = vector_engine::read_reply(&body)?;
        Ok(reply.result.count)
    }

    /// A request whose answer must be a success.
    async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<String> {
        let (status, answer) = self.ask(method, path, body).await?;
        if (200..300).contains(&status) {
            vector_engine::read_reply::<Value>(&answer)?;
            return Ok(answer);
        }
        Err(self.failure(status, &answer))
    }

    fn failure(&self, status: u16, body: &str) -> Error {
        Error::VectorEngine(vector_engine::failure(status, body, &self.config.collection))
    }

    /// A request, repeated while the engine cannot be reached or says that it is overloaded. Every request here may be run
    /// twice: writes name their ids, deletes name a build.
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<(u16, String)> {
        let url = self.config.address(path);
        let headers = self.config.request_headers();
        let body = body.map(|body| body.to_string());
        let mut wait = Duration::from_millis(FIRST_WAIT_MS);
        for attempt in 0.. {
            let answer = self.client.send(method.clone(), &url, &headers, body.clone(), self.config.timeout_ms).await;
            let again = match &answer {
                Ok((status, _)) => matches!(status, 408 | 429 | 500 | 502 | 503 | 504),
                Err(_) => true,
            };
            if !again || attempt >= self.retries {
                return answer;
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        Err(Error::VectorEngine("it was not asked".to_owned()))
    }
}
