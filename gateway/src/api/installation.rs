//! The installation: its version and verbs, tools, processes and dead letters.

use axum::{Json, extract::State, http::Uri};
use proto::door::{Dead, GetCrew, GetTools, Verb};
use serde_json::{Value, json};

use super::body::{Answered, reply};
use crate::{Desk, caller::Caller, params::Params};

pub(super) async fn about(State(desk): State<Desk>, caller: Caller) -> Json<Value> {
    let verbs: Vec<&str> = Verb::ALL.iter().map(|verb| verb.name()).collect();
    Json(
        json!({"version": desk.version, "language": caller.language, "verbs": verbs, "pulse": true}),
    )
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
