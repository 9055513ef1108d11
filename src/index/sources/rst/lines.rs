//! What single lines are: section titles, list items, fields, indentation.
//!
//! **Invariant:** nothing here keeps a state; each function looks at the lines that it is given.

/// A section title at the start of `lines`: lines taken, title, adornment.
pub(super) fn heading<'a>(lines: &[&'a str]) -> Option<(usize, &'a str, (char, bool))> {
    let first = *lines.first()?;
    if let (Some(mark), Some(title), Some(under)) = (adornment(first), lines.get(1), lines.get(2))
        && adornment(under) == Some(mark)
        && !title.trim().is_empty()
        && adornment(title).is_none()
        && width(first) >= width(title.trim())
    {
        return Some((3, title.trim(), (mark, true)));
    }
    let under = lines.get(1)?;
    let mark = adornment(under)?;
    let long_enough = width(under) >= width(first).min(4) && (width(under) + 1 >= width(first) || width(under) >= 4);
    (indent_of(first) == 0 && !first.is_empty() && adornment(first).is_none() && long_enough).then_some((
        2,
        first,
        (mark, false),
    ))
}

/// The character of a line that underlines a title; a line of spaces and `=` rules a table instead.
pub(super) fn adornment(line: &str) -> Option<char> {
    let first = line.chars().next()?;
    (line.len() >= 2 && first.is_ascii_punctuation() && !matches!(first, '|') && line.chars().all(|c| c == first))
        .then_some(first)
}

/// Columns that a text takes on a terminal; Chinese characters take two.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|c| if (c as u32) >= 0x1100 && !c.is_ascii() { 2 } else { 1 }).sum()
}

pub(super) fn is_transition(line: &str) -> bool {
    line.len() >= 4 && adornment(line).is_some()
}

pub(super) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// The number of lines that are empty or indented by at least `indent`, without the empty ones at the end.
pub(super) fn indented_length(lines: &[&str], indent: usize) -> usize {
    let mut length = lines.iter().take_while(|line| line.trim().is_empty() || indent_of(line) >= indent).count();
    while length > 0 && lines[length - 1].trim().is_empty() {
        length -= 1;
    }
    length
}

/// Lines without the indentation that they share, at most `most`.
pub(super) fn dedented<'a>(lines: &[&'a str], most: usize) -> Vec<&'a str> {
    let shared = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent_of(line)).min().unwrap_or(0);
    let start = shared.min(most);
    lines.iter().map(|line| line.get(start..).unwrap_or_default()).collect()
}

/// The marker of a list item: its width in bytes and how it is shown.
pub(super) fn list_marker(text: &str) -> Option<(usize, String)> {
    for mark in ["- ", "* ", "+ ", "• "] {
        if let Some(rest) = text.strip_prefix(mark) {
            let width = mark.len() + indent_of(rest);
            return Some((width, "- ".to_owned()));
        }
    }
    let digits = text.chars().take_while(|c| c.is_ascii_digit() || *c == '#').count();
    let rest = text.get(digits..)?;
    if (1..=4).contains(&digits) && (rest.starts_with(". ") || rest.starts_with(") ")) {
        let number = &text[..digits];
        let shown = if number == "#" { "- ".to_owned() } else { format!("{number}. ") };
        return Some((digits + 2 + indent_of(&rest[2..]), shown));
    }
    None
}

/// Whether a line starts with `:name:`.
pub(super) fn is_field(line: &str) -> bool {
    let Some(rest) = line.strip_prefix(':') else { return false };
    rest.split_once(':').is_some_and(|(name, after)| {
        !name.is_empty()
            && !name.starts_with(' ')
            && !after.starts_with('`')
            && (after.is_empty() || after.starts_with(' '))
    })
}

/// Lines of a paragraph as one; a break between two Chinese characters is no space.
pub(super) fn join_lines(lines: &[&str]) -> String {
    let mut out = String::new();
    for line in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        let wide = |c: char| (c as u32) >= 0x2e80;
        let joins = out.chars().next_back().is_some_and(wide) && line.chars().next().is_some_and(wide);
        if !out.is_empty() && !joins {
            out.push(' ');
        }
        out.push_str(line);
    }
    out
}
