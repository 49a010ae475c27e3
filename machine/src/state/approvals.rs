//! The approvals that people have remembered for a job.

use proto::{
    id::{AskId, ToolName},
    interaction::{AskedBy, Remembered},
};

/// Maximum number of remembered approvals of one job. The oldest one is dropped for a newer one, and
/// its calls are asked about again.
const REMEMBERED_MAX: usize = 64;

/// Remembered approvals, the oldest one first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Approvals(Vec<Remembered>);

impl Approvals {
    pub(crate) fn all(&self) -> &[Remembered] {
        &self.0
    }

    /// Returns the newest approval that covers a call of a tool that these policies ask about.
    pub(crate) fn covering(
        &self,
        tool: &ToolName,
        version: &str,
        asked_by: &[AskedBy],
    ) -> Option<&Remembered> {
        self.0.iter().rev().find(|one| one.covers(tool, version, asked_by))
    }

    /// Returns `true` if the approval that answered this question is remembered.
    pub(crate) fn has(&self, ask: &AskId) -> bool {
        self.0.iter().any(|one| one.ask == *ask)
    }

    /// Adds an approval, which replaces those that it covers.
    pub(crate) fn remember(&mut self, new: Remembered) {
        self.0.retain(|old| !new.covers(&old.tool, &old.version, &old.asked_by));
        if self.0.len() >= REMEMBERED_MAX {
            self.0.remove(0);
        }
        self.0.push(new);
    }

    /// Drops every approval.
    pub(crate) fn forget(&mut self) {
        self.0.clear();
    }
}
