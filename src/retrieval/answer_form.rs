//! Whether a passage has the form of an answer, beside whether it has the words.
//!
//! Documentation answers many full questions on pages of questions and answers, in passages that repeat little of the
//! question ("Yes. Kafka is supported."), so that neither leg sees more in them than in a page that uses the words.
//! Input: a question, a title, a passage. Output: yes or no for each form.
//! **Invariant:** only the question's form and the passage's form are compared; no topic is known here.

use crate::retrieval::analyzer::fold;

/// Words that open an English question.
const OPENERS: &[&str] = &["how", "what", "why", "when", "where", "which", "who", "whose"];

/// Words that open an English question that wants a yes or a no.
const VERDICT_OPENERS: &[&str] = &[
    "is", "are", "was", "were", "does", "do", "did", "can", "could", "will", "would", "has", "have", "should", "must",
];

/// What makes a Chinese sentence a question.
const CHINESE_OPENERS: &[&str] = &["如何", "怎么", "怎样", "什么", "为什么", "为何", "哪", "几个", "多少"];

/// What makes a Chinese sentence a question that wants a yes or a no.
const CHINESE_VERDICTS: &[&str] = &["是否", "能否", "可否", "吗", "能不能", "是不是", "可不可以", "会不会", "有没有"];

/// How an English answer to such a question begins.
const ENGLISH_ANSWERS: &[&str] = &["yes", "no", "currently", "not"];

/// How a Chinese answer to such a question begins.
const CHINESE_ANSWERS: &[&str] =
    &["是的", "不是", "支持", "不支持", "可以", "不可以", "不能", "不会", "会", "不需要", "需要", "目前", "没有", "否"];

/// What pages of questions and answers are called, folded.
const QUESTION_PAGES: &[&str] =
    &["faq", "frequently asked", "q&a", "questions and answers", "常见问题", "问答", "答疑"];

/// The form of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuestionForm {
    /// It is a full question, not a few keywords.
    pub is_question: bool,
    /// It wants a yes or a no.
    pub wants_verdict: bool,
}

impl QuestionForm {
    /// The form of a query.
    #[must_use]
    pub fn of(query: &str) -> Self {
        let folded = fold(query.trim());
        let first = folded.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()).unwrap_or("");
        let ends = folded.trim_end().ends_with(['?', '？']);
        let holds = |words: &[&str]| words.iter().any(|word| folded.contains(word));
        let wants_verdict = VERDICT_OPENERS.contains(&first) || holds(CHINESE_VERDICTS);
        let is_question = ends || wants_verdict || OPENERS.contains(&first) || holds(CHINESE_OPENERS);
        Self { is_question, wants_verdict }
    }
}

/// Whether a title or heading names a page of questions and answers.
#[must_use]
pub fn names_question_page(title: &str) -> bool {
    let folded = fold(title);
    QUESTION_PAGES.iter().any(|name| {
        folded.match_indices(name).any(|(at, _)| {
            // `faq` and `faqs`, not a word that happens to hold the letters.
            let before = folded[..at].chars().next_back();
            let rest = &folded[at + name.len()..];
            let after = rest.strip_prefix('s').unwrap_or(rest).chars().next();
            let joins = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
            !name.is_ascii() || !joins(before) && !joins(after)
        })
    })
}

/// Whether a passage begins as the answer to a question that wants a yes or a no.
#[must_use]
pub fn gives_verdict(text: &str) -> bool {
    let start = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let end = start.char_indices().nth(16).map_or(start.len(), |(at, _)| at);
    let folded = fold(&start[..end]);
    let first = folded.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
    ENGLISH_ANSWERS.contains(&first) || CHINESE_ANSWERS.iter().any(|answer| folded.starts_with(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_question_is_seen_in_both_languages() {
        let check = |query: &str, is_question, wants_verdict| {
            assert_eq!(QuestionForm::of(query), QuestionForm { is_question, wants_verdict }, "{query}");
        };
        check("Does Milvus support Kafka?", true, true);
        check("how to install", true, false);
        check("install docker compose", false, false);
        check("island hopping", false, false);
        check("TiDB 是否支持外键", true, true);
        check("如何重置任务？", true, false);
        check("安装包", false, false);
        check("", false, false);
    }

    #[test]
    fn question_pages_are_known_by_their_names() {
        for title in ["Operational FAQ", "FAQs", "Frequently asked questions", "备份与恢复常见问题"] {
            assert!(names_question_page(title), "{title}");
        }
        for title in ["Install", "faqir", "部署", ""] {
            assert!(!names_question_page(title), "{title}");
        }
    }

    #[test]
    fn answers_begin_with_a_verdict() {
        for text in ["Yes. Kafka is supported.", "**No**, you cannot.", "不支持。", "可以，见下文"] {
            assert!(gives_verdict(text), "{text}");
        }
        for text in ["Nothing else matters.", "Install it.", "安装后可以使用", ""] {
            assert!(!gives_verdict(text), "{text}");
        }
    }
}
