//! Guards on questions of agents: repeated questions, and too many of them. Each is off unless the
//! agent's policy enables it.

use proto::{
    decision::PlanTalk,
    fact::{CallTarget, TurnCall},
    job::FailReason,
    outline,
};

use super::{
    state::{ActiveJob, Stage},
    step::StepRun,
    text::Text,
};

/// The verdict on a question that an agent wants to ask.
pub(super) enum QuestionRuling {
    /// The question is asked.
    Ask,
    /// The question is not asked; the text tells the agent why.
    Tell(String),
    /// The job ends, because the agent asks too much.
    End(FailReason, String),
}

impl ActiveJob {
    /// Returns `true` if the planner may still ask a person.
    pub(super) fn may_ask_in_planning(&self) -> bool {
        self.brief.agent.ask.when.in_planning() && self.may_still_ask()
    }

    /// Returns `true` if the model of a step may still ask a person.
    pub(super) fn may_ask_in_steps(&self) -> bool {
        self.brief.agent.ask.when.in_steps() && self.may_still_ask()
    }

    fn may_still_ask(&self) -> bool {
        self.brief.agent.ask.limit.left_after(self.questions.of_agents()) != Some(0)
    }

    /// Returns the number of questions that steps may still ask, or `None` if unlimited. Questions
    /// that turns have asked for and that are not stored yet count.
    pub(super) fn remaining_questions(&self) -> Option<u32> {
        let ask = &self.brief.agent.ask;
        if !ask.when.in_steps() {
            return Some(0);
        }
        let asked = self.questions.of_agents().saturating_add(self.execution.unasked());
        ask.limit.left_after(asked)
    }

    /// Checks a question before it is asked. `coming` is the number of accepted questions that are
    /// not stored yet.
    pub(super) fn guard_question(&mut self, prompt: &str, coming: u32) -> QuestionRuling {
        if let Some(limit) = self.brief.agent.ask.repeat_limit
            && let Some((answer, times)) = self.questions.repeated(prompt)
        {
            if times >= limit {
                let message = Text::AskedAgainAndAgain.text(self.language());
                return QuestionRuling::End(FailReason::QuestionRepeated, message);
            }
            return QuestionRuling::Tell(
                Text::AskedBefore { answer: &answer }.text(self.language()),
            );
        }
        match self.brief.agent.ask.rounds {
            Some(rounds) if self.questions.of_agents().saturating_add(coming) >= rounds => {
                let message = Text::AskedTooOften.text(self.language());
                QuestionRuling::End(FailReason::TooManyQuestions, message)
            }
            Some(_) | None => QuestionRuling::Ask,
        }
    }

    /// Handles a question of the planner.
    pub(super) fn wants_to_ask(&mut self, question: &proto::fact::Asked) {
        if !self.may_ask_in_planning() {
            let error = Text::NoMoreQuestions.text(self.language());
            return self.unusable(question.prompt.clone(), error);
        }
        if let Some(why) = self.brief.agent.ask.kinds.refusal(&question.kind, self.language()) {
            return self.unusable(question.prompt.clone(), why);
        }
        match self.guard_question(&question.prompt, 0) {
            QuestionRuling::Ask => {
                self.planning.enter(Stage::Clarify { asked: question.clone(), ask: None });
            }
            QuestionRuling::Tell(why) => {
                // The guard has counted this reply, so it does not count as unusable.
                self.planning
                    .say(PlanTalk::Rejected { reply: question.prompt.clone(), error: why });
                self.planning.next_round();
            }
            QuestionRuling::End(reason, message) => self.planning.fail(reason, message),
        }
    }

    /// Replaces questions that the guards refuse by refusals told to the model.
    pub(super) fn guard_calls(&mut self, mut calls: Vec<TurnCall>) -> Vec<TurnCall> {
        let (mut coming, may_ask) = (self.execution.unasked(), self.may_ask_in_steps());
        for call in &mut calls {
            let CallTarget::Person { question } = &call.target else { continue };
            if !may_ask {
                continue;
            }
            if let Some(error) = self.brief.agent.ask.kinds.refusal(&question.kind, self.language())
            {
                call.target = CallTarget::Refused { error };
                continue;
            }
            match self.guard_question(&question.prompt.clone(), coming) {
                QuestionRuling::Ask => coming = coming.saturating_add(1),
                QuestionRuling::Tell(error) => call.target = CallTarget::Refused { error },
                QuestionRuling::End(reason, message) => {
                    call.target = CallTarget::Refused { error: message.clone() };
                    self.planning.fail(reason, message);
                }
            }
        }
        calls
    }

    /// Remembers an answer for the guard against repeated questions.
    pub(super) fn remember_answer(&mut self, prompt: &str, answer: &str) {
        if self.brief.agent.ask.repeat_limit.is_some() {
            self.questions.remember(prompt, answer);
        }
    }

    /// Returns the prompt as it is shown to a person.
    pub(super) fn put(&self, prompt: &str) -> String {
        if self.brief.agent.ask.prefix {
            Text::PleaseConfirm { question: &prompt }.text(self.language())
        } else {
            prompt.to_owned()
        }
    }
}

impl StepRun {
    /// Applies the calls' changes to the step's outline, in order. The model is told about changes
    /// that cannot be applied.
    pub(super) fn keep_outline(&mut self, mut calls: Vec<TurnCall>) -> Vec<TurnCall> {
        for call in &mut calls {
            let CallTarget::Outline { change } = &call.target else { continue };
            let items = self.outline.as_deref().unwrap_or_default();
            match outline::apply(items, change) {
                Ok(changed) => self.outline = Some(changed),
                Err(error) => call.target = CallTarget::Refused { error: error.to_string() },
            }
        }
        calls
    }
}
