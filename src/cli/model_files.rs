//! Finding the files of embedding models on this machine, and the model that serves a corpus.
//!
//! Input: an id, a folder, or the languages of a corpus. Output: a [`FoundModel`]. Folders are looked at in this order: the
//! one that is given, `DOCENT_MODELS`, `models` in the current folder, `models` of the source tree that this program was
//! built from, and the cache. **Invariant:** nothing is downloaded.

use std::path::{Path, PathBuf};

use crate::cli::native_model::NativeModel;
use crate::error::{Error, Result};
use crate::index::builder::PassageModel;
use crate::retrieval::model_manifest::{ModelCatalog, ModelInfo};
use crate::turn::TokenCounter;

/// The description in the folder of a model that is not in the catalog.
const DESCRIPTION_FILE: &str = "model.json";

/// A model whose files are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundModel {
    /// What is known about it.
    pub info: ModelInfo,
    /// The folder that the paths of its files are relative to.
    pub folder: PathBuf,
}

impl FoundModel {
    /// Loads it, and checks that its files are those that the description names.
    ///
    /// # Errors
    /// [`Error::Input`] when a file cannot be read, [`Error::Model`] when it is not what the description says.
    pub fn load(&self) -> Result<NativeModel> {
        for file in &self.info.files {
            file.check_bytes(&read(&self.folder.join(&file.path))?)?;
        }
        NativeModel::load(&self.folder, self.info.clone())
    }

    /// Copies its files under `out`, those left out that are there already.
    ///
    /// # Errors
    /// [`Error::Input`] with the path that cannot be read or written.
    pub fn copy_to(&self, out: &Path) -> Result<()> {
        let failed = |path: &Path, error: &std::io::Error| Error::Input {
            path: path.display().to_string(),
            reason: format!("cannot be written: {error}"),
        };
        for file in &self.info.files {
            let target = out.join(&file.path);
            let bytes = read(&self.folder.join(&file.path))?;
            if std::fs::read(&target).is_ok_and(|found| found == bytes) {
                continue;
            }
            if let Some(parent) = target.parent() {
                std::fs::create_dir_all(parent).map_err(|error| failed(parent, &error))?;
            }
            std::fs::write(&target, bytes).map_err(|error| failed(&target, &error))?;
        }
        Ok(())
    }

    /// A short hash of its files and prefixes, under which its embeddings are cached.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut parts: Vec<&str> = self.info.files.iter().map(|file| file.sha256.as_str()).collect();
        parts.extend([self.info.passage_prefix.as_str(), env!("CARGO_PKG_VERSION")]);
        format!("{}-{:016x}", self.info.id, xxhash_rust::xxh3::xxh3_64(parts.join("\n").as_bytes()))
    }
}

/// Where models are looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFolders {
    folders: Vec<PathBuf>,
}

impl ModelFolders {
    /// The usual folders, after `given`.
    #[must_use]
    pub fn new(given: Option<&Path>) -> Self {
        let mut folders: Vec<PathBuf> = given.map(Path::to_owned).into_iter().collect();
        folders.extend(std::env::var_os("DOCENT_MODELS").map(PathBuf::from));
        folders.push(PathBuf::from("models"));
        folders.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("models"));
        folders.extend(cache_folder().map(|cache| cache.join("models")));
        Self { folders }
    }

    /// The model of this description, when all of its files are here with the right lengths.
    #[must_use]
    pub fn find(&self, info: &ModelInfo) -> Option<FoundModel> {
        let is_here = |folder: &&PathBuf| {
            info.files.iter().all(|file| {
                std::fs::metadata(folder.join(&file.path)).is_ok_and(|metadata| metadata.len() == file.bytes)
            })
        };
        self.folders.iter().find(is_here).map(|folder| FoundModel { info: info.clone(), folder: folder.clone() })
    }

    /// The model that is asked for by an id of the catalog, or by a folder with a `model.json` or an id as its name.
    ///
    /// # Errors
    /// [`Error::Model`] when it is not known, or its files are not here; the text says how to get them.
    pub fn named(&self, name: &str) -> Result<FoundModel> {
        let catalog = ModelCatalog::built_in()?;
        let folder = Path::new(name);
        if folder.is_dir() && catalog.find(name).is_err() {
            return in_folder(folder, &catalog);
        }
        let info = &catalog.find(name)?.info;
        self.find(info).ok_or_else(|| Error::Model(how_to_get(&info.id)))
    }

    /// The model that serves a corpus best, and what a person should know about the choice.
    ///
    /// `languages` are tags with their shares of the pages. No model is better than one that does not know the language of
    /// most pages: its embeddings would be noise.
    ///
    /// # Errors
    /// [`Error::Model`] when the catalog cannot be read.
    pub fn for_languages(&self, languages: &[(String, f32)]) -> Result<(Option<FoundModel>, Vec<String>)> {
        let catalog = ModelCatalog::built_in()?;
        let tags: Vec<&str> = languages.iter().map(|(tag, _)| tag.as_str()).collect();
        let wanted = catalog.serving(&tags).map(|entry| &entry.info);
        if let Some(found) = wanted.and_then(|info| self.find(info)) {
            return Ok((Some(found), Vec::new()));
        }
        let served = |info: &ModelInfo| -> f32 {
            languages.iter().filter(|(tag, _)| info.serves(tag)).map(|(_, share)| share).sum()
        };
        let mut here: Vec<FoundModel> = catalog.models.iter().filter_map(|entry| self.find(&entry.info)).collect();
        here.sort_by(|a, b| served(&b.info).total_cmp(&served(&a.info)));
        let best = here.into_iter().next();
        let unserved = |model: &FoundModel| -> String {
            let names: Vec<&str> = tags.iter().filter(|tag| !model.info.serves(tag)).copied().collect();
            names.join(", ")
        };
        let advice = wanted.map_or_else(
            || "no known model serves all of these languages".to_owned(),
            |info| format!("{} would serve all of them: {}", info.id, how_to_get(&info.id)),
        );
        Ok(match best {
            Some(model) if served(&model.info) > 0.5 => {
                let warning = format!(
                    "{} does not know {}: those pages are found by their words only; {advice}",
                    model.info.id,
                    unserved(&model)
                );
                (Some(model), vec![warning])
            }
            _ => {
                let warning = format!(
                    "no model that is here knows {}, so the index searches by words only; {advice}",
                    tags.join(", ")
                );
                (None, vec![warning])
            }
        })
    }
}

