//! Reduction of a conversation to a model's context. Whole exchanges are dropped, the oldest first,
//! so that no result lacks its call. The instructions and the first request are never dropped.
//! Pure.
//!
//! It must never keep half an exchange, exceed the window, or return different results for equal
//! input.

mod overflow;
mod tokens;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use agents::price::ByModel;
use async_trait::async_trait;
use proto::{
    budget::Price,
    excerpt,
    lang::Language,
    message::{Message, ToolOffer},
    observe::Window,
};

pub use self::{
    overflow::{Overflow, overflow},
    tokens::estimate,
};
use crate::{Model, ModelError, ModelRequest, ModelStream, fallback::Chain};

messages::texts!(window);

/// Tokens of a message besides its text.
const PER_MESSAGE: usize = 4;
/// Tokens of a call or of a tool's description besides its text.
const PER_CALL: usize = 8;
/// Fewest characters kept of each end of a truncated result.
const END_CHARS_MIN: usize = 20;

/// A conversation that fits the window.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The remaining messages, oldest first.
    pub messages: Vec<Message>,
    /// Number of dropped exchanges.
    pub left_out: usize,
}

/// The model that a conversation is for.
#[derive(Clone, Copy)]
pub struct ModelTarget<'a> {
    /// Counts tokens and knows the context size.
    pub model: &'a dyn Model,
    /// Name of the model; absent for the configured one.
    pub name: Option<&'a str>,
}

/// Even the smallest permitted part of the conversation exceeds the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct TooLarge {
    /// Tokens of that part.
    pub needed: usize,
    /// Tokens that fit the window.
    pub window: usize,
}

impl TooLarge {
    /// Returns the error in a job's language.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        let Self { needed, window } = self;
        Text::TooLarge { needed, window }.text(language)
    }
}

/// Reduces a conversation to the window.
///
/// Messages before the model's first one (instructions and task) are pinned. After that, each of
/// the model's messages forms an exchange with the results and texts that follow. The newest
/// exchange always stays: if it is too large by itself, its results are truncated.
///
/// # Errors
/// [`TooLarge`] if the pinned messages and the newest exchange do not fit.
pub fn fit(
    messages: Vec<Message>,
    tools: &[ToolOffer],
    window: Window,
    language: Language,
    asked: ModelTarget<'_>,
) -> Result<Fitted, TooLarge> {
    let (model, limit) = (asked.model, limit(window, asked));
    let (pinned, mut exchanges) = split(messages);
    let mut left_out = over_keep(&exchanges, window.keep);
    if limit == usize::MAX {
        exchanges.drain(..left_out);
        return Ok(fitted(pinned, exchanges, left_out, language));
    }
    let fixed = cost(model, &pinned) + offered(model, tools);
    let costs: Vec<usize> = exchanges.iter().map(|exchange| cost(model, exchange)).collect();
    let total = |left_out: usize| {
        let note = if left_out > 0 {
            PER_MESSAGE + model.count_tokens(&note(language, left_out))
        } else {
            0
        };
        fixed.saturating_add(note).saturating_add(costs.iter().skip(left_out).sum())
    };
    while total(left_out) > limit && left_out + 1 < exchanges.len() {
        left_out += 1;
    }
    let excess = total(left_out).saturating_sub(limit);
    exchanges.drain(..left_out);
    if excess > 0 {
        let newest = exchanges.last_mut();
        let before = total(left_out);
        let after = newest.map_or(before, |newest| {
            let was = cost(model, newest);
            shrink(model, newest, was.saturating_sub(excess));
            before - was + cost(model, newest)
        });
        if after > limit {
            return Err(TooLarge { needed: after, window: limit });
        }
    }
    Ok(fitted(pinned, exchanges, left_out, language))
}

/// Fits the messages of a request with [`fit`]. `pinned` is the same conversation with people's
/// instructions moved to the task. It replaces the original if exchanges, and the instructions
/// between them, must be dropped. If not even the smallest part fits, the request is for the first
/// model to fall back to whose window it fits.
///
/// # Errors
/// [`TooLarge`] as from [`fit`]; the request then has no messages.
pub fn fit_request(
    request: &mut ModelRequest,
    pinned: Option<&[Message]>,
    window: Window,
    language: Language,
    model: &dyn Model,
) -> Result<(), TooLarge> {
    let messages = std::mem::take(&mut request.messages);
    let mut too_large = None;
    let first = request.params.clone();
    let mut chain = Chain::of(first.clone());
    loop {
        request.params = chain.params();
        let asked = ModelTarget { model, name: request.params.model.as_deref() };
        let fit = |messages| fit(messages, &request.tools, window, language, asked);
        let fitted = fit(messages.clone()).and_then(|fitted| match pinned {
            Some(pinned) if fitted.left_out > 0 => fit(pinned.to_vec()),
            Some(_) | None => Ok(fitted),
        });
        match fitted {
            Ok(fitted) => {
                request.messages = fitted.messages;
                return Ok(());
            }
            Err(large) => {
                // The error tells how much the first model takes.
                let large = too_large.take().unwrap_or(large);
                if !chain.passes_over() {
                    request.params = first;
                    return Err(large);
                }
                too_large = Some(large);
            }
        }
    }
}

/// Returns the number of tokens that fit.
fn limit(window: Window, asked: ModelTarget<'_>) -> usize {
    let limit = window.tokens_with(asked.model.context_tokens(asked.name));
    limit.map_or(usize::MAX, |tokens| usize::try_from(tokens).unwrap_or(usize::MAX))
}

/// Splits messages into the pinned ones and the exchanges.
fn split(messages: Vec<Message>) -> (Vec<Message>, Vec<Vec<Message>>) {
    let begins = |m: &Message| matches!(m, Message::Assistant { .. });
    let first = messages.iter().position(begins).unwrap_or(messages.len());
    let mut pinned = messages;
    let exchanges = exchanges(pinned.split_off(first));
    (pinned, exchanges)
}

