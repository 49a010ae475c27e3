//! Arguments of `chat`.

use clap::Args;
use proto::{id::ConversationId, lang::Language};

/// `chat`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub(crate) struct ChatArgs {
    /// The conversation to go on with, or to begin under that name [default: a new one]
    #[arg(long, value_name = "ID")]
    pub(crate) conversation: Option<ConversationId>,
    /// The agent of its tasks: a name the server knows, or @agent.json with its policies
    #[arg(long, value_name = "NAME|@FILE")]
    pub(crate) agent: Option<String>,
    /// The language agents and people are spoken to in [default: that of each line]
    #[arg(long, value_name = "en|zh", value_parser = super::start::language)]
    pub(crate) language: Option<Language>,
    /// Run plans without asking whether they are right
    #[arg(long)]
    pub(crate) no_confirm: bool,
}

const HELP: &str = "\
Examples:
  callboard chat                                   talk; /help lists what can be typed
  callboard chat --conversation trip               go on with it; a question that was open is asked again
  printf '/todo buy milk\\n/view\\n' | callboard chat

A line is, in this order: a word that cancels (cancel, 取消当前任务), a slash command, or words. While a \
question is open, words answer it. Ctrl-C takes back what was typed; twice leaves, and jobs go on.";
