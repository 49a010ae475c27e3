//! The actors of jobs in the model. Each holds a real [`Activation`] and drives it to its next
//! effect. Effects that touch no world (counts, the comparison with an unchanged registry,
//! best-effort cancellations) are carried out at once; every other effect is a step that may be
//! preceded by any other.

use std::{
    collections::VecDeque,
    fmt::Write as _,
    hash::{DefaultHasher, Hash, Hasher},
    time::Duration,
};

use machine::{Job, replay};
use proto::{
    decision::{Decision, Done, DoneUnit},
    fact::{Fact, Submitted},
    family::{ChildSaid, News},
    id::{JobId, Seq, Unit},
    job::Outcome as JobOutcome,
};

use super::{
    memory::{Memory, number},
    mutation::Mutation,
    script::{Reply, Saying},
    world::{Places, places},
};
use crate::activation::{Activation, Arrival, Compared, Effect, Outcome, Ran, Rest};

/// An activation at rest, or before an effect.
#[derive(Clone)]
pub(super) struct Node {
    job: u8,
    activation: Activation,
    /// Next effect.
    pub(super) act: Act,
    /// Records that the activation has folded.
    known: Places,
    /// `true` if the fold equals a replay of the records in `known`.
    pub(super) is_true: bool,
    /// Effects that a mutation postpones until the decision is stored.
    put_off: VecDeque<Act>,
    /// `true` if the postponed effects are due.
    owes: bool,
    /// `true` if a mutation has carried out an effect early.
    is_early: bool,
}

/// The kind of an effect, with the numbers of its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Act {
    Rest,
    Read,
    Arm(u8),
    /// Sends a message to another job.
    Tell(u32),
    /// Carries the command of this unit of work out, or leaves it to a worker.
    Run(u8),
    Store(u32),
    Acknowledge,
}

/// A message to another job.
#[derive(Debug, Clone)]
pub(super) enum Message {
    Submit(JobId, Submitted),
    Append(JobId, Fact),
}

/// An input of an actor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Input {
    /// The actor takes the content of its inbox.
    Take {
        log: u32,
        facts: Places,
        again: bool,
        look: bool,
        forget: bool,
    },
    /// The effect was carried out.
    Done,
    Read {
        log: u32,
    },
    Stored {
        log: u32,
        at: u8,
    },
    /// The command was carried out, or is left to a worker.
    Ran {
        reply: Option<Reply>,
    },
    Conflict,
    /// The log of the child already exists.
    Occupied {
        child: u32,
    },
}

impl Node {
    fn job(&self) -> Option<&Job> {
        self.activation.folded_job()
    }

    /// Returns `true` if the actor keeps a fold.
    pub(super) fn has_fold(&self) -> bool {
        self.job().is_some()
    }

    /// Returns `true` if the fold has these records.
    pub(super) fn knows(&self, places: Places) -> bool {
        self.known & places == places
    }

    /// Returns `true` if the actor may leave when it rests.
    pub(super) fn may_leave(&self) -> bool {
        self.activation.rest() != Rest::Working
    }

    /// Returns the position of the last decision that the actor knows.
    pub(super) fn after(&self) -> u8 {
        let after = self.job().map_or(Seq(0), Job::last_decision);
        u8::try_from(after.0).expect("the log is short")
    }

    fn done(&mut self, outcome: Outcome) {
        self.activation.done(outcome);
    }
}

impl Memory {
    pub(super) fn add_actor(&mut self, job: JobId) {
        let node = Node {
            job: self.index(&job),
            activation: Activation::new(job),
            act: Act::Rest,
            known: 0,
            is_true: true,
            put_off: VecDeque::new(),
            owes: false,
            is_early: false,
        };
        self.intern_node(node);
    }

    pub(super) fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    pub(super) fn step(&mut self, node: u32, input: Input) -> u32 {
        if let Some(next) = self.steps.get(&(node, input)) {
            return *next;
        }
        let mut next = self.node(node).clone();
        let before = next.known;
        let log = match input {
            Input::Take { log, .. } => {
                self.begin(&mut next, input);
                Some(log)
            }
            Input::Read { log } => {
                next.known = self.log(log).all();
                next.done(Outcome::Read(self.log(log).entries(next.known)));
                Some(log)
            }
            Input::Stored { log, at } => {
                next.known |= 1 << at;
                next.done(Outcome::Stored(Seq(u64::from(at) + 1)));
                (next.owes, next.is_early) = (!next.put_off.is_empty(), false);
                Some(log)
            }
            Input::Conflict => {
                next.done(Outcome::Conflict);
                (next.known, next.is_early) = (0, false);
                next.put_off.clear();
                None
            }
            Input::Occupied { child } => {
                let first = self.log(child).written.first().map(|record| &record.entry);
                let there = first.and_then(proto::entry::Entry::submission);
                next.done(Outcome::Occupied(there.and_then(|there| there.parent)));
                None
            }
            Input::Ran { reply } => {
                let ran = reply.and_then(|reply| {
                    let Effect::Run(decision) = next.activation.effect() else { return None };
                    let Unit { work, attempt } = decision.unit()?;
                    let fact = self.script.result(work, attempt, reply);
                    Some(Box::new(Ran { fact, took: Duration::from_millis(1) }))
                });
                next.done(Outcome::Ran(ran));
                None
            }
            Input::Done => {
                // The activation does not know of an early effect.
                if !next.owes && !matches!(next.activation.effect(), Effect::Store { .. }) {
                    next.done(Outcome::Done);
                }
                None
            }
        };
        self.advance(&mut next);
        if !next.has_fold() {
            next.known = 0;
        }
        if let Some(log) = log.filter(|_| next.known != before || next.known != 0) {
            next.is_true = self.is_fold_of(&next, log);
        }
        let next = self.intern_node(next);
        self.steps.insert((node, input), next);
        next
    }

