//! All questions of a job, closed ones included.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use proto::{
    decision::Closed,
    fact::Answered,
    id::{AskId, Seq, TimerName, WorkId},
    interaction::{Answer, Question},
};

use crate::{at::At, names};

/// Every question so far, and the counters that the agent's policy limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions {
    all: BTreeMap<AskId, AskedQuestion>,
    /// Number of questions so far, confirmations and approvals included, from which the next one is
    /// named.
    asked: u32,
    /// Number of questions that agents asked, which the policy limits.
    of_agents: u32,
    /// Answers by the normalised text of their question, for the guard against repeated questions.
    answers: BTreeMap<String, String>,
    /// Number of times an agent asked an answered question again.
    repeats: u32,
}

/// A question that was stored, and its state.
#[derive(Debug, Clone)]
pub(crate) struct AskedQuestion {
    pub(crate) question: Question,
    /// Unit of work that the answer is for.
    pub(crate) work: WorkId,
    /// Time of storage, by the server's clock.
    pub(crate) asked: Timestamp,
    /// Time of the answer or of the closing, by the server's clock.
    ended: Option<Timestamp>,
    state: AskState,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AskState {
    /// The question waits for a person.
    Open,
    /// The question has its first valid answer, stored at `seq`.
    Answered { winner: Arc<Answered>, seq: Seq },
    /// The question closed without an answer, and the note that tells the inbox is not stored yet.
    ToClose(Closed),
    /// The question closed without an answer, and the inbox has been told.
    Closed(Closed),
}

impl AskedQuestion {
    pub(crate) fn new(question: Question, work: WorkId, asked: Timestamp) -> Self {
        Self { question, work, asked, ended: None, state: AskState::Open }
    }

    pub(crate) fn state(&self) -> &AskState {
        &self.state
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == AskState::Open
    }

    /// Returns the timer of the question's deadline, if it has one.
    pub(crate) fn timer(&self) -> Option<TimerName> {
        self.question.deadline.map(|_| names::ask_timer(&self.question.id))
    }

    /// Returns the time of the answer or of the closing; `None` for an open question.
    pub(crate) fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// Closes the question without an answer and returns the timer to cancel.
    fn close(&mut self, because: Closed, at: Timestamp) -> Option<TimerName> {
        self.end(AskState::ToClose(because), at);
        self.timer()
    }

    /// Enters a state in which the question is not open. The first such state determines the time.
    fn end(&mut self, state: AskState, at: Timestamp) {
        self.ended.get_or_insert(at);
        self.state = state;
    }
}

impl Questions {
    pub(crate) fn all(&self) -> impl Iterator<Item = &AskedQuestion> {
        self.all.values()
    }

    pub(crate) fn get(&self, ask: &AskId) -> Option<&AskedQuestion> {
        self.all.get(ask)
    }

    /// Returns the open questions, in the order they were asked.
    pub(crate) fn open_in_order(&self) -> impl Iterator<Item = &AskedQuestion> {
        let mut open: Vec<_> = self.all.values().filter(|asked| asked.is_open()).collect();
        open.sort_by_key(|a| {
            a.question.id.as_str().trim_start_matches('q').parse::<u32>().unwrap_or(u32::MAX)
        });
        open.into_iter()
    }

    /// Returns the questions that are not open, in the order they were asked.
    pub(crate) fn past_in_order(&self) -> Vec<&AskedQuestion> {
        let mut past: Vec<_> = self.all.values().filter(|asked| !asked.is_open()).collect();
        past.sort_by_key(|asked| names::ask_number(&asked.question.id));
        past
    }

    pub(crate) fn next_id(&self) -> AskId {
        names::ask(self.asked.saturating_add(1))
    }

    /// Returns the number of questions that agents asked.
    pub(crate) fn of_agents(&self) -> u32 {
        self.of_agents
    }

    /// Records a stored question.
    pub(crate) fn ask(&mut self, asking: AskedQuestion, by_agent: bool) {
        self.asked = self.asked.saturating_add(1);
        self.of_agents = self.of_agents.saturating_add(u32::from(by_agent));
        self.all.insert(asking.question.id.clone(), asking);
    }

    /// Takes back the count of agents' questions that the next generation asks again under other
    /// names.
    pub(crate) fn uncount(&mut self, asks: u32) {
        self.of_agents = self.of_agents.saturating_sub(asks);
    }

