//! The metric and the span of requests, after the OpenTelemetry conventions for HTTP servers 1.42.0.

use std::{sync::LazyLock, time::Instant};

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    middleware::Next,
    response::Response,
};
use opentelemetry::KeyValue;
use proto::trace::TraceContext;
use runtime::telemetry::{self, Histogram, Kind, LATENCY, Span};

use crate::caller;

const METHOD: &str = "http.request.method";
const ROUTE: &str = "http.route";
const STATUS: &str = "http.response.status_code";

static DURATION: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    telemetry::histogram("http.server.request.duration", "A request at the gateway.", LATENCY)
});

/// The span of a request, below which the front door's is. A request has it only where traces are
/// exported: without them, the front door decides whether a new trace is recorded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traced(pub(crate) TraceContext);

/// Records the time from a request to the beginning of its response, by route: a path itself could
/// hold anything.
pub(crate) async fn measured(
    path: Option<MatchedPath>,
    mut request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let method = match request.method() {
        known @ (&Method::GET | &Method::HEAD | &Method::POST | &Method::PUT | &Method::DELETE) => {
            known.to_string()
        }
        // The word of the conventions for any other.
        _ => "_OTHER".to_owned(),
    };
    let route = path.map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let parent = caller::trace(request.headers());
    let mut span = telemetry::is_tracing().then(|| {
        let context = parent.map_or_else(telemetry::new_trace, telemetry::child_of);
        request.extensions_mut().insert(Traced(context));
        Span::start(context, parent, Kind::Server, || format!("{method} {route}"))
    });
    let response = next.run(request).await;
    let status = response.status();
    if let Some(span) = &mut span {
        span.set(METHOD, method.clone());
        span.set(ROUTE, route.clone());
        span.set(STATUS, i64::from(status.as_u16()));
        if status.is_server_error() {
            span.fail(status.as_str());
        }
    }
    let attributes = [
        KeyValue::new(METHOD, method),
        KeyValue::new(ROUTE, route),
        KeyValue::new(STATUS, i64::from(status.as_u16())),
    ];
    DURATION.record(begun.elapsed().as_secs_f64(), &attributes);
    response
}
