//! Checks a reply's citations and links while it streams.
//!
//! Input: the reply in pieces and the passages that the model was given; output: the reply with citations that exist, in
//! the one form `[n]`, and with links that lead to the given passages and nowhere else.
//!
//! | in the reply | becomes |
//! |---|---|
//! | `[2]`, `[1, 2]`, `[1-3]`, `【1】`, `[^1]` | `[2]`, `[1][2]`, `[1][2][3]`, `[1]`, `[1]`; numbers that do not exist go |
//! | `[text](address of a given passage)` | stays, with that passage's own deep link |
//! | `[text](any other address)` | `text` |
//! | `![text](…)` | `text`: an image would fetch its address by itself |
//! | an address in the text that a given passage has or names | stays; one that it only names as code, which is no link |
//! | any other address in the text | `(link removed)` / `（链接已移除）` |
//! | code in backticks or fences | stays as it is |
//!
//! **Invariant:** what comes out does not depend on where the reply was cut.

use std::rc::Rc;

use crate::turn::{Language, Passage};

/// Longest bracket, code span or address that is waited for, in bytes. Beyond it the text is taken as it stands.
const LONGEST_HELD: usize = 1024;
/// Widest range of a citation such as `[1-3]`.
const WIDEST_RANGE: usize = 20;
/// What begins an address, in lower case. `www.` too: Markdown renderers make links of it.
const ADDRESS_STARTS: &[&str] = &["https://", "http://", "ftp://", "www.", "mailto:"];

/// What the given passages allow.
#[derive(Debug, Clone)]
struct Allowed {
    count: usize,
    /// Deep links of the passages, in their order.
    urls: Vec<String>,
    /// Their texts, for addresses that a passage names.
    texts: Vec<String>,
}

impl Allowed {
    /// The deep link that `address` stands for, if a passage has it.
    fn link(&self, address: &str) -> Option<&str> {
        let exact = self.urls.iter().find(|url| *url == address);
        let same_page =
            || self.urls.iter().find(|url| page_of(url) == page_of(address) && !page_of(address).is_empty());
        let by_path = || {
            // A path without a host: the page's address ends with it.
            let page = page_of(address);
            let relative = page.starts_with('/') && !page.starts_with("//") && page.len() > 1;
            self.urls.iter().find(|url| relative && path_of(page_of(url)) == page)
        };
        exact.or_else(same_page).or_else(by_path).map(String::as_str)
    }

    /// Whether a passage's text holds the address as a whole.
    fn names(&self, address: &str) -> bool {
        self.texts.iter().any(|text| {
            text.match_indices(address).any(|(at, _)| {
                let next = text[at + address.len()..].chars().next();
                next.is_none_or(|c| !c.is_ascii_alphanumeric() && !matches!(c, '/' | '-' | '_'))
            })
        })
    }
}

/// An address without fragment, `index.html`, `.html` and the slash at its end.
fn page_of(address: &str) -> &str {
    let page = address.split('#').next().unwrap_or("");
    let page = page.strip_suffix("index.html").unwrap_or(page);
    let page = page.strip_suffix(".html").unwrap_or(page);
    page.trim_end_matches('/')
}

/// The path of an absolute address.
fn path_of(address: &str) -> &str {
    let after = address.split_once("://").map_or(address, |(_, after)| after);
    if after.len() == address.len() {
        return address;
    }
    after.find('/').map_or("", |at| &after[at..])
}

/// What was found in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Citations {
    /// Numbers of the passages that the reply cites, each once, ascending.
    pub used: Vec<usize>,
    /// Citations that do not exist and were removed.
    pub removed: usize,
    /// Links and addresses that were removed.
    pub links_removed: usize,
}

/// A reply on its way to the reader.
#[derive(Debug, Clone)]
pub struct CitationFilter {
    allowed: Rc<Allowed>,
    language: Language,
    /// What is not decided yet.
    held: String,
    /// White space before what comes next; it goes with a citation that is removed.
    spaces: String,
    /// The last character that was given out or is pending.
    previous: Option<char>,
    /// Whether the line holds nothing but white space so far.
    line_blank: bool,
    /// Whether the line holds nothing but white space and the marks of lists and quotations so far.
    line_marks_only: bool,
    /// Drops white space behind a citation that was removed from the start of a line.
    drop_spaces: bool,
    /// Inside of a fence: its character and length.
    fence: Option<(char, usize)>,
    found: Found,
}

