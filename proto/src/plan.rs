//! A plan: the steps of a job towards its goal. Every shape in which a model may write a plan is
//! normalised to this type. A plan with one invalid step is refused as a whole.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::{
    id::{StepId, ToolName},
    lang::Language,
    limits,
    tool::Binding,
};

messages::texts!(plan);

/// The steps of a job, in the planner's order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Plan {
    /// Purpose of the plan, in one line.
    pub title: String,
    /// Steps of the plan. Empty only when the agent's policy allows an empty plan.
    pub steps: Vec<Step>,
    /// Steps after which the rest of the plan is replanned, where the replan policy uses such
    /// marks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replan: Vec<StepId>,
    /// Language of the texts that follow the plan, where the submission named none. A plan without
    /// one keeps the language of the plan before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Step {
    /// Id of the step, unique within the job, replans included.
    pub id: StepId,
    /// Short title; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Task of the step.
    pub description: String,
    /// Steps that must complete before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Way in which the step is carried out.
    #[serde(flatten)]
    pub action: Action,
}

impl Step {
    /// Returns the text for screens: the title, or the description when the title is empty.
    #[must_use]
    pub fn label(&self) -> &str {
        if self.title.is_empty() { &self.description } else { &self.title }
    }

    /// Returns the step in the form in which a planner writes it, without the fields that only the
    /// machine needs. `agents::draft::of` parses this form.
    #[must_use]
    pub fn as_planned(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("id".to_owned(), json!(self.id));
        if !self.title.is_empty() {
            fields.insert("title".to_owned(), json!(self.title));
        }
        fields.insert("description".to_owned(), json!(self.description));
        if !self.depends_on.is_empty() {
            fields.insert("depends_on".to_owned(), json!(self.depends_on));
        }
        match &self.action {
            Action::Tool { tool, args, binding: _ } => {
                fields.insert("tool".to_owned(), json!(tool));
                fields.insert("args".to_owned(), args.clone());
            }
            Action::Agent => {}
        }
        Value::Object(fields)
    }
}

/// The way in which a step is carried out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum Action {
    /// A single tool call.
    Tool {
        /// Tool to call.
        tool: ToolName,
        /// Arguments, which may hold placeholders such as `{{step1.id}}`.
        #[serde(default)]
        args: Value,
        /// Entry of the planner's registry for the tool.
        binding: Binding,
    },
    /// A loop of model turns and tool calls that ends when the model reports a result.
    Agent,
}

/// An error in a plan.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub enum PlanError {
    /// The plan has no steps.
    Empty,
    /// The plan has more steps than [`limits::PLAN_STEPS_MAX`].
    TooManySteps(usize),
    /// Two steps have the same id.
    DuplicateId(StepId),
    /// A new step has the id of a completed one.
    Completed(StepId),
    /// A new step has the id of one that stays in the plan.
    Kept(StepId),
    /// A mark for replanning names an unknown step.
    Replan(StepId),
    /// A step depends on one that does not exist.
    Dangling {
        /// Step with the dependency.
        step: StepId,
        /// Id that does not exist.
        on: StepId,
    },
    /// A step depends on itself.
    SelfDependency(StepId),
    /// Steps depend on each other in a circle. The first id is repeated at the end.
    Cycle(Vec<StepId>),
    /// A step has more dependencies than [`limits::STEP_DEPENDENCIES_MAX`].
    TooManyDependencies(StepId),
    /// A step has no description.
    NoDescription(StepId),
    /// A text exceeds its bound.
    TooLong {
        /// Step with the text.
        step: StepId,
        /// Name of the text, such as `the title`.
        what: &'static str,
        /// Bound in bytes.
        max: usize,
    },
    /// A placeholder reads a step that its own step does not depend on.
    Undeclared {
        /// Step with the placeholder.
        step: StepId,
        /// Step that the placeholder reads.
        on: StepId,
    },
}

