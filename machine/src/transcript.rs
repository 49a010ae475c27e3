//! The transcript of one step's run, read back from the records of the job's log.
//!
//! A turn's command names the record of the turn before it that counted (`after`) and carries the
//! results of that turn's calls (`replies`); that record names its own command by unit of work and
//! attempt; and so on back to the first turn, which carries the task.

use std::borrow::Cow;

use proto::{
    decision::{CallReply, StepTask, TurnWork, Whole},
    entry::Entry,
    fact::{TurnCall, TurnReply, Turned},
    fork::{self, Forked},
    id::{Attempt, Seq, WorkId},
    limits,
    message::{Message, ModelCall},
    observe::{SHORTENED_MAX, Summary},
    record::Record,
};

/// A record of the job's log, where it stands.
#[derive(Debug, Clone)]
pub struct Stored<'a> {
    /// Its position, as the job names it.
    pub seq: Seq,
    /// The record.
    pub record: Cow<'a, Record>,
}

/// A job's log with what it took along of the job it was forked from, and so on.
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

/// One turn that was taken: what the model said, and what came of its calls.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// The position of the turn's record.
    pub at: Seq,
    /// Instructions that people gave the job before it.
    pub instructions: Vec<String>,
    /// The model's text.
    pub text: String,
    /// The calls it asked for.
    pub calls: Vec<TurnCall>,
    /// Their results, as the model is shown them.
    pub replies: Vec<CallReply>,
}

/// A run of a step so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// What the step is for.
    task: StepTask,
    /// The turns taken, oldest first.
    exchanges: Vec<Exchange>,
    /// The summary of the first of them, if there is one.
    past: Option<Past>,
    /// Results of the last one that are too long to be shown whole, and may be summarised.
    long: Vec<Long>,
}

/// A result of which only the ends are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Long {
    /// The model's id of the call.
    pub id: String,
    /// The tool, as the model called it.
    pub name: String,
    /// All of it, as JSON.
    pub text: String,
    /// How much of it is shown otherwise, in characters.
    pub shown: usize,
}

/// What stands in place of the first turns of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// The newest summary.
    pub text: String,
    /// The number of turns that it summarises.
    pub turns: usize,
}

/// The part of a run that is to be summarised.
#[derive(Debug, Clone, PartialEq)]
pub struct ToSummarise<'a> {
    /// What the turns before it came to.
    pub before: Option<&'a str>,
    /// What was said and done.
    pub messages: Vec<Message>,
    /// The record of its last turn.
    pub through: Seq,
}

impl Run {
    /// The oldest `turns` of those that are still shown.
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

    /// What the step is for.
    #[must_use]
    pub fn task(&self) -> &StepTask {
        &self.task
    }

    /// Results of the last turn that may be summarised.
    #[must_use]
    pub fn long(&self) -> &[Long] {
        &self.long
    }

    /// The same run without summaries.
    #[must_use]
    pub fn in_full(&self) -> Self {
        Self { past: None, ..self.clone() }
    }

    /// The same run with nothing in the place of what was summarised.
    #[must_use]
    pub fn without_summary(&self) -> Self {
        let past = self.past.as_ref().map(|past| Past { text: String::new(), ..past.clone() });
        Self { past, ..self.clone() }
    }

    /// Whether part of it was summarised.
    #[must_use]
    pub fn has_past(&self) -> bool {
        self.past.is_some()
    }

    /// All turns taken, oldest first.
    #[must_use]
    pub fn exchanges(&self) -> &[Exchange] {
        &self.exchanges
    }

    /// The summary that stands in place of the first turns.
    #[must_use]
    pub fn past(&self) -> Option<&Past> {
        self.past.as_ref()
    }

    /// The number of turns that a summary stands for.
    #[must_use]
    pub fn turns_past(&self) -> usize {
        self.past.as_ref().map_or(0, |past| past.turns)
    }
}

impl Past {
    /// What a summary stands for; nothing when it ends with no turn of the run: then the run is shown
    /// in full, as if there were none.
    fn of(summary: Summary, exchanges: &[Exchange]) -> Option<Self> {
        let last = exchanges.iter().position(|exchange| exchange.at == summary.through)?;
        Some(Self { text: summary.text, turns: last + 1 })
    }
}

