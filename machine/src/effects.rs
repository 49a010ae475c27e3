//! The effects in a job's log that cannot be taken back, and those of them that a rollback to a
//! record, or a fork from it, would bring about a second time.
//!
//! The log says which attempts began; the job as it was at the record says which of them it knows
//! the end of. An attempt is looked at by itself: that the one before it failed says nothing of it.

use std::collections::BTreeSet;

use proto::{
    decision::Decision,
    entry::Entry,
    fact::{Called, Fact, Started},
    id::{Attempt, JobId, Seq, ToolName, WorkId},
    record::{Known, Record, Unreadable},
    subject::Family,
    tool::Effect,
};

use super::{
    state::Job,
    timeline::{Timeline, Turn},
};

/// One attempt at a unit of work.
type Run = (WorkId, Attempt);

/// The calls of `once` tools and the jobs that work for a job, in the order of its log.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    timeline: Timeline,
    /// The rollbacks that count, each with the record that it goes back to.
    backs: Vec<(Seq, Seq)>,
    events: Vec<(Seq, Event)>,
}

#[derive(Debug, Clone)]
enum Event {
    Sent(Run, Command),
    Begun(Run),
}

#[derive(Debug, Clone)]
enum Command {
    Call(ToolName),
    Spawn(JobId),
}

/// Work that would be done a second time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Calls of `once` tools that have begun.
    pub calls: Vec<(ToolName, WorkId)>,
    /// Jobs below, each of which may have begun such calls.
    pub children: Vec<JobId>,
}

impl Effects {
    /// Takes the next entry of the log.
    pub fn take(&mut self, entry: &Entry) {
        let known = entry.record.as_ref().map_err(Clone::clone).and_then(Record::known);
        self.apply(entry.seq, &entry.family, known.as_ref());
    }

    pub(crate) fn apply(&mut self, seq: Seq, family: &Family, record: Result<&Known, &Unreadable>) {
        if let Err(Unreadable::Forged) = record {
            return;
        }
        let event = match (family, record) {
            (Family::In(source), Ok(Known::Fact(fact))) if fact.source() == *source => {
                begun(fact)
                    // A worker that begins after the rollback that left its command behind is
                    // not given the run, and what it reports is no result of one.
                    .filter(|(work, _)| work.generation() == self.timeline.generation())
                    .map(Event::Begun)
            }
            (Family::Do(kind, _), Ok(Known::Decision(decision))) if decision.kind() == *kind => {
                sent(decision).map(|(run, command)| Event::Sent(run, command))
            }
            // A forged record begins nothing.
            (_, Ok(_) | Err(_)) => None,
        };
        self.events.extend(event.map(|event| (seq, event)));
        if let Turn::Back(to) = self.timeline.take(seq, family, record.ok()) {
            self.backs.push((seq, to));
        }
    }

    /// What would be done a second time if the job went on from a record, or another one did. `there`
    /// is the job as it was at that record.
    #[must_use]
    pub fn repeated(&self, to: Seq, there: &Job) -> Repeated {
        let on_line = || self.events.iter().filter(|(seq, _)| self.is_on_line(*seq, to));
        let (mut begun, mut known) = (BTreeSet::new(), BTreeSet::new());
        for (seq, event) in on_line() {
            match event {
                Event::Begun(run) => drop(begun.insert(run)),
                Event::Sent((work, _), _) if *seq <= to => drop(known.insert(work.unit())),
                Event::Sent(..) => {}
            }
        }
        let mut repeated = Repeated::default();
        for (_, event) in on_line() {
            let Event::Sent(run, command) = event else { continue };
            if !there.repeats(run, known.contains(run.0.unit())) {
                continue;
            }
            match command {
                Command::Call(tool) if begun.contains(run) => {
                    let call = (tool.clone(), run.0.clone());
                    if !repeated.calls.contains(&call) {
                        repeated.calls.push(call);
                    }
                }
                Command::Call(_) => {}
                Command::Spawn(child) => repeated.children.push(child.clone()),
            }
        }
        repeated
    }

    /// Whether a record counts now, or counted for as long as another one did that a rollback has
    /// taken out since.
    fn is_on_line(&self, seq: Seq, of: Seq) -> bool {
        let taken_out = self.taken_out(seq);
        let until = self.taken_out(of);
        taken_out.is_none() || until.is_some_and(|until| seq < until && taken_out >= Some(until))
    }

    /// The rollback that took a record out of the timeline.
    fn taken_out(&self, seq: Seq) -> Option<Seq> {
        let took = |(at, to): &&(Seq, Seq)| *at > seq && *to < seq;
        self.backs.iter().find(took).map(|(at, _)| *at)
    }
}

/// The attempt that a fact shows to have begun.
fn begun(fact: &Fact) -> Option<Run> {
    let (Fact::Started(Started { work, attempt }) | Fact::Called(Called { work, attempt, .. })) =
        fact
    else {
        return None;
    };
    Some((work.clone(), *attempt))
}

/// The command in a decision whose effects cannot be taken back.
fn sent(decision: &Decision) -> Option<(Run, Command)> {
    match decision {
        Decision::Call(call) if call.effect == Effect::Once => {
            Some(((call.work.clone(), call.attempt), Command::Call(call.tool.clone())))
        }
        Decision::Spawn(spawn) => {
            Some(((spawn.work.clone(), spawn.attempt), Command::Spawn(spawn.child.clone())))
        }
        Decision::Call(_)
        | Decision::Plan(_)
        | Decision::Turn(_)
        | Decision::Ask(_)
        | Decision::Wait(_)
        | Decision::Note(_)
        | Decision::Finish(_) => None,
    }
}

impl Job {
    /// Whether the job would make an attempt again if it went on from here. `was_sent` says whether
    /// a command of its unit of work is in the log so far.
    fn repeats(&self, (work, attempt): &Run, was_sent: bool) -> bool {
        let open = self.open.as_ref();
        let Some(call) = open.and_then(|open| open.execution.call_under_way(work.unit())) else {
            // The unit has ended, or it has not begun.
            return !was_sent;
        };
        // A rollback that left a generation behind was refused or allowed for what that had begun.
        work.generation() > call.work.generation()
            || work.generation() == call.work.generation() && !call.attempts.has_heard(*attempt)
    }
}
