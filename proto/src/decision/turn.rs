//! The command of a model turn, and what models are told. Nothing here puts a conversation together.

use serde::{Deserialize, Serialize};

use crate::{
    asking::AskKinds,
    conversation::Exchange,
    family::Offered,
    file::FileTold,
    id::{Attempt, Seq, StepId, ToolName, WorkId},
    lang::Language,
    notice::Notice,
    observe::{Summary, Window},
    outline::Item,
    preset::Presets,
    step::StepState,
};

/// Take one model turn of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnWork {
    /// The unit of work.
    pub work: WorkId,
    /// The try.
    pub attempt: Attempt,
    /// The step.
    pub step: StepId,
    /// Which turn of the step's run this is; the first is 1.
    pub turn: u32,
    /// How many turns the run may have; in the last one no tools are offered.
    pub max_turns: u32,
    /// The language to speak.
    pub language: Language,
    /// The model and its frame.
    #[serde(flatten)]
    pub model: ModelChoice,
    /// Whether the model may still ask a person.
    pub may_ask: bool,
    /// What kinds of question.
    #[serde(default, skip_serializing_if = "AskKinds::is_all")]
    pub ask_kinds: AskKinds,
    /// What the step is for: in the first turn of a run, and only there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<StepTask>,
    /// What the step's loop intends, where it keeps a list of its own: it is offered the tools for
    /// that exactly when this is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outline: Option<Vec<Item>>,
    /// In later turns: the record of the turn before, as it counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Seq>,
    /// In later turns: what came of the calls of the turn before, in the model's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<CallReply>,
    /// What the model is told beside the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
    /// What people told the running job since the turn before of this run: all of it in the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<String>,
    /// Whether the model must answer: nothing is offered but the end of the step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub must_answer: bool,
    /// Calls that are carried out of this turn; all that a turn may have when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// How much of the conversation the model is shown.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub window: Window,
    /// Whether what there is no room for may first be summarised: the reply is the summary then, and
    /// the turn is taken after that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summarise: bool,
    /// What was summarised for this turn. It stands in the conversations of all later ones of the
    /// run, too, until there is a newer one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
}

/// What a step is for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTask {
    /// The job's goal.
    pub goal: String,
    /// The step's title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The step's description.
    pub description: String,
    /// The results of the steps it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<StepEnd>,
    /// Earlier jobs of the conversation, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Exchange>,
    /// Files that came with the job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileTold>,
    /// Why the run before failed, when this is not the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_error: Option<String>,
}

/// What came of one call of a turn, as the model is told it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReply {
    /// The model's id for the call.
    pub id: String,
    /// The name as the model wrote it.
    pub name: String,
    /// The reply: JSON of the result, a person's answer, or why nothing was run.
    pub text: String,
    /// Where the result stands as the tool gave it, when only its ends are here and it may be
    /// summarised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Whole>,
}

/// The attempt of a call whose result is longer than what a model is told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Whole {
    /// The unit of work.
    pub work: WorkId,
    /// The attempt that ended it.
    pub attempt: Attempt,
}

/// Which model is asked, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// The model, or the configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Sampling temperature, or the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling, or the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Words put before every prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system: String,
    /// Tools it may use; all registered ones when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<ToolName>>,
    /// Arguments that are fixed: the model is not shown them, and no call of it may have them.
    #[serde(default, skip_serializing_if = "Presets::is_empty")]
    pub presets: Presets,
    /// Agents that tasks may be handed to; called like tools.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Offered>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepEnd {
    /// The step.
    pub id: StepId,
    /// Its last state.
    pub state: StepState,
    /// Its result or its error, cut to [`crate::limits::EXCERPT_CHARS`] at each end.
    pub response: String,
    /// Whether it completed although its agent reported that it did not reach what it was for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsuccessful: bool,
    /// Files and addresses that belong to its result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
}
