//! Arguments of `webhooks`.

use clap::{Args, Subcommand};
use proto::id::HookName;

/// `webhooks`.
#[derive(Debug, Subcommand)]
pub(crate) enum WebhooksCommand {
    /// Send a signed test to a receiver, from this machine, and show its answer
    Test(HookArg),
    /// Switch a webhook on again, whose receiver answered 410; the operator may do it
    On(HookArg),
}

/// Names an outgoing webhook.
#[derive(Debug, Clone, Args)]
pub(crate) struct HookArg {
    /// The webhook: NAME of `webhooks.out.NAME`
    #[arg(value_name = "NAME")]
    pub(crate) name: HookName,
}
