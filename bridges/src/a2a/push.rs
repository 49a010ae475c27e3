//! The operations that set the receivers of a task's notifications, and the body of a notification.
//!
//! A caller who may read a task may set receivers of it. The gateway keeps them, and sends to them.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use http::HeaderValue;
use proto::{
    digest,
    error::{Code, Failure},
    id::JobId,
    lang::Words,
    view::JobView,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::{
    A2aServer,
    card::FileUrls,
    rpc::{Fault, Kind, Refused},
    task::task,
    types::{OfReceiver, PushAuthentication, PushConfig, PushConfigs, Update},
    words::Text,
};

/// Largest number of receivers of a task.
pub const RECEIVERS_MAX: usize = 8;
/// Largest length of each text of a receiver, in bytes.
const TEXT_BYTES_MAX: usize = 2_048;

/// A receiver of the notifications of a task.
#[derive(derive_more::Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Receiver {
    /// Its id among the receivers of the task.
    pub id: String,
    /// Its address, whose path may hold a secret.
    #[debug("{}", url.host_str().unwrap_or_default())]
    pub url: Url,
    /// The value of the header `X-A2A-Notification-Token`.
    #[debug(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The header `Authorization`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<Authentication>,
}

/// The `Authorization` of a notification.
#[derive(derive_more::Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Authentication {
    /// Scheme, such as `Bearer`.
    pub scheme: String,
    /// Credentials of the scheme. Without them there is no header.
    #[debug(skip)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
}

/// The receivers of tasks, as the gateway keeps them.
#[async_trait]
pub trait Receivers: fmt::Debug + Send + Sync {
    /// Returns the receivers of a task.
    ///
    /// # Errors
    /// The store cannot be reached.
    async fn of(&self, task: &JobId) -> Result<Vec<Receiver>, Failure>;

    /// Checks an address.
    ///
    /// # Errors
    /// The reason why nothing would be sent to it.
    fn check(&self, url: &Url) -> Result<(), Words>;

    /// Adds a receiver to a task, or replaces the one with its id, as [`add_receiver`] does.
    ///
    /// # Errors
    /// The task has too many, or the store cannot be reached.
    async fn put(&self, task: &JobId, receiver: Receiver) -> Result<(), Failure>;

    /// Removes a receiver of a task. One that is missing is no error.
    ///
    /// # Errors
    /// The store cannot be reached.
    async fn remove(&self, task: &JobId, id: &str) -> Result<(), Failure>;
}

/// Adds a receiver to those of a task, or replaces the one with its id.
///
/// # Errors
/// The task has [`RECEIVERS_MAX`] others.
pub fn add_receiver(receivers: &mut Vec<Receiver>, new: Receiver) -> Result<(), Failure> {
    match receivers.iter().position(|known| known.id == new.id) {
        Some(at) => receivers[at] = new,
        None if receivers.len() < RECEIVERS_MAX => receivers.push(new),
        None => {
            let words = Words::from(Text::ReceiversMax { max: &RECEIVERS_MAX });
            return Err(Failure::composed(Code::InvalidRequest, &words));
        }
    }
    Ok(())
}

/// Returns the body of a notification: the task as it is, without its history. `metadata.seq` is the
/// last record that it includes, by which a receiver recognizes repeats and overtaken notifications.
///
/// `gateway` is the public address of the gateway, for the addresses of published files. Without it
/// the task has no files of the job.
#[must_use]
pub fn notification(view: &JobView, gateway: Option<&Url>) -> Value {
    let files = gateway.map(FileUrls::below).unwrap_or_default();
    let mut task = task(view, 0, Some(&files));
    task.metadata.insert("seq".to_owned(), json!(view.seq));
    json!(Update::Task(Box::new(task)))
}

/// A receiver that a client gave, and where it is kept.
pub(super) type GivenReceiver<'a> = (&'a Arc<dyn Receivers>, Receiver);

