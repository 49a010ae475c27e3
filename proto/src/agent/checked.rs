//! The result of checking an agent's policies, and bounds that several policies share.

use crate::{
    lang::{Language, Words},
    limits,
};

/// A policy that is out of bounds, or that conflicts with another one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct InvalidAgent {
    /// Dotted path of the field.
    pub field: String,
    /// Requirement that the field violates.
    pub why: Words,
}

impl InvalidAgent {
    /// Returns the field and the requirement, in a language.
    #[must_use]
    pub fn text(&self, language: Language) -> String {
        format!("agent.{} {}", self.field, self.why.text(language))
    }
}

pub(super) type Checked = Result<(), InvalidAgent>;

pub(super) fn refuse(field: &str, why: impl Into<Words>) -> Checked {
    Err(InvalidAgent { field: field.to_owned(), why: why.into() })
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
