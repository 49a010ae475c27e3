//! The step of a workflow's visit: its model, its question or pause, and its end.

use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::ModelChoice,
    family,
    id::{TimerName, ToolName, WorkId},
    interaction::{Answer, Verdict},
    lang::Language,
    output::OutputSchema,
    plan::Action,
    workflow::EventName,
};
use serde_json::{Value, json};

use super::{
    asking::reply_text,
    attempts::Retries,
    nodes::{Sleep, VisitEnd},
    step::{Exec, StepRun},
    turn::UnitKind,
};

/// Key of the field in which a person approves.
const APPROVED: &str = "approved";

impl StepRun {
    /// Returns the timer of a pause, or of a wait for an event.
    pub(super) fn sleep_timer(&self) -> Option<&TimerName> {
        self.sleep()?.timer.as_ref()
    }

    /// Returns the pause, or the wait for an event.
    pub(super) fn sleep(&self) -> Option<&Sleep> {
        if let Exec::Sleep(sleep) = &self.exec { Some(sleep) } else { None }
    }

    /// Returns the event for which the step waits.
    pub(super) fn awaited_event(&self) -> Option<&EventName> {
        self.sleep()?.event.as_ref()
    }

    /// Returns the end of a workflow's visit, once the step has ended.
    pub(super) fn visit_end(&self) -> Option<VisitEnd> {
        if !self.state.is_terminal() {
            return None;
        }
        if self.is_timed_out() {
            return Some(VisitEnd::TimedOut);
        }
        let error = || self.response.clone().unwrap_or_default();
        Some(match &self.result {
            Some(result) if self.is_child() => VisitEnd::Done(said_by_child(result)),
            Some(result) => VisitEnd::Done(result.clone()),
            None => VisitEnd::Failed(error()),
        })
    }

    /// Returns `true` if a child job does the work.
    fn is_child(&self) -> bool {
        match &self.step.action {
            Action::Tool { binding, .. } => family::is_agent(binding),
            Action::Agent => false,
        }
    }

    /// Returns `true` if the time of the visit was up.
    pub(super) fn is_timed_out(&self) -> bool {
        self.rules.as_deref().is_some_and(|rules| rules.timed_out)
    }

    /// Returns `true` if the step is a question for the answer to this work.
    pub(super) fn is_asked(&self, work: &WorkId) -> bool {
        matches!(&self.exec, Exec::Asked(inquiry) if inquiry.work == *work)
    }

    /// Returns `true` if a model of the step asks the question of this work.
    pub(super) fn asks(&self, asked: &WorkId) -> bool {
        let Exec::Acting(acting) = &self.exec else { return false };
        acting.units.iter().any(|unit| match &unit.kind {
            UnitKind::Person { work, .. } => work == asked,
            UnitKind::Tool(_) | UnitKind::Noted(_) | UnitKind::Refused(_) => false,
        })
    }

    /// Ends a question with its answer: the values of the form, or a text under `text`.
    pub(super) fn answered(&mut self, answer: &Answer, language: Language, at: Timestamp) {
        let Exec::Asked(inquiry) = &self.exec else { return };
        let has_form = !inquiry.form.is_empty();
        let text = reply_text(answer, language);
        self.started.get_or_insert(at);
        let Exec::Asked(inquiry) = &self.exec else { return };
        if answer.decision == Verdict::Reject {
            let asks_approval = inquiry.form.iter().any(|field| field.key == APPROVED);
            if !asks_approval {
                return self.fail(text, at);
            }
            let why = answer.text.clone().unwrap_or_default();
            return self.complete(json!({APPROVED: false, "text": why}), text, at);
        }
        let value = match &answer.value {
            Some(value) if has_form => value.clone(),
            Some(_) | None => json!({"text": text}),
        };
        self.complete(value, text, at);
    }

    /// Ends a visit whose time is up.
    pub(super) fn time_out(&mut self, reason: String, at: Timestamp) {
        self.rules.get_or_insert_default().timed_out = true;
        self.asked_about(at);
        self.fail(reason, at);
    }

    /// Ends a pause whose timer has fired. A wait for an event is late then: the workflow decides
    /// whether an event ends it after all.
    pub(super) fn wake(&mut self, at: Timestamp) {
        self.asked_about(at);
        match &mut self.exec {
            Exec::Sleep(sleep) if sleep.event.is_some() => sleep.is_late = true,
            Exec::Sleep(_)
            | Exec::NotBegun
            | Exec::Tool(_)
            | Exec::Turn(_)
            | Exec::Acting(_)
            | Exec::Rerun(_)
            | Exec::Asked(_)
            | Exec::Ended => self.complete(Value::Null, String::new(), at),
        }
    }

    /// Ends a wait with the event that the workflow received.
    pub(super) fn receive(&mut self, event: Value, at: Timestamp) {
        self.asked_about(at);
        self.complete(event, String::new(), at);
    }

    /// Returns `true` for a node whose model has one turn.
    pub(super) fn is_one_turn(&self) -> bool {
        self.rules.as_deref().is_some_and(|rules| rules.is_one_turn)
    }

    /// Returns `true` if the model's only turn is the whole step.
    pub(super) fn is_last_word(&self) -> bool {
        self.is_output || self.is_one_turn()
    }

    /// Returns `true` if the model's reply must fit a schema.
    pub(super) fn must_fit(&self) -> bool {
        self.is_output || self.rules.as_deref().is_some_and(|rules| rules.reply.is_some())
    }

    /// Returns the schema that the model's reply must fit.
    pub(super) fn reply_schema(&self, agent: &Agent) -> Option<OutputSchema> {
        if self.is_output {
            return agent.output.clone();
        }
        self.rules.as_deref().and_then(|rules| rules.reply.clone())
    }

    /// Returns the model of a node that names one.
    pub(super) fn model(&self) -> Option<&str> {
        self.rules.as_deref()?.model.as_deref()
    }

    /// Returns `true` unless the node names tools and this one is not among them.
    pub(super) fn may_call(&self, tool: &ToolName) -> bool {
        let tools = self.rules.as_deref().and_then(|rules| rules.tools.as_ref());
        tools.is_none_or(|tools| tools.contains(tool))
    }

    /// Returns the policies for the attempts at a turn of the step.
    pub(super) fn retries_of_turn<'a>(&'a self, agent: &'a Agent) -> Retries<'a> {
        let policy = self.rules.as_deref().and_then(|rules| rules.retry.as_ref());
        Retries::of_work(agent).with(policy)
    }

    /// Returns the number of turns that a run of the step may take.
    pub(super) fn max_turns(&self, agent: &Agent) -> u32 {
        match self.rules.as_deref() {
            Some(rules) if rules.is_one_turn => 1,
            Some(_) | None => agent.step.max_turns,
        }
    }

    /// Returns the model and the tools of the step, given those of the agent.
    pub(super) fn model_choice(&self, agents: ModelChoice) -> ModelChoice {
        let Some(rules) = self.rules.as_deref() else { return agents };
        ModelChoice {
            model: rules.model.clone().or(agents.model),
            system: rules.system.clone().unwrap_or(agents.system),
            tools: rules.tools.clone().or(agents.tools),
            ..agents
        }
    }
}

/// Returns the result of a child job as expressions read it: its structured result, or its answer in
/// words.
fn said_by_child(result: &Value) -> Value {
    match (result.get("value"), result.get("response")) {
        (Some(structured), _) if !structured.is_null() => structured.clone(),
        (_, response) => response.cloned().unwrap_or_default(),
    }
}
