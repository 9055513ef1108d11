//! Which action comes next: the table of rules, the trait behind which it stands, and the rails for a learned policy.
//!
//! Input: [`DecisionFacts`] and [`PolicyConfig`]. Output: one [`Decision`] with its reason.
//! **Invariant:** synchronous and pure; the same facts and parameters give the same decision.

use serde::{Deserialize, Serialize};

use super::decision_facts::DecisionFacts;
use super::logistic_policy::LogisticPolicy;
use super::policy_config::PolicyConfig;
use crate::turn::Action;

/// Why an action was decided on; its name is stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The reader asked for it.
    Asked,
    /// Too many failed turns in a row.
    HighConfusion,
    /// Nothing was found.
    NoResults,
    /// Only weak evidence, and the question does not continue the topic.
    LowRelevanceNewTopic,
    /// Only weak evidence for a question that continues the topic.
    LowRelevanceSameTopic,
    /// The docs do not cover what was asked.
    NotInDocs,
    /// The question fits several things in the docs equally well.
    Ambiguous,
    /// The reader left the choice to the agent, or was asked already.
    BestGuess,
    /// The reader chose it.
    Selected,
    /// Found; the first answer, or one on another topic than before.
    NewTopic,
    /// Found, on the topic of the answers before.
    SameTopic,
}

impl Reason {
    /// The stable name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::HighConfusion => "high_confusion",
            Self::NoResults => "no_results",
            Self::LowRelevanceNewTopic => "low_relevance_new_topic",
            Self::LowRelevanceSameTopic => "low_relevance_same_topic",
            Self::NotInDocs => "not_in_docs",
            Self::Ambiguous => "ambiguous",
            Self::BestGuess => "best_guess",
            Self::Selected => "selected",
            Self::NewTopic => "new_topic",
            Self::SameTopic => "same_topic",
        }
    }
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// The action.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// Name of the row of the table that fired, or that bounds what a learned policy chose.
    pub rule: String,
    /// The confusion counter after the decision.
    pub confusion: u32,
    /// The answer spells steps out and takes more passages: one step before hand-over.
    pub detailed: bool,
    /// A summary is offered as a choice beside the answer.
    pub offer_summary: bool,
    /// What a learned policy thought of each outcome that the rules allow; empty for the table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probabilities: Vec<(String, f32)>,
}

/// An action with its reason: what a policy chooses between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The action.
    pub action: Action,
    /// Why.
    pub reason: Reason,
}

impl Outcome {
    /// The label under which a learned policy knows the outcome: the action, or `not_in_docs`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match (self.action, self.reason) {
            (_, Reason::NotInDocs) => "not_in_docs",
            (Action::AskClarification, _) => "ask_clarification",
            (Action::SuggestRelated, _) => "suggest_related",
            (Action::ProvideSummary, _) => "provide_summary",
            (Action::EscalateToHuman, _) => "escalate_to_human",
            _ => "answer_directly",
        }
    }
}

/// A policy: chooses one outcome for the facts of a turn.
pub trait DialoguePolicy {
    /// A stable name, written into the record of the turn.
    fn name(&self) -> &str;
    /// Chooses; `rails` are the outcomes that the rules allow, the table's own choice first and never empty.
    fn choose(&self, facts: &DecisionFacts, config: &PolicyConfig, rails: &[Outcome]) -> (Outcome, Vec<(String, f32)>);
}

/// The table itself: takes what the first row that matches says.
#[derive(Debug, Clone, Copy, Default)]
pub struct RulePolicy;

impl DialoguePolicy for RulePolicy {
    fn name(&self) -> &str {
        "rules"
    }

    fn choose(&self, _: &DecisionFacts, _: &PolicyConfig, rails: &[Outcome]) -> (Outcome, Vec<(String, f32)>) {
        (rails[0], Vec::new())
    }
}

/// What happens to the confusion counter when a row fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counter {
    Up,
    Zero,
    Keep,
}

