//! The passage of a job through a rollback or into a fork. Work that ended keeps its result. Work
//! that was queued, with workers or waiting at that point is decided again under names of a new
//! generation, so that no earlier result can be mistaken for its own.

use jiff::Timestamp;
use proto::{
    budget::Spend,
    decision::Decision,
    fork::Forked,
    id::{ConversationId, Generation, StepId},
    view::{Origin, Snapshot},
};

use super::{
    at::At,
    attempts::Attempts,
    call::Call,
    names,
    replay::Replay,
    state::{ActiveJob, AskedQuestion, Job, Poison, Wakeup},
    step::{Exec, StepRun},
    timeline,
    turn::{Acting, UnitKind},
};

impl Job {
    /// Replaces the state by `base`, the state at the rollback target. Positions and counts of the
    /// whole log are kept.
    pub(super) fn go_back_to(&mut self, mut base: Self, at: At) {
        base.lived_ms = base.age_ms();
        let Self { seq, first, last_decision, last_answer, records, created, ignored, .. } = *self;
        (base.seq, base.first) = (seq, first);
        (base.last_decision, base.last_answer) = (last_decision, last_answer);
        (base.records, base.created, base.ignored) = (records, created, ignored);
        (base.updated, base.since) = (at.time, at.time);
        base.awake = Wakeup { seq: at.seq, time: at.time, ask: None };
        if let (Some(open), Some(now)) = (&mut base.open, &self.open) {
            open.leave_behind(now, at.time);
            if let (Some(graph), Some(now)) = (&mut open.graph, &now.graph) {
                graph.go_back_from(now);
            }
            open.go_on(now.generation().next());
            if open.outcome().is_none() && base.poison.is_none() {
                open.settle(at.time);
            }
        }
        *self = base;
    }

    /// Returns the named positions of the log, oldest first.
    #[must_use]
    pub fn snapshots(&self) -> &[Snapshot] {
        self.open.as_ref().map_or(&[], |open| open.lineage.snapshots())
    }

    /// Returns the number of applied records.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns `true` if the job has been canceled and has not ended yet.
    #[must_use]
    pub fn is_being_canceled(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| open.steering.canceled().is_some() && open.outcome().is_none())
    }

    /// Returns `true` if the job was rolled back and nothing has been decided since. Commands that
    /// are still out are then obsolete.
    #[must_use]
    pub fn begins_anew(&self) -> bool {
        self.open
            .as_ref()
            .is_some_and(|open| !open.generation().is_first() && !open.lineage.has_decided())
    }

    /// Returns the revision of the last plan that contains the step.
    #[must_use]
    pub fn revision_of(&self, step: &StepId) -> Option<u32> {
        let open = self.open.as_ref()?;
        let mut runs = open.execution.all().rev();
        runs.find(|run| run.id() == step).map(|run| run.revision)
    }

    /// Returns `true` if the step belongs to a plan that waits for confirmation.
    #[must_use]
    pub fn is_proposed(&self, step: &StepId) -> bool {
        let plan = self.open.as_ref().and_then(|open| open.planning.stage().proposed());
        plan.is_some_and(|plan| plan.steps.iter().any(|one| one.id == *step))
    }

    /// Returns the state with which a fork from this state begins.
    pub(super) fn into_fork(mut self) -> Self {
        let origin = Origin { job: self.id.clone(), seq: self.seq };
        if let Some(open) = &mut self.open {
            open.begin_as_fork(origin);
        }
        self
    }

    /// Begins a fork with the state of its source. If the source's records cannot be folded, the
    /// job is poisoned.
    pub(super) fn begin_forked(&mut self, at: At, forked: &Forked) {
        let Some(base) = base_of(forked) else {
            let reason = format!("the records copied from job {} cannot be folded", forked.job);
            self.poison = Some(Poison::new(at, reason));
            return;
        };
        self.lived_ms = base.age_ms();
        let Some(mut open) = base.open else { return };
        open.begin_as_fork(Origin { job: forked.job.clone(), seq: forked.seq });
        self.open = Some(open);
    }
}

/// Folds the source of a fork, or returns `None` if its records cannot be read or poison it.
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

