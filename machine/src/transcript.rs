//! The transcript of a step's run, read back from the job's log.
//!
//! A turn's command names the record of the previous turn (`after`) and carries the results of that
//! turn's calls (`replies`). That record names its own command by unit of work and attempt. The
//! chain ends at the first turn, which carries the task.

use std::borrow::Cow;

use proto::{
    decision::{CallReply, Decision, FullResult, StepTask, TurnWork},
    entry::Entry,
    fact::{Fact, TurnCall, TurnReply, Turned},
    fork::{self, Forked},
    id::{Attempt, Seq, WorkId},
    limits,
    message::{Message, ModelCall},
    observe::{SHORTENED_MAX, Summary},
    opaque::Opaque,
    record::Record,
};

/// A record of the log with its position.
#[derive(Debug, Clone)]
pub struct Stored<'a> {
    /// Position as the job refers to it: records copied into a fork are renumbered.
    pub seq: Seq,
    /// The record itself, borrowed unless it was unpacked from a submission.
    pub record: Cow<'a, Record>,
}

impl Stored<'_> {
    /// Compares the kind of the record, so that other bodies are not parsed in vain.
    fn is_one_of(&self, kinds: [&str; 2]) -> bool {
        kinds.contains(&self.record.kind.as_str())
    }
}

/// Returns the whole history of a job: the records that it copied from its source, those that the
/// source had copied, and its own.
#[must_use]
pub fn whole<'a>(own: Vec<Stored<'a>>) -> Vec<Stored<'a>> {
    let mut log = Vec::new();
    let mut first = own.first().map(|stored| stored.record.clone().into_owned());
    for depth in 1..=fork::DEPTH_MAX {
        let Some(forked) = first.take().and_then(|record| forked(&record)) else { break };
        let along = forked.records.iter().filter_map(|stored| {
            let seq = (0..depth).fold(stored.seq, |seq, _| seq.taken_along());
            Some(Stored { seq, record: Cow::Owned(stored.record().ok()?) })
        });
        let along: Vec<_> = along.collect();
        first = along.first().map(|stored| stored.record.clone().into_owned());
        log.splice(0..0, along);
    }
    log.extend(own);
    log
}

fn forked(record: &Record) -> Option<Box<Forked>> {
    // The kind is compared first so that large bodies are not parsed in vain.
    let submitted = Some(record).filter(|record| record.kind == "submitted")?;
    submitted.fact()?.into_submitted()?.forked
}

/// One finished turn: the model's message and the results of its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// Position of the turn's record.
    pub at: Seq,
    /// Instructions of users that the turn's command carried.
    pub instructions: Vec<String>,
    /// Text of the model.
    pub text: String,
    /// Parts of the reply that only the same model reads.
    pub opaque: Option<Opaque>,
    /// Calls that the model asked for.
    pub calls: Vec<TurnCall>,
    /// Results of the calls, as shown to the model.
    pub replies: Vec<CallReply>,
}

/// The finished turns of a step's run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    task: StepTask,
    /// Turns, oldest first.
    exchanges: Vec<Exchange>,
    /// Summary of the oldest turns.
    past: Option<Past>,
    /// Results of the last turn that were cut and may be summarised.
    long: Vec<Long>,
}

/// A result that is shown only in part.
#[derive(Debug, Clone, PartialEq)]
pub struct Long {
    /// Id of the call, chosen by the model.
    pub id: String,
    /// Name of the tool, as the model wrote it.
    pub name: String,
    /// Full result, as JSON.
    pub text: String,
    /// Length of the part that is shown instead, in characters.
    pub shown: usize,
}

/// The summary of the oldest turns of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Text of the newest summary.
    pub text: String,
    /// Number of turns that it replaces.
    pub turns: usize,
}

/// The part of a run that is to be summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct ToSummarise<'a> {
    /// Summary of the turns before this part.
    pub before: Option<&'a str>,
    /// Messages of this part.
    pub messages: Vec<Message>,
    /// Position of the part's last turn, which the new summary will name.
    pub through: Seq,
}

