//! Points of a job's log, as users name them, and the requests that refer to points. The server
//! finds the record before it stores a request, so stored signals only name records.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Deserializer, Serialize, de, de::Visitor};
use serde_json::Value;

use crate::{
    id::{JobId, Seq, SnapshotName, StepId},
    workflow::{EventName, GraphEdit, WorkflowName},
};

/// A point of a job's log: a number or a string in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, derive_more::Display, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Point {
    /// The point after this record.
    Seq(Seq),
    /// The point at which a snapshot has this name.
    Name(SnapshotName),
}

/// The implementation is written by hand, because an untagged enum would lose the error of a name.
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

/// Parses digits as a position, and any other text as a name.
impl std::str::FromStr for Point {
    type Err = crate::id::InvalidId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.parse() {
            Ok(seq) => Ok(Self::Seq(Seq(seq))),
            Err(_) => SnapshotName::new(text).map(Self::Name),
        }
    }
}

/// A signal as a request of the front door names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Order {
    /// [`Signal::Cancel`](crate::fact::Signal::Cancel).
    Cancel,
    /// [`Signal::Pause`](crate::fact::Signal::Pause).
    Pause,
    /// [`Signal::Resume`](crate::fact::Signal::Resume).
    Resume,
    /// [`Signal::Retry`](crate::fact::Signal::Retry).
    Retry,
    /// [`Signal::Steer`](crate::fact::Signal::Steer).
    Steer {
        /// Instruction, in the user's words.
        text: String,
    },
    /// [`Signal::Snapshot`](crate::fact::Signal::Snapshot).
    Snapshot {
        /// Name of the snapshot: an id that is not a number.
        name: SnapshotName,
        /// Point to name; the current position when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Point>,
    },
    /// [`Signal::Event`](crate::fact::Signal::Event).
    Event {
        /// Name of the event.
        name: EventName,
        /// Content of the event, at most [`crate::workflow::EVENT_DATA_BYTES_MAX`] bytes of JSON.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        data: Value,
    },
    /// [`Signal::EditGraph`](crate::fact::Signal::EditGraph) by edits of the graph in force.
    EditGraph {
        /// Revision of the graph that the sender saw.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        base: u32,
        /// Edits, in order; at most [`crate::workflow::EDITS_MAX`].
        edits: Vec<GraphEdit>,
    },
    /// [`Signal::EditGraph`](crate::fact::Signal::EditGraph) by another version of the workflow.
    Migrate {
        /// Revision of the graph that the sender saw.
        #[serde(default, skip_serializing_if = "crate::is_default")]
        base: u32,
        /// Text of the workflow file.
        source: String,
        /// Texts of the files of sub-workflows, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        workflows: BTreeMap<WorkflowName, String>,
    },
    /// [`Signal::RollBack`](crate::fact::Signal::RollBack).
    RollBack {
        /// Last record that stays, or the name of a snapshot.
        to: Point,
        /// Confirms the rollback even when `once` tools would run again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// [`Signal::RollBack`](crate::fact::Signal::RollBack) of a failed job to the last record before its failure.
    Recover {
        /// Confirms the rollback even when `once` tools would run again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// [`Signal::RollBack`](crate::fact::Signal::RollBack) to the record before the first command of a step of the plan in force.
    Restart {
        /// Step to restart.
        step: StepId,
        /// Confirms the restart even when `once` tools would run again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
}

/// The request for a job that continues from a point of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// Job to fork.
    pub job: JobId,
    /// Point to continue from; the last record when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Point>,
    /// Confirms the fork even when `once` tools would run again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Signal;

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
        let text = "x".to_owned();
        for (signal, order) in [
            (Signal::Cancel, Order::Cancel),
            (Signal::Retry, Order::Retry),
            (Signal::Steer { text: text.clone() }, Order::Steer { text }),
        ] {
            let written = serde_json::to_value(&signal).unwrap();
            assert_eq!(serde_json::to_value(order).unwrap(), written);
        }
    }
}
