//! The A2A server: jobs as tasks of the Agent2Agent protocol 1.0, over JSON-RPC 2.0 and server-sent
//! events.
//!
//! The server keeps no tasks: a task is a view of a job. Any gateway answers any request.

mod card;
mod content;
mod page;
mod push;
mod rpc;
mod send;
mod task;
mod tasks;
mod types;
mod updates;
mod words;

use std::sync::Arc;

use ::client::Client;
use futures::stream::BoxStream;
use proto::{
    error::{Code, Failure},
    lang::Language,
    strict,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use self::{
    card::FileUrls,
    rpc::{Call, Fault, Operation, Refused},
};
pub use self::{
    card::Place,
    push::{Authentication, RECEIVERS_MAX, Receiver, Receivers, add_receiver, notification},
};

/// The A2A server of one caller.
#[derive(Debug, Clone)]
pub struct A2aServer {
    /// A client that acts for the caller.
    pub client: Client,
    /// Language of messages.
    pub language: Language,
    /// Tells the caller from others; empty without a token.
    pub subject: String,
    /// The facts that the card tells.
    pub place: Place,
    /// The receivers of notifications; `None` where there are none.
    pub receivers: Option<Arc<dyn Receivers>>,
}

/// The reply to a request.
#[derive(derive_more::Debug)]
pub enum Reply {
    /// One object.
    Whole(Value),
    /// A stream of objects, each as JSON.
    #[debug("Stream")]
    Stream(BoxStream<'static, String>),
}

impl A2aServer {
    /// Returns the addresses of files beside this server.
    fn files(&self) -> FileUrls {
        FileUrls::beside(&self.place)
    }

    /// Answers a request of the version in its header. The caller's `Host`, `Origin` and token must
    /// have been checked, and the size of the body.
    ///
    /// # Errors
    /// The refusal of a caller that has no right, or sends too much, or comes while the front door is
    /// away. Everything else is a part of the protocol.
    pub async fn answer(&self, version: Option<&str>, body: &[u8]) -> Result<Reply, Failure> {
        let fault =
            |id: &Value, fault: &Fault| Ok(Reply::Whole(rpc::error(id, fault, self.language)));
        let call = match rpc::read(version, body) {
            Ok(call) => call,
            Err((id, wrong)) => return fault(&id, &wrong),
        };
        let id = call.id.clone();
        match self.call(call).await {
            Ok(reply) => Ok(reply),
            Err(Refused::Http(failure)) => Err(failure),
            Err(Refused::Reply(wrong)) => fault(&id, &wrong),
        }
    }

    /// Returns the card, with a skill for each agent if the caller may read the agents.
    ///
    /// # Errors
    /// The front door is away.
    pub async fn card(&self) -> Result<Value, Failure> {
        match self.extended_card().await {
            Err(failure) if failure.code == Code::Forbidden => {
                Ok(card::card(&self.about(true), None, self.language))
            }
            card => card,
        }
    }

    async fn extended_card(&self) -> Result<Value, Failure> {
        let found = self.client.agents(None).await?;
        let about = self.about(!self.subject.is_empty());
        Ok(card::card(&about, Some(&found.agents), self.language))
    }

    fn about(&self, needs_token: bool) -> card::About<'_> {
        card::About { place: &self.place, needs_token, notifies: self.receivers.is_some() }
    }

    async fn call(&self, Call { id, operation, params }: Call) -> Result<Reply, Refused> {
        let whole = |result: Value| Reply::Whole(rpc::result(&id, result));
        Ok(match operation {
            Operation::SendMessage => {
                whole(json!({"task": self.send_message(read(params)?).await?}))
            }
            Operation::SendStreamingMessage => {
                Reply::Stream(self.send_streaming(read(params)?, &id).await?)
            }
            Operation::GetTask => whole(result(&self.get_task(read(params)?).await?)?),
            Operation::ListTasks => whole(result(&self.list_tasks(read(params)?).await?)?),
            Operation::CancelTask => whole(result(&self.cancel_task(read(params)?).await?)?),
            Operation::SubscribeToTask => Reply::Stream(self.subscribe(read(params)?, &id).await?),
            Operation::CreateTaskPushNotificationConfig => {
                whole(result(&self.set_receiver(read(params)?).await?)?)
            }
            Operation::GetTaskPushNotificationConfig => {
                whole(result(&self.receiver(read(params)?).await?)?)
            }
            Operation::ListTaskPushNotificationConfigs => {
                whole(result(&self.receivers_of(read(params)?).await?)?)
            }
            Operation::DeleteTaskPushNotificationConfig => {
                self.remove_receiver(read(params)?).await?;
                whole(json!({}))
            }
            Operation::GetExtendedAgentCard => whole(self.extended_card().await?),
        })
    }
}

/// Reads the parameters of an operation.
fn read<T: DeserializeOwned>(params: Value) -> Result<T, Refused> {
    strict::request_from_value(params).map_err(|wrong| Refused::from(Failure::from(wrong)))
}

fn result(value: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(value).map_err(|error| Failure::new(Code::Internal, error.to_string()))
}
