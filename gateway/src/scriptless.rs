//! The look and the headers of pages without a script: those of questions and of error codes.

use std::sync::LazyLock;

use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use data_encoding::{BASE64, HEXLOWER};
use proto::digest;

/// The style sheet, which each page contains.
pub(crate) const STYLE: &str = include_str!("../templates/answer.css");

/// The content security policy: the page's own style, and its form.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let sum = HEXLOWER.decode(digest::of_bytes(STYLE.as_bytes()).as_bytes()).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'none'; style-src 'sha256-{}'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'",
        BASE64.encode(&sum)
    );
    HeaderValue::from_str(&policy).expect("base64 is visible text")
});

/// Adds the headers of every page without a script.
pub(crate) fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