impl A2aServer {
    /// Reads a receiver. `field` is where the request has it.
    pub(super) fn read_receiver(
        &self,
        config: PushConfig,
        field: &str,
    ) -> Result<GivenReceiver<'_>, Refused> {
        let (store, receiver) = (self.receiver_store()?, receiver(config, field)?);
        store.check(&receiver.url).map_err(|why| {
            Failure::composed(Code::InvalidRequest, &why).at(format!("{field}url"))
        })?;
        Ok((store, receiver))
    }

    fn receiver_store(&self) -> Result<&Arc<dyn Receivers>, Fault> {
        let none = || Fault::new(Kind::PushNotificationNotSupported, Text::NoPush);
        self.receivers.as_ref().ok_or_else(none)
    }

    /// Refuses a caller who may not read the job, which may not exist yet.
    pub(super) async fn may_read(&self, job: &JobId) -> Result<(), Failure> {
        match self.client.get(job).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.code == Code::NotFound => Ok(()),
            Err(failure) => Err(failure),
        }
    }

    /// `CreateTaskPushNotificationConfig`.
    pub(super) async fn set_receiver(&self, config: PushConfig) -> Result<PushConfig, Refused> {
        let task = config.task_id.clone();
        let (receivers, receiver) = self.read_receiver(config, "")?;
        let job = self.find(&task, "taskId").await?.job;
        receivers.put(&job, receiver.clone()).await?;
        Ok(shown(receiver, task))
    }

    /// `GetTaskPushNotificationConfig`.
    pub(super) async fn receiver(&self, request: OfReceiver) -> Result<PushConfig, Refused> {
        let OfReceiver { task_id, id } = request;
        let receivers = self.receiver_store()?;
        let job = self.find(&task_id, "taskId").await?.job;
        let found = receivers.of(&job).await?.into_iter().find(|receiver| receiver.id == id);
        let none = || Fault::new(Kind::TaskNotFound, Text::NoReceiver { id: &id }).at("id");
        Ok(shown(found.ok_or_else(none)?, task_id))
    }

    /// `ListTaskPushNotificationConfigs`.
    pub(super) async fn receivers_of(&self, request: OfReceiver) -> Result<PushConfigs, Refused> {
        let task = request.task_id;
        let receivers = self.receiver_store()?;
        let job = self.find(&task, "taskId").await?.job;
        let of_task = receivers.of(&job).await?.into_iter();
        let configs = of_task.map(|receiver| shown(receiver, task.clone())).collect();
        Ok(PushConfigs { configs, next_page_token: String::new() })
    }

    /// `DeleteTaskPushNotificationConfig`.
    pub(super) async fn remove_receiver(&self, request: OfReceiver) -> Result<(), Refused> {
        let OfReceiver { task_id, id } = request;
        let receivers = self.receiver_store()?;
        let job = self.find(&task_id, "taskId").await?.job;
        Ok(receivers.remove(&job, &id).await?)
    }
}

/// Reads a receiver. `field` is where the request has it.
fn receiver(config: PushConfig, field: &str) -> Result<Receiver, Fault> {
    let PushConfig { id, task_id: _, url, token, authentication } = config;
    let wrong = |name: &str, why: Text<'_>| {
        Fault::new(Kind::InvalidParams, why).at(format!("{field}{name}"))
    };
    // A name and a password in an address are secrets that everybody would be shown.
    let is_usable = |url: &Url| {
        matches!(url.scheme(), "https" | "http")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
    };
    let address: Option<Url> = url.parse().ok().filter(|_| url.len() <= TEXT_BYTES_MAX);
    let address = address
        .filter(is_usable)
        .ok_or_else(|| wrong("url", Text::ReceiverUrl { max: &TEXT_BYTES_MAX }))?;
    if !is_header(&id) {
        return Err(wrong("id", Text::ReceiverAscii { max: &TEXT_BYTES_MAX }));
    }
    if !is_header(&token) {
        return Err(wrong("token", Text::ReceiverAscii { max: &TEXT_BYTES_MAX }));
    }
    let authentication = authentication.unwrap_or_default();
    let PushAuthentication { scheme, credentials } = authentication;
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    let is_scheme = scheme.len() <= TEXT_BYTES_MAX && scheme.bytes().all(is_token);
    let has_scheme = credentials.is_empty() || !scheme.is_empty();
    if !(is_header(&credentials) && is_scheme && has_scheme) {
        let why = Text::ReceiverAuthentication { max: &TEXT_BYTES_MAX };
        return Err(wrong("authentication", why));
    }
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    // A client that repeats its request without an id means the same receiver.
    let id =
        some(id).unwrap_or_else(|| digest::of_bytes(address.as_str().as_bytes())[..32].to_owned());
    let authentication =
        some(scheme).map(|scheme| Authentication { scheme, credentials: some(credentials) });
    Ok(Receiver { id, url: address, token: some(token), authentication })
}

/// `true` for a text that a header can have as its value.
fn is_header(text: &str) -> bool {
    text.len() <= TEXT_BYTES_MAX && HeaderValue::from_str(text).is_ok() && text.is_ascii()
}

