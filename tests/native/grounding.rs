//! Calibrates the support of sentences on reference answers that people wrote from given passages.

use std::collections::HashMap;
use std::path::PathBuf;

use docent::relevance::grounding::{SUPPORTED, support};
use docent::retrieval::analyzer::Analyzer;
use docent::turn::Passage;
use serde_json::Value;

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn passage(record: &Value) -> Passage {
    let text = |field: &str| record[field].as_str().unwrap_or("").to_owned();
    Passage { id: text("_id"), document: text("_id"), title: text("title"), text: text("text"), ..Passage::default() }
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
