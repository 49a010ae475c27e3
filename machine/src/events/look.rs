//! A borrowed view of a job, from which its events are derived.
//!
//! Only this file knows the fields of the fold. The view copies no text and no list, so the cost of
//! a record depends on what it changed.

use std::sync::Arc;

use proto::{
    fact::Called,
    family::ChildQuestion,
    id::{StepId, ToolName},
    interaction::Question,
    job::{JobState, Outcome, SubStatus},
    lang::Language,
    message::Usage,
    outline::Item,
    plan::{Action, Plan, Step},
    step::StepState,
    view::Artifact,
    workflow::{Region, Visit, WorkKind},
};

use crate::{
    graph::{Way, way},
    state::{ActiveJob, EditRequest, Job, Trail},
    step::StepRun,
};

/// A job after one of its records.
pub(super) struct Look<'a> {
    job: &'a Job,
    open: &'a ActiveJob,
    pub(super) state: JobState,
    pub(super) sub_status: Option<SubStatus>,
}

impl<'a> Look<'a> {
    /// Returns the view, or `None` before the job's submission.
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

    /// Returns the newest edit of the graph that is in force.
    pub(super) fn newest_edit(&self) -> Option<&'a EditRequest> {
        self.open.graph.as_deref()?.newest_edit()
    }

    /// Returns the artifacts that the result of a call in the last record published. The record may have
    /// further results.
    pub(super) fn new_artifacts<'b>(
        &self,
        called: &'b Called,
    ) -> impl Iterator<Item = &'a Artifact> + use<'a, 'b> {
        let seq = self.job.seq;
        self.open.artifacts.all().filter(move |artifact| {
            let is_its = || called.files.iter().any(|file| file.name == artifact.file.name);
            artifact.seq == Some(seq) && is_its()
        })
    }

    pub(super) fn goal(&self) -> &'a str {
        &self.open.brief.goal
    }

    pub(super) fn language(&self) -> Language {
        self.open.language()
    }

    pub(super) fn planned_language(&self) -> Option<Language> {
        self.open.planned_language()
    }

    pub(super) fn usage(&self) -> Usage {
        self.open.spending.usage()
    }

    pub(super) fn outline(&self) -> &'a [Item] {
        self.open.planning.outline()
    }

    /// Returns the reason for the sub-status.
    pub(super) fn reason(&self) -> Option<String> {
        self.job.status(self.open).2
    }

    /// Returns the open questions, oldest first.
    pub(super) fn questions(&self) -> impl Iterator<Item = &'a Question> {
        self.open.questions.open_in_order().map(|asking| &asking.question)
    }

    /// Returns the open questions of descendants; none once the job has ended.
    pub(super) fn descendants_questions(&self) -> impl Iterator<Item = &'a ChildQuestion> {
        let family = self.open.outcome().is_none().then_some(&self.open.family);
        family.into_iter().flat_map(|family| family.all_questions())
    }

    pub(super) fn is_poisoned(&self) -> bool {
        self.sub_status == Some(SubStatus::Poisoned)
    }

    /// Returns `true` if the job is parked because work was given up. A job that is parked for an
    /// answer has a question instead.
    pub(super) fn has_given_up(&self) -> bool {
        self.sub_status == Some(SubStatus::Parked)
            && self.questions().next().is_none()
            && self.descendants_questions().next().is_none()
    }

    /// Returns the beginnings and ends of visits in the last advance of a workflow.
    pub(super) fn trail(&self) -> impl Iterator<Item = VisitLook<'a>> {
        let open = self.open;
        let graph = open.graph.as_deref();
        let regions = graph.map(|graph| graph.run().definition.regions()).unwrap_or_default();
        open.visits.trail().filter_map(move |(one, visited)| {
            let node = graph?.node(&visited.visit.node)?;
            let has_ended = matches!(one, Trail::Ended(_));
            let step = open.execution.of_visit(&visited.visit);
            let region = regions.get(&visited.visit.node).unwrap_or(&Region::Main);
            let timed_out = step.is_some_and(StepRun::is_timed_out);
            Some(VisitLook {
                visit: &visited.visit,
                label: node.title.as_deref().unwrap_or(visited.visit.node.as_str()),
                kind: node.work.kind(),
                has_ended,
                state: open.state_of_visit(visited),
                error: visited.error(),
                way: if has_ended { way(visited, timed_out, region) } else { None },
            })
        })
    }

    /// Returns the plan, proposed or in force.
    pub(super) fn plan(&self) -> Option<PlanLook<'a>> {
        let open = self.open;
        let execution = &open.execution;
        let proposed = open.planning.stage().proposed();
        if let Some(plan) = proposed {
            let (title, revision) = (plan.title.as_str(), execution.revision());
            let (confirmed, replanning) = (false, false);
            return Some(PlanLook { open, title, revision, confirmed, replanning, proposed });
        }
        let revision = execution.revision().checked_sub(1)?;
        Some(PlanLook {
            open,
            title: execution.title(),
            revision,
            confirmed: true,
            replanning: open.is_replanning(),
            proposed: None,
        })
    }
}

/// A beginning or an end of a visit.
pub(super) struct VisitLook<'a> {
    pub(super) visit: &'a Visit,
    /// Title of the node, or its id.
    pub(super) label: &'a str,
    pub(super) kind: WorkKind,
    pub(super) has_ended: bool,
    pub(super) state: StepState,
    pub(super) error: Option<&'a str>,
    /// Way on, after an end.
    pub(super) way: Option<Way>,
}

/// A plan and the progress of its steps.
pub(super) struct PlanLook<'a> {
    open: &'a ActiveJob,
    pub(super) title: &'a str,
    pub(super) revision: u32,
    pub(super) confirmed: bool,
    /// `true` while the planner makes the next plan.
    pub(super) replanning: bool,
    /// The plan that is not confirmed yet.
    pub(super) proposed: Option<&'a Arc<Plan>>,
}

impl<'a> PlanLook<'a> {
    /// Returns the steps, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = StepLook<'a>> + use<'a> {
        let proposed = self.proposed.into_iter().flat_map(|plan| &plan.steps);
        self.runs().chain(proposed.map(StepLook::Proposed))
    }

    /// Returns the steps that are or were in force, in order.
    pub(super) fn runs(&self) -> impl Iterator<Item = StepLook<'a>> + use<'a> {
        self.open.in_sight().map(StepLook::Run)
    }
}

/// A step and its progress.
#[derive(Clone, Copy)]
pub(super) enum StepLook<'a> {
    /// A step of a plan that is or was in force.
    Run(&'a StepRun),
    /// A step of a plan that waits for confirmation.
    Proposed(&'a Step),
}

impl<'a> StepLook<'a> {
    pub(super) fn step(self) -> &'a Step {
        match self {
            Self::Run(run) => &run.step,
            Self::Proposed(step) => step,
        }
    }

    /// Returns the step for a later comparison. A step in force is shared, not copied.
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

    /// Returns the result or error, once the step has ended.
    pub(super) fn response(self) -> Option<&'a str> {
        self.run().filter(|run| run.state.is_terminal())?.response.as_deref()
    }

    /// Returns `true` if the step completed and reported no success.
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

/// Returns the tool of a one-call step.
pub(super) fn tool(step: &Step) -> Option<&ToolName> {
    match &step.action {
        Action::Tool { tool, .. } => Some(tool),
        Action::Agent => None,
    }
}
