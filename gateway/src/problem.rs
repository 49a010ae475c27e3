//! Errors as problem details (RFC 9457), with the stable code, the field and the next action of the
//! front door's refusals.

use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use proto::{
    error::{Code, Failure},
    fact::Answered,
    lang::{Language, Words},
    refusal::Reason,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{error_pages, words::Text};

/// Seconds after which a refused caller may try again, where the cause passes by itself.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// An error response.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    failure: Failure,
    language: Language,
}

/// Media type of an error response.
pub(crate) const KIND: &str = "application/problem+json";

/// The body of an error response.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct Body {
    /// Path of the code's page in the documentation.
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    code: Code,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    hint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    winner: Option<Box<Answered>>,
}

impl Problem {
    /// Creates the response to a refused request.
    pub(crate) fn new(failure: Failure, language: Language) -> Self {
        let status = StatusCode::from_u16(failure.code.status());
        Self { status: status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), failure, language }
    }

    /// Replaces the code's status by a more exact one.
    pub(crate) fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    /// Creates the response to a request that HTTP alone makes wrong.
    pub(crate) fn request(status: StatusCode, why: Text<'_>, language: Language) -> Self {
        let failure = Failure::composed(Code::InvalidRequest, &why.into());
        let failure = Failure { hint: Text::SeeRequests.text(Language::En), ..failure };
        let advice = Some(Box::new(Reason::from(&Words::from(Text::SeeRequests))));
        Self { status, failure: Failure { advice, ..failure }, language }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let Self { status, failure, language } = self;
        let body = Body {
            r#type: format!("{}{}", error_pages::ROOT, failure.code),
            title: status.canonical_reason().unwrap_or("Error"),
            status: status.as_u16(),
            detail: failure.message_in(language),
            hint: failure.hint_in(language),
            code: failure.code,
            field: failure.field,
            winner: failure.winner,
        };
        let mut response = (status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json; charset=utf-8"),
        );
        let passes = [
            StatusCode::TOO_MANY_REQUESTS,
            StatusCode::SERVICE_UNAVAILABLE,
            StatusCode::GATEWAY_TIMEOUT,
        ];
        if passes.contains(&status) {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}
