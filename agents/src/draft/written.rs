//! A plan that a person or a program wrote. Its author is told every mistake at once, unlike a
//! model. Pure.

use std::collections::BTreeSet;

use proto::{
    agent::{Agent, SubAgent},
    error::{Code, Failure},
    family::{self, Offered},
    id::StepId,
    lang::{Language, Words},
    plan::Plan,
    tool::ToolSpec,
};
use serde_json::Value;

use super::{CheckArgs, Frame, mistakes, of, plan};
use crate::toolbox::Toolbox;

messages::texts!(written_plan);

/// The rules for a written plan.
pub struct Rules<'a> {
    /// Agent of the job.
    pub agent: &'a Agent,
    /// Goal of the job, the title of a plan without one.
    pub goal: &'a str,
    /// Language of the job.
    pub language: Language,
    /// Registered tools.
    pub tools: &'a [&'a ToolSpec],
    /// Completed steps of earlier plans.
    pub completed: &'a BTreeSet<StepId>,
    /// Check of the arguments.
    pub check_args: CheckArgs<'a>,
}

/// The mistakes in a written plan; at least one.
#[derive(Debug)]
pub struct Mistakes(Vec<(String, Words)>);

impl Mistakes {
    /// Returns the refusal of the request or answer whose field `root` holds the plan. It names every
    /// mistake, and the field of the first one.
    #[must_use]
    pub fn refusal(&self, code: Code, root: &str) -> Failure {
        let field = |inside: &str| match inside {
            "" | "." => root.to_owned(),
            inside if inside.starts_with('[') => format!("{root}{inside}"),
            inside => format!("{root}.{inside}"),
        };
        let words = Words::new(|language| {
            let line = |(inside, why): &(String, Words)| {
                Text::At { field: &field(inside), why: &why.text(language) }.text(language)
            };
            self.0.iter().map(line).collect::<Vec<_>>().join("\n")
        });
        let first = self.0.first().map(|(inside, _)| field(inside)).unwrap_or_default();
        Failure::composed(code, &words).at(first)
    }
}

/// Builds the plan. It may be empty.
///
/// # Errors
/// All mistakes, up to the limit of [`mistakes`].
pub fn written(value: Value, rules: &Rules<'_>) -> Result<Plan, Mistakes> {
    let one = |field: &str, why: &dyn Fn(Language) -> String| {
        Mistakes(vec![(field.to_owned(), Words::new(why))])
    };
    let draft = of(as_planners_write(value)).map_err(|misshapen| {
        one(&misshapen.field, &|language| misshapen.why.text(language).to_owned())
    })?;
    let presets = &rules.agent.tool.presets;
    let specs: Vec<_> = rules.tools.iter().map(|tool| presets.without(tool)).collect();
    let offer = |sub: &SubAgent| Offered { name: sub.name.clone(), about: String::new() };
    let agents: Vec<_> = rules.agent.agents.iter().map(offer).collect();
    let agents = family::as_tools(&agents, rules.language);
    let tools = Toolbox::new(specs.iter().map(AsRef::as_ref), rules.agent.tools.as_deref())
        .with_agents(&agents);
    let frame = Frame {
        goal: rules.goal,
        tools: &tools,
        completed: rules.completed,
        kept: &BTreeSet::new(),
        earlier: rules.completed,
        check_args: rules.check_args,
    };
    let found = mistakes(&draft, &frame);
    if !found.is_empty() {
        let words = |(field, why): (String, super::Unsound)| {
            (field, Words::new(|language| why.text(language)))
        };
        return Err(Mistakes(found.into_iter().map(words).collect()));
    }
    let plan =
        plan(draft, &frame).map_err(|unsound| one("", &|language| unsound.text(language)))?;
    let exec = rules.agent.step.exec;
    if let Some(step) = plan.steps.iter().find(|step| !exec.allows(&step.action)) {
        let why = Text::NotExecutable { step: &step.id };
        return Err(one("steps", &|language| why.text(language)));
    }
    Ok(plan)
}

/// Converts a plan as it is shown to the form that planners write: shown steps contain their action.
fn as_planners_write(mut value: Value) -> Value {
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
