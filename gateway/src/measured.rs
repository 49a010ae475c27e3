//! The metric of requests, after the OpenTelemetry conventions for HTTP servers 1.42.0.

use std::{sync::LazyLock, time::Instant};

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    middleware::Next,
    response::Response,
};
use opentelemetry::KeyValue;
use runtime::telemetry::{self, Histogram, LATENCY};

static DURATION: LazyLock<Histogram<f64>> = LazyLock::new(|| {
    telemetry::histogram("http.server.request.duration", "A request at the gateway.", LATENCY)
});

/// Records the time from a request to the beginning of its response, by route: a path itself could
/// hold anything.
pub(crate) async fn measured(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = match request.method() {
        known @ (&Method::GET | &Method::HEAD | &Method::POST | &Method::PUT | &Method::DELETE) => {
            known.to_string()
        }
        // The word of the conventions for any other.
        _ => "_OTHER".to_owned(),
    };
    let response = next.run(request).await;
    let route = path.map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let attributes = [
        KeyValue::new("http.request.method", method),
        KeyValue::new("http.route", route),
        KeyValue::new("http.response.status_code", i64::from(response.status().as_u16())),
    ];
    DURATION.record(begun.elapsed().as_secs_f64(), &attributes);
    response
}
