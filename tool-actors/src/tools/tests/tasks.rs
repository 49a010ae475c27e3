//! The task list: its results, and the idempotence of repeats.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use broker::{
    kv::{Bucket, Change, Kv, KvError, Versioned},
    memory::MemoryOptions,
};
use bytes::Bytes;
use futures::{future::join_all, stream::BoxStream};
use proto::{
    lang::Language,
    subject::Subjects,
    tool::{Fault, ToolResult},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    super::{CloseTask, CreateTask, ListTasks, SlashTool, UpdateTask},
    context,
};
use crate::{
    tasks::{Fields, TaskList},
    tool::{Tool, ToolFault},
};

fn kv() -> Arc<dyn Kv> {
    let subjects = Subjects::new("cb", 1).unwrap();
    broker::memory::start(subjects, MemoryOptions::default()).kv
}

/// A store whose `n`-th write succeeds but is reported as failed.
struct Flaky {
    kv: Arc<dyn Kv>,
    lost: usize,
    writes: AtomicUsize,
}

#[async_trait]
impl Kv for Flaky {
    async fn get(&self, bucket: Bucket, key: &str) -> Result<Option<Versioned>, KvError> {
        self.kv.get(bucket, key).await
    }
    async fn put(&self, bucket: Bucket, key: &str, value: Bytes) -> Result<u64, KvError> {
        self.kv.put(bucket, key, value).await
    }
    async fn update(
        &self,
        bucket: Bucket,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Result<u64, KvError> {
        let revision = self.kv.update(bucket, key, value, revision).await?;
        if self.writes.fetch_add(1, Ordering::SeqCst) == self.lost {
            return Err(KvError::Unavailable("the reply was lost".into()));
        }
        Ok(revision)
    }
    async fn delete(&self, bucket: Bucket, key: &str) -> Result<(), KvError> {
        self.kv.delete(bucket, key).await
    }
    async fn delete_at(&self, bucket: Bucket, key: &str, revision: u64) -> Result<u64, KvError> {
        self.kv.delete_at(bucket, key, revision).await
    }
    async fn list(&self, bucket: Bucket, prefix: &str) -> Result<Vec<Versioned>, KvError> {
        self.kv.list(bucket, prefix).await
    }
    async fn watch(
        &self,
        bucket: Bucket,
    ) -> Result<BoxStream<'static, Result<Change, KvError>>, KvError> {
        self.kv.watch(bucket).await
    }
}

/// The task tools over one list.
struct Desk(TaskList);

impl Desk {
    fn new() -> Self {
        Self(TaskList::new(kv()))
    }

    async fn try_call(&self, tool: &str, args: Value, key: &str) -> Result<ToolResult, ToolFault> {
        self.call_in(tool, args, key, Language::Zh).await
    }

    async fn call(&self, tool: &str, args: Value, key: &str) -> ToolResult {
        self.try_call(tool, args, key).await.unwrap()
    }

    async fn call_in(
        &self,
        tool: &str,
        args: Value,
        key: &str,
        language: Language,
    ) -> Result<ToolResult, ToolFault> {
        let list = self.0.clone();
        let tool: Box<dyn Tool> = match tool {
            "create" => Box::new(CreateTask(list)),
            "update" => Box::new(UpdateTask(list)),
            "complete" => Box::new(CloseTask::Complete(list)),
            "delete" => Box::new(CloseTask::Delete(list)),
            "list" => Box::new(ListTasks(list)),
            "todo" => Box::new(SlashTool::todo(&list)),
            "schedule" => Box::new(SlashTool::schedule(&list)),
            other => panic!("{other}"),
        };
        tool.call(context(key, language), args).await
    }

    async fn all(&self) -> Value {
        self.call("list", json!({}), "list").await.data.unwrap()["tasks"].take()
    }
}

