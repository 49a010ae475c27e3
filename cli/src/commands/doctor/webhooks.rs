//! Findings about outboxes: those that are off, and those whose receivers do not accept events.

use broker::nats::outbox_states;
use gateway::webhooks::Webhooks;
use proto::{lang::Words, subject::Subjects};
use runtime::nats::Nats;

use super::words::Text;
use crate::{connect, render::findings::Finding};

/// Reports each outgoing webhook, and the notifications of tasks; nothing without one.
pub(super) async fn findings(nats: &Nats, subjects: &Subjects, hooks: &Webhooks) -> Vec<Finding> {
    let outboxes = hooks.outboxes();
    if outboxes.is_empty() {
        return Vec::new();
    }
    let states = match outbox_states(&nats.into(), subjects, &outboxes).await {
        Ok(states) => states,
        Err(error) => return vec![Finding::skipped("webhooks", connect::refused(&error))],
    };
    let found = outboxes.iter().zip(states).map(|(name, state)| {
        let count = state.repeated;
        match (state.is_off, count) {
            (true, _) => Finding::bad(
                "webhooks",
                Text::WebhookOff { name },
                Words::from(format!("callboard webhooks on {name}")),
            ),
            (false, 0) => Finding::ok("webhooks", Text::Webhook { name }),
            (false, _) if name.is_tasks() => Finding::warning(
                "webhooks",
                Text::WebhookFailing { name, count: &count },
                Text::ReadGatewayLog,
            ),
            (false, _) => Finding::warning(
                "webhooks",
                Text::WebhookFailing { name, count: &count },
                Words::from(format!("callboard webhooks test {name}")),
            ),
        }
    });
    found.collect()
}
