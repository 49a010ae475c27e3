//! Translation of a provider's errors, whose text may contain the prompt, to this crate's own.
//!
//! The kind of an error comes from a status, two headers and known error codes. The provider's words
//! are redacted before an error contains them.

use jiff::Timestamp;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::{
    error::{ErrorKind, ModelError, Phase},
    retry::retry_after,
    words::Redactor,
};

/// Translates an error of the HTTP client.
pub(super) fn of_request(error: &reqwest::Error) -> ModelError {
    if error.is_connect() && error.is_timeout() {
        ModelError::timeout(Phase::Connect)
    } else if error.is_timeout() {
        ModelError::timeout(Phase::Total)
    } else if error.is_connect() {
        ModelError::new(
            ErrorKind::Unreachable,
            "the model provider cannot be reached; check base_url and that it runs",
        )
    } else if error.is_body() || error.is_decode() {
        ModelError::new(ErrorKind::CutStream, "the connection was lost in the middle of the reply")
    } else {
        ModelError::new(
            ErrorKind::Unreachable,
            "the model provider closed the connection without an answer",
        )
    }
}

/// Translates an answer with an error status.
pub(super) fn from_http(
    status: u16,
    headers: &HeaderMap,
    body: &str,
    redactor: &Redactor,
) -> ModelError {
    let json = serde_json::from_str::<Value>(body).unwrap_or(Value::Null);
    let by_code = codes(&json).find_map(known).or_else(|| too_long(status, body));
    let error = by_code.unwrap_or_else(|| by_status(status));
    let words = if !json.is_null() {
        words(&json, redactor)
    } else if body.trim_start().starts_with('<') {
        // A web page has no words of its own.
        None
    } else {
        redactor.words(body)
    };
    error
        .with_status(status)
        .with_retry_after(retry_after(headers, Timestamp::now()))
        .with_words(words)
}

/// Messages of providers without a code of their own for a conversation that exceeds the context.
const TOO_LONG: [&str; 4] = [
    "prompt is too long",
    "exceeds the maximum number of tokens",
    "maximum context length",
    "exceeds the available context size",
];

fn too_long(status: u16, body: &str) -> Option<ModelError> {
    let says_so = status == 400 && TOO_LONG.iter().any(|words| body.contains(words));
    says_so.then(|| known("context_length_exceeded"))?
}

/// Translates an error that the provider reports with status 200, within a stream or in place of
/// one.
pub(super) fn from_event(body: &Value, redactor: &Redactor) -> ModelError {
    let unknown = ModelError::new(
        ErrorKind::ProviderFailed,
        "the provider reported an error in place of its reply",
    );
    let status = || number(body).or_else(|| codes(body).find_map(status_of));
    let by_code = codes(body).find_map(known).or_else(|| status().map(by_status));
    by_code.unwrap_or(unknown).with_words(words(body, redactor))
}

/// Returns the HTTP status that an error names as its code.
fn number(body: &Value) -> Option<u16> {
    let places = ["/error/code", "/error/status", "/code", "/status", "/StatusCode"];
    let codes = places.iter().filter_map(|place| body.pointer(place));
    let mut numbers = codes.filter_map(|code| match code.as_str() {
        Some(text) => text.parse().ok(),
        None => u16::try_from(code.as_u64()?).ok(),
    });
    numbers.find(|status| (400..600).contains(status))
}

/// Returns the HTTP status that belongs to an error code.
fn status_of(code: &str) -> Option<u16> {
    match code {
        "invalid_request_error" | "INVALID_ARGUMENT" | "FAILED_PRECONDITION" => Some(400),
        "not_found_error" | "NOT_FOUND" => Some(404),
        "timeout_error" | "DEADLINE_EXCEEDED" => Some(504),
        _ => None,
    }
}

/// Returns the provider's message behind its error code.
fn words(body: &Value, redactor: &Redactor) -> Option<crate::ProviderWords> {
    let message = ["/error/message", "/message", "/error", "/detail", "/error_msg"]
        .iter()
        .find_map(|place| body.pointer(place)?.as_str());
    let code = codes(body).next().filter(|code| message.is_none_or(|words| !words.contains(code)));
    let said: Vec<_> = code.into_iter().chain(message).collect();
    redactor.words(&said.join(": "))
}

fn by_status(status: u16) -> ModelError {
    match status {
        401 | 403 => ModelError::new(
            ErrorKind::Auth,
            "the model provider refuses the key; check api_key and what it may use",
        ),
        402 => ModelError::new(
            ErrorKind::Quota,
            "the account at the model provider has no credit left",
        ),
        404 => ModelError::new(
            ErrorKind::InvalidRequest,
            "the provider knows no such model or path; check model and base_url",
        ),
        413 => ModelError::new(
            ErrorKind::ContextTooLong,
            "the conversation is larger than the provider accepts",
        ),
        429 => {
            ModelError::new(ErrorKind::RateLimited, "the model provider asks for fewer requests")
        }
        503 | 529 => ModelError::new(ErrorKind::Overloaded, "the model provider is overloaded"),
        408 | 409 | 425 | 500..=599 => {
            ModelError::new(ErrorKind::ProviderFailed, "the model provider failed")
        }
        300..=399 => ModelError::new(
            ErrorKind::InvalidRequest,
            "the provider answers with a redirect; set base_url to its final address",
        ),
        _ => ModelError::new(ErrorKind::InvalidRequest, "the model provider refuses the request"),
    }
}

