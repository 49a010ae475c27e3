//! The people of a case: they answer the questions that the file has answers to, and no others.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proto::{
    door::{InboxEntry, InboxPage, Verb},
    error::Code,
    id::{AskId, JobId},
    interaction::{KindOfQuestion, QuestionKind, Verdict},
};
use serde_json::{Value, json};

use super::document::AnswerDoc;
use crate::{
    door_client::{Counter, DoorReply},
    people::Told,
};

/// The interval between looks into the inbox.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The time that a person thinks, and the wait before a request is repeated.
const THINKS: Duration = Duration::from_secs(1);

/// The people of a case. Clones share their memory.
#[derive(Debug, Clone)]
pub(super) struct Audience {
    counter: Counter,
    answers: Arc<[AnswerDoc]>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    told: Told,
    seen: BTreeSet<(JobId, AskId)>,
    /// The number of questions that each answer was used for.
    used: Vec<u32>,
    /// Questions without an answer.
    unanswered: Vec<String>,
    /// Answers that the front door refused, with its reason.
    refused: Vec<String>,
}

impl Audience {
    pub(super) fn new(counter: Counter, answers: Arc<[AnswerDoc]>) -> Self {
        let used = vec![0; answers.len()];
        let state = State { used, ..State::default() };
        Self { counter, answers, state: Arc::new(Mutex::new(state)) }
    }

    /// Submits the job. The error is the reason of a refusal.
    pub(super) async fn submit(&self, job: &JobId, body: &Value) -> Result<(), String> {
        loop {
            match self.counter.ask(Verb::Submit, body).await {
                DoorReply::Reply(_) => {
                    self.lock().told.accepted.insert(job.clone());
                    return Ok(());
                }
                DoorReply::Refused(code, why) => return Err(format!("{code}: {why}")),
                DoorReply::Nothing => tokio::time::sleep(THINKS).await,
            }
        }
    }

    /// Looks into the inbox for ever.
    pub(super) async fn look_into_the_inbox(self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let DoorReply::Reply(page) = self.counter.ask(Verb::Inbox, &json!({})).await else {
                continue;
            };
            if let Ok(page) = serde_json::from_value::<InboxPage>(page) {
                page.questions.iter().for_each(|entry| self.notice(entry));
            }
        }
    }

    /// Returns the replies so far.
    pub(super) fn told(&self) -> Told {
        self.lock().told.clone()
    }

    /// Returns the questions that nobody answers.
    pub(super) fn unanswered(&self) -> Vec<String> {
        self.lock().unanswered.clone()
    }

    /// Returns the refused answers, with the reasons.
    pub(super) fn refused(&self) -> Vec<String> {
        self.lock().refused.clone()
    }

    fn notice(&self, entry: &InboxEntry) {
        let key = (entry.job.clone(), entry.question.id.clone());
        let mut state = self.lock();
        if !state.seen.insert(key.clone()) {
            return;
        }
        let left = |n: usize, answer: &AnswerDoc| {
            let used = state.used.get(n).copied().unwrap_or_default();
            answer.times.is_none_or(|times| used < times)
        };
        let mut all = self.answers.iter().enumerate();
        let Some((n, answer)) = all.find(|(n, answer)| answer.fits(entry) && left(*n, answer))
        else {
            let kind = KindOfQuestion::from(&entry.question.kind);
            let question = format!("{}: {}", kind.as_str(), entry.question.prompt);
            if !state.unanswered.contains(&question) {
                state.unanswered.push(question);
            }
            state.told.ignored.insert(key);
            return;
        };
        if let Some(used) = state.used.get_mut(n) {
            *used += 1;
        }
        state.told.busy += 1;
        drop(state);
        let (me, request) = (self.clone(), answer.request(entry));
        tokio::spawn(async move {
            me.answer(key, &request).await;
            me.lock().told.busy -= 1;
        });
    }

    async fn answer(&self, key: (JobId, AskId), request: &Value) {
        tokio::time::sleep(THINKS).await;
        loop {
            match self.counter.ask(Verb::Answer, request).await {
                DoorReply::Reply(taken) => {
                    let seq = taken["seq"].as_u64().unwrap_or_default();
                    return self.lock().told.answered.entry(key).or_default().push(seq);
                }
                DoorReply::Refused(
                    Code::AlreadyAnswered | Code::Closed | Code::JobEnded | Code::NotFound,
                    _,
                ) => return,
                DoorReply::Refused(code, why) => {
                    let mut state = self.lock();
                    state.refused.push(format!("{code}: {why}"));
                    state.told.ignored.insert(key);
                    return;
                }
                DoorReply::Nothing => tokio::time::sleep(THINKS).await,
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AnswerDoc {
    /// Returns whether the answer is meant for a question.
    fn fits(&self, entry: &InboxEntry) -> bool {
        let asked = &entry.question;
        let is_kind = self.kind.is_none_or(|kind| kind == KindOfQuestion::from(&asked.kind));
        let is_prompt = self.prompt.as_ref().is_none_or(|part| asked.prompt.contains(part));
        let is_tool = self.tool.as_ref().is_none_or(|named| match &asked.kind {
            QuestionKind::ToolApproval { tool, .. } => tool == named,
            QuestionKind::PlanCheck { .. }
            | QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. } => false,
        });
        is_kind && is_prompt && is_tool
    }

    /// Returns the request that answers a question. Without a decision, plans and calls are approved,
    /// and other questions are answered with the value.
    fn request(&self, entry: &InboxEntry) -> Value {
        let (digest, usual) = match &entry.question.kind {
            QuestionKind::PlanCheck { digest, .. } | QuestionKind::ToolApproval { digest, .. } => {
                (Some(digest), Verdict::Approve)
            }
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
                (None, Verdict::Respond)
            }
        };
        let decision = self.decision.unwrap_or(usual);
        let mut request = json!({
            "job": entry.job, "ask": entry.question.id, "decision": decision, "by": "tester",
        });
        if let Some(value) = &self.value {
            request["value"] = value.clone();
        }
        if let Some(text) = &self.text {
            request["text"] = json!(text);
        }
        if let Some(digest) = digest {
            request["digest"] = json!(digest);
        }
        request
    }
}
