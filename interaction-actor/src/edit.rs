//! A plan edited by a person: parsed like a planner's, validated by the same rules, and rejected
//! with the names of the invalid fields. Pure.

use std::{collections::BTreeSet, sync::Arc};

use agents::{
    draft::{self, Frame},
    toolbox::Toolbox,
};
use proto::{
    agent::{Agent, SubAgent},
    error::{Code, Failure},
    family::{self, Offered},
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
    let wrong = |field: &str, why: &dyn Fn(Language) -> String| {
        let words = Words::new(|language| at(field, &why(language), language));
        Failure::composed(Code::InvalidAnswer, &words).at(field.to_owned())
    };
    let draft = draft::of(as_written(value)).map_err(|misshapen| {
        let inside =
            if misshapen.field == "." { String::new() } else { format!(".{}", misshapen.field) };
        let why = |language| misshapen.why.text(language).to_owned();
        wrong(&format!("value{inside}"), &why)
    })?;
    let presets = &rules.agent.tool.presets;
    let specs: Vec<_> = rules.tools.iter().map(|tool| presets.without(&tool.spec)).collect();
    let offer = |sub: &SubAgent| Offered { name: sub.name.clone(), about: String::new() };
    let agents: Vec<_> = rules.agent.agents.iter().map(offer).collect();
    let agents = family::as_tools(&agents, rules.language);
    let tools = Toolbox::new(specs.iter().map(AsRef::as_ref), rules.agent.tools.as_deref())
        .with_agents(&agents);
    let check_args = |tool: &ToolSpec, args: &Value| {
        arguments::check(rules.schemas, tool, args, Placeholders::Open)
    };
    let frame = Frame {
        goal: rules.goal,
        tools: &tools,
        completed: &completed,
        kept: &BTreeSet::new(),
        earlier: &completed,
        check_args: &check_args,
    };
    // All mistakes are reported together, so that the person can correct them at once.
    let mistakes = draft::mistakes(&draft, &frame);
    if let Some((first, _)) = mistakes.first() {
        let words = Words::new(|language| {
            let all = mistakes
                .iter()
                .map(|(field, why)| at(&format!("value.{field}"), &why.text(language), language));
            all.collect::<Vec<_>>().join("\n")
        });
        return Err(Failure::composed(Code::InvalidAnswer, &words).at(format!("value.{first}")));
    }
    let plan = draft::plan(draft, &frame)
        .map_err(|unsound| wrong("value", &|language| unsound.text(language)))?;
    if plan.steps.is_empty() {
        return Err(wrong("value.steps", &empty_plan));
    }
    let exec = rules.agent.step.exec;
    if let Some(step) = plan.steps.iter().find(|step| !exec.allows(&step.action)) {
        let why = Text::NotExecutable { step: &step.id };
        return Err(wrong("value.steps", &|language| why.text(language)));
    }
    Ok(plan)
}

fn at(field: &str, why: &str, language: Language) -> String {
    Text::At { field: &field, why: &why }.text(language)
}

/// Converts a shown plan to the form that planners write: the shown steps contain their action,
/// which the edited plan may repeat.
fn as_written(mut value: Value) -> Value {
    let steps = value.get_mut("steps").and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten().filter_map(Value::as_object_mut) {
        step.remove("binding");
        let how = step.get("action").and_then(Value::as_str);
        if matches!(how, Some("agent" | "tool"))
            && (how == Some("agent") || step.contains_key("tool"))
        {
            step.remove("action");
        }
    }
    value
}
