//! Stand-alone questions in Chinese.
//!
//! As in English, a fragment ("那 Windows 呢？", "为什么？") is joined to the previous question, a pronoun ("它的组件") is
//! replaced by the topic, a comparison gets its other side, and a question of general words gets the topic in front. What
//! is general, the index says: words that stand on many of its pages tell none of them apart.

use super::super::entities::{self, Mention};
use super::super::follow_up::chinese_pronouns;
use super::super::lexicon::zh;
use super::super::phrases::{holds, normalize, strip};
use super::{Rewrite, Sources};
use crate::dialogue::EntityKind;
use crate::lowercase::lowercase;
use crate::order;
use crate::turn::is_han;

/// Longest message that can be a fragment, in characters.
const MAX_FRAGMENT_CHARS: usize = 20;
/// Longest answer whose names may become the topic, in characters: a longer one names many things.
const MAX_NAMING_ANSWER_CHARS: usize = 90;
/// Longest phrase that stands for the topic, in characters.
const MAX_PHRASE_CHARS: usize = 24;
/// Share of the largest inverse document frequency of the index below which a term is general, 0..=1.
const GENERAL_IDF: f32 = 0.62;

/// Rewrites a Chinese message; `None` where it stands alone.
pub(super) fn rewrite(message: &str, sources: &Sources<'_>) -> Option<Rewrite> {
    let own = entities::mentions(message, sources.vocabulary);
    fragment(message, &own, sources)
        .or_else(|| comparison(message, &own, sources))
        .or_else(|| pronoun(message, &own, sources))
        .or_else(|| general(message, &own, sources))
}

fn is_topic(kind: EntityKind) -> bool {
    matches!(kind, EntityKind::Name | EntityKind::Identifier | EntityKind::Language | EntityKind::Phrase)
}

/// The message without what introduces it: "那么，", "好的，", "请问".
fn without_lead(message: &str) -> &str {
    let mut text = message.trim();
    loop {
        let before = text;
        for lead in zh::LEADS.iter().copied() {
            if let Some(rest) = text.strip_prefix(lead) {
                let rest = rest.trim_start_matches(['，', ',', ' ', '、', '。', '！']);
                // "那个" is a pronoun and no lead.
                if !rest.is_empty() && !rest.starts_with(['个', '些', '点', '种', '边', '里']) {
                    text = rest;
                }
            }
        }
        if text == before {
            return text;
        }
    }
}

fn bare(text: &str) -> &str {
    text.trim().trim_end_matches(['？', '?', '。', '.', '！', '!', ' ', '～', '~'])
}

/// "那 Windows 呢？", "删除呢？", "为什么？"
fn fragment(message: &str, own: &[Mention], sources: &Sources<'_>) -> Option<Rewrite> {
    let previous = bare(sources.previous);
    if previous.is_empty() || message.chars().count() > MAX_FRAGMENT_CHARS {
        return None;
    }
    let text = bare(without_lead(message));
    let empty = |text: &str| strip(&normalize(text), &[&zh::EMPTY, &zh::FILLER]).is_empty();
    if empty(text) && chinese_pronouns(text).is_empty() && !text.is_empty() {
        return Some(Rewrite::new(format!("{previous}，{text}？"), vec![previous.to_owned()], "elliptic"));
    }
    let rest = text.strip_suffix('呢').map(str::trim_end)?;
    if !chinese_pronouns(rest).is_empty() || holds(rest, &["怎么", "什么", "如何", "哪", "多少", "几"]) {
        return None;
    }
    let rest = rest.trim_start_matches(['在', '对', '用', '和', '跟']);
    let rest =
        rest.trim_end_matches("的话").trim_end_matches('上').trim_end_matches('下').trim_end_matches('里').trim();
    let old = entities::mentions(previous, sources.vocabulary);
    if let Some(new) = own.first().filter(|new| new.text.len() + 3 >= rest.len()) {
        let same: Vec<&Mention> = old.iter().filter(|old| old.kind == new.kind).collect();
        if let [same] = same[..]
            && !same.text.eq_ignore_ascii_case(&new.text)
        {
            let text = format!("{}{}{}？", &previous[..same.start], new.text, &previous[same.end..]);
            return Some(Rewrite::new(text, vec![previous.to_owned()], "elliptic"));
        }
        let joint = if new.kind == EntityKind::Platform { " 上" } else { "，" };
        return Some(Rewrite::new(format!("{}{joint}{previous}？", new.text), vec![previous.to_owned()], "elliptic"));
    }
    let subject = topic(sources)?;
    Some(Rewrite::new(format!("{subject}，{rest}呢？"), vec![subject], "elliptic"))
}

