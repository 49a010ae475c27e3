//! Direct tool calls: jobs that consist of one requested call. Such a job is durable and visible
//! like any other. Neither a planner nor a model takes part, whatever its agent says.

use std::collections::BTreeSet;

use agents::{placeholder, toolbox::Toolbox};
use proto::{
    agent::{Agent, OnFailure, ReplanWhen, Replanning},
    door::DirectCall,
    error::{Code, Failure},
    excerpt,
    fact::Submitted,
    id::StepId,
    lang::Words,
    plan::{Action, Plan, Step},
    refusal::Text,
    tool::ToolSpec,
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Registry,
    schema::Schemas,
};

/// Limit on the plan's title, in characters.
const TITLE_CHARS: usize = 120;

/// Gives the job its one-step plan.
///
/// # Errors
/// Returns an error if the agent has no such tool, or if the arguments do not fit it.
pub(super) fn plan(
    submitted: &mut Submitted,
    call: DirectCall,
    registry: &Registry,
    schemas: &Schemas,
) -> Result<(), Failure> {
    let refused = |field: &str, why: &Words| Failure::composed(Code::InvalidRequest, why).at(field);
    let registered = registry.all();
    let presets = &submitted.agent.tool.presets;
    let specs: Vec<_> = registered.iter().map(|tool| presets.without(&tool.spec)).collect();
    let toolbox = Toolbox::new(specs.iter().map(AsRef::as_ref), submitted.agent.tools.as_deref());
    let tool: &ToolSpec = toolbox
        .find(call.tool.as_str())
        .map_err(|e| refused("call.tool", &Words::new(|language| e.text(language))))?;
    arguments::check(schemas, tool, &call.args, Placeholders::Literal)
        .map_err(|why| refused("call.args", &why))?;
    // A placeholder would refer to another step, and a direct call has no other step.
    if let Some(step) = placeholder::references(&call.args).first() {
        let why = Text::ForeignStep { step };
        return Err(Failure::of(Code::InvalidRequest, why).at("call.args"));
    }
    let step = Step {
        id: StepId::new("call").expect("`call` is an id"),
        title: tool.name.to_string(),
        description: submitted.goal.clone(),
        depends_on: Vec::new(),
        action: Action::Tool { tool: tool.name.clone(), args: call.args, binding: tool.binding() },
    };
    let title = excerpt::ends(&submitted.goal, TITLE_CHARS / 2);
    let plan = Plan { title, steps: vec![step], ..Plan::default() };
    plan.check(&BTreeSet::new())
        .map_err(|wrong| refused("call.args", &Words::new(|language| wrong.text(language))))?;
    submitted.plan = Some(plan);
    without_models(&mut submitted.agent);
    Ok(())
}

/// Resets policies that would replan or call a model.
fn without_models(agent: &mut Agent) {
    let usual = Agent::default();
    agent.confirm = false;
    agent.plan = usual.plan;
    agent.step.exec = usual.step.exec;
    agent.step.on_failure = OnFailure::Stop;
    agent.replan = Replanning { when: Some(ReplanWhen::Never), max: 0, ..Replanning::default() };
}
