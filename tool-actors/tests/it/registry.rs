//! The built-in tools as a process starts them: announced, listed, called.

use std::sync::Arc;

use async_trait::async_trait;
use broker::clock::SystemClock;
use callboard_tool_actors::{Setup, StartError, Toolset, builtin, options, settings::Tools, start};
use model::{ErrorKind, Model, ModelError, ModelRequest, ModelStream};
use proto::{id::Pool, tool::Effect};
use runtime::{
    actor::{End, Restarts, Tree},
    config::Section,
    presence::{Beacon, Crew as Present, Status},
    registry::Registry,
    worker::LocalPools,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Probe, Stage, call, memory, worker};

struct NoModel;

#[async_trait]
impl Model for NoModel {
    async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
        Err(ModelError::new(ErrorKind::Config, "no model here"))
    }
}

#[tokio::test]
async fn the_built_in_tools_are_announced_and_answer() {
    let broker = memory().connect(worker("w"));
    let dir = tempfile::tempdir().unwrap();
    let settings = Tools { workspace: dir.path().to_owned(), ..Tools::defaults() };
    let tools = Arc::new(builtin(&broker, Some(Arc::new(NoModel)), None, &settings).unwrap());
    let shutdown = CancellationToken::new();
    let setup = Setup {
        broker: broker.clone(),
        worker: worker("w"),
        crew: Present::open(&broker),
        content: None,
        options: options(&tools, 4),
        local: LocalPools::default(),
        shutdown: shutdown.clone(),
    };
    let (children, gauge) = start(setup, tools).await.unwrap();
    let tree = Tree::start("tools", Restarts::default(), children).await.unwrap();
    let registry = Registry::open(&broker).await.unwrap();
    let names: Vec<_> = registry.all().iter().map(|a| a.spec.name.to_string()).collect();
    assert_eq!(
        names,
        [
            "complete_task",
            "create_task",
            "delete_file",
            "delete_task",
            "echo",
            "edit_file",
            "find_files",
            "http_get",
            "http_post",
            "list_files",
            "list_tasks",
            "model",
            "move_file",
            "publish_file",
            "read_attachment",
            "read_file",
            "schedule",
            "search_files",
            "sleep",
            "stop",
            "todo",
            "update_task",
            "write_file",
        ]
    );
    assert!(registry.refused().is_empty());
    let mut stage = Stage::new(broker, "job").await;
    let args = json!({"title": "发邮件"});
    let called =
        stage.ask(&call("g0.s1", "builtin", "create_task", Effect::Idempotent, args)).await;
    assert_eq!(called.result.data, Some(json!({"id": 1, "title": "发邮件"})));
    assert_eq!(gauge.load().pool, "call.builtin");
    shutdown.cancel();
    assert_eq!(tree.ended().await, End::Finished);
}

#[tokio::test(start_paused = true)]
async fn another_tool_of_the_same_name_is_refused_with_both_workers_named() {
    let memory = memory();
    let broker = memory.connect(worker("first"));
    let status = Status::new(
        worker("first"),
        vec!["tools".into()],
        "1",
        &SystemClock::default(),
        CancellationToken::new(),
    );
    let beacon = ractor::Actor::spawn(None, Beacon, (broker.clone(), status)).await.unwrap();
    let begin = async |name: &str, effect: Effect| {
        let broker = memory.connect(worker(name));
        let tools = Arc::new(Probe::new(effect).set());
        let setup = Setup {
            crew: Present::open(&broker),
            worker: worker(name),
            content: None,
            options: options(&tools, 4),
            local: LocalPools::default(),
            shutdown: CancellationToken::new(),
            broker,
        };
        start(setup, tools).await
    };
    begin("first", Effect::Pure).await.unwrap();
    let error = begin("second", Effect::Once).await.unwrap_err();
    assert!(matches!(error, StartError::Announce(_)));
    let text = error.to_string();
    assert!(text.contains("first") && text.contains("second") && text.contains("probe"), "{text}");
    // An equal tool is no conflict: that is how a pool is scaled out.
    begin("third", Effect::Pure).await.unwrap();
    beacon.0.stop(None);
}

#[tokio::test]
async fn a_change_of_the_tools_is_announced_and_withdrawn_at_once() {
    let broker = memory().connect(worker("w"));
    let tools = Arc::new(Toolset::new(Pool::new("p").unwrap(), Vec::new()).unwrap());
    let setup = Setup {
        broker: broker.clone(),
        worker: worker("w"),
        crew: Present::open(&broker),
        content: None,
        options: options(&tools, 4),
        local: LocalPools::default(),
        shutdown: CancellationToken::new(),
    };
    let source = tools.source("probe");
    let (children, _) = start(setup, tools).await.unwrap();
    let _tree = Tree::start("tools", Restarts::default(), children).await.unwrap();
    let registry = Registry::open(&broker).await.unwrap();
    let mut changes = registry.watch();
    assert!(registry.all().is_empty());
    source.offer(vec![Arc::new(Probe::new(Effect::Pure))]);
    while registry.all().is_empty() {
        changes.changed().await.unwrap();
    }
    source.offer(Vec::new());
    while !registry.all().is_empty() {
        changes.changed().await.unwrap();
    }
}
