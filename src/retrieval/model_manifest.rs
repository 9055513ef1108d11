//! What is known about an embedding model beside its weights: files, pooling, prefixes, languages, limits.
//!
//! Input: `models/models.toml` (native) or the `model` part of an index manifest (JSON, native and in the page). Output:
//! a checked [`ModelInfo`]. **Invariant:** nothing here reads a file or knows a runtime; a description that is accepted
//! has paths that stay inside its folder and numbers that are safe to allocate by.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::json;

/// The largest embedding that is accepted, in numbers; the models that pages can carry have a few hundred.
const MAX_DIMENSION: usize = 4096;
/// The longest input that is accepted, in tokens; attention grows with its square.
const MAX_TOKENS: usize = 8192;
/// The largest file that is accepted, in bytes: what a 32-bit address space can hold beside its working memory.
const MAX_FILE_BYTES: u64 = 1 << 31;

/// One embedding model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct ModelInfo {
    /// The name by which an index says which model it was built with.
    pub id: String,
    /// The files, with paths relative to the folder of the description (`models/`, or the folder of the index).
    pub files: Vec<ModelFile>,
    /// The license, as an SPDX expression.
    pub license: String,
    /// The languages it serves, as BCP 47 primary tags (`en`, `zh`).
    pub languages: Vec<String>,
    /// The length of an embedding, 1 to 4,096.
    pub dimension: usize,
    /// The longest input in tokens, special tokens included, 8 to 8,192; longer texts are cut.
    pub max_tokens: usize,
    /// How the vectors of the tokens become one.
    pub pooling: Pooling,
    /// What is written before a query.
    #[serde(default)]
    pub query_prefix: String,
    /// What is written before a passage.
    #[serde(default)]
    pub passage_prefix: String,
}

/// How the vectors of a text's tokens become one vector, which is then scaled to length 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    /// The mean over the tokens, special ones included, padding left out.
    Mean,
}

/// One file of a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFile {
    /// What the file is.
    pub role: ModelFileRole,
    /// Its path relative to the folder of the description, with `/` between the parts.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its SHA-256 in lowercase hexadecimal.
    pub sha256: String,
}

/// What a file of a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFileRole {
    /// The network, as ONNX.
    Network,
    /// The tokenizer, as a Hugging Face `tokenizer.json`.
    Tokenizer,
}

impl ModelInfo {
    /// Reads and checks one description, as in an index manifest.
    ///
    /// # Errors
    /// [`Error::Model`] when it is not such a description or when [`ModelInfo::check`] refuses it.
    pub fn from_json(text: &str) -> Result<Self> {
        let info: Self = json::parse(text)
            .and_then(|value| json::from_foreign(&value))
            .map_err(|fault| Error::Model(format!("its description cannot be read: {fault}")))?;
        info.check()?;
        Ok(info)
    }

    /// Checks what the rest of the program relies on.
    ///
    /// # Errors
    /// [`Error::Model`] that names the field and what is allowed.
    pub fn check(&self) -> Result<()> {
        if self.id.is_empty() {
            return Err(Error::Model("its description has an empty `id`".to_owned()));
        }
        let refuse = |reason: String| Err(Error::Model(format!("the description of {}: {reason}", self.id)));
        if !(1..=MAX_DIMENSION).contains(&self.dimension) {
            return refuse(format!("`dimension` is {}; 1 to {MAX_DIMENSION} is allowed", self.dimension));
        }
        if !(8..=MAX_TOKENS).contains(&self.max_tokens) {
            return refuse(format!("`max_tokens` is {}; 8 to {MAX_TOKENS} is allowed", self.max_tokens));
        }
        for role in [ModelFileRole::Network, ModelFileRole::Tokenizer] {
            let count = self.files.iter().filter(|file| file.role == role).count();
            if count != 1 {
                return refuse(format!("`files` has {count} entries of the role {role:?}; one is needed"));
            }
        }
        for file in &self.files {
            if let Err(reason) = file.check() {
                return refuse(format!("the file {:?}: {reason}", file.path));
            }
        }
        Ok(())
    }

