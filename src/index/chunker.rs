//! Cutting a page into chunks: the units that are searched, embedded and quoted.
//!
//! Input: the blocks of a page and a [`TokenCounter`]. Output: chunks in order, each with its heading path, anchor and text.
//! Chunks follow the headings. Within a section, blocks are packed until the limit; a block of code stays with the text that
//! introduces it; a block that is too long by itself is cut where it hurts least: text between sentences, code between
//! lines, tables between rows, with the header repeated. A section of a few words joins the one before it.
//! **Invariant:** the text that is embedded ([`embedded_text`]) never has more tokens than the limit.

use crate::index::sources::page::{Block, fenced};
use crate::retrieval::document::Chunk;
use crate::turn::TokenCounter;

/// Sections of fewer tokens join their neighbor: alone they would be found by their heading and answer nothing.
const LEAST_TOKENS: usize = 16;
/// The heading line may take this part of the limit, 1/N; what is longer is cut at its front, where the general words are.
const HEADING_PART: usize = 3;
/// Tokens that joining two texts may add: a line break and a changed word at the seam.
const SEAM_TOKENS: usize = 2;

/// How chunks are made.
#[derive(Clone, Copy)]
pub struct ChunkOptions<'a> {
    /// Counts as the embedding model does.
    pub tokens: &'a (dyn TokenCounter + Sync),
    /// Most tokens of an embedded text: the model's limit without its special tokens and prefix.
    pub limit: usize,
}

/// Cuts a page. `document` is its index in the page table.
#[must_use]
pub fn cut(document: u32, title: &str, blocks: &[Block], options: ChunkOptions<'_>) -> Vec<Chunk> {
    let mut pieces: Vec<Piece> = Vec::new();
    for section in sections(blocks) {
        let room = room_for_text(title, &section.path, options);
        let cutter = Cutter { options, room };
        let texts = cutter.pack(section.blocks);
        let is_tiny = texts.len() == 1 && options.tokens.count(&texts[0]) < LEAST_TOKENS;
        if is_tiny && joins_last(&mut pieces, &section, &texts[0], title, options) {
            continue;
        }
        for text in texts {
            pieces.push(Piece { path: section.path.clone(), anchor: section.anchor.clone(), text });
        }
    }
    let number = |(ordinal, piece): (usize, Piece)| Chunk {
        document,
        ordinal: ordinal as u32,
        heading_path: piece.path,
        anchor: piece.anchor,
        text: piece.text,
    };
    pieces.into_iter().enumerate().map(number).collect()
}

/// The text that is embedded for a chunk: where it stands, then what it says. The model's own prefix comes before it.
#[must_use]
pub fn embedded_text(title: &str, chunk: &Chunk, options: ChunkOptions<'_>) -> String {
    let text: Vec<&str> = chunk.text.lines().filter(|line| !line.trim_start().starts_with("```")).collect();
    format!("{}\n{}", heading_line(title, &chunk.heading_path, options), text.join("\n"))
}

/// `Title > Heading > Subheading`, cut at its front to its part of the limit.
fn heading_line(title: &str, path: &[String], options: ChunkOptions<'_>) -> String {
    let most = options.limit / HEADING_PART;
    let mut parts: Vec<&str> = std::iter::once(title).chain(path.iter().map(String::as_str)).collect();
    loop {
        let line = parts.join(" > ");
        if options.tokens.count(&line) <= most {
            return line;
        }
        if parts.len() > 1 {
            parts.remove(0);
        } else {
            return longest_start(&line, most, options.tokens).to_owned();
        }
    }
}

fn room_for_text(title: &str, path: &[String], options: ChunkOptions<'_>) -> usize {
    let used = options.tokens.count(&heading_line(title, path, options));
    options.limit.saturating_sub(used + SEAM_TOKENS).max(1)
}

struct Piece {
    path: Vec<String>,
    anchor: Option<String>,
    text: String,
}

