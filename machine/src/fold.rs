//! Takes the next record of a job's log.

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    budget::Spend,
    decision::{Decision, Note},
    entry::Entry,
    fact::{Called, Fact, Fired, Signal, Signaled, Source, Submitted, TurnReply, Turned},
    id::{Attempt, Seq, WorkId},
    limits,
    notice::Notice,
    record::{Known, Unreadable},
    subject::Family,
};

use super::{
    ask, names,
    state::{AskState, Awake, Job, Open, Poison, Stage},
    step::{Exec, StepRun},
    text,
    turn::{Acting, Asks},
};

/// Where a record stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    /// Its position.
    pub seq: Seq,
    /// When it was stored, by the server's clock.
    pub time: Timestamp,
}

impl At {
    /// The position of an entry.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        Self { seq: entry.seq, time: entry.time }
    }
}

/// Whether a fact changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    Yes,
    /// Too late, twice, or for nothing that is known.
    No,
}

impl From<bool> for Counted {
    fn from(counted: bool) -> Self {
        if counted { Self::Yes } else { Self::No }
    }
}

impl Job {
    /// Applies the next record of the log. A record at or before the last one is passed over.
    ///
    /// A record that cannot be understood, or a decision that cannot follow what went before,
    /// poisons the job: from then on it only counts records. No other job is touched.
    pub fn apply(&mut self, at: At, family: &Family, record: Result<&Known, &Unreadable>) {
        if at.seq <= self.seq {
            return;
        }
        let is_decision = matches!(family, Family::Do(..) | Family::UnknownDo(_));
        if *family == Family::In(Source::People) {
            self.last_answer = at.seq;
        }
        if let Err(Unreadable::Forged) = record {
            // Nobody's word, but decisions are stored after the last one at its position.
            self.seq = at.seq;
            if is_decision {
                self.last_decision = at.seq;
            }
            self.ignored += 1;
            return;
        }
        if self.records == 0 {
            self.first = at.seq;
        }
        self.seq = at.seq;
        self.updated = at.time;
        self.records += 1;
        if is_decision {
            self.last_decision = at.seq;
        } else if !self.has_work_out() {
            self.wake(at, record);
        }
        if self.is_rolled_back(at, family, record) || self.poison.is_some() {
            return;
        }
        match (record, family) {
            (Err(unreadable), _) => {
                self.poison = Some(Poison::unreadable(at.seq, unreadable));
            }
            (Ok(Known::Fact(fact)), Family::In(source)) if fact.source() == *source => {
                if self.fact(at, fact) == Counted::No {
                    self.ignored += 1;
                }
            }
            (Ok(Known::Decision(decision)), Family::Do(kind, _)) if decision.kind() == *kind => {
                self.decision(at, decision);
            }
            // Written by somebody who is not entitled to say this. It is not evidence of anything.
            (
                Ok(Known::Fact(_) | Known::Decision(_)),
                Family::In(_)
                | Family::Do(..)
                | Family::At(_)
                | Family::UnknownIn(_)
                | Family::UnknownDo(_),
            ) => {
                self.ignored += 1;
            }
        }
        if let Some(open) = self.open.as_mut().filter(|open| open.outcome.is_none()) {
            open.settle(at.time);
        }
    }

    fn wake(&mut self, at: At, record: Result<&Known, &Unreadable>) {
        let ask = match record {
            Ok(Known::Fact(fact)) => fact.ask().cloned(),
            Ok(Known::Decision(_)) | Err(_) => None,
        };
        self.awake = Awake { seq: at.seq, time: at.time, ask };
    }

