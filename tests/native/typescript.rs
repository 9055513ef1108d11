//! The types that the npm package states by hand are the ones that Rust has: `pkg/types.d.ts` against full values, field by
//! field, and against every name that an enum can take.

use std::collections::{BTreeMap, BTreeSet};

use docent::agent::agent_config::AgentConfig;
use docent::agent::metrics::Metrics;
use docent::agent::turn_record::ReaderEvent;
use docent::chat::request::LlmConfig;
use docent::policy::logistic_policy::LogisticWeights;
use docent::policy::policy_config::PolicyConfig;
use docent::retrieval::facets::Filter;
use docent::retrieval::vector_engine::EngineConfig;
use docent::turn::{
    Action, Contact, Failure, FailureKind, FollowUpKind, Handover, Intent, Language, Mode, Offer, Passage, Scores,
    Source, Trace, TraceStep, Turn, Usage,
};
use serde::Serialize;
use serde_json::Value;
use serde_json::json;

fn types() -> String {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/pkg/types.d.ts");
    std::fs::read_to_string(file).unwrap()
}

/// The fields of `interface NAME { … }`: name → whether it may be left out.
fn interface(types: &str, name: &str) -> BTreeMap<String, bool> {
    let start = types.find(&format!("export interface {name} {{")).unwrap_or_else(|| panic!("no interface {name}"));
    let body = &types[start..];
    let body = &body[body.find('{').unwrap() + 1..];
    let mut depth = 0;
    let mut fields = BTreeMap::new();
    for line in body.lines() {
        let code = line.trim();
        if depth == 0 && code == "}" {
            break;
        }
        if depth == 0
            && !code.starts_with("/**")
            && !code.starts_with('*')
            && let Some((field, _)) = code.split_once(':')
        {
            fields.insert(field.trim_end_matches('?').to_owned(), field.ends_with('?'));
        }
        depth += code.matches('{').count() as i32 - code.matches('}').count() as i32;
    }
    fields
}

/// The fields of a member of an interface that is written in place, such as `memory?: { … }`.
fn members(types: &str, name: &str, member: &str) -> BTreeSet<String> {
    let start = types.find(&format!("export interface {name} {{")).unwrap();
    let at = start + types[start..].find(&format!("\n  {member}?: {{")).unwrap_or_else(|| panic!("no {name}.{member}"));
    let body = &types[at + types[at..].find('{').unwrap() + 1..];
    let mut depth = 0;
    let end = body
        .char_indices()
        .find(|(_, c)| {
            depth += i32::from(*c == '{') - i32::from(*c == '}');
            depth < 0
        })
        .map(|(end, _)| end)
        .unwrap();
    body[..end]
        .split([';', '\n'])
        .filter_map(|field| field.split_once("?:"))
        .map(|(field, _)| field.trim().to_owned())
        .collect()
}

