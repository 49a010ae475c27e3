//! The front door as a NATS micro service: any NATS tool can find it, ping it and ask for its
//! statistics.
//!
//! An answer goes where the request asks for. A request that asks for its answer on one of the
//! server's or our own subjects is none: it would have this process write there in its own name.

use std::sync::Arc;

use async_nats::{
    HeaderMap, Message as NatsMessage,
    service::{Request as NatsRequest, Service, ServiceExt},
};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{door::Refusal, error::Failure, subject::Subjects, trace::TraceContext};

use super::{bus::TOKEN, entry, link::Link};
use crate::bus::{BusError, Endpoint, Reply, Request, RequestContext};

/// The name of the service.
const NAME: &str = "callboard";
/// Longest text of an error header, in bytes; the body has all of it.
const ERROR_BYTES_MAX: usize = 256;

/// Serves verbs until the stream is dropped.
pub(super) async fn open(
    link: Arc<Link>,
    subjects: Subjects,
    endpoints: Vec<Endpoint>,
) -> Result<BoxStream<'static, Request>, async_nats::Error> {
    let builder = link.client.service_builder().description("Runs agents as durable jobs.");
    let service = builder.start(NAME, env!("CARGO_PKG_VERSION")).await?;
    let service = Serving(Some(service));
    let mut all = Vec::new();
    for Endpoint { verb, description } in endpoints {
        let Some(service) = &service.0 else { break };
        let metadata = [("description".to_owned(), description.to_owned())].into();
        let endpoint = service.endpoint_builder().name(verb).metadata(metadata);
        let requests = endpoint.add(subjects.service(verb)).await?;
        all.push(requests.map(move |request| (verb, request)));
    }
    let mut requests = futures::stream::select_all(all);
    Ok(Box::pin(async_stream::stream! {
        let _service = service;
        while let Some((verb, request)) = requests.next().await {
            if !may_answer(&subjects, &request.message) {
                tracing::debug!(verb, "a request without a place for its answer is left alone");
                continue;
            }
            let context = context(&request.message);
            let payload = request.message.payload.clone();
            let reply = NatsReply { link: Arc::clone(&link), request };
            yield Request { verb, payload, context, reply: Box::new(reply) };
        }
    }))
}

/// Ends the service when it is dropped; by itself it would answer pings for ever.
struct Serving(Option<Service>);

impl Drop for Serving {
    fn drop(&mut self) {
        if let (Some(service), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current())
        {
            runtime.spawn(async move { service.stop().await });
        }
    }
}

fn may_answer(subjects: &Subjects, message: &NatsMessage) -> bool {
    let Some(reply) = message.reply.as_deref() else { return false };
    let first = reply.split('.').next().unwrap_or_default();
    let whole = reply.split('.').all(|token| !token.is_empty() && token != "*" && token != ">");
    whole && !first.starts_with('$') && first != subjects.prefix()
}

fn context(message: &NatsMessage) -> RequestContext {
    let none = HeaderMap::new();
    let headers = message.headers.as_ref().unwrap_or(&none);
    let trace: Option<TraceContext> = entry::trace(headers);
    let token = headers.get(TOKEN).map(|token| token.as_str().to_owned());
    RequestContext { trace, token }
}

struct NatsReply {
    link: Arc<Link>,
    request: NatsRequest,
}

impl std::fmt::Debug for NatsReply {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The request holds the caller's token.
        f.debug_struct("NatsReply").finish_non_exhaustive()
    }
}

impl NatsReply {
    fn check_size(&self, payload: &Bytes) -> Result<(), BusError> {
        let bytes = payload.len();
        if bytes > self.link.client.max_payload() { Err(BusError::TooLarge(bytes)) } else { Ok(()) }
    }
}

#[async_trait]
impl Reply for NatsReply {
    async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        self.check_size(&payload)?;
        let sent = self.request.respond(Ok(payload)).await;
        sent.map_err(|e| BusError::Unavailable(e.to_string()))
    }

    async fn refuse(&self, failure: Failure) -> Result<(), BusError> {
        let (code, text) = (usize::from(failure.code.status()), header_text(&failure.message));
        let body = serde_json::to_vec(&Refusal { error: failure })
            .expect("a refusal holds strings, numbers and JSON that was checked");
        let body = Bytes::from(body);
        self.check_size(&body)?;
        let unavailable = |e: async_nats::PublishError| BusError::Unavailable(e.to_string());
        let Some(reply) = self.request.message.reply.clone() else { return Ok(()) };
        let mut headers = HeaderMap::new();
        headers.insert("Nats-Service-Error", text.as_str());
        headers.insert("Nats-Service-Error-Code", code.to_string());
        let sent = self.link.client.publish_with_headers(reply, headers, body).await;
        sent.map_err(unavailable)
    }
}

/// A text that may stand in a header: one line, and not long.
fn header_text(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_ascii_graphic() { c } else { ' ' }).collect();
    line.truncate(ERROR_BYTES_MAX);
    line
}
