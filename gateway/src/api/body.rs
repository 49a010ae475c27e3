//! Bodies of requests and responses.

use std::time::Duration;

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, Request},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use proto::{error::Failure, limits, strict};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    Desk,
    caller::{self, Caller},
    problem::Problem,
    words::Text,
};

/// Time in which the body of a request arrives.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// The response, or the refusal.
pub(super) type Answered = Result<Response, Problem>;

/// A JSON body of a request, not yet of a known form.
pub(super) struct Body(pub(super) Value);

impl FromRequest<Desk> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Problem> {
        let language = caller::language(request.headers());
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json")
        });
        if !is_json {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Problem::request(status, Text::JsonExpected, language));
        }
        let bytes = read(request, desk).await?;
        let parsed = strict::value_from_slice(&bytes);
        parsed.map(Self).map_err(|refused| Problem::new(refused.into(), language))
    }
}

/// Reads the body of a request, which is bounded in size and time.
pub(super) async fn read(request: Request, desk: &Desk) -> Result<Bytes, Problem> {
    let language = caller::language(request.headers());
    let read = tokio::time::timeout(BODY_WITHIN, Bytes::from_request(request, desk)).await;
    let wrong = |status| Problem::request(status, Text::BodyUnread, language);
    let read = read.map_err(|_| wrong(StatusCode::REQUEST_TIMEOUT))?;
    read.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            Problem::new(strict::Refused::TooLarge(limits::PIECE_BYTES_MAX).into(), language)
        }
        status => wrong(status),
    })
}

impl Body {
    /// Adds the fields that the path has, and reads the request.
    pub(super) fn with<T: DeserializeOwned>(
        mut self,
        caller: &Caller,
        fields: &[(&str, &str)],
    ) -> Result<T, Problem> {
        if let Some(object) = self.0.as_object_mut() {
            for (name, value) in fields {
                if object.insert((*name).to_owned(), json!(value)).is_some() {
                    return Err(caller.wrong_field(name, &Text::InThePath.into()));
                }
            }
        }
        strict::request_from_value(self.0).map_err(|refused| caller.refused(refused.into()))
    }
}

/// A name in a path.
pub(super) fn named<T: std::str::FromStr>(caller: &Caller, name: &str) -> Result<T, Problem>
where
    Failure: From<T::Err>,
{
    name.parse().map_err(|error: T::Err| caller.refused(error.into()))
}

/// Returns the reply of the front door as the response.
pub(super) fn reply<T: Serialize>(caller: &Caller, replied: Result<T, Failure>) -> Answered {
    let reply = replied.map_err(|failure| caller.refused(failure))?;
    Ok(Json(reply).into_response())
}
