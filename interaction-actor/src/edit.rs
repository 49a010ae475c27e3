//! A plan edited by a person. Pure.

use std::{collections::BTreeSet, sync::Arc};

use agents::draft;
use proto::{
    agent::Agent,
    error::{Code, Failure},
    id::StepId,
    interaction::{Question, empty_plan},
    lang::{Language, Words},
    plan::Plan,
    tool::ToolSpec,
};
use runtime::{
    arguments::{self, Placeholders},
    registry::Announcement,
    schema::Schemas,
};
use serde_json::Value;

messages::texts!(edit);

/// The rules for an edited plan.
pub(crate) struct Rules<'a> {
    pub(crate) agent: &'a Agent,
    /// Goal of the job, the title of a plan without one.
    pub(crate) goal: &'a str,
    pub(crate) language: Language,
    pub(crate) tools: &'a [Arc<Announcement>],
    /// Cache of compiled schemas.
    pub(crate) schemas: &'a Schemas,
}

/// Builds the plan that replaces the one of `question`.
///
/// # Errors
/// All mistakes in the plan, for the person who wrote it. The question stays open.
pub(crate) fn plan(question: &Question, value: Value, rules: &Rules<'_>) -> Result<Plan, Failure> {
    let completed: BTreeSet<StepId> = question.kind.completed().iter().cloned().collect();
    let tools: Vec<&ToolSpec> = rules.tools.iter().map(|tool| &tool.spec).collect();
    let check_args = |tool: &ToolSpec, args: &Value| {
        arguments::check(rules.schemas, tool, args, Placeholders::Open)
    };
    let rules = draft::Rules {
        agent: rules.agent,
        goal: rules.goal,
        language: rules.language,
        tools: &tools,
        completed: &completed,
        check_args: &check_args,
    };
    let plan = draft::written(value, &rules)
        .map_err(|mistakes| mistakes.refusal(Code::InvalidAnswer, "value"))?;
    if plan.steps.is_empty() {
        let field = "value.steps";
        let why = Words::new(|language| {
            Text::At { field: &field, why: &empty_plan(language) }.text(language)
        });
        return Err(Failure::composed(Code::InvalidAnswer, &why).at(field));
    }
    Ok(plan)
}
