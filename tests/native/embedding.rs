//! The encoder on the committed model: golden vectors of another engine, batches, limits, damaged files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use docent::retrieval::embedding_model::Kind;
use docent::retrieval::encoder::Encoder;
use serde::Deserialize;

use docent::retrieval::model_manifest::{ModelCatalog, ModelFileRole, ModelInfo};

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models")
}

fn minilm_info() -> ModelInfo {
    ModelCatalog::built_in().unwrap().find("all-MiniLM-L6-v2").unwrap().info.clone()
}

fn minilm_files() -> (Vec<u8>, Vec<u8>) {
    let info = minilm_info();
    let read = |role| std::fs::read(models().join(&info.file(role).unwrap().path)).unwrap();
    (read(ModelFileRole::Network), read(ModelFileRole::Tokenizer))
}

fn minilm() -> &'static Encoder {
    static ENCODER: OnceLock<Encoder> = OnceLock::new();
    ENCODER.get_or_init(|| {
        let (network, tokenizer) = minilm_files();
        Encoder::load(minilm_info(), &network, &tokenizer).unwrap()
    })
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// What another engine computed for one text with the very same files.
#[derive(Deserialize)]
struct GoldenCase {
    name: String,
    kind: String,
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

#[derive(Deserialize)]
struct Golden {
    cases: Vec<GoldenCase>,
}

fn check_golden(encoder: &Encoder) {
    let id = &encoder.info().id;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{id}.json"));
    let golden: Golden = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(golden.cases.len() > 10, "{id} has golden vectors");
    let mut lowest = 1.0f32;
    for case in golden.cases {
        let kind = if case.kind == "query" { Kind::Query } else { Kind::Passage };
        let found = encoder.embed(&case.text, kind).unwrap();
        let similarity = cosine(&found, &case.vector) / cosine(&case.vector, &case.vector).sqrt();
        assert!(similarity >= 0.999, "{id}, {}: cosine {similarity}", case.name);
        lowest = lowest.min(similarity);
        let counted = encoder.count_tokens(&format!("{}{}", kind.prefix(encoder.info()), case.text)).unwrap() + 2;
        assert_eq!(counted.min(encoder.info().max_tokens), case.ids.len(), "{id}, {}: tokens", case.name);
    }
    println!("{id}: lowest cosine to onnxruntime {lowest}");
}

#[test]
fn embeddings_are_those_of_onnxruntime() {
    check_golden(minilm());
}

#[test]
fn models_made_on_demand_agree_with_onnxruntime_too() {
    for entry in ModelCatalog::built_in().unwrap().models.into_iter().filter(|entry| !entry.committed) {
        let info = entry.info;
        let read = |role| std::fs::read(models().join(&info.file(role).unwrap().path));
        if let (Ok(network), Ok(tokenizer)) = (read(ModelFileRole::Network), read(ModelFileRole::Tokenizer)) {
            check_golden(&Encoder::load(info.clone(), &network, &tokenizer).unwrap());
        } else {
            println!("skipped: {} (not there; `make models-multilingual` makes it)", info.id);
        }
    }
}

const TEXTS: [&str; 9] = [
    "",
    "Hello",
    "How do I watch a ref?",
    "how to install milvus with docker compose on a machine without root",
    "如何用pip安装faiss-gpu？",
    "emoji 🎉🚀 and a family 👩‍👩‍👧",
    "const count = ref(0); watch(count, (value) => console.log(value))",
    "What does v-model expand to?",
    "a b c d e f g h i j k l m n o p q r s t u v w x y z",
];

#[test]
fn a_batch_gives_the_bits_of_single_texts() {
    let long = "The quick brown fox jumps over the lazy dog. ".repeat(40);
    let mut texts = TEXTS.to_vec();
    texts.push(&long);
    let batch = minilm().embed_batch(&texts, Kind::Passage).unwrap();
    let parallel = minilm().embed_parallel(&texts, Kind::Passage, |_| {}).unwrap();
    for ((text, together), on_all_cores) in texts.iter().zip(&batch).zip(&parallel) {
        let alone = minilm().embed(text, Kind::Passage).unwrap();
        assert_eq!(&alone, together, "{text:?} in a batch");
        assert_eq!(&alone, on_all_cores, "{text:?} in parallel");
        assert!((cosine(&alone, &alone) - 1.0).abs() < 1e-5, "{text:?} has unit length");
    }
}

#[test]
fn progress_counts_every_text_once() {
    let counted = std::sync::atomic::AtomicUsize::new(0);
    let add = |count| {
        counted.fetch_add(count, std::sync::atomic::Ordering::Relaxed);
    };
    minilm().embed_parallel(&TEXTS, Kind::Passage, add).unwrap();
    assert_eq!(counted.into_inner(), TEXTS.len());
    assert!(minilm().embed_parallel(&[], Kind::Passage, |_| {}).unwrap().is_empty());
}

#[test]
fn a_text_is_cut_at_the_limit_and_not_before() {
    let words = |count: usize| "word ".repeat(count);
    let embed = |text: &str| minilm().embed(text, Kind::Passage).unwrap();
    // 256 tokens are 254 words and two special tokens.
    assert_eq!(minilm().passage_limit().unwrap(), 254);
    assert_eq!(embed(&words(254)), embed(&words(255)));
    assert_eq!(embed(&words(254)), embed(&words(2_000)));
    assert_ne!(embed(&words(253)), embed(&words(254)));
    // The file of the tokenizer cuts at 128.
    assert_ne!(embed(&words(128)), embed(&words(200)));
}

#[test]
fn tokens_are_counted_without_limit_and_located() {
    let text = "pip安装 useFetch() 🎉";
    let offsets = minilm().token_offsets(text).unwrap();
    assert_eq!(offsets.len(), minilm().count_tokens(text).unwrap());
    assert_eq!(&text[offsets[0].clone()], "pip");
    assert_eq!(&text[offsets[1].clone()], "安");
    assert!(offsets.windows(2).all(|pair| pair[0].end <= pair[1].start || pair[0] == pair[1]));
    assert_eq!(minilm().count_tokens(&"word ".repeat(1_000)).unwrap(), 1_000);
    assert_eq!(minilm().count_tokens("").unwrap(), 0);
}

#[test]
fn similar_texts_are_near_and_others_far() {
    let embed = |text: &str| minilm().embed(text, Kind::Query).unwrap();
    let question = embed("How do I create a virtual environment?");
    let near = cosine(&question, &embed("Making a venv with Python"));
    let far = cosine(&question, &embed("The recipe needs two eggs and flour"));
    assert!(near > far + 0.1, "near {near}, far {far}");
}

fn refusal(network: &[u8], tokenizer: &[u8]) -> String {
    let error = Encoder::load(minilm_info(), network, tokenizer).unwrap_err();
    assert_eq!(error.code(), "model");
    error.to_string()
}

#[test]
fn damaged_files_are_refused_with_a_reason() {
    let (network, tokenizer) = minilm_files();
    assert!(refusal(&[], &tokenizer).contains("empty"));
    assert!(refusal(b"<!doctype html><title>404</title>", &tokenizer).contains("not ONNX"));
    assert!(refusal(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0], &tokenizer).contains("ONNX"));
    for part in [1, 2, 3, 10, 1_000] {
        refusal(&network[..network.len() * part / (part + 1)], &tokenizer);
    }
    assert!(refusal(&network, b"").contains("tokenizer"));
    assert!(refusal(&network, b"{}").contains("tokenizer"));
    assert!(refusal(&network, &tokenizer[..tokenizer.len() / 2]).contains("tokenizer"));
    let mut info = minilm_info();
    info.dimension = 768;
    let error = Encoder::load(info, &network, &tokenizer).unwrap_err();
    assert!(error.to_string().contains("768"), "{error}");
    let mut info = minilm_info();
    info.max_tokens = 1024;
    let error = Encoder::load(info, &network, &tokenizer).unwrap_err();
    assert!(error.to_string().contains("512"), "{error}");
}

#[test]
fn a_graph_of_another_kind_is_refused_by_the_operator_that_is_not_known() {
    let (network, tokenizer) = minilm_files();
    // Another operator of the same length in the place of the error function.
    let mut other = network.clone();
    let at = network.windows(5).position(|bytes| bytes == b"\x22\x03Erf").unwrap();
    other[at + 2..at + 5].copy_from_slice(b"Tan");
    assert!(refusal(&other, &tokenizer).contains("in a way that is not known"));
}
