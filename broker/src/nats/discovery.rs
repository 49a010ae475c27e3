//! `$SRV.PING`, `$SRV.INFO` and `$SRV.STATS`: the NATS micro protocol (ADR-32), for all services,
//! by the service's name and by this instance's id.
//!
//! The client library implements the protocol too, but replies to any subject a caller names. Here
//! a reply passes the same rule as every other one.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_nats::{SubscribeError, Subscriber};
use bytes::Bytes;
use futures::{StreamExt, stream::SelectAll};
use jiff::Timestamp;
use proto::error::Code;
use serde::Serialize;
use tokio::sync::watch;

use super::{link::Link, reply::ReplyRule};

const NAME: &str = "callboard";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const DESCRIPTION: &str = "Runs agents as durable jobs.";
/// Queue group that shares the requests of a verb; the same as in NATS client libraries.
pub(super) const QUEUE_GROUP: &str = "q";

/// One instance of the service, as discovery shows it.
#[derive(Debug)]
pub(super) struct Instance {
    id: String,
    started: Timestamp,
    endpoints: Vec<Arc<Endpoint>>,
}

/// One verb and its statistics.
#[derive(Debug)]
pub(super) struct Endpoint {
    name: &'static str,
    subject: String,
    description: &'static str,
    requests: AtomicU64,
    errors: AtomicU64,
    nanos: AtomicU64,
    last_error: watch::Sender<Option<Code>>,
}

impl Endpoint {
    pub(super) fn new(name: &'static str, subject: String, description: &'static str) -> Self {
        Self {
            name,
            subject,
            description,
            requests: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            nanos: AtomicU64::new(0),
            last_error: watch::Sender::new(None),
        }
    }

    /// Counts a request by its first answer, with the code of a refusal. Error texts are not kept:
    /// they may quote user input.
    pub(super) fn count(&self, took: Duration, refused: Option<Code>) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
        if refused.is_some() {
            self.errors.fetch_add(1, Ordering::Relaxed);
            self.last_error.send_replace(refused);
        }
    }
}

/// The discovery requests, by their token in `$SRV.<verb>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display, strum::VariantArray)]
#[strum(serialize_all = "UPPERCASE")]
pub(super) enum Verb {
    Ping,
    Info,
    Stats,
}

impl Verb {
    const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;
}

/// Subscribes to everything that [`answer`] answers.
pub(super) async fn subscribe(
    link: &Link,
    instance: &Instance,
) -> Result<SelectAll<Questions>, SubscribeError> {
    let mut all = SelectAll::new();
    for &verb in Verb::ALL {
        let every = format!("$SRV.{verb}");
        let ours = format!("{every}.{NAME}");
        let this_one = format!("{ours}.{}", instance.id);
        for subject in [every, ours, this_one] {
            all.push(Questions { verb, messages: link.client.subscribe(subject).await? });
        }
    }
    Ok(all)
}

/// A subscription to one discovery subject.
pub(super) struct Questions {
    verb: Verb,
    messages: Subscriber,
}

impl futures::Stream for Questions {
    type Item = (Verb, async_nats::Message);

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        let verb = self.verb;
        self.messages.poll_next_unpin(cx).map(|message| Some((verb, message?)))
    }
}

/// Answers discovery requests until the connection is closed.
pub(super) async fn answer(
    link: Arc<Link>,
    rule: Arc<ReplyRule>,
    instance: Arc<Instance>,
    mut questions: SelectAll<Questions>,
) {
    while let Some((verb, question)) = questions.next().await {
        let Some(reply) = rule.admit(&question) else { continue };
        if let Err(error) = reply.send(&link, None, instance.says(verb)).await {
            tracing::debug!(%error, %verb, "discovery could not answer");
        }
    }
}

impl Instance {
    pub(super) fn new(endpoints: Vec<Arc<Endpoint>>) -> Self {
        let id = uuid::Uuid::now_v7().simple().to_string();
        Self { id, started: Timestamp::now(), endpoints }
    }

