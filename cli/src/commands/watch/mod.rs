//! The watch of a job to its end: displays progress, handles questions, and derives the exit code
//! from the outcome. It never cancels the job.

mod asking;
mod display;

use std::time::Duration;

use client::{
    Client, WatchOptions,
    session::{self, Change, OpenQuestion},
};
use proto::{
    door::Watched,
    error::Failure,
    escape,
    id::JobId,
    interaction::QuestionKind,
    job::{JobState, Outcome as Ending},
    lang::Words,
    view::JobView,
};

pub(super) use self::asking::{Asking, Policy, send};
use self::display::Display;
use crate::{
    answer::dialogue::Dialogue,
    args::Waiting,
    exit::Exit,
    failure::CliError,
    interrupt::Interrupts,
    output::{Format, Output},
    render::{describe, question},
    words::Text,
};

/// Time for which a watch survives unreachable servers: long enough for a restart.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
/// Interval at which the display is redrawn.
const FRAME: Duration = Duration::from_millis(100);

/// A job to watch and the way to do it.
#[derive(Debug)]
pub(super) struct Session<'a> {
    pub(super) client: &'a Client,
    /// Format and destination of output.
    pub(super) output: Output,
    pub(super) job: JobId,
    /// Options of the wait.
    pub(super) waiting: Waiting,
    /// Handles questions.
    pub(super) asking: Asking,
    /// `true` to print only the result.
    pub(super) silent: bool,
}

/// The reason why a session stops before its job ends.
enum Stopped {
    Interrupted,
    /// An error occurred.
    Failed(CliError),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure.into())
    }
}

impl From<CliError> for Stopped {
    fn from(error: CliError) -> Self {
        Self::Failed(error)
    }
}

/// The state of a running watch.
struct Watching<'a> {
    session: Session<'a>,
    watched: session::Session,
    display: Display,
    interrupts: Interrupts,
    ended: bool,
}

impl Session<'_> {
    /// Watches the job to its end.
    ///
    /// # Errors
    /// If the server refuses, or is unreachable for [`PATIENCE`].
    pub(super) async fn watch(self) -> Result<(Exit, Option<JobView>), CliError> {
        let (output, raw) = (self.output, self.waiting.raw);
        let (exit, view) = self.follow().await?;
        let ended = view.as_ref().filter(|_| exit != Exit::NeedsInput);
        match ended.map(|view| print_end(output, view, raw)) {
            // The outcome is known even if standard output is closed.
            Some(Err(error)) if !error.is_closed() => Err(error),
            Some(Ok(()) | Err(_)) | None => Ok((exit, view)),
        }
    }

    /// Watches the job to its end, and prints progress and questions, but not the end.
    ///
    /// # Errors
    /// If the server refuses, or is unreachable for [`PATIENCE`].
    pub(super) async fn follow(self) -> Result<(Exit, Option<JobView>), CliError> {
        let (client, output, job) = (self.client, self.output, self.job.clone());
        let display = Display::new(output, self.waiting.plain, self.silent);
        let live = display.shows_speech();
        let options = WatchOptions { live, give_up_after: PATIENCE, ..WatchOptions::default() };
        let mut watching = Watching {
            watched: session::Session::open(client, job.clone(), options),
            session: self,
            display,
            interrupts: Interrupts::take()?,
            ended: false,
        };
        let stopped = watching.run().await;
        watching.display.leave(&watching.watched.state);
        match stopped {
            Err(Stopped::Failed(error)) => Err(error),
            Err(Stopped::Interrupted) => {
                output.warn(Text::WatchStopped { job: &job });
                Ok((Exit::Interrupted, None))
            }
            Ok(Stay::ToTheEnd) => {
                let view = client.get(&job).await?;
                Ok((exit_of(&view), Some(view)))
            }
            Ok(Stay::UntilAsked) => Ok((Exit::NeedsInput, watching.watched.state.view().cloned())),
        }
    }
}

/// The reason why a watch ended.
enum Stay {
    /// The job has ended.
    ToTheEnd,
    /// The job waits for a person.
    UntilAsked,
}

