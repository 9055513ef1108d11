//! Text that a site repeats on its pages.
//!
//! Input: all pages of a built site. Output: the same pages without the blocks that stand on most of them: a banner, a
//! call to subscribe, a notice of the version. One page alone cannot show what of it is boilerplate.

use std::collections::{HashMap, HashSet};

use crate::index::sources::page::{Block, Page};

/// Fewer pages than this tell nothing.
const LEAST_PAGES: usize = 5;
/// A block on more than this part of the pages is boilerplate, in per cent.
const SHARE_PERCENT: usize = 60;

/// Removes repeated blocks and says how many kinds there were.
pub fn remove(pages: &mut [Page]) -> usize {
    if pages.len() < LEAST_PAGES {
        return 0;
    }
    let mut pages_with: HashMap<String, usize> = HashMap::new();
    for page in pages.iter() {
        let keys: HashSet<String> = page.blocks.iter().filter_map(key).collect();
        for key in keys {
            *pages_with.entry(key).or_default() += 1;
        }
    }
    let repeated: HashSet<String> =
        pages_with.into_iter().filter(|(_, n)| n * 100 > pages.len() * SHARE_PERCENT).map(|(key, _)| key).collect();
    for page in pages {
        page.blocks.retain(|block| key(block).is_none_or(|key| !repeated.contains(&key)));
    }
    repeated.len()
}

/// What makes two blocks the same; `None` for blocks that are never boilerplate.
fn key(block: &Block) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.to_lowercase()),
        Block::Heading { level, text, .. } if *level > 1 => Some(format!("#{}", text.to_lowercase())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_on_most_pages_goes() {
        let mut pages: Vec<Page> = (0..6)
            .map(|n| Page {
                blocks: vec![
                    Block::Text("Subscribe to our newsletter".into()),
                    Block::Text(format!("Page {n} says something")),
                    Block::Code { language: String::new(), code: "npm install".into() },
                ],
                ..Page::default()
            })
            .collect();
        assert_eq!(remove(&mut pages), 1);
        assert!(pages.iter().all(|page| page.blocks.len() == 2));
        let mut few = vec![Page { blocks: vec![Block::Text("same".into())], ..Page::default() }; 3];
        assert_eq!(remove(&mut few), 0);
    }
}
