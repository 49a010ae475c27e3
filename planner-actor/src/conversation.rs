//! From a command to the conversation a model is shown. Pure: equal commands and tools give equal
//! conversations.

use std::collections::BTreeSet;

use model::{ModelRequest, Params};
use proto::{
    asking,
    decision::{PlanTalk, PlanWork, StepEnd},
    id::StepId,
    message::{Message, ModelCall},
    plan::{Action, Plan},
    step::StepState,
    toolbox::Toolbox,
};
use serde_json::{Map, Value, json};

use crate::prompt;

/// What the model is asked.
pub(crate) fn request(work: &PlanWork, tools: &Toolbox<'_>) -> ModelRequest {
    ModelRequest {
        messages: messages(work, tools),
        tools: if work.may_ask { vec![asking::offer(work.language)] } else { Vec::new() },
        params: Params {
            model: work.model.model.clone(),
            temperature: work.model.temperature,
            // Some providers have no JSON mode beside tools, so it is asked for when none is offered.
            json: !work.may_ask,
            parallel_tool_calls: false,
            ..Params::default()
        },
    }
}

/// The steps that have completed, by all the dialogue says.
pub(crate) fn completed(work: &PlanWork) -> BTreeSet<StepId> {
    work.dialogue
        .iter()
        .flat_map(|talk| match talk {
            PlanTalk::Progressed { steps, .. } => steps.as_slice(),
            PlanTalk::Asked { .. } | PlanTalk::Revised { .. } | PlanTalk::Rejected { .. } => &[],
        })
        .filter(|step| step.state == StepState::Completed)
        .map(|step| step.id.clone())
        .collect()
}

fn messages(work: &PlanWork, tools: &Toolbox<'_>) -> Vec<Message> {
    let language = work.language;
    let system = prompt::system(language, &work.model.system, tools.offered(), work.may_ask);
    let mut messages = vec![
        Message::System { text: system },
        Message::User { text: prompt::plan(language, &work.goal) },
    ];
    for (n, talk) in work.dialogue.iter().enumerate() {
        match talk {
            PlanTalk::Asked { question, answer } => {
                messages.extend(asked(work, n, question, answer));
            }
            PlanTalk::Revised { plan, words } => {
                messages.push(said(shown(plan).to_string()));
                messages.push(Message::User { text: prompt::revise(language, words) });
            }
            PlanTalk::Rejected { reply, error } => {
                // Providers refuse a message that holds nothing.
                if !reply.trim().is_empty() {
                    messages.push(said(reply.clone()));
                }
                messages.push(Message::User { text: prompt::rejected(language, error) });
            }
            PlanTalk::Progressed { plan, steps } => {
                messages.push(said(shown(plan).to_string()));
                messages.push(progressed(work, steps));
            }
        }
    }
    messages
}

fn progressed(work: &PlanWork, steps: &[StepEnd]) -> Message {
    Message::User { text: prompt::replan(work.language, steps) }
}

/// A question and its answer: as the tool call it was while the tool is offered. Some providers
/// refuse tool calls in a conversation that offers no tools; then they are plain words, and the last
/// answer says that a plan must follow.
fn asked(work: &PlanWork, n: usize, question: &str, answer: &str) -> [Message; 2] {
    if work.may_ask {
        let id = format!("ask_{}", n + 1);
        let args = json!({"mode": "query", "prompt": question});
        let call = ModelCall { id: id.clone(), name: asking::ASK_USER.to_owned(), args };
        let text = prompt::answer(work.language, answer, false);
        let name = asking::ASK_USER.to_owned();
        return [
            Message::Assistant { text: String::new(), calls: vec![call] },
            Message::Tool { call: id, name, text },
        ];
    }
    let forced = n + 1 == work.dialogue.len();
    [
        said(question.to_owned()),
        Message::User { text: prompt::answer(work.language, answer, forced) },
    ]
}

fn said(text: String) -> Message {
    Message::Assistant { text, calls: Vec::new() }
}

/// A plan in the shape the model is asked for: without what only the machine needs.
fn shown(plan: &Plan) -> Value {
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| {
            let mut fields = Map::new();
            fields.insert("id".to_owned(), json!(step.id));
            if !step.title.is_empty() {
                fields.insert("title".to_owned(), json!(step.title));
            }
            fields.insert("description".to_owned(), json!(step.description));
            if !step.depends_on.is_empty() {
                fields.insert("depends_on".to_owned(), json!(step.depends_on));
            }
            match &step.action {
                Action::Tool { tool, args, binding: _ } => {
                    fields.insert("tool".to_owned(), json!(tool));
                    fields.insert("args".to_owned(), args.clone());
                }
                Action::Agent => {}
            }
            Value::Object(fields)
        })
        .collect();
    json!({"title": plan.title, "steps": steps})
}

#[cfg(test)]
mod tests;
