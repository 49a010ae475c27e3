//! The progress of a step: preparation, execution, retry and end.

use jiff::Timestamp;
use proto::{
    agent::{Agent, OnUnsuccessful, StepExec},
    id::{Attempt, StepId},
    lang::Language,
    notice::Notice,
    plan::Action,
    preset::Presets,
    step::StepState,
    tool::ToolResult,
    work_error::{ErrorClass, WorkError},
};
use serde_json::Value;

use super::{
    arguments,
    attempts::{Attempts, Retries},
    call::{Call, CallEnd, why},
    names,
    step::{Exec, StepRun},
    text::{self, Text},
    turn::{Acting, Turn, UnitKind},
};

/// The parts of the job that the preparation of a step reads.
#[derive(Clone, Copy)]
pub(super) struct StepContext<'a> {
    pub(super) presets: &'a Presets,
    pub(super) language: Language,
}

impl StepRun {
    /// Prepares the first command of a step whose dependencies have completed, or fails the step if
    /// its arguments cannot be resolved.
    pub(super) fn ready(
        &mut self,
        lookup: &impl Fn(&StepId) -> Option<Value>,
        given: StepContext<'_>,
        at: Timestamp,
    ) {
        let StepContext { presets, language } = given;
        match &self.step.action {
            Action::Tool { tool, args, binding } => {
                let reads = (args, self.step.depends_on.as_slice());
                match arguments::resolved(reads, lookup, language) {
                    Ok(args) => {
                        let work = names::step(self.generation, self.revision, self.id());
                        // Preset arguments are not the plan's text, so placeholders in them are not
                        // resolved.
                        let args = presets.fill(tool, args);
                        let call = Call::new(work, tool.clone(), binding.clone(), args);
                        self.exec = Exec::Tool(Box::new(call));
                        self.become_state(StepState::Ready);
                    }
                    Err(missing) => {
                        self.fail(Text::Unresolved { what: &missing }.text(language), at)
                    }
                }
            }
            Action::Agent => {
                self.exec = Exec::Turn(self.first_turn(1, None));
                self.become_state(StepState::Ready);
            }
        }
    }

    pub(super) fn first_turn(&self, run: u32, previous_error: Option<String>) -> Turn {
        Turn {
            run,
            number: 1,
            work: names::turn(self.generation, self.revision, self.id(), run, 1),
            attempts: Attempts::default(),
            after: None,
            replies: Vec::new(),
            previous_error,
            notices: Vec::new(),
            must_answer: false,
            told: 0,
            carries: 0,
            summarised: false,
            summary: None,
        }
    }

    /// Draws the conclusions from the replies so far.
    pub(super) fn settle(&mut self, agent: &Agent, language: Language, at: Timestamp) {
        // Most steps of a large plan; every record comes by here.
        if matches!(self.exec, Exec::NotBegun | Exec::Ended) {
            return;
        }
        match std::mem::replace(&mut self.exec, Exec::Ended) {
            Exec::Tool(mut call) => {
                call.settle(agent);
                self.attempted = call.attempts.count();
                match call.end.take() {
                    None => self.exec = Exec::Tool(call),
                    Some(end) => self.tool_ended(*call, end, language, at),
                }
            }
            Exec::Turn(turn) => {
                self.attempted = turn.run;
                match turn.attempts.failed(self.retries_of_turn(agent)).map(|e| e.message.clone()) {
                    None => self.exec = Exec::Turn(turn),
                    Some(error) => self.run_failed(turn.run, error, agent, at),
                }
            }
            Exec::Acting(mut acting) => {
                acting.settle(agent);
                self.settle_acting(acting, agent, language, at);
            }
            Exec::Rerun(attempts) => {
                match (attempts.to_send(), attempts.failed(Retries::of_step(agent))) {
                    (Some(run), _) => {
                        let error = self.response.take();
                        (self.watch, self.notices) = (None, Vec::new());
                        self.exec = Exec::Turn(self.first_turn(run.0, error));
                    }
                    (None, Some(error)) => self.fail(error.message.clone(), at),
                    (None, None) => self.exec = Exec::Rerun(attempts),
                }
            }
            exec @ (Exec::NotBegun | Exec::Asked(_) | Exec::Sleep(_) | Exec::Ended) => {
                self.exec = exec;
            }
        }
        self.follow();
    }

