//! The states of a job, of its steps and of its questions, and the transitions between two looks at
//! them, for code that logs them.

use std::collections::BTreeMap;

use proto::{
    id::{AskId, StepId},
    job::{JobState, SubStatus},
    step::StepState,
};

use crate::state::{AskState, Job};

/// The states of a job, of its steps and of its questions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct States {
    job: Option<(JobState, Option<SubStatus>)>,
    /// A step that a later plan kept or names again has the state in the latest plan.
    steps: BTreeMap<StepId, StepState>,
    questions: BTreeMap<AskId, QuestionState>,
}

/// The state of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::Display)]
#[strum(serialize_all = "snake_case")]
pub enum QuestionState {
    /// The question waits for a person.
    Open,
    /// The question has its first valid answer.
    Answered,
    /// The question closed without an answer.
    Closed,
}

/// The transition of one state. `from` is `None` where nothing was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    /// The job's state or its detail changed.
    Job {
        /// State before.
        from: Option<JobState>,
        /// State after.
        to: JobState,
        /// Detail of the state after.
        sub_status: Option<SubStatus>,
    },
    /// The state of a step changed.
    Step {
        /// The step.
        step: StepId,
        /// State before.
        from: Option<StepState>,
        /// State after.
        to: StepState,
    },
    /// The state of a question changed.
    Question {
        /// The question.
        ask: AskId,
        /// State before.
        from: Option<QuestionState>,
        /// State after.
        to: QuestionState,
    },
}

impl States {
    /// Returns the states of a job, which are empty before its submission.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        let Some(open) = &job.open else { return Self::default() };
        let state = |asked: &AskState| match asked {
            AskState::Open => QuestionState::Open,
            AskState::Answered { .. } => QuestionState::Answered,
            AskState::ToClose(_) | AskState::Closed(_) => QuestionState::Closed,
        };
        let steps = open.execution.all().map(|run| (run.step.id.clone(), run.state));
        let questions = open.questions.all();
        Self {
            job: Some(job.state(open)),
            steps: steps.collect(),
            questions: questions.map(|q| (q.question.id.clone(), state(q.state()))).collect(),
        }
    }

    /// Returns the transitions from these states to later ones: the job's, then those of steps and
    /// of questions by id. What a rollback removed has none.
    #[must_use]
    pub fn transitions_to(&self, later: &Self) -> Vec<Transition> {
        let job = later.job.filter(|_| self.job != later.job).map(|(to, sub_status)| {
            Transition::Job { from: self.job.map(|(state, _)| state), to, sub_status }
        });
        let steps = changed(&self.steps, &later.steps);
        let steps = steps.map(|(step, from, to)| Transition::Step { step: step.clone(), from, to });
        let questions = changed(&self.questions, &later.questions);
        let questions =
            questions.map(|(ask, from, to)| Transition::Question { ask: ask.clone(), from, to });
        job.into_iter().chain(steps).chain(questions).collect()
    }
}

/// Returns the keys whose values are new or changed, with the values before and after.
fn changed<'a, K: Ord, V: Copy + PartialEq>(
    before: &'a BTreeMap<K, V>,
    after: &'a BTreeMap<K, V>,
) -> impl Iterator<Item = (&'a K, Option<V>, V)> {
    let with_before = after.iter().map(|(key, to)| (key, before.get(key).copied(), *to));
    with_before.filter(|(_, from, to)| *from != Some(*to))
}
