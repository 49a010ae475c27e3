//! The tool registry: tools announce themselves, planners and executors look them up.
//!
//! An announcement is JSON in the bucket [`Bucket::Tools`], under the tool's name: the fields of
//! [`ToolSpec`] and `by`, the worker that announced it. A worker in any language may write one.
//! Every reader checks what it reads again: what is in the bucket was not necessarily written by
//! [`announce`].

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures::StreamExt;
use proto::{
    digest,
    id::{ToolName, WorkerId},
    limits,
    tool::ToolSpec,
};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    broker::Broker,
    kv::{Bucket, Change, KvError},
    presence::Crew,
    schema::Schema,
};

/// Longest description of a tool, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 16 * 1024;
/// Longest run of one call, in milliseconds: a day.
pub const TIMEOUT_MS_MAX: u64 = 86_400_000;
/// Calls one worker may run at a time.
pub const CONCURRENCY_MAX: u32 = 10_000;
/// Longest version, in bytes.
pub const VERSION_BYTES_MAX: usize = 64;
/// Tools a registry shows; more are ignored, loudly.
pub const TOOLS_MAX: usize = 2_000;
/// Attempts to win against others who announce the same tool at the same moment.
const RACES_MAX: usize = 20;
/// Wait before a watch that broke is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// An announcement as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Announcement {
    /// The tool.
    #[serde(flatten)]
    pub spec: ToolSpec,
    /// Who announced it.
    pub by: WorkerId,
}

/// What became of an announcement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announced {
    /// It is in the registry.
    Stored,
    /// The same tool was there already.
    Known,
    /// A newer version is there, from somebody who is alive; that one stays.
    Newer {
        /// Its version.
        version: String,
    },
}

/// A tool that was not announced.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AnnounceError {
    /// A field is out of bounds.
    #[error("tool {tool}: {field} {why}")]
    Invalid {
        /// The tool.
        tool: ToolName,
        /// The field.
        field: &'static str,
        /// What it must be.
        why: String,
    },
    /// Another worker has another tool of that name and version.
    #[error(
        "tool {tool} version {version} is announced by {theirs} with another definition than {ours} has; \
         give one of them another name or a new version"
    )]
    Clash {
        /// The tool.
        tool: ToolName,
        /// The version.
        version: String,
        /// Who announced it first.
        theirs: WorkerId,
        /// Who was refused.
        ours: WorkerId,
    },
    /// The bucket cannot be used.
    #[error(transparent)]
    Kv(#[from] KvError),
}