    fn begin(&self, node: &mut Node, input: Input) {
        let Input::Take { log, facts, again, look, forget } = input else { return };
        let log = self.log(log);
        let unheard = match self.mutation {
            Some(Mutation::DeafToRollbacks) => Some(Saying::RollBack),
            Some(Mutation::DeafToCancels) => Some(Saying::Cancel),
            Some(_) | None => None,
        };
        let is_heard = |at: &u8| unheard != Some(log.written[usize::from(*at)].saying);
        let is_again = again && self.mutation != Some(Mutation::RunAgain);
        let arrival = |at| Arrival { entry: &log.written[usize::from(at)].entry, is_again };
        let arrivals: Vec<Arrival<'_>> = places(facts).filter(is_heard).map(arrival).collect();
        let look = look || (arrivals.is_empty() && facts != 0);
        node.activation.begin(arrivals.iter().copied(), look, forget);
        match node.activation.effect() {
            Effect::Read if self.mutation == Some(Mutation::DecideBeforeReading) => {
                node.known = facts;
                node.activation.done(Outcome::Read(log.entries(facts)));
            }
            // No other process can observe the actor between the two, so they are one step.
            Effect::Read if self.script.is_coarse() => {
                node.known = log.all();
                node.activation.done(Outcome::Read(log.entries(node.known)));
            }
            Effect::Read | Effect::Rest => {}
            Effect::Count(_)
            | Effect::Compare(_)
            | Effect::Arm(_)
            | Effect::Submit { .. }
            | Effect::Append { .. }
            | Effect::Run(_)
            | Effect::Store { .. }
            | Effect::Disarm(_)
            | Effect::StopWork
            | Effect::Acknowledge
            | Effect::GiveUp(_) => {
                let is_new = node.job().is_some_and(|job| job.seq() == Seq(1));
                node.known = if is_new { 1 } else { node.known | facts };
            }
        }
    }

    /// Advances to the next effect that is a step.
    fn advance(&mut self, node: &mut Node) {
        if node.owes {
            if let Some(act) = node.put_off.pop_front() {
                node.act = act;
                return;
            }
            node.owes = false;
        }
        loop {
            let act = match node.activation.effect() {
                Effect::Count(_)
                    if self.mutation == Some(Mutation::AckBeforeDeciding) && !node.is_early =>
                {
                    (node.act, node.is_early) = (Act::Acknowledge, true);
                    return;
                }
                Effect::Count(_) | Effect::Disarm(_) | Effect::StopWork => {
                    node.done(Outcome::Done);
                    continue;
                }
                Effect::Compare(_) => {
                    node.done(Outcome::Compared(Compared::default()));
                    continue;
                }
                Effect::GiveUp(bound) => panic!("a small job is within all bounds: {bound}"),
                Effect::Rest => Act::Rest,
                Effect::Read => Act::Read,
                Effect::Arm(arm) => {
                    let timer = arm.timer.clone();
                    Act::Arm(self.timer(&timer))
                }
                Effect::Submit { child, submitted } => {
                    let message = Message::Submit(child.clone(), submitted.clone());
                    Act::Tell(self.intern_message(&message))
                }
                Effect::Append { to, fact } => {
                    let message = self.mutated(to.clone(), fact.clone());
                    message.map_or(Act::Rest, |message| Act::Tell(self.intern_message(&message)))
                }
                Effect::Run(_) if !self.script.is_local() => {
                    node.done(Outcome::Ran(None));
                    continue;
                }
                Effect::Run(decision) => {
                    let unit = decision.unit().expect("a command is a unit of work");
                    Act::Run(self.unit(&unit))
                }
                Effect::Store { next, .. } => {
                    let mut next = next.clone();
                    self.mutate_work(&mut next.decision);
                    let early = self.submits_early(node, &next.decision);
                    let store = Act::Store(self.intern_next(&next));
                    early.map_or(store, |message| {
                        node.is_early = true;
                        Act::Tell(self.intern_message(&message))
                    })
                }
                Effect::Acknowledge => Act::Acknowledge,
            };
            let is_rest = matches!(node.activation.effect(), Effect::Rest);
            match (self.mutation, act) {
                // A mutation drops this message.
                (_, Act::Rest) if !is_rest => node.done(Outcome::Done),
                (Some(Mutation::ArmAfterStoring), Act::Arm(_))
                | (Some(Mutation::TellAfterStoring), Act::Tell(_)) => {
                    node.put_off.push_back(act);
                    node.done(Outcome::Done);
                }
                (Some(Mutation::AckBeforeDeciding), Act::Acknowledge) => node.done(Outcome::Done),
                _ => {
                    node.act = act;
                    node.is_early &= act != Act::Rest;
                    return;
                }
            }
        }
    }

