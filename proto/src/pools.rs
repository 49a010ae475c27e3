//! The pools of workers other than toolsets.

use crate::id::Pool;

/// The name of the pool of decisions that no worker takes.
pub const NOBODY: &str = "none";

fn known(name: &str) -> Pool {
    Pool::new(name).expect("the names in this module are ids")
}

/// Returns the pool of planners and executors that use the configured model.
#[must_use]
pub fn models() -> Pool {
    known("default")
}

/// Returns the pool of interaction actors.
#[must_use]
pub fn people() -> Pool {
    known("people")
}

/// Returns the pool of decisions that no worker takes.
#[must_use]
pub fn nobody() -> Pool {
    known(NOBODY)
}

/// Returns the pool of the built-in tools.
#[must_use]
pub fn builtin() -> Pool {
    known("builtin")
}