/// Joins a tiny section to the chunk before it when both hang under the same heading and the whole still fits.
fn joins_last(pieces: &mut [Piece], section: &Section<'_>, text: &str, title: &str, options: ChunkOptions<'_>) -> bool {
    let Some((heading, parents)) = section.path.split_last() else { return false };
    let Some(last) = pieces.last_mut() else { return false };
    // Below the same heading: a sibling of the last section, or its first child.
    if !(last.path == parents
        || last.path.split_last().is_some_and(|(_, others)| others == parents && !parents.is_empty()))
    {
        return false;
    }
    let joined = format!("{}\n\n{heading}\n{text}", last.text);
    let fits = options.tokens.count(&joined) <= room_for_text(title, &last.path, options);
    if fits {
        last.text = joined;
    }
    fits
}

/// The blocks under one heading.
struct Section<'a> {
    path: Vec<String>,
    anchor: Option<String>,
    blocks: &'a [Block],
}

fn sections(blocks: &[Block]) -> Vec<Section<'_>> {
    let mut sections = Vec::new();
    let mut open: Vec<(u8, String)> = Vec::new();
    let mut anchor: Option<String> = None;
    let mut start = 0;
    for (at, block) in blocks.iter().enumerate() {
        let Block::Heading { level, text, anchor: own } = block else { continue };
        push_section(&mut sections, &open, anchor.as_ref(), &blocks[start..at]);
        open.retain(|(other, _)| other < level);
        open.push((*level, text.clone()));
        // A heading without an anchor is reached through the one above it.
        anchor = own.clone().or(anchor);
        start = at + 1;
    }
    push_section(&mut sections, &open, anchor.as_ref(), &blocks[start..]);
    sections
}

fn push_section<'a>(
    sections: &mut Vec<Section<'a>>,
    open: &[(u8, String)],
    anchor: Option<&String>,
    blocks: &'a [Block],
) {
    if !blocks.is_empty() {
        let path = open.iter().map(|(_, text)| text.clone()).collect();
        sections.push(Section { path, anchor: anchor.cloned(), blocks });
    }
}

struct Cutter<'a> {
    options: ChunkOptions<'a>,
    /// Tokens that a chunk's text may have.
    room: usize,
}

