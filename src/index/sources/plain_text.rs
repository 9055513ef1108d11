//! Plain text as blocks: paragraphs, and titles where a line is underlined.

use crate::index::sources::anchors::AnchorStyle;
use crate::index::sources::page::Block;
use crate::index::sources::rst;

/// Reads a text. A plain text has no anchors.
#[must_use]
pub fn read(source: &str) -> Vec<Block> {
    let text = source.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let underlined = text.lines().collect::<Vec<_>>().windows(2).any(|pair| {
        let is_rule = pair[1].len() >= 3 && (pair[1].bytes().all(|b| b == b'=') || pair[1].bytes().all(|b| b == b'-'));
        is_rule && !pair[0].trim().is_empty()
    });
    // Underlined titles, `*` lists and indented examples are the conventions that reStructuredText made rules of.
    if underlined {
        return rst::read(&text, AnchorStyle::None).blocks;
    }
    text.split("\n\n")
        .map(|paragraph| paragraph.trim_matches('\n').trim_end())
        .filter(|paragraph| paragraph.chars().any(char::is_alphanumeric))
        .map(|paragraph| Block::Text(paragraph.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_blocks() {
        let blocks = read("One\nline.\r\n\r\n\r\n第二段。\n\n----\n");
        assert_eq!(blocks, [Block::Text("One\nline.".into()), Block::Text("第二段。".into())]);
    }

    #[test]
    fn underlined_lines_are_titles() {
        let blocks = read("Guide\n=====\n\nText.\n");
        assert_eq!(blocks[0], Block::Heading { level: 1, text: "Guide".into(), anchor: None });
    }
}
