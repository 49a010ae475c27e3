//! The rules of job families: which children a job should have, what parent and children tell each
//! other, and the effect of a child's end.
//!
//! Like all rules, these are level-triggered. A message to another job is sent before the note
//! about it is stored: a supervisor that replaces one that died in between sends it again, and
//! receiving it twice changes nothing. A child is submitted only after the decision to spawn it is
//! stored, so that every child has a decision in its parent's log.

use std::collections::BTreeSet;

use proto::{
    decision::{Note, SpawnWork},
    family::{ChildQuestion, ChildSaid, News, Offered},
    id::{AskId, JobId},
    job::Outcome,
};

use super::{
    at::{At, Counted},
    kin_text::{self, Text},
    state::{Account, ActiveJob, ChildInstruction},
    step::Exec,
};

impl ActiveJob {
    /// Returns the sub-agents that are offered to models.
    pub(super) fn offered(&self) -> Vec<Offered> {
        let Some(callees) = self.family.callees() else { return Vec::new() };
        if self.is_deepest() || self.has_handed_over_all() {
            return Vec::new();
        }
        let offer = |name| callees.get(name).map(|callee| callee.about.clone());
        let subs = self.brief.agent.agents.iter().map(|sub| &sub.name);
        subs.filter_map(|name| Some(Offered { name: name.clone(), about: offer(name)? })).collect()
    }

    /// Returns `true` if the depth limit allows no children.
    fn is_deepest(&self) -> bool {
        self.brief.agent.budget.depth == 0
    }

    /// Returns `true` if the job has had as many children as its limit allows.
    fn has_handed_over_all(&self) -> bool {
        let total = usize::try_from(self.brief.agent.budget.fan_out.total).unwrap_or(usize::MAX);
        self.family.counted() >= total
    }

    /// Returns `true` if a step waits for a running child.
    pub(super) fn has_children_out(&self) -> bool {
        self.family.alive().any(|child| self.execution.awaits(&child.spawn))
    }

    /// Refuses calls of sub-agents that the job may not call, and calls whose arguments are no
    /// task.
    pub(super) fn settle_agents(&mut self) {
        let (agent, language) = (&self.brief.agent, self.language());
        let no_further = match (self.is_deepest(), self.has_handed_over_all()) {
            (true, _) => Some(Text::NoFurtherDown.text(language)),
            (false, true) => Some(Text::HandedOverAll.text(language)),
            (false, false) => None,
        };
        let family = &self.family;
        for step in self.execution.steps_mut() {
            // A model can do the work itself. A step of a plan has no alternative, so its job fails
            // for want of budget.
            let no_further = no_further.as_ref().filter(|_| matches!(step.exec, Exec::Acting(_)));
            step.calls_mut(&mut |call| {
                if !call.is_agent() || call.end.is_some() || call.attempts.count() > 0 {
                    return;
                }
                let is_agent = call.workflow.is_none();
                if is_agent && family.callee(agent, call.tool.as_str()).is_none() {
                    call.refuse(kin_text::no_such_agent(language, agent, call.tool.as_str()));
                } else if let Some(why) = no_further {
                    call.refuse(why.to_owned());
                } else if is_agent && let Err(why) = call.task() {
                    call.refuse(Text::NoTask { why: &why }.text(language));
                }
            });
        }
    }

    /// Returns the account that the job reports to its parent. It is settled with the outcome, because
    /// a report may be sent twice, and the parent counts the first one.
    pub(super) fn account(&self) -> Account {
        self.family.account().unwrap_or_else(|| Account {
            usage: self.spending.usage(),
            turns: self.spending.turns(),
            paid: self.spending.paid_in_all(&self.brief),
        })
    }

    /// Returns the note about the next message to a parent or child. `ends` is `true` if the job is
    /// about to end.
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

    /// Returns the signal that a child should have received last.
    fn wanted(&self, spawn: &SpawnWork, ends: bool) -> ChildInstruction {
        if ends || !self.execution.awaits(spawn) {
            ChildInstruction::Cancel
        } else if self.steering.paused().is_some() {
            ChildInstruction::Pause
        } else {
            ChildInstruction::GoOn
        }
    }

    /// Returns the open questions of this job and of its descendants.
    pub(super) fn asking<'a>(&'a self, job: &'a JobId) -> impl Iterator<Item = ChildQuestion> + 'a {
        let own = self.questions.open_in_order().map(move |asking| ChildQuestion {
            path: self.family.path(job).to_owned(),
            job: job.clone(),
            question: asking.question.clone(),
        });
        own.chain(self.family.questions().cloned())
    }

    /// Applies a child's message.
    pub(super) fn heard_child(&mut self, at: At, said: &ChildSaid) -> Counted {
        if let News::Ended { outcome, .. } = &said.news {
            let counted = self.heard_end(said);
            if counted == Counted::Yes {
                self.child_ended(at, said, outcome);
            }
            return counted;
        }
        let Some(asks) = self.family.hear_question(said, at.time) else { return Counted::No };
        if let Some((call, _)) = self.execution.call_mut(|call| call.work == said.work) {
            call.asks_below = asks;
        }
        Counted::Yes
    }

    /// Applies the end of a child to the account. It counts even when the outcome is settled,
    /// because the cost must be known and the child never repeats the message after a rollback.
    pub(super) fn heard_end(&mut self, said: &ChildSaid) -> Counted {
        let News::Ended { outcome, usage, turns, paid } = &said.news else { return Counted::No };
        match self.family.hear_end(said, outcome, *usage) {
            None => return Counted::No,
            Some(true) => self.spending.child(*usage, *turns, paid),
            Some(false) => {}
        }
        Counted::Yes
    }

    fn child_ended(&mut self, at: At, said: &ChildSaid, outcome: &Outcome) {
        let awaits = |call: &super::call::Call| call.awaits(&said.work, said.attempt);
        // No call waits for a child that was canceled because it was no longer needed.
        let language = self.language();
        if let Some((call, is_step)) = self.execution.call_mut(awaits) {
            call.asks_below = false;
            call.child_ended(outcome, is_step, language, at.time);
            // A parent's log does not hold what its child has seen, so the result is taken for
            // content from outside.
            let tool = call.tool.clone();
            self.saw_outside(&tool, at);
        }
    }
}
