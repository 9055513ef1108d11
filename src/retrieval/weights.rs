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
/// Chosen on four sets (English product documentation, English dialogues over four domains, Chinese product documentation,
/// Chinese talk about sights) so that none loses against the better of its legs, and held against weights that are chosen on
/// the other sets alone (`docent eval --hold-out`). nDCG@10 is flat around each value, which matters more than the last
/// thousandth on one set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionWeights {
    /// Weight of BM25F, see [`crate::retrieval::fusion::QueryScale::lexical_support`].
    pub lexical: f32,
    /// Weight of BM25F as a share of what the query could reach, for a passage in another language: between none, where the
    /// names that both hold say nothing, and twice as much, where they outweigh the cosines.
    pub across_lexical: f32,
    /// Weight of the cosine in standard deviations above the query's background, where the best stands out of the ten best by
    /// nothing.
    pub dense: f32,
    /// What each standard deviation by which it does adds to that weight, which ends at 1: a leg that cannot tell its first
    /// from its tenth should not overrule one that can.
    pub dense_lead: f32,
    /// What a chunk of a page of questions and answers gains when the query is a full question. It stays near one deviation,
    /// so that it decides between passages that fit about as well; sets made of such pages would choose more.
    pub question_page: f32,
    /// What a chunk gains that begins with a yes or a no when the query wants one.
    pub verdict: f32,
}

impl Default for FusionWeights {
    fn default() -> Self {
        Self { lexical: 3.5, across_lexical: 1.75, dense: 0.5, dense_lead: 0.25, question_page: 1.2, verdict: 0.8 }
    }
}

/// Weights of the second stage, in units of the fused score: standard deviations of the cosine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondStageWeights {
    /// Weight of a heading that is the question: all of it where both hold the same words, else their shares multiplied.
    pub heading: f32,
    /// Weight of the share of the question's neighboring words that stand side by side in the chunk's text.
    pub phrase: f32,
    /// Weight of the page's authority above or below the usual 0.5.
    pub authority: f32,
    /// Weight of the page's date, from the newest page of the index (0.5) over pages without a date (0) to old ones (−0.5).
    /// No set that could be measured on has dates: it decides between passages that fit the same.
    pub recency: f32,
}

impl Default for SecondStageWeights {
    fn default() -> Self {
        Self { heading: 1.0, phrase: 1.0, authority: 0.5, recency: 0.2 }
    }
}

/// Weights of the evidence: logistic regressions with the dense leg, without it, and for a question in another language.
///
/// Fitted on the questions of three sets (English and Chinese, both models) against questions of other sets asked of the same
/// index, each set and each kind of question weighing the same, so that the default threshold of 0.3 stands where both kinds
/// of error weigh the same. No weight depends on the language: Chinese questions are equal to English ones because pairs of
/// characters that are no words are not counted as missing. The cosine weighs next to nothing: how far the best passage of an
/// index stands above its background differs more between two indexes than between a question and a stranger.
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
    /// For the share of the question's neighboring words that stand side by side in the passage.
    pub phrase: f32,
    /// For the share of the query's words that the index holds: the strongest sign that a question is a stranger.
    pub in_vocabulary: f32,
    /// For the share of the best ten of either leg that both have: two legs that know nothing of each other agree on what is
    /// there and on nothing else.
    pub agreement: f32,
    /// The sum for a question in another language than the passage, where nothing speaks for it. Both kinds of error are about
    /// equal here, and higher than within a language: the model alone seldom knows a stranger.
    pub across_bias: f32,
    /// For each standard deviation by which the passage leads the ten best, for a question in another language. How far they
    /// all stand above the background says little there: a passage in the question's own language stands higher whatever it
    /// says.
    pub across_lead: f32,
    /// The bias where there is no dense leg.
    pub lexical_only_bias: f32,
    /// For BM25F where there is no dense leg.
    pub lexical_only_lexical: f32,
    /// For the share of the query's terms where there is no dense leg.
    pub lexical_only_coverage: f32,
    /// For the neighboring words where there is no dense leg.
    pub lexical_only_phrase: f32,
    /// For the share of known words where there is no dense leg.
    pub lexical_only_in_vocabulary: f32,
}

impl Default for EvidenceWeights {
    fn default() -> Self {
        Self {
            bias: -7.1,
            dense: 0.05,
            lexical: 1.75,
            coverage: 0.7,
            phrase: 4.2,
            in_vocabulary: 4.3,
            agreement: 4.1,
            across_bias: -2.2,
            across_lead: 2.0,
            lexical_only_bias: -6.75,
            lexical_only_lexical: 2.6,
            lexical_only_coverage: 0.55,
            lexical_only_phrase: 4.8,
            lexical_only_in_vocabulary: 4.7,
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
