//! The front door as a NATS micro service.

use std::time::Duration;

use async_nats::{Client, HeaderMap};
use broker::{Broker, kv::Bucket};
use bytes::Bytes;
use futures::StreamExt;
use proto::{
    door::Verb,
    error::{Code, Failure},
};
use serde_json::{Value, json};

use crate::contract::{
    fixtures::{Fixture, OnNats},
    words::*,
};

/// Serves `get` and refuses everything, until the test ends.
async fn serve(broker: &Broker) -> tokio::sync::mpsc::UnboundedReceiver<()> {
    let mut requests = broker.bus.serve(vec![Verb::Get]).await.unwrap();
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
    assert_eq!(info["endpoints"][0]["metadata"]["description"], "Returns one job.");
    assert_eq!(ask(&client, "$SRV.STATS.callboard").await["endpoints"][0]["name"], "get");
    let id = info["id"].as_str().unwrap();
    for verb in ["PING", "INFO", "STATS"] {
        for subject in ["", ".callboard", &format!(".callboard.{id}")] {
            let said = ask(&client, &format!("$SRV.{verb}{subject}")).await;
            let kind = format!("io.nats.micro.v1.{}_response", verb.to_lowercase());
            assert_eq!(
                (&said["type"], &said["id"]),
                (&json!(kind), &info["id"]),
                "{verb}{subject}"
            );
            assert_eq!((&said["name"], &said["metadata"]), (&json!("callboard"), &json!({})));
            assert_eq!(said["version"], env!("CARGO_PKG_VERSION"));
        }
    }
}

/// The client library can parse our discovery replies like its own.
#[tokio::test]
async fn discovery_says_what_client_libraries_read() {
    use async_nats::service::{Info, PingResponse, Stats};
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let _came = serve(&broker).await;
    let client = client(&f).await;
    client.request("it.svc.get", "{}".into()).await.unwrap();
    let ping: PingResponse = read(&client, "$SRV.PING").await;
    let info: Info = read(&client, "$SRV.INFO").await;
    let stats: Stats = read(&client, "$SRV.STATS").await;
    assert_eq!((&ping.id, &info.id), (&stats.id, &stats.id));
    assert_eq!((info.endpoints.len(), info.endpoints[0].queue_group.as_str()), (1, "q"));
    let get = &stats.endpoints[0];
    assert_eq!((get.requests, get.errors, get.subject.as_str()), (1, 1, "it.svc.get"));
    assert!(get.processing_time > Duration::ZERO);
    // Statistics show the code of a refusal, not its text, which may quote user input.
    let error = get.last_error.as_ref().unwrap();
    assert_eq!((error.code, error.status.as_str()), (404, "not_found"));
}

async fn read<T: serde::de::DeserializeOwned>(client: &Client, subject: &str) -> T {
    serde_json::from_value(ask(client, subject).await).unwrap()
}

#[tokio::test]
async fn a_service_that_ended_is_found_no_more() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let requests = broker.bus.serve(vec![Verb::Get]).await.unwrap();
    let client = client(&f).await;
    assert_eq!(ask(&client, "$SRV.PING").await["name"], "callboard");
    drop(requests);
    let ping = || client.request("$SRV.PING", Bytes::new());
    let until_gone = async { while ping().await.is_ok() {} };
    soon(until_gone).await;
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
    let targets = [
        format!("it.{shard}.{job}.in.people"),
        "$JS.API.STREAM.PURGE.it-shard-0".to_owned(),
        "$SYS.REQ.SERVER.PING".to_owned(),
        "$KV.it-installation.taken".to_owned(),
        "$KV.it-agents.default".to_owned(),
        "it.svc.get".to_owned(),
        "$SRV.INFO".to_owned(),
        "other.subject".to_owned(),
        "_INBOX_supervisor.a".to_owned(),
    ];
    let mut overheard = client.subscribe(">").await.unwrap();
    let asked = ["it.svc.get", "$SRV.PING", "$SRV.INFO.callboard", "$SRV.STATS"];
    for subject in asked {
        for reply in &targets {
            let (reply, headers) = (reply.clone(), HeaderMap::new());
            client
                .publish_with_reply_and_headers(subject, reply, headers, "{}".into())
                .await
                .unwrap();
        }
        client.publish(subject, "{}".into()).await.unwrap();
        // Answers arrive in the order of the requests, so this is the first on its subject.
        client.request(subject, "{}".into()).await.unwrap();
    }
    assert_eq!((came.recv().await, came.try_recv().is_err()), (Some(()), true));
    // Every earlier message has arrived before this one.
    client.publish("last", Bytes::new()).await.unwrap();
    let mut sent = std::collections::BTreeMap::new();
    while let Some(message) = soon(overheard.next()).await
        && message.subject.as_str() != "last"
    {
        *sent.entry(message.subject.to_string()).or_insert(0) += 1;
    }
    for target in &targets {
        let by_us = usize::from(asked.contains(&target.as_str())) * (targets.len() + 2);
        assert_eq!(sent.get(target).copied().unwrap_or_default(), by_us, "{target}");
    }
    assert!(broker.log.read(&job, proto::id::Seq(0)).await.unwrap().is_empty());
    assert!(broker.kv.list(Bucket::Agents, "").await.unwrap().is_empty());
}

/// Requests outside the front door come from processes of the same user, whose inboxes have this
/// connection's prefix.
#[tokio::test]
async fn a_direct_request_counts_only_with_the_connections_own_inbox() {
    let f = OnNats::start().await;
    let broker = f.broker().await;
    let mut requests = broker.bus.listen("it.host.x".to_owned()).await.unwrap();
    let client = client(&f).await;
    for reply in ["_INBOX_client.a", "$KV.it-agents.default", "it.svc.get", "_INBOX"] {
        client.publish_with_reply("it.host.x", reply, "refused".into()).await.unwrap();
    }
    let asked = tokio::spawn(async move { client.request("it.host.x", "taken".into()).await });
    let request = soon(requests.next()).await.unwrap();
    assert_eq!(&request.payload[..], b"taken");
    request.answer.send(Bytes::from_static(b"done")).await.unwrap();
    assert_eq!(&soon(asked).await.unwrap().unwrap().payload[..], b"done");
}
