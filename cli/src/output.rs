//! Where output goes, and what form it has. The one place that writes to standard output; a reader
//! that has gone away ends the program quietly.

use std::io::{ErrorKind, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    exit::Exit,
    failure::{CliError, Outcome},
    look::{Look, Times},
};

/// The form of what is printed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Table,
    /// One JSON value.
    Json,
    /// One JSON object a line.
    Jsonl,
    /// Ids alone, one a line.
    Ids,
}

impl Format {
    /// Whether programs read it.
    pub(crate) fn is_json(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl)
    }
}

/// When colours are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Color {
    /// On a terminal that can, unless `NO_COLOR` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    /// Results and errors only.
    Quiet,
    /// As usual.
    Normal,
    /// More.
    Verbose,
}

/// Where output goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// The form.
    pub(crate) format: Format,
    /// How much.
    pub(crate) loudness: Loudness,
    color: Color,
    times: Times,
}

impl Output {
    /// What the flags ask for.
    pub(crate) fn new(format: Format, loudness: Loudness, color: Color, times: Times) -> Self {
        Self { format, loudness, color, times }
    }

    /// How things look on standard output, now.
    pub(crate) fn look(&self) -> Look {
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
        };
        Look { width: columns(), color, times: self.times, now: Timestamp::now() }
    }

    /// How things look on standard error, now.
    pub(crate) fn look_of_notes(&self) -> Look {
        let stderr = std::io::stderr();
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(&stderr) != ColorChoice::Never,
        };
        let width = if stderr.is_terminal() { columns() } else { None };
        Look { width, color, times: self.times, now: Timestamp::now() }
    }

    /// Prints a text as it is.
    pub(crate) fn print(&self, text: &str) -> Result<(), CliError> {
        let mut out = std::io::stdout().lock();
        written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Prints a text and ends the line.
    pub(crate) fn line(&self, text: &str) -> Result<(), CliError> {
        self.print(&format!("{text}\n"))
    }

    /// Prints one JSON value: over several lines for `json`, on one for `jsonl`.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let text = match self.format {
            Format::Json => serde_json::to_string_pretty(value),
            Format::Table | Format::Jsonl | Format::Ids => serde_json::to_string(value),
        };
        self.line(&text.map_err(|e| CliError::internal(e.to_string()))?)
    }

    /// Prints a list in the form that was asked for, and succeeds.
    pub(crate) fn list<T: Serialize>(
        &self,
        whole: &impl Serialize,
        items: &[T],
        id: impl Fn(&T) -> String,
        table: impl FnOnce(&Look) -> String,
    ) -> Outcome {
        match self.format {
            Format::Table => self.print(&table(&self.look())),
            Format::Json => self.json(whole),
            Format::Jsonl => items.iter().try_for_each(|item| self.json(item)),
            Format::Ids => items.iter().try_for_each(|item| self.line(&id(item))),
        }?;
        Ok(Exit::Success)
    }

    /// Prints one thing in the form that was asked for, and succeeds.
    pub(crate) fn one<T: Serialize>(
        &self,
        item: &T,
        id: &str,
        text: impl FnOnce(&Look) -> String,
    ) -> Outcome {
        match self.format {
            Format::Table => self.print(&text(&self.look())),
            Format::Json | Format::Jsonl => self.json(item),
            Format::Ids => self.line(id),
        }?;
        Ok(Exit::Success)
    }

    /// Says something beside the result, on standard error; not when asked to be quiet.
    pub(crate) fn note(&self, text: &str) {
        if self.loudness > Loudness::Quiet {
            self.warn(text);
        }
    }

    /// Says something that must be said, on standard error.
    pub(crate) fn warn(&self, text: &str) {
        // Nobody can be told that standard error is gone.
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// Whether somebody at a terminal can see what is drawn and answer questions.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::env::var_os("CI").is_none_or(|ci| ci.is_empty() || ci == "false" || ci == "0")
}

/// Whether standard output is a terminal on which lines can be drawn again.
pub(crate) fn is_drawable() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns of the terminal, or those that `COLUMNS` names; none when output is no terminal.
fn columns() -> Option<usize> {
    let named = std::env::var("COLUMNS").ok().and_then(|c| c.trim().parse::<usize>().ok());
    if let Some(named) = named.filter(|columns| *columns > 0) {
        return Some(named.max(20));
    }
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let (columns, _) = crossterm::terminal::size().ok()?;
    Some(usize::from(columns).max(20))
}

/// A reader that went away (`| head`) has all it wanted: nothing is told, and nobody need go on.
fn written(result: std::io::Result<()>) -> Result<(), CliError> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(CliError::closed()),
        Err(error) => Err(CliError::io("standard output", &error)),
    }
}
