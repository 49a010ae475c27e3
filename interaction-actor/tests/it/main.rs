//! The interaction actor on the log in memory: questions as the supervisor stores them, answers as
//! any program would send them.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot be set up fails, and says where"
)]

mod answering;
mod editing;
mod office;
mod on_nats;
mod properties;
mod showing;
mod supervised;
