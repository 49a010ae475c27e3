//! The rules between jobs that work for each other: which children there should be, what they are told
//! and tell, and what their end means.
//!
//! Everything is level-triggered like the rest. What must be said to another job is said before the
//! note that says so is stored: a supervisor that dies in between says it again, and hearing it twice
//! changes nothing. A child is submitted only after the decision to have it is stored, so that none is ever
//! without one.

use std::collections::BTreeSet;

use jiff::Timestamp;
use proto::{
    decision::{Note, SpawnWork},
    family::{ChildQuestion, ChildSaid, News, Offered},
    id::{AskId, JobId},
    job::Outcome,
    rules::Rules,
};

use super::{
    at::Counted,
    kin_text::{self, Text},
    state::{Open, Told},
    step::Exec,
};

impl Open {
    /// The agents that models are offered.
    pub(super) fn offered(&self) -> Vec<Offered> {
        let Some(callees) = self.family.callees() else { return Vec::new() };
        if self.is_deepest() || self.has_handed_over_all() {
            return Vec::new();
        }
        let offer = |name| callees.get(name).map(|callee| callee.about.clone());
        let subs = self.brief.agent.agents.iter().map(|sub| &sub.name);
        subs.filter_map(|name| Some(Offered { name: name.clone(), about: offer(name)? })).collect()
    }

    /// Whether it is so deep in its family that nothing below it would be allowed.
    fn is_deepest(&self) -> bool {
        self.brief.agent.budget.depth == 0
    }

    /// Whether it has had as many children as it may ever have.
    fn has_handed_over_all(&self) -> bool {
        let total = usize::try_from(self.brief.agent.budget.fan_out.total).unwrap_or(usize::MAX);
        self.family.counted() >= total
    }

    /// Whether a child is out.
    pub(super) fn has_children_out(&self) -> bool {
        self.family.alive().any(|child| self.execution.awaits(&child.spawn))
    }

    /// Ends calls of agents that the job may not call, or that are given what is no task.
    pub(super) fn settle_agents(&mut self) {
        let (agent, language) = (&self.brief.agent, self.brief.language);
        let refuses = self.brief.rules >= Rules::SECOND;
        let no_further = match (self.is_deepest(), self.has_handed_over_all()) {
            (true, _) if refuses => Some(Text::NoFurtherDown.text(language)),
            (false, true) if refuses => Some(Text::HandedOverAll.text(language)),
            (true | false, _) => None,
        };
        let family = &self.family;
        for step in self.execution.steps_mut() {
            // A model can do it by itself; for a step of a plan there is nothing else to do.
            let no_further = no_further.as_ref().filter(|_| matches!(step.exec, Exec::Acting(_)));
            step.calls_mut(&mut |call| {
                if !call.is_agent() || call.end.is_some() || call.attempts.count() > 0 {
                    return;
                }
                if family.callee(agent, call.tool.as_str()).is_none() {
                    call.refuse(kin_text::no_such_agent(language, agent, call.tool.as_str()));
                } else if let Some(why) = no_further {
                    call.refuse(why.to_owned());
                } else if let Err(why) = call.task() {
                    call.refuse(Text::NoTask { why: &why }.text(language));
                }
            });
        }
    }

    /// The next thing that another job of the family must be told, as the note that it was.
    pub(super) fn family_note(&self, job: &JobId, ends: bool) -> Option<Note> {
        if self.family.concluded().is_some() {
            return None;
        }
        let generation = self.generation();
        for child in self.family.alive() {
            let (work, attempt) = (child.spawn.work.clone(), child.spawn.attempt);
            if !child.is_there() {
                return Some(Note::Spawned { work, attempt, generation });
            }
            if let Some(signal) = child.to_tell(self.wanted(&child.spawn, ends)) {
                return Some(Note::ChildTold { work, attempt, signal, generation });
            }
        }
        if ends || self.family.parent().is_none() {
            return None;
        }
        let open: BTreeSet<(JobId, AskId)> =
            self.asking(job).map(|q| (q.job, q.question.id)).collect();
        let passed_on = self.family.passed_on();
        let opened = open.difference(passed_on).next().map(|ask| (ask, true));
        let closed = || passed_on.difference(&open).next().map(|ask| (ask, false));
        let ((job, ask), open) = opened.or_else(closed)?;
        Some(Note::ParentTold { job: job.clone(), ask: ask.clone(), open, generation })
    }

    /// What a child should have been told.
    fn wanted(&self, spawn: &SpawnWork, ends: bool) -> Told {
        if ends || !self.execution.awaits(spawn) {
            Told::Cancel
        } else if self.steering.paused().is_some() {
            Told::Pause
        } else {
            Told::GoOn
        }
    }

    /// Questions that wait for a person, in this job and below it.
    pub(super) fn asking<'a>(&'a self, job: &'a JobId) -> impl Iterator<Item = ChildQuestion> + 'a {
        let own = self.questions.open_in_order().map(move |asking| ChildQuestion {
            path: self.family.path(job).to_owned(),
            job: job.clone(),
            question: asking.question.clone(),
        });
        own.chain(self.family.questions().cloned())
    }

    /// A child said something.
    pub(super) fn heard_child(&mut self, at: Timestamp, said: &ChildSaid) -> Counted {
        if let News::Ended { outcome, .. } = &said.news {
            let counted = self.heard_end(said);
            if counted == Counted::Yes {
                self.child_ended(at, said, outcome);
            }
            return counted;
        }
        let Some(asks) = self.family.hear_question(said) else { return Counted::No };
        if let Some((call, _)) = self.execution.call_mut(|call| call.work == said.work) {
            call.asks_below = asks;
        }
        Counted::Yes
    }

    /// A child has ended. This counts even when nothing can change how the job ends: for what it cost,
    /// and should the job go back, because the child never says so again.
    pub(super) fn heard_end(&mut self, said: &ChildSaid) -> Counted {
        let News::Ended { outcome, usage, turns, paid } = &said.news else { return Counted::No };
        match self.family.hear_end(said, outcome, *usage) {
            None => return Counted::No,
            Some(true) => self.spending.child(*usage, *turns, paid, self.brief.rules),
            Some(false) => {}
        }
        Counted::Yes
    }

    fn child_ended(&mut self, at: Timestamp, said: &ChildSaid, outcome: &Outcome) {
        let awaits = |call: &super::call::Call| call.awaits(&said.work, said.attempt);
        // Nobody waits for one that was canceled because nobody did.
        if let Some((call, is_step)) = self.execution.call_mut(awaits) {
            call.asks_below = false;
            call.child_ended(outcome, is_step, self.brief.language, at);
        }
    }
}
