//! What the executor itself tells a model that is wrong with a call: fixed texts, in the job's
//! language. Names and what schemas say stay as they are.

use proto::{lang::Language, limits};

/// `finish` or `stop` stands beside other calls.
pub(crate) fn alone(language: Language, name: &str) -> String {
    match language {
        Language::En => format!("{name} must be called alone, when nothing else is to be done"),
        Language::Zh => format!("{name} 必须在其他事情都完成后单独调用"),
    }
}

/// A tool was called in the last turn.
pub(crate) fn no_more_tools(language: Language) -> String {
    match language {
        Language::En => "no more tools can be called; call finish",
        Language::Zh => "不能再调用工具，请调用 finish",
    }
    .to_owned()
}

/// No question may be asked any more.
pub(crate) fn no_more_questions(language: Language) -> String {
    match language {
        Language::En => "no more questions can be asked; go on with what is known",
        Language::Zh => "不能再提问，请根据已有信息继续",
    }
    .to_owned()
}

/// More calls than one turn can have.
pub(crate) fn too_many_calls(language: Language) -> String {
    let max = limits::CALLS_PER_TURN_MAX;
    match language {
        Language::En => format!("only {max} calls can be made in one turn"),
        Language::Zh => format!("每轮最多调用 {max} 次"),
    }
}

/// Arguments that do not fit a tool's schema.
pub(crate) fn misfit(language: Language, tool: &str, why: &str) -> String {
    match language {
        Language::En => format!("the arguments of {tool} do not fit: {why}"),
        Language::Zh => format!("{tool} 的参数不符合要求：{why}"),
    }
}

/// What is wrong with the arguments of `finish`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// They are no object.
    NoObject,
    /// One that is none, by its name.
    Extra(String),
    /// `success` is missing or no boolean.
    Success,
    /// `response` is missing or no text.
    Response,
    /// `attachments` are no names.
    Attachments,
}

impl Unfinished {
    /// What is wrong, in a language.
    pub(crate) fn text(&self, language: Language) -> String {
        let (most, long) = (limits::ATTACHMENTS_MAX, limits::ATTACHMENT_BYTES_MAX);
        match (self, language) {
            (Self::NoObject, Language::En) => {
                "finish: the arguments must be a JSON object".to_owned()
            }
            (Self::NoObject, Language::Zh) => "finish：参数必须是 JSON 对象".to_owned(),
            (Self::Extra(name), Language::En) => format!("finish: {name}: is not an argument"),
            (Self::Extra(name), Language::Zh) => format!("finish：{name}：没有这个参数"),
            (Self::Success, Language::En) => "finish: success: must be true or false".to_owned(),
            (Self::Success, Language::Zh) => "finish：success：必须是 true 或 false".to_owned(),
            (Self::Response, Language::En) => "finish: response: must be a text".to_owned(),
            (Self::Response, Language::Zh) => "finish：response：必须是文本".to_owned(),
            (Self::Attachments, Language::En) => format!(
                "finish: attachments: must be at most {most} paths or addresses of 1 to {long} bytes"
            ),
            (Self::Attachments, Language::Zh) => {
                format!("finish：attachments：最多 {most} 个路径或网址，每个 1 到 {long} 字节")
            }
        }
    }
}
