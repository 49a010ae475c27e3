//! Keeps a job in front of somebody: as a tree that is drawn again and again, as lines that are only
//! appended, or as JSON.

use client::session::SessionState;
use proto::{door::Watched, view::JobView};

use crate::{
    failure::CliError,
    live::{progress, screen::Screen},
    output::{self, Format, Output},
    render::tree,
};

/// How a job is shown.
#[derive(Debug)]
pub(super) struct Display {
    output: Output,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// A tree, drawn in place.
    Tree(Screen),
    /// Lines on standard error, so that the result stands alone on standard output.
    Lines(Option<Box<JobView>>),
    /// Every item as JSON.
    Items,
    /// Nothing.
    Nothing,
}

impl Display {
    /// What the flags and the terminal allow.
    pub(super) fn new(output: Output, plain: bool, silent: bool) -> Self {
        let form = match output.format {
            _ if silent => Form::Nothing,
            Format::Table if !plain && output::is_drawable() => Form::Tree(Screen::default()),
            Format::Table if output.loudness == output::Loudness::Quiet => Form::Nothing,
            Format::Table => Form::Lines(None),
            Format::Jsonl => Form::Items,
            Format::Json | Format::Ids => Form::Nothing,
        };
        Self { output, form }
    }

    /// Whether what is said while work is done is of use.
    pub(super) fn shows_speech(&self) -> bool {
        matches!(self.form, Form::Tree(_) | Form::Items)
    }

    /// Whether it must be drawn again as time goes by.
    pub(super) fn is_drawn(&self) -> bool {
        matches!(self.form, Form::Tree(_))
    }

    /// An item of the watch came.
    pub(super) fn item(&self, item: &Watched) -> Result<(), CliError> {
        match (&self.form, item) {
            // The end is told once the job was looked at a last time.
            (Form::Items, Watched::End { .. } | Watched::Heartbeat) => Ok(()),
            (Form::Items, item) => self.output.json(item),
            (Form::Tree(_) | Form::Lines(_) | Form::Nothing, _) => Ok(()),
        }
    }

    /// The job changed.
    pub(super) fn changed(&mut self, state: &SessionState) -> Result<(), CliError> {
        let (Form::Lines(last), Some(view)) = (&mut self.form, state.view()) else {
            return Ok(());
        };
        let look = self.output.look_of_notes();
        for line in progress::between(&look, last.as_deref(), view) {
            self.output.warn(&line);
        }
        *last = Some(Box::new(view.clone()));
        Ok(())
    }

    /// Draws what is drawn.
    pub(super) fn draw(&mut self, state: &SessionState) -> Result<(), CliError> {
        let (Form::Tree(screen), Some(view)) = (&mut self.form, state.view()) else {
            return Ok(());
        };
        let look = self.output.look();
        let lines = tree::tree(&look, view, &state.text().of_steps(), state.text().of_planner());
        let columns = look.columns();
        let rows = crossterm::terminal::size().map_or(24, |(_, rows)| usize::from(rows));
        let drawn = screen.draw(&mut std::io::stdout().lock(), &lines, (columns, rows));
        drawn.map_err(|e| CliError::io("standard output", &e))
    }

    /// Draws a last time and leaves it there.
    pub(super) fn leave(&mut self, state: &SessionState) {
        // A terminal that is gone cannot be drawn on, and nobody misses it.
        let _ = self.draw(state);
        if let Form::Tree(screen) = &mut self.form {
            screen.leave();
        }
    }

    /// Takes away what is drawn.
    pub(super) fn hide(&mut self) -> Result<(), CliError> {
        if let Form::Tree(screen) = &mut self.form {
            let columns = self.output.look().columns();
            let cleared = screen.clear(&mut std::io::stdout().lock(), columns);
            cleared.map_err(|e| CliError::io("standard output", &e))?;
        }
        Ok(())
    }

    /// Says something between what is shown.
    pub(super) fn say(&mut self, words: &str) {
        match &mut self.form {
            Form::Tree(screen) => {
                screen.leave();
                self.output.warn(words);
            }
            Form::Lines(_) | Form::Nothing | Form::Items => self.output.note(words),
        }
    }
}