    fn settle_acting(&mut self, acting: Acting, agent: &Agent, language: Language, at: Timestamp) {
        let name =
            |number| names::turn(self.generation, self.revision, &self.step.id, acting.run, number);
        let Some(mut next) = acting.next(name, &agent.observe, language) else {
            self.exec = Exec::Acting(acting);
            return;
        };
        self.calls.extend(acting.calls().map(Call::view));
        if agent.step.exec == StepExec::SingleAction
            && let Some(action) = acting.action()
        {
            return self.acted(action, acting.run, agent, language, at);
        }
        let verdict = self.watch.get_or_insert_default().over(&acting.ended(), &agent.guard);
        self.notices.clone_from(&verdict.notices);
        (next.notices, next.must_answer) = (verdict.notices, verdict.must_answer);
        if next.number > self.max_turns(agent) {
            let error = Text::TurnsUsedUp { turns: &agent.step.max_turns }.text(language);
            self.run_failed(acting.run, error, agent, at);
        } else {
            self.exec = Exec::Turn(next);
        }
    }

    /// Ends a single-action step with the outcome of its action.
    fn acted(
        &mut self,
        action: &UnitKind,
        run: u32,
        agent: &Agent,
        language: Language,
        at: Timestamp,
    ) {
        let ended = match action {
            UnitKind::Tool(call) => match &call.end {
                Some(CallEnd::Answered(result)) if result.success => {
                    Ok((result.value(), said(result)))
                }
                Some(CallEnd::Answered(result)) => Err(why(result)),
                Some(CallEnd::Unknown(result)) => {
                    return self.fail(Text::EffectUnknown { why: &why(result) }.text(language), at);
                }
                Some(CallEnd::Refused(reason)) => Err(text::not_approved(language, reason)),
                None => return,
            },
            UnitKind::Person { reply, .. } => {
                let reply = reply.clone().unwrap_or_default();
                Ok((Value::String(reply.clone()), reply))
            }
            UnitKind::Noted(_) => return,
            UnitKind::Refused(error) => Err(error.clone()),
        };
        match ended {
            Ok((result, response)) => self.complete(result, response, at),
            Err(error) => self.run_failed(run, error, agent, at),
        }
    }

    /// Fails the run because a guard stopped it.
    pub(super) fn stop(
        &mut self,
        notice: Notice,
        run: u32,
        error: String,
        agent: &Agent,
        at: Timestamp,
    ) {
        self.notices = vec![notice];
        self.run_failed(run, error, agent, at);
        self.follow();
    }

    fn tool_ended(&mut self, mut call: Call, end: CallEnd, language: Language, at: Timestamp) {
        let ended = match &end {
            CallEnd::Answered(result) if result.success => Ok((result.value(), said(result))),
            CallEnd::Answered(result) => Err(why(result)),
            CallEnd::Unknown(result) => {
                Err(Text::EffectUnknown { why: &why(result) }.text(language))
            }
            CallEnd::Refused(reason) => Err(text::not_approved(language, reason)),
        };
        call.end = Some(end);
        self.calls.push(call.view());
        match ended {
            Ok((result, response)) => self.complete(result, response, at),
            Err(error) => self.fail(error, at),
        }
    }

    /// Ends the step as its model reported.
    pub(super) fn reported(
        &mut self,
        (success, attachments): (bool, Vec<String>),
        response: String,
        run: u32,
        agent: &Agent,
        at: Timestamp,
    ) {
        match (success, agent.step.on_unsuccessful) {
            (true, _) | (false, OnUnsuccessful::Complete) => {
                (self.unsuccessful, self.attachments) = (!success, attachments);
                self.complete(Value::String(response.clone()), response, at);
            }
            (false, OnUnsuccessful::Fail) => self.run_failed(run, response, agent, at),
        }
        self.follow();
    }

    /// Handles a failed run: the step's retry policy allows another run, or the step fails.
    fn run_failed(&mut self, run: u32, error: String, agent: &Agent, at: Timestamp) {
        if agent.step.retry.delay(Attempt(run), 0).is_none() {
            return self.fail(error, at);
        }
        let broken = WorkError::new(error.clone(), ErrorClass::Transient);
        self.response = Some(error);
        self.exec = Exec::Rerun(Attempts::broken(Attempt(run), broken, at));
    }

    pub(super) fn complete(&mut self, result: Value, response: String, at: Timestamp) {
        self.result = Some(result);
        self.end(StepState::Completed, Some(response), at);
    }
}

/// Returns the text of a result, for display.
fn said(result: &ToolResult) -> String {
    match (&result.message, &result.data) {
        (Some(message), _) => message.clone(),
        (None, Some(Value::String(text))) => text.clone(),
        (None, Some(data)) => data.to_string(),
        (None, None) => String::new(),
    }
}