    /// Records an answer and returns its question, or `None` if the question is not open or the
    /// answer is invalid. An answer is external input, so its content, approvals included, is
    /// checked again here.
    pub(crate) fn answer(
        &mut self,
        answered: &Answered,
        at: At,
        is_canceled: bool,
    ) -> Option<AskedQuestion> {
        let asking = self.all.get_mut(&answered.ask).filter(|asking| asking.is_open())?;
        asking.question.check(&answered.answer).ok()?;
        let state = if is_canceled {
            AskState::Closed(Closed::JobEnded)
        } else {
            AskState::Answered { winner: Arc::new(answered.clone()), seq: at.seq }
        };
        asking.end(state, at.time);
        Some(asking.clone())
    }

    /// Closes a question whose deadline has passed and returns it with its default answer.
    pub(crate) fn expire(
        &mut self,
        ask: &AskId,
        at: Timestamp,
    ) -> Option<(AskedQuestion, Option<Answer>)> {
        let asking = self.all.get_mut(ask)?;
        asking.close(Closed::Expired, at);
        let default = asking.question.default.clone().map(Answer::respond);
        Some((asking.clone(), default))
    }

    /// Closes open questions of work that does not stay, and returns the timers to cancel.
    pub(crate) fn supersede(
        &mut self,
        at: Timestamp,
        stays: impl Fn(&WorkId) -> bool,
    ) -> Vec<TimerName> {
        let open = self.all.values_mut().filter(|asking| asking.is_open());
        open.filter(|asking| !stays(&asking.work))
            .filter_map(|asking| asking.close(Closed::Superseded, at))
            .collect()
    }

    /// Records that the inbox was told about a closed question. Returns `false` if there is no such
    /// question.
    pub(crate) fn noted_closed(&mut self, ask: &AskId, because: Closed, at: Timestamp) -> bool {
        let Some(asking) = self.all.get_mut(ask) else { return false };
        match asking.state {
            AskState::Open | AskState::ToClose(_) => asking.end(AskState::Closed(because), at),
            AskState::Answered { .. } | AskState::Closed(_) => {}
        }
        true
    }

    /// Closes every question, because the job has ended.
    pub(crate) fn end(&mut self, at: Timestamp) {
        for asking in self.all.values_mut() {
            match asking.state {
                AskState::Open => asking.end(AskState::Closed(Closed::JobEnded), at),
                AskState::ToClose(because) => asking.end(AskState::Closed(because), at),
                AskState::Answered { .. } | AskState::Closed(_) => {}
            }
        }
    }

    /// Drops the questions of the source, which a fork does not inherit.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
    }

    /// Adopts the present questions after a rollback and closes the open ones. Numbers stay used.
    /// Returns the timers to cancel.
    pub(crate) fn leave_behind(&mut self, now: &Self, at: Timestamp) -> Vec<TimerName> {
        (self.all, self.asked) = (now.all.clone(), now.asked);
        let open = self.all.values_mut().filter(|asking| asking.is_open());
        open.filter_map(|asking| asking.close(Closed::RolledBack, at)).collect()
    }

    /// Records a question of an earlier generation, already closed. Returns the timer to cancel.
    pub(crate) fn fence(&mut self, mut asking: AskedQuestion) -> Option<TimerName> {
        let id = asking.question.id.clone();
        self.asked = self.asked.max(names::ask_number(&id));
        let timer = asking.close(Closed::RolledBack, asking.asked);
        self.all.insert(id, asking);
        timer
    }

    /// Returns the earlier answer to the same question and the number of repeats so far, if an
    /// agent asks it again.
    pub(crate) fn repeated(&mut self, prompt: &str) -> Option<(String, u32)> {
        let answer = self.answers.get(&essence(prompt))?.clone();
        self.repeats = self.repeats.saturating_add(1);
        Some((answer, self.repeats))
    }

    pub(crate) fn remember(&mut self, prompt: &str, answer: &str) {
        self.answers.insert(essence(prompt), answer.to_owned());
    }
}

/// Returns the letters and digits of a question in lower case, as the key under which its answer is
/// remembered.
fn essence(prompt: &str) -> String {
    prompt.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn open_questions_are_in_the_order_they_were_asked() {
        let mut questions = Questions::default();
        for _ in 0..12 {
            let question = json!({"id": questions.next_id(), "prompt": "?", "kind": "question"});
            let question = serde_json::from_value(question).unwrap();
            let work = WorkId::new("g0.r0.step1").unwrap();
            questions.ask(AskedQuestion::new(question, work, Timestamp::UNIX_EPOCH), true);
        }
        let open = questions.open_in_order().map(|asked| asked.question.id.to_string());
        let expected: Vec<_> = (1..=12).map(|n| format!("q{n}")).collect();
        assert_eq!(open.collect::<Vec<_>>(), expected);
    }
}
