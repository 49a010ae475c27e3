//! The conversation shown to a model for a planning command. Pure: equal commands and tools give
//! equal conversations.

pub(crate) mod opening;
mod shown;
mod turns;

use std::collections::BTreeSet;

use model::{ModelRequest, Params};
use proto::{
    asking, conversation,
    decision::{PlanTalk, PlanWork},
    fact::AskedKind,
    file,
    id::StepId,
    lang::Language,
    message::{Message, ModelCall},
    step::StepState,
};
use serde_json::Value;

use self::{opening::Opening, shown::shown};
use crate::{prompt, words::Text};

/// Builds the model request of a command. `tasks` is the text about pending tasks, or empty.
pub(crate) fn request(work: &PlanWork, opening: &Opening, tasks: &str) -> ModelRequest {
    ModelRequest {
        messages: framed(work, tasks, messages(work, opening)),
        params: Params {
            model: work.model.model.clone(),
            temperature: work.model.temperature,
            top_p: work.model.top_p,
            effort: work.model.effort,
            may_be_cached: work.is_first_try(),
            // Some providers have no JSON mode beside tools, so it is requested only without tools.
            json: opening.offers.is_empty(),
            parallel_tool_calls: false,
            ..Params::default()
        },
        tools: opening.offers.clone(),
    }
}

/// Adds the context of the goal: earlier jobs of the conversation, attached files and pending tasks
/// before it, and the machine's notices at the end.
fn framed(work: &PlanWork, tasks: &str, mut messages: Vec<Message>) -> Vec<Message> {
    let earlier = conversation::told(work.language, &work.earlier);
    let files = file::told(work.language, &work.files);
    let told = [earlier.as_str(), files.as_str(), tasks].into_iter();
    let told: Vec<_> = told.filter(|text| !text.is_empty()).collect();
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

/// The steps of earlier plans of this job.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    /// Steps that ended or are kept. The ids of steps that never began are free again.
    pub(crate) all: BTreeSet<StepId>,
    /// Steps that have completed.
    pub(crate) completed: BTreeSet<StepId>,
    /// Unfinished steps that the next plan keeps.
    pub(crate) kept: BTreeSet<StepId>,
    /// Title of the plan in force, which an update without a title keeps.
    pub(crate) title: Option<String>,
}

/// Collects the steps of earlier plans from the dialogue.
pub(crate) fn earlier(work: &PlanWork) -> Earlier {
    let mut earlier = Earlier::default();
    for talk in &work.dialogue {
        let PlanTalk::Progressed { plan, steps, kept, because: _ } = talk else { continue };
        earlier.all.extend(steps.iter().map(|step| &step.id).chain(kept).cloned());
        earlier.title = Some(plan.title.clone()).filter(|title| !title.is_empty());
        let done = steps.iter().filter(|step| step.state == StepState::Completed);
        earlier.completed.extend(done.map(|step| step.id.clone()));
        earlier.kept = kept.iter().cloned().collect();
    }
    earlier
}

fn messages(work: &PlanWork, opening: &Opening) -> Vec<Message> {
    let mut messages = vec![Message::System { text: opening.system.clone() }];
    if work.protocol.is_turn_by_turn() {
        messages.extend(turns::messages(work));
        return messages;
    }
    let language = work.language;
    messages.push(Message::User { text: prompt::plan(language, &work.goal) });
    let mut too_many = over_keep(work);
    for (n, talk) in work.dialogue.iter().enumerate() {
        match talk {
            PlanTalk::Asked { question, kind, answer } => {
                let args = asking::args(question, kind.as_ref().unwrap_or(&AskedKind::Query));
                messages.extend(asked(work, n, args, answer));
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
            // Belongs to protocols that decide one action at a time; a job has one protocol.
            PlanTalk::Noted { .. } => {}
        }
    }
    messages
}

/// Returns the number of oldest results beyond the agent's limit.
fn over_keep(work: &PlanWork) -> usize {
    let ends = work
        .dialogue
        .iter()
        .map(|talk| if let PlanTalk::Progressed { steps, .. } = talk { steps.len() } else { 0 });
    ends.sum::<usize>().saturating_sub(usize::try_from(work.window.keep).unwrap_or(usize::MAX))
}

/// Returns the command with people's instructions moved to its goal, where they stay if the oldest
/// exchanges are left out for lack of room.
pub(crate) fn with_instructions(work: &PlanWork) -> PlanWork {
    let mut work = work.clone();
    for talk in &work.dialogue {
        if let PlanTalk::Steered { words } = talk {
            work.goal = format!("{}\n\n{}", work.goal, prompt::steered(work.language, words));
        }
    }
    work
}

/// Renders a rejected reply and the reason.
fn rejected(language: Language, reply: &str, error: &str) -> Vec<Message> {
    // Providers reject an empty message.
    let reply = (!reply.trim().is_empty()).then(|| said(reply.to_owned()));
    let why = Message::User { text: prompt::rejected(language, error) };
    reply.into_iter().chain([why]).collect()
}

/// Renders a question and its answer as the call that asked and its result. When no question may
/// follow, the last result demands a plan.
fn asked(work: &PlanWork, n: usize, args: Value, answer: &str) -> [Message; 2] {
    let id = format!("ask_{}", n + 1);
    let name = asking::ASK_USER.to_owned();
    let call = ModelCall { id: id.clone(), name: name.clone(), args };
    let forced = !work.may_ask && n + 1 == work.dialogue.len();
    let text = prompt::answer(work.language, answer, forced);
    [
        Message::Assistant { text: String::new(), calls: vec![call], opaque: None },
        Message::Tool { call: id, name, text },
    ]
}

fn said(text: String) -> Message {
    Message::Assistant { text, calls: Vec::new(), opaque: None }
}

#[cfg(test)]
mod tests;
