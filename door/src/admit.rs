//! From bytes to a job that may be stored: every check a submission must pass before anything is
//! written. Pure, so that hostile bodies can be tried by the thousand.

use std::collections::BTreeSet;

use proto::{
    agent::{Agent, called_like_a_tool, catalogue::Catalogue},
    budget::Price,
    conversation::Conversation,
    digest,
    door::{AgentChoice, DirectCall, Submit, SubmitFile},
    error::{Code, Failure},
    fact::Submitted,
    family::{Callee, Callees},
    id::{AgentName, JobId, ToolName},
    lang::Language,
    limits,
    point::Fork,
    price::ByModel,
    strict,
};
use serde_json::Value;

use super::{files, pricing};

/// The only version of a submission.
const VERSION: u64 = 1;

/// A submission that passed every check.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Admitted {
    /// The id that was asked for; one must be made up when absent.
    pub(super) id: Option<JobId>,
    /// What is stored; of a fork only who submitted it and the digest.
    pub(super) submitted: Submitted,
    /// The job that it goes on from.
    pub(super) fork: Option<Fork>,
    /// The tool call that is to be the whole job.
    pub(super) call: Option<DirectCall>,
    /// The files that come with it; what is in them is not looked at yet.
    pub(super) files: Vec<SubmitFile>,
}

/// Checks a submission.
pub(super) fn submission(
    body: &[u8],
    agents: &Catalogue,
    prices: &ByModel<Price>,
    by: Option<String>,
) -> Result<Admitted, Failure> {
    let value = strict::value_from_slice(body)?;
    version(&value)?;
    let digest = digest_of(&value);
    let mut request: Submit = strict::request_from_value(value)?;
    if let Some(fork) = request.fork.take() {
        return forked(request, fork, digest, by);
    }
    let goal = goal(std::mem::take(&mut request.goal))?;
    files::check(&request.files)?;
    let mut agent = agent(&request, agents)?;
    pricing::of_job(&mut agent, prices)?;
    let language = request.language.or(agent.language).unwrap_or_else(|| Language::detect(&goal));
    // The verb that stores the job reads its content: nothing is read here.
    let agents = callees(&agent, agents, prices)?;
    let conversation =
        request.conversation.map(|id| Conversation { id, earlier: Vec::new(), omitted: 0 });
    let submitted = Submitted {
        goal,
        agent,
        language,
        digest,
        by,
        conversation,
        parent: None,
        agents,
        forked: None,
        plan: None,
        files: Vec::new(),
        rules: proto::rules::Rules::NOW,
    };
    let Submit { id, call, files, .. } = request;
    Ok(Admitted { id, submitted, fork: None, call, files })
}

/// A fork is what the other job was: beside its id a request says nothing more of it.
fn forked(
    request: Submit,
    fork: Fork,
    digest: String,
    by: Option<String>,
) -> Result<Admitted, Failure> {
    let Submit {
        v: _,
        id,
        goal,
        agent,
        language,
        confirm,
        deadline_ms,
        conversation,
        fork: _,
        call,
        files,
    } = request;
    let said = [
        ("goal", !goal.is_empty()),
        ("agent", agent.is_some()),
        ("language", language.is_some()),
        ("confirm", confirm.is_some()),
        ("deadline_ms", deadline_ms.is_some()),
        ("conversation", conversation.is_some()),
        ("call", call.is_some()),
        ("files", !files.is_empty()),
    ];
    if let Some((field, _)) = said.into_iter().find(|(_, is_there)| *is_there) {
        let why =
            format!("{field}: a fork inherits this field from the original job; leave it out");
        return Err(Failure::new(Code::InvalidRequest, why).at(field));
    }
    let submitted = Submitted {
        goal,
        agent: Agent::default(),
        language: Language::default(),
        digest,
        by,
        conversation: None,
        parent: None,
        agents: Callees::default(),
        forked: None,
        plan: None,
        files: Vec::new(),
        rules: proto::rules::Rules::NOW,
    };
    Ok(Admitted { id, submitted, fork: Some(fork), call: None, files })
}

/// A request that says nothing: an empty body or an empty object.
pub(super) fn nothing(body: &[u8]) -> Result<(), Failure> {
    if body.is_empty() {
        return Ok(());
    }
    match strict::value_from_slice(body)? {
        Value::Object(fields) => match fields.keys().next() {
            None => Ok(()),
            Some(field) => {
                let why = format!("unknown field `{}`", proto::excerpt::ends(field, 40));
                Err(Failure::new(Code::InvalidRequest, why).at(field.as_str()))
            }
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(Failure::new(Code::InvalidRequest, "a JSON object is expected"))
        }
    }
}

fn version(value: &Value) -> Result<(), Failure> {
    match value.get("v") {
        None => Ok(()),
        Some(v) if v.as_u64() == Some(VERSION) => Ok(()),
        Some(v) => {
            let shown = proto::excerpt::ends(&v.to_string(), 40);
            let why = format!("version {shown} is not supported; send version {VERSION}");
            Err(Failure::new(Code::UnsupportedVersion, why).at("v"))
        }
    }
}

