//! What differs between two points of one job, or between a job and its fork: pure over two views.

use serde::{Deserialize, Serialize};

use crate::{
    id::{AskId, Generation, JobId, Seq, StepId},
    job::{JobState, Outcome},
    message::Usage,
    revision::{Change, Line},
    step::StepState,
    view::{JobView, StepView},
};

/// The difference between two points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobDiff {
    /// One.
    pub from: Side,
    /// The other.
    pub to: Side,
    /// The plan of the other as a change of that of the one; nothing when neither has one or they are
    /// the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<Line>,
    /// Steps of both that do not stand where they stood, or say something else.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepDiff>,
    /// Questions that are open at one of them only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionDiff>,
    /// What people told the job at the other and not at the one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// How they ended, when they did not end alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Changed<Option<Outcome>>>,
    /// Tokens so far, when they are not the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Changed<Usage>>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// The job.
    pub job: JobId,
    /// Its last record there.
    pub seq: Seq,
    /// How often it had been rolled back.
    #[serde(default, skip_serializing_if = "Generation::is_first")]
    pub generation: Generation,
    /// Its state there.
    pub state: JobState,
    /// What its plan is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// Something that is not the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Changed<T> {
    /// At the one.
    pub from: T,
    /// At the other.
    pub to: T,
}

/// A step that both have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepDiff {
    /// Which.
    pub id: StepId,
    /// Where it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Changed<StepState>>,
    /// Whether its result says success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<Changed<Option<bool>>>,
    /// Its result or error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<Changed<Option<String>>>,
}

/// A question that is open at one of them only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionDiff {
    /// Added when it is open at the other.
    pub change: Change,
    /// Which.
    pub id: AskId,
    /// What is asked.
    pub prompt: String,
}

impl JobDiff {
    /// The difference between two points.
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

    /// Whether nothing differs but the position.
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

/// Whether two steps are one and the same in a plan, however they stand.
fn is_same(a: &StepView, b: &StepView) -> bool {
    (&a.id, &a.title, &a.description, &a.depends_on, &a.tool)
        == (&b.id, &b.title, &b.description, &b.depends_on, &b.tool)
}

fn plan(from: &[StepView], to: &[StepView]) -> Vec<Line> {
    let line = |change, step: &StepView| Line {
        change,
        id: step.id.clone(),
        label: if step.title.is_empty() { step.description.clone() } else { step.title.clone() },
        depends_on: step.depends_on.clone(),
        state: step.state,
    };
    let among = |steps: &[StepView], step: &StepView| steps.iter().any(|s| is_same(s, step));
    let gone = from.iter().filter(|step| !among(to, step)).map(|s| line(Change::Dropped, s));
    let there = to.iter().map(|step| {
        let change = if among(from, step) { Change::Kept } else { Change::Added };
        line(change, step)
    });
    let lines: Vec<_> = gone.chain(there).collect();
    if lines.iter().all(|line| line.change == Change::Kept) { Vec::new() } else { lines }
}

fn both(from: &[StepView], to: &[StepView]) -> Vec<StepDiff> {
    let differs = |step: &StepView| {
        let before = from.iter().find(|before| is_same(before, step))?;
        let state = changed(&before.state, &step.state);
        // Where the states differ, they say it; a step that completes twice may say another thing.
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
