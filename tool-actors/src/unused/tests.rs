//! Tests of the removal of workspaces without jobs.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use broker::{
    log::Log,
    memory::{Call, Fault, Memory, MemoryOptions},
    testing::jobs::submitted,
};
use futures::stream::BoxStream;
use proto::{
    conversation::Conversation,
    fact::{Fact, Source},
    fork::Forked,
    id::{ConversationId, WorkerId},
    subject::Subjects,
    trace::TraceContext,
};
use tempfile::TempDir;

use super::*;
use crate::workspace::Limits;

const DAY: Duration = Duration::from_secs(24 * 3600);

struct Stage {
    options: MemoryOptions,
    memory: Memory,
    broker: Broker,
    root: TempDir,
    all: Workspaces,
}

impl Stage {
    fn new() -> Self {
        let subjects = Subjects::new("cb", 2).unwrap();
        let options = MemoryOptions::default();
        let memory = Memory::new(subjects, options.clone());
        let root = tempfile::tempdir().unwrap();
        let all = Workspaces::open(root.path(), Limits::default()).unwrap();
        let broker = memory.connect(WorkerId::new("w").unwrap());
        Self { options, memory, broker, root, all }
    }

    /// Claims the directory, and makes workspaces with a file, by their paths.
    async fn with(self, paths: &[&str]) -> Self {
        assert_eq!(self.remove(Duration::ZERO).await.unwrap(), 0);
        for path in paths {
            let deep = self.root.path().join(path).join("a/b");
            fs::create_dir_all(&deep).unwrap();
            fs::write(deep.join("c.txt"), "c").unwrap();
        }
        self
    }

    async fn remove(&self, unchanged: Duration) -> Result<usize, UnusedError> {
        let Broker { log, kv, .. } = &self.broker;
        remove_unused(&**log, &**kv, &self.all, unchanged).await
    }

    async fn submit(&self, job: &str, submitted: Submitted) {
        submit(&*self.broker.log, job, submitted).await;
    }

    /// Returns the workspaces that are there, as paths.
    fn left(&self) -> Vec<String> {
        let names = |kind: &str| -> Vec<String> {
            let Ok(entries) = fs::read_dir(self.root.path().join(kind)) else { return Vec::new() };
            entries.map(|e| format!("{kind}/{}", e.unwrap().file_name().display())).collect()
        };
        let mut left = names("jobs");
        left.extend(names("conversations"));
        left.sort();
        left
    }

    fn away(&self) -> usize {
        let away = self.root.path().join(".callboard/unused");
        fs::read_dir(away).map_or(0, Iterator::count)
    }
}

async fn submit(log: &dyn Log, job: &str, submitted: Submitted) {
    let job = JobId::new(job).unwrap();
    log.submit(&job, &Fact::Submitted(submitted), TraceContext::new(1, 1, false)).await.unwrap();
}

#[tokio::test]
async fn a_workspace_goes_with_the_last_job_that_may_use_it() {
    let kept = ["jobs/open", "jobs/source", "jobs/not an id", "conversations/talk"];
    let gone = ["jobs/purged", "jobs/talking", "conversations/over"];
    let stage = Stage::new().with(&[&kept[..], &gone, &["shared"]].concat()).await;
    let talk = ConversationId::new("talk").unwrap();
    let conversation = Conversation { id: talk, earlier: Vec::new(), omitted: 0 };
    stage.submit("open", submitted("g")).await;
    stage.submit("in-talk", Submitted { conversation: Some(conversation), ..submitted("g") }).await;
    // The source of the fork was purged and left its workspace to the fork.
    let source = JobId::new("source").unwrap();
    let forked = Forked { job: source, seq: Seq(1), records: Vec::new() };
    stage.submit("fork", Submitted { forked: Some(Box::new(forked)), ..submitted("g") }).await;

    let none = stage.remove(DAY).await.unwrap();
    assert_eq!((none, stage.left().len()), (0, kept.len() + gone.len()), "they changed just now");
    let removed = stage.remove(Duration::ZERO).await.unwrap();
    assert_eq!(removed, gone.len());
    let mut kept = kept.map(str::to_owned).to_vec();
    kept.sort();
    assert_eq!((stage.left(), stage.away()), (kept, 0));
    assert!(stage.root.path().join("shared/a/b/c.txt").exists());
}