/// One row: the first whose condition holds decides.
struct Rule {
    name: &'static str,
    holds: fn(&DecisionFacts, &PolicyConfig) -> bool,
    outcome: fn(&DecisionFacts, &PolicyConfig) -> Outcome,
    counter: Counter,
}

/// The table, in order. A row that is numbered as in the guide carries that number in its name.
const RULES: &[Rule] = &[
    Rule {
        name: "0_summary_asked",
        holds: |facts, _| facts.asked_summary,
        outcome: |_, _| Outcome { action: Action::ProvideSummary, reason: Reason::Asked },
        counter: Counter::Keep,
    },
    Rule {
        name: "0_human_asked",
        holds: |facts, _| facts.asked_human,
        outcome: |_, _| Outcome { action: Action::EscalateToHuman, reason: Reason::Asked },
        counter: Counter::Zero,
    },
    Rule {
        // A chosen item is shown whatever its evidence: the reader has judged it already.
        name: "0_selected",
        holds: |facts, _| facts.chosen && facts.found > 0,
        outcome: |_, _| Outcome { action: Action::AnswerDirectly, reason: Reason::Selected },
        counter: Counter::Zero,
    },
    Rule {
        name: "1_confusion",
        holds: |facts, config| facts.confusion >= config.confusion_limit,
        outcome: |_, _| Outcome { action: Action::EscalateToHuman, reason: Reason::HighConfusion },
        counter: Counter::Zero,
    },
    Rule {
        // The reader left the choice to the agent, or was asked about the same thing already: no second question.
        name: "2_best_guess",
        holds: |facts, config| {
            facts.found > 0
                && (facts.any_choice || (facts.asked_before && (weak(facts, config) || ambiguous(facts, config))))
        },
        outcome: |_, _| Outcome { action: Action::AnswerDirectly, reason: Reason::BestGuess },
        counter: Counter::Keep,
    },
    Rule {
        name: "2_not_in_docs",
        holds: |facts, config| {
            (facts.found == 0 && (not_covered(facts, config) || facts.asked_before || facts.any_choice))
                || (weak(facts, config) && not_covered(facts, config))
        },
        outcome: |_, _| Outcome { action: Action::AnswerDirectly, reason: Reason::NotInDocs },
        counter: Counter::Up,
    },
    Rule {
        name: "2_no_results",
        holds: |facts, _| facts.found == 0,
        outcome: |_, _| Outcome { action: Action::AskClarification, reason: Reason::NoResults },
        counter: Counter::Up,
    },
    Rule {
        name: "3_low_relevance",
        holds: weak,
        outcome: |facts, config| Outcome {
            action: Action::AskClarification,
            reason: if facts.context.is_some_and(|context| context >= config.context_threshold) {
                Reason::LowRelevanceSameTopic
            } else {
                Reason::LowRelevanceNewTopic
            },
        },
        counter: Counter::Up,
    },
    Rule {
        name: "3_ambiguous",
        holds: ambiguous,
        outcome: |_, _| Outcome { action: Action::AskClarification, reason: Reason::Ambiguous },
        counter: Counter::Keep,
    },
    Rule {
        name: "4_new_topic",
        holds: new_topic,
        outcome: |_, _| Outcome { action: Action::AnswerDirectly, reason: Reason::NewTopic },
        counter: Counter::Zero,
    },
    Rule {
        name: "5_related",
        holds: |facts, config| facts.related > 0 && config.max_suggestions > 0,
        outcome: |_, _| Outcome { action: Action::SuggestRelated, reason: Reason::SameTopic },
        counter: Counter::Zero,
    },
    Rule {
        name: "6_same_topic",
        holds: |_, _| true,
        outcome: |_, _| Outcome { action: Action::AnswerDirectly, reason: Reason::SameTopic },
        counter: Counter::Zero,
    },
];

/// The names of the table's rows, in order, as they stand in [`Decision::rule`].
#[must_use]
pub fn rule_names() -> Vec<&'static str> {
    RULES.iter().map(|rule| rule.name).collect()
}

