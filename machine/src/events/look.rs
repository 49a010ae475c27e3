//! A job as its events are made from it, borrowed from the fold.
//!
//! Only this file knows where the fold keeps a field. A look copies no text and no list, so that a
//! record costs what it changed.

use std::sync::Arc;

use proto::{
    family::ChildQuestion,
    id::{StepId, ToolName},
    interaction::Question,
    job::{JobState, Outcome, SubStatus},
    lang::Language,
    message::Usage,
    outline::Item,
    plan::{Action, Step},
    step::StepState,
};

use crate::{
    state::{Job, Open},
    step::StepRun,
};

/// A job after one of its records.
pub(super) struct Look<'a> {
    job: &'a Job,
    open: &'a Open,
    pub(super) state: JobState,
    pub(super) sub_status: Option<SubStatus>,
}

impl<'a> Look<'a> {
    /// Nothing before the job's submission.
    pub(super) fn at(job: &'a Job) -> Option<Self> {
        let open = job.open.as_ref()?;
        let (state, sub_status) = job.state(open);
        Some(Self { job, open, state, sub_status })
    }

    pub(super) fn outcome(&self) -> Option<&'a Outcome> {
        self.open.outcome()
    }

    pub(super) fn ignored(&self) -> u64 {
        self.job.ignored
    }

    pub(super) fn goal(&self) -> &'a str {
        &self.open.brief.goal
    }

    pub(super) fn language(&self) -> Language {
        self.open.brief.language
    }

    pub(super) fn usage(&self) -> Usage {
        self.open.spending.usage()
    }

    pub(super) fn outline(&self) -> &'a [Item] {
        self.open.planning.outline()
    }

    /// The reason for its state.
    pub(super) fn reason(&self) -> Option<String> {
        self.job.status(self.open).2
    }

    /// Its open questions, oldest first.
    pub(super) fn questions(&self) -> impl Iterator<Item = &'a Question> {
        self.open.questions.open_in_order().map(|asking| &asking.question)
    }

    /// Open questions of its descendants. A job that has ended waits for none of them.
    pub(super) fn descendants_questions(&self) -> impl Iterator<Item = &'a ChildQuestion> {
        let family = self.open.outcome().is_none().then_some(&self.open.family);
        family.into_iter().flat_map(|family| family.all_questions())
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.sub_status == Some(SubStatus::Poisoned)
    }

    /// Whether work was given up and waits for an operator. A job that waits for an answer, its own
    /// or a descendant's, is parked too, and its question says so.
    pub(super) fn has_given_up(&self) -> bool {
        self.sub_status == Some(SubStatus::Parked)
            && self.questions().next().is_none()
            && self.descendants_questions().next().is_none()
    }

    /// The plan, proposed or in force.
    pub(super) fn plan(&self) -> Option<PlanLook<'a>> {
        let open = self.open;
        let execution = &open.execution;
        if let Some(plan) = open.planning.stage().proposed() {
            let (title, proposed) = (plan.title.as_str(), plan.steps.as_slice());
            let revision = execution.revision();
            return Some(PlanLook { open, title, revision, confirmed: false, proposed });
        }
        let revision = execution.revision().checked_sub(1)?;
        Some(PlanLook { open, title: execution.title(), revision, confirmed: true, proposed: &[] })
    }
}

/// A plan and the progress of its steps.
pub(super) struct PlanLook<'a> {
    open: &'a Open,
    pub(super) title: &'a str,
    pub(super) revision: u32,
    pub(super) confirmed: bool,
    /// Steps that no person has confirmed yet.
    proposed: &'a [Step],
}

impl<'a> PlanLook<'a> {
    /// Its steps, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = StepLook<'a>> + use<'a> {
        let runs = self.open.in_sight().map(StepLook::Run);
        runs.chain(self.proposed.iter().map(StepLook::Proposed))
    }
}

/// A step and its progress.
#[derive(Clone, Copy)]
pub(super) enum StepLook<'a> {
    /// One of a plan that is or was in force.
    Run(&'a StepRun),
    /// One of a plan that waits to be confirmed.
    Proposed(&'a Step),
}

impl<'a> StepLook<'a> {
    pub(super) fn step(self) -> &'a Step {
        match self {
            Self::Run(run) => &run.step,
            Self::Proposed(step) => step,
        }
    }

    /// The step for a later comparison. That of a plan in force is shared.
    pub(super) fn shared(self) -> Arc<Step> {
        match self {
            Self::Run(run) => Arc::clone(&run.step),
            Self::Proposed(step) => Arc::new(step.clone()),
        }
    }

    pub(super) fn id(self) -> &'a StepId {
        &self.step().id
    }

    pub(super) fn state(self) -> StepState {
        self.run().map_or(StepState::Pending, |run| run.state)
    }

    pub(super) fn attempts(self) -> u32 {
        self.run().map_or(0, |run| run.attempted)
    }

    pub(super) fn attachments(self) -> &'a [String] {
        self.run().map_or(&[], |run| &run.attachments)
    }

    pub(super) fn outline(self) -> &'a [Item] {
        self.run().and_then(|run| run.outline.as_deref()).unwrap_or_default()
    }

    /// Its result or error, once it has ended.
    pub(super) fn response(self) -> Option<&'a str> {
        self.run().filter(|run| run.state.is_terminal())?.response.as_deref()
    }

    /// Whether it completed and reported no success.
    pub(super) fn is_unsuccessful(self) -> bool {
        self.run().is_some_and(|run| run.state == StepState::Completed && run.unsuccessful)
    }

    fn run(self) -> Option<&'a StepRun> {
        match self {
            Self::Run(run) => Some(run),
            Self::Proposed(_) => None,
        }
    }
}

/// The tool of a step that is one tool call.
pub(super) fn tool(step: &Step) -> Option<&ToolName> {
    match &step.action {
        Action::Tool { tool, .. } => Some(tool),
        Action::Agent => None,
    }
}