    /// Returns a message to another job after the mutation, or `None` if it is dropped.
    fn mutated(&self, to: JobId, mut fact: Fact) -> Option<Message> {
        let is_end =
            |fact: &Fact| matches!(fact, Fact::Child(ChildSaid { news: News::Ended { .. }, .. }));
        match self.mutation {
            Some(Mutation::ForgetChildren) if matches!(fact, Fact::Signaled(_)) => return None,
            Some(Mutation::ForgetParent) if is_end(&fact) => return None,
            Some(Mutation::TellAnotherEnd) => {
                if let Fact::Child(ChildSaid { news: News::Ended { outcome, .. }, .. }) = &mut fact
                {
                    *outcome = JobOutcome::Canceled { reason: Some("a mutation says so".into()) };
                }
            }
            Some(_) | None => {}
        }
        Some(Message::Append(to, fact))
    }

    /// Changes the work that is stored as a mutation says.
    fn mutate_work(&self, decision: &mut Decision) {
        match (self.mutation, &mut *decision) {
            (Some(Mutation::RepeatUnit), Decision::Done(done)) => {
                done.then.push(done.first.clone());
            }
            (Some(Mutation::RunEffects), Decision::Call(call)) => {
                let fact = self.script.result(call.work.clone(), call.attempt, Reply::Done);
                let unit = DoneUnit::of(decision.clone(), fact, 0).expect("it is a result");
                *decision = Decision::Done(Box::new(Done::from(unit)));
            }
            (Some(_) | None, _) => {}
        }
    }

    /// Returns the submission of the child that a mutation sends before the decision is stored.
    fn submits_early(&self, node: &Node, decision: &Decision) -> Option<Message> {
        let is_planted = self.mutation == Some(Mutation::SubmitFirst) && !node.is_early;
        if !is_planted || !matches!(decision, Decision::Spawn(_)) {
            return None;
        }
        let mut following = node.activation.clone();
        following.done(Outcome::Stored(Seq(node.job()?.seq().0 + 1)));
        match following.effect() {
            Effect::Submit { child, submitted } => {
                Some(Message::Submit(child.clone(), submitted.clone()))
            }
            Effect::Rest
            | Effect::Read
            | Effect::Count(_)
            | Effect::Compare(_)
            | Effect::Arm(_)
            | Effect::Append { .. }
            | Effect::Run(_)
            | Effect::Store { .. }
            | Effect::Disarm(_)
            | Effect::StopWork
            | Effect::Acknowledge
            | Effect::GiveUp(_) => None,
        }
    }

    fn intern_node(&mut self, node: Node) -> u32 {
        let mut text = Both(DefaultHasher::new(), DefaultHasher::new());
        "the other half".hash(&mut text.1);
        // Left out: the bounds, which a small job does not reach, and fields that only counting
        // needs.
        let Node { job, activation, act, put_off, owes, is_early, is_true, known } = &node;
        write!(text, "{job}{:?}{act:?}{put_off:?}{owes}{is_early}{is_true}", activation.state())
            .expect("hashing does not fail");
        let key = (text.0.finish(), text.1.finish(), *known);
        if let Some(known) = self.by_content.get(&key) {
            return *known;
        }
        self.nodes.push(node);
        let number = number(self.nodes.len() - 1);
        self.by_content.insert(key, number);
        number
    }

    /// Returns `true` if the fold, however it was computed, equals a replay of the same records.
    /// Times are ignored, because the writer of a decision does not know its time of storage.
    fn is_fold_of(&self, node: &Node, log: u32) -> bool {
        let Some(job) = node.job() else { return true };
        let replayed = replay(job.id(), &self.log(log).entries(node.known));
        timeless(&replayed) == timeless(job)
    }
}

/// Returns the debug text of a job, without times.
fn timeless(job: &Job) -> String {
    let text = format!("{job:?}");
    let words = text.split([' ', ',', '(', ')']);
    words.filter(|word| !(word.ends_with('Z') && word.contains('T'))).collect()
}

/// A writer that hashes a text with two hashers.
struct Both(DefaultHasher, DefaultHasher);

impl std::fmt::Write for Both {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.write(text.as_bytes());
        self.1.write(text.as_bytes());
        Ok(())
    }
}