impl Cutter<'_> {
    fn count(&self, text: &str) -> usize {
        self.options.tokens.count(text)
    }

    /// Packs the blocks of a section into texts that fit.
    fn pack(&self, blocks: &[Block]) -> Vec<String> {
        // Pages made for several languages or systems repeat a sentence after each of their tabs.
        let is_new = |(at, block): &(usize, &Block)| !matches!(block, Block::Text(_)) || !blocks[..*at].contains(block);
        let blocks = blocks.iter().enumerate().filter(is_new).map(|(_, block)| block);
        let parts: Vec<(String, bool)> = blocks.flat_map(|block| self.fitting(block)).collect();
        let sizes: Vec<usize> = parts.iter().map(|(text, _)| self.count(text) + SEAM_TOKENS).collect();
        let total: usize = sizes.iter().sum();
        // Equal shares instead of full chunks and a small rest.
        let shares = total.div_ceil(self.room).max(1);
        let target = (total / shares + total / shares / 4).min(self.room);
        let mut texts: Vec<String> = Vec::new();
        let mut current = String::new();
        let mut size = 0;
        for (at, (part, _)) in parts.iter().enumerate() {
            // A text that introduces code opens a new chunk when only both together fit into one.
            let next_is_code = parts.get(at + 1).is_some_and(|(_, code)| *code);
            let with_next = sizes[at] + sizes.get(at + 1).copied().unwrap_or(0);
            let keeps_with_next =
                next_is_code && !parts[at].1 && with_next <= self.room && size + with_next > self.room;
            let over = size + sizes[at] > if size >= target / 2 { target.max(sizes[at]) } else { self.room };
            let code_stays = parts[at].1 && at > 0 && !parts[at - 1].1 && size + sizes[at] <= self.room;
            if !current.is_empty() && ((over && !code_stays) || keeps_with_next) {
                texts.push(std::mem::take(&mut current));
                size = 0;
            }
            if !current.is_empty() {
                current.push_str("\n\n");
            }
            current.push_str(part);
            size += sizes[at];
        }
        if !current.is_empty() {
            texts.push(current);
        }
        // Sizes were added up; what the tokenizer makes of the whole is what counts.
        texts
            .into_iter()
            .flat_map(|text| if self.count(&text) <= self.room { vec![text] } else { self.halves(&text) })
            .collect()
    }

    /// The block in parts that fit; the flag says whether a part is code.
    fn fitting(&self, block: &Block) -> Vec<(String, bool)> {
        let is_code = matches!(block, Block::Code { .. });
        let whole = block.to_markdown();
        if self.count(&whole) <= self.room {
            return vec![(whole, is_code)];
        }
        let parts = match block {
            Block::Code { language, code } => self.cut_code(language, code),
            Block::Table { header, rows } => self.cut_table(header, rows),
            Block::Text(text) | Block::Heading { text, .. } => self.cut_text(text),
        };
        parts.into_iter().map(|part| (part, is_code)).collect()
    }

    fn cut_code(&self, language: &str, code: &str) -> Vec<String> {
        let fences = self.count(&fenced(language, ""));
        let room = self.room.saturating_sub(fences + SEAM_TOKENS).max(1);
        let lines = code.lines().flat_map(|line| self.cut_line(line, room));
        self.fill(lines, "\n", room).into_iter().map(|part| fenced(language, &part)).collect()
    }

    fn cut_table(&self, header: &str, rows: &[String]) -> Vec<String> {
        // A header that takes half of the room would leave none for rows.
        let header = if self.count(header) * 2 > self.room { "" } else { header };
        let room = self.room.saturating_sub(self.count(header) + SEAM_TOKENS).max(1);
        let rows = rows.iter().flat_map(|row| self.cut_line(row, room));
        let with_header = |part: String| if header.is_empty() { part } else { format!("{header}\n{part}") };
        self.fill(rows, "\n", room).into_iter().map(with_header).collect()
    }

    fn cut_text(&self, text: &str) -> Vec<String> {
        let mut pieces: Vec<String> = Vec::new();
        for line in text.lines() {
            for (n, sentence) in sentences(line).into_iter().enumerate() {
                // The mark tells a new line from a sentence that continues one.
                let mark = if n == 0 { "\n" } else { "" };
                pieces.extend(self.cut_line(sentence, self.room).into_iter().map(|piece| format!("{mark}{piece}")));
            }
        }
        self.fill(pieces.into_iter(), "", self.room).into_iter().map(|part| part.trim().to_owned()).collect()
    }

    /// A line in parts that fit, cut between words where there are any.
    fn cut_line(&self, line: &str, room: usize) -> Vec<String> {
        let mut parts = Vec::new();
        let mut rest = line;
        while self.count(rest) > room {
            let start = longest_start(rest, room, self.options.tokens);
            parts.push(start.to_owned());
            rest = &rest[start.len()..];
        }
        parts.push(rest.to_owned());
        parts
    }

    /// Joins pieces, each of which fits, while they fit together; none of what comes out is blank.
    fn fill(&self, pieces: impl Iterator<Item = String>, separator: &str, room: usize) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        let mut sizes: Vec<usize> = Vec::new();
        for piece in pieces {
            let size = self.count(&piece);
            match (parts.last_mut(), sizes.last_mut()) {
                (Some(last), Some(used)) if *used + size < room => {
                    last.push_str(separator);
                    last.push_str(&piece);
                    *used += size + usize::from(!separator.is_empty());
                }
                _ => {
                    parts.push(piece);
                    sizes.push(size);
                }
            }
        }
        parts.retain(|part| !part.trim().is_empty());
        parts
    }

    /// A text that came out too long after all, cut in two until it fits.
    fn halves(&self, text: &str) -> Vec<String> {
        let middle = text.len() / 2;
        let at = text
            .char_indices()
            .map(|(at, _)| at)
            .filter(|at| text[*at..].starts_with('\n'))
            .min_by_key(|at| at.abs_diff(middle));
        match at.filter(|at| *at > 0) {
            Some(at) if self.count(text) > self.room => {
                let (a, b) = text.split_at(at);
                [a.trim(), b.trim()]
                    .into_iter()
                    .filter(|half| !half.is_empty())
                    .flat_map(|half| self.halves(half))
                    .collect()
            }
            _ => self.cut_line(text, self.room),
        }
    }
}

