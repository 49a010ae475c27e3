//! Submitted workflows: the check of a file, and of those that its nodes run, against the registry
//! and the agent, and the definitions that the job keeps.

mod below;

use agents::{
    source::Mistakes,
    workflow::{
        read::{Known, read},
        schema, shipped,
    },
};
use proto::{
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
    workflow::{Workflow, WorkflowRun},
};
use runtime::registry::Registry;
use serde_json::{Value, json};

use self::below::Below;

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
    let registered = registry.all();
    let allowed = submitted.agent.tools.as_ref();
    let is_allowed = |tool: &ToolName| allowed.is_none_or(|tools| tools.contains(tool));
    let tools: Vec<&ToolSpec> =
        registered.iter().map(|tool| &tool.spec).filter(|spec| is_allowed(&spec.name)).collect();
    let agents = submitted.agent.agents.iter().map(|sub| sub.name.clone());
    let names = workflows.keys().cloned().chain(shipped::names());
    let known = Known::of(tools.iter().copied(), agents, names).complete();
    let definition = read(PLACE, &source, &known).map_err(|mistakes| wrong(&mistakes, PLACE))?;
    let below = Below::of(&definition.workflow, &workflows, &known)?;
    below.within_depth(&definition.workflow, submitted.agent.budget.depth)?;
    let known = below.known(known);
    let definition = read(PLACE, &source, &known).map_err(|mistakes| wrong(&mistakes, PLACE))?;
    let workflows = below.frozen(&known, &tools)?;
    let definition = definition.workflow;
    fits(&definition, &input)?;
    let deadline = [submitted.agent.deadline_ms, definition.limits.deadline_ms];
    submitted.agent.deadline_ms = deadline.into_iter().flatten().min();
    submitted.rules = Rules::WORKFLOWS;
    let tools = below::bindings(&definition, &tools);
    submitted.workflow = Some(Box::new(WorkflowRun { definition, input, tools, workflows }));
    Ok(())
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
