//! Tests of the vocabulary: golden samples of every kind of record stay readable, and input from
//! outside is either refused or valid.

#![expect(clippy::unwrap_used, reason = "a sample that cannot be read fails, and says which")]

mod events;
mod fuzzing;
mod golden;
mod properties;
#[path = "../../../fuzz/src/lib.rs"]
pub mod targets;