#[derive(Debug, Clone, Default)]
struct Found {
    /// Ascending.
    used: Vec<usize>,
    removed: usize,
    links_removed: usize,
}

impl Found {
    fn cite(&mut self, n: usize) {
        if let Err(at) = self.used.binary_search(&n) {
            self.used.insert(at, n);
        }
    }
}

/// What stands at the start of the text that is looked at.
enum Element {
    /// Not decided before more text comes.
    NeedMore,
    /// So many bytes, given out as they are.
    Plain(usize),
    /// So many bytes that open or close a fence; then this is the fence.
    Fence(usize, Option<(char, usize)>),
    /// So many bytes, replaced by a text.
    Text(usize, String),
    /// So many bytes that were a link, replaced by a text.
    RemovedLink(usize, String),
    /// So many bytes that cite these numbers.
    Citation(usize, Vec<usize>),
}

/// What a bracket is.
enum Bracket<T> {
    NeedMore,
    No,
    Yes(T),
}

/// `[text](target)`, as byte ranges.
struct Link {
    text_end: usize,
    target: (usize, usize),
    length: usize,
}

impl CitationFilter {
    /// For a reply whose prompt held `passages`, numbered from 1.
    #[must_use]
    pub fn new(passages: &[Passage], language: Language) -> Self {
        let allowed = Allowed {
            count: passages.len(),
            urls: passages.iter().map(|passage| passage.url.clone()).filter(|url| !url.is_empty()).collect(),
            texts: passages.iter().map(|passage| passage.text.clone()).collect(),
        };
        Self::with(Rc::new(allowed), language)
    }

    fn with(allowed: Rc<Allowed>, language: Language) -> Self {
        Self {
            allowed,
            language,
            held: String::new(),
            spaces: String::new(),
            previous: None,
            line_blank: true,
            line_marks_only: true,
            drop_spaces: false,
            fence: None,
            found: Found::default(),
        }
    }

    /// Takes a piece and emits what is decided.
    pub fn push(&mut self, piece: &str, emit: &mut dyn FnMut(&str)) {
        self.held.push_str(piece);
        self.run(false, emit);
    }

    /// Ends the reply.
    pub fn finish(mut self, emit: &mut dyn FnMut(&str)) -> Citations {
        self.run(true, emit);
        let Found { used, removed, links_removed } = self.found;
        Citations { used, removed, links_removed }
    }

    fn run(&mut self, last: bool, emit: &mut dyn FnMut(&str)) {
        let held = std::mem::take(&mut self.held);
        let mut out = String::new();
        let mut at = 0;
        while at < held.len() {
            let rest = &held[at..];
            let length = match self.element(rest, last) {
                Element::NeedMore => break,
                Element::Plain(length) => {
                    self.give(&rest[..length], &mut out);
                    length
                }
                Element::Fence(length, fence) => {
                    self.give(&rest[..length], &mut out);
                    self.fence = fence;
                    length
                }
                Element::Text(length, text) => {
                    self.give(&text, &mut out);
                    length
                }
                Element::RemovedLink(length, text) => {
                    self.found.links_removed += 1;
                    self.give(&text, &mut out);
                    length
                }
                Element::Citation(length, numbers) => {
                    self.cite(&numbers, &mut out);
                    length
                }
            };
            at += length;
        }
        self.held = held[at..].to_owned();
        if last {
            out.push_str(&std::mem::take(&mut self.spaces));
        }
        if !out.is_empty() {
            emit(&out);
        }
    }

    fn give(&mut self, text: &str, out: &mut String) {
        for c in text.chars() {
            if matches!(c, ' ' | '\t') && self.fence.is_none() {
                if !self.drop_spaces {
                    self.spaces.push(c);
                }
            } else {
                out.push_str(&self.spaces);
                self.spaces.clear();
                out.push(c);
                self.drop_spaces = false;
            }
            if c == '\n' {
                self.line_blank = true;
                self.line_marks_only = true;
            } else if !c.is_whitespace() {
                self.line_blank = false;
                self.line_marks_only &= c.is_ascii_digit() || matches!(c, '.' | ')' | '-' | '*' | '+' | '>');
            }
            self.previous = Some(c);
        }
    }

