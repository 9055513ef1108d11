//! Generation and its failures: the turn resolves, the reader gets a sentence and the local answer, nothing is lost.

use docent::agent::{AgentConfig, ChatOptions, ConversationalAgent, Hosts};
use docent::chat::message::ChatMessage;
use docent::error::Error;
use docent::host::{EmbeddingModel, IndexFiles, StopSignal};
use docent::turn::{Action, FailureKind, Intent};
use serde_json::json;

use super::support::{
    Page, Script, ScriptedChat, StepClock, TestAgent, agent, ask, index, index_with_vectors, index_without_texts, run,
};

const PAGES: [Page; 2] = [
    Page(
        "venv",
        "Python venv",
        &["python/venv"],
        "# Create\n\nCreate a virtual environment with python -m venv in the project.",
    ),
    Page("zh", "虚拟环境", &["python/venv"], "# 创建\n\n用 python -m venv 创建虚拟环境。"),
];

#[test]
fn a_reply_is_streamed_and_only_what_it_cites_becomes_a_source() {
    let chat = ScriptedChat::new([Script::Say(vec!["Run python -m venv ", "in the project [1]", " and see [7]."])]);
    let agent = agent(json!({}), Some(chat.clone()), index(&PAGES));
    let mut pieces = String::new();
    let mut on_delta = |piece: &str| pieces.push_str(piece);
    let options = ChatOptions { on_delta: Some(&mut on_delta), ..ChatOptions::default() };
    let turn = run(agent.chat("How do I create a venv?", options)).unwrap();
    assert!(turn.reply.starts_with("Run python -m venv in the project [1]"), "{}", turn.reply);
    assert!(!turn.reply.contains("[7]"), "{}", turn.reply);
    assert_eq!(pieces, turn.reply);
    assert_eq!(turn.sources.iter().map(|source| source.n).collect::<Vec<_>>(), [1]);
    let usage = turn.usage.unwrap();
    assert!(usage.calls == 1 && usage.estimated && usage.prompt_tokens > 0, "{usage:?}");
    assert_eq!(chat.requests.borrow().len(), 1, "with `assist: local` the endpoint is called for generation only");
}

#[test]
fn every_failure_resolves_with_a_sentence_the_cause_and_the_local_answer() {
    let failures = [
        (Error::Timeout { phase: "first byte", after_ms: 10 }, FailureKind::Timeout, "timeout"),
        (Error::RateLimit { retry_after_ms: Some(2000) }, FailureKind::RateLimit, "rate_limit"),
        (Error::Network { message: "refused".into() }, FailureKind::Network, "network"),
        (Error::Auth { status: 401 }, FailureKind::Auth, "auth"),
        (Error::ContentFilter { message: "no".into() }, FailureKind::ContentFilter, "content_filter"),
        (Error::Endpoint { status: 500, body: "oops".into() }, FailureKind::Default, "endpoint"),
    ];
    for (question, page, sorry) in
        [("How do I create a python venv?", "Python venv", "Sorry"), ("怎么创建虚拟环境", "虚拟环境", "抱歉")]
    {
        for (error, kind, code) in failures.clone() {
            let chat = ScriptedChat::new([Script::Fail(vec![], error), Script::Say(vec!["fine [1]"])]);
            let agent = agent(json!({}), Some(chat), index(&PAGES));
            let turn = ask(&agent, question);
            assert_eq!(turn.intent, Intent::Error, "{turn:#?}");
            let failure = turn.error.as_ref().unwrap();
            assert_eq!((failure.kind, failure.code.as_str()), (kind, code));
            assert!(turn.reply.contains(sorry) && turn.reply.contains(page), "{}", turn.reply);
            assert!(!turn.sources.is_empty() && !turn.partial);
            if kind == FailureKind::RateLimit {
                assert_eq!(failure.retry_after_ms, Some(2000));
                assert!(turn.reply.contains('2'));
            }
            // The conversation is intact, and the next question works.
            assert_eq!(agent.history().len(), 2);
            let next = ask(&agent, question);
            assert!(next.error.is_none() && next.reply.starts_with("fine"), "{next:#?}");
        }
    }
}

#[test]
fn a_stream_that_breaks_keeps_what_arrived_marked_and_can_be_worked_on() {
    let broken = Error::Interrupted("the connection was closed".into());
    let chat = ScriptedChat::new([
        Script::Fail(vec!["Create it with ", "python -m venv"], broken),
        Script::Say(vec!["Simply: python -m venv"]),
    ]);
    let agent = agent(json!({}), Some(chat.clone()), index(&PAGES));
    let turn = ask(&agent, "How do I create a python venv?");
    assert!(turn.partial && turn.reply.starts_with("Create it with python -m venv"), "{}", turn.reply);
    assert_eq!(turn.error.as_ref().unwrap().kind, FailureKind::Interrupted);
    // What follow-ups work on is what had arrived, without the apology and the local answer below it.
    assert_eq!(last_generation(&agent), "Create it with python -m venv");
    let turn = ask(&agent, "simpler please");
    assert_eq!(turn.action, Action::FollowUp, "{turn:#?}");
    let prompt = format!("{:?}", chat.requests.borrow()[1].messages);
    assert!(prompt.contains("Create it with python -m venv"), "{prompt}");
}

