//! The guidance: the worked example, the table of rules, hand-over and what comes after it.

use docent::turn::{Action, Turn};
use serde_json::json;

use super::support::{Page, TestAgent, ask, index, local_agent, without_times};

const CHINESE: [Page; 3] = [
    Page(
        "venv",
        "Python 虚拟环境",
        &["python/venv"],
        "# 创建\n\n用 python -m venv 创建虚拟环境，每个项目使用自己的虚拟环境，互不影响。\n\n# 激活\n\n激活虚拟环境之后，python 命令就是该环境里的解释器。",
    ),
    Page(
        "pip",
        "pip 太慢：使用镜像",
        &["python/pip"],
        "# 换源\n\n安装包太慢的时候，可以把 pip 的下载地址换成国内镜像，速度会快很多。",
    ),
    Page(
        "spacy",
        "用 spaCy 做分词",
        &["nlp/spacy"],
        "# 分词\n\nspaCy 可以对文本做分词、词性标注和命名实体识别，适合文本分析。",
    ),
];

const ENGLISH: [Page; 3] = [
    Page(
        "venv",
        "Python virtual environments",
        &["python/venv"],
        "# Create\n\nCreate a virtual environment with python -m venv, one for each project.\n\n# Activate\n\nOnce the virtual environment is activated, python is its own interpreter.",
    ),
    Page(
        "pip",
        "pip is slow: use a mirror",
        &["python/pip"],
        "# Mirror\n\nWhen installing packages is too slow, point pip to a mirror near you.",
    ),
    Page(
        "spacy",
        "Tokenizing with spaCy",
        &["nlp/spacy"],
        "# Tokens\n\nspaCy splits text into tokens and tags them: a start for text analysis.",
    ),
];

fn shows(turn: &Turn, document: &str) -> bool {
    turn.sources.iter().any(|source| source.document == document)
}

fn offers(turn: &Turn, document: &str) -> bool {
    turn.suggestions.iter().chain(&turn.options).any(|offer| offer.id == document)
}

fn worked_example(agent: &TestAgent, messages: [&str; 4]) {
    let turn = ask(agent, messages[0]);
    assert_eq!(turn.action, Action::AnswerDirectly, "{}: {turn:#?}", messages[0]);
    assert!(shows(&turn, "venv"), "{turn:#?}");

    let turn = ask(agent, messages[1]);
    assert_eq!(turn.action, Action::SuggestRelated, "{}: {turn:#?}", messages[1]);
    assert!(shows(&turn, "pip"), "{turn:#?}");
    let offer = turn.suggestions.iter().find(|offer| offer.id == "venv").expect("the venv page is offered");
    assert!(!offer.reason.is_empty() && turn.reply.contains(&offer.reason), "{turn:#?}");

    let turn = ask(agent, messages[2]);
    assert_eq!(turn.action, Action::AnswerDirectly, "{}: {turn:#?}", messages[2]);
    assert!(shows(&turn, "venv"), "{turn:#?}");

    let turn = ask(agent, messages[3]);
    match turn.action {
        Action::AskClarification => assert!(offers(&turn, "spacy"), "{turn:#?}"),
        Action::AnswerDirectly => assert!(shows(&turn, "spacy"), "{turn:#?}"),
        other => panic!("{other:?}: {turn:#?}"),
    }
    for page in ["venv", "pip"] {
        assert!(!shows(&turn, page) && !offers(&turn, page), "{page}: {turn:#?}");
    }
}

#[test]
fn the_worked_example_in_chinese() {
    let messages = ["python虚拟环境怎么用", "安装包太慢了怎么办", "第一个", "怎么分析文本"];
    worked_example(&local_agent(json!({}), index(&CHINESE)), messages);
}

#[test]
fn the_worked_example_in_english() {
    let messages = [
        "how do I use a python virtual environment",
        "installing packages is too slow",
        "the first one",
        "how do I analyze texts",
    ];
    worked_example(&local_agent(json!({}), index(&ENGLISH)), messages);
}

