//! Tests of the vocabulary: golden samples of every kind of record stay readable.

#![expect(clippy::unwrap_used, reason = "a sample that cannot be read fails, and says which")]

mod events;
mod golden;
mod properties;
