//! The workflows of submissions and of agents: the choice of the file, the check of it and of those
//! that its nodes run, against the registry and the agent, and the definitions that the job keeps.

mod below;
mod editing;

use agents::{
    source::Mistakes,
    workflow::{
        read::{Known, read},
        schema,
        shelf::{Shelf, place},
    },
};
use proto::{
    agent::Agent,
    door::SubmitWorkflow,
    error::{Code, Failure},
    fact::Submitted,
    id::ToolName,
    lang::Words,
    limits,
    refusal::Text,
    rules::Rules,
    strict::is_deep,
    tool::ToolSpec,
    workflow::{Workflow, WorkflowName, WorkflowRun},
};
use runtime::registry::Registry;
use serde_json::{Value, json};

use self::below::{Below, Sources};
pub(super) use self::editing::{check_edit, edited, migrated};
use crate::workflows::unknown;

/// Field of the submission with the workflow, and place of its file in mistakes.
const FIELD: &str = "workflow";
/// Field of an agent with the name of its workflow.
const OF_AGENT: &str = "agent.workflow";

/// A workflow file in a request, or the text of a name.
struct File<'a> {
    /// Place in mistakes.
    place: String,
    text: &'a str,
    /// Field of the request that says which file it is.
    field: String,
    /// Name that the file must have inside; any when absent.
    name: Option<&'a WorkflowName>,
}

/// Gives the job the workflow of its submission or, if that names none, the one of its agent.
///
/// # Errors
/// Returns every mistake in a file, a name without a workflow, the workflows that run themselves or
/// are nested too deep, or the reason why the input does not fit.
pub(super) fn adopt(
    submitted: &mut Submitted,
    request: SubmitWorkflow,
    registry: &Registry,
    shelf: &Shelf,
) -> Result<(), Failure> {
    let SubmitWorkflow { source, name, mut input, workflows } = request;
    let sources = Sources { request: &workflows, shelf };
    let of_agent = submitted.agent.workflow.clone();
    let is_of_agent = source.is_none() && name.is_none();
    let file = match (&source, &name, &of_agent) {
        (Some(_), Some(_), _) => {
            let why = Text::WorkflowSourceAndName;
            return Err(Failure::about(Code::InvalidRequest, "workflow.source", why));
        }
        (Some(text), None, _) => {
            File { place: FIELD.to_owned(), text, field: FIELD.to_owned(), name: None }
        }
        (None, Some(name), _) => named(&sources, name, "workflow.name")?,
        (None, None, Some(name)) => named(&sources, name, OF_AGENT)?,
        (None, None, None) => {
            let why = Text::WorkflowOfNone { agent: &submitted.agent.name };
            return Err(Failure::about(Code::InvalidRequest, FIELD, why));
        }
    };
    let run = frozen(&file, &sources, &submitted.agent, registry)?;
    if is_of_agent {
        input = run.definition.with_goal(input, &submitted.goal);
    }
    fits(&run.definition, &input)?;
    bound(&mut submitted.agent, &run.definition);
    submitted.rules = Rules::WORKFLOWS;
    submitted.workflow = Some(Box::new(WorkflowRun { input, ..run }));
    Ok(())
}

/// Gives the sub-agents that the job may call, directly or indirectly, their workflows.
///
/// # Errors
/// As [`adopt`], for the first sub-agent whose workflow cannot be used.
pub(super) fn of_sub_agents(
    submitted: &mut Submitted,
    registry: &Registry,
    shelf: &Shelf,
) -> Result<(), Failure> {
    let none = std::collections::BTreeMap::new();
    let sources = Sources { request: &none, shelf };
    for (agent, callee) in &mut submitted.agents {
        let Some(name) = callee.agent.workflow.clone() else { continue };
        let field = format!("agent.agents.{agent}.workflow");
        let file = named(&sources, &name, &field)?;
        let run = frozen(&file, &sources, &callee.agent, registry)?;
        if let Some(why) = misfit_of_any_goal(&run.definition) {
            let text = Text::WorkflowInput { why: &why };
            return Err(Failure::about(Code::InvalidRequest, &field, text));
        }
        bound(&mut callee.agent, &run.definition);
        callee.agent.output = None;
        callee.workflow = Some(Box::new(run));
        submitted.rules = Rules::WORKFLOWS;
    }
    Ok(())
}

