//! A log of the model: its records, the job that they fold to, and the claims that they break.

use std::{collections::BTreeSet, sync::Arc};

use machine::{
    Job, Next,
    cancellation::{Cancellation, Verdict},
    replay, testing,
};
use proto::{
    decision::{CallWork, Decision, DecisionKind, Done, Note},
    entry::Entry,
    fact::{Fact, Signal},
    family::News,
    id::{AskId, JobId, Seq, TimerName, Unit},
    job::Outcome,
    step::StepState,
    subject::Family,
    tool::Effect,
    workflow::{Advance, Move},
};

use super::{
    claims,
    script::{Saying, may_join},
    world::Places,
};

/// A log with its fold.
#[derive(Clone)]
pub(super) struct Log {
    pub(super) written: Vec<Arc<Written>>,
    pub(super) job: Job,
    /// Claims that a record breaks.
    pub(super) wrong: BTreeSet<&'static str>,
    pub(super) ended: bool,
    /// First open question.
    pub(super) asks: Option<AskId>,
    /// `true` if a decision should follow that is not stored.
    pub(super) lacks_decision: bool,
    /// Position of the last decision; 0 before the first.
    pub(super) decided: u8,
    /// Commands that start without a check at their first delivery.
    pub(super) unchecked: Places,
    /// Index of the record with the plan.
    pub(super) planned: Option<usize>,
    /// Number of decisions by a supervisor that had not seen the rollback.
    pub(super) fenced: u8,
    /// Number of advances by a supervisor that did not know of an edit of the graph.
    pub(super) overtaken: u8,
    /// Number of results of earlier work that arrived after the rollback.
    pub(super) heard_of_before: u8,
    pub(super) answers: u8,
    /// Children that the job decided to spawn.
    pub(super) spawned: BTreeSet<JobId>,
    /// End of the child, as it counted.
    pub(super) child_ended: Option<Outcome>,
    /// Number of messages about that end.
    pub(super) ends_heard: u8,
    /// Number of joins of a workflow.
    pub(super) joins: u8,
    /// Numbers of branches that arrived in one advance of a workflow.
    pub(super) arrivals: BTreeSet<usize>,
    /// Number of commands that a supervisor carried out itself.
    pub(super) done: u8,
    /// `true` if one record has several of them.
    pub(super) joined: bool,
    /// `true` if the job noted that it canceled its child.
    called_off: bool,
    counted: BTreeSet<Option<Unit>>,
    sent: BTreeSet<String>,
}

/// A record of a log.
pub(super) struct Written {
    pub(super) saying: Saying,
    pub(super) entry: Entry,
    pub(super) body: Body,
    /// Attempt of a command or of a result.
    pub(super) attempt: Option<Unit>,
}

/// The content of a record.
pub(super) enum Body {
    Fact(Box<Fact>),
    /// A decision and its label, which identifies it.
    Decision(Box<Decision>, String),
}

impl Written {
    /// Returns `true` if a worker takes the record.
    pub(super) fn is_command(&self) -> bool {
        matches!(
            self.entry.family,
            Family::Do(DecisionKind::Plan | DecisionKind::Turn | DecisionKind::Call, _)
        )
    }

    /// Returns `true` if the record holds work that a supervisor carried out itself.
    fn is_done(&self) -> bool {
        matches!(self.entry.family, Family::Do(DecisionKind::Done, _))
    }

    /// Returns the child that the record spawns.
    pub(super) fn child(&self) -> Option<&JobId> {
        let Body::Decision(decision, _) = &self.body else { return None };
        if let Decision::Spawn(spawn) = &**decision { Some(&spawn.child) } else { None }
    }

    fn next(&self) -> Option<u32> {
        if let Saying::Decision { next, .. } = self.saying { Some(next) } else { None }
    }

    fn has_fired(&self, timer: &TimerName) -> bool {
        let Body::Fact(fact) = &self.body else { return false };
        matches!(&**fact, Fact::Fired(fired) if fired.timer == *timer)
    }
}

impl Log {
    pub(super) fn empty(job: JobId) -> Self {
        Self {
            written: Vec::new(),
            job: Job::new(job),
            wrong: BTreeSet::new(),
            ended: false,
            asks: None,
            lacks_decision: false,
            decided: 0,
            unchecked: 0,
            planned: None,
            fenced: 0,
            overtaken: 0,
            heard_of_before: 0,
            answers: 0,
            spawned: BTreeSet::new(),
            child_ended: None,
            ends_heard: 0,
            joins: 0,
            arrivals: BTreeSet::new(),
            done: 0,
            joined: false,
            called_off: false,
            counted: BTreeSet::new(),
            sent: BTreeSet::new(),
        }
    }

    /// Returns all positions of the log.
    pub(super) fn all(&self) -> Places {
        (1 << self.written.len()) - 1
    }

    pub(super) fn entries(&self, places: Places) -> Vec<Entry> {
        let all = self.written.iter().enumerate();
        all.filter(|(at, _)| places & (1 << at) != 0).map(|(_, w)| w.entry.clone()).collect()
    }

