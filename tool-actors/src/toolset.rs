//! A set of tools that share a pool, and the guards before every call.
//!
//! The tools of the set's constructor stay. A [`ToolSource`] adds tools and withdraws them while the
//! process runs.

mod source;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard},
};

use proto::{
    decision::CallWork,
    id::{JobId, Pool, ToolName},
    interaction::approval_digest,
    tool::{Approval, Effect, Fault, ToolResult, ToolSpec},
};
use runtime::{
    arguments::{self, Placeholders},
    registry,
    schema::Schemas,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

pub use self::source::ToolSource;
use crate::{
    call,
    tool::{CallContext, Tool, ToolFault},
    tools::Text,
};

/// The tools of one pool, by name.
#[derive(derive_more::Debug)]
#[debug("Toolset {{ pool: {pool}, tools: {:?} }}", self.read().keys())]
pub struct Toolset {
    pool: Pool,
    tools: RwLock<Tools>,
    schemas: Schemas,
    /// Counts the changes of `tools`.
    changed: watch::Sender<u64>,
    /// The beginnings of the names of tools, by the number of their source.
    sources: RwLock<Vec<String>>,
}

type Tools = BTreeMap<ToolName, Entry>;

struct Entry {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
    places: Arc<Semaphore>,
    /// The source that offers the tool; `None` for a tool that stays.
    source: Option<usize>,
}

/// The reason why tools cannot form a set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidToolset {
    /// Two tools have the same name.
    #[error("two tools have the name {0}")]
    Twice(ToolName),
    /// A tool's specification names another pool.
    #[error("the tool {tool} belongs to the pool {theirs}, not {ours}")]
    ForeignPool {
        /// Name of the tool.
        tool: ToolName,
        /// Pool in the tool's specification.
        theirs: Pool,
        /// Pool of the set.
        ours: Pool,
    },
    /// A specification violates a limit; holds the reason.
    #[error("{0}")]
    Spec(String),
}

impl Toolset {
    /// Creates a set of tools that share a pool.
    ///
    /// # Errors
    /// If names repeat, a tool names another pool, or a specification is invalid.
    pub fn new(pool: Pool, tools: Vec<Arc<dyn Tool>>) -> Result<Self, InvalidToolset> {
        let mut all = Tools::new();
        for tool in tools {
            let entry = Entry::new(&pool, tool, None)?;
            let name = entry.spec.name.clone();
            if all.insert(name.clone(), entry).is_some() {
                return Err(InvalidToolset::Twice(name));
            }
        }
        let (schemas, changed) = (Schemas::new(), watch::Sender::new(0));
        Ok(Self { pool, tools: RwLock::new(all), schemas, changed, sources: RwLock::default() })
    }

    fn read(&self) -> RwLockReadGuard<'_, Tools> {
        self.tools.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The pool whose calls the set carries out.
    #[must_use]
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The specifications to announce, by tool name.
    #[must_use]
    pub fn specs(&self) -> Vec<ToolSpec> {
        self.read().values().map(|entry| entry.spec.clone()).collect()
    }

    /// Returns a receiver that is notified after every change of the tools.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// `true` if the set contains a tool of that name.
    #[must_use]
    pub fn has(&self, tool: &ToolName) -> bool {
        self.read().contains_key(tool)
    }

    /// Returns the fault of a call of a tool that the set does not have. A source may offer it later.
    fn missing(&self, call: &CallWork) -> ToolFault {
        let tool = &call.tool;
        let sources = self.sources.read().unwrap_or_else(PoisonError::into_inner);
        if sources.iter().any(|prefix| tool.as_str().starts_with(prefix)) {
            return ToolFault::unavailable(Text::ToolAway { tool }.text(call.language));
        }
        let why = Text::NoSuchTool { tool, pool: &self.pool };
        ToolFault::new(Fault::UnknownTool, why.text(call.language))
    }

