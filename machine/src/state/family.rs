//! A job's parent and children.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use proto::{
    agent::Agent,
    cost::Paid,
    decision::{Note, SpawnWork},
    fact::{Signal, Signaled, Submitted},
    family::{Callee, Callees, ChildQuestion, ChildSaid, ChildView, News, Parent},
    id::{AskId, Attempt, Generation, JobId, Seq, WorkId},
    job::{JobState, Outcome},
    message::Usage,
};

/// A job's knowledge of its parent and its children, derived from its own log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    parent: Option<Arc<Parent>>,
    /// Agents that the job may hand tasks to, directly or through its children. Shared, because the
    /// map never changes.
    callees: Option<Arc<Callees>>,
    children: BTreeMap<(WorkId, Attempt), Child>,
    /// Position in the parent's log of the last pause or resume that came from the parent.
    parent_seq: Seq,
    /// Position in this log of the last pause or resume.
    halted: Seq,
    /// Questions that the parent was told are open and not yet told are closed.
    passed_on: BTreeSet<(JobId, AskId)>,
    /// Outcome and account of a child job, once nothing can change them.
    concluded: Option<(Outcome, Account)>,
}

/// The spending of a job and its descendants, as the job reports it to its parent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account {
    pub(crate) usage: Usage,
    pub(crate) turns: u32,
    pub(crate) paid: Paid,
}

/// A child job, running or ended.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) spawn: Arc<SpawnWork>,
    /// `true` once the child's submission was stored.
    is_there: bool,
    told: ChildInstruction,
    /// Open questions of the child and its descendants.
    asks: BTreeMap<(JobId, AskId), ReportedQuestion>,
    /// Closed questions. A late report cannot open one of them again.
    closed: BTreeSet<(JobId, AskId)>,
    ended: Option<JobState>,
    usage: Usage,
    /// `true` if the child counts in the job's budgets. After a rollback to a point before the
    /// child ended it does not, because another child repeats its work.
    counts: bool,
}

/// An open question that a child reported.
#[derive(Debug, Clone)]
pub(crate) struct ReportedQuestion {
    pub(crate) question: ChildQuestion,
    /// Time of the report, by the server's clock.
    pub(crate) since: Timestamp,
}

/// The last signal that a child was sent; `GoOn` if it was sent none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChildInstruction {
    GoOn,
    Pause,
    Cancel,
}

impl ChildInstruction {
    fn of(signal: &Signal) -> Option<Self> {
        match signal {
            Signal::Cancel => Some(Self::Cancel),
            Signal::Pause => Some(Self::Pause),
            Signal::Resume => Some(Self::GoOn),
            Signal::Retry
            | Signal::Steer { .. }
            | Signal::Snapshot { .. }
            | Signal::Event { .. }
            | Signal::EditGraph { .. }
            | Signal::RollBack { .. } => None,
        }
    }

    fn signal(self) -> Signal {
        match self {
            Self::Cancel => Signal::Cancel,
            Self::Pause => Signal::Pause,
            Self::GoOn => Signal::Resume,
        }
    }
}

impl Family {
    pub(super) fn of(submitted: &Submitted) -> Self {
        let callees = (!submitted.agents.is_empty()).then(|| Arc::new(submitted.agents.clone()));
        Self { parent: submitted.parent.clone().map(Arc::new), callees, ..Self::default() }
    }

    pub(crate) fn parent(&self) -> Option<&Parent> {
        self.parent.as_deref()
    }

    /// Returns the job's path in its family, for display.
    pub(crate) fn path<'a>(&'a self, job: &'a JobId) -> &'a str {
        self.parent.as_ref().map_or(job.as_str(), |parent| parent.path.as_str())
    }

    /// Returns the number of ancestors.
    pub(crate) fn depth(&self) -> u32 {
        self.parent.as_ref().map_or(0, |parent| parent.depth)
    }

    pub(crate) fn callees(&self) -> Option<&Callees> {
        self.callees.as_deref()
    }

