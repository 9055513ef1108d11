//! Everything a site can set about the agent, with range checks.
//!
//! Input: the JSON of the site's page, or the `agent` object of the index manifest. Output: a checked [`AgentConfig`].
//! **Invariant:** no key and no header stands here; those belong to the host's chat client.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chat::prompt::{Grounding, PromptBudget};
use crate::error::{Error, Result};
use crate::json;
use crate::policy::policy_config::{PolicyConfig, whole};
use crate::turn::{Contact, Language};

/// Which steps besides `generate` may use the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assist {
    /// None: the endpoint is called for generation only.
    #[default]
    Local,
    /// Rewriting, routing and summarizing too.
    Llm,
}

/// The window and the budgets of the conversation's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// Turns that stay in the window, 1..=100.
    pub max_turns: usize,
    /// Tokens that stay in the window, 100..=100000.
    pub max_tokens: usize,
    /// Turns after which the older ones are folded into the summary, 1..=100.
    pub max_history_turns: usize,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self { max_turns: 10, max_tokens: 2000, max_history_turns: 6 }
    }
}

/// What the default content filter refuses; it blocks nothing but what stands here.
///
/// A word matches without regard to letter case, in English as a whole word and in Chinese anywhere.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ContentFilterConfig {
    /// Words and phrases that a question must not hold.
    pub blocked_questions: Vec<String>,
    /// Words and phrases that a generated reply must not hold.
    pub blocked_replies: Vec<String>,
}

/// One arm of an A/B comparison of policies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyVariant {
    /// Name, written into every record of its sessions.
    pub name: String,
    /// Share of the sessions relative to the other variants, above 0 and up to 1000; 1 where nothing is said.
    #[serde(default = "one")]
    pub weight: f32,
    /// Its parameters.
    #[serde(default)]
    pub policy: PolicyConfig,
}

fn one() -> f32 {
    1.0
}

/// All options of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AgentConfig {
    /// Parameters of the policy, used where [`Self::variants`] is empty.
    pub policy: PolicyConfig,
    /// Arms of an A/B comparison; a session keeps the arm that its id falls into.
    pub variants: Vec<PolicyVariant>,
    /// Which steps besides generation may use the endpoint.
    pub assist: Assist,
    /// Whether a reply may hold more than the passages say.
    pub grounding: Grounding,
    /// Window and budgets of the memory.
    pub memory: MemoryConfig,
    /// Tokens of prompts and replies.
    pub budget: PromptBudget,
    /// Whether answers are generated as a stream.
    pub stream: bool,
    /// Language of the replies while the reader has not written anything that shows theirs.
    pub language: Option<Language>,
    /// Where the reader finds a human.
    pub contact: Option<Contact>,
    /// Words that leave the guidance, beside "exit" and "退出" and their like.
    pub exit_words: Vec<String>,
    /// What the default content filter refuses.
    pub content_filter: ContentFilterConfig,
    /// Longest question, in characters, 10..=20000; a longer one is refused with a sentence.
    pub max_message_chars: usize,
    /// Seed of every choice that is made at random (templates, session id, variant), so that a session replays.
    pub seed: u64,
    /// Session id; made from the seed and the clock where nothing is said.
    pub session_id: Option<String>,
    /// Price of 1000 prompt tokens and of 1000 reply tokens, for [`super::metrics::Metrics`]; unknown where absent.
    pub price_per_1k_tokens: Option<(f64, f64)>,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            policy: PolicyConfig::default(),
            variants: Vec::new(),
            assist: Assist::Local,
            grounding: Grounding::Strict,
            memory: MemoryConfig::default(),
            budget: PromptBudget::default(),
            stream: true,
            language: None,
            contact: None,
            exit_words: Vec::new(),
            content_filter: ContentFilterConfig::default(),
            max_message_chars: 2000,
            seed: 0,
            session_id: None,
            price_per_1k_tokens: None,
        }
    }
}

impl AgentConfig {
    /// Reads options as JSON and checks them.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the option.
    pub fn from_json(value: Value) -> Result<Self> {
        if !value.is_object() {
            return Err(Error::InvalidOption {
                name: "options".to_owned(),
                reason: "an object with the agent's options is needed".to_owned(),
            });
        }
        let config: Self = json::from_value(&value).map_err(|fault| Error::InvalidOption {
            name: if fault.path().is_empty() { "options" } else { fault.path() }.to_owned(),
            reason: fault.reason().to_owned(),
        })?;
        config.check()?;
        Ok(config)
    }

