//! Guidance sessions written as data, through `docent index` and `docent chat`; `tests/guidance/README.md` has the format.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use docent::policy::policy_decision_maker::rule_names;
use serde_json::Value;

fn session(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/guidance").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The index of the session's pages, with the vectors of this model; `None` where the model is not there.
fn index(name: &str, session: &Value, model: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("guidance-{name}-{model}"));
    let _ = std::fs::remove_dir_all(&folder);
    let docs = folder.join("docs");
    std::fs::create_dir_all(&docs).unwrap();
    for (file, text) in session["pages"].as_object().unwrap() {
        std::fs::write(docs.join(file), text.as_str().unwrap()).unwrap();
    }
    let out = folder.join("index");
    let mut command = Command::new(env!("CARGO_BIN_EXE_docent"));
    command.arg("index").arg(&docs).arg("--out").arg(&out);
    match model {
        "none" => command.arg("--no-embeddings"),
        model => command.args(["--model", model]),
    };
    let built = command.output().unwrap();
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        assert!(model == "multilingual-e5-small" && said.contains("model"), "{name}: {said}");
        println!("skipped: the session {name} with {model} (it is not there; `make models-multilingual` makes it)");
        return None;
    }
    Some(out)
}

fn chat(index: &Path, session: &Value) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_docent"))
        .arg("chat")
        .arg(index)
        .args(["--json", "--options", &session["options"].to_string()])
        .env_remove("DOCENT_LLM_ENDPOINT")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said: String = session["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| format!("{}\n", turn["say"].as_str().unwrap()))
        .collect();
    child.stdin.take().unwrap().write_all(said.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// What a turn did otherwise than expected.
fn faults(turn: &Value, expected: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let ids = |list: &str, field: &str| -> BTreeSet<String> {
        let all = turn[list].as_array().unwrap();
        all.iter().map(|one| one[field].as_str().unwrap().to_owned()).collect()
    };
    let shown = ids("sources", "document");
    let offered: BTreeSet<String> = ids("suggestions", "id").union(&ids("options", "id")).cloned().collect();
    let decided = &turn["trace"]["steps"].as_array().unwrap().iter().find(|step| step["step"] == "decide");
    let decided = decided.map_or(Value::Null, |step| step["detail"].clone());
    let remembered = turn["trace"]["steps"].as_array().unwrap().last().unwrap()["detail"]["confusion"].clone();
    let mut check = |what: &str, holds: bool, found: &dyn std::fmt::Debug| {
        if !holds {
            faults.push(format!("{what}: {found:?}"));
        }
    };
    check("action", strings(&expected["action"]).contains(&turn["action"].as_str().unwrap()), &turn["action"]);
    for (name, found) in [("reason", &turn["reason"]), ("rule", &decided["rule"]), ("confusion", &remembered)] {
        check(name, expected[name].is_null() || expected[name] == *found, found);
    }
    for page in strings(&expected["shows"]) {
        check(&format!("shows {page}"), shown.contains(page), &shown);
    }
    for page in strings(&expected["offers"]) {
        check(&format!("offers {page}"), offered.contains(page), &offered);
    }
    for page in strings(&expected["mentions"]) {
        check(&format!("mentions {page}"), shown.contains(page) || offered.contains(page), &(&shown, &offered));
    }
    for page in strings(&expected["never"]) {
        check(&format!("never {page}"), !shown.contains(page) && !offered.contains(page), &(&shown, &offered));
    }
    for words in strings(&expected["replies"]) {
        check(&format!("says {words}"), turn["reply"].as_str().unwrap().contains(words), &turn["reply"]);
    }
    // A page is offered with its reason, which stands in the reply.
    for offer in turn["suggestions"].as_array().unwrap() {
        let reason = offer["reason"].as_str().unwrap();
        check("a reason", !reason.is_empty() && turn["reply"].as_str().unwrap().contains(reason), offer);
    }
    faults
}

fn run(name: &str) -> Vec<Vec<Value>> {
    let session = session(name);
    let expected = session["turns"].as_array().unwrap();
    let mut all = Vec::new();
    for model in strings(&session["models"]) {
        let Some(index) = index(name, &session, model) else { continue };
        let turns = chat(&index, &session);
        assert_eq!(turns.len(), expected.len(), "{name}, {model}");
        let mut wrong = Vec::new();
        for (turn, expected) in turns.iter().zip(expected) {
            for fault in faults(turn, expected) {
                let decided = turn["trace"]["steps"].as_array().unwrap().iter().find(|step| step["step"] == "decide");
                let decided = decided.map_or_else(String::new, |step| step["detail"].to_string());
                wrong.push(format!("{}: {fault}; {} {decided}", expected["say"], turn["reason"]));
            }
        }
        assert!(wrong.is_empty(), "{name}, {model}:\n{}", wrong.join("\n"));
        all.push(turns);
    }
    all
}

#[test]
fn the_worked_example_in_chinese_with_the_multilingual_model_and_by_words() {
    run("worked-zh.json");
}

#[test]
fn the_worked_example_in_english_with_both_models_and_by_words() {
    run("worked-en.json");
}

#[test]
fn one_session_reaches_every_row_of_the_table_in_both_languages() {
    for name in ["table-en.json", "table-zh.json"] {
        let turns = run(name).remove(0);
        let rules: BTreeSet<&str> = turns
            .iter()
            .flat_map(|turn| turn["trace"]["steps"].as_array().unwrap())
            .filter_map(|step| step["detail"]["rule"].as_str())
            .collect();
        assert_eq!(rules, rule_names().into_iter().collect(), "{name}");
        // Nothing goes along before the reader agrees; then all of it does.
        let handover = |at: usize| &turns[at]["handover"];
        let offered = turns.iter().position(|turn| turn["reason"] == "high_confusion").unwrap();
        assert!(handover(offered)["transcript"].is_null(), "{name}");
        let first = session(name)["turns"][0]["say"].as_str().unwrap().to_owned();
        assert!(handover(offered + 1)["transcript"].as_str().unwrap().contains(&first), "{name}");
        assert!(handover(offered + 1)["link"].as_str().unwrap().starts_with("mailto:help@example.org?"), "{name}");
    }
}
