//! [`Bus`] on core NATS.

use std::{sync::Arc, time::Duration};

use async_nats::{
    HeaderMap, HeaderValue, Message as NatsMessage, Request as NatsRequest,
    client::RequestErrorKind,
};
use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{door::Verb, subject::Subjects, trace::TRACEPARENT};

use super::{
    NatsOptions,
    link::Link,
    publish,
    reply::{ReplyRule, ReplyTo},
    serve,
};
use crate::bus::{Answer, Bus, BusError, Direct, Message, Request, RequestContext};

/// The header that carries a caller's token.
pub(super) const TOKEN: &str = "Callboard-Token";

/// Ephemeral messages over one connection.
#[derive(Debug)]
pub(super) struct NatsBus {
    link: Arc<Link>,
    subjects: Subjects,
    rule: Arc<ReplyRule>,
    own_inbox: Arc<ReplyRule>,
}

impl NatsBus {
    pub(super) fn new(link: Arc<Link>, subjects: Subjects, options: &NatsOptions) -> Self {
        let rule = Arc::new(ReplyRule::new(&options.reply_inboxes, &subjects));
        let own = std::slice::from_ref(&options.inbox_prefix);
        let own_inbox = Arc::new(ReplyRule::new(own, &subjects));
        Self { link, subjects, rule, own_inbox }
    }

    fn check_size(&self, payload: &Bytes) -> Result<(), BusError> {
        let bytes = payload.len();
        if bytes > self.link.client.max_payload() { Err(BusError::TooLarge(bytes)) } else { Ok(()) }
    }

    /// Passes something to the connection, which blocks after a long outage; hence the time limit.
    async fn hand_over<T, E: std::fmt::Display>(
        &self,
        what: impl Future<Output = Result<T, E>> + Send,
    ) -> Result<T, BusError> {
        match tokio::time::timeout(self.link.request_timeout, what).await {
            Ok(done) => done.map_err(|e| BusError::Unavailable(e.to_string())),
            Err(_) => Err(BusError::Unavailable("the connection is lost".to_owned())),
        }
    }

    /// Waits until the server has processed every earlier message of this connection. Otherwise a
    /// message from another connection could overtake a subscription. A flush alone proves only
    /// that the message was sent.
    async fn settled(&self) -> Result<(), BusError> {
        let client = &self.link.client;
        let inbox = client.new_inbox();
        let mut echo = self.hand_over(client.subscribe(inbox.clone())).await?;
        self.hand_over(client.publish(inbox, Bytes::new())).await?;
        let heard = async { echo.next().await.ok_or("the connection is closed") };
        self.hand_over(heard).await.map(|_| ())
    }
}

fn headers(context: &RequestContext) -> Result<HeaderMap, BusError> {
    let mut headers = HeaderMap::new();
    if let Some(trace) = context.trace {
        headers.insert(TRACEPARENT, publish::plain(&trace.to_string()));
    }
    if let Some(token) = &context.token {
        let token: HeaderValue = token
            .parse()
            .map_err(|_| BusError::Forbidden("a token holds no line break".to_owned()))?;
        headers.insert(TOKEN, token);
    }
    Ok(headers)
}

#[async_trait]
impl Bus for NatsBus {
    async fn publish(&self, subject: String, payload: Bytes) -> Result<(), BusError> {
        self.check_size(&payload)?;
        self.hand_over(self.link.client.publish(subject, payload)).await
    }

    async fn settle(&self) -> Result<(), BusError> {
        self.settled().await
    }

    async fn subscribe(&self, subject: String) -> Result<BoxStream<'static, Message>, BusError> {
        let messages = self.hand_over(self.link.client.subscribe(subject)).await?;
        self.settled().await?;
        Ok(Box::pin(messages.map(|message| Message {
            subject: message.subject.to_string(),
            payload: message.payload,
        })))
    }

    async fn request(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        timeout: Duration,
    ) -> Result<Message, BusError> {
        self.check_size(&payload)?;
        let bytes = payload.len();
        let request =
            NatsRequest::new().payload(payload).headers(headers(&context)?).timeout(Some(timeout));
        let late = || BusError::Timeout { subject: subject.clone(), waited: timeout };
        let answer = self.link.client.send_request(subject.clone(), request);
        let answer = tokio::time::timeout(timeout, answer).await.map_err(|_| late())?;
        match answer {
            Ok(answer) => Ok(Message { subject, payload: answer.payload }),
            Err(error) => Err(match error.kind() {
                RequestErrorKind::NoResponders => BusError::NoResponders(subject),
                RequestErrorKind::TimedOut => late(),
                RequestErrorKind::MaxPayloadExceeded => BusError::TooLarge(bytes),
                RequestErrorKind::InvalidSubject => BusError::Forbidden(error.to_string()),
                RequestErrorKind::Other => BusError::Unavailable(error.to_string()),
            }),
        }
    }

    async fn request_many(
        &self,
        subject: String,
        payload: Bytes,
        context: RequestContext,
        idle: Duration,
    ) -> Result<BoxStream<'static, Result<Message, BusError>>, BusError> {
        self.check_size(&payload)?;
        let client = &self.link.client;
        let inbox = client.new_inbox();
        let mut answers = self.hand_over(client.subscribe(inbox.clone())).await?;
        let headers = headers(&context)?;
        let sent = client.publish_with_reply_and_headers(subject.clone(), inbox, headers, payload);
        self.hand_over(sent).await?;
        Ok(Box::pin(async_stream::stream! {
            while let Ok(Some(answer)) = tokio::time::timeout(idle, answers.next()).await {
                if nobody_is_there(&answer) {
                    yield Err(BusError::NoResponders(subject));
                    return;
                }
                yield Ok(Message { subject: subject.clone(), payload: answer.payload });
            }
        }))
    }

    async fn listen(&self, subject: String) -> Result<BoxStream<'static, Direct>, BusError> {
        let requests = self.hand_over(self.link.client.subscribe(subject)).await?;
        self.settled().await?;
        let (link, rule) = (Arc::clone(&self.link), Arc::clone(&self.own_inbox));
        Ok(Box::pin(requests.filter_map(move |message| {
            let answer = rule.admit(&message).map(|to| NatsAnswer { link: Arc::clone(&link), to });
            let payload = message.payload;
            std::future::ready(answer.map(|answer| Direct { payload, answer: Box::new(answer) }))
        })))
    }

    async fn serve(&self, verbs: Vec<Verb>) -> Result<BoxStream<'static, Request>, BusError> {
        let (link, rule) = (Arc::clone(&self.link), Arc::clone(&self.rule));
        let serving = serve::open(link, rule, &self.subjects, verbs);
        let requests = self.hand_over(serving).await?;
        self.settled().await?;
        Ok(requests)
    }
}

#[derive(Debug)]
struct NatsAnswer {
    link: Arc<Link>,
    to: ReplyTo,
}

#[async_trait]
impl Answer for NatsAnswer {
    async fn send(&self, payload: Bytes) -> Result<(), BusError> {
        self.to.send(&self.link, None, payload).await
    }
}

fn nobody_is_there(answer: &NatsMessage) -> bool {
    answer.status.is_some_and(|status| status.as_u16() == 503)
}