impl Run {
    /// Returns the oldest `turns` that are not summarised yet, or `None` if there are fewer.
    #[must_use]
    pub fn oldest(&self, turns: usize) -> Option<ToSummarise<'_>> {
        let shown = self.exchanges.get(self.turns_past()..)?;
        let oldest = shown.get(..turns)?;
        Some(ToSummarise {
            before: self.past.as_ref().map(|past| past.text.as_str()),
            messages: oldest.iter().flat_map(Exchange::messages).collect(),
            through: oldest.last()?.at,
        })
    }

    /// Returns the task of the step.
    #[must_use]
    pub fn task(&self) -> &StepTask {
        &self.task
    }

    /// Returns the results of the last turn that may be summarised.
    #[must_use]
    pub fn long(&self) -> &[Long] {
        &self.long
    }

    /// Returns the run without its summary, so that every turn is shown.
    #[must_use]
    pub fn in_full(&self) -> Self {
        Self { past: None, ..self.clone() }
    }

    /// Returns the run with an empty summary, so that the summarised turns are left out.
    #[must_use]
    pub fn without_summary(&self) -> Self {
        let past = self.past.as_ref().map(|past| Past { text: String::new(), ..past.clone() });
        Self { past, ..self.clone() }
    }

    /// Returns `true` if part of the run was summarised.
    #[must_use]
    pub fn has_past(&self) -> bool {
        self.past.is_some()
    }

    /// Returns all finished turns, oldest first.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// Returns the summary of the oldest turns.
    #[must_use]
    pub fn past(&self) -> Option<&Past> {
        self.past.as_ref()
    }

    /// Returns the number of turns that the summary replaces, or 0.
    #[must_use]
    pub fn turns_past(&self) -> usize {
        self.past.as_ref().map_or(0, |past| past.turns)
    }
}

impl Past {
    /// Resolves a summary, or returns `None` if it does not end with a turn of this run. The run is
    /// then shown in full.
    fn of(summary: Summary, exchanges: &[Exchange]) -> Option<Self> {
        let last = exchanges.iter().position(|exchange| exchange.at == summary.through)?;
        Some(Self { text: summary.text, turns: last + 1 })
    }
}

/// The log does not hold the records that a command refers to. A retry cannot help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A turn after the first names no previous turn.
    #[error("turn {turn} of {work} names neither its task nor the turn before it")]
    NoBeginning {
        /// Number of the turn.
        turn: u32,
        /// Unit of work of the turn.
        work: WorkId,
    },
    /// The named record is missing, or is not a turn with calls.
    #[error("record {0} is not a turn that asked for calls")]
    NotATurn(Seq),
    /// The command of a turn is missing.
    #[error("the command of {work}, attempt {attempt}, is not in the log")]
    NoCommand {
        /// Unit of work of the turn.
        work: WorkId,
        /// Attempt that the record answers.
        attempt: Attempt,
    },
    /// A call has no result.
    #[error("the call {id} of record {at} has no reply")]
    NoReply {
        /// Id of the call, chosen by the model; cut to 80 characters.
        id: String,
        /// Position of the turn's record.
        at: Seq,
    },
    /// The run has more turns than the limit allows.
    #[error("the run has more than {max} turns", max = limits::TURNS_MAX)]
    TooLong,
}

/// Returns `true` if the log is needed. The command of a first turn carries everything.
#[must_use]
pub fn needs_log(work: &TurnWork) -> bool {
    work.task.is_none()
}

/// Reads the run of a turn's step from the job's log.
///
/// # Errors
/// Returns [`Broken`] if the log does not hold the records that the command refers to.
pub fn read(work: &TurnWork, entries: &[Entry]) -> Result<Run, Broken> {
    let stored = entries.iter().filter_map(|entry| {
        let record = Cow::Borrowed(entry.record.as_ref().ok()?);
        Some(Stored { seq: entry.seq, record })
    });
    run(work, &whole(stored.collect()))
}

