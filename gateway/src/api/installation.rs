//! The installation: its version and verbs, tools, processes and dead letters.

use axum::{Json, extract::State, http::Uri};
use proto::{
    door::{Dead, GetCrew, GetTools, Verb},
    lang::Language,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::body::{Answered, reply};
use crate::{Desk, caller::Caller, params::Params};

/// The program and the caller's language.
#[derive(Serialize, JsonSchema)]
pub(super) struct About {
    version: &'static str,
    language: Language,
    /// Prefix of the installation's subjects on NATS.
    prefix: String,
    /// Verbs of the front door.
    verbs: Vec<&'static str>,
    /// `true` if changes of all jobs can be watched.
    pulse: bool,
}

pub(super) async fn about(State(desk): State<Desk>, caller: Caller) -> Json<About> {
    let verbs = Verb::ALL.iter().map(|verb| verb.name()).collect();
    let (version, language) = (desk.version, caller.language);
    let prefix = desk.client.prefix().to_owned();
    Json(About { version, language, prefix, verbs, pulse: true })
}

pub(super) async fn tools(caller: Caller) -> Answered {
    reply(&caller, caller.client.call(&GetTools {}).await)
}

pub(super) async fn crew(caller: Caller) -> Answered {
    reply(&caller, caller.client.call(&GetCrew {}).await)
}

pub(super) async fn dead(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let dead = Dead { job: params.one("job")?, limit: params.one("limit")? };
    reply(&caller, caller.client.call(&dead).await)
}
