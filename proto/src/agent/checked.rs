//! The verdict on an agent's policies, and bounds that several axes share.

use crate::limits;

/// A policy is out of its bounds, or two do not go together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("agent.{field} {why}")]
pub struct InvalidAgent {
    /// The field, dotted.
    pub field: String,
    /// What it must be.
    pub why: &'static str,
}

/// Whether a part of an agent is as it must be.
pub(super) type Checked = Result<(), InvalidAgent>;

pub(super) fn refuse(field: &str, why: &'static str) -> Checked {
    Err(InvalidAgent { field: field.to_owned(), why })
}

pub(super) fn out_of_scale(temperature: Option<f64>) -> bool {
    temperature.is_some_and(|t| !(0.0..=2.0).contains(&t))
}

pub(super) fn out_of_share(top_p: Option<f64>) -> bool {
    top_p.is_some_and(|p| !(p > 0.0 && p <= 1.0))
}

pub(super) fn out_of_time(ms: Option<u64>) -> bool {
    ms.is_some_and(|ms| ms == 0 || ms > limits::WAIT_MS_MAX)
}