/// The text that the next follow-up works on.
fn last_generation(agent: &TestAgent) -> String {
    let saved: serde_json::Value = serde_json::from_str(&agent.export()).unwrap();
    saved["memory"]["state"]["lastGeneration"]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_reply_that_breaks_off_in_code_leaves_no_code_block_open() {
    let broken = Error::Interrupted("the connection was closed".into());
    let chat = ScriptedChat::new([Script::Fail(vec!["Run:\n```sh\npython -m"], broken)]);
    let agent = agent(json!({}), Some(chat), index(&PAGES));
    let turn = ask(&agent, "How do I create a python venv?");
    assert!(turn.reply.starts_with("Run:\n```sh\npython -m\n```\n\n(The reply broke off"), "{}", turn.reply);
    assert_eq!(last_generation(&agent), "Run:\n```sh\npython -m");
}

#[test]
fn a_stop_keeps_what_had_arrived_without_an_apology() {
    let chat = ScriptedChat::new([Script::StopAfterFirst(vec!["Create it", " with python"])]);
    let agent = agent(json!({}), Some(chat), index(&PAGES));
    let options = ChatOptions { stop: StopSignal::default(), ..ChatOptions::default() };
    let turn = run(agent.chat("How do I create a python venv?", options)).unwrap();
    assert!(turn.partial && turn.reply.starts_with("Create it") && !turn.reply.contains("Sorry"), "{}", turn.reply);
    assert_eq!(turn.error.as_ref().unwrap().code, "cancelled");
}

#[test]
fn misuse_is_an_error_and_a_refused_message_a_reply() {
    let options =
        json!({"maxMessageChars": 20, "contentFilter": {"blockedQuestions": ["secret"], "blockedReplies": ["venv"]}});
    let agent = agent(options, None, index(&PAGES));
    let chat = |message: &str| run(agent.chat(message, ChatOptions::default()));
    assert!(matches!(chat(" \u{0}\u{200B} "), Err(Error::InvalidOption { .. })));
    let turn = chat(&"long ".repeat(10)).unwrap();
    assert_eq!(turn.reason, "too_long");
    let turn = chat("tell me the secret").unwrap();
    assert_eq!((turn.intent, turn.reason.as_str()), (Intent::Error, "content_filter"));
    assert_eq!(agent.history().len(), 0, "nothing of a refused message is remembered");
    let turn = chat("create a python venv").unwrap();
    assert_eq!(turn.error.as_ref().unwrap().kind, FailureKind::ContentFilter, "{turn:#?}");
    assert!(turn.sources.is_empty());
}

#[test]
fn a_second_turn_while_one_runs_is_busy_and_a_dropped_turn_frees_the_agent() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};
    struct Never;
    impl docent::agent::content_filter::ContentFilter for Never {
        fn before<'a>(&'a self, _: &'a str) -> docent::agent::content_filter::Judgment<'a> {
            Box::pin(std::future::pending())
        }
        fn after<'a>(&'a self, _: &'a str) -> docent::agent::content_filter::Judgment<'a> {
            Box::pin(std::future::pending())
        }
    }
    let agent = agent(json!({}), None, index(&PAGES));
    agent.set_content_filter(std::rc::Rc::new(Never));
    {
        let mut first = Box::pin(agent.chat("one", ChatOptions::default()));
        assert!(matches!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())), Poll::Pending));
        assert!(matches!(run(agent.chat("two", ChatOptions::default())), Err(Error::Busy)));
        assert!(matches!(agent.reset(), Err(Error::Busy)));
        assert!(matches!(agent.restore("{}"), Err(Error::Busy)));
        assert!(!agent.export().is_empty() && agent.history().is_empty());
    }
    assert!(!agent.is_busy());
    agent.reset().unwrap();
}

#[test]
fn with_assist_the_endpoint_rewrites_and_a_useless_reply_leaves_the_local_query() {
    let chat = ScriptedChat::new([
        Script::Say(vec!["First [1]"]),
        Script::Say(vec!["delete a python venv"]),
        Script::Say(vec!["Second [1]"]),
    ]);
    let agent = agent(json!({"assist": "llm"}), Some(chat.clone()), index(&PAGES));
    ask(&agent, "How do I create a python venv?");
    let turn = ask(&agent, "what about deleting it?");
    assert_eq!(turn.rewritten_query.as_deref(), Some("delete a python venv"), "{turn:#?}");
    let requests = chat.requests.borrow();
    assert_eq!((requests[1].max_tokens, requests[1].temperature), (256, 0.0));
}

