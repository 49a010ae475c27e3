//! The workflows that come with the program, by name.

use proto::workflow::WorkflowName;

use super::read::{Checked, Known, read};
use crate::source::Mistakes;

/// The sources of the shipped workflows, by file name.
macro_rules! workflows {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../workflows/", $name, ".yaml")))),+]
    };
}

const SHIPPED: &[(&str, &str)] = workflows!["human-review", "plan-and-execute", "react"];

/// Returns the names and sources of the shipped workflows.
pub fn sources() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.iter().copied()
}

/// Returns the names of the shipped workflows.
pub fn names() -> impl Iterator<Item = WorkflowName> {
    SHIPPED.iter().filter_map(|(name, _)| WorkflowName::new(name).ok())
}

/// Reads the shipped workflow of a name, or returns `None` for an unknown name.
///
/// # Errors
/// Fails when `known` is complete and lacks what the workflow names.
pub fn shipped(name: &WorkflowName, known: &Known) -> Option<Result<Checked, Mistakes>> {
    let (name, text) = SHIPPED.iter().find(|(shipped, _)| *shipped == name.as_str())?;
    Some(read(&format!("agents/workflows/{name}.yaml"), text, known))
}