    fn fact(&mut self, at: At, fact: &Fact) -> Counted {
        let Some(open) = self.open.as_mut() else {
            let Fact::Submitted(submitted) = fact else { return Counted::No };
            (self.created, self.since) = (at.time, at.time);
            if !submitted.rules.are_known() {
                let rules = submitted.rules;
                let reason = format!("the job is under rules of a newer Callboard ({rules})");
                self.poison = Some(Poison { seq: at.seq, place: reason.clone(), reason });
            }
            match &submitted.forked {
                None => self.open = Some(begin(submitted)),
                Some(forked) => self.begin_forked(at, forked),
            }
            return Counted::Yes;
        };
        if open.outcome.is_some() || open.family.concluded.is_some() {
            // How the job ends is settled. What its children spent until they heard of it is not.
            return match fact {
                Fact::Child(said) => open.heard_late(said),
                Fact::Submitted(_)
                | Fact::Signaled(_)
                | Fact::Planned(_)
                | Fact::Turned(_)
                | Fact::Started(_)
                | Fact::Called(_)
                | Fact::Answered(_)
                | Fact::Fired(_) => Counted::No,
            };
        }
        match fact {
            Fact::Submitted(_) => Counted::No,
            Fact::Signaled(signaled) => open.signaled(at, signaled),
            Fact::Planned(planned) => open.planned(at.time, planned),
            Fact::Turned(turned) => open.turned(at, turned),
            Fact::Started(_) => Counted::Yes,
            Fact::Called(called) => open.called(at.time, called),
            Fact::Answered(answered) => open.answered(at, &self.id, answered),
            Fact::Fired(fired) => open.fired(at.time, &self.id, fired),
            Fact::Child(said) => open.heard_child(at.time, said),
        }
    }

    fn decision(&mut self, at: At, decision: &Decision) {
        let Some(open) = self.open.as_mut().filter(|open| open.outcome.is_none()) else {
            self.ignored += 1;
            return;
        };
        if decision.generation() < open.generation {
            // Decided by somebody who did not know yet that the job was rolled back.
            open.fence(at.time, decision);
            self.ignored += 1;
            return;
        }
        open.has_decided = true;
        // Every stored decision carried the cancellation of the first timer that nothing waits for.
        if !open.orphans.is_empty() {
            open.orphans.remove(0);
        }
        let follows = decision.generation() == open.generation
            && match decision {
                Decision::Plan(work) => open.sent_plan(at.time, work),
                Decision::Turn(work) => open.sent_turn(at.time, work),
                Decision::Call(work) => open.sent_call(at.time, work),
                Decision::Ask(work) => open.asked(at.time, &self.id, work),
                Decision::Wait(wait) => open.waits(wait),
                Decision::Note(Note::QuestionClosed { ask, because, .. }) => {
                    open.noted_closed(ask, *because)
                }
                Decision::Note(Note::Stopped { work, notice }) => {
                    open.stopped(at.time, work, notice);
                    true
                }
                // What it is for is done with it: something has been decided.
                Decision::Note(Note::Held { .. }) => true,
                Decision::Spawn(work) => open.sent_spawn(at.time, work),
                Decision::Note(
                    note @ (Note::Spawned { .. }
                    | Note::ChildTold { .. }
                    | Note::ParentTold { .. }
                    | Note::Concluded { .. }),
                ) => open.noted_of_family(note),
                Decision::Finish(finish) => {
                    open.finished(at.time, &finish.outcome);
                    true
                }
            };
        if !follows {
            let reason =
                format!("the decision {:?} cannot follow what went before it", decision.kind());
            self.poison = Some(Poison { seq: at.seq, place: reason.clone(), reason });
        }
    }
}

fn begin(submitted: &Submitted) -> Open {
    let mut open = Open::new(submitted.clone());
    match &submitted.plan {
        Some(plan) => open.adopt_given(plan),
        None if open.needs_no_planner() => open.adopt_goal_as_plan(),
        None => {}
    }
    open
}

impl Open {
    fn signaled(&mut self, at: At, signaled: &Signaled) -> Counted {
        if !self.heeds(at.seq, signaled) {
            return Counted::No;
        }
        match &signaled.signal {
            Signal::Cancel => {
                self.cancel.get_or_insert_with(|| signaled.clone());
            }
            Signal::Pause => self.paused = Some(signaled.clone()),
            Signal::Resume => self.paused = None,
            Signal::Retry => return Counted::from(self.try_again()),
            Signal::Steer { text } => self.steered(text),
            Signal::Snapshot { name } => return Counted::from(self.named(at, name)),
            // Known before it comes here.
            Signal::RollBack { .. } => return Counted::No,
        }
        Counted::Yes
    }

