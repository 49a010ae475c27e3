//! The event loop of a conversation: lines, job events and signals.

use std::{collections::BTreeSet, time::Duration};

use client::{Client, session::Change};
use proto::{
    door::{AgentChoice, Watched},
    event::{Event, EventId},
    id::{ConversationId, JobId},
    job::Outcome as Ending,
    lang::Language,
    view::JobView,
};

use super::{
    super::watch::exit_of,
    front::Front,
    interrupts::{Interrupt, Interrupts},
    typing::{self, Heard},
};
use crate::{
    answer::{keyboard::Keyboard, prompt},
    chat::{line_editor::LineEditor, quiet::Quiet, show, words::Text},
    exit::Exit,
    failure::{CliError, Outcome},
    live::screen::Screen,
    output::{self, Output},
    render::question,
    style::{Style, Tone},
};

/// Interval at which streamed model output is redrawn.
const FRAME: Duration = Duration::from_millis(150);

/// The state of a conversation.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) output: Output,
    pub(super) conversation: ConversationId,
    pub(super) agent: Option<AgentChoice>,
    pub(super) language: Option<Language>,
    /// Language of the text that began the last task.
    pub(super) spoken: Option<Language>,
    /// Warnings of the front door that were displayed already.
    pub(super) warned: BTreeSet<String>,
    pub(super) confirm: Option<bool>,
    /// `true` if plans are approved without asking (`--yes`).
    pub(super) approves: bool,
    pub(super) interactive: bool,
    pub(super) task: Option<Front>,
    /// The running command, which takes precedence over the task.
    pub(super) command: Option<Front>,
    /// Exit code of the last task.
    pub(super) exit: Exit,
    pub(super) leaving: bool,
    /// A change of the plan in words that waits for its confirmation.
    pub(super) change: Option<String>,
    /// The last task that ended.
    pub(super) last: Option<JobView>,
    /// The line editor of a terminal that supports it.
    pub(super) editor: Option<LineEditor>,
    pub(super) quiet: Option<Quiet>,
    drawn: Screen,
    pub(super) draws: bool,
    prompted: bool,
    /// Number of frames that the front job has been busy.
    pub(super) frames: usize,
}

impl Session {
    pub(super) fn new(
        client: Client,
        output: Output,
        conversation: ConversationId,
        interactive: bool,
    ) -> Self {
        Self {
            client,
            output,
            conversation,
            agent: None,
            language: None,
            spoken: None,
            warned: BTreeSet::new(),
            confirm: None,
            approves: false,
            interactive,
            task: None,
            command: None,
            exit: Exit::Success,
            leaving: false,
            change: None,
            last: None,
            editor: None,
            quiet: None,
            drawn: Screen::default(),
            draws: interactive && output::is_drawable(),
            prompted: false,
            frames: 0,
        }
    }

    /// Returns the job that lines and questions refer to.
    pub(super) fn front(&mut self) -> Option<&mut Front> {
        self.command.as_mut().or(self.task.as_mut())
    }

    /// Returns the job whose question the next text answers: a command that needs approval, or else
    /// the task.
    pub(super) fn asked(&mut self) -> Option<&mut Front> {
        let asks = |front: &Front| front.asked.is_some();
        if self.command.as_ref().is_some_and(asks) {
            return self.command.as_mut();
        }
        self.task.as_mut().filter(|front| front.asked.is_some())
    }

    /// Resumes the watch of an existing task.
    pub(super) fn take_up(&mut self, view: &JobView) {
        let after = EventId::all_of(view.seq);
        let front = Front::new(&self.client, view.job.clone(), after, self.draws);
        self.task = Some(Front { language: Some(view.language), ..front });
    }

    pub(super) fn watch(&self, job: JobId) -> Front {
        Front::new(&self.client, job, EventId::START, self.draws)
    }

    /// Runs until the end of input or until the user leaves.
    pub(super) async fn run(&mut self) -> Outcome {
        let mut interrupts = Interrupts::take()?;
        self.open_editor().await;
        let mut keyboard = self.editor.is_none().then(Keyboard::open);
        let mut frames = tokio::time::interval(FRAME);
        let mut interrupted = false;
        while !self.leaving {
            self.approve().await?;
            self.prompt()?;
            let (reads, draws) = (self.reads(), self.draws && !self.reads_an_answer());
            let heard = tokio::select! {
                biased;
                interrupt = interrupts.next() => Heard::Interrupt(interrupt),
                item = next(self.command.as_mut().or(self.task.as_mut())) => {
                    match item {
                        Some(item) => self.take(item?)?,
                        None => self.ended()?,
                    }
                    continue;
                }
                line = typing::typed(&mut self.editor, keyboard.as_mut()), if reads => line,
                _ = frames.tick(), if draws => {
                    self.frame()?;
                    continue;
                }
            };
            match heard {
                Heard::Interrupt(interrupt) => {
                    if interrupted || !self.interactive || interrupt == Interrupt::Ended {
                        self.part()?;
                        return Ok(Exit::Interrupted);
                    }
                    interrupted = true;
                    self.take_back()?;
                }
                Heard::Line(line) => {
                    (interrupted, self.prompted) = (false, false);
                    self.line(&line).await?;
                }
                Heard::End => return self.no_more_lines(),
                Heard::NoEditor => {
                    (self.editor, self.quiet) = (None, None);
                    keyboard = Some(Keyboard::open());
                }
            }
        }
        self.part()?;
        Ok(self.exit)
    }

