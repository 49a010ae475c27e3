//! One tool call: agreed to, sent, tried again, ended.

use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::{CallWork, Wait},
    fact::{Called, WorkError},
    family::{self, Task},
    id::{AskId, Attempt, JobId, StepId, ToolName, WorkId},
    interaction::{QuestionKind, approval_digest},
    job::Outcome,
    lang::Language,
    retry::RetryPolicy,
    rules::Rules,
    tool::{Approval, Binding, Fault, ToolResult},
    view::{CallState, CallView},
};
use serde_json::Value;

use super::{attempts::Attempts, excerpt, kin_text};

/// A tool call with its arguments in place.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) work: WorkId,
    pub(super) tool: ToolName,
    pub(super) binding: Binding,
    pub(super) args: Value,
    pub(super) agreement: Agreement,
    pub(super) attempts: Attempts,
    /// Whether the attempt that broke ended with the tool's own no, rather than with a fault.
    said_no: bool,
    /// Attempts that ended so, and those that broke. By the first rules all counted together.
    noes: u32,
    faults: u32,
    /// Whether the job that it is waits for a person.
    pub(super) asks_below: bool,
    pub(super) end: Option<CallEnd>,
}

/// Whether people agree to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Nobody needs to.
    NotNeeded,
    /// Somebody should be asked.
    Wanted,
    /// Somebody was asked.
    Asked(AskId),
    /// Somebody agreed to exactly this.
    Given(String),
}

/// How a call ended.
#[derive(Debug, Clone)]
pub(super) enum CallEnd {
    /// The tool answered, with success or without.
    Answered(ToolResult),
    /// Nobody knows whether it had its effect.
    Unknown(ToolResult),
    /// A person did not agree.
    Refused(String),
}

impl Call {
    pub(super) fn new(work: WorkId, tool: ToolName, binding: Binding, args: Value) -> Self {
        let agreement = match binding.approval {
            Approval::Never => Agreement::NotNeeded,
            Approval::Always => Agreement::Wanted,
        };
        Self {
            work,
            tool,
            binding,
            args,
            agreement,
            attempts: Attempts::Idle,
            said_no: false,
            noes: 0,
            faults: 0,
            asks_below: false,
            end: None,
        }
    }

    /// The command that should be sent now.
    pub(super) fn to_send(
        &self,
        job: &JobId,
        step: &StepId,
        language: Language,
    ) -> Option<CallWork> {
        if self.end.is_some() {
            return None;
        }
        let approved = match &self.agreement {
            Agreement::NotNeeded => None,
            Agreement::Given(digest) => Some(digest.clone()),
            Agreement::Wanted | Agreement::Asked(_) => return None,
        };
        Some(CallWork {
            attempt: self.attempts.to_send()?,
            work: self.work.clone(),
            step: step.clone(),
            tool: self.tool.clone(),
            version: self.binding.version.clone(),
            pool: self.binding.pool.clone(),
            effect: self.binding.effect,
            args: self.args.clone(),
            language,
            idempotency_key: format!("{job}.{}", self.work),
            approved,
            refused: None,
        })
    }

    /// Earlier decisions about it do not count any more: it is asked about and sent again. Says whether
    /// it had been sent.
    pub(super) fn go_on_as(&mut self, work: WorkId) -> bool {
        let was_sent = self.attempts.count() > 0;
        (self.work, self.attempts, self.said_no) = (work, Attempts::Idle, false);
        (self.noes, self.faults) = (0, 0);
        match &self.agreement {
            Agreement::NotNeeded => {}
            // What a person agreed to has the name of the work in it.
            Agreement::Wanted | Agreement::Asked(_) | Agreement::Given(_) => {
                self.agreement = Agreement::Wanted;
            }
        }
        was_sent
    }

    /// The question whether it may run, when it should be asked.
    pub(super) fn to_approve(&self, job: &JobId) -> Option<QuestionKind> {
        let wanted = self.end.is_none() && self.agreement == Agreement::Wanted;
        wanted.then(|| QuestionKind::ToolApproval {
            tool: self.tool.clone(),
            version: self.binding.version.clone(),
            args: self.args.clone(),
            digest: self.digest(job),
        })
    }

    /// The attempt that would be sent now, people's agreement included.
    pub(super) fn would_send(&self) -> Option<Attempt> {
        match &self.agreement {
            Agreement::NotNeeded | Agreement::Given(_) if self.end.is_none() => {
                self.attempts.to_send()
            }
            Agreement::NotNeeded
            | Agreement::Given(_)
            | Agreement::Wanted
            | Agreement::Asked(_) => None,
        }
    }

    pub(super) fn digest(&self, job: &JobId) -> String {
        approval_digest(job, self.work.as_str(), &self.tool, &self.binding.version, &self.args)
    }

    /// The wait that should follow a broken attempt.
    pub(super) fn to_wait(&self, agent: &Agent, job: &JobId, waits: u32) -> Option<Wait> {
        if self.end.is_some() {
            return None;
        }
        let (policy, others) = self.policy(agent);
        self.attempts.to_wait_beside(others, &self.work, policy, job.as_str(), waits)
    }

