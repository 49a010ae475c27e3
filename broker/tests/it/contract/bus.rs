//! The bus: messages, requests and missing answers.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use broker::{
    Broker,
    bus::{BusError, Direct, Message, Request, RequestContext},
    testing::wait::{PATIENCE, eventually},
};
use bytes::Bytes;
use futures::{StreamExt, stream::BoxStream};
use proto::{
    door::{Refusal, Verb},
    error::{Code, Failure},
};
use tokio::sync::Notify;

use super::{fixtures::Fixture, on_every_broker, words::*};

on_every_broker![
    what_is_published_is_heard_by_everybody_who_listens,
    patterns_choose_what_is_heard,
    what_nobody_hears_is_gone,
    a_request_is_answered,
    a_refusal_is_an_answer,
    what_nobody_serves_is_told_at_once,
    what_nobody_answers_in_time_is_told,
    a_server_that_is_gone_serves_nothing,
    a_request_may_have_many_answers,
    servers_share_the_requests,
    a_server_is_told_which_verb_was_asked_for,
    what_is_too_large_is_refused,
    every_listener_answers_a_direct_request,
    a_listener_that_is_gone_answers_no_direct_request,
    an_answer_that_is_too_large_is_refused,
];

/// A short time limit for answers that never arrive.
const IN_VAIN: Duration = Duration::from_millis(1500);

async fn listen(broker: &Broker, subject: &str) -> BoxStream<'static, Message> {
    broker.bus.subscribe(subject.to_owned()).await.unwrap()
}

/// Asks on a subject outside the front door for as many answers as arrive.
async fn ask_directly(
    broker: &Broker,
    text: &str,
    idle: Duration,
) -> BoxStream<'static, Result<Message, BusError>> {
    let payload = Bytes::copy_from_slice(text.as_bytes());
    let context = RequestContext::default();
    let asked = broker.bus.request_many("it.host.x".to_owned(), payload, context, idle).await;
    asked.unwrap_or_else(|error| futures::stream::iter([Err(error)]).boxed())
}

async fn publish(broker: &Broker, subject: &str, text: &str) {
    let payload = Bytes::copy_from_slice(text.as_bytes());
    broker.bus.publish(subject.to_owned(), payload).await.unwrap();
}

fn text(message: &Message) -> (&str, &str) {
    (&message.subject, std::str::from_utf8(&message.payload).unwrap())
}

async fn ask(broker: &Broker, verb: Verb, body: &str) -> Result<Message, BusError> {
    ask_within(broker, verb, body, PATIENCE).await
}

async fn ask_within(
    broker: &Broker,
    verb: Verb,
    body: &str,
    wait: Duration,
) -> Result<Message, BusError> {
    let subject = broker.log.subjects().service(verb);
    let payload = Bytes::copy_from_slice(body.as_bytes());
    broker.bus.request(subject, payload, RequestContext::default(), wait).await
}

/// Serves a verb with the replies of `answer` until it is aborted. Returns once the verb is served.
async fn serve<F, A>(broker: &Broker, verbs: &[Verb], mut answer: A) -> tokio::task::AbortHandle
where
    A: FnMut(Request) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let mut requests = broker.bus.serve(verbs.to_vec()).await.unwrap();
    let task = tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            answer(request).await;
        }
    });
    // The broker has registered the service.
    broker.bus.settle().await.unwrap();
    task.abort_handle()
}

async fn what_is_published_is_heard_by_everybody_who_listens(f: &impl Fixture) {
    let (a, b) = (f.broker().await, f.broker().await);
    let (mut one, mut two) = (listen(&a, "it.x.1").await, listen(&b, "it.x.1").await);
    for n in 0..50 {
        publish(&a, "it.x.1", &n.to_string()).await;
    }
    for n in 0..50 {
        assert_eq!(text(&next(&mut one).await), ("it.x.1", n.to_string().as_str()));
        assert_eq!(text(&next(&mut two).await), ("it.x.1", n.to_string().as_str()));
    }
}

async fn patterns_choose_what_is_heard(f: &impl Fixture) {
    let broker = f.broker().await;
    let mut one = listen(&broker, "it.stop.*.j").await;
    let mut rest = listen(&broker, "it.stop.>").await;
    let heard = ["it.stop.1.j", "it.stop.1.k", "it.stop.1.j.more"];
    for subject in heard.into_iter().chain(["it.stop", "it.go.1.j", "it.stop.2.j"]) {
        publish(&broker, subject, "").await;
    }
    for subject in ["it.stop.1.j", "it.stop.2.j"] {
        assert_eq!(next(&mut one).await.subject, subject);
    }
    for subject in heard.into_iter().chain(["it.stop.2.j"]) {
        assert_eq!(next(&mut rest).await.subject, subject);
    }
}