impl Watching<'_> {
    async fn run(&mut self) -> Result<Stay, Stopped> {
        let mut frames = tokio::time::interval(FRAME);
        while !self.ended {
            if let Some(asked) = self.watched.state.next_question() {
                if let Stay::UntilAsked = self.asked(asked).await? {
                    return Ok(Stay::UntilAsked);
                }
                continue;
            }
            tokio::select! {
                item = self.watched.next() => self.take(item)?,
                _ = frames.tick(), if self.display.is_drawn() => self.display.draw(&self.watched.state)?,
                () = self.interrupts.next() => return Err(Stopped::Interrupted),
            }
        }
        Ok(Stay::ToTheEnd)
    }

    /// Applies an item of the watch.
    fn take(&mut self, item: Option<Result<Watched, Failure>>) -> Result<(), Stopped> {
        let Some(item) = item else {
            self.ended = true;
            return Ok(());
        };
        let item = item?;
        self.display.item(&item)?;
        match self.watched.state.apply(item) {
            Change::Nothing => Ok(()),
            Change::Job | Change::Text => Ok(self.display.changed(&self.watched.state)?),
            Change::End(None) => {
                self.ended = true;
                Ok(())
            }
            Change::End(Some(failure)) => Err(failure.into()),
        }
    }

    /// Handles a question: answers it, asks the user, or prints how to answer it.
    async fn asked(&mut self, open: OpenQuestion) -> Result<Stay, Stopped> {
        let (output, asked) = (self.session.output, &open.question);
        if let Some((answer, said)) = self.session.asking.decided(asked) {
            self.display.say(said);
            match asking::send(self.session.client, &open.job, asked, answer).await? {
                None => return Ok(Stay::ToTheEnd),
                // Repeating an automatic answer would not help.
                Some(refused) => {
                    let why = CliError::from(refused).text(output.language);
                    self.display.say(format!("  {why}"));
                }
            }
        }
        if self.session.asking.is_interactive() {
            return self.converse(&open).await.map(|()| Stay::ToTheEnd);
        }
        let how = question::how(output.language, &open.job, asked);
        if !self.session.silent || output.loudness > crate::output::Loudness::Quiet {
            // The plan is among the displayed lines already.
            if !matches!(asked.kind, QuestionKind::PlanCheck { .. }) {
                let details = question::details(&output.style_of_notes(), asked);
                details.lines().for_each(|line| self.display.say(line.to_owned()));
            }
            let question = &asked.id;
            self.display.say(match open.path.as_deref().map(escape::line) {
                None => Words::from(Text::WaitingForAnswer { question }),
                Some(path) => Text::WaitingForAnswerBelow { question, path: &path }.into(),
            });
            how.iter().for_each(|line| self.display.say(format!("  {line}")));
        }
        let leave = self.session.waiting.no_wait_for_input;
        Ok(if leave { Stay::UntilAsked } else { Stay::ToTheEnd })
    }

    /// Asks the user while the watch continues: the question may be answered elsewhere first.
    async fn converse(&mut self, open: &OpenQuestion) -> Result<(), Stopped> {
        let asked = &open.question;
        if matches!(asked.kind, QuestionKind::PlanCheck { .. }) {
            // The question itself displays the plan, in more detail.
            self.display.hide()?;
        } else {
            self.display.leave(&self.watched.state);
        }
        let style = self.session.output.style();
        if let Some(path) = &open.path {
            self.display.say(question::asks(path));
        }
        let mut keyboard = self.session.asking.keyboard();
        let mut refused: Option<Failure> = None;
        let mut dialogue = Dialogue::new(&mut keyboard, std::io::stdout(), style, asked.clone());
        let mut gone = false;
        loop {
            let answer = {
                let mut answer = Box::pin(dialogue.ask(refused.as_ref()));
                loop {
                    tokio::select! {
                        answer = &mut answer => break answer,
                        item = self.watched.next() => {
                            self.take(item)?;
                            gone = self.ended || !self.watched.state.is_open(open);
                            if gone {
                                break None;
                            }
                        }
                        () = self.interrupts.next() => return Err(Stopped::Interrupted),
                    }
                }
            };
            let Some(answer) = answer else { break };
            let sent = asking::send(self.session.client, &open.job, asked, answer).await?;
            let Some(failure) = sent else {
                self.session.asking.keep(keyboard);
                return Ok(());
            };
            refused = Some(failure);
        }
        if gone {
            self.display.say("");
            self.display.say(Text::QuestionClosed);
            self.session.asking.keep(keyboard);
        } else {
            // Input has ended: the question can only be answered elsewhere.
            self.session.asking.nobody();
            self.watched.state.ask_again(open);
        }
        Ok(())
    }
}

/// Returns the exit code for a job's state.
pub(super) fn exit_of(view: &JobView) -> Exit {
    match view.state {
        JobState::Completed => Exit::Success,
        JobState::Failed => Exit::Failed,
        JobState::Canceled => Exit::Canceled,
        JobState::Rejected => Exit::Refused,
        JobState::InputRequired | JobState::AuthRequired => Exit::NeedsInput,
        JobState::Submitted | JobState::Working => Exit::Unavailable,
    }
}

fn print_end(output: Output, view: &JobView, raw: bool) -> Result<(), CliError> {
    match (output.format, &view.outcome) {
        (Format::Json | Format::Jsonl, _) => output.json(view),
        (Format::Ids, _) | (Format::Table, None) => Ok(()),
        (Format::Table, Some(Ending::Completed { summary, .. })) if raw => output.line(summary),
        (Format::Table, Some(outcome)) => {
            let place = proto::progress::failed(view);
            output.print(&describe::ending(&output.style(), outcome, place.as_deref()))
        }
    }
}
