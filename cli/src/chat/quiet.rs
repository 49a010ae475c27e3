//! A terminal that shows no typed keys: while a task works, what is typed waits for the line editor
//! and does not mix with what is drawn. Signals of the keyboard and line ends work as before.

use std::io::{Stdin, stdin};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The terminal without echo. It is restored with the value.
pub(crate) struct Quiet {
    input: Stdin,
    before: Termios,
}

impl Quiet {
    /// Turns the echo and the waiting for whole lines off; `None` if standard input is no terminal.
    pub(crate) fn begin() -> Option<Self> {
        let input = stdin();
        let before = tcgetattr(&input).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
        tcsetattr(&input, OptionalActions::Now, &quiet).ok()?;
        Some(Self { input, before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // Without a terminal there is nothing to restore.
        let _ = tcsetattr(&self.input, OptionalActions::Now, &self.before);
    }
}