#[test]
fn with_assist_the_endpoint_folds_what_is_due_and_a_useless_reply_leaves_the_local_summary() {
    for (reply, kept) in [
        ("The reader uses Python 3.12 on Windows and decided on venv.", "decided on venv"),
        ("ok", "Python 3.12 on Windows"),
    ] {
        let chat = ScriptedChat::default();
        let agent =
            agent(json!({"assist": "llm", "memory": {"maxHistoryTurns": 2}}), Some(chat.clone()), index(&PAGES));
        let long = "A virtual environment keeps the packages of a project apart from those of others. ".repeat(3);
        let messages: Vec<ChatMessage> = (0..2)
            .flat_map(|at| {
                let question = format!("We use Python 3.12 on Windows: how do I create venv {at}?");
                [ChatMessage::user(question), ChatMessage::assistant(long.clone())]
            })
            .collect();
        agent.load_history(&messages).unwrap();
        let leaked: &'static str = reply;
        // One call for the answer's query, one for the answer, one for the summary.
        chat.script.borrow_mut().extend([
            Script::Say(vec!["create a python venv"]),
            Script::Say(vec!["Run python -m venv [1]"]),
            Script::Say(vec![leaked]),
        ]);
        ask(&agent, "How do I create a python venv in the project?");
        let requests = chat.requests.borrow();
        let fold = requests.last().unwrap();
        assert_eq!((requests.len(), fold.max_tokens, fold.temperature, fold.stream), (3, 256, 0.0, false));
        let text = &fold.messages[1].content;
        assert!(text.contains("create venv 0") && !text.contains("in the project?"), "{text}");
        let saved: serde_json::Value = serde_json::from_str(&agent.export()).unwrap();
        let summary = saved["memory"]["summary"].as_str().unwrap();
        assert!(summary.contains(kept), "{reply}: {summary}");
    }
}

/// An embedding model that is always at work, or not there.
#[derive(Clone, Copy)]
struct SlowModel(Option<&'static str>);

impl EmbeddingModel for SlowModel {
    fn model_id(&self) -> Option<String> {
        self.0.map(str::to_owned)
    }

    async fn embed_query(&self, _: &str) -> docent::Result<Vec<f32>> {
        std::future::pending().await
    }

    fn count_tokens(&self, _: &str) -> Option<usize> {
        None
    }
}

/// Files that never arrive.
struct SlowFiles;

impl IndexFiles for SlowFiles {
    async fn text_shard(&self, _: u32) -> docent::Result<Vec<u8>> {
        std::future::pending().await
    }
}

#[test]
fn without_an_endpoint_a_stop_is_heeded_between_the_steps() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    for (question, sentence) in [("How do I create a venv?", "Stopped."), ("怎么创建虚拟环境", "已停止。")]
    {
        let agent = agent(json!({}), None, index(&PAGES));
        // Stopped before it began: nothing is searched, nothing is remembered as an answer.
        let stop = StopSignal::default();
        stop.stop();
        let turn = run(agent.chat(question, ChatOptions { stop, ..ChatOptions::default() })).unwrap();
        let failure = turn.error.as_ref().unwrap();
        assert_eq!((failure.kind, failure.code.as_str()), (FailureKind::Interrupted, "cancelled"), "{turn:#?}");
        assert_eq!((turn.intent, turn.reason.as_str(), turn.reply.as_str()), (Intent::Error, "stopped", sentence));
        assert!(turn.partial && turn.sources.is_empty() && turn.rewritten_query.is_none(), "{turn:#?}");
        assert!(turn.trace.steps.iter().all(|step| step.step != "retrieve"), "{:#?}", turn.trace);
        // The next question works.
        assert_eq!(ask(&agent, question).action, Action::AnswerDirectly);
        assert_eq!(agent.metrics().local_share, Some(1.0));
    }

    // Stopped while the model embeds, and while a file is fetched.
    for (model, index) in [(Some("slow"), index_with_vectors(&PAGES, "slow")), (None, index_without_texts(&PAGES))] {
        let hosts = Hosts {
            chat: None::<ScriptedChat>,
            embedding: SlowModel(model),
            files: SlowFiles,
            clock: StepClock::default(),
        };
        let agent = ConversationalAgent::new(AgentConfig::default(), hosts).unwrap();
        agent.set_index(index);
        let stop = StopSignal::default();
        let options = ChatOptions { stop: stop.clone(), ..ChatOptions::default() };
        let mut turn = Box::pin(agent.chat("How do I create a venv?", options));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(turn.as_mut().poll(&mut context), Poll::Pending), "{model:?}: it is at work");
        stop.stop();
        let Poll::Ready(Ok(turn)) = turn.as_mut().poll(&mut context) else {
            panic!("{model:?}: the stop is not heeded")
        };
        assert_eq!((turn.reason.as_str(), turn.reply.as_str()), ("stopped", "Stopped."), "{model:?}: {turn:#?}");
        assert_eq!(agent.history().len(), 2, "the conversation goes on");
    }
}
