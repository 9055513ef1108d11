//! MDX as Markdown: imports, exports, JSX tags and expressions taken away, the text between them kept.
//!
//! Input: MDX without front matter. Output: Markdown. A component's `label` or `title` is what readers see on a tab or a
//! box, so it stays as a line in bold. **Invariant:** code, in blocks and between backticks, comes out as it went in.

use crate::index::sources::markdown::Fences;

/// Turns MDX into Markdown.
#[must_use]
pub fn to_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut prose = String::new();
    let mut fences = Fences::default();
    let mut esm: Option<i32> = None;
    for line in text.split_inclusive('\n') {
        if fences.is_code(line) {
            out.push_str(&without_jsx(&prose));
            prose.clear();
            out.push_str(line);
            continue;
        }
        if esm.is_none() && (line.starts_with("import ") || line.starts_with("import{") || line.starts_with("export "))
        {
            esm = Some(0);
        }
        if let Some(depth) = &mut esm {
            *depth += line.chars().map(|c| i32::from("{[(".contains(c)) - i32::from("}])".contains(c))).sum::<i32>();
            if *depth <= 0 {
                esm = None;
            }
            continue;
        }
        prose.push_str(line);
    }
    out.push_str(&without_jsx(&prose));
    outdented(&out)
}

/// Takes JSX tags and expressions out of a stretch of text between code blocks.
fn without_jsx(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['<', '{', '`', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let taken = match rest.as_bytes()[0] {
            b'\\' => {
                let length = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                out.push_str(&rest[..length]);
                length
            }
            b'`' => {
                let marks = rest.bytes().take_while(|byte| *byte == b'`').count();
                let length = rest[marks..].find(&rest[..marks]).map_or(marks, |end| marks + end + marks);
                out.push_str(&rest[..length]);
                length
            }
            b'{' => match balanced(rest) {
                Some(length) => {
                    out.push_str(&expression(&rest[1..length - 1]));
                    length
                }
                None => {
                    out.push('{');
                    1
                }
            },
            _ => match tag(rest) {
                Some((length, replacement)) => {
                    out.push_str(&replacement);
                    length
                }
                None => {
                    out.push('<');
                    1
                }
            },
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
    out
}

/// What a reader sees of `{…}`: a string's text, an explicit anchor as it is, nothing of anything else.
fn expression(inside: &str) -> String {
    let inside = inside.trim_matches(['\n']);
    if inside.starts_with('#') {
        return format!("{{{inside}}}");
    }
    let trimmed = inside.trim();
    for quote in ['"', '\'', '`'] {
        if let Some(text) = trimmed.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return if text.contains(quote) || text.contains("${") { String::new() } else { text.to_owned() };
        }
    }
    String::new()
}

/// The length of `{…}` at the start of a text, quotes and nested braces respected.
fn balanced(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut quote: Option<u8> = None;
    let mut comment = false;
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let byte = bytes[i];
        match (comment, quote) {
            (true, _) => {
                if bytes[i..].starts_with(b"*/") {
                    comment = false;
                    i += 1;
                }
            }
            (false, Some(open)) => {
                if byte == b'\\' {
                    i += 1;
                } else if byte == open {
                    quote = None;
                }
            }
            (false, None) => match byte {
                b'/' if bytes[i..].starts_with(b"/*") => comment = true,
                b'"' | b'\'' | b'`' => quote = Some(byte),
                b'{' => depth += 1,
                b'}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return Some(i + 1);
                    }
                }
                _ => {}
            },
        }
        i += 1;
    }
    None
}