    /// The citations of `numbers` that exist, in the one form; the others are counted as removed.
    fn keep(&mut self, numbers: &[usize]) -> String {
        let mut kept = String::new();
        for &n in numbers {
            if (1..=self.allowed.count).contains(&n) {
                self.found.cite(n);
                kept.push_str(&format!("[{n}]"));
            } else {
                self.found.removed += 1;
            }
        }
        kept
    }

    fn cite(&mut self, numbers: &[usize], out: &mut String) {
        let kept = self.keep(numbers);
        if !kept.is_empty() {
            self.give(&kept, out);
        } else if self.line_blank {
            self.drop_spaces = true;
        } else {
            self.spaces.clear();
        }
    }

    /// The first element of `rest`, which is not empty. Only its first [`LONGEST_HELD`] bytes are looked at, so that what
    /// is decided does not depend on how much has arrived.
    fn element(&mut self, rest: &str, last: bool) -> Element {
        if let Some(fence) = self.fence {
            return self.in_fence(rest, fence, last);
        }
        let window = &rest[..rest.floor_char_boundary(LONGEST_HELD)];
        let complete = last || window.len() < rest.len();
        let Some(first) = window.chars().next() else { return Element::NeedMore };
        match first {
            '`' | '~' => self.code(window, first, complete),
            '\\' => match window[1..].chars().next() {
                Some(next) if next.is_ascii_punctuation() => Element::Plain(2),
                None if !complete => Element::NeedMore,
                _ => Element::Plain(1),
            },
            '!' => {
                if window.len() == 1 && !complete {
                    return Element::NeedMore;
                }
                if !window[1..].starts_with('[') {
                    return Element::Plain(1);
                }
                match link(&window[1..], complete) {
                    Bracket::NeedMore => Element::NeedMore,
                    Bracket::No => Element::Plain(1),
                    Bracket::Yes(link) => {
                        let text = self.clean(&window[2..1 + link.text_end]);
                        Element::RemovedLink(1 + link.length, text)
                    }
                }
            }
            '[' | '【' => self.bracket(window, first, complete),
            '<' => self.angle(window, complete),
            c if c.is_ascii_alphanumeric() => {
                let word = window.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(window.len());
                // In the middle of a word too: renderers make a link of `xhttps://…` as well.
                for at in 0..word {
                    match (starts_address(&window[at..], complete), at) {
                        (Some(false), _) => {}
                        (None, 0) => return Element::NeedMore,
                        (Some(true), 0) => return self.bare_address(window, complete),
                        _ => return Element::Plain(at),
                    }
                }
                Element::Plain(word)
            }
            _ => {
                let plain = window.find(|c: char| {
                    c.is_ascii_alphanumeric() || matches!(c, '`' | '~' | '\\' | '!' | '[' | '【' | '<')
                });
                Element::Plain(plain.unwrap_or(window.len()).max(first.len_utf8()))
            }
        }
    }

    fn in_fence(&self, rest: &str, (mark, length): (char, usize), last: bool) -> Element {
        let line_end = rest.find('\n');
        let whole_line = &rest[..line_end.unwrap_or(rest.len())];
        if self.previous == Some('\n') || self.previous.is_none() {
            let trimmed = whole_line.trim();
            if line_end.is_none() && !last && trimmed.chars().all(|c| c == mark) && whole_line.len() < LONGEST_HELD {
                return Element::NeedMore;
            }
            if trimmed.chars().count() >= length && trimmed.chars().all(|c| c == mark) {
                return Element::Fence(whole_line.len(), None);
            }
        }
        Element::Plain(line_end.map_or(rest.len(), |end| end + 1))
    }