    /// Returns `true` if the job was submitted.
    pub(super) fn is_there(&self) -> bool {
        self.job.first() > Seq(0)
    }

    /// Returns `true` if the job has ended or was never submitted.
    pub(super) fn is_over(&self) -> bool {
        self.ended || !self.is_there()
    }

    /// Returns `true` if a unit of the record after the log `before` counted for nothing.
    pub(super) fn dropped_units(&self, before: &Self) -> bool {
        let is_done = self.written.last().is_some_and(|record| record.is_done());
        is_done && self.job.ignored() > before.job.ignored()
    }

    /// Returns the number of changes of the graph.
    pub(super) fn revision(&self) -> u32 {
        self.job.workflow().map_or(0, |(_, revision)| revision)
    }

    pub(super) fn has(&self, saying: Saying) -> bool {
        self.written.iter().any(|record| record.saying == saying)
    }

    /// Returns `true` if a worker that reads the log finds the command unwanted.
    pub(super) fn is_unwanted(&self, command: u8) -> bool {
        let at = usize::from(command);
        let Body::Decision(decision, _) = &self.written[at].body else { return true };
        let mut cancellation = Cancellation::new(self.written[at].entry.seq, decision);
        let later: Vec<Entry> = self.written[at + 1..].iter().map(|w| w.entry.clone()).collect();
        cancellation.take(&later) != Verdict::Wanted
    }

    /// Returns `true` if a timer fired before the decision that it was armed for.
    pub(super) fn fired_early(&self, nexts: &[Next]) -> bool {
        let mut decided = self.written.iter().enumerate();
        decided.any(|(at, record)| {
            let arms = record.next().map(|next| &nexts[next as usize].arm);
            let fired = |timer: &TimerName| self.written[..at].iter().any(|r| r.has_fired(timer));
            arms.is_some_and(|arms| arms.iter().any(|arm| fired(&arm.timer)))
        })
    }

    /// Returns `true` if a command has no result.
    pub(super) fn lacks_results(&self) -> bool {
        let is_answered =
            |unit| self.written.iter().any(|r| !r.saying.is_decision() && r.attempt == unit);
        let mut commands = self.written.iter().filter(|record| record.is_command());
        commands.any(|command| !is_answered(command.attempt.clone()))
    }

    /// Returns the highest attempt of any unit of work.
    pub(super) fn attempts(&self) -> u32 {
        let attempts = self.written.iter().filter_map(|record| record.attempt.as_ref());
        attempts.map(|unit| unit.attempt.0).max().unwrap_or(0)
    }

    /// Takes a record and checks it against the records before it.
    pub(super) fn take(&mut self, written: Written) {
        let before = Before::of(self);
        if written.saying == Saying::RollBack {
            let mut entries = self.entries(self.all());
            entries.push(written.entry.clone());
            self.job = replay(self.job.id(), &entries);
        } else {
            self.job.take(&written.entry);
        }
        let counts = self.job.ignored() == before.ignored;
        if self.job.poison().is_some() {
            self.wrong.insert(claims::UNREADABLE);
        }
        match (&written.body, written.saying) {
            (Body::Decision(decision, label), Saying::Decision { after, .. }) => {
                self.decision(&before, decision, label, after);
            }
            (Body::Fact(_), Saying::Result { command, .. }) => {
                self.result(&before, &written, command, counts);
            }
            (Body::Fact(fact), _) => self.fact(fact, counts),
            (Body::Decision(..), _) => {}
        }
        let at = self.written.len();
        if written.saying.is_decision() {
            self.decided = u8::try_from(at + 1).expect("the log is short");
            let is_unchecked = matches!(
                written.entry.family,
                Family::Do(DecisionKind::Plan | DecisionKind::Turn, _)
            );
            self.unchecked |= Places::from(is_unchecked) << at;
        }
        self.written.push(Arc::new(written));
        self.ended = self.job.has_ended();
        self.asks = self.job.waits().questions.first().cloned();
        self.lacks_decision = self.job.decide().is_some();
    }

    fn decision(&mut self, before: &Before, decision: &Decision, label: &str, after: u8) {
        if before.ended {
            self.wrong.insert(claims::NOTHING_AFTER_THE_END);
        }
        if self.written.iter().any(|other| other.saying.is_decision_after(after)) {
            self.wrong.insert(claims::ONE_DECISION_PER_POSITION);
        }
        // A fenced decision has no effect and may be repeated.
        let is_fenced = decision.generation() < before.generation;
        self.fenced += u8::from(is_fenced);
        let advances = matches!(decision, Decision::Note(Note::Advanced(_)));
        self.overtaken += u8::from(advances && before.has_requested_edit);
        let is_done = decision.kind() == DecisionKind::Done;
        if !is_fenced && !is_done && !self.sent.insert(label.to_owned()) {
            self.wrong.insert(claims::DECIDED_ONCE);
        }
        match decision {
            Decision::Spawn(spawn) => {
                self.spawned.insert(spawn.child.clone());
                if self.spawned.len() > 1 {
                    self.wrong.insert(claims::BEGUN_ONCE);
                }
            }
            Decision::Note(Note::ChildTold { signal, .. }) => {
                self.called_off |= *signal == Signal::Cancel;
            }
            Decision::Note(Note::Advanced(advance)) if !is_fenced => self.advanced(advance),
            Decision::Finish(_) => {
                let is_free = self.spawned.is_empty() || self.child_ended.is_some();
                if !is_free && !self.called_off {
                    self.wrong.insert(claims::WAITS_OR_CALLS_OFF);
                }
            }
            Decision::Done(done) if !is_fenced => {
                let dropped = self.job.ignored() - before.ignored;
                self.done(done, usize::try_from(dropped).expect("the record is short"));
            }
            Decision::Done(_) => {}
            Decision::Plan(_) | Decision::Turn(_) | Decision::Call(_) | Decision::Ask(_) => {}
            Decision::Wait(_) | Decision::Note(_) => {}
        }
    }

