//! `docent scale INDEX --chunks N --out DIR`: a larger index made from a real one, for measuring how things grow.
//!
//! Input: an index with vectors. Output: an index of N chunks whose vectors are the real ones with noise and whose texts are
//! the real ones with some words exchanged and some made up; queries with their embeddings beside it; and on standard
//! output, as JSON, what the files weigh, how long the graph took and how well it finds.
//!
//! The pages come again and again under other names, each time varied anew. Words are exchanged for words of other chunks,
//! so that frequent ones stay frequent; made-up ones let the dictionary grow as it does with more documentation. Everything
//! follows from the seed.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::{Value, json};

use super::local_index::{LocalIndex, embed_query};
use super::model_files::ModelFolders;
use super::terminal;
use crate::cli::random::Random;
use crate::error::{Error, Result};
use crate::index::builder::{Assembly, assemble, write_folder};
use crate::index::manifest::FileEntry;
use crate::retrieval::document::{Chunk, Document};
use crate::retrieval::index_builder::build_vectors;

/// Cosine of a varied vector to the real one, near enough: as near as two sections of one page.
const COSINE: f32 = 0.85;
/// Share of the words that are exchanged for others.
const EXCHANGED: f32 = 0.15;
/// Share of the words that are made up.
const MADE_UP: f32 = 0.004;
/// Neighbors that a search should find.
const NEIGHBORS: usize = 10;
/// Times that each query is searched natively; the fastest counts.
const REPEATS: usize = 5;

/// Arguments of `docent scale`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder that `docent index` wrote, or its manifest.json.
    pub index: PathBuf,
    /// Chunks of the new index, at least as many as one page has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000))]
    pub chunks: u32,
    /// Folder that the new index is written to.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Queries that are embedded and searched.
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub queries: usize,
    /// Also write the vectors as little-endian 32-bit numbers, for other programs to search.
    #[arg(long)]
    pub raw: bool,
    /// Seed of the variation.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Folder in which models are looked for first; also DOCENT_MODELS.
    #[arg(long, value_name = "DIR")]
    pub models_dir: Option<PathBuf>,
}

/// Runs `docent scale`.
///
/// # Errors
/// [`Error::Input`] and [`Error::Index`] when the index cannot be read or the new one not be written, [`Error::Model`]
/// without the model that embeds the queries.
pub fn run(args: &Args) -> Result<ExitCode> {
    let mut local = LocalIndex::open(&args.index)?;
    local.load_all_texts()?;
    let model = local.load_model(&ModelFolders::new(args.models_dir.as_deref()))?;
    let mut random = Random(args.seed);
    let (documents, chunks, vectors) = vary(&local, args.chunks as usize, &mut random)?;
    let queries: Vec<String> = headings(&chunks, args.queries, &mut random);
    let embeddings: Vec<Vec<f32>> = queries.iter().map(|query| embed_query(&model, query)).collect::<Result<_>>()?;

    let failed = |path: &std::path::Path, error: &std::io::Error| Error::Input {
        path: path.display().to_string(),
        reason: error.to_string(),
    };
    std::fs::create_dir_all(&args.out).map_err(|error| failed(&args.out, &error))?;
    if args.raw {
        let path = args.out.join("vectors.f32");
        let bytes: Vec<u8> = vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        std::fs::write(&path, bytes).map_err(|error| failed(&path, &error))?;
    }
    let start = Instant::now();
    let graph = build_vectors(&model.encoder().info().id, &vectors)?;
    let graph_seconds = start.elapsed().as_secs_f64();
    let (mut found, mut times) = (0, Vec::new());
    let nearest: Vec<Vec<u32>> = embeddings.iter().map(|embedding| exact(&vectors, embedding)).collect();
    for (embedding, exact) in embeddings.iter().zip(&nearest) {
        let mut best = f64::INFINITY;
        let mut hits = Vec::new();
        for _ in 0..REPEATS {
            let start = Instant::now();
            hits = graph.nearest(embedding, NEIGHBORS);
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
        }
        found += hits.iter().filter(|hit| exact.contains(&hit.0)).count();
        times.push(best);
    }
    times.sort_unstable_by(f64::total_cmp);

    let mut meta = local.meta.clone();
    (meta.documents, meta.chunks) = (documents.len() as u32, chunks.len() as u32);
    let edge_bytes = graph.edge_bytes()?;
    let texts: u64 = chunks.iter().map(|chunk| chunk.text.len() as u64).sum();
    let count = chunks.len();
    let assembly =
        Assembly { meta, documents, chunks, vectors: Some(graph), synonyms: Default::default(), engine: None };
    let (files, manifest) = assemble(assembly, None, None, &|_, _, _| {})?;
    write_folder(&files, &args.out)?;
    let beside: Vec<Value> = queries
        .iter()
        .zip(&embeddings)
        .zip(&nearest)
        .map(|((text, embedding), nearest)| json!({ "text": text, "embedding": embedding, "nearest": nearest }))
        .collect();
    let path = args.out.join("queries.json");
    std::fs::write(&path, json!(beside).to_string()).map_err(|error| failed(&path, &error))?;

    let bytes = |entries: &[FileEntry]| entries.iter().map(|entry| entry.bytes).sum::<u64>();
    let largest = manifest
        .core
        .iter()
        .chain(&manifest.vectors)
        .chain(&manifest.postings)
        .chain(&manifest.texts)
        .map(|entry| entry.bytes)
        .max();
    let report = json!({
        "chunks": count,
        "textBytes": texts,
        "coreBytes": bytes(&manifest.core),
        "vectorBytes": bytes(&manifest.vectors),
        "textShardBytes": bytes(&manifest.texts),
        "textShards": manifest.texts.len(),
        "postingBytes": bytes(&manifest.postings),
        "postingShards": manifest.postings.len(),
        "manifestBytes": files.last().map(|(_, bytes)| bytes.len()),
        "largestFileBytes": largest,
        "edgeBytesPerChunk": edge_bytes as f64 / count as f64,
        "graphSeconds": graph_seconds,
        "recallAt10": found as f64 / (embeddings.len() * NEIGHBORS) as f64,
        "nativeSearchMs": times.get(times.len() / 2),
    });
    terminal::line(&report.to_string())?;
    Ok(ExitCode::SUCCESS)
}