/// "和 LangChain 比有什么优势？": one side is missing.
fn comparison(message: &str, own: &[Mention], sources: &Sources<'_>) -> Option<Rewrite> {
    let text = without_lead(message);
    let opens = ["和", "跟", "与", "比", "相比", "相较于", "对比"].iter().any(|front| text.starts_with(front));
    let compares =
        holds(text, &["比", "相比", "区别", "不同", "差别", "差异", "一样", "优势", "好在哪", "优缺点", "对比"]);
    let names: Vec<&Mention> = own.iter().filter(|mention| is_topic(mention.kind)).collect();
    if opens && compares && names.len() == 1 && chinese_pronouns(text).is_empty() {
        let subject = topic(sources).filter(|subject| !subject.eq_ignore_ascii_case(&names[0].text))?;
        return Some(Rewrite::new(format!("{subject} {text}"), vec![subject], "comparison"));
    }
    let chooses = holds(
        text,
        &["哪个更", "哪个好", "哪个快", "有什么区别", "区别是什么", "有何区别", "选哪个", "怎么选", "有什么不同"],
    );
    if chooses && names.is_empty() {
        let (a, b) = pair(sources)?;
        return Some(Rewrite::new(format!("{a} 和 {b} {text}"), vec![a, b], "comparison"));
    }
    None
}

/// Replaces the pronoun by what it stands for.
fn pronoun(message: &str, own: &[Mention], sources: &Sources<'_>) -> Option<Rewrite> {
    let found = chinese_pronouns(message);
    let (start, word) = *found.first()?;
    // A name in front of the pronoun is what it stands for.
    if own.iter().any(|mention| mention.end <= start && is_topic(mention.kind)) {
        return None;
    }
    let subject = match word {
        "前者" | "后者" => pair(sources).map(|(a, b)| if word == "前者" { a } else { b }),
        "两者" | "二者" | "这两个" | "那两个" => pair(sources).map(|(a, b)| format!("{a} 和 {b}")),
        _ => None,
    }
    .or_else(|| topic(sources))?;
    // "这里" alone means the page or the place; "它们" the topic; "这个选项" keeps its noun.
    let behind = &message[start + word.len()..];
    let space = |c: Option<char>| if c.is_some_and(|c| c.is_ascii_alphanumeric()) { " " } else { "" };
    let before = &message[..start];
    let gap_before =
        if subject.chars().next().is_some_and(|c| !is_han(c)) { space_han(before.chars().next_back()) } else { "" };
    let gap_behind = if subject.chars().next_back().is_some_and(|c| !is_han(c)) {
        space_han(behind.chars().next())
    } else {
        space(behind.chars().next())
    };
    // "其组件" needs a particle once the pronoun is a name.
    let particle = if matches!(word, "其" | "该") && !behind.starts_with('的') { "的" } else { "" };
    let text = format!("{before}{gap_before}{subject}{gap_behind}{particle}{behind}");
    Some(Rewrite::new(text, vec![subject], "pronoun"))
}

fn space_han(c: Option<char>) -> &'static str {
    if c.is_some_and(|c| is_han(c) || c.is_ascii_alphanumeric()) { " " } else { "" }
}

/// A question that names nothing of its own and whose words are general gets the topic in front.
fn general(message: &str, own: &[Mention], sources: &Sources<'_>) -> Option<Rewrite> {
    if own.iter().any(|mention| is_topic(mention.kind)) {
        return None;
    }
    let content = strip(&normalize(message), &[&zh::EMPTY, &zh::FILLER, &zh::PARTICLES, &zh::COURTESY, &zh::CHITCHAT]);
    let rest = strip(&content, &[&zh::GENERAL, &zh::EMPTY, &zh::FILLER]);
    let rest: Vec<&str> = rest.split(' ').filter(|run| run.chars().count() > 1).collect();
    let by_words = rest.is_empty();
    if !by_words && !content.split(' ').all(|run| is_general_run(run, sources)) {
        return None;
    }
    let subject = topic(sources)?;
    Some(Rewrite::new(format!("{subject}，{}", without_lead(message)), vec![subject], "general"))
}

/// Whether the index has each two-character piece of the run on many pages.
fn is_general_run(run: &str, sources: &Sources<'_>) -> bool {
    let chars: Vec<char> = run.chars().collect();
    if chars.len() < 2 {
        return true;
    }
    if !chars.iter().all(|c| is_han(*c)) {
        return sources.vocabulary.idf(run).is_some_and(|idf| idf < GENERAL_IDF * sources.vocabulary.max_idf());
    }
    let limit = GENERAL_IDF * sources.vocabulary.max_idf();
    chars.windows(2).all(|pair| {
        let piece: String = pair.iter().collect();
        // A piece that no page holds joins two words: it tells nothing.
        sources.vocabulary.idf(&piece).is_none_or(|idf| idf < limit)
    }) && sources.vocabulary.max_idf() > 0.0
}

