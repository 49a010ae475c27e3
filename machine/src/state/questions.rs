//! The questions of a job, from the first to the last.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use proto::{
    decision::Closed,
    fact::Answered,
    id::{AskId, Seq, TimerName, WorkId},
    interaction::{Answer, Question},
};

use crate::names;

/// Every question so far, and the counters that the agent's policy limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions {
    all: BTreeMap<AskId, Asking>,
    /// Questions so far, confirmations and approvals included: numbers the next one.
    asked: u32,
    /// Questions of agents: those that the policy limits.
    of_agents: u32,
    /// Answers by the essence of their question; kept for the guard alone.
    answers: BTreeMap<String, String>,
    /// Questions that an agent wanted again after they had been answered.
    repeats: u32,
}

/// A question that was asked.
#[derive(Debug, Clone)]
pub(crate) struct Asking {
    pub(crate) question: Question,
    /// The unit of work that the answer is for.
    pub(crate) work: WorkId,
    /// When it was stored, by the server's clock.
    pub(crate) asked: Timestamp,
    state: AskState,
}

/// The state of a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AskState {
    /// It waits for a person.
    Open,
    /// The first valid answer, and its position.
    Answered { winner: Arc<Answered>, seq: Seq },
    /// It closed without an answer, and the inbox must be told.
    ToClose(Closed),
    /// It closed without an answer, and the inbox knows.
    Closed(Closed),
}

impl Asking {
    pub(crate) fn new(question: Question, work: WorkId, asked: Timestamp) -> Self {
        Self { question, work, asked, state: AskState::Open }
    }

    pub(crate) fn state(&self) -> &AskState {
        &self.state
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == AskState::Open
    }

    /// The timer of its deadline.
    pub(crate) fn timer(&self) -> Option<TimerName> {
        self.question.deadline.map(|_| names::ask_timer(&self.question.id))
    }

    /// Closes it without an answer, and gives the timer that nothing waits for any more.
    fn close(&mut self, because: Closed) -> Option<TimerName> {
        self.state = AskState::ToClose(because);
        self.timer()
    }
}

impl Questions {
    pub(crate) fn all(&self) -> impl Iterator<Item = &Asking> {
        self.all.values()
    }

    pub(crate) fn get(&self, ask: &AskId) -> Option<&Asking> {
        self.all.get(ask)
    }

    /// Questions that wait for a person, by their ids.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Asking> {
        self.all.values().filter(|asking| asking.is_open())
    }

    /// Questions that wait for a person, in the order they were asked.
    pub(crate) fn open_in_order(&self) -> impl Iterator<Item = &Asking> {
        let mut open: Vec<_> = self.open().collect();
        open.sort_by_key(|a| {
            a.question.id.as_str().trim_start_matches('q').parse::<u32>().unwrap_or(u32::MAX)
        });
        open.into_iter()
    }

    pub(crate) fn next_id(&self) -> AskId {
        names::ask(self.asked.saturating_add(1))
    }

    /// Questions of agents so far.
    pub(crate) fn of_agents(&self) -> u32 {
        self.of_agents
    }

    /// A question was stored.
    pub(crate) fn ask(&mut self, asking: Asking, by_agent: bool) {
        self.asked = self.asked.saturating_add(1);
        self.of_agents = self.of_agents.saturating_add(u32::from(by_agent));
        self.all.insert(asking.question.id.clone(), asking);
    }

    /// Questions of agents that are asked again under other names.
    pub(crate) fn uncount(&mut self, asks: u32) {
        self.of_agents = self.of_agents.saturating_sub(asks);
    }

    /// The open question, when this is a valid answer to it. An answer is data from outside, so what
    /// it approves is checked again here, where it counts.
    pub(crate) fn answer(
        &mut self,
        answered: &Answered,
        seq: Seq,
        is_canceled: bool,
    ) -> Option<Asking> {
        let asking = self.all.get_mut(&answered.ask).filter(|asking| asking.is_open())?;
        asking.question.check(&answered.answer).ok()?;
        asking.state = if is_canceled {
            AskState::Closed(Closed::JobEnded)
        } else {
            AskState::Answered { winner: Arc::new(answered.clone()), seq }
        };
        Some(asking.clone())
    }

    /// The question, now that its deadline has passed, and the answer that it has by default.
    pub(crate) fn expire(&mut self, ask: &AskId) -> Option<(Asking, Option<Answer>)> {
        let asking = self.all.get_mut(ask)?;
        asking.close(Closed::Expired);
        let default = asking.question.default.clone().map(Answer::respond);
        Some((asking.clone(), default))
    }

    /// Closes open questions of work that is not among these; gives their timers.
    pub(crate) fn supersede(&mut self, stays: impl Fn(&WorkId) -> bool) -> Vec<TimerName> {
        let open = self.all.values_mut().filter(|asking| asking.is_open());
        open.filter(|asking| !stays(&asking.work))
            .filter_map(|asking| asking.close(Closed::Superseded))
            .collect()
    }

    /// The inbox was told that a question is closed; nothing when there is no such question.
    pub(crate) fn noted_closed(&mut self, ask: &AskId, because: Closed) -> bool {
        let Some(asking) = self.all.get_mut(ask) else { return false };
        match asking.state {
            AskState::Open | AskState::ToClose(_) => asking.state = AskState::Closed(because),
            AskState::Answered { .. } | AskState::Closed(_) => {}
        }
        true
    }

    /// The job has ended.
    pub(crate) fn end(&mut self) {
        for asking in self.all.values_mut() {
            match asking.state {
                AskState::Open => asking.state = AskState::Closed(Closed::JobEnded),
                AskState::ToClose(because) => asking.state = AskState::Closed(because),
                AskState::Answered { .. } | AskState::Closed(_) => {}
            }
        }
    }

    /// A fork has none of the questions of the job that it begins as.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    /// Takes over the questions that the job has when it goes back, and closes those that are open.
    /// Numbers that were used are not used again. Gives the timers of what it closes.
    pub(crate) fn leave_behind(&mut self, now: &Self) -> Vec<TimerName> {
        (self.all, self.asked) = (now.all.clone(), now.asked);
        let open = self.all.values_mut().filter(|asking| asking.is_open());
        open.filter_map(|asking| asking.close(Closed::RolledBack)).collect()
    }

    /// A question of an earlier generation was stored: it is called off. Gives its timer.
    pub(crate) fn fence(&mut self, mut asking: Asking) -> Option<TimerName> {
        let id = asking.question.id.clone();
        self.asked = self.asked.max(names::ask_number(&id));
        let timer = asking.close(Closed::RolledBack);
        self.all.insert(id, asking);
        timer
    }

    /// The answer to the same question, when an agent asks it again, and how often that happened.
    pub(crate) fn repeated(&mut self, prompt: &str) -> Option<(String, u32)> {
        let answer = self.answers.get(&essence(prompt))?.clone();
        self.repeats = self.repeats.saturating_add(1);
        Some((answer, self.repeats))
    }

    pub(crate) fn remember(&mut self, prompt: &str, answer: &str) {
        self.answers.insert(essence(prompt), answer.to_owned());
    }
}

/// The letters and digits of a question, by which it is known again.
fn essence(prompt: &str) -> String {
    prompt.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}