const MANUAL: [Page; 7] = [
    Page(
        "install-2",
        "Install Quill 2",
        &["version/2", "setup/install"],
        "# Setup\n\nInstall Quill 2 by running quill setup in the folder of the project.",
    ),
    Page(
        "install-3",
        "Install Quill 3",
        &["version/3", "setup/install"],
        "# Setup\n\nInstall Quill 3 by running quill setup in the folder of the project.",
    ),
    Page(
        "themes",
        "Themes",
        &["design/look"],
        "# Dark theme\n\nTurn the dark theme on with theme: dark in the configuration. For example:\n```yaml\ntheme: dark\n```\n\n# Colors\n\nEvery theme color can be replaced in the palette of the configuration.",
    ),
    Page(
        "fonts",
        "Fonts",
        &["design/look"],
        "# Choose fonts\n\nA theme may bring fonts along; name others under fonts in the configuration.",
    ),
    Page(
        "backup",
        "Backups",
        &["operations/backup"],
        "# Nightly backup\n\nA nightly backup copies the database to the storage bucket.",
    ),
    Page(
        "restore",
        "Restore a backup",
        &["operations/backup"],
        "# Steps\n\nRestore a backup with quill restore and the name of the copy.",
    ),
    Page(
        "users",
        "Users and roles",
        &["operations/users"],
        "# Roles\n\nA role bundles permissions; give users roles in the admin console.",
    ),
];

fn reason_of(turn: &Turn) -> (Action, &str) {
    (turn.action, turn.reason.as_str())
}

#[test]
fn a_session_walks_the_whole_table_with_hand_over_and_what_comes_after() {
    let contact = json!({"label": "Support", "email": "help@example.org"});
    let agent = local_agent(json!({"contact": contact, "policy": {"summaryAfter": 2}}), index(&MANUAL));

    // Row 4: the first answer.
    let turn = ask(&agent, "How do I turn on the dark theme?");
    assert_eq!(reason_of(&turn), (Action::AnswerDirectly, "new_topic"), "{turn:#?}");
    assert!(shows(&turn, "themes"));

    // Row 5: the same topic, with a related page.
    let turn = ask(&agent, "Can I replace a color of the theme palette?");
    assert_eq!(reason_of(&turn), (Action::SuggestRelated, "same_topic"), "{turn:#?}");
    assert!(offers(&turn, "fonts"), "{turn:#?}");

    // Row 6: the same topic, nothing left to offer; after two answers the summary is offered as a choice.
    let turn = ask(&agent, "What is the theme palette in the configuration?");
    assert_eq!(reason_of(&turn), (Action::AnswerDirectly, "same_topic"), "{turn:#?}");
    assert!(turn.suggestions.is_empty() && turn.options.iter().any(|offer| offer.id == "action=summary"), "{turn:#?}");

    // Row 0: the reader takes it.
    let turn = ask(&agent, "Sum it up");
    assert_eq!(turn.action, Action::ProvideSummary, "{turn:#?}");

    // Rows 2 and 3: nothing or too little, three times on different things.
    let confusing = ["zzyzx flibber?", "wobble?", "frobnicate gronk?"];
    for (at, message) in confusing.into_iter().enumerate() {
        let turn = ask(&agent, message);
        assert_eq!(turn.action, Action::AskClarification, "{message}: {turn:#?}");
        assert_eq!(turn.reason, "no_results", "{message}");
        let confusion = turn.trace.steps.iter().find(|step| step.step == "decide").unwrap().detail["confusion"].clone();
        assert_eq!(confusion, json!(at + 1), "{message}");
    }

    // Row 1: hand-over, whatever is asked; the counter goes back to 0.
    let turn = ask(&agent, "snorkel?");
    assert_eq!(reason_of(&turn), (Action::EscalateToHuman, "high_confusion"), "{turn:#?}");
    let handover = turn.handover.as_ref().unwrap();
    assert_eq!(handover.link.as_deref(), Some("mailto:help@example.org"));
    assert_eq!(handover.transcript, None, "nothing goes along before the reader agrees");

    // The reader agrees: the conversation goes along.
    let turn = ask(&agent, "yes");
    assert_eq!(reason_of(&turn), (Action::EscalateToHuman, "handover_agreed"), "{turn:#?}");
    let handover = turn.handover.unwrap();
    assert!(handover.transcript.as_ref().unwrap().contains("How do I turn on the dark theme?"), "{handover:?}");
    assert!(handover.link.unwrap().contains("body="));

    // And the conversation goes on.
    let turn = ask(&agent, "How do I restore a backup?");
    assert_eq!(turn.action, Action::AnswerDirectly, "{turn:#?}");
    assert!(shows(&turn, "restore"));

    // The reader leaves.
    let turn = ask(&agent, "exit");
    assert_eq!(reason_of(&turn), (Action::End, "exit"), "{turn:#?}");
    let metrics = agent.metrics();
    assert_eq!(metrics.turns, 11);
    assert!(metrics.handovers >= 1 && metrics.failed >= 1, "{metrics:?}");
}

