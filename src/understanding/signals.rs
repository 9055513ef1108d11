//! Requests and moods that lie beside the question: leave, a person, a summary, yes, either, this does not help.
//!
//! Input: the message and the state. Output: [`Signals`]. Most signals count only when nothing else is said: "stop" leaves,
//! "how do I stop the server?" asks.

use serde::{Deserialize, Serialize};

use super::lexicon::{en, zh};
use super::phrases::{holds, normalize, strip};
use crate::dialogue::DialogueState;
use crate::turn::is_han;

/// What a message asks of the guidance itself, and how the reader feels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Signals {
    /// The last answers did not help: the confusion counter goes up by one.
    pub frustration: bool,
    /// Wants the conversation (not the last answer) summed up.
    pub wants_summary: bool,
    /// Wants to talk to a person.
    pub wants_human: bool,
    /// Leaves the guidance.
    pub exit: bool,
    /// Leaves a choice to the agent: "either", "随便".
    pub indifferent: bool,
    /// Agrees to what was offered: "yes", "好啊，要".
    pub affirmative: bool,
    /// Declines what was offered: "no thanks", "不用".
    pub negative: bool,
    /// Says that the question is settled: "thanks, that works", "解决了".
    pub satisfied: bool,
}

/// Longest message in which a whole-message signal is looked for, in characters; longer ones say something.
const MAX_SHORT_CHARS: usize = 60;

/// The signals of a message.
#[must_use]
pub fn read(message: &str, state: &DialogueState) -> Signals {
    let text = normalize(message);
    let short = text.chars().count() <= MAX_SHORT_CHARS;
    let alone = |english: &[&str], chinese: &[&str]| {
        short
            && (holds(&text, english) || holds(&text, chinese))
            && strip(&text, &[english, chinese, &en::COURTESY, &zh::COURTESY, &POLITE]).is_empty()
    };
    let asks = text.ends_with('?') || text.ends_with('吗') || text.ends_with('呢');
    let answered = state.last_generation.is_some() || state.turn_count > 0;
    let frustration = holds(&text, &en::FRUSTRATION)
        || holds(&text, &zh::FRUSTRATION)
        || answered && !asks && alone(&en::FRUSTRATION_ALONE, &zh::FRUSTRATION_ALONE) && state.offered.is_empty();
    let condense = holds(&text, &en::SUMMARY) || holds(&text, &zh::SUMMARY);
    let conversation = holds(&text, &en::CONVERSATION) || holds(&text, &zh::CONVERSATION);
    let wants_summary = condense
        && conversation
        && strip(
            &text,
            &[
                &en::SUMMARY,
                &en::CONVERSATION,
                &en::FILLER,
                &zh::SUMMARY,
                &zh::CONVERSATION,
                &zh::FILLER,
                &zh::COURTESY,
            ],
        )
        .is_empty()
        || holds(&text, &en::CONVERSATION_ALONE)
        || holds(&text, &zh::CONVERSATION_ALONE);
    Signals {
        frustration,
        wants_summary,
        wants_human: wants_human(&text),
        exit: alone(&en::EXIT, &zh::EXIT),
        indifferent: alone(&en::INDIFFERENT, &zh::INDIFFERENT),
        affirmative: !asks && alone(&en::AFFIRMATIVE, &zh::AFFIRMATIVE),
        negative: !frustration && alone(&en::NEGATIVE, &zh::NEGATIVE),
        satisfied: is_satisfied(&text) && !frustration,
    }
}

/// Words that are polite in front of or behind a signal.
const POLITE: [&str; 11] = ["please", "pls", "thanks", "thank you", "请", "谢谢", "吧", "好", "嗯", "麻烦", "嗯嗯"];

/// A person is wanted where the message says so and does not ask how such a thing is built: "how do I add live chat to my
/// site?" is a question about the product.
fn wants_human(text: &str) -> bool {
    let builds = [
        "add",
        "implement",
        "build",
        "embed",
        "integrate",
        "configure",
        "disable",
        "添加",
        "实现",
        "集成",
        "配置",
        "开发",
    ];
    if text == "人工" || text == "human" || text == "客服" || text == "agent please" {
        return true;
    }
    (holds(text, &en::HUMAN) || holds(text, &zh::HUMAN)) && !holds(text, &builds)
}

/// Thanks alone, or with a word that says it works; thanks in front of another question settle nothing.
fn is_satisfied(text: &str) -> bool {
    (holds(text, &en::SATISFIED) || holds(text, &zh::SATISFIED))
        && !text.contains('?')
        && !holds(text, &["but", "however", "still", "不过", "但是", "可是", "但", "还是"])
        && {
            let rest = strip(
                text,
                &[&en::SATISFIED, &en::CHITCHAT, &en::COURTESY, &zh::SATISFIED, &zh::CHITCHAT, &zh::COURTESY],
            );
            rest.chars().filter(|c| is_han(*c)).count() + rest.split(' ').filter(|word| word.is_ascii()).count() <= 3
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the signals that are set, in the order of the struct.
    fn check(message: &str, expected: &[&str]) {
        let state = DialogueState { turn_count: 1, ..DialogueState::new("s") };
        let value = serde_json::to_value(read(message, &state)).unwrap();
        let mut set: Vec<&str> = Vec::new();
        for name in
            ["frustration", "wantsSummary", "wantsHuman", "exit", "indifferent", "affirmative", "negative", "satisfied"]
        {
            if value[name] == true {
                set.push(name);
            }
        }
        assert_eq!(set, expected, "{message}");
    }

    #[test]
    fn signals_in_english() {
        check("exit", &["exit"]);
        check("How do I stop the server?", &[]);
        check("That doesn't help.", &["frustration"]);
        check("It still doesn't work, same error again", &["frustration"]);
        check("v-model doesn't work in my component", &[]);
        check("I'd like to talk to a human please", &["wantsHuman"]);
        check("How do I add live chat to my page?", &[]);
        check("Can you summarize our conversation so far?", &["wantsSummary"]);
        check("How do I summarize the conversation history with an LLM chain?", &[]);
        check("summarize", &[]);
        check("either is fine", &["indifferent"]);
        check("Is either option deprecated?", &[]);
        check("Yes, please!", &["affirmative"]);
        check("no thanks", &["negative", "satisfied"]);
        check("Thanks, that worked!", &["satisfied"]);
        check("Thanks, but how do I undo it?", &[]);
    }

    #[test]
    fn signals_in_chinese() {
        check("退出", &["exit"]);
        check("怎么退出虚拟环境？", &[]);
        check("还是不行啊", &["frustration"]);
        check("不对", &["frustration"]);
        check("数据不对怎么排查？", &[]);
        check("转人工", &["wantsHuman"]);
        check("人工智能课程在哪？", &[]);
        check("总结一下我们的对话", &["wantsSummary"]);
        check("总结一下", &[]);
        check("随便", &["indifferent"]);
        check("好啊，要", &["affirmative"]);
        check("不用了，谢谢", &["negative", "satisfied"]);
        check("解决了，谢谢！", &["satisfied"]);
    }
}
