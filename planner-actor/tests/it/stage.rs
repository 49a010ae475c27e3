//! A planner whose model follows a script over HTTP.

use broker::bus::Message;
use futures::stream::BoxStream;
use model::{
    ProviderConfig, ProviderKind,
    script::{Script, ScriptServer, serve},
};
use planner_actor::{PlannerActor, options};
use proto::{decision::Decision, fact::Fact};
use runtime::{registry::Registry, testing::RoleStage};
use serde_json::{Value, json};

/// A planner, its model, and the log of one job.
pub(crate) struct Stage {
    pub(crate) server: ScriptServer,
    stage: RoleStage,
}

impl Stage {
    /// Starts a planner with the tools `create_task` and `complete_task`.
    pub(crate) async fn new(script: &str) -> Self {
        let tools = [
            ("create_task", json!({"title": {"type": "string"}})),
            ("complete_task", json!({"id": {"type": "integer"}})),
        ];
        let broker = RoleStage::broker(&tools).await;
        let server =
            serve(Script::parse(script).unwrap(), "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let mut config = ProviderConfig::new(ProviderKind::OpenAi, "m");
        config.base_url = Some(server.base_url().parse().unwrap());
        config.retry.max_attempts = 1;
        let model = model::connect(&config).unwrap();
        let registry = Registry::open(&broker).await.unwrap();
        let role = PlannerActor::new(broker.clone(), model, registry);
        let stage = RoleStage::start(broker, role, options(4)).await;
        Self { server, stage }
    }

    /// Appends a command with default fields, overridden by `fields`.
    pub(crate) async fn command(&mut self, fields: Value) {
        self.stage.decide(&command(fields)).await;
    }

    /// Waits for the next fact and returns it as JSON.
    pub(crate) async fn fact(&mut self) -> Value {
        match self.stage.fact().await {
            (_, Fact::Planned(planned)) => serde_json::to_value(planned).unwrap(),
            (_, other) => panic!("another fact: {other:?}"),
        }
    }

    /// Subscribes to the job's live updates.
    pub(crate) async fn listen(&self) -> BoxStream<'static, Message> {
        self.stage.listen().await
    }

    /// Shuts the planner down, and checks that it ends by itself.
    pub(crate) async fn end(self) {
        self.stage.end().await;
        self.server.shutdown().await;
    }
}

/// Builds a command with default fields, overridden by `fields`.
#[expect(clippy::needless_pass_by_value, reason = "JSON literals read better unborrowed")]
pub(crate) fn command(fields: Value) -> Decision {
    let mut work = json!({
        "work": "g0.p1", "attempt": 1, "goal": "Complete task 62", "language": "en", "may_ask": true
    });
    for (name, value) in fields.as_object().unwrap() {
        work[name] = value.clone();
    }
    Decision::Plan(serde_json::from_value(work).unwrap())
}
