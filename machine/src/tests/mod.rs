//! Tests of the job machine, on a log in a vector.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test names the one decision it is about")]

mod asking;
mod authorizing;
mod budgets;
mod chance;
mod clarifying;
mod costing;
mod deciding;
mod designs;
mod detecting;
mod dispatching;
mod editing;
mod effects;
mod failing;
mod family;
mod foreseeing;
mod forking;
mod given;
mod given_up;
mod guards;
mod hostile;
mod language;
mod large;
mod lifecycle;
mod observing;
mod outages;
mod outlining;
mod outputs;
mod planning;
mod play;
mod policies;
mod questions;
mod replanning;
mod reports;
mod rolling;
mod steering;
mod summarising;
mod transitions;
mod turning;
mod unreadable;
mod why;
mod workflows;
mod workflows_by_chance;
