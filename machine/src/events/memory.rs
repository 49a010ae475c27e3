//! The earlier state of a job, with which its next record is compared.
//!
//! It is updated in place: a field is copied only if it has changed.

use std::sync::Arc;

use proto::{
    event::Descendant,
    id::{AskId, Seq, StepId},
    job::{JobState, SubStatus},
    outline::Item,
    plan::{Plan, Step},
    step::StepState,
};

use super::look::{Look, PlanLook, StepLook, tool};

/// The state of a job before the record that is taken.
#[derive(Debug)]
pub(super) struct Before {
    pub(super) stands: (JobState, Option<SubStatus>),
    pub(super) has_ended: bool,
    pub(super) has_given_up: bool,
    /// `true` if the job had a plan to show, which is then the last reported one.
    pub(super) has_plan: bool,
    pub(super) ignored: u64,
    /// Newest edit of the graph that is in force.
    pub(super) edited: Option<Seq>,
    pub(super) outline: Vec<Item>,
    /// Ids of its open questions, oldest first.
    pub(super) questions: Vec<AskId>,
    /// Open questions of descendants.
    pub(super) descendants: Vec<(AskId, Descendant)>,
}

impl Before {
    pub(super) fn of(look: &Look<'_>) -> Self {
        let mut before = Self {
            stands: (look.state, look.sub_status),
            has_ended: false,
            has_given_up: false,
            has_plan: false,
            ignored: 0,
            edited: None,
            outline: Vec::new(),
            questions: Vec::new(),
            descendants: Vec::new(),
        };
        before.update(look);
        before
    }

    pub(super) fn update(&mut self, look: &Look<'_>) {
        self.stands = (look.state, look.sub_status);
        self.has_ended = look.outcome().is_some();
        self.has_given_up = look.has_given_up();
        self.has_plan = look.plan().is_some();
        self.ignored = look.ignored();
        self.edited = look.newest_edit().map(|edit| edit.seq);
        update(&mut self.outline, look.outline());
        if !self.questions.iter().eq(look.questions().map(|question| &question.id)) {
            self.questions = look.questions().map(|question| question.id.clone()).collect();
        }
        let waiting = look.descendants_questions();
        if !self
            .descendants
            .iter()
            .map(|(ask, of)| (ask, &of.job))
            .eq(waiting.map(|waiting| (&waiting.question.id, &waiting.job)))
        {
            let waiting = look.descendants_questions();
            let waiting = waiting.map(|one| {
                let of = Descendant { job: one.job.clone(), path: one.path.clone() };
                (one.question.id.clone(), of)
            });
            self.descendants = waiting.collect();
        }
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.stands.1 == Some(SubStatus::Poisoned)
    }
}

/// The plan that was reported last. It is kept while the next plan is made.
#[derive(Debug, Default)]
pub(super) struct ToldPlan {
    title: String,
    revision: u32,
    confirmed: bool,
    replanning: bool,
    /// The plan that was not confirmed.
    proposed: Option<Arc<Plan>>,
    pub(super) steps: Vec<ToldStep>,
}

/// A step of the plan that was reported last.
#[derive(Debug)]
pub(super) struct ToldStep {
    step: Arc<Step>,
    pub(super) state: StepState,
    pub(super) attempts: u32,
    pub(super) attachments: Vec<String>,
    outline: Vec<Item>,
}

impl ToldPlan {
    /// Returns `true` if the plans are equal except for the progress of their steps. `is_still` says
    /// that the steps are those of [`Self::has_steps_of`].
    pub(super) fn is(&self, plan: &PlanLook<'_>, is_still: bool) -> bool {
        let mut steps = plan.steps();
        let mut are_same = || {
            self.steps.iter().all(|told| steps.next().is_some_and(|step| told.is(step)))
                && steps.next().is_none()
        };
        (self.revision, self.confirmed, self.replanning)
            == (plan.revision, plan.confirmed, plan.replanning)
            && self.title == plan.title
            && (is_still || are_same())
    }

    /// Returns `true` if the steps are the very same ones and made no progress.
    pub(super) fn has_steps_of(&self, plan: &PlanLook<'_>) -> bool {
        let proposed = match (&self.proposed, plan.proposed) {
            (None, None) => 0,
            (Some(was), Some(is)) if Arc::ptr_eq(was, is) => is.steps.len(),
            (None | Some(_), None | Some(_)) => return false,
        };
        let mut told = self.steps.iter();
        plan.runs().all(|run| told.next().is_some_and(|told| told.stands(run)))
            && told.len() == proposed
    }

    /// Remembers a plan.
    pub(super) fn update(&mut self, plan: &PlanLook<'_>, is_still: bool) {
        if self.title != plan.title {
            plan.title.clone_into(&mut self.title);
        }
        (self.revision, self.confirmed) = (plan.revision, plan.confirmed);
        self.replanning = plan.replanning;
        if is_still {
            return;
        }
        self.proposed = plan.proposed.cloned();
        let mut there = 0;
        for step in plan.steps() {
            match self.steps.get_mut(there) {
                Some(told) if told.is_of(step) => told.update(step),
                Some(told) => *told = ToldStep::of(step),
                None => self.steps.push(ToldStep::of(step)),
            }
            there += 1;
        }
        self.steps.truncate(there);
    }
}

impl ToldStep {
    fn of(step: StepLook<'_>) -> Self {
        Self {
            step: step.shared(),
            state: step.state(),
            attempts: step.attempts(),
            attachments: step.attachments().to_vec(),
            outline: step.outline().to_vec(),
        }
    }

    fn update(&mut self, step: StepLook<'_>) {
        (self.state, self.attempts) = (step.state(), step.attempts());
        update(&mut self.attachments, step.attachments());
        update(&mut self.outline, step.outline());
    }

    pub(super) fn id(&self) -> &StepId {
        &self.step.id
    }

    pub(super) fn label(&self) -> &str {
        self.step.label()
    }

    /// Returns `true` if this is a step with the same id.
    pub(super) fn has_id_of(&self, step: StepLook<'_>) -> bool {
        std::ptr::eq(&*self.step, step.step()) || *self.id() == *step.id()
    }

    /// Returns `true` if this is the very same step and it made no progress.
    fn stands(&self, step: StepLook<'_>) -> bool {
        std::ptr::eq(&*self.step, step.step())
            && (self.state, self.attempts) == (step.state(), step.attempts())
            && self.attachments == step.attachments()
            && self.outline == step.outline()
    }

    fn is(&self, step: StepLook<'_>) -> bool {
        self.is_of(step) && self.outline == step.outline()
    }

    /// Returns `true` if this is the same step in every field that users see.
    fn is_of(&self, step: StepLook<'_>) -> bool {
        let (was, is) = (&*self.step, step.step());
        std::ptr::eq(was, is)
            || (was.id == is.id
                && was.title == is.title
                && was.description == is.description
                && was.depends_on == is.depends_on
                && tool(was) == tool(is))
    }
}

fn update<T: Clone + PartialEq>(told: &mut Vec<T>, now: &[T]) {
    if *told != now {
        now.clone_into(told);
    }
}
