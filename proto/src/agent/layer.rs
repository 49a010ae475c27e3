//! The places that agents come from.

use serde::{Deserialize, Serialize};

/// The layer that an agent comes from. A later layer wins.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Layer {
    /// It comes with the program.
    Preset,
    /// `[agents.NAME]` of the configuration.
    Configuration,
    /// A file of the configured directory.
    Directory,
    /// It was put into the bucket of agents.
    Bucket,
}

impl Layer {
    /// All layers, the last one wins.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The word on screens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
