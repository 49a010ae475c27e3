//! The finding about the isolation of models' commands.

use sandbox::Launcher;
use tool_actors::shell::Shell;

use super::words::Text;
use crate::{render::findings::Finding, settings::Config};

/// Tries how this machine confines commands. `None` if the settings want no shell.
pub(super) async fn finding(config: &Config) -> Option<Finding> {
    match Shell::open(&config.tools.shell, Launcher::this_program()).await {
        Ok(None) => None,
        Ok(Some(shell)) => {
            Some(Finding::ok("shell", Text::Shell { isolation: &shell.isolation() }))
        }
        Err(why) => {
            let found = Text::NoShell { why: &why };
            Some(Finding::warning("shell", found, Text::ConfineCommands))
        }
    }
}