#[tokio::test]
async fn a_submission_that_cannot_be_read_keeps_every_workspace() {
    let stage = Stage::new().with(&["jobs/purged"]).await;
    let strange = JobId::new("strange").unwrap();
    let subject = stage.broker.log.subjects().fact(&strange, &Source::Door);
    let record = br#"{"v":9,"kind":"submitted","id":"x","by":"w","body":{}}"#;
    stage.memory.store_raw(&subject, record.to_vec().into()).unwrap();
    let error = stage.remove(Duration::ZERO).await.unwrap_err();
    assert!(matches!(&error, UnusedError::Unreadable(job) if *job == strange), "{error}");
    assert_eq!(stage.left(), ["jobs/purged"]);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_keeps_every_workspace() {
    let stage = Stage::new().with(&["jobs/purged"]).await;
    let away = Fault::Fails(LogError::Unavailable("away".to_owned()));
    stage.options.faults.inject(Call::Read, &away, 1);
    let error = stage.remove(Duration::ZERO).await.unwrap_err();
    assert!(matches!(error, UnusedError::Log(_)), "{error}");
    assert_eq!(stage.left(), ["jobs/purged"]);
}

#[tokio::test]
async fn a_directory_of_two_installations_keeps_every_workspace() {
    let (ours, theirs) = (Stage::new().with(&["jobs/purged"]).await, Stage::new());
    let all = ours.all.clone();
    let theirs = Stage { all, ..theirs };
    for stage in [&theirs, &ours, &theirs] {
        let error = stage.remove(Duration::ZERO).await.unwrap_err();
        assert!(matches!(error, UnusedError::Shared), "{error}");
    }
    assert_eq!(ours.left(), ["jobs/purged"]);
}

#[tokio::test]
async fn a_workspace_from_before_the_claim_stays() {
    let stage = Stage::new();
    fs::create_dir_all(stage.root.path().join("jobs/old")).unwrap();
    let file = fs::File::open(stage.root.path().join("jobs/old")).unwrap();
    file.set_modified(std::time::SystemTime::now() - DAY).unwrap();
    let stage = stage.with(&["jobs/purged"]).await;
    assert_eq!(stage.remove(Duration::ZERO).await.unwrap(), 1);
    assert_eq!(stage.left(), ["jobs/old"]);
}

/// A log in which a job is submitted after the first look at its submissions.
struct Late {
    inner: Arc<dyn Log>,
    submitted: AtomicBool,
}

#[async_trait]
impl Reader for Late {
    fn subjects(&self) -> &Subjects {
        self.inner.subjects()
    }

    async fn read(&self, job: &JobId, after: Seq) -> Result<Vec<Entry>, LogError> {
        self.inner.read(job, after).await
    }

    async fn watch(
        &self,
        job: &JobId,
        after: Seq,
    ) -> Result<BoxStream<'static, Result<Entry, LogError>>, LogError> {
        self.inner.watch(job, after).await
    }

    async fn submissions(
        &self,
        shard: Shard,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<Vec<Entry>, LogError> {
        let page = self.inner.submissions(shard, before, limit).await?;
        let job = JobId::new("again").unwrap();
        let is_its_shard = self.inner.subjects().shard_of(&job) == shard;
        if is_its_shard && !self.submitted.swap(true, Ordering::Relaxed) {
            submit(&*self.inner, job.as_str(), submitted("g")).await;
        }
        Ok(page)
    }

    async fn finished_among(&self, jobs: &[JobId]) -> Result<BTreeSet<JobId>, LogError> {
        self.inner.finished_among(jobs).await
    }
}

#[tokio::test]
async fn a_workspace_that_a_new_job_uses_meanwhile_is_put_back() {
    let stage = Stage::new().with(&["jobs/again", "jobs/purged"]).await;
    let late = Late { inner: stage.broker.log.clone(), submitted: AtomicBool::new(false) };
    assert_eq!(
        remove_unused(&late, &*stage.broker.kv, &stage.all, Duration::ZERO).await.unwrap(),
        1
    );
    assert_eq!((stage.left(), stage.away()), (vec!["jobs/again".to_owned()], 0));
    let file: &Path = &stage.root.path().join("jobs/again/a/b/c.txt");
    assert_eq!(fs::read_to_string(file).unwrap(), "c");
}

#[tokio::test]
async fn what_a_dead_worker_put_away_goes_back_to_its_job_or_is_removed() {
    let away = ".callboard/unused";
    let [open, begun, purged] =
        ["jobs-open-7", "jobs-begun-7", "jobs-purged-7"].map(|name| format!("{away}/{name}"));
    let stage = Stage::new().with(&[open.as_str(), &begun, &purged, "jobs/begun"]).await;
    for job in ["open", "begun"] {
        stage.submit(job, submitted("g")).await;
    }
    for name in [&open, &begun, &purged] {
        let directory = fs::File::open(stage.root.path().join(name)).unwrap();
        directory.set_modified(std::time::SystemTime::now() - DAY).unwrap();
    }
    let error = stage.remove(DAY).await.unwrap_err();
    assert!(matches!(error, UnusedError::File(_)), "its owner has begun another one: {error}");
    assert_eq!(stage.left(), ["jobs/begun", "jobs/open"]);
    assert!(stage.root.path().join(&begun).exists(), "files of a job are not removed");
    assert_eq!(stage.away(), 1);
}
