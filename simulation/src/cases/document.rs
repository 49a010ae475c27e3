//! The YAML of a file with tests of an agent or a workflow, before it is checked.

use std::collections::BTreeMap;

use proto::{
    id::ToolName,
    interaction::{KindOfQuestion, Verdict},
    job::JobState,
    lang::Language,
    tool::{Approval, Effect, Fault},
};
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

/// A whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SuiteDoc {
    #[serde(default)]
    pub(super) agent: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) agents: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) script: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) tools: Vec<Spanned<ToolDoc>>,
    pub(super) cases: Vec<Spanned<CaseDoc>>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolDoc {
    #[serde(default)]
    pub(super) builtin: Option<ToolName>,
    #[serde(default)]
    pub(super) name: Option<ToolName>,
    #[serde(default)]
    pub(super) about: Option<String>,
    #[serde(default)]
    pub(super) schema: Option<Value>,
    #[serde(default)]
    pub(super) effect: Option<Effect>,
    #[serde(default)]
    pub(super) approval: Approval,
    #[serde(default)]
    pub(super) destructive: bool,
    #[serde(default)]
    pub(super) untrusted: bool,
    #[serde(default)]
    pub(super) careless: bool,
    #[serde(default)]
    pub(super) results: Vec<ResultDoc>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResultDoc {
    #[serde(default)]
    pub(super) when: Option<Value>,
    #[serde(default)]
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) delay_ms: u64,
    #[serde(default)]
    pub(super) cost: Option<f64>,
    #[serde(default)]
    pub(super) ok: Option<Value>,
    #[serde(default)]
    pub(super) failed: Option<String>,
    #[serde(default)]
    pub(super) fault: Option<Fault>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CaseDoc {
    pub(super) name: String,
    #[serde(default)]
    pub(super) goal: String,
    #[serde(default)]
    pub(super) input: Option<Value>,
    #[serde(default)]
    pub(super) plan: Option<Value>,
    #[serde(default)]
    pub(super) language: Option<Language>,
    #[serde(default)]
    pub(super) confirm: Option<bool>,
    #[serde(default)]
    pub(super) deadline_ms: Option<u64>,
    #[serde(default)]
    pub(super) script: Option<Spanned<Value>>,
    #[serde(default)]
    pub(super) tools: Vec<Spanned<ToolDoc>>,
    #[serde(default)]
    pub(super) answers: Vec<AnswerDoc>,
    #[serde(default)]
    pub(super) expect: ExpectDoc,
}

/// The answer of the people of a case to some questions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerDoc {
    #[serde(default)]
    pub(super) kind: Option<KindOfQuestion>,
    #[serde(default)]
    pub(super) prompt: Option<String>,
    #[serde(default)]
    pub(super) tool: Option<ToolName>,
    #[serde(default)]
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) decision: Option<Verdict>,
    #[serde(default)]
    pub(super) value: Option<Value>,
    #[serde(default)]
    pub(super) text: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExpectDoc {
    pub(super) state: Option<JobState>,
    pub(super) result: Option<ResultExpected>,
    pub(super) steps: BTreeMap<String, Value>,
    pub(super) path: Option<PathDoc>,
    pub(super) visits: Option<PathDoc>,
    pub(super) output: Option<Value>,
    pub(super) calls: Vec<CallDoc>,
    pub(super) not_called: Vec<ToolName>,
    pub(super) effects: BTreeMap<ToolName, u32>,
    pub(super) questions: Option<Bound<u64>>,
    pub(super) turns: Option<Bound<u64>>,
    pub(super) tokens: Option<Bound<u64>>,
    pub(super) cost: Option<Bound<f64>>,
}

/// The expected final answer; every condition must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ResultExpected {
    pub(super) text: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) matches: Option<String>,
    pub(super) json: Option<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct PathDoc {
    pub(super) exactly: Option<Vec<String>>,
    pub(super) includes: Option<Vec<String>>,
}

/// An expected call: the tool, and some of its arguments.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallDoc {
    pub(super) tool: ToolName,
    #[serde(default)]
    pub(super) args: Value,
}

/// The bounds of a number, both included.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bound<N> {
    #[serde(default)]
    pub(super) min: Option<N>,
    #[serde(default)]
    pub(super) max: Option<N>,
}
