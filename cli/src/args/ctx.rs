//! Arguments of `ctx`.

use clap::Subcommand;

use crate::contexts::ContextName;

/// `ctx`.
#[derive(Debug, Subcommand)]
#[command(after_help = HELP)]
pub(crate) enum ContextCommand {
    /// List all; a mark shows the one in use
    #[command(visible_alias = "list")]
    Ls,
    /// Store the connection options of this command line under a name
    Add {
        /// The context
        #[arg(value_name = "CONTEXT")]
        name: ContextName,
    },
    /// Use a context for later commands that name none; without CONTEXT: no context
    Use {
        /// The context
        #[arg(value_name = "CONTEXT")]
        name: Option<ContextName>,
    },
    /// Remove a context
    #[command(visible_alias = "remove")]
    Rm {
        /// The context
        #[arg(value_name = "CONTEXT")]
        name: ContextName,
    },
}

const HELP: &str = "\
Examples:
  callboard ctx add stage --url nats://stage.example:4222 --token-file ~/stage.token
  callboard ctx use stage
  callboard --ctx stage jobs ls          once, whichever is in use

A context holds --config, --url, --prefix and --token-file. A flag or a CALLBOARD__ variable takes precedence \
over the context in use; --ctx takes precedence over variables. Commands that start roles use a context only \
with --ctx.";