impl PlanError {
    /// Returns the description of the error in `language`.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let text = match self {
            Self::Empty => Text::Empty,
            Self::TooManySteps(count) => Text::TooManySteps { count, max: &limits::PLAN_STEPS_MAX },
            Self::DuplicateId(id) => Text::DuplicateId { id },
            Self::Completed(id) => Text::Completed { id },
            Self::Kept(id) => Text::Kept { id },
            Self::Replan(id) => Text::Replan { id },
            Self::Dangling { step, on } => Text::Dangling { step, on },
            Self::SelfDependency(id) => Text::SelfDependency { id },
            Self::Cycle(ids) => {
                let ids: Vec<_> = ids.iter().map(StepId::as_str).collect();
                return Text::Cycle { ids: &ids.join(" → ") }.text(language);
            }
            Self::TooManyDependencies(id) => {
                Text::TooManyDependencies { id, max: &limits::STEP_DEPENDENCIES_MAX }
            }
            Self::NoDescription(id) => Text::NoDescription { id },
            Self::TooLong { step, what, max } => Text::TooLong { step, what, max },
            Self::Undeclared { step, on } => Text::Undeclared { step, on },
        };
        text.text(language)
    }
}

impl Plan {
    /// Checks the plan as a whole.
    ///
    /// `completed` has the steps of earlier plans that have completed. New steps may depend on them
    /// and must not reuse their ids.
    ///
    /// # Errors
    /// Returns the first error, in terms that a planner can act upon.
    pub fn check(&self, completed: &BTreeSet<StepId>) -> Result<(), PlanError> {
        self.check_beside(completed, &BTreeSet::new())
    }

    /// Checks a plan whose steps are added to `kept`, the steps of the current plan that are still
    /// to be carried out.
    ///
    /// # Errors
    /// Returns the first error, in terms that a planner can act upon.
    pub fn check_beside(
        &self,
        completed: &BTreeSet<StepId>,
        kept: &BTreeSet<StepId>,
    ) -> Result<(), PlanError> {
        if self.steps.len() > limits::PLAN_STEPS_MAX {
            return Err(PlanError::TooManySteps(self.steps.len()));
        }
        let mut ids = BTreeSet::new();
        for step in &self.steps {
            step.check()?;
            if completed.contains(&step.id) {
                return Err(PlanError::Completed(step.id.clone()));
            }
            if kept.contains(&step.id) {
                return Err(PlanError::Kept(step.id.clone()));
            }
            if !ids.insert(&step.id) {
                return Err(PlanError::DuplicateId(step.id.clone()));
            }
        }
        for step in &self.steps {
            let known =
                |id: &StepId| ids.contains(id) || completed.contains(id) || kept.contains(id);
            if let Some(on) = step.depends_on.iter().find(|on| !known(on)) {
                return Err(PlanError::Dangling { step: step.id.clone(), on: on.clone() });
            }
        }
        if let Some(listed) = self.replan.iter().find(|id| !ids.contains(id)) {
            return Err(PlanError::Replan(listed.clone()));
        }
        self.cycle().map_or(Ok(()), |steps| Err(PlanError::Cycle(steps)))
    }

    /// Returns a cycle of dependencies, if there is one. Kahn's algorithm removes the steps without
    /// open dependencies; every remaining step is on a cycle or depends on one. Following
    /// dependencies from any of them leads into the cycle.
    fn cycle(&self) -> Option<Vec<StepId>> {
        let ids: BTreeSet<_> = self.steps.iter().map(|s| &s.id).collect();
        let mut open: BTreeMap<&StepId, BTreeSet<&StepId>> = BTreeMap::new();
        let mut waiting: BTreeMap<&StepId, Vec<&StepId>> = BTreeMap::new();
        for step in &self.steps {
            let inside: BTreeSet<_> = step.depends_on.iter().filter(|d| ids.contains(d)).collect();
            for on in &inside {
                waiting.entry(on).or_default().push(&step.id);
            }
            open.insert(&step.id, inside);
        }
        let mut free: Vec<_> =
            open.iter().filter(|(_, on)| on.is_empty()).map(|(id, _)| *id).collect();
        while let Some(done) = free.pop() {
            open.remove(done);
            for next in waiting.get(done).into_iter().flatten() {
                if let Some(on) = open.get_mut(next) {
                    on.remove(done);
                    if on.is_empty() {
                        free.push(next);
                    }
                }
            }
        }
        let mut at = *open.keys().next()?;
        let mut path: Vec<&StepId> = Vec::new();
        while !path.contains(&at) {
            path.push(at);
            at = open.get(at)?.iter().next()?;
        }
        let from = path.iter().position(|id| *id == at)?;
        let mut cycle: Vec<StepId> = path.get(from..)?.iter().map(|id| (*id).clone()).collect();
        cycle.push(at.clone());
        Some(cycle)
    }
}

