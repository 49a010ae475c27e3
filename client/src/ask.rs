//! One request with its reply, and the distinction between a reply and a refusal.

use broker::bus::BusError;
use bytes::Bytes;
use proto::{
    door::{Refusal, Request, Verb},
    error::{Code, Failure},
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::time::Instant;

use super::{Client, body, transport};

impl Client {
    /// Asks once and returns the reply.
    ///
    /// An answer to a question that is given again after its reply got lost is refused with
    /// `already_answered`, and `winner` shows that it was this one.
    ///
    /// # Errors
    /// Returns the server's refusal, or the reason for which the request got no reply.
    pub async fn call<R: Request + Serialize>(&self, request: &R) -> Result<R::Reply, Failure> {
        self.send::<R>(body(request)?).await
    }

    /// Sends the body of a request as it is.
    pub(super) async fn send<R: Request>(&self, payload: Bytes) -> Result<R::Reply, Failure> {
        let verb = R::VERB;
        let subject = self.subjects.service(verb);
        let (began, mut tries) = (Instant::now(), 0);
        loop {
            let (subject, payload) = (subject.clone(), payload.clone());
            let asked = self.bus.request(subject, payload, self.context(), self.timeout);
            match asked.await {
                // Without a responder the request was certainly not executed, so a retry is safe.
                Err(BusError::NoResponders(_))
                    if let Some(retries) = &self.retries
                        && retries.next(verb, began, self.timeout, tries).await =>
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
pub(super) fn understood<T: DeserializeOwned>(verb: Verb, answer: &Bytes) -> Result<T, Failure> {
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
