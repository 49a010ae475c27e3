//! Submitted workflows: the check of a file, and of those that its nodes run, against the registry
//! and the agent, and the definitions that the job keeps.

mod below;
mod editing;

use std::collections::BTreeMap;

use agents::{
    source::Mistakes,
    workflow::{
        read::{Known, read},
        schema, shipped,
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

use self::below::Below;
pub(super) use self::editing::{check_edit, edited, migrated};

/// Place of the file in mistakes.
const PLACE: &str = "workflow";

/// Gives the job the workflow.
///
/// # Errors
/// Returns every mistake in a file, the workflows that run themselves or are nested too deep, or the
/// reason why the input does not fit.
pub(super) fn adopt(
    submitted: &mut Submitted,
    SubmitWorkflow { source, input, workflows }: SubmitWorkflow,
    registry: &Registry,
) -> Result<(), Failure> {
    let run = checked(&submitted.agent, &source, &workflows, input, registry)?;
    let deadline = [submitted.agent.deadline_ms, run.definition.limits.deadline_ms];
    submitted.agent.deadline_ms = deadline.into_iter().flatten().min();
    submitted.rules = Rules::WORKFLOWS;
    submitted.workflow = Some(Box::new(run));
    Ok(())
}

/// Checks a workflow file with those that its nodes run, and an input.
fn checked(
    agent: &Agent,
    source: &str,
    workflows: &BTreeMap<WorkflowName, String>,
    input: Value,
    registry: &Registry,
) -> Result<WorkflowRun, Failure> {
    let registered = registry.all();
    let allowed = agent.tools.as_ref();
    let is_allowed = |tool: &ToolName| allowed.is_none_or(|tools| tools.contains(tool));
    let tools: Vec<&ToolSpec> =
        registered.iter().map(|tool| &tool.spec).filter(|spec| is_allowed(&spec.name)).collect();
    let agents = agent.agents.iter().map(|sub| sub.name.clone());
    let names = workflows.keys().cloned().chain(shipped::names());
    let known = Known::of(tools.iter().copied(), agents, names).complete();
    let definition = read(PLACE, source, &known).map_err(|mistakes| wrong(&mistakes, PLACE))?;
    let below = Below::of(&definition.workflow, workflows, &known)?;
    below.within_depth(&definition.workflow, agent.budget.depth)?;
    let known = below.known(known);
    let definition = read(PLACE, source, &known).map_err(|mistakes| wrong(&mistakes, PLACE))?;
    let workflows = below.frozen(&known, &tools)?;
    let definition = definition.workflow;
    fits(&definition, &input)?;
    let tools = below::bindings(&definition, &tools);
    Ok(WorkflowRun { definition, input, tools, workflows })
}

fn wrong(mistakes: &Mistakes, field: &str) -> Failure {
    let words = Words::new(|language| mistakes.text(language));
    Failure::composed(Code::InvalidRequest, &words).at(field)
}

fn fits(definition: &Workflow, input: &Value) -> Result<(), Failure> {
    let of_object = json!({"type": "object"});
    let schema = definition.input.as_ref().unwrap_or(&of_object);
    let misfit = match is_deep(input) {
        true => {
            let max = &limits::JSON_DEPTH_MAX;
            return Err(Failure::about(
                Code::InvalidRequest,
                "workflow.input",
                Text::WorkflowInputDeep { max },
            ));
        }
        false => schema::misfit(schema, input),
    };
    let Some(why) = misfit else { return Ok(()) };
    let text = Text::WorkflowInput { why: &why };
    Err(Failure::about(Code::InvalidRequest, "workflow.input", text))
}
