//! Jobs that work for this one, and the one it works for: which children there should be and what
//! they are begun with, what they are told and tell, and what their end means.
//!
//! Everything is level-triggered like the rest. What must be said to another job is said before the
//! note that says so is stored: whoever dies in between says it again, and hearing it twice changes
//! nothing. A child is submitted only after the decision to have it is stored, so that none is ever
//! without one.

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
    family::{Callee, Callees, ChildQuestion, ChildSaid, ChildView, News, Offered, Parent},
    id::{AskId, Attempt, JobId, Seq, WorkId},
    job::{JobState, Outcome},
    message::Usage,
    rules::Rules,
};

use super::{fold::Counted, kin_text, state::Open, step::Exec};

/// What a job knows of those it works for and those that work for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Family {
    pub(super) parent: Option<Arc<Parent>>,
    /// The agents it may hand tasks to, and those that these may. Shared, as what never changes is
    /// not copied with the rest.
    pub(super) callees: Option<Arc<Callees>>,
    pub(super) children: BTreeMap<(WorkId, Attempt), Child>,
    /// Where the parent's log has the last signal that came from there.
    parent_seq: Seq,
    /// Where this log has the last signal to pause or to go on.
    pub(super) halted: Seq,
    /// Questions that the parent was told of and that it was not told are closed.
    passed_on: BTreeSet<(JobId, AskId)>,
    /// How the job ends, once nothing can change it.
    pub(super) concluded: Option<Outcome>,
}

/// A job that works for this one, or did.
#[derive(Debug, Clone)]
pub(super) struct Child {
    pub(super) spawn: Arc<SpawnWork>,
    /// Whether its own log has begun.
    is_there: bool,
    told: Told,
    /// Questions that wait for a person, in it or below it.
    asks: BTreeMap<(JobId, AskId), ChildQuestion>,
    /// Those that did: none of them ever waits again, however late it is heard that it does.
    closed: BTreeSet<(JobId, AskId)>,
    pub(super) ended: Option<JobState>,
    usage: Usage,
    /// Whether it counts in the job's budgets: not when the job went back to where it had not begun
    /// or not ended, as another one does its work then.
    counts: bool,
}

/// What a child was told last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    GoOn,
    Pause,
    Cancel,
}

impl Family {
    pub(super) fn of(submitted: &Submitted) -> Self {
        let callees = (!submitted.agents.is_empty()).then(|| Arc::new(submitted.agents.clone()));
        Self { parent: submitted.parent.clone().map(Arc::new), callees, ..Self::default() }
    }

    /// How many jobs are above this one.
    pub(super) fn depth(&self) -> u32 {
        self.parent.as_ref().map_or(0, |parent| parent.depth)
    }

    /// What a fork of the job keeps of it: neither those above nor those below.
    pub(super) fn leave(&mut self) {
        *self = Self { callees: self.callees.take(), ..Self::default() };
    }

    /// Jobs that work for it or did, as its budget counts them.
    pub(super) fn counted(&self) -> usize {
        self.children.values().filter(|child| child.counts).count()
    }

    /// Whether the job above has said something since an earlier time.
    pub(super) fn heard_more_than(&self, earlier: &Self) -> bool {
        self.parent_seq > earlier.parent_seq
    }

    pub(super) fn alive(&self) -> impl Iterator<Item = &Child> {
        self.children.values().filter(|child| child.ended.is_none())
    }

    /// Questions that wait for a person in a job below.
    pub(super) fn questions(&self) -> impl Iterator<Item = &ChildQuestion> {
        self.alive().flat_map(|child| child.asks.values())
    }

    /// Questions of all its children, ended or not, in the order of the children.
    pub(super) fn all_questions(&self) -> impl Iterator<Item = &ChildQuestion> {
        self.children.values().flat_map(|child| child.asks.values())
    }

    pub(super) fn views(&self, own_path: &str) -> Vec<ChildView> {
        self.children.values().map(|child| child.view(own_path)).collect()
    }
}

impl Child {
    fn path(&self, own_path: &str) -> String {
        format!("{own_path}/{}", self.spawn.step)
    }

