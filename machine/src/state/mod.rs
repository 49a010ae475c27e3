//! The state of a job after a prefix of its log.

mod approvals;
mod artifacts;
mod brief;
mod execution;
mod family;
mod graph;
mod lineage;
mod planning;
mod questions;
mod spending;
mod steering;
mod timers;
mod visits;

use std::sync::Arc;

use jiff::Timestamp;
use proto::{
    fact::Submitted,
    family::Parent,
    id::{AgentName, AskId, Generation, JobId, Seq},
    job::{JobState, Outcome, SubStatus},
    lang::Language,
    message::Usage,
    record::Unreadable,
    view::Mark,
};

pub use self::graph::EditRefusal;
pub(super) use self::{
    approvals::Approvals,
    artifacts::Artifacts,
    brief::Brief,
    execution::Execution,
    family::{Account, ChildInstruction, Family},
    graph::{EditRequest, EditWords, Graph, Split, TokenAt},
    planning::{Planning, Stage},
    questions::{AskState, AskedQuestion, Questions},
    spending::Spending,
    visits::{Over, Trail, Visited, Visits},
};
use self::{brief::JobLanguage, lineage::Lineage, steering::Steering, timers::Timers};
use crate::{at::At, attempts::Attempts};

/// A job, folded up to the last applied record. It holds the positions and counts of the whole log,
/// which no rollback resets, and the state that a rollback replaces.
#[derive(Debug, Clone)]
pub struct Job {
    pub(super) id: JobId,
    /// Position of the last applied record.
    pub(super) seq: Seq,
    /// Position of the first applied record.
    pub(super) first: Seq,
    /// Position of the last applied decision, which the next compare-and-set expects.
    pub(super) last_decision: Seq,
    /// Position of the last fact on `in.people`, counted or not. The next answer is stored by
    /// compare-and-set right after it.
    pub(super) last_answer: Seq,
    pub(super) records: u64,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    /// Records that changed nothing: they were late, duplicated, or not the writer's to publish.
    pub(super) ignored: u64,
    pub(super) poison: Option<Poison>,
    pub(super) awake: Wakeup,
    /// Time from which the job's lifetime is counted; `lived_ms` is the lifetime before it. A
    /// rollback sets both, because time that it removed from the timeline does not count.
    pub(super) since: Timestamp,
    pub(super) lived_ms: u64,
    /// The pending rollback, after which the log must be folded again. Until then nothing is
    /// decided.
    pub(super) back: Option<At>,
    /// `None` until the first record.
    pub(super) open: Option<ActiveJob>,
}

/// The fact that found the job idle, with no command out. The work from this fact until the job
/// waits for a person or a timer, or ends, is one stretch (one span in traces).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wakeup {
    /// Position of the fact.
    pub seq: Seq,
    /// Time of storage, by the server's clock.
    pub time: Timestamp,
    /// The answered question, if the fact is an answer.
    pub ask: Option<AskId>,
}

/// The status of a job, as metrics count it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobStatus {
    /// Name of the job's agent.
    pub agent: AgentName,
    /// State in the terms of A2A.
    pub state: JobState,
    /// Detail of the state; `None` for a job that is only submitted or has ended.
    pub sub_status: Option<SubStatus>,
    /// Number of open questions of this job, children not included.
    pub questions: usize,
    /// Time at which the earliest open question was asked, by the server's clock.
    pub asked: Option<Timestamp>,
}

/// A record that the machine cannot apply. It holds the job until the record is dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poison {
    /// Position of the record.
    pub seq: Seq,
    /// Time of the record, by the server's clock.
    pub time: Timestamp,
    /// Description of the fault. It may quote user content.
    pub reason: String,
    /// Description without user content, safe to log.
    pub place: String,
}

impl Poison {
    /// Creates a fault whose description has no user content.
    pub(super) fn new(at: At, reason: String) -> Self {
        Self { seq: at.seq, time: at.time, place: reason.clone(), reason }
    }

    pub(super) fn unreadable(at: At, why: &Unreadable) -> Self {
        Self { seq: at.seq, time: at.time, reason: why.to_string(), place: why.place() }
    }
}

/// The state of a submitted job, which a rollback replaces. Each part keeps its own invariants; the
/// rules take the parts that they need.
#[derive(Debug, Clone)]
pub(super) struct ActiveJob {
    pub(super) brief: Arc<Brief>,
    pub(super) lineage: Lineage,
    pub(super) planning: Planning,
    pub(super) execution: Execution,
    /// Place of the workflow; absent for a job with a plan.
    pub(super) graph: Option<Box<Graph>>,
    /// Visits of the workflow; empty for a job with a plan.
    pub(super) visits: Visits,
    pub(super) questions: Questions,
    pub(super) family: Family,
    pub(super) spending: Spending,
    pub(super) steering: Steering,
    pub(super) timers: Timers,
    /// First content from outside that the job has seen.
    pub(super) mark: Option<Mark>,
    /// Position of the newest content from outside in the job's own log.
    pub(super) saw_outside_at: Option<Seq>,
    /// Approvals that count for later calls.
    pub(super) approvals: Approvals,
    /// Files that calls published.
    pub(super) artifacts: Artifacts,
    outcome: Option<Outcome>,
}

