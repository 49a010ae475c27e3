//! The routes of agents: listing, changes under a condition, and revisions.

use axum::{
    extract::Path,
    http::{HeaderMap, Uri},
};
use proto::{
    door::{AgentRevisions, Agents, DropAgent, SetAgent},
    id::AgentName,
};

use super::{
    body::{Answered, Body, named, reply},
    condition::{reply_if, revision, tagged},
};
use crate::{caller::Caller, params::Params};

/// `GET /v1/agents`.
pub(super) async fn list(caller: Caller, uri: Uri) -> Answered {
    let name = Params::read(&caller, &uri).one("name")?;
    reply(&caller, caller.client.call(&Agents { name }).await)
}

/// `GET /v1/agents/{name}`, with the revision as its tag; 0 for an agent that the bucket lacks.
pub(super) async fn show(caller: Caller, Path(name): Path<String>) -> Answered {
    let name: AgentName = named(&caller, &name)?;
    let found = caller.client.agents(Some(&name)).await.map_err(|e| caller.refused(e))?;
    let revision = found.agents.first().and_then(|agent| agent.revision);
    Ok(tagged(revision, found))
}

/// `PUT /v1/agents/{name}`.
pub(super) async fn set(
    caller: Caller,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let mut agent: SetAgent = body.with(&caller, &[("name", &name)])?;
    agent.check |= Params::read(&caller, &uri).is_set("check")?;
    let seen = revision(&caller, &headers)?;
    agent.expected_revision = seen.or(agent.expected_revision);
    let set = caller.client.call(&agent).await;
    reply_if(&caller, seen.is_some(), set)
}

/// `DELETE /v1/agents/{name}`.
pub(super) async fn drop(caller: Caller, Path(name): Path<String>, headers: HeaderMap) -> Answered {
    let name: AgentName = named(&caller, &name)?;
    let expected_revision = revision(&caller, &headers)?;
    let dropped = caller.client.call(&DropAgent { name, expected_revision, by: None }).await;
    reply_if(&caller, expected_revision.is_some(), dropped)
}

/// `GET /v1/agents/{name}/revisions`.
pub(super) async fn revisions(caller: Caller, Path(name): Path<String>, uri: Uri) -> Answered {
    let revision = Params::read(&caller, &uri).one("revision")?;
    let request = AgentRevisions { name: named(&caller, &name)?, revision };
    reply(&caller, caller.client.call(&request).await)
}