    /// A run of backticks or tildes: a fence, a code span, or just characters.
    fn code(&self, window: &str, mark: char, complete: bool) -> Element {
        let run = window.len() - window.trim_start_matches(mark).len();
        if run == window.len() && !complete {
            return Element::NeedMore;
        }
        let line_end = window.find('\n');
        if run >= 3 && self.line_marks_only {
            if line_end.is_none() && !complete {
                return Element::NeedMore;
            }
            let info = &window[run..line_end.unwrap_or(window.len())];
            if mark == '~' || !info.contains('`') {
                return Element::Fence(run + info.len(), Some((mark, run)));
            }
        }
        if mark == '~' {
            return Element::Plain(run);
        }
        // A span ends on its line: one that does not is no span for every renderer, and would hide what follows it.
        let line = &window[..line_end.unwrap_or(window.len())];
        let mut at = run;
        while let Some(offset) = line[at..].find('`') {
            let start = at + offset;
            let closing = line[start..].len() - line[start..].trim_start_matches('`').len();
            if start + closing == window.len() && !complete {
                return Element::NeedMore;
            }
            if closing == run {
                return Element::Plain(start + closing);
            }
            at = start + closing;
        }
        if line_end.is_none() && !complete { Element::NeedMore } else { Element::Plain(run) }
    }

    fn bracket(&mut self, window: &str, opening: char, complete: bool) -> Element {
        match citation(window, opening, complete) {
            Bracket::NeedMore => return Element::NeedMore,
            Bracket::Yes((length, numbers)) => {
                let behind_word =
                    self.previous.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ')' | ']'));
                if numbers == [0] && behind_word {
                    // `items[0]`: the first element, written without backticks.
                    return Element::Plain(length);
                }
                if length == window.len() && !complete {
                    return Element::NeedMore;
                }
                if opening == '[' && window[length..].starts_with('(') {
                    return match link(window, complete) {
                        Bracket::NeedMore => Element::NeedMore,
                        Bracket::No => Element::Citation(length, numbers),
                        Bracket::Yes(link) => Element::Citation(link.length, numbers),
                    };
                }
                if self.line_blank && window[length..].starts_with(':') {
                    // A definition would make a link of every `[n]`.
                    let kept = self.keep(&numbers);
                    return Element::Text(length, if kept.is_empty() { kept } else { kept + " " });
                }
                return Element::Citation(length, numbers);
            }
            Bracket::No => {}
        }
        if opening != '[' {
            return Element::Plain(opening.len_utf8());
        }
        match link(window, complete) {
            Bracket::NeedMore => Element::NeedMore,
            Bracket::Yes(link) => {
                let text = self.clean(&window[1..link.text_end]);
                let target = &window[link.target.0..link.target.1];
                match self.allowed.link(target) {
                    Some(url) => Element::Text(link.length, format!("[{text}]({url})")),
                    None => Element::RemovedLink(link.length, text),
                }
            }
            Bracket::No => match closing_bracket(window) {
                Some(end) if self.line_blank && window[end + 1..].starts_with(':') => {
                    let text = self.clean(&window[1..end]);
                    Element::Text(end + 1, format!("[{text}] "))
                }
                _ => Element::Plain(1),
            },
        }
    }

    /// `<https://…>`.
    fn angle(&self, window: &str, complete: bool) -> Element {
        match starts_address(&window[1..], complete) {
            None => Element::NeedMore,
            Some(false) => Element::Plain(1),
            Some(true) => match window.find(|c: char| c == '>' || c.is_whitespace()) {
                None if !complete => Element::NeedMore,
                Some(end) if window[end..].starts_with('>') => self.address(&window[1..end], end + 1),
                _ => Element::Plain(1),
            },
        }
    }

    fn bare_address(&self, window: &str, complete: bool) -> Element {
        // A passage's own address first: it may hold characters that end an address elsewhere.
        let end = window
            .find(|c: char| {
                c.is_whitespace()
                    || c.is_control()
                    || !c.is_ascii()
                    || matches!(c, '<' | '>' | '"' | '`' | '|' | '\\' | '^' | '{' | '}')
            })
            .unwrap_or(window.len());
        let own = self.allowed.urls.iter().filter(|url| window.starts_with(url.as_str())).map(|url| url.len()).max();
        if !complete && (end == window.len() || self.allowed.urls.iter().any(|url| url.starts_with(window))) {
            return Element::NeedMore;
        }
        let mut address = &window[..end];
        // Punctuation at the end belongs to the sentence, and a parenthesis that was opened before the address too.
        while let Some(c) = address.chars().next_back() {
            let closes_more = c == ')' && address.matches(')').count() > address.matches('(').count();
            if matches!(c, '.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | ']' | '[') || closes_more {
                address = &address[..address.len() - 1];
            } else {
                break;
            }
        }
        if let Some(own) = own.filter(|own| *own >= address.len()) {
            return Element::Plain(own);
        }
        self.address(address, address.len())
    }

    fn address(&self, address: &str, length: usize) -> Element {
        if let Some(url) = self.allowed.link(address) {
            return Element::Text(length, url.to_owned());
        }
        if self.allowed.names(address) {
            return Element::Text(length, format!("`{address}`"));
        }
        let placeholder = match self.language {
            Language::English => "(link removed)",
            Language::Chinese => "（链接已移除）",
        };
        Element::RemovedLink(length, placeholder.to_owned())
    }

    /// A link's text by the same rules.
    fn clean(&mut self, text: &str) -> String {
        let mut inner = Self::with(Rc::clone(&self.allowed), self.language);
        // Nothing in a link's text begins a line.
        inner.line_blank = false;
        inner.line_marks_only = false;
        let mut out = String::new();
        inner.held.push_str(text);
        inner.run(true, &mut |part| out.push_str(part));
        inner.found.used.into_iter().for_each(|n| self.found.cite(n));
        self.found.removed += inner.found.removed;
        self.found.links_removed += inner.found.links_removed;
        out
    }
}

