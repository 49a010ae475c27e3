//! A test of the trace of a request: its caller, the gateway, the front door.

use proto::trace::TraceContext;
use reqwest::{Method, StatusCode};
use serde_json::json;

use super::{Stage, taken};
use crate::tracing::receiver::{Receiver, Sent};

/// The caller's span.
const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Waits for a span of the caller's trace.
async fn named(receiver: &Receiver, name: &str) -> Sent {
    let trace = TraceContext::parse(CALLER).unwrap().trace_id().to_be_bytes();
    let found = |receiver: &Receiver| {
        let mut spans = receiver.spans().into_iter();
        spans.find(|sent| sent.span.trace_id == trace && sent.span.name == name)
    };
    receiver.until(name, found).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_a_span_between_its_caller_and_the_front_door() {
    let receiver = Receiver::grpc().await;
    let stage = Stage::with(|company| {
        company.variable("CALLBOARD__TELEMETRY__OTLP_ENDPOINT", receiver.address());
        company.variable("OTEL_BSP_SCHEDULE_DELAY", "100");
    })
    .await;
    let submit = json!({"id": "j1", "goal": "two echoes", "confirm": true});
    let request = stage.request(Method::POST, "/v1/jobs").header("traceparent", CALLER);
    let (status, reply) = taken(request.json(&submit).send().await.unwrap()).await;
    assert_eq!(status, StatusCode::CREATED, "{reply}");

    let http = named(&receiver, "POST /v1/jobs").await;
    let caller = TraceContext::parse(CALLER).unwrap();
    assert_eq!(http.span.parent_span_id, caller.span_id().to_be_bytes());
    let attributes = ["http.request.method", "http.route", "http.response.status_code"];
    assert_eq!(attributes.map(|key| http.attribute(key)), ["POST", "/v1/jobs", "201"]);
    let door = named(&receiver, "callboard submit").await;
    assert_eq!(door.span.parent_span_id, http.span.span_id);
}
