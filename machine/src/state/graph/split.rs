//! The paths of a parallel or map node, and their ends at its join.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use proto::workflow::{Join, Key, Visit};
use serde_json::Value;

/// The state of a workflow, by key.
pub(crate) type State = BTreeMap<Key, Value>;

/// The paths of a parallel or map node.
#[derive(Debug, Clone)]
pub(crate) struct Split {
    pub(crate) visit: Visit,
    /// Number of the paths.
    pub(crate) paths: u32,
    /// Items of a map.
    pub(super) items: Arc<[Value]>,
    /// State at the beginning of the split, which the items of a map see.
    pub(super) state: Arc<State>,
    /// Number of the paths that have begun.
    pub(crate) begun: u32,
    /// Paths that ended, by number.
    pub(super) over: BTreeMap<u32, Arrival>,
}

/// The end of a path at its join.
#[derive(Debug, Clone)]
pub(super) struct Arrival {
    pub(super) error: Option<String>,
    pub(super) collected: BTreeMap<Key, Value>,
}

impl Split {
    /// Returns the number of paths that succeeded.
    pub(crate) fn succeeded(&self) -> usize {
        self.over.values().filter(|arrival| arrival.error.is_none()).count()
    }

    /// Returns the number of paths that have not ended.
    pub(crate) fn open(&self) -> usize {
        usize::try_from(self.paths).unwrap_or(usize::MAX).saturating_sub(self.over.len())
    }

    /// Returns the number of paths that have begun and not ended.
    pub(crate) fn running(&self) -> usize {
        usize::try_from(self.begun).unwrap_or(usize::MAX).saturating_sub(self.over.len())
    }

    /// Returns `true` if the join has what it waits for, or can no longer have it.
    pub(crate) fn is_settled(&self, join: Join) -> bool {
        let needed = join.needed(usize::try_from(self.paths).unwrap_or(usize::MAX));
        let good = self.succeeded();
        good >= needed || good.saturating_add(self.open()) < needed
    }

    /// Returns the error of the first path that failed.
    pub(crate) fn first_error(&self) -> Option<&str> {
        self.over.values().find_map(|arrival| arrival.error.as_deref())
    }

    /// Returns the keys of the collected values.
    pub(crate) fn collected_keys(&self) -> BTreeSet<&Key> {
        self.collected().map(|(key, _)| key).collect()
    }

    /// Returns the collected values in the order of the items.
    pub(super) fn collected(&self) -> impl Iterator<Item = (&Key, &Value)> {
        let good = self.over.values().filter(|arrival| arrival.error.is_none());
        good.flat_map(|arrival| &arrival.collected)
    }
}
