//! Submitted plans: the submitter's plan in place of the planner's first one.

use std::collections::BTreeSet;

use agents::draft::{self, Rules};
use proto::{
    error::{Code, Failure},
    fact::Submitted,
    lang::Words,
    plan::PlanError,
    policy::PlanProtocol,
    refusal::Text,
    tool::ToolSpec,
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Registry,
    schema::Schemas,
};
use serde_json::Value;

/// Gives the job the plan.
///
/// # Errors
/// Returns every mistake in the plan, or an error if the agent plans one action at a time.
pub(super) fn plan(
    submitted: &mut Submitted,
    written: Value,
    registry: &Registry,
    schemas: &Schemas,
) -> Result<(), Failure> {
    let agent = &submitted.agent;
    let protocol = agent.plan.protocol;
    if protocol.is_turn_by_turn() || protocol == PlanProtocol::InlineTools {
        let why = Text::TakesNoPlan { agent: &agent.name };
        return Err(Failure::about(Code::InvalidRequest, "plan", why));
    }
    let registered = registry.all();
    let tools: Vec<&ToolSpec> = registered.iter().map(|tool| &tool.spec).collect();
    let rules = Rules {
        agent,
        goal: &submitted.goal,
        language: submitted.language,
        tools: &tools,
        completed: &BTreeSet::new(),
        check_args: &|tool, args| arguments::check(schemas, tool, args, Placeholders::Open),
    };
    let plan = draft::written(written, &rules)
        .map_err(|mistakes| mistakes.refusal(Code::InvalidRequest, "plan"))?;
    if plan.steps.is_empty() {
        let why = Words::new(|language| PlanError::Empty.text(language));
        return Err(Failure::composed(Code::InvalidRequest, &why).at("plan.steps"));
    }
    submitted.plan = Some(plan);
    Ok(())
}
