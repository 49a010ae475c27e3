//! The interaction actor on the in-memory log: questions stored as by the supervisor, answers sent
//! as by any program.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod answering;
mod editing;
mod links;
mod office;
mod on_nats;
mod properties;
mod remembering;
mod showing;
mod supervised;
