//! Arguments of `chat`.

use clap::Args;
use proto::{id::ConversationId, lang::Language};

/// `chat`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub(crate) struct ChatArgs {
    /// Conversation to continue, or to start with this id [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// Agent of the tasks: a name that the server knows, or @FILE with its policies
    #[arg(long, value_name = "AGENT|@FILE")]
    pub(crate) agent: Option<String>,
    /// Language of texts for agents and users [default: the language of each line]
    #[arg(long, value_name = "en|zh", value_parser = super::start::language)]
    pub(crate) language: Option<Language>,
    /// Run plans without confirmation
    #[arg(long)]
    pub(crate) no_confirm: bool,
}

const HELP: &str = "\
Examples:
  callboard chat                                   start a conversation; /help lists the commands
  callboard chat --conversation trip               continue it; an open question is asked again
  printf '/todo buy milk\\n/view\\n' | callboard chat

A line is, in this order: a cancellation (cancel, 取消当前任务), a slash command, or text. While a \
question is open, text answers it. Ctrl-C discards the typed line; a second Ctrl-C leaves, and jobs continue.";
