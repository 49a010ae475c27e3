//! A job as people and programs look at it: what the fold knows, without its bookkeeping.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    budget::Gauge,
    cost::ToolCost,
    family::{ChildView, Parent},
    file::FileTold,
    id::{AgentName, ConversationId, Generation, JobId, Seq, SnapshotName, StepId, ToolName},
    interaction::Question,
    job::{JobState, Outcome, SubStatus},
    lang::Language,
    message::Usage,
    notice::Notice,
    outline::Item,
    policy::Detected,
    revision::{Instruction, Revision},
    step::StepState,
};

/// A job at one position of its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobView {
    /// The job.
    pub job: JobId,
    /// Its state.
    pub state: JobState,
    /// What it is busy with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_status: Option<SubStatus>,
    /// Why it is where it is: what it waits for, why it is poisoned, why it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is to be reached.
    pub goal: String,
    /// The agent.
    pub agent: AgentName,
    /// The language it speaks.
    pub language: Language,
    /// Files that came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTold>,
    /// The plan in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
    /// What was found out about the goal: whether it needs a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<Detected>,
    /// What is intended, where it is planned one action at a time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// Every plan that has been in force, as a change of the one before; empty as long as there has
    /// been one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<Revision>,
    /// What people told the job while it ran, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instruction>,
    /// Questions that wait for a person, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The job it works for, when it is the child of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Box<Parent>>,
    /// Jobs that work for it or did, by their unit of work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildView>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// Tokens so far.
    pub usage: Usage,
    /// What its tools cost so far, by tool; those that cost nothing are not named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolCost>,
    /// How far what it may spend is used, one line for each limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub budget: Vec<Gauge>,
    /// The conversation it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// How often it was rolled back, and that of the job it was forked from counted in.
    #[serde(default, skip_serializing_if = "Generation::is_first")]
    pub generation: Generation,
    /// The job that it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Origin>,
    /// Points of its log that people gave names, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snapshots: Vec<Snapshot>,
    /// Results that came too late, twice, or from somewhere else, and changed nothing.
    pub ignored: u64,
    /// Records in its log.
    pub records: u64,
    /// The last record this view has seen.
    pub seq: Seq,
    /// When it was submitted, by the server's clock.
    pub created: Timestamp,
    /// When its last record was stored, by the server's clock.
    pub updated: Timestamp,
}

/// A point of a job's log that a person gave a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The name.
    pub name: SnapshotName,
    /// The record that gave it: the job as it was then.
    pub seq: Seq,
    /// When that was stored, by the server's clock.
    pub time: Timestamp,
}

/// Where a job was forked from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The other job.
    pub job: JobId,
    /// The last of its records that was taken along.
    pub seq: Seq,
}

/// A plan with the state of its steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanView {
    /// What the plan is for.
    pub title: String,
    /// How many plans there have been before it.
    pub revision: u32,
    /// Whether a person has confirmed it, or nobody needs to.
    pub confirmed: bool,
    /// Its steps; steps of earlier plans that have completed come first.
    pub steps: Vec<StepView>,
}

/// A step and how it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepView {
    /// The step.
    pub id: StepId,
    /// A few words.
    pub title: String,
    /// What is to be done.
    pub description: String,
    /// What it comes after.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<StepId>,
    /// The tool, for steps that are one tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<ToolName>,
    /// Where it stands.
    pub state: StepState,
    /// Whether its result says success; absent until it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    /// Its result or error, cut for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<String>,
    /// Files and addresses that belong to its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// Attempts so far.
    pub attempts: u32,
    /// Model turns so far.
    pub turns: u32,
    /// Tool calls, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallView>,
    /// What its guards saw last: what the model is told now, or why its run was ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// What its loop intends, where it keeps a list of its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outline: Vec<Item>,
    /// When it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
}

/// A tool call of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallView {
    /// The tool.
    pub tool: String,
    /// Where it stands.
    pub state: CallState,
    /// How often it was tried.
    pub attempts: u32,
    /// What it said, cut for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It waits for a person to agree, or for the clock.
    Waiting,
    /// It is queued or runs.
    Running,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// It is not known whether it had its effect.
    Unknown,
}

/// A line of a list of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobSummary {
    /// The job.
    pub job: JobId,
    /// Its state.
    pub state: JobState,
    /// What it is busy with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_status: Option<SubStatus>,
    /// The goal, cut to one line.
    pub goal: String,
    /// The agent.
    pub agent: AgentName,
    /// The conversation it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<ConversationId>,
    /// The job it works for, when it is the child of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<JobId>,
    /// Steps that are done: completed, or dropped by a later plan.
    pub steps_done: u32,
    /// Steps in all.
    pub steps: u32,
    /// Open questions.
    pub questions: u32,
    /// When it was submitted.
    pub created: Timestamp,
    /// When its last record was stored.
    pub updated: Timestamp,
}
