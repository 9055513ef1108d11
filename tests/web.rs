//! The boundary in a real browser: JavaScript values in, JavaScript values and errors out.
//!
//! `make web` builds a small index of `tests/fixtures/web-docs` first and hands its files over in a variable at compile time;
//! the tests answer the module's fetches with them.
#![cfg(target_arch = "wasm32")]
#![allow(
    clippy::option_env_unwrap,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what is wrong stops the test; without the index the lints must still compile"
)]

use docent::wasm::agent::Agent;
use js_sys::{Array, Function, JSON, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

const INDEX: &str = "/web-index/manifest.json";

/// Answers fetches below `/web-index/` with the files of the built index, once for the page; below `/web-index-DAMAGE/` with
/// files that suffered what DAMAGE names.
fn serve_index() {
    let files = option_env!("DOCENT_WEB_INDEX").expect("run these tests with `make web`, which builds their index");
    let serve = Function::new_with_args(
        "files",
        "if (globalThis.served) return;
         globalThis.served = true;
         const real = globalThis.fetch;
         const gzip = async (bytes) => new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
         const damages = {
           cut: (bytes) => bytes.slice(0, bytes.length / 2),
           flipped: (bytes) => bytes.map((byte, at) => (at === bytes.length >> 1 ? byte ^ 4 : byte)),
           empty: () => new Uint8Array(),
           page: () => new TextEncoder().encode('<!doctype html><title>Not found</title>'),
           gzip,
           long: (bytes) => bytes.map((byte, at) => (at >= 32 && at < 36 ? 255 : byte)),
           newer: (bytes) => bytes.map((byte, at) => (at === 8 ? 99 : byte)),
         };
         globalThis.fetch = async (request) => {
           const address = new URL(request.url ?? request, location.href);
           const [found, damage, name] = /^\\/web-index(?:-([a-z]+))?\\/(.*)$/.exec(address.pathname) ?? [];
           if (!found) return real(request);
           const file = JSON.parse(files)[name];
           let body = file === undefined ? 'no such file' : Uint8Array.from(atob(file), (c) => c.charCodeAt(0));
           if (damage && name.startsWith('core-')) body = await damages[damage](body);
           const response = new Response(body, { status: file === undefined ? 404 : 200 });
           return Object.defineProperty(response, 'url', { value: address.href });
         };",
    );
    serve.call1(&JsValue::NULL, &files.into()).unwrap();
}

fn js(json: &str) -> JsValue {
    JSON::parse(json).unwrap()
}

fn get(value: &JsValue, path: &str) -> JsValue {
    path.split('.').fold(value.clone(), |at, key| Reflect::get(&at, &key.into()).unwrap())
}

fn text(value: &JsValue, path: &str) -> String {
    get(value, path).as_string().unwrap_or_else(|| panic!("{path} is no text in {:?}", JSON::stringify(value)))
}

fn options(more: &str) -> JsValue {
    serve_index();
    let options = js(more);
    if get(&options, "index").is_undefined() {
        Reflect::set(&options, &"index".into(), &INDEX.into()).unwrap();
    }
    options
}

async fn load(more: &str) -> Agent {
    Agent::load(options(more), None).await.unwrap_or_else(|error| panic!("{error:?}"))
}

async fn refused(more: &str) -> JsValue {
    match Agent::load(options(more), None).await {
        Ok(_) => panic!("{more} was accepted"),
        Err(error) => error,
    }
}

#[wasm_bindgen_test]
async fn a_question_gets_a_turn_with_sources() {
    let agent = load("{}").await;
    let tokens = Array::new();
    let push = Closure::<dyn FnMut(JsValue)>::new({
        let tokens = tokens.clone();
        move |token| {
            tokens.push(&token);
        }
    });
    let chat = Object::new();
    Reflect::set(&chat, &"onToken".into(), push.as_ref()).unwrap();
    let turn = agent.chat("How do I create a virtual environment?".into(), chat.into()).await.unwrap();
    assert_eq!(text(&turn, "intent"), "retrieval");
    assert_eq!(text(&turn, "mode"), "lexical");
    assert!(get(&turn, "error").is_null());
    assert!(text(&turn, "sources.0.url").contains("venv"), "{:?}", JSON::stringify(&turn));
    assert!(tokens.length() > 0, "the reply is handed out as it is made");
}

#[wasm_bindgen_test]
async fn chinese_goes_in_and_comes_out() {
    let agent = load("{}").await;
    let turn = agent.chat("怎么安装依赖？".into(), JsValue::UNDEFINED).await.unwrap();
    assert!(text(&turn, "sources.0.url").contains("pip-zh"), "{:?}", JSON::stringify(&turn));
    assert_eq!(text(&turn, "language"), "zh");
}

#[wasm_bindgen_test]
async fn errors_are_agent_errors_with_stable_codes() {
    for (more, code, part) in [
        (r#"{"index": "/web-index/missing.json"}"#, "index_unreachable", "HTTP 404"),
        (r#"{"index": "/"}"#, "index_not_an_index", "HTML"),
        (r#"{"index": null}"#, "invalid_option", "index"),
        (r#"{"policy": {"topK": 0}}"#, "invalid_option", "topK"),
        (r#"{"llm": {"endpoint": 7}}"#, "invalid_option", "llm"),
        (r#"{"model": 7}"#, "invalid_option", "model"),
        (r#"{"unknown": 1}"#, "invalid_option", "unknown"),
    ] {
        let error = refused(more).await;
        assert!(error.is_instance_of::<js_sys::Error>());
        assert_eq!(text(&error, "name"), "AgentError", "{more}");
        assert_eq!(text(&error, "code"), code, "{more}");
        assert!(text(&error, "message").contains(part), "{more}: {}", text(&error, "message"));
    }
}

#[wasm_bindgen_test]
async fn damaged_index_files_are_refused_by_name_and_with_advice() {
    for (damage, code) in [
        ("cut", "index_truncated"),
        ("flipped", "index_damaged"),
        ("empty", "index_empty"),
        ("page", "index_not_an_index"),
        ("gzip", "index_not_an_index"),
        ("long", "index_damaged"),
        ("newer", "index_version"),
    ] {
        let error = refused(&format!(r#"{{"index": "/web-index-{damage}/manifest.json"}}"#)).await;
        assert_eq!(text(&error, "name"), "AgentError", "{damage}");
        assert_eq!(text(&error, "code"), code, "{damage}: {}", text(&error, "message"));
    }
    // The module is whole after all of them.
    let turn =
        load("{}").await.chat("How do I create a virtual environment?".into(), JsValue::UNDEFINED).await.unwrap();
    assert!(get(&turn, "error").is_null());
}

#[wasm_bindgen_test]
async fn a_second_chat_is_busy_and_reading_works_meanwhile() {
    let agent = load("{}").await;
    // Polled once each, in this order: the first waits for a text shard, the second is refused.
    let first = agent.chat("How do I create a virtual environment?".into(), JsValue::UNDEFINED);
    let second = async {
        let refused = agent.chat("and now?".into(), JsValue::UNDEFINED).await;
        let reset = agent.reset();
        (refused, reset, agent.export(), agent.metrics())
    };
    let (first, (second, reset, saved, metrics)) = futures_util::future::join(first, second).await;
    assert_eq!(text(&second.unwrap_err(), "code"), "busy");
    assert_eq!(text(&reset.unwrap_err(), "code"), "busy");
    assert!(!saved.is_empty() && metrics.is_object());
    assert!(get(&first.unwrap(), "error").is_null());
    agent.reset().unwrap();
}

#[wasm_bindgen_test]
async fn a_conversation_is_exported_and_restored() {
    let agent = load("{}").await;
    agent.chat("How do I create a virtual environment?".into(), JsValue::UNDEFINED).await.unwrap();
    let saved = agent.export();
    let other = load("{}").await;
    other.restore(&saved).unwrap();
    assert_eq!(other.export(), saved);
    let error = other.restore("{").unwrap_err();
    assert_eq!(text(&error, "code"), "storage");
    assert_eq!(other.export(), saved, "a refused restore loses nothing");
}

#[wasm_bindgen_test]
async fn filters_see_the_text_and_may_wait() {
    let options = options("{}");
    let hooks = js("{}");
    let before = Function::new_with_args(
        "text",
        "return new Promise((resolve) => setTimeout(() => resolve(text.includes('secret') ? { block: 'not here' } : true), 20));",
    );
    Reflect::set(&hooks, &"before".into(), &before).unwrap();
    Reflect::set(&options, &"contentFilter".into(), &hooks).unwrap();
    let agent = Agent::load(options, None).await.unwrap();
    let turn = agent.chat("tell me a secret".into(), JsValue::UNDEFINED).await.unwrap();
    assert_eq!(text(&turn, "error.kind"), "content_filter");
    let turn = agent.chat("How do I create a virtual environment?".into(), JsValue::UNDEFINED).await.unwrap();
    assert!(get(&turn, "error").is_null());
}

#[wasm_bindgen_test]
async fn a_sink_gets_every_record_and_events_reach_it() {
    let records = Array::new();
    let push = Closure::<dyn FnMut(JsValue)>::new({
        let records = records.clone();
        move |record| {
            records.push(&record);
        }
    });
    let options = options("{}");
    Reflect::set(&options, &"sink".into(), push.as_ref()).unwrap();
    let agent = Agent::load(options, None).await.unwrap();
    agent.chat("How do I create a virtual environment?".into(), JsValue::UNDEFINED).await.unwrap();
    agent.record_event(&js(r#"{"kind": "thumbs_up"}"#)).unwrap();
    assert_eq!(text(&records.get(0), "query"), "How do I create a virtual environment?");
    assert_eq!(text(&records.get(records.length() - 1), "events.0.kind"), "thumbs_up");
    let error = agent.record_event(&js(r#"{"kind": "danced"}"#)).unwrap_err();
    assert_eq!(text(&error, "code"), "invalid_option");
    assert_eq!(agent.export_log().lines().count(), 1);
}

#[wasm_bindgen_test]
async fn an_aborted_signal_stops_and_the_next_turn_works() {
    let agent = load(r#"{"llm": {"endpoint": "/web-index/no-endpoint", "maxRetries": 0}}"#).await;
    let controller = web_sys::AbortController::new().unwrap();
    controller.abort();
    let chat = Object::new();
    Reflect::set(&chat, &"signal".into(), &controller.signal()).unwrap();
    let turn = agent.chat("How do I create a virtual environment?".into(), chat.into()).await.unwrap();
    assert_eq!(text(&turn, "error.kind"), "interrupted");
    let turn = agent.chat("How do I delete a virtual environment?".into(), JsValue::UNDEFINED).await.unwrap();
    assert_ne!(text(&turn, "error.kind"), "interrupted", "there is no endpoint, but nobody stopped the turn");
    assert!(text(&turn, "sources.0.url").contains("venv"), "the local answer is given with it");
}

#[wasm_bindgen_test]
async fn callbacks_that_throw_do_not_break_the_turn() {
    let options = options("{}");
    let throws = Function::new_no_args("throw new Error('the page is broken')");
    Reflect::set(&options, &"sink".into(), &throws).unwrap();
    let agent = Agent::load(options, Some(throws.clone())).await.unwrap();
    let chat = Object::new();
    Reflect::set(&chat, &"onToken".into(), &throws).unwrap();
    let turn = agent.chat("How do I create a virtual environment?".into(), chat.into()).await.unwrap();
    assert!(get(&turn, "error").is_null());
}

#[wasm_bindgen_test]
async fn an_embedder_of_another_model_is_refused_with_its_reason_and_lexical_goes_on() {
    let agent = load("{}").await;
    agent.load_vectors(None).await.unwrap();
    let embedder = js(r#"{"modelId": "another-model"}"#);
    Reflect::set(&embedder, &"embedQuery".into(), &Function::new_no_args("return new Float32Array(384)")).unwrap();
    Reflect::set(&embedder, &"countTokens".into(), &Function::new_with_args("text", "return text.length")).unwrap();
    agent.attach_embedder(embedder.unchecked_into());
    let turn = agent.chat("How do I create a virtual environment?".into(), JsValue::UNDEFINED).await.unwrap();
    assert_eq!(text(&turn, "mode"), "lexical");
    let warnings = JSON::stringify(&get(&turn, "trace.warnings")).unwrap();
    assert!(String::from(warnings).contains("another-model"));
    let _ = JsFuture::from(Promise::resolve(&JsValue::NULL)).await;
}

#[wasm_bindgen_test]
async fn search_finds_as_the_reader_types() {
    let agent = load("{}").await;
    let found = agent.search("virt".into(), js(r#"{"topK": 2, "mode": "lexical"}"#)).await.unwrap();
    assert!(text(&found, "passages.0.url").contains("venv"));
    assert!(get(&found, "passages").unchecked_into::<Array>().length() <= 2);
    let error = agent.search("x".into(), js(r#"{"topK": -1}"#)).await.unwrap_err();
    assert_eq!(text(&error, "code"), "invalid_option");
}

/// Options of a search with an embedding of `length` equal numbers.
fn with_embedding(mode: &str, length: u32, value: f32) -> JsValue {
    let options = js(&format!(r#"{{"mode": "{mode}"}}"#));
    let embedding = js_sys::Float32Array::new_with_length(length);
    embedding.fill(value, 0, length);
    Reflect::set(&options, &"embedding".into(), &embedding).unwrap();
    options
}

#[wasm_bindgen_test]
async fn search_takes_an_embedding_made_elsewhere_and_refuses_one_that_does_not_fit() {
    let agent = load("{}").await;
    agent.load_vectors(None).await.unwrap();
    let unit = 1.0 / 384.0_f32.sqrt();
    let found = agent.search("venv".into(), with_embedding("hybrid", 384, unit)).await.unwrap();
    assert_eq!(text(&found, "mode"), "hybrid");
    assert!(get(&found, "passages.0.scores.dense").as_f64().is_some(), "{:?}", JSON::stringify(&found));
    let plain = js(r#"{"mode": "dense", "embedding": []}"#);
    let numbers: Array = (0..384).map(|_| JsValue::from(unit)).collect();
    Reflect::set(&plain, &"embedding".into(), &numbers).unwrap();
    assert_eq!(text(&agent.search("venv".into(), plain).await.unwrap(), "mode"), "dense");
    for (bad, part) in [
        (with_embedding("hybrid", 5, unit), "5 dimensions, the index has 384"),
        (with_embedding("hybrid", 384, f32::NAN), "not finite"),
        (js(r#"{"mode": "hybrid", "embedding": "text"}"#), "Float32Array"),
    ] {
        let error = agent.search("venv".into(), bad).await.unwrap_err();
        assert_eq!(text(&error, "code"), "invalid_option");
        assert!(text(&error, "message").contains(part), "{}", text(&error, "message"));
    }
}

#[wasm_bindgen_test]
async fn an_engine_that_cannot_be_reached_leaves_the_search_by_words_and_is_named() {
    let engine = r#"{"engine": "qdrant", "url": "http://127.0.0.1:9", "collection": "docs", "timeoutMs": 2000}"#;
    let agent = load(&format!(r#"{{"vectors": {engine}}}"#)).await;
    for _ in 0..2 {
        let found = agent.search("venv".into(), with_embedding("hybrid", 384, 0.05)).await.unwrap();
        assert_eq!(text(&found, "mode"), "lexical");
        assert!(text(&found, "passages.0.url").contains("venv"), "{:?}", JSON::stringify(&found));
        assert!(
            text(&found, "warnings.0").contains("the vector engine cannot be used"),
            "{:?}",
            JSON::stringify(&found)
        );
    }
    for (vectors, part) in [
        (r#"{"engine": "qdrant", "url": "https://x", "collection": "a", "apiKey": "k"}"#, "allowKeyInPage"),
        (r#"{"engine": "other", "url": "https://x", "collection": "a"}"#, "vectors"),
        (r#"7"#, "vectors"),
    ] {
        let error = refused(&format!(r#"{{"vectors": {vectors}}}"#)).await;
        assert_eq!(text(&error, "code"), "invalid_option", "{vectors}");
        assert!(text(&error, "message").contains(part), "{}", text(&error, "message"));
    }
}