/// Something was found, but not enough of it.
fn weak(facts: &DecisionFacts, config: &PolicyConfig) -> bool {
    facts.found > 0 && facts.best < config.relevance_threshold
}

/// The question says clearly what it is about, and the docs hold hardly any of it: it names something that they do not
/// know, or it has four content words and next to no evidence.
fn not_covered(facts: &DecisionFacts, config: &PolicyConfig) -> bool {
    let weak = facts.found == 0 || facts.best < config.relevance_threshold;
    let hardly = facts.found == 0 || facts.best < config.not_in_docs_threshold.min(config.relevance_threshold);
    !facts.unresolved && ((facts.unknown_names > 0 && weak) || (facts.content_words >= 4 && hardly))
}

/// Found, but for several readings that the choices can tell apart.
fn ambiguous(facts: &DecisionFacts, config: &PolicyConfig) -> bool {
    facts.found > 0 && !facts.chosen && facts.choices >= 2 && facts.ambiguity >= config.ambiguity_threshold
}

/// The first answer, or one on another topic than before.
fn new_topic(facts: &DecisionFacts, config: &PolicyConfig) -> bool {
    facts.answered_turns == 0 || facts.context.is_none_or(|context| context < config.context_threshold)
}

/// The outcomes that the rules allow besides the table's own: the rails of a learned policy.
///
/// Rows 0 and 1 and an answer to "either" are not open to it. With nothing found it may only choose between asking and
/// saying so; it never asks twice about the same thing, never suggests where there is nothing to suggest, and never
/// says "not in the docs" of strong evidence.
fn rails(at: usize, own: Outcome, facts: &DecisionFacts, config: &PolicyConfig) -> Vec<Outcome> {
    let mut allowed = vec![own];
    if matches!(own.action, Action::ProvideSummary | Action::EscalateToHuman)
        || matches!(RULES[at].name, "0_selected" | "2_best_guess")
    {
        return allowed;
    }
    let mut allow = |action, reason| {
        let outcome = Outcome { action, reason };
        if allowed.iter().all(|known: &Outcome| known.label() != outcome.label()) {
            allowed.push(outcome);
        }
    };
    let topic = if new_topic(facts, config) { Reason::NewTopic } else { Reason::SameTopic };
    if facts.found > 0 {
        allow(Action::AnswerDirectly, topic);
        if facts.related > 0 && config.max_suggestions > 0 && topic == Reason::SameTopic {
            allow(Action::SuggestRelated, topic);
        }
    }
    if !facts.asked_before && !facts.any_choice && !facts.chosen {
        let reason = match (facts.found, weak(facts, config), topic) {
            (0, ..) => Reason::NoResults,
            (_, true, Reason::NewTopic) => Reason::LowRelevanceNewTopic,
            (_, true, _) => Reason::LowRelevanceSameTopic,
            (_, false, _) => Reason::Ambiguous,
        };
        allow(Action::AskClarification, reason);
    }
    // Evidence of twice the threshold is an answer, whatever was learned elsewhere.
    if facts.best < 2.0 * config.relevance_threshold {
        allow(Action::AnswerDirectly, Reason::NotInDocs);
    }
    allowed
}

/// The decision maker: the table, or a learned policy within its rails.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyDecisionMaker {
    config: PolicyConfig,
}

impl PolicyDecisionMaker {
    /// A decision maker for parameters that passed [`PolicyConfig::check`].
    #[must_use]
    pub fn new(config: PolicyConfig) -> Self {
        Self { config }
    }

    /// Its parameters.
    #[must_use]
    pub fn config(&self) -> &PolicyConfig {
        &self.config
    }

    /// Decides by the table, or by the learned policy that the parameters carry.
    #[must_use]
    pub fn decide(&self, facts: &DecisionFacts) -> Decision {
        match &self.config.learned {
            Some(weights) => self.decide_with(&LogisticPolicy::new(weights), facts),
            None => self.decide_with(&RulePolicy, facts),
        }
    }

