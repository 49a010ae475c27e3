//! The routes of agents: listing, changes under a condition, and revisions.

use axum::{
    Json,
    extract::Path,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::IntoResponse,
};
use proto::{
    door::{AgentRevisions, Agents, DropAgent, SetAgent},
    error::{Code, Failure},
    id::AgentName,
};

use crate::{
    api::{Answered, Body, named, reply},
    caller::Caller,
    params::Params,
    problem::Problem,
    words::Text,
};

/// The route of one agent.
const AGENT: &str = "/v1/agents/{name}";

/// Returns the parameters of a request that changes an agent.
pub(crate) fn parameters(method: &Method, route: &str) -> &'static [&'static str] {
    if route == AGENT && *method == Method::PUT { &["check"] } else { &[] }
}

/// `true` for requests that may name the revision that they change.
pub(crate) fn honours_if_match(method: &Method, route: &str) -> bool {
    route == AGENT && (*method == Method::PUT || *method == Method::DELETE)
}

/// `GET /v1/agents`.
pub(crate) async fn list(caller: Caller, uri: Uri) -> Answered {
    let name = Params::read(&caller, &uri).one("name")?;
    reply(&caller, caller.client.call(&Agents { name }).await)
}

/// `GET /v1/agents/{name}`, with the revision as its tag; 0 for an agent that the bucket lacks.
pub(crate) async fn show(caller: Caller, Path(name): Path<String>) -> Answered {
    let name: AgentName = named(&caller, &name)?;
    let found = caller.client.agents(Some(&name)).await.map_err(|e| caller.refused(e))?;
    let revision = found.agents.first().and_then(|agent| agent.revision).unwrap_or_default();
    let tag = [(header::ETAG, format!("\"{revision}\""))];
    Ok((tag, Json(found)).into_response())
}

/// `PUT /v1/agents/{name}`.
pub(crate) async fn set(
    caller: Caller,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let mut agent: SetAgent = body.with(&caller, &[("name", &name)])?;
    agent.check |= Params::read(&caller, &uri).is_set("check")?;
    let condition = condition(&caller, &headers)?;
    agent.expected_revision = condition.or(agent.expected_revision);
    let set = caller.client.call(&agent).await;
    reply_if(&caller, condition, set)
}

/// `DELETE /v1/agents/{name}`.
pub(crate) async fn drop(caller: Caller, Path(name): Path<String>, headers: HeaderMap) -> Answered {
    let name: AgentName = named(&caller, &name)?;
    let expected_revision = condition(&caller, &headers)?;
    let dropped = caller.client.call(&DropAgent { name, expected_revision, by: None }).await;
    reply_if(&caller, expected_revision, dropped)
}

/// `GET /v1/agents/{name}/revisions`.
pub(crate) async fn revisions(caller: Caller, Path(name): Path<String>, uri: Uri) -> Answered {
    let revision = Params::read(&caller, &uri).one("revision")?;
    let request = AgentRevisions { name: named(&caller, &name)?, revision };
    reply(&caller, caller.client.call(&request).await)
}

/// Reads the revision in `If-Match`, one tag as `show` gives it.
fn condition(caller: &Caller, headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let mut tags = headers.get_all(header::IF_MATCH).iter();
    let (tag, more) = (tags.next(), tags.next());
    let Some(tag) = tag else { return Ok(None) };
    let tag = tag.to_str().ok().filter(|_| more.is_none());
    let revision = tag.and_then(|tag| tag.trim().strip_prefix('"')?.strip_suffix('"'));
    match revision.and_then(|revision| revision.parse().ok()) {
        Some(revision) => Ok(Some(revision)),
        None => Err(caller.wrong_field("If-Match", &Text::RevisionTag.into())),
    }
}

/// Returns the reply; a condition that did not hold has a status of its own.
fn reply_if<T: serde::Serialize>(
    caller: &Caller,
    condition: Option<u64>,
    replied: Result<T, Failure>,
) -> Answered {
    match replied {
        Err(failure) if failure.code == Code::Stale && condition.is_some() => {
            Err(caller.refused(failure).with_status(StatusCode::PRECONDITION_FAILED))
        }
        replied => reply(caller, replied),
    }
}