#[test]
fn one_step_before_hand_over_the_answer_is_spelled_out() {
    let agent = local_agent(json!({}), index(&MANUAL));
    ask(&agent, "zzyzx?");
    ask(&agent, "wobble?");
    let turn = ask(&agent, "How do I turn on the dark theme?");
    let detail = &turn.trace.steps.iter().find(|step| step.step == "decide").unwrap().detail;
    assert_eq!(detail["detailed"], json!(true), "{turn:#?}");
    assert!(turn.reply.contains("theme: dark"), "{}", turn.reply);
}

#[test]
fn a_split_is_asked_about_with_its_values_and_the_choice_continues_the_question() {
    for (messages, choice) in
        [(["How do I install Quill", "3"], "version=3"), (["How do I install Quill", "the first one"], "")]
    {
        let agent = local_agent(json!({}), index(&MANUAL));
        let turn = ask(&agent, messages[0]);
        assert_eq!(reason_of(&turn), (Action::AskClarification, "ambiguous"), "{turn:#?}");
        let ids: Vec<&str> = turn.options.iter().map(|offer| offer.id.as_str()).collect();
        assert_eq!(ids.len(), 2, "{turn:#?}");
        assert!(ids.contains(&"version=2") && ids.contains(&"version=3"), "{ids:?}");
        let chosen = if choice.is_empty() { ids[0] } else { choice };
        let turn = ask(&agent, messages[1]);
        assert_eq!(reason_of(&turn), (Action::AnswerDirectly, "selected"), "{turn:#?}");
        let expected = if chosen == "version=3" { "install-3" } else { "install-2" };
        assert_eq!(turn.sources[0].document, expected, "{turn:#?}");
        assert!(turn.rewritten_query.as_ref().unwrap().contains("install Quill"), "{turn:#?}");
    }
}

#[test]
fn either_gets_the_best_guess_and_no_second_question() {
    for (question, either) in [("How do I install Quill", "either"), ("怎么 install Quill", "随便")] {
        let agent = local_agent(json!({}), index(&MANUAL));
        assert_eq!(ask(&agent, question).action, Action::AskClarification);
        let turn = ask(&agent, either);
        assert_eq!(reason_of(&turn), (Action::AnswerDirectly, "best_guess"), "{turn:#?}");
        assert!(turn.sources[0].document.starts_with("install-"));
    }
}

#[test]
fn a_document_is_offered_once_a_session() {
    let agent = local_agent(json!({}), index(&MANUAL));
    let mut offered: Vec<String> = Vec::new();
    for message in [
        "How do I turn on the dark theme?",
        "Can I replace a color of the theme palette?",
        "Which theme color can be replaced?",
        "Does a theme bring fonts along?",
        "Where is the theme configuration?",
    ] {
        let turn = ask(&agent, message);
        for offer in &turn.suggestions {
            assert!(!offered.contains(&offer.id), "{} is offered again at {message}", offer.id);
            assert!(!offer.reason.is_empty());
            offered.push(offer.id.clone());
        }
    }
    assert!(!offered.is_empty());
}

#[test]
fn the_same_session_replays_and_another_seed_words_it_differently() {
    let replay = |seed: u64| -> Vec<serde_json::Value> {
        let agent = local_agent(json!({"seed": seed}), index(&MANUAL));
        ["hi", "How do I turn on the dark theme?", "for example", "zzyzx?", "thanks"]
            .map(|message| without_times(&ask(&agent, message)))
            .to_vec()
    };
    assert_eq!(replay(1), replay(1));
    let replies = |turns: &[serde_json::Value]| turns.iter().map(|turn| turn["reply"].clone()).collect::<Vec<_>>();
    assert!((2..12).any(|seed| replies(&replay(seed)) != replies(&replay(1))));
}