/// What the conversation is about: a title of the index that the newest message names, else the phrase that the previous question is
/// about, else the last entity, else the title of the last search.
fn topic(sources: &Sources<'_>) -> Option<String> {
    for (text, is_answer) in &sources.messages {
        if *is_answer && text.chars().count() > MAX_NAMING_ANSWER_CHARS {
            continue;
        }
        let found = entities::mentions(text, sources.vocabulary);
        let titled = |mention: &&Mention| {
            mention.text.chars().any(is_han) && sources.vocabulary.is_title(&mention.text) && !is_place(text, mention)
        };
        if let Some(mention) = found.iter().find(titled) {
            return Some(mention.text.clone());
        }
    }
    // Of several names the previous question is about the first; the others it is compared with.
    let asked = entities::mentions(sources.previous, sources.vocabulary);
    let asked = asked.into_iter().find(|mention| is_topic(mention.kind)).map(|mention| mention.text);
    let noted = sources.entities.iter().rev().find(|entity| is_topic(entity.kind));
    let entity = asked.or_else(|| noted.map(|entity| entity.text.clone()));
    let phrase = phrase_of(sources.previous, sources);
    match (phrase, entity) {
        // The phrase says more than the name inside it: "Python 虚拟环境" and "Python".
        (Some(phrase), Some(entity)) if lowercase(&phrase).contains(&lowercase(&entity)) => Some(phrase),
        (Some(phrase), Some(entity)) => {
            let named = entities::mentions(&phrase, sources.vocabulary).iter().any(|mention| is_topic(mention.kind));
            Some(if named { phrase } else { entity })
        }
        (phrase, entity) => phrase.or(entity).or_else(|| sources.titles.first().cloned()),
    }
}

/// Whether the name only says where something is: "位于北京798艺术区".
fn is_place(text: &str, mention: &Mention) -> bool {
    let before = text[..mention.start].trim_end_matches(['北', '京', '市']);
    ["位于", "地处", "坐落于", "坐落在", "距", "距离", "离", "包含在", "就在"]
        .iter()
        .any(|front| before.ends_with(front))
}

/// The two things that the previous question set side by side.
fn pair(sources: &Sources<'_>) -> Option<(String, String)> {
    let asked = sources.messages.iter().filter(|(_, is_answer)| !is_answer).take(4);
    let answered = sources.messages.iter().filter(|(_, is_answer)| *is_answer).take(1);
    for (text, _) in asked.chain(answered) {
        let found: Vec<Mention> =
            entities::mentions(text, sources.vocabulary).into_iter().filter(|mention| is_topic(mention.kind)).collect();
        for two in found.windows(2) {
            let gap = text[two[0].end..two[1].start].trim();
            if matches!(
                gap,
                "和" | "跟" | "与" | "、" | "或" | "还是" | "或者" | "vs" | "VS" | "，" | "及" | "与其" | "比"
            ) {
                return Some((two[0].text.clone(), two[1].text.clone()));
            }
        }
    }
    None
}

/// What a question is about: what is left of it without question words and verbs, platforms left out.
pub(super) fn phrase_of(question: &str, sources: &Sources<'_>) -> Option<String> {
    if !question.chars().any(is_han) {
        return super::english::phrase_of(question);
    }
    // The last part asks; a part that is all question words asks about the part before it.
    let mut parts = bare(question).rsplit(['。', '！', '？', '!', '?', '\n', '，', ',']);
    parts.find_map(|part| phrase_of_part(part, sources))
}

fn phrase_of_part(part: &str, sources: &Sources<'_>) -> Option<String> {
    let mut text = format!(" {part} ");
    let mut cuts: Vec<&str> = zh::FRAME.to_vec();
    order::sort_by_key(&mut cuts, |cut| std::cmp::Reverse(cut.len()));
    for cut in cuts {
        text = text.replace(cut, "\u{0}");
    }
    let trimmed = |run: &str| {
        let run = run.trim().trim_start_matches(['的', '在', '把', '和', '用', '给', '里', '中', ' ', '“', '`']);
        run.trim_end_matches(['的', '了', '里', '中', '上', '下', '和', ' ', '”', '`']).trim().to_owned()
    };
    let platform = |run: &str| {
        let found = entities::mentions(run, sources.vocabulary);
        matches!(&found[..], [one] if one.kind == EntityKind::Platform && one.text.len() >= run.len())
    };
    let clear = |run: &String| {
        let han = run.chars().filter(|c| is_han(*c)).count();
        let latin = run.chars().filter(char::is_ascii_alphabetic).count();
        (han >= 2 || latin >= 2) && chinese_pronouns(run).is_empty() && !platform(run)
    };
    let runs: Vec<String> = text.split('\u{0}').map(trimmed).filter(clear).collect();
    let phrase = runs.join(" ");
    (!phrase.is_empty() && phrase.chars().count() <= MAX_PHRASE_CHARS).then_some(phrase)
}
