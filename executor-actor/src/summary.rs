//! The questions to a model that summarise results and the oldest turns of a run, before a turn for
//! which there is no room otherwise. The model is offered no tool, and its reply is not carried out.
//!
//! Must never: fail a turn. Turns that cannot be summarised are left out, as without summaries.

use machine::transcript::Run;
use model::{Asked, Model, ModelRequest, Overflow, Params};
use proto::{
    decision::TurnWork,
    excerpt,
    lang::Language,
    message::{Message, StopReason, Usage},
    observe::{SUMMARY_CHARS_MAX, Shortened, Summary},
};

use crate::{prompt, transcript};

messages::texts!(summary);

/// What each text of a turn is cut to, in characters of each end, until all of them fit the model
/// that is to summarise them.
const ENDS: [usize; 7] = [usize::MAX / 4, 4_000, 2_000, 1_000, 400, 150, 50];
/// A result is not put in fewer characters than these.
const SHORT_MIN: usize = 100;
/// Characters of a summary for each token there is room for: English has about four, Chinese one.
fn chars_per_token(language: Language) -> usize {
    Text::CharsPerToken.text(language).parse().expect("it is a number, a test reads it")
}

/// The summaries made before a turn.
#[derive(Debug, Default)]
pub(crate) struct Summaries {
    /// The text in place of the oldest turns.
    pub(crate) summary: Option<Summary>,
    /// The texts in place of results.
    pub(crate) results: Vec<Shortened>,
    /// The cost of all questions, whether or not they were answered.
    pub(crate) usage: Usage,
    /// Whether the model gave nothing that can be used: it is not asked for more before this turn.
    is_silent: bool,
}

impl Summaries {
    /// Whether there is no summary.
    pub(crate) fn is_nothing(&self) -> bool {
        self.summary.is_none() && self.results.is_empty()
    }
}

/// Summarises what there is no room for in a turn: results that are too long to be shown whole, and
/// the oldest turns when the conversation does not fit. The model's words are not streamed to people:
/// they are no answer of the agent's.
pub(crate) async fn make(
    work: &TurnWork,
    run: &Run,
    request: &ModelRequest,
    model: &dyn Model,
) -> Summaries {
    let mut made = Summaries::default();
    if !work.summarise {
        return made;
    }
    let language = work.language;
    let asked = Asked { model, name: work.model.model.as_deref() };
    for long in run.long() {
        let all = long.text.chars().count();
        // What marks it as a short form counts too: what is longer than the two ends is cut once more.
        let mark = prompt::shortened(language, all, "").chars().count();
        let chars = long.shown.saturating_sub(mark).min(SUMMARY_CHARS_MAX);
        if chars < SHORT_MIN {
            continue;
        }
        let frame = prompt::result(language, chars);
        let of = |ends: usize| {
            let text = excerpt::ends(&long.text, ends);
            prompt::result_of(language, run.task(), &long.name, &text)
        };
        let said = ask(work, (frame, &of), usize::MAX, model, &mut made).await;
        let text = said.map(|text| excerpt::head_and_tail(&text, chars - chars / 4, chars / 8));
        let text = text.map(|text| prompt::shortened(language, all, &text));
        made.results.extend(text.map(|text| Shortened { id: long.id.clone(), text }));
    }
    let overflow = |messages| model::overflow(messages, &request.tools, work.window, asked);
    // The summary there is makes room for the one that takes its place.
    let without = transcript::messages(work, &run.without_summary());
    let found = overflow(without).or_else(|| overflow(request.messages.clone()));
    let Some(Overflow { oldest, room }) = found else { return made };
    let Some(past) = run.oldest(oldest) else { return made };
    let chars = room.saturating_mul(chars_per_token(language)).min(SUMMARY_CHARS_MAX);
    let frame = prompt::summary(language, chars);
    let of = |ends: usize| {
        let done = done(language, &past.messages, ends);
        prompt::summary_of(language, run.task(), past.before, &done)
    };
    let said = ask(work, (frame, &of), room, model, &mut made).await;
    made.summary = said.map(|text| Summary { text, through: past.through });
    made
}

/// Asks the model once for a summary of at most `room` tokens. Nothing when its reply cannot be used.
async fn ask(
    work: &TurnWork,
    (frame, of): (String, &(dyn Fn(usize) -> String + Sync)),
    room: usize,
    model: &dyn Model,
    made: &mut Summaries,
) -> Option<String> {
    if made.is_silent {
        return None;
    }
    let request = request(work, &frame, of, model)?;
    match model::complete(model, request, |_| {}).await {
        Ok(said) => {
            made.usage += said.usage;
            let whole = said.stop != StopReason::Length;
            let text = whole.then(|| bounded(said.text.trim(), room, model)).flatten();
            made.is_silent = text.is_none();
            text
        }
        Err(error) => {
            tracing::debug!(%error, "nothing was summarised");
            made.is_silent = true;
            None
        }
    }
}

/// The question to the model; nothing when even the shortest one does not fit.
fn request(
    work: &TurnWork,
    frame: &str,
    of: &(dyn Fn(usize) -> String + Sync),
    model: &dyn Model,
) -> Option<ModelRequest> {
    let limit = work.window.tokens_with(model.context_tokens(work.model.model.as_deref()));
    let limit = limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let fits = |messages: &Vec<Message>| model::tokens(messages, &[], model) <= limit;
    let mut messages = ENDS.into_iter().map(|ends| {
        vec![Message::System { text: frame.to_owned() }, Message::User { text: of(ends) }]
    });
    let params = Params {
        model: work.model.model.clone(),
        temperature: work.model.temperature,
        top_p: work.model.top_p,
        ..Params::default()
    };
    Some(ModelRequest { messages: messages.find(fits)?, tools: Vec::new(), params })
}

/// The exchanges as a text.
fn done(language: Language, messages: &[Message], ends: usize) -> String {
    let cut = |text: &str| excerpt::ends(text, ends);
    let said = Text::Assistant.text(language);
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

/// A summary within its bounds: a longer one is cut, with a note. Nothing for an empty text.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_says_how_many_characters_a_token_has() {
        for language in Language::ALL {
            assert!((1..=8).contains(&chars_per_token(*language)), "{language:?}");
        }
    }
}