/// By what a repeated submission is told from another one: the body as it was sent, without the id
/// and the version. Not what became of it: an agent that is reconfigured, or a new default of
/// a newer Callboard, must not turn a repeated request into a conflict.
fn digest_of(body: &Value) -> String {
    let mut body = body.clone();
    if let Value::Object(fields) = &mut body {
        fields.shift_remove("id");
        fields.shift_remove("v");
        fields.retain(|_, value| !value.is_null());
    }
    digest::of_json(&body)
}

fn goal(goal: String) -> Result<String, Failure> {
    if goal.trim().is_empty() {
        return Err(Failure::new(
            Code::InvalidRequest,
            "goal: must describe what the job should achieve",
        )
        .at("goal"));
    }
    if goal.len() > limits::GOAL_BYTES_MAX {
        let (bytes, max) = (goal.len(), limits::GOAL_BYTES_MAX);
        let why = format!("goal: has {bytes} bytes; at most {max} are allowed");
        return Err(Failure::new(Code::TooLarge, why).at("goal"));
    }
    Ok(goal)
}

/// The policies of the job. Those of a request may be whole, defaults and all: a setting that decides
/// nothing is no mistake there, as it is in a file.
fn agent(request: &Submit, agents: &Catalogue) -> Result<Agent, Failure> {
    let mut agent = match &request.agent {
        None => {
            let default = Agent::default();
            if agents.get(&default.name).is_none() {
                default
            } else {
                named(&default.name, agents)?
            }
        }
        Some(AgentChoice::Named(name)) => named(name, agents)?,
        Some(AgentChoice::Inline(agent)) => (**agent).clone(),
    };
    if let Some(confirm) = request.confirm {
        agent.confirm = confirm;
    }
    if let Some(ms) = request.deadline_ms {
        if !(1..=limits::WAIT_MS_MAX).contains(&ms) {
            let why = format!("deadline_ms: must be 1 to {} (one year)", limits::WAIT_MS_MAX);
            return Err(Failure::new(Code::InvalidRequest, why).at("deadline_ms"));
        }
        agent.deadline_ms = Some(ms);
    }
    agent.check().map_err(|invalid| {
        let field = format!("agent.{}", invalid.field);
        Failure::new(Code::InvalidRequest, invalid.to_string()).at(field)
    })?;
    Ok(agent)
}

/// The agents that a job may hand tasks to, and those that these may: as they are now.
fn callees(agent: &Agent, agents: &Catalogue, prices: &ByModel<Price>) -> Result<Callees, Failure> {
    let mut found = Callees::new();
    let mut wanted: Vec<AgentName> = agent.agents.iter().map(|sub| sub.name.clone()).collect();
    while let Some(name) = wanted.pop() {
        if found.contains_key(&name) {
            continue;
        }
        let at = |failure: Failure| failure.at("agent.agents");
        let callee = named(&name, agents).map_err(at)?;
        wanted.extend(callee.agents.iter().map(|sub| sub.name.clone()));
        let about = agents.entry(&name).map(|entry| entry.about).unwrap_or_default();
        found.insert(name, Callee { about, agent: callee });
        if found.len() > limits::SUB_AGENTS_MAX {
            let max = limits::SUB_AGENTS_MAX;
            let why = format!("agent.agents: leads to more than {max} agents");
            return Err(Failure::new(Code::TooLarge, why).at("agent.agents"));
        }
    }
    for name in pricing::limited(agent, &found) {
        let Some(callee) = found.get_mut(&name) else { continue };
        pricing::of_sub_agent(&mut callee.agent, agent, prices)
            .map_err(|failure| failure.at("agent.agents"))?;
    }
    Ok(found)
}

/// Refuses agents that may not be told apart from tools which are registered now. Those that are
/// registered later take nobody's place: a job has the agents it was submitted with.
pub(super) fn like_a_tool(
    submitted: &Submitted,
    registered: &BTreeSet<ToolName>,
) -> Result<(), Failure> {
    let callees = submitted.agents.values().map(|callee| &callee.agent);
    for agent in std::iter::once(&submitted.agent).chain(callees) {
        if let Some((_, sub)) = agent.like_a_tool(registered) {
            let why = format!("agent.agents: of {}: {}", agent.name, called_like_a_tool(&sub.name));
            return Err(Failure::new(Code::InvalidRequest, why).at("agent.agents"));
        }
    }
    Ok(())
}

fn named(name: &AgentName, agents: &Catalogue) -> Result<Agent, Failure> {
    match agents.get(name) {
        Some(Ok(agent)) => Ok(Agent::clone(agent)),
        Some(Err(mistakes)) => {
            let why = format!("agent {name} cannot be used: {mistakes}");
            Err(Failure::new(Code::InvalidRequest, why).at("agent"))
        }
        None => Err(super::agents::unknown(agents, name).at("agent")),
    }
}

#[cfg(test)]
mod tests;
