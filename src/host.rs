//! What the core asks of its host: an endpoint, an embedding model, a clock.
//!
//! The page answers these in `wasm/`, the command line in `cli/`, the tests with scripted fakes.
//! **Invariant:** nothing in the core reads a clock, a file or the network by itself.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};

use crate::chat::message::{ChatReply, ChatRequest};
use crate::error::Result;

/// An OpenAI-compatible endpoint.
#[allow(async_fn_in_trait, reason = "one thread: a page, a worker or a local task; no `Send` is wanted")]
pub trait ChatClient {
    /// Runs one completion. `on_delta` is called with each piece of the answer as it arrives (never with reasoning).
    ///
    /// # Errors
    /// A typed error; when some of the answer had arrived, the deltas already handed out are what there is.
    async fn complete(
        &self,
        request: &ChatRequest,
        stop: &StopSignal,
        on_delta: &mut dyn FnMut(&str),
    ) -> Result<ChatReply>;
}

/// A sentence-embedding model that may become ready later.
#[allow(async_fn_in_trait, reason = "one thread: a page, a worker or a local task; no `Send` is wanted")]
pub trait EmbeddingModel {
    /// The model's id as in `models/models.toml`; `None` until it is ready.
    fn model_id(&self) -> Option<String>;
    /// The L2-normalized embedding of a query (the model's query prefix is added here, not by the caller).
    ///
    /// # Errors
    /// [`crate::Error::Model`].
    async fn embed_query(&self, text: &str) -> Result<Vec<f32>>;
    /// The number of tokens of `text`; `None` until the tokenizer is ready.
    fn count_tokens(&self, text: &str) -> Option<usize>;
}

/// The parts of the index that are fetched only when an answer needs them.
#[allow(async_fn_in_trait, reason = "one thread: a page, a worker or a local task; no `Send` is wanted")]
pub trait IndexFiles {
    /// The bytes of the text shard `shard`, as the manifest names it.
    ///
    /// # Errors
    /// [`crate::Error::Network`] or [`crate::Error::Index`].
    async fn text_shard(&self, shard: u32) -> Result<Vec<u8>>;

    /// The bytes of the shard `shard` of the postings, as the manifest names it. Only called where it names any.
    ///
    /// # Errors
    /// [`crate::Error::Network`] or [`crate::Error::Index`].
    async fn postings_shard(&self, shard: u32) -> Result<Vec<u8>> {
        Err(crate::error::Error::Network { message: format!("this host has no postings {shard}") })
    }

    /// Sends `body` as a `POST` to a vector engine; gives the HTTP status and the body of the answer. Only called where
    /// the index was told of an engine.
    ///
    /// # Errors
    /// [`crate::Error::VectorEngine`] when there is no answer within `timeout_ms` milliseconds, or when this host reaches
    /// no engine.
    async fn ask_engine(
        &self,
        _url: &str,
        _headers: &[(String, String)],
        _body: &str,
        _timeout_ms: u64,
    ) -> Result<(u16, String)> {
        Err(crate::error::Error::VectorEngine("this host cannot reach one".to_owned()))
    }
}

/// The time.
pub trait Clock {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
    /// Monotonic milliseconds from an arbitrary start, for measuring.
    fn monotonic_ms(&self) -> f64;
}

/// Runs futures side by side and gives their outputs in order.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut waits = false;
        for (future, output) in &mut running {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *output = Some(value),
                    Poll::Pending => waits = true,
                }
            }
        }
        if waits { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}

/// Tells a running turn to stop. Clones share one flag.
#[derive(Debug, Clone, Default)]
pub struct StopSignal(Rc<StopState>);

#[derive(Debug, Default)]
struct StopState {
    stopped: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

impl StopSignal {
    /// Asks for the stop.
    pub fn stop(&self) {
        self.0.stopped.set(true);
        // Taken out first: a waker may run code that asks this signal again.
        let waiting = std::mem::take(&mut *self.0.waiting.borrow_mut());
        for waker in waiting {
            waker.wake();
        }
    }

    /// Whether the stop was asked for.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.get()
    }

    /// Waits until the stop is asked for; never ends when it is not.
    pub async fn stopped(&self) {
        poll_fn(|context| {
            if self.is_stopped() {
                return Poll::Ready(());
            }
            let mut waiting = self.0.waiting.borrow_mut();
            // One entry a task, so that a wait in a loop does not grow the list.
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Does the work unless the stop is asked for first; `None` then, and the work is dropped where it stands.
    ///
    /// A stop that was asked for before lets no work begin.
    pub async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        let mut stopped = pin!(self.stopped());
        poll_fn(|context| {
            if stopped.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            work.as_mut().poll(context).map(Some)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    use super::*;

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Wake for Counting {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn futures_run_side_by_side_and_keep_their_order() {
        let mut context = Context::from_waker(Waker::noop());
        let polls = Cell::new(0);
        // Each is ready after as many polls as its number says; one after the other they would take 6.
        let futures = [3, 1, 2].map(|wanted| {
            let (mut asked, polls) = (0, &polls);
            std::future::poll_fn(move |_| {
                asked += 1;
                polls.set(polls.get() + 1);
                if asked >= wanted { Poll::Ready(wanted) } else { Poll::Pending }
            })
        });
        let mut all = pin!(join_all(futures));
        assert!(all.as_mut().poll(&mut context).is_pending());
        assert!(all.as_mut().poll(&mut context).is_pending());
        assert_eq!(all.as_mut().poll(&mut context), Poll::Ready(vec![3, 1, 2]));
        assert_eq!(polls.get(), 6);
        assert_eq!(pin!(join_all(Vec::<std::future::Ready<u8>>::new())).poll(&mut context), Poll::Ready(vec![]));
    }

    #[test]
    fn a_wait_ends_when_any_clone_stops_and_wakes_its_task_once() {
        let counting = Arc::new(Counting::default());
        let waker = Waker::from(Arc::clone(&counting));
        let mut context = Context::from_waker(&waker);
        let signal = StopSignal::default();
        let mut wait = pin!(signal.stopped());
        assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
        assert_eq!(wait.as_mut().poll(&mut context), Poll::Pending);
        signal.clone().stop();
        assert_eq!(counting.0.load(Ordering::SeqCst), 1);
        assert_eq!(wait.as_mut().poll(&mut context), Poll::Ready(()));
        assert!(signal.is_stopped());
    }

    #[test]
    fn a_stop_ends_the_work_that_waits_and_lets_no_other_begin() {
        let mut context = Context::from_waker(Waker::noop());
        let signal = StopSignal::default();
        assert_eq!(pin!(signal.unless_stopped(async { 7 })).poll(&mut context), Poll::Ready(Some(7)));
        let mut waits = pin!(signal.unless_stopped(std::future::pending::<u8>()));
        assert_eq!(waits.as_mut().poll(&mut context), Poll::Pending);
        signal.stop();
        assert_eq!(waits.as_mut().poll(&mut context), Poll::Ready(None));
        let mut begun = false;
        let late = signal.unless_stopped(async { begun = true });
        assert_eq!(pin!(late).poll(&mut context), Poll::Ready(None));
        assert!(!begun);
    }
}
