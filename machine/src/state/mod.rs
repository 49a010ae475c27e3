//! The state of a job after some of its records.

mod brief;
mod execution;
mod family;
mod lineage;
mod planning;
mod questions;
mod spending;
mod steering;
mod timers;

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    fact::Submitted,
    family::Parent,
    id::{AgentName, AskId, Generation, JobId, Seq},
    job::{JobState, Outcome, SubStatus},
    message::Usage,
    record::Unreadable,
};

pub(super) use self::{
    brief::Brief,
    execution::Execution,
    family::{Family, Told},
    planning::{Planning, Stage},
    questions::{AskState, Asking, Questions},
    spending::Spending,
};
use self::{lineage::Lineage, steering::Steering, timers::Timers};
use crate::{at::At, attempts::Attempts};

/// A job, as far as its log has been read. It holds the positions and counts of the whole log, which no
/// rollback takes back, and the state that a rollback replaces.
#[derive(Debug, Clone)]
pub struct Job {
    pub(super) id: JobId,
    /// The last record that was applied.
    pub(super) seq: Seq,
    /// The first one.
    pub(super) first: Seq,
    /// The last decision that was applied: what the next compare-and-set expects.
    pub(super) last_decision: Seq,
    /// The last fact from a person, whether it counts or not: the next answer is stored right after
    /// it.
    pub(super) last_answer: Seq,
    pub(super) records: u64,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    /// Records that changed nothing: too late, twice, or from somebody not entitled.
    pub(super) ignored: u64,
    pub(super) poison: Option<Poison>,
    pub(super) awake: Awake,
    /// Since when it lives, and how long it had lived before that: what a rollback has taken out of
    /// its timeline does not count.
    pub(super) since: Timestamp,
    pub(super) lived_ms: u64,
    /// The rollback after which its log must be folded again. Until then nothing follows.
    pub(super) back: Option<At>,
    /// Absent until the first record.
    pub(super) open: Option<Open>,
}

/// The fact that found the job with nothing in workers' hands: what the job does from then until it
/// waits for a person or the clock again, or ends, is one stretch of its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awake {
    /// Where it is.
    pub seq: Seq,
    /// When it was stored, by the server's clock.
    pub time: Timestamp,
    /// The question that it answers, if it is an answer.
    pub ask: Option<AskId>,
}

/// Where a job stands, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its agent.
    pub agent: AgentName,
    /// Its state in A2A's words.
    pub state: JobState,
    /// What it is at.
    pub sub_status: Option<SubStatus>,
    /// Questions that wait for a person.
    pub questions: usize,
    /// When the first of them was asked, by the server's clock.
    pub asked: Option<Timestamp>,
}

/// A record that the machine cannot go past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poison {
    /// Where it is.
    pub seq: Seq,
    /// What is wrong with it. May quote what users wrote.
    pub reason: String,
    /// The same without a word of what is written there: what may be logged.
    pub place: String,
}

impl Poison {
    pub(super) fn unreadable(seq: Seq, why: &Unreadable) -> Self {
        Self { seq, reason: why.to_string(), place: why.place() }
    }
}

/// The state of a job that was submitted, which a rollback replaces: parts that keep their own
/// invariants. The rules take the parts that they need.
#[derive(Debug, Clone)]
pub(super) struct Open {
    pub(super) brief: Arc<Brief>,
    pub(super) lineage: Lineage,
    pub(super) planning: Planning,
    pub(super) execution: Execution,
    pub(super) questions: Questions,
    pub(super) family: Family,
    pub(super) spending: Spending,
    pub(super) steering: Steering,
    pub(super) timers: Timers,
    outcome: Option<Outcome>,
}

impl Job {
    /// A job of which nothing has been read.
    #[must_use]
    pub fn new(id: JobId) -> Self {
        Self {
            id,
            seq: Seq(0),
            first: Seq(0),
            last_decision: Seq(0),
            last_answer: Seq(0),
            records: 0,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
            ignored: 0,
            poison: None,
            awake: Awake { seq: Seq(0), time: Timestamp::UNIX_EPOCH, ask: None },
            since: Timestamp::UNIX_EPOCH,
            lived_ms: 0,
            back: None,
            open: None,
        }
    }

    /// The job's id.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The last record that was applied.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The first record that was applied: a submission, when all is well.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.first
    }

    /// The last decision that was applied; a decision is stored only right after it.
    #[must_use]
    pub fn last_decision(&self) -> Seq {
        self.last_decision
    }

    /// When the last record was stored, by the server's clock.
    #[must_use]
    pub fn updated(&self) -> Timestamp {
        self.updated
    }

    /// Records that changed nothing.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The record the machine cannot go past, if there is one.
    #[must_use]
    pub fn poison(&self) -> Option<&Poison> {
        self.poison.as_ref()
    }

    /// What last set the job going.
    #[must_use]
    pub fn awake(&self) -> &Awake {
        &self.awake
    }

    /// When it was submitted, by the server's clock.
    #[must_use]
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// What all its model calls cost so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.open.as_ref().map_or_else(Usage::default, |open| open.spending.usage())
    }

    /// Where it stands; nothing when it was never submitted.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        let open = self.open.as_ref()?;
        let (state, sub_status) = self.state(open);
        Some(Standing {
            agent: open.brief.agent.name.clone(),
            state,
            sub_status,
            questions: open.questions.open().count(),
            asked: open.questions.open().map(|asking| asking.asked).min(),
        })
    }

    /// How the job ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.open.as_ref()?.outcome.as_ref()
    }

    /// Whether a job that works for this one has not ended yet.
    #[must_use]
    pub fn has_children_out(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.outcome.is_none() && open.has_children_out())
    }

    /// The job that this one works for.
    #[must_use]
    pub fn parent(&self) -> Option<&Parent> {
        self.open.as_ref()?.family.parent()
    }

    /// How often it was rolled back, all that were forked before it counted.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.open.as_ref().map_or(Generation::FIRST, |open| open.generation())
    }

    /// Whether it was rolled back, and nothing of it can be said before its log is folded again from
    /// the first record: see [`crate::Replay`].
    #[must_use]
    pub fn must_be_refolded(&self) -> bool {
        self.back.is_some()
    }

    /// Whether a command is in a queue or with a worker, so that a fact may come at any moment.
    #[must_use]
    pub fn has_work_out(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.outcome.is_none() && open.has_work_out())
    }
}

impl Open {
    pub(super) fn new(submitted: Submitted) -> Self {
        Self {
            family: Family::of(&submitted),
            brief: Arc::new(Brief::of(submitted)),
            lineage: Lineage::new(),
            planning: Planning::new(),
            execution: Execution::default(),
            questions: Questions::default(),
            spending: Spending::default(),
            steering: Steering::default(),
            timers: Timers::default(),
            outcome: None,
        }
    }

    pub(super) fn generation(&self) -> Generation {
        self.lineage.generation()
    }

    pub(super) fn outcome(&self) -> Option<&Outcome> {
        self.outcome.as_ref()
    }

    pub(super) fn end(&mut self, outcome: &Outcome) {
        self.outcome = Some(outcome.clone());
    }

    /// Whether a command is in a queue or with a worker.
    pub(super) fn has_work_out(&self) -> bool {
        self.planning.stage().attempts().is_some_and(Attempts::is_out)
            || self.execution.has_work_out()
    }
}