/// The longest start of `text` of at most `most` tokens, at least one character, ending after a word where there is one.
fn longest_start<'a>(text: &'a str, most: usize, tokens: &dyn TokenCounter) -> &'a str {
    let ends: Vec<usize> = text.char_indices().skip(1).map(|(at, _)| at).chain([text.len()]).collect();
    // A start with more characters has at least as many tokens, near enough for a search.
    let (mut low, mut high) = (0, ends.len());
    while low + 1 < high {
        let middle = low.midpoint(high);
        if tokens.count(&text[..ends[middle]]) <= most { low = middle } else { high = middle }
    }
    let start = &text[..ends.get(low).copied().unwrap_or(text.len())];
    if start.len() == text.len() {
        return start;
    }
    let after_space = start.rfind(char::is_whitespace).map(|at| at + 1);
    match after_space {
        Some(at) if at * 2 > start.len() && start.is_char_boundary(at) => &start[..at],
        _ => start,
    }
}

/// The sentences of a line, each with the white space after it. Chinese sentences end at `。！？；`, English ones at `.!?`
/// before a space and something that starts a sentence.
fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let chars: Vec<(usize, char)> = line.char_indices().collect();
    for (n, (at, c)) in chars.iter().enumerate() {
        let next = chars.get(n + 1).map(|(_, c)| *c);
        let ends = match c {
            '。' | '！' | '？' | '；' => !next.is_some_and(|c| "”’」』）。！？；".contains(c)),
            '”' | '」' | '』' | '）' => n > 0 && "。！？".contains(chars[n - 1].1),
            '!' | '?' => next == Some(' '),
            '.' => {
                let starts = chars.get(n + 2).map(|(_, c)| *c);
                next == Some(' ')
                    && starts.is_none_or(|c| c.is_uppercase() || !c.is_alphanumeric() || (c as u32) > 0x2e80)
            }
            _ => false,
        };
        if ends {
            let mut end = at + c.len_utf8();
            end += line[end..].len() - line[end..].trim_start_matches(' ').len();
            sentences.push(&line[start..end]);
            start = end;
        }
    }
    if start < line.len() {
        sentences.push(&line[start..]);
    }
    sentences
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words and Chinese characters, as a rough tokenizer counts.
    struct Words;

    impl TokenCounter for Words {
        fn count(&self, text: &str) -> usize {
            text.split_whitespace()
                .map(|word| {
                    let wide = word.chars().filter(|c| (*c as u32) > 0x2e80).count();
                    wide + (word.chars().count() - wide).div_ceil(6)
                })
                .sum()
        }
    }

    fn options(limit: usize) -> ChunkOptions<'static> {
        ChunkOptions { tokens: &Words, limit }
    }

    fn heading(level: u8, text: &str) -> Block {
        Block::Heading { level, text: text.into(), anchor: Some(text.to_lowercase()) }
    }

    fn text(text: &str) -> Block {
        Block::Text(text.into())
    }

    fn words(count: usize) -> String {
        (0..count).map(|n| format!("word{}", n % 10)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn chunks_follow_headings_and_know_their_place() {
        let blocks = [
            text(&words(20)),
            heading(2, "Install"),
            text(&words(20)),
            heading(3, "Linux"),
            text(&words(20)),
            heading(2, "Use"),
            text(&words(20)),
        ];
        let chunks = cut(3, "Guide", &blocks, options(100));
        let places: Vec<(String, Option<&str>)> =
            chunks.iter().map(|chunk| (chunk.heading_path.join("/"), chunk.anchor.as_deref())).collect();
        assert_eq!(
            places,
            [
                (String::new(), None),
                ("Install".into(), Some("install")),
                ("Install/Linux".into(), Some("linux")),
                ("Use".into(), Some("use"))
            ]
        );
        assert!(chunks.iter().enumerate().all(|(n, chunk)| chunk.document == 3 && chunk.ordinal == n as u32));
    }

    #[test]
    fn tiny_sections_join_their_neighbor() {
        let blocks = [heading(2, "A"), text(&words(20)), heading(3, "B"), text("Two words.")];
        let chunks = cut(0, "Guide", &blocks, options(100));
        assert_eq!(chunks.len(), 1);
        assert!(chunks[0].text.ends_with("\n\nB\nTwo words."), "{}", chunks[0].text);
    }

    #[test]
    fn code_stays_with_the_text_before_it() {
        let code = Block::Code { language: "sh".into(), code: words(30) };
        let blocks = [text(&words(55)), text("Run this:"), code];
        let chunks = cut(0, "G", &blocks, options(80));
        assert_eq!(chunks.len(), 2);
        assert!(chunks[1].text.starts_with("Run this:\n\n```sh\n"), "{}", chunks[1].text);
    }

    #[test]
    fn tables_repeat_their_header_and_code_its_fences() {
        let table = Block::Table {
            header: "| name | meaning |\n| --- | --- |".into(),
            rows: (0..40).map(|n| format!("| row{n} | some words here |")).collect(),
        };
        let chunks = cut(0, "G", &[table], options(60));
        assert!(chunks.len() > 2);
        assert!(chunks.iter().all(|chunk| chunk.text.starts_with("| name | meaning |\n| --- | --- |\n| row")));
        let blank = Block::Table {
            header: "| a | b |\n| --- | --- |".into(),
            rows: vec![" ".into(), "a a a a | | a a | a a |".into()],
        };
        let chunks = cut(0, "a a a a a a aaaaaaa", &[blank], options(24));
        assert!(chunks.iter().all(|chunk| !chunk.text.trim().is_empty()), "{chunks:?}");
        let code =
            Block::Code { language: "js".into(), code: (0..60).map(|n| format!("line {n} of code\n")).collect() };
        let chunks = cut(0, "G", &[code], options(60));
        assert!(chunks.len() > 2);
        assert!(chunks.iter().all(|chunk| chunk.text.starts_with("```js\nline ") && chunk.text.ends_with("\n```")));
    }

    #[test]
    fn long_chinese_text_is_cut_between_sentences() {
        let long = "安装前请确认系统满足要求。然后运行安装命令！完成了吗？".repeat(8);
        let chunks = cut(0, "指南", &[text(&long)], options(60));
        assert!(chunks.len() > 3);
        assert!(chunks.iter().all(|chunk| chunk.text.ends_with(['。', '！', '？'])), "{chunks:?}");
        let joined: String = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        assert_eq!(joined, long);
    }

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        let check = |line, expected: &[&str]| assert_eq!(sentences(line), expected);
        check("One. Two! e.g. three? 4 done", &["One. ", "Two! ", "e.g. three? ", "4 done"]);
        check("第一句。“第二句。”第三句", &["第一句。", "“第二句。”", "第三句"]);
        check("v1.2.3 is out. 安装它。", &["v1.2.3 is out. ", "安装它。"]);
        check("", &[]);
    }

    #[test]
    fn the_embedded_text_says_where_it_stands_and_has_no_fences() {
        let chunk =
            Chunk { heading_path: vec!["Install".into()], text: "Run:\n\n```sh\nmake\n```".into(), ..Chunk::default() };
        assert_eq!(embedded_text("Guide", &chunk, options(100)), "Guide > Install\nRun:\n\nmake");
        let long = heading_line(&words(80), &["Install".into()], options(60));
        assert_eq!(long, "Install");
    }

    fn any_block() -> impl Strategy<Value = Block> {
        prop_oneof![
            (1u8..=6, "[a-z安装]{0,12}").prop_map(|(level, text)| Block::Heading { level, text, anchor: None }),
            "([a-zA-Z安装。]{1,14}[ .。\n]?){0,80}".prop_map(Block::Text),
            "([a-z=(){}`]{0,30}\n?){0,40}".prop_map(|code| Block::Code { language: "js".into(), code }),
            proptest::collection::vec("[a-z| ]{0,80}", 0..20)
                .prop_map(|rows| Block::Table { header: "| a | b |\n| --- | --- |".into(), rows }),
        ]
    }

    proptest! {
        #[test]
        fn no_embedded_text_exceeds_the_limit(
            blocks in proptest::collection::vec(any_block(), 0..12),
            limit in 24usize..120,
            title in "[a-z ]{0,200}",
        ) {
            let options = options(limit);
            for chunk in cut(0, &title, &blocks, options) {
                let text = embedded_text(&title, &chunk, options);
                prop_assert!(Words.count(&text) <= limit, "{} > {limit}: {text}", Words.count(&text));
                prop_assert!(!chunk.text.trim().is_empty());
            }
        }
    }
}
