//! Views of a job for users and client programs.

use proto::{
    agent::{ReplanApply, ReplanWhen},
    file::File,
    headline,
    job::{JobState, Outcome, SubStatus},
    limits,
    notice::Notice,
    plan::Action,
    step::StepState,
    view::{Artifact, JobSummary, JobView, PlanView, StepView},
};

use super::{
    call::Call,
    costs::Costs,
    state::{ActiveJob, Job, Stage},
    step::StepRun,
    why::Surroundings,
};

impl Job {
    /// Returns the full view of the job, or `None` if it was never submitted.
    #[must_use]
    pub fn view(&self) -> Option<JobView> {
        let open = self.open.as_ref()?;
        let (state, sub_status, reason) = self.status(open);
        let (successful_steps, failed_steps) = open.execution.ended_counts();
        let (past_questions, older_questions) = open.past_questions();
        Some(JobView {
            job: self.id.clone(),
            state,
            sub_status,
            reason,
            retries: open.retries(),
            why: self.why(&Surroundings::default()),
            notices: open.notices(self.age_ms()),
            goal: open.brief.goal.clone(),
            agent: open.brief.agent.name.clone(),
            language: open.language(),
            files: open.brief.files_told(),
            artifacts: open.artifacts.all().cloned().collect(),
            labels: open.brief.labels.clone(),
            graph: open.workflow_view().map(Box::new),
            plan: open.plan_view(),
            successful_steps,
            failed_steps,
            detected: open.planning.detected().cloned(),
            outline: open.planning.outline().to_vec(),
            revisions: open.execution.revisions(),
            instructions: open.steering.view(),
            questions: open.questions.open_in_order().map(|a| a.question.clone()).collect(),
            past_questions,
            older_questions,
            parent: open.family.parent().cloned().map(Box::new),
            children: open.family.views(&self.id),
            outcome: open.outcome().cloned(),
            usage: open.spending.usage(),
            spent: open.spending.bill().total(),
            tools: open.spending.tools().cloned().collect(),
            budget: open.gauges(self.age_ms()).collect(),
            untrusted: open.mark.clone(),
            remembered: open.approvals.all().to_vec(),
            conversation: open.conversation_id(),
            generation: open.generation(),
            forked: open.lineage.origin().cloned(),
            snapshots: open.lineage.snapshots().to_vec(),
            ignored: self.ignored,
            records: self.records,
            seq: self.seq,
            created: self.created,
            updated: self.updated,
        })
    }

    /// Returns the artifacts with the places of their content, oldest first.
    pub fn artifact_files(&self) -> impl Iterator<Item = (&Artifact, File)> {
        self.open.iter().flat_map(|open| open.artifacts.files())
    }

    /// Returns the cost of the job itself so far; nothing if it was never submitted.
    #[must_use]
    pub fn costs(&self) -> Costs {
        self.open.as_ref().map(|open| open.spending.bill().clone()).unwrap_or_default()
    }

    /// Returns the job's row in a list, or `None` if it was never submitted.
    #[must_use]
    pub fn summary(&self) -> Option<JobSummary> {
        let open = self.open.as_ref()?;
        let (state, sub_status, _) = self.status(open);
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let steps = || {
            open.execution
                .past()
                .iter()
                .filter(|r| r.state == StepState::Completed)
                .chain(open.execution.steps())
        };
        Some(JobSummary {
            job: self.id.clone(),
            state,
            sub_status,
            goal: headline::goal(&open.brief.goal),
            agent: open.brief.agent.name.clone(),
            workflow: open.workflow_name().cloned(),
            labels: open.brief.labels.clone(),
            conversation: open.conversation_id(),
            parent: open.family.parent().map(|parent| parent.job.clone()),
            steps_done: count(steps().filter(|run| run.state.is_done()).count()),
            steps: count(steps().count()),
            questions: count(open.questions.open_in_order().count()),
            failure: open.outcome().and_then(Outcome::failure),
            retry: open.retries().into_iter().next(),
            why: self.why(&Surroundings::default()).into_iter().next(),
            notices: open.notices(self.age_ms()).iter().map(Notice::kind).collect(),
            spent: open.spending.bill().total(),
            created: self.created,
            updated: self.updated,
        })
    }

    /// Returns the job's state, its sub-status, and the reason for the sub-status.
    pub(super) fn status(&self, open: &ActiveJob) -> (JobState, Option<SubStatus>, Option<String>) {
        let (state, sub_status) = self.state(open);
        let reason = match sub_status {
            Some(SubStatus::Poisoned) => self
                .poison
                .as_ref()
                .map(|poison| format!("record {}: {}", poison.seq, poison.reason)),
            Some(SubStatus::Paused) => open.steering.paused().and_then(|p| p.reason.clone()),
            Some(SubStatus::Parked) => {
                let asked =
                    open.questions.open_in_order().next().map(|a| a.question.prompt.clone());
                let below = || {
                    let below = open.family.questions().next()?;
                    Some(format!("{}: {}", below.path, below.question.prompt))
                };
                asked.or_else(below).or_else(|| {
                    let lost = open.given_up().into_iter().next()?;
                    Some(format!(
                        "{} was given up after {} attempts: {}",
                        lost.work, lost.attempt, lost.error
                    ))
                })
            }
            Some(SubStatus::BackingOff) => open.backing_off(),
            Some(SubStatus::Planning | SubStatus::Executing | SubStatus::Replanning) | None => None,
        };
        (state, sub_status, reason)
    }

