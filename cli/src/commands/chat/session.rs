//! The conversation itself: waits for lines, jobs and interrupts, whichever comes first.

use std::{collections::BTreeSet, time::Duration};

use client::Client;
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
};
use crate::{
    answer::keyboard::Keyboard,
    chat::show,
    exit::Exit,
    failure::{CliError, Outcome},
    live::{follow::Change, screen::Screen},
    look::Tone,
    output::{self, Output},
    render::{describe, question},
};

/// How often what is said is drawn again.
const FRAME: Duration = Duration::from_millis(150);

/// A conversation.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) output: Output,
    pub(super) conversation: ConversationId,
    pub(super) agent: Option<AgentChoice>,
    pub(super) language: Option<Language>,
    /// That of what was typed last.
    pub(super) spoken: Option<Language>,
    /// What the front door has warned of.
    pub(super) warned: BTreeSet<String>,
    pub(super) confirm: Option<bool>,
    /// Whether plans are approved without asking.
    pub(super) approves: bool,
    pub(super) interactive: bool,
    /// What the conversation is about.
    pub(super) task: Option<Front>,
    /// The command that is being carried out; the task waits for it.
    pub(super) command: Option<Front>,
    /// How the last task ended.
    pub(super) exit: Exit,
    pub(super) leaving: bool,
    drawn: Screen,
    draws: bool,
    prompted: bool,
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
            drawn: Screen::default(),
            draws: interactive && output::is_drawable(),
            prompted: false,
        }
    }

    /// The job that lines and questions are about.
    pub(super) fn front(&mut self) -> Option<&mut Front> {
        self.command.as_mut().or(self.task.as_mut())
    }

    /// The job whose question the next words answer: a command that wants to be approved, else the
    /// task, whose question is open while a command is carried out.
    pub(super) fn asked(&mut self) -> Option<&mut Front> {
        let asks = |front: &Front| front.asked.is_some();
        if self.command.as_ref().is_some_and(asks) {
            return self.command.as_mut();
        }
        self.task.as_mut().filter(|front| front.asked.is_some())
    }

    /// Goes on with what the conversation was about.
    pub(super) fn take_up(&mut self, view: &JobView) {
        let after = EventId::all_of(view.seq);
        let front = Front::new(&self.client, view.job.clone(), after, self.draws);
        self.task = Some(front);
    }

    pub(super) fn watch(&self, job: JobId) -> Front {
        Front::new(&self.client, job, EventId::START, self.draws)
    }

    /// Talks until there are no more lines, or somebody leaves.
    pub(super) async fn run(&mut self) -> Outcome {
        let mut interrupts = Interrupts::take()?;
        let mut keyboard = Keyboard::open();
        let mut frames = tokio::time::interval(FRAME);
        let mut interrupted = false;
        while !self.leaving {
            self.approve().await?;
            self.prompt()?;
            let (reads, draws) = (self.reads(), self.draws && !self.reads_an_answer());
            tokio::select! {
                biased;
                interrupt = interrupts.next() => {
                    if interrupted || !self.interactive || interrupt == Interrupt::Ended {
                        self.part()?;
                        return Ok(Exit::Interrupted);
                    }
                    interrupted = true;
                    self.take_back()?;
                }
                item = next(self.command.as_mut().or(self.task.as_mut())) => {
                    match item {
                        Some(item) => self.take(item?)?,
                        None => self.ended()?,
                    }
                }
                line = keyboard.line(), if reads => {
                    interrupted = false;
                    self.prompted = false;
                    match line {
                        Some(line) => self.line(&line).await?,
                        None => return self.no_more_lines(),
                    }
                }
                _ = frames.tick(), if draws => self.draw()?,
            }
        }
        self.part()?;
        Ok(self.exit)
    }

    /// Whether a line would be taken now. Where nobody types, the next one waits until the job has
    /// ended or asks: so a file of lines does what somebody would do with them.
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

    /// What is still going on is told when somebody leaves.
    fn part(&mut self) -> Result<(), CliError> {
        self.hide()?;
        if let Some(front) = &self.task {
            let (job, conversation) = (&front.job, &self.conversation);
            self.output.note(&format!(
                "job {job} continues; return to it with\n  callboard chat --conversation {conversation}"
            ));
        }
        Ok(())
    }

    /// Takes back what was typed, and what was answered of a form.
    fn take_back(&mut self) -> Result<(), CliError> {
        self.prompted = false;
        self.say("\n(press again to leave; jobs continue)\n")?;
        if let Some(asked) = self.front().and_then(|front| front.asked.as_mut()) {
            asked.restart();
        }
        Ok(())
    }

    /// Takes in what the watch of the front says.
    fn take(&mut self, item: Watched) -> Result<(), CliError> {
        if let Watched::Event { event } = &item {
            self.happened(event)?;
        }
        let Some(front) = self.front() else { return Ok(()) };
        match front.follow.apply(item) {
            Change::Nothing | Change::Said => Ok(()),
            Change::Job => self.look(),
            Change::End(None) => self.ended(),
            Change::End(Some(failure)) => Err(failure.into()),
        }
    }

    fn happened(&mut self, event: &Event) -> Result<(), CliError> {
        let look = self.output.look();
        if self.command.is_some() {
            return match show::command(&look, &event.happened) {
                Some(text) => self.say(&text),
                None => Ok(()),
            };
        }
        let language = self.language.unwrap_or(Language::En);
        let Some(front) = self.front() else { return Ok(()) };
        let language = front.follow.view().map_or(language, |view| view.language);
        for line in front.course.task(&look, language, &event.happened) {
            self.progress(&line)?;
        }
        Ok(())
    }

    /// Shows a question that is new.
    fn look(&mut self) -> Result<(), CliError> {
        let Some(front) = self.front() else { return Ok(()) };
        let (fresh, closed) = front.look();
        if closed {
            self.say("the question is closed: another user answered it, or it expired\n")?;
        }
        if let Some(fresh) = fresh {
            let look = self.output.look();
            let whose = question::whose_below(&look, fresh.path.as_deref());
            self.say(&format!("\n{whose}{}", question::body(&look, &fresh.question)))?;
        }
        Ok(())
    }

    /// The job in front has ended.
    fn ended(&mut self) -> Result<(), CliError> {
        if let Some(command) = self.command.take() {
            let failed = command.follow.view().and_then(|view| match &view.outcome {
                // The tool has said so already, unless it never got to it.
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
        let Some(view) = task.follow.view() else { return Ok(()) };
        self.exit = exit_of(view);
        let view = view.clone();
        self.ending(&view)
    }

    /// How a task ended.
    pub(super) fn ending(&mut self, view: &JobView) -> Result<(), CliError> {
        let Some(outcome) = &view.outcome else { return Ok(()) };
        let look = self.output.look();
        let place = proto::progress::failed(view);
        self.say(&describe::ending(&look, outcome, place.as_deref()))
    }

    /// The question that was open before a command is open still.
    pub(super) fn remind(&mut self) -> Result<(), CliError> {
        let asked = self.task.as_ref().and_then(|task| task.asked.as_ref());
        let Some(asked) = asked.filter(|asked| !asked.is_begun()) else { return Ok(()) };
        let (look, question) = (self.output.look(), asked.question().clone());
        self.say(&format!("\n{}", question::body(&look, &question)))
    }

    pub(super) fn complain(&mut self, why: &str) -> Result<(), CliError> {
        let why = self.output.look().paint(Tone::Bad, &proto::escape::text(why));
        self.say(&format!("{why}\n"))
    }

    /// Says something that belongs to the conversation.
    pub(super) fn say(&mut self, text: &str) -> Result<(), CliError> {
        self.hide()?;
        if std::mem::take(&mut self.prompted) && self.interactive {
            self.output.print("\n")?;
        }
        self.output.print(text)
    }

    /// Says how a task gets on: where somebody looks, among the rest; else beside it.
    fn progress(&mut self, line: &str) -> Result<(), CliError> {
        if self.interactive {
            return self.say(&format!("{line}\n"));
        }
        self.output.note(line);
        Ok(())
    }

    /// What stands before the cursor, when a line is waited for.
    fn prompt(&mut self) -> Result<(), CliError> {
        let busy = self.front().is_some_and(|front| front.asked.is_none());
        if self.prompted || !self.interactive || busy {
            return Ok(());
        }
        let asked = self.front().and_then(|front| front.asked.as_ref().map(|a| a.prompt()));
        let prompt = asked.map_or_else(|| "> ".to_owned(), |asked| format!("  {asked} "));
        self.hide()?;
        self.prompted = true;
        self.output.print(&self.output.look().paint(Tone::Wait, &prompt))
    }

    /// Draws what is being said.
    fn draw(&mut self) -> Result<(), CliError> {
        let look = self.output.look();
        let Some(front) = self.front() else { return Ok(()) };
        let lines = show::speech(&look, &front.follow);
        let rows = crossterm::terminal::size().map_or(24, |(_, rows)| usize::from(rows));
        let drawn = self.drawn.draw(&mut std::io::stdout().lock(), &lines, (look.columns(), rows));
        drawn.map_err(|e| CliError::io("standard output", &e))
    }

    fn hide(&mut self) -> Result<(), CliError> {
        if !self.draws {
            return Ok(());
        }
        let columns = self.output.look().columns();
        let cleared = self.drawn.clear(&mut std::io::stdout().lock(), columns);
        cleared.map_err(|e| CliError::io("standard output", &e))
    }
}

/// The next item of a job; pending for ever without a job.
async fn next(front: Option<&mut Front>) -> Option<Result<Watched, proto::error::Failure>> {
    match front {
        Some(front) => front.next().await,
        None => std::future::pending().await,
    }
}