#[test]
fn follow_ups_work_on_the_last_answer_and_keep_its_sources() {
    let agent = local_agent(json!({}), index(&MANUAL));
    let turn = ask(&agent, "for example");
    assert_eq!(reason_of(&turn), (Action::FollowUp, "no_previous_answer"), "{turn:#?}");
    assert!(turn.reply.contains("no earlier answer"), "{}", turn.reply);
    let sources = ask(&agent, "How do I turn on the dark theme?").sources;
    let turn = ask(&agent, "for example");
    assert_eq!(reason_of(&turn), (Action::FollowUp, "example"), "{turn:#?}");
    assert!(turn.reply.contains("theme: dark"), "{}", turn.reply);
    let documents = |sources: &[docent::turn::Source]| sources.iter().map(|s| s.document.clone()).collect::<Vec<_>>();
    assert_eq!(documents(&turn.sources), documents(&sources));
    assert_eq!(turn.rewritten_query, None);
}

#[test]
fn what_the_docs_do_not_hold_is_said_plainly_with_the_nearest_pages_and_the_contact() {
    let agent = local_agent(json!({"contact": {"url": "https://example.org/help"}}), index(&MANUAL));
    let turn = ask(&agent, "How do I connect Kubernetes to Grafana?");
    assert_eq!(turn.reason, "not_in_docs", "{turn:#?}");
    assert_ne!(turn.action, Action::AskClarification);
    assert!(turn.options.is_empty() && !turn.suggestions.is_empty() && turn.sources.is_empty(), "{turn:#?}");
    assert!(turn.reply.contains("https://example.org/help"), "{}", turn.reply);
}

#[test]
fn learned_weights_in_the_options_decide_and_are_recorded_beside_their_features() {
    let learned = json!({"features": ["best"], "outcomes": [
        {"outcome": "answer_directly", "bias": 0, "weights": [0]},
        {"outcome": "not_in_docs", "bias": 5, "weights": [0]}]});
    // A threshold of 0.6 lets the rails allow "not in the docs" up to an evidence of 1.2.
    let options = json!({"policy": {"relevanceThreshold": 0.6, "learned": learned}, "sessionId": "s"});
    let agent = local_agent(options, index(&MANUAL));
    let turn = ask(&agent, "How do I turn on the dark theme?");
    assert_eq!(turn.reason, "not_in_docs", "{turn:#?}");
    let log = agent.export_log();
    let record: docent::agent::TurnRecord = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(record.policy.as_deref(), Some("logistic"));
    assert!(record.facts.unwrap().best > 0.0);
}

#[test]
fn variants_are_assigned_by_session_and_recorded() {
    let options = json!({"sessionId": "reader-1", "variants": [
        {"name": "plain"}, {"name": "silent", "policy": {"maxSuggestions": 0}}]});
    let agent = local_agent(options, index(&MANUAL));
    ask(&agent, "How do I turn on the dark theme?");
    ask(&agent, "Can I replace a color of the theme palette?");
    let records: Vec<docent::agent::TurnRecord> =
        agent.export_log().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let name = records[0].variant.clone().unwrap();
    assert!(["plain", "silent"].contains(&name.as_str()));
    assert!(records.iter().all(|record| record.variant.as_ref() == Some(&name)));
    assert_eq!(records[1].suggestions.is_empty(), name == "silent");
}

#[test]
fn the_record_says_what_the_reader_did_next_and_a_sink_gets_it() {
    use std::cell::RefCell;
    use std::rc::Rc;
    let agent = local_agent(json!({}), index(&MANUAL));
    let seen: Rc<RefCell<Vec<(u32, bool)>>> = Rc::default();
    let sink = Rc::clone(&seen);
    agent.set_sink(Some(Box::new(move |record| sink.borrow_mut().push((record.turn, record.next.is_some())))));
    assert!(agent.record_event(docent::agent::ReaderEvent::ThumbsUp).is_err(), "there is no turn yet");
    ask(&agent, "How do I turn on the dark theme?");
    agent.record_event(docent::agent::ReaderEvent::SourceFollowed { url: "/themes#dark-theme".into() }).unwrap();
    ask(&agent, "thanks");
    assert_eq!(*seen.borrow(), [(1, false), (1, false), (1, true), (2, false)]);
    let metrics = agent.metrics();
    assert_eq!((metrics.completed, metrics.task_completion_rate), (1, Some(1.0)), "{metrics:?}");
}

#[test]
fn a_saved_conversation_goes_on_where_it_stopped() {
    let first = local_agent(json!({"sessionId": "s"}), index(&MANUAL));
    ask(&first, "How do I install Quill");
    let save = first.export();
    let second = local_agent(json!({}), index(&MANUAL));
    second.restore(&save).unwrap();
    assert_eq!(second.export(), save);
    let turn = ask(&second, "2");
    assert_eq!(reason_of(&turn), (Action::AnswerDirectly, "selected"), "{turn:#?}");
    assert!(second.restore("{}").is_err());
    assert_eq!(second.session_id(), "s");
}

