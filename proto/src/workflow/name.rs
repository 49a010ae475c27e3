//! The names in a workflow, as types.

use std::{str::FromStr, sync::Arc};

use derive_more::{AsRef, Display};
use serde::{Deserialize, Serialize};

use crate::lang::{Language, Words};

messages::texts!(workflow_name);

/// Maximum length of the name of a node, a branch or a state key, in bytes. The name of a visit's
/// step, `<node>--<visit>--<item>`, remains a step id.
pub const NAME_BYTES_MAX: usize = 40;

/// Maximum length of a workflow's name, in bytes.
pub const WORKFLOW_NAME_BYTES_MAX: usize = 48;

/// Maximum length of an event's name, in bytes.
pub const EVENT_NAME_BYTES_MAX: usize = 64;

/// Word that stands for the end of a path, so that no node has it as its name.
const END: &str = "end";

/// A text that is not a valid name of its kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.text(Language::En))]
pub struct InvalidName {
    kind: Kind,
    got: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Workflow,
    Node,
    Branch,
    Key,
    Event,
}

impl InvalidName {
    fn text(&self, language: Language) -> String {
        let got = &self.got;
        let text = match self.kind {
            Kind::Workflow => Text::Workflow { max: &WORKFLOW_NAME_BYTES_MAX, got },
            Kind::Node => Text::Node { max: &NAME_BYTES_MAX, got },
            Kind::Branch => Text::Branch { max: &NAME_BYTES_MAX, got },
            Kind::Key => Text::Key { max: &NAME_BYTES_MAX, got },
            Kind::Event => Text::Event { max: &EVENT_NAME_BYTES_MAX, got },
        };
        text.text(language)
    }

    /// Returns the reason for users.
    #[must_use]
    pub fn words(&self) -> Words {
        Words::new(|language| self.text(language))
    }
}

fn check(kind: Kind, s: &str) -> Result<(), InvalidName> {
    let all = |max: usize, of: fn(u8) -> bool| !s.is_empty() && s.len() <= max && s.bytes().all(of);
    let low = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let fits = match kind {
        Kind::Workflow => all(WORKFLOW_NAME_BYTES_MAX, |b| {
            b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'
        }),
        Kind::Node | Kind::Branch => {
            let of =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-');
            let edges = s.bytes().next().is_some_and(low) && s.bytes().last().is_some_and(low);
            all(NAME_BYTES_MAX, of) && edges && !s.contains("--") && s != END
        }
        Kind::Key => {
            let of = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
            all(NAME_BYTES_MAX, of) && s.bytes().next().is_some_and(|b| !b.is_ascii_digit())
        }
        Kind::Event => all(EVENT_NAME_BYTES_MAX, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')
        }),
    };
    if fits { Ok(()) } else { Err(InvalidName { kind, got: s.chars().take(80).collect() }) }
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident, $kind:ident, $pattern:literal, $max:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[derive(AsRef, Display, schemars::JsonSchema)]
        #[serde(try_from = "String")]
        #[schemars(extend("pattern" = $pattern, "maxLength" = $max))]
        pub struct $name(#[as_ref(str)] Arc<str>);

        impl $name {
            /// Checks a text and makes a name of it.
            ///
            /// # Errors
            /// Fails when the text is empty, too long, or has a form that the kind of name does not
            /// allow.
            pub fn new(s: impl AsRef<str>) -> Result<Self, InvalidName> {
                check(Kind::$kind, s.as_ref())?;
                Ok(Self(s.as_ref().into()))
            }

            /// Returns the name as a string.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidName;
            fn from_str(s: &str) -> Result<Self, InvalidName> {
                Self::new(s)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(s: String) -> Result<Self, InvalidName> {
                Self::new(s)
            }
        }
    )*};
}

names! {
    /// The name of a workflow: 1 to 48 characters of `a-z 0-9 -`.
    WorkflowName, Workflow, "^[a-z0-9-]+$", WORKFLOW_NAME_BYTES_MAX;
    /// The id of a node, unique within its workflow: 1 to 40 characters of `a-z 0-9 _ -`. It begins
    /// and ends with a letter or digit, has no `--`, and is not `end`.
    NodeId, Node, "^[a-z0-9_-]+$", NAME_BYTES_MAX;
    /// The name of a branch of a parallel node, of the form of a [`NodeId`].
    BranchName, Branch, "^[a-z0-9_-]+$", NAME_BYTES_MAX;
    /// The name of a value in expressions: a key of the state, an item of a map, a field of a form.
    /// It has 1 to 40 characters of `A-Z a-z 0-9 _` and does not begin with a digit.
    Key, Key, "^[A-Za-z_][A-Za-z0-9_]*$", NAME_BYTES_MAX;
    /// The name of an event from outside: 1 to 64 characters of `A-Z a-z 0-9 _ - .`.
    EventName, Event, "^[A-Za-z0-9_.-]+$", EVENT_NAME_BYTES_MAX;
}