/// Checks every bound of an announcement.
///
/// # Errors
/// The first field that is out of bounds.
pub fn check(spec: &ToolSpec) -> Result<(), AnnounceError> {
    let wrong =
        |field, why: String| Err(AnnounceError::Invalid { tool: spec.name.clone(), field, why });
    if spec.description.trim().is_empty() {
        return wrong("description", "is empty; models choose tools by it".to_owned());
    }
    if spec.description.len() > DESCRIPTION_BYTES_MAX {
        return wrong("description", format!("must be at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    if let Some(c) = spec.description.chars().find(|c| hidden(*c)) {
        let why = format!("has the invisible character {}", c.escape_unicode());
        return wrong("description", why);
    }
    if !(1..=TIMEOUT_MS_MAX).contains(&spec.timeout_ms) {
        return wrong("timeout_ms", format!("must be 1 to {TIMEOUT_MS_MAX}"));
    }
    if !(1..=CONCURRENCY_MAX).contains(&spec.concurrency) {
        return wrong("concurrency", format!("must be 1 to {CONCURRENCY_MAX}"));
    }
    let version = &spec.version;
    if version.is_empty()
        || version.len() > VERSION_BYTES_MAX
        || !version.bytes().all(|b| b.is_ascii_graphic())
    {
        let why = format!("must be 1 to {VERSION_BYTES_MAX} visible ASCII characters");
        return wrong("version", why);
    }
    if depth(&spec.schema) > limits::JSON_DEPTH_MAX {
        return wrong("schema", format!("is nested deeper than {} levels", limits::JSON_DEPTH_MAX));
    }
    match Schema::compile(&spec.schema) {
        Ok(_) => Ok(()),
        Err(error) => wrong("schema", error.to_string()),
    }
}

/// Control characters, and those that turn text around or hide it: a description is shown to people
/// who approve calls, and must look as what it is.
fn hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn depth(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Announces a tool. A newer version replaces an older one; the definition of somebody who is not
/// there any more is replaced by any other.
///
/// # Errors
/// When a field is out of bounds, when somebody who is there has another tool of that name and
/// version, or when the bucket cannot be used.
pub async fn announce(
    broker: &Broker,
    spec: ToolSpec,
    by: &WorkerId,
    crew: &Crew,
) -> Result<Announced, AnnounceError> {
    check(&spec)?;
    let key = spec.name.to_string();
    let ours = Announcement { spec, by: by.clone() };
    let value = serde_json::to_vec(&ours).map_err(|e| AnnounceError::Invalid {
        tool: ours.spec.name.clone(),
        field: "schema",
        why: e.to_string(),
    })?;
    for _ in 0..RACES_MAX {
        let there = broker.kv.get(Bucket::Tools, &key).await?;
        if let Some(there) = &there
            && let Some(settled) = settle(&ours, &there.value, crew).await?
        {
            return Ok(settled);
        }
        let revision = there.map_or(0, |there| there.revision);
        let written = broker.kv.update(Bucket::Tools, &key, Bytes::from(value.clone()), revision);
        match written.await {
            Ok(_) => return Ok(Announced::Stored),
            // Somebody else was faster: look at what they wrote.
            Err(KvError::Conflict(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(KvError::Conflict(key).into())
}

/// What an announcement that is there means for ours; none when ours replaces it.
async fn settle(
    ours: &Announcement,
    there: &[u8],
    crew: &Crew,
) -> Result<Option<Announced>, AnnounceError> {
    // What nobody can read is replaced.
    let Ok(theirs) = read(there) else { return Ok(None) };
    if theirs.spec == ours.spec {
        return Ok((theirs.by == ours.by || crew.has(&theirs.by)).then_some(Announced::Known));
    }
    if theirs.by == ours.by {
        return Ok(None);
    }
    let order = by_version(&ours.spec.version, &theirs.spec.version);
    if order == Ordering::Greater {
        return Ok(None);
    }
    crew.settled().await;
    if !crew.has(&theirs.by) {
        return Ok(None);
    }
    match order {
        Ordering::Less => Ok(Some(Announced::Newer { version: theirs.spec.version })),
        Ordering::Equal | Ordering::Greater => Err(AnnounceError::Clash {
            tool: ours.spec.name.clone(),
            version: ours.spec.version.clone(),
            theirs: theirs.by,
            ours: ours.by.clone(),
        }),
    }
}

/// Orders versions: numbers as numbers, anything else as text, part by part (`1.9` before `1.10`).
fn by_version(a: &str, b: &str) -> Ordering {
    let parts = |v: &str| -> Vec<(u64, String)> {
        v.split(['.', '-', '+'])
            .map(|part| match part.trim_start_matches('v').parse() {
                Ok(number) => (number, String::new()),
                Err(_) => (0, part.to_owned()),
            })
            .collect()
    };
    parts(a).cmp(&parts(b)).then_with(|| a.cmp(b))
}

/// Reads what somebody stored.
fn read(value: &[u8]) -> Result<Announcement, String> {
    let announcement: Announcement = proto::strict::from_slice(value).map_err(|e| e.to_string())?;
    check(&announcement.spec).map_err(|e| e.to_string())?;
    Ok(announcement)
}

/// Takes a tool out of the registry, if it is there and was announced by `by`.
///
/// # Errors
/// When the bucket cannot be used.
pub async fn withdraw(broker: &Broker, tool: &ToolName, by: &WorkerId) -> Result<(), KvError> {
    match broker.kv.get(Bucket::Tools, tool.as_str()).await? {
        Some(there) if read(&there.value).is_ok_and(|a| &a.by == by) => {
            broker.kv.delete(Bucket::Tools, tool.as_str()).await
        }
        Some(_) | None => Ok(()),
    }
}

/// All tools of the installation, kept up to date in memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Registry {
    shared: Arc<Mutex<Shared>>,
    changed: watch::Receiver<u64>,
    _task: Arc<AbortOnDropHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    tools: BTreeMap<String, Arc<Announcement>>,
    refused: BTreeMap<String, String>,
    digest: Option<String>,
}

impl Registry {
    /// Reads the registry and follows it from then on.
    ///
    /// # Errors
    /// When it cannot be read. Later failures are mended by reading it again.
    pub async fn open(broker: &Broker) -> Result<Self, KvError> {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (said, changed) = watch::channel(0);
        let mut changes = broker.kv.watch(Bucket::Tools).await?;
        let mut found = Shared::default();
        loop {
            match changes.next().await {
                Some(Ok(Change::CaughtUp)) => break,
                Some(Ok(change)) => found.apply(change),
                Some(Err(error)) => return Err(error),
                None => return Err(KvError::Unavailable("the watch ended".to_owned())),
            }
        }
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = found;
        let (kept, broker) = (Arc::clone(&shared), broker.clone());
        let task = tokio::spawn(async move {
            loop {
                while let Some(Ok(change)) = changes.next().await {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).apply(change);
                    said.send_modify(|n| *n += 1);
                }
                tracing::warn!("the tool registry cannot be followed; reading it again");
                changes = reopen(&broker, &kept, &said).await;
            }
        });
        Ok(Self { shared, changed, _task: Arc::new(AbortOnDropHandle::new(task)) })
    }

    /// A tool.
    #[must_use]
    pub fn get(&self, name: &ToolName) -> Option<Arc<Announcement>> {
        self.look(|shared| shared.tools.get(name.as_str()).cloned())
    }

    /// All tools, by name.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Announcement>> {
        self.look(|shared| shared.tools.values().cloned().collect())
    }

    /// Announcements that cannot be used, with the reason.
    #[must_use]
    pub fn refused(&self) -> Vec<(String, String)> {
        self.look(|shared| shared.refused.clone().into_iter().collect())
    }

    /// The same as long as no tool changes, whoever announces it.
    #[must_use]
    pub fn digest(&self) -> String {
        self.look(|shared| {
            let tools = &shared.tools;
            shared
                .digest
                .get_or_insert_with(|| {
                    let specs: Vec<_> = tools.values().map(|a| &a.spec).collect();
                    digest::of_json(&serde_json::to_value(specs).unwrap_or_default())
                })
                .clone()
        })
    }

    /// Changes whenever a tool does.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.clone()
    }

    fn look<T>(&self, look: impl FnOnce(&mut Shared) -> T) -> T {
        look(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

type Changes = futures::stream::BoxStream<'static, Result<Change, KvError>>;

/// Reads everything anew, however long that takes; what vanished meanwhile is forgotten.
async fn reopen(broker: &Broker, kept: &Mutex<Shared>, said: &watch::Sender<u64>) -> Changes {
    loop {
        tokio::time::sleep(REOPEN).await;
        let Ok(mut changes) = broker.kv.watch(Bucket::Tools).await else { continue };
        let mut found = Shared::default();
        while let Some(Ok(change)) = changes.next().await {
            if change == Change::CaughtUp {
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = found;
                said.send_modify(|n| *n += 1);
                return changes;
            }
            found.apply(change);
        }
    }
}

impl Shared {
    fn apply(&mut self, change: Change) {
        self.digest = None;
        match change {
            Change::Put(put) => {
                self.tools.remove(&put.key);
                self.refused.remove(&put.key);
                match self.admit(&put.key, &put.value) {
                    Ok(tool) => {
                        self.tools.insert(put.key, Arc::new(tool));
                    }
                    Err(why) => {
                        tracing::warn!(tool = put.key, why, "a tool is not used");
                        if self.refused.len() < TOOLS_MAX {
                            self.refused.insert(put.key, why);
                        }
                    }
                }
            }
            Change::Deleted(key) => {
                self.tools.remove(&key);
                self.refused.remove(&key);
            }
            Change::CaughtUp => {}
        }
    }

    fn admit(&self, key: &str, value: &[u8]) -> Result<Announcement, String> {
        if self.tools.len() >= TOOLS_MAX {
            return Err(format!("there are {TOOLS_MAX} tools already"));
        }
        let tool = read(value)?;
        if tool.spec.name.as_str() != key {
            return Err(format!("it is called {} and stored as {key}", tool.spec.name));
        }
        Ok(tool)
    }
}

#[cfg(test)]
mod tests {
    use proto::subject::Subjects;
    use ractor::Actor;
    use rstest::rstest;
    use serde_json::{Value, json};
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{
        clock::SystemClock,
        memory::{self, MemoryOptions},
        presence::{Beacon, Status},
    };

    fn spec(change: &Value) -> ToolSpec {
        let mut spec = json!({
            "name": "mail", "description": "Sends mail.", "schema": {"type": "object"},
            "effect": "idempotent", "pool": "builtin",
        });
        for (field, value) in change.as_object().unwrap() {
            spec[field] = value.clone();
        }
        serde_json::from_value(spec).unwrap()
    }

    fn worker(name: &str) -> WorkerId {
        WorkerId::new(name).unwrap()
    }

    fn broker() -> Broker {
        memory::start(Subjects::new("cb", 2).unwrap(), MemoryOptions::default())
    }

    /// A crew in which `a` and `b` are alive.
    async fn crew(broker: &Broker) -> Crew {
        let crew = Crew::open(broker);
        for name in ["a", "b"] {
            let clock = SystemClock::new();
            let roles = vec!["tools".to_owned()];
            let status = Status::new(worker(name), roles, "1", &clock, CancellationToken::new());
            Actor::spawn(None, Beacon, (broker.clone(), status)).await.unwrap();
        }
        crew.settled().await;
        crew
    }

    #[rstest]
    #[case(json!({"description": " "}), "description is empty")]
    #[case(json!({"description": "Sends\u{202e}liam."}), "description has the invisible character \\u{202e}")]
    #[case(json!({"description": "a\u{1b}[2J"}), "\\u{1b}")]
    #[case(json!({"description": "x".repeat(DESCRIPTION_BYTES_MAX + 1)}), "at most 16384 bytes")]
    #[case(json!({"timeout_ms": 0}), "timeout_ms must be 1 to")]
    #[case(json!({"timeout_ms": u64::MAX}), "timeout_ms must be 1 to")]
    #[case(json!({"concurrency": 0}), "concurrency must be 1 to")]
    #[case(json!({"version": ""}), "version must be")]
    #[case(json!({"version": "1\n2"}), "version must be")]
    #[case(json!({"schema": 5}), "JSON object")]
    #[case(json!({"schema": {"type": "strnig"}}), "strnig")]
    #[case(json!({"schema": {"$ref": "http://127.0.0.1:9/x"}}), "schema")]
    fn an_announcement_out_of_bounds_names_tool_and_field(
        #[case] change: Value,
        #[case] part: &str,
    ) {
        let error = check(&spec(&change)).unwrap_err().to_string();
        assert!(error.contains("tool mail") && error.contains(part), "{error}");
    }

    #[rstest]
    #[case("1", "2", Ordering::Less)]
    #[case("1.9", "1.10", Ordering::Less)]
    #[case("v2", "1.9", Ordering::Greater)]
    #[case("1.0.0", "1.0.0", Ordering::Equal)]
    #[case("1.0", "1.0-beta", Ordering::Less)]
    fn versions_are_ordered_part_by_part(
        #[case] a: &str,
        #[case] b: &str,
        #[case] order: Ordering,
    ) {
        assert_eq!(by_version(a, b), order);
        assert_eq!(by_version(b, a), order.reverse());
    }

    /// T18
    #[tokio::test(start_paused = true)]
    async fn two_tools_of_one_name_and_version_are_refused_and_both_announcers_named() {
        let broker = broker();
        let crew = crew(&broker).await;
        let (a, b) = (worker("a"), worker("b"));
        let announced = announce(&broker, spec(&json!({})), &a, &crew).await.unwrap();
        assert_eq!(announced, Announced::Stored);
        let same = announce(&broker, spec(&json!({})), &b, &crew).await.unwrap();
        assert_eq!(same, Announced::Known);
        let other = spec(&json!({"effect": "once"}));
        let error = announce(&broker, other.clone(), &b, &crew).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("announced by a") && text.contains("than b has"), "{text}");
        // The first announcer may change its own tool, and anybody may bring a newer version.
        assert_eq!(announce(&broker, other, &a, &crew).await.unwrap(), Announced::Stored);
        let newer = spec(&json!({"version": "2"}));
        assert_eq!(announce(&broker, newer, &b, &crew).await.unwrap(), Announced::Stored);
        let older = announce(&broker, spec(&json!({})), &a, &crew).await.unwrap();
        assert_eq!(older, Announced::Newer { version: "2".to_owned() });
    }

    #[tokio::test(start_paused = true)]
    async fn the_tool_of_somebody_who_is_gone_may_be_replaced() {
        let broker = broker();
        let crew = crew(&broker).await;
        announce(&broker, spec(&json!({"version": "9"})), &worker("gone"), &crew).await.unwrap();
        let ours = spec(&json!({"effect": "once"}));
        let announced = announce(&broker, ours.clone(), &worker("a"), &crew).await.unwrap();
        assert_eq!(announced, Announced::Stored);
        let registry = Registry::open(&broker).await.unwrap();
        let tool = registry.get(&ours.name).unwrap();
        assert_eq!((&tool.spec, tool.by.as_str()), (&ours, "a"));
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_who_announce_different_tools_at_once_one_wins() {
        let broker = broker();
        let crew = crew(&broker).await;
        let race = (0..10).map(|n| {
            let spec = spec(&json!({"timeout_ms": n + 1}));
            let (broker, crew) = (&broker, &crew);
            let by = worker(if n % 2 == 0 { "a" } else { "b" });
            async move { announce(broker, spec, &by, crew).await }
        });
        let ended = futures::future::join_all(race).await;
        let clashes =
            ended.iter().filter(|e| matches!(e, Err(AnnounceError::Clash { .. }))).count();
        assert!((1..10).contains(&clashes), "{ended:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_registry_follows_what_is_announced_and_refuses_what_is_broken() {
        let broker = broker();
        let crew = crew(&broker).await;
        announce(&broker, spec(&json!({})), &worker("a"), &crew).await.unwrap();
        let registry = Registry::open(&broker).await.unwrap();
        let (before, mut changed) = (registry.digest(), registry.watch());
        assert_eq!(registry.all().len(), 1);
        announce(&broker, spec(&json!({"name": "post"})), &worker("b"), &crew).await.unwrap();
        changed.changed().await.unwrap();
        assert_eq!(
            registry.all().iter().map(|t| t.spec.name.as_str()).collect::<Vec<_>>(),
            ["mail", "post"]
        );
        assert_ne!(registry.digest(), before);
        // Written past `announce`, as a program in another language may.
        for (key, value) in [
            ("bad", json!({"name": "bad", "description": "x"})),
            (
                "alias",
                json!({"name": "mail", "description": "x", "schema": {}, "effect": "pure", "pool": "p", "by": "x"}),
            ),
        ] {
            let bytes = Bytes::from(value.to_string());
            broker.kv.put(Bucket::Tools, key, bytes).await.unwrap();
            changed.changed().await.unwrap();
        }
        let refused = registry.refused();
        assert_eq!(refused.len(), 2, "{refused:?}");
        assert!(refused[0].1.contains("stored as alias"), "{refused:?}");
        withdraw(&broker, &"post".parse().unwrap(), &worker("a")).await.unwrap();
        withdraw(&broker, &"post".parse().unwrap(), &worker("b")).await.unwrap();
        changed.changed().await.unwrap();
        assert_eq!(registry.digest(), before);
    }
}
