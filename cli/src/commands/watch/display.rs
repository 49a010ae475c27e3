//! The display of a watched job: a tree redrawn in place, appended lines, or JSON.

use client::session::SessionState;
use proto::{door::Watched, lang::Words, view::JobView};

use crate::{
    failure::CliError,
    live::{progress, screen::Screen},
    output::{self, Format, Output},
    render::tree,
};

#[derive(Debug)]
pub(super) struct Display {
    output: Output,
    form: Form,
}

#[derive(Debug)]
enum Form {
    /// A tree redrawn in place.
    Tree(Screen),
    /// Lines on standard error; standard output contains only the result.
    Lines(Option<Box<JobView>>),
    /// Every item of the watch as JSON.
    Items,
    /// No output.
    Nothing,
}

impl Display {
    /// Chooses the form by the flags and the terminal.
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

    /// `true` if streamed model output is displayed.
    pub(super) fn shows_speech(&self) -> bool {
        matches!(self.form, Form::Tree(_) | Form::Items)
    }

    /// `true` if the display must be redrawn periodically.
    pub(super) fn is_drawn(&self) -> bool {
        matches!(self.form, Form::Tree(_))
    }

    /// Displays an item of the watch.
    pub(super) fn item(&self, item: &Watched) -> Result<(), CliError> {
        match (&self.form, item) {
            // The end is displayed after the job has been read once more.
            (Form::Items, Watched::End { .. } | Watched::Heartbeat) => Ok(()),
            (Form::Items, item) => self.output.json(item),
            (Form::Tree(_) | Form::Lines(_) | Form::Nothing, _) => Ok(()),
        }
    }

    /// Displays a change of the job.
    pub(super) fn changed(&mut self, state: &SessionState) -> Result<(), CliError> {
        let (Form::Lines(last), Some(view)) = (&mut self.form, state.view()) else {
            return Ok(());
        };
        let style = self.output.style_of_notes();
        for line in progress::between(&style, last.as_deref(), view) {
            self.output.warn(line);
        }
        *last = Some(Box::new(view.clone()));
        Ok(())
    }

    /// Redraws the tree.
    pub(super) fn draw(&mut self, state: &SessionState) -> Result<(), CliError> {
        let (Form::Tree(screen), Some(view)) = (&mut self.form, state.view()) else {
            return Ok(());
        };
        let style = self.output.style();
        let lines = tree::tree(&style, view, &state.text().of_steps(), state.text().of_planner());
        let columns = style.columns();
        let rows = crossterm::terminal::size().map_or(24, |(_, rows)| usize::from(rows));
        let drawn = screen.draw(&mut std::io::stdout().lock(), &lines, (columns, rows));
        drawn.map_err(|e| CliError::output(&e))
    }

    /// Draws the final tree and leaves it on the screen.
    pub(super) fn leave(&mut self, state: &SessionState) {
        // A failure to draw on a closed terminal is harmless.
        let _ = self.draw(state);
        if let Form::Tree(screen) = &mut self.form {
            screen.leave();
        }
    }

    /// Removes the tree from the screen.
    pub(super) fn hide(&mut self) -> Result<(), CliError> {
        if let Form::Tree(screen) = &mut self.form {
            let columns = self.output.style().columns();
            let cleared = screen.clear(&mut std::io::stdout().lock(), columns);
            cleared.map_err(|e| CliError::output(&e))?;
        }
        Ok(())
    }

    /// Prints a message between the displayed states.
    pub(super) fn say(&mut self, words: impl Into<Words>) {
        match &mut self.form {
            Form::Tree(screen) => {
                screen.leave();
                self.output.warn(words);
            }
            Form::Lines(_) | Form::Nothing | Form::Items => self.output.note(words),
        }
    }
}
