//! The shell around the model: it reads keys and signals, performs effects over the client of the
//! front door, and draws.

mod editor;
mod effects;
mod keyboard;
mod terminal;

use std::{io, time::Duration};

use client::Client;
use crossterm::event::EventStream;
use futures::StreamExt;
use jiff::Timestamp;
use proto::{id::JobId, lang::Language};
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    sync::mpsc,
    time::MissedTickBehavior,
};

use self::{effects::Hands, terminal::Screen};
use crate::{
    draw,
    model::{self, Effect, Input, Model},
};

/// Pause between two ticks.
const TICK: Duration = Duration::from_millis(500);
/// Inputs that wait for the model.
const INPUTS_MAX: usize = 1_024;

/// The options of the terminal user interface.
#[derive(Debug)]
pub struct Options {
    /// Client of the front door.
    pub client: Client,
    /// Language of the texts.
    pub language: Language,
    /// Screen that opens first.
    pub screen: model::Screen,
    /// Job that opens first.
    pub job: Option<JobId>,
    /// `true` if no action is offered that changes something.
    pub read_only: bool,
    /// `true` if colours are used.
    pub color: bool,
}

/// An error of the terminal.
#[derive(Debug)]
pub struct ShellError(pub io::Error);

impl From<io::Error> for ShellError {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

/// Runs the terminal user interface until the person leaves or a signal ends it. Returns the number
/// of the signal. The terminal is restored in either case, and after a panic.
///
/// # Errors
/// If the terminal cannot be controlled.
pub async fn run(options: Options) -> Result<Option<i32>, ShellError> {
    let Options { client, language, screen, job, read_only, color } = options;
    let (inputs, mut given) = mpsc::channel(INPUTS_MAX);
    let mut model = Model::new(language, screen, read_only, Timestamp::now());
    let mut hands = Hands::new(client, inputs);
    let mut signals = Signals::new()?;
    let mut terminal = Screen::open()?;
    let mut keys = EventStream::new();
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (columns, rows) = terminal.size()?;
    let mut effects = model.step(Input::Resized(columns, rows));
    effects.extend(job.map(|job| model.show(job)).unwrap_or_default());
    loop {
        for effect in std::mem::take(&mut effects) {
            match effect {
                Effect::Quit => return Ok(None),
                Effect::Copy(text) => terminal.copy(&text)?,
                Effect::Edit(text) => {
                    // The stream of keys would take what is typed in the editor.
                    drop(keys);
                    terminal.pause()?;
                    let edited = editor::edit(text).await;
                    terminal.resume()?;
                    keys = EventStream::new();
                    effects.extend(model.step(Input::Edited(edited)));
                }
                Effect::Fetch(fetch) => hands.fetch(fetch),
                Effect::Watch(job) => hands.watch(job),
                Effect::Preview(preview) => hands.preview(preview),
                Effect::Send(confirmed) => hands.send(confirmed),
            }
        }
        if !effects.is_empty() {
            continue;
        }
        terminal.draw(|frame| draw::draw(frame, &model, color))?;
        tokio::select! {
            signal = signals.next() => return Ok(Some(signal)),
            event = keys.next() => match event {
                None => return Ok(None),
                Some(event) => {
                    let input = keyboard::input(event?);
                    effects.extend(input.into_iter().flat_map(|input| model.step(input)));
                }
            },
            input = given.recv() => {
                let mut next = input;
                while let Some(input) = next {
                    effects.extend(model.step(input));
                    next = given.try_recv().ok();
                }
            }
            _ = ticks.tick() => effects.extend(model.step(Input::Tick(Timestamp::now()))),
        }
    }
}

/// The signals that end a program at a terminal.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal and returns its number.
    async fn next(&mut self) -> i32 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hangup.recv() => SignalKind::hangup(),
        };
        kind.as_raw_value()
    }
}
