//! Irreversible effects in a job's log, and those that a rollback or a fork would repeat.
//!
//! The log says which attempts started; the job's state at the target says which of them it knows
//! the end of. Each attempt is judged by itself: the failure of an earlier attempt says nothing
//! about a later one.

use std::collections::{BTreeMap, BTreeSet};

use proto::{
    decision::Decision,
    door::EffectDone,
    entry::Entry,
    fact::{Called, Fact, Started},
    id::{Attempt, JobId, Seq, ToolName, Unit, WorkId},
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

/// The calls with effects outside and the child jobs in a log, in log order.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    timeline: Timeline,
    /// Rollbacks that count, each with its target.
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
    Call(ToolName, Effect),
    Spawn(JobId),
}

/// Work that a rollback or a fork would do a second time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Repeated {
    /// Calls of `once` tools that have started.
    pub calls: Vec<(ToolName, WorkId)>,
    /// Child jobs, each of which may have called `once` tools.
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
            (Family::In(source), Ok(Known::Fact(fact))) if fact.may_come_from(source) => {
                begun(fact)
                    // A worker that starts after the rollback that made its command obsolete is not
                    // granted the run, so its reports prove no effect.
                    .filter(|(work, _)| work.generation() == self.timeline.generation())
                    .filter(|(work, attempt)| {
                        let unit = Unit { work: work.clone(), attempt: *attempt };
                        self.timeline.may_report(source, &unit)
                    })
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

    /// Returns the work that would be done a second time if the job, or a fork of it, continued
    /// from `to`. `there` is the job's state at that record.
    #[must_use]
    pub fn repeated(&self, to: Seq, there: &Job) -> Repeated {
        let mut repeated = Repeated::default();
        for (run, command) in self.made_again(to, there) {
            match command {
                Command::Call(tool, Effect::Once) => {
                    let call = (tool.clone(), run.0.clone());
                    if !repeated.calls.contains(&call) {
                        repeated.calls.push(call);
                    }
                }
                Command::Call(_, Effect::Pure | Effect::Idempotent) => {}
                Command::Spawn(child) => repeated.children.push(child.clone()),
            }
        }
        repeated
    }

    /// Returns the calls whose effects stay outside if the job, or a fork of it, continued from
    /// `to`, although their records would no longer count; by tool. `there` is the job's state at
    /// that record.
    #[must_use]
    pub fn outside(&self, to: Seq, there: &Job) -> Vec<EffectDone> {
        let mut calls: BTreeMap<&ToolName, (Effect, BTreeSet<&Run>)> = BTreeMap::new();
        for (run, command) in self.made_again(to, there) {
            match command {
                Command::Call(tool, effect) => {
                    let (known, runs) = calls.entry(tool).or_insert((*effect, BTreeSet::new()));
                    // A tool may have changed its class; the stricter one counts.
                    if *effect == Effect::Once {
                        *known = Effect::Once;
                    }
                    runs.insert(run);
                }
                Command::Spawn(_) => {}
            }
        }
        let done = |(tool, (effect, runs)): (&ToolName, (Effect, BTreeSet<&Run>))| EffectDone {
            tool: tool.clone(),
            effect,
            calls: u32::try_from(runs.len()).unwrap_or(u32::MAX),
        };
        calls.into_iter().map(done).collect()
    }

    /// Returns the commands that would be sent a second time, among the calls those that began.
    fn made_again(&self, to: Seq, there: &Job) -> Vec<(&Run, &Command)> {
        let on_line = || self.events.iter().filter(|(seq, _)| self.is_on_line(*seq, to));
        let (mut begun, mut known) = (BTreeSet::new(), BTreeSet::new());
        for (seq, event) in on_line() {
            match event {
                Event::Begun(run) => drop(begun.insert(run)),
                Event::Sent((work, _), _) if *seq <= to => drop(known.insert(work.unit())),
                Event::Sent(..) => {}
            }
        }
        let again = on_line().filter_map(|(_, event)| {
            let Event::Sent(run, command) = event else { return None };
            let has_begun = match command {
                Command::Call(..) => begun.contains(run),
                Command::Spawn(_) => true,
            };
            (has_begun && there.repeats(run, known.contains(run.0.unit())))
                .then_some((run, command))
        });
        again.collect()
    }

    /// Returns `true` if the record at `seq` is in the timeline now, or was still in it when a
    /// rollback removed the record at `of`.
    fn is_on_line(&self, seq: Seq, of: Seq) -> bool {
        let taken_out = self.taken_out(seq);
        let until = self.taken_out(of);
        taken_out.is_none() || until.is_some_and(|until| seq < until && taken_out >= Some(until))
    }

    /// Returns the rollback that removed a record from the timeline.
    fn taken_out(&self, seq: Seq) -> Option<Seq> {
        let took = |(at, to): &&(Seq, Seq)| *at > seq && *to < seq;
        self.backs.iter().find(took).map(|(at, _)| *at)
    }
}

/// Returns the attempt that a fact proves to have started.
fn begun(fact: &Fact) -> Option<Run> {
    let (Fact::Started(Started { work, attempt }) | Fact::Called(Called { work, attempt, .. })) =
        fact
    else {
        return None;
    };
    Some((work.clone(), *attempt))
}

/// Returns the command in a decision, if it has effects outside.
fn sent(decision: &Decision) -> Option<(Run, Command)> {
    match decision {
        Decision::Call(call) if call.effect != Effect::Pure => {
            let command = Command::Call(call.tool.clone(), call.effect);
            Some(((call.work.clone(), call.attempt), command))
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
        | Decision::Done(_)
        | Decision::Finish(_) => None,
    }
}

impl Job {
    /// Returns `true` if the job, continuing from this state, would make the attempt again.
    /// `was_sent` is `true` if the log up to here has a command of the unit of work.
    fn repeats(&self, (work, attempt): &Run, was_sent: bool) -> bool {
        let open = self.open.as_ref();
        let Some(call) = open.and_then(|open| open.execution.call_under_way(work.unit())) else {
            // The unit of work has ended, or was not sent yet.
            return !was_sent;
        };
        // Attempts of earlier generations were already weighed when their rollback was allowed.
        work.generation() > call.work.generation()
            || work.generation() == call.work.generation() && !call.attempts.has_heard(*attempt)
    }
}
