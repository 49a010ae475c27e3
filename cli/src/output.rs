//! The destination and the format of output. No other module writes to standard output. A closed
//! reader ends the program silently.

use std::io::{ErrorKind, IsTerminal, Write};

use anstream::{AutoStream, ColorChoice};
use jiff::Timestamp;
use proto::{
    escape,
    lang::{Language, Words},
    refusal::Warnings,
};
use serde::Serialize;

use crate::{
    exit::Exit,
    failure::{CliError, Outcome},
    style::{Style, Times},
    words::Text,
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
    /// `true` for the formats that programs parse.
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

/// The verbosity of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    /// Results and errors only.
    Quiet,
    /// Results, errors and notes.
    Normal,
    /// Additional notes.
    Verbose,
}

/// Format, verbosity and style of a command's output.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    /// Format of results.
    pub(crate) format: Format,
    /// Verbosity of notes.
    pub(crate) loudness: Loudness,
    /// Language of texts for the user.
    pub(crate) language: Language,
    color: Color,
    times: Times,
}

impl Output {
    /// Creates the output that the flags select.
    pub(crate) fn new(
        format: Format,
        loudness: Loudness,
        color: Color,
        times: Times,
        language: Language,
    ) -> Self {
        Self { format, loudness, language, color, times }
    }

    /// Creates an output for commands that print nothing themselves.
    pub(crate) fn silent() -> Self {
        let (format, times) = (Format::Table, Times::default());
        Self::new(format, Loudness::Quiet, Color::Never, times, Language::default())
    }

    /// Returns the same output without notes.
    pub(crate) fn quiet(self) -> Self {
        Self { loudness: Loudness::Quiet, ..self }
    }

    /// Returns the style of standard output, with the current time.
    pub(crate) fn style(&self) -> Style {
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(&std::io::stdout()) != ColorChoice::Never,
        };
        self.styled(columns(), color)
    }

    /// Returns the style of standard error, with the current time.
    pub(crate) fn style_of_notes(&self) -> Style {
        let stderr = std::io::stderr();
        let color = match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => AutoStream::choice(&stderr) != ColorChoice::Never,
        };
        let width = if stderr.is_terminal() { columns() } else { None };
        self.styled(width, color)
    }

    fn styled(&self, width: Option<usize>, color: bool) -> Style {
        let (times, language) = (self.times, self.language);
        Style { width, color, times, now: Timestamp::now(), language }
    }

    /// Prints a text unchanged.
    pub(crate) fn print(&self, text: &str) -> Result<(), CliError> {
        let mut out = std::io::stdout().lock();
        written(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Prints bytes unchanged.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), CliError> {
        let mut out = std::io::stdout().lock();
        written(out.write_all(bytes).and_then(|()| out.flush()))
    }

    /// Prints a text and a line end.
    pub(crate) fn line(&self, text: &str) -> Result<(), CliError> {
        self.print(&format!("{text}\n"))
    }

    /// Prints a text in the user's language and a line end.
    pub(crate) fn say(&self, text: Text<'_>) -> Result<(), CliError> {
        self.line(&text.text(self.language))
    }

    /// Prints a JSON value: indented for `json`, on one line for `jsonl`. Characters that a terminal
    /// would act upon are escaped, which changes no value.
    pub(crate) fn json(&self, value: &impl Serialize) -> Result<(), CliError> {
        let text = match self.format {
            Format::Json => serde_json::to_string_pretty(value),
            Format::Table | Format::Jsonl | Format::Ids => serde_json::to_string(value),
        };
        self.line(&escape::in_json(&text.map_err(|e| CliError::internal(e.to_string()))?))
    }

    /// Prints a list in the selected format.
    pub(crate) fn list<T: Serialize>(
        &self,
        whole: &impl Serialize,
        items: &[T],
        id: impl Fn(&T) -> String,
        table: impl FnOnce(&Style) -> String,
    ) -> Outcome {
        match self.format {
            Format::Table => self.print(&table(&self.style())),
            Format::Json => self.json(whole),
            Format::Jsonl => items.iter().try_for_each(|item| self.json(item)),
            Format::Ids => items.iter().try_for_each(|item| self.line(&id(item))),
        }?;
        Ok(Exit::Success)
    }

    /// Prints one item in the selected format.
    pub(crate) fn one<T: Serialize>(
        &self,
        item: &T,
        id: &str,
        text: impl FnOnce(&Style) -> String,
    ) -> Outcome {
        match self.format {
            Format::Table => self.print(&text(&self.style())),
            Format::Json | Format::Jsonl => self.json(item),
            Format::Ids => self.line(id),
        }?;
        Ok(Exit::Success)
    }

    /// Prints a note to standard error, unless output is quiet.
    pub(crate) fn note(&self, text: impl Into<Words>) {
        if self.loudness > Loudness::Quiet {
            self.warn(text);
        }
    }

    /// Prints the warnings beside a reply to standard error, even if output is quiet.
    pub(crate) fn warnings(&self, warnings: &Warnings) {
        for warning in warnings.words() {
            let line = |language| format!("! {}", escape::line(warning.text(language)));
            self.warn(Words::new(line));
        }
    }

    /// Prints a message to standard error, even if output is quiet.
    pub(crate) fn warn(&self, text: impl Into<Words>) {
        // A closed standard error cannot be reported anywhere.
        let _ = writeln!(std::io::stderr(), "{}", text.into().text(self.language));
    }
}

/// `true` if a user at a terminal can see output and answer questions.
pub(crate) fn is_interactive() -> bool {
    std::io::stdin().is_terminal()
        && std::io::stdout().is_terminal()
        && std::env::var_os("CI").is_none_or(|ci| ci.is_empty() || ci == "false" || ci == "0")
}

/// `true` if standard output is a terminal that can redraw lines.
pub(crate) fn is_drawable() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Returns the columns of the terminal, or `COLUMNS`; `None` if standard output is no terminal.
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

/// Converts a broken pipe (`| head`) to a silent end.
fn written(result: std::io::Result<()>) -> Result<(), CliError> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(CliError::closed()),
        Err(error) => Err(CliError::output(&error)),
    }
}
