//! The one question to a model by which the oldest turns of a run are put in short, before the turn
//! for which there is no room otherwise. It is offered no tool, and nothing it says is carried out.
//!
//! Must never: fail a turn. What cannot be summarised is left out, as without summaries.

use model::{Asked, Model, ModelError, ModelRequest, Overflow, Params};
use proto::{
    decision::TurnWork,
    excerpt,
    lang::Language,
    message::{Message, StopReason, Usage},
    observe::{SUMMARY_CHARS_MAX, Summary},
};

use crate::{
    prompt,
    transcript::{Run, ToSummarise},
};

/// What each text of a turn is cut to, in characters of each end, until all of them fit the model
/// that is to summarise them.
const ENDS: [usize; 7] = [usize::MAX / 4, 4_000, 2_000, 1_000, 400, 150, 50];
/// Characters of a summary for each token there is room for: English has about four, Chinese one.
const fn chars_per_token(language: Language) -> usize {
    match language {
        Language::En => 3,
        Language::Zh => 1,
    }
}

/// What came of the attempt to put something in short.
pub(crate) enum Summarised {
    /// This stands in its place.
    So(Summary, Usage),
    /// It cannot be; this was spent all the same.
    Not(Usage),
    /// The model gave no reply, and may give one when it is asked again.
    Later(ModelError),
}

/// What of a run is to be summarised before a turn: nothing when all of it fits.
pub(crate) fn wanted<'a>(
    work: &TurnWork,
    run: &'a Run,
    request: &ModelRequest,
    model: &dyn Model,
) -> Option<(ToSummarise<'a>, Overflow)> {
    if !work.summarise {
        return None;
    }
    let overflow =
        model::overflow(request.messages.clone(), &request.tools, work.window, of(work, model))?;
    Some((run.oldest(overflow.oldest)?, overflow))
}

/// The model that takes the turn is the one that summarises.
fn of<'a>(work: &'a TurnWork, model: &'a dyn Model) -> Asked<'a> {
    Asked { model, name: work.model.model.as_deref() }
}

/// Asks the model. Nobody is shown its words as they come: they are no answer of the agent's.
pub(crate) async fn ask(
    work: &TurnWork,
    (past, overflow): (ToSummarise<'_>, Overflow),
    model: &dyn Model,
) -> Summarised {
    let Some(request) = request(work, &past, overflow, model) else {
        return Summarised::Not(Usage::default());
    };
    match model::complete(model, request, |_| {}).await {
        Ok(said) if said.stop == StopReason::Length => Summarised::Not(said.usage),
        Ok(said) => match bounded(said.text.trim(), overflow.room, model) {
            Some(text) => Summarised::So(Summary { text, through: past.through }, said.usage),
            None => Summarised::Not(said.usage),
        },
        Err(error) if error.is_transient() => Summarised::Later(error),
        Err(_) => Summarised::Not(Usage::default()),
    }
}

/// What the model is asked; nothing when even the least of it does not fit.
fn request(
    work: &TurnWork,
    past: &ToSummarise<'_>,
    overflow: Overflow,
    model: &dyn Model,
) -> Option<ModelRequest> {
    let language = work.language;
    let chars = overflow.room.saturating_mul(chars_per_token(language)).min(SUMMARY_CHARS_MAX);
    let limit = work.window.tokens_with(model.context_tokens(work.model.model.as_deref()));
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fits = |messages: &Vec<Message>| model::tokens(messages, &[], model) <= limit;
    let messages = ENDS.into_iter().map(|ends| {
        let done = done(language, &past.messages, ends);
        vec![
            Message::System { text: prompt::summary(language, chars) },
            Message::User { text: prompt::summary_of(language, past.task, past.before, &done) },
        ]
    });
    let params = Params {
        model: work.model.model.clone(),
        temperature: work.model.temperature,
        top_p: work.model.top_p,
        ..Params::default()
    };
    Some(ModelRequest { messages: { messages }.find(fits)?, tools: Vec::new(), params })
}

/// What was said and done, as a text.
fn done(language: Language, messages: &[Message], ends: usize) -> String {
    let cut = |text: &str| excerpt::ends(text, ends);
    let said = match language {
        Language::En => "assistant",
        Language::Zh => "助手",
    };
    let mut lines = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { text, calls } => {
                if !text.trim().is_empty() {
                    lines.push(format!("{said}: {}", cut(text.trim())));
                }
                let call = |call: &proto::message::ModelCall| {
                    format!("-> {} {}", call.name, cut(&call.args.to_string()))
                };
                lines.extend(calls.iter().map(call));
            }
            Message::Tool { name, text, .. } => lines.push(format!("<- {name}: {}", cut(text))),
            Message::User { text } | Message::System { text } => lines.push(cut(text)),
        }
    }
    lines.join("\n")
}

/// A summary within its bounds: what is longer is cut, with a note. Nothing when there is none.
fn bounded(text: &str, room: usize, model: &dyn Model) -> Option<String> {
    if text.is_empty() {
        return None;
    }
    let mut chars = SUMMARY_CHARS_MAX;
    loop {
        let cut = excerpt::head_and_tail(text, chars.saturating_sub(chars / 4), chars / 8);
        if cut.chars().count() <= SUMMARY_CHARS_MAX && model.count_tokens(&cut) <= room {
            return Some(cut);
        }
        chars = chars * 3 / 4;
        if chars < 16 {
            return None;
        }
    }
}
