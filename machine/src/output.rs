//! The structured result of a job: the step whose model gives it, once everything else is over. The
//! worker checks the reply against the schema, and the log holds its verdict, so the fold reads the
//! same log in the same way under every release of the validator.

use jiff::Timestamp;
use proto::{
    excerpt,
    fact::TurnReply,
    id::StepId,
    job::FailReason,
    lang::Language,
    limits,
    output::{Misfit, OUTPUT_STEPS_MAX, OUTPUT_TRIES_MAX},
    plan::{Action, Step},
    step::StepState,
    work_error::{ErrorClass, WorkError},
};
use serde_json::Value;

use super::{
    state::ActiveJob,
    step::{Exec, StepRun},
    text::Text,
};

/// Id of the step that gives the result. A number follows it where a plan uses the id.
const OUTPUT: &str = "output";
/// Characters of the answer in words that each end keeps. A character has up to four bytes.
const ANSWER_CHARS: usize = limits::DESCRIPTION_BYTES_MAX / 8 - 64;

impl ActiveJob {
    /// Adds the step that gives the result, if the job has a schema and would otherwise complete.
    pub(super) fn settle_output(&mut self) {
        let is_over = self.planning.is_executing()
            && self.execution.output().is_none()
            && self.execution.are_all_over()
            && !self.wants_replan();
        let fails = self.execution.first_failed().is_some() && !self.completes_with_what_it_has();
        // The output of a workflow is an expression.
        if self.brief.agent.output.is_none() || self.has_workflow() || !is_over || fails {
            return;
        }
        let language = self.language();
        let description = match self.answer() {
            Some(answer) => {
                let answer = &excerpt::ends(&answer, ANSWER_CHARS);
                Text::OutputAnswer { answer }.text(language)
            }
            None => Text::OutputTask.text(language),
        };
        let step = Step {
            id: self.output_id(),
            title: Text::OutputTitle.text(language),
            description,
            depends_on: self.results_told(),
            action: Action::Agent,
        };
        let generation = self.generation();
        if let Some(run) = self.execution.add_output(step, generation) {
            run.exec = Exec::Turn(run.first_turn(1, None));
            run.become_state(StepState::Ready);
        }
    }

    /// Returns an id that no step of a plan has.
    fn output_id(&self) -> StepId {
        let is_free =
            |id: &StepId| !self.execution.all().any(|run| !run.is_output && run.id() == id);
        let numbered = (2u32..).map(|number| format!("{OUTPUT}{number}"));
        let names = std::iter::once(OUTPUT.to_owned()).chain(numbered);
        let mut ids = names.map(|name| StepId::new(name).expect("a word and a number are an id"));
        ids.find(is_free).expect("a job has fewer steps than there are numbers")
    }

    /// Returns the steps whose results the model is told: the last ones that completed.
    fn results_told(&self) -> Vec<StepId> {
        let mut told: Vec<StepId> = Vec::new();
        let done: Vec<&StepRun> = self.execution.done().collect();
        for run in done.into_iter().rev().take(OUTPUT_STEPS_MAX) {
            if !told.contains(run.id()) {
                told.push(run.id().clone());
            }
        }
        told.reverse();
        told
    }

    /// Returns the failure of the job if the step that gives the result has failed.
    pub(super) fn output_failed(&self) -> Option<(FailReason, String)> {
        let failed = self.execution.output().filter(|run| run.state == StepState::Failed)?;
        Some((failed.fail_reason(), failed.response.clone().unwrap_or_default()))
    }

    /// Returns the result that the outcome holds: null without a schema, `None` until a model gave
    /// it.
    pub(super) fn output_value(&self) -> Option<Value> {
        if self.brief.agent.output.is_none() {
            return Some(Value::Null);
        }
        self.execution.output()?.result.clone()
    }
}

impl StepRun {
    /// Takes a reply to the command that asks for the result. A reply that does not fit is told to
    /// the model in the next run, until no try is left.
    pub(super) fn heard_output(
        &mut self,
        reply: &TurnReply,
        run: u32,
        language: Language,
        at: Timestamp,
    ) {
        match reply {
            TurnReply::Done { value, .. } if !value.is_null() => {
                self.result = Some(value.clone());
                self.end(StepState::Completed, Some(value.to_string()), at);
            }
            TurnReply::Misfit { text: _, misfits } if run >= OUTPUT_TRIES_MAX => {
                self.is_misfit = true;
                let misfits = &lines(misfits);
                let tries = &OUTPUT_TRIES_MAX;
                self.fail(Text::OutputInvalid { tries, misfits }.text(language), at);
            }
            TurnReply::Misfit { text, misfits } => {
                let (misfits, reply) = (&lines(misfits), &text.as_str());
                let error = Text::OutputMisfit { misfits, reply }.text(language);
                self.exec = Exec::Turn(self.first_turn(run.saturating_add(1), Some(error)));
            }
            TurnReply::Failed { error } => self.broke(error.clone(), at),
            TurnReply::Done { .. } | TurnReply::Calls { .. } | TurnReply::Summarised { .. } => {
                self.no_value(language, at);
            }
        }
        self.follow();
    }

    /// Breaks the attempt because the worker did not reply to what it was asked.
    pub(super) fn no_value(&mut self, language: Language, at: Timestamp) {
        self.broke(WorkError::new(Text::NoValue.text(language), ErrorClass::Transient), at);
    }

    fn broke(&mut self, error: WorkError, at: Timestamp) {
        if let Exec::Turn(turn) = &mut self.exec {
            turn.attempts.broke(error, at);
        }
    }
}

/// Returns the places that do not fit, each on a line of its own.
fn lines(misfits: &[Misfit]) -> String {
    misfits.iter().map(|misfit| format!("\n- {misfit}")).collect()
}
