//! Model calls that shorten long results and summarise the oldest exchanges, before a turn that has
//! no room for them otherwise. The model is offered no tool, and its reply runs nothing.
//!
//! Must never fail a turn. Exchanges that cannot be summarised are left out, as without summaries.

use machine::transcript::Run;
use model::{Model, ModelRequest, ModelTarget, Overflow, Params};
use proto::{
    decision::TurnWork,
    excerpt,
    fence::fenced,
    lang::Language,
    message::{Message, StopReason, Usage},
    observe::{SUMMARY_CHARS_MAX, Shortened, Summary},
};

use crate::{prompt, transcript};

messages::texts!(summary);

/// Lengths to which each text is cut, in characters at each end, tried until all texts fit the
/// summarising model.
const ENDS: [usize; 7] = [usize::MAX / 4, 4_000, 2_000, 1_000, 400, 150, 50];
/// Fewest characters of a shortened result.
const SHORT_MIN: usize = 100;
/// Returns the characters of a summary per token of room: English has about four, Chinese one.
fn chars_per_token(language: Language) -> usize {
    Text::CharsPerToken.text(language).parse().expect("it is a number, a test reads it")
}

/// The summaries made before a turn.
#[derive(Debug, Default)]
pub(crate) struct Summaries {
    /// The summary that replaces the oldest exchanges.
    pub(crate) summary: Option<Summary>,
    pub(crate) results: Vec<Shortened>,
    /// Tokens of all model calls, successful or not.
    pub(crate) usage: Usage,
    /// `true` after an unusable reply: the model is not called again before this turn.
    is_silent: bool,
}

impl Summaries {
    /// `true` if nothing was summarised.
    pub(crate) fn is_nothing(&self) -> bool {
        self.summary.is_none() && self.results.is_empty()
    }
}

/// Shortens results that are too long to be shown whole, and summarises the oldest exchanges if the
/// conversation does not fit. The model's output is not streamed to users, as it is no answer of
/// the agent.
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
    let asked = ModelTarget { model, name: work.model.model.as_deref() };
    for long in run.long() {
        let all = long.text.chars().count();
        // The mark of a shortened result counts too: a longer text would be cut again.
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
    // The new summary replaces the existing one, so it may use that one's room.
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

/// Calls the model once for a summary of at most `room` tokens. `None` if its reply is unusable.
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

/// Builds the model request; `None` if even the shortest one does not fit.
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
        fallback: work.model.fallback.clone(),
        temperature: work.model.temperature,
        top_p: work.model.top_p,
        effort: work.model.effort,
        may_be_cached: work.is_first_try(),
        ..Params::default()
    };
    Some(ModelRequest { messages: messages.find(fits)?, tools: Vec::new(), params })
}

/// Formats exchanges as text.
fn done(language: Language, messages: &[Message], ends: usize) -> String {
    let cut = |text: &str| excerpt::ends(text, ends);
    let said = Text::Assistant.text(language);
    let mut lines = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { text, calls, opaque: _ } => {
                if !text.trim().is_empty() {
                    lines.push(format!("{said}: {}", cut(text.trim())));
                }
                let call = |call: &proto::message::ModelCall| {
                    format!("-> {} {}", call.name, cut(&call.args.to_string()))
                };
                lines.extend(calls.iter().map(call));
            }
            Message::Tool { name, text, .. } => {
                lines.push(format!("<- {name}: {}", fenced(&cut(text))))
            }
            Message::User { text } | Message::System { text } => lines.push(cut(text)),
        }
    }
    lines.join("\n")
}

/// Cuts a summary to its limits, with a note. `None` for an empty text.
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
