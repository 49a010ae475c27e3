//! `POST /v1/hooks/{name}`: a signed delivery becomes a job of the agent that the configuration names.
//! The delivery is a file of the job and never its goal, so its sender does not instruct the agent.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode, header},
};
use bridges::derived;
use jiff::Timestamp;
use proto::{
    door::{AgentChoice, Submit},
    error::{Code, Failure},
    file::FileName,
    id::{AgentName, HookName},
};

use super::{
    settings::{Incoming, Webhooks},
    signature::{ID, Keys, SIGNATURE, Signed, TIMESTAMP, Wrong},
};
use crate::{
    Desk,
    api::{
        body::{self, Answered, named},
        jobs,
    },
    caller::Caller,
    problem::Problem,
    words::Text,
};

/// Names of the file of a delivery.
const JSON_FILE: &str = "payload.json";
const OTHER_FILE: &str = "payload";

/// The incoming webhooks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Receivers(Arc<BTreeMap<HookName, Receiver>>);

#[derive(Debug)]
struct Receiver {
    agent: AgentName,
    goal: String,
    keys: Keys,
    token: Option<String>,
}

impl Receivers {
    /// Reads the settings. A webhook whose secrets cannot be used is left out: the process that
    /// serves it has refused to start.
    pub(crate) fn new(settings: &Webhooks) -> Self {
        let receiver = |(name, hook): (&HookName, &Incoming)| {
            let keys = Keys::of(&hook.secrets).ok()?;
            let (agent, goal) = (hook.agent.clone(), hook.goal.clone());
            let token = super::token(hook.token.as_ref());
            Some((name.clone(), Receiver { agent, goal, keys, token }))
        };
        Self(Arc::new(settings.incoming.iter().filter_map(receiver).collect()))
    }
}

/// Answers a delivery. The extractor of the caller has checked its `Host`.
pub(crate) async fn deliver(
    State(desk): State<Desk>,
    caller: Caller,
    Path(name): Path<String>,
    request: Request,
) -> Answered {
    let name: HookName = named(&caller, &name)?;
    let Some(receiver) = desk.receivers.0.get(&name) else {
        return Err(caller.wrong(StatusCode::NOT_FOUND, Text::NoHook));
    };
    let headers = request.headers().clone();
    let content = body::read(request, &desk).await?;
    let unsigned = |why| caller.wrong(StatusCode::UNAUTHORIZED, why);
    let signed = signed(&headers).ok_or_else(|| unsigned(Text::HookHeaders))?;
    let checked = receiver.keys.check(signed, &content, Timestamp::now().as_second());
    checked.map_err(|wrong| {
        tracing::warn!(webhook = %name, ?wrong, "a delivery was refused");
        unsigned(match wrong {
            Wrong::Headers => Text::HookHeaders,
            Wrong::Time => Text::HookTime,
            Wrong::Signature => Text::HookSignature,
        })
    })?;
    // A message of a sender has one id over all its tries.
    let job = derived::job_id(name.as_str(), "webhook", [signed.id, ""]);
    let client = desk.client.clone().with_token(receiver.token.clone());
    let refused = |failure: Failure| refused(&caller, failure);
    let file = client.attach(file_name(&headers), content).await.map_err(refused)?;
    let submit = Submit {
        id: Some(job),
        agent: Some(AgentChoice::Named(receiver.agent.clone())),
        files: vec![file],
        ..Submit::goal(receiver.goal.clone())
    };
    Ok(jobs::created(client.submit(submit).await.map_err(refused)?))
}

/// The sender has no token, so a wrong token is a mistake in the configuration.
fn refused(caller: &Caller, failure: Failure) -> Problem {
    if failure.code == Code::Forbidden {
        tracing::error!(%failure, "the token of a webhook is refused");
        return caller.refused(Failure::composed(Code::Unavailable, &Text::HookToken.into()));
    }
    caller.refused(failure)
}

fn signed(headers: &HeaderMap) -> Option<Signed<'_>> {
    let one = |name: &str| {
        let mut values = headers.get_all(name).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        value.to_str().ok()
    };
    Some(Signed { id: one(ID)?, timestamp: one(TIMESTAMP)?, signature: one(SIGNATURE)? })
}

fn file_name(headers: &HeaderMap) -> FileName {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        kind == "application/json" || kind.ends_with("+json")
    });
    let name = if is_json { JSON_FILE } else { OTHER_FILE };
    FileName::new(name).expect("a plain word is a name")
}
