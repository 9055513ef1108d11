//! The one small file in which a site says what its pages cannot: `docent.toml` (or `.yml`) in the documentation folder.
//!
//! Input: its text. Output: a checked [`SiteConfig`]. What the command line says goes before what the file says.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::index::address::UrlSuffix;
use crate::index::sources::anchors::AnchorStyle;
use crate::retrieval::document::Document;
use crate::retrieval::vector_engine::EngineConfig;

/// Names under which the file is looked for, the first that exists is read.
pub const FILES: &[&str] = &["docent.toml", "docent.yml", "docent.yaml"];

/// What the file says. Every field may be left out.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SiteConfig {
    /// The name of the site.
    pub title: Option<String>,
    /// Address that the paths of the pages are put behind.
    pub base_url: Option<String>,
    /// How the addresses of pages end.
    pub url_suffix: Option<UrlSuffix>,
    /// Whose rule makes anchors.
    pub anchors: Option<AnchorStyle>,
    /// Where a reader finds a person: a page, a mail address, or a table of the agent's option `contact`.
    pub contact: Option<Value>,
    /// Options of the agent, in camel case as the page would give them.
    pub agent: Option<Value>,
    /// The vector engine that pages ask instead of loading the vectors; without a key, which would stand in a public file.
    pub vectors: Option<EngineConfig>,
    /// Globs of the pages to read; all when empty.
    pub include: Vec<String>,
    /// Globs of the pages to leave out.
    pub exclude: Vec<String>,
    /// Groups of words or phrases that mean the same.
    pub synonyms: Vec<Vec<String>>,
    /// Values of `{{name}}` placeholders.
    pub variables: BTreeMap<String, String>,
    /// The filter that a search uses when it is given none, such as `version = "3"`.
    pub default_filter: BTreeMap<String, String>,
    /// Facets and factors by path.
    pub pages: Vec<PageRule>,
}

/// Facets and factors of the pages whose path fits a glob. Later rules go before earlier ones.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PageRule {
    /// Glob over the path relative to the folder.
    #[serde(rename = "match")]
    pub pattern: String,
    /// Version of these pages.
    pub version: Option<String>,
    /// Section of these pages.
    pub section: Option<String>,
    /// Language tag of these pages.
    pub language: Option<String>,
    /// Tags that these pages get beside their own.
    pub tags: Vec<String>,
    /// How authoritative they are, 0..=1.
    pub authority: Option<f32>,
    /// Factor on their score, 0.1..=10.
    pub boost: Option<f32>,
    #[serde(skip)]
    matcher: Option<GlobMatcher>,
}

impl SiteConfig {
    /// Reads the file; `path` tells TOML from YAML and names it in errors.
    ///
    /// # Errors
    /// [`Error::Input`] with the place and the field.
    pub fn parse(path: &str, text: &str) -> Result<Self> {
        let refuse = |reason: String| Error::Input { path: path.to_owned(), reason };
        let is_toml = path.rsplit('.').next().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
        let mut config: Self = if is_toml {
            toml::from_str(text).map_err(|error| refuse(error.to_string()))?
        } else if text.trim().is_empty() {
            Self::default()
        } else {
            serde_norway::from_str(text).map_err(|error| refuse(error.to_string()))?
        };
        for name in config.default_filter.keys() {
            if !matches!(name.as_str(), "version" | "language" | "section" | "tag" | "tags") {
                return Err(refuse(format!(
                    "default_filter: `{name}` is no facet; version, language, section and tags are"
                )));
            }
        }
        if let Some(engine) = &config.vectors {
            engine.check().map_err(|error| refuse(error.to_string()))?;
            if engine.api_key.is_some() {
                return Err(refuse(
                    "vectors.apiKey: the manifest is public; give the key in the page, if at all".to_owned(),
                ));
            }
        }
        for group in &config.synonyms {
            if group.len() < 2 {
                return Err(refuse(format!("synonyms: the group {group:?} needs at least two members")));
            }
        }
        for rule in &mut config.pages {
            let glob = Glob::new(&rule.pattern).map_err(|error| refuse(format!("pages.match: {error}")))?;
            if rule.pattern.is_empty() {
                return Err(refuse("pages: an entry has no `match`".to_owned()));
            }
            rule.matcher = Some(glob.compile_matcher());
            if rule.boost.is_some_and(|boost| !(0.1..=10.0).contains(&boost)) {
                return Err(refuse(format!("pages ({}): `boost` must be 0.1 to 10", rule.pattern)));
            }
            if rule.authority.is_some_and(|authority| !(0.0..=1.0).contains(&authority)) {
                return Err(refuse(format!("pages ({}): `authority` must be 0 to 1", rule.pattern)));
            }
        }
        Ok(config)
    }

