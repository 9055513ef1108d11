//! The user guide says what the code does: its tables of parameters, rows and steps against the agent itself, in both
//! languages.

use std::collections::{BTreeMap, BTreeSet};

use docent::agent::AgentConfig;
use docent::policy::policy_config::PolicyConfig;
use docent::policy::policy_decision_maker::rule_names;
use serde_json::{Map, Value, json};

use super::support::{Page, Script, ScriptedChat, agent, ask, index};

const LANGUAGES: [&str; 2] = ["en", "zh"];

fn guide(language: &str, page: &str) -> String {
    let file = format!("{}/www/guide/{language}/{page}.md", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The rows of the tables whose first cell is code that begins with `start`: the cells, code marks and spaces taken off.
fn rows(text: &str, start: &str) -> Vec<Vec<String>> {
    text.lines()
        .filter(|line| line.starts_with(&format!("| `{start}")))
        .map(|line| line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// The words in code marks.
fn codes(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The agent's options with one parameter of the policy, as the page gives them and as the manifest does.
fn accepts(name: &str, value: f64) -> bool {
    // A whole number is written without a point, as a page would.
    let number = if value.fract() == 0.0 { json!(value as i64) } else { json!(value) };
    let options = json!({ "policy": Map::from_iter([(name.to_owned(), number)]) });
    let page = AgentConfig::from_json(options.clone());
    let manifest = AgentConfig::from_layers(Some(&options), &json!({}));
    assert_eq!(page.is_ok(), manifest.is_ok(), "{name} = {value}");
    if let Err(error) = &page {
        assert!(error.to_string().contains(&format!("policy.{name}")), "{error}");
    }
    page.is_ok()
}

#[test]
fn every_parameter_of_the_policy_stands_in_the_guide_with_its_default_and_range() {
    let defaults = serde_json::to_value(PolicyConfig::default()).unwrap();
    let mut expected: BTreeSet<String> = defaults.as_object().unwrap().keys().cloned().collect();
    // Absent where nothing was learned.
    expected.insert("learned".to_owned());
    for language in LANGUAGES {
        let mut found = BTreeSet::new();
        for cells in rows(&guide(language, "guidance"), "policy.") {
            let name = codes(&cells[0])[0].trim_start_matches("policy.").to_owned();
            found.insert(name.clone());
            if name == "learned" {
                continue;
            }
            let default: f64 = cells[1].parse().unwrap_or_else(|_| panic!("{language}: the default of {name}"));
            let own = defaults[&name].as_f64().unwrap_or_else(|| panic!("{language}: there is no parameter {name}"));
            assert!((default - own).abs() < 1e-6, "{language}: {name} is {own} and not {default}");
            let ends: Vec<f64> = cells[2].split(['到', ' ']).filter_map(|word| word.parse().ok()).collect();
            let [low, high] = ends[..] else { panic!("{language}: the range of {name}: {}", cells[2]) };
            for (value, allowed) in [(low, true), (high, true), (high + 1.0, false), (low - 1.0, false)] {
                assert_eq!(accepts(&name, value), allowed, "{language}: {name} = {value}");
            }
        }
        assert_eq!(found, expected, "{language}");
    }
}

#[test]
fn the_guide_s_rows_are_the_table_s_in_its_order() {
    for language in LANGUAGES {
        let text = guide(language, "guidance");
        let rows: Vec<String> = text
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(|line| line.split('`').next().unwrap().to_owned())
            .collect();
        assert_eq!(rows, rule_names(), "{language}");
    }
}

const PAGES: [Page; 4] = [
    Page("install-2", "Install Quill 2", &["version/2", "setup"], "# Setup\n\nInstall Quill 2 by running quill setup."),
    Page("install-3", "Install Quill 3", &["version/3", "setup"], "# Setup\n\nInstall Quill 3 by running quill setup."),
    Page("themes", "Themes", &["design/look"], "# Dark theme\n\nTurn the dark theme on with theme: dark."),
    Page("fonts", "Fonts", &["design/look"], "# Choose fonts\n\nA theme may bring fonts along."),
];

#[test]
fn the_trace_has_the_steps_and_fields_that_the_guide_names() {
    let pieces = || Script::Say(vec!["Set theme: dark in the configuration [1]."]);
    let chat = ScriptedChat::new([pieces(), pieces(), pieces(), pieces()]);
    let agent = agent(json!({}), Some(chat), index(&PAGES));
    let mut observed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for message in [
        "How do I turn on the dark theme?",
        "for example",
        "Please summarize our conversation",
        "thanks",
        "How do I install Quill",
        "3",
        "zzyzx flibber?",
    ] {
        for step in ask(&agent, message).trace.steps {
            let Value::Object(detail) = step.detail else { panic!("{}: {:?}", step.step, step.detail) };
            observed.entry(step.step).or_default().extend(detail.into_iter().map(|(name, _)| name));
        }
    }
    for language in LANGUAGES {
        let text = guide(language, "looking-inside");
        let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for cells in rows(&text, "") {
            // What stands in brackets are the values or the parts of a field.
            let mut depth = 0;
            let outside: String = cells[1]
                .chars()
                .filter(|c| {
                    depth += i32::from(matches!(c, '(' | '（')) - i32::from(matches!(c, ')' | '）'));
                    depth == 0
                })
                .collect();
            documented.insert(codes(&cells[0])[0].clone(), codes(&outside).into_iter().collect());
        }
        assert_eq!(documented, observed, "{language}");
    }
}
