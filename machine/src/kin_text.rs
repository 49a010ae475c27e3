//! What is said in the job's language about the jobs that work for it.

use proto::{agent::Agent, decision::StepEnd, excerpt, family::Task, lang::Language, limits};

/// What a child is to reach: the task, and what it must know for it.
pub(super) fn task(language: Language, task: &Task, before: &[StepEnd]) -> String {
    let (context, results) = match language {
        Language::En => ("Context:", "Results of the steps before it:"),
        Language::Zh => ("背景：", "依赖步骤的结果："),
    };
    let mut text = task.goal.clone();
    if !task.context.trim().is_empty() {
        text.push_str(&format!("\n\n{context}\n{}", task.context));
    }
    if !before.is_empty() {
        text.push_str(&format!("\n\n{results}"));
        for end in before {
            let mark = match (end.unsuccessful, language) {
                (false, _) => "",
                (true, Language::En) => " (completed without success)",
                (true, Language::Zh) => "（已完成但未成功）",
            };
            text.push_str(&format!("\n[{}]{mark}: {}", end.id, end.response));
        }
    }
    if text.len() <= limits::GOAL_BYTES_MAX {
        return text;
    }
    // Characters have up to four bytes, and both ends are kept.
    excerpt::ends(&text, limits::GOAL_BYTES_MAX / 8 - 16)
}

/// An agent that the job may not call.
pub(super) fn no_such_agent(language: Language, agent: &Agent, name: &str) -> String {
    let names: Vec<&str> = agent.agents.iter().map(|sub| sub.name.as_str()).collect();
    let names = names.join(", ");
    match language {
        Language::En => format!("there is no agent \"{name}\" here; the agents are: {names}"),
        Language::Zh => format!("这里没有名为“{name}”的智能体；可用的有：{names}"),
    }
}

/// A job at the deepest level wants to hand something over.
pub(super) fn no_further_down(language: Language) -> &'static str {
    match language {
        Language::En => "no task can be handed further down from here; do it yourself",
        Language::Zh => "任务不能再向下移交，请自行完成",
    }
}

/// A job has handed over as many tasks as it may.
pub(super) fn handed_over_all(language: Language) -> &'static str {
    match language {
        Language::En => "no more tasks can be handed to other agents; do it yourself",
        Language::Zh => "不能再把任务交给其他智能体，请自行完成",
    }
}

/// What an agent was given is no task.
pub(super) fn no_task(language: Language, why: &str) -> String {
    match language {
        Language::En => format!("the task cannot be handed over: {why}"),
        Language::Zh => format!("无法移交任务：{why}"),
    }
}

/// Why a child is canceled.
pub(super) fn ended_above(language: Language, job: &str) -> String {
    match language {
        Language::En => format!("nobody waits for it any more in job {job}, for which it worked"),
        Language::Zh => format!("上级任务 {job} 不再等待它的结果"),
    }
}

/// A child was canceled.
pub(super) fn canceled(language: Language, reason: &str) -> String {
    match (language, reason) {
        (Language::En, "") => "the agent's job was canceled".to_owned(),
        (Language::En, reason) => format!("the agent's job was canceled: {reason}"),
        (Language::Zh, "") => "智能体的任务被取消".to_owned(),
        (Language::Zh, reason) => format!("智能体的任务被取消：{reason}"),
    }
}

/// A child failed.
pub(super) fn failed(language: Language, reason: &str, message: &str) -> String {
    match language {
        Language::En => format!("the agent's job failed ({reason}): {message}"),
        Language::Zh => format!("智能体的任务失败（{reason}）：{message}"),
    }
}

/// Another job has the id that the child would have.
pub(super) fn id_taken(language: Language, id: &str) -> String {
    match language {
        Language::En => format!("there is another job {id} already"),
        Language::Zh => format!("已存在另一个任务 {id}"),
    }
}