    /// Returns the job's state and sub-status.
    pub(super) fn state(&self, open: &ActiveJob) -> (JobState, Option<SubStatus>) {
        if let Some(outcome) = open.outcome() {
            return (outcome.state(), None);
        }
        if self.poison.is_some() {
            return (JobState::Working, Some(SubStatus::Poisoned));
        }
        let asks = open.questions.open_in_order().next().is_some()
            || open.family.questions().next().is_some();
        if open.steering.paused().is_some() {
            let state = if asks { JobState::InputRequired } else { JobState::Working };
            return (state, Some(SubStatus::Paused));
        }
        if self.last_decision.0 == 0 {
            return (JobState::Submitted, None);
        }
        if open.has_work_out() {
            return (JobState::Working, Some(open.busy_with()));
        }
        if asks {
            return (JobState::InputRequired, Some(SubStatus::Parked));
        }
        if open.backing_off().is_some() {
            return (JobState::Working, Some(SubStatus::BackingOff));
        }
        if !open.given_up().is_empty() {
            return (JobState::Working, Some(SubStatus::Parked));
        }
        (JobState::Working, Some(open.busy_with()))
    }
}

impl ActiveJob {
    fn busy_with(&self) -> SubStatus {
        match self.planning.stage() {
            Stage::Plan { .. }
            | Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. } => {
                if self.execution.revision() == 0 {
                    SubStatus::Planning
                } else {
                    SubStatus::Replanning
                }
            }
            Stage::Execute | Stage::Failing { .. } | Stage::Rejected { .. } => SubStatus::Executing,
        }
    }

    /// Returns `true` while the planner makes the plan that follows the one in force. A planner of
    /// one action at a time always does, and is not counted.
    pub(super) fn is_replanning(&self) -> bool {
        let turn_by_turn = match self.brief.agent.replan_when() {
            ReplanWhen::EveryTurn | ReplanWhen::AfterEachItem => true,
            ReplanWhen::Never
            | ReplanWhen::OnFailure
            | ReplanWhen::AfterListed
            | ReplanWhen::AfterEachStep => false,
        };
        !turn_by_turn
            && self.brief.rules.begun_steps_stay()
            && self.planning.stage().proposed().is_none()
            && self.busy_with() == SubStatus::Replanning
    }

    /// Returns the steps shown as the plan: the steps in force, below the earlier ones that began.
    /// Under the first rules, earlier steps are shown unless each plan replaces all others.
    pub(super) fn in_sight(&self) -> impl Iterator<Item = &StepRun> {
        let begun = self.brief.rules.begun_steps_stay();
        let alone = self.brief.agent.replan.apply == ReplanApply::ReplaceAll;
        let shown = move |run: &&StepRun| {
            run.left.is_none() || if begun { run.started.is_some() } else { !alone }
        };
        let past = self.execution.past().iter().filter(shown);
        past.chain(self.execution.steps())
    }

    fn plan_view(&self) -> Option<PlanView> {
        if let Some(plan) = self.planning.stage().proposed() {
            let proposed = plan.steps.iter().map(|step| {
                StepRun::new(step.clone(), self.generation(), self.execution.revision()).view()
            });
            let there = self.in_sight().map(StepRun::view);
            let steps = there.chain(proposed).collect();
            return Some(PlanView {
                title: plan.title.clone(),
                revision: self.execution.revision(),
                confirmed: false,
                steps,
            });
        }
        (self.execution.revision() > 0).then(|| PlanView {
            title: self.execution.title().to_owned(),
            revision: self.execution.revision() - 1,
            confirmed: true,
            steps: self.in_sight().map(StepRun::view).collect(),
        })
    }
}

impl StepRun {
    fn view(&self) -> StepView {
        let mut calls = self.calls.clone();
        calls.extend(self.calls_now().map(Call::view));
        StepView {
            id: self.step.id.clone(),
            title: self.step.title.clone(),
            description: self.step.description.clone(),
            depends_on: self.step.depends_on.clone(),
            tool: match &self.step.action {
                Action::Tool { tool, .. } => Some(tool.clone()),
                Action::Agent => None,
            },
            state: self.state,
            success: self
                .state
                .is_terminal()
                .then_some(self.state == StepState::Completed && !self.unsuccessful),
            response: self
                .response
                .as_deref()
                .map(|text| proto::excerpt::ends(text, limits::EXCERPT_CHARS)),
            attachments: self.attachments.clone(),
            attempts: self.attempted,
            turns: self.turns,
            calls,
            notices: self.notices.clone(),
            outline: self.outline.clone().unwrap_or_default(),
            started: self.started,
            ended: self.ended,
        }
    }
}
