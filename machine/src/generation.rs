//! What a job takes over a roll-back or into a fork, and what it leaves behind. What has ended stays
//! as it was; what was with workers, people or the clock at that point is decided anew, by names of a
//! new generation, so that no result of what was decided before can be taken for one.

use jiff::Timestamp;
use proto::{
    budget::Spend,
    decision::{Closed, Decision},
    fork::Forked,
    id::{ConversationId, Generation, SnapshotName, StepId},
    limits,
    view::{Origin, Snapshot},
};

use super::{
    call::Call,
    fold::At,
    names,
    replay::Replay,
    state::{AskState, Asking, Awake, Job, Open, Poison, Stage},
    step::{Exec, StepRun},
    timeline,
    tries::Tries,
    turn::{Acting, UnitKind},
};

impl Job {
    /// The job becomes what it was, with what only the whole log can say.
    pub(super) fn go_back_to(&mut self, mut base: Self, at: At) {
        base.lived_ms = base.age_ms();
        let Self { seq, first, last_decision, last_answer, records, created, ignored, .. } = *self;
        (base.seq, base.first) = (seq, first);
        (base.last_decision, base.last_answer) = (last_decision, last_answer);
        (base.records, base.created, base.ignored) = (records, created, ignored);
        (base.updated, base.since) = (at.time, at.time);
        base.awake = Awake { seq: at.seq, time: at.time, ask: None };
        if let (Some(open), Some(now)) = (&mut base.open, &self.open) {
            open.leave_behind(now);
            open.go_on(now.generation.next());
            if open.outcome.is_none() && base.poison.is_none() {
                open.settle(at.time);
            }
        }
        *self = base;
    }

    /// Points of its log that people gave names, oldest first.
    #[must_use]
    pub fn snapshots(&self) -> &[Snapshot] {
        self.open.as_ref().map_or(&[], |open| &open.snapshots)
    }

    /// Records in its log.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Whether an operator has canceled it and it has not ended yet.
    #[must_use]
    pub fn is_being_canceled(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.cancel.is_some() && open.outcome.is_none())
    }

    /// Whether it was rolled back and nothing was decided since: work that is out is not wanted.
    #[must_use]
    pub fn begins_anew(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.generation.is_first() && !open.has_decided)
    }

    /// The revision of the last plan that a step is in.
    #[must_use]
    pub fn revision_of(&self, step: &StepId) -> Option<u32> {
        let open = self.open.as_ref()?;
        let mut runs = open.past.iter().chain(&open.steps).rev();
        runs.find(|run| run.id() == step).map(|run| run.revision)
    }

    /// Whether a step is in a plan that waits for a person to confirm it.
    #[must_use]
    pub fn is_proposed(&self, step: &StepId) -> bool {
        self.open.as_ref().is_some_and(|open| match &open.stage {
            Stage::Check { plan, .. } => plan.steps.iter().any(|one| one.id == *step),
            Stage::Plan { .. }
            | Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Execute
            | Stage::Failing { .. }
            | Stage::Rejected { .. } => false,
        })
    }

    /// The job begins where another one was.
    pub(super) fn begin_forked(&mut self, at: At, forked: &Forked) {
        let Some(base) = base_of(forked) else {
            let reason = format!("what it takes along of job {} cannot be folded", forked.job);
            self.poison = Some(Poison { seq: at.seq, place: reason.clone(), reason });
            return;
        };
        self.lived_ms = base.age_ms();
        let Some(mut open) = base.open else { return };
        open.begin_as_fork();
        open.origin = Some(Origin { job: forked.job.clone(), seq: forked.seq });
        self.open = Some(open);
    }
}

/// The other job as it was; nothing when its records cannot be read.
fn base_of(forked: &Forked) -> Option<Job> {
    let read = |record: &proto::fork::ForkedRecord| {
        let family = record.family().ok()?;
        let known = record.record().and_then(|record| record.known());
        Some((At { seq: record.seq, time: record.time }, family, known))
    };
    let records: Option<Vec<_>> = forked.records.iter().map(read).collect();
    let records = records?;
    let wanted = records.iter().filter_map(|(_, family, known)| {
        known.as_ref().ok().and_then(|known| timeline::wanted(family, known))
    });
    let mut fold = Replay::new(forked.job.clone(), wanted.collect());
    for (at, family, known) in &records {
        fold.apply(*at, family, known.as_ref());
    }
    Some(fold.into_job()).filter(|job| job.open.is_some() && job.poison.is_none())
}

impl Open {
    /// Questions and timers that the job has now are closed and canceled, and numbers that were used
    /// are not used again.
    fn leave_behind(&mut self, now: &Self) {
        let (mut questions, mut orphans) = (now.questions.clone(), now.orphans.clone());
        for asking in questions.values_mut() {
            if asking.state == AskState::Open {
                orphans.extend(asking.close());
            }
        }
        if now.outcome.is_none() {
            orphans.extend(now.timers());
        }
        (self.questions, self.orphans, self.asks) = (questions, orphans, now.asks);
        // What the job above has said since stands: it is said once.
        if now.family.heard_more_than(&self.family) {
            self.paused.clone_from(&now.paused);
        }
        if let Some(cancel) = now.cancel.as_ref().filter(|cancel| cancel.parent_seq.is_some()) {
            self.cancel = Some(cancel.clone());
        }
        self.leave_children(&now.family);
    }

    /// Another job's questions, timers and names are none of this one's, nor is what was said to it
    /// by its operators.
    fn begin_as_fork(&mut self) {
        self.questions.clear();
        self.orphans.clear();
        self.snapshots.clear();
        self.family.leave();
        (self.cancel, self.paused) = (None, None);
        for step in &mut self.steps {
            step.take_along();
        }
        self.go_on(self.generation.next());
    }

