//! The typing of lines in a conversation: with the line editor at a terminal that supports it, and
//! from the keyboard's lines elsewhere.

use std::time::Duration;

use super::{interrupts::Interrupt, session::Session};
use crate::{
    answer::keyboard::Keyboard,
    chat::{
        command,
        line_editor::{self, LineEditor, Typed},
        quiet::Quiet,
        words::Text,
    },
    failure::CliError,
};

impl Session {
    /// Opens the line editor at a terminal, with the words that it completes.
    pub(super) async fn open_editor(&mut self) {
        if !self.interactive || !self.draws {
            return;
        }
        // The editor looks at the terminal from the beginning, and leaves it as it finds it.
        self.quiet = Quiet::begin();
        let history = line_editor::history_file(|name| std::env::var(name).ok());
        let editor = LineEditor::open(history, self.style().color);
        // Without these words the editor completes less.
        let tools = self.client.tools().await.map(|tools| tools.tools).unwrap_or_default();
        let tools_named = tools.iter().map(|tool| (tool.name.to_string(), String::new()));
        let commands = command::all(&tools, self.tongue()).into_iter().chain(tools_named);
        editor.words().set_commands(commands.collect());
        let agents = self.client.agents(None).await.map(|list| list.agents).unwrap_or_default();
        editor.words().set_agents(agents.iter().map(|agent| agent.name.to_string()).collect());
        self.editor = Some(editor);
    }

    /// Has the editor read a line. While a job works it does so once a key is pressed.
    pub(super) fn prompt_in_editor(&mut self, busy: bool) -> Result<(), CliError> {
        let begun = self.editor.as_ref().is_some_and(LineEditor::has_begun);
        if busy && !begun {
            return Ok(());
        }
        self.read_in_editor(busy)
    }

    fn read_in_editor(&mut self, busy: bool) -> Result<(), CliError> {
        let prompt = match busy {
            true => format!("  {} ", Text::PromptTold.text(self.tongue())),
            false => self.prompt_text(),
        };
        if self.editor.as_ref().is_some_and(|editor| !editor.reads()) {
            self.hide()?;
        }
        self.editor.iter_mut().for_each(|editor| editor.ask(&prompt));
        Ok(())
    }

    /// Draws the next frame of a job that works, or begins to read the line whose first key was
    /// pressed.
    pub(super) fn frame(&mut self) -> Result<(), CliError> {
        match &self.editor {
            Some(editor) if editor.reads() => return Ok(()),
            Some(_) if crossterm::event::poll(Duration::ZERO).unwrap_or_default() => {
                return self.read_in_editor(true);
            }
            Some(_) | None => {}
        }
        self.frames += 1;
        self.draw()
    }
}

/// What ended a wait of the loop.
pub(super) enum Heard {
    Interrupt(Interrupt),
    Line(String),
    /// The end of input.
    End,
    /// The terminal does not support the line editor.
    NoEditor,
}

/// Waits for a line, of the editor if there is one.
pub(super) async fn typed(
    editor: &mut Option<LineEditor>,
    keyboard: Option<&mut Keyboard>,
) -> Heard {
    let line = match (editor, keyboard) {
        (Some(editor), _) => match editor.typed().await {
            Typed::Line(line) => Some(line),
            Typed::Interrupted => return Heard::Interrupt(Interrupt::Asked),
            Typed::End => None,
            Typed::Unusable => return Heard::NoEditor,
        },
        (None, Some(keyboard)) => keyboard.line().await,
        (None, None) => std::future::pending().await,
    };
    line.map_or(Heard::End, Heard::Line)
}
