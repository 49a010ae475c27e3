//! Which kinds of question an agent may ask. A kind stands here by the word models ask for it with.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::text::Text;
use crate::fact::AskedKind;

/// The name the tool is offered under. No registered tool is offered or called under it.
pub const ASK_USER: &str = "ask_user";

/// A kind of question that agents ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskKind {
    /// A text.
    Query,
    /// A choice.
    Select,
    /// A form.
    Form,
}

impl AskKind {
    /// All kinds, in the order they are offered in.
    pub const ALL: [Self; 3] = [Self::Query, Self::Select, Self::Form];

    /// The word models ask for it with.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Select => "select",
            Self::Form => "form",
        }
    }

    /// What it is, for models.
    pub(super) fn about(self) -> Text<'static> {
        match self {
            Self::Query => Text::Query,
            Self::Select => Text::Select,
            Self::Form => Text::Form,
        }
    }

    /// The kind of a question.
    #[must_use]
    pub fn of(asked: &AskedKind) -> Self {
        match asked {
            AskedKind::Query => Self::Query,
            AskedKind::Select { .. } => Self::Select,
            AskedKind::Form { .. } => Self::Form,
        }
    }
}

/// The kinds of question that may be asked; all of them where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AskKinds(BTreeSet<AskKind>);

impl Default for AskKinds {
    fn default() -> Self {
        Self(AskKind::ALL.into())
    }
}

impl FromIterator<AskKind> for AskKinds {
    fn from_iter<I: IntoIterator<Item = AskKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().collect())
    }
}

impl AskKinds {
    /// Whether every kind is among them.
    #[must_use]
    pub fn is_all(&self) -> bool {
        AskKind::ALL.iter().all(|kind| self.has(*kind))
    }

    /// Whether no kind is.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a kind is among them.
    #[must_use]
    pub fn has(&self, kind: AskKind) -> bool {
        self.0.contains(&kind)
    }

    /// They, in the order they are offered in.
    pub fn iter(&self) -> impl Iterator<Item = AskKind> + '_ {
        self.0.iter().copied()
    }
}