    /// `true` if a line is read now. Without a terminal the next line waits until the job has ended
    /// or asks: a file of lines then acts like a user.
    fn reads(&mut self) -> bool {
        self.interactive || self.front().is_none_or(|front| front.asked.is_some())
    }

    fn reads_an_answer(&mut self) -> bool {
        self.front().is_none_or(|front| front.asked.is_some())
    }

    fn no_more_lines(&mut self) -> Outcome {
        let asked = self.task.as_ref().is_some_and(|front| front.asked.is_some());
        self.part()?;
        Ok(if asked { Exit::NeedsInput } else { self.exit })
    }

    /// Tells a leaving user about the running job.
    pub(super) fn part(&mut self) -> Result<(), CliError> {
        self.hide()?;
        if let Some(front) = &self.task {
            let (job, conversation) = (front.session.job(), &self.conversation);
            let text = Text::Continues { job, conversation };
            self.output.note(text.text(self.tongue()));
        }
        Ok(())
    }

    /// Discards the typed line and the answer so far.
    fn take_back(&mut self) -> Result<(), CliError> {
        self.prompted = false;
        self.change = None;
        self.tell(Text::PressAgain)?;
        if let Some(asked) = self.front().and_then(|front| front.asked.as_mut()) {
            asked.draft.restart();
        }
        Ok(())
    }

    /// Applies an item of the front job's watch.
    fn take(&mut self, item: Watched) -> Result<(), CliError> {
        if let Watched::Event { event } = &item {
            self.happened(event)?;
        }
        let Some(front) = self.front() else { return Ok(()) };
        match front.apply(item) {
            Change::Nothing | Change::Text => Ok(()),
            Change::Job => self.show_question(),
            Change::End(None) => self.ended(),
            Change::End(Some(failure)) => Err(failure.into()),
        }
    }

    fn happened(&mut self, event: &Event) -> Result<(), CliError> {
        if let Some(front) = self.front() {
            front.hears(&event.happened);
        }
        let style = self.style();
        if self.command.is_some() {
            return match show::command(&style, &event.happened) {
                Some(text) => self.say(&text),
                None => Ok(()),
            };
        }
        let Some(front) = self.front() else { return Ok(()) };
        for line in front.course.task(&style, &event.happened) {
            self.progress(&line)?;
        }
        Ok(())
    }

    /// Displays a new question.
    fn show_question(&mut self) -> Result<(), CliError> {
        let Some(front) = self.front() else { return Ok(()) };
        let (fresh, closed) = front.compare_questions();
        if closed {
            self.change = None;
            self.tell(Text::QuestionClosed)?;
        }
        if let Some(fresh) = fresh {
            let style = self.style();
            let whose = question::whose_below(&style, fresh.path.as_deref());
            self.say(&format!("\n{whose}{}", question::body(&style, &fresh.question)))?;
        }
        Ok(())
    }

    /// Handles the end of the front job.
    fn ended(&mut self) -> Result<(), CliError> {
        if let Some(command) = self.command.take() {
            let failed = command.session.state.view().and_then(|view| match &view.outcome {
                // The tool's own message was displayed already, unless the tool never ran.
                Some(Ending::Failed { message, .. })
                    if view.plan.iter().flat_map(|p| &p.steps).all(|s| s.calls.is_empty()) =>
                {
                    Some(message.clone())
                }
                Some(
                    Ending::Failed { .. } | Ending::Completed { .. } | Ending::Canceled { .. },
                )
                | None => None,
            });
            if let Some(message) = failed {
                self.complain(&message)?;
            }
            return self.remind();
        }
        let Some(task) = self.task.take() else { return Ok(()) };
        let Some(view) = task.session.state.view() else { return Ok(()) };
        self.exit = exit_of(view);
        let view = view.clone();
        self.change = None;
        self.last = Some(view.clone());
        self.ending(&view)
    }

