//! The operations that send a message: it submits a job, answers its question or steers it.

use ::client::{
    WatchOptions, answer_form,
    session::{OpenQuestion, open_questions},
};
use futures::{Stream, StreamExt, stream::BoxStream};
use proto::{
    door::{AgentChoice, FileSource, GiveAnswer, SendSignal, Submit, SubmitFile, Watched},
    error::{Code, Failure},
    event::EventId,
    id::{AgentName, ConversationId, JobId},
    interaction::Answer,
    point::Order,
    view::JobView,
};
use serde_json::Value;

use super::{
    A2aServer,
    content::{self, File, Part, Source},
    rpc,
    rpc::{Fault, Kind, Refused},
    task::{Ids, key, task, unseen},
    tasks::messages,
    types::{Given, OfTask, SendMessage, Task, Update},
    updates::{Asked, Updates},
    words::Text,
};
use crate::derived;

/// Largest length of the id of a message, in bytes.
const MESSAGE_ID_BYTES_MAX: usize = 256;
/// The kinds of output that a client must accept one of.
const OUTPUTS: [&str; 5] = ["text/plain", "application/json", "text/*", "application/*", "*/*"];

/// The field of a message that has a receiver of notifications.
const PUSH_FIELD: &str = "configuration.taskPushNotificationConfig.";

/// The effect of a message.
struct Sent {
    job: JobId,
    context: String,
    /// The question that the message answered.
    answered: Option<Asked>,
}

impl A2aServer {
    /// `SendMessage`: waits until the task ends or waits for a person, unless the client does not
    /// want that. The job goes on without its client.
    pub(super) async fn send_message(&self, request: SendMessage) -> Result<Task, Refused> {
        let wishes = request.configuration.clone().unwrap_or_default();
        let messages = messages(wishes.history_length)?;
        let sent = self.send(request).await?;
        let Some(view) = self.seen(&sent.job).await? else {
            return Ok(unseen(&sent.job, &sent.context));
        };
        if wishes.return_immediately == Some(true) {
            return Ok(task(&view, messages, Some(&self.files())));
        }
        let updates = Updates::of_message(&view, sent.answered.into_iter().collect(), self.files());
        let view = self.settled(view, updates).await?;
        Ok(task(&view, messages, Some(&self.files())))
    }

