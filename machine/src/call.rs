//! One tool call: approval, attempts and end.

use jiff::Timestamp;
use proto::{
    agent::{Agent, Hosts},
    decision::{CallWork, SpawnedWorkflow, Wait},
    fact::Called,
    family::{self, Task},
    id::{AskId, Attempt, JobId, Seq, StepId, ToolName, WorkId},
    interaction::{AskedBy, QuestionKind, approval_digest},
    job::Outcome,
    lang::Language,
    retry::RetryPolicy,
    tool::{Approval, Binding, Fault, ToolResult},
    view::{CallState, CallView},
    work_error::{ErrorClass, WorkError},
};
use serde_json::Value;

use super::{
    at::At,
    attempts::{Attempts, Retries},
    excerpt,
    kin_text::{self, Text},
};

/// The reason for which a person must approve a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ApprovalCause {
    /// Reason for the person; absent if the tool alone needs the approval.
    pub(super) why: Option<String>,
    /// Policies that ask.
    pub(super) asked_by: Vec<AskedBy>,
    /// Tool whose content from outside the job has seen.
    pub(super) seen: Option<ToolName>,
    /// Position of the newest of that content in the job's own log.
    pub(super) seen_seq: Option<Seq>,
}

/// A tool call with resolved arguments.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) work: WorkId,
    pub(super) tool: ToolName,
    pub(super) binding: Binding,
    pub(super) args: Value,
    pub(super) agreement: Agreement,
    /// Question whose remembered approval covers the call.
    pub(super) remembered: Option<AskId>,
    pub(super) attempts: Attempts,
    /// `true` if the last broken attempt ended with the tool's negative answer rather than a fault.
    said_no: bool,
    /// Broken attempts by cause: negative answers, and faults.
    noes: u32,
    faults: u32,
    /// Idempotency key of the first command that was sent. All attempts carry it.
    key: Option<String>,
    /// Retries after faults in place of the agent's.
    pub(super) retry: Option<RetryPolicy>,
    /// `true` if the call is a child job in which a question waits for a person.
    pub(super) asks_below: bool,
    /// Workflow that the child job of the call runs.
    pub(super) workflow: Option<Box<SpawnedWorkflow>>,
    pub(super) end: Option<CallEnd>,
}

/// The state of a person's approval of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Agreement {
    /// The tool needs no approval.
    NotNeeded,
    /// A question is to be asked.
    Wanted,
    /// The question is stored.
    Asked(AskId),
    /// A person approved the call with exactly this digest.
    Given(String),
}

/// The submission that a call belongs to. A job id may be used again after a purge, but
/// never with the same position and time of its submission.
#[derive(Debug, Clone, Copy)]
pub(super) struct Submission<'a> {
    pub(super) job: &'a JobId,
    pub(super) seq: Seq,
    pub(super) at: Timestamp,
    pub(super) language: Language,
    /// The only hosts that tools may send requests to.
    pub(super) hosts: Option<&'a Hosts>,
}

impl Submission<'_> {
    /// Returns the idempotency key of a unit of work of this submission.
    fn key(&self, work: &WorkId) -> String {
        let Self { job, seq, at, language: _, hosts: _ } = self;
        format!("{job}.{work}.{seq}-{}", at.as_millisecond())
    }
}

