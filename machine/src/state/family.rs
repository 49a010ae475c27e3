//! The jobs around a job: the one that it works for, and those that work for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proto::{
    agent::Agent,
    decision::{Note, SpawnWork},
    fact::{Signal, Signaled, Submitted},
    family::{Callee, Callees, ChildQuestion, ChildSaid, ChildView, News, Parent},
    id::{AskId, Attempt, Generation, JobId, Seq, WorkId},
    job::{JobState, Outcome},
    message::Usage,
};

/// A job's knowledge of its parent and its children.
#[derive(Debug, Clone, Default)]
pub(crate) struct Family {
    parent: Option<Arc<Parent>>,
    /// The agents it may hand tasks to, and those that these may. Shared, because it never changes.
    callees: Option<Arc<Callees>>,
    children: BTreeMap<(WorkId, Attempt), Child>,
    /// The position in the parent's log of the last signal that came from there.
    parent_seq: Seq,
    /// The position in this log of the last signal to pause or to go on.
    halted: Seq,
    /// Questions that the parent was told of and that it was not told are closed.
    passed_on: BTreeSet<(JobId, AskId)>,
    /// The outcome, once nothing can change it.
    concluded: Option<Outcome>,
}

/// A job that works for this one, or did.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    pub(crate) spawn: Arc<SpawnWork>,
    /// Whether its own log has begun.
    is_there: bool,
    told: Told,
    /// Questions that wait for a person, in it or below it.
    asks: BTreeMap<(JobId, AskId), ChildQuestion>,
    /// Those that did: none of them ever waits again, however late it is heard that it does.
    closed: BTreeSet<(JobId, AskId)>,
    ended: Option<JobState>,
    usage: Usage,
    /// Whether it counts in the job's budgets: not when the job went back to where it had not begun
    /// or not ended, as another one does its work then.
    counts: bool,
}

/// The last thing that a child was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    GoOn,
    Pause,
    Cancel,
}

impl Told {
    fn of(signal: &Signal) -> Option<Self> {
        match signal {
            Signal::Cancel => Some(Self::Cancel),
            Signal::Pause => Some(Self::Pause),
            Signal::Resume => Some(Self::GoOn),
            Signal::Retry
            | Signal::Steer { .. }
            | Signal::Snapshot { .. }
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

    /// The job's place among its family, for people.
    pub(crate) fn path<'a>(&'a self, job: &'a JobId) -> &'a str {
        self.parent.as_ref().map_or(job.as_str(), |parent| parent.path.as_str())
    }

    /// The number of jobs above this one.
    pub(crate) fn depth(&self) -> u32 {
        self.parent.as_ref().map_or(0, |parent| parent.depth)
    }

    pub(crate) fn callees(&self) -> Option<&Callees> {
        self.callees.as_deref()
    }

    /// The agent of a name that the job may hand tasks to.
    pub(crate) fn callee(&self, agent: &Agent, name: &str) -> Option<&Callee> {
        self.callees()?.get(&agent.sub_agent(name)?.name)
    }

    pub(crate) fn concluded(&self) -> Option<&Outcome> {
        self.concluded.as_ref()
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

    /// Children that have not ended.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &Child> {
        self.children.values().filter(|child| child.ended.is_none())
    }

    /// The number of children so far, as the budget counts them.
    pub(crate) fn counted(&self) -> usize {
        self.children.values().filter(|child| child.counts).count()
    }

    /// Questions that wait for a person in a job below.
    pub(crate) fn questions(&self) -> impl Iterator<Item = &ChildQuestion> {
        self.alive().flat_map(|child| child.asks.values())
    }

    /// Questions of all its children, ended or not, in the order of the children.
    pub(crate) fn all_questions(&self) -> impl Iterator<Item = &ChildQuestion> {
        self.children.values().flat_map(|child| child.asks.values())
    }

    pub(crate) fn views(&self, job: &JobId) -> Vec<ChildView> {
        self.children.values().map(|child| child.view(self.path(job))).collect()
    }

    /// A signal came; whether it counts. One that a parent passed on and that was overtaken does not.
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

    /// Whether the parent has said something since an earlier time.
    pub(crate) fn heard_more_than(&self, earlier: &Self) -> bool {
        self.parent_seq > earlier.parent_seq
    }

    /// A child was decided.
    pub(crate) fn spawned(&mut self, spawn: &SpawnWork, generation: Generation) {
        let child = Child {
            spawn: Arc::new(spawn.clone()),
            is_there: false,
            told: Told::GoOn,
            asks: BTreeMap::new(),
            closed: BTreeSet::new(),
            ended: None,
            usage: Usage::default(),
            counts: spawn.work.generation() == generation,
        };
        self.children.insert((spawn.work.clone(), spawn.attempt), child);
    }

    /// A note about the family was stored; whether it can follow.
    pub(crate) fn noted(&mut self, note: &Note) -> bool {
        match note {
            Note::Spawned { work, attempt, .. } => {
                let child = self.children.get_mut(&(work.clone(), *attempt));
                child.is_some_and(|child| !std::mem::replace(&mut child.is_there, true))
            }
            Note::ChildTold { work, attempt, signal, .. } => {
                let Some(told) = Told::of(signal) else { return false };
                let child = self.children.get_mut(&(work.clone(), *attempt));
                child.map(|child| child.told = told).is_some()
            }
            Note::ParentTold { job, ask, open, .. } => {
                let ask = (job.clone(), ask.clone());
                if *open { self.passed_on.insert(ask) } else { self.passed_on.remove(&ask) }
            }
            Note::Concluded { outcome, .. } => {
                self.concluded = Some(outcome.clone());
                self.parent.is_some()
            }
            Note::QuestionClosed { .. } | Note::Stopped { .. } | Note::Held { .. } => false,
        }
    }

    fn speaker(&mut self, said: &ChildSaid) -> Option<&mut Child> {
        let child = self.children.get_mut(&(said.work.clone(), said.attempt))?;
        (child.ended.is_none() && child.spawn.child == said.child).then_some(child)
    }

    /// Takes a child's news of a question. Gives whether it waits for a person now; nothing when the
    /// news does not count.
    pub(crate) fn hear_question(&mut self, said: &ChildSaid) -> Option<bool> {
        let child = self.speaker(said)?;
        match &said.news {
            News::Asks { path, job, question } => {
                let ask = (job.clone(), question.id.clone());
                if child.closed.contains(&ask) || child.asks.contains_key(&ask) {
                    return None;
                }
                let (path, job, question) = (path.clone(), job.clone(), (**question).clone());
                child.asks.insert(ask, ChildQuestion { path, job, question });
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

    /// A child has ended. Gives whether its cost counts in the job's budgets; nothing when it is not
    /// known, or known to have ended.
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

    /// A fork keeps neither the parent nor the children.
    pub(crate) fn leave(&mut self) {
        *self = Self { callees: self.callees.take(), ..Self::default() };
    }

    /// Takes over the family that the job has when it goes back. Nothing waits for its children: only
    /// those that had ended here count.
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
    /// Whether its own log has begun.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there
    }

    /// The signal that it needs to hear this. Nothing follows a cancellation.
    pub(crate) fn to_tell(&self, what: Told) -> Option<Signal> {
        (self.told != what && self.told != Told::Cancel).then(|| what.signal())
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
            questions: self.asks.values().cloned().collect(),
        }
    }
}
