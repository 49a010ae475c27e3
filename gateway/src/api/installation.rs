//! The installation: its version and verbs, tools, processes and dead letters.

use axum::{Json, extract::State, http::Uri};
use proto::{
    door::{Dead, GetAbout, GetCrew, GetTools, Role, Verb},
    error::Code,
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
    /// Those that the caller may use. Absent while no front door answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    may: Option<Vec<String>>,
    /// Roles of the caller. Absent while no front door answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    roles: Option<Vec<Role>>,
    /// Name of the caller; absent in an installation that does not know its callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// Number of shards. Absent while no front door answers, and for callers without a role.
    #[serde(skip_serializing_if = "Option::is_none")]
    shards: Option<u16>,
    /// `true` if changes of all jobs can be watched.
    pulse: bool,
}

pub(super) async fn about(State(desk): State<Desk>, caller: Caller) -> Json<About> {
    let verbs = Verb::ALL.iter().map(|verb| verb.name()).collect();
    // Without retries: the page waits for this reply.
    let known = caller.client.clone().with_retries(None).call(&GetAbout {}).await;
    let (may, roles, by, shards) = match known {
        Ok(known) => (Some(known.may), Some(known.roles), known.by, Some(known.shards)),
        Err(refused) if refused.code == Code::Forbidden => {
            (Some(Vec::new()), Some(Vec::new()), None, None)
        }
        Err(_) => (None, None, None, None),
    };
    let (version, language) = (desk.version, caller.language);
    let prefix = desk.client.prefix().to_owned();
    Json(About { version, language, prefix, verbs, may, roles, by, shards, pulse: true })
}

pub(super) async fn tools(caller: Caller) -> Answered {
    reply(&caller, caller.client.call(&GetTools {}).await)
}

pub(super) async fn crew(caller: Caller, uri: Uri) -> Answered {
    let queues = Params::read(&caller, &uri).is_set("queues")?;
    reply(&caller, caller.client.call(&GetCrew { queues }).await)
}

pub(super) async fn dead(caller: Caller, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let dead = Dead { job: params.one("job")?, limit: params.one("limit")? };
    reply(&caller, caller.client.call(&dead).await)
}
