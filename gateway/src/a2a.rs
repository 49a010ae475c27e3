//! `POST /a2a` and the card at `/.well-known/agent-card.json`: the A2A server, for the caller of the
//! request.

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::IntoResponse,
};
use bridges::a2a::{A2aServer, Place, Reply};
use proto::{
    digest,
    error::{Code, Failure},
    refusal::Text as Refusal,
};

use crate::{
    Desk,
    api::body::{self, Answered},
    caller::Caller,
    frames,
    words::Text,
};

/// Header with the version of the protocol.
const VERSION: header::HeaderName = header::HeaderName::from_static("a2a-version");
/// A caller keeps its card for a minute, and nobody else does.
const KEEP: HeaderValue = HeaderValue::from_static("private, max-age=60");

/// Answers a request. The extractor has checked its `Host`, its `Origin` and the form of its token.
pub(crate) async fn call(State(desk): State<Desk>, caller: Caller, request: Request) -> Answered {
    let Some(place) = desk.limits.open(&caller.key) else {
        return Err(caller.overloads(Text::TooManyStreams { max: &desk.limits.streams_max() }));
    };
    let version = request.headers().get(VERSION).and_then(|version| version.to_str().ok());
    let version = version.map(str::to_owned);
    let body = body::foreign_bytes(request, &desk).await?;
    let server = server(&desk, &caller);
    let answered = Box::pin(server.answer(version.as_deref(), &body));
    let away = || Failure::of(Code::Unavailable, Refusal::ShuttingDown);
    let answered = desk.shutdown.run_until_cancelled(answered).await.unwrap_or_else(|| Err(away()));
    match answered.map_err(|failure| caller.refused(failure))? {
        Reply::Whole(reply) => Ok(Json(reply).into_response()),
        Reply::Stream(replies) => Ok(frames::response(replies, desk.shutdown, place)),
    }
}

/// Shows the card, with its digest as the tag.
pub(crate) async fn card(State(desk): State<Desk>, caller: Caller, headers: HeaderMap) -> Answered {
    let card = server(&desk, &caller).card().await.map_err(|failure| caller.refused(failure))?;
    let tag = format!("\"{}\"", digest::of_json(&card));
    let vary = "authorization, accept-language, host";
    let common = [
        (header::CACHE_CONTROL, KEEP),
        (header::VARY, HeaderValue::from_static(vary)),
        (header::ETAG, HeaderValue::try_from(&tag).unwrap_or(HeaderValue::from_static("\"\""))),
    ];
    let seen = headers.get(header::IF_NONE_MATCH).and_then(|seen| seen.to_str().ok());
    match seen.is_some_and(|seen| seen.split(',').any(|seen| seen.trim() == tag)) {
        true => Ok((StatusCode::NOT_MODIFIED, common).into_response()),
        false => Ok((common, Json(card)).into_response()),
    }
}

fn server(desk: &Desk, caller: &Caller) -> A2aServer {
    let url = format!("{}://{}/a2a", desk.scheme, caller.host);
    let issuer = desk.login.as_ref().map(oidc::Login::discovery);
    A2aServer {
        client: caller.client.clone(),
        language: caller.language,
        subject: caller.subject().to_owned(),
        place: Place { url, version: desk.version, issuer },
        receivers: desk.task_receivers.clone(),
    }
}
