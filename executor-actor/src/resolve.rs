//! The conversion of a model's reply to the outcome of the turn. Pure. Every call is resolved here,
//! once, against the tools registered now. Its target is a registered tool with valid arguments, a
//! question, or the reason why nothing runs.

use agents::toolbox::Toolbox;
use model::{ModelError, Reply};
use proto::{
    asking,
    decision::TurnWork,
    excerpt,
    fact::{CallTarget, TurnCall, TurnReply},
    lang::{Language, Words},
    limits,
    message::{Message, ModelCall, StopReason},
    tool::ToolSpec,
    work_error::{ErrorClass, WorkError},
};
use serde_json::Value;

use crate::{
    offer::{self, FINISH},
    outline,
    words::{Text, Unfinished},
};

/// The registered tool that ends a step when it is called alone.
const STOP: &str = "stop";
/// Error of a reply that exceeds the token limit.
const CUT: &str = "the reply was cut by the token limit; raise max_tokens";
/// Characters kept of each end of arguments that are nested too deeply to store.
const DEEP_ARGS_CHARS: usize = 500;

/// Checks a tool's arguments; the error says which one is invalid.
pub(crate) type CheckArgs<'a> = &'a dyn Fn(&ToolSpec, &Value) -> Result<(), Words>;

/// Computes the outcome of a turn from the model's reply.
pub(crate) fn resolve(
    reply: &Reply,
    work: &TurnWork,
    told: &[Message],
    tools: &Toolbox<'_>,
    check_args: CheckArgs<'_>,
) -> TurnReply {
    match reply.stop {
        StopReason::Length => {
            return failed(CUT, ErrorClass::Permanent);
        }
        StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => {}
    }
    match reply.calls.as_slice() {
        [] => end(StepReport::well(reply.text.trim()), reply, work, told),
        [call] if ends(call, work, tools) => match end_of(call, reply.text.trim()) {
            Ok(said) => end(said, reply, work, told),
            Err(wrong) => calls(&reply.text, vec![refused(call, wrong.text(work.language))]),
        },
        many if many.len() > 2 * limits::CALLS_PER_TURN_MAX => failed(
            &format!("the model asked for {} calls in one turn", many.len()),
            ErrorClass::Transient,
        ),
        many => {
            let resolver = Resolver { work, tools, check_args };
            let resolved = many.iter().enumerate().map(|(n, call)| resolver.call(n, call));
            let mut resolved: Vec<_> = resolved.collect();
            let list = work.outline.as_deref().unwrap_or_default();
            outline::refuse(&mut resolved, list, work.language);
            calls(&reply.text, resolved)
        }
    }
}

/// Computes the outcome of a node's turn: the reply is a text.
pub(crate) fn plain(reply: &Reply) -> TurnReply {
    match reply.stop {
        StopReason::Length => failed(CUT, ErrorClass::Permanent),
        StopReason::End | StopReason::ToolCalls | StopReason::ContentFilter => {
            done(StepReport::well(reply.text.trim()))
        }
    }
}

/// Computes the outcome of a turn whose model call failed.
pub(crate) fn no_reply(error: &ModelError, language: Language) -> TurnReply {
    TurnReply::Failed { error: error.to_work_error(language) }
}

/// Computes the outcome of a turn that cannot run.
pub(crate) fn failed(message: &str, class: ErrorClass) -> TurnReply {
    TurnReply::Failed { error: WorkError::new(message, class) }
}

/// A model's report of the step's end.
struct StepReport {
    success: bool,
    response: String,
    attachments: Vec<String>,
}

impl StepReport {
    fn well(response: &str) -> Self {
        Self { success: true, response: response.to_owned(), attachments: Vec::new() }
    }
}

/// Ends the step, unless its outline has open items and the model has not been advised about them.
fn end(said: StepReport, reply: &Reply, work: &TurnWork, told: &[Message]) -> TurnReply {
    let open = work.outline.as_deref().filter(|_| said.success && !offer::is_last(work));
    let advice = open.and_then(|items| outline::advice(work.language, items, told));
    match (advice, reply.calls.first()) {
        (None, _) => done(said),
        (Some(advice), Some(call)) => calls(&reply.text, vec![refused(call, advice)]),
        (Some(advice), None) => calls("", vec![outline::put_off(&said.response, advice)]),
    }
}

fn done(said: StepReport) -> TurnReply {
    let StepReport { success, response, attachments } = said;
    TurnReply::Done { success, response: bounded(&response), attachments, value: Value::Null }
}

fn calls(text: &str, calls: Vec<TurnCall>) -> TurnReply {
    TurnReply::Calls { text: text.trim().to_owned(), calls }
}

