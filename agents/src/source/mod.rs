//! The sources of agents: YAML files, parsed to policies.
//!
//! A file has the differences to the agent that it `extends`, or to the defaults. All mistakes are
//! reported at once, with line, column and the likely intended word. The parser guesses no value
//! and ignores no field.

mod mistake;
mod own;
pub(crate) mod tree;
mod words;

use proto::{
    agent::{Agent, InvalidAgent},
    id::AgentName,
};
use serde_json::{Map, Value};

pub use self::mistake::{Mistake, Mistakes, explained};
pub(super) use self::own::{Broken, Own};
pub use self::tree::FILE_BYTES_MAX;
pub(crate) use self::{
    mistake::{Wrong, meant},
    words::Text,
};

/// Maximum length of a chain of agents that extend each other.
pub const EXTENDS_MAX: usize = 8;

/// Fields of a file that are not policies.
const EXTENDS: &str = "extends";
const ABOUT: &str = "about";

/// The source of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Name of the agent: the name of the file or the key.
    pub name: AgentName,
    /// Place of the text for messages: a path or a key.
    pub place: String,
    /// Text in YAML.
    pub text: String,
}

/// Parses a text to JSON.
///
/// # Errors
/// Fails when the text is not a YAML mapping.
pub fn json(text: &str) -> Result<Value, Mistake> {
    tree::read(text).map(|node| node.to_json()).map_err(|wrong| wrong.in_place(""))
}

/// Merges `over` into `under`, both JSON: objects field by field, other values as a whole.
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

/// Parses merged fields to policies.
pub(super) fn agent(name: &AgentName, fields: &Value) -> Result<Agent, InvalidAgent> {
    let read: Result<Agent, _> = serde_json::from_value(fields.clone());
    match read {
        Ok(agent) => Ok(Agent { name: name.clone(), ..agent }),
        // Every file has been checked by itself, so the only possible cause is an inherited field
        // that was set to null.
        Err(_) => Err(InvalidAgent { field: EXTENDS.to_owned(), why: Text::CannotExtend.into() }),
    }
}

/// Returns the JSON of an agent without fields.
pub(super) fn nothing() -> Value {
    Value::Object(Map::new())
}

#[cfg(test)]
mod tests;
