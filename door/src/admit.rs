//! The admission of submissions: every check between the request's bytes and a job that may be
//! stored. Pure, so that tests can try hostile bodies by the thousand.

use std::collections::BTreeSet;

use agents::{
    catalogue::{Catalogue, called_like_a_tool},
    conflicts,
    price::ByModel,
};
use proto::{
    agent::Agent,
    budget::Price,
    conversation::Conversation,
    digest,
    door::{AgentChoice, DirectCall, Submit, SubmitFile, SubmitWorkflow},
    error::{Code, Failure},
    fact::Submitted,
    family::{Callee, Callees},
    id::{AgentName, JobId, ToolName},
    label::Labels,
    lang::{Language, Words},
    limits,
    point::Fork,
    refusal::Text,
    strict,
};
use serde_json::Value;

use super::{files, output, pricing};

/// The supported version of a submission.
const VERSION: u64 = 1;

/// A submission that passed every check.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Admitted {
    /// Id from the request; `None` if the door must generate one.
    pub(super) id: Option<JobId>,
    /// The record to store. For a fork it holds only the submitter and the digest.
    pub(super) submitted: Submitted,
    /// Source of a fork.
    pub(super) fork: Option<Fork>,
    /// Work of the job that its submitter states.
    pub(super) given: Option<Given>,
    /// `true` if the request itself has a schema of the result.
    pub(super) has_output: bool,
    /// Files of the job. Their content has not been checked yet.
    pub(super) files: Vec<SubmitFile>,
}

impl Admitted {
    /// Returns `true` if the submission depends on registered tools or stored workflows.
    pub(super) fn depends(&self) -> bool {
        let mut callees = self.submitted.agents.values();
        self.given.is_some() || callees.any(|callee| callee.agent.workflow.is_some())
    }
}

/// The work of a job in the words of its submitter, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Given {
    /// A tool call that is the whole job.
    Call(DirectCall),
    /// A plan, as planners write plans.
    Plan(Value),
    /// A workflow, as a file or by its name.
    Workflow(SubmitWorkflow),
}

/// Checks a submission and resolves its agents and prices.
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
    let named = request.language.or(agent.language);
    let language = named.unwrap_or_else(|| Language::detect(&goal));
    // Only the conversation's id is known here; the verb that stores the job reads its earlier
    // jobs.
    let mut agents = callees(&agent, agents, prices)?;
    if let Some(only) = request.tools.take() {
        narrow(&mut agent, &mut agents, only)?;
    }
    let Submit { id, conversation, call, plan, workflow, files, labels, output, .. } = request;
    let has_other_work = call.is_some() || plan.is_some() || workflow.is_some();
    let of_agent = agent.workflow.is_some() && !has_other_work;
    let workflow = workflow.or_else(|| of_agent.then(SubmitWorkflow::default));
    let conversation = conversation.map(|id| Conversation { id, earlier: Vec::new(), omitted: 0 });
    let by_request = output.is_some();
    let mut submitted = Submitted {
        goal,
        agent,
        language,
        language_detected: named.is_none(),
        digest,
        by,
        conversation,
        parent: None,
        agents,
        forked: None,
        plan: None,
        workflow: None,
        files: Vec::new(),
        labels,
        rules: proto::rules::Rules::NOW,
    };
    if call.is_some() {
        if by_request {
            return Err(Failure::about(Code::InvalidRequest, "output", Text::CallHasNoModel));
        }
        submitted.agent.output = None;
    }
    if workflow.is_some() {
        if by_request {
            return Err(Failure::about(Code::InvalidRequest, "output", Text::WorkflowOutput));
        }
        submitted.agent.output = None;
    }
    let given = match (call, plan, workflow) {
        (Some(_), Some(_), _) => {
            return Err(Failure::about(Code::InvalidRequest, "plan", Text::CallAndPlan));
        }
        (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
            return Err(Failure::about(Code::InvalidRequest, "workflow", Text::WorkflowAlone));
        }
        (Some(call), None, None) => Some(Given::Call(call)),
        (None, None, Some(workflow)) => Some(Given::Workflow(workflow)),
        (None, plan, None) => plan.map(Given::Plan),
    };
    Ok(Admitted { id, submitted, fork: None, given, has_output: by_request, files })
}

/// Checks the request of a fork. Beside its source it may carry an id and nothing else, because
/// everything else is inherited.
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
        tools,
        plan,
        workflow,
        call,
        files,
        labels,
        output,
    } = request;
    let said = [
        ("goal", !goal.is_empty()),
        ("agent", agent.is_some()),
        ("language", language.is_some()),
        ("confirm", confirm.is_some()),
        ("deadline_ms", deadline_ms.is_some()),
        ("conversation", conversation.is_some()),
        ("tools", tools.is_some()),
        ("plan", plan.is_some()),
        ("workflow", workflow.is_some()),
        ("call", call.is_some()),
        ("files", !files.is_empty()),
        ("labels", !labels.is_empty()),
        ("output", output.is_some()),
    ];
    if let Some((field, _)) = said.into_iter().find(|(_, is_there)| *is_there) {
        return Err(Failure::about(Code::InvalidRequest, field, Text::Inherited));
    }
    let submitted = Submitted {
        goal,
        agent: Agent::default(),
        language: Language::default(),
        language_detected: false,
        digest,
        by,
        conversation: None,
        parent: None,
        agents: Callees::default(),
        forked: None,
        plan: None,
        workflow: None,
        files: Vec::new(),
        labels: Labels::default(),
        rules: proto::rules::Rules::NOW,
    };
    Ok(Admitted { id, submitted, fork: Some(fork), given: None, has_output: false, files })
}

