//! Values that cross the boundary: errors, and plain data as JSON.
#![cfg_attr(not(feature = "agent"), allow(dead_code, reason = "the embedder alone throws errors and takes bytes"))]

use js_sys::{Error as JsError, Function, JSON, Reflect};
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::{JsCast, JsValue};

use crate::error::{Error, Result};
use crate::json;

/// A JavaScript `Error` with `name` `"AgentError"`, the stable `code` and the message.
pub(crate) fn to_js_error(error: &Error) -> JsValue {
    let thrown = JsError::new(&error.to_string());
    thrown.set_name("AgentError");
    // Setting a property of a fresh, extensible object cannot fail.
    let _ = Reflect::set(&thrown, &"code".into(), &error.code().into());
    thrown.into()
}

/// The message of what JavaScript threw.
pub(crate) fn message_of(thrown: &JsValue) -> String {
    match thrown.dyn_ref::<JsError>() {
        Some(error) => String::from(error.message()),
        None => thrown.as_string().unwrap_or_else(|| "unknown".to_owned()),
    }
}

/// A plain JavaScript value of a Rust one, by way of JSON: the same names and numbers as in every other place.
pub(crate) fn to_js(value: &impl Serialize) -> JsValue {
    JSON::parse(&json::to_text(value)).unwrap_or(JsValue::NULL)
}

/// A Rust value of a plain JavaScript one; functions in it are left out. `name` is what the caller calls it.
pub(crate) fn from_js<T: DeserializeOwned>(value: &JsValue, name: &str) -> Result<T> {
    let invalid = |reason: String| Error::InvalidOption { name: name.to_owned(), reason };
    let text = JSON::stringify(value).map_err(|thrown| invalid(message_of(&thrown)))?;
    let text = text.as_string().ok_or_else(|| invalid("it is not plain data".to_owned()))?;
    json::from_text(&text).map_err(|fault| invalid(fault.to_string()))
}

/// A property of an object; `undefined` where there is none, or where the value is no object.
pub(crate) fn property(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
}

/// A property that is a function.
pub(crate) fn function(object: &JsValue, name: &str) -> Option<Function> {
    property(object, name).dyn_into().ok()
}

/// A property that may be missing, as plain data.
pub(crate) fn optional<T: DeserializeOwned>(object: &JsValue, name: &str) -> Result<Option<T>> {
    let value = property(object, name);
    if value.is_undefined() || value.is_null() { Ok(None) } else { from_js(&value, name).map(Some) }
}
