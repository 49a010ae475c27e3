//! The commands to make a plan and to call a tool.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    detect::Detect,
    turn::{ModelChoice, StepEnd},
};
use crate::{
    agent::Hosts,
    asking::AskKinds,
    conversation::Exchange,
    fact::{AskedKind, PlanNote},
    file::FileTold,
    id::{AskId, Attempt, Pool, StepId, ToolName, WorkId},
    lang::Language,
    notice::Notice,
    observe::Window,
    plan::Plan,
    policy::{PlanOutput, PlanProtocol},
    revision::Cause,
    tool::Effect,
    work_error::WorkError,
};

/// The command to make a plan, with everything that a planner needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PlanWork {
    /// Unit of work.
    pub work: WorkId,
    /// Attempt at the unit.
    pub attempt: Attempt,
    /// Goal of the job.
    pub goal: String,
    /// Language of the prompts and the plan.
    pub language: Language,
    /// Model settings.
    #[serde(flatten)]
    pub model: ModelChoice,
    /// `true` if the planner may still ask a question.
    pub may_ask: bool,
    /// Kinds of question that the planner may ask.
    #[serde(default, skip_serializing_if = "AskKinds::is_all")]
    pub ask_kinds: AskKinds,
    /// Form of planning, such as a whole plan or one action at a time.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub protocol: PlanProtocol,
    /// Output form in which the model returns the plan.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub output: PlanOutput,
    /// `true` if the planner may answer the goal directly, with a plan without steps and a message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_empty: bool,
    /// Detection whether the goal needs a plan, while this is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detect: Option<Detect>,
    /// Exchanges with the planner since the submission, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dialogue: Vec<PlanTalk>,
    /// Earlier jobs of the conversation, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Exchange>,
    /// Files of the submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTold>,
    /// Guards' notices for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Bounds on the part of the dialogue that the prompt includes.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub window: Window,
}

impl PlanWork {
    /// Returns whether nobody has tried this work before, in this job or before a rollback.
    #[must_use]
    pub fn is_first_try(&self) -> bool {
        self.attempt == Attempt::FIRST && self.work.generation().is_first()
    }
}

/// An exchange between a job and its planner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlanTalk {
    /// The planner asked a question, and a user answered.
    Asked {
        /// Text of the question.
        question: String,
        /// Choice or form that the planner asked for; absent for a free text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<AskedKind>,
        /// Answer, as text.
        answer: String,
    },
    /// A user requested a change of the plan.
    Revised {
        /// Plan that the user saw.
        plan: Plan,
        /// Request, in the user's words.
        words: String,
    },
    /// The planner's reply could not be used.
    Rejected {
        /// Reply, truncated.
        reply: String,
        /// Error in the reply.
        error: String,
    },
    /// The plan's steps have started, and the rest of the plan is being replanned.
    Progressed {
        /// Plan that has started.
        plan: Plan,
        /// Ends of its steps, in the order in which they ended.
        steps: Vec<StepEnd>,
        /// Steps that have not ended and stay in the plan. The new steps are added to them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<StepId>,
        /// Cause of the replan.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        because: Cause,
    },
    /// A user instructed the running job.
    Steered {
        /// Instruction, in the user's words.
        words: String,
    },
    /// The planner noted its intentions or progress. No step ran for the note.
    Noted {
        /// Content of the note.
        #[serde(flatten)]
        note: PlanNote,
    },
}

/// The command to call a tool, with everything that a tool worker needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallWork {
    /// Unit of work.
    pub work: WorkId,
    /// Attempt at the unit.
    pub attempt: Attempt,
    /// Step that the call belongs to.
    pub step: StepId,
    /// Tool to call.
    pub tool: ToolName,
    /// Version of the tool that the planner or the approver saw.
    pub version: String,
    /// Pool of the toolset that has the tool.
    pub pool: Pool,
    /// Effect class, which says whether the call may be repeated.
    pub effect: Effect,
    /// `true` if a call removes or overwrites something, as the planner or the approver saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub destructive: bool,
    /// `true` if results hold content from outside, as the planner or the model saw.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
    /// Arguments, with placeholders resolved.
    pub args: Value,
    /// Key that is the same for all attempts. A tool passes it to the service on which it has an
    /// effect.
    pub idempotency_key: String,
    /// Language of the job, for the tool's texts.
    #[serde(default)]
    pub language: Language,
    /// Digest of the approved call, when a user approved it. The worker compares it with the call
    /// that it is about to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// Question whose remembered approval covers the call; absent when the call was approved by
    /// itself or needed no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembered: Option<AskId>,
    /// The only hosts that the tool may send requests to; `None` for no rule of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<Hosts>,
    /// Refusal by the supervisor, when the registry contradicts the worker's claim about the tool
    /// or a rule of the agent denies the call.
    /// No pool takes such a call, and the attempt ends with this error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<WorkError>,
}