    fn says(&self, verb: Verb) -> Bytes {
        let written = match verb {
            Verb::Ping => serde_json::to_vec(&self.identity("io.nats.micro.v1.ping_response")),
            Verb::Info => serde_json::to_vec(&Info {
                identity: self.identity("io.nats.micro.v1.info_response"),
                description: DESCRIPTION,
                endpoints: self.endpoints.iter().map(|endpoint| endpoint.info()).collect(),
            }),
            Verb::Stats => serde_json::to_vec(&Stats {
                identity: self.identity("io.nats.micro.v1.stats_response"),
                started: self.started,
                endpoints: self.endpoints.iter().map(|endpoint| endpoint.stats()).collect(),
            }),
        };
        Bytes::from(written.expect("an answer holds texts and numbers"))
    }

    fn identity(&self, kind: &'static str) -> Identity<'_> {
        Identity { kind, name: NAME, id: &self.id, version: VERSION, metadata: BTreeMap::new() }
    }
}

impl Endpoint {
    fn info(&self) -> EndpointInfo<'_> {
        EndpointInfo {
            name: self.name,
            subject: &self.subject,
            queue_group: QUEUE_GROUP,
            metadata: BTreeMap::from([("description", self.description)]),
        }
    }

    fn stats(&self) -> EndpointStats<'_> {
        let requests = self.requests.load(Ordering::Relaxed);
        let processing_time = self.nanos.load(Ordering::Relaxed);
        let last_error = *self.last_error.borrow();
        EndpointStats {
            name: self.name,
            subject: &self.subject,
            queue_group: QUEUE_GROUP,
            num_requests: requests,
            num_errors: self.errors.load(Ordering::Relaxed),
            processing_time,
            average_processing_time: processing_time.checked_div(requests).unwrap_or_default(),
            last_error: last_error
                .map(|code| format!("{}:{}", code.status(), code.as_str()))
                .unwrap_or_default(),
        }
    }
}

#[derive(Serialize)]
struct Identity<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    id: &'a str,
    version: &'static str,
    metadata: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Info<'a> {
    #[serde(flatten)]
    identity: Identity<'a>,
    description: &'static str,
    endpoints: Vec<EndpointInfo<'a>>,
}

#[derive(Serialize)]
struct EndpointInfo<'a> {
    name: &'static str,
    subject: &'a str,
    queue_group: &'static str,
    metadata: BTreeMap<&'a str, &'a str>,
}

#[derive(Serialize)]
struct Stats<'a> {
    #[serde(flatten)]
    identity: Identity<'a>,
    started: Timestamp,
    endpoints: Vec<EndpointStats<'a>>,
}

/// Times are in nanoseconds, as the protocol has them.
#[derive(Serialize)]
struct EndpointStats<'a> {
    name: &'static str,
    subject: &'a str,
    queue_group: &'static str,
    num_requests: u64,
    num_errors: u64,
    processing_time: u64,
    average_processing_time: u64,
    last_error: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn says(instance: &Instance, verb: Verb) -> Value {
        serde_json::from_slice(&instance.says(verb)).unwrap()
    }

    #[test]
    fn answers_have_the_form_of_the_micro_protocol() {
        let get = Arc::new(Endpoint::new("get", "cb.svc.get".to_owned(), "Shows a job."));
        let instance = Instance::new(vec![Arc::clone(&get)]);
        let named = |kind: &str| {
            json!({"type": format!("io.nats.micro.v1.{kind}_response"), "name": "callboard",
                "id": instance.id, "version": VERSION, "metadata": {}})
        };
        let with = |mut all: Value, more: Value| {
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        assert_eq!(says(&instance, Verb::Ping), named("ping"));
        let info = json!({"description": DESCRIPTION, "endpoints": [{"name": "get",
            "subject": "cb.svc.get", "queue_group": "q",
            "metadata": {"description": "Shows a job."}}]});
        assert_eq!(says(&instance, Verb::Info), with(named("info"), info));
        let stats = |requests: u64, errors: u64, nanos: u64, average: u64, last: &str| {
            let stats = json!({"started": instance.started.to_string(), "endpoints": [{"name": "get",
                "subject": "cb.svc.get", "queue_group": "q", "num_requests": requests,
                "num_errors": errors, "processing_time": nanos,
                "average_processing_time": average, "last_error": last}]});
            with(named("stats"), stats)
        };
        assert_eq!(says(&instance, Verb::Stats), stats(0, 0, 0, 0, ""));
        get.count(Duration::from_nanos(30), None);
        get.count(Duration::from_nanos(10), Some(Code::NotFound));
        assert_eq!(says(&instance, Verb::Stats), stats(2, 1, 40, 20, "404:not_found"));
    }
}