#[test]
fn choosing_a_near_miss_continues_the_question_that_it_was_offered_for() {
    let agent = local_agent(json!({}), index(&MANUAL));
    let turn = ask(&agent, "zzyzx backup flibber?");
    assert_eq!(turn.action, Action::AskClarification, "{turn:#?}");
    let near = turn.options.iter().find(|offer| offer.url.is_some()).expect("a page is offered").clone();
    let turn = ask(&agent, &near.title);
    assert_eq!(reason_of(&turn), (Action::AnswerDirectly, "selected"), "{turn:#?}");
    assert!(turn.sources.iter().all(|source| source.document == near.id), "{turn:#?}");
    assert!(turn.rewritten_query.as_ref().unwrap().contains("flibber"), "the question goes on: {turn:#?}");
}

#[test]
fn it_never_asks_twice_in_a_row_about_the_same_thing() {
    for (first, again) in [
        ("How do I install Quill", "How do I install Quill please"),
        ("zzyzx flibber?", "zzyzx flibber then?"),
        ("怎么 install Quill", "到底怎么 install Quill"),
    ] {
        let agent = local_agent(json!({}), index(&MANUAL));
        assert_eq!(ask(&agent, first).action, Action::AskClarification, "{first}");
        let turn = ask(&agent, again);
        assert_ne!(turn.action, Action::AskClarification, "{again}: {turn:#?}");
    }
}

#[test]
fn what_was_offered_once_is_not_offered_again_where_the_docs_do_not_say() {
    let agent = local_agent(json!({}), index(&MANUAL));
    let mut offered: Vec<String> = Vec::new();
    for message in ["How do I connect Kubernetes to Grafana?", "Does it support OpenTelemetry and Jaeger tracing?"] {
        let turn = ask(&agent, message);
        assert_eq!(turn.reason, "not_in_docs", "{turn:#?}");
        for offer in turn.suggestions {
            assert!(!offered.contains(&offer.id), "{} is offered again", offer.id);
            offered.push(offer.id);
        }
    }
    assert!(!offered.is_empty());
}

#[test]
fn the_site_s_own_words_leave_the_guidance_too() {
    let agent = local_agent(json!({"exitWords": ["stop it", "够了"]}), index(&MANUAL));
    for message in ["exit", "退出", "Stop it!", "够了。"] {
        ask(&agent, "How do I turn on the dark theme?");
        let turn = ask(&agent, message);
        assert_eq!(reason_of(&turn), (Action::End, "exit"), "{message}: {turn:#?}");
    }
    // The same words within a question are no exit.
    assert_ne!(ask(&agent, "How do I stop it from starting?").action, Action::End);
}

#[test]
fn what_nobody_asks_the_docs_is_small_talk_and_no_miss() {
    let agent = local_agent(json!({}), index(&MANUAL));
    for message in ["my grandmother loves jazz music", "我奶奶特别喜欢爵士乐"] {
        let turn = ask(&agent, message);
        assert_eq!(reason_of(&turn), (Action::Chitchat, "not_about_the_docs"), "{turn:#?}");
        assert!(turn.rewritten_query.is_some() && turn.sources.is_empty(), "it was searched: {turn:#?}");
    }
    // Bare words are searched for and missed, and count as such.
    assert_eq!(ask(&agent, "grafana dashboards").action, Action::AskClarification);
    assert_eq!(agent.metrics().unanswered.len(), 1);
}

#[test]
fn small_talk_is_answered_by_its_kind() {
    let agent = local_agent(json!({}), index(&MANUAL));
    for (message, kind, words) in [
        ("hello", "greeting", ["Hello!", "Hi!"]),
        ("thanks", "thanks", ["welcome", "Glad"]),
        ("bye", "goodbye", ["Goodbye", "See you"]),
        ("早上好", "greeting", ["你好", "你好"]),
        ("拜拜", "goodbye", ["再见", "回头见"]),
    ] {
        let turn = ask(&agent, message);
        assert_eq!(reason_of(&turn), (Action::Chitchat, kind), "{message}");
        assert!(words.iter().any(|word| turn.reply.contains(word)), "{message}: {}", turn.reply);
    }
}
