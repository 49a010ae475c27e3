//! [`Bus`] in memory.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use proto::{
    door::{Refusal, Verb},
    error::Failure,
    subject::Subjects,
};
use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{Call, Faults};
use crate::bus::{Answer, Bus, BusError, Direct, Message, Reply, Request, RequestContext};

/// Capacity of one subscriber's queue; further messages are lost, as on NATS.
const WAITING_MAX: usize = 64 * 1024;
/// A broker's default limit on the size of a message, in bytes.
const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct MemoryBus {
    subjects: Subjects,
    faults: Arc<Faults>,
    listeners: Arc<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    all: Mutex<Vec<Listener>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Listener {
    id: u64,
    pattern: Pattern,
    /// The verb, if this listener serves one. Its servers share the requests.
    verb: Option<Verb>,
    sender: Sender<Sent>,
}

/// The subjects that a listener wants.
#[derive(Debug)]
struct Pattern {
    text: String,
    /// Length of the part before the first wildcard; most subjects differ in it.
    literal: usize,
}

impl Pattern {
    fn new(text: String) -> Self {
        let literal = text.find(['*', '>']).unwrap_or(text.len());
        Self { text, literal }
    }

    fn matches(&self, subject: &str) -> bool {
        let (literal, wildcards) = self.text.split_at(self.literal);
        match wildcards {
            "" => literal == subject,
            _ => subject.starts_with(literal) && matches(&self.text, subject),
        }
    }
}

/// A message in transit.
#[derive(Debug, Clone)]
struct Sent {
    message: Message,
    context: RequestContext,
    verb: Option<Verb>,
    reply: Option<Sender<Message>>,
}

/// Removes its listeners on drop.
#[derive(Debug)]
struct Listening {
    listeners: Arc<Listeners>,
    ids: Vec<u64>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.listeners.lock().retain(|listener| !self.ids.contains(&listener.id));
    }
}

impl Listeners {
    fn lock(&self) -> MutexGuard<'_, Vec<Listener>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, pattern: String, verb: Option<Verb>, sender: Sender<Sent>) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().push(Listener { id, pattern: Pattern::new(pattern), verb, sender });
        id
    }

    /// Delivers a message to every subscriber and to one server of each verb. Returns whether
    /// anyone received it.
    fn send(&self, sent: &Sent) -> bool {
        let all = self.lock();
        let mut there: Vec<_> =
            all.iter().filter(|l| l.pattern.matches(&sent.message.subject)).collect();
        fastrand::shuffle(&mut there);
        let mut served = HashSet::new();
        for listener in &there {
            if listener.verb.is_none_or(|verb| served.insert(verb)) {
                let _ = listener.sender.try_send(Sent { verb: listener.verb, ..sent.clone() });
            }
        }
        !there.is_empty()
    }
}

impl MemoryBus {
    pub(super) fn new(subjects: Subjects, faults: Arc<Faults>) -> Self {
        Self { subjects, faults, listeners: Arc::default() }
    }

    fn reach(&self, payload: &Bytes) -> Result<(), BusError> {
        if let Some(error) = self.faults.failure(Call::Bus) {
            return Err(BusError::Unavailable(error.to_string()));
        }
        let bytes = payload.len();
        if bytes > PAYLOAD_BYTES_MAX { Err(BusError::TooLarge(bytes)) } else { Ok(()) }
    }

    fn ask(
        &self,
        subject: &str,
        payload: Bytes,
        context: RequestContext,
    ) -> Result<Receiver<Message>, BusError> {
        self.reach(&payload)?;
        let (sender, answers) = mpsc::channel(WAITING_MAX);
        let message = Message { subject: subject.to_owned(), payload };
        let sent = Sent { message, context, verb: None, reply: Some(sender) };
        if self.listeners.send(&sent) {
            Ok(answers)
        } else {
            Err(BusError::NoResponders(subject.to_owned()))
        }
    }
}

/// Waits for the next answer, even after the last service has ended: a NATS client does not notice
/// the end of a service either.
async fn answer(answers: &mut Receiver<Message>, wait: Duration) -> Option<Message> {
    let next = async {
        match answers.recv().await {
            Some(answer) => answer,
            None => std::future::pending().await,
        }
    };
    tokio::time::timeout(wait, next).await.ok()
}

#[async_trait]
impl Bus for MemoryBus {
    async fn publish(&self, subject: String, payload: Bytes) -> Result<(), BusError> {
        self.reach(&payload)?;
        let message = Message { subject, payload };
        self.listeners.send(&Sent {
            message,
            context: RequestContext::default(),
            verb: None,
            reply: None,
        });
        Ok(())
    }

    async fn settle(&self) -> Result<(), BusError> {
        Ok(())
    }

