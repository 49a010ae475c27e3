//! The front door as a NATS micro service.

use std::time::Duration;

use async_nats::{Client, HeaderMap};
use broker::{Broker, bus::Endpoint};
use bytes::Bytes;
use futures::StreamExt;
use proto::{
    door::verbs,
    error::{Code, Failure},
};
use serde_json::Value;

use crate::contract::{
    fixtures::{Fixture, OnNats},
    words::*,
};

/// Serves `get` and refuses everything, until the test ends.
async fn serve(broker: &Broker) -> tokio::sync::mpsc::UnboundedReceiver<()> {
    let endpoints = vec![Endpoint { verb: verbs::GET, description: "Shows a job." }];
    let mut requests = broker.bus.serve(endpoints).await.unwrap();
    let (sender, came) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            let _ = sender.send(());
            let failure = Failure::new(Code::NotFound, "no such job\r\nInjected: дом");
            request.reply.refuse(failure).await.unwrap();
        }
    });
    came
}

async fn client(f: &OnNats) -> Client {
    async_nats::connect(f.server.url()).await.unwrap()
}

async fn ask(client: &Client, subject: &str) -> Value {
    let answer = soon(client.request(subject.to_owned(), Bytes::new())).await.unwrap();
    serde_json::from_slice(&answer.payload).unwrap()
}

#[tokio::test]
async fn the_service_is_found_and_says_what_it_has() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let _came = serve(&broker).await;
    let client = client(&f).await;
    assert_eq!(ask(&client, "$SRV.PING.callboard").await["name"], "callboard");
    let info = ask(&client, "$SRV.INFO.callboard").await;
    assert_eq!(info["endpoints"][0]["name"], "get");
    assert_eq!(info["endpoints"][0]["subject"], "it.svc.get");
    assert_eq!(info["endpoints"][0]["metadata"]["description"], "Shows a job.");
    assert_eq!(ask(&client, "$SRV.STATS.callboard").await["endpoints"][0]["name"], "get");
}

#[tokio::test]
async fn a_refusal_is_in_the_headers_and_in_the_body() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let _came = serve(&broker).await;
    let answer = client(&f).await.request("it.svc.get", "{}".into()).await.unwrap();
    let headers = answer.headers.unwrap();
    assert_eq!(headers.get("Nats-Service-Error-Code").unwrap().as_str(), "404");
    let said = headers.get("Nats-Service-Error").unwrap().as_str();
    assert!(said.starts_with("no such job") && said.is_ascii(), "{said}");
    assert!(headers.get("Injected").is_none());
    let body: Value = serde_json::from_slice(&answer.payload).unwrap();
    assert_eq!(body["error"]["code"], "not_found");
}

#[tokio::test]
async fn an_answer_is_never_sent_to_the_servers_subjects_or_our_own() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let mut came = serve(&broker).await;
    let client = client(&f).await;
    let job = job("target");
    let shard = broker.log.subjects().shard_of(&job);
    for reply in [
        format!("it.{shard}.{job}.in.people"),
        "$JS.API.STREAM.PURGE.it-shard-0".to_owned(),
        "$SYS.REQ.SERVER.PING".to_owned(),
        "$KV.it-installation.created".to_owned(),
        "it.svc.get".to_owned(),
    ] {
        client
            .publish_with_reply_and_headers("it.svc.get", reply, HeaderMap::new(), "{}".into())
            .await
            .unwrap();
    }
    client.publish("it.svc.get", "{}".into()).await.unwrap();
    // The one that may be answered is served, none of the others was.
    client.request("it.svc.get", "{}".into()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((came.recv().await, came.try_recv().is_err()), (Some(()), true));
    assert!(broker.log.read(&job, proto::id::Seq(0)).await.unwrap().is_empty());
}
