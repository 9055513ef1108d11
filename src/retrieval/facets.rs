//! Which pages a search may return, and which the reader would rather see.
//!
//! Input: the facets of pages. Output: yes or no for a [`Filter`], a factor for [`Preferences`].
//! **Invariant:** a filter is hard and a preference is soft: only a filter can empty the result.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, IntoDeserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::retrieval::document::Document;
use crate::turn::Language;

/// A hard limit on the pages. A facet without values lets every page pass; a page passes a facet when it has one of the
/// values; it must pass every facet. A new facet is a new version of the index format: an older page would not heed it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Facets")]
pub struct Filter {
    /// Versions.
    pub version: Vec<String>,
    /// Languages.
    pub language: Vec<Language>,
    /// Sections.
    pub section: Vec<String>,
    /// Tags; a tag also stands for the tags below it (`python` for `python/venv`).
    pub tags: Vec<String>,
}

/// A filter as authors write it: each facet by either of its names, and one value without a list.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Facets {
    #[serde(deserialize_with = "one_or_many")]
    version: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    versions: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    language: Vec<Language>,
    #[serde(deserialize_with = "one_or_many")]
    languages: Vec<Language>,
    #[serde(deserialize_with = "one_or_many")]
    section: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    sections: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    tags: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    tag: Vec<String>,
}

impl From<Facets> for Filter {
    fn from(facets: Facets) -> Self {
        fn both<T>(mut values: Vec<T>, others: Vec<T>) -> Vec<T> {
            values.extend(others);
            values
        }
        Self {
            version: both(facets.version, facets.versions),
            language: both(facets.language, facets.languages),
            section: both(facets.section, facets.sections),
            tags: both(facets.tags, facets.tag),
        }
    }
}

impl Filter {
    /// Whether every page passes.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.version.is_empty() && self.language.is_empty() && self.section.is_empty() && self.tags.is_empty()
    }

    /// Whether a page passes. A page without a version belongs to every version.
    #[must_use]
    pub fn accepts(&self, document: &Document) -> bool {
        let version = self.version.is_empty()
            || document.version.as_ref().is_none_or(|version| self.version.iter().any(|v| same_version(v, version)));
        let language = self.language.is_empty() || self.language.contains(&document.language);
        let section = self.section.is_empty() || document.section.as_ref().is_some_and(|s| self.section.contains(s));
        let tags =
            self.tags.is_empty() || document.tags.iter().any(|tag| self.tags.iter().any(|wanted| covers(wanted, tag)));
        version && language && section && tags
    }

    /// This filter with the facets of `default` wherever it says nothing.
    #[must_use]
    pub fn or_default(&self, default: &Self) -> Self {
        fn pick<T: Clone>(own: &[T], default: &[T]) -> Vec<T> {
            if own.is_empty() { default.to_vec() } else { own.to_vec() }
        }
        Self {
            version: pick(&self.version, &default.version),
            language: pick(&self.language, &default.language),
            section: pick(&self.section, &default.section),
            tags: pick(&self.tags, &default.tags),
        }
    }
}

/// Soft wishes of the reader, from what they said about themselves.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Preferences {
    /// Versions, as the reader wrote them (`2`, `v2.4`).
    pub versions: Vec<String>,
    /// Languages.
    pub languages: Vec<Language>,
    /// Tags or sections.
    pub tags: Vec<String>,
    /// Words that a fitting page has in its title, headings or tags, such as a platform.
    pub terms: Vec<String>,
}

impl Preferences {
    /// Whether nothing is preferred.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.versions.is_empty() && self.languages.is_empty() && self.tags.is_empty() && self.terms.is_empty()
    }

    /// How well a chunk under these headings fits, -1..=1: 0 where nothing speaks for or against it.
    #[must_use]
    pub fn fit(&self, document: &Document, heading_path: &[String]) -> f32 {
        let mut wishes = 0.0;
        let mut fit = 0.0;
        if !self.versions.is_empty() {
            wishes += 1.0;
            if let Some(version) = &document.version {
                fit += if self.versions.iter().any(|wanted| same_version(wanted, version)) { 1.0 } else { -1.0 };
            }
        }
        if !self.languages.is_empty() {
            wishes += 1.0;
            fit += if self.languages.contains(&document.language) { 1.0 } else { -1.0 };
        }
        if !self.tags.is_empty() {
            wishes += 1.0;
            let tagged = document.tags.iter().chain(&document.section);
            let fits = tagged.into_iter().any(|tag| self.tags.iter().any(|wanted| covers(wanted, tag)));
            fit += f32::from(u8::from(fits));
        }
        if !self.terms.is_empty() {
            wishes += 1.0;
            let places = [&document.title].into_iter().chain(heading_path).chain(&document.tags);
            let text: String = places.map(|place| format!("{} \n", crate::retrieval::analyzer::fold(place))).collect();
            let fits = self.terms.iter().any(|term| text.contains(&*crate::retrieval::analyzer::fold(term)));
            fit += f32::from(u8::from(fits));
        }
        if wishes > 0.0 { fit / wishes } else { 0.0 }
    }
}

