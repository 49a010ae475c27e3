//! From a command to the conversation a model is shown. Pure: equal commands and tools give equal
//! conversations.

mod shown;
mod turns;

use std::collections::BTreeSet;

use model::{ModelRequest, Params};
use proto::{
    asking, conversation,
    decision::{PlanTalk, PlanWork},
    file,
    id::StepId,
    lang::Language,
    message::{Message, ModelCall, ToolOffer},
    policy::PlanOutput,
    step::StepState,
    toolbox::Toolbox,
};
use serde_json::json;

use self::shown::shown;
use crate::{prompt, protocol, words::Text};

/// What the model is asked.
pub(crate) fn request(work: &PlanWork, tools: &Toolbox<'_>) -> ModelRequest {
    let offers = offers(work);
    ModelRequest {
        messages: framed(work, messages(work, tools)),
        params: Params {
            model: work.model.model.clone(),
            temperature: work.model.temperature,
            top_p: work.model.top_p,
            // Some providers have no JSON mode beside tools, so it is asked for when none is offered.
            json: offers.is_empty(),
            parallel_tool_calls: false,
            ..Params::default()
        },
        tools: offers,
    }
}

/// The conversation, with what was said in earlier jobs and the files that came with this one before
/// the goal, and what the machine has to say last.
fn framed(work: &PlanWork, mut messages: Vec<Message>) -> Vec<Message> {
    let earlier = conversation::told(work.language, &work.earlier);
    let files = file::told(work.language, &work.files);
    let told: Vec<_> = [earlier, files].into_iter().filter(|text| !text.is_empty()).collect();
    let told = told.join("\n\n");
    let goal = messages.iter_mut().find_map(|message| match message {
        Message::User { text } => Some(text),
        Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
    });
    if let Some(goal) = goal.filter(|_| !told.is_empty()) {
        *goal = format!("{told}\n\n{goal}");
    }
    let notices: Vec<_> = work.notices.iter().map(|n| n.text(work.language)).collect();
    if notices.is_empty() {
        return messages;
    }
    let notices = notices.join("\n\n");
    match messages.last_mut() {
        Some(Message::User { text }) => *text = format!("{text}\n\n{notices}"),
        Some(Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. }) | None => {
            messages.push(Message::User { text: notices });
        }
    }
    messages
}

/// A way to ask, unless asking is an action like others; and one to hand the plan over.
fn offers(work: &PlanWork) -> Vec<ToolOffer> {
    let mut offers = Vec::new();
    if work.output == PlanOutput::Tool {
        offers.push(ToolOffer {
            name: protocol::function(work.protocol).to_owned(),
            description: Text::HandOver.text(work.language),
            schema: protocol::schema(work.protocol, work.may_be_empty),
        });
    }
    if work.may_ask && !work.protocol.is_turn_by_turn() {
        offers.push(asking::offer(work.language, &work.ask_kinds));
    }
    offers
}

/// The steps of plans that were begun.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// All of them.
    pub(crate) all: BTreeSet<StepId>,
    /// Those that have completed.
    pub(crate) completed: BTreeSet<StepId>,
    /// Those that stay in the plan and have not ended.
    pub(crate) kept: BTreeSet<StepId>,
}

/// The steps of plans that were begun, by all the dialogue says.
pub(crate) fn earlier(work: &PlanWork) -> Earlier {
    let mut earlier = Earlier::default();
    for talk in &work.dialogue {
        let PlanTalk::Progressed { plan, steps, kept, because: _ } = talk else { continue };
        earlier.all.extend(plan.steps.iter().map(|step| step.id.clone()));
        let done = steps.iter().filter(|step| step.state == StepState::Completed);
        earlier.completed.extend(done.map(|step| step.id.clone()));
        earlier.kept = kept.iter().cloned().collect();
    }
    earlier
}

fn messages(work: &PlanWork, tools: &Toolbox<'_>) -> Vec<Message> {
    let mut messages = vec![Message::System { text: prompt::system(work, tools.offered()) }];
    if work.protocol.is_turn_by_turn() {
        messages.extend(turns::messages(work));
        return messages;
    }
    let language = work.language;
    messages.push(Message::User { text: prompt::plan(language, &work.goal) });
    let mut too_many = over_keep(work);
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
            PlanTalk::Progressed { plan, steps, kept, because } => {
                messages.push(said(shown(plan, work).to_string()));
                let mut steps = steps.clone();
                for old in steps.iter_mut().take(too_many) {
                    old.response = Text::LeftOut.text(language);
                }
                too_many = too_many.saturating_sub(steps.len());
                let text = prompt::replan(language, &steps, kept, *because);
                messages.push(Message::User { text });
            }
            PlanTalk::Steered { words } => {
                messages.push(Message::User { text: prompt::steered(language, words) });
            }
            // Said by a protocol that goes one action at a time; a job has one protocol.
            PlanTalk::Noted { .. } => {}
        }
    }
    messages
}

/// How many of the oldest results are more than the agent keeps.
fn over_keep(work: &PlanWork) -> usize {
    let ends = work
        .dialogue
        .iter()
        .map(|talk| if let PlanTalk::Progressed { steps, .. } = talk { steps.len() } else { 0 });
    ends.sum::<usize>().saturating_sub(usize::try_from(work.window.keep).unwrap_or(usize::MAX))
}

/// The command with everything that people told the job beside its goal: where it stands otherwise
/// goes with the oldest exchanges when there is no room for them.
pub(crate) fn with_instructions(work: &PlanWork) -> PlanWork {
    let mut work = work.clone();
    for talk in &work.dialogue {
        if let PlanTalk::Steered { words } = talk {
            work.goal = format!("{}\n\n{}", work.goal, prompt::steered(work.language, words));
        }
    }
    work
}

/// A reply that could not be used, and why.
fn rejected(language: Language, reply: &str, error: &str) -> Vec<Message> {
    // Providers refuse a message that holds nothing.
    let reply = (!reply.trim().is_empty()).then(|| said(reply.to_owned()));
    let why = Message::User { text: prompt::rejected(language, error) };
    reply.into_iter().chain([why]).collect()
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
