//! What the machine itself says to agents and people, in the job's language.

use proto::lang::Language;

/// A question's limit is reached.
pub(super) fn no_more_questions(language: Language) -> &'static str {
    match language {
        Language::En => "No more questions may be asked. Go on with what you know.",
        Language::Zh => "不能再提问。请根据已有信息继续。",
    }
}

/// A `once` tool was caught in the middle.
pub(super) fn effect_unknown(language: Language, why: &str) -> String {
    match language {
        Language::En => {
            format!("It is not known whether this had its effect, and it is not run again: {why}")
        }
        Language::Zh => format!("无法确认该操作是否已生效，系统不会自动重试：{why}"),
    }
}

/// A person did not agree to a call.
pub(super) fn not_approved(language: Language, reason: &str) -> String {
    match (language, reason.is_empty()) {
        (Language::En, true) => "A person did not approve this call.".to_owned(),
        (Language::En, false) => format!("A person did not approve this call: {reason}"),
        (Language::Zh, true) => "用户未批准此次调用。".to_owned(),
        (Language::Zh, false) => format!("用户未批准此次调用：{reason}"),
    }
}

/// A person declined to answer.
pub(super) fn declined(language: Language, reason: &str) -> String {
    match (language, reason.is_empty()) {
        (Language::En, true) => "The person declined to answer.".to_owned(),
        (Language::En, false) => format!("The person declined to answer: {reason}"),
        (Language::Zh, true) => "用户拒绝回答。".to_owned(),
        (Language::Zh, false) => format!("用户拒绝回答：{reason}"),
    }
}

/// Nobody answered in time.
pub(super) fn expired(language: Language) -> &'static str {
    match language {
        Language::En => "Nobody answered in time.",
        Language::Zh => "在期限内没有收到回答。",
    }
}

/// The prompt of a plan's confirmation.
pub(super) fn confirm_plan(language: Language, title: &str, steps: usize) -> String {
    match language {
        Language::En => format!("Carry out this plan of {steps} steps? {title}"),
        Language::Zh => format!("是否执行该计划（共 {steps} 个步骤）？{title}"),
    }
}

/// The prompt of a tool call's approval.
pub(super) fn approve_call(language: Language, tool: &str) -> String {
    match language {
        Language::En => format!("May the tool {tool} be called with these arguments?"),
        Language::Zh => format!("是否允许以这些参数调用工具 {tool}？"),
    }
}

/// The planner's replies could not be used.
pub(super) fn confused(language: Language, error: &str) -> String {
    match language {
        Language::En => {
            format!("No usable plan was made ({error}). What should be done differently?")
        }
        Language::Zh => format!("未能生成可用的计划（{error}）。请补充说明或调整要求。"),
    }
}

/// A run used up its turns.
pub(super) fn turns_used_up(language: Language, turns: u32) -> String {
    match language {
        Language::En => format!("no result within {turns} model turns"),
        Language::Zh => format!("在 {turns} 轮模型调用内没有得到结果"),
    }
}

/// A placeholder cannot be resolved.
pub(super) fn unresolved(language: Language, what: &str) -> String {
    match language {
        Language::En => format!("cannot resolve the variable {what}"),
        Language::Zh => format!("无法解析变量：{what}"),
    }
}

/// A step failed.
pub(super) fn step_failed(language: Language, step: &str, error: &str) -> String {
    match language {
        Language::En => format!("step {step} failed: {error}"),
        Language::Zh => format!("步骤 {step} 失败: {error}"),
    }
}

/// All steps are done.
pub(super) fn succeeded(language: Language, steps: usize) -> String {
    match (language, steps) {
        (Language::En, 0) => "There was nothing to do.".to_owned(),
        (Language::En, 1) => "Carried out 1 step:".to_owned(),
        (Language::En, n) => format!("Carried out {n} steps:"),
        (Language::Zh, 0) => "没有需要执行的步骤。".to_owned(),
        (Language::Zh, n) => format!("成功执行 {n} 个步骤："),
    }
}

/// No plan was made.
pub(super) fn plan_failed(language: Language, error: &str) -> String {
    match language {
        Language::En => format!("no usable plan was made: {error}"),
        Language::Zh => format!("计划执行服务暂时不可用：{error}"),
    }
}

/// The job's deadline passed.
pub(super) fn deadline_passed(language: Language) -> &'static str {
    match language {
        Language::En => "the job's deadline passed",
        Language::Zh => "任务已超过截止时间",
    }
}

/// Replans are used up.
pub(super) fn replans_used_up(language: Language, max: u32, error: &str) -> String {
    match language {
        Language::En => format!("the plan was made anew {max} times and still failed: {error}"),
        Language::Zh => format!("已重新规划 {max} 次仍然失败：{error}"),
    }
}

/// The job's log is full.
pub(super) fn history_full(language: Language, records: u64) -> String {
    match language {
        Language::En => format!("the job's log has reached {records} records"),
        Language::Zh => format!("任务日志已达到 {records} 条记录"),
    }
}
