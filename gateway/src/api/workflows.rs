//! The routes of workflows by name: listing, and changes under a condition.

use axum::{
    extract::Path,
    http::{HeaderMap, Uri},
};
use proto::{
    door::{DropWorkflow, SetWorkflow, Workflows},
    workflow::WorkflowName,
};

use super::{
    body::{Answered, Body, named, reply},
    condition::{reply_if, revision, tagged},
};
use crate::{caller::Caller, params::Params};

/// `GET /v1/workflows`.
pub(super) async fn list(caller: Caller, uri: Uri) -> Answered {
    let name = Params::read(&caller, &uri).one("name")?;
    reply(&caller, caller.client.call(&Workflows { name, version: None }).await)
}

/// `GET /v1/workflows/{workflow}`, with the revision as its tag; 0 for a workflow that the bucket lacks,
/// and for a version that is not in force.
pub(super) async fn show(caller: Caller, Path(name): Path<String>, uri: Uri) -> Answered {
    let version = Params::read(&caller, &uri).one("version")?;
    let request = Workflows { name: Some(named(&caller, &name)?), version };
    let found = caller.client.call(&request).await.map_err(|e| caller.refused(e))?;
    let revision = found.workflows.first().and_then(|workflow| workflow.revision);
    Ok(tagged(revision, found))
}

/// `PUT /v1/workflows/{workflow}`.
pub(super) async fn set(
    caller: Caller,
    Path(name): Path<String>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Answered {
    let mut workflow: SetWorkflow = body.with(&caller, &[("name", &name)])?;
    workflow.check |= Params::read(&caller, &uri).is_set("check")?;
    let seen = revision(&caller, &headers)?;
    workflow.expected_revision = seen.or(workflow.expected_revision);
    let set = caller.client.call(&workflow).await;
    reply_if(&caller, seen.is_some(), set)
}

/// `DELETE /v1/workflows/{workflow}`.
pub(super) async fn drop(caller: Caller, Path(name): Path<String>, headers: HeaderMap) -> Answered {
    let name: WorkflowName = named(&caller, &name)?;
    let expected_revision = revision(&caller, &headers)?;
    let dropped = caller.client.call(&DropWorkflow { name, expected_revision }).await;
    reply_if(&caller, expected_revision.is_some(), dropped)
}
