//! The claims of a job's log: its end, its faults, or the events that it waits for, each with its
//! position. Pure; [`judge`](super::judge) compares them with the broker.

use broker::log::Queue;
use machine::{Waits, check, dead_letters};
use proto::{
    decision::DecisionKind,
    door::{DeadKind, DeadLetter},
    entry::Entry,
    id::{AskId, JobId, Seq, TimerName},
    subject::Family,
};

use super::Finding;

/// The claims of a job's log.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Claim {
    /// Position of the last record.
    pub(super) seq: Seq,
    pub(super) ended: bool,
    /// Findings that the log alone shows.
    pub(super) wrong: Vec<Finding>,
    pub(super) dead: Vec<DeadLetter>,
    /// Missing decision, if any.
    pub(super) due: Option<Due>,
    /// Commands without a result.
    pub(super) commands: Vec<Command>,
    /// Open questions, each with the command that adds it to the inbox.
    pub(super) asks: Vec<(AskId, Option<Command>)>,
    pub(super) timers: Vec<TimerName>,
    /// Child jobs that have not ended, according to this job's log.
    pub(super) children: Vec<JobId>,
    pub(super) rests: Rests,
}

/// A missing decision: its kind, the decision before it, and the last fact, whose delivery triggers
/// it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) kind: DecisionKind,
    pub(super) after: Seq,
    pub(super) last_fact: Seq,
}

/// A command in the log, with its queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) seq: Seq,
    pub(super) queue: Queue,
}

/// The reasons for which a job waits without a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Rests {
    pub(super) paused: bool,
    pub(super) backing_off: bool,
}

impl From<&machine::commands::Sent> for Command {
    fn from(sent: &machine::commands::Sent) -> Self {
        Self { seq: sent.seq, queue: Queue::Commands(sent.kind, sent.pool.clone()) }
    }
}

impl Claim {
    /// Derives the claims from a whole log.
    pub(super) fn of(job: &JobId, entries: &[Entry]) -> Self {
        let folded = match dead_letters::fold(job, entries) {
            Ok(folded) => folded,
            Err(letter) => return Self::nothing_but(entries, *letter),
        };
        let checked = check::check(job, entries).findings;
        let due = checked.iter().find_map(|found| {
            let check::Finding::MissingDecision { kind, after } = found else { return None };
            Some(Due { kind: *kind, after: *after, last_fact: last_fact(entries) })
        });
        let wrong = checked.into_iter().filter(|found| {
            // Parked jobs are dead letters, and those that have ended need nothing.
            !matches!(
                found,
                check::Finding::Parked { .. }
                    | check::Finding::EndedUnread { .. }
                    | check::Finding::MissingDecision { .. }
            )
        });
        let Waits { commands, questions, timers, children, backing_off, paused, .. } =
            folded.waits();
        let sent = machine::commands::Commands::of(entries);
        let asks =
            questions.into_iter().map(|ask| (sent.of_question(&ask).map(Command::from), ask));
        Self {
            seq: folded.seq(),
            ended: folded.has_ended(),
            wrong: wrong.map(Finding::Log).collect(),
            dead: dead_letters::letters(&folded, entries),
            due,
            commands: commands
                .iter()
                .filter_map(|unit| sent.of_unit(unit))
                .map(Command::from)
                .collect(),
            asks: asks.map(|(command, ask)| (ask, command)).collect(),
            timers: timers.into_iter().map(|arm| arm.timer).collect(),
            children,
            rests: Rests { paused, backing_off },
        }
    }

    fn nothing_but(entries: &[Entry], letter: DeadLetter) -> Self {
        debug_assert_eq!(letter.kind, DeadKind::Broken, "a log that cannot be folded");
        Self {
            seq: entries.last().map_or(Seq(0), |entry| entry.seq),
            ended: false,
            wrong: Vec::new(),
            dead: vec![letter],
            due: None,
            commands: Vec::new(),
            asks: Vec::new(),
            timers: Vec::new(),
            children: Vec::new(),
            rests: Rests::default(),
        }
    }
}

fn last_fact(entries: &[Entry]) -> Seq {
    let is_fact = |entry: &&Entry| matches!(entry.family, Family::In(_) | Family::UnknownIn(_));
    entries.iter().rev().find(is_fact).map_or(Seq(0), |entry| entry.seq)
}
