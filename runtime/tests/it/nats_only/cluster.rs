//! Three servers, three copies of everything, and one of them dies.

use std::{net::TcpListener, time::Duration};

use proto::id::{JobId, Seq, WorkerId};
use runtime::{
    broker::Broker,
    log::Guarded,
    nats::{self, NatsOptions},
    nats_server::{Child, ChildOptions},
};

use crate::contract::{fixtures::subjects, words::*};

struct Cluster {
    servers: Vec<Option<Child>>,
    urls: Vec<String>,
    _dir: tempfile::TempDir,
}

impl Cluster {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let held: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<_> = held.iter().map(|l| l.local_addr().unwrap().port()).collect();
        drop(held);
        let routes: Vec<_> = ports.iter().map(|p| format!("nats://127.0.0.1:{p}")).collect();
        let (mut servers, mut urls) = (Vec::new(), Vec::new());
        for (n, port) in ports.iter().enumerate() {
            let cluster = format!(
                "cluster {{ name: c, listen: \"127.0.0.1:{port}\", routes: [{}] }}",
                routes.join(", ")
            );
            let options = ChildOptions {
                store_dir: dir.path().join(n.to_string()),
                config: vec![cluster],
                ..ChildOptions::default()
            };
            let server = Child::start(&options).await.unwrap();
            urls.push(server.url());
            servers.push(Some(server));
        }
        Self { servers, urls, _dir: dir }
    }

    async fn broker(&self) -> Broker {
        let options = NatsOptions {
            servers: self.urls.clone(),
            replicas: 3,
            connect_timeout_ms: 30_000,
            request_timeout_ms: 2_000,
            write_patience_ms: 30_000,
            ..NatsOptions::default()
        };
        nats::connect(&options, subjects(), WorkerId::new("test").unwrap()).await.unwrap()
    }

    /// The server that leads a stream.
    async fn leader(&self, stream: &str) -> usize {
        let client = async_nats::connect(&self.urls).await.unwrap();
        let js = async_nats::jetstream::new(client);
        let info = js.get_stream(stream).await.unwrap().cached_info().clone();
        let leader = info.cluster.unwrap().leader.unwrap();
        for (n, url) in self.urls.iter().enumerate() {
            let client = async_nats::connect(url).await.unwrap();
            if client.server_info().server_name == leader {
                return n;
            }
        }
        panic!("{leader} is none of them")
    }
}

async fn decide(
    broker: &Broker,
    job: &JobId,
    numbers: std::ops::Range<u64>,
    mut after: Seq,
) -> Seq {
    for n in numbers {
        match broker.log.decide(job, &call("p", n), after, None, trace(n)).await.unwrap() {
            Guarded::Stored(seq) => after = seq,
            Guarded::Conflict => panic!("nobody else decides"),
        }
    }
    after
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_goes_on_when_the_leader_of_a_stream_dies() {
    let mut cluster = Cluster::start().await;
    let (broker, reader) = (cluster.broker().await, cluster.broker().await);
    let job = job("copied");
    let shard = broker.log.subjects().shard_of(&job);
    let mut feed = broker.log.facts(shard).await.unwrap();
    let mut commands = broker.log.commands(CALL, &pool("p"), slots(8)).await.unwrap();
    submit(&broker, &job).await;
    let mut after = Seq(0);
    // Read at once from anywhere: a replica that is behind must not show.
    for n in 0..20 {
        after = decide(&broker, &job, n..n + 1, after).await;
        let last = reader.log.read(&job, Seq(0)).await.unwrap().last().map(|e| e.seq);
        assert_eq!(last, Some(after));
    }
    next_fact(&mut feed).await.ack.done().await;
    for n in 0..20 {
        let command = next_command(&mut commands).await;
        assert_eq!(number(&command.entry), n);
        command.ack.done().await;
    }
    let leader = cluster.leader(&broker.log.subjects().stream(shard)).await;
    cluster.servers[leader] = None;
    let going_on = decide(&broker, &job, 20..40, after);
    tokio::time::timeout(Duration::from_secs(40), going_on).await.unwrap();
    append(&broker, &job, 40..41).await;
    let entries = reader.log.read(&job, Seq(0)).await.unwrap();
    assert_eq!(entries[1..].iter().map(number).collect::<Vec<_>>(), (0..41).collect::<Vec<_>>());
    loop {
        let fact = next_fact(&mut feed).await;
        fact.ack.done().await;
        if fact.entry.record.as_ref().unwrap().kind == "called" {
            break assert_eq!(number(&fact.entry), 40);
        }
    }
    loop {
        let command = next_command(&mut commands).await;
        command.ack.done().await;
        if number(&command.entry) == 39 {
            break;
        }
    }
}