    /// Checks work that is done, which counts like commands and results. The last `dropped` units could
    /// not follow.
    fn done(&mut self, done: &Done, dropped: usize) {
        let count = done.units().count() - dropped;
        self.joined |= count > 1;
        if self.job.view().is_some_and(|view| view.plan.is_some()) {
            self.planned.get_or_insert(self.written.len());
        }
        for unit in done.units().take(count) {
            self.done += 1;
            let command = unit.command();
            if let Decision::Call(CallWork { effect: Effect::Idempotent | Effect::Once, .. }) =
                command
            {
                self.wrong.insert(claims::EFFECTS_ARE_QUEUED);
            }
            let label = testing::label(&command);
            if !self.sent.insert(format!("{} {label}", unit.generation())) {
                self.wrong.insert(claims::DECIDED_ONCE);
            }
            if !self.counted.insert(Some(unit.unit())) {
                self.wrong.insert(claims::COUNTED_ONCE);
            }
        }
    }

    /// Checks the moves of a workflow, which are folded already.
    fn advanced(&mut self, advance: &Advance) {
        let steps = self.job.view().and_then(|view| view.plan).map(|plan| plan.steps);
        let steps = steps.unwrap_or_default();
        let done = steps.into_iter().filter(|step| step.state == StepState::Completed);
        let done: Vec<_> = done.map(|step| step.id).collect();
        let mut arrived = 0;
        for one in &advance.moves {
            match one {
                Move::Arrive { .. } => arrived += 1,
                Move::Join { visit, .. } => {
                    self.joins += 1;
                    if !may_join(visit, &done) {
                        self.wrong.insert(claims::JOINED);
                    }
                }
                Move::Enter { .. }
                | Move::Write { .. }
                | Move::Receive { .. }
                | Move::Leave { .. }
                | Move::Split { .. }
                | Move::End { .. } => {}
            }
        }
        self.arrivals.insert(arrived);
    }

    fn result(&mut self, before: &Before, written: &Written, command: u8, counts: bool) {
        let command = self.written.get(usize::from(command));
        let sent = command.and_then(|command| command.attempt.clone());
        if sent.is_none() {
            self.wrong.insert(claims::COMMAND_WAS_DECIDED);
        }
        let is_old = sent.as_ref().is_some_and(|unit| unit.work.generation() < before.generation);
        self.heard_of_before += u8::from(is_old && !counts);
        if counts && is_old {
            self.wrong.insert(claims::COUNTS_IN_ITS_GENERATION);
        }
        if counts && written.attempt != sent {
            self.wrong.insert(claims::COUNTS_FOR_ITS_OWN);
        }
        if counts && self.job.view().is_some_and(|view| view.plan.is_some()) {
            self.planned.get_or_insert(self.written.len());
        }
        if counts && !self.counted.insert(sent) {
            self.wrong.insert(claims::COUNTED_ONCE);
        }
    }

    fn fact(&mut self, fact: &Fact, counts: bool) {
        match fact {
            Fact::Submitted(_) if !self.written.is_empty() => {
                self.wrong.insert(claims::BEGUN_ONCE);
            }
            Fact::Answered(_) => self.answers += 1,
            Fact::Child(said) => {
                let News::Ended { outcome, .. } = &said.news else { return };
                self.ends_heard += 1;
                if counts && self.child_ended.replace(outcome.clone()).is_some() {
                    self.wrong.insert(claims::END_COUNTED_ONCE);
                }
            }
            Fact::Submitted(_) | Fact::Signaled(_) | Fact::Planned(_) | Fact::Turned(_) => {}
            Fact::Started(_) | Fact::Called(_) | Fact::Fired(_) => {}
        }
    }
}

/// The job's state before a record.
struct Before {
    ended: bool,
    ignored: u64,
    generation: proto::id::Generation,
    has_requested_edit: bool,
}

impl Before {
    fn of(log: &Log) -> Self {
        let job = &log.job;
        Self {
            ended: job.has_ended(),
            ignored: job.ignored(),
            generation: job.generation(),
            has_requested_edit: job.has_requested_edit(),
        }
    }
}
