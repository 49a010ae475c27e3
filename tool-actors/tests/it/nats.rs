//! The task list on a real nats-server, shared by workers with separate connections.

use broker::testing::NatsServer;
use futures::future::join_all;
use proto::tool::{Effect, ToolResult};
use serde_json::json;

use callboard_tool_actors::tasks::{Fields, TaskList};

use crate::support::{Crew, Probe, Stage, connect};

#[tokio::test]
async fn workers_with_connections_of_their_own_share_the_task_list() {
    let server = NatsServer::start().await;
    let lists = join_all((0..4).map(|_| async { TaskList::new(connect(&server).await.kv) })).await;
    let made = join_all((0..20).map(|n| {
        // Two workers receive the same call.
        let (list, key) = (&lists[n % 4], format!("key-{}", n / 2));
        async move {
            let fields = Fields { title: Some("t".into()), ..Fields::default() };
            list.create(&key, fields, |task| ToolResult::ok(json!(task.id))).await.unwrap()
        }
    }))
    .await;
    for pair in made.chunks(2) {
        assert_eq!(pair[0], pair[1]);
    }
    assert_eq!(lists[0].list().await.unwrap().len(), 10);
}

#[tokio::test]
async fn a_once_tool_runs_once_on_nats_too() {
    let server = NatsServer::start().await;
    let broker = connect(&server).await;
    let probe = Probe::new(Effect::Once);
    let crew = Crew::start(&broker, "w", probe.set()).await;
    let mut stage = Stage::new(broker.clone(), "job").await;
    assert!(stage.ask(&probe.call("g0.s1", "go")).await.result.success);
    let call = probe.call("g0.s2", "go");
    stage.start(&call).await;
    // An announcement before the command belongs to another command and has no effect.
    assert!(stage.ask(&call).await.result.success);
    assert_eq!(probe.runs(), ["job/g0.s1", "job/g0.s2"]);
    crew.drain().await;
}
