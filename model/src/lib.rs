//! The interface to language models, its providers over HTTP, and the scripted model.
//!
//! Callers use [`Model`], [`ModelRequest`], [`Delta`] and [`complete`]; the provider is a matter of
//! configuration ([`ProviderConfig`], [`connect`]). Only this crate translates provider formats. It
//! must never log a key, a prompt or a provider's error text. An error holds a provider's words only
//! as [`ProviderWords`]. Messages reach a trace only through the function given for that
//! ([`Watching`]).

mod cache;
mod complete;
mod config;
mod error;
mod fallback;
mod observed;
mod port;
mod prompts;
mod provider;
mod retry;
pub mod script;
mod thoughts;
mod window;
mod words;
mod written_calls;

pub use cache::CachedModel;
pub use complete::{Reply, complete};
pub use config::{ProviderConfig, ProviderKind, RetryConfig, Timeouts};
pub use error::{ErrorKind, ModelError, Phase};
pub use observed::{Observed, Show, Watching};
pub use port::{DEFAULT_MAX_REPLY_BYTES, Delta, Model, ModelRequest, ModelStream, Params};
pub use prompts::Prompts;
pub use provider::connect;
pub use retry::retry_after;
pub use window::{
    Fitted, ModelTarget, Overflow, TooLarge, bounded, estimate, fit, fit_request, overflow, tokens,
};
pub use words::ProviderWords;
