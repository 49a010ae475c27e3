//! The difference between two points of a job, or between a job and its fork: a pure function of
//! two views.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AskId, Generation, JobId, Seq, StepId},
    job::{JobState, Outcome},
    message::Usage,
    revision::{Change, Line},
    step::StepState,
    view::{JobView, StepView},
};

/// The difference between two points, `from` and `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobDiff {
    /// First point.
    pub from: Side,
    /// Second point.
    pub to: Side,
    /// Plan at `to`, as a change of the plan at `from`; empty when neither point has a plan or both
    /// are equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<Line>,
    /// Steps at both points with different states or results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepDiff>,
    /// Questions that are open at one point only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionDiff>,
    /// Instructions at `to` that are missing at `from`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// Outcomes, when they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Changed<Option<Outcome>>>,
    /// Tokens used so far, when they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Changed<Usage>>,
}

/// One of the two points.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Side {
    /// Id of the job.
    pub job: JobId,
    /// Position of the last record.
    pub seq: Seq,
    /// Number of rollbacks so far.
    #[serde(default, skip_serializing_if = "Generation::is_first")]
    pub generation: Generation,
    /// State of the job.
    pub state: JobState,
    /// Title of the plan; absent without a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// The difference between two plans of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanDiff {
    /// Number of plans before the first one.
    pub from: u32,
    /// Number of plans before the second one.
    pub to: u32,
    /// Second plan, as a change of the first one; empty when both
    /// have the same steps with the same titles and dependencies.
    pub plan: Vec<Line>,
}

/// A value that differs between the points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Changed<T> {
    /// Value at the first point.
    pub from: T,
    /// Value at the second point.
    pub to: T,
}

/// A step that exists at both points and differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepDiff {
    /// Id of the step.
    pub id: StepId,
    /// States, when they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Changed<StepState>>,
    /// Successes that the results report, when they differ and the states do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<Changed<Option<bool>>>,
    /// Results or errors, when they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Changed<Option<String>>>,
}

/// A question that is open at one point only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QuestionDiff {
    /// `Added` when the question is open at the second point, `Dropped` when at the first.
    pub change: Change,
    /// Id of the question.
    pub id: AskId,
    /// Text of the question.
    pub prompt: String,
}

impl JobDiff {
    /// Computes the difference between two views.
    #[must_use]
    pub fn between(from: &JobView, to: &JobView) -> Self {
        let told =
            |view: &JobView| view.instructions.iter().map(|said| said.text.clone()).collect();
        let (before, after): (Vec<String>, Vec<String>) = (told(from), told(to));
        Self {
            from: Side::of(from),
            to: Side::of(to),
            plan: plan(steps(from), steps(to)),
            steps: both(steps(from), steps(to)),
            questions: questions(from, to),
            instructions: after.into_iter().filter(|said| !before.contains(said)).collect(),
            outcome: changed(&from.outcome, &to.outcome),
            usage: changed(&from.usage, &to.usage),
        }
    }

    /// Returns whether the points differ in nothing but their positions.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.from.state == self.to.state
            && self.plan.is_empty()
            && self.steps.is_empty()
            && self.questions.is_empty()
            && self.instructions.is_empty()
            && self.outcome.is_none()
            && self.usage.is_none()
    }
}

impl PlanDiff {
    /// Computes the difference between two plans, given by their numbers.
    ///
    /// # Errors
    /// Returns the number that no plan of the job has.
    pub fn between(view: &JobView, from: u32, to: u32) -> Result<Self, u32> {
        let plan = |number| lines_of(view, number).ok_or(number);
        Ok(Self { from, to, plan: compare(&plan(from)?, &plan(to)?) })
    }
}

/// Returns the steps of a plan of a job by its number; `None` if the job has had no such plan.
#[must_use]
pub fn lines_of(view: &JobView, number: u32) -> Option<Vec<Line>> {
    if let Some(revision) = view.revisions.iter().find(|revision| revision.number == number) {
        let mut lines = revision.steps.clone();
        lines.retain(|line| line.change != Change::Dropped);
        return Some(lines);
    }
    let plan = view.plan.as_ref().filter(|plan| plan.revision == number)?;
    Some(plan.steps.iter().map(line).collect())
}