#[tokio::test]
async fn commands_of_people_are_tools_of_models() {
    let desk = Desk::new();
    for (n, (tool, command, error)) in [
        ("todo", "/todo buy milk", None),
        ("todo", "/todo add bread", None),
        ("schedule", "/schedule call Ann by Friday", None),
        ("schedule", "/schedule call Ann", Some("say the deadline after `by`")),
        ("schedule", "/todo buy milk", Some("must begin with /schedule")),
        ("todo", "buy milk", Some("must begin with /todo or /view")),
        ("todo", "/todo", Some("needs words after it")),
        ("todo", "/todo {\"name\": 1}", Some("name")),
        ("todo", "/view", None),
        ("todo", "/todo list", None),
    ]
    .into_iter()
    .enumerate()
    {
        let args = json!({ "command": command });
        let done = desk.call_in(tool, args, &format!("key-{n}"), Language::En).await.unwrap();
        match error {
            None => assert!(done.success, "{command}: {done:?}"),
            Some(error) => assert!(done.error.as_deref().unwrap().contains(error), "{done:?}"),
        }
    }
    let titles: Vec<Value> =
        desk.all().await.as_array().unwrap().iter().map(|task| task["title"].clone()).collect();
    assert_eq!(titles, ["buy milk", "bread", "call Ann"]);
}