/// Whether `wanted` names `version` or a line of versions that it belongs to: `2` and `v2.4` name `2.4.1`.
fn same_version(wanted: &str, version: &str) -> bool {
    let (wanted, version) = (bare_version(wanted), bare_version(version));
    version == wanted || version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
}

fn bare_version(version: &str) -> &str {
    version.trim().trim_start_matches(['v', 'V']).trim_end_matches(".x")
}

/// A version and the lines that it belongs to, the version itself first: `2.4.1`, `2.4`, `2` for `v2.4.1`. A page of a
/// version passes a filter exactly when the filter's version, made bare, is one of its lines.
#[must_use]
pub fn version_lines(version: &str) -> Vec<String> {
    let bare = bare_version(version);
    let above = bare.match_indices('.').map(|(at, _)| bare[..at].to_owned());
    let mut lines: Vec<String> = above.collect();
    lines.push(bare.to_owned());
    lines.reverse();
    lines
}

fn covers(wanted: &str, tag: &str) -> bool {
    tag == wanted || tag.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
}

/// Reads one value or a list of them, so that a page may write `{version: "2"}`.
fn one_or_many<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct OneOrMany<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for OneOrMany<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_unit<E: de::Error>(self) -> Result<Vec<T>, E> {
            Ok(Vec::new())
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
            T::deserialize(text.into_deserializer()).map(|value| vec![value])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut values = Vec::new();
            while let Some(value) = items.next_element()? {
                values.push(value);
            }
            Ok(values)
        }
    }

    deserializer.deserialize_any(OneOrMany(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Document {
        Document {
            title: "Install on Windows".into(),
            tags: vec!["python/venv".into()],
            version: Some("2.4.1".into()),
            section: Some("guide".into()),
            ..Document::default()
        }
    }

    fn filter(json: &str) -> Filter {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_page_must_pass_every_facet_by_one_of_its_values() {
        for json in [
            "{}",
            r#"{"version":"2"}"#,
            r#"{"version":["1","v2.4.x"]}"#,
            r#"{"tags":"python","section":"guide"}"#,
            r#"{"language":"en"}"#,
        ] {
            assert!(filter(json).accepts(&page()), "{json}");
        }
        for json in [
            r#"{"version":"2.5"}"#,
            r#"{"version":"24"}"#,
            r#"{"tags":"py"}"#,
            r#"{"language":"zh"}"#,
            r#"{"section":"api","tags":"python"}"#,
        ] {
            assert!(!filter(json).accepts(&page()), "{json}");
        }
        assert!(serde_json::from_str::<Filter>(r#"{"verison":"2"}"#).is_err());
    }

    #[test]
    fn the_lines_of_a_version_are_what_a_filter_may_name() {
        for version in ["2.4.1", "v2.4.x", "3", "2.4.1-beta", "latest"] {
            for wanted in ["2", "2.4", "v2.4.x", "2.4.1", "24", "3", "3.1", "latest", "late"] {
                let by_lines = version_lines(version).contains(&version_lines(wanted)[0]);
                assert_eq!(by_lines, same_version(wanted, version), "{wanted} {version}");
            }
        }
    }

    #[test]
    fn a_page_without_a_version_belongs_to_every_version() {
        let document = Document { version: None, ..page() };
        assert!(filter(r#"{"version":"9"}"#).accepts(&document));
    }

    #[test]
    fn a_default_fills_the_facets_that_are_left_open() {
        let both = filter(r#"{"section":"api"}"#).or_default(&filter(r#"{"version":"3","section":"guide"}"#));
        assert_eq!(both, filter(r#"{"version":"3","section":"api"}"#));
    }

    #[test]
    fn preferences_pull_and_push_and_never_exclude() {
        let windows = Preferences { terms: vec!["windows".into()], ..Preferences::default() };
        assert_eq!(windows.fit(&page(), &[]), 1.0);
        let other = Preferences { versions: vec!["3".into()], ..Preferences::default() };
        assert_eq!(other.fit(&page(), &[]), -1.0);
        assert_eq!(Preferences::default().fit(&page(), &[]), 0.0);
    }
}