impl Job {
    /// Creates a job of which no record has been applied.
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
            awake: Wakeup { seq: Seq(0), time: Timestamp::UNIX_EPOCH, ask: None },
            since: Timestamp::UNIX_EPOCH,
            lived_ms: 0,
            back: None,
            open: None,
        }
    }

    /// Returns the job's id.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// Returns the position of the last applied record, or 0.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the position of the first applied record, which is the submission in a sound log, or
    /// 0.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.first
    }

    /// Returns the position of the last applied decision, or 0. The next decision must be stored
    /// right after it.
    #[must_use]
    pub fn last_decision(&self) -> Seq {
        self.last_decision
    }

    /// Returns the time of the last record, by the server's clock.
    #[must_use]
    pub fn updated(&self) -> Timestamp {
        self.updated
    }

    /// Returns the number of records that changed nothing.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// Returns the record that poisoned the job.
    #[must_use]
    pub fn poison(&self) -> Option<&Poison> {
        self.poison.as_ref()
    }

    /// Returns the fact that began the current stretch of work.
    #[must_use]
    pub fn awake(&self) -> &Wakeup {
        &self.awake
    }

    /// Returns the time of submission, by the server's clock.
    #[must_use]
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns the tokens that counted for this job so far: those of its model calls, its tools and
    /// its ended children.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.open.as_ref().map_or_else(Usage::default, |open| open.spending.usage())
    }

    /// Returns the job's status, or `None` if it was never submitted.
    #[must_use]
    pub fn standing(&self) -> Option<JobStatus> {
        let open = self.open.as_ref()?;
        let (state, sub_status) = self.state(open);
        Some(JobStatus {
            agent: open.brief.agent.name.clone(),
            state,
            sub_status,
            questions: open.questions.open_in_order().count(),
            asked: open.questions.open_in_order().map(|asking| asking.asked).min(),
        })
    }

    /// Returns the outcome, or `None` while the job runs.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.open.as_ref()?.outcome.as_ref()
    }

    /// Returns `true` if the job runs and a step waits for a child that has not ended.
    #[must_use]
    pub fn has_children_out(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.outcome.is_none() && open.has_children_out())
    }

    /// Returns the parent of a child job.
    #[must_use]
    pub fn parent(&self) -> Option<&Parent> {
        self.open.as_ref()?.family.parent()
    }

    /// Returns the number of rollbacks of this job and of the jobs it was forked from.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.open.as_ref().map_or(Generation::FIRST, |open| open.generation())
    }

    /// Returns `true` after a rollback. The state is then stale until the log is folded again from
    /// its first record: see [`crate::Replay`].
    #[must_use]
    pub fn must_be_refolded(&self) -> bool {
        self.back.is_some()
    }

    /// Returns `true` if a command is queued or with a worker, so that a fact may arrive at any
    /// moment.
    #[must_use]
    pub fn has_work_out(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.outcome.is_none() && open.has_work_out())
    }
}

impl ActiveJob {
    pub(super) fn new(submitted: Submitted) -> Self {
        let mut open = Self {
            family: Family::of(&submitted),
            brief: Arc::new(Brief::of(submitted)),
            lineage: Lineage::new(),
            planning: Planning::new(),
            execution: Execution::default(),
            graph: None,
            visits: Visits::default(),
            questions: Questions::default(),
            spending: Spending::default(),
            steering: Steering::default(),
            timers: Timers::default(),
            mark: None,
            saw_outside_at: None,
            approvals: Approvals::default(),
            artifacts: Artifacts::default(),
            outcome: None,
        };
        open.mark = open.inherited_mark();
        open
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

    /// Returns the language of the job's texts: that of the submission, or the last one that a plan
    /// named if the submission named none.
    pub(super) fn language(&self) -> Language {
        let (JobLanguage::Named(submitted) | JobLanguage::Detected(submitted)) =
            self.brief.language;
        self.planned_language().unwrap_or(submitted)
    }

    /// Returns the language that a plan named, if the submission named none.
    pub(super) fn planned_language(&self) -> Option<Language> {
        match self.brief.language {
            JobLanguage::Named(_) => None,
            JobLanguage::Detected(_) => self.planning.language(),
        }
    }

    /// Returns `true` if a command is queued or with a worker.
    pub(super) fn has_work_out(&self) -> bool {
        self.planning.stage().attempts().is_some_and(Attempts::is_out)
            || self.execution.has_work_out()
    }
}
