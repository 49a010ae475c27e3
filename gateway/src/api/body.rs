//! Bodies of requests and responses.

use std::time::Duration;

use axum::{
    Json,
    body::Bytes,
    extract::{FromRequest, Request},
    http::{self, StatusCode, header},
    response::{IntoResponse, Response},
};
use proto::{
    error::{Code, Failure},
    lang::Language,
    limits, strict,
};
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
/// Largest body of a request in another protocol. A client of AG-UI sends the messages of its whole
/// thread again.
pub(crate) const FOREIGN_BYTES_MAX: usize = 1024 * 1024;

/// The response, or the refusal.
pub(crate) type Answered = Result<Response, Problem>;

/// A JSON body of a request, not yet of a known form.
pub(super) struct Body(pub(super) Value);

impl FromRequest<Desk> for Body {
    type Rejection = Problem;

    async fn from_request(request: Request, desk: &Desk) -> Result<Self, Problem> {
        let language = caller::language(request.headers());
        must_be_json(&request, language)?;
        let bytes = read(request, desk).await?;
        let parsed = strict::value_from_slice(&bytes);
        parsed.map(Self).map_err(|refused| Problem::new(refused.into(), language))
    }
}

fn must_be_json(request: &Request, language: Language) -> Result<(), Problem> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json")
    });
    let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    if is_json { Ok(()) } else { Err(Problem::request(status, Text::JsonExpected, language)) }
}

/// Reads the JSON of a request in another protocol, of at most [`FOREIGN_BYTES_MAX`]. Clients of these
/// protocols send fields of later versions, so a field that the type lacks is no mistake.
///
/// # Errors
/// The response to a body that is no JSON, or none of this type, too large or too slow.
pub(crate) async fn foreign<T: DeserializeOwned>(
    request: Request,
    desk: &Desk,
) -> Result<T, Problem> {
    let language = caller::language(request.headers());
    let read = foreign_request(request, desk).await?;
    let wrong = |refused: strict::Refused| Problem::new(refused.into(), language);
    let value = value(read.body()).and_then(strict::request_from_value);
    value.map_err(wrong)
}

/// Reads a request in another protocol, whose JSON is checked and stays as it is.
///
/// # Errors
/// The response to a body that is no JSON, too large or too slow.
pub(crate) async fn foreign_request(
    request: Request,
    desk: &Desk,
) -> Result<http::Request<Bytes>, Problem> {
    let language = caller::language(request.headers());
    let (parts, body) = request.into_parts();
    let whole = Request::from_parts(parts.clone(), body);
    let bytes = foreign_bytes(whole, desk).await?;
    value(&bytes).map_err(|refused| Problem::new(refused.into(), language))?;
    Ok(http::Request::from_parts(parts, bytes))
}

/// Reads the body of a request in another protocol, which has an error of its own for what is no JSON.
///
/// # Errors
/// The response to a body of another type, too large or too slow.
pub(crate) async fn foreign_bytes(request: Request, desk: &Desk) -> Result<Bytes, Problem> {
    must_be_json(&request, caller::language(request.headers()))?;
    read_up_to(FOREIGN_BYTES_MAX, request, desk).await
}

fn value(bytes: &Bytes) -> Result<Value, strict::Refused> {
    let text = std::str::from_utf8(bytes).map_err(|_| strict::Refused::NotText)?;
    strict::value_from_str(text)
}

/// Reads the body of a request, which is bounded in size and time.
pub(crate) async fn read(request: Request, desk: &Desk) -> Result<Bytes, Problem> {
    read_up_to(limits::PIECE_BYTES_MAX, request, desk).await
}

/// Reads a body whose route has this limit.
async fn read_up_to(max: usize, request: Request, desk: &Desk) -> Result<Bytes, Problem> {
    let language = caller::language(request.headers());
    let read = tokio::time::timeout(BODY_WITHIN, Bytes::from_request(request, desk)).await;
    let wrong = |status| Problem::request(status, Text::BodyUnread, language);
    let read = read.map_err(|_| wrong(StatusCode::REQUEST_TIMEOUT))?;
    read.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let why = Text::BodyTooLarge { max: &max };
            Problem::new(Failure::composed(Code::TooLarge, &why.into()), language)
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
pub(crate) fn named<T: std::str::FromStr>(caller: &Caller, name: &str) -> Result<T, Problem>
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
