//! The planner's words, from the files in `prompts/`, compiled in and checked by tests.
//!
//! Everything that is put into a template is put in as text: nothing that comes from a job is ever
//! a template itself.

use std::sync::LazyLock;

use minijinja::{Environment, UndefinedBehavior, Value, context, syntax::SyntaxConfig};
use proto::{decision::StepEnd, lang::Language, step::StepState, tool::ToolSpec};

use crate::summary;

macro_rules! templates {
    ($($name:literal),*) => {[$(
        (concat!("en/", $name), include_str!(concat!("../prompts/en/", $name, ".md"))),
        (concat!("zh/", $name), include_str!(concat!("../prompts/zh/", $name, ".md"))),
    )*]};
}

const FILES: [(&str, &str); 12] =
    templates!("system", "plan", "answer", "revise", "rejected", "replan");

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = Environment::new();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .expect("the usual delimiters are valid");
    env.set_syntax(syntax);
    for (name, source) in FILES {
        env.add_template(name, source).expect("the templates are compiled by a test");
    }
    env
});

fn render(language: Language, name: &str, values: Value) -> String {
    let name = format!("{}/{name}", language.code());
    TEMPLATES
        .get_template(&name)
        .and_then(|template| template.render(values))
        .expect("every template is rendered with these values by a test")
}

/// What frames the conversation: the agent's own words, then the planner's task.
pub(crate) fn system(
    language: Language,
    frame: &str,
    tools: &[&ToolSpec],
    may_ask: bool,
) -> String {
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| {
            context! {
                name => tool.name.as_str(),
                description => one_line(&tool.description),
                args => summary::of_schema(&tool.schema),
            }
        })
        .collect();
    let task = render(language, "system", context! { tools, may_ask });
    let task = task.trim_end();
    if frame.trim().is_empty() { task.to_owned() } else { format!("{}\n\n{task}", frame.trim()) }
}

/// The goal.
pub(crate) fn plan(language: Language, goal: &str) -> String {
    render(language, "plan", context! { goal })
}

/// A person's answer; `forced` when no further question may follow.
pub(crate) fn answer(language: Language, answer: &str, forced: bool) -> String {
    render(language, "answer", context! { answer, forced }).trim_end().to_owned()
}

/// A person's wish for another plan.
pub(crate) fn revise(language: Language, words: &str) -> String {
    render(language, "revise", context! { words })
}

/// Why a reply cannot be used.
pub(crate) fn rejected(language: Language, error: &str) -> String {
    render(language, "rejected", context! { error })
}

/// How far a plan got.
pub(crate) fn replan(language: Language, steps: &[StepEnd]) -> String {
    let completed: Vec<_> = steps
        .iter()
        .filter(|step| step.state == StepState::Completed)
        .map(|step| step.id.as_str())
        .collect();
    let ends: Vec<Value> = steps
        .iter()
        .map(|step| {
            context! {
                id => step.id.as_str(),
                state => state(language, step.state),
                response => step.response.as_str(),
            }
        })
        .collect();
    render(language, "replan", context! { steps => ends, completed => completed.join(", ") })
}

fn state(language: Language, state: StepState) -> String {
    match language {
        Language::En => state.to_string(),
        Language::Zh => match state {
            StepState::Pending => "未开始",
            StepState::Ready => "就绪",
            StepState::Running => "执行中",
            StepState::Waiting => "等待中",
            StepState::Completed => "已完成",
            StepState::Failed => "失败",
            StepState::Blocked => "受阻",
            StepState::Skipped => "已跳过",
            StepState::Canceled => "已取消",
        }
        .to_owned(),
    }
}

/// A tool's description must not look like a heading or a rule of the prompt.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