    /// The policy for the attempt that broke, and how many attempts are none of its business.
    fn policy<'a>(&self, agent: &'a Agent) -> (&'a RetryPolicy, u32) {
        if self.said_no { (&agent.step.retry, self.faults) } else { (&agent.tool.retry, self.noes) }
    }

    /// A worker answered an attempt that counts. `is_step` when the call is a whole step: then a
    /// tool's own no is tried again by the step's policy, otherwise it is for the model to see.
    pub(super) fn answered(&mut self, called: &Called, is_step: bool, rules: Rules, at: Timestamp) {
        let broken =
            || WorkError { message: why(&called.result), transient: true, retry_after_ms: None };
        match called.fault {
            None if !called.result.success && is_step => {
                self.said_no = true;
                self.noes = self.noes.saturating_add(one_since(rules));
                self.attempts.broke(broken(), at);
            }
            Some(fault) if fault.is_transient() => self.broke(broken(), rules, at),
            Some(Fault::Unknown) => {
                self.end = Some(CallEnd::Unknown(called.result.clone().flattened()))
            }
            None | Some(_) => self.end = Some(CallEnd::Answered(called.result.clone().flattened())),
        }
    }

    /// An attempt ended with a fault, or was not sent at all.
    pub(super) fn broke(&mut self, error: WorkError, rules: Rules, at: Timestamp) {
        self.said_no = false;
        self.faults = self.faults.saturating_add(one_since(rules));
        self.attempts.broke(error, at);
    }

    /// Whether it was given up and waits for an operator. A tool's own no is an answer.
    pub(super) fn is_parked(&self, agent: &Agent) -> bool {
        self.end.is_none() && !self.said_no && self.attempts.is_parked_beside(self.noes, agent)
    }

    /// Ends the call when it broke and no attempt is left.
    pub(super) fn settle(&mut self, agent: &Agent) {
        let (policy, others) = self.policy(agent);
        if self.end.is_none()
            && !self.is_parked(agent)
            && let Some(error) = self.attempts.given_up_beside(others, policy)
        {
            self.end = Some(CallEnd::Answered(ToolResult::failed(error.message.clone())));
        }
    }

    /// Whether it waits for a person or for the clock.
    pub(super) fn is_waiting(&self) -> bool {
        self.end.is_none()
            && (matches!(self.agreement, Agreement::Asked(_))
                || self.attempts.timer().is_some()
                || self.asks_below)
    }

    /// Whether a command is in a queue or with a worker. A job that works for this one is neither.
    pub(super) fn has_work_out(&self) -> bool {
        self.end.is_none() && self.attempts.is_out() && !self.is_agent()
    }

    /// Whether an answer to this attempt counts.
    pub(super) fn awaits(&self, work: &WorkId, attempt: Attempt) -> bool {
        self.work == *work && self.end.is_none() && self.attempts.awaits(attempt)
    }

    /// Whether it hands a task to another agent.
    pub(super) fn is_agent(&self) -> bool {
        family::is_agent(&self.binding)
    }

    /// The task that is handed over.
    pub(super) fn task(&self) -> Result<Task, String> {
        let mut args = self.args.clone();
        // A placeholder may stand for something that is no text.
        for value in args.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
            if !value.is_string() {
                *value = Value::String(value.to_string());
            }
        }
        let task: Task = serde_json::from_value(args).map_err(|error| error.to_string())?;
        if task.goal.trim().is_empty() {
            return Err("goal: must describe what the job should achieve".to_owned());
        }
        Ok(task)
    }

    /// Ends it before anything was sent.
    pub(super) fn refuse(&mut self, why: String) {
        self.end = Some(CallEnd::Answered(ToolResult::failed(why)));
    }

    /// The job that it is has ended. `is_step` when the call is a whole step: then it is tried again
    /// by the step's policy, otherwise what came of it is for the model to see.
    pub(super) fn child_ended(
        &mut self,
        outcome: &Outcome,
        is_step: bool,
        language: Language,
        at: Timestamp,
    ) {
        let end = match outcome {
            Outcome::Completed { summary, results } => {
                let data = serde_json::json!({"response": summary, "results": results});
                let message = is_step.then(|| summary.clone());
                ToolResult { message, ..ToolResult::ok(data) }
            }
            Outcome::Failed { reason, message, .. } => {
                let error = kin_text::failed(language, reason.as_str(), message);
                if is_step {
                    self.said_no = true;
                    let error = WorkError { message: error, transient: true, retry_after_ms: None };
                    return self.attempts.broke(error, at);
                }
                ToolResult::failed(error)
            }
            // Somebody wanted it so: another attempt would be against that.
            Outcome::Canceled { reason } => {
                let reason = reason.as_deref().unwrap_or_default();
                ToolResult::failed(kin_text::canceled(language, reason))
            }
        };
        self.end = Some(CallEnd::Answered(end));
    }

    pub(super) fn view(&self) -> CallView {
        let (state, message) = match &self.end {
            None if self.is_waiting() => (CallState::Waiting, None),
            None => (CallState::Running, None),
            Some(CallEnd::Answered(result)) if result.success => {
                (CallState::Succeeded, result.message.clone())
            }
            Some(CallEnd::Answered(result)) => (CallState::Failed, Some(why(result))),
            Some(CallEnd::Unknown(result)) => (CallState::Unknown, Some(why(result))),
            Some(CallEnd::Refused(reason)) => (CallState::Failed, Some(reason.clone())),
        };
        CallView {
            tool: self.tool.to_string(),
            state,
            attempts: self.attempts.count(),
            message: message.map(|m| excerpt::line(&m, 200)),
        }
    }
}

/// The first rules count retries of faults and of noes together.
fn one_since(rules: Rules) -> u32 {
    u32::from(rules >= Rules::SECOND)
}

/// The reason of a failure, in the tool's words.
pub(super) fn why(result: &ToolResult) -> String {
    result
        .error
        .clone()
        .or_else(|| result.message.clone())
        .unwrap_or_else(|| "the tool gave no reason".to_owned())
}
