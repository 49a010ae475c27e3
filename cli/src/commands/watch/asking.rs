//! The answers to the questions of a watched job: by a policy, or by a person.

use client::Client;
use proto::{
    door::GiveAnswer,
    error::{Code, Failure},
    id::JobId,
    interaction::{Answer, Question, QuestionKind},
    lang::Words,
};

use super::super::jobs::caller;
use crate::{answer::keyboard::Keyboard, words::Text};

/// Automatic answers.
#[derive(Debug, Clone, Copy)]
pub(in crate::commands) enum Policy {
    /// Answers nothing.
    Nothing,
    /// Approves plans (`--yes`).
    ApprovePlans,
    /// Answers with the function's result, which includes a text for the user.
    Decide(fn(&Question) -> Option<(Answer, Words)>),
}

/// Handles each question once.
#[derive(Debug)]
pub(in crate::commands) struct Asking {
    policy: Policy,
    interactive: bool,
    keyboard: Option<Keyboard>,
}

impl Asking {
    /// Combines `--yes` with a user at the terminal, if there is one.
    pub(in crate::commands) fn of(yes: bool, interactive: bool) -> Self {
        Self::by(if yes { Policy::ApprovePlans } else { Policy::Nothing }, interactive)
    }

    /// Combines a policy with a user at the terminal, if there is one; the policy goes first.
    pub(in crate::commands) fn by(policy: Policy, interactive: bool) -> Self {
        Self { policy, interactive, keyboard: None }
    }

    /// Returns the policy's answer and a text for the user, if the policy answers.
    pub(super) fn decided(&self, asked: &Question) -> Option<(Answer, Words)> {
        match (self.policy, &asked.kind) {
            (Policy::Nothing, _) => None,
            (Policy::Decide(decide), _) => decide(asked),
            (Policy::ApprovePlans, QuestionKind::PlanCheck { digest, .. }) => {
                let answer = Answer::approve(Some(digest.clone()));
                Some((answer, Text::PlanApproved { question: &asked.id }.into()))
            }
            (
                Policy::ApprovePlans,
                QuestionKind::Question
                | QuestionKind::Choice { .. }
                | QuestionKind::Form { .. }
                | QuestionKind::ToolApproval { .. },
            ) => None,
        }
    }

    /// `true` if the user is asked.
    pub(super) fn is_interactive(&self) -> bool {
        self.interactive
    }

    /// Stops asking the user, after the end of input.
    pub(super) fn nobody(&mut self) {
        self.interactive = false;
    }

    /// Takes the keyboard; [`Asking::keep`] returns it.
    pub(super) fn keyboard(&mut self) -> Keyboard {
        self.keyboard.take().unwrap_or_else(Keyboard::open)
    }

    /// Returns the keyboard.
    pub(super) fn keep(&mut self, keyboard: Keyboard) {
        self.keyboard = Some(keyboard);
    }
}

/// Sends an answer. Returns the refusal of an invalid one. Ignores a question that is closed
/// already, as the watch reports that.
pub(in crate::commands) async fn send(
    client: &Client,
    job: &JobId,
    asked: &Question,
    answer: Answer,
) -> Result<Option<Failure>, Failure> {
    let answer = GiveAnswer::new(job.clone(), asked.id.clone(), answer);
    let request = GiveAnswer { by: caller(), ..answer };
    match client.call(&request).await {
        Ok(_) => Ok(None),
        Err(failure) => match failure.code {
            Code::AlreadyAnswered | Code::Closed | Code::JobEnded => Ok(None),
            Code::InvalidAnswer | Code::TooLarge | Code::InvalidRequest => Ok(Some(failure)),
            Code::InvalidEncoding
            | Code::TooDeep
            | Code::InvalidId
            | Code::UnsupportedVersion
            | Code::UnknownAgent
            | Code::UnknownPrice
            | Code::IdempotencyConflict
            | Code::NotFound
            | Code::Stale
            | Code::WouldRepeat
            | Code::Forbidden
            | Code::Overloaded
            | Code::Unavailable
            | Code::Timeout
            | Code::Poisoned
            | Code::Internal => Err(failure),
        },
    }
}
