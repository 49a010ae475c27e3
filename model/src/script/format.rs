//! The YAML format of a script, before compilation.

use proto::effort::Effort;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_saphyr::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScriptDoc {
    #[serde(default)]
    pub(super) models: Vec<String>,
    #[serde(default)]
    pub(super) stream: StreamDoc,
    #[serde(default)]
    pub(super) rules: Vec<Spanned<RuleDoc>>,
    #[serde(default, rename = "else")]
    pub(super) otherwise: Option<Spanned<ReplyDoc>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleDoc {
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) when: WhenDoc,
    #[serde(default)]
    pub(super) times: Option<u32>,
    #[serde(default)]
    pub(super) reply: Option<ReplyDoc>,
    #[serde(default)]
    pub(super) fault: Option<FaultDoc>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct WhenDoc {
    pub(super) role: Option<RoleDoc>,
    pub(super) system: Option<Spanned<String>>,
    pub(super) last: Option<Spanned<String>>,
    pub(super) any: Option<Spanned<String>>,
    pub(super) tool_result: Option<ToolResultDoc>,
    pub(super) turn: Option<u32>,
    pub(super) offers: Option<String>,
    pub(super) model: Option<Spanned<String>>,
    pub(super) temperature: Option<f64>,
    pub(super) top_p: Option<f64>,
    pub(super) effort: Option<Effort>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RoleDoc {
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolResultDoc {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) content: Option<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ReplyDoc {
    pub(super) text: Option<String>,
    pub(super) json: Option<Value>,
    pub(super) thought: Option<String>,
    pub(super) calls: Vec<CallDoc>,
    pub(super) raw: bool,
    pub(super) stream: Option<StreamDoc>,
    pub(super) finish: Option<FinishDoc>,
    pub(super) usage: Option<UsageDoc>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallDoc {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) args: Option<Value>,
    #[serde(default)]
    pub(super) id: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct StreamDoc {
    pub(super) chunk: Option<usize>,
    pub(super) delay_ms: u64,
    pub(super) first_delay_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FinishDoc {
    Stop,
    ToolCalls,
    Length,
    ContentFilter,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UsageDoc {
    pub(super) input: u64,
    pub(super) output: u64,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FaultDoc {
    pub(super) status: Option<u16>,
    pub(super) retry_after: Option<u64>,
    pub(super) code: Option<String>,
    pub(super) malformed: bool,
    pub(super) cut: bool,
    pub(super) hang: Option<HangDoc>,
    pub(super) drop: Option<DropDoc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HangDoc {
    FirstToken,
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DropDoc {
    Start,
    Middle,
}
