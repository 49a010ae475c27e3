//! The messages to the receiver of a webhook.

use broker::log::Posted;
use jiff::Timestamp;
use proto::id::HookName;
use url::Url;

use super::{
    event::{self, Payload},
    outbox::{RecordContext, Settled, count},
    sender::{Sender, Try},
    settings::Outgoing,
};

/// An outgoing webhook.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) settings: Outgoing,
    pub(super) sender: Sender,
    /// Address of the console, for links.
    pub(super) console: Option<Url>,
}

impl Hook {
    /// Sends the events that a record stands for, one after the other.
    pub(super) async fn tell(
        &self,
        name: &HookName,
        posted: &Posted,
        RecordContext { events, view }: &RecordContext,
    ) -> Settled {
        let agent = &view.agent;
        if !self.settings.concerns(agent) {
            return Settled::Done;
        }
        let changes = event::changes(posted.seq, &posted.family, events);
        for found in changes.iter().filter(|it| self.settings.wants(it.change.event_type())) {
            let id = event::message_id(name, &posted.job, found.id);
            let payload = Payload::of(found, &posted.job, agent, self.console.as_ref());
            let body = serde_json::to_vec(&payload).unwrap_or_default();
            match self.sender.send(&id, body, Timestamp::now()).await {
                Try::Delivered(_) => count(name, "delivered"),
                Try::Gone => return Settled::Off,
                Try::Failed(why) => return Settled::Again(why),
            }
        }
        Settled::Done
    }
}
