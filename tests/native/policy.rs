//! The policy over real documentation: the project's own cases in English and Chinese, through the command line.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Least macro-F1 of the local policy when it searches by words only. Always answering has 0.22 on these cases.
const LEAST_MACRO_F1: f64 = 0.8;
/// Most of the answerable questions that may be asked back about.
const MOST_OVER_ASKING: f64 = 0.10;

fn docent(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_docent")).args(arguments).output().unwrap()
}

fn score(corpus: &Path, cases: &Path) -> Value {
    let out: PathBuf = std::env::temp_dir().join(format!(
        "docent-policy-{}-{}",
        std::process::id(),
        cases.file_stem().unwrap().display()
    ));
    let index =
        docent(&["index", corpus.to_str().unwrap(), "--out", out.to_str().unwrap(), "--no-embeddings", "--json"]);
    assert!(index.status.success(), "{}", String::from_utf8_lossy(&index.stderr));
    let eval = docent(&["eval", cases.to_str().unwrap(), "--index", out.to_str().unwrap(), "--json"]);
    assert!(eval.status.success(), "{}", String::from_utf8_lossy(&eval.stderr));
    std::fs::remove_dir_all(&out).unwrap();
    serde_json::from_slice(&eval.stdout).unwrap()
}

#[test]
fn the_local_policy_beats_always_answering_on_our_own_cases_in_both_languages() {
    let Some(data) = std::env::var_os("DOCENT_TESTDATA").map(PathBuf::from) else {
        println!("skipped: the policy over the vue documentation (DOCENT_TESTDATA is not set)");
        return;
    };
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy");
    for language in ["en", "zh"] {
        let corpus = data.join(format!("corpora/vue-docs-{language}"));
        let result = score(&corpus, &cases.join(format!("vue-{language}.jsonl")));
        let score = &result["score"];
        let number = |name: &str| score[name].as_f64().unwrap();
        println!(
            "{language}: macro-F1 {:.3} (always answering {:.3}), over-asking {:.3}",
            number("macroF1"),
            number("alwaysAnswerMacroF1"),
            number("overAsking")
        );
        assert!(number("macroF1") >= LEAST_MACRO_F1, "{language}: {score:#}");
        assert!(number("overAsking") <= MOST_OVER_ASKING, "{language}: {score:#}");
    }
}
