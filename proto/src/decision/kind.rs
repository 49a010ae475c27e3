//! The kinds of decision, by their names in subjects and records.

use serde::{Deserialize, Serialize};

/// The kind of a decision: the token after `do` in its subject.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray, strum::Display, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum DecisionKind {
    /// [`Decision::Plan`](super::Decision::Plan).
    Plan,
    /// [`Decision::Turn`](super::Decision::Turn).
    Turn,
    /// [`Decision::Call`](super::Decision::Call).
    Call,
    /// [`Decision::Ask`](super::Decision::Ask).
    Ask,
    /// [`Decision::Wait`](super::Decision::Wait).
    Wait,
    /// [`Decision::Spawn`](super::Decision::Spawn).
    Spawn,
    /// [`Decision::Note`](super::Decision::Note).
    Note,
    /// [`Decision::Done`](super::Decision::Done).
    Done,
    /// [`Decision::Finish`](super::Decision::Finish).
    Finish,
}

impl DecisionKind {
    /// All kinds.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the token in subjects, which is also the record's kind.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
