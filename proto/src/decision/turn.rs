//! The command of a model turn, with the context that the model receives.

use serde::{Deserialize, Serialize};

use crate::{
    asking::AskKinds,
    conversation::Exchange,
    effort::Effort,
    fallback::Fallback,
    family::Offered,
    file::FileTold,
    id::{Attempt, Seq, StepId, ToolName, WorkId},
    lang::Language,
    notice::Notice,
    observe::{Summary, Window},
    outline::Item,
    output::OutputSchema,
    preset::Presets,
    step::StepState,
};

/// The command to take one model turn of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TurnWork {
    /// Unit of work.
    pub work: WorkId,
    /// Attempt at the unit.
    pub attempt: Attempt,
    /// Step that the turn belongs to.
    pub step: StepId,
    /// Number of this turn in the step's run, from 1.
    pub turn: u32,
    /// Bound on the turns of the run. The last turn offers no tools.
    pub max_turns: u32,
    /// Language of the prompts and replies.
    pub language: Language,
    /// Model settings.
    #[serde(flatten)]
    pub model: ModelChoice,
    /// `true` if the model may still ask a question.
    pub may_ask: bool,
    /// Kinds of question that the model may ask.
    #[serde(default, skip_serializing_if = "AskKinds::is_all")]
    pub ask_kinds: AskKinds,
    /// Task of the step; present in the first turn of a run only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<StepTask>,
    /// Intended items of the step's loop. The tools that change the list are offered exactly when
    /// this field is present.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outline: Option<Vec<Item>>,
    /// Record of the previous turn's accepted result; absent in the first turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Seq>,
    /// Results of the previous turn's calls, in the model's order; empty in the first turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<CallReply>,
    /// Guards' notices for the model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// Instructions of users since the run's previous turn; in the first turn, all instructions so
    /// far.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// `true` if the model must end the step: no other tool is offered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_answer: bool,
    /// Bound on the calls of this turn that run; the general bound on a turn's calls when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Bounds on the part of the conversation that the prompt includes.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub window: Window,
    /// `true` if a conversation that exceeds the context may be summarised first. The reply is then
    /// the summary, and the turn follows in a new command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summarise: bool,
    /// Summary for this turn. It stays in the conversations of the run's later turns until a newer
    /// one replaces it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// `true` for the only turn of a workflow's node: the prompt is the node's own, and no tool is
    /// offered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub node: bool,
    /// JSON Schema of the reply of a node, or of the job's result when the turn is to give it. No tool
    /// is offered then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSchema>,
}

impl TurnWork {
    /// Returns whether nobody has tried this turn before, in this job or before a rollback.
    #[must_use]
    pub fn is_first_try(&self) -> bool {
        self.attempt == Attempt::FIRST && self.work.generation().is_first()
    }
}

/// The task of a step, with its context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepTask {
    /// Goal of the job.
    pub goal: String,
    /// Title of the step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Description of the step.
    pub description: String,
    /// Ends of the steps that it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<StepEnd>,
    /// Earlier jobs of the conversation, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Exchange>,
    /// Files of the submission.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTold>,
    /// Error of the previous run, when this is not the first run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_error: Option<String>,
}

/// The reply to one call of a turn, in the form that the model receives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CallReply {
    /// Id that the model gave the call.
    pub id: String,
    /// Name of the tool, as the model wrote it.
    pub name: String,
    /// Result as JSON, a user's answer, or the error for which nothing ran.
    pub text: String,
    /// Reference to the whole result, when `text` has only its ends and the result may be
    /// summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<FullResult>,
}

/// A reference to a call's result that is longer than its excerpt for the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FullResult {
    /// Unit of work of the call.
    pub work: WorkId,
    /// Attempt with the accepted result.
    pub attempt: Attempt,
}

/// The settings of a model call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ModelChoice {
    /// Model name; the configured model when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Models to ask, in this order, if the model does not answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Fallback>,
    /// Sampling temperature; the provider's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling; the provider's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Effort of the model's reasoning; the provider's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Text before every prompt; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// Tools that the model may use; all registered tools when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Fixed arguments of tools. The model does not see them, and its calls must not include them.
    #[serde(default, skip_serializing_if = "Presets::is_empty")]
    pub presets: Presets,
    /// Agents that the model may delegate to. Each is offered as a tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Offered>,
}

/// The end of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StepEnd {
    /// Id of the step.
    pub id: StepId,
    /// Final state.
    pub state: StepState,
    /// Result or error, truncated to [`crate::limits::EXCERPT_CHARS`] at each end.
    pub response: String,
    /// `true` if the step completed and its agent reported that its purpose was not achieved.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsuccessful: bool,
    /// Files and addresses that belong to the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
}