    /// Decides by any policy, within what the rules allow: a choice outside of the rails falls back to the table's.
    #[must_use]
    pub fn decide_with(&self, policy: &dyn DialoguePolicy, facts: &DecisionFacts) -> Decision {
        let config = &self.config;
        let at = RULES.iter().position(|rule| (rule.holds)(facts, config)).unwrap_or(RULES.len() - 1);
        let rule = &RULES[at];
        let own = (rule.outcome)(facts, config);
        let rails = rails(at, own, facts, config);
        let (chosen, probabilities) = policy.choose(facts, config, &rails);
        let chosen = if rails.contains(&chosen) { chosen } else { own };
        let counter = if chosen == own { rule.counter } else { counter_of(chosen) };
        let confusion = match counter {
            Counter::Up => facts.confusion + 1,
            Counter::Zero => 0,
            Counter::Keep => facts.confusion,
        };
        let answers = matches!(chosen.action, Action::AnswerDirectly | Action::SuggestRelated)
            && chosen.reason != Reason::NotInDocs;
        Decision {
            action: chosen.action,
            reason: chosen.reason,
            rule: rule.name.to_owned(),
            confusion,
            detailed: answers && facts.confusion + 1 == config.confusion_limit,
            // Once after so many answers, and again after as many more: a choice, not a refrain.
            offer_summary: answers && facts.topic_turns > 0 && facts.topic_turns.is_multiple_of(config.summary_after),
            probabilities,
        }
    }
}