    /// Options of a site, of which the page's own go before the others, object by object.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the option.
    pub fn from_layers(site: Option<&Value>, page: &Value) -> Result<Self> {
        let mut options = site.cloned().unwrap_or_else(json::object);
        merge(&mut options, page);
        Self::from_json(options)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::InvalidOption`] naming the first option that is out of range and what is allowed.
    pub fn check(&self) -> Result<()> {
        self.policy.check("policy.")?;
        for (at, variant) in self.variants.iter().enumerate() {
            variant.policy.check(&format!("variants[{at}].policy."))?;
            if !(variant.weight > 0.0 && variant.weight <= 1000.0) {
                return Err(Error::InvalidOption {
                    name: format!("variants[{at}].weight"),
                    reason: format!("{} is not above 0 and up to 1000", json::number(variant.weight)),
                });
            }
            if variant.name.trim().is_empty() || self.variants[..at].iter().any(|other| other.name == variant.name) {
                return Err(Error::InvalidOption {
                    name: format!("variants[{at}].name"),
                    reason: "every variant needs a name of its own".to_owned(),
                });
            }
        }
        whole("", "memory.maxTurns", self.memory.max_turns, 1, 100)?;
        whole("", "memory.maxTokens", self.memory.max_tokens, 100, 100_000)?;
        whole("", "memory.maxHistoryTurns", self.memory.max_history_turns, 1, 100)?;
        self.budget.check()?;
        whole("", "maxMessageChars", self.max_message_chars, 10, 20_000)?;
        if let Some(session) = &self.session_id
            && (session.is_empty() || session.len() > 64 || session.chars().any(char::is_control))
        {
            return Err(Error::InvalidOption {
                name: "sessionId".to_owned(),
                reason: "1 to 64 bytes without control characters are allowed".to_owned(),
            });
        }
        if let Some((prompt, reply)) = self.price_per_1k_tokens
            && !(prompt >= 0.0 && reply >= 0.0 && prompt.is_finite() && reply.is_finite())
        {
            return Err(Error::InvalidOption {
                name: "pricePer1kTokens".to_owned(),
                reason: "two prices of 0 and up are allowed".to_owned(),
            });
        }
        if let Some(contact) = &self.contact
            && contact.url.is_none()
            && contact.email.is_none()
            && contact.event.is_none()
        {
            return Err(Error::InvalidOption {
                name: "contact".to_owned(),
                reason: "one of `url`, `email` or `event` is needed".to_owned(),
            });
        }
        Ok(())
    }

    /// The variant that a session belongs to, or `None` where there is no comparison.
    ///
    /// The same session id always falls into the same arm, in shares of the weights.
    #[must_use]
    pub fn variant_of(&self, session: &str) -> Option<&PolicyVariant> {
        let total: f64 = self.variants.iter().map(|variant| f64::from(variant.weight)).sum();
        let hash = xxhash_rust::xxh3::xxh3_64_with_seed(session.as_bytes(), self.seed);
        // 53 bits, so that the share is exact in a double.
        let mut at = (hash >> 11) as f64 / (1_u64 << 53) as f64 * total;
        for variant in &self.variants {
            at -= f64::from(variant.weight);
            if at < 0.0 {
                return Some(variant);
            }
        }
        self.variants.last()
    }
}

/// Puts the fields of `over` into `base`; objects are merged, everything else is replaced.
fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => base.clone_from(over),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_option_out_of_range_or_of_another_kind_is_named() {
        let check = |value: Value, name: &str| match AgentConfig::from_json(value.clone()).unwrap_err() {
            Error::InvalidOption { name: found, .. } => assert_eq!(found, name, "{value}"),
            other => panic!("{other}"),
        };
        check(json!({"policy": {"topK": -1}}), "policy.topK");
        check(json!({"policy": {"topK": 2.5}}), "policy.topK");
        check(json!({"policy": {"relevanceThreshold": 2}}), "policy.relevanceThreshold");
        check(json!({"assist": "cloud"}), "assist");
        check(json!({"unknown": 1}), "unknown");
        check(json!({"contact": {"label": "Ask us"}}), "contact");
        check(json!({"variants": [{"name": "a", "weight": 0}]}), "variants[0].weight");
        check(json!({"variants": [{"name": "a"}, {"name": "a"}]}), "variants[1].name");
        check(
            json!({"variants": [{"name": "a", "policy": {"confusionLimit": 0}}]}),
            "variants[0].policy.confusionLimit",
        );
        check(json!({"sessionId": ""}), "sessionId");
        check(json!([]), "options");
    }

    #[test]
    fn the_page_goes_before_the_site() {
        let site = json!({"policy": {"topK": 7, "maxSuggestions": 1}, "contact": {"url": "/help"}});
        let config = AgentConfig::from_layers(Some(&site), &json!({"policy": {"topK": 3}, "contact": null})).unwrap();
        assert_eq!((config.policy.top_k, config.policy.max_suggestions, config.contact), (3, 1, None));
    }

    #[test]
    fn no_options_are_the_defaults() {
        assert_eq!(AgentConfig::from_json(json!({})).unwrap(), AgentConfig::default());
    }

    #[test]
    fn a_session_keeps_its_variant_and_the_shares_follow_the_weights() {
        let config = AgentConfig::from_json(json!({"variants": [{"name": "a"}, {"name": "b", "weight": 3}]})).unwrap();
        let count = (0..4000).filter(|n| config.variant_of(&format!("s{n}")).unwrap().name == "a").count();
        assert!((900..1100).contains(&count), "{count} of 4000 sessions fell into an arm of one quarter");
        assert_eq!(config.variant_of("s1"), config.variant_of("s1"));
        assert_eq!(AgentConfig::default().variant_of("s1"), None);
    }
}
