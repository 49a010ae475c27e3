//! Tests of a user's own agents and workflows: a file with cases, run in worlds of the simulation, without faults or
//! with those of many seeds.
//!
//! The agent, the job machine and all actors are the real ones. A case replaces the model by a script,
//! tools by results, and people by answers. It needs no server and no network.

mod cast;
mod document;
mod excuse;
mod expect;
mod fit;
mod model;
mod path;
mod people;
mod report;
mod stage;
mod suite;
#[cfg(test)]
mod tests;
mod way;
#[cfg(test)]
mod workflow_tests;

use std::sync::Arc;

use ::model::script::ScriptModel;
use agents::catalogue::Catalogue;
use serde_json::Value;

pub use self::{
    expect::{End, Excuse, Expectation, Finding},
    report::{CHAOS_MAX, Chaos, Report, chaos, run, trace},
    suite::{CASES_MAX, FILE_BYTES_MAX, Mistake, Sources, Suite, TOOLS_MAX},
    way::{By, Route, TestedWorkflow, Way, never_taken, routes},
};

/// A checked case, which can be run any number of times.
#[derive(Debug, Clone)]
pub struct Case {
    /// Name of the case, unique within its file.
    pub name: String,
    /// The known agents, with those of the file.
    agents: Catalogue,
    model: ScriptModel,
    parts: Vec<cast::Part>,
    answers: Arc<[document::AnswerDoc]>,
    /// The workflow, if the case tests one.
    workflow: Option<Arc<TestedWorkflow>>,
    /// The submission.
    body: Value,
    expect: expect::Expectations,
}
