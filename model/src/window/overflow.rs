//! Selection of the exchanges to summarise when a conversation does not fit: more than necessary,
//! so that the next turns fit without another summary. Pure.
//!
//! It must never request a summary if nothing would be dropped, or if there is no room for a
//! summary.

use proto::{
    message::{Message, ToolOffer},
    observe::Window,
};

use super::{ModelTarget, cost, limit, offered, over_keep, split};

/// Fewest tokens of a summary that is worth a model call.
const ROOM_MIN: usize = 32;

/// The oldest part of a conversation that does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow {
    /// Number of oldest exchanges to summarise.
    pub oldest: usize,
    /// Largest number of tokens of the summary.
    pub room: usize,
}

/// Selects the exchanges to summarise: the oldest ones until the rest takes half of the window, but
/// never the newest. The summary may take a quarter of the window. `None` if the whole conversation
/// fits, by [`super::fit`].
#[must_use]
pub fn overflow(
    messages: Vec<Message>,
    tools: &[ToolOffer],
    window: Window,
    asked: ModelTarget<'_>,
) -> Option<Overflow> {
    let (model, limit) = (asked.model, limit(window, asked));
    let (pinned, exchanges) = split(messages);
    let fixed = cost(model, &pinned).saturating_add(offered(model, tools));
    let costs: Vec<usize> = exchanges.iter().map(|exchange| cost(model, exchange)).collect();
    let rest = |oldest: usize| fixed.saturating_add(costs.iter().skip(oldest).sum());
    let beyond = |keep: u32, limit: usize| {
        let mut oldest = over_keep(&exchanges, keep);
        while rest(oldest) > limit && oldest + 1 < exchanges.len() {
            oldest += 1;
        }
        oldest
    };
    if beyond(window.keep, limit) == 0 {
        return None;
    }
    let oldest = beyond((window.keep / 2).max(1), limit / 2);
    let room = (limit / 4).min(limit.saturating_sub(rest(oldest)));
    (room >= ROOM_MIN).then_some(Overflow { oldest, room })
}
