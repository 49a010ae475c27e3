//! The executor's prompts, from the templates in `prompts/`, compiled in and checked by tests.
//!
//! Every value is inserted as text: nothing from a job, a tool or a model is ever parsed as a
//! template.

use std::sync::LazyLock;

use minijinja::{Value, context};
use model::Prompts;
use proto::{
    conversation,
    decision::{StepEnd, StepTask},
    fence::fenced,
    file,
    lang::Language,
    step::StepState,
};
use serde_json::Value as Json;

messages::texts!(dependency);

static PROMPTS: LazyLock<Prompts> = LazyLock::new(|| Prompts::new(messages::files!("prompts")));

fn render(language: Language, name: &str, values: Value) -> String {
    PROMPTS.render(language.code(), name, values)
}

/// Renders the system message: the agent's own text, then the executor's task and the goal.
pub(crate) fn system(language: Language, frame: &str, goal: &str, may_ask: bool) -> String {
    let task = render(language, "system", context! { goal, may_ask });
    let task = task.trim_end();
    if frame.trim().is_empty() { task.to_owned() } else { format!("{}\n\n{task}", frame.trim()) }
}

/// Renders the system message of the turn that gives the result: the agent's own text, then the
/// schema.
pub(crate) fn output(language: Language, frame: &str, goal: &str, schema: &Json) -> String {
    let schema = schema.to_string();
    let task = render(language, "output", context! { goal, schema });
    let task = task.trim_end();
    if frame.trim().is_empty() { task.to_owned() } else { format!("{}\n\n{task}", frame.trim()) }
}

/// Renders the system message of a node's turn: the node's own text, then the schema of the reply.
pub(crate) fn reply(language: Language, frame: &str, schema: &Json) -> String {
    let task = render(language, "reply", context! { schema => schema.to_string() });
    let task = task.trim_end();
    if frame.trim().is_empty() { task.to_owned() } else { format!("{}\n\n{task}", frame.trim()) }
}

/// Renders the step: its description, the results it builds on, and the failure of the run before.
pub(crate) fn task(language: Language, task: &StepTask) -> String {
    let dependencies: Vec<Value> = task
        .dependencies
        .iter()
        .map(|step| {
            context! {
                id => step.id.as_str(),
                mark => mark(language, step),
                response => fenced(&step.response),
                attachments => fenced(&step.attachments.join(", ")),
            }
        })
        .collect();
    let values = context! {
        earlier => conversation::told(language, &task.earlier),
        files => file::told(language, &task.files),
        description => task.description.as_str(),
        dependencies,
        previous_error => fenced(task.previous_error.as_deref().unwrap_or_default()),
    };
    render(language, "task", values).trim_end().to_owned()
}

/// Renders people's instructions to the running job; `None` without any.
pub(crate) fn instructions(language: Language, instructions: &[String]) -> Option<String> {
    if instructions.is_empty() {
        return None;
    }
    Some(
        render(language, "steered", context! { instructions => instructions.to_vec() })
            .trim_end()
            .to_owned(),
    )
}

/// Renders the system message of a summary: its purpose and its longest length.
pub(crate) fn summary(language: Language, chars: usize) -> String {
    render(language, "summary", context! { chars }).trim_end().to_owned()
}

/// Renders the input of a summary: the previous summary and the work since.
pub(crate) fn summary_of(
    language: Language,
    task: &StepTask,
    before: Option<&str>,
    done: &str,
) -> String {
    let description = task.description.as_str();
    let before = before.unwrap_or_default();
    render(language, "summary_of", context! { description, before, done }).trim_end().to_owned()
}

/// Renders a summary for the conversation.
pub(crate) fn summarised(language: Language, turns: usize, text: &str) -> String {
    render(language, "summarised", context! { turns, text }).trim_end().to_owned()
}

/// Renders the system message for shortening a result: its purpose and its longest length.
pub(crate) fn result(language: Language, chars: usize) -> String {
    render(language, "result", context! { chars }).trim_end().to_owned()
}

/// Renders the result to shorten, and its purpose.
pub(crate) fn result_of(language: Language, task: &StepTask, tool: &str, result: &str) -> String {
    let description = task.description.as_str();
    render(language, "result_of", context! { description, tool, result => fenced(result) })
        .trim_end()
        .to_owned()
}

/// Renders a shortened result for the conversation.
pub(crate) fn shortened(language: Language, chars: usize, text: &str) -> String {
    render(language, "shortened", context! { chars, text }).trim_end().to_owned()
}

/// Renders the notice that no further turn follows.
pub(crate) fn last(language: Language) -> String {
    render(language, "last", context! {})
}

/// Returns the note on a dependency that did not succeed; empty for one that did.
fn mark(language: Language, step: &StepEnd) -> String {
    let text = match step.state {
        StepState::Completed if step.unsuccessful => Text::Unsuccessful,
        StepState::Completed => return String::new(),
        StepState::Failed => Text::Failed,
        StepState::Skipped => Text::Skipped,
        StepState::Blocked => Text::Blocked,
        StepState::Canceled => Text::Canceled,
        StepState::Pending => Text::Pending,
        StepState::Ready => Text::Ready,
        StepState::Running => Text::Running,
        StepState::Waiting => Text::Waiting,
    };
    text.text(language)
}
