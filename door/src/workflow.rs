//! Submitted workflows: the check of a file against the registry and the agent, and the definition
//! that the job keeps.

use agents::{
    source::Mistakes,
    workflow::{
        read::{Known, read},
        schema,
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
    workflow::{Agent, AgentTask, Work, Workflow, WorkflowRun},
};
use runtime::registry::Registry;
use serde_json::{Value, json};

/// Place of the file in mistakes.
const PLACE: &str = "workflow";

/// Gives the job the workflow.
///
/// # Errors
/// Returns every mistake in the file, the first node that no job runs, or the reason why the input
/// does not fit.
pub(super) fn adopt(
    submitted: &mut Submitted,
    SubmitWorkflow { source, input }: SubmitWorkflow,
    registry: &Registry,
) -> Result<(), Failure> {
    let registered = registry.all();
    let allowed = submitted.agent.tools.as_ref();
    let is_allowed = |tool: &ToolName| allowed.is_none_or(|tools| tools.contains(tool));
    let tools: Vec<&ToolSpec> =
        registered.iter().map(|tool| &tool.spec).filter(|spec| is_allowed(&spec.name)).collect();
    let agents = submitted.agent.agents.iter().map(|sub| sub.name.clone());
    let known = Known::of(tools.iter().copied(), agents, []).complete();
    let definition = read(PLACE, &source, &known).map_err(|mistakes| wrong(&mistakes))?.workflow;
    if let Some((node, kind)) = not_run(&definition) {
        let text = Text::WorkflowNode { node: &node, kind: &kind };
        return Err(Failure::about(Code::InvalidRequest, PLACE, text));
    }
    fits(&definition, &input)?;
    let named = definition.nodes.values().filter_map(|node| node.work.as_tool());
    let called = named.filter_map(|tool| tools.iter().find(|spec| spec.name == tool.tool));
    let tools = called.map(|spec| (spec.name.clone(), spec.binding())).collect();
    let deadline = [submitted.agent.deadline_ms, definition.limits.deadline_ms];
    submitted.agent.deadline_ms = deadline.into_iter().flatten().min();
    submitted.rules = Rules::WORKFLOWS;
    submitted.workflow = Some(Box::new(WorkflowRun { definition, input, tools }));
    Ok(())
}

fn wrong(mistakes: &Mistakes) -> Failure {
    let words = Words::new(|language| mistakes.text(language));
    Failure::composed(Code::InvalidRequest, &words).at(PLACE)
}

/// Returns the first node that no job runs yet, and its type.
fn not_run(definition: &Workflow) -> Option<(&str, &'static str)> {
    let mut nodes = definition.nodes.iter();
    nodes.find_map(|(id, node)| match &node.work {
        Work::Event(_) => Some((id.as_str(), "event")),
        Work::Agent(Agent { does: AgentTask::Workflow { .. } }) => Some((id.as_str(), "workflow")),
        Work::Agent(_)
        | Work::Model(_)
        | Work::Tool(_)
        | Work::Human(_)
        | Work::Branch {}
        | Work::Parallel(_)
        | Work::Map(_)
        | Work::Wait(_)
        | Work::Set {}
        | Work::End(_) => None,
    })
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
