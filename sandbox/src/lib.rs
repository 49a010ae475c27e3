//! Runs a command that nobody trusts, confined by the Linux kernel: a command of a model, and what
//! it starts, read and write only the listed files, reach no network, and end with the command.
//!
//! A confined command takes three processes of this program, because a process can only confine
//! itself:
//!
//! * the *warden* starts the command, keeps its output and its time, and ends all that it started;
//! * the *first process* of new namespaces, where the kernel allows them, mounts what the command
//!   sees;
//! * the *confined* process gives up every right and then becomes the command.
//!
//! [`enter`] is the entry of all three. A program that uses [`Sandbox`] calls it before anything
//! else, because each must have a single thread.
//!
//! Architecture invariants: no layer is optional, so a kernel that lacks one refuses the command;
//! this crate knows nothing of tools, jobs or logs.

mod client;
mod descendants;
mod layers;
mod message;
mod stages;
mod task;

pub use self::{
    client::{Launcher, Sandbox, SandboxError},
    message::{Refusal, Status},
    stages::enter,
    task::{Ended, Isolation, Limits, Output, Stopped, Task},
};
