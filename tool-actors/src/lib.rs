//! Tools: their interface, the guards around every call, the built-in tools, and the actor that
//! takes `do.call` from the log and answers with `called`.
//!
//! [`ToolActor`] is a ractor actor. The pool parses a decision into a [`CallCommand`], starts one
//! actor for it and supervises that actor: a panic ends one call and no other.
//!
//! A call passes these guards, in this order. The tool exists. Its version and effect match the
//! plan. The approved call is the call to run. The arguments fit the schema. A slot is free. For a
//! `once` tool, no worker has started the same attempt. Only then does the tool run, under a
//! timeout, with panics caught and its result bounded.
//!
//! Architecture invariants: tools know nothing of jobs' states and decide nothing about retries;
//! every URL goes through [`egress`], every path through [`workspace`]; this crate knows no other
//! actor crate.

mod actor;
pub mod browser;
mod call;
pub mod egress;
mod files;
mod intent;
mod observe;
mod page;
pub mod search;
pub mod settings;
pub mod shell;
mod start;
pub mod tasks;
mod tool;
pub mod tools;
mod toolset;
mod unused;
mod work;
pub mod workspace;

pub use self::{
    actor::{CallCommand, ToolActor, options},
    files::JobFiles,
    start::{Setup, StartError, builtin, cleaner, start},
    tool::{CallContext, Meter, Tool, ToolFault},
    toolset::{Admitted, InvalidToolset, ToolSource, Toolset},
};
