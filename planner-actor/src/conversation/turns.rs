//! The conversation of protocols that plan one action at a time: decisions and observations.

use proto::{
    decision::{PlanTalk, PlanWork, StepEnd},
    fact::{PlanNote, PlanPhase},
    message::Message,
    plan::{Action, Plan},
    policy::PlanProtocol,
    step::StepState,
};
use serde_json::{Value, json};

use super::{rejected, said};
use crate::{course::Course, prompt};

/// Builds all messages after the system message. Shows the newest observations, up to the agent's
/// limit.
pub(super) fn messages(work: &PlanWork) -> Vec<Message> {
    let language = work.language;
    let mut course = Course::of(&[]);
    let first = join(&prompt::goal(language, &work.goal), &prompt::next(work, &course));
    let mut messages = vec![Message::User { text: first }];
    let keep = usize::try_from(work.window.keep).unwrap_or(usize::MAX);
    let mut too_many = observations(work).saturating_sub(keep);
    for talk in &work.dialogue {
        course.after(talk);
        match talk {
            PlanTalk::Noted { note } => {
                if let Some(reply) = noted(note) {
                    messages.push(said(reply.to_string()));
                    messages.push(Message::User { text: prompt::next(work, &course) });
                }
            }
            PlanTalk::Progressed { .. } if too_many > 0 => too_many -= 1,
            PlanTalk::Progressed { plan, steps, .. } => {
                messages.push(said(chosen(work, &course, plan).to_string()));
                let seen = prompt::observed(language, &observation(plan, steps).to_string());
                messages.push(Message::User { text: join(&seen, &prompt::next(work, &course)) });
            }
            PlanTalk::Asked { question, answer, kind: _ } => {
                messages.push(said(asked(work, &course, question).to_string()));
                let heard = prompt::answer(language, answer, false);
                messages.push(Message::User { text: join(&heard, &prompt::next(work, &course)) });
            }
            PlanTalk::Steered { words } => {
                let heard = prompt::steered(language, words);
                messages.push(Message::User { text: join(&heard, &prompt::next(work, &course)) });
            }
            PlanTalk::Revised { plan, words } => {
                messages.push(said(chosen(work, &course, plan).to_string()));
                messages.push(Message::User { text: prompt::revise(language, words) });
            }
            PlanTalk::Rejected { reply, error } => {
                messages.extend(rejected(language, reply, error));
            }
        }
    }
    messages
}

fn join(first: &str, second: &str) -> String {
    format!("{}\n\n{second}", first.trim_end())
}

fn observations(work: &PlanWork) -> usize {
    let progressed = |talk: &&PlanTalk| matches!(talk, PlanTalk::Progressed { .. });
    work.dialogue.iter().filter(progressed).count()
}

/// Renders a note as the model wrote it; `None` for an action, which is shown with its observation.
fn noted(note: &PlanNote) -> Option<Value> {
    let titles = || note.outline.iter().map(|item| item.title.as_str()).collect::<Vec<_>>();
    match note.phase {
        PlanPhase::Planned => Some(json!({"status": "planned", "plan": titles()})),
        PlanPhase::Replanned => Some(json!({"status": "replanned", "plan": titles()})),
        PlanPhase::ItemDone => Some(json!({"status": "done", "response": note.response})),
        PlanPhase::Acting => None,
    }
}

/// Renders an action as the model chose it.
fn chosen(work: &PlanWork, course: &Course<'_>, plan: &Plan) -> Value {
    let action = plan.steps.first().map(|step| match &step.action {
        Action::Tool { tool, args, binding: _ } => json!({"tool": tool, "input": args}),
        Action::Agent => json!({"tool": "agent", "input": step.description}),
    });
    reply(work, course, &action.unwrap_or(Value::Null))
}

fn asked(work: &PlanWork, course: &Course<'_>, question: &str) -> Value {
    if work.protocol == PlanProtocol::Phased {
        return json!({"status": "ask_user", "question": question});
    }
    reply(work, course, &json!({"tool": proto::asking::ASK_USER, "input": question}))
}

fn reply(work: &PlanWork, course: &Course<'_>, action: &Value) -> Value {
    if work.protocol == PlanProtocol::Phased {
        return json!({"status": "continue", "next_action": action});
    }
    let plan: Vec<_> = course.outline.iter().map(|item| item.title.as_str()).collect();
    json!({"status": "continue", "plan": plan, "next_action": action, "response": null})
}

/// Renders the result of an action.
fn observation(plan: &Plan, steps: &[StepEnd]) -> Value {
    let end = steps.first();
    let (tool, input) = match plan.steps.first().map(|step| &step.action) {
        Some(Action::Tool { tool, args, binding: _ }) => (json!(tool), args.clone()),
        Some(Action::Agent) | None => (Value::Null, Value::Null),
    };
    json!({
        "tool": tool,
        "input": input,
        "ok": end.is_some_and(|end| end.state == StepState::Completed && !end.unsuccessful),
        "result": end.map_or("", |end| end.response.as_str()),
    })
}
