//! Values that cross the boundary: errors.

use js_sys::{Error as JsError, Reflect};
use wasm_bindgen::JsValue;

use crate::error::Error;

/// A JavaScript `Error` with `name` `"AgentError"`, the stable `code` and the message.
pub(crate) fn to_js_error(error: &Error) -> JsValue {
    let thrown = JsError::new(&error.to_string());
    thrown.set_name("AgentError");
    // Setting a property of a fresh, extensible object cannot fail.
    let _ = Reflect::set(&thrown, &"code".into(), &error.code().into());
    thrown.into()
}