/// Shortens a response to its limit. A character has up to four bytes, so an eighth of the limit in
/// characters at each end always fits.
fn bounded(response: &str) -> String {
    if response.len() <= limits::RESPONSE_BYTES_MAX {
        return response.to_owned();
    }
    excerpt::ends(response, limits::RESPONSE_BYTES_MAX / 8 - 16)
}

/// `true` if a single call ends the step.
fn ends(call: &ModelCall, work: &TurnWork, tools: &Toolbox<'_>) -> bool {
    let stops = call.name == STOP && !offer::is_last(work) && tools.find(STOP).is_ok();
    call.name == FINISH || stops
}

/// Parses an ending call: `finish` carries the response in its arguments, `stop` in the text beside
/// it.
fn end_of(call: &ModelCall, beside: &str) -> Result<StepReport, Unfinished> {
    if call.name != FINISH {
        return Ok(StepReport::well(beside));
    }
    let Some(args) = call.args.as_object() else {
        return Err(Unfinished::NoObject);
    };
    let known = ["success", "response", "attachments"];
    if let Some(extra) = args.keys().find(|name| !known.contains(&name.as_str())) {
        return Err(Unfinished::Extra(excerpt::ends(extra, 40)));
    }
    let Some(Value::Bool(success)) = args.get("success") else {
        return Err(Unfinished::Success);
    };
    let Some(Value::String(response)) = args.get("response") else {
        return Err(Unfinished::Response);
    };
    // If the call contains no response, the text beside it is the response.
    let response = response.trim();
    let response = if response.is_empty() { beside } else { response }.to_owned();
    let attachments = attachments(args.get("attachments"))?;
    Ok(StepReport { success: *success, response, attachments })
}

/// Parses the files and addresses of the result. They are names only; nothing opens them here.
fn attachments(given: Option<&Value>) -> Result<Vec<String>, Unfinished> {
    let names = match given {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(names)) if names.len() <= limits::ATTACHMENTS_MAX => names,
        Some(
            Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
        ) => return Err(Unfinished::Attachments),
    };
    let name = |name: &Value| {
        let name = name.as_str().map(str::trim).unwrap_or_default();
        let fits = (1..=limits::ATTACHMENT_BYTES_MAX).contains(&name.len());
        let plain = !name.chars().any(char::is_control);
        (fits && plain).then(|| name.to_owned()).ok_or(Unfinished::Attachments)
    };
    names.iter().map(name).collect()
}

struct Resolver<'a> {
    work: &'a TurnWork,
    tools: &'a Toolbox<'a>,
    check_args: CheckArgs<'a>,
}

impl Resolver<'_> {
    fn call(&self, n: usize, call: &ModelCall) -> TurnCall {
        if n >= limits::CALLS_PER_TURN_MAX {
            return refused(
                call,
                Text::TooManyCalls { max: &limits::CALLS_PER_TURN_MAX }.text(self.work.language),
            );
        }
        match self.target(call) {
            Ok(target) => of_call(call, target),
            Err(error) => refused(call, error),
        }
    }

    fn target(&self, call: &ModelCall) -> Result<CallTarget, String> {
        let language = self.work.language;
        if call.name == FINISH {
            return Err(Text::Alone { name: &FINISH }.text(language));
        }
        if offer::is_last(self.work) {
            return Err(Text::NoMoreTools.text(language));
        }
        if call.name == asking::ASK_USER {
            if !self.work.may_ask {
                return Err(Text::NoMoreQuestions.text(language));
            }
            let question =
                asking::parse(&call.args, &self.work.ask_kinds).map_err(|e| e.text(language))?;
            return Ok(CallTarget::Person { question });
        }
        if self.work.outline.is_some() && outline::is_ours(&call.name) {
            return outline::target(&call.name, &call.args, language);
        }
        let tool = self.tools.find(&call.name).map_err(|e| e.text(language))?;
        if tool.name.as_str() == STOP {
            return Err(Text::Alone { name: &STOP }.text(language));
        }
        (self.check_args)(tool, &call.args).map_err(|why| {
            Text::Misfit { tool: &tool.name, why: &why.text(language) }.text(language)
        })?;
        Ok(CallTarget::Tool { tool: tool.name.clone(), binding: tool.binding() })
    }
}

fn of_call(call: &ModelCall, target: CallTarget) -> TurnCall {
    TurnCall { id: call.id.clone(), name: call.name.clone(), args: call.args.clone(), target }
}

/// Builds a refused call. Arguments nested too deeply to be read back from their record are kept as
/// text.
fn refused(call: &ModelCall, error: String) -> TurnCall {
    let mut refused = of_call(call, CallTarget::Refused { error });
    if proto::strict::is_deep(&refused.args) {
        let text = refused.args.to_string();
        refused.args = Value::String(excerpt::ends(&text, DEEP_ARGS_CHARS));
    }
    refused
}

#[cfg(test)]
mod tests;
