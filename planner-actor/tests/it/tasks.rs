//! The pending tasks in the prompts of a planner.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use broker::{
    Broker,
    kv::{Bucket, Change, Kv, KvError, Versioned},
};
use bytes::Bytes;
use futures::stream::BoxStream;
use model::{Delta, Model, ModelError, ModelRequest, ModelStream};
use planner_actor::{PlannerActor, options};
use proto::{
    fact::Fact,
    message::{StopReason, Usage},
};
use rstest::rstest;
use runtime::{registry::Registry, testing::RoleStage};
use serde_json::{Value, json};

use crate::stage::command;

/// A model that keeps what it reads.
#[derive(Default)]
struct ReadingModel(Mutex<String>);

#[async_trait]
impl Model for ReadingModel {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.0.lock().unwrap().push_str(&format!("{:?}", request.messages));
        let text = Delta::Text("no plan".to_owned());
        let (usage, stop) = (Usage::default(), StopReason::End);
        let end = Delta::End { usage, stop, model: "m".to_owned() };
        Ok(Box::pin(futures::stream::iter([Ok(text), Ok(end)])))
    }
}

/// A store whose task list cannot be read.
struct WithoutTasks(Arc<dyn Kv>);

#[async_trait]
impl Kv for WithoutTasks {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError> {
        self.0.get(bucket, key).await
    }
    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError> {
        self.0.put(bucket, key, value).await
    }
    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError> {
        self.0.update(bucket, key, value, revision).await
    }
    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError> {
        self.0.delete(bucket, key).await
    }
    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<u64, KvError> {
        self.0.delete_at(bucket, key, revision).await
    }
    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError> {
        if bucket == Bucket::Tasks {
            return Err(KvError::Unavailable("the bucket is lost".into()));
        }
        self.0.list(bucket, prefix).await
    }
    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError> {
        self.0.watch(bucket).await
    }
}

/// A window that takes the request of a plan and no 50 tasks, in tokens.
const WITHOUT_TASKS: u32 = 3_000;

/// Returns a broker with a task list and the tool that lists it, of this pool.
async fn listing(pool: &str) -> Broker {
    let broker = RoleStage::broker(&[("create_task", json!({}))]).await;
    let tool = json!({
        "name": "list_tasks", "description": "lists", "schema": {"type": "object"},
        "effect": "pure", "pool": pool, "version": "1", "by": "tools-1",
    });
    let put = async |bucket, key: &str, value: String| {
        broker.kv.put(bucket, key, value.into()).await.unwrap();
    };
    put(Bucket::Tools, "list_tasks", tool.to_string()).await;
    for (id, status, title) in
        [(62, "pending", "write the report"), (7, "completed", "rest"), (8, "deleted", "gone")]
    {
        let task = json!({"id": id, "status": status, "title": title, "changes": []});
        put(Bucket::Tasks, &format!("task.{id}"), task.to_string()).await;
    }
    put(Bucket::Tasks, "task.9", "damaged".to_owned()).await;
    put(Bucket::Tasks, "counter", "62".to_owned()).await;
    broker
}

/// Carries out a command, and returns what the model read.
async fn read(broker: Broker, fields: Value) -> String {
    let model = Arc::new(ReadingModel::default());
    let registry = Registry::open(&broker).await.unwrap();
    let role = PlannerActor::new(broker.clone(), Arc::clone(&model) as Arc<dyn Model>, registry);
    let mut stage = RoleStage::start(broker, role, options(4)).await;
    stage.decide(&command(fields)).await;
    let (_, Fact::Planned(planned)) = stage.fact().await else { panic!("not a plan") };
    assert!(serde_json::to_string(&planned.reply).unwrap().contains("unparseable"));
    stage.end().await;
    let read = model.0.lock().unwrap();
    read.clone()
}

#[rstest]
#[case::of_the_protocol(json!({"protocol": "action_steps"}), "builtin", true)]
#[case::in_chinese(json!({"protocol": "action_steps", "language": "zh"}), "builtin", true)]
#[case::of_another_protocol(json!({"protocol": "steps"}), "builtin", false)]
#[case::without_the_tool(json!({"protocol": "action_steps", "tools": ["create_task"]}), "builtin", false)]
#[case::with_a_tool_of_another_pool(json!({"protocol": "action_steps"}), "p", false)]
#[tokio::test]
async fn a_planner_of_tool_calls_sees_the_pending_tasks_that_its_agent_may_list(
    #[case] fields: Value,
    #[case] pool: &str,
    #[case] sees: bool,
) {
    let read = read(listing(pool).await, fields).await;
    assert_eq!(read.contains("62: write the report"), sees, "{read}");
    assert!(!read.contains("7: rest") && !read.contains("8: gone"), "{read}");
}

#[tokio::test]
async fn a_plan_is_made_without_the_task_list_when_it_cannot_be_read() {
    let mut broker = listing("builtin").await;
    broker.kv = Arc::new(WithoutTasks(Arc::clone(&broker.kv)));
    let read = read(broker, json!({"protocol": "action_steps"})).await;
    assert!(read.contains("Complete task 62") && !read.contains("write the report"), "{read}");
}

#[rstest]
#[case::that_fits(100_000, true)]
#[case::that_does_not_fit(WITHOUT_TASKS, false)]
#[tokio::test]
async fn a_plan_is_made_with_a_task_list(#[case] tokens: u32, #[case] sees: bool) {
    let broker = listing("builtin").await;
    for id in 100..150 {
        let task =
            json!({"id": id, "status": "pending", "title": "word ".repeat(40), "changes": []});
        broker.kv.put(Bucket::Tasks, &format!("task.{id}"), task.to_string().into()).await.unwrap();
    }
    let window = json!({"keep": 8, "tokens": tokens});
    let read = read(broker, json!({"protocol": "action_steps", "window": window})).await;
    assert!(read.contains("Complete task 62"), "{read}");
    assert_eq!(read.contains("149: word"), sees, "{read}");
}