fn named<'a>(
    sources: &Sources<'a>,
    name: &'a WorkflowName,
    field: &str,
) -> Result<File<'a>, Failure> {
    let Some(text) = sources.text(name) else {
        return Err(unknown(sources.shelf, name, Code::InvalidRequest, field));
    };
    Ok(File { place: place(name), text, field: field.to_owned(), name: Some(name) })
}

/// Checks a file and those that its nodes run, and returns the definitions with the tools as they
/// are registered. The input is empty.
fn frozen(
    file: &File<'_>,
    sources: &Sources<'_>,
    agent: &Agent,
    registry: &Registry,
) -> Result<WorkflowRun, Failure> {
    let registered = registry.all();
    let allowed = agent.tools.as_ref();
    let is_allowed = |tool: &ToolName| allowed.is_none_or(|tools| tools.contains(tool));
    let tools: Vec<&ToolSpec> =
        registered.iter().map(|tool| &tool.spec).filter(|spec| is_allowed(&spec.name)).collect();
    let agents = agent.agents.iter().map(|sub| sub.name.clone());
    let known = Known::of(tools.iter().copied(), agents, sources.names()).complete();
    let checked = |known: &Known| {
        read(&file.place, file.text, known).map_err(|mistakes| wrong(&mistakes, &file.field))
    };
    let definition = checked(&known)?.workflow;
    if file.name.is_some_and(|name| *name != definition.name) {
        let why = Text::WorkflowNamed { name: &definition.name };
        return Err(Failure::about(Code::InvalidRequest, &file.field, why));
    }
    let below = Below::of(&definition, *sources, &known)?;
    below.within_depth(&definition, agent.budget.depth)?;
    let known = below.known(known);
    let definition = checked(&known)?.workflow;
    let workflows = below.frozen(&known, &tools)?;
    let tools = below::bindings(&definition, &tools);
    Ok(WorkflowRun { definition, input: json!({}), tools, workflows })
}

/// Bounds the jobs of an agent by the deadline of its workflow.
fn bound(agent: &mut Agent, definition: &Workflow) {
    let deadline = [agent.deadline_ms, definition.limits.deadline_ms];
    agent.deadline_ms = deadline.into_iter().flatten().min();
}

fn wrong(mistakes: &Mistakes, field: &str) -> Failure {
    let words = Words::new(|language| mistakes.text(language));
    Failure::composed(Code::InvalidRequest, &words).at(field)
}

fn fits(definition: &Workflow, input: &Value) -> Result<(), Failure> {
    if is_deep(input) {
        let why = Text::WorkflowInputDeep { max: &limits::JSON_DEPTH_MAX };
        return Err(Failure::about(Code::InvalidRequest, "workflow.input", why));
    }
    let Some(why) = misfit(definition, input) else { return Ok(()) };
    let text = Text::WorkflowInput { why: &why };
    Err(Failure::about(Code::InvalidRequest, "workflow.input", text))
}

/// Returns the reason why no goal alone is an input of a workflow. The goal itself is checked when the
/// sub-agent is called.
fn misfit_of_any_goal(definition: &Workflow) -> Option<String> {
    let mut lenient = definition.clone();
    let goal = lenient.input.as_mut().and_then(|schema| schema.pointer_mut("/properties/goal"));
    if let Some(goal) = goal {
        *goal = json!({});
    }
    misfit(&lenient, &lenient.with_goal(json!({}), ""))
}

/// Returns the reason why an input does not fit a workflow.
fn misfit(definition: &Workflow, input: &Value) -> Option<String> {
    let of_object = json!({"type": "object"});
    schema::misfit(definition.input.as_ref().unwrap_or(&of_object), input)
}
