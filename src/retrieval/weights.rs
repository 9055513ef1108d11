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

/// Weights of the fusion, in standard deviations of the cosine above the query's background.
///
/// Chosen on three sets together (English product documentation, English dialogues over four domains, Chinese product
/// documentation); nDCG@10 is flat around each value, which matters more than the last thousandth on one of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionWeights {
    /// Weight of BM25F as a share of what the query could reach. From 4 to 8 all three sets stay within 0.01.
    pub lexical: f32,
    /// Weight of the cosine in standard deviations above the query's background.
    pub dense: f32,
    /// What a chunk of a page of questions and answers gains when the query is a full question. It stays below one
    /// deviation, so that it decides between passages that fit about as well; twice as much costs other sets.
    pub question_page: f32,
    /// What a chunk gains that begins with a yes or a no when the query wants one.
    pub verdict: f32,
}

impl Default for FusionWeights {
    fn default() -> Self {
        Self { lexical: 6.0, dense: 1.0, question_page: 0.6, verdict: 0.75 }
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
        Self { coverage: 0.0, heading: 0.3, neighbor: 0.0, authority: 0.5 }
    }
}

/// Weights of the evidence: two logistic regressions, one with the dense leg and one without.
///
/// Fitted on the questions of three sets against questions of other sets asked of the same index (English and Chinese,
/// both models), each set weighing the same; the biases put the balance of both kinds of error near 0.3. The bias without
/// the dense leg was raised afterwards by 0.9: Chinese questions of words that the index cuts otherwise fell below it.
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
    /// For the share of the query's words that the index holds: the strongest sign that a question is a stranger.
    pub in_vocabulary: f32,
    /// The bias where there is no dense leg.
    pub lexical_only_bias: f32,
    /// For BM25F where there is no dense leg.
    pub lexical_only_lexical: f32,
    /// For the share of the query's terms where there is no dense leg.
    pub lexical_only_coverage: f32,
    /// For the share of known words where there is no dense leg.
    pub lexical_only_in_vocabulary: f32,
}

impl Default for EvidenceWeights {
    fn default() -> Self {
        Self {
            bias: -7.8,
            dense: 0.385,
            lexical: 2.2,
            coverage: 1.7,
            in_vocabulary: 4.3,
            lexical_only_bias: -5.9,
            lexical_only_lexical: 3.1,
            lexical_only_coverage: 0.55,
            lexical_only_in_vocabulary: 5.1,
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