/// Pages, chunks and one vector a chunk.
type Varied = (Vec<Document>, Vec<Chunk>, Vec<Vec<f32>>);

/// Pages, chunks and vectors until there are `wanted` chunks.
fn vary(local: &LocalIndex, wanted: usize, random: &mut Random) -> Result<Varied> {
    let index = &local.index;
    let real = index.vectors().ok_or_else(|| Error::Input {
        path: local.folder.display().to_string(),
        reason: "the index has no vectors; build it without --no-embeddings".to_owned(),
    })?;
    let words: Vec<Vec<&str>> = (0..index.chunks().len() as u32)
        .map(|chunk| index.texts().text(chunk).unwrap_or("").split(' ').collect())
        .collect();
    let (mut documents, mut chunks, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0.. {
        for (page, document) in index.documents().iter().enumerate() {
            let number = documents.len() as u32;
            let own = index.chunks().iter().enumerate().filter(|(_, chunk)| chunk.document as usize == page);
            for (at, chunk) in own {
                if chunks.len() == wanted {
                    break;
                }
                let text = vary_text(&words, at, round, random);
                chunks.push(Chunk { document: number, text, ..chunk.clone() });
                vectors.push(vary_vector(&real.vector_of(at as u32), round, random));
            }
            if chunks.last().is_none_or(|chunk: &Chunk| chunk.document != number) {
                continue;
            }
            let mut document = document.clone();
            if round > 0 {
                document.id = format!("{}-{round}", document.id);
                document.url = format!("/{round}{}", document.url);
                document.title = format!("{} {round}", document.title);
            }
            documents.push(document);
            if chunks.len() == wanted {
                return Ok((documents, chunks, vectors));
            }
        }
        if chunks.is_empty() {
            break;
        }
    }
    Err(Error::Input { path: local.folder.display().to_string(), reason: "the index has no chunk".to_owned() })
}

/// The text of chunk `at`, as it is in round 0, else with words exchanged and made up.
fn vary_text(words: &[Vec<&str>], at: usize, round: u32, random: &mut Random) -> String {
    let mut text = String::new();
    for (place, word) in words[at].iter().enumerate() {
        if place > 0 {
            text.push(' ');
        }
        let chance = if round == 0 { 1.0 } else { random.share() };
        if chance < MADE_UP {
            let letters = (0..5).map(|_| (b'a' + random.below(26) as u8) as char);
            text.extend(letters);
        } else if chance < MADE_UP + EXCHANGED {
            let other = &words[random.below(words.len())];
            text.push_str(other[random.below(other.len())]);
        } else {
            text.push_str(word);
        }
    }
    text
}

/// A unit vector near `real`; `real` itself, made a unit vector, in round 0.
fn vary_vector(real: &[f32], round: u32, random: &mut Random) -> Vec<f32> {
    let noise = if round == 0 { 0.0 } else { (1.0 / (COSINE * COSINE) - 1.0).sqrt() / (real.len() as f32).sqrt() };
    let varied: Vec<f32> = real.iter().map(|value| value + noise * random.normal()).collect();
    let norm = varied.iter().map(|value| value * value).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    varied.into_iter().map(|value| value / norm).collect()
}

/// Headings of chunks, which are what readers ask for; distinct.
fn headings(chunks: &[Chunk], count: usize, random: &mut Random) -> Vec<String> {
    let mut all: Vec<&str> = chunks.iter().filter_map(|chunk| chunk.heading_path.last()).map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    let mut picked = Vec::new();
    while picked.len() < count && !all.is_empty() {
        picked.push(all.swap_remove(random.below(all.len())).to_owned());
    }
    picked
}

/// The chunks truly nearest, by comparing with the vectors in full precision.
fn exact(vectors: &[Vec<f32>], query: &[f32]) -> Vec<u32> {
    let mut hits: Vec<(u32, f32)> = vectors
        .iter()
        .enumerate()
        .map(|(chunk, vector)| (chunk as u32, vector.iter().zip(query).map(|(a, b)| a * b).sum()))
        .collect();
    hits.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    hits.truncate(NEIGHBORS);
    hits.into_iter().map(|hit| hit.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varied_vector_is_a_unit_vector_near_the_real_one() {
        let real = vary_vector(&[0.3; 384], 0, &mut Random(1));
        let mut random = Random(7);
        for _ in 0..20 {
            let varied = vary_vector(&real, 1, &mut random);
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            assert!((dot(&varied, &varied) - 1.0).abs() < 1e-4);
            assert!((dot(&varied, &real) - COSINE).abs() < 0.05, "{}", dot(&varied, &real));
        }
    }

    #[test]
    fn the_same_seed_varies_the_same_way() {
        let words = vec![vec!["create", "a", "virtual", "environment"], vec!["install", "packages"]];
        let text = |seed| vary_text(&words, 0, 1, &mut Random(seed));
        assert_eq!(text(1), text(1));
        assert_eq!(vary_text(&words, 0, 0, &mut Random(1)), "create a virtual environment");
        assert!((0..50).any(|seed| text(seed) != text(seed + 1)));
    }
}
