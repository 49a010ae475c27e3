//! The pools that are not toolsets.

use crate::id::Pool;

/// The name of the pool of decisions that no worker takes.
pub const NOBODY: &str = "none";

fn known(name: &str) -> Pool {
    Pool::new(name).expect("the names in this module are ids")
}

/// Planners and executors with the configured model.
#[must_use]
pub fn models() -> Pool {
    known("default")
}

/// Interaction actors.
#[must_use]
pub fn people() -> Pool {
    known("people")
}

/// Nobody: decisions that nobody carries out.
#[must_use]
pub fn nobody() -> Pool {
    known(NOBODY)
}

/// The built-in tools.
#[must_use]
pub fn builtin() -> Pool {
    known("builtin")
}