/// Says that a model does not serve some languages of a corpus, when it was chosen by name.
#[must_use]
pub fn language_warning(info: &ModelInfo, languages: &[(String, f32)]) -> Option<String> {
    let names: Vec<&str> = languages.iter().map(|(tag, _)| tag.as_str()).filter(|tag| !info.serves(tag)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{} does not know {}: its embeddings of those pages are noise; choose another --model",
            info.id,
            names.join(", ")
        )
    })
}

/// The folder of caches: `DOCENT_CACHE`, else `docent` in the user's cache folder.
#[must_use]
pub fn cache_folder() -> Option<PathBuf> {
    let own = std::env::var_os("DOCENT_CACHE").filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || {
        std::env::var_os("HOME")
            .or_else(|| std::env::var_os("USERPROFILE"))
            .map(|home| PathBuf::from(home).join(".cache"))
    };
    own.or_else(|| user().or_else(home).map(|folder| folder.join("docent")))
}

fn in_folder(folder: &Path, catalog: &ModelCatalog) -> Result<FoundModel> {
    let description = folder.join(DESCRIPTION_FILE);
    if description.is_file() {
        let text = String::from_utf8(read(&description)?).map_err(|error| Error::Model(error.to_string()))?;
        return Ok(FoundModel { info: ModelInfo::from_json(&text)?, folder: folder.to_owned() });
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    match (catalog.find(&name), folder.canonicalize().ok().and_then(|full| full.parent().map(Path::to_owned))) {
        (Ok(entry), Some(parent)) => Ok(FoundModel { info: entry.info.clone(), folder: parent }),
        _ => Err(Error::Model(format!(
            "the folder {} has no {DESCRIPTION_FILE}, and its name is not the id of a known model",
            folder.display()
        ))),
    }
}

fn how_to_get(id: &str) -> String {
    format!(
        "make its files with `python3 models/recipe/build.py {id}` (see models/README.md), or name their folder with \
         --models-dir or DOCENT_MODELS"
    )
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| Error::Input { path: path.display().to_string(), reason: format!("cannot be read: {error}") })
}

impl PassageModel for NativeModel {
    fn info(&self) -> &ModelInfo {
        self.encoder().info()
    }

    fn tokens(&self) -> &(dyn TokenCounter + Sync) {
        self.encoder()
    }

    fn limit(&self) -> Result<usize> {
        self.encoder().passage_limit()
    }

    fn embed(&self, passages: &[&str], done: &(dyn Fn(usize) + Sync)) -> Result<Vec<Vec<f32>>> {
        self.embed_passages(passages, done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_model_is_found_for_english() {
        let folders = ModelFolders::new(None);
        let (found, warnings) = folders.for_languages(&[("en".to_owned(), 1.0)]).unwrap();
        assert_eq!(found.unwrap().info.id, "all-MiniLM-L6-v2");
        assert!(warnings.is_empty());
        assert_eq!(folders.named("all-MiniLM-L6-v2").unwrap().info.dimension, 384);
    }

    #[test]
    fn a_model_that_does_not_know_the_language_is_warned_of() {
        let folders = ModelFolders { folders: vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("models")] };
        let (found, warnings) = folders.for_languages(&[("en".to_owned(), 0.8), ("xx".to_owned(), 0.2)]).unwrap();
        assert!(found.is_some());
        assert!(warnings[0].contains("does not know xx"), "{warnings:?}");
        let (found, warnings) = folders.for_languages(&[("en".to_owned(), 0.2), ("xx".to_owned(), 0.8)]).unwrap();
        assert!(found.is_none());
        assert!(warnings[0].contains("by words only"), "{warnings:?}");
        let info = folders.named("all-MiniLM-L6-v2").unwrap().info;
        assert!(language_warning(&info, &[("zh".to_owned(), 1.0)]).unwrap().contains("does not know zh"));
        assert!(language_warning(&info, &[("en".to_owned(), 1.0)]).is_none());
    }

    #[test]
    fn unknown_names_are_told_with_what_is_known() {
        let error = ModelFolders::new(None).named("no-such-model").unwrap_err().to_string();
        assert!(error.contains("all-MiniLM-L6-v2"), "{error}");
        let folder = std::env::temp_dir();
        assert!(
            ModelFolders::new(None)
                .named(&folder.display().to_string())
                .unwrap_err()
                .to_string()
                .contains("model.json")
        );
    }
}
