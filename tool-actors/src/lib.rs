//! Tools: their interface, the guards around every call, the built-in ones, and the actor that takes
//! `do.call` from the log and answers with `called`.
//!
//! [`ToolActor`] is a ractor actor. The pool parses a decision into a [`CallCommand`], starts one actor
//! for it and supervises that actor: a panic ends one call and no other.
//!
//! A call passes, in this order: the tool is known, its version and effect are those that were
//! planned, what a person approved is what would run, the arguments fit the schema, there is a free
//! place, and, for a `once` tool, nobody has begun the same attempt. Only then does it run, under a
//! timeout, with panics caught and its answer bounded.
//!
//! Architecture invariants: tools know nothing of jobs' states and decide nothing about retries;
//! every URL goes through [`egress`], every path through [`workspace`]; this crate knows no other
//! actor crate.

mod actor;
mod call;
pub mod config;
pub mod egress;
mod files;
mod intent;
mod observe;
pub mod settings;
mod start;
pub mod tasks;
mod tool;
pub mod tools;
mod toolset;
mod work;
pub mod workspace;

pub use self::{
    actor::{CallCommand, ToolActor, options},
    files::JobFiles,
    start::{Setup, StartError, builtin, start},
    tool::{CallContext, Meter, Tool, ToolFault},
    toolset::{Admitted, InvalidToolset, Toolset},
};
