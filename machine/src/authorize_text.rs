//! The reasons for which a plan or call is refused, in the job's language.

use proto::{lang::Language, limits};

/// A plan of several actions where one at a time is decided.
pub(super) fn one_action(language: Language) -> &'static str {
    match language {
        Language::En => "steps: this plan is one action at a time; give one step",
        Language::Zh => "steps：该计划每次只执行一个动作，请只给出一个步骤",
    }
}

/// A call in a turn that offered none.
pub(super) fn no_more_calls(language: Language) -> &'static str {
    match language {
        Language::En => "no more tools can be called; call finish",
        Language::Zh => "不能再调用工具，请调用 finish",
    }
}

pub(super) fn args_no_object(language: Language) -> &'static str {
    match language {
        Language::En => "the arguments must be a JSON object",
        Language::Zh => "参数必须是 JSON 对象",
    }
}

pub(super) fn args_too_deep(language: Language) -> String {
    let max = limits::JSON_DEPTH_MAX;
    match language {
        Language::En => format!("the arguments are nested deeper than {max} levels"),
        Language::Zh => format!("参数嵌套超过 {max} 层"),
    }
}

pub(super) fn not_registered(language: Language, tool: &str) -> String {
    match language {
        Language::En => format!("{tool}: no worker has announced this tool; the call was not sent"),
        Language::Zh => format!("{tool}：没有工作进程声明过该工具，未发送此次调用"),
    }
}

/// A worker claimed of a tool what the registry does not say.
pub(super) fn registered_otherwise(
    language: Language,
    tool: &str,
    field: &str,
    registered: &str,
    claimed: &str,
) -> String {
    match language {
        Language::En => format!(
            "{tool}: its {field} is {registered} in the registry, and the call has {claimed}; the call was not sent"
        ),
        Language::Zh => format!(
            "{tool}：注册表中的 {field} 为 {registered}，而调用中为 {claimed}，未发送此次调用"
        ),
    }
}

/// A call without the approval that the registry asks for.
pub(super) fn approval_missing(language: Language, tool: &str) -> String {
    match language {
        Language::En => format!(
            "{tool}: its approval is always in the registry, and nobody approved the call; the call was not sent"
        ),
        Language::Zh => {
            format!("{tool}：注册表中的 approval 为 always，而此次调用未经批准，未发送")
        }
    }
}
