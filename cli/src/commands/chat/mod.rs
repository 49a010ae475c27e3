//! `chat`: a conversation in which each line becomes a task, a tool call, or the answer to a
//! question. Its whole state is on the server, so the process may die at any moment and the
//! conversation can be resumed.

mod front;
mod interrupts;
mod lines;
mod own;
mod session;
mod typing;

use std::io::IsTerminal;

use proto::id::ConversationId;

use self::session::Session;
use crate::{
    args::{ChatArgs, Global},
    chat::words::Text,
    connect,
    failure::{CliError, Outcome},
    output::{Format, Output},
};

/// Runs the conversation until the end of input or until the user leaves.
pub(super) async fn run(global: &Global, output: Output, args: ChatArgs) -> Outcome {
    if output.format != Format::Table {
        return Err(CliError::usage(Text::OnlyInteractive).hint(Text::ForPrograms));
    }
    let agent = args.agent.as_deref().map(super::submit::agent).transpose()?;
    let client = connect::client(global, output).await?;
    let (named, conversation) = match args.conversation {
        Some(id) => (true, id),
        None => (false, made_up()?),
    };
    let interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let mut session = Session::new(client, output, conversation, interactive);
    session.agent = agent;
    session.language = args.language;
    session.confirm = args.no_confirm.then_some(false);
    session.approves = global.yes;
    session.greet(named).await?;
    session.run().await
}

fn made_up() -> Result<ConversationId, CliError> {
    let random = uuid::Uuid::new_v4().simple().to_string();
    let name = format!("chat-{}", random.get(..8).unwrap_or_default());
    ConversationId::new(name).map_err(|e| CliError::internal(e.to_string()))
}
