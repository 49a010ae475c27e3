//! Bridges from the protocols of agents to the front door.
//!
//! Architecture invariant: a bridge stores nothing but the receivers of A2A notifications, and has no
//! rights of its own. Every request becomes a request to the front door with the caller's own token.

pub mod a2a;
pub mod derived;
pub mod mcp;
#[cfg(test)]
mod testing;