    fn turned(&mut self, at: At, turned: &Turned) -> Counted {
        let asks = Asks { left: self.remaining_questions(), open: self.room_for_questions() };
        let (agent, language) = (Arc::clone(&self.agent), self.language);
        let agent = agent.as_ref();
        let heard = self.steps.iter().enumerate().find_map(|(index, step)| match &step.exec {
            Exec::Turn(turn) if turn.work == turned.work && turn.tries.awaits(turned.attempt) => {
                let granted = self.granted_calls(&turned.reply, turn, step);
                Some((turn.clone(), index, granted))
            }
            Exec::Turn(_)
            | Exec::NotBegun
            | Exec::Tool(_)
            | Exec::Acting(_)
            | Exec::Rerun(_)
            | Exec::Ended => None,
        });
        let Some((turn, index, granted)) = heard else { return Counted::No };
        let calls = self.guard_calls(granted);
        let Some(step) = self.steps.get_mut(index) else { return Counted::No };
        let is_summary = matches!(turned.reply, TurnReply::Summarised { .. });
        step.turns += u32::from(!is_summary);
        match &turned.reply {
            TurnReply::Calls { .. } if turn.must_answer => {
                let error = text::stopped(language, &Notice::NoAnswer);
                step.stop(Notice::NoAnswer, turn.run, error, agent, at.time);
            }
            TurnReply::Calls { .. } => {
                let calls = step.keep_outline(calls);
                let acting = Acting::new(&turn, at.seq, calls, asks, agent, language);
                step.acts(at.seq, acting);
            }
            TurnReply::Done { success, response, attachments } => {
                let kept = attachments.iter().take(limits::ATTACHMENTS_MAX);
                let end = (*success, kept.cloned().collect());
                step.reported(end, response.clone(), turn.run, agent, at.time);
            }
            TurnReply::Summarised { summary, results } => {
                if let Exec::Turn(turn) = &mut step.exec {
                    let said = (summary.as_ref(), results.as_slice());
                    turn.heard_summary(said, agent, language, at.time);
                }
            }
            TurnReply::Failed { error } => {
                if let Exec::Turn(turn) = &mut step.exec {
                    turn.tries.broke(error.clone(), at.time);
                }
            }
        }
        let model = self.agent.model.clone();
        self.spent_on(model.as_deref(), turned.usage);
        Counted::Yes
    }

    fn called(&mut self, at: Timestamp, called: &Called) -> Counted {
        let rules = self.rules;
        let found = self.steps.iter_mut().find_map(|step| {
            step.call_mut(|call| {
                call.work == called.work && call.end.is_none() && call.tries.awaits(called.attempt)
            })
        });
        let Some((call, is_step)) = found else { return Counted::No };
        call.answered(called, is_step, rules, at);
        let tool = call.tool.clone();
        self.cost_of_tool(tool, &called.cost);
        Counted::Yes
    }

    fn fired(&mut self, at: Timestamp, job: &proto::id::JobId, fired: &Fired) -> Counted {
        if fired.timer == names::deadline_timer(self.generation) {
            self.deadline_passed = true;
            return Counted::Yes;
        }
        let due = self
            .questions
            .values()
            .find(|a| a.state == AskState::Open && names::ask_timer(&a.question.id) == fired.timer)
            .map(|a| a.question.id.clone());
        if let Some(ask) = due {
            self.expired(at, job, &ask);
            return Counted::Yes;
        }
        let planning = self.stage_tries().is_some_and(|tries| tries.fired(&fired.timer));
        let coming = [
            names::retry_timer(self.generation, self.waits.saturating_add(1)),
            names::ask_timer(&names::ask(self.asks.saturating_add(1))),
        ];
        if coming.contains(&fired.timer) {
            self.early.insert(fired.timer.clone());
            return Counted::Yes;
        }
        let mut in_steps = || {
            self.steps
                .iter_mut()
                .flat_map(StepRun::tries_mut)
                .any(|tries| tries.fired(&fired.timer))
        };
        Counted::from(planning || in_steps())
    }

    pub(super) fn stage_tries(&mut self) -> Option<&mut super::tries::Tries> {
        match &mut self.stage {
            Stage::Plan { tries } => Some(tries),
            Stage::Clarify { .. }
            | Stage::Confused { .. }
            | Stage::Check { .. }
            | Stage::Execute
            | Stage::Failing { .. }
            | Stage::Rejected { .. } => None,
        }
    }

    /// A command to plan was stored. The first one of the next round ends the plan in force.
    fn sent_plan(&mut self, at: Timestamp, work: &proto::decision::PlanWork) -> bool {
        if work.work == names::plan(self.generation, self.round.saturating_add(1)) {
            if matches!(self.stage, Stage::Failing { .. }) {
                // A question expired between deciding and storing: whatever the planner says, the
                // job fails.
                return true;
            }
            let Some(cause) = self.replan_cause() else { return false };
            self.replan(at, cause);
        }
        let sent = self.stage_tries().is_some_and(|tries| tries.sent(work.attempt));
        if sent && work.attempt == Attempt::FIRST && self.rejected == 0 {
            self.spent.count(self.round_kind());
        }
        if sent {
            self.heard_by_plan(work);
        }
        sent
    }

