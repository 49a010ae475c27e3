//! The connection with a browser: commands and their replies by number, events by session.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};
use tokio::sync::oneshot;

/// The reason why a command has no result.
#[derive(Debug)]
#[expect(dead_code, reason = "the messages are for the report of a test, through `Debug`")]
pub(crate) enum Failed {
    /// The browser refused, with its message; a page that is gone refuses everything.
    Refused(String),
    /// The expression threw.
    Threw(String),
    /// The browser ended.
    Gone,
}

/// An event of a page.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) method: String,
    pub(crate) params: Value,
}

type Waiting = HashMap<u64, oneshot::Sender<Result<Value, Failed>>>;

/// What the reading thread shares with the callers.
#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    events: Mutex<HashMap<String, Vec<Event>>>,
}

#[derive(Debug)]
pub(crate) struct Link {
    commands: Mutex<ChildStdin>,
    next: AtomicU64,
    shared: Arc<Shared>,
}

/// A panic of another test's thread does not matter here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Link {
    /// Takes the pipes of a browser, and reads until it ends.
    pub(crate) fn of(child: &mut Child) -> Self {
        let commands = child.stdin.take().expect("the pipe was asked for");
        let replies = child.stdout.take().expect("the pipe was asked for");
        let shared = Arc::new(Shared::default());
        let reads = Arc::clone(&shared);
        std::thread::spawn(move || {
            let mut replies = BufReader::new(replies);
            let mut message = Vec::new();
            while replies.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                if let Ok(value) = serde_json::from_slice(&message) {
                    reads.take(value);
                }
                message.clear();
            }
            for (_, caller) in lock(&reads.waiting).drain() {
                // The caller may have given up.
                let _ = caller.send(Err(Failed::Gone));
            }
        });
        Self { commands: Mutex::new(commands), next: AtomicU64::new(1), shared }
    }

    /// Sends a command to a page, or to the browser, and awaits its result.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, Failed> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let (caller, reply) = oneshot::channel();
        lock(&self.shared.waiting).insert(id, caller);
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let written = lock(&self.commands).write_all(&bytes);
        written.map_err(|_| Failed::Gone)?;
        reply.await.unwrap_or(Err(Failed::Gone))
    }

    /// Returns the events of a page so far.
    pub(crate) fn events(&self, session: &str) -> Vec<Event> {
        lock(&self.shared.events).get(session).cloned().unwrap_or_default()
    }
}

impl Shared {
    fn take(&self, mut message: Value) {
        if let Some(id) = message["id"].as_u64() {
            let Some(caller) = lock(&self.waiting).remove(&id) else { return };
            let result = match message["error"]["message"].as_str() {
                Some(why) => Err(Failed::Refused(why.to_owned())),
                None => Ok(message["result"].take()),
            };
            // The caller may have given up.
            let _ = caller.send(result);
        } else if let Some(method) = message["method"].as_str() {
            let session = message["sessionId"].as_str().unwrap_or_default().to_owned();
            let event = Event { method: method.to_owned(), params: message["params"].take() };
            lock(&self.events).entry(session).or_default().push(event);
        }
    }
}
