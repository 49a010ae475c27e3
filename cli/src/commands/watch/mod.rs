//! Stays with a job: shows how it goes, sees that its questions are answered or says how they can
//! be, and ends with the exit code of its outcome. It never cancels the job.

mod asking;
mod display;

use std::{pin::Pin, time::Duration};

use client::{Client, WatchOptions};
use futures::{Stream, StreamExt};
use proto::{
    door::Watched,
    error::Failure,
    escape,
    id::JobId,
    interaction::QuestionKind,
    job::{JobState, Outcome as Ending},
    view::JobView,
};

pub(super) use self::asking::{Asking, Policy, send};
use self::display::Display;
use crate::{
    answer::open::{self, OpenQuestion},
    args::Waiting,
    exit::Exit,
    failure::CliError,
    interrupt::Interrupts,
    live::follow::{Change, Follow},
    output::{Format, Output},
    render::{describe, question},
};

/// How long the servers may be away before a watch gives up: long enough for a restart.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
/// How often what is drawn is drawn again.
const FRAME: Duration = Duration::from_millis(100);

type Items = Pin<Box<dyn Stream<Item = Result<Watched, Failure>> + Send>>;

/// A job and somebody who stays with it.
#[derive(Debug)]
pub(super) struct Session<'a> {
    /// Who is asked.
    pub(super) client: &'a Client,
    /// Where output goes.
    pub(super) output: Output,
    /// The job.
    pub(super) job: JobId,
    /// How it is waited for.
    pub(super) waiting: Waiting,
    /// Who answers.
    pub(super) asking: Asking,
    /// Whether nothing is shown but the end.
    pub(super) silent: bool,
}

/// Why a session stops before the job does.
enum Stopped {
    /// The person at the terminal has gone.
    Interrupted,
    /// It cannot go on.
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

/// What goes on while a job is watched.
struct Watching<'a> {
    session: Session<'a>,
    items: Items,
    follow: Follow,
    display: Display,
    interrupts: Interrupts,
    ended: bool,
}

impl Session<'_> {
    /// Stays to the end.
    ///
    /// # Errors
    /// When the server refuses or stays away.
    pub(super) async fn watch(self) -> Result<(Exit, Option<JobView>), CliError> {
        let (client, output, job) = (self.client, self.output, self.job.clone());
        let raw = self.waiting.raw;
        let display = Display::new(output, self.waiting.plain, self.silent);
        let live = display.shows_speech();
        let options = WatchOptions { live, patience: PATIENCE, ..Default::default() };
        let mut watching = Watching {
            items: Box::pin(client.watch(&job, options)),
            session: self,
            follow: Follow::default(),
            display,
            interrupts: Interrupts::take()?,
            ended: false,
        };
        let stopped = watching.run().await;
        watching.display.leave(&watching.follow);
        match stopped {
            Err(Stopped::Failed(error)) => Err(error),
            Err(Stopped::Interrupted) => {
                output.warn(&format!(
                    "\nstopped watching; job {job} continues\n  callboard run --attach {job}\n  callboard jobs cancel {job}"
                ));
                Ok((Exit::Interrupted, None))
            }
            Ok(Stay::ToTheEnd) => {
                let view = client.get(&job).await?;
                match print_end(output, &view, raw) {
                    // How the job ended is known, whether or not somebody reads the words.
                    Err(error) if !error.is_closed() => Err(error),
                    Ok(()) | Err(_) => Ok((exit_of(&view), Some(view))),
                }
            }
            Ok(Stay::UntilAsked) => Ok((Exit::NeedsInput, watching.follow.view().cloned())),
        }
    }
}

/// How long somebody stayed.
enum Stay {
    /// Until the job had ended.
    ToTheEnd,
    /// Until it waited for a person.
    UntilAsked,
}