    /// The options of the agent that go into the manifest, the contact among them; `None` when there are none.
    #[must_use]
    pub fn agent_options(&self) -> Option<Value> {
        let contact = self.contact.as_ref().map(|contact| match contact.as_str() {
            Some(text) if text.contains("://") || text.starts_with('/') => json!({ "url": text }),
            Some(text) if text.contains('@') => json!({ "email": text.trim_start_matches("mailto:") }),
            Some(text) => json!({ "label": text }),
            None => contact.clone(),
        });
        let mut options = self.agent.clone().unwrap_or_else(|| json!({}));
        if let (Some(contact), Some(fields)) = (contact, options.as_object_mut()) {
            fields.insert("contact".to_owned(), contact);
        }
        options.as_object().is_none_or(|fields| !fields.is_empty()).then_some(options)
    }

    /// Applies the rules that fit `path`; the language tag is given back, since a page knows only the nearest language.
    pub fn apply(&self, path: &str, document: &mut Document) -> Option<String> {
        let mut language = None;
        for rule in self.pages.iter().filter(|rule| rule.matcher.as_ref().is_some_and(|glob| glob.is_match(path))) {
            if rule.version.is_some() {
                document.version.clone_from(&rule.version);
            }
            if rule.section.is_some() {
                document.section.clone_from(&rule.section);
            }
            if rule.language.is_some() {
                language.clone_from(&rule.language);
            }
            document
                .tags
                .extend(rule.tags.iter().filter(|tag| !document.tags.contains(tag)).cloned().collect::<Vec<_>>());
            document.authority = rule.authority.unwrap_or(document.authority);
            document.boost = rule.boost.unwrap_or(document.boost);
        }
        language
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "title = \"Docs\"\nbase_url = \"https://example.org/docs\"\nurl_suffix = \"clean\"\nanchors = \"vitepress\"\n\
        contact = \"mailto:help@example.org\"\nexclude = [\"fragments/**\"]\nsynonyms = [[\"k8s\", \"kubernetes\"]]\n\
        [variables]\n\"var.version\" = \"2.4\"\n[default_filter]\nversion = \"3\"\n\
        [[pages]]\nmatch = \"**\"\nboost = 0.5\n[[pages]]\nmatch = \"v2/**\"\nversion = \"2\"\ntags = [\"old\"]\nlanguage = \"zh\"\n";

    #[test]
    fn toml_and_yaml_say_the_same() {
        let yaml = "title: Docs\nurl_suffix: clean\npages:\n  - match: 'v2/**'\n    version: '2'\n    tags: [old]\n";
        let toml = SiteConfig::parse("docent.toml", TOML).unwrap();
        let yaml = SiteConfig::parse("docent.yml", yaml).unwrap();
        assert_eq!((toml.title, toml.url_suffix), (yaml.title, yaml.url_suffix));
        assert_eq!(toml.variables["var.version"], "2.4");
        assert!(SiteConfig::parse("docent.yaml", "").unwrap().pages.is_empty());
    }

    #[test]
    fn rules_apply_by_path_and_the_last_one_wins() {
        let config = SiteConfig::parse("docent.toml", TOML).unwrap();
        let mut page = Document { boost: 1.0, ..Document::default() };
        assert_eq!(config.apply("v2/guide.md", &mut page).as_deref(), Some("zh"));
        assert_eq!(
            (page.version.as_deref(), page.boost, page.tags.as_slice()),
            (Some("2"), 0.5, &["old".to_owned()][..])
        );
        assert_eq!(config.apply("guide.md", &mut Document::default()), None);
    }

    #[test]
    fn a_contact_becomes_an_option_of_the_agent() {
        let options = |text: &str| SiteConfig::parse("docent.toml", text).unwrap().agent_options();
        assert_eq!(options(TOML), Some(json!({ "contact": { "email": "help@example.org" } })));
        assert_eq!(
            options("contact = \"https://x.org/help\""),
            Some(json!({ "contact": { "url": "https://x.org/help" } }))
        );
        assert_eq!(
            options("contact = { label = \"Ask us\", event = \"help\" }\n[agent]\nexitWords = [\"bye\"]"),
            Some(json!({ "contact": { "label": "Ask us", "event": "help" }, "exitWords": ["bye"] }))
        );
        assert_eq!(options("title = \"x\""), None);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, part) in [
            ("tilte = 1", "tilte"),
            ("anchors = \"jekyll\"", "jekyll"),
            ("synonyms = [[\"alone\"]]", "two members"),
            ("[[pages]]\nmatch = \"a\"\nboost = 100", "boost"),
            ("[[pages]]\nmatch = \"a\"\nauthority = 2", "authority"),
            ("[[pages]]\nboost = 2", "match"),
            ("[[pages]]\nmatch = \"[\"", "pages.match"),
            ("[default_filter]\ncolour = \"red\"", "colour"),
            ("title = ", "docent.toml"),
        ] {
            let error = SiteConfig::parse("docent.toml", text).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
