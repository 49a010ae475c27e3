//! The id of an event, from which a watcher can resume.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::id::Seq;

/// The position of an event among those of its job: the record that it comes from, and its number
/// within the record's events. Ids increase in the order of events and have gaps.
///
/// An id is written `<record>.<index>` (`417.2`). A record alone (`417`) is the position after all
/// of its events.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct EventId {
    /// Position of the record.
    pub seq: Seq,
    /// Number of the event within the record, from 1.
    pub index: u32,
}

/// A text that is not an event id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("an event id is `<record>.<index>`, as in 417.2, or the record alone; got {0:?}")]
pub struct InvalidEventId(String);

impl EventId {
    /// The position before all events.
    pub const START: Self = Self { seq: Seq(0), index: 0 };

    /// Returns the position after all events of a record.
    #[must_use]
    pub fn all_of(seq: Seq) -> Self {
        Self { seq, index: u32::MAX }
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.index == u32::MAX {
            write!(f, "{}", self.seq)
        } else {
            write!(f, "{}.{}", self.seq, self.index)
        }
    }
}

impl FromStr for EventId {
    type Err = InvalidEventId;

    fn from_str(text: &str) -> Result<Self, InvalidEventId> {
        // Rust parses `+5` as a number; an id must not contain the sign.
        let number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then_some(());
        let read = || {
            let (seq, index) = text.split_once('.').map_or((text, None), |(s, i)| (s, Some(i)));
            number(seq)?;
            let seq = Seq(seq.parse().ok()?);
            let Some(index) = index else { return Some(Self::all_of(seq)) };
            number(index)?;
            Some(Self { seq, index: index.parse().ok()? })
        };
        read().ok_or_else(|| InvalidEventId(text.chars().take(80).collect()))
    }
}

impl TryFrom<String> for EventId {
    type Error = InvalidEventId;

    fn try_from(text: String) -> Result<Self, InvalidEventId> {
        text.parse()
    }
}

impl From<EventId> for String {
    fn from(id: EventId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written_and_a_record_stands_for_all_of_its_events() {
        for text in ["0.0", "417.2", "18446744073709551615.7", "417"] {
            let id: EventId = text.parse().unwrap();
            assert_eq!(id.to_string(), text);
        }
        let of = |text: &str| text.parse::<EventId>().unwrap();
        assert!(of("9.2") < of("10.1") && of("10.1") < of("10.2") && of("10.999") < of("10"));
        for bad in ["", ".", "1.", ".1", "1.2.3", "+1", "1.+2", "-1", "a", "1 ", "1.4294967296"] {
            assert!(bad.parse::<EventId>().is_err(), "{bad:?}");
        }
    }
}