/// Whether an address starts here; `None` when that is not known yet.
fn starts_address(text: &str, complete: bool) -> Option<bool> {
    let begins = |start: &&str| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    if ADDRESS_STARTS.iter().any(begins) {
        return Some(true);
    }
    let may_become = ADDRESS_STARTS.iter().any(|start| {
        text.len() < start.len() && start.get(..text.len()).is_some_and(|head| head.eq_ignore_ascii_case(text))
    });
    if may_become && !complete { None } else { Some(false) }
}

/// Reads `[1]`, `[1, 2]`, `[1-3]`, `[^1]`, `【1†source】`: the length and the numbers.
fn citation(window: &str, opening: char, complete: bool) -> Bracket<(usize, Vec<usize>)> {
    let closing = if opening == '[' { ']' } else { '】' };
    let mut numbers: Vec<usize> = Vec::new();
    let mut digits = String::new();
    let mut range_from: Option<usize> = None;
    let mut in_label = false;
    for (at, c) in window.char_indices().skip(1) {
        if at > 60 {
            return Bracket::No;
        }
        if in_label && c != closing {
            if c == '\n' {
                return Bracket::No;
            }
            continue;
        }
        if c.is_ascii_digit() {
            digits.push(c);
            // Years and the like are no citations.
            if digits.len() > 3 {
                return Bracket::No;
            }
            continue;
        }
        if !digits.is_empty() && c != ' ' {
            let n: usize = digits.parse().unwrap_or(0);
            digits.clear();
            match range_from.take() {
                Some(from) if from < n && n - from < WIDEST_RANGE => numbers.extend(from + 1..=n),
                Some(_) | None => numbers.push(n),
            }
        }
        match c {
            ']' | '】' if c == closing => {
                return if numbers.is_empty() { Bracket::No } else { Bracket::Yes((at + c.len_utf8(), numbers)) };
            }
            '-' | '–' | '—' if !numbers.is_empty() => range_from = numbers.last().copied(),
            ',' | '，' | '、' | ';' | '；' if !numbers.is_empty() => {}
            '^' if numbers.is_empty() => {}
            '†' if !numbers.is_empty() => in_label = true,
            ' ' => {}
            _ => return Bracket::No,
        }
    }
    if complete { Bracket::No } else { Bracket::NeedMore }
}