    /// `SendStreamingMessage`.
    pub(super) async fn send_streaming(
        &self,
        request: SendMessage,
        id: &Value,
    ) -> Result<BoxStream<'static, String>, Refused> {
        let wishes = request.configuration.clone().unwrap_or_default();
        let messages = messages(wishes.history_length)?;
        let sent = self.send(request).await?;
        let Some(view) = self.seen(&sent.job).await? else {
            let task = Update::Task(Box::new(unseen(&sent.job, &sent.context)));
            let only = rpc::result(id, task).to_string();
            return Ok(futures::stream::iter([only]).boxed());
        };
        let updates = Updates::of_message(&view, sent.answered.into_iter().collect(), self.files());
        Ok(self.stream(&view, messages, updates, id))
    }

    /// `SubscribeToTask`.
    pub(super) async fn subscribe(
        &self,
        request: OfTask,
        id: &Value,
    ) -> Result<BoxStream<'static, String>, Refused> {
        let view = self.find(&request.id, "id").await?;
        if view.state.is_terminal() {
            return Err(Fault::new(Kind::UnsupportedOperation, Text::EndedAlready).into());
        }
        let messages = messages(request.history_length)?;
        Ok(self.stream(&view, messages, Updates::of_subscription(&view, self.files()), id))
    }

    /// Does what a message asks for, and then sets its receiver. All of the message is checked before
    /// anything is stored.
    async fn send(&self, request: SendMessage) -> Result<Sent, Refused> {
        let SendMessage { message, configuration, metadata } = request;
        let invalid = |field: &str, why: Text<'_>| {
            Refused::from(Fault::new(Kind::InvalidParams, why).at(field))
        };
        let wishes = configuration.unwrap_or_default();
        let given = wishes.task_push_notification_config;
        let receiver = given.map(|given| self.read_receiver(given, PUSH_FIELD)).transpose()?;
        let modes = wishes.accepted_output_modes.unwrap_or_default();
        if !modes.is_empty() && !modes.iter().any(|mode| OUTPUTS.contains(&mode.as_str())) {
            let why = Fault::new(Kind::ContentTypeNotSupported, Text::OtherOutput);
            return Err(why.at("configuration.acceptedOutputModes").into());
        }
        if message.role != "ROLE_USER" {
            return Err(invalid("message.role", Text::OtherRole));
        }
        if message.message_id.is_empty() || message.message_id.len() > MESSAGE_ID_BYTES_MAX {
            let why = Text::MessageId { max: &MESSAGE_ID_BYTES_MAX };
            return Err(invalid("message.messageId", why));
        }
        let parts = content::read(&message.parts)?;
        let named = |name: &str| {
            let of_message = message.metadata.as_ref().and_then(|it| it.get(name));
            let value = of_message.or_else(|| metadata.as_ref()?.get(name));
            value.and_then(Value::as_str).map(str::to_owned)
        };
        let sent = match message.task_id.as_deref().filter(|id| !id.is_empty()) {
            None => {
                let agent = named("agent").or_else(|| named("skillId"));
                self.submit(&message, parts, agent, receiver.is_some()).await?
            }
            Some(id) => {
                let view = self.find(id, "message.taskId").await?;
                let context = message.context_id.as_deref().filter(|it| !it.is_empty());
                if context.is_some_and(|context| context != Ids::of(&view).context) {
                    return Err(invalid("message.contextId", Text::OtherContext));
                }
                self.go_on(&view, &parts, named("ask")).await?
            }
        };
        // The reply shows the task as it is after this, so a receiver misses nothing that its client
        // does not learn here.
        if let Some((receivers, receiver)) = receiver {
            receivers.put(&sent.job, receiver).await?;
        }
        Ok(sent)
    }

    async fn submit(
        &self,
        message: &Given,
        parts: Vec<Part>,
        agent: Option<String>,
        has_receiver: bool,
    ) -> Result<Sent, Refused> {
        let given = message.context_id.as_deref().filter(|it| !it.is_empty());
        let ids = [given.unwrap_or_default(), &message.message_id];
        let job = derived::job_id(&self.subject, "a2a", ids);
        let conversation: ConversationId = given
            .unwrap_or(job.as_str())
            .parse()
            .map_err(|invalid| Failure::from(invalid).at("message.contextId"))?;
        let agent: Option<AgentName> = agent
            .map(|name| name.parse())
            .transpose()
            .map_err(|invalid| Failure::from(invalid).at("message.metadata.agent"))?;
        let none = Fault::new(Kind::InvalidParams, Text::NoGoal).at("message.parts");
        let goal = content::words(&parts).ok_or(none)?;
        let mut files = Vec::new();
        for file in content::files(parts) {
            files.push(self.attached(file).await?);
        }
        let context = conversation.to_string();
        let submit = Submit {
            id: Some(job.clone()),
            agent: agent.map(AgentChoice::Named),
            conversation: Some(conversation),
            files,
            ..Submit::goal(goal)
        };
        if has_receiver {
            self.may_read(&job).await?;
        }
        let job = self.client.submit(submit).await?.job;
        Ok(Sent { job, context, answered: None })
    }

    async fn attached(
        &self,
        File { name, media_type, source }: File,
    ) -> Result<SubmitFile, Failure> {
        let file = match source {
            Source::Url(url) => {
                SubmitFile { name, media_type: None, content: FileSource::Url(url) }
            }
            Source::Bytes(bytes) => self.client.attach(name, bytes).await?,
        };
        Ok(SubmitFile { media_type, ..file })
    }

    /// Answers the question that a message names, or the only one; steers a job that works.
    async fn go_on(
        &self,
        view: &JobView,
        parts: &[Part],
        ask: Option<String>,
    ) -> Result<Sent, Refused> {
        if view.state.is_terminal() {
            return Err(Fault::new(Kind::UnsupportedOperation, Text::Ended).into());
        }
        let open = open_questions(view);
        let invalid =
            |why: Text<'_>| Fault::new(Kind::InvalidParams, why).at("message.metadata.ask");
        let answered = match &ask {
            Some(ask) => match open.iter().find(|open| key(open) == *ask) {
                Some(open) => Some(self.give(open, parts).await?),
                // Somebody else answered it, or this message did before.
                None if was_asked(view, ask) => None,
                None => return Err(invalid(Text::UnknownAsk { ask }).into()),
            },
            None if !view.state.needs_person() => {
                self.steer(view, parts).await?;
                None
            }
            None => match open.as_slice() {
                [only] => Some(self.give(only, parts).await?),
                _ => return Err(invalid(Text::SeveralAsks).into()),
            },
        };
        let context = Ids::of(view).context;
        Ok(Sent { job: view.job.clone(), context, answered })
    }

    /// Gives an answer. One that does not fit leaves the question open.
    async fn give(&self, open: &OpenQuestion, parts: &[Part]) -> Result<Asked, Refused> {
        let misfit = || {
            let why = Text::OtherAnswer { ask: &key(open) };
            Failure::composed(Code::InvalidAnswer, &why.into()).at("message.parts")
        };
        let payload = content::payload(parts).ok_or_else(misfit)?;
        let answer = answer_form::answer(&open.question, &payload).ok_or_else(misfit)?;
        open.question.check(&answer).map_err(|wrong| {
            Failure::composed(Code::InvalidAnswer, &wrong.words()).at("message.parts")
        })?;
        let (job, ask) = open.key();
        let Answer { decision, value, text, digest, remember } = answer;
        // A program answers whatever it is asked, so it never approves its own job.
        let (by, four_eyes) = (None, true);
        let answer =
            GiveAnswer { job, ask, decision, value, text, digest, remember, by, four_eyes };
        match self.client.call(&answer).await {
            Ok(_) => Ok(open.key()),
            Err(failure) if failure.code.is_settled_elsewhere() => Ok(open.key()),
            Err(failure) => Err(failure.into()),
        }
    }

    async fn steer(&self, view: &JobView, parts: &[Part]) -> Result<(), Refused> {
        let has_files = parts.iter().any(|part| matches!(part, Part::File(_)));
        let words = content::words(parts).filter(|_| !has_files);
        let none =
            || Fault::new(Kind::ContentTypeNotSupported, Text::OnlyWords).at("message.parts");
        let signal = Order::Steer { text: words.ok_or_else(none)? };
        let signal = SendSignal {
            job: view.job.clone(),
            signal,
            expected_seq: None,
            reason: None,
            by: None,
        };
        self.client.call(&signal).await?;
        Ok(())
    }

    /// Returns a job; `None` for a caller who may not read it.
    async fn seen(&self, job: &JobId) -> Result<Option<JobView>, Failure> {
        match self.client.get(job).await {
            Ok(view) => Ok(Some(view)),
            Err(failure) if failure.code == Code::Forbidden => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Waits until the updates of a job have ended, and returns the last view.
    pub(super) async fn settled(
        &self,
        view: JobView,
        mut updates: Updates,
    ) -> Result<JobView, Failure> {
        let mut last = view;
        let mut items = std::pin::pin!(self.watch(&last));
        while !updates.has_ended() {
            match items.next().await {
                Some(Ok(Watched::View { view })) => {
                    updates.view(&view);
                    last = *view;
                }
                Some(Ok(Watched::End { error: Some(failure) })) => return Err(*failure),
                Some(Err(failure)) => return Err(failure),
                Some(Ok(Watched::End { error: None })) | None => break,
                Some(Ok(
                    Watched::Event { .. }
                    | Watched::Record { .. }
                    | Watched::Live { .. }
                    | Watched::Heartbeat,
                )) => {}
            }
        }
        Ok(last)
    }

    fn watch(
        &self,
        view: &JobView,
    ) -> impl Stream<Item = Result<Watched, Failure>> + Send + 'static {
        self.client.watch(&view.job, WatchOptions::events(EventId::all_of(view.seq)))
    }

    /// Returns the replies of a stream: the task, then its updates.
    fn stream(
        &self,
        view: &JobView,
        messages: usize,
        updates: Updates,
        id: &Value,
    ) -> BoxStream<'static, String> {
        let (items, id, language) = (self.watch(view), id.clone(), self.language);
        let first = Update::Task(Box::new(task(view, messages, Some(&self.files()))));
        let mut updates = updates;
        let replies = async_stream::stream! {
            let mut items = std::pin::pin!(items);
            yield rpc::result(&id, first).to_string();
            while !updates.has_ended() {
                let shown = match items.next().await {
                    Some(Ok(Watched::Event { event })) => updates.event(&event),
                    Some(Ok(Watched::View { view })) => updates.view(&view),
                    Some(Ok(Watched::Record { .. } | Watched::Live { .. } | Watched::Heartbeat)) => {
                        continue;
                    }
                    Some(Ok(Watched::End { error: Some(failure) })) => {
                        yield rpc::error(&id, &Fault::of_stream(*failure), language).to_string();
                        return;
                    }
                    Some(Err(failure)) => {
                        yield rpc::error(&id, &Fault::of_stream(failure), language).to_string();
                        return;
                    }
                    Some(Ok(Watched::End { error: None })) | None => return,
                };
                for update in shown {
                    yield rpc::result(&id, update).to_string();
                }
            }
        };
        replies.boxed()
    }
}

/// Returns whether a task had the question that a message names.
fn was_asked(view: &JobView, ask: &str) -> bool {
    ask.split_once(':').is_some_and(|(job, ask)| {
        job == view.job.as_str() && view.past_questions.iter().any(|past| past.id.as_str() == ask)
    })
}
