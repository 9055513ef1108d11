//! Words that carry the form of a question and not its topic.
//!
//! They are left out of the body's postings (titles and headings keep them) and weigh nothing in a query, unless the
//! query holds nothing else. **Invariant:** the lists are sorted; a test holds that.

/// English: function words and the frame of a question; folded, not stemmed.
const ENGLISH: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "aren", "as", "at", "be", "because", "been",
    "being", "but", "by", "can", "could", "couldn", "d", "did", "didn", "do", "does", "doesn", "doing", "don", "for",
    "from", "had", "hadn", "has", "hasn", "have", "haven", "he", "her", "here", "him", "his", "how", "i", "if", "im",
    "in", "into", "is", "isn", "it", "its", "ive", "just", "ll", "m", "may", "me", "might", "must", "my", "of", "on",
    "or", "our", "please", "re", "s", "shall", "she", "should", "shouldn", "so", "some", "such", "t", "than", "that",
    "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "too", "us", "ve", "very", "was",
    "wasn", "we", "were", "weren", "what", "when", "where", "which", "while", "who", "whom", "whose", "why", "will",
    "with", "would", "wouldn", "you", "your",
];

/// Chinese: question frames and particles, as words and as the pairs that the bigrams make of them.
const CHINESE: &[&str] = &[
    "一下",
    "一个",
    "一些",
    "为什",
    "为什么",
    "为何",
    "么办",
    "么样",
    "什么",
    "什么样",
    "他们",
    "以及",
    "你们",
    "关于",
    "其他",
    "几个",
    "可以",
    "可否",
    "吗",
    "呢",
    "哪个",
    "哪些",
    "哪种",
    "哪里",
    "因为",
    "在哪",
    "如何",
    "如果",
    "它们",
    "它的",
    "应该",
    "怎么",
    "怎么办",
    "怎么样",
    "怎样",
    "想要",
    "我们",
    "所以",
    "是不",
    "是不是",
    "是什",
    "是什么",
    "是否",
    "有什",
    "有什么",
    "有哪",
    "有哪些",
    "有没",
    "有没有",
    "没有",
    "的",
    "能不",
    "能不能",
    "能否",
    "还是",
    "这个",
    "这些",
    "这样",
    "那个",
    "那么",
    "那些",
    "需要",
];

/// Whether a pair of characters reaches into a question's frame: 怎 and 么 only occur in words like 怎么 and 什么, so that
/// "境怎" and "么用" of "虚拟环境怎么用" are no words.
fn is_frame_pair(term: &str) -> bool {
    term.contains(['怎', '么']) && term.chars().count() == 2
}

/// Whether `term`, folded and not stemmed, is a stopword.
#[must_use]
pub fn is_stopword(term: &str) -> bool {
    let list = if term.is_ascii() { ENGLISH } else { CHINESE };
    list.binary_search(&term).is_ok() || is_frame_pair(term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted() {
        assert!(ENGLISH.is_sorted());
        let mut sorted = CHINESE.to_vec();
        sorted.sort_unstable();
        assert_eq!(sorted, CHINESE);
    }

    #[test]
    fn the_frame_of_a_question_is_known_and_its_topic_is_not() {
        for word in ["how", "the", "怎么", "如何", "什么"] {
            assert!(is_stopword(word), "{word}");
        }
        for word in ["install", "venv", "安装", "not", "without"] {
            assert!(!is_stopword(word), "{word}");
        }
    }
}
