//! The planner's prompts, from the templates in `prompts/`, compiled in and checked by tests.
//!
//! Every value is inserted as text: nothing from a job is ever parsed as a template.

use std::sync::LazyLock;

use minijinja::{Value, context};
use model::Prompts;
use proto::{
    decision::{PlanWork, StepEnd},
    fence::fenced,
    id::StepId,
    lang::Language,
    policy::PlanOutput,
    revision::Cause,
    step::StepState,
    tool::ToolSpec,
};

use crate::{course::Course, parse::choice::Phase, protocol, summary};

messages::texts!(step_state);

static PROMPTS: LazyLock<Prompts> = LazyLock::new(|| Prompts::new(messages::files!("prompts")));

fn render(language: Language, name: &str, values: Value) -> String {
    PROMPTS.render(language.code(), name, values)
}

/// Renders the system message: the agent's own text, then the planner's task.
pub(crate) fn system(work: &PlanWork, tools: &[&ToolSpec]) -> String {
    let (language, may_ask, may_be_empty) = (work.language, work.may_ask, work.may_be_empty);
    let list: Vec<Value> = tools
        .iter()
        .map(|tool| {
            context! {
                name => tool.name.as_str(),
                description => one_line(&tool.description),
                args => summary::of_schema(&tool.schema),
            }
        })
        .collect();
    let native = match work.output {
        PlanOutput::Text => None,
        PlanOutput::Tool => Some(protocol::function(work.protocol)),
    };
    let template = protocol::template(work.protocol);
    let values = if template == "system" {
        context! { tools => list, may_ask, may_be_empty, native }
    } else {
        let part = |name, values| render(language, name, values).trim_end().to_owned();
        context! {
            tools => part("tools", context! { tools => list }),
            asking => part("asking", context! { may_ask }),
            reply => part("reply", context! {
                native, schema => protocol::schema_text(work.protocol, may_be_empty)
            }),
            may_ask,
            may_be_empty,
        }
    };
    let task = render(language, template, values);
    let (frame, task) = (work.model.system.trim(), task.trim_end());
    if frame.is_empty() { task.to_owned() } else { format!("{frame}\n\n{task}") }
}

/// Renders the question whether a goal needs a plan.
pub(crate) fn detect(language: Language, goal: &str) -> String {
    render(language, "detect", context! { goal })
}

/// Renders the goal alone, for protocols that plan one action at a time.
pub(crate) fn goal(language: Language, goal: &str) -> String {
    render(language, "goal", context! { goal })
}

/// Renders the result of an action.
pub(crate) fn observed(language: Language, observation: &str) -> String {
    render(language, "observed", context! { observation })
}

/// Renders the request for the next decision, for protocols that plan one action at a time.
pub(crate) fn next(work: &PlanWork, course: &Course<'_>) -> String {
    let phase = match (work.protocol, course.phase) {
        (proto::policy::PlanProtocol::Phased, Phase::Plan) => "plan",
        (proto::policy::PlanProtocol::Phased, Phase::Thought) => "thought",
        (proto::policy::PlanProtocol::Phased, Phase::Replan) => "replan",
        _ => "",
    };
    let (number, item) = match course.current() {
        Some((number, item)) => (number, item.title.as_str()),
        None => (course.outline.len(), course.outline.last().map_or("", |item| &item.title)),
    };
    let values = context! { phase, number, item, count => course.outline.len() };
    render(work.language, "phase", values).trim_end().to_owned()
}

/// Renders the goal with the request for a plan.
pub(crate) fn plan(language: Language, goal: &str) -> String {
    render(language, "plan", context! { goal })
}

/// Renders a person's answer; `forced` says that no further question may follow.
pub(crate) fn answer(language: Language, answer: &str, forced: bool) -> String {
    render(language, "answer", context! { answer, forced }).trim_end().to_owned()
}

/// Renders a person's request for a different plan.
pub(crate) fn revise(language: Language, words: &str) -> String {
    render(language, "revise", context! { words })
}

/// Renders the reason why a reply was rejected.
pub(crate) fn rejected(language: Language, error: &str) -> String {
    render(language, "rejected", context! { error })
}

/// Renders a person's instruction to the running job.
pub(crate) fn steered(language: Language, words: &str) -> String {
    render(language, "steered", context! { words }).trim_end().to_owned()
}

/// Renders the progress of a plan, the steps to keep, and the reason for the replan.
pub(crate) fn replan(
    language: Language,
    steps: &[StepEnd],
    kept: &[StepId],
    because: Cause,
) -> String {
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
                state => ended(language, step),
                response => fenced(&step.response),
                attachments => fenced(&step.attachments.join(", ")),
            }
        })
        .collect();
    let kept: Vec<_> = kept.iter().map(StepId::as_str).collect();
    let values = context! {
        steps => ends,
        completed => completed.join(", "),
        kept => kept.join(", "),
        may_be_empty => because.may_leave_nothing() || !kept.is_empty(),
    };
    render(language, "replan", values)
}

/// Renders the state of a step.
fn ended(language: Language, step: &StepEnd) -> String {
    let text = match step.state {
        StepState::Pending => Text::Pending,
        StepState::Ready => Text::Ready,
        StepState::Running => Text::Running,
        StepState::Waiting => Text::Waiting,
        _ if step.unsuccessful => Text::Unsuccessful,
        StepState::Completed => Text::Completed,
        StepState::Failed => Text::Failed,
        StepState::Blocked => Text::Blocked,
        StepState::Skipped => Text::Skipped,
        StepState::Canceled => Text::Canceled,
    };
    text.text(language)
}

/// Joins a description to one line, so that it cannot look like a heading or rule of the prompt.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
