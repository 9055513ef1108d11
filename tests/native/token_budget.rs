//! The token budget with a real tokenizer: what is sent never exceeds it, and the trace says what each part took.

use std::path::Path;

use docent::agent::{AgentConfig, ChatOptions, ConversationalAgent, Hosts};
use docent::cli::native_model::NativeModel;
use docent::host::EmbeddingModel;
use docent::retrieval::model_manifest::ModelCatalog;
use docent::turn::{EstimatedTokens, TokenCounter};
use serde_json::{Value, json};

use super::support::{NoFiles, Page, Script, ScriptedChat, StepClock, index, run};

/// Tokens that a chat template adds around each message; the product counts as many.
const PER_MESSAGE: usize = 4;
/// The limits of this test, in tokens: small, so that everything has to be cut.
const CONTEXT: usize = 1100;
const HISTORY: usize = 150;
const PASSAGES: usize = 260;
const REPLY: usize = 120;
const WINDOW: usize = 300;

const SENTENCE: &str = "Create a virtual environment with python -m venv .venv-3.12 in the project's folder, activate it, and install the packages of requirements.txt with pip.";

fn model() -> NativeModel {
    let info = ModelCatalog::built_in().unwrap().find("all-MiniLM-L6-v2").unwrap().info.clone();
    NativeModel::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("models"), info).unwrap()
}

#[test]
fn prompts_and_window_keep_to_the_budget_of_the_loaded_tokenizer() {
    let model = model();
    let count = |text: &str| model.count_tokens(text).unwrap();
    let long: &'static str = SENTENCE.repeat(12).leak();
    let pages = [
        Page("venv", "Virtual environments", &["python/venv"], long),
        Page("pip", "Packages with pip", &["python/pip"], long),
        Page("conda", "Environments with conda", &["python/conda"], long),
    ];
    let reply: &'static str = SENTENCE.repeat(4).leak();
    let questions = [
        "How do I create a virtual environment with python?",
        "How do I install packages into the virtual environment?",
        "more detail please",
        "How do I activate the virtual environment of the project?",
        "for example",
        "Where do I put the requirements.txt of the virtual environment?",
    ];
    let chat = ScriptedChat::new(questions.map(|_| Script::Say(vec![reply])));
    let options = json!({
        "budget": {"contextTokens": CONTEXT, "historyTokens": HISTORY, "passagesTokens": PASSAGES, "replyTokens": REPLY},
        "memory": {"maxTokens": WINDOW},
    });
    let hosts =
        Hosts { chat: Some(chat.clone()), embedding: model.clone(), files: NoFiles, clock: StepClock::default() };
    let agent = ConversationalAgent::new(AgentConfig::from_json(options).unwrap(), hosts).unwrap();
    agent.set_index(index(&pages));
    let (mut cut, mut generated) = (0, 0);
    for question in questions {
        let turn = run(agent.chat(question, ChatOptions::default())).unwrap();
        if turn.usage.is_none() {
            // A question back costs no tokens.
            continue;
        }
        generated += 1;
        let request = chat.requests.borrow().last().unwrap().clone();
        let sent: usize = request.messages.iter().map(|message| count(&message.content) + PER_MESSAGE).sum();
        assert!(sent + request.max_tokens as usize <= CONTEXT, "{question}: {sent} + {}", request.max_tokens);

        let generate = turn.trace.steps.iter().find(|step| step.step == "generate").unwrap();
        let report = &generate.detail["prompt"];
        let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        assert_eq!(number(&report["replyTokens"]), request.max_tokens as usize);
        assert_eq!(number(&report["contextTokens"]), CONTEXT);
        let parts = report["parts"].as_array().unwrap();
        let stated: usize = parts.iter().map(|part| number(&part["tokens"])).sum();
        assert_eq!(stated, number(&report["promptTokens"]));
        // Parts are counted before they are joined, which can cost or save a token at each seam.
        assert!(stated.abs_diff(sent) <= 12, "{question}: {stated} stated, {sent} sent: {parts:#?}");
        for (name, limit) in [("passages", PASSAGES), ("history", HISTORY), ("summary", HISTORY)] {
            if let Some(part) = parts.iter().find(|part| part["part"] == name) {
                assert!(number(&part["tokens"]) <= limit, "{question}: {part}");
                cut += usize::from(!part["cut"].is_null());
            }
        }
        // The endpoint of this test does not count: the numbers are the tokenizer's.
        let usage = turn.usage.unwrap();
        let contents: usize = request.messages.iter().map(|message| count(&message.content)).sum();
        assert_eq!((usage.prompt_tokens as usize, usage.estimated), (contents, true));
        assert_eq!(usage.completion_tokens as usize, count(reply));

        let window: usize = agent.history().iter().map(|message| count(&message.content)).sum();
        assert!(window <= WINDOW || agent.history().len() == 2, "{question}: {window}");
    }
    assert!(generated >= 4, "{generated} of {} turns were generated", questions.len());
    assert!(cut > 0, "something had to be cut");
    // The estimate that stands in until the tokenizer is there counts otherwise: these are really the tokenizer's numbers.
    assert_ne!(EstimatedTokens.count(SENTENCE), count(SENTENCE));
}