async fn what_nobody_hears_is_gone(f: &impl Fixture) {
    let broker = f.broker().await;
    publish(&broker, "it.x.2", "early").await;
    broker.bus.settle().await.unwrap();
    let mut heard = listen(&broker, "it.x.2").await;
    publish(&broker, "it.x.2", "late").await;
    assert_eq!(text(&next(&mut heard).await).1, "late");
}

async fn a_request_is_answered(f: &impl Fixture) {
    let (server, client) = (f.broker().await, f.broker().await);
    let _serving = serve(&server, &[Verb::Get], |request| async move {
        assert_eq!((request.verb, &request.payload[..]), (Verb::Get, &b"{}"[..]));
        assert_eq!(request.context.trace, Some(trace(4)));
        assert_eq!(request.context.token.as_deref(), Some("s3cret"));
        request.reply.send(Bytes::from_static(b"here")).await.unwrap();
    })
    .await;
    let context = RequestContext { trace: Some(trace(4)), token: Some("s3cret".into()) };
    let subject = client.log.subjects().service(Verb::Get);
    let answer = client.bus.request(subject, Bytes::from_static(b"{}"), context, PATIENCE).await;
    assert_eq!(&answer.unwrap().payload[..], b"here");
    // A request without a context has no trace.
    let _other = serve(&server, &[Verb::List], |request| async move {
        assert!(request.context.trace.is_none() && request.context.token.is_none());
        request.reply.send(Bytes::new()).await.unwrap();
    })
    .await;
    assert!(ask(&client, Verb::List, "").await.unwrap().payload.is_empty());
}

async fn a_refusal_is_an_answer(f: &impl Fixture) {
    let broker = f.broker().await;
    let failure = Failure::new(Code::NotFound, "no such\njob: дом").at("job");
    let refused = failure.clone();
    let _serving = serve(&broker, &[Verb::Get], move |request| {
        let refused = refused.clone();
        async move { request.reply.refuse(refused).await.unwrap() }
    })
    .await;
    let answer = ask(&broker, Verb::Get, "{}").await.unwrap();
    assert_eq!(serde_json::from_slice::<Refusal>(&answer.payload).unwrap().error, failure);
}

async fn what_nobody_serves_is_told_at_once(f: &impl Fixture) {
    let broker = f.broker().await;
    let error = soon(ask(&broker, Verb::Get, "{}")).await.unwrap_err();
    assert!(matches!(error, BusError::NoResponders(_)), "{error}");
    let subject = broker.log.subjects().service(Verb::Watch);
    let context = RequestContext::default();
    let error = match broker.bus.request_many(subject, Bytes::new(), context, PATIENCE).await {
        Ok(mut answers) => next(&mut answers).await.unwrap_err(),
        Err(error) => error,
    };
    assert!(matches!(error, BusError::NoResponders(_)), "{error}");
}

async fn what_nobody_answers_in_time_is_told(f: &impl Fixture) {
    let broker = f.broker().await;
    let _serving = serve(&broker, &[Verb::Get], |request| async move { drop(request) }).await;
    let error = ask_within(&broker, Verb::Get, "{}", IN_VAIN).await.unwrap_err();
    assert!(matches!(error, BusError::Timeout { waited: IN_VAIN, .. }), "{error}");
}

async fn a_server_that_is_gone_serves_nothing(f: &impl Fixture) {
    let (server, client) = (f.broker().await, f.broker().await);
    let serving = serve(&server, &[Verb::Get], |request| async move {
        request.reply.send(Bytes::new()).await.unwrap();
    })
    .await;
    ask(&client, Verb::Get, "").await.unwrap();
    serving.abort();
    eventually("a server that is gone", async || {
        match ask_within(&client, Verb::Get, "", IN_VAIN).await {
            Err(BusError::NoResponders(_)) => Ok(()),
            other => Err(other),
        }
    })
    .await;
}

async fn a_request_may_have_many_answers(f: &impl Fixture) {
    let (server, client) = (f.broker().await, f.broker().await);
    let heard = Arc::new(Notify::new());
    let waits = Arc::clone(&heard);
    let _serving = serve(&server, &[Verb::Watch], move |request| {
        let waits = Arc::clone(&waits);
        async move {
            for n in 0..100 {
                request.reply.send(Bytes::from(n.to_string())).await.unwrap();
            }
            // Later than the others, and still within the idle time.
            waits.notified().await;
            request.reply.send(Bytes::from_static(b"end")).await.unwrap();
        }
    })
    .await;
    let subject = client.log.subjects().service(Verb::Watch);
    let context = RequestContext::default();
    let answers = client.bus.request_many(subject, Bytes::new(), context, PATIENCE).await;
    let mut answers = answers.unwrap();
    for n in 0..100 {
        assert_eq!(text(&next(&mut answers).await.unwrap()).1, n.to_string());
    }
    heard.notify_one();
    assert_eq!(text(&next(&mut answers).await.unwrap()).1, "end");
}

