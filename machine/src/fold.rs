//! The fold of a job: how each record of the log changes its state.

use jiff::Timestamp;
use proto::{
    decision::{Decision, Note, Wait},
    fact::{Called, Fact, Fired, Signal, Signaled, Source, Started, Submitted, TurnReply, Turned},
    file::File,
    id::JobId,
    limits,
    notice::Notice,
    record::{Known, Unreadable},
    spent::Spent,
    subject::Family,
};

use super::{
    at::{At, Counted},
    call::Call,
    done::Half,
    names,
    state::{ActiveJob, AskedQuestion, EditRequest, Job, Poison, Wakeup},
    step::Exec,
    turn::{Acting, Asks},
};

impl Job {
    /// Applies the next record of the log. A record at or before the last applied position is
    /// skipped.
    ///
    /// An unreadable record that no worker wrote, a worker's result of a newer version, or a decision
    /// that cannot follow the records before it poisons the job: from then on only its end counts.
    /// Other jobs are not affected.
    pub fn apply(&mut self, at: At, family: &Family, record: Result<&Known, &Unreadable>) {
        self.apply_in_halves(at, family, record, &mut |_, _| ());
    }

    /// Applies the next record, and passes the job after each half of a `done` record to `halves`.
    pub(super) fn apply_in_halves(
        &mut self,
        at: At,
        family: &Family,
        record: Result<&Known, &Unreadable>,
        halves: &mut dyn FnMut(&Self, Half<'_>),
    ) {
        if at.seq <= self.seq {
            return;
        }
        let is_decision = matches!(family, Family::Do(..) | Family::UnknownDo(_));
        if *family == Family::In(Source::People) {
            self.last_answer = at.seq;
        }
        if let Err(Unreadable::Forged) = record {
            // A forged record changes no state, but its position is the one that the next decision
            // is compared with.
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
        if self.is_rolled_back(at, family, record)
            || (self.poison.is_some() && !self.ends_poisoned(record))
        {
            return;
        }
        match (record, family) {
            (Err(unreadable), _) => self.take_unreadable(at, family, unreadable),
            (Ok(Known::Fact(fact)), Family::In(source)) if fact.may_come_from(source) => {
                if self.fact(at, source, fact) == Counted::No {
                    self.ignored += 1;
                }
            }
            (Ok(Known::Decision(decision)), Family::Do(kind, _)) if decision.kind() == *kind => {
                self.decision(at, decision);
                if let Decision::Done(done) = &**decision
                    && self.take_done(at, done, halves)
                {
                    return;
                }
            }
            // The writer may not publish this kind of record, so the record proves nothing.
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
        self.settle(at.time);
    }

    /// Draws all conclusions from the records so far.
    pub(super) fn settle(&mut self, at: Timestamp) {
        if let Some(open) = self.open.as_mut().filter(|open| open.outcome().is_none()) {
            open.settle(at);
            open.planning.note_failing(at);
        }
    }

    fn wake(&mut self, at: At, record: Result<&Known, &Unreadable>) {
        let ask = match record {
            Ok(Known::Fact(fact)) => fact.ask().cloned(),
            Ok(Known::Decision(_)) | Err(_) => None,
        };
        self.awake = Wakeup { seq: at.seq, time: at.time, ask };
    }

    fn fact(&mut self, at: At, source: &Source, fact: &Fact) -> Counted {
        let Some(open) = self.open.as_mut() else {
            let Fact::Submitted(submitted) = fact else { return Counted::No };
            (self.created, self.since) = (at.time, at.time);
            if !submitted.rules.are_known() {
                let rules = submitted.rules;
                let reason = format!("the job is under rules of a newer Callboard ({rules})");
                self.poison = Some(Poison::new(at, reason));
            }
            match &submitted.forked {
                None => self.open = Some(begin(submitted)),
                Some(forked) => self.begin_forked(at, forked),
            }
            return Counted::Yes;
        };
        if open.outcome().is_some() || open.family.concluded().is_some() {
            // The outcome is settled. Children may still report what they spent before they
            // stopped.
            return match fact {
                Fact::Child(said) => open.heard_end(said),
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
            Fact::Started(started) => open.started(source, started),
            Fact::Called(called) => open.called(at, source, called),
            Fact::Answered(answered) => open.answered(at, &self.id, answered),
            Fact::Fired(fired) => open.fired(at.time, &self.id, fired),
            Fact::Child(said) => open.heard_child(at, said),
        }
    }

    fn decision(&mut self, at: At, decision: &Decision) {
        let Some(open) = self.open.as_mut().filter(|open| open.outcome().is_none()) else {
            self.ignored += 1;
            return;
        };
        if decision.generation() < open.generation() {
            // The writer of this decision had not yet seen the rollback.
            open.fence(at.time, decision);
            self.ignored += 1;
            return;
        }
        open.lineage.decided();
        open.timers.canceled_one();
        let follows = decision.generation() == open.generation()
            && match decision {
                Decision::Plan(work) => open.sent_plan(at, work),
                Decision::Turn(work) => open.sent_turn(at, work),
                Decision::Call(work) => open.sent_call(at, &self.id, work),
                Decision::Ask(work) => open.asked(at.time, &self.id, work),
                Decision::Wait(wait) => open.waits(at.time, wait),
                Decision::Note(Note::QuestionClosed { ask, because, .. }) => {
                    open.noted_closed(ask, *because, at)
                }
                Decision::Note(Note::Stopped { work, notice }) => {
                    open.stopped(at.time, work, notice);
                    true
                }
                // The note exists only to be a decision: the first decision arms the deadline.
                Decision::Note(Note::Held { .. }) => true,
                Decision::Note(Note::GraphEdited { signal, .. }) => open.edited_graph(*signal),
                Decision::Note(Note::Advanced(advance)) => open.advanced(at.time, advance),
                Decision::Spawn(work) => open.sent_spawn(at, &self.id, work),
                Decision::Done(done) => {
                    let at = At { time: done.begun(at.time), ..at };
                    open.sent_done(at, &self.id, &done.first)
                }
                Decision::Note(
                    note
                    @ (Note::Spawned { .. } | Note::ChildTold { .. } | Note::ParentTold { .. }),
                ) => open.family.noted(note),
                Decision::Note(Note::Concluded { outcome, .. }) => {
                    let account = open.account();
                    open.family.conclude(outcome, account)
                }
                Decision::Finish(finish) => {
                    open.finished(at.time, &finish.outcome);
                    true
                }
            };
        if !follows {
            let reason =
                format!("the decision {:?} cannot follow the records before it", decision.kind());
            self.poison.get_or_insert_with(|| Poison::new(at, reason));
        }
    }
}

fn begin(submitted: &Submitted) -> ActiveJob {
    let mut open = ActiveJob::new(submitted.clone());
    match (&submitted.workflow, &submitted.plan) {
        (Some(run), _) => open.adopt_workflow(run),
        (None, Some(plan)) => open.adopt_given(plan),
        (None, None) if open.brief.needs_no_planner() => open.adopt_goal_as_plan(),
        (None, None) => {}
    }
    open
}

impl ActiveJob {
    fn signaled(&mut self, at: At, signaled: &Signaled) -> Counted {
        if !self.family.heeds(at.seq, signaled) {
            return Counted::No;
        }
        match &signaled.signal {
            Signal::Cancel => self.steering.cancel(signaled),
            Signal::Pause => self.steering.pause(signaled, at.time),
            Signal::Resume => self.steering.resume(),
            Signal::Retry => return Counted::from(self.try_again()),
            Signal::Steer { text } => self.steered(text),
            Signal::Event { name, data } => return self.heard_event(name, data),
            Signal::EditGraph { base, run, changes } => {
                return self.request_edit(*base, EditRequest::new(at.seq, signaled, changes, run));
            }
            Signal::Snapshot { name, at: earlier } => {
                return Counted::from(self.lineage.name(at, name, *earlier));
            }
            // `apply` handles rollbacks before it calls this method.
            Signal::RollBack { .. } => return Counted::No,
        }
        Counted::Yes
    }

    pub(super) fn turned(&mut self, at: At, turned: &Turned) -> Counted {
        let asks = Asks { left: self.remaining_questions(), open: self.room_for_questions() };
        let heard = self.execution.steps().iter().enumerate().find_map(|(index, step)| {
            let Exec::Turn(turn) = &step.exec else { return None };
            let is_awaited = turn.work == turned.work && turn.attempts.awaits(turned.attempt);
            is_awaited.then(|| {
                let granted = self.granted_calls(&turned.reply, turn, step);
                (turn.clone(), index, granted, step.model().map(str::to_owned))
            })
        });
        let Some((turn, index, granted, model)) = heard else { return Counted::No };
        let mut calls = self.guard_calls(granted);
        if !turn.must_answer
            && let Some(plan) = self.plan_of_calls(&mut calls)
        {
            self.confirm_calls(at.time, plan);
            let _ = self.spent_on_turn(turned, model.as_deref());
            return Counted::Yes;
        }
        let language = self.language();
        let agent = &self.brief.agent;
        let Some(step) = self.execution.steps_mut().get_mut(index) else { return Counted::No };
        let is_summary = matches!(turned.reply, TurnReply::Summarised { .. });
        step.turns += u32::from(!is_summary);
        match &turned.reply {
            reply if step.must_fit() => step.heard_output(reply, turn.run, language, at.time),
            TurnReply::Calls { .. } if turn.must_answer => {
                let error = Notice::NoAnswer.text(language);
                step.stop(Notice::NoAnswer, turn.run, error, agent, at.time);
            }
            TurnReply::Calls { .. } => {
                let calls = step.keep_outline(calls);
                let acting = Acting::new(&turn, at.seq, calls, asks, agent, language);
                step.acts(at.seq, acting);
            }
            TurnReply::Done { success, response, attachments, value: _ } => {
                let kept = attachments.iter().take(limits::ATTACHMENTS_MAX);
                let end = (*success, kept.cloned().collect());
                step.reported(end, response.clone(), turn.run, agent, at.time);
            }
            TurnReply::Misfit { .. } => step.no_value(language, at.time),
            TurnReply::Summarised { summary, results } => {
                if let Exec::Turn(turn) = &mut step.exec {
                    let said = (summary.as_ref(), results.as_slice());
                    turn.heard_summary(said, agent, language, at.time);
                }
            }
            TurnReply::Failed { error } => {
                if let Exec::Turn(turn) = &mut step.exec {
                    turn.attempts.broke(error.clone(), at.time);
                }
            }
        }
        let spent = self.spent_on_turn(turned, model.as_deref());
        if let Some(step) = self.execution.steps_mut().get_mut(index) {
            step.spent += spent;
        }
        Counted::Yes
    }

    /// Charges a turn at the price of the model that answered: by default that of its node, or of the
    /// agent.
    fn spent_on_turn(&mut self, turned: &Turned, of_node: Option<&str>) -> Spent {
        let answered = turned.answered.as_ref().map(|answered| answered.model.as_str());
        let model = answered.or(of_node).or(self.brief.agent.model.as_deref());
        self.spending.model(&self.brief, model, turned.usage)
    }

    /// Counts an intent unless the call is of another pool.
    fn started(&mut self, source: &Source, started: &Started) -> Counted {
        let is_foreign =
            |call: &Call| call.work == started.work && !source.may_call(&call.binding.pool);
        Counted::from(self.execution.call_mut(is_foreign).is_none())
    }

    pub(super) fn called(&mut self, at: At, source: &Source, called: &Called) -> Counted {
        // Only a child's own report ends the call of a sub-agent.
        let awaits = |call: &Call| !call.is_agent() && call.awaits(&called.work, called.attempt);
        let is_theirs = |call: &Call| awaits(call) && source.may_call(&call.binding.pool);
        let (spending, brief) = (&mut self.spending, &self.brief);
        let answered = self.execution.steps_mut().iter_mut().find_map(|step| {
            let (call, is_step) = step.call_mut(is_theirs)?;
            call.answered(called, is_step, at.time);
            let (tool, untrusted) = (call.tool.clone(), call.binding.untrusted);
            step.spent += spending.tool(brief, tool.clone(), &called.cost);
            Some((tool, untrusted, step.id().clone()))
        });
        let Some((tool, untrusted, step)) = answered else { return Counted::No };
        if called.result.success && called.fault.is_none() {
            // A name stands for one file of the job.
            let counts = |file: &&File| file.may_be_artifact() && !self.brief.has_file(&file.name);
            let files = called.files.iter().take(limits::ARTIFACTS_OF_CALL_MAX).filter(counts);
            files.for_each(|file| self.artifacts.add(file, &step, &tool, at));
        }
        if untrusted {
            self.saw_outside(&tool, at);
        }
        Counted::Yes
    }

    fn fired(&mut self, at: Timestamp, job: &JobId, fired: &Fired) -> Counted {
        if fired.timer == names::deadline_timer(self.generation()) {
            self.timers.pass_deadline();
            return Counted::Yes;
        }
        let is_due = |asking: &&AskedQuestion| names::ask_timer(&asking.question.id) == fired.timer;
        let due =
            self.questions.open_in_order().find(is_due).map(|asking| asking.question.id.clone());
        if let Some(ask) = due {
            self.expired(at, job, &ask);
            return Counted::Yes;
        }
        let planning =
            self.planning.attempts_mut().is_some_and(|attempts| attempts.fired(&fired.timer));
        let coming = [
            self.timers.next_retry(self.generation()),
            names::ask_timer(&self.questions.next_id()),
        ];
        if coming.contains(&fired.timer) {
            self.timers.fired_early(fired.timer.clone());
            return Counted::Yes;
        }
        Counted::from(
            planning
                || self.woke(at, &fired.timer)
                || self.execution.attempts_mut().any(|attempts| attempts.fired(&fired.timer)),
        )
    }

    fn waits(&mut self, at: Timestamp, wait: &Wait) -> bool {
        self.timers.count_wait();
        let waits = self.begin_wait(wait);
        if self.timers.take_early(&wait.timer) {
            if self.woke(at, &wait.timer) {
                return waits;
            }
            let mut planning = self.planning.attempts_mut().into_iter();
            let over = planning.any(|attempts| attempts.fired(&wait.timer));
            let mut steps = self.execution.attempts_mut();
            return waits && (over || steps.any(|attempts| attempts.fired(&wait.timer)));
        }
        waits
    }

    fn begin_wait(&mut self, wait: &Wait) -> bool {
        if wait.work == self.planning.work(self.generation()) {
            return self.planning.attempts_mut().is_some_and(|attempts| attempts.waits(wait));
        }
        self.execution.steps_mut().iter_mut().any(|step| {
            let own = names::step(step.generation, step.revision, step.id());
            let waits = match &mut step.exec {
                Exec::Turn(turn) if turn.work == wait.work => turn.attempts.waits(wait),
                Exec::Rerun(attempts) if own == wait.work => attempts.waits(wait),
                Exec::Tool(_) | Exec::Acting(_) => step
                    .call_mut(|call| call.work == wait.work)
                    .is_some_and(|(call, _)| call.attempts.waits(wait)),
                Exec::Sleep(sleep) if sleep.work == wait.work && !sleep.is_waiting() => {
                    sleep.timer = Some(wait.timer.clone());
                    true
                }
                Exec::Turn(_)
                | Exec::Rerun(_)
                | Exec::Asked(_)
                | Exec::Sleep(_)
                | Exec::NotBegun
                | Exec::Ended => false,
            };
            if waits {
                step.follow();
            }
            waits
        })
    }
}