impl Side {
    fn of(view: &JobView) -> Self {
        Self {
            job: view.job.clone(),
            seq: view.seq,
            generation: view.generation,
            state: view.state,
            plan: view.plan.as_ref().map(|plan| plan.title.clone()),
        }
    }
}

fn steps(view: &JobView) -> &[StepView] {
    view.plan.as_ref().map_or(&[], |plan| &plan.steps)
}

fn changed<T: PartialEq + Clone>(from: &T, to: &T) -> Option<Changed<T>> {
    (from != to).then(|| Changed { from: from.clone(), to: to.clone() })
}

/// Returns whether two steps are the same step of a plan, regardless of their states.
fn is_same(a: &StepView, b: &StepView) -> bool {
    (&a.id, &a.title, &a.description, &a.depends_on, &a.tool)
        == (&b.id, &b.title, &b.description, &b.depends_on, &b.tool)
}

/// Returns the line of a step that changed nothing.
fn line(step: &StepView) -> Line {
    Line {
        change: Change::Kept,
        id: step.id.clone(),
        label: if step.title.is_empty() { step.description.clone() } else { step.title.clone() },
        depends_on: step.depends_on.clone(),
        state: step.state,
    }
}

fn plan(from: &[StepView], to: &[StepView]) -> Vec<Line> {
    changes(from, to, is_same, line)
}

fn compare(from: &[Line], to: &[Line]) -> Vec<Line> {
    let is_same =
        |a: &Line, b: &Line| (&a.id, &a.label, &a.depends_on) == (&b.id, &b.label, &b.depends_on);
    changes(from, to, is_same, Line::clone)
}

/// Returns the second list as a change of the first one; nothing if both are equal.
fn changes<T>(
    from: &[T],
    to: &[T],
    is_same: impl Fn(&T, &T) -> bool,
    line: impl Fn(&T) -> Line,
) -> Vec<Line> {
    let among = |all: &[T], one: &T| all.iter().any(|other| is_same(other, one));
    let dropped = from.iter().filter(|one| !among(to, one));
    let dropped = dropped.map(|one| Line { change: Change::Dropped, ..line(one) });
    let there = to.iter().map(|one| {
        let change = if among(from, one) { Change::Kept } else { Change::Added };
        Line { change, ..line(one) }
    });
    let lines: Vec<_> = dropped.chain(there).collect();
    if lines.iter().all(|line| line.change == Change::Kept) { Vec::new() } else { lines }
}

fn both(from: &[StepView], to: &[StepView]) -> Vec<StepDiff> {
    let differs = |step: &StepView| {
        let before = from.iter().find(|before| is_same(before, step))?;
        let state = changed(&before.state, &step.state);
        // A success is reported only when the states agree; a step that completes again may report
        // another success.
        let success = changed(&before.success, &step.success).filter(|_| state.is_none());
        let response = changed(&before.response, &step.response);
        let differs = state.is_some() || success.is_some() || response.is_some();
        differs.then(|| StepDiff { id: step.id.clone(), state, success, response })
    };
    to.iter().filter_map(differs).collect()
}

fn questions(from: &JobView, to: &JobView) -> Vec<QuestionDiff> {
    let only = |here: &JobView, there: &JobView, change| {
        let open = |id: &AskId| there.questions.iter().any(|question| question.id == *id);
        let only: Vec<_> = here.questions.iter().filter(|question| !open(&question.id)).collect();
        let line = |question: &&crate::interaction::Question| QuestionDiff {
            change,
            id: question.id.clone(),
            prompt: question.prompt.clone(),
        };
        only.iter().map(line).collect::<Vec<_>>()
    };
    let mut all = only(from, to, Change::Dropped);
    all.extend(only(to, from, Change::Added));
    all
}
