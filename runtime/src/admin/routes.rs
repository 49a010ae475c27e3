//! The routes of the admin listener. Only the change of the log level reads a request's body.

use std::{net::SocketAddr, time::Duration};

use axum::{
    Json, Router,
    body::{Body, to_bytes},
    extract::{RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use super::{Health, LevelControl, host};
use crate::telemetry::Telemetry;

/// Bound of a new level, in bytes.
const LEVEL_BYTES_MAX: usize = 1024;
/// Timeout of a request's body.
const BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// The content type of the Prometheus text format.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

const INDEX: &str = "\
Callboard, for operators

GET /livez    200 while the process should keep running
GET /readyz   200 when it can do its work, else 503; the checks, as JSON
GET /metrics  metrics, in the Prometheus text format
GET /log      the level of the log
PUT /log      changes it: error, warn, info, debug, trace, or info,callboard_supervisor=debug;
              ?for=10m changes it for a time; only where the listener is on loopback
";

#[derive(Clone)]
struct Parts {
    health: Health,
    level: LevelControl,
    telemetry: Telemetry,
    bound: SocketAddr,
}

/// Builds the routes of a listener at `bound`.
pub(super) fn router(
    health: Health,
    level: LevelControl,
    telemetry: Telemetry,
    bound: SocketAddr,
) -> Router {
    Router::new()
        .route("/", get(async || plain(INDEX)))
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .route("/log", get(log).put(set_log))
        .fallback(async || refused(StatusCode::NOT_FOUND, "not found; see /"))
        .method_not_allowed_fallback(async || {
            refused(StatusCode::METHOD_NOT_ALLOWED, "method not allowed; see /")
        })
        .with_state(Parts { health, level, telemetry, bound })
}

/// Returns headers that keep responses out of caches and out of a browser's content sniffing.
fn headers(kind: &'static str) -> [(header::HeaderName, &'static str); 3] {
    [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ]
}

fn plain(text: impl Into<String>) -> Response {
    (headers("text/plain; charset=utf-8"), text.into()).into_response()
}

fn refused(status: StatusCode, why: impl std::fmt::Display) -> Response {
    (status, plain(format!("{why}\n"))).into_response()
}

async fn livez(State(parts): State<Parts>) -> Response {
    match parts.health.alive() {
        Ok(()) => plain("alive\n"),
        Err(why) => refused(StatusCode::SERVICE_UNAVAILABLE, why),
    }
}

async fn readyz(State(parts): State<Parts>) -> Response {
    let report = parts.health.report().await;
    let status = if report.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, headers("application/json"), Json(&*report)).into_response()
}

async fn metrics(State(parts): State<Parts>) -> Response {
    match parts.telemetry.prometheus() {
        Ok(text) => (headers(PROMETHEUS), text).into_response(),
        Err(error) => {
            tracing::error!(%error, "metrics cannot be written");
            refused(StatusCode::INTERNAL_SERVER_ERROR, "metrics cannot be written; see the log")
        }
    }
}

async fn log(State(parts): State<Parts>) -> Response {
    plain(parts.level.shown())
}

async fn set_log(
    State(parts): State<Parts>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Response {
    if let Err(why) = host::may_change(&headers, parts.bound) {
        return refused(StatusCode::FORBIDDEN, why);
    }
    let body = tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, LEVEL_BYTES_MAX)).await;
    let Ok(body) = body else {
        return refused(StatusCode::REQUEST_TIMEOUT, "the request body did not arrive in time");
    };
    let Ok(body) = body else {
        let why = format!("a level has at most {LEVEL_BYTES_MAX} bytes");
        return refused(StatusCode::PAYLOAD_TOO_LARGE, why);
    };
    let Ok(level) = std::str::from_utf8(&body) else {
        return refused(StatusCode::BAD_REQUEST, "a level is text");
    };
    let time = match time(query.as_deref()) {
        Ok(time) => time,
        Err(why) => return refused(StatusCode::BAD_REQUEST, why),
    };
    let set = match time {
        Some(time) => parts.level.set_for(level.trim(), &time),
        None => parts.level.set(level.trim()),
    };
    match set {
        Ok(()) => plain(parts.level.shown()),
        Err(error) => refused(StatusCode::BAD_REQUEST, error),
    }
}

/// Parses the duration in `for=10m`. Any other parameter is an error.
fn time(query: Option<&str>) -> Result<Option<String>, String> {
    let mut time = None;
    for (name, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        match (&*name, &time) {
            ("for", None) => time = Some(value.into_owned()),
            _ => return Err(format!("the only parameter is `for`, given once; got {name:?}")),
        }
    }
    Ok(time)
}
