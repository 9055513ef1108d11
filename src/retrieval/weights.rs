//! Every number that ranking depends on, in one place, with its reason.
//!
//! **Invariant:** these are data: nothing here is computed, and no other file of `retrieval` holds a tuned number.

use crate::retrieval::analyzer::TokenKind;

/// Weights of BM25F.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LexicalWeights {
    /// Saturation: how soon more of the same term stops counting; 0 at once, 2 late.
    pub k1: f32,
    /// Weight of a term in the title, in units of a term in the body; 0 and up.
    pub title: f32,
    /// Weight of a term in the tags.
    pub tags: f32,
    /// Weight of a term in the headings.
    pub heading: f32,
    /// Length normalization of the title, 0 (none) to 1 (full).
    pub title_b: f32,
    /// Length normalization of the headings.
    pub heading_b: f32,
    /// Length normalization of the body.
    pub body_b: f32,
}

impl Default for LexicalWeights {
    fn default() -> Self {
        Self { k1: 1.2, title: 1.0, tags: 0.5, heading: 0.7, title_b: 0.3, heading_b: 0.5, body_b: 0.75 }
    }
}

/// Weights of the kinds of terms in a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TermWeights {
    /// A word.
    pub word: f32,
    /// A whole identifier; its parts count as words beside it.
    pub identifier: f32,
    /// A Chinese word of the list.
    pub chinese_word: f32,
    /// A pair inside of a longer Chinese word.
    pub chinese_part: f32,
    /// A pair that no word of the list holds together.
    pub chinese_pair: f32,
    /// A synonym that the site gives, 0..=1 of the term that it stands for.
    pub synonym: f32,
}

impl Default for TermWeights {
    fn default() -> Self {
        Self { word: 1.0, identifier: 0.8, chinese_word: 1.0, chinese_part: 0.2, chinese_pair: 0.4, synonym: 0.7 }
    }
}

impl TermWeights {
    /// The weight of a term of this kind.
    #[must_use]
    pub fn of(&self, kind: TokenKind) -> f32 {
        match kind {
            TokenKind::Word => self.word,
            TokenKind::Identifier => self.identifier,
            TokenKind::ChineseWord => self.chinese_word,
            TokenKind::ChinesePart => self.chinese_part,
            TokenKind::ChinesePair => self.chinese_pair,
        }
    }
}

/// Weights of the fusion.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionWeights {
    /// Weight of BM25F as a share of what the query could reach.
    pub lexical: f32,
    /// Weight of the cosine in standard deviations above the query's background.
    pub dense: f32,
}

impl Default for FusionWeights {
    fn default() -> Self {
        Self { lexical: 3.0, dense: 1.0 }
    }
}

/// Weights of the second stage, in units of the fused score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondStageWeights {
    /// Weight of the share of the query's terms that the chunk holds.
    pub coverage: f32,
    /// Weight of a heading that is the question.
    pub heading: f32,
    /// Weight of the better neighbor's fused score.
    pub neighbor: f32,
    /// Weight of the page's authority above or below the usual 0.5.
    pub authority: f32,
}

impl Default for SecondStageWeights {
    fn default() -> Self {
        Self { coverage: 0.5, heading: 0.5, neighbor: 0.05, authority: 0.5 }
    }
}

/// Weights of the evidence: a logistic regression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EvidenceWeights {
    /// The sum where nothing speaks for the passage.
    pub bias: f32,
    /// For each standard deviation of the cosine above the background.
    pub dense: f32,
    /// For BM25F as a share of what the query could reach.
    pub lexical: f32,
    /// For the share of the query's terms that the passage holds.
    pub coverage: f32,
    /// For the share of the query's words that the index holds.
    pub in_vocabulary: f32,
    /// For the share of the query's terms in the headings.
    pub heading: f32,
    /// The bias where there is no dense leg.
    pub lexical_only_bias: f32,
    /// Factor on the other signals where there is no dense leg.
    pub lexical_only: f32,
}

impl Default for EvidenceWeights {
    fn default() -> Self {
        Self {
            bias: -6.0,
            dense: 0.8,
            lexical: 2.0,
            coverage: 2.0,
            in_vocabulary: 1.0,
            heading: 0.5,
            lexical_only_bias: -4.0,
            lexical_only: 1.5,
        }
    }
}

/// All weights of a search.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Weights {
    /// BM25F.
    pub lexical: LexicalWeights,
    /// Terms of the query.
    pub terms: TermWeights,
    /// Fusion.
    pub fusion: FusionWeights,
    /// Second stage.
    pub second_stage: SecondStageWeights,
    /// Evidence.
    pub evidence: EvidenceWeights,
}

/// How much of the fused score a preference that fits fully adds, and one that is broken takes; 0..=1.
pub const PREFERENCE_SHARE: f32 = 0.15;

/// Similarity of two chunks' vectors from which the lower one is a copy and is left out; cosine.
pub const DUPLICATE_COSINE: f32 = 0.985;
