//! Fenced code blocks of Markdown, so that a text which is cut anywhere does not swallow what follows it.
//!
//! Input: pieces of Markdown. Output: the same with every fence closed. **Invariant:** outside of fences nothing changes.
//! A fence is a line of three or more backticks or tildes; it ends at a line of at least as many of the same (CommonMark
//! 0.31, section 4.5).

/// The fence that stands open while lines are read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Fence {
    /// The line that opened it, its mark, and its number among the lines read; `None` outside of code.
    open: Option<(String, String, usize)>,
    lines: usize,
}

impl Fence {
    fn of(text: &str) -> Self {
        let mut fence = Self::default();
        fence.read(text);
        fence
    }

    fn read(&mut self, text: &str) {
        for line in text.lines() {
            let line = line.trim();
            match (&self.open, mark_of(line)) {
                (None, Some(mark)) => self.open = Some((line.to_owned(), mark.to_owned(), self.lines)),
                (Some((_, open, _)), Some(mark)) if mark.starts_with(open.as_str()) && mark.len() == line.len() => {
                    self.open = None;
                }
                _ => {}
            }
            self.lines += 1;
        }
    }

    /// Whether the last line read opened it, so that it holds nothing yet.
    fn is_empty(&self) -> bool {
        self.open.as_ref().is_some_and(|(_, _, at)| at + 1 == self.lines)
    }
}

/// The mark that a line begins with. Backticks with others behind them are code within a line.
fn mark_of(line: &str) -> Option<&str> {
    let first = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == first).count();
    let (mark, rest) = line.split_at(length);
    (length >= 3 && !(first == '`' && rest.contains('`'))).then_some(mark)
}

/// What closes the fence that stands open at the end of `text`; `None` where none does.
#[must_use]
pub(super) fn closing(text: &str) -> Option<String> {
    Fence::of(text).open.map(|(_, mark, _)| mark)
}

/// The text without a last line that only opens a fence.
#[must_use]
pub(super) fn without_empty_end(text: &str) -> &str {
    if !Fence::of(text).is_empty() {
        return text;
    }
    text.trim_end().rfind('\n').map_or("", |at| text[..at].trim_end())
}

/// `part` with its fences opened and closed, where `before` stands before it in the whole text.
///
/// A part from within a code block gets the line that opened the block; a fence line at its edge that holds no code is
/// left out.
#[must_use]
pub(super) fn whole(before: &str, part: &str) -> String {
    let fence = Fence::of(before);
    let mut lines: Vec<&str> = part.trim_matches('\n').lines().collect();
    if let (Some((opening, ..)), Some(first)) = (&fence.open, lines.first()) {
        let mut after = fence.clone();
        after.read(first);
        if after.open.is_none() {
            // The part begins with the end of the block.
            lines.remove(0);
        } else {
            lines.insert(0, opening);
        }
    }
    let text = lines.join("\n");
    let text = without_empty_end(&text);
    closing(text).map_or_else(|| text.to_owned(), |mark| format!("{text}\n{mark}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_from_anywhere_in_a_text_has_whole_code_blocks() {
        let text = "Run this:\n```sh\nnpm create\nnpm start\n```\nThen open it.\n~~~\n```\n~~~";
        let check = |part: &str, expected: &str| {
            let at = text.find(part).unwrap();
            assert_eq!(whole(&text[..at], part), expected, "{part:?}");
        };
        check("Run this:", "Run this:");
        check("Run this:\n```sh", "Run this:");
        check("Run this:\n```sh\nnpm create", "Run this:\n```sh\nnpm create\n```");
        check("npm create", "```sh\nnpm create\n```");
        check("npm start\n```\nThen", "```sh\nnpm start\n```\nThen");
        check("```\nThen open it.", "Then open it.");
        check("Then open it.\n~~~\n```", "Then open it.\n~~~\n```\n~~~");
        check(text, text);
    }

    #[test]
    fn what_is_no_fence_is_left_alone() {
        for text in ["Use ``` in `code`", "a\n```inline``` here\nb", "``\nx", "", "~~struck~~"] {
            assert_eq!(closing(text), None, "{text}");
            assert_eq!(whole("", text), text);
        }
        assert_eq!(closing("````\n```\n").as_deref(), Some("````"));
    }

    #[test]
    fn every_cut_at_lines_is_whole() {
        let text = "甲：\n```js\nlet a = `x`;\n```\n乙\n````\n```\n````\nend\n";
        let ends: Vec<usize> = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        for start in &ends {
            for end in ends.iter().filter(|end| *end > start) {
                let part = whole(&text[..*start], &text[*start..*end]);
                assert_eq!(closing(&part), None, "{start}..{end}: {part}");
            }
        }
    }
}
