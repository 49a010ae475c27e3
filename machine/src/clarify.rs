//! Guards on what agents ask: a question that was answered before, and questions without end. Both
//! are off unless the agent's policy has them.

use proto::{
    decision::PlanTalk,
    fact::{CallTarget, TurnCall},
    job::FailReason,
    outline,
};

use super::{
    state::{Open, Stage},
    step::StepRun,
    text::Text,
};

/// What becomes of a question that an agent wants to ask.
pub(super) enum Guarded {
    /// It is asked.
    Ask,
    /// It is not asked; the agent is told why.
    Tell(String),
    /// It ends the job.
    End(FailReason, String),
}

impl Open {
    /// Whether the planner may still ask a person.
    pub(super) fn may_ask_in_planning(&self) -> bool {
        self.brief.agent.ask.when.in_planning() && self.may_still_ask()
    }

    /// Whether the model that carries out a step may still ask a person.
    pub(super) fn may_ask_in_steps(&self) -> bool {
        self.brief.agent.ask.when.in_steps() && self.may_still_ask()
    }

    fn may_still_ask(&self) -> bool {
        self.brief.agent.ask.limit.left_after(self.questions.of_agents()) != Some(0)
    }

    /// Questions that steps may still ask, those counted that a turn has asked for already.
    pub(super) fn remaining_questions(&self) -> Option<u32> {
        let ask = &self.brief.agent.ask;
        if !ask.when.in_steps() {
            return Some(0);
        }
        let asked = self.questions.of_agents().saturating_add(self.execution.unasked());
        ask.limit.left_after(asked)
    }

    /// Looks at a question before it is asked. `coming` are questions that were wanted before it and
    /// are not stored yet.
    pub(super) fn guard_question(&mut self, prompt: &str, coming: u32) -> Guarded {
        if let Some(limit) = self.brief.agent.ask.repeat_limit
            && let Some((answer, times)) = self.questions.repeated(prompt)
        {
            if times >= limit {
                let message = Text::AskedAgainAndAgain.text(self.brief.language);
                return Guarded::End(FailReason::QuestionRepeated, message);
            }
            return Guarded::Tell(Text::AskedBefore { answer: &answer }.text(self.brief.language));
        }
        match self.brief.agent.ask.rounds {
            Some(rounds) if self.questions.of_agents().saturating_add(coming) >= rounds => {
                let message = Text::AskedTooOften.text(self.brief.language);
                Guarded::End(FailReason::TooManyQuestions, message)
            }
            Some(_) | None => Guarded::Ask,
        }
    }

    /// A question of the planner.
    pub(super) fn wants_to_ask(&mut self, question: &proto::fact::Asked) {
        if !self.may_ask_in_planning() {
            let error = Text::NoMoreQuestions.text(self.brief.language);
            return self.unusable(question.prompt.clone(), error);
        }
        if let Some(why) = self.brief.agent.ask.kinds.refusal(&question.kind, self.brief.language) {
            return self.unusable(question.prompt.clone(), why);
        }
        match self.guard_question(&question.prompt, 0) {
            Guarded::Ask => {
                self.planning.enter(Stage::Clarify { asked: question.clone(), ask: None });
            }
            Guarded::Tell(why) => {
                // Told and not counted as a reply that could not be used: the guard counts it.
                self.planning
                    .say(PlanTalk::Rejected { reply: question.prompt.clone(), error: why });
                self.planning.next_round();
            }
            Guarded::End(reason, message) => self.planning.fail(reason, message),
        }
    }

    /// The calls of a turn, with questions that are not asked told to the model instead.
    pub(super) fn guard_calls(&mut self, mut calls: Vec<TurnCall>) -> Vec<TurnCall> {
        let (mut coming, may_ask) = (self.execution.unasked(), self.may_ask_in_steps());
        for call in &mut calls {
            let CallTarget::Person { question } = &call.target else { continue };
            if !may_ask {
                continue;
            }
            if let Some(error) =
                self.brief.agent.ask.kinds.refusal(&question.kind, self.brief.language)
            {
                call.target = CallTarget::Refused { error };
                continue;
            }
            match self.guard_question(&question.prompt.clone(), coming) {
                Guarded::Ask => coming = coming.saturating_add(1),
                Guarded::Tell(error) => call.target = CallTarget::Refused { error },
                Guarded::End(reason, message) => {
                    call.target = CallTarget::Refused { error: message.clone() };
                    self.planning.fail(reason, message);
                }
            }
        }
        calls
    }

    /// A question was answered; it need not be asked again.
    pub(super) fn remember_answer(&mut self, prompt: &str, answer: &str) {
        if self.brief.agent.ask.repeat_limit.is_some() {
            self.questions.remember(prompt, answer);
        }
    }

    /// A question as a person is shown it.
    pub(super) fn put(&self, prompt: &str) -> String {
        if self.brief.agent.ask.prefix {
            Text::PleaseConfirm { question: &prompt }.text(self.brief.language)
        } else {
            prompt.to_owned()
        }
    }
}

impl StepRun {
    /// Makes the changes of the list its loop keeps, in the order of the calls; those that cannot be
    /// made are told to the model.
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