    /// Finds the tool of a call, and applies every guard that does not wait.
    ///
    /// # Errors
    /// The fault of the first guard that fails.
    pub fn admit(&self, job: &JobId, call: &CallWork) -> Result<Admitted, ToolFault> {
        let tools = self.read();
        let entry = tools.get(&call.tool).ok_or_else(|| self.missing(call))?;
        entry.same(call)?;
        entry.approved(job, call)?;
        arguments::check(&self.schemas, &entry.spec, &call.args, Placeholders::Literal)
            .map_err(|why| ToolFault::invalid(why.text(call.language)))?;
        Ok(Admitted {
            tool: Arc::clone(&entry.tool),
            spec: entry.spec.clone(),
            places: Arc::clone(&entry.places),
        })
    }
}

impl Entry {
    fn new(
        pool: &Pool,
        tool: Arc<dyn Tool>,
        source: Option<usize>,
    ) -> Result<Self, InvalidToolset> {
        let spec = tool.spec();
        if spec.pool != *pool {
            let (theirs, ours) = (spec.pool.clone(), pool.clone());
            return Err(InvalidToolset::ForeignPool { tool: spec.name, theirs, ours });
        }
        registry::check(&spec).map_err(|e| InvalidToolset::Spec(e.to_string()))?;
        let places = usize::try_from(spec.concurrency).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self { tool, places: Arc::new(Semaphore::new(places)), spec, source })
    }

    /// Checks that this tool is the planned one.
    fn same(&self, call: &CallWork) -> Result<(), ToolFault> {
        let spec = &self.spec;
        let differs = |field: &str, here: &str, planned: &str| {
            let why =
                Text::Differs { tool: &spec.name, field: &field, here: &here, planned: &planned };
            Err(ToolFault::new(Fault::VersionMismatch, why.text(call.language)))
        };
        if spec.version != call.version {
            return differs("version", &spec.version, &call.version);
        }
        if spec.effect != call.effect {
            return differs("effect", spec.effect.as_str(), call.effect.as_str());
        }
        Ok(())
    }

    /// Checks that the approved call is the one about to run. The digest is computed here, from
    /// this call and this tool, and taken from no message.
    fn approved(&self, job: &JobId, call: &CallWork) -> Result<(), ToolFault> {
        let tool = &self.spec.name;
        let refuse =
            |why: Text<'_>| Err(ToolFault::new(Fault::VersionMismatch, why.text(call.language)));
        let Some(approved) = &call.approved else {
            return match self.spec.approval {
                Approval::Always => refuse(Text::NoApproval { tool }),
                Approval::Never => Ok(()),
            };
        };
        let version = &self.spec.version;
        let digest = approval_digest(job, call.work.as_str(), tool, version, &call.args);
        if *approved == digest { Ok(()) } else { refuse(Text::ForeignApproval { tool }) }
    }
}

/// A tool and a slot limit, for a call that has passed the guards.
#[derive(derive_more::Debug)]
#[debug("Admitted({})", spec.name)]
pub struct Admitted {
    tool: Arc<dyn Tool>,
    spec: ToolSpec,
    places: Arc<Semaphore>,
}

impl Admitted {
    /// The effect class of the tool.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.spec.effect
    }

    /// Waits until the tool runs fewer calls than its concurrency limit. The slot is held until the
    /// permit is dropped.
    pub async fn place(&self) -> OwnedSemaphorePermit {
        let places = Arc::clone(&self.places);
        places.acquire_owned().await.expect("a tool's places are never closed")
    }

    /// Runs the call under its timeout, with panics caught and the result bounded.
    ///
    /// # Errors
    /// If the tool gave no result.
    pub async fn run(
        &self,
        context: CallContext,
        args: serde_json::Value,
    ) -> Result<ToolResult, ToolFault> {
        call::carry_out(&*self.tool, &self.spec, context, args).await
    }
}

#[cfg(test)]
mod tests;