    /// Returns the sub-agent of this name, if `agent` may hand tasks to it.
    pub(crate) fn callee(&self, agent: &Agent, name: &str) -> Option<&Callee> {
        self.callees()?.get(&agent.sub_agent(name)?.name)
    }

    pub(crate) fn concluded(&self) -> Option<&Outcome> {
        self.concluded.as_ref().map(|(outcome, _)| outcome)
    }

    pub(crate) fn halted(&self) -> Seq {
        self.halted
    }

    pub(crate) fn passed_on(&self) -> &BTreeSet<(JobId, AskId)> {
        &self.passed_on
    }

    pub(crate) fn child(&self, work: &WorkId, attempt: Attempt) -> Option<&Child> {
        self.children.get(&(work.clone(), attempt))
    }

    /// Returns the children that have not ended.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Child> {
        self.children.values().filter(|child| child.ended.is_none())
    }

    /// Returns the number of children that count in the budgets.
    pub(crate) fn counted(&self) -> usize {
        self.children.values().filter(|child| child.counts).count()
    }

    /// Returns the open questions of running descendants.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &ChildQuestion> {
        self.reported().map(|reported| &reported.question)
    }

    /// Returns the open questions of running descendants, with the times of their reports.
    pub(crate) fn reported(&self) -> impl Iterator<Item = &ReportedQuestion> {
        self.alive().flat_map(|child| child.asks.values())
    }

    /// Returns the questions of all children, ended ones included, in the order of the children.
    pub(crate) fn all_questions(&self) -> impl Iterator<Item = &ChildQuestion> {
        let asks = self.children.values().flat_map(|child| child.asks.values());
        asks.map(|reported| &reported.question)
    }

    pub(crate) fn views(&self, job: &JobId) -> Vec<ChildView> {
        self.children.values().map(|child| child.view(self.path(job))).collect()
    }

    /// Takes a signal and returns `true` if it counts. A pause or resume that the parent sent does
    /// not count if a later one has already arrived.
    pub(crate) fn heeds(&mut self, seq: Seq, signaled: &Signaled) -> bool {
        if matches!(signaled.signal, Signal::Pause | Signal::Resume) {
            if let Some(at) = signaled.parent_seq {
                if at < self.parent_seq {
                    return false;
                }
                self.parent_seq = at;
            }
            self.halted = seq;
        }
        true
    }

    /// Returns `true` if the parent has sent a signal since `earlier`.
    pub(crate) fn heard_more_than(&self, earlier: &Self) -> bool {
        self.parent_seq > earlier.parent_seq
    }

    /// Records the decision to spawn a child.
    pub(crate) fn spawned(&mut self, spawn: &SpawnWork, generation: Generation) {
        let child = Child {
            spawn: Arc::new(spawn.clone()),
            is_there: false,
            told: ChildInstruction::GoOn,
            asks: BTreeMap::new(),
            closed: BTreeSet::new(),
            ended: None,
            usage: Usage::default(),
            counts: spawn.work.generation() == generation,
        };
        self.children.insert((spawn.work.clone(), spawn.attempt), child);
    }

    /// Returns the account of a child job whose outcome is settled.
    pub(crate) fn account(&self) -> Option<Account> {
        self.concluded.as_ref().map(|(_, account)| *account)
    }

    /// Records the note that settles the outcome of a child job, and returns `true` if it can follow
    /// the records before it.
    pub(crate) fn conclude(&mut self, outcome: &Outcome, account: Account) -> bool {
        self.concluded = Some((outcome.clone(), account));
        self.parent.is_some()
    }

    /// Records a note about the family and returns `true` if it can follow the records before it.
    pub(crate) fn noted(&mut self, note: &Note) -> bool {
        match note {
            Note::Spawned { work, attempt, .. } => {
                let child = self.children.get_mut(&(work.clone(), *attempt));
                child.is_some_and(|child| !std::mem::replace(&mut child.is_there, true))
            }
            Note::ChildTold { work, attempt, signal, .. } => {
                let Some(told) = ChildInstruction::of(signal) else { return false };
                let child = self.children.get_mut(&(work.clone(), *attempt));
                child.map(|child| child.told = told).is_some()
            }
            Note::ParentTold { job, ask, open, .. } => {
                let ask = (job.clone(), ask.clone());
                if *open { self.passed_on.insert(ask) } else { self.passed_on.remove(&ask) }
            }
            Note::Concluded { .. }
            | Note::QuestionClosed { .. }
            | Note::Stopped { .. }
            | Note::Advanced(_)
            | Note::GraphEdited { .. }
            | Note::Held { .. } => false,
        }
    }

    fn speaker(&mut self, said: &ChildSaid) -> Option<&mut Child> {
        let child = self.children.get_mut(&(said.work.clone(), said.attempt))?;
        (child.ended.is_none() && child.spawn.child == said.child).then_some(child)
    }

    /// Takes a child's report about a question. Returns whether the child still has open questions,
    /// or `None` if the report does not count.
    pub(crate) fn hear_question(&mut self, said: &ChildSaid, since: Timestamp) -> Option<bool> {
        let child = self.speaker(said)?;
        match &said.news {
            News::Asks { path, job, question } => {
                let ask = (job.clone(), question.id.clone());
                if child.closed.contains(&ask) || child.asks.contains_key(&ask) {
                    return None;
                }
                let (path, job, question) = (path.clone(), job.clone(), (**question).clone());
                let question = ChildQuestion { path, job, question };
                child.asks.insert(ask, ReportedQuestion { question, since });
            }
            News::Closed { job, ask } => {
                let ask = (job.clone(), ask.clone());
                child.asks.remove(&ask);
                if !child.closed.insert(ask) {
                    return None;
                }
            }
            News::Ended { .. } => return None,
        }
        Some(!child.asks.is_empty())
    }

    /// Records the end of a child. Returns whether its cost counts in the job's budgets, or `None`
    /// if the child is unknown or has already ended.
    pub(crate) fn hear_end(
        &mut self,
        said: &ChildSaid,
        outcome: &Outcome,
        usage: Usage,
    ) -> Option<bool> {
        let child = self.speaker(said)?;
        child.ended = Some(outcome.state());
        child.usage = usage;
        child.asks.clear();
        Some(child.counts)
    }

    /// Drops parent and children, which a fork does not inherit.
    pub(crate) fn leave(&mut self) {
        *self = Self { callees: self.callees.take(), ..Self::default() };
    }

    /// Adopts the present family after a rollback. No restored step waits for a present child, so
    /// only children that had ended at the rollback target keep counting.
    pub(crate) fn leave_behind(&mut self, now: &Self, is_awaited: impl Fn(&SpawnWork) -> bool) {
        let mut family = now.clone();
        for (unit, child) in &mut family.children {
            let here = self.children.get(unit);
            child.counts = here.is_some_and(|here| here.counts && !is_awaited(&here.spawn));
        }
        family.concluded = None;
        *self = family;
    }
}

impl Child {
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// Returns the signal to send so that the child learns `what`, or `None` if it knows or was
    /// canceled.
    pub(crate) fn to_tell(&self, what: ChildInstruction) -> Option<Signal> {
        (self.told != what && self.told != ChildInstruction::Cancel).then(|| what.signal())
    }

    fn view(&self, parent_path: &str) -> ChildView {
        let asks =
            || if self.asks.is_empty() { JobState::Working } else { JobState::InputRequired };
        ChildView {
            job: self.spawn.child.clone(),
            agent: self.spawn.agent.name.clone(),
            path: format!("{parent_path}/{}", self.spawn.step),
            work: self.spawn.work.clone(),
            attempt: self.spawn.attempt,
            state: self.ended.unwrap_or_else(asks),
            usage: self.usage,
            questions: self.asks.values().map(|asked| asked.question.clone()).collect(),
        }
    }
}
