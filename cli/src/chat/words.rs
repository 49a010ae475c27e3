//! The fixed texts of a conversation, in the user's language.

use proto::lang::Language;

/// A fixed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    /// The current task was canceled.
    Canceled,
    /// The command that was carried out was canceled.
    CommandCanceled,
    /// No job runs that could be canceled.
    NothingToCancel,
    /// Nobody is there who talks with a model.
    NoModel,
    /// What was typed was told the task that runs.
    Told,
}

impl Words {
    /// The text.
    pub(crate) fn text(self, language: Language) -> &'static str {
        match (self, language) {
            (Self::Canceled, Language::Zh) => "已取消当前任务。",
            (Self::Canceled, Language::En) => "The current task was canceled.",
            (Self::CommandCanceled, Language::Zh) => "已取消该命令。",
            (Self::CommandCanceled, Language::En) => "The command was canceled.",
            (Self::NothingToCancel, Language::Zh) => "当前没有进行中的任务",
            (Self::NothingToCancel, Language::En) => "There is no task in progress",
            (Self::NoModel, Language::Zh) => {
                "当前未配置 LLM\n斜杠命令（如 /todo、/schedule）仍然可用，输入 /help 查看。"
            }
            (Self::NoModel, Language::En) => {
                "No LLM is configured\nSlash commands such as /todo and /schedule still work; see /help."
            }
            (Self::Told, Language::Zh) => "已转告正在进行的任务。",
            (Self::Told, Language::En) => "The task that runs was told.",
        }
    }
}
