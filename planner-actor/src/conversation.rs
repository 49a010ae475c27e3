//! From a command to the conversation a model is shown. Pure: equal commands and tools give equal
//! conversations.

mod shown;
mod turns;

use std::collections::BTreeSet;

use model::{ModelRequest, Params};
use proto::{
    asking,
    decision::{PlanTalk, PlanWork, StepEnd},
    id::StepId,
    lang::Language,
    message::{Message, ModelCall, ToolOffer},
    policy::PlanOutput,
    step::StepState,
    toolbox::Toolbox,
};
use serde_json::json;

use self::shown::shown;
use crate::{prompt, protocol};

/// What the model is asked.
pub(crate) fn request(work: &PlanWork, tools: &Toolbox<'_>) -> ModelRequest {
    let offers = offers(work);
    ModelRequest {
        messages: messages(work, tools),
        params: Params {
            model: work.model.model.clone(),
            temperature: work.model.temperature,
            // Some providers have no JSON mode beside tools, so it is asked for when none is offered.
            json: offers.is_empty(),
            parallel_tool_calls: false,
            ..Params::default()
        },
        tools: offers,
    }
}

/// A way to ask, unless asking is an action like others; and one to hand the plan over.
fn offers(work: &PlanWork) -> Vec<ToolOffer> {
    let mut offers = Vec::new();
    if work.output == PlanOutput::Tool {
        let description = match work.language {
            Language::En => "Hand over the reply. Call it once, alone.",
            Language::Zh => "提交回复。单独调用一次。",
        };
        offers.push(ToolOffer {
            name: protocol::function(work.protocol).to_owned(),
            description: description.to_owned(),
            schema: protocol::schema(work.protocol),
        });
    }
    if work.may_ask && !work.protocol.is_turn_by_turn() {
        offers.push(asking::offer(work.language));
    }
    offers
}

/// The steps of all plans that were begun, and those of them that have completed.
pub(crate) fn earlier(work: &PlanWork) -> (BTreeSet<StepId>, BTreeSet<StepId>) {
    let (mut all, mut completed) = (BTreeSet::new(), BTreeSet::new());
    for talk in &work.dialogue {
        let PlanTalk::Progressed { plan, steps } = talk else { continue };
        all.extend(plan.steps.iter().map(|step| step.id.clone()));
        let done = steps.iter().filter(|step| step.state == StepState::Completed);
        completed.extend(done.map(|step| step.id.clone()));
    }
    (all, completed)
}

fn messages(work: &PlanWork, tools: &Toolbox<'_>) -> Vec<Message> {
    let mut messages = vec![Message::System { text: prompt::system(work, tools.offered()) }];
    if work.protocol.is_turn_by_turn() {
        messages.extend(turns::messages(work));
        return messages;
    }
    let language = work.language;
    messages.push(Message::User { text: prompt::plan(language, &work.goal) });
    for (n, talk) in work.dialogue.iter().enumerate() {
        match talk {
            PlanTalk::Asked { question, answer } => {
                messages.extend(asked(work, n, question, answer));
            }
            PlanTalk::Revised { plan, words } => {
                messages.push(said(shown(plan, work).to_string()));
                messages.push(Message::User { text: prompt::revise(language, words) });
            }
            PlanTalk::Rejected { reply, error } => {
                messages.extend(rejected(language, reply, error));
            }
            PlanTalk::Progressed { plan, steps } => {
                messages.push(said(shown(plan, work).to_string()));
                messages.push(progressed(work, steps));
            }
            // Said by a protocol that goes one action at a time; a job has one protocol.
            PlanTalk::Noted { .. } => {}
        }
    }
    messages
}

/// A reply that could not be used, and why.
fn rejected(language: Language, reply: &str, error: &str) -> Vec<Message> {
    // Providers refuse a message that holds nothing.
    let reply = (!reply.trim().is_empty()).then(|| said(reply.to_owned()));
    let why = Message::User { text: prompt::rejected(language, error) };
    reply.into_iter().chain([why]).collect()
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

#[cfg(test)]
mod tests;
