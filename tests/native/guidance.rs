//! The guidance: the worked example, the table of rules, hand-over and what comes after it.

use docent::turn::{Action, Turn};
use serde_json::json;

use super::support::{Page, TestAgent, ask, index, local_agent};

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