/// The bracket that closes the one at the start, on the same line.
fn closing_bracket(window: &str) -> Option<usize> {
    let mut depth = 0;
    let mut escaped = false;
    for (at, c) in window.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return None,
            '[' => depth += 1,
            ']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

/// Reads `[text](target "title")`.
fn link(window: &str, complete: bool) -> Bracket<Link> {
    let undecided = || if complete { Bracket::No } else { Bracket::NeedMore };
    let Some(text_end) = closing_bracket(window) else {
        return if window.contains('\n') { Bracket::No } else { undecided() };
    };
    let after = &window[text_end + 1..];
    if after.is_empty() {
        return undecided();
    }
    if !after.starts_with('(') {
        return Bracket::No;
    }
    let mut depth = 0;
    let mut end = None;
    for (at, c) in after.char_indices() {
        match c {
            '\n' => return Bracket::No,
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    end = Some(at);
                    break;
                }
            }
            _ => {}
        }
    }
    let Some(end) = end else { return undecided() };
    let inside = &after[1..end];
    let start = inside.len() - inside.trim_start().len();
    let target = inside[start..].split_whitespace().next().unwrap_or("");
    let (start, target) = match target.strip_prefix('<').and_then(|target| target.strip_suffix('>')) {
        Some(inner) => (start + 1, inner),
        None => (start, target),
    };
    let target_start = text_end + 2 + start;
    Bracket::Yes(Link { text_end, target: (target_start, target_start + target.len()), length: text_end + 1 + end + 1 })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passages() -> Vec<Passage> {
        ["https://docs.example/guide/watchers.html#basic", "https://docs.example/api/", "/zh/指南#安装"]
            .into_iter()
            .enumerate()
            .map(|(at, url)| Passage {
                id: format!("{at}#0"),
                document: at.to_string(),
                title: "T".to_owned(),
                url: url.to_owned(),
                text: "Set the mirror to https://mirror.example/simple before you install.".to_owned(),
                ..Passage::default()
            })
            .collect()
    }

    fn filter(pieces: &[&str]) -> (String, Citations) {
        let mut out = String::new();
        let mut filter = CitationFilter::new(&passages(), Language::English);
        for piece in pieces {
            filter.push(piece, &mut |part| out.push_str(part));
        }
        let citations = filter.finish(&mut |part| out.push_str(part));
        (out, citations)
    }

    /// Checks a reply whole, cut at every character, and character by character.
    fn check(reply: &str, expected: &str) {
        let whole = filter(&[reply]);
        assert_eq!(whole.0, expected);
        for (cut, _) in reply.char_indices() {
            assert_eq!(filter(&[&reply[..cut], &reply[cut..]]), whole, "{reply:?} cut at {cut}");
        }
        let single: Vec<String> = reply.chars().map(String::from).collect();
        assert_eq!(filter(&single.iter().map(String::as_str).collect::<Vec<_>>()), whole, "{reply:?}");
    }

    #[test]
    fn citations_that_exist_stay_and_others_go() {
        check("Use a getter [1]. And [2][3].", "Use a getter [1]. And [2][3].");
        check("Use a getter [4]. Then [0] more [99] words.", "Use a getter. Then more words.");
        check("[9] At the start.\n[9] Again.", "At the start.\nAgain.");
        check("Both [1, 2], [1,9], [1-3] and [2–9].", "Both [1][2], [1], [1][2][3] and [2][3].");
        check("响应式【1】，见【2†source】、[3]。没有[7]。", "响应式[1]，见[2]、[3]。没有。");
        check("A footnote[^1] and [ 2 ].", "A footnote[1] and [2].");
        assert_eq!(
            filter(&["a [2] b [1] c [2] d [8]"]).1,
            Citations { used: vec![1, 2], removed: 1, links_removed: 0 }
        );
    }

    #[test]
    fn brackets_that_are_no_citations_stay() {
        check("items[0] and since [2024]", "items[0] and since [2024]");
        check("- [ ] todo\n- [x] done []", "- [ ] todo\n- [x] done []");
        check("an open [ bracket [1", "an open [ bracket [1");
        check("【注意】", "【注意】");
        check(r"\[9\] and \\[1]", r"\[9\] and \\[1]");
    }

    #[test]
    fn code_is_left_alone() {
        check("Write `a[9]` or ``b ` [8]``.", "Write `a[9]` or ``b ` [8]``.");
        check("```js\nx[9] = 'http://a.b'\n  ```\n[9] text", "```js\nx[9] = 'http://a.b'\n  ```\ntext");
        check("1. ~~~\n[7]\n~~~~\n[7]x", "1. ~~~\n[7]\n~~~~\nx");
        check("```\nnever closed [9]", "```\nnever closed [9]");
        // A backtick without its partner opens nothing that could hide a link.
        check("a ` b [x](http://evil.example)\n`", "a ` b x\n`");
        check("~ 5 [9] ~~old~~", "~ 5 ~~old~~");
    }

    #[test]
    fn links_lead_to_given_passages_only() {
        check(
            "[W](https://docs.example/guide/watchers.html#basic)",
            "[W](https://docs.example/guide/watchers.html#basic)",
        );
        check("[W](https://docs.example/guide/watchers#other)", "[W](https://docs.example/guide/watchers.html#basic)");
        check("[W](/guide/watchers.html \"t\")", "[W](https://docs.example/guide/watchers.html#basic)");
        check("[W](/api)", "[W](https://docs.example/api/)");
        check("[安装](</zh/指南#安装>)", "[安装](/zh/指南#安装)");
        check("[W](https://evil.example/x_(y)) z", "W z");
        check("[W](javascript:alert(1)) [x](data:text/html,a)", "W x");
        check("[W](/guide/other.html)", "W");
        check("[1](https://evil.example) [9](https://evil.example)", "[1]");
        check("[[2]](https://evil.example)", "[2]");
        check("![seen?](https://evil.example/p.png?q=1) x", "seen? x");
        check("[![a](http://e.x/i)](http://e.x) y", "a y");
        check("[a [9] b](http://e.x)", "a b");
    }

    #[test]
    fn addresses_in_the_text_are_checked_too() {
        check("See https://docs.example/api/.", "See https://docs.example/api/.");
        check(
            "See https://docs.example/guide/watchers.html#made-up, ok",
            "See https://docs.example/guide/watchers.html#basic, ok",
        );
        check("Use https://mirror.example/simple now", "Use `https://mirror.example/simple` now");
        check("Go to HTTP://evil.example/a?b=c.", "Go to (link removed).");
        check("(see www.evil.example)", "(see (link removed))");
        check("<https://evil.example> <b> <https://docs.example/api>", "(link removed) <b> https://docs.example/api/");
        check("见https://evil.example/路径。", "见(link removed)路径。");
        check("mail mailto:a@b.c or httpx://a wwwhat data: x", "mail (link removed) or httpx://a wwwhat data: x");
        check("<a href=\"http://evil.example\">", "<a href=\"(link removed)\">");
    }

    #[test]
    fn definitions_make_no_links() {
        check("[1]: https://evil.example\n[x]: http://e.y", "[1] : (link removed)\n[x] : (link removed)");
        check("[9]: https://evil.example", ": (link removed)");
    }

    #[test]
    fn what_is_too_long_to_wait_for_is_taken_as_it_stands() {
        let long = "a ".repeat(LONGEST_HELD);
        let reply = format!("[{long}](http://evil.example) `{long}` [9]");
        let (out, _) = filter(&[&reply]);
        assert!(
            out.contains("(link removed)") && !out.contains("evil") && !out.contains("[9]"),
            "{}",
            &out[out.len() - 60..]
        );
        let pieces: Vec<String> = reply.chars().map(String::from).collect();
        assert_eq!(filter(&pieces.iter().map(String::as_str).collect::<Vec<_>>()).0, out);
    }

    proptest! {
        #[test]
        fn the_result_does_not_depend_on_the_cuts(
            parts in proptest::collection::vec(
                prop_oneof![
                    Just("[1]"), Just("[9]"), Just("[1, "), Just("]"), Just("["), Just("("), Just(")"), Just("!"),
                    Just("`"), Just("```"), Just("\n"), Just(" "), Just("https://evil.example/a"), Just("http"),
                    Just("www."), Just("https://docs.example/api/"), Just("<"), Just(">"), Just("【"), Just("】"), Just("2"),
                    Just("词"), Just("a"), Just("\\"), Just(":"), Just("~~~"), Just("."), Just("†"), Just("-"),
                ],
                0..25,
            ),
            sizes in proptest::collection::vec(1usize..6, 1..40),
        ) {
            let reply = parts.concat();
            let mut pieces = Vec::new();
            let mut rest = reply.as_str();
            for size in sizes {
                let cut = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
                pieces.push(&rest[..cut]);
                rest = &rest[cut..];
            }
            pieces.push(rest);
            let whole = filter(&[&reply]);
            prop_assert_eq!(filter(&pieces), whole.clone());
            // Outside of code, nothing leads elsewhere.
            if !reply.contains('`') && !reply.contains("~~~") {
                prop_assert!(!whole.0.contains("https://evil"), "{}", whole.0);
                prop_assert!(!whole.0.contains("[9]") || reply.contains('\\'), "{}", whole.0);
            }
        }
    }
}
