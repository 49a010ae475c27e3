//! What is written down must be readable for ever: golden samples of every kind of record. And
//! whatever is read from outside is refused or sound.

#![expect(clippy::unwrap_used, reason = "a sample that cannot be read fails, and says which")]

mod events;
mod fuzzing;
mod golden;
mod properties;
#[path = "../../../fuzz/src/lib.rs"]
pub mod targets;