impl Watching<'_> {
    async fn run(&mut self) -> Result<Stay, Stopped> {
        let mut frames = tokio::time::interval(FRAME);
        while !self.ended {
            if let Some(asked) = self.session.asking.next(self.follow.view()) {
                if let Stay::UntilAsked = self.asked(asked).await? {
                    return Ok(Stay::UntilAsked);
                }
                continue;
            }
            tokio::select! {
                item = self.items.next() => self.take(item)?,
                _ = frames.tick(), if self.display.is_drawn() => self.display.draw(&self.follow)?,
                () = self.interrupts.next() => return Err(Stopped::Interrupted),
            }
        }
        Ok(Stay::ToTheEnd)
    }

    /// Takes in what the watch says.
    fn take(&mut self, item: Option<Result<Watched, Failure>>) -> Result<(), Stopped> {
        let Some(item) = item else {
            self.ended = true;
            return Ok(());
        };
        let item = item?;
        self.display.item(&item)?;
        match self.follow.apply(item) {
            Change::Nothing => Ok(()),
            Change::Job | Change::Said => Ok(self.display.changed(&self.follow)?),
            Change::End(None) => {
                self.ended = true;
                Ok(())
            }
            Change::End(Some(failure)) => Err(failure.into()),
        }
    }

    /// Sees to a question: answers it, has it answered, or says how it can be.
    async fn asked(&mut self, open: OpenQuestion) -> Result<Stay, Stopped> {
        let (output, asked) = (self.session.output, &open.question);
        if let Some((answer, said)) = self.session.asking.decided(asked) {
            self.display.say(&said);
            match asking::send(self.session.client, &open.job, asked, answer).await? {
                None => return Ok(Stay::ToTheEnd),
                // An answer that was decided beforehand does not become better by repetition.
                Some(refused) => self.display.say(&format!("  {}", CliError::from(refused).text())),
            }
        }
        if self.session.asking.is_interactive() {
            return self.converse(&open).await.map(|()| Stay::ToTheEnd);
        }
        let how = question::how(&open.job, asked);
        if !self.session.silent || output.loudness > crate::output::Loudness::Quiet {
            let of = open.path.as_deref().map(|path| format!(" of {}", escape::line(path)));
            let of = of.unwrap_or_default();
            self.display.say(&format!("waiting for an answer to {}{of}; give it with", asked.id));
            how.iter().for_each(|line| self.display.say(&format!("  {line}")));
        }
        let leave = self.session.waiting.no_wait_for_input;
        Ok(if leave { Stay::UntilAsked } else { Stay::ToTheEnd })
    }

    /// Talks with the person at the terminal, while the job is still watched: somebody else may
    /// answer first.
    async fn converse(&mut self, open: &OpenQuestion) -> Result<(), Stopped> {
        let asked = &open.question;
        match &asked.kind {
            // The question shows the plan itself, with more words.
            QuestionKind::PlanCheck { .. } => self.display.hide()?,
            QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. }
            | QuestionKind::ToolApproval { .. } => self.display.leave(&self.follow),
        }
        let look = self.session.output.look();
        if let Some(path) = &open.path {
            self.display.say(&format!("{} asks:", escape::line(path)));
        }
        let mut keyboard = self.session.asking.keyboard();
        let mut refused: Option<Failure> = None;
        let mut dialogue =
            crate::answer::dialogue::Dialogue::new(&mut keyboard, std::io::stdout(), look);
        let mut gone = false;
        loop {
            let answer = {
                let mut answer = Box::pin(dialogue.ask(asked, refused.as_ref()));
                loop {
                    tokio::select! {
                        answer = &mut answer => break answer,
                        item = self.items.next() => {
                            self.take(item)?;
                            gone = self.ended || !is_open(self.follow.view(), open);
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
            self.display.say("\nthe question is closed: another user answered it, or it expired");
            self.session.asking.keep(keyboard);
        } else {
            // Nobody types any more: from now on it can only be answered elsewhere.
            self.session.asking.nobody();
            self.session.asking.again(open);
        }
        Ok(())
    }
}

fn is_open(view: Option<&JobView>, asked: &OpenQuestion) -> bool {
    view.is_none_or(|view| open::of(view).iter().any(|open| open.key() == asked.key()))
}

/// The exit code of a job's end.
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
            output.print(&describe::ending(&output.look(), outcome, place.as_deref()))
        }
    }
}
