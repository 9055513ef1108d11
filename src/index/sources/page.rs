//! What every reader of a source turns a file into: a page of blocks.

use crate::turn::Language;

/// A page, read and stripped of everything that is not its content.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// Path relative to the folder, with `/`; for an entry of `corpus.json` its id.
    pub path: String,
    /// Title.
    pub title: String,
    /// What the page says about itself.
    pub facts: PageFacts,
    /// The content, in order.
    pub blocks: Vec<Block>,
}

/// What a page says about itself, in front matter, in `<meta>` tags or in `corpus.json`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PageFacts {
    /// Title, before any heading of the page is looked at.
    pub title: Option<String>,
    /// Its id, where the source names one (`corpus.json`).
    pub id: Option<String>,
    /// Its address: absolute, or relative to the site's base.
    pub url: Option<String>,
    /// Tags and keywords.
    pub tags: Vec<String>,
    /// Version.
    pub version: Option<String>,
    /// Section or category.
    pub section: Option<String>,
    /// Date, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// Language tag, such as `zh-CN`.
    pub language: Option<String>,
    /// How authoritative it is, 0..=1.
    pub authority: Option<f32>,
    /// Factor on its score, 0.1..=10.
    pub boost: Option<f32>,
    /// Why it must stay out of the index, such as `a draft`.
    pub left_out: Option<&'static str>,
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// A heading.
    Heading {
        /// 1 (the title) to 6.
        level: u8,
        /// Its text, without markup.
        text: String,
        /// The anchor by which a link reaches it, without `#`.
        anchor: Option<String>,
    },
    /// A paragraph, a list (one line an item) or a quotation.
    Text(String),
    /// A block of code.
    Code {
        /// Language, empty where none is named.
        language: String,
        /// The code, without fences.
        code: String,
    },
    /// A table, as lines of Markdown.
    Table {
        /// The header and the line under it; empty where the table has no header.
        header: String,
        /// One line a row.
        rows: Vec<String>,
    },
}

impl Block {
    /// The block as readable Markdown.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        match self {
            Self::Heading { level, text, .. } => format!("{} {text}", "#".repeat(usize::from(*level))),
            Self::Text(text) => text.clone(),
            Self::Code { language, code } => fenced(language, code),
            Self::Table { header, rows } if header.is_empty() => rows.join("\n"),
            Self::Table { header, rows } => format!("{header}\n{}", rows.join("\n")),
        }
    }
}

/// Code between fences that are longer than any fence inside it.
#[must_use]
pub fn fenced(language: &str, code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}{language}\n{code}\n{fence}")
}

/// What languages a text is written in, judged by its characters.
///
/// Chinese where Han characters make up at least [`HAN_SHARE`] of the letters and no kana says Japanese; else the language
/// of the script where the script tells it (`ja`, `ko`, `ru`, `ar`, `th`, `he`, `hi`, `el`), else `en`.
#[must_use]
pub fn language_of(text: &str) -> &'static str {
    /// Documentation in Chinese is full of Latin identifiers; a fifth is far above what an English page with a Chinese
    /// name in it reaches.
    const HAN_SHARE: f32 = 0.2;
    let mut counts = [0_usize; 10];
    for c in text.chars() {
        let script = match c {
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => 0,
            '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' => 1,
            '\u{3040}'..='\u{30ff}' => 2,
            '\u{ac00}'..='\u{d7a3}' => 3,
            '\u{400}'..='\u{4ff}' => 4,
            '\u{600}'..='\u{6ff}' => 5,
            '\u{e00}'..='\u{e7f}' => 6,
            '\u{590}'..='\u{5ff}' => 7,
            '\u{900}'..='\u{97f}' => 8,
            '\u{370}'..='\u{3ff}' => 9,
            _ => continue,
        };
        counts[script] += 1;
    }
    // One Han character carries about as much as two Latin letters do.
    counts[1] *= 2;
    let total: usize = counts.iter().sum();
    #[expect(clippy::cast_precision_loss, reason = "shares of a page's letters")]
    let share = |count: usize| count as f32 / total.max(1) as f32;
    if share(counts[2]) > 0.1 {
        return "ja";
    }
    if share(counts[1]) >= HAN_SHARE {
        return "zh";
    }
    let names = ["en", "zh", "ja", "ko", "ru", "ar", "th", "he", "hi", "el"];
    (3..names.len()).find(|script| share(counts[*script]) > 0.3).map_or("en", |script| names[script])
}

/// The language of the agent that is nearest to a tag: Chinese for `zh…`, English for everything else.
#[must_use]
pub fn nearest_language(tag: &str) -> Language {
    if tag.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("zh")) {
        Language::Chinese
    } else {
        Language::English
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_by_their_characters() {
        for (text, expected) in [
            ("How to install Milvus", "en"),
            ("使用 Docker Compose 安装 Milvus standalone", "zh"),
            ("我们用 ref() 声明响应式状态。", "zh"),
            ("インストールの方法", "ja"),
            ("설치 방법", "ko"),
            ("Как установить", "ru"),
            ("The author is 王小明 and the project is called Vue.js, a progressive framework", "en"),
            ("", "en"),
        ] {
            assert_eq!(language_of(text), expected, "{text}");
        }
        assert_eq!(nearest_language("zh-CN"), Language::Chinese);
        assert_eq!(nearest_language("de"), Language::English);
    }

    #[test]
    fn fences_are_longer_than_those_inside() {
        assert_eq!(fenced("md", "```js\n1\n```"), "````md\n```js\n1\n```\n````");
        let table = Block::Table { header: "| a |\n| --- |".into(), rows: vec!["| 1 |".into()] };
        assert_eq!(table.to_markdown(), "| a |\n| --- |\n| 1 |");
    }
}