    /// It has ended; whether what it spent counts in the job's budgets.
    fn ended(&mut self, outcome: &Outcome, usage: Usage) -> bool {
        self.ended = Some(outcome.state());
        self.usage = usage;
        self.asks.clear();
        self.counts
    }

    fn view(&self, own_path: &str) -> ChildView {
        let asks =
            || if self.asks.is_empty() { JobState::Working } else { JobState::InputRequired };
        ChildView {
            job: self.spawn.child.clone(),
            agent: self.spawn.agent.name.clone(),
            path: self.path(own_path),
            work: self.spawn.work.clone(),
            attempt: self.spawn.attempt,
            state: self.ended.unwrap_or_else(asks),
            usage: self.usage,
            questions: self.asks.values().cloned().collect(),
        }
    }
}

impl Open {
    /// Where the job is among its family, for people.
    pub(super) fn path<'a>(&'a self, job: &'a JobId) -> &'a str {
        self.family.parent.as_ref().map_or(job.as_str(), |parent| parent.path.as_str())
    }

    /// The agents that models are offered.
    pub(super) fn offered(&self) -> Vec<Offered> {
        let Some(callees) = &self.family.callees else { return Vec::new() };
        if self.is_deepest() || self.has_handed_over_all() {
            return Vec::new();
        }
        let offer = |name| callees.get(name).map(|callee| callee.about.clone());
        let subs = self.agent.agents.iter().map(|sub| &sub.name);
        subs.filter_map(|name| Some(Offered { name: name.clone(), about: offer(name)? })).collect()
    }

    /// The agent of a name that the job may hand tasks to.
    pub(super) fn callee(&self, name: &str) -> Option<&Callee> {
        callee(&self.agent, self.family.callees.as_deref(), name)
    }

    /// Whether it is so deep in its family that nothing below it would be allowed.
    fn is_deepest(&self) -> bool {
        self.agent.budget.depth == 0
    }

    /// Whether it has had as many children as it may ever have.
    fn has_handed_over_all(&self) -> bool {
        let total = usize::try_from(self.agent.budget.fan_out.total).unwrap_or(usize::MAX);
        self.family.counted() >= total
    }

    /// Whether a child is out.
    pub(super) fn has_children_out(&self) -> bool {
        self.family.alive().any(|child| self.is_awaited(&child.spawn))
    }

    fn is_awaited(&self, spawn: &SpawnWork) -> bool {
        let awaits = |call: &super::call::Call| {
            call.work == spawn.work && call.end.is_none() && call.tries.awaits(spawn.attempt)
        };
        self.steps.iter().any(|step| match &step.exec {
            Exec::Tool(call) => awaits(call),
            Exec::Acting(acting) => acting.calls().any(awaits),
            Exec::NotBegun | Exec::Turn(_) | Exec::Rerun(_) | Exec::Ended => false,
        })
    }

    /// Nobody waits for the children that the job has now, as it goes back to where it is this. All
    /// but those that it had and that had ended here are done without.
    pub(super) fn leave_children(&mut self, now: &Family) {
        let mut family = now.clone();
        for (unit, child) in &mut family.children {
            let here = self.family.children.get(unit);
            child.counts = here.is_some_and(|here| here.counts && !self.is_awaited(&here.spawn));
        }
        family.concluded = None;
        self.family = family;
    }

    /// Ends calls of agents that the job may not call, or that are given what is no task.
    pub(super) fn settle_agents(&mut self) {
        let (agent, language) = (Arc::clone(&self.agent), self.language);
        let refuses = self.rules >= Rules::SECOND;
        let no_further = match (self.is_deepest(), self.has_handed_over_all()) {
            (true, _) if refuses => Some(kin_text::no_further_down(language)),
            (false, true) if refuses => Some(kin_text::handed_over_all(language)),
            (true | false, _) => None,
        };
        let callees = self.family.callees.clone();
        for step in &mut self.steps {
            // A model can do it by itself; for a step of a plan there is nothing else to do.
            let no_further = no_further.as_ref().filter(|_| matches!(step.exec, Exec::Acting(_)));
            step.calls_mut(&mut |call| {
                if !call.is_agent() || call.end.is_some() || call.tries.attempts() > 0 {
                    return;
                }
                if callee(&agent, callees.as_deref(), call.tool.as_str()).is_none() {
                    call.refuse(kin_text::no_such_agent(language, &agent, call.tool.as_str()));
                } else if let Some(why) = no_further {
                    call.refuse(why.to_owned());
                } else if let Err(why) = call.task() {
                    call.refuse(kin_text::no_task(language, &why));
                }
            });
        }
    }