    async fn subscribe(&self, subject: String) -> Result<BoxStream<'static, Message>, BusError> {
        self.reach(&Bytes::new())?;
        let (sender, mut messages) = mpsc::channel(WAITING_MAX);
        let id = self.listeners.listen(subject, None, sender);
        let listening = Listening { listeners: Arc::clone(&self.listeners), ids: vec![id] };
        Ok(Box::pin(async_stream::stream! {
            let _listening = listening;
            while let Some(sent) = messages.recv().await {
                yield sent.message;
            }
        }))
    }

    async fn request(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        timeout: Duration,
    ) -> Result<Message, BusError> {
        let mut answers = self.ask(&subject, payload, context)?;
        let first = answer(&mut answers, timeout).await;
        first.ok_or(BusError::Timeout { subject, waited: timeout })
    }

    async fn request_many(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        idle: Duration,
    ) -> Result<BoxStream<'static, Result<Message, BusError>>, BusError> {
        let mut answers = self.ask(&subject, payload, context)?;
        Ok(Box::pin(async_stream::stream! {
            while let Some(message) = answer(&mut answers, idle).await {
                yield Ok(message);
            }
        }))
    }

    async fn listen(&self, subject: String) -> Result<BoxStream<'static, Direct>, BusError> {
        self.reach(&Bytes::new())?;
        let (sender, mut requests) = mpsc::channel(WAITING_MAX);
        let id = self.listeners.listen(subject, None, sender);
        let listening = Listening { listeners: Arc::clone(&self.listeners), ids: vec![id] };
        Ok(Box::pin(async_stream::stream! {
            let _listening = listening;
            while let Some(sent) = requests.recv().await {
                if let Some(reply) = sent.reply {
                    let Message { subject, payload } = sent.message;
                    yield Direct { payload, answer: Box::new(MemoryReply { subject, reply }) };
                }
            }
        }))
    }

    async fn serve(&self, verbs: Vec<Verb>) -> Result<BoxStream<'static, Request>, BusError> {
        self.reach(&Bytes::new())?;
        let (sender, mut requests) = mpsc::channel(WAITING_MAX);
        let listen = |verb: Verb| {
            self.listeners.listen(self.subjects.service(verb), Some(verb), sender.clone())
        };
        let ids = verbs.into_iter().map(listen).collect();
        drop(sender);
        let listening = Listening { listeners: Arc::clone(&self.listeners), ids };
        Ok(Box::pin(async_stream::stream! {
            let _listening = listening;
            while let Some(sent) = requests.recv().await {
                // Without a reply subject, a message is not a request.
                if let (Some(verb), Some(reply)) = (sent.verb, sent.reply) {
                    let reply = Box::new(MemoryReply { subject: sent.message.subject, reply });
                    yield Request {
                        verb,
                        payload: sent.message.payload,
                        context: sent.context,
                        reply,
                    };
                }
            }
        }))
    }
}

#[derive(Debug)]
struct MemoryReply {
    subject: String,
    reply: Sender<Message>,
}

#[async_trait]
impl Answer for MemoryReply {
    async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        let bytes = payload.len();
        if bytes > PAYLOAD_BYTES_MAX {
            return Err(BusError::TooLarge(bytes));
        }
        // The caller may be gone; NATS does not report that either.
        let _ = self.reply.try_send(Message { subject: self.subject.clone(), payload });
        Ok(())
    }
}

#[async_trait]
impl Reply for MemoryReply {
    /// All callers in memory are one: replies go through a channel and not to an inbox.
    fn inbox(&self) -> &str {
        ""
    }

    async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        Answer::send(self, payload).await
    }

    async fn is_heard(&self, payload: Bytes) -> Result<bool, BusError> {
        Answer::send(self, payload).await?;
        Ok(!self.reply.is_closed())
    }

    async fn refuse(&self, failure: Failure) -> Result<(), BusError> {
        let body = serde_json::to_vec(&Refusal { error: failure })
            .expect("a refusal holds strings, numbers and JSON that was checked");
        Answer::send(self, Bytes::from(body)).await
    }
}

/// `true` if a subject matches a pattern: `*` is one token, `>` one or more at the end.
fn matches(pattern: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for part in pattern.split('.') {
        match (part, tokens.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (part, Some(token)) if part == token => {}
            (_, Some(_) | None) => return false,
        }
    }
    tokens.next().is_none()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::Pattern;

    #[rstest]
    #[case("a.b", "a.b", true)]
    #[case("a.b", "a.b.c", false)]
    #[case("a.b.c", "a.b", false)]
    #[case("a.*", "a.b", true)]
    #[case("a.*", "a.b.c", false)]
    #[case("a.*.c", "a.b.c", true)]
    #[case("a.>", "a.b.c", true)]
    #[case("a.>", "a", false)]
    #[case(">", "a", true)]
    fn patterns_match_whole_tokens(
        #[case] pattern: &str,
        #[case] subject: &str,
        #[case] yes: bool,
    ) {
        assert_eq!(Pattern::new(pattern.to_owned()).matches(subject), yes);
    }
}
