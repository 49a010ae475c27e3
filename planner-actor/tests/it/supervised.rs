//! The pool supervises the planner's actors.

use std::sync::Arc;

use async_trait::async_trait;
use model::{Delta, Model, ModelError, ModelRequest, ModelStream};
use planner_actor::{PlannerActor, options};
use proto::{
    fact::{Fact, PlanReply},
    message::{StopReason, Usage},
};
use runtime::{registry::Registry, testing::RoleStage};
use serde_json::json;
use tokio::sync::Notify;

use crate::stage::command;

/// A model that panics over one plan, and answers another one when it is released.
struct PanickingModel(Arc<Notify>);

#[async_trait]
impl Model for PanickingModel {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        assert!(!format!("{:?}", request.messages).contains("panic now"), "told to panic");
        self.0.notified().await;
        let text = Delta::Text(r#"{"title": "T", "steps": ["a"]}"#.to_owned());
        let (usage, stop) = (Usage::default(), StopReason::End);
        let end = Delta::End { usage, stop, model: "m".to_owned() };
        Ok(Box::pin(futures::stream::iter([Ok(text), Ok(end)])))
    }
}

#[tokio::test]
async fn a_panic_ends_one_plan_and_leaves_the_others() {
    let broker = RoleStage::broker(&[]).await;
    let release = Arc::new(Notify::new());
    let model = Arc::new(PanickingModel(Arc::clone(&release)));
    let registry = Registry::open(&broker).await.unwrap();
    let role = PlannerActor::new(broker.clone(), model, registry);
    let mut stage = RoleStage::start(broker, role, options(4)).await;
    stage.decide(&command(json!({"work": "g0.p1", "goal": "wait"}))).await;
    stage.decide(&command(json!({"work": "g0.p2", "goal": "panic now"}))).await;
    let (_, Fact::Planned(broken)) = stage.fact().await else { panic!("not a plan") };
    let PlanReply::Failed { error } = broken.reply else { panic!("{:?}", broken.reply) };
    let why = "the planner panicked: told to panic";
    assert_eq!((error.message.as_str(), error.is_transient()), (why, true));
    release.notify_one();
    let (_, Fact::Planned(answered)) = stage.fact().await else { panic!("not a plan") };
    assert!(matches!(answered.reply, PlanReply::Plan { .. }), "{answered:?}");
    stage.end().await;
}
