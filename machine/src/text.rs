//! What the machine itself says to agents and people, in the job's language.

use proto::{
    budget::{Axis, Gauge},
    job::FailReason,
    lang::Language,
    limits,
    notice::Notice,
};

/// A question's limit is reached.
pub(super) fn no_more_questions(language: Language) -> &'static str {
    match language {
        Language::En => "No more questions may be asked. Go on with what you know.",
        Language::Zh => "不能再提问。请根据已有信息继续。",
    }
}

/// As many questions are open as there may be at a time.
pub(super) fn too_many_open_questions(language: Language) -> String {
    let max = proto::limits::OPEN_QUESTIONS_MAX;
    match language {
        Language::En => format!(
            "{max} questions of this job wait for an answer; no more may be open at a time. Go on with what you know."
        ),
        Language::Zh => {
            format!("本任务已有 {max} 个问题在等待回答，不能再提问。请根据已有信息继续。")
        }
    }
}

/// An agent's question, with the words that say that an answer is waited for.
pub(super) fn please_confirm(language: Language, question: &str) -> String {
    match language {
        Language::En => format!("Please confirm: {question}"),
        Language::Zh => format!("请确认：{question}"),
    }
}

/// An agent asks what has been answered.
pub(super) fn asked_before(language: Language, answer: &str) -> String {
    match language {
        Language::En => {
            format!("This was asked and answered before. Go on with the answer: {answer}")
        }
        Language::Zh => {
            format!("这个问题已经问过，用户的回答是：{answer}。请据此继续，不要重复提问。")
        }
    }
}

/// An agent asked again and again what had been answered.
pub(super) fn asked_again_and_again(language: Language) -> &'static str {
    match language {
        Language::En => "The plan could not be made anew; please use /todo or /schedule directly",
        Language::Zh => "无法完成重规划，请直接用 /todo 或 /schedule",
    }
}

/// Agents asked more questions than they may.
pub(super) fn asked_too_often(language: Language) -> &'static str {
    match language {
        Language::En => {
            "Too many questions had to be asked; please use /todo or /schedule directly"
        }
        Language::Zh => "澄清次数过多，请直接用 /todo 或 /schedule",
    }
}

/// The list a loop keeps was changed.
pub(super) fn outline_taken(language: Language) -> &'static str {
    match language {
        Language::En => "The plan is kept.",
        Language::Zh => "计划已更新。",
    }
}

/// The planner said something that is no plan where one is wanted.
pub(super) fn needs_a_plan(language: Language) -> &'static str {
    match language {
        Language::En => "A plan is needed here; reply with one.",
        Language::Zh => "这里需要一个计划，请给出计划。",
    }
}

