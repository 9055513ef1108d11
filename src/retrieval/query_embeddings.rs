//! The embeddings of the queries that were asked last.
//!
//! Input: a model's id and a text. Output: the embedding that the model gave before. A turn needs the question's embedding
//! twice, and that of the questions before it for the comparison with the conversation; running the model takes longer than
//! everything else in a search.
//! **Invariant:** at most [`MOST_QUERIES`] are kept, and one is found by its exact text and the model that made it.

/// Queries whose embeddings are kept: those of some conversations, of 384 numbers each 50 kB.
pub const MOST_QUERIES: usize = 32;

/// Embeddings by model and text, the one used last at the end.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueryEmbeddings {
    kept: Vec<(String, String, Vec<f32>)>,
}

impl QueryEmbeddings {
    /// The embedding of a text by a model, where it is kept.
    pub fn get(&mut self, model: &str, text: &str) -> Option<Vec<f32>> {
        let at = self.kept.iter().position(|(by, of, _)| by == model && of == text)?;
        let found = self.kept.remove(at);
        let embedding = found.2.clone();
        self.kept.push(found);
        Some(embedding)
    }

    /// Keeps an embedding; the one that was not used for the longest time makes room.
    pub fn insert(&mut self, model: &str, text: &str, embedding: Vec<f32>) {
        self.kept.retain(|(by, of, _)| by != model || of != text);
        if self.kept.len() == MOST_QUERIES {
            self.kept.remove(0);
        }
        self.kept.push((model.to_owned(), text.to_owned(), embedding));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_embedding_is_found_by_its_model_and_text() {
        let mut kept = QueryEmbeddings::default();
        kept.insert("a", "怎么安装", vec![1.0]);
        assert_eq!(kept.get("a", "怎么安装"), Some(vec![1.0]));
        assert_eq!(kept.get("b", "怎么安装"), None);
        assert_eq!(kept.get("a", "怎么安装？"), None);
        kept.insert("a", "怎么安装", vec![2.0]);
        assert_eq!(kept.get("a", "怎么安装"), Some(vec![2.0]));
    }

    #[test]
    fn the_one_not_used_for_the_longest_time_makes_room() {
        let mut kept = QueryEmbeddings::default();
        for number in 0..MOST_QUERIES {
            kept.insert("a", &number.to_string(), vec![number as f32]);
        }
        assert!(kept.get("a", "0").is_some());
        kept.insert("a", "new", vec![0.5]);
        assert!(kept.get("a", "0").is_some() && kept.get("a", "1").is_none());
        assert_eq!(kept.kept.len(), MOST_QUERIES);
    }
}