/// A tag at the start of a text: its length and what stands in its place. `None` when it is no tag.
fn tag(text: &str) -> Option<(usize, String)> {
    if text.starts_with("<>") || text.starts_with("</>") {
        return Some((text.find('>')? + 1, String::new()));
    }
    if let Some(comment) = text.strip_prefix("<!--") {
        return Some((comment.find("-->")? + "<!---->".len(), String::new()));
    }
    let closes = text.starts_with("</");
    let name_start = if closes { 2 } else { 1 };
    let name: String =
        text[name_start..].chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let mut attributes: Vec<(String, String)> = Vec::new();
    let mut at = name_start + name.len();
    loop {
        let rest = text.get(at..)?;
        let first = rest.chars().next()?;
        if first == '>' {
            at += 1;
            break;
        }
        if first.is_whitespace() || first == '/' {
            at += first.len_utf8();
        } else if first == '{' {
            at += balanced(rest)?;
        } else if first.is_ascii_alphabetic() || matches!(first, '_' | ':' | '@' | '#') {
            let key: String = rest.chars().take_while(|c| !c.is_whitespace() && !"=>/{".contains(*c)).collect();
            if key.is_empty() {
                return None;
            }
            at += key.len();
            let after = text.get(at..)?;
            let Some(value) = after.strip_prefix('=') else { continue };
            at += 1;
            match value.chars().next()? {
                quote @ ('"' | '\'') => {
                    let length = value[1..].find(quote)?;
                    attributes.push((key, value[1..=length].to_owned()));
                    at += length + 2;
                }
                '{' => at += balanced(value)?,
                _ => at += value.find([' ', '>', '\n', '/'])?,
            }
        } else {
            return None;
        }
    }
    let is_component = name.starts_with(|c: char| c.is_ascii_uppercase()) || name.contains('.');
    if !is_component {
        // An element of HTML stays, with the attributes that mean something to the reader of blocks.
        let kept: String = attributes
            .iter()
            .filter(|(key, _)| matches!(key.as_str(), "id" | "name" | "alt" | "hidden") || key.starts_with("data-"))
            .map(|(key, value)| format!(" {key}=\"{value}\""))
            .collect();
        return Some((at, if closes { format!("</{name}>") } else { format!("<{name}{kept}>") }));
    }
    let named = |wanted: &str| attributes.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str());
    let label = named("label").or_else(|| named("title")).or_else(|| named("value").filter(|_| name == "TabItem"));
    // A component is a block of its own more often than not; an empty line lets the Markdown inside of it be Markdown.
    Some((at, label.map_or_else(|| "\n".to_owned(), |label| format!("\n**{label}**\n\n"))))
}

/// Moves text that is indented inside of a component to the left: MDX knows no indented code, Markdown does.
fn outdented(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fences = Fences::default();
    let mut in_list = false;
    let mut shift = 0;
    for line in text.split_inclusive('\n') {
        let was_open = shift;
        let content = line.trim_start_matches([' ', '\t']);
        let indent = line.len() - content.len();
        let code = fences.is_code(line);
        if code {
            // The lines of a block move with its fence.
            if content.starts_with("```") || content.starts_with("~~~") {
                shift = if in_list { 0 } else { indent };
            }
            out.push_str(&line[shift.max(was_open).min(indent)..]);
            continue;
        }
        shift = 0;
        let is_item = ["- ", "* ", "+ "].iter().any(|mark| content.starts_with(mark))
            || content.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(". ")
                && content.starts_with(|c: char| c.is_ascii_digit());
        if is_item {
            in_list = true;
        } else if !content.trim().is_empty() && indent == 0 {
            in_list = false;
        }
        out.push_str(if in_list { line } else { content });
        if content.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::to_markdown;

    #[test]
    fn imports_exports_and_tags_go_and_text_stays() {
        let mdx = "import Tabs from '@theme/Tabs';\nimport {\n  A,\n  B,\n} from 'x';\n\nexport const meta = {\n\n  a: 1,\n};\n\n\
                   # Install {#install}\n\n<Tabs groupId=\"os\" values={[\n  {label: 'A', value: 'a'},\n]}>\n  <TabItem value=\"npm\" label=\"npm 包\">\n\n    Use npm.\n\n  ```js\n  import x from 'y' // {kept}\n  ```\n\n  </TabItem>\n</Tabs>\n\n\
                   Version {'2.0'} of {props.name}, `{kept}` and a < b. {/* a comment\n over lines */}\n";
        let markdown = to_markdown(mdx);
        assert!(markdown.contains("# Install {#install}"), "{markdown}");
        assert!(markdown.contains("**npm 包**"), "{markdown}");
        assert!(markdown.contains("\nUse npm.\n"), "{markdown}");
        assert!(markdown.contains("\n```js\nimport x from 'y' // {kept}\n```\n"), "{markdown}");
        assert!(markdown.contains("Version 2.0 of , `{kept}` and a < b."), "{markdown}");
        for gone in ["theme/Tabs", "meta", "groupId", "label:", "comment", "<Tab", "A,"] {
            assert!(!markdown.contains(gone), "{gone}: {markdown}");
        }
    }

    #[test]
    fn elements_of_html_keep_what_readers_see() {
        assert_eq!(
            to_markdown("<div className=\"x\" style={{a: '}'}}><img src={logo} alt=\"Logo\" /></div>\n"),
            "<div><img alt=\"Logo\"></div>\n"
        );
        assert_eq!(to_markdown("1. one\n\n    in the item\n"), "1. one\n\n    in the item\n");
    }

    #[test]
    fn broken_tags_stay_text() {
        for text in ["a <b and c\n", "x {unclosed\n", "<3\n", "<\n", "<Tabs\n"] {
            assert_eq!(to_markdown(text), text);
        }
    }
}
