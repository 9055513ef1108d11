//! Conversations written as data: what each message means, and the query it becomes.
//!
//! The format is described in `tests/conversations/README.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use docent::chat::message::Role;
use docent::dialogue::{ConversationMemory, LastGeneration, OfferKind, OfferedItem};
use docent::turn::{EstimatedTokens, FollowUpKind, Intent, Offer};
use docent::understanding::{NoVocabulary, QueryRewriter, StandaloneQuery, Understanding, understand};

/// Cases of its own that each language has at least, beside those of the specification.
const CASES_PER_LANGUAGE: usize = 150;

/// A conversation that is being replayed.
struct Conversation {
    memory: ConversationMemory,
}

impl Conversation {
    fn new() -> Self {
        Self { memory: ConversationMemory::new("conversations") }
    }

    fn asked(&mut self, message: &str) -> (Understanding, StandaloneQuery) {
        let understanding = understand(message, &self.memory, &NoVocabulary);
        let query = QueryRewriter::default().rewrite(message, &understanding, &self.memory, &NoVocabulary);
        let state = self.memory.state_mut();
        state.note_entities(&understanding.entities);
        state.note_reader(&understanding.reader_facts);
        if understanding.intent == Intent::Retrieval && !understanding.works_on_last_answer() {
            state.note_search(&query.text, [], false);
        }
        state.offered.clear();
        state.turn_count += 1;
        self.memory.add_message(Role::User, message, 0, BTreeMap::new(), &EstimatedTokens);
        (understanding, query)
    }

    fn answered(&mut self, text: &str) {
        self.memory.add_message(Role::Assistant, text, 0, BTreeMap::new(), &EstimatedTokens);
        let question = self.memory.state().topic.query.clone();
        self.memory.state_mut().note_generation(LastGeneration {
            query: question.clone(),
            question,
            text: text.to_owned(),
            partial: false,
            follow_up: None,
            passages: Vec::new(),
        });
    }

    fn offered(&mut self, titles: &str) {
        let question = self.memory.state().topic.query.clone();
        let item = |title: &str| OfferedItem {
            offer: Offer { id: title.to_owned(), title: title.to_owned(), url: None, reason: String::new() },
            kind: OfferKind::Option,
            question: question.clone(),
        };
        let items = titles.split('|').map(|title| item(title.trim())).collect();
        self.memory.state_mut().offer(items);
    }
}