fn version(value: &Value) -> Result<(), Failure> {
    match value.get("v") {
        None => Ok(()),
        Some(v) if v.as_u64() == Some(VERSION) => Ok(()),
        Some(v) => {
            let shown = proto::excerpt::ends(&v.to_string(), 40);
            let why = Text::Version { given: &shown, known: &VERSION };
            Err(Failure::of(Code::UnsupportedVersion, why).at("v"))
        }
    }
}

/// Returns the digest by which a repeated submission is recognised: that of the body as it was
/// sent, without id and version. Resolved values are not part of it, because a reconfigured agent
/// or a new default of a newer Callboard must not turn a repeated request into a conflict.
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
        return Err(Failure::about(Code::InvalidRequest, "goal", Text::NoGoal));
    }
    if goal.len() > limits::GOAL_BYTES_MAX {
        let why = Text::TooLarge { bytes: &goal.len(), max: &limits::GOAL_BYTES_MAX };
        return Err(Failure::about(Code::TooLarge, "goal", why));
    }
    Ok(goal)
}

/// Resolves the agent of the job. An inline agent may repeat all defaults: a setting without effect
/// is no error there, unlike in a file.
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
            let why = Text::WithinYear { max: &limits::WAIT_MS_MAX };
            return Err(Failure::about(Code::InvalidRequest, "deadline_ms", why));
        }
        agent.deadline_ms = Some(ms);
    }
    if let Some(schema) = &request.output {
        output::bounds(schema, "output")?;
        agent.output = Some(schema.clone());
    }
    conflicts::check(&agent).map_err(|invalid| {
        let field = format!("agent.{}", invalid.field);
        let words = Words::new(|language| invalid.text(language));
        Failure::composed(Code::InvalidRequest, &words).at(field)
    })?;
    Ok(agent)
}

/// Returns the current definitions of all agents that the job may hand tasks to, directly or
/// indirectly.
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
        found.insert(name, Callee { about, agent: callee, workflow: None });
        if found.len() > limits::SUB_AGENTS_MAX {
            let why = Text::TooManyAgents { max: &limits::SUB_AGENTS_MAX };
            return Err(Failure::about(Code::TooLarge, "agent.agents", why));
        }
    }
    let limited = pricing::limited(agent, &found);
    for (name, callee) in &mut found {
        let priced = pricing::of_sub_agent(&mut callee.agent, agent, prices);
        if limited.contains(name) {
            priced.map_err(|failure| failure.at("agent.agents"))?;
        }
    }
    Ok(found)
}

/// Takes every other tool from the job's agent and its sub-agents.
fn narrow(agent: &mut Agent, callees: &mut Callees, only: Vec<ToolName>) -> Result<(), Failure> {
    let allowed = |tool: &ToolName| agent.tools.as_ref().is_none_or(|tools| tools.contains(tool));
    if let Some((n, tool)) = only.iter().enumerate().find(|(_, tool)| !allowed(tool)) {
        let why = Text::NotOfAgent { tool, agent: &agent.name };
        return Err(Failure::about(Code::InvalidRequest, &format!("tools[{n}]"), why));
    }
    for callee in callees.values_mut() {
        let tools = callee.agent.tools.as_ref();
        let rest = only.iter().filter(|tool| tools.is_none_or(|tools| tools.contains(*tool)));
        let rest = rest.cloned().collect();
        take_all_but(&mut callee.agent, rest)?;
    }
    take_all_but(agent, only)
}

/// Leaves an agent these tools. Fixed arguments of the others would have no effect.
fn take_all_but(agent: &mut Agent, rest: Vec<ToolName>) -> Result<(), Failure> {
    agent.tool.presets.keep(&rest);
    agent.tools = Some(rest);
    // A tool and a sub-agent with one name are told apart only where the tools are listed.
    conflicts::check(agent).map_err(|conflict| {
        let words = Words::new(|language| conflict.text(language));
        Failure::composed(Code::InvalidRequest, &words).at("tools")
    })
}

/// Refuses agents with a name that could be confused with a registered tool. Tools that are
/// registered later are no concern: a job keeps the agents it was submitted with.
pub(super) fn like_a_tool(
    submitted: &Submitted,
    registered: &BTreeSet<ToolName>,
) -> Result<(), Failure> {
    let callees = submitted.agents.values().map(|callee| &callee.agent);
    for agent in std::iter::once(&submitted.agent).chain(callees) {
        if let Some((_, sub)) = agent.like_a_tool(registered) {
            let (name, why) = (&agent.name, called_like_a_tool(&sub.name));
            let words = Words::new(|language| {
                Text::SubAgentOf { name, why: &why.text(language) }.text(language)
            });
            return Err(Failure::composed(Code::InvalidRequest, &words).at("agent.agents"));
        }
    }
    Ok(())
}

fn named(name: &AgentName, agents: &Catalogue) -> Result<Agent, Failure> {
    match agents.get(name) {
        Some(Ok(agent)) => Ok(Agent::clone(agent)),
        Some(Err(mistakes)) => {
            let words = Words::new(|language| {
                Text::AgentUnusable { name, mistakes: &mistakes.text(language) }.text(language)
            });
            Err(Failure::composed(Code::InvalidRequest, &words).at("agent"))
        }
        None => Err(super::agents::unknown(agents, name).at("agent")),
    }
}

#[cfg(test)]
mod tests;
