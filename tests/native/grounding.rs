//! Calibrates the support of sentences on reference answers that people wrote from given passages.

use std::collections::HashMap;
use std::path::PathBuf;

use docent::relevance::grounding::{SUPPORTED, support};
use docent::retrieval::analyzer::Analyzer;
use docent::turn::{Language, Passage, Scores};
use serde_json::Value;

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn passage(record: &Value) -> Passage {
    let text = |field: &str| record[field].as_str().unwrap_or("").to_owned();
    Passage {
        id: text("_id"),
        document: text("_id"),
        title: text("title"),
        heading_path: Vec::new(),
        url: String::new(),
        text: text("text"),
        best: String::new(),
        highlights: Vec::new(),
        tags: Vec::new(),
        version: None,
        section: None,
        language: Language::English,
        scores: Scores::default(),
    }
}

#[test]
fn reference_answers_are_supported_by_their_passages_and_not_by_others() {
    let Some(folder) = std::env::var_os("DOCENT_TESTDATA").filter(|folder| !folder.is_empty()) else {
        println!("skipped: the support of reference answers (DOCENT_TESTDATA is not set)");
        return;
    };
    let folder = PathBuf::from(folder).join("eval/mtrag-un");
    let corpus: HashMap<String, Passage> =
        lines(&folder.join("corpus.jsonl")).iter().map(passage).map(|passage| (passage.id.clone(), passage)).collect();
    let tasks: Vec<Value> =
        lines(&folder.join("policy.jsonl")).into_iter().filter(|task| task["answerability"] == "ANSWERABLE").collect();
    let contexts: Vec<Vec<Passage>> = tasks
        .iter()
        .map(|task| {
            let ids = task["context_ids"].as_array().unwrap();
            ids.iter().filter_map(|id| corpus.get(id.as_str().unwrap()).cloned()).collect()
        })
        .collect();
    let analyzer = Analyzer::default();
    let shares = |shift: usize| {
        let mut all = 0;
        let mut supported = 0;
        let mut scores: Vec<f32> = Vec::new();
        for (at, task) in tasks.iter().enumerate() {
            // A foreign context is the next one of the same collection about something else.
            let context = if shift == 0 {
                &contexts[at]
            } else {
                let other = (1..tasks.len()).map(|step| (at + step) % tasks.len()).find(|other| {
                    tasks[*other]["collection"] == task["collection"]
                        && tasks[*other]["context_ids"] != task["context_ids"]
                });
                &contexts[other.unwrap()]
            };
            if context.is_empty() {
                continue;
            }
            let found =
                support(task["reference"].as_str().unwrap(), task["question"].as_str().unwrap(), context, &analyzer);
            all += found.sentences.len();
            supported += found.sentences.len() - found.unsupported;
            scores.extend(found.sentences.iter().map(|sentence| sentence.score));
        }
        scores.sort_by(f32::total_cmp);
        let quantile = |q: f64| scores[(q * (scores.len() - 1) as f64) as usize];
        println!(
            "{all} sentences, {supported} supported at {SUPPORTED}; score quantiles 5 % {:.2}, 10 % {:.2}, 50 % {:.2}, 90 % {:.2}, 95 % {:.2}",
            quantile(0.05),
            quantile(0.1),
            quantile(0.5),
            quantile(0.9),
            quantile(0.95)
        );
        supported as f64 / all as f64
    };
    let own = shares(0);
    let foreign = shares(1);
    println!("own passages {own:.3}, foreign passages {foreign:.3}");
    assert!(own >= 0.85, "{own:.3} of the sentences are supported by their own passages");
    assert!(foreign <= 0.10, "{foreign:.3} of the sentences are supported by foreign passages");
}

/// The area under the ROC curve: how often a supported sentence scores above one that is not.
fn auc(scores: &[(f32, bool)]) -> f64 {
    let mut order: Vec<&(f32, bool)> = scores.iter().collect();
    order.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut at) = (0.0, 0);
    while at < order.len() {
        let end = order[at..].iter().position(|other| other.0 != order[at].0).map_or(order.len(), |n| at + n);
        // Equal scores share the mean of their ranks.
        let rank = (at + 1 + end) as f64 / 2.0;
        ranks += rank * order[at..end].iter().filter(|(_, supported)| *supported).count() as f64;
        at = end;
    }
    let positive = scores.iter().filter(|(_, supported)| *supported).count() as f64;
    let negative = scores.len() as f64 - positive;
    (ranks - positive * (positive + 1.0) / 2.0) / (positive * negative)
}