    /// The file of a role; [`ModelInfo::check`] has made sure that there is one.
    ///
    /// # Errors
    /// [`Error::Model`] when the description was not checked and has none.
    pub fn file(&self, role: ModelFileRole) -> Result<&ModelFile> {
        let found = self.files.iter().find(|file| file.role == role);
        found.ok_or_else(|| Error::Model(format!("the description of {} names no {role:?} file", self.id)))
    }

    /// What has to be loaded before the first embedding, in bytes, before any compression of the transfer.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Whether the model serves a language, given as a BCP 47 tag (`zh`, `zh-CN`, `en_US`; case does not matter).
    #[must_use]
    pub fn serves(&self, language: &str) -> bool {
        let primary = language.split(['-', '_']).next().unwrap_or_default();
        self.languages.iter().any(|served| served.eq_ignore_ascii_case(primary))
    }
}

impl ModelFile {
    fn check(&self) -> std::result::Result<(), String> {
        let inside = self.path.split('/').all(|part| !part.is_empty() && part != "." && part != "..");
        if !inside || self.path.contains(['\\', ':']) {
            return Err("`path` must stay inside the folder of the description".to_owned());
        }
        if !(1..=MAX_FILE_BYTES).contains(&self.bytes) {
            return Err(format!("`bytes` is {}; 1 to {MAX_FILE_BYTES} is allowed", self.bytes));
        }
        let hexadecimal = self.sha256.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if self.sha256.len() != 64 || !hexadecimal {
            return Err("`sha256` must be 64 lowercase hexadecimal digits".to_owned());
        }
        Ok(())
    }

    /// Compares the length of what was loaded, which catches cut downloads and error pages without hashing.
    ///
    /// # Errors
    /// [`Error::Model`] with both lengths.
    pub fn check_length(&self, found: u64) -> Result<()> {
        if found == self.bytes {
            return Ok(());
        }
        Err(Error::Model(format!("{} has {found} bytes, {} were expected; load it again", self.path, self.bytes)))
    }
}

#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
pub use catalog::{ModelCatalog, ModelEntry};

#[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
mod catalog {
    use std::fmt::Write as _;

    use serde::Deserialize;
    use sha2::{Digest, Sha256};

    use super::{ModelFile, ModelInfo};
    use crate::error::{Error, Result};

    /// The version of `models.toml` that is read.
    const FORMAT: u32 = 1;

