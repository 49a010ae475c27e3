//! The variables that an expression sees.

use std::{collections::BTreeMap, sync::Arc};

use minijinja::value::{Object, Serde};
use proto::workflow::{Key, NodeId, Yield};
use serde_json::Value;

/// The variables of an evaluation.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    /// Input of the job: `input`.
    pub input: &'a Value,
    /// State: `state`. A key that has not been written is undefined.
    pub state: &'a BTreeMap<Key, Value>,
    /// Visits by node, the present one included: `visits`. A node that is not in it has 0.
    pub visits: &'a BTreeMap<NodeId, u32>,
    /// Item of the map whose body the node is in.
    pub item: Option<Item<'a>>,
    /// Outcome of the node that has ended: `reply`, `result`, `answer` or `event`.
    pub outcome: Option<(Yield, &'a Value)>,
}

/// An item of a map.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// Name of the variable.
    pub name: &'a Key,
    /// Value of the item.
    pub value: &'a Value,
    /// Number of the item, from 0: `index`.
    pub index: usize,
}

impl Scope<'_> {
    pub(super) fn context(&self) -> minijinja::Value {
        let state: BTreeMap<String, minijinja::Value> =
            self.state.iter().map(|(key, value)| (key.to_string(), engine(value))).collect();
        let visits = self.visits.iter().map(|(node, count)| (node.to_string(), *count)).collect();
        let mut all: BTreeMap<String, minijinja::Value> = BTreeMap::from([
            ("input".to_owned(), engine(self.input)),
            ("state".to_owned(), minijinja::Value::from(state)),
            ("visits".to_owned(), minijinja::Value::from_object(Visits(visits))),
        ]);
        if let Some(Item { name, value, index }) = &self.item {
            all.insert("index".to_owned(), minijinja::Value::from(*index));
            all.insert(name.to_string(), engine(value));
        }
        if let Some((name, value)) = &self.outcome {
            all.insert(name.as_str().to_owned(), engine(value));
        }
        minijinja::Value::from(all)
    }
}

pub(super) fn engine(value: &Value) -> minijinja::Value {
    minijinja::Value::from(Serde(value))
}

/// The visits by node, with 0 for the others.
#[derive(Debug)]
struct Visits(BTreeMap<String, u32>);

impl Object for Visits {
    fn get_value(self: &Arc<Self>, key: &minijinja::Value) -> Option<minijinja::Value> {
        let count = self.0.get(key.as_str()?).copied().unwrap_or_default();
        Some(minijinja::Value::from(count))
    }
}
