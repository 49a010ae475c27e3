//! Points of a job's log as people name them, and what they say to a job that needs one. The server
//! finds the record before it stores anything: what is stored names records alone.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de, de::Visitor};

use crate::{
    fact::Signal,
    id::{JobId, Seq, SnapshotName, StepId},
};

/// A point of a job's log: in JSON a number or a string.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Point {
    /// After this record.
    Seq(Seq),
    /// Where this name was given.
    Name(SnapshotName),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seq(seq) => seq.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// Written by hand because an untagged enum would forget what is wrong with a name.
impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl Visitor<'_> for Either {
            type Value = Point;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the position of a record, or the name of a snapshot")
            }

            fn visit_u64<E: de::Error>(self, seq: u64) -> Result<Point, E> {
                Ok(Point::Seq(Seq(seq)))
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<Point, E> {
                SnapshotName::new(name).map(Point::Name).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// Digits are a position; anything else is a name.
impl std::str::FromStr for Point {
    type Err = crate::id::InvalidId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(seq) => Ok(Self::Seq(Seq(seq))),
            Err(_) => SnapshotName::new(text).map(Self::Name),
        }
    }
}

/// What is said to a job through the door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// [`Signal::Cancel`].
    Cancel,
    /// [`Signal::Pause`].
    Pause,
    /// [`Signal::Resume`].
    Resume,
    /// [`Signal::Retry`].
    Retry,
    /// [`Signal::Steer`].
    Steer {
        /// What should be done, or done otherwise.
        text: String,
    },
    /// [`Signal::Snapshot`].
    Snapshot {
        /// The name: an id that is not a number.
        name: SnapshotName,
    },
    /// [`Signal::RollBack`].
    RollBack {
        /// The last record that stays, or the name of a point.
        to: Point,
        /// Whether tools that must not run twice may run again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// [`Signal::RollBack`] to right before the first command of a step of the plan in force.
    Restart {
        /// The step.
        step: StepId,
        /// Whether tools that must not run twice may run again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
}

impl From<Signal> for Order {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Cancel => Self::Cancel,
            Signal::Pause => Self::Pause,
            Signal::Resume => Self::Resume,
            Signal::Retry => Self::Retry,
            Signal::Steer { text } => Self::Steer { text },
            Signal::Snapshot { name } => Self::Snapshot { name },
            Signal::RollBack { to, again, seen: _ } => Self::RollBack { to: Point::Seq(to), again },
        }
    }
}

/// A job that goes on from a point of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// The other job.
    pub job: JobId,
    /// The point; the last record when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    /// Whether tools that must not run twice may run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_number_or_a_name() {
        let of = |json: &str| serde_json::from_str::<Point>(json).map_err(|e| e.to_string());
        assert_eq!(of("17"), Ok(Point::Seq(Seq(17))));
        assert_eq!(of("\"before\""), Ok(Point::Name(SnapshotName::new("before").unwrap())));
        assert!(of("\"a.b\"").unwrap_err().contains("snapshot name must be"));
        assert!(of("null").unwrap_err().contains("the position of a record, or the name"));
        assert!(of("-1").is_err());
        assert_eq!("17".parse::<Point>().unwrap(), Point::Seq(Seq(17)));
        assert_eq!("before".parse::<Point>().unwrap().to_string(), "before");
    }

    #[test]
    fn an_order_is_written_as_its_signal_is() {
        for signal in [Signal::Cancel, Signal::Retry, Signal::Steer { text: "x".into() }] {
            let written = serde_json::to_value(&signal).unwrap();
            assert_eq!(serde_json::to_value(Order::from(signal)).unwrap(), written);
        }
    }
}
