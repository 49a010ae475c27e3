//! The parts of a model's reply that only the same model reads: signatures of its thoughts, and
//! encrypted reasoning.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Maximum size of the opaque parts of one reply, in bytes of JSON. Beyond it none are kept.
pub const OPAQUE_BYTES_MAX: usize = 128 * 1024;
/// Maximum number of opaque parts of one reply. Beyond it none are kept.
pub const OPAQUE_PARTS_MAX: usize = 512;

/// The opaque parts of a reply. They are sent back to the same model of the same provider, and to no
/// other. Nobody is shown them, and no trace holds them.
#[derive(Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Opaque {
    /// Provider and model that the parts belong to: `gemini:generativelanguage.googleapis.com/NAME`.
    pub model: String,
    /// Parts in the form of the provider, in the order of the reply.
    pub parts: Vec<Value>,
}

impl Opaque {
    /// Returns the parts for a model, or none if they belong to another one.
    #[must_use]
    pub fn parts_for(&self, model: &str) -> &[Value] {
        if self.model == model { &self.parts } else { &[] }
    }
}

/// The output leaves out the parts, which may hold a model's thoughts.
impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opaque")
            .field("model", &self.model)
            .field("parts", &self.parts.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_for_their_own_model_and_are_not_printed() {
        let opaque = Opaque { model: "gemini:h/a".into(), parts: vec![json!("canary")] };
        assert_eq!(opaque.parts_for("gemini:h/a"), [json!("canary")]);
        assert!(opaque.parts_for("gemini:h/b").is_empty());
        assert!(!format!("{opaque:?}").contains("canary"));
    }
}
