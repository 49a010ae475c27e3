//! The scripted model of a case, as one process reaches it: slower and less reliable under faults, and
//! never with another reply than that of the script.

use std::sync::Arc;

use async_trait::async_trait;
use futures::TryStreamExt;
use model::{ErrorKind, Model, ModelError, ModelRequest, ModelStream, Phase, script::ScriptModel};

use proto::message::Message;

use super::cast::Cast;
use crate::{flaky_model::OUTAGE, tools::Bench};

pub(super) struct Performer {
    pub(super) script: ScriptModel,
    pub(super) bench: Bench,
    pub(super) cast: Arc<Cast>,
}

#[async_trait]
impl Model for Performer {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        let Bench { link, chance, fault_rates, story, .. } = &self.bench;
        let longest = if chance.percent(5) { 15_000 } else { 300 };
        tokio::time::sleep(chance.millis(1..=longest)).await;
        link.run().await;
        if fault_rates.is_model_away() {
            story.add("model calls in an outage", 1);
            return Err(ModelError::new(ErrorKind::Unreachable, OUTAGE));
        }
        if chance.percent(fault_rates.model_percent()) {
            story.count("model calls that fail");
            return Err(match chance.number(0..=2) {
                0 => ModelError::new(ErrorKind::Overloaded, OUTAGE),
                1 => ModelError::new(ErrorKind::Unreachable, OUTAGE),
                _ => ModelError::timeout(Phase::Total),
            });
        }
        let last = request.messages.last().map(text).unwrap_or_default().to_owned();
        let replied = self.script.stream(request).await;
        if let Err(error) = &replied
            && error.kind() == ErrorKind::InvalidRequest
        {
            self.cast.miss_a_reply(last);
        }
        let (cast, begun) = (Arc::clone(&self.cast), Arc::clone(&self.cast));
        let note = move |error: &ModelError| cast.add_error(error.to_string());
        match replied {
            Ok(said) => Ok(Box::pin(said.inspect_err(note))),
            Err(error) => {
                begun.add_error(error.to_string());
                Err(error)
            }
        }
    }
}

fn text(message: &Message) -> &str {
    match message {
        Message::System { text }
        | Message::User { text }
        | Message::Assistant { text, .. }
        | Message::Tool { text, .. } => text,
    }
}