/// Returns the error codes in a provider's reply, the most specific first.
fn codes(body: &Value) -> impl Iterator<Item = &str> {
    [
        "/error/code",
        "/error/innererror/code",
        "/error/type",
        "/error/status",
        "/code",
        "/type",
        "/status",
    ]
    .into_iter()
    .filter_map(|place| body.pointer(place).and_then(Value::as_str))
}

/// Returns the error of a code that is more specific than the status.
fn known(code: &str) -> Option<ModelError> {
    let (kind, detail) = match code {
        "context_length_exceeded" => {
            (ErrorKind::ContextTooLong, "the conversation is longer than the model's context")
        }
        "request_too_large" => {
            (ErrorKind::ContextTooLong, "the conversation is larger than the provider accepts")
        }
        "model_not_found" => {
            (ErrorKind::InvalidRequest, "the provider knows no such model; check model")
        }
        "insufficient_quota" | "billing_error" | "billing_hard_limit_reached" => {
            (ErrorKind::Quota, "the account at the model provider has no credit left")
        }
        "invalid_api_key"
        | "authentication_error"
        | "permission_error"
        | "PERMISSION_DENIED"
        | "UNAUTHENTICATED" => (
            ErrorKind::Auth,
            "the model provider refuses the key; check api_key and what it may use",
        ),
        "content_filter" | "content_policy_violation" | "ResponsibleAIPolicyViolation" => {
            (ErrorKind::Refused, "the provider's content filter refuses the request")
        }
        "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => {
            (ErrorKind::RateLimited, "the model provider asks for fewer requests")
        }
        "overloaded_error" | "UNAVAILABLE" => {
            (ErrorKind::Overloaded, "the model provider is overloaded")
        }
        "api_error" | "server_error" | "INTERNAL" => {
            (ErrorKind::ProviderFailed, "the model provider failed")
        }
        _ => return None,
    };
    Some(ModelError::new(kind, detail))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(401, "", ErrorKind::Auth)]
    #[case(404, "", ErrorKind::InvalidRequest)]
    #[case(302, "", ErrorKind::InvalidRequest)]
    #[case(408, "", ErrorKind::ProviderFailed)]
    #[case(422, "", ErrorKind::InvalidRequest)]
    #[case(429, "not json", ErrorKind::RateLimited)]
    #[case(429, r#"{"error":{"code":"insufficient_quota"}}"#, ErrorKind::Quota)]
    #[case(400, r#"{"error":{"code":"content_filter"}}"#, ErrorKind::Refused)]
    #[case(400, r#"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#, ErrorKind::InvalidRequest)]
    #[case(400, r#"{"error":{"code":"context_length_exceeded"}}"#, ErrorKind::ContextTooLong)]
    #[case(400, r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#, ErrorKind::ContextTooLong)]
    #[case(400, r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, ErrorKind::ContextTooLong)]
    #[case(500, "", ErrorKind::ProviderFailed)]
    #[case(529, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, ErrorKind::Overloaded)]
    fn statuses_and_codes_have_kinds(
        #[case] status: u16,
        #[case] body: &str,
        #[case] kind: ErrorKind,
    ) {
        let error = from_http(status, &HeaderMap::new(), body, &Redactor::default());
        assert_eq!((error.kind(), error.status()), (kind, Some(status)));
    }

    #[rstest]
    #[case(json!({"type":"error","error":{"type":"overloaded_error"}}), ErrorKind::Overloaded)]
    #[case(json!({"type":"server_error","message":"x"}), ErrorKind::ProviderFailed)]
    #[case(json!({"message":"x"}), ErrorKind::ProviderFailed)]
    fn an_error_inside_a_stream_has_a_kind(#[case] body: Value, #[case] kind: ErrorKind) {
        assert_eq!(from_event(&body, &Redactor::default()).kind(), kind);
    }

    #[rstest]
    #[case::openai(
        r#"{"error":{"message":"No such model","code":"model_not_found"}}"#,
        Some("model_not_found: No such model")
    )]
    #[case::code_in_the_message(
        r#"{"error":{"message":"bad_field is bad","code":"bad_field"}}"#,
        Some("bad_field is bad")
    )]
    #[case::text_in_place_of_an_object(
        r#"{"error":"model 'x' not found"}"#,
        Some("model 'x' not found")
    )]
    #[case::message_alone(r#"{"message":"no"}"#, Some("no"))]
    #[case::detail(r#"{"detail":"Not Found"}"#, Some("Not Found"))]
    #[case::code_alone(r#"{"code":"Throttling"}"#, Some("Throttling"))]
    #[case::plain_text("upstream connect error", Some("upstream connect error"))]
    #[case::web_page("<html><body>404</body></html>", None)]
    #[case::nothing("", None)]
    fn the_providers_words_are_kept(#[case] body: &str, #[case] expected: Option<&str>) {
        let error = from_http(400, &HeaderMap::new(), body, &Redactor::default());
        assert_eq!(error.words().map(crate::ProviderWords::as_str), expected);
        assert!(!format!("{error} {error:?}").contains(expected.unwrap_or("html")));
    }
}
