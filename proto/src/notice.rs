//! What the machine has to say to a model beside its task: that a tool keeps failing, that it goes
//! round in circles, that something runs out. Stored with the command, told in the job's language.

use serde::{Deserialize, Serialize};

use crate::{budget::Gauge, lang::Language};

/// Something a model is told, and people see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Notice {
    /// A tool failed again and again.
    ToolFailure {
        /// The name as the model wrote it.
        tool: String,
        /// How often in a row.
        times: u32,
    },
    /// A tool was called with the same arguments again and again.
    Repeated {
        /// The name as the model wrote it.
        tool: String,
        /// In how many turns.
        times: u32,
        /// Whether nothing but an answer is taken now.
        must_answer: bool,
    },
    /// Nothing new came of some turns, or rounds of planning.
    NoProgress {
        /// How many.
        turns: u32,
    },
    /// The model called tools when nothing but an answer was wanted.
    NoAnswer,
    /// Something runs out.
    BudgetLow {
        /// What, and how far.
        #[serde(flatten)]
        gauge: Gauge,
    },
}

impl Notice {
    /// The words.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        match language {
            Language::En => self.en(),
            Language::Zh => self.zh(),
        }
    }

    fn en(&self) -> String {
        match self {
            Self::ToolFailure { tool, times } => format!(
                "tool_failure: the tool {tool} has failed {times} times in a row. Change the arguments, use another tool, or end with `success: false` and the reason."
            ),
            Self::Repeated { tool, times, must_answer: false } => format!(
                "{tool} was called {times} times with the same arguments. Its results are above: do not call it so again."
            ),
            Self::Repeated { tool, times, must_answer: true } => format!(
                "{tool} was called {times} times with the same arguments. No more tools can be called: answer with what you have."
            ),
            Self::NoProgress { turns } => format!("no progress: nothing new came of {turns} turns"),
            Self::NoAnswer => "tools were called where only an answer was wanted".to_owned(),
            Self::BudgetLow { gauge } => format!(
                "The budget runs out: {} are used. Come to an end with what you have.",
                gauge.text(Language::En)
            ),
        }
    }

    fn zh(&self) -> String {
        match self {
            Self::ToolFailure { tool, times } => format!(
                "tool_failure：工具 {tool} 已连续失败 {times} 次。请更换参数、改用其他工具，或用 `success: false` 结束并说明原因。"
            ),
            Self::Repeated { tool, times, must_answer: false } => {
                format!("已用相同参数调用 {tool} {times} 次，结果见上文，请勿再次重复调用。")
            }
            Self::Repeated { tool, times, must_answer: true } => {
                format!("已用相同参数调用 {tool} {times} 次，不能再调用工具，请用已有的结果作答。")
            }
            Self::NoProgress { turns } => format!("没有进展：{turns} 轮没有得到新的结果"),
            Self::NoAnswer => "在只需作答时仍然调用了工具".to_owned(),
            Self::BudgetLow { gauge } => {
                format!(
                    "预算即将用尽：已使用 {}。请用已有的结果尽快收尾。",
                    gauge.text(Language::Zh)
                )
            }
        }
    }
}