/// Reads a run from the records of [`whole`], from its last turn back to its first.
///
/// # Errors
/// Returns [`Broken`] if the log does not hold the records that the command refers to.
pub fn run(work: &TurnWork, log: &[Stored<'_>]) -> Result<Run, Broken> {
    let mut exchanges = Vec::new();
    let mut turn = work.clone();
    // The newest summary counts.
    let mut summary = turn.summary.take();
    for _ in 0..=limits::TURNS_MAX {
        if let Some(task) = turn.task {
            exchanges.reverse();
            let past = summary.and_then(|summary| Past::of(summary, &exchanges));
            return Ok(Run { task, exchanges, past, long: long(work, log) });
        }
        let Some(at) = turn.after else {
            return Err(Broken::NoBeginning { turn: turn.turn, work: turn.work });
        };
        let Turned { work, attempt, reply, opaque, .. } = turned(log, at)?;
        let TurnReply::Calls { text, calls } = reply else { return Err(Broken::NotATurn(at)) };
        let replied = |call: &TurnCall| turn.replies.iter().any(|reply| reply.id == call.id);
        if let Some(call) = calls.iter().find(|call| !replied(call)) {
            return Err(Broken::NoReply { id: call.id.chars().take(80).collect(), at });
        }
        let replies = turn.replies;
        turn = command(log, at, &work, attempt).ok_or(Broken::NoCommand { work, attempt })?;
        turn.after = turn.after.map(|after| after.as_seen_from(at));
        if summary.is_none() {
            let seen = |s: Summary| Summary { through: s.through.as_seen_from(at), ..s };
            summary = turn.summary.take().map(seen);
        }
        let instructions = turn.instructions.clone();
        exchanges.push(Exchange { at, instructions, text, opaque, calls, replies });
    }
    Err(Broken::TooLong)
}

/// Returns the full text of results that the command carries only in part. A result that is missing
/// from the log is left as the command shows it.
fn long(work: &TurnWork, log: &[Stored<'_>]) -> Vec<Long> {
    if !work.summarise {
        return Vec::new();
    }
    let long = work.replies.iter().filter_map(|reply| {
        let text = whole_result(log, reply.whole.as_ref()?)?;
        let shown = reply.text.chars().count();
        Some(Long { id: reply.id.clone(), name: reply.name.clone(), text, shown })
    });
    long.take(SHORTENED_MAX).collect()
}

fn whole_result(log: &[Stored<'_>], whole: &FullResult) -> Option<String> {
    let called = log.iter().filter(|stored| stored.is_one_of(["called", "done"]));
    let mut called =
        called.flat_map(|stored| stored.record.results()).filter_map(Fact::into_called);
    called.find_map(|called| {
        let is_it = called.work == whole.work && called.attempt == whole.attempt;
        is_it.then(|| serde_json::to_string(&called.result.flattened()).ok())?
    })
}

/// Returns the turn at a position. A `done` record holds at most one.
fn turned(log: &[Stored<'_>], at: Seq) -> Result<Turned, Broken> {
    let stored = log.iter().find(|stored| stored.seq == at);
    let results = stored.into_iter().flat_map(|stored| stored.record.results());
    results.filter_map(Fact::into_turned).next().ok_or(Broken::NotATurn(at))
}

/// Returns the command that a record answers: the last one up to it for the same unit of work and
/// attempt. A `done` record holds both.
fn command(log: &[Stored<'_>], before: Seq, work: &WorkId, attempt: Attempt) -> Option<TurnWork> {
    let turns = log.iter().rev().filter(|stored| {
        stored.is_one_of(["turn", "done"])
            && stored.seq.forks() == before.forks()
            && stored.seq <= before
    });
    turns
        .filter_map(|stored| stored.record.decision())
        .flat_map(Decision::into_turns)
        .find(|turn| turn.work == *work && turn.attempt == attempt)
}

impl Exchange {
    /// Returns the turn as messages: the model's, then the results of its calls.
    pub fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        let calls = self
            .calls
            .iter()
            .map(|c| ModelCall { id: c.id.clone(), name: c.name.clone(), args: c.args.clone() })
            .collect();
        let said =
            Message::Assistant { text: self.text.clone(), calls, opaque: self.opaque.clone() };
        let replies = self.calls.iter().filter_map(|call| {
            let reply = self.replies.iter().find(|reply| reply.id == call.id)?;
            Some(Message::Tool {
                call: call.id.clone(),
                name: call.name.clone(),
                text: reply.text.clone(),
            })
        });
        std::iter::once(said).chain(replies)
    }
}