    /// What was under way is decided anew.
    fn go_on(&mut self, generation: Generation) {
        (self.generation, self.has_decided) = (generation, false);
        self.early.clear();
        let kind = self.round_kind();
        let asked_again = match &mut self.stage {
            Stage::Plan { tries } => {
                if tries.attempts() > 0 && self.rejected == 0 {
                    self.spent.uncount(kind);
                }
                *tries = Tries::Idle;
                0
            }
            Stage::Clarify { ask, .. } => u32::from(ask.take().is_some()),
            Stage::Confused { ask, .. } | Stage::Check { ask, .. } => {
                *ask = None;
                0
            }
            Stage::Execute | Stage::Failing { .. } | Stage::Rejected { .. } => 0,
        };
        self.agent_asks = self.agent_asks.saturating_sub(asked_again);
        for step in self.steps.iter_mut().filter(|step| !step.state.is_terminal()) {
            let again = step.go_on(generation);
            (0..again.turns).for_each(|_| self.spent.uncount(Spend::Turn));
            (0..again.calls).for_each(|_| self.spent.uncount(Spend::Tool));
            self.agent_asks = self.agent_asks.saturating_sub(again.asks);
        }
    }

    /// A decision of an earlier generation was stored after the roll-back: nothing follows from it,
    /// and what it began is called off.
    pub(super) fn fence(&mut self, at: Timestamp, decision: &Decision) {
        match decision {
            Decision::Ask(work) => {
                let id = work.question.id.clone();
                self.asks = self.asks.max(names::ask_number(&id));
                let (question, work) = (work.question.clone(), work.work.clone());
                let mut asking = Asking { question, work, asked: at, state: AskState::Open };
                self.orphans.extend(asking.close());
                self.questions.insert(id, asking);
            }
            Decision::Wait(wait) => self.orphans.push(wait.timer.clone()),
            // Whoever decided it may have begun it before he knew: it is known, and called off.
            Decision::Spawn(work) => self.spawned(work),
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Note(_)
            | Decision::Finish(_) => {}
        }
    }

    /// A person gave this point a name. Whether there is room for it.
    pub(super) fn named(&mut self, at: At, name: &SnapshotName) -> bool {
        self.snapshots.retain(|snapshot| snapshot.name != *name);
        let has_room = self.snapshots.len() < limits::SNAPSHOTS_MAX;
        if has_room {
            let (name, seq, time) = (name.clone(), at.seq, at.time);
            self.snapshots.push(Snapshot { name, seq, time });
        }
        has_room
    }

    /// The conversation it belongs to. A fork is told what the other job was, and belongs to none.
    pub(super) fn conversation_id(&self) -> Option<ConversationId> {
        self.conversation.as_ref().filter(|_| self.origin.is_none()).map(|c| c.id.clone())
    }
}

impl Asking {
    /// It is called off. Gives the timer that nothing waits for any more.
    fn close(&mut self) -> Option<proto::id::TimerName> {
        self.state = AskState::ToClose(Closed::RolledBack);
        self.question.deadline.map(|_| names::ask_timer(&self.question.id))
    }
}

/// What of a step is done anew.
#[derive(Debug, Default)]
struct Again {
    turns: u32,
    calls: u32,
    asks: u32,
}

impl StepRun {
    fn go_on(&mut self, generation: Generation) -> Again {
        self.generation = generation;
        let (revision, id) = (self.revision, self.step.id.clone());
        let name = |run, number| names::turn(generation, revision, &id, run, number);
        let mut again = Again::default();
        match &mut self.exec {
            Exec::Tool(call) => again.call(call, names::step(generation, revision, &id)),
            Exec::Turn(turn) => {
                // One that was summarised for was begun before, and is not counted again.
                again.turns = u32::from(turn.tries.attempts() > 0 && !turn.summarised);
                let first = name(turn.run, turn.number);
                turn.work = if turn.summarised { names::summarised(&first) } else { first };
                (turn.tries, turn.carries) = (Tries::Idle, 0);
            }
            Exec::Acting(acting) => {
                let turn = name(acting.run, acting.number);
                again.calls_of(acting, &turn);
            }
            Exec::Rerun(tries) => tries.wait_no_longer(),
            Exec::NotBegun | Exec::Ended => {}
        }
        self.follow();
        again
    }

    /// The records it refers to are those of another job.
    fn take_along(&mut self) {
        match &mut self.exec {
            Exec::Turn(turn) => {
                turn.after = turn.after.map(proto::id::Seq::taken_along);
                if let Some(summary) = &mut turn.summary {
                    summary.through = summary.through.taken_along();
                }
            }
            Exec::Acting(acting) => acting.heard = acting.heard.taken_along(),
            Exec::Tool(_) | Exec::Rerun(_) | Exec::NotBegun | Exec::Ended => {}
        }
    }
}

impl Again {
    fn call(&mut self, call: &mut Call, work: proto::id::WorkId) {
        if call.end.is_none() && call.go_on_as(work) {
            self.calls = self.calls.saturating_add(1);
        }
    }

    fn calls_of(&mut self, acting: &mut Acting, turn: &proto::id::WorkId) {
        for (index, unit) in acting.units.iter_mut().enumerate() {
            let name = names::call(turn, index);
            match &mut unit.kind {
                UnitKind::Tool(call) => self.call(call, name),
                UnitKind::Person { work, ask, reply: None, .. } => {
                    self.asks = self.asks.saturating_add(u32::from(ask.take().is_some()));
                    *work = name;
                }
                UnitKind::Person { .. } | UnitKind::Noted(_) | UnitKind::Refused(_) => {}
            }
        }
    }
}
