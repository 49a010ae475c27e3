//! The planning rounds of a job, and the stage that they lead to.

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    decision::PlanTalk,
    fact::{Asked, PlanNote, PlanPhase, Planned},
    guard::Guard,
    id::{AskId, Generation, WorkId},
    job::FailReason,
    lang::Language,
    notice::Notice,
    outline::Item,
    plan::Plan,
    policy::Detected,
};

use crate::{
    attempts::Attempts,
    loops::{Ended, Watch},
    names,
};

/// The dialogue with the planner, and its outcome so far.
#[derive(Debug, Clone)]
pub(crate) struct Planning {
    stage: Stage,
    /// Time since which the job will fail, by the server's clock.
    failing_since: Option<Timestamp>,
    /// Number of the current round, from which its command is named.
    round: u32,
    dialogue: Vec<PlanTalk>,
    /// Unusable replies in a row.
    rejected: u32,
    /// Failed rounds in a row.
    failed_rounds: u32,
    /// The loop guard's record of earlier plans; `None` until the first replan.
    watch: Option<Box<Watch>>,
    /// Notices of the loop guard for the planner's next command.
    notices: Vec<Notice>,
    detected: Option<Detected>,
    /// The planner's list of intentions, for protocols that plan one action at a time.
    outline: Vec<Item>,
    /// The final answer, if the planner gave it.
    answer: Option<String>,
    /// The language that the last plan with one named.
    language: Option<Language>,
}

/// The phase that a job is in.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// The planner is asked for a plan.
    Plan { attempts: Attempts },
    /// The planner has asked a person a question.
    Clarify { asked: Asked, ask: Option<AskId> },
    /// Too many replies of the planner were unusable; a person decides how to continue.
    Confused { reply: String, error: String, ask: Option<AskId> },
    /// The plan waits for a person's confirmation.
    Check { plan: Arc<Plan>, ask: Option<AskId> },
    /// The steps are being carried out.
    Execute,
    /// The job will fail; running work may finish.
    Failing { reason: FailReason, message: String },
    /// A person rejected the plan.
    Rejected { reason: Option<String> },
}

impl Stage {
    /// Returns the attempts at the current round's command.
    pub(crate) fn attempts(&self) -> Option<&Attempts> {
        if let Self::Plan { attempts } = self { Some(attempts) } else { None }
    }

    pub(crate) fn proposed(&self) -> Option<&Arc<Plan>> {
        if let Self::Check { plan, .. } = self { Some(plan) } else { None }
    }
}