    /// The models that the command line knows: `models/models.toml`.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct ModelCatalog {
        /// The models, in the order of the file; the first is the default.
        pub models: Vec<ModelEntry>,
    }

    /// One entry of the catalog.
    #[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
    pub struct ModelEntry {
        /// The description that goes into an index manifest.
        #[serde(flatten)]
        pub info: ModelInfo,
        /// Whether the files are part of the source tree; others are made on demand by `models/recipe/build.py`.
        pub committed: bool,
    }

    #[derive(Deserialize)]
    struct CatalogFile {
        format: u32,
        models: Vec<ModelEntry>,
    }

    impl ModelCatalog {
        /// The catalog that this program was built with.
        ///
        /// # Errors
        /// [`Error::Model`], which the tests of the project rule out.
        pub fn built_in() -> Result<Self> {
            Self::from_toml(include_str!("../../models/models.toml"))
        }

        /// Reads and checks a catalog.
        ///
        /// # Errors
        /// [`Error::Model`] with the place in the file, or the entry and field that is out of range.
        pub fn from_toml(text: &str) -> Result<Self> {
            let file: CatalogFile = toml::from_str(text)
                .map_err(|error| Error::Model(format!("the model catalog cannot be read: {error}")))?;
            if file.format != FORMAT {
                let reason = format!("the model catalog has format {}, this build reads {FORMAT}", file.format);
                return Err(Error::Model(reason));
            }
            if file.models.is_empty() {
                return Err(Error::Model("the model catalog is empty".to_owned()));
            }
            for (i, entry) in file.models.iter().enumerate() {
                entry.info.check()?;
                if file.models[..i].iter().any(|earlier| earlier.info.id == entry.info.id) {
                    return Err(Error::Model(format!("the model catalog has {} twice", entry.info.id)));
                }
            }
            Ok(Self { models: file.models })
        }

        /// The model of that id.
        ///
        /// # Errors
        /// [`Error::Model`] that lists the known ids.
        pub fn find(&self, id: &str) -> Result<&ModelEntry> {
            self.models.iter().find(|entry| entry.info.id == id).ok_or_else(|| {
                let known: Vec<&str> = self.models.iter().map(|entry| entry.info.id.as_str()).collect();
                Error::Model(format!("{id} is not known; known are {}", known.join(", ")))
            })
        }

        /// The first model that serves every one of these languages; the first of the catalog serves an empty list.
        #[must_use]
        pub fn serving(&self, languages: &[&str]) -> Option<&ModelEntry> {
            self.models.iter().find(|entry| languages.iter().all(|language| entry.info.serves(language)))
        }
    }

    impl ModelFile {
        /// Compares length and SHA-256 of what was loaded.
        ///
        /// # Errors
        /// [`Error::Model`] with what was found and what to do.
        pub fn check_bytes(&self, bytes: &[u8]) -> Result<()> {
            self.check_length(bytes.len() as u64)?;
            let mut found = String::with_capacity(64);
            for byte in Sha256::digest(bytes) {
                // Writing into a string cannot fail.
                let _ = write!(found, "{byte:02x}");
            }
            if found == self.sha256 {
                return Ok(());
            }
            Err(Error::Model(format!(
                "{} has SHA-256 {found}, {} was expected; make it again with models/recipe/build.py",
                self.path, self.sha256
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> ModelInfo {
        let file = |role, path: &str| ModelFile { role, path: path.to_owned(), bytes: 3, sha256: "ab".repeat(32) };
        ModelInfo {
            id: "tiny".to_owned(),
            files: vec![
                file(ModelFileRole::Network, "tiny/model.onnx"),
                file(ModelFileRole::Tokenizer, "tiny/tokenizer.json"),
            ],
            license: "MIT".to_owned(),
            languages: vec!["en".to_owned(), "zh".to_owned()],
            dimension: 384,
            max_tokens: 256,
            pooling: Pooling::Mean,
            query_prefix: "query: ".to_owned(),
            passage_prefix: String::new(),
        }
    }

    fn check_refused(change: impl FnOnce(&mut ModelInfo), expected: &str) {
        let mut info = sample();
        change(&mut info);
        let error = info.check().expect_err("the description must be refused");
        assert_eq!(error.code(), "model");
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn a_description_survives_json() {
        let text = serde_json::to_string(&sample()).unwrap();
        assert_eq!(ModelInfo::from_json(&text).unwrap(), sample());
    }

    #[test]
    fn prefixes_may_be_left_out() {
        let text = r#"{"id":"m","files":[{"role":"network","path":"m.onnx","bytes":1,"sha256":"00"},
            {"role":"tokenizer","path":"t.json","bytes":1,"sha256":"00"}],"license":"MIT","languages":["en"],
            "dimension":4,"max_tokens":16,"pooling":"mean"}"#
            .replace("\"00\"", &format!("\"{}\"", "0".repeat(64)));
        let info = ModelInfo::from_json(&text).unwrap();
        assert_eq!((info.query_prefix.as_str(), info.passage_prefix.as_str()), ("", ""));
    }

    #[test]
    fn what_cannot_be_relied_on_is_refused() {
        check_refused(|info| info.id.clear(), "empty `id`");
        check_refused(|info| info.dimension = 0, "`dimension` is 0");
        check_refused(|info| info.dimension = usize::MAX, "`dimension`");
        check_refused(|info| info.max_tokens = 7, "`max_tokens` is 7");
        check_refused(|info| info.max_tokens = usize::MAX, "`max_tokens`");
        check_refused(|info| info.files.truncate(1), "0 entries of the role Tokenizer");
        check_refused(|info| info.files[1].role = ModelFileRole::Network, "2 entries of the role Network");
        for path in ["", "/etc/model", "../model", "a/../../model", "a//b", "a\\b", "https://host/model", "./model"] {
            check_refused(|info| info.files[0].path = path.to_owned(), "must stay inside");
        }
        check_refused(|info| info.files[0].bytes = 0, "`bytes` is 0");
        check_refused(|info| info.files[0].bytes = u64::MAX, "`bytes`");
        check_refused(|info| info.files[0].sha256.truncate(63), "`sha256`");
        check_refused(|info| info.files[0].sha256 = "AB".repeat(32), "`sha256`");
    }

    #[test]
    fn another_text_is_not_a_description() {
        for text in ["", "{}", "<!doctype html>", "[1]", r#"{"id":"m"}"#] {
            assert_eq!(ModelInfo::from_json(text).expect_err(text).code(), "model");
        }
    }

    #[test]
    fn a_language_is_served_by_its_primary_tag() {
        let info = sample();
        assert!(info.serves("zh") && info.serves("zh-Hans-CN") && info.serves("EN_us"));
        assert!(!info.serves("de") && !info.serves("") && !info.serves("zhx"));
    }

    #[test]
    fn a_cut_download_is_told_by_its_length() {
        let file = &sample().files[0];
        assert!(file.check_length(3).is_ok());
        let error = file.check_length(2).expect_err("two bytes are missing one");
        assert!(error.to_string().contains("2 bytes, 3 were expected"), "{error}");
    }

    #[cfg(all(feature = "cli", not(target_arch = "wasm32")))]
    mod catalog {
        use super::super::*;

        #[test]
        fn the_built_in_catalog_is_sound() {
            let catalog = ModelCatalog::built_in().unwrap();
            assert!(catalog.models[0].committed, "the default model must be there without a build");
            let english = catalog.find("all-MiniLM-L6-v2").unwrap();
            assert_eq!((english.info.dimension, english.info.max_tokens), (384, 256));
            assert!(catalog.find("no-such-model").expect_err("unknown").to_string().contains("all-MiniLM-L6-v2"));
        }

        #[test]
        fn the_first_model_that_serves_all_languages_is_taken() {
            let catalog = ModelCatalog::built_in().unwrap();
            assert_eq!(catalog.serving(&["en"]).unwrap().info.id, "all-MiniLM-L6-v2");
            assert_eq!(catalog.serving(&[]).unwrap().info.id, "all-MiniLM-L6-v2");
            assert!(catalog.serving(&["en", "xx"]).is_none());
        }

        #[test]
        fn a_catalog_of_another_format_is_refused() {
            let text = include_str!("../../models/models.toml");
            let other = text.replacen("format = 1", "format = 2", 1);
            assert!(ModelCatalog::from_toml(&other).expect_err("format 2").to_string().contains("format 2"));
            let none = ModelCatalog::from_toml("format = 1\nmodels = []");
            assert!(none.expect_err("no models").to_string().contains("empty"));
            let entry = &text[text.find("[[models]]").unwrap()..];
            let twice = format!("{text}\n{entry}");
            assert!(ModelCatalog::from_toml(&twice).expect_err("an id twice").to_string().contains("twice"));
        }

        #[test]
        fn bytes_are_compared_by_hash() {
            let mut file = super::sample().files[0].clone();
            file.sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
            assert!(file.check_bytes(b"abc").is_ok());
            assert!(file.check_bytes(b"abd").expect_err("another byte").to_string().contains("SHA-256"));
            assert!(file.check_bytes(b"ab").expect_err("too short").to_string().contains("2 bytes"));
        }
    }
}
