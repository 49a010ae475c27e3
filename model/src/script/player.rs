//! The player of a script: it picks the rule that answers, and counts. Requests over HTTP and from
//! this process get the same answers.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{
    Script,
    conversation::Conversation,
    reply::{Counts, Fault, Rendered},
};

/// A script being played.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) script: Arc<Script>,
    /// The number of matches that each rule has answered.
    answered: Vec<AtomicU64>,
    requests: AtomicU64,
    unanswered: AtomicU64,
}

/// The script has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NoAnswer {
    /// Why, for people.
    pub(super) message: String,
    /// The kind of mistake.
    pub(super) code: &'static str,
}

impl Player {
    pub(super) fn new(script: Script) -> Self {
        Self::of(Arc::new(script))
    }

    /// The same script from its beginning: nothing was answered yet.
    pub(super) fn anew(&self) -> Self {
        Self::of(Arc::clone(&self.script))
    }

    fn of(script: Arc<Script>) -> Self {
        let answered = script.rules.iter().map(|_| AtomicU64::new(0)).collect();
        Self { script, answered, requests: AtomicU64::new(0), unanswered: AtomicU64::new(0) }
    }

    /// Counts a request; its number, from 1.
    pub(super) fn request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Requests so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Requests so far that had no answer.
    pub(super) fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Counts a request without an answer, and logs it.
    pub(super) fn missed(&self, message: &str) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(message, "the scripted model has no matching rule");
    }

    /// The first rule that matches and is not spent, filled in.
    pub(super) fn answer(
        &self,
        talk: &Conversation,
        request: u64,
    ) -> Result<(Rendered, Option<Fault>), NoAnswer> {
        let broken = |rule: &str, message: String| NoAnswer {
            message: format!("{rule}: {message}"),
            code: "template",
        };
        for (rule, answered) in self.script.rules.iter().zip(&self.answered) {
            let Some(captures) = rule.when.matches(talk) else { continue };
            let Some(seen) = take_turn(answered, rule.times) else { continue };
            let counts = Counts { request, seen };
            return rule
                .reply
                .render(&self.script.templates, talk, &captures, counts)
                .map(|rendered| (rendered, rule.fault.clone()))
                .map_err(|message| broken(&rule.name, message));
        }
        let Some(otherwise) = &self.script.otherwise else {
            let message = "no rule of the script matches this conversation, and it has no else";
            return Err(NoAnswer { message: message.to_owned(), code: "no_rule" });
        };
        let counts = Counts { request, seen: request };
        otherwise
            .render(&self.script.templates, talk, &serde_json::Map::new(), counts)
            .map(|rendered| (rendered, None))
            .map_err(|message| broken("else", message))
    }
}

/// Counts a match, unless the rule is spent. Returns which match it is, from 1.
fn take_turn(answered: &AtomicU64, times: Option<u32>) -> Option<u64> {
    let next = |count: u64| times.is_none_or(|times| count < u64::from(times)).then_some(count + 1);
    answered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok().map(|before| before + 1)
}