/// Whether embeddings would tell supported sentences from others better than words do. The other sentences are hard ones:
/// answers to other questions of the same conversation, beside the passages of this one.
#[test]
fn embeddings_would_add_little_to_words() {
    use docent::cli::native_model::NativeModel;
    use docent::retrieval::embedding_model::Kind;
    use docent::retrieval::model_manifest::ModelCatalog;

    let data = std::env::var_os("DOCENT_TESTDATA").filter(|folder| !folder.is_empty());
    let (Some(folder), Some(_)) = (data, std::env::var_os("DOCENT_SLOW")) else {
        println!("skipped: embeddings for the support of sentences (DOCENT_TESTDATA and DOCENT_SLOW are not both set)");
        return;
    };
    let folder = PathBuf::from(folder).join("eval/mtrag-un");
    let corpus: HashMap<String, Passage> =
        lines(&folder.join("corpus.jsonl")).iter().map(passage).map(|passage| (passage.id.clone(), passage)).collect();
    let tasks: Vec<Value> =
        lines(&folder.join("policy.jsonl")).into_iter().filter(|task| task["answerability"] == "ANSWERABLE").collect();
    let info = ModelCatalog::built_in().unwrap().find("all-MiniLM-L6-v2").unwrap().info.clone();
    let models = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("models");
    let model = NativeModel::load(&models, info).unwrap();
    let mut known: HashMap<String, Vec<f32>> = HashMap::new();
    let mut embed = |text: &str| -> Vec<f32> {
        known.entry(text.to_owned()).or_insert_with(|| model.encoder().embed(text, Kind::Query).unwrap()).clone()
    };
    let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let analyzer = Analyzer::default();
    let contexts = |task: &Value| -> Vec<Passage> {
        let ids = task["context_ids"].as_array().unwrap();
        ids.iter().filter_map(|id| corpus.get(id.as_str().unwrap()).cloned()).collect()
    };
    let conversation = |task: &Value| task["id"].as_str().unwrap().split("<::>").next().unwrap().to_owned();
    let (mut words, mut meaning, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (at, task) in tasks.iter().enumerate() {
        let own = contexts(task);
        let others: Vec<&Value> = tasks
            .iter()
            .enumerate()
            .filter(|(other, task)| *other != at && conversation(task) == conversation(&tasks[at]))
            .map(|(_, task)| task)
            .filter(|other| contexts(other).iter().all(|passage| own.iter().all(|mine| mine.id != passage.id)))
            .collect();
        let cases = std::iter::once((task, true)).chain(others.into_iter().map(|other| (other, false)));
        if own.is_empty() {
            continue;
        }
        for (source, supported) in cases {
            let reply = source["reference"].as_str().unwrap();
            let found = support(reply, source["question"].as_str().unwrap(), &own, &analyzer);
            for sentence in found.sentences {
                let vector = embed(&reply[sentence.start..sentence.end]);
                let whole = own.iter().map(|passage| cosine(&vector, &embed(&passage.text))).fold(0.0, f32::max);
                let pieces = own.iter().flat_map(|passage| passage.text.split_inclusive(['.', '\n']));
                let piece = pieces
                    .filter(|piece| piece.trim().len() > 20)
                    .map(|piece| cosine(&vector, &embed(piece.trim())))
                    .fold(0.0, f32::max);
                words.push((sentence.score, supported));
                meaning.push((whole, supported));
                parts.push((piece, supported));
            }
        }
    }
    let mixed = |other: &[(f32, bool)], share: f32| -> f64 {
        auc(&words
            .iter()
            .zip(other)
            .map(|((word, supported), (other, _))| ((1.0 - share) * word + share * other, *supported))
            .collect::<Vec<_>>())
    };
    let supported = words.iter().filter(|(_, supported)| *supported).count();
    println!("{supported} supported sentences, {} others", words.len() - supported);
    println!("AUC: words {:.4}, passages {:.4}, their sentences {:.4}", auc(&words), auc(&meaning), auc(&parts));
    for share in [0.1, 0.2, 0.3, 0.5, 0.7] {
        println!(
            "AUC of a mix with {share}: passages {:.4}, sentences {:.4}",
            mixed(&meaning, share),
            mixed(&parts, share)
        );
    }
    let best = [0.1, 0.2, 0.3, 0.5, 0.7].iter().map(|share| mixed(&parts, *share)).fold(0.0, f64::max);
    assert!(best - auc(&words) < 0.02, "embeddings are worth it: {best:.4} against {:.4}", auc(&words));
}
