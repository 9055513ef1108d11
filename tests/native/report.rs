//! `docent report`: from sessions of the agent to the page that authors read.

use std::process::Command;

use docent::agent::ReaderEvent;
use serde_json::{Value, json};

use super::support::{Page, ask, index, local_agent};

const PAGES: [Page; 2] = [
    Page(
        "venv",
        "Python venv",
        &["python/venv"],
        "# Create\n\nCreate a virtual environment with python -m venv in the project.",
    ),
    Page("pip", "Slow pip", &["python/pip"], "# Mirror\n\nPoint pip to a mirror near you when downloads are slow."),
];

#[test]
fn logs_of_sessions_become_a_report_with_groups_pages_and_variants() {
    let mut log = String::new();
    for session in 0..6 {
        let options = json!({"sessionId": format!("reader-{session}"), "variants": [
            {"name": "plain"}, {"name": "silent", "policy": {"maxSuggestions": 0}}]});
        let agent = local_agent(options, index(&PAGES));
        ask(&agent, "How do I create a venv?");
        agent.record_event(ReaderEvent::ThumbsUp).unwrap();
        ask(&agent, "How do I deploy to a Kubernetes cluster?");
        ask(&agent, "deploy on the Kubernetes cluster with Helm");
        log.push_str(&agent.export_log());
    }
    let folder = std::env::temp_dir().join(format!("docent-report-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, page) = (folder.join("log.jsonl"), folder.join("report.html"));
    std::fs::write(&file, &log).unwrap();
    let docent = || Command::new(env!("CARGO_BIN_EXE_docent"));
    let run = docent().arg("report").arg(&file).arg("--out").arg(&page).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("<svg") && html.contains("Policy variants") && html.contains("Python venv"), "{html}");

    let run = docent().arg("report").arg(&file).arg("--json").output().unwrap();
    let report: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(report["metrics"]["sessions"], json!(6));
    assert_eq!(report["metrics"]["thumbsUp"], json!(6));
    let cluster = &report["clusters"][0];
    assert!(cluster["about"].as_str().unwrap().contains("kubernet"), "{cluster}");
    assert!(cluster["questions"].as_array().unwrap().len() == 2, "{cluster}");
    let sessions: u64 =
        report["variants"].as_array().unwrap().iter().map(|v| v["metrics"]["sessions"].as_u64().unwrap()).sum();
    assert_eq!(sessions, 6);

    std::fs::write(&file, "{}\n").unwrap();
    let run = docent().arg("report").arg(&file).output().unwrap();
    assert!(!run.status.success());
    assert!(String::from_utf8_lossy(&run.stderr).contains("log.jsonl:1"), "{}", String::from_utf8_lossy(&run.stderr));
    std::fs::remove_dir_all(&folder).unwrap();
}
