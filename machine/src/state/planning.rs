//! The rounds of a job with its planner, and the stage that they lead to.

use proto::{
    decision::PlanTalk,
    fact::{Asked, PlanNote, PlanPhase, Planned},
    guard::Guard,
    id::{AskId, Generation, WorkId},
    job::FailReason,
    notice::Notice,
    outline::Item,
    plan::Plan,
    policy::Detected,
    rules::Rules,
};

use crate::{
    attempts::Attempts,
    loops::{Ended, Watch},
    names,
};

/// The planner's conversation and its outcome so far.
#[derive(Debug, Clone)]
pub(crate) struct Planning {
    stage: Stage,
    /// Counts the planner's commands; names the current one.
    round: u32,
    dialogue: Vec<PlanTalk>,
    /// Replies of the planner that could not be used, since the last one that could.
    rejected: u32,
    /// The guard's account of earlier plans, once there has been another one.
    watch: Option<Box<Watch>>,
    /// Notices of the guard, for the planner.
    notices: Vec<Notice>,
    detected: Option<Detected>,
    /// The planner's intentions, where it decides one action at a time.
    outline: Vec<Item>,
    /// The final answer, when the planner gave one.
    answer: Option<String>,
}

/// The one thing that the job is about.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// A plan is wanted.
    Plan { attempts: Attempts },
    /// The planner must know something first.
    Clarify { asked: Asked, ask: Option<AskId> },
    /// No reply of the planner could be used; a person is asked what to do.
    Confused { reply: String, error: String, ask: Option<AskId> },
    /// The plan waits to be confirmed.
    Check { plan: Plan, ask: Option<AskId> },
    /// The steps are carried out.
    Execute,
    /// The job is going to fail; what runs may end.
    Failing { reason: FailReason, message: String },
    /// Somebody rejected the plan.
    Rejected { reason: Option<String> },
}

impl Stage {
    /// The command of the current round.
    pub(crate) fn attempts(&self) -> Option<&Attempts> {
        if let Self::Plan { attempts } = self { Some(attempts) } else { None }
    }

    /// The plan that waits to be confirmed.
    pub(crate) fn proposed(&self) -> Option<&Plan> {
        if let Self::Check { plan, .. } = self { Some(plan) } else { None }
    }
}

impl Planning {
    pub(super) fn new() -> Self {
        Self {
            stage: Stage::Plan { attempts: Attempts::Idle },
            round: 1,
            dialogue: Vec::new(),
            rejected: 0,
            watch: None,
            notices: Vec::new(),
            detected: None,
            outline: Vec::new(),
            answer: None,
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

    pub(crate) fn is_executing(&self) -> bool {
        matches!(self.stage, Stage::Execute)
    }

    pub(crate) fn attempts_mut(&mut self) -> Option<&mut Attempts> {
        if let Stage::Plan { attempts } = &mut self.stage { Some(attempts) } else { None }
    }

    /// The command of the current round.
    pub(crate) fn work(&self, generation: Generation) -> WorkId {
        names::plan(generation, self.round)
    }

    /// The first command of the round that ends the plan in force.
    pub(crate) fn next_work(&self, generation: Generation) -> WorkId {
        names::plan(generation, self.round.saturating_add(1))
    }

    /// The question of the current round.
    pub(crate) fn question(&self, generation: Generation) -> WorkId {
        names::plan_question(generation, self.round)
    }

    pub(crate) fn next_round(&mut self) {
        self.round = self.round.saturating_add(1);
        self.stage = Stage::Plan { attempts: Attempts::Idle };
    }

    /// Shows a plan to a person again, after an answer: the next round names the question about it.
    pub(crate) fn show_again(&mut self, plan: Plan) {
        self.round = self.round.saturating_add(1);
        self.stage = Stage::Check { plan, ask: None };
    }

    pub(crate) fn dialogue(&self) -> &[PlanTalk] {
        &self.dialogue
    }

    pub(crate) fn say(&mut self, talk: PlanTalk) {
        self.dialogue.push(talk);
    }

    /// Replies that could not be used, since the last one that could.
    pub(crate) fn rejected(&self) -> u32 {
        self.rejected
    }

    /// A reply could be used.
    pub(crate) fn accept(&mut self) {
        self.rejected = 0;
    }

    /// A reply could not be used.
    pub(crate) fn reject(&mut self, reply: String, error: String) {
        self.rejected = self.rejected.saturating_add(1);
        self.say(PlanTalk::Rejected { reply, error });
    }

    /// Notes at the stage that its question was stored; says whether an agent wanted it.
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

    /// The planner says that the goal is reached.
    pub(crate) fn reach(&mut self, response: &str, outline: &[Item]) {
        if !outline.is_empty() {
            self.outline = outline.to_vec();
        }
        self.rejected = 0;
        self.answer = Some(response.to_owned());
        self.stage = Stage::Execute;
    }

    /// Rounds in a row without an action and without an item that was done by thought alone.
    pub(crate) fn thoughts(&self, rules: Rules) -> usize {
        let thought = |(at, talk): &(usize, &PlanTalk)| match talk {
            PlanTalk::Noted { note } => rules < Rules::SECOND || !self.gets_on(*at, note),
            PlanTalk::Rejected { .. } => true,
            PlanTalk::Asked { .. }
            | PlanTalk::Steered { .. }
            | PlanTalk::Revised { .. }
            | PlanTalk::Progressed { .. } => false,
        };
        self.dialogue.iter().enumerate().rev().take_while(thought).count()
    }

    /// Whether a note says that an item is done, with an outline that no earlier note has.
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

    /// The notice that stops planning: the last plans, this one included, have led nowhere.
    pub(crate) fn stalled(&self, ended: &[Ended<'_>], guard: &Guard) -> Option<Notice> {
        let mut watch = self.watch.as_deref().cloned().unwrap_or_default();
        watch.over(ended, guard);
        watch.stops(guard)
    }

    /// The plan in force is over and another one is wanted.
    pub(crate) fn plan_is_over(&mut self, ended: &[Ended<'_>], guard: &Guard) {
        // A planner always answers with a plan: there is nothing else it could be made to do.
        let mut notices = self.watch.get_or_insert_default().over(ended, guard).notices;
        for notice in &mut notices {
            if let Notice::Repeated { must_answer, .. } = notice {
                *must_answer = false;
            }
        }
        self.notices = notices;
    }

    /// What was under way is decided again. Says whether a first command of the round had been sent,
    /// and how many questions of agents are asked again.
    pub(crate) fn go_on(&mut self) -> (bool, u32) {
        match &mut self.stage {
            Stage::Plan { attempts } => {
                let was_sent = attempts.count() > 0 && self.rejected == 0;
                *attempts = Attempts::Idle;
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