impl Step {
    fn check(&self) -> Result<(), PlanError> {
        let too_long = |what, max| PlanError::TooLong { step: self.id.clone(), what, max };
        if self.description.trim().is_empty() {
            return Err(PlanError::NoDescription(self.id.clone()));
        }
        if self.title.len() > limits::TITLE_BYTES_MAX {
            return Err(too_long("the title", limits::TITLE_BYTES_MAX));
        }
        if self.description.len() > limits::DESCRIPTION_BYTES_MAX {
            return Err(too_long("the description", limits::DESCRIPTION_BYTES_MAX));
        }
        if self.depends_on.len() > limits::STEP_DEPENDENCIES_MAX {
            return Err(PlanError::TooManyDependencies(self.id.clone()));
        }
        if self.depends_on.contains(&self.id) {
            return Err(PlanError::SelfDependency(self.id.clone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(s: &str) -> StepId {
        StepId::new(s).unwrap()
    }

    /// Parses steps written as `"b<a"` (b depends on a), separated by spaces.
    fn plan(steps: &str) -> Plan {
        let steps = steps
            .split_whitespace()
            .map(|s| {
                let (name, on) = s.split_once('<').unwrap_or((s, ""));
                Step {
                    id: id(name),
                    title: String::new(),
                    description: "do it".into(),
                    depends_on: on.split(',').filter(|d| !d.is_empty()).map(id).collect(),
                    action: Action::Agent,
                }
            })
            .collect();
        Plan { title: "t".into(), steps, ..Plan::default() }
    }

    #[test]
    fn plans_that_are_not_whole_are_refused_as_a_whole() {
        let done = BTreeSet::from([id("old")]);
        let check = |steps: &str| plan(steps).check(&done).map_err(|e| e.to_string());
        assert_eq!(check("a b<a c<a,old d<b,c"), Ok(()));
        assert_eq!(check("a a"), Err("two steps have the id a".into()));
        assert_eq!(check("a<a"), Err("step a depends on itself".into()));
        assert_eq!(
            check("a b<x"),
            Err("step b depends on x, which is not a step of the plan".into())
        );
        assert_eq!(
            check("a<c b<a c<b z<c"),
            Err("Circular dependency detected in plan steps: a → c → b → a".into())
        );
        assert_eq!(
            check("old"),
            Err("step old has completed already and cannot be planned again; use another id".into())
        );
        let many: Vec<_> = (0..=limits::PLAN_STEPS_MAX).map(|n| format!("s{n}")).collect();
        assert!(check(&many.join(" ")).unwrap_err().contains("at most 500"));
    }

    #[test]
    fn steps_that_stay_may_be_depended_on_and_not_taken() {
        let (done, kept) = (BTreeSet::from([id("old")]), BTreeSet::from([id("open")]));
        let check = |steps| plan(steps).check_beside(&done, &kept).map_err(|e| e.to_string());
        assert_eq!(check("a<open b<old,a"), Ok(()));
        assert_eq!(
            check("open"),
            Err("step open is still part of the plan; use another id".into())
        );
    }

    #[test]
    fn what_is_listed_for_replanning_must_be_a_step() {
        let listed = |ids: &[&str]| {
            let replan = ids.iter().copied().map(id).collect();
            Plan { replan, ..plan("a b") }
                .check(&BTreeSet::from([id("old")]))
                .map_err(|e| e.to_string())
        };
        assert_eq!(listed(&["a", "b"]), Ok(()));
        let refused = |id| Err(format!("replan names {id}, which is not a step of the plan"));
        assert_eq!(listed(&["a", "x"]), refused("x"));
        assert_eq!(listed(&["old"]), refused("old"));
    }

    #[test]
    fn a_long_chain_is_checked_without_recursion() {
        let steps: Vec<_> =
            (1..limits::PLAN_STEPS_MAX).map(|n| format!("s{n}<s{}", n - 1)).collect();
        assert_eq!(plan(&format!("s0 {}", steps.join(" "))).check(&BTreeSet::new()), Ok(()));
    }
}