/// The names of `type NAME = "a" | "b";`.
fn union(types: &str, name: &str) -> BTreeSet<String> {
    let start = types.find(&format!("export type {name} =")).unwrap_or_else(|| panic!("no type {name}"));
    let body = &types[start..start + types[start..].find(';').unwrap()];
    body.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

fn keys(value: &impl Serialize) -> BTreeSet<String> {
    match serde_json::to_value(value).unwrap() {
        Value::Object(fields) => fields.keys().cloned().collect(),
        other => panic!("no object: {other}"),
    }
}

fn same_fields(types: &str, name: &str, value: &impl Serialize) {
    let stated: BTreeSet<String> = interface(types, name).into_keys().collect();
    assert_eq!(stated, keys(value), "the fields of {name}");
}

fn same_names<T: Serialize>(types: &str, name: &str, values: &[T]) {
    let names: BTreeSet<String> =
        values.iter().map(|value| serde_json::to_value(value).unwrap().as_str().unwrap().to_owned()).collect();
    assert_eq!(union(types, name), names, "the names of {name}");
}

fn full_turn() -> Turn {
    let contact = Contact::default();
    Turn {
        reply: "Use venv [1].".into(),
        intent: Intent::Retrieval,
        follow_up: Some(FollowUpKind::Detail),
        action: Action::SuggestRelated,
        reason: "new_topic".into(),
        rewritten_query: Some("venv".into()),
        sources: vec![Source {
            n: 1,
            document: "venv".into(),
            title: "venv".into(),
            heading_path: vec!["Create".into()],
            url: "/venv#create".into(),
            quote: "Use venv.".into(),
            highlights: vec![(4, 8)],
            score: 0.9,
        }],
        suggestions: vec![Offer {
            id: "pip".into(),
            title: "pip".into(),
            url: Some("/pip".into()),
            reason: "next".into(),
        }],
        options: vec![],
        history_length: 2,
        mode: Mode::Hybrid,
        usage: Some(Usage::default()),
        trace: Trace {
            steps: vec![TraceStep { step: "decide".into(), ms: 0.1, detail: Value::Null }],
            warnings: vec!["odd".into()],
        },
        error: Some(Failure {
            kind: FailureKind::Timeout,
            code: "timeout".into(),
            cause: "slow".into(),
            retry_after_ms: Some(1),
        }),
        language: Language::English,
        partial: true,
        unsupported: vec![(0, 3)],
        handover: Some(Handover { contact: Some(contact), link: Some("/c".into()), transcript: Some("t".into()) }),
    }
}

#[test]
fn what_a_turn_gives_is_what_the_types_say() {
    let types = types();
    let turn = full_turn();
    same_fields(&types, "Turn", &turn);
    same_fields(&types, "Source", &turn.sources[0]);
    same_fields(&types, "Offer", &turn.suggestions[0]);
    same_fields(&types, "Usage", &turn.usage.unwrap());
    same_fields(&types, "Failure", turn.error.as_ref().unwrap());
    same_fields(&types, "Handover", turn.handover.as_ref().unwrap());
    same_fields(&types, "Contact", turn.handover.as_ref().unwrap().contact.as_ref().unwrap());
    same_fields(&types, "Trace", &turn.trace);
    same_fields(&types, "TraceStep", &turn.trace.steps[0]);
    same_fields(&types, "Scores", &Scores::default());
    let passage = Passage {
        id: String::new(),
        document: String::new(),
        title: String::new(),
        heading_path: vec![],
        url: String::new(),
        text: String::new(),
        best: String::new(),
        highlights: vec![],
        tags: vec![],
        version: None,
        section: None,
        language: Language::Chinese,
        scores: Scores::default(),
    };
    same_fields(&types, "Passage", &passage);
    same_fields(&types, "Metrics", &Metrics::of(&[], None));
}

#[test]
fn nothing_of_a_turn_may_be_left_out_and_every_option_may() {
    let types = types();
    assert!(interface(&types, "Turn").values().all(|optional| !optional));
    let options = interface(&types, "AgentOptions");
    assert_eq!(options.iter().filter(|(_, optional)| !**optional).map(|(name, _)| name).collect::<Vec<_>>(), ["index"]);
    assert!(interface(&types, "PolicyConfig").values().all(|optional| *optional));
}

#[test]
fn what_load_takes_is_what_the_agent_reads() {
    let types = types();
    let mut stated: BTreeSet<String> = interface(&types, "AgentOptions").into_keys().collect();
    for own in ["index", "model", "vectors", "llm", "filter", "sink"] {
        assert!(stated.remove(own), "{own} is missing");
    }
    let config = AgentConfig::default();
    assert_eq!(stated, keys(&config), "the fields of AgentOptions");
    same_fields(&types, "Filter", &Filter::default());
    let learned = LogisticWeights { features: vec![], outcomes: vec![] };
    same_fields(&types, "PolicyConfig", &PolicyConfig { learned: Some(learned), ..PolicyConfig::default() });
    assert_eq!(members(&types, "AgentOptions", "memory"), keys(&config.memory));
    let mut filter = members(&types, "AgentOptions", "contentFilter");
    assert!(filter.remove("before") && filter.remove("after"));
    assert_eq!(filter, keys(&config.content_filter));

    let mut llm: BTreeSet<String> = interface(&types, "LlmConfig").into_keys().collect();
    // The key is read, never written.
    assert!(llm.remove("apiKey"));
    let defaults = LlmConfig::default();
    assert_eq!(llm, keys(&defaults), "the fields of LlmConfig");
    assert_eq!(members(&types, "LlmConfig", "timeouts"), keys(&defaults.timeouts));
    same_fields(&types, "PromptBudget", &config.budget);

    let mut engine: BTreeSet<String> = interface(&types, "VectorEngine").into_keys().collect();
    assert!(engine.remove("apiKey"));
    let own = json!({ "engine": "qdrant", "url": "/", "collection": "a", "headers": { "x": "y" } });
    assert_eq!(engine, keys(&EngineConfig::from_json(own).unwrap()), "the fields of VectorEngine");
}

#[test]
fn the_names_of_the_enums_are_all_stated() {
    let types = types();
    same_names(&types, "Language", &[Language::English, Language::Chinese]);
    same_names(&types, "Intent", &[Intent::Retrieval, Intent::Chitchat, Intent::Clarify, Intent::Error]);
    same_names(
        &types,
        "FollowUpKind",
        &[
            FollowUpKind::Simplify,
            FollowUpKind::Detail,
            FollowUpKind::Example,
            FollowUpKind::Summary,
            FollowUpKind::Pronoun,
        ],
    );
    same_names(
        &types,
        "Action",
        &[
            Action::AnswerDirectly,
            Action::AskClarification,
            Action::SuggestRelated,
            Action::ProvideSummary,
            Action::EscalateToHuman,
            Action::Chitchat,
            Action::FollowUp,
            Action::Select,
            Action::End,
        ],
    );
    same_names(&types, "Mode", &[Mode::Lexical, Mode::Dense, Mode::Hybrid]);
    same_names(
        &types,
        "FailureKind",
        &[
            FailureKind::Timeout,
            FailureKind::RateLimit,
            FailureKind::Network,
            FailureKind::Auth,
            FailureKind::ContentFilter,
            FailureKind::Interrupted,
            FailureKind::Default,
        ],
    );
    let events = [
        ReaderEvent::ThumbsUp,
        ReaderEvent::ThumbsDown,
        ReaderEvent::SourceFollowed { url: String::new() },
        ReaderEvent::SuggestionFollowed { id: String::new() },
        ReaderEvent::ContactFollowed,
        ReaderEvent::Copied,
        ReaderEvent::Left,
    ];
    let kinds: BTreeSet<String> =
        events.iter().map(|event| serde_json::to_value(event).unwrap()["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(union(&types.replace("; url", ", url").replace("; id", ", id"), "ReaderEvent"), kinds);
}