impl ActiveJob {
    /// Closes the questions and cancels the timers that are open now, and keeps the bill. Numbers
    /// that were used stay used.
    fn leave_behind(&mut self, now: &Self, at: Timestamp) {
        let mut orphans = now.timers.orphans().to_vec();
        orphans.extend(self.questions.leave_behind(&now.questions, at));
        if now.outcome().is_none() {
            orphans.extend(now.timers());
        }
        self.timers.replace_orphans(orphans);
        self.spending.keep_bill(&now.spending);
        let has_said_more = now.family.heard_more_than(&self.family);
        self.steering.keep_of_parent(&now.steering, has_said_more);
        let execution = &self.execution;
        self.family.leave_behind(&now.family, |spawn| execution.awaits(spawn));
    }

    /// Begins a fork. It inherits no questions, timers, children or snapshots of the source, and no
    /// signals of the source's operators.
    fn begin_as_fork(&mut self, origin: Origin) {
        self.questions.clear();
        self.timers.replace_orphans(Vec::new());
        self.lineage.fork_of(origin);
        self.family.leave();
        self.steering.clear_signals();
        // An approval counts for the job in which a person gave it.
        self.approvals.forget();
        // The position of the mark is one of the source's log.
        self.mark.iter_mut().for_each(|mark| (mark.seq, mark.at) = (None, None));
        self.saw_outside_at = None;
        self.artifacts.leave_behind();
        self.graph.iter_mut().for_each(|graph| graph.forget_edits());
        self.execution.take_along();
        self.spending.begin_bill();
        self.go_on(self.generation().next());
    }

    /// Begins a generation, in which unfinished work is decided again.
    fn go_on(&mut self, generation: Generation) {
        self.lineage.begin(generation);
        self.timers.forget_early();
        let kind = self.round_kind();
        let (was_sent, asked_again) = self.planning.go_on();
        self.spending.uncount(kind, u32::from(was_sent));
        self.questions.uncount(asked_again);
        for step in self.execution.steps_mut().iter_mut().filter(|step| !step.state.is_terminal()) {
            let again = step.go_on(generation);
            self.spending.uncount(Spend::Turn, again.turns);
            self.spending.uncount(Spend::Tool, again.calls);
            self.questions.uncount(again.asks);
        }
    }

    /// Handles a decision of an earlier generation that was stored after the rollback. Nothing
    /// follows from it, and its question, timer or child is called off.
    pub(super) fn fence(&mut self, at: Timestamp, decision: &Decision) {
        match decision {
            Decision::Ask(work) => {
                let asking = AskedQuestion::new(work.question.clone(), work.work.clone(), at);
                self.timers.orphan(self.questions.fence(asking));
            }
            Decision::Wait(wait) => self.timers.orphan([wait.timer.clone()]),
            // The supervisor that decided it may have submitted the child: it is recorded, so that
            // it is canceled.
            Decision::Spawn(work) => self.family.spawned(work, self.lineage.generation()),
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Note(_)
            | Decision::Done(_)
            | Decision::Finish(_) => {}
        }
    }

    /// Returns the job's conversation, or `None` for a fork, which belongs to none.
    pub(super) fn conversation_id(&self) -> Option<ConversationId> {
        let conversation = self.brief.conversation.as_ref();
        conversation.filter(|_| self.lineage.origin().is_none()).map(|c| c.id.clone())
    }
}

/// The counts of a step's work that will be done again.
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
                // A turn with a summary was sent before and is not counted again.
                again.turns = u32::from(turn.attempts.count() > 0 && !turn.summarised);
                let first = name(turn.run, turn.number);
                turn.work = if turn.summarised { names::summarised(&first) } else { first };
                (turn.attempts, turn.carries) = (Attempts::default(), 0);
            }
            Exec::Acting(acting) => {
                let turn = name(acting.run, acting.number);
                again.calls_of(acting, &turn);
            }
            Exec::Rerun(attempts) => attempts.wait_no_longer(),
            Exec::Asked(inquiry) => {
                inquiry.ask = None;
                inquiry.work = names::step(generation, revision, &id);
            }
            Exec::Sleep(sleep) => {
                (sleep.timer, sleep.is_late) = (None, false);
                sleep.work = names::step(generation, revision, &id);
            }
            Exec::NotBegun | Exec::Ended => {}
        }
        self.follow();
        again
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