    /// The next thing that another job of the family must be told, as the note that it was.
    pub(super) fn family_note(&self, job: &JobId, ends: bool) -> Option<Note> {
        if self.family.concluded.is_some() {
            return None;
        }
        let generation = self.generation;
        for ((work, attempt), child) in &self.family.children {
            if child.ended.is_some() {
                continue;
            }
            let (work, attempt) = (work.clone(), *attempt);
            if !child.is_there {
                return Some(Note::Spawned { work, attempt, generation });
            }
            if let Some(signal) = self.wanted(child, ends) {
                return Some(Note::ChildTold { work, attempt, signal, generation });
            }
        }
        if ends || self.family.parent.is_none() {
            return None;
        }
        let open: BTreeSet<(JobId, AskId)> =
            self.asking(job).map(|q| (q.job, q.question.id)).collect();
        let opened = open.difference(&self.family.passed_on).next().map(|ask| (ask, true));
        let closed = || self.family.passed_on.difference(&open).next().map(|ask| (ask, false));
        let ((job, ask), open) = opened.or_else(closed)?;
        Some(Note::ParentTold { job: job.clone(), ask: ask.clone(), open, generation })
    }

    /// What a child should be told that it has not been.
    fn wanted(&self, child: &Child, ends: bool) -> Option<Signal> {
        let told = if ends || !self.is_awaited(&child.spawn) {
            Told::Cancel
        } else if self.paused.is_some() {
            Told::Pause
        } else {
            Told::GoOn
        };
        (child.told != told && child.told != Told::Cancel).then_some(match told {
            Told::Cancel => Signal::Cancel,
            Told::Pause => Signal::Pause,
            Told::GoOn => Signal::Resume,
        })
    }

    /// Questions that wait for a person, in this job and below it.
    pub(super) fn asking<'a>(&'a self, job: &'a JobId) -> impl Iterator<Item = ChildQuestion> + 'a {
        let own = self.open_questions().map(move |asking| ChildQuestion {
            path: self.path(job).to_owned(),
            job: job.clone(),
            question: asking.question.clone(),
        });
        own.chain(self.family.questions().cloned())
    }

    /// A signal came; whether it counts. One that a parent passed on and that was overtaken does not.
    pub(super) fn heeds(&mut self, seq: Seq, signaled: &Signaled) -> bool {
        if matches!(signaled.signal, Signal::Pause | Signal::Resume) {
            if let Some(at) = signaled.parent_seq {
                if at < self.family.parent_seq {
                    return false;
                }
                self.family.parent_seq = at;
            }
            self.family.halted = seq;
        }
        true
    }

    /// A child was decided.
    pub(super) fn spawned(&mut self, spawn: &SpawnWork) {
        let child = Child {
            spawn: Arc::new(spawn.clone()),
            is_there: false,
            told: Told::GoOn,
            asks: BTreeMap::new(),
            closed: BTreeSet::new(),
            ended: None,
            usage: Usage::default(),
            counts: spawn.work.generation() == self.generation,
        };
        self.family.children.insert((spawn.work.clone(), spawn.attempt), child);
    }

    /// A note about the family was stored; whether it can follow.
    pub(super) fn noted_of_family(&mut self, note: &Note) -> bool {
        let family = &mut self.family;
        match note {
            Note::Spawned { work, attempt, .. } => {
                let child = family.children.get_mut(&(work.clone(), *attempt));
                child.is_some_and(|child| !std::mem::replace(&mut child.is_there, true))
            }
            Note::ChildTold { work, attempt, signal, .. } => {
                let told = match signal {
                    Signal::Cancel => Told::Cancel,
                    Signal::Pause => Told::Pause,
                    Signal::Resume => Told::GoOn,
                    Signal::Retry
                    | Signal::Steer { .. }
                    | Signal::Snapshot { .. }
                    | Signal::RollBack { .. } => return false,
                };
                let child = family.children.get_mut(&(work.clone(), *attempt));
                child.is_some_and(|child| {
                    child.told = told;
                    true
                })
            }
            Note::ParentTold { job, ask, open, .. } => {
                let ask = (job.clone(), ask.clone());
                if *open { family.passed_on.insert(ask) } else { family.passed_on.remove(&ask) }
            }
            Note::Concluded { outcome, .. } => {
                family.concluded = Some(outcome.clone());
                family.parent.is_some()
            }
            Note::QuestionClosed { .. } | Note::Stopped { .. } | Note::Held { .. } => false,
        }
    }

