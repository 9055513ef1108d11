//! The page's time.

use crate::host::Clock;

/// `Date.now()` and, where there is one, `performance.now()`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PageClock;

impl Clock for PageClock {
    fn now_ms(&self) -> u64 {
        js_sys::Date::now() as u64
    }

    fn monotonic_ms(&self) -> f64 {
        thread_local! {
            // Read once: the object stays the same for the life of a page or worker.
            static PERFORMANCE: Option<web_sys::Performance> =
                js_sys::Reflect::get(&js_sys::global(), &"performance".into()).ok().and_then(|value| {
                    (!value.is_undefined()).then(|| wasm_bindgen::JsCast::unchecked_into(value))
                });
        }
        PERFORMANCE.with(|performance| performance.as_ref().map_or_else(js_sys::Date::now, web_sys::Performance::now))
    }
}
