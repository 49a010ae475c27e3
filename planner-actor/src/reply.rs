//! From what a model said to what the planner answers. Pure. A reply that is neither a plan nor a
//! question is told back as such; nothing here ever makes a task of it.

use model::{ModelError, Reply};
use proto::{
    asking,
    decision::PlanWork,
    excerpt::excerpt,
    fact::{PlanReply, WorkError},
    message::{ModelCall, StopReason},
    toolbox::Toolbox,
};

use crate::{
    conversation,
    normalise::{self, CheckArgs, Frame},
    parse,
};

/// What a model's reply means.
pub(crate) fn understand(
    reply: &Reply,
    work: &PlanWork,
    tools: &Toolbox<'_>,
    check_args: CheckArgs<'_>,
) -> PlanReply {
    let unparseable = |text: &str, error: String| PlanReply::Unparseable {
        text: excerpt(text),
        error: excerpt(&error),
    };
    // A question goes before a plan that stands beside it: the plan was made without the answer.
    if !reply.calls.is_empty() {
        return match question(&reply.calls, work.may_ask) {
            Ok(question) => PlanReply::Question { question },
            Err(error) => {
                let calls: Vec<_> =
                    reply.calls.iter().map(|c| format!("{}({})", c.name, c.args)).collect();
                let text = format!("{}\n{}", reply.text, calls.join("\n"));
                unparseable(text.trim(), error)
            }
        };
    }
    match reply.stop {
        StopReason::Length => {
            let error = "the reply was cut because it is too long; reply with a shorter plan";
            return unparseable(&reply.text, error.to_owned());
        }
        StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => {}
    }
    let completed = conversation::completed(work);
    let frame = Frame { goal: &work.goal, tools, completed: &completed, check_args };
    let plan = parse::value(&reply.text)
        .map_err(|e| e.to_string())
        .and_then(|value| parse::shape::draft(value).map_err(|e| e.to_string()))
        .and_then(|draft| normalise::plan(draft, &frame).map_err(|e| e.to_string()));
    match plan {
        Ok(plan) => PlanReply::Plan { plan },
        Err(error) => unparseable(&reply.text, error),
    }
}

fn question(calls: &[ModelCall], may_ask: bool) -> Result<proto::fact::Asked, String> {
    if let Some(other) = calls.iter().find(|call| call.name != asking::ASK_USER) {
        let name: String = other.name.chars().take(80).collect();
        return Err(format!(
            "{name:?} cannot be called while planning; name the tool in a step of the plan"
        ));
    }
    if !may_ask {
        return Err("no more questions can be asked; reply with the plan".to_owned());
    }
    match calls {
        [one] => asking::parse(&one.args).map_err(|e| e.to_string()),
        _ => Err("only one question can be asked at a time; use a form to ask for several things"
            .to_owned()),
    }
}

/// What the planner answers when the model gave no reply.
pub(crate) fn failed(error: &ModelError) -> PlanReply {
    let retry_after_ms =
        error.retry_after().map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    PlanReply::Failed {
        error: WorkError {
            message: error.to_string(),
            transient: error.is_transient(),
            retry_after_ms,
        },
    }
}

#[cfg(test)]
mod tests;