/// The end of a call.
#[derive(Debug, Clone)]
pub(super) enum CallEnd {
    /// The tool answered, positively or negatively.
    Answered(ToolResult),
    /// The call was interrupted, and whether it had its effect is unknown.
    Unknown(ToolResult),
    /// A person rejected the call.
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
            remembered: None,
            attempts: Attempts::default(),
            said_no: false,
            noes: 0,
            faults: 0,
            key: None,
            retry: None,
            asks_below: false,
            workflow: None,
            end: None,
        }
    }

    /// Returns the command that is to be sent now.
    pub(super) fn to_send(&self, submission: &Submission<'_>, step: &StepId) -> Option<CallWork> {
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
            destructive: self.binding.destructive,
            untrusted: self.binding.untrusted,
            args: self.args.clone(),
            language: submission.language,
            idempotency_key: self.key.clone().unwrap_or_else(|| submission.key(&self.work)),
            approved,
            remembered: self.covered_by().cloned(),
            hosts: submission.hosts.cloned(),
            refused: None,
        })
    }

    /// Returns the command that records the refusal of the call by a rule of the agent. No pool
    /// takes it. `None` while a question about the call is open.
    pub(super) fn to_refuse(
        &self,
        submission: &Submission<'_>,
        step: &StepId,
        why: String,
    ) -> Option<CallWork> {
        let agreement = match &self.agreement {
            Agreement::Asked(_) => return None,
            Agreement::Wanted | Agreement::NotNeeded => Agreement::NotNeeded,
            Agreement::Given(digest) => Agreement::Given(digest.clone()),
        };
        let refused = Some(WorkError::new(why, ErrorClass::Permanent));
        let agreed = Self { agreement, ..self.clone() };
        agreed.to_send(submission, step).map(|work| CallWork { refused, ..work })
    }

    /// Renames the call for a new generation, in which it is approved and sent again. Returns
    /// `true` if it had been sent.
    pub(super) fn go_on_as(&mut self, work: WorkId) -> bool {
        let was_sent = self.attempts.count() > 0;
        (self.work, self.attempts, self.said_no) = (work, Attempts::default(), false);
        (self.noes, self.faults, self.key) = (0, 0, None);
        self.remembered = None;
        match &self.agreement {
            Agreement::NotNeeded => {}
            // The digest of an approval covers the name of the work, which has changed.
            Agreement::Wanted | Agreement::Asked(_) | Agreement::Given(_) => {
                self.agreement = Agreement::Wanted;
            }
        }
        was_sent
    }

    /// Returns the approval question, if it is to be asked now.
    pub(super) fn to_approve(&self, job: &JobId, cause: &ApprovalCause) -> Option<QuestionKind> {
        let is_due = match &self.agreement {
            Agreement::Wanted | Agreement::NotNeeded => self.attempts.to_send().is_some(),
            Agreement::Asked(_) | Agreement::Given(_) => false,
        };
        (self.end.is_none() && is_due).then(|| QuestionKind::ToolApproval {
            tool: self.tool.clone(),
            version: self.binding.version.clone(),
            args: self.args.clone(),
            digest: self.digest(job),
            asked_by: cause.asked_by.clone(),
            seen: cause.seen.clone(),
            seen_seq: cause.seen_seq,
        })
    }

    /// Approves the call by an approval that a person has remembered for the job.
    pub(super) fn approve_as_remembered(&mut self, job: &JobId, ask: &AskId) {
        self.agreement = Agreement::Given(self.digest(job));
        self.remembered = Some(ask.clone());
    }

    /// Returns the question whose remembered approval covers the next attempt.
    pub(super) fn covered_by(&self) -> Option<&AskId> {
        let is_given = matches!(self.agreement, Agreement::Given(_));
        self.remembered.as_ref().filter(|_| is_given)
    }

    /// Takes back a remembered approval from a call that has not ended. Its attempt that is out goes
    /// on; the next one needs an approval of its own.
    pub(super) fn forget_remembered(&mut self) {
        if self.end.is_none() && self.covered_by().is_some() {
            self.agreement = match self.binding.approval {
                Approval::Never => Agreement::NotNeeded,
                Approval::Always => Agreement::Wanted,
            };
        }
    }

    /// Records that an attempt was sent, and returns `true` if it was due.
    pub(super) fn sent(&mut self, attempt: Attempt, at: At, key: Option<&str>) -> bool {
        let sent = self.end.is_none() && self.attempts.sent(attempt, at);
        if sent && self.key.is_none() {
            self.key = key.map(str::to_owned);
        }
        sent
    }

    /// Returns the attempt that would be sent now, if the call is approved or needs no approval.
    pub(super) fn would_send(&self) -> Option<Attempt> {
        let is_agreed = matches!(self.agreement, Agreement::NotNeeded | Agreement::Given(_));
        if is_agreed && self.end.is_none() { self.attempts.to_send() } else { None }
    }

    pub(super) fn digest(&self, job: &JobId) -> String {
        approval_digest(job, self.work.as_str(), &self.tool, &self.binding.version, &self.args)
    }

    /// Returns the wait that should follow a broken attempt.
    pub(super) fn to_wait(&self, agent: &Agent, job: &JobId, waits: u32) -> Option<Wait> {
        if self.end.is_some() {
            return None;
        }
        self.attempts.to_wait(&self.work, self.retries(agent), job, waits)
    }

    /// Returns the policies for the last broken attempt. Negative answers and faults are counted
    /// apart.
    pub(super) fn retries<'a>(&'a self, agent: &'a Agent) -> Retries<'a> {
        match self.said_no {
            true => Retries::of_step(agent).without(self.faults),
            false => Retries::of_work(agent).with(self.retry.as_ref()).without(self.noes),
        }
    }

    /// Applies a worker's result. `is_step` is `true` if the call is a whole step: then a negative
    /// answer is retried by the step's policy. Otherwise the model is told.
    pub(super) fn answered(&mut self, called: &Called, is_step: bool, at: Timestamp) {
        let result = || called.result.clone().flattened();
        let broken = |class| WorkError::new(why(&called.result), class);
        match called.error_class() {
            None if !called.result.success && is_step => {
                self.said_no = true;
                self.noes = self.noes.saturating_add(1);
                self.attempts.broke(broken(ErrorClass::Transient), at);
            }
            Some(class @ (ErrorClass::Transient | ErrorClass::Outage)) => {
                self.broke(broken(class), at);
            }
            Some(ErrorClass::Permanent) if called.fault == Some(Fault::Unknown) => {
                self.end = Some(CallEnd::Unknown(result()));
            }
            None | Some(ErrorClass::Permanent) => self.end = Some(CallEnd::Answered(result())),
        }
    }

    /// Records that an attempt ended with a fault, or was refused before it was sent.
    pub(super) fn broke(&mut self, error: WorkError, at: Timestamp) {
        self.said_no = false;
        self.faults = self.faults.saturating_add(1);
        self.attempts.broke(error, at);
    }

    /// Returns `true` if the call was given up and waits for an operator. A negative answer is
    /// never given up.
    pub(super) fn is_parked(&self, agent: &Agent) -> bool {
        self.end.is_none() && self.attempts.is_parked(self.retries(agent))
    }

    /// Ends the call if no attempt is left.
    pub(super) fn settle(&mut self, agent: &Agent) {
        if self.end.is_none()
            && let Some(error) = self.attempts.failed(self.retries(agent))
        {
            self.end = Some(CallEnd::Answered(ToolResult::failed(error.message.clone())));
        }
    }

    /// Returns `true` if the call waits for a person or a timer.
    pub(super) fn is_waiting(&self) -> bool {
        self.end.is_none()
            && (matches!(self.agreement, Agreement::Asked(_))
                || self.attempts.timer().is_some()
                || self.asks_below)
    }

    /// Returns `true` if a command is queued or with a worker. A child job is neither.
    pub(super) fn has_work_out(&self) -> bool {
        self.end.is_none() && self.attempts.is_out() && !self.is_agent()
    }

    /// Returns `true` if a result of this attempt would count.
    pub(super) fn awaits(&self, work: &WorkId, attempt: Attempt) -> bool {
        self.work == *work && self.end.is_none() && self.attempts.awaits(attempt)
    }

    /// Returns `true` if the call is a task for a sub-agent.
    pub(super) fn is_agent(&self) -> bool {
        family::is_agent(&self.binding)
    }

    /// Parses the arguments as the task of a child job.
    pub(super) fn task(&self) -> Result<Task, String> {
        let mut args = self.args.clone();
        // A placeholder may resolve to a value that is not text.
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

    /// Ends the call before anything was sent.
    pub(super) fn refuse(&mut self, why: String) {
        self.end = Some(CallEnd::Answered(ToolResult::failed(why)));
    }

    /// Applies the end of the child job. `is_step` is `true` if the call is a whole step: then a
    /// failure is retried by the step's policy. Otherwise the model is told.
    pub(super) fn child_ended(
        &mut self,
        outcome: &Outcome,
        is_step: bool,
        language: Language,
        at: Timestamp,
    ) {
        let end = match outcome {
            Outcome::Completed { summary, results, value } => {
                let data = kin_text::result(summary, results, value);
                let message = is_step.then(|| summary.clone());
                ToolResult { message, ..ToolResult::ok(data) }
            }
            Outcome::Failed { reason, message, .. } => {
                let error =
                    Text::Failed { reason: &reason.as_str(), message: &message }.text(language);
                if is_step {
                    self.said_no = true;
                    let error = WorkError::new(error, ErrorClass::Transient);
                    return self.attempts.broke(error, at);
                }
                ToolResult::failed(error)
            }
            // The cancellation was intended, so there is no further attempt.
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
            remembered: self.remembered.clone(),
        }
    }
}

/// Returns the reason of a failure, in the tool's words if it gave any.
pub(super) fn why(result: &ToolResult) -> String {
    result
        .error
        .clone()
        .or_else(|| result.message.clone())
        .unwrap_or_else(|| "the tool gave no reason".to_owned())
}
