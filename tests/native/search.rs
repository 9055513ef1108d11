//! Search as the page runs it: parts that arrive late, filters, wishes, copies, long pages, other second stages.

use docent::error::{Error, IndexError, Result};
use docent::retrieval::analyzer::{Analyzer, WordList, fold};
use docent::retrieval::document::{Chunk, Document};
use docent::retrieval::index_builder::{Corpus, build, build_vectors};
use docent::retrieval::search_index::{ModelInfo, SearchIndex, SearchRequest};
use docent::retrieval::second_stage::{Candidate, Reranker};
use docent::retrieval::synonyms::Synonyms;
use docent::retrieval::text_store::TextStore;
use docent::retrieval::vector_index::VectorIndex;
use docent::retrieval::{Filter, IndexParts, Preferences};
use docent::turn::{Language, Mode};
use tract_onnx::prelude::*;

const DIMENSION: usize = 64;

fn page(id: &str, title: &str, version: Option<&str>, tags: &[&str]) -> Document {
    Document {
        id: id.into(),
        title: title.into(),
        url: format!("/docs/{id}"),
        tags: tags.iter().map(|tag| (*tag).into()).collect(),
        version: version.map(Into::into),
        section: Some("guide".into()),
        authority: 0.5,
        boost: 1.0,
        language: if title.is_ascii() { Language::English } else { Language::Chinese },
        ..Document::default()
    }
}

fn corpus() -> Corpus {
    let pages: Vec<(Document, Vec<(&str, &str)>)> = vec![
        (
            page("venv", "Virtual environments", Some("3"), &["python/venv"]),
            vec![
                ("Create", "Run python -m venv to create a virtual environment."),
                ("Delete", "Remove the folder to delete a virtual environment."),
                ("Delete", "Nothing else of the virtual environment has to be removed."),
                ("Windows", "On Windows the scripts of a virtual environment are in Scripts."),
            ],
        ),
        (
            page("venv2", "Virtual environments in version 2", Some("2"), &["python/venv"]),
            vec![("Create", "Run virtualenv to create a virtual environment.")],
        ),
        (
            page("pip", "pip 很慢怎么办", None, &["python/pip"]),
            vec![
                ("使用镜像", "安装包太慢时，可以把 pip 的下载源换成国内镜像。"),
                ("useFetch", "Call useFetch with --flag."),
            ],
        ),
        (
            page("copy", "Mirror of another page", None, &[]),
            vec![("Copied", "Remove the folder to delete a virtual environment.")],
        ),
        (page("faq", "FAQ", None, &[]), vec![("", "Yes. Kafka is supported.")]),
    ];
    let mut corpus = Corpus { words: WordList::new(["安装包", "镜像", "下载源"]), ..Corpus::default() };
    for (document, chunks) in pages {
        for (ordinal, (heading, text)) in chunks.into_iter().enumerate() {
            corpus.chunks.push(Chunk {
                document: corpus.documents.len() as u32,
                ordinal: ordinal as u32,
                heading_path: [heading].into_iter().filter(|h| !h.is_empty()).map(Into::into).collect(),
                anchor: Some(heading.to_lowercase()),
                text: text.into(),
            });
        }
        corpus.documents.push(document);
    }
    corpus.model = Some(ModelInfo { id: "hash".into(), dimension: DIMENSION, languages: Vec::new() });
    corpus
}

/// A vector by the words of a text: enough for texts with the same words to be near each other.
fn embed(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; DIMENSION];
    for token in Analyzer::default().analyze(text) {
        let slot =
            fold(&token.term).bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
        vector[slot % DIMENSION] += 1.0;
    }
    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.into_iter().map(|value| value / norm).collect()
}

fn index_of(corpus: Corpus) -> SearchIndex {
    let vectors: Vec<Vec<f32>> = corpus.chunks.iter().map(|chunk| embed(&chunk.text)).collect();
    let mut index = SearchIndex::new(build(corpus).unwrap()).unwrap();
    index.set_vectors(build_vectors("hash", &vectors).unwrap()).unwrap();
    index
}

fn index() -> SearchIndex {
    index_of(corpus())
}

fn ids(index: &SearchIndex, request: &SearchRequest<'_>) -> Vec<String> {
    index.search(request).unwrap().passages.into_iter().map(|passage| passage.id).collect()
}

fn lexical(query: &str) -> SearchRequest<'_> {
    SearchRequest { query, mode: Mode::Lexical, ..SearchRequest::default() }
}