async fn servers_share_the_requests(f: &impl Fixture) {
    let client = f.broker().await;
    let mut serving = Vec::new();
    for name in ["a", "b"] {
        let server = f.broker().await;
        let task = serve(&server, &[Verb::Get], move |request| async move {
            request.reply.send(Bytes::from_static(name.as_bytes())).await.unwrap();
        })
        .await;
        serving.push((server, task));
    }
    let mut by = BTreeSet::new();
    for _ in 0..60 {
        let answer = ask(&client, Verb::Get, "").await.unwrap();
        by.insert(text(&answer).1.to_owned());
    }
    assert_eq!(by.len(), 2, "one server had all the requests");
    // Each request is answered once, though two processes serve the verb.
    let subject = client.log.subjects().service(Verb::Get);
    let context = RequestContext::default();
    let many = client.bus.request_many(subject, Bytes::new(), context, A_WHILE).await.unwrap();
    assert_eq!(soon(many.count()).await, 1);
}

async fn a_server_is_told_which_verb_was_asked_for(f: &impl Fixture) {
    let broker = f.broker().await;
    let _serving = serve(&broker, &[Verb::Get, Verb::Submit, Verb::List], |request| async move {
        request.reply.send(Bytes::from_static(request.verb.name().as_bytes())).await.unwrap();
    })
    .await;
    for verb in [Verb::List, Verb::Get, Verb::Submit] {
        assert_eq!(text(&ask(&broker, verb, "").await.unwrap()).1, verb.name());
    }
    let error = ask(&broker, Verb::Answer, "").await.unwrap_err();
    assert!(matches!(error, BusError::NoResponders(_)), "{error}");
}

async fn what_is_too_large_is_refused(f: &impl Fixture) {
    let broker = f.broker().await;
    let large = Bytes::from(vec![b'x'; 2 * 1024 * 1024]);
    let error = broker.bus.publish("it.x.3".into(), large.clone()).await.unwrap_err();
    assert!(matches!(error, BusError::TooLarge(_)), "{error}");
    let subject = broker.log.subjects().service(Verb::Get);
    let context = RequestContext::default();
    let error = broker.bus.request(subject, large, context, PATIENCE).await.unwrap_err();
    assert!(matches!(error, BusError::TooLarge(_)), "{error}");
    publish(&broker, "it.x.3", "the connection is still there").await;
}

async fn every_listener_answers_a_direct_request(f: &impl Fixture) {
    let (a, b, client) = (f.broker().await, f.broker().await, f.broker().await);
    let mut heard = [
        a.bus.listen("it.host.x".to_owned()).await.unwrap(),
        b.bus.listen("it.host.x".to_owned()).await.unwrap(),
    ];
    // A message without a reply subject is no request.
    publish(&client, "it.host.x", "unanswerable").await;
    let mut answers = ask_directly(&client, "?", PATIENCE).await;
    for (n, heard) in heard.iter_mut().enumerate() {
        let Direct { payload, answer } = next(heard).await;
        assert_eq!(&payload[..], b"?");
        for m in 0..2 {
            answer.send(Bytes::from(format!("{n}.{m}"))).await.unwrap();
        }
    }
    let mut said = BTreeSet::new();
    for _ in 0..4 {
        said.insert(text(&next(&mut answers).await.unwrap()).1.to_owned());
    }
    assert_eq!(said, ["0.0", "0.1", "1.0", "1.1"].map(str::to_owned).into());
}

async fn a_listener_that_is_gone_answers_no_direct_request(f: &impl Fixture) {
    let (host, client) = (f.broker().await, f.broker().await);
    drop(host.bus.listen("it.host.x".to_owned()).await.unwrap());
    eventually("nobody listens", async || {
        match soon(ask_directly(&client, "?", IN_VAIN).await.next()).await {
            Some(Err(BusError::NoResponders(_))) => Ok(()),
            answer => Err(answer.is_some()),
        }
    })
    .await;
}

async fn an_answer_that_is_too_large_is_refused(f: &impl Fixture) {
    let (host, client) = (f.broker().await, f.broker().await);
    let mut heard = host.bus.listen("it.host.x".to_owned()).await.unwrap();
    let mut answers = ask_directly(&client, "?", PATIENCE).await;
    let Direct { answer, .. } = next(&mut heard).await;
    let refused = answer.send(Bytes::from(vec![b'x'; 2 * 1024 * 1024])).await.unwrap_err();
    assert!(matches!(refused, BusError::TooLarge(_)), "{refused}");
    answer.send(Bytes::from_static(b"small")).await.unwrap();
    assert_eq!(text(&next(&mut answers).await.unwrap()).1, "small");
}
