//! Rendering: pure functions from the protocol's types to text. Every text from a model, a tool or
//! a person is escaped here.

mod advance;
pub(crate) mod agents;
pub(crate) mod agents_history;
pub(crate) mod agents_test;
pub(crate) mod crew;
pub(crate) mod dead;
pub(crate) mod describe;
pub(crate) mod difference;
pub(crate) mod dot;
mod family;
pub(crate) mod files;
pub(crate) mod findings;
pub(crate) mod fsck;
pub(crate) mod history;
pub(crate) mod jobs;
pub(crate) mod mcp;
pub(crate) mod points;
pub(crate) mod purge;
pub(crate) mod question;
pub(crate) mod revisions;
pub(crate) mod settings;
pub(crate) mod simulated;
pub(crate) mod table;
pub(crate) mod tools;
pub(crate) mod usage;
pub(crate) mod value;
pub(crate) mod waterfall;

pub(crate) use tui::render::{children, diff, event, line, marks, tree};

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod snapshots;
pub(crate) mod workflow;
pub(crate) mod workflows;
