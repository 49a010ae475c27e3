//! Agents as files: from the YAML of one agent to its policies.
//!
//! A file says what differs from the agent it `extends`, or from the defaults. Whatever is wrong
//! with it is said all at once, with line, column and the word that was probably meant. Nothing is
//! guessed, and nothing that cannot be used is passed over.

mod mistake;
mod own;
mod tree;

use proto::{
    agent::{Agent, InvalidAgent},
    id::AgentName,
};
use serde_json::{Map, Value};

pub(crate) use self::mistake::meant;
pub use self::mistake::{Mistake, Mistakes};
pub(super) use self::own::{Broken, Own};
pub use self::tree::FILE_BYTES_MAX;

/// Longest chain of agents that extend each other.
pub const EXTENDS_MAX: usize = 8;

/// The fields of a file that are not policies.
const EXTENDS: &str = "extends";
const ABOUT: &str = "about";

/// An agent as a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The agent's name: that of the file or key.
    pub name: AgentName,
    /// Where the text stands, for messages: a path, or a key.
    pub place: String,
    /// YAML.
    pub text: String,
}

/// The text as JSON.
///
/// # Errors
/// When it is no YAML mapping.
pub fn json(text: &str) -> Result<Value, Mistake> {
    tree::read(text).map(|node| node.to_json()).map_err(|wrong| wrong.in_place(""))
}

/// What a file is written over, and what it says itself, as JSON: objects field by field, anything
/// else as a whole.
pub(super) fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                merge(under.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

/// The policies that all fields together make.
pub(super) fn agent(name: &AgentName, fields: &Value) -> Result<Agent, InvalidAgent> {
    let read: Result<Agent, _> = serde_json::from_value(fields.clone());
    match read {
        Ok(agent) => Ok(Agent { name: name.clone(), ..agent }),
        // Every file was read for itself: only an inherited field that was set to nothing is left.
        Err(_) => Err(InvalidAgent { field: EXTENDS.to_owned(), why: "cannot be extended so" }),
    }
}

/// An agent without a field.
pub(super) fn nothing() -> Value {
    Value::Object(Map::new())
}

#[cfg(test)]
mod tests;
