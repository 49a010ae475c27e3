//! The vocabulary of Callboard: the types of jobs, plans, steps, tools and questions, and the forms
//! in which they are stored and sent. Every other crate uses this vocabulary and adds no terms of
//! its own.
//!
//! Architecture invariant: this crate is pure. It uses no tokio, no NATS, no clock and no
//! randomness. A function that needs the time or a random value takes it as an argument.

// The code that `messages::texts!` generates refers to this crate as `proto`, as in other crates.
extern crate self as proto;

pub mod agent;
pub mod asking;
mod bounds;
pub mod budget;
pub mod consequence;
pub mod conversation;
pub mod cost;
pub mod decision;
pub mod diff;
pub mod digest;
pub mod door;
pub mod effort;
pub mod entry;
pub mod error;
pub mod escape;
pub mod event;
pub mod excerpt;
pub mod fact;
pub mod fallback;
pub mod family;
pub mod fence;
pub mod file;
pub mod fork;
pub mod graph;
pub mod guard;
pub mod headline;
pub mod id;
pub mod interaction;
pub mod job;
pub mod label;
pub mod lang;
pub mod limits;
pub mod message;
pub mod milestone;
pub mod notice;
pub mod observe;
pub mod opaque;
pub mod outline;
pub mod output;
pub mod plan;
pub mod point;
pub mod policy;
pub mod pools;
pub mod presence;
pub mod preset;
pub mod price;
pub mod progress;
pub mod record;
pub mod refusal;
pub mod retry;
pub mod revision;
pub mod rules;
pub mod schema;
pub mod session;
pub mod slash;
pub mod source;
pub mod spent;
pub mod step;
pub mod strict;
pub mod subject;
pub mod task;
pub mod tool;
pub mod trace;
pub mod view;
pub mod why;
pub mod wire;
pub mod work_error;
pub mod workflow;

/// Returns whether a field has its default value, which records omit.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
