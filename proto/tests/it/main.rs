//! What is written down must be readable for ever: golden samples of every kind of record.

#![expect(clippy::unwrap_used, reason = "a sample that cannot be read fails, and says which")]

mod events;
mod golden;
mod properties;
