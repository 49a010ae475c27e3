//! Texts about child jobs, in the job's language.

use proto::{
    agent::Agent, decision::StepEnd, excerpt, family::Task, fence::fenced, lang::Language, limits,
};
use serde_json::{Value, json};

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
            text.push_str(&format!("\n[{}]{mark}: {}", end.id, fenced(&end.response)));
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

/// Returns the result of a child, in the form in which the caller's model and placeholders read it.
pub(super) fn result(summary: &str, results: &Value, value: &Value) -> Value {
    let mut data = json!({"response": summary, "results": results});
    if let Some(data) = data.as_object_mut().filter(|_| !value.is_null()) {
        data.insert("value".to_owned(), value.clone());
    }
    data
}

/// Returns the text for a child that was canceled.
pub(super) fn canceled(language: Language, reason: &str) -> String {
    match reason {
        "" => Text::Canceled.text(language),
        reason => Text::CanceledBecause { reason: &reason }.text(language),
    }
}