    fn sent_turn(&mut self, at: Timestamp, work: &proto::decision::TurnWork) -> bool {
        let (spent, mut told) = (&mut self.spent, 0);
        let sent = self.steps.iter_mut().any(|step| {
            let Exec::Turn(turn) = &mut step.exec else { return false };
            let sent = turn.work == work.work && turn.tries.sent(work.attempt);
            if sent {
                turn.must_answer = work.must_answer;
                (told, turn.carries) = (turn.told, work.instructions.len());
                let again = turn.was_begun(work.attempt);
                step.begun(at, spent, Spend::Turn, again);
            }
            sent
        });
        if sent {
            self.heard_by_turn(work, told);
        }
        sent
    }

    fn sent_call(&mut self, at: Timestamp, work: &proto::decision::CallWork) -> bool {
        let (sent, rules) = (self.sent_unit(at, &work.work, work.attempt), self.rules);
        if let Some(error) = work.refused.as_ref().filter(|_| sent) {
            for step in &mut self.steps {
                if let Some((call, _)) = step.call_mut(|call| call.work == work.work) {
                    call.broke(error.clone(), rules, at);
                }
            }
        }
        sent
    }

    fn sent_spawn(&mut self, at: Timestamp, work: &proto::decision::SpawnWork) -> bool {
        self.spawned(work);
        for step in &mut self.steps {
            if let Some((call, _)) = step.call_mut(|call| call.work == work.work) {
                call.asks_below = false;
            }
        }
        self.sent_unit(at, &work.work, work.attempt)
    }

    fn sent_unit(&mut self, at: Timestamp, work: &WorkId, attempt: Attempt) -> bool {
        let spent = &mut self.spent;
        self.steps.iter_mut().any(|step| {
            let sent = step
                .call_mut(|call| call.work == *work)
                .is_some_and(|(call, _)| call.end.is_none() && call.tries.sent(attempt));
            if sent {
                step.begun(at, spent, Spend::Tool, attempt != Attempt::FIRST);
            }
            sent
        })
    }

    fn waits(&mut self, wait: &proto::decision::Wait) -> bool {
        self.waits = self.waits.saturating_add(1);
        let waits = self.begin_wait(wait);
        if self.early.remove(&wait.timer) {
            let mut planning = self.stage_tries().into_iter();
            let over = planning.any(|tries| tries.fired(&wait.timer));
            let mut steps = self.steps.iter_mut().flat_map(StepRun::tries_mut);
            return waits && (over || steps.any(|tries| tries.fired(&wait.timer)));
        }
        waits
    }

    fn begin_wait(&mut self, wait: &proto::decision::Wait) -> bool {
        if wait.work == names::plan(self.generation, self.round) {
            return self.stage_tries().is_some_and(|tries| tries.waits(wait));
        }
        self.steps.iter_mut().any(|step| {
            let own = names::step(step.generation, step.revision, step.id());
            let waits = match &mut step.exec {
                Exec::Turn(turn) if turn.work == wait.work => turn.tries.waits(wait),
                Exec::Rerun(tries) if own == wait.work => tries.waits(wait),
                Exec::Tool(_) | Exec::Acting(_) => step
                    .call_mut(|call| call.work == wait.work)
                    .is_some_and(|(call, _)| call.tries.waits(wait)),
                Exec::Turn(_) | Exec::Rerun(_) | Exec::NotBegun | Exec::Ended => false,
            };
            if waits {
                step.follow();
            }
            waits
        })
    }

    /// Questions that turns have asked for and that are not stored yet.
    pub(super) fn coming_questions(&self) -> u32 {
        self.steps.iter().map(ask::unasked).sum()
    }

    /// Questions that steps may still ask, those counted that a turn has asked for already.
    fn remaining_questions(&self) -> Option<u32> {
        if !self.agent.ask.when.in_steps() {
            return Some(0);
        }
        self.agent.ask.limit.left_after(self.agent_asks.saturating_add(self.coming_questions()))
    }
}