#[test]
fn a_hit_has_its_link_its_best_sentence_and_its_scores() {
    let index = index();
    let query = "how do I delete a virtual environment";
    let embedding = embed(query);
    let request = SearchRequest { query, embedding: Some(&embedding), ..SearchRequest::default() };
    let response = index.search(&request).unwrap();
    assert_eq!(response.mode, Mode::Hybrid);
    let first = &response.passages[0];
    assert_eq!((first.id.as_str(), first.url.as_str()), ("venv#1", "/docs/venv#delete"));
    assert_eq!(first.heading_path, ["Delete"]);
    let marked: Vec<&str> = first.highlights.iter().map(|(from, to)| &first.best[*from..*to]).collect();
    assert!(marked.contains(&"delete"), "{marked:?}");
    assert!(first.scores.lexical.is_some() && first.scores.dense.is_some());
    assert!((0.0..=1.0).contains(&first.scores.evidence));
    assert!(response.in_vocabulary > 0.9);
}

#[test]
fn without_vectors_or_with_wrong_ones_the_words_answer() {
    let index = SearchIndex::new(build(corpus()).unwrap()).unwrap();
    let embedding = embed("mirror");
    let request = SearchRequest { query: "镜像", embedding: Some(&embedding), ..SearchRequest::default() };
    assert_eq!(index.search(&request).unwrap().mode, Mode::Lexical);
    let index = self::index();
    let short = SearchRequest { embedding: Some(&embedding[..3]), ..request };
    let response = index.search(&short).unwrap();
    assert_eq!(response.mode, Mode::Lexical);
    assert_eq!(response.passages[0].id, "pip#0");
    assert!(response.warnings[0].contains("3 dimensions"), "{:?}", response.warnings);
}

#[test]
fn a_language_that_the_model_does_not_know_is_left_to_the_words() {
    let mut corpus = corpus();
    corpus.model.as_mut().unwrap().languages = vec!["en".into()];
    let index = index_of(corpus);
    let embedding = embed("安装包太慢了怎么办");
    let chinese =
        SearchRequest { query: "安装包太慢了怎么办", embedding: Some(&embedding), ..SearchRequest::default() };
    let response = index.search(&chinese).unwrap();
    assert_eq!(response.mode, Mode::Lexical);
    assert_eq!(response.passages[0].id, "pip#0");
    assert!(response.warnings[0].contains("does not know the question's language"), "{:?}", response.warnings);
    let embedding = embed("virtual environment");
    let english = SearchRequest { query: "virtual environment", embedding: Some(&embedding), ..chinese };
    assert_eq!(index.search(&english).unwrap().mode, Mode::Hybrid);
}

#[test]
fn another_model_is_refused_by_name() {
    let mut index = SearchIndex::new(build(corpus()).unwrap()).unwrap();
    let vectors = vec![embed("x"); index.chunks().len()];
    let error = index.set_vectors(build_vectors("other", &vectors).unwrap()).unwrap_err();
    let expected = IndexError::ModelMismatch { index: "hash".into(), model: "other".into() };
    assert_eq!(error, Error::Index(expected));
    assert!(index.set_vectors(VectorIndex::build("hash", &vectors[1..]).unwrap()).is_err());
    assert!(!index.search(&lexical("virtual")).unwrap().passages.is_empty());
}

#[test]
fn both_languages_identifiers_slips_and_prefixes_are_found() {
    let index = index();
    for (query, expected) in [
        ("安装包太慢了怎么办", "pip#0"),
        ("pip 镜像", "pip#0"),
        ("useFetch", "pip#1"),
        ("use fetch", "pip#1"),
        ("--flag", "pip#1"),
        ("windwos scripts", "venv#3"),
        ("ＷＩＮＤＯＷＳ", "venv#3"),
    ] {
        assert_eq!(ids(&index, &lexical(query))[0], expected, "{query}");
    }
    assert_eq!(ids(&index, &SearchRequest { prefix: true, ..lexical("kaf") }), ["faq#0"]);
    assert!(ids(&index, &lexical("kaf")).is_empty());
    let long = "安装 virtual environment ".repeat(400);
    assert!(!ids(&index, &lexical(&long)).is_empty());
}

#[test]
fn a_yes_or_no_question_is_answered_by_a_verdict_of_a_question_page() {
    let mut corpus = corpus();
    corpus.chunks[0].text = "Kafka, Pulsar and others are message engines that people support.".into();
    let index = index_of(corpus);
    assert_eq!(ids(&index, &lexical("Does it support Kafka?"))[0], "faq#0");
}

