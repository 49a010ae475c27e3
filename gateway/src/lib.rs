//! The HTTP gateway: the front door's verbs as REST and server-sent events, and the console's pages.
//!
//! Architecture invariant: the gateway decides nothing, and stores nothing but the receivers of A2A
//! notifications. Every request becomes a request to the front door with the caller's own token, or
//! that of a webhook, so nobody acts with the gateway's rights.
//! A gateway that dies loses no work: its callers repeat their requests at another one, and resume
//! their streams after the last event that they have.

mod a2a;
mod agui;
mod answer_page;
mod api;
mod caller;
mod error_pages;
mod frames;
mod framing;
mod limited;
mod listener;
mod mcp;
mod measured;
mod pages;
mod params;
mod plan;
mod problem;
#[cfg(test)]
mod scripted_door;
mod scriptless;
pub mod settings;
mod stream;
mod tls;
pub mod webhooks;
mod words;

use std::sync::Arc;

use client::Client;
use oidc::Login;
use tokio_util::sync::CancellationToken;

pub use self::listener::{GatewayActor, GatewayArgs, ListenError, Listener, PORT};
pub use self::tls::TlsError;

/// The resources shared by all requests.
#[derive(Debug, Clone)]
pub(crate) struct Desk {
    /// The front door's client, without a token.
    client: Client,
    /// Version of this program.
    version: &'static str,
    /// Canceled when streams are to end.
    shutdown: CancellationToken,
    /// Sign-in at the issuer of tokens, if there is one.
    login: Option<Login>,
    /// Watches of jobs that readers share.
    watches: stream::SharedWatches,
    /// Live figures for lists.
    feed: api::feed::Hub,
    /// `https` if callers reach the gateway over TLS, else `http`.
    scheme: &'static str,
    /// Incoming webhooks.
    receivers: webhooks::incoming::Receivers,
    /// The receivers of the notifications of A2A tasks, if clients may set any.
    task_receivers: Option<Arc<dyn bridges::a2a::Receivers>>,
    /// Host names by which the gateway may be called.
    hosts: caller::Hosts,
    /// Limits of each caller.
    limits: limited::Limits,
    /// Reads and writes a second of one caller.
    rates: (u32, u32),
}
