//! The conversion of a model's reply to the planner's. Pure. A reply that is neither a plan nor a
//! question is reported as such; nothing here turns it into a task.

mod choose;

use agents::{
    draft::{self, CheckArgs, Frame},
    toolbox::Toolbox,
};
use model::{ModelError, Reply, TooLarge};
use proto::{
    asking,
    decision::PlanWork,
    excerpt::excerpt,
    fact::PlanReply,
    lang::Language,
    message::{ModelCall, StopReason},
    outline::Item,
    work_error::{ErrorClass, WorkError},
};
use serde_json::Value;

use crate::{
    conversation,
    parse::{self, ReplyForm},
    protocol,
    words::Text,
};

/// The planner's reply, and the intended items.
#[derive(Debug, Clone, PartialEq)]
pub struct Understood {
    /// The reply, as the log stores it.
    pub reply: PlanReply,
    /// The intended items, in protocols that plan one action at a time; empty otherwise.
    pub outline: Vec<Item>,
}

impl From<PlanReply> for Understood {
    fn from(reply: PlanReply) -> Self {
        Self { reply, outline: Vec::new() }
    }
}

/// Interprets a model's reply to a planner's command: as a plan, a question, an answer or an error.
/// Never fails, whatever the reply.
#[must_use]
pub fn understand(
    reply: &Reply,
    work: &PlanWork,
    tools: &Toolbox<'_>,
    check_args: CheckArgs<'_>,
) -> Understood {
    let earlier = conversation::earlier(work);
    let frame = Frame {
        goal: earlier.title.as_deref().unwrap_or(&work.goal),
        tools,
        completed: &earlier.completed,
        kept: &earlier.kept,
        earlier: &earlier.all,
        check_args,
    };
    match said(reply, work) {
        Ok(ReplyContent::Question(question)) => PlanReply::Question { question }.into(),
        Ok(ReplyContent::Value(value)) => {
            let understood = if work.protocol.is_turn_by_turn() {
                choose::choose(value, work, &frame)
            } else {
                plan(value, work, &frame).map_err(Mistake::from)
            };
            understood.unwrap_or_else(|mistake| unparseable(reply, &mistake))
        }
        Err(error) => unparseable(reply, &error.into()),
    }
}

/// The error of a reply, worded for the model.
struct Mistake {
    error: String,
    /// `true` if the reply is well-formed and its action cannot be carried out.
    action: bool,
}

impl Mistake {
    fn of_action(error: String) -> Self {
        Self { error, action: true }
    }
}

impl From<String> for Mistake {
    fn from(error: String) -> Self {
        Self { error, action: false }
    }
}

/// The content of a reply.
enum ReplyContent {
    /// A question to a person.
    Question(proto::fact::Asked),
    /// JSON of the wanted kind.
    Value(Value),
}

fn said(reply: &Reply, work: &PlanWork) -> Result<ReplyContent, String> {
    let handed_over = |call: &&ModelCall| protocol::is_function(&call.name);
    let other = reply.calls.iter().any(|call| !protocol::is_function(&call.name));
    // A question precedes a plan beside it: the plan was made without the answer.
    if other {
        return question(&reply.calls, work).map(ReplyContent::Question);
    }
    match reply.stop {
        StopReason::Length => {
            return Err(Text::Cut.text(work.language));
        }
        StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => {}
    }
    let mut calls = reply.calls.iter().filter(handed_over);
    let wanted = if work.protocol.is_turn_by_turn() { ReplyForm::Choice } else { ReplyForm::Plan };
    match (calls.next(), calls.next()) {
        (Some(_), Some(_)) => Err(Text::OnePlan.text(work.language)),
        // Providers deliver arguments that they could not parse as a text.
        (Some(ModelCall { args: Value::String(text), .. }), None) => {
            parse::value(text, wanted).map(ReplyContent::Value).map_err(|e| e.text(work.language))
        }
        (Some(call), None) => Ok(ReplyContent::Value(call.args.clone())),
        (None, _) => parse::value(&reply.text, wanted)
            .map(ReplyContent::Value)
            .map_err(|e| e.text(work.language)),
    }
}

fn plan(value: Value, work: &PlanWork, frame: &Frame<'_>) -> Result<Understood, String> {
    let draft = draft::of(value).map_err(|e| e.text(work.language))?;
    draft.check(work.protocol).map_err(|e| e.text(work.language))?;
    let (message, language) = (draft.message.clone().filter(|_| work.may_be_empty), draft.language);
    let plan = draft::plan(draft, frame).map_err(|e| e.text(work.language))?;
    if let Some(response) = message.filter(|_| plan.steps.is_empty()) {
        return Ok(PlanReply::Finished { response, language }.into());
    }
    Ok(PlanReply::Plan { plan }.into())
}

fn unparseable(reply: &Reply, mistake: &Mistake) -> Understood {
    let calls: Vec<_> = reply.calls.iter().map(|c| format!("{}({})", c.name, c.args)).collect();
    let text = format!("{}\n{}", reply.text, calls.join("\n"));
    let text = if calls.is_empty() { reply.text.as_str() } else { text.trim() };
    let Mistake { error, action } = mistake;
    PlanReply::Unparseable { text: excerpt(text), error: excerpt(error), action: *action }.into()
}

fn question(calls: &[ModelCall], work: &PlanWork) -> Result<proto::fact::Asked, String> {
    let foreign =
        |call: &&ModelCall| call.name != asking::ASK_USER && !protocol::is_function(&call.name);
    if let Some(other) = calls.iter().find(foreign) {
        let name: String = other.name.chars().take(80).collect();
        return Err(Text::NoCalls { name: &name }.text(work.language));
    }
    if !work.may_ask {
        return Err(Text::OnlyAPlan.text(work.language));
    }
    let mut questions = calls.iter().filter(|call| call.name == asking::ASK_USER);
    match (questions.next(), questions.next()) {
        (Some(one), None) => {
            asking::parse(&one.args, &work.ask_kinds).map_err(|e| e.text(work.language))
        }
        (Some(_), Some(_)) | (None, _) => Err(Text::OneQuestion.text(work.language)),
    }
}

/// Builds the planner's reply when the conversation exceeds the model's context.
pub(crate) fn too_large(error: &TooLarge, language: Language) -> PlanReply {
    PlanReply::Failed { error: WorkError::new(error.text(language), ErrorClass::Permanent) }
}

/// Builds the planner's reply when the model call failed.
pub(crate) fn failed(error: &ModelError, language: Language) -> PlanReply {
    PlanReply::Failed { error: error.to_work_error(language) }
}

#[cfg(test)]
mod tests;