#[test]
fn a_filter_is_hard_and_a_wish_is_soft() {
    let index = index();
    let query = "create a virtual environment";
    let embedding = embed(query);
    let open = SearchRequest { query, embedding: Some(&embedding), top_k: 8, ..SearchRequest::default() };
    let two = Filter { version: vec!["2".into()], tags: vec!["python".into()], ..Filter::default() };
    assert_eq!(ids(&index, &SearchRequest { filter: two, ..open.clone() })[0], "venv2#0");
    let chinese = Filter { language: vec![Language::Chinese], ..Filter::default() };
    assert!(ids(&index, &SearchRequest { filter: chinese, ..open.clone() }).iter().all(|id| id.starts_with("pip#")));
    let wish = Preferences { versions: vec!["2".into()], ..Preferences::default() };
    let wished = ids(&index, &SearchRequest { preferences: wish, ..open });
    assert_eq!(wished[0], "venv2#0");
    assert!(wished.contains(&"venv#0".to_owned()));
}

#[test]
fn the_index_s_default_filter_holds_until_the_request_says_otherwise() {
    let filter = |version: &str| Filter { version: vec![version.into()], ..Filter::default() };
    let index = index_of(Corpus { default_filter: filter("3"), ..corpus() });
    assert!(!ids(&index, &lexical("create virtual environment")).contains(&"venv2#0".to_owned()));
    let request = SearchRequest { filter: filter("2"), ..lexical("create virtual environment") };
    assert_eq!(ids(&index, &request)[0], "venv2#0");
}

#[test]
fn copies_are_left_out_and_one_page_does_not_fill_the_list() {
    let found = ids(&index(), &SearchRequest { top_k: 4, ..lexical("virtual environment") });
    assert!(!(found.contains(&"venv#1".to_owned()) && found.contains(&"copy#0".to_owned())), "{found:?}");
    assert!(found.contains(&"venv2#0".to_owned()), "{found:?}");
}

#[test]
fn a_page_s_boost_lifts_it() {
    let mut corpus = corpus();
    corpus.documents[1].boost = 3.0;
    assert_eq!(ids(&index_of(corpus), &lexical("virtual environment"))[0], "venv2#0");
}

#[test]
fn a_synonym_finds_what_the_words_do_not() {
    let groups = vec![vec!["venv".into(), "sandbox".into()]];
    assert!(ids(&index(), &lexical("sandbox")).is_empty());
    let index = index_of(Corpus { synonyms: Synonyms::new(groups), ..corpus() });
    assert_eq!(ids(&index, &lexical("sandbox"))[0], "venv#0");
}

#[test]
fn missing_texts_are_named_and_arrive_later() {
    let parts = build(corpus()).unwrap();
    let texts: Vec<String> = (0..parts.chunks.len()).map(|c| parts.texts.text(c as u32).unwrap().to_owned()).collect();
    let starts = vec![0, 4, texts.len() as u32];
    let late = IndexParts { texts: TextStore::new(starts).unwrap(), ..parts };
    let mut index = SearchIndex::new(late).unwrap();
    let request = SearchRequest { top_k: 1, ..lexical("useFetch") };
    let response = index.search(&request).unwrap();
    assert_eq!(response.missing_texts, [1]);
    assert_eq!((response.passages[0].text.as_str(), response.passages[0].best.as_str()), ("", "useFetch"));
    index.set_texts(1, texts[4..].to_vec()).unwrap();
    let response = index.search(&request).unwrap();
    assert!(response.missing_texts.is_empty());
    assert_eq!(response.passages[0].text, "Call useFetch with --flag.");
    assert!(index.set_texts(7, Vec::new()).is_err());
}

#[test]
fn neighbors_of_the_same_section_are_joined_within_the_limit() {
    let index = index();
    let response = index.search(&lexical("delete the folder")).unwrap();
    let passage = response.passages.iter().find(|passage| passage.id == "venv#1").unwrap();
    let joined = index.with_neighbors(passage, 1_000);
    assert!(joined.starts_with("Remove the folder") && joined.ends_with("has to be removed."), "{joined}");
    assert!(!joined.contains("Windows"));
    assert_eq!(index.with_neighbors(passage, 60), passage.text);
}