/// The planner goes on and on, and nothing can be carried out.
pub(super) fn only_thoughts(language: Language, rounds: usize) -> String {
    match language {
        Language::En => format!("no action was chosen in {rounds} rounds of planning"),
        Language::Zh => format!("连续 {rounds} 轮规划都没有给出可执行的动作"),
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
        // Also of one: recorded logs hold these words, and what follows from a log stays what it was.
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

/// The planner's replies could not be used. The last one comes first: often it is a question.
pub(super) fn confused(language: Language, reply: &str, error: &str) -> String {
    let reply = proto::excerpt::ends(reply.trim(), limits::EXCERPT_CHARS);
    let asked = match language {
        Language::En => {
            format!("No usable plan was made ({error}). What should be done differently?")
        }
        Language::Zh => format!("未能生成可用的计划（{error}）。请补充说明或调整要求。"),
    };
    if reply.is_empty() { asked } else { format!("{reply}\n\n{asked}") }
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

/// What looks like a placeholder is none.
pub(super) fn malformed(language: Language, written: &str) -> String {
    let written = proto::excerpt::ends(written, 60);
    match language {
        Language::En => format!("{written}: this is not how a placeholder is written"),
        Language::Zh => format!("{written}（占位符格式有误）"),
    }
}

/// A step failed.
pub(super) fn step_failed(language: Language, step: &str, error: &str) -> String {
    match language {
        Language::En => format!("step {step} failed: {error}"),
        Language::Zh => format!("步骤 {step} 失败: {error}"),
    }
}

/// A job completed with what it has: what failed, and what was skipped for that.
pub(super) fn without(language: Language, summary: &str, failed: &str, skipped: &[&str]) -> String {
    match (language, skipped) {
        (Language::En, []) => format!("{summary}\nWithout what failed: {failed}"),
        (Language::En, skipped) => {
            format!("{summary}\nWithout what failed: {failed}; skipped: {}", skipped.join(", "))
        }
        (Language::Zh, []) => format!("{summary}\n其中未完成：{failed}"),
        (Language::Zh, skipped) => {
            format!("{summary}\n其中未完成：{failed}；已跳过：{}", skipped.join("、"))
        }
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

/// Steps have completed whose agents reported that they did not reach what they were for.
pub(super) fn unsuccessful(language: Language, steps: usize) -> String {
    match (language, steps) {
        (Language::En, 1) => "Completed 1 step without success:".to_owned(),
        (Language::En, n) => format!("Completed {n} steps without success:"),
        (Language::Zh, n) => format!("{n} 个步骤已完成但未成功："),
    }
}

/// No plan was made; commands need none.
pub(super) fn plan_failed(language: Language, error: &str) -> String {
    match language {
        Language::En => {
            format!("no usable plan was made: {error}\nPlease use /todo or /schedule directly")
        }
        Language::Zh => {
            format!("计划执行服务暂时不可用：{error}\n请直接用 /todo 或 /schedule")
        }
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

/// More calls in one turn than are carried out.
pub(super) fn too_many_calls(language: Language, max: u32) -> String {
    match language {
        Language::En => format!("Only {max} of a turn's calls are carried out; this is one more."),
        Language::Zh => format!("每轮最多执行 {max} 次调用，本次调用未执行。"),
    }
}

/// A plan's step must be a tool call.
pub(super) fn must_name_a_tool(language: Language, step: &str) -> String {
    match language {
        Language::En => format!("step {step}: every step must be one tool call"),
        Language::Zh => format!("步骤 {step}：每个步骤都必须是一次工具调用"),
    }
}

/// A plan's step must not be a tool call.
pub(super) fn must_not_name_a_tool(language: Language, step: &str) -> String {
    match language {
        Language::En => {
            format!("step {step}: steps are tasks for an assistant; no step may name a tool")
        }
        Language::Zh => format!("步骤 {step}：步骤是交给助手完成的任务，不能指定工具"),
    }
}

/// A worker answered with a summary where none can be.
pub(super) fn no_summary_wanted(language: Language) -> &'static str {
    match language {
        Language::En => "a summary came where none was wanted, or an empty one",
        Language::Zh => "收到了不需要的或空的摘要",
    }
}

/// A guard ended a run.
pub(super) fn stopped(language: Language, notice: &Notice) -> String {
    notice.text(language)
}

/// A limit of the budget is reached.
pub(super) fn used_up(language: Language, gauge: &Gauge) -> String {
    let figures = gauge.text(language);
    match (language, gauge.axis) {
        (Language::En, Axis::Steps | Axis::Turns) => {
            format!("the maximum number of steps is reached ({figures})")
        }
        (Language::En, Axis::TokensIn | Axis::TokensOut | Axis::Tokens) => {
            format!("the tokens of the job are used up ({figures})")
        }
        (Language::En, Axis::Money) => format!("the money of the job is used up ({figures})"),
        (Language::En, Axis::Time) => format!("the time of the job is used up ({figures})"),
        (Language::En, Axis::Depth) => {
            format!("no task can be handed further down ({figures})")
        }
        (Language::En, Axis::Children) => {
            format!("no more tasks can be handed to other agents ({figures})")
        }
        (Language::Zh, Axis::Steps | Axis::Turns) => format!("已达到最大执行步数（{figures}）"),
        (Language::Zh, Axis::Depth) => format!("任务不能再向下移交（{figures}）"),
        (Language::Zh, Axis::Children) => format!("不能再把任务交给其他智能体（{figures}）"),
        (Language::Zh, Axis::TokensIn | Axis::TokensOut | Axis::Tokens) => {
            format!("已达到 token 预算上限（{figures}）")
        }
        (Language::Zh, Axis::Money) => format!("已达到费用预算上限（{figures}）"),
        (Language::Zh, Axis::Time) => format!("已达到时间上限（{figures}）"),
    }
}

/// What was reached, what was not and why, and what can be done.
pub(super) fn report(
    language: Language,
    reason: FailReason,
    headline: &str,
    done: &[String],
    open: &[&str],
) -> String {
    let numbered = |lines: &mut dyn Iterator<Item = &str>| {
        let lines = lines.enumerate().map(|(n, line)| format!("\n{}. {line}", n + 1));
        lines.collect::<String>()
    };
    let done = numbered(&mut done.iter().map(String::as_str));
    let open = numbered(&mut open.iter().copied());
    match language {
        Language::En => {
            let none = |list: String| if list.is_empty() { " nothing".to_owned() } else { list };
            let (why, next) = why_and_next(reason);
            format!(
                "{headline}\nDone:{}\nNot done:{}\nWhy: {why}\nNext: {next}",
                none(done),
                none(open)
            )
        }
        Language::Zh => {
            let none = |list: String| if list.is_empty() { "无".to_owned() } else { list };
            let (why, next) = why_and_next_zh(reason);
            format!(
                "{headline}\n已完成部分：{}\n未完成部分：{}\n未完成原因：{why}\n下一步建议：{next}",
                none(done),
                none(open)
            )
        }
    }
}

/// Why a job ended before its goal, and what can be done.
fn why_and_next(reason: FailReason) -> (&'static str, &'static str) {
    match reason {
        FailReason::NoProgress => (
            "nothing new came of what was tried",
            "look at the tools' results (callboard jobs show), say what is missing, or name the tool and arguments to use",
        ),
        FailReason::DeadlineExceeded => (
            "there was no more time",
            "submit it again with a later deadline, or fork the job with what it has reached",
        ),
        FailReason::ReplanLimit => (
            "every plan that was made has failed",
            "look at why the steps failed (callboard jobs show), say what should be done differently, or allow more replans",
        ),
        FailReason::BudgetExceeded
        | FailReason::PlanFailed
        | FailReason::StepFailed
        | FailReason::QuestionExpired
        | FailReason::HistoryFull
        | FailReason::QuestionRepeated
        | FailReason::TooManyQuestions => (
            "the job may spend no more",
            "say more precisely what is wanted, or submit it again with a larger budget",
        ),
    }
}

/// The same in Chinese.
fn why_and_next_zh(reason: FailReason) -> (&'static str, &'static str) {
    match reason {
        FailReason::NoProgress => (
            "已尝试的操作没有带来新的结果",
            "请查看工具结果（callboard jobs show），补充缺少的信息，或直接指定要使用的工具和参数",
        ),
        FailReason::DeadlineExceeded => {
            ("任务时间已用完", "请设置更晚的截止时间后重新提交，或从该任务已有的结果派生新任务")
        }
        FailReason::ReplanLimit => (
            "每次制定的计划都未能完成",
            "请查看步骤失败的原因（callboard jobs show），说明应如何调整，或允许更多次重新规划",
        ),
        FailReason::BudgetExceeded
        | FailReason::PlanFailed
        | FailReason::StepFailed
        | FailReason::QuestionExpired
        | FailReason::HistoryFull
        | FailReason::QuestionRepeated
        | FailReason::TooManyQuestions => {
            ("任务的预算已用尽", "请补充更明确的要求，或提高预算后重新提交")
        }
    }
}
