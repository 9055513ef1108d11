//! Inline markup: roles, links, literals, emphasis and substitutions as the text that a reader sees.

use super::Reader;

impl Reader {
    /// Inline markup as text: roles, links, literals, emphasis, substitutions.
    pub(super) fn inline(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['`', '*', '|', '\\', ':']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            let taken = self.inline_mark(rest, &mut out);
            rest = &rest[taken..];
        }
        out.push_str(rest);
        out.trim().to_owned()
    }

    /// Reads one inline mark at the start of a text and says how many bytes it took.
    pub(super) fn inline_mark(&self, rest: &str, out: &mut String) -> usize {
        if let Some(escaped) = rest.strip_prefix('\\') {
            let next = escaped.chars().next();
            if let Some(c) = next.filter(|c| !c.is_whitespace()) {
                out.push(c);
            }
            return 1 + next.map_or(0, char::len_utf8);
        }
        if let Some(inside) = rest.strip_prefix("``")
            && let Some(end) = inside.find("``")
        {
            out.push_str(&format!("`{}`", &inside[..end]));
            return end + 4;
        }
        // :role:`text`, also :domain:role:`text`.
        if rest.starts_with(':')
            && let Some(tick) = rest.find(":`").filter(|tick| *tick > 0)
            && rest[1..tick].chars().all(|c| c.is_ascii_alphanumeric() || "-_:+.".contains(c))
            && let Some(end) = rest[tick + 2..].find('`')
        {
            let role = rest[1..tick].rsplit(':').next().unwrap_or_default();
            let shown = shown_text(&rest[tick + 2..tick + 2 + end]);
            let is_prose = matches!(
                role,
                "ref"
                    | "doc"
                    | "term"
                    | "abbr"
                    | "guilabel"
                    | "menuselection"
                    | "sup"
                    | "sub"
                    | "numref"
                    | "any"
                    | "download"
                    | "pep"
                    | "rfc"
                    | "emphasis"
                    | "strong"
                    | "title"
                    | "dfn"
            );
            out.push_str(&if is_prose { shown } else { format!("`{}`", shown.trim_start_matches(['~', '!'])) });
            return tick + 2 + end + 1;
        }
        if let Some(inside) = rest.strip_prefix('`')
            && let Some(end) = inside.find('`')
        {
            let after = &inside[end + 1..];
            let marks = after.bytes().take_while(|b| *b == b'_').count().min(2);
            let shown = shown_text(&inside[..end]);
            out.push_str(&if marks > 0 { shown } else { format!("`{shown}`") });
            return end + 2 + marks;
        }
        for mark in ["**", "*"] {
            if let Some(inside) = rest.strip_prefix(mark)
                && let Some(end) = inside.find(mark).filter(|end| *end > 0)
                && !inside.starts_with(' ')
            {
                out.push_str(&inside[..end]);
                return end + 2 * mark.len();
            }
        }
        if let Some(inside) = rest.strip_prefix('|')
            && let Some(end) = inside.find('|')
            && let Some(value) = self.substitutions.get(&inside[..end])
        {
            out.push_str(value);
            return end + 2;
        }
        let first = rest.chars().next().unwrap_or_default();
        out.push(first);
        first.len_utf8()
    }
}

/// The text of a link or role: what stands before `<target>`.
pub(super) fn shown_text(inside: &str) -> String {
    match inside.rsplit_once('<') {
        Some((text, target)) if target.ends_with('>') && !text.trim().is_empty() => text.trim().to_owned(),
        Some(("", target)) => target.trim_end_matches('>').to_owned(),
        _ => inside.trim_start_matches('~').to_owned(),
    }
}