    /// Displays the outcome of a task.
    pub(super) fn ending(&mut self, view: &JobView) -> Result<(), CliError> {
        let style = Style { language: self.language.unwrap_or(view.language), ..self.style() };
        let Some(ending) = show::ending(&style, view) else { return Ok(()) };
        self.say(&ending)
    }

    /// Displays the task's question again after a command.
    pub(super) fn remind(&mut self) -> Result<(), CliError> {
        let asked = self.task.as_ref().and_then(|task| task.asked.as_ref());
        let Some(asked) = asked.filter(|asked| !asked.draft.is_begun()) else { return Ok(()) };
        let (style, question) = (self.style(), asked.open.question.clone());
        self.say(&format!("\n{}", question::body(&style, &question)))
    }

    pub(super) fn complain(&mut self, why: &str) -> Result<(), CliError> {
        let why = self.style().paint(Tone::Bad, &proto::escape::text(why));
        self.say(&format!("{why}\n"))
    }

    /// Prints a text in the language of the conversation, and a line end.
    pub(super) fn tell(&mut self, text: Text<'_>) -> Result<(), CliError> {
        let text = text.text(self.tongue());
        self.say(&format!("{text}\n"))
    }

    /// Returns the language of the conversation: the one that `--language` names, that of the job in
    /// front, that of the text that began the last task, or that of the program.
    pub(super) fn tongue(&self) -> Language {
        let front = self.command.as_ref().or(self.task.as_ref());
        let front = front.and_then(|front| front.language);
        self.language.or(front).or(self.spoken).unwrap_or(self.output.language)
    }

    /// Returns the style of the output, in the language of the conversation.
    pub(super) fn style(&self) -> Style {
        Style { language: self.tongue(), ..self.output.style() }
    }

    /// Prints text that belongs to the conversation.
    pub(super) fn say(&mut self, text: &str) -> Result<(), CliError> {
        self.hide()?;
        if let Some(editor) = &mut self.editor {
            editor.give_up();
            self.prompted = false;
        }
        if std::mem::take(&mut self.prompted) && self.interactive {
            self.output.print("\n")?;
        }
        self.output.print(text)
    }

    /// Prints progress: in an interactive conversation to standard output, otherwise to standard
    /// error.
    fn progress(&mut self, line: &str) -> Result<(), CliError> {
        if self.interactive {
            return self.say(&format!("{line}\n"));
        }
        self.output.note(line);
        Ok(())
    }

    /// Prints the prompt when a line is awaited.
    fn prompt(&mut self) -> Result<(), CliError> {
        let busy = self.front().is_some_and(|front| front.asked.is_none());
        if !busy {
            self.frames = 0;
        }
        if self.editor.is_some() {
            return self.prompt_in_editor(busy);
        }
        if self.prompted || !self.interactive || busy {
            return Ok(());
        }
        let prompt = self.prompt_text();
        self.hide()?;
        self.prompted = true;
        self.output.print(&self.style().paint(Tone::Wait, &prompt))
    }

    /// Returns the words before the cursor.
    pub(super) fn prompt_text(&mut self) -> String {
        let style = self.style();
        if self.change.is_some() {
            return format!("  {} ", Text::PromptChange.text(style.language));
        }
        let asked = self
            .front()
            .and_then(|front| front.asked.as_ref().map(|asked| prompt::of(&style, &asked.draft)));
        asked.map_or_else(|| "> ".to_owned(), |asked| format!("  {asked} "))
    }

    /// Draws the streamed model output.
    pub(super) fn draw(&mut self) -> Result<(), CliError> {
        let style = self.style();
        let (frames, spins) = (self.frames, self.editor.is_some());
        let Some(front) = self.front() else { return Ok(()) };
        let mut lines = show::speech(&style, front.session.state.text());
        if spins {
            let view = front.session.state.view();
            let seconds = frames * 3 / 20;
            lines.push(show::spinner(&style, view, frames, seconds));
        }
        let rows = crossterm::terminal::size().map_or(24, |(_, rows)| usize::from(rows));
        let drawn = self.drawn.draw(&mut std::io::stdout().lock(), &lines, (style.columns(), rows));
        drawn.map_err(|e| CliError::output(&e))
    }

    pub(super) fn hide(&mut self) -> Result<(), CliError> {
        if !self.draws {
            return Ok(());
        }
        let columns = self.style().columns();
        let cleared = self.drawn.clear(&mut std::io::stdout().lock(), columns);
        cleared.map_err(|e| CliError::output(&e))
    }
}

/// Waits for the next item of a job; never resolves without a job.
async fn next(front: Option<&mut Front>) -> Option<Result<Watched, proto::error::Failure>> {
    match front {
        Some(front) => front.session.next().await,
        None => std::future::pending().await,
    }
}