impl Planning {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Plan { attempts: Attempts::default() },
            failing_since: None,
            round: 1,
            dialogue: Vec::new(),
            rejected: 0,
            failed_rounds: 0,
            watch: None,
            notices: Vec::new(),
            detected: None,
            outline: Vec::new(),
            answer: None,
            language: None,
        }
    }

    pub(crate) fn stage(&self) -> &Stage {
        &self.stage
    }

    pub(crate) fn enter(&mut self, stage: Stage) {
        self.stage = stage;
    }

    pub(crate) fn fail(&mut self, reason: FailReason, message: String) {
        self.stage = Stage::Failing { reason, message };
    }

    /// Records the time of the record after which the job will fail.
    pub(crate) fn note_failing(&mut self, at: Timestamp) {
        if let Stage::Failing { .. } = self.stage {
            self.failing_since.get_or_insert(at);
        }
    }

    /// Returns the reason for which the job will fail, and the time since which it is known.
    pub(crate) fn failing(&self) -> Option<(FailReason, Timestamp)> {
        let Stage::Failing { reason, .. } = &self.stage else { return None };
        Some((*reason, self.failing_since?))
    }

    pub(crate) fn is_executing(&self) -> bool {
        matches!(self.stage, Stage::Execute)
    }

    pub(crate) fn attempts_mut(&mut self) -> Option<&mut Attempts> {
        if let Stage::Plan { attempts } = &mut self.stage { Some(attempts) } else { None }
    }

    /// Returns the unit of work of the current round.
    pub(crate) fn work(&self, generation: Generation) -> WorkId {
        names::plan(generation, self.round)
    }

    /// Returns the unit of work of the next round, whose first command ends the plan in force.
    pub(crate) fn next_work(&self, generation: Generation) -> WorkId {
        names::plan(generation, self.round.saturating_add(1))
    }

    /// Returns the unit of work of the current round's question.
    pub(crate) fn question(&self, generation: Generation) -> WorkId {
        names::plan_question(generation, self.round)
    }

    pub(crate) fn next_round(&mut self) {
        self.round = self.round.saturating_add(1);
        self.stage = Stage::Plan { attempts: Attempts::default() };
    }

    /// Begins the wait for a person's confirmation of a plan.
    pub(crate) fn propose(&mut self, plan: Plan) {
        self.stage = Stage::Check { plan: Arc::new(plan), ask: None };
    }

    /// Asks for confirmation again, with another plan. The next round's number names the new
    /// question.
    pub(crate) fn show_again(&mut self, plan: Plan) {
        self.round = self.round.saturating_add(1);
        self.propose(plan);
    }

    pub(crate) fn dialogue(&self) -> &[PlanTalk] {
        &self.dialogue
    }

    pub(crate) fn say(&mut self, talk: PlanTalk) {
        self.dialogue.push(talk);
    }

    /// Returns the number of unusable replies in a row.
    pub(crate) fn rejected(&self) -> u32 {
        self.rejected
    }

    /// Returns the number of failed rounds in a row.
    pub(crate) fn failed_rounds(&self) -> u32 {
        self.failed_rounds
    }

    /// Resets the counts of unusable replies and failed rounds.
    pub(crate) fn accept(&mut self) {
        (self.rejected, self.failed_rounds) = (0, 0);
    }

    /// Records the last unusable reply of a round that failed.
    pub(crate) fn fail_round(&mut self, reply: String, error: String) {
        self.failed_rounds = self.failed_rounds.saturating_add(1);
        self.rejected = 0;
        self.say(PlanTalk::Rejected { reply, error });
    }

    /// Records a well-formed reply whose action cannot be carried out.
    pub(crate) fn refuse_action(&mut self, reply: String, error: String) {
        self.accept();
        self.say(PlanTalk::Rejected { reply, error });
    }

    /// Records an unusable reply.
    pub(crate) fn reject(&mut self, reply: String, error: String) {
        self.rejected = self.rejected.saturating_add(1);
        self.say(PlanTalk::Rejected { reply, error });
    }

    /// Records that the stage's question was stored and returns `true` if an agent asked it. `None`
    /// if the stage awaits no question.
    pub(crate) fn attach(&mut self, id: &AskId) -> Option<bool> {
        match &mut self.stage {
            Stage::Clarify { ask: ask @ None, .. } => {
                *ask = Some(id.clone());
                Some(true)
            }
            Stage::Confused { ask: ask @ None, .. } | Stage::Check { ask: ask @ None, .. } => {
                *ask = Some(id.clone());
                Some(false)
            }
            Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. }
            | Stage::Plan { .. }
            | Stage::Execute
            | Stage::Failing { .. }
            | Stage::Rejected { .. } => None,
        }
    }

    pub(crate) fn detected(&self) -> Option<&Detected> {
        self.detected.as_ref()
    }

    pub(crate) fn detect(&mut self, planned: &Planned) {
        self.detected.clone_from(&planned.detected);
    }

    pub(crate) fn outline(&self) -> &[Item] {
        &self.outline
    }

    pub(crate) fn intend(&mut self, note: PlanNote) {
        self.outline.clone_from(&note.outline);
        self.dialogue.push(PlanTalk::Noted { note });
    }

    pub(crate) fn answer(&self) -> Option<&str> {
        self.answer.as_deref()
    }

    pub(crate) fn language(&self) -> Option<Language> {
        self.language
    }

    /// Records the language that a plan names. A plan without one changes nothing.
    pub(crate) fn name_language(&mut self, named: Option<Language>) {
        self.language = named.or(self.language);
    }

    /// Records that the planner declared the goal reached.
    pub(crate) fn reach(&mut self, response: &str, outline: &[Item]) {
        if !outline.is_empty() {
            self.outline = outline.to_vec();
        }
        self.accept();
        self.answer = Some(response.to_owned());
        self.stage = Stage::Execute;
    }

    /// Returns the number of planning rounds in a row that led neither to an action nor to an item
    /// completed by thought alone.
    pub(crate) fn thoughts(&self) -> usize {
        let thought = |(at, talk): &(usize, &PlanTalk)| match talk {
            PlanTalk::Noted { note } => !self.gets_on(*at, note),
            PlanTalk::Rejected { .. } => true,
            PlanTalk::Asked { .. }
            | PlanTalk::Steered { .. }
            | PlanTalk::Revised { .. }
            | PlanTalk::Progressed { .. } => false,
        };
        self.dialogue.iter().enumerate().rev().take_while(thought).count()
    }

    /// Returns `true` if a note completes an item with an outline that no earlier note has.
    fn gets_on(&self, at: usize, note: &PlanNote) -> bool {
        let mut before = self.dialogue.iter().take(at);
        note.phase == PlanPhase::ItemDone
            && !before.any(|talk| {
                matches!(talk, PlanTalk::Noted { note: earlier } if earlier.outline == note.outline)
            })
    }

    pub(crate) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Returns the notice that stops planning, if the last plans, the current one included, made no
    /// progress.
    pub(crate) fn stalled(&self, ended: &[Ended<'_>], guard: &Guard) -> Option<Notice> {
        let mut watch = self.watch.as_deref().cloned().unwrap_or_default();
        watch.over(ended, guard);
        watch.stops(guard)
    }

    /// Records the end of a plan that is about to be replaced.
    pub(crate) fn plan_is_over(&mut self, ended: &[Ended<'_>], guard: &Guard) {
        // A planner always replies with a plan: it cannot be made to answer instead.
        let mut notices = self.watch.get_or_insert_default().over(ended, guard).notices;
        for notice in &mut notices {
            if let Notice::Repeated { must_answer, .. } = notice {
                *must_answer = false;
            }
        }
        self.notices = notices;
    }

    /// Resets unfinished work so that the next generation decides it again. Returns whether the
    /// round's first command had been sent, and how many questions of agents will be asked again.
    pub(crate) fn go_on(&mut self) -> (bool, u32) {
        match &mut self.stage {
            Stage::Plan { attempts } => {
                let was_sent = attempts.count() > 0 && self.rejected == 0;
                *attempts = Attempts::default();
                (was_sent, 0)
            }
            Stage::Clarify { ask, .. } => (false, u32::from(ask.take().is_some())),
            Stage::Confused { ask, .. } | Stage::Check { ask, .. } => {
                *ask = None;
                (false, 0)
            }
            Stage::Execute | Stage::Failing { .. } | Stage::Rejected { .. } => (false, 0),
        }
    }
}