#[test]
fn a_number_of_results_out_of_range_is_refused() {
    let index = index();
    for top_k in [0, 101] {
        let error = index.search(&SearchRequest { top_k, ..lexical("x") }).unwrap_err();
        assert_eq!(error.code(), "invalid_option");
    }
    assert!(index.search(&lexical("")).unwrap().passages.is_empty());
}

#[test]
fn the_mixed_question_finds_the_command_it_names() {
    let mut corpus = corpus();
    corpus.chunks[5].text = "用 pip 安装 GPU 版本：pip install faiss-gpu。".into();
    let index = index_of(corpus);
    for query in ["如何用pip安装faiss-gpu？", "如何用 pip 安装 ｆａｉｓｓ－ｇｐｕ？"] {
        assert_eq!(ids(&index, &lexical(query))[0], "pip#0", "{query}");
    }
}

#[test]
fn repeated_and_growing_queries_reuse_postings_and_change_nothing() {
    let warm = index();
    let mut typed = String::new();
    for letter in "delete a virtual environment 安装包太慢".chars() {
        typed.push(letter);
        let request = SearchRequest { prefix: true, ..lexical(&typed) };
        let once = warm.search(&request).unwrap();
        assert_eq!(warm.search(&request).unwrap(), once, "{typed}");
        assert_eq!(index().search(&request).unwrap(), once, "{typed}");
    }
    let (hits, misses) = (warm.reuse().hits, warm.reuse().misses);
    assert!(hits > 2 * misses, "{hits} of {}", hits + misses);
}

#[test]
fn a_heading_that_is_the_question_wins_over_a_page_that_repeats_its_words() {
    let mut corpus = corpus();
    corpus.documents[1].title = "An agent for every page".into();
    corpus.chunks[4].heading_path = vec!["Overview".into()];
    corpus.chunks[4].text = "The agent sits on the page, and each page loads the agent by itself.".into();
    corpus.chunks[3].heading_path = vec!["Put the agent on a page".into()];
    corpus.chunks[3].text = "Add one script and one element.".into();
    let index = index_of(corpus);
    assert_eq!(ids(&index, &lexical("How do I put the agent on a page?"))[0], "venv#3");
}

#[test]
fn words_side_by_side_count_more_than_the_same_words_apart() {
    let mut corpus = corpus();
    for (chunk, text) in [
        (5, "The index is warm. Rebuild what is cold, and the cache of the rest stays."),
        (6, "Rebuild the warm index, and the rest of the cache, what is cold, stays."),
    ] {
        corpus.chunks[chunk].text = text.into();
        corpus.chunks[chunk].heading_path = vec![];
    }
    assert_eq!(ids(&index_of(corpus), &lexical("warm index"))[0], "pip#1");
}

#[test]
fn the_newer_of_two_pages_that_fit_the_same_comes_first() {
    let dated = |first: Option<&str>, second: Option<&str>| {
        let mut corpus = corpus();
        corpus.documents[0].date = first.map(Into::into);
        corpus.documents[3].date = second.map(Into::into);
        corpus.chunks[1].heading_path = vec!["Copied".into()];
        corpus.documents[0].title = corpus.documents[3].title.clone();
        corpus.documents[0].tags.clear();
        corpus.chunks[1].text = "Remove the folder to delete an environment, virtual or not.".into();
        corpus.chunks[7].text = "Remove the folder to delete an environment, virtual or both.".into();
        ids(&index_of(corpus), &lexical("remove the folder, delete an environment"))[0].clone()
    };
    assert_eq!(dated(Some("2020-01-01"), Some("2026-01-01")), "copy#0");
    assert_eq!(dated(Some("2026-01-01"), Some("2020-01-01")), "venv#1");
    assert_eq!(dated(Some("2026-01-01"), None), "venv#1");
}

#[test]
fn a_turn_answers_from_the_pages_that_its_filter_names() {
    use super::support::{Page, local_agent, run};
    use docent::agent::ChatOptions;

    let pages = [
        Page("two", "Install", &["version/2"], "# Install\n\nRun the old installer to install the program."),
        Page("three", "Install", &["version/3"], "# Install\n\nRun the new installer to install the program."),
    ];
    for (version, expected) in [("2", "two"), ("3", "three")] {
        let agent = local_agent(serde_json::json!({}), super::support::index(&pages));
        let filter = Filter { version: vec![version.into()], ..Filter::default() };
        let turn = run(agent.chat("How do I install the program?", ChatOptions { filter, ..ChatOptions::default() }));
        let sources: Vec<String> = turn.unwrap().sources.into_iter().map(|source| source.document).collect();
        assert_eq!(sources, [expected]);
    }
}

