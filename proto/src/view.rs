//! The view of a job: the state that the fold computes, in the form that users and programs read.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    budget::Gauge,
    cost::ToolCost,
    decision::Closed,
    family::{ChildView, Parent},
    file::FileTold,
    id::{
        AgentName, AskId, Attempt, ConversationId, Generation, JobId, Seq, SnapshotName, StepId,
        ToolName, WorkId,
    },
    interaction::{KindOfQuestion, Question, Remembered, Verdict},
    job::{FailReason, JobState, Outcome, SubStatus},
    label::Labels,
    lang::Language,
    message::Usage,
    notice::{Notice, NoticeKind},
    outline::Item,
    policy::Detected,
    revision::{Instruction, Revision},
    spent::Spent,
    step::StepState,
    why::Why,
    workflow::{WorkflowName, WorkflowView},
};

/// The mark of a job that has seen content from outside, such as a web page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Mark {
    /// Tool or sub-agent whose result marked the job.
    pub tool: ToolName,
    /// Position of the result in the log; absent when the job was marked from its beginning, by the
    /// job that delegated it, by its conversation or by the source of its fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// Server time of the result; absent like the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// An artifact: a file that a call of the job published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Artifact {
    /// File.
    #[serde(flatten)]
    pub file: FileTold,
    /// Step of the call.
    pub step: StepId,
    /// Tool that published the file.
    pub tool: ToolName,
    /// Position of the result of the call; absent for an artifact of the job that this one was forked
    /// from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// Server time of the result; absent like the position.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// A job at one position of its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobView {
    /// Id of the job.
    pub job: JobId,
    /// State of the job.
    pub state: JobState,
    /// Activity within the state; absent when nothing has been decided and after the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_status: Option<SubStatus>,
    /// Cause of the sub-status: the open question, the dead letter, the error before a backoff, the
    /// unreadable record, or the operator's reason for the pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Work whose last attempt broke and that is attempted again, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<RetryView>,
    /// Reasons why the job does not move, and the work that it waits for; empty after the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub why: Vec<Why>,
    /// Warnings about work that goes wrong, which the next model calls receive too: those of the
    /// planner, then those of unfinished steps, then limits of the budget; empty after the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Goal of the submission.
    pub goal: String,
    /// Name of the agent whose policies the job runs under.
    pub agent: AgentName,
    /// Language of the job's prompts, questions and messages.
    pub language: Language,
    /// Files of the submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTold>,
    /// Files that calls of the job published, oldest first; one for each name. The oldest ones are
    /// dropped beyond [`limits::ARTIFACTS_MAX`](crate::limits::ARTIFACTS_MAX).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// Labels of the submission.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Progress through the workflow; absent for a job with a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<Box<WorkflowView>>,
    /// Plan in force, or the proposed plan that awaits confirmation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
    /// Steps of all plans that ended with success.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub successful_steps: u32,
    /// Steps of all plans that failed, or completed without success.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed_steps: u32,
    /// Result of the detection whether the goal needs a plan; absent when no detection ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<Detected>,
    /// Intended items of a planner that decides one action at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// Every plan so far, each as a change of the one before it; empty while there has been only
    /// one plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<Revision>,
    /// Instructions that users sent to the running job, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instruction>,
    /// Open questions, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The newest questions that were answered or closed, in the order they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_questions: Vec<PastQuestion>,
    /// Number of answered or closed questions that `past_questions` leaves out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub older_questions: u32,
    /// Parent of the job, when the job is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<Parent>>,
    /// Child jobs, running and ended, by their unit of work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildView>,
    /// Outcome, once the job has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Tokens used so far.
    pub usage: Usage,
    /// Cost of the job's own work so far, at the prices of its submission. It includes work that a
    /// rollback took out, because that was paid.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// Cost of each tool so far. Tools that cost nothing are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolCost>,
    /// Use of each limit of the budget.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budget: Vec<Gauge>,
    /// Content from outside that the job has seen first; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untrusted: Option<Mark>,
    /// Approvals that count for later calls of the job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remembered: Vec<Remembered>,
    /// Conversation that the job belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Number of rollbacks, including those of the job that this one was forked from.
    #[serde(default, skip_serializing_if = "Generation::is_first")]
    pub generation: Generation,
    /// Origin of a forked job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Origin>,
    /// Named positions of the log, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<Snapshot>,
    /// Results that changed nothing, because they were late, duplicated or foreign.
    pub ignored: u64,
    /// Number of records in the log.
    pub records: u64,
    /// Position of the last record that this view includes.
    pub seq: Seq,
    /// Server time of the submission.
    pub created: Timestamp,
    /// Server time of the last record.
    pub updated: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// A unit of work whose last attempt broke and that is attempted again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RetryView {
    /// Unit of work.
    pub work: WorkId,
    /// Number of the next attempt, or of the running one.
    pub attempt: Attempt,
    /// Server time of the next attempt; absent once the attempt is due or runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
    /// Error of the last attempt, in one line.
    pub error: String,
    /// Start of the outage that broke the last attempts; absent after other errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outage_since: Option<Timestamp>,
}