/// The log does not hold what the command refers to. Another attempt finds the same.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// A turn that is not the first names no turn before it.
    #[error("turn {turn} of {work} names neither its task nor the turn before it")]
    NoBeginning {
        /// Which turn.
        turn: u32,
        /// Its unit of work.
        work: WorkId,
    },
    /// There is no such record, or it is not a turn with calls.
    #[error("record {0} is not a turn that asked for calls")]
    NotATurn(Seq),
    /// The command of a turn is not there.
    #[error("the command of {work}, attempt {attempt}, is not in the log")]
    NoCommand {
        /// The unit of work.
        work: WorkId,
        /// The attempt.
        attempt: Attempt,
    },
    /// A call has no reply.
    #[error("the call {id} of record {at} has no reply")]
    NoReply {
        /// The model's id of the call, cut.
        id: String,
        /// The turn's record.
        at: Seq,
    },
    /// More turns than a run may have.
    #[error("the run has more than {max} turns", max = limits::TURNS_MAX)]
    TooLong,
}

/// Whether the log is needed at all: the first turn carries everything.
#[must_use]
pub fn needs_log(work: &TurnWork) -> bool {
    work.task.is_none()
}

/// Reads the run of a turn's step back from the job's log.
///
/// # Errors
/// When the log does not hold what the command refers to.
pub fn read(work: &TurnWork, entries: &[Entry]) -> Result<Run, Broken> {
    let stored = entries.iter().filter_map(|entry| {
        let record = Cow::Borrowed(entry.record.as_ref().ok()?);
        Some(Stored { seq: entry.seq, record })
    });
    run(work, &whole(stored.collect()))
}

/// Reads a run back, from the turn that is to be taken to its first.
///
/// # Errors
/// When the log does not hold what the command refers to.
pub fn run(work: &TurnWork, log: &[Stored<'_>]) -> Result<Run, Broken> {
    let mut exchanges = Vec::new();
    let mut turn = work.clone();
    // The newest is the one that counts.
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
        let Turned { work, attempt, reply, usage: _ } = turned(log, at)?;
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
        exchanges.push(Exchange { at, instructions, text, calls, replies });
    }
    Err(Broken::TooLong)
}

/// Results that the command says are longer than what it tells of them. One that is not in the log is
/// told as it is there.
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

fn whole_result(log: &[Stored<'_>], whole: &Whole) -> Option<String> {
    let called = log.iter().filter(|stored| stored.record.kind == "called");
    called.filter_map(|stored| stored.record.fact()?.into_called()).find_map(|called| {
        let is_it = called.work == whole.work && called.attempt == whole.attempt;
        is_it.then(|| serde_json::to_string(&called.result.flattened()).ok())?
    })
}

fn turned(log: &[Stored<'_>], at: Seq) -> Result<Turned, Broken> {
    let stored = log.iter().find(|stored| stored.seq == at);
    stored.and_then(|stored| stored.record.fact()?.into_turned()).ok_or(Broken::NotATurn(at))
}

/// The command that a record answers: the last one before it for the same work and attempt.
fn command(log: &[Stored<'_>], before: Seq, work: &WorkId, attempt: Attempt) -> Option<TurnWork> {
    let turns = log.iter().rev().filter(|stored| {
        // The kind is looked at first, so that other bodies are not parsed for nothing.
        stored.record.kind == "turn" && stored.seq.forks() == before.forks() && stored.seq < before
    });
    turns
        .filter_map(|stored| stored.record.decision()?.into_turn())
        .find(|turn| turn.work == *work && turn.attempt == attempt)
}

impl Exchange {
    /// The turn as messages: what the model said, then the results of its calls.
    pub fn messages(&self) -> impl Iterator<Item = Message> + '_ {
        let calls = self
            .calls
            .iter()
            .map(|c| ModelCall { id: c.id.clone(), name: c.name.clone(), args: c.args.clone() })
            .collect();
        let said = Message::Assistant { text: self.text.clone(), calls };
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
