//! One request with its reply, and the distinction between a reply and a refusal.

use broker::bus::BusError;
use bytes::Bytes;
use proto::{
    door::Refusal,
    error::{Code, Failure},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use super::{Client, body, transport};

impl Client {
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        verb: &str,
        request: &impl Serialize,
    ) -> Result<T, Failure> {
        self.send(verb, body(request)?).await
    }

    /// Sends a payload as it is.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        verb: &str,
        payload: Bytes,
    ) -> Result<T, Failure> {
        let subject = self.subjects.service(verb);
        let (began, mut tries) = (Instant::now(), 0);
        loop {
            let (subject, payload) = (subject.clone(), payload.clone());
            let asked = self.bus.request(subject, payload, self.context(), self.timeout);
            match asked.await {
                // Without a responder the request was certainly not executed, so a retry is safe.
                Err(BusError::NoResponders(_))
                    if let Some(patience) = &self.patience
                        && patience.next(verb, began, self.timeout, tries).await =>
                {
                    tries += 1;
                }
                answer => {
                    let answer = answer.map_err(|error| transport(&error))?;
                    return understood(verb, &answer.payload);
                }
            }
        }
    }
}

/// Parses a reply, or the refusal that came instead.
pub(super) fn understood<T: DeserializeOwned>(verb: &str, answer: &Bytes) -> Result<T, Failure> {
    // No reply has a field `error` at its top level, so a message that parses as a refusal is one.
    // The end of a watch may have that field, with the same meaning.
    if let Ok(Refusal { error }) = serde_json::from_slice(answer) {
        return Err(error);
    }
    serde_json::from_slice(answer).map_err(|error| {
        let why = format!("the answer to {verb} cannot be read: {error}");
        let hint = "Use a client and a server of the same version.".to_owned();
        Failure { hint, ..Failure::new(Code::Internal, why) }
    })
}
