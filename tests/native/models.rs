//! The catalog of models against the files beside it.

use std::path::{Path, PathBuf};

use docent::retrieval::model_manifest::{ModelCatalog, ModelEntry, ModelFileRole};

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models")
}

/// Compares every file of a model with its description.
fn check_files(entry: &ModelEntry) {
    for file in &entry.info.files {
        let path = models().join(&file.path);
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        file.check_bytes(&bytes).unwrap();
    }
}

/// A license and a notice stand in each model's folder, also when the files are only made on demand.
fn check_notices(entry: &ModelEntry) {
    let network = entry.info.file(ModelFileRole::Network).unwrap();
    let folder = models().join(&network.path).parent().unwrap().to_owned();
    let license = std::fs::read_to_string(folder.join("LICENSE")).unwrap();
    let title = match entry.info.license.as_str() {
        "Apache-2.0" => "Apache License",
        "MIT" => "MIT License",
        other => panic!("{}: no text is known for the license {other}", entry.info.id),
    };
    assert!(license.contains(title), "{}: LICENSE is not the text of {}", entry.info.id, entry.info.license);
    let notice = std::fs::read_to_string(folder.join("NOTICE")).unwrap();
    for needed in [entry.info.id.as_str(), "Where these files come from", "What was changed"] {
        assert!(notice.contains(needed), "{}: NOTICE does not say {needed:?}", entry.info.id);
    }
}

#[test]
fn committed_models_have_the_stated_bytes() {
    let catalog = ModelCatalog::built_in().unwrap();
    let committed: Vec<&ModelEntry> = catalog.models.iter().filter(|entry| entry.committed).collect();
    assert!(!committed.is_empty(), "at least the default model is committed");
    for entry in committed {
        check_files(entry);
    }
}

#[test]
fn every_model_has_its_license_and_says_where_it_comes_from() {
    for entry in &ModelCatalog::built_in().unwrap().models {
        check_notices(entry);
    }
}

#[test]
fn models_made_on_demand_have_the_stated_bytes() {
    for entry in ModelCatalog::built_in().unwrap().models.iter().filter(|entry| !entry.committed) {
        if entry.info.files.iter().all(|file| models().join(&file.path).is_file()) {
            check_files(entry);
        } else {
            println!("skipped: {} (not there; `make models-multilingual` makes it)", entry.info.id);
        }
    }
}

#[test]
fn chinese_is_served_by_a_model_that_fits_a_page() {
    /// The most that a page should have to fetch for Chinese and English, in bytes.
    const LIMIT: u64 = 32_000_000;
    let catalog = ModelCatalog::built_in().unwrap();
    let entry = catalog.serving(&["zh", "en"]).expect("a model serves Chinese and English");
    assert!(entry.info.total_bytes() <= LIMIT, "{} has {} bytes", entry.info.id, entry.info.total_bytes());
}

#[test]
fn golden_vectors_belong_to_the_files_of_the_catalog() {
    for entry in &ModelCatalog::built_in().unwrap().models {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{}.json", entry.info.id));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let golden: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (name, role) in [("network", ModelFileRole::Network), ("tokenizer", ModelFileRole::Tokenizer)] {
            let expected = &entry.info.file(role).unwrap().sha256;
            assert_eq!(golden["files"][name].as_str(), Some(expected.as_str()), "{}: {name}", entry.info.id);
        }
        let cases = golden["cases"].as_array().unwrap();
        assert!(cases.len() >= 12, "{}: {} cases", entry.info.id, cases.len());
        for case in cases {
            let vector: Vec<f64> = case["vector"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
            let length = vector.iter().map(|x| x * x).sum::<f64>().sqrt();
            assert_eq!(vector.len(), entry.info.dimension);
            assert!((length - 1.0).abs() < 1e-4, "{}: {} has length {length}", entry.info.id, case["name"]);
            assert!(case["ids"].as_array().unwrap().len() <= entry.info.max_tokens);
        }
    }
}
