//! The connection with a running Chromium: the DevTools protocol over a pipe.
//!
//! A pipe, because the protocol's socket would be open to every process of the machine. Commands have
//! numbers, and replies repeat them. Events go to one function, in order, before the next message is
//! read; it must not wait.

use std::{
    collections::HashMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    process::{ChildStdin, ChildStdout},
    sync::{mpsc, oneshot},
};
use tokio_util::sync::CancellationToken;

/// Largest message of Chromium, in bytes.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Largest number of commands that wait for the pipe. A browser that reads no more is lost.
const COMMANDS_MAX: usize = 4096;
/// Longest command. A page whose script never ends answers none.
const COMMAND: Duration = Duration::from_secs(30);

/// The reason why a command has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failed {
    /// Chromium refused it, with its message.
    Refused(String),
    /// Chromium did not answer in time.
    Late,
    /// Chromium ended.
    Gone,
}

/// A command without an interest in its result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Post {
    /// The session of the page or frame; `None` for the browser.
    pub(crate) session: Option<String>,
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// An event of a page, a frame or the browser.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) session: Option<String>,
    pub(crate) method: String,
    pub(crate) params: Value,
}

/// Reads the next message without its last zero; `None` at the end. A message above the bound, which
/// the content of a page may cause, is empty, and its command gets no result.
async fn message_of(output: &mut (impl AsyncBufReadExt + Unpin)) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    output.take(MESSAGE_BYTES_MAX).read_until(0, &mut message).await.ok()?;
    if message.last() == Some(&0) {
        message.pop();
        return Some(message);
    }
    let mut is_long = false;
    while message.len() as u64 == MESSAGE_BYTES_MAX && message.last() != Some(&0) {
        is_long = true;
        message.clear();
        output.take(MESSAGE_BYTES_MAX).read_until(0, &mut message).await.ok()?;
    }
    (is_long && message.last() == Some(&0)).then(Vec::new)
}

struct Waiting {
    session: Option<String>,
    caller: oneshot::Sender<Result<Value, Failed>>,
}

/// The connection. It is over when the pipe ends.
#[derive(derive_more::Debug)]
#[debug("Link {{ gone: {} }}", gone.is_cancelled())]
pub(crate) struct Link {
    commands: mpsc::Sender<Vec<u8>>,
    next: AtomicU64,
    /// The callers by number; `None` once Chromium is gone.
    waiting: Mutex<Option<HashMap<u64, Waiting>>>,
    gone: CancellationToken,
}

/// The ends of the pipe that the connection is made of.
pub(crate) struct Ends {
    input: ChildStdin,
    output: ChildStdout,
    queue: mpsc::Receiver<Vec<u8>>,
}

impl Link {
    /// Creates a connection. [`Link::run`] carries its messages.
    pub(crate) fn new(input: ChildStdin, output: ChildStdout) -> (Self, Ends) {
        let (commands, queue) = mpsc::channel(COMMANDS_MAX);
        let (waiting, gone) = (Mutex::new(Some(HashMap::new())), CancellationToken::new());
        let link = Self { commands, next: AtomicU64::new(1), waiting, gone };
        (link, Ends { input, output, queue })
    }

    /// Returns the token that is cancelled when Chromium is gone.
    pub(crate) fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Carries messages until the pipe ends. `fold` receives every event, and returns the commands
    /// that follow from it.
    pub(crate) async fn run(&self, ends: Ends, mut fold: impl FnMut(Event) -> Vec<Post>) {
        let Ends { mut input, output, mut queue } = ends;
        let write = async {
            while let Some(command) = queue.recv().await {
                if input.write_all(&command).await.is_err() {
                    break;
                }
            }
        };
        let read = async {
            let mut output = BufReader::new(output);
            loop {
                let Some(message) = message_of(&mut output).await else { break };
                if let Ok(value) = serde_json::from_slice(&message) {
                    self.take(value, &mut fold);
                }
            }
        };
        tokio::select! {
            () = write => {}
            () = read => {}
            () = self.gone.cancelled() => {}
        }
        self.end();
    }

    /// Ends the connection: every waiting command fails.
    pub(crate) fn end(&self) {
        self.gone.cancel();
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        for (_, Waiting { caller, .. }) in waiting.into_iter().flatten() {
            // The caller may have given up.
            let _ = caller.send(Err(Failed::Gone));
        }
    }

    /// Sends a command to a page, a frame or the browser, and awaits its result.
    pub(crate) async fn call(
        &self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, Failed> {
        let (caller, reply) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let waits = Waiting { session: session.map(str::to_owned), caller };
        match &mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(waiting) => waiting.insert(id, waits),
            None => return Err(Failed::Gone),
        };
        let _forget = Forget { link: self, id };
        let sent = self.commands.send(message(id, session, method, &params)).await;
        sent.map_err(|_| Failed::Gone)?;
        let reply = tokio::time::timeout(COMMAND, reply).await;
        reply.map_err(|_| Failed::Late)?.unwrap_or(Err(Failed::Gone))
    }

    /// Sends a command and does not wait.
    pub(crate) fn post(&self, post: &Post) {
        let Post { session, method, params } = post;
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let message = message(id, session.as_deref(), method, params);
        if self.commands.try_send(message).is_err() {
            self.gone.cancel();
        }
    }

    fn take(&self, mut message: Value, fold: &mut impl FnMut(Event) -> Vec<Post>) {
        if let Some(id) = message["id"].as_u64() {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let waits = waiting.as_mut().and_then(|waiting| waiting.remove(&id));
            let Some(Waiting { caller, .. }) = waits else { return };
            let result = match message["error"]["message"].as_str() {
                Some(why) => Err(Failed::Refused(why.chars().take(500).collect())),
                None => Ok(message["result"].take()),
            };
            // The caller may have given up.
            let _ = caller.send(result);
        } else if let Some(method) = message["method"].as_str() {
            let session = message["sessionId"].as_str().map(str::to_owned);
            let event =
                Event { session, method: method.to_owned(), params: message["params"].take() };
            match event.method.as_str() {
                "Target.detachedFromTarget" => self.fail(event.params["sessionId"].as_str()),
                "Inspector.targetCrashed" => self.fail(event.session.as_deref()),
                _ => {}
            }
            for post in fold(event) {
                self.post(&post);
            }
        }
    }

    /// Fails the commands to a page or frame that is gone or has crashed.
    fn fail(&self, session: Option<&str>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(waiting) = waiting.as_mut() else { return };
        let is_of_it = |_: &u64, waits: &mut Waiting| waits.session.as_deref() == session;
        for (_, Waiting { caller, .. }) in waiting.extract_if(is_of_it) {
            let _ = caller.send(Err(Failed::Refused("the page is gone".to_owned())));
        }
    }
}

/// Forgets a command whose caller no longer waits.
struct Forget<'a> {
    link: &'a Link,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        let mut waiting = self.link.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(waiting) = waiting.as_mut() {
            waiting.remove(&self.id);
        }
    }
}

/// Returns the bytes of a command, with the zero at their end.
fn message(id: u64, session: Option<&str>, method: &str, params: &Value) -> Vec<u8> {
    let mut message = json!({"id": id, "method": method, "params": params});
    if let Some(session) = session {
        message["sessionId"] = session.into();
    }
    let mut bytes = message.to_string().into_bytes();
    bytes.push(0);
    bytes
}
