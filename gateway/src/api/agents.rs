//! Agents: their list, and changes of the bucket.

use axum::{extract::Path, http::Uri};
use proto::{
    door::{Agents, DropAgent, SetAgent},
    id::AgentName,
};

use super::body::{Answered, Body, named, reply};
use crate::{caller::Caller, params::Params};

pub(super) async fn agents(caller: Caller, uri: Uri) -> Answered {
    let name = Params::read(&caller, &uri).one("name")?;
    reply(&caller, caller.client.call(&Agents { name }).await)
}

pub(super) async fn agent(caller: Caller, Path(name): Path<String>) -> Answered {
    let name: AgentName = named(&caller, &name)?;
    reply(&caller, caller.client.call(&Agents { name: Some(name) }).await)
}

pub(super) async fn set_agent(caller: Caller, Path(name): Path<String>, body: Body) -> Answered {
    let agent: SetAgent = body.with(&caller, &[("name", &name)])?;
    reply(&caller, caller.client.call(&agent).await)
}

pub(super) async fn drop_agent(caller: Caller, Path(name): Path<String>) -> Answered {
    let name: AgentName = named(&caller, &name)?;
    reply(&caller, caller.client.call(&DropAgent { name }).await)
}
