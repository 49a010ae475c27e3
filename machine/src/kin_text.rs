//! Texts about child jobs, in the job's language.

use proto::{agent::Agent, decision::StepEnd, excerpt, family::Task, lang::Language, limits};

messages::texts!(children);

/// Returns the goal of a child: the task, its context, and the results of the steps before it. Cut
/// to the limit of a goal.
pub(super) fn task(language: Language, task: &Task, before: &[StepEnd]) -> String {
    let mut text = task.goal.clone();
    if !task.context.trim().is_empty() {
        text.push_str(&format!("\n\n{}\n{}", Text::Context.text(language), task.context));
    }
    if !before.is_empty() {
        text.push_str(&format!("\n\n{}", Text::Results.text(language)));
        for end in before {
            let mark = end.unsuccessful.then(|| Text::Unsuccessful.text(language));
            let mark = mark.unwrap_or_default();
            text.push_str(&format!("\n[{}]{mark}: {}", end.id, end.response));
        }
    }
    if text.len() <= limits::GOAL_BYTES_MAX {
        return text;
    }
    // A character has up to four bytes, and both ends are kept.
    excerpt::ends(&text, limits::GOAL_BYTES_MAX / 8 - 16)
}

/// Returns the text for a sub-agent that the job may not call.
pub(super) fn no_such_agent(language: Language, agent: &Agent, name: &str) -> String {
    let names: Vec<&str> = agent.agents.iter().map(|sub| sub.name.as_str()).collect();
    Text::NoSuchAgent { name: &name, names: &names.join(", ") }.text(language)
}

/// Returns the text for a job at the depth limit that calls a sub-agent.
pub(super) fn no_further_down(language: Language) -> String {
    Text::NoFurtherDown.text(language)
}

/// Returns the text for a job that has had all its children.
pub(super) fn handed_over_all(language: Language) -> String {
    Text::HandedOverAll.text(language)
}

/// Returns the text for a call whose arguments are no task.
pub(super) fn no_task(language: Language, why: &str) -> String {
    Text::NoTask { why: &why }.text(language)
}

/// Returns the reason for which a child is canceled when its parent ends.
pub(super) fn ended_above(language: Language, job: &str) -> String {
    Text::EndedAbove { job: &job }.text(language)
}

/// Returns the text for a child that was canceled.
pub(super) fn canceled(language: Language, reason: &str) -> String {
    match reason {
        "" => Text::Canceled.text(language),
        reason => Text::CanceledBecause { reason: &reason }.text(language),
    }
}

/// Returns the text for a child that failed.
pub(super) fn failed(language: Language, reason: &str, message: &str) -> String {
    Text::Failed { reason: &reason, message: &message }.text(language)
}

/// Returns the text for a child whose id belongs to another job.
pub(super) fn id_taken(language: Language, id: &str) -> String {
    Text::IdTaken { id: &id }.text(language)
}