#[tokio::test]
async fn tasks_are_spoken_of_in_the_language_of_the_job() {
    let desk = Desk::new();
    for (n, (tool, args, zh, en)) in [
        (
            "create",
            json!({"title": "发邮件"}),
            r#"任务 "发邮件" 创建成功"#,
            r#"Task "发邮件" was created"#,
        ),
        ("update", json!({"id": 1, "priority": 2}), "任务已更新", "Task updated"),
        (
            "complete",
            json!({"id": 1}),
            r#"任务 "发邮件" 已标记为完成"#,
            r#"Task "发邮件" was marked as completed"#,
        ),
        ("delete", json!({"id": 1}), r#"任务 "发邮件" 已删除"#, r#"Task "发邮件" was deleted"#),
    ]
    .into_iter()
    .enumerate()
    {
        for (language, text) in [(Language::Zh, zh), (Language::En, en)] {
            // A separate list for each language, at the same point of the sequence.
            let desk = Desk::new();
            if n > 0 {
                desk.call("create", json!({"title": "发邮件"}), "made").await;
            }
            let result = desk.call_in(tool, args.clone(), "k", language).await.unwrap();
            assert_eq!((result.success, result.message.as_deref()), (true, Some(text)));
        }
    }
    for (language, text) in
        [(Language::Zh, "任务 ID:62 不存在"), (Language::En, "There is no task with ID 62")]
    {
        for tool in ["update", "complete", "delete"] {
            let result = desk.call_in(tool, json!({"id": 62}), "k", language).await.unwrap();
            assert_eq!(result, ToolResult::failed(text));
        }
        let args = json!({"title": "x", "parentId": 62});
        let result = desk.call_in("create", args, "k", language).await.unwrap();
        assert_eq!(result, ToolResult::failed(text));
    }
}

#[tokio::test]
async fn a_task_goes_through_its_life() {
    let desk = Desk::new();
    let made = desk.call("create", json!({"title": "a", "type": "mail", "level": 1}), "1").await;
    assert_eq!(made.data, Some(json!({"id": 1, "title": "a"})));
    desk.call("create", json!({"title": "b", "parentId": 1}), "2").await;
    desk.call("update", json!({"id": 1, "deadline": "2026-12-01", "isUnclear": true}), "3").await;
    desk.call("complete", json!({"id": 2}), "4").await;
    assert_eq!(
        desk.all().await,
        json!([
            {"id": 1, "status": "pending", "title": "a", "type": "mail", "level": 1,
             "deadline": "2026-12-01", "isUnclear": true},
            {"id": 2, "status": "completed", "title": "b", "parentId": 1},
        ])
    );
    let pending = desk.call("list", json!({"status": "pending"}), "5").await.data.unwrap();
    assert_eq!((&pending["count"], &pending["tasks"][0]["id"]), (&json!(1), &json!(1)));
    desk.call("delete", json!({"id": 1}), "6").await;
    assert_eq!(desk.all().await.as_array().unwrap().len(), 1);
    // The deleted task's id is not reused.
    assert_eq!(desk.call("create", json!({"title": "c"}), "7").await.data.unwrap()["id"], 3);
}

#[rstest]
#[case("create", json!({"title": "new"}))]
#[case("update", json!({"id": 1, "title": "changed"}))]
#[case("complete", json!({"id": 1}))]
#[case("delete", json!({"id": 1}))]
#[tokio::test]
async fn a_repeat_gives_the_first_result_and_changes_nothing(
    #[case] tool: &str,
    #[case] args: Value,
) {
    let desk = Desk::new();
    desk.call("create", json!({"title": "first"}), "made").await;
    let first = desk.call(tool, args.clone(), "key").await;
    // Another writer changes the task in between, so that a second application would show.
    desk.try_call("update", json!({"id": 1, "title": "by another"}), "other").await.unwrap();
    let before = desk.all().await;
    assert_eq!(desk.call(tool, args, "key").await, first);
    assert_eq!(desk.all().await, before);
}

#[rstest]
#[case("create", json!({"title": "new"}), "create", json!({"title": "other"}))]
#[case("update", json!({"id": 1, "title": "new"}), "update", json!({"id": 1, "title": "other"}))]
#[case("complete", json!({"id": 1}), "delete", json!({"id": 1}))]
#[tokio::test]
async fn another_request_under_a_used_key_is_refused_and_changes_nothing(
    #[case] first: &str,
    #[case] args: Value,
    #[case] second: &str,
    #[case] others: Value,
) {
    let desk = Desk::new();
    desk.call("create", json!({"title": "first"}), "made").await;
    desk.call(first, args, "key").await;
    let before = desk.all().await;
    let refused = desk.try_call(second, others, "key").await.unwrap_err();
    assert_eq!(refused.fault, Fault::InvalidArguments);
    assert!(refused.message.contains("the idempotency key belongs"), "{refused}");
    assert_eq!(desk.all().await, before);
}

#[tokio::test]
async fn a_repeat_of_a_creation_does_not_bring_a_deleted_task_back() {
    let desk = Desk::new();
    let made = desk.call("create", json!({"title": "a"}), "key").await;
    desk.call("delete", json!({"id": 1}), "gone").await;
    assert_eq!(desk.call("create", json!({"title": "a"}), "key").await, made);
    assert_eq!(desk.all().await, json!([]));
}

#[rstest]
#[tokio::test]
async fn a_creation_that_is_cut_off_anywhere_is_made_once(#[values(0, 1, 2)] lost: usize) {
    let flaky = Flaky { kv: kv(), lost, writes: AtomicUsize::new(0) };
    let desk = Desk(TaskList::new(Arc::new(flaky)));
    let fault = desk.try_call("create", json!({"title": "a"}), "key").await.unwrap_err();
    assert_eq!(fault.fault, Fault::Unavailable);
    let made = desk.call("create", json!({"title": "a"}), "key").await;
    assert_eq!(desk.call("create", json!({"title": "a"}), "key").await, made);
    let tasks = desk.all().await;
    assert_eq!((tasks.as_array().unwrap().len(), &tasks[0]["id"]), (1, &made.data.unwrap()["id"]));
}

#[tokio::test]
async fn many_workers_share_the_list() {
    let desk = Desk::new();
    let made = join_all((0..20).map(|n| {
        let desk = &desk;
        // Two workers attempt every creation concurrently.
        async move { desk.call("create", json!({"title": "t"}), &(n / 2).to_string()).await }
    }));
    let mut ids: Vec<_> =
        made.await.iter().map(|r| r.data.clone().unwrap()["id"].as_u64()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 10);
    assert_eq!(desk.all().await.as_array().unwrap().len(), 10);
    let id = ids[0].unwrap();
    join_all((0..20).map(|n| {
        let desk = &desk;
        async move { desk.call("update", json!({"id": id, "level": n}), &format!("u{n}")).await }
    }))
    .await;
}

#[tokio::test]
async fn a_task_can_be_put_under_a_chosen_number() {
    let desk = Desk::new();
    let fields = || Fields { title: Some("写报告".into()), ..Fields::default() };
    assert!(desk.0.import(62, fields()).await.unwrap());
    assert!(!desk.0.import(62, fields()).await.unwrap());
    assert_eq!(
        desk.call("complete", json!({"id": 62}), "k").await.data.unwrap()["title"],
        "写报告"
    );
    assert_eq!(desk.call("create", json!({"title": "a"}), "m").await.data.unwrap()["id"], 63);
}