/// A question that no longer waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PastQuestion {
    /// Id of the question.
    pub id: AskId,
    /// Kind of the question.
    pub kind: KindOfQuestion,
    /// Text of the question, truncated for display.
    pub prompt: String,
    /// Step that asked; absent for questions about the whole job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepId>,
    /// Answer, or the reason for which the question closed without one.
    #[serde(flatten)]
    pub end: QuestionEnd,
    /// Server time at which the question was asked.
    pub asked: Timestamp,
    /// Server time at which it was answered or closed.
    pub ended: Timestamp,
}

/// The end of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum QuestionEnd {
    /// A person answered.
    Answered {
        /// Decision of the person.
        decision: Verdict,
        /// Chosen options, filled fields, written text or title of the edited plan, as a text
        /// truncated for display; absent for an answer without a value.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<String>,
        /// Requested change of a plan, or reason of a rejection; truncated for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// Name of the person.
        by: String,
    },
    /// The question closed without an answer.
    Closed {
        /// Reason for which it closed.
        because: Closed,
        /// Default answer that counted when the question expired, as a text truncated for display.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<String>,
    },
}

/// A position of a job's log that a user named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Snapshot {
    /// Name of the position.
    pub name: SnapshotName,
    /// Position that has the name. The snapshot shows the job as of this record.
    pub seq: Seq,
    /// Server time at which it got the name.
    pub time: Timestamp,
}

/// The origin of a forked job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Origin {
    /// Job that was forked.
    pub job: JobId,
    /// Last record of that job that the fork includes.
    pub seq: Seq,
}

/// A plan with the states of its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanView {
    /// Purpose of the plan, in one line.
    pub title: String,
    /// Number of plans before this one.
    pub revision: u32,
    /// `true` once a user has confirmed the plan, or when the policy needs no confirmation.
    pub confirmed: bool,
    /// Steps of the plan. Steps of earlier plans that began precede them.
    pub steps: Vec<StepView>,
}

/// A step with its state and results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepView {
    /// Id of the step.
    pub id: StepId,
    /// Short title.
    pub title: String,
    /// Task of the step.
    pub description: String,
    /// Steps that must complete before this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// Tool of a step that is a single tool call; absent for a loop of model turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// State of the step.
    pub state: StepState,
    /// Success that the result reports; absent until the step has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// Result or error, truncated for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Files and addresses that belong to the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// Attempts at the step so far.
    pub attempts: u32,
    /// Model turns so far.
    pub turns: u32,
    /// Tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallView>,
    /// Latest notices of the guards: warnings that the model receives, or the cause for which a
    /// guard ended the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Intended items of the step's loop, when the loop keeps a list of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// Server time of the step's start; absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// Server time of the step's end; absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// A tool call of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallView {
    /// Name of the tool.
    pub tool: String,
    /// State of the call.
    pub state: CallState,
    /// Attempts at the call so far.
    pub attempts: u32,
    /// Message of the result, truncated for display.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Question whose remembered approval covers the call; absent for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<AskId>,
}

/// The state of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// The call waits for an approval or for a timer.
    Waiting,
    /// The call is queued or runs.
    Running,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// The outcome is unknown: the tool may or may not have had its effect.
    Unknown,
}

/// A job in a list of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobSummary {
    /// Id of the job.
    pub job: JobId,
    /// State of the job.
    pub state: JobState,
    /// Activity within the state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_status: Option<SubStatus>,
    /// Goal, truncated to one line.
    pub goal: String,
    /// Name of the agent.
    pub agent: AgentName,
    /// Workflow that the job runs; absent for a job with a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<WorkflowName>,
    /// Labels of the job.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub labels: Labels,
    /// Conversation that the job belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// Parent of the job, when the job is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// Number of finished steps: completed, or dropped by a later plan.
    pub steps_done: u32,
    /// Number of all steps.
    pub steps: u32,
    /// Number of open questions.
    pub questions: u32,
    /// Reason of the failure of a failed job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailReason>,
    /// First work whose last attempt broke and that is attempted again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryView>,
    /// First reason why the job does not move; absent after the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// Kinds of the warnings about work that goes wrong; empty after the end.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub notices: BTreeSet<NoticeKind>,
    /// Cost of the job itself so far. The cost of its children is theirs.
    #[serde(default, skip_serializing_if = "Spent::is_nothing")]
    pub spent: Spent,
    /// Server time of the submission.
    pub created: Timestamp,
    /// Server time of the last record.
    pub updated: Timestamp,
}

impl JobSummary {
    /// Returns `true` if a fault of the installation, and not the job's agents or users, holds the
    /// job.
    #[must_use]
    pub fn needs_attention(&self) -> bool {
        self.sub_status == Some(SubStatus::Poisoned)
            || self.why.as_ref().is_some_and(|why| why.reason.is_fault())
    }
}
