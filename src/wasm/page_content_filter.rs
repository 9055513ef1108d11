//! The site's own content filter: JavaScript functions, asked after the words that the site lists.

use std::future::Future;

use js_sys::{Function, Promise};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::JsFuture;

use super::convert::message_of;
use crate::agent::content_filter::{ContentFilter, Judgment, Verdict, WordFilter};

/// The hooks `contentFilter.before` and `contentFilter.after`.
///
/// A hook gives `true` or nothing for a text that passes, `false` or `{ block: "why" }` for one that does not, and a string
/// or `{ replace: "text" }` for another text in its place; a promise of these is waited for. A hook that throws blocks:
/// a filter that is broken must not let through what it is there to stop.
#[derive(Debug)]
pub(crate) struct PageContentFilter {
    words: WordFilter,
    before: Option<Function>,
    after: Option<Function>,
}

impl PageContentFilter {
    pub(crate) fn new(words: WordFilter, before: Option<Function>, after: Option<Function>) -> Self {
        Self { words, before, after }
    }
}

impl ContentFilter for PageContentFilter {
    fn before<'a>(&'a self, message: &'a str) -> Judgment<'a> {
        Box::pin(judge(self.words.before(message), self.before.as_ref(), message))
    }

    fn after<'a>(&'a self, reply: &'a str) -> Judgment<'a> {
        Box::pin(judge(self.words.after(reply), self.after.as_ref(), reply))
    }
}

async fn judge(words: impl Future<Output = Verdict>, hook: Option<&Function>, text: &str) -> Verdict {
    match (words.await, hook) {
        (Verdict::Pass, Some(hook)) => ask(hook, text).await,
        (verdict, _) => verdict,
    }
}

async fn ask(hook: &Function, text: &str) -> Verdict {
    let answer = match hook.call1(&JsValue::NULL, &JsValue::from_str(text)) {
        Ok(answer) => JsFuture::from(Promise::resolve(&answer)).await,
        Err(error) => Err(error),
    };
    match answer {
        Err(error) => Verdict::Block(format!("the site's filter failed: {}", message_of(&error))),
        Ok(answer) => verdict_of(&answer),
    }
}

fn verdict_of(answer: &JsValue) -> Verdict {
    if let Some(text) = answer.as_string() {
        return Verdict::Replace(text);
    }
    if answer.is_object() {
        let text = |key: &str| js_sys::Reflect::get(answer, &key.into()).ok().and_then(|value| value.as_string());
        return match (text("replace"), text("block")) {
            (Some(replacement), _) => Verdict::Replace(replacement),
            (None, why) => Verdict::Block(why.unwrap_or_else(|| "the site's filter".to_owned())),
        };
    }
    if answer.is_null() || answer.is_undefined() || answer.is_truthy() {
        Verdict::Pass
    } else {
        Verdict::Block("the site's filter".to_owned())
    }
}
