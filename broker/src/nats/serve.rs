//! The front door as a NATS micro service, which any NATS tool can discover, ping and query for
//! statistics.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use async_nats::{HeaderMap, Message as NatsMessage, SubscribeError};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{
    door::{Refusal, Verb},
    error::{Code, Failure},
    subject::Subjects,
    trace::TraceContext,
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    bus::TOKEN,
    discovery::{self, Endpoint, Instance, QUEUE_GROUP},
    entry,
    link::Link,
    reply::{ReplyRule, ReplyTo},
};
use crate::bus::{BusError, Reply, Request, RequestContext};

/// Longest text of an error header, in bytes; the body contains all of it.
const ERROR_BYTES_MAX: usize = 256;

/// Serves verbs until the stream is dropped.
pub(super) async fn open(
    link: Arc<Link>,
    rule: Arc<ReplyRule>,
    subjects: &Subjects,
    verbs: Vec<Verb>,
) -> Result<BoxStream<'static, Request>, SubscribeError> {
    let mut all = Vec::new();
    let mut counted = Vec::new();
    for verb in verbs {
        let subject = subjects.service(verb);
        let group = QUEUE_GROUP.to_owned();
        let requests = link.client.queue_subscribe(subject.clone(), group).await?;
        let endpoint = Arc::new(Endpoint::new(verb.name(), subject, verb.spec().about));
        counted.push(Arc::clone(&endpoint));
        all.push(requests.map(move |message| (verb, Arc::clone(&endpoint), message)));
    }
    let instance = Arc::new(Instance::new(counted));
    let questions = discovery::subscribe(&link, &instance).await?;
    let discovery = discovery::answer(Arc::clone(&link), Arc::clone(&rule), instance, questions);
    let discovery = AbortOnDropHandle::new(tokio::spawn(discovery));
    let mut requests = futures::stream::select_all(all);
    Ok(Box::pin(async_stream::stream! {
        let _discovery = discovery;
        while let Some((verb, endpoint, message)) = requests.next().await {
            let Some(to) = rule.admit(&message) else { continue };
            let context = context(&message);
            let reply = NatsReply::new(Arc::clone(&link), to, endpoint);
            yield Request { verb, payload: message.payload, context, reply: Box::new(reply) };
        }
    }))
}

fn context(message: &NatsMessage) -> RequestContext {
    let none = HeaderMap::new();
    let headers = message.headers.as_ref().unwrap_or(&none);
    let trace: Option<TraceContext> = entry::trace(headers);
    let token = headers.get(TOKEN).map(|token| token.as_str().to_owned());
    RequestContext { trace, token }
}

#[derive(Debug)]
struct NatsReply {
    link: Arc<Link>,
    to: ReplyTo,
    endpoint: Arc<Endpoint>,
    taken: Instant,
    is_counted: AtomicBool,
}

impl NatsReply {
    fn new(link: Arc<Link>, to: ReplyTo, endpoint: Arc<Endpoint>) -> Self {
        Self { link, to, endpoint, taken: Instant::now(), is_counted: AtomicBool::new(false) }
    }

    /// Counts a request once, however many answers it has.
    fn count(&self, refused: Option<Code>) {
        if !self.is_counted.swap(true, Ordering::Relaxed) {
            self.endpoint.count(self.taken.elapsed(), refused);
        }
    }
}

#[async_trait]
impl Reply for NatsReply {
    fn inbox(&self) -> &str {
        self.to.inbox()
    }

    async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        self.to.send(&self.link, None, payload).await?;
        self.count(None);
        Ok(())
    }

    async fn is_heard(&self, payload: Bytes) -> Result<bool, BusError> {
        self.to.is_heard(&self.link, payload).await
    }

    async fn refuse(&self, failure: Failure) -> Result<(), BusError> {
        let (code, text) = (failure.code, header_text(&failure.message));
        let body = serde_json::to_vec(&Refusal { error: failure })
            .expect("a refusal holds strings, numbers and JSON that was checked");
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Service-Error", text.as_str());
        headers.insert("Nats-Service-Error-Code", code.status().to_string());
        self.to.send(&self.link, Some(headers), Bytes::from(body)).await?;
        self.count(Some(code));
        Ok(())
    }
}

/// Shortens a text to one line of ASCII that fits into a header.
fn header_text(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_ascii_graphic() { c } else { ' ' }).collect();
    line.truncate(ERROR_BYTES_MAX);
    line
}