/// Returns the number of oldest exchanges to drop so that at most `keep` results remain.
fn over_keep(exchanges: &[Vec<Message>], keep: u32) -> usize {
    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
    let mut results = 0_usize;
    let kept = exchanges.iter().rev().take_while(|exchange| {
        results += exchange.iter().filter(|m| matches!(m, Message::Tool { .. })).count();
        results <= keep
    });
    // The newest one stays, however many results it has.
    let kept = kept.count().max(1).min(exchanges.len());
    exchanges.len() - kept
}

fn exchanges(messages: Vec<Message>) -> Vec<Vec<Message>> {
    let mut exchanges: Vec<Vec<Message>> = Vec::new();
    for message in messages {
        match (&message, exchanges.last_mut()) {
            (Message::Assistant { .. }, _) | (_, None) => exchanges.push(vec![message]),
            (
                Message::Tool { .. } | Message::User { .. } | Message::System { .. },
                Some(exchange),
            ) => exchange.push(message),
        }
    }
    exchanges
}

fn fitted(
    mut messages: Vec<Message>,
    exchanges: Vec<Vec<Message>>,
    left_out: usize,
    language: Language,
) -> Fitted {
    if left_out > 0 {
        let said = note(language, left_out);
        match messages.last_mut() {
            Some(Message::User { text }) => *text = format!("{text}\n\n{said}"),
            Some(Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. })
            | None => messages.push(Message::User { text: said }),
        }
    }
    messages.extend(exchanges.into_iter().flatten());
    Fitted { messages, left_out }
}

fn note(language: Language, left_out: usize) -> String {
    Text::LeftOut { count: &left_out }.text(language)
}

/// Truncates results until an exchange costs at most `room`, the longest first, or until no result
/// can be truncated further.
fn shrink(model: &dyn Model, exchange: &mut [Message], room: usize) {
    let mut now = cost(model, exchange);
    while now > room {
        let Some(text) = longest(exchange) else { return };
        *text = excerpt::ends(text, text.chars().count() / 4);
        now = cost(model, exchange);
    }
}

/// Returns the longest result that can be truncated, or else the longest other text: planners
/// receive results as text.
fn longest(exchange: &mut [Message]) -> Option<&mut String> {
    let can_be_cut = |text: &str| text.chars().count() / 4 >= END_CHARS_MIN;
    let is_result = |m: &Message| matches!(m, Message::Tool { text, .. } if can_be_cut(text));
    let words = !exchange.iter().any(is_result);
    let texts = exchange.iter_mut().filter_map(|message| match message {
        Message::Tool { text, .. } if !words => Some(text),
        Message::User { text } if words => Some(text),
        Message::Tool { .. }
        | Message::User { .. }
        | Message::System { .. }
        | Message::Assistant { .. } => None,
    });
    texts.filter(|text| can_be_cut(text)).max_by_key(|text| text.len())
}

fn cost(model: &dyn Model, messages: &[Message]) -> usize {
    of_messages(messages, &|text| model.count_tokens(text))
}

fn of_messages(messages: &[Message], words: &dyn Fn(&str) -> usize) -> usize {
    let of_call = |call: &proto::message::ModelCall| {
        PER_CALL + words(&call.id) + words(&call.name) + words(&call.args.to_string())
    };
    let of_message = |message: &Message| match message {
        Message::System { text } | Message::User { text } => words(text),
        Message::Assistant { text, calls, opaque } => {
            let kept = opaque.iter().flat_map(|opaque| &opaque.parts);
            let kept: usize = kept.map(|part| words(&part.to_string())).sum();
            words(text) + calls.iter().map(of_call).sum::<usize>() + kept
        }
        Message::Tool { call, name, text } => words(call) + words(name) + words(text),
    };
    messages.iter().map(|message| PER_MESSAGE + of_message(message)).sum()
}

fn offered(model: &dyn Model, tools: &[ToolOffer]) -> usize {
    of_tools(tools, &|text| model.count_tokens(text))
}

fn of_tools(tools: &[ToolOffer], words: &dyn Fn(&str) -> usize) -> usize {
    let of_tool = |tool: &ToolOffer| {
        PER_CALL + words(&tool.name) + words(&tool.description) + words(&tool.schema.to_string())
    };
    tools.iter().map(of_tool).sum()
}

/// Estimates the tokens of a conversation, including the offered tools.
pub(crate) fn estimated(messages: &[Message], tools: &[ToolOffer]) -> usize {
    of_messages(messages, &estimate) + of_tools(tools, &estimate)
}

/// Counts the tokens of a conversation, including the offered tools.
#[must_use]
pub fn tokens(messages: &[Message], tools: &[ToolOffer], model: &dyn Model) -> usize {
    cost(model, messages) + offered(model, tools)
}

/// A model with known context sizes.
struct Bounded {
    model: Arc<dyn Model>,
    windows: ByModel<u32>,
}

/// Adds the context sizes of all models by name, for the construction of conversations.
#[must_use]
pub fn bounded(model: Arc<dyn Model>, windows: ByModel<u32>) -> Arc<dyn Model> {
    Arc::new(Bounded { model, windows })
}

#[async_trait]
impl Model for Bounded {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.model.stream(request).await
    }

    fn max_reply_bytes(&self) -> usize {
        self.model.max_reply_bytes()
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.model.count_tokens(text)
    }

    fn context_tokens(&self, model: Option<&str>) -> Option<u32> {
        self.windows.of(model)
    }

    fn price(&self, model: Option<&str>) -> Option<Price> {
        self.model.price(model)
    }
}
