//! The kinds of question that agents may ask, by the words that models use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::text::Text;
use crate::fact::AskedKind;

/// The name of the tool that asks a user. No registered tool may have this name.
pub const ASK_USER: &str = "ask_user";

/// A kind of question.
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
#[derive(strum::IntoStaticStr, strum::VariantArray, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum AskKind {
    /// A free text.
    Query,
    /// A choice from a list.
    Select,
    /// A form with fields.
    Form,
}

impl AskKind {
    /// All kinds, in the order of the tool's description.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Returns the word that models use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the description of the kind, for models.
    pub(super) fn about(self) -> Text<'static> {
        match self {
            Self::Query => Text::Query,
            Self::Select => Text::Select,
            Self::Form => Text::Form,
        }
    }

    /// Returns the kind of a question.
    #[must_use]
    pub fn of(asked: &AskedKind) -> Self {
        match asked {
            AskedKind::Query => Self::Query,
            AskedKind::Select { .. } => Self::Select,
            AskedKind::Form { .. } => Self::Form,
        }
    }
}

/// The kinds of question that an agent may ask; all kinds by default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(transparent)]
pub struct AskKinds(BTreeSet<AskKind>);

impl Default for AskKinds {
    fn default() -> Self {
        AskKind::ALL.iter().copied().collect()
    }
}

impl FromIterator<AskKind> for AskKinds {
    fn from_iter<I: IntoIterator<Item = AskKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().collect())
    }
}

impl AskKinds {
    /// Returns whether every kind is allowed.
    #[must_use]
    pub fn is_all(&self) -> bool {
        AskKind::ALL.iter().all(|kind| self.has(*kind))
    }

    /// Returns whether no kind is allowed.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the kind is allowed.
    #[must_use]
    pub fn has(&self, kind: AskKind) -> bool {
        self.0.contains(&kind)
    }

    /// Returns the allowed kinds, in the order of [`AskKind`].
    pub fn iter(&self) -> impl Iterator<Item = AskKind> + '_ {
        self.0.iter().copied()
    }
}