#[test]
fn an_agent_embeds_a_question_once() {
    use super::support::{NoFiles, ScriptedChat, StepClock, run};
    use docent::agent::{AgentConfig, ChatOptions, ConversationalAgent, Hosts};
    use docent::host::EmbeddingModel;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Counting(Rc<RefCell<Vec<String>>>);
    impl EmbeddingModel for Counting {
        fn model_id(&self) -> Option<String> {
            Some("hash".into())
        }

        async fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
            self.0.borrow_mut().push(text.to_owned());
            Ok(embed(text))
        }

        fn count_tokens(&self, _: &str) -> Option<usize> {
            None
        }
    }

    let asked = Counting::default();
    let hosts =
        Hosts { chat: None::<ScriptedChat>, embedding: asked.clone(), files: NoFiles, clock: StepClock::default() };
    let agent = ConversationalAgent::new(AgentConfig::from_json(serde_json::json!({})).unwrap(), hosts).unwrap();
    agent.set_index(index());
    let question = "How do I delete a virtual environment?";
    let first = run(agent.chat(question, ChatOptions::default())).unwrap();
    agent.reset().unwrap();
    let again = run(agent.chat(question, ChatOptions::default())).unwrap();
    assert_eq!(first.sources, again.sources);
    assert_eq!(asked.0.borrow().iter().filter(|text| text.as_str() == question).count(), 1, "{:?}", asked.0.borrow());
    assert_eq!(run(agent.embed_query(question)).unwrap(), embed(question));
    assert_eq!(asked.0.borrow().iter().filter(|text| text.as_str() == question).count(), 1);
}

/// A cross-encoder: a network that reads the question and a passage together.
struct CrossEncoder {
    plan: std::sync::Arc<TypedRunnableModel>,
}

impl CrossEncoder {
    fn load() -> Self {
        let bytes = include_bytes!("data/cross_encoder.onnx");
        let model = tract_onnx::onnx().model_for_read(&mut &bytes[..]).unwrap();
        Self { plan: model.into_optimized().unwrap().into_runnable().unwrap() }
    }

    fn numbers(text: &str) -> Tensor {
        let words: Vec<i64> = Analyzer::default()
            .analyze(text)
            .into_iter()
            .filter(|token| !token.stopword)
            .map(|token| token.term.bytes().fold(7_i64, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into())))
            .collect();
        let length = words.len();
        tract_ndarray::Array2::from_shape_vec((1, length), words).unwrap().into()
    }
}

impl Reranker for CrossEncoder {
    fn rerank(&self, query: &str, candidates: &[Candidate<'_>]) -> Result<Vec<f32>> {
        let question = Self::numbers(query);
        let refuse = |error: TractError| Error::Model(error.to_string());
        candidates
            .iter()
            .map(|candidate| {
                let passage = Self::numbers(candidate.text.unwrap_or(candidate.title));
                let output = self.plan.run(tvec!(question.clone().into(), passage.into())).map_err(refuse)?;
                Ok(output[0].to_plain_array_view::<f32>().map_err(refuse)?.iter().sum())
            })
            .collect()
    }
}

#[test]
fn a_cross_encoder_takes_the_place_of_the_second_stage() {
    let mut index = index();
    let query = "virtual environment removed, nothing else";
    let before = index.search(&lexical(query)).unwrap();
    index.set_reranker(Box::new(CrossEncoder::load()));
    let after = index.search(&lexical(query)).unwrap();
    assert!(after.warnings.is_empty(), "{:?}", after.warnings);
    assert_eq!(after.passages[0].id, "venv#2");
    // All five words of the question stand in the passage.
    assert!(after.passages[0].scores.fused >= 5.0, "{}", after.passages[0].scores.fused);
    assert_eq!(before.passages.len(), after.passages.len());
}

#[test]
fn a_second_stage_that_fails_leaves_the_order_and_says_so() {
    struct Broken;
    impl Reranker for Broken {
        fn rerank(&self, _: &str, _: &[Candidate<'_>]) -> Result<Vec<f32>> {
            Err(Error::Model("out of order".into()))
        }
    }
    let mut index = index();
    let before = ids(&index, &lexical("delete virtual environment"));
    index.set_reranker(Box::new(Broken));
    let response = index.search(&lexical("delete virtual environment")).unwrap();
    assert_eq!(response.passages[0].id, before[0]);
    assert!(response.warnings[0].contains("out of order"));
}
