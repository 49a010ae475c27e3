//! The nodes of a workflow and the routes between them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Expression, Key, Target, TemplateValue, Work};
use crate::retry::RetryPolicy;

/// A node: its work, the writes to the state, and the way on.
///
/// When the work has ended, `write` is evaluated with the state before it, the reducers apply the
/// writes, and the conditions of `next` see the state after them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Text for screens; the id when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Work of the node.
    pub work: Work,
    /// Values that the node writes to the state, by key.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub write: BTreeMap<Key, TemplateValue>,
    /// Ways on, in order: the first whose condition is true is taken. The last one has no
    /// condition. Only a node of type `end` has no way on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<Route>,
    /// Way on when the work failed for good. Without it, the branch, the item or the workflow
    /// fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_error: Option<Target>,
    /// Attempts after transient errors; the policy of the job when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
}

impl Node {
    /// Returns every target of the node: of its routes, of its error and of its timeout. The first
    /// nodes of branches and of map bodies are not among them.
    pub fn targets(&self) -> impl Iterator<Item = &Target> {
        let timeout = self.work.timeout().map(|timeout| &timeout.then);
        self.next.iter().map(|route| &route.to).chain(&self.on_error).chain(timeout)
    }
}

/// A way on from a node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Condition; absent for the last route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Expression>,
    /// Target of the route.
    pub to: Target,
}
