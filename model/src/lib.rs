//! The language-model port: one trait, its providers over HTTP, and the scripted model.
//!
//! Callers see [`Model`], [`ModelRequest`], [`Delta`] and [`complete`]; which provider answers is
//! configuration ([`ProviderConfig`], [`connect`]). Provider formats are translated here and
//! nowhere else. This crate must never log, or carry in an error, a key, a prompt or a word of a
//! provider's own error text, and it puts messages into a trace only through the function it
//! was given for that ([`Watching`]).

mod complete;
mod config;
mod error;
mod observed;
mod port;
mod prompts;
mod provider;
mod retry;
pub mod script;
mod window;

pub use complete::{Reply, complete};
pub use config::{ProviderConfig, ProviderKind, RetryConfig, Timeouts};
pub use error::{ErrorKind, ModelError, Phase};
pub use observed::{Observed, Show, Watching};
pub use port::{DEFAULT_MAX_REPLY_BYTES, Delta, Model, ModelRequest, ModelStream, Params};
pub use prompts::Prompts;
pub use provider::connect;
pub use window::{
    Asked, Fitted, Overflow, TooLarge, bounded, estimate, fit, fit_request, overflow, tokens,
};
