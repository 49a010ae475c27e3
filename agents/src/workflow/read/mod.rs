//! The reader of workflow files: both spellings, all mistakes at once, each with its place.
//!
//! The edge spelling is turned into the block spelling first, with the places of its values, so one
//! reader and one set of checks serve both.

mod calls;
mod edges;
mod fields;
mod graph;
mod known;
mod names;
mod nodes;
mod pending;
mod schema;
mod types;
mod values;
mod waits;
mod whole;
mod words;

use proto::workflow::Workflow;

use self::fields::Reading;
pub use self::known::{Known, KnownTool};
pub(in crate::workflow) use self::schema::misfits;
use crate::source::{Mistake, Mistakes, Text as FileText, tree};

/// Maximum size of a workflow file, in bytes.
pub const FILE_BYTES_MAX: usize = 256 * 1024;

/// Maximum number of reported mistakes of one file. The others are reported once these are
/// corrected.
const WORKFLOW_MISTAKES_MAX: usize = 50;

/// A workflow file that has passed all checks.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Workflow in its internal form.
    pub workflow: Workflow,
    /// Warnings, in the order of the file.
    pub warnings: Vec<Mistake>,
}

/// Reads and checks a workflow file. `place` names the file in messages.
///
/// # Errors
/// Returns all mistakes of the file, in the order of their places; never an empty list.
pub fn read(place: &str, text: &str, known: &Known) -> Result<Checked, Mistakes> {
    let tree = tree::read_up_to(text, FILE_BYTES_MAX).map_err(|mut wrong| {
        let of_agents = [FileText::NoMapping.into(), FileText::Empty.into()];
        if of_agents.contains(&wrong.why) {
            wrong.why = words::Text::NoMapping.into();
        }
        Mistakes(vec![wrong.in_place(place)])
    })?;
    let mut reading = Reading::default();
    let blocks = edges::blocks(&tree, &mut reading);
    let workflow = whole::workflow(blocks.as_ref().unwrap_or(&tree), known, &mut reading);
    let located = |wrong: Vec<crate::source::Wrong>| {
        let mut found: Vec<Mistake> = wrong.into_iter().map(|one| one.in_place(place)).collect();
        found.sort_by_key(|one| (one.line, one.column));
        found.dedup();
        found.truncate(WORKFLOW_MISTAKES_MAX);
        found
    };
    match workflow {
        Some(workflow) if reading.wrong.is_empty() => {
            Ok(Checked { workflow, warnings: located(reading.warned) })
        }
        Some(_) | None => Err(Mistakes(located(reading.wrong))),
    }
}

#[cfg(test)]
mod tests;