/// The faults of one case, in readable sentences.
fn faults(message: &str, understanding: &Understanding, query: &StandaloneQuery, expected: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut intent = Intent::Retrieval;
    let mut kind: Option<(FollowUpKind, bool)> = None;
    let mut nothing = false;
    let mut pick: Option<usize> = None;
    let mut signals: Vec<&str> = Vec::new();
    let lower = query.text.to_lowercase();
    for word in expected.split(';').map(str::trim).filter(|word| !word.is_empty()) {
        let (name, rest) = word.split_once(' ').unwrap_or((word, ""));
        let parts = || rest.split('|').map(|part| part.trim().to_lowercase());
        match name {
            "chat" => intent = Intent::Chitchat,
            "clarify" => intent = Intent::Clarify,
            "simplify" => kind = Some((FollowUpKind::Simplify, false)),
            "detail" => kind = Some((FollowUpKind::Detail, false)),
            "example" => kind = Some((FollowUpKind::Example, false)),
            "summary" => kind = Some((FollowUpKind::Summary, false)),
            "refers" => kind = Some((FollowUpKind::Pronoun, false)),
            "new" => kind = Some((FollowUpKind::Pronoun, true)),
            "nothing" => nothing = true,
            "same" if query.text != message || query.changed => faults.push(format!("became {:?}", query.text)),
            "same" => {}
            "is" if query.text != rest => faults.push(format!("became {:?}", query.text)),
            "is" => {}
            "has" => faults.extend(
                parts().filter(|part| !lower.contains(part)).map(|part| format!("{:?} lacks {part:?}", query.text)),
            ),
            "lacks" => faults.extend(
                parts().filter(|part| lower.contains(part)).map(|part| format!("{:?} holds {part:?}", query.text)),
            ),
            "pick" => pick = rest.parse().ok(),
            "fact" => {
                if !understanding.reader_facts.iter().any(|fact| fact.value == rest) {
                    faults.push(format!("notes {:?} and not {rest:?}", understanding.reader_facts));
                }
            }
            "exit" | "human" | "recap" | "frustrated" | "either" | "yes" | "no" | "done" => signals.push(name),
            other => faults.push(format!("the word {other:?} is not known")),
        }
    }
    if understanding.intent != intent {
        faults.push(format!("is {:?} ({}) and not {intent:?}", understanding.intent, understanding.reason));
    }
    let found = understanding.follow_up.map(|follow_up| (follow_up.kind, follow_up.asks_new));
    if found != kind {
        faults.push(format!("is the follow-up {found:?} and not {kind:?}"));
    }
    if understanding.lacks_previous_answer() != nothing {
        faults.push(format!("lacks a previous answer: {}", understanding.lacks_previous_answer()));
    }
    if understanding.selection.map(|selection| selection.index + 1) != pick {
        faults.push(format!("picks {:?} and not {pick:?}", understanding.selection));
    }
    let set = understanding.signals;
    let always =
        [("exit", set.exit), ("human", set.wants_human), ("recap", set.wants_summary), ("frustrated", set.frustration)];
    let on_demand =
        [("either", set.indifferent), ("yes", set.affirmative), ("no", set.negative), ("done", set.satisfied)];
    for (name, is_set) in always {
        if is_set != signals.contains(&name) {
            faults.push(format!("the signal `{name}` is {is_set}"));
        }
    }
    for (name, is_set) in on_demand {
        if signals.contains(&name) && !is_set {
            faults.push(format!("the signal `{name}` is not set"));
        }
    }
    faults
}

/// Runs the file; returns the number of its cases and what went wrong.
fn run(file: &Path) -> (usize, Vec<String>) {
    let text = fs::read_to_string(file).unwrap();
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    let (mut cases, mut wrong) = (0, Vec::new());
    let mut conversation = Conversation::new();
    let mut open: Option<(usize, String, Understanding, StandaloneQuery)> = None;
    for (at, line) in text.lines().enumerate() {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        if open.is_some() && mark != "=" {
            wrong.push(format!("{name}:{at}: nothing is expected of the message"));
            open = None;
        }
        match mark {
            "" => conversation = Conversation::new(),
            "#" => {}
            "U" => drop(conversation.asked(rest)),
            "A" => conversation.answered(rest),
            "O" => conversation.offered(rest),
            "?" => {
                let (understanding, query) = conversation.asked(rest);
                open = Some((at + 1, rest.to_owned(), understanding, query));
                cases += 1;
            }
            "=" => match open.take() {
                Some((line, message, understanding, query)) => {
                    for fault in faults(&message, &understanding, &query, rest) {
                        wrong.push(format!("{name}:{line}: {message:?} {fault}"));
                    }
                }
                None => wrong.push(format!("{name}:{}: `=` without a message", at + 1)),
            },
            other => wrong.push(format!("{name}:{}: unknown mark {other:?}", at + 1)),
        }
    }
    (cases, wrong)
}

#[test]
fn conversations_mean_what_their_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversations");
    let mut wrong = Vec::new();
    for (file, least) in [("spec.txt", 20), ("english.txt", CASES_PER_LANGUAGE), ("chinese.txt", CASES_PER_LANGUAGE)] {
        let (cases, faults) = run(&folder.join(file));
        assert!(cases >= least, "{file} has {cases} cases, {least} are wanted");
        wrong.extend(faults);
    }
    assert!(wrong.is_empty(), "{} faults:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_wrong_expectation_is_noticed() {
    let mut conversation = Conversation::new();
    let (understanding, query) = conversation.asked("hi");
    assert!(faults("hi", &understanding, &query, "chat; same").is_empty());
    for expected in ["same", "chat; has venv", "chat; detail", "chat; pick 1", "chat; exit", "chat; nonsense"] {
        assert!(!faults("hi", &understanding, &query, expected).is_empty(), "{expected}");
    }
}