/// Returns a receiver without its secrets.
fn shown(receiver: Receiver, task_id: String) -> PushConfig {
    let Receiver { id, url, token: _, authentication } = receiver;
    let authentication = authentication
        .map(|it| PushAuthentication { scheme: it.scheme, credentials: String::new() });
    PushConfig { id, task_id, url: url.into(), token: String::new(), authentication }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{
        super::task::tests::{asking, completed},
        *,
    };

    fn config(more: &Value) -> PushConfig {
        let mut fields = json!({"url": "https://a.example/x", "taskId": "j1"});
        fields.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(fields).unwrap()
    }

    #[test]
    fn a_receiver_is_shown_without_its_secrets() {
        let authentication = json!({"scheme": "Bearer", "credentials": "secret-1"});
        let given = json!({"id": "r1", "token": "secret-2", "authentication": authentication});
        let receiver = receiver(config(&given), "").unwrap();
        assert_eq!(receiver.token.as_deref(), Some("secret-2"));
        assert!(!format!("{receiver:?}").contains("secret"), "{receiver:?}");
        let shown = json!(shown(receiver, "j1".to_owned()));
        let url = "https://a.example/x";
        let scheme = json!({"scheme": "Bearer"});
        assert_eq!(
            shown,
            json!({"id": "r1", "taskId": "j1", "url": url, "authentication": scheme})
        );
    }

    #[test]
    fn a_repeated_receiver_without_an_id_is_the_same_one() {
        let ids = [json!({}), json!({}), json!({"url": "https://b.example/"})];
        let ids = ids.map(|more| receiver(config(&more), "").unwrap().id);
        assert_eq!(ids[0], ids[1]);
        assert_ne!(ids[0], ids[2]);
    }

    #[rstest]
    #[case::no_address(json!({"url": "somewhere"}), "url")]
    #[case::another_scheme(json!({"url": "file:///etc/passwd"}), "url")]
    #[case::a_long_address(json!({"url": format!("https://a.example/{}", "x".repeat(TEXT_BYTES_MAX))}), "url")]
    #[case::a_password_in_the_address(json!({"url": "https://ann:secret@a.example"}), "url")]
    #[case::a_long_scheme(json!({"authentication": {"scheme": "x".repeat(TEXT_BYTES_MAX + 1)}}), "authentication")]
    #[case::two_lines(json!({"token": "a\r\nb: c"}), "token")]
    #[case::a_scheme_of_two_words(json!({"authentication": {"scheme": "Bearer x"}}), "authentication")]
    #[case::credentials_alone(json!({"authentication": {"credentials": "x"}}), "authentication")]
    fn a_wrong_receiver_is_refused_by_its_field(#[case] more: Value, #[case] field: &str) {
        let fault = receiver(config(&more), "configuration.").unwrap_err();
        assert_eq!(fault.kind, Kind::InvalidParams);
        let said = fault.object(proto::lang::Language::En).to_string();
        assert!(said.contains(&format!("\"configuration.{field}\"")), "{said}");
    }

    #[test]
    fn a_task_has_few_receivers_and_one_of_each_id() {
        let new = |id: &str| receiver(config(&json!({"id": id})), "").unwrap();
        let mut receivers = Vec::new();
        for n in 0..RECEIVERS_MAX {
            add_receiver(&mut receivers, new(&format!("r{n}"))).unwrap();
        }
        assert_eq!(
            add_receiver(&mut receivers, new("one more")).unwrap_err().code,
            Code::InvalidRequest
        );
        add_receiver(&mut receivers, Receiver { token: Some("t".to_owned()), ..new("r3") })
            .unwrap();
        assert_eq!(receivers.len(), RECEIVERS_MAX);
        assert_eq!(receivers[3].token.as_deref(), Some("t"));
    }

    #[test]
    fn a_notification_is_the_task_with_its_question_or_its_result() {
        let asks = notification(&asking(), None);
        assert_eq!(asks["task"]["status"]["state"], "TASK_STATE_INPUT_REQUIRED");
        assert_eq!(asks["task"]["status"]["message"]["parts"][0]["text"], "Whom?");
        assert_eq!(asks["task"]["metadata"]["seq"], json!(asking().seq));
        assert_eq!(asks["task"]["history"], Value::Null);
        let ended = notification(&completed(), None);
        assert_eq!(ended["task"]["artifacts"][0]["name"], "result");
    }

    #[test]
    fn a_published_file_has_an_address_below_that_of_the_gateway() {
        let file = json!({"name": "a.md", "bytes": 9, "step": "s", "tool": "t"});
        let view = super::super::task::tests::view(&json!({"artifacts": [file]}));
        let gateway: Url = "https://jobs.example.com/here".parse().unwrap();
        let told = notification(&view, Some(&gateway));
        let url = &told["task"]["artifacts"][0]["parts"][0]["url"];
        assert_eq!(url, "https://jobs.example.com/here/v1/jobs/j1/files/a.md");
        assert_eq!(notification(&view, None)["task"]["artifacts"], Value::Null);
    }
}
