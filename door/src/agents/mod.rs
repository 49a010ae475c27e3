//! The agents that submissions may name: those the process was started with, and those of the bucket
//! of agents, which win and are followed while it runs.
//!
//! What is in the bucket was not necessarily written by this door: it is read as a file is. An agent
//! there that cannot be used is refused by name, loudly; what it hides is never taken for it.

mod verbs;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use broker::{
    Broker,
    kv::{Bucket, Change, KvError, Versioned},
};
use futures::StreamExt;
use proto::{
    agent::{
        Agent,
        catalogue::{Catalogue, Layer},
        source::Source,
    },
    id::AgentName,
};
use tokio_util::task::AbortOnDropHandle;

pub(super) use self::verbs::unknown;

/// Agents of the bucket that are used; more are passed over, loudly.
pub const AGENTS_MAX: usize = 1_000;
/// Wait before a watch that broke is opened again.
const REOPEN: Duration = Duration::from_millis(500);

/// All agents of the installation, kept up to date in memory. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agents {
    shared: Arc<Mutex<Catalogue>>,
    _task: Option<Arc<AbortOnDropHandle<()>>>,
}

impl Agents {
    /// Agents that never change.
    #[must_use]
    pub fn fixed(catalogue: Catalogue) -> Self {
        Self { shared: Arc::new(Mutex::new(catalogue)), _task: None }
    }

    /// Reads the bucket over `catalogue` and follows it from then on.
    ///
    /// # Errors
    /// When it cannot be read. Later failures are mended by reading it again.
    pub async fn open(broker: &Broker, mut catalogue: Catalogue) -> Result<Self, KvError> {
        let mut changes = broker.kv.watch(Bucket::Agents).await?;
        let stored = until_caught_up(&mut changes).await?;
        fill(&mut catalogue, &stored);
        let shared = Arc::new(Mutex::new(catalogue));
        let (kept, broker) = (Arc::clone(&shared), broker.clone());
        let task = tokio::spawn(async move {
            loop {
                while let Some(Ok(change)) = changes.next().await {
                    apply(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), change);
                }
                tracing::debug!("the bucket of agents cannot be followed; reading it again");
                changes = reopen(&broker, &kept).await;
            }
        });
        Ok(Self { shared, _task: Some(Arc::new(AbortOnDropHandle::new(task))) })
    }

    /// Whether there is an agent of this name, usable or not.
    #[must_use]
    pub fn knows(&self, name: &AgentName) -> bool {
        self.look(|all| all.get(name).is_some())
    }

    /// Looks at all of them.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Catalogue) -> T) -> T {
        look(&self.shared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn change(&self, change: impl FnOnce(&mut Catalogue)) {
        change(&mut self.shared.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl From<HashMap<AgentName, Agent>> for Agents {
    fn from(agents: HashMap<AgentName, Agent>) -> Self {
        Self::fixed(Catalogue::default().with_given(agents.into_values()))
    }
}

type Changes = futures::stream::BoxStream<'static, Result<Change, KvError>>;

/// Everything that was there when the watch began.
async fn until_caught_up(changes: &mut Changes) -> Result<Vec<Versioned>, KvError> {
    let mut stored: Vec<Versioned> = Vec::new();
    loop {
        match changes.next().await {
            Some(Ok(Change::CaughtUp)) => return Ok(stored),
            Some(Ok(Change::Put(put))) => {
                stored.retain(|there| there.key != put.key);
                stored.push(put);
            }
            Some(Ok(Change::Deleted(key))) => stored.retain(|there| there.key != key),
            Some(Err(error)) => return Err(error),
            None => return Err(KvError::Unavailable("the watch ended".to_owned())),
        }
    }
}

/// Reads everything anew, however long that takes; what vanished meanwhile is forgotten.
async fn reopen(broker: &Broker, kept: &Mutex<Catalogue>) -> Changes {
    loop {
        tokio::time::sleep(REOPEN).await;
        let opened = match broker.kv.watch(Bucket::Agents).await {
            Ok(mut changes) => match until_caught_up(&mut changes).await {
                Ok(stored) => {
                    fill(&mut kept.lock().unwrap_or_else(PoisonError::into_inner), &stored);
                    return changes;
                }
                Err(error) => error,
            },
            Err(error) => error,
        };
        tracing::warn!(error = %opened, "the bucket of agents cannot be followed; trying again");
    }
}

fn fill(catalogue: &mut Catalogue, stored: &[Versioned]) {
    catalogue.clear(Layer::Bucket);
    if stored.len() > AGENTS_MAX {
        tracing::warn!(agents = stored.len(), "the bucket has more agents than are used");
    }
    let sources: Vec<_> = stored.iter().take(AGENTS_MAX).filter_map(source).collect();
    let names: Vec<_> = sources.iter().map(|source| source.name.clone()).collect();
    catalogue.set(Layer::Bucket, sources);
    names.iter().for_each(|name| warn(catalogue, name));
}

fn apply(catalogue: &mut Catalogue, change: Change) {
    match change {
        Change::Put(put) => {
            let Some(source) = source(&put) else { return };
            let name = source.name.clone();
            let is_new = !catalogue.has(Layer::Bucket, &name);
            if is_new && catalogue.count(Layer::Bucket) >= AGENTS_MAX {
                tracing::warn!(agent = %name, "there are {AGENTS_MAX} agents in the bucket already");
                return;
            }
            catalogue.set(Layer::Bucket, [source]);
            warn(catalogue, &name);
        }
        Change::Deleted(key) => {
            if let Ok(name) = AgentName::new(&key) {
                catalogue.remove(Layer::Bucket, &name);
            }
        }
        Change::CaughtUp => {}
    }
}

/// What is stored as a file; nothing when its key is no name.
fn source(stored: &Versioned) -> Option<Source> {
    let Ok(name) = AgentName::new(&stored.key) else {
        tracing::warn!("the bucket of agents has a key that is no name; it is passed over");
        return None;
    };
    let text = String::from_utf8_lossy(&stored.value).into_owned();
    Some(Source { place: place(&name), name, text })
}

/// Where the text of an agent of the bucket stands, for messages.
fn place(name: &AgentName) -> String {
    format!("bucket:{name}")
}

fn warn(catalogue: &Catalogue, name: &AgentName) {
    if let Some(Err(mistakes)) = catalogue.get(name) {
        // What is wrong may quote what somebody wrote.
        tracing::warn!(agent = %name, mistakes = mistakes.0.len(), "an agent of the bucket cannot be used");
        tracing::debug!(agent = %name, %mistakes, "what is wrong with it");
    }
}