/// The counter for an outcome that a learned policy put in the place of the table's.
fn counter_of(outcome: Outcome) -> Counter {
    match (outcome.action, outcome.reason) {
        (_, Reason::NotInDocs | Reason::NoResults) => Counter::Up,
        (_, Reason::LowRelevanceNewTopic | Reason::LowRelevanceSameTopic) => Counter::Up,
        (Action::AskClarification, _) => Counter::Keep,
        _ => Counter::Zero,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(facts: DecisionFacts) -> Decision {
        PolicyDecisionMaker::new(PolicyConfig::default()).decide(&facts)
    }

    /// A good answer on the topic of the answer before.
    const FOUND: DecisionFacts = DecisionFacts {
        asked_summary: false,
        asked_human: false,
        any_choice: false,
        confusion: 0,
        found: 3,
        best: 0.8,
        runner_up: 0.2,
        context: Some(0.9),
        answered_turns: 1,
        topic_turns: 1,
        related: 1,
        exploration: 0.5,
        in_vocabulary: 1.0,
        coverage: 0.9,
        content_words: 3,
        message_words: 6,
        fragment: false,
        specificity: 0.6,
        spread: 0.4,
        ambiguity: 0.0,
        unresolved: false,
        unknown_names: 0,
        choices: 0,
        asked_before: false,
        chosen: false,
    };

    #[test]
    fn every_row_of_the_table_fires_on_its_facts() {
        let check = |facts: DecisionFacts, action, reason, confusion| {
            let decision = decide(facts);
            assert_eq!(
                (decision.action, decision.reason, decision.confusion),
                (action, reason, confusion),
                "{facts:?}"
            );
        };
        use Action::{AnswerDirectly, AskClarification, EscalateToHuman, ProvideSummary, SuggestRelated};
        check(DecisionFacts { asked_summary: true, confusion: 5, ..FOUND }, ProvideSummary, Reason::Asked, 5);
        check(DecisionFacts { asked_human: true, ..FOUND }, EscalateToHuman, Reason::Asked, 0);
        check(DecisionFacts { chosen: true, confusion: 3, best: 0.1, ..FOUND }, AnswerDirectly, Reason::Selected, 0);
        check(DecisionFacts { confusion: 3, ..FOUND }, EscalateToHuman, Reason::HighConfusion, 0);
        check(DecisionFacts { confusion: 4, ..FOUND }, EscalateToHuman, Reason::HighConfusion, 0);
        let none = DecisionFacts { found: 0, best: 0.0, ..FOUND };
        check(DecisionFacts { confusion: 1, ..none }, AskClarification, Reason::NoResults, 2);
        let weak = DecisionFacts { best: 0.29, ..FOUND };
        check(weak, AskClarification, Reason::LowRelevanceSameTopic, 1);
        check(DecisionFacts { context: Some(0.49), ..weak }, AskClarification, Reason::LowRelevanceNewTopic, 1);
        check(DecisionFacts { context: None, ..weak }, AskClarification, Reason::LowRelevanceNewTopic, 1);
        check(DecisionFacts { answered_turns: 0, confusion: 2, ..FOUND }, AnswerDirectly, Reason::NewTopic, 0);
        check(DecisionFacts { context: Some(0.49), ..FOUND }, AnswerDirectly, Reason::NewTopic, 0);
        check(DecisionFacts { context: None, ..FOUND }, AnswerDirectly, Reason::NewTopic, 0);
        check(FOUND, SuggestRelated, Reason::SameTopic, 0);
        check(DecisionFacts { related: 0, ..FOUND }, AnswerDirectly, Reason::SameTopic, 0);
    }

    #[test]
    fn thresholds_hold_at_their_very_value() {
        assert_eq!(decide(DecisionFacts { best: 0.3, ..FOUND }).action, Action::SuggestRelated);
        assert_eq!(decide(DecisionFacts { context: Some(0.5), ..FOUND }).reason, Reason::SameTopic);
    }

    #[test]
    fn it_asks_back_once_and_then_takes_its_best_guess_or_says_that_the_docs_do_not_say() {
        let weak = DecisionFacts { best: 0.2, ..FOUND };
        assert_eq!(decide(weak).action, Action::AskClarification);
        assert_eq!(decide(DecisionFacts { asked_before: true, ..weak }).reason, Reason::BestGuess);
        assert_eq!(decide(DecisionFacts { any_choice: true, ..weak }).reason, Reason::BestGuess);
        let none = DecisionFacts { found: 0, best: 0.0, asked_before: true, ..FOUND };
        assert_eq!((decide(none).action, decide(none).reason), (Action::AnswerDirectly, Reason::NotInDocs));
    }

    #[test]
    fn a_specific_question_that_the_docs_hold_nothing_of_is_not_dressed_up_as_a_question() {
        let decision = decide(DecisionFacts { found: 0, best: 0.0, unknown_names: 1, ..FOUND });
        assert_eq!((decision.action, decision.reason), (Action::AnswerDirectly, Reason::NotInDocs));
        assert_eq!(decision.confusion, 1);
    }

    #[test]
    fn an_even_split_is_asked_about_unless_one_was_chosen() {
        let split = DecisionFacts { choices: 2, ambiguity: 0.9, ..FOUND };
        assert_eq!((decide(split).action, decide(split).reason), (Action::AskClarification, Reason::Ambiguous));
        assert_eq!(decide(DecisionFacts { chosen: true, ..split }).action, Action::AnswerDirectly);
        assert_eq!(decide(DecisionFacts { asked_before: true, ..split }).reason, Reason::BestGuess);
    }

    #[test]
    fn one_step_before_hand_over_the_answer_is_detailed_and_after_a_long_topic_a_summary_is_offered() {
        assert!(decide(DecisionFacts { confusion: 2, ..FOUND }).detailed);
        assert!(!decide(DecisionFacts { confusion: 1, ..FOUND }).detailed);
        assert!(decide(DecisionFacts { topic_turns: 6, ..FOUND }).offer_summary);
        assert!(!decide(DecisionFacts { topic_turns: 5, ..FOUND }).offer_summary);
        assert!(!decide(DecisionFacts { topic_turns: 7, ..FOUND }).offer_summary);
        assert!(decide(DecisionFacts { topic_turns: 12, ..FOUND }).offer_summary);
    }

    #[test]
    fn suggestions_can_be_turned_off() {
        let config = PolicyConfig { max_suggestions: 0, ..PolicyConfig::default() };
        assert_eq!(PolicyDecisionMaker::new(config).decide(&FOUND).action, Action::AnswerDirectly);
    }

    /// A policy that wants what nobody may have.
    struct Reckless;

    impl DialoguePolicy for Reckless {
        fn name(&self) -> &str {
            "reckless"
        }

        fn choose(&self, _: &DecisionFacts, _: &PolicyConfig, _: &[Outcome]) -> (Outcome, Vec<(String, f32)>) {
            (Outcome { action: Action::SuggestRelated, reason: Reason::SameTopic }, Vec::new())
        }
    }

    #[test]
    fn a_policy_that_leaves_the_rails_is_overruled_by_the_table() {
        let maker = PolicyDecisionMaker::new(PolicyConfig::default());
        let none = DecisionFacts { found: 0, best: 0.0, ..FOUND };
        assert_eq!(maker.decide_with(&Reckless, &none).action, Action::AskClarification);
        let confused = DecisionFacts { confusion: 3, ..FOUND };
        assert_eq!(maker.decide_with(&Reckless, &confused).action, Action::EscalateToHuman);
        assert_eq!(maker.decide_with(&Reckless, &FOUND).action, Action::SuggestRelated);
    }

    #[test]
    fn learned_weights_decide_within_the_rails_and_say_how_sure_they_are() {
        let weights: super::super::logistic_policy::LogisticWeights = serde_json::from_str(
            r#"{"features": ["best", "unresolved"], "outcomes": [
                {"outcome": "answer_directly", "bias": 0, "weights": [4, 0]},
                {"outcome": "ask_clarification", "bias": 1, "weights": [0, 4]}]}"#,
        )
        .unwrap();
        let config = PolicyConfig { learned: Some(weights), ..PolicyConfig::default() };
        config.check("").unwrap();
        let maker = PolicyDecisionMaker::new(config);
        let facts = DecisionFacts { related: 0, ..FOUND };
        let sure = maker.decide(&facts);
        assert_eq!((sure.action, sure.reason), (Action::AnswerDirectly, Reason::SameTopic));
        let total: f32 = sure.probabilities.iter().map(|(_, share)| share).sum();
        assert!((total - 1.0).abs() < 1e-5 && sure.probabilities.len() == 2, "{:?}", sure.probabilities);
        // The table would answer; what was learned asks, and the counter stays as it was.
        let asked = maker.decide(&DecisionFacts { unresolved: true, ..facts });
        assert_eq!((asked.action, asked.reason, asked.confusion), (Action::AskClarification, Reason::Ambiguous, 0));
        // The rails: not twice, and never instead of a hand-over.
        let again = maker.decide(&DecisionFacts { unresolved: true, asked_before: true, ..facts });
        assert_eq!(again.action, Action::AnswerDirectly);
        let confused = maker.decide(&DecisionFacts { unresolved: true, confusion: 3, ..facts });
        assert_eq!(confused.action, Action::EscalateToHuman);
    }

    #[test]
    fn weights_that_do_not_fit_are_refused_by_name() {
        let check = |json: &str, expected: &str| {
            let config: PolicyConfig = serde_json::from_str(&format!(r#"{{"learned": {json}}}"#)).unwrap();
            assert!(config.check("policy.").unwrap_err().to_string().contains(expected), "{json}");
        };
        check(r#"{"features": ["bestt"], "outcomes": []}"#, "policy.learned.features[0]");
        check(r#"{"features": [], "outcomes": []}"#, "policy.learned.outcomes");
        check(
            r#"{"features": ["best"], "outcomes": [{"outcome": "answer_directly", "bias": 0, "weights": []}]}"#,
            "policy.learned.outcomes[0].weights",
        );
        check(
            r#"{"features": [], "outcomes": [{"outcome": "escalate_to_human", "bias": 0, "weights": []}]}"#,
            "policy.learned.outcomes[0].outcome",
        );
    }
}