    /// A child said something.
    pub(super) fn heard_child(&mut self, at: Timestamp, said: &ChildSaid) -> Counted {
        let found = self.family.children.get_mut(&(said.work.clone(), said.attempt));
        let is_it = |child: &&mut Child| child.ended.is_none() && child.spawn.child == said.child;
        let Some(child) = found.filter(is_it) else { return Counted::No };
        match &said.news {
            News::Asks { path, job, question } => {
                let ask = (job.clone(), question.id.clone());
                if child.closed.contains(&ask) || child.asks.contains_key(&ask) {
                    return Counted::No;
                }
                let question = Question::of(path, job, question);
                child.asks.insert(ask, question);
                self.asks_below(said);
            }
            News::Closed { job, ask } => {
                let ask = (job.clone(), ask.clone());
                child.asks.remove(&ask);
                if !child.closed.insert(ask) {
                    return Counted::No;
                }
                self.asks_below(said);
            }
            News::Ended { outcome, usage, turns, paid } => {
                let counts = child.ended(outcome, *usage);
                self.spent_below(counts, *usage, *turns, paid);
                self.child_ended(at, said, outcome);
            }
        }
        Counted::Yes
    }

    /// A child said something when nothing could change how this job ends: only what it cost counts.
    /// And should the job go back, it must know who has ended and will never say so again.
    pub(super) fn heard_late(&mut self, said: &ChildSaid) -> Counted {
        let News::Ended { outcome, usage, turns, paid } = &said.news else { return Counted::No };
        let found = self.family.children.get_mut(&(said.work.clone(), said.attempt));
        let is_it = |child: &&mut Child| child.ended.is_none() && child.spawn.child == said.child;
        let Some(child) = found.filter(is_it) else { return Counted::No };
        let counts = child.ended(outcome, *usage);
        self.spent_below(counts, *usage, *turns, paid);
        Counted::Yes
    }

    fn spent_below(&mut self, counts: bool, usage: Usage, turns: u32, paid: &Paid) {
        if counts {
            self.usage += usage;
            self.spent.below(turns, self.rules);
            self.paid.below(paid);
        }
    }

    /// Lets the call that a child is know whether the child waits for a person.
    fn asks_below(&mut self, said: &ChildSaid) {
        let child = self.family.children.get(&(said.work.clone(), said.attempt));
        let asks = child.is_some_and(|child| !child.asks.is_empty());
        for step in &mut self.steps {
            if let Some((call, _)) = step.call_mut(|call| call.work == said.work) {
                call.asks_below = asks;
            }
        }
    }

    fn child_ended(&mut self, at: Timestamp, said: &ChildSaid, outcome: &Outcome) {
        let language = self.language;
        let found = self.steps.iter_mut().find_map(|step| {
            step.call_mut(|call| {
                call.work == said.work && call.end.is_none() && call.tries.awaits(said.attempt)
            })
        });
        // Nobody waits for one that was canceled because nobody did.
        if let Some((call, is_step)) = found {
            call.asks_below = false;
            call.child_ended(outcome, is_step, language, at);
        }
    }
}

fn callee<'a>(agent: &Agent, callees: Option<&'a Callees>, name: &str) -> Option<&'a Callee> {
    callees?.get(&agent.sub_agent(name)?.name)
}

/// How a question of a job below is kept.
struct Question;

impl Question {
    fn of(path: &str, job: &JobId, question: &proto::interaction::Question) -> ChildQuestion {
        ChildQuestion { path: path.to_owned(), job: job.clone(), question: question.clone() }
    }
}
