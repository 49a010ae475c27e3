//! From a job's log to the conversation of one step's run. Pure: the transcript is not kept
//! anywhere, it is read back from the records that say what was asked and what was answered.
//!
//! A turn's command names the record of the turn before as it counted (`after`) and carries what
//! came of that turn's calls (`replies`); that record names its own command by unit of work and
//! attempt; and so on back to the first turn, which carries the task.

use std::borrow::Cow;

use proto::{
    decision::{CallReply, Decision, StepTask, TurnWork, Whole},
    fact::{Fact, TurnCall, TurnReply, Turned},
    fork::{self, Forked},
    id::{Attempt, Seq, WorkId},
    lang::Language,
    limits,
    message::{Message, ModelCall},
    observe::{SHORTENED_MAX, Summary},
    record::{Known, Record},
};

use crate::{offer, outline, prompt};

/// A record of the job's log, where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Stored<'a> {
    /// Its position, as the job names it.
    pub(crate) seq: Seq,
    /// The record.
    pub(crate) record: Cow<'a, Record>,
}

/// A job's log with what it took along of the job it was forked from, and so on.
pub(crate) fn whole<'a>(own: Vec<Stored<'a>>) -> Vec<Stored<'a>> {
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
    if record.kind != "submitted" {
        return None;
    }
    let Ok(Known::Fact(fact)) = record.known() else { return None };
    let Fact::Submitted(submitted) = *fact else { return None };
    submitted.forked
}

/// One turn that was taken: what the model said, and what came of its calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exchange {
    /// The record of what it said.
    at: Seq,
    /// What people had told the job before it.
    instructions: Vec<String>,
    /// What it said.
    text: String,
    /// The calls it asked for.
    calls: Vec<TurnCall>,
    /// What came of them.
    replies: Vec<CallReply>,
}

/// A run of a step so far.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    /// What the step is for.
    task: StepTask,
    /// The turns taken, oldest first.
    exchanges: Vec<Exchange>,
    /// What the first of them came to, where that was put in short.
    past: Option<Past>,
    /// Results of the last one that are too long to be shown whole, and may be put in short.
    long: Vec<Long>,
}

/// A result of which only the ends are shown.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Long {
    /// The model's id of the call.
    pub(crate) id: String,
    /// The tool, as the model called it.
    pub(crate) name: String,
    /// All of it, as JSON.
    pub(crate) text: String,
    /// How much of it is shown otherwise, in characters.
    pub(crate) shown: usize,
}

/// What stands in place of the first turns of a run.
#[derive(Debug, Clone, PartialEq)]
struct Past {
    /// The newest summary.
    text: String,
    /// How many turns it is of.
    turns: usize,
}

/// The part of a run that is to be put in short.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToSummarise<'a> {
    /// What the turns before it came to.
    pub(crate) before: Option<&'a str>,
    /// What was said and done.
    pub(crate) messages: Vec<Message>,
    /// The record of its last turn.
    pub(crate) through: Seq,
}

impl Run {
    /// The oldest `turns` of those that are still shown.
    pub(crate) fn oldest(&self, turns: usize) -> Option<ToSummarise<'_>> {
        let shown = self.exchanges.get(self.turns_past()..)?;
        let oldest = shown.get(..turns)?;
        Some(ToSummarise {
            before: self.past.as_ref().map(|past| past.text.as_str()),
            messages: oldest.iter().flat_map(Exchange::messages).collect(),
            through: oldest.last()?.at,
        })
    }

    /// What the step is for.
    pub(crate) fn task(&self) -> &StepTask {
        &self.task
    }

    /// Results of the last turn that may be put in short.
    pub(crate) fn long(&self) -> &[Long] {
        &self.long
    }

    /// The same run with nothing put in short.
    pub(crate) fn in_full(&self) -> Self {
        Self { past: None, ..self.clone() }
    }

    /// The same run with nothing in the place of what was put in short.
    pub(crate) fn without_summary(&self) -> Self {
        let past = self.past.as_ref().map(|past| Past { text: String::new(), ..past.clone() });
        Self { past, ..self.clone() }
    }

    /// Whether something of it was put in short.
    pub(crate) fn has_past(&self) -> bool {
        self.past.is_some()
    }

    fn turns_past(&self) -> usize {
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
pub(crate) enum Broken {
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
pub(crate) fn needs_log(work: &TurnWork) -> bool {
    work.task.is_none()
}

/// Reads a run back, from the turn that is to be taken to its first.
pub(crate) fn run(work: &TurnWork, log: &[Stored<'_>]) -> Result<Run, Broken> {
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
    called.filter_map(|stored| stored.record.known().ok()).find_map(|known| {
        let Known::Fact(fact) = known else { return None };
        let Fact::Called(called) = *fact else { return None };
        let is_it = called.work == whole.work && called.attempt == whole.attempt;
        is_it.then(|| serde_json::to_string(&called.result.flattened()).ok())?
    })
}

fn turned(log: &[Stored<'_>], at: Seq) -> Result<Turned, Broken> {
    let stored = log.iter().find(|stored| stored.seq == at);
    match stored.map(|stored| stored.record.known()) {
        Some(Ok(Known::Fact(fact))) => match *fact {
            Fact::Turned(turned) => Ok(turned),
            Fact::Submitted(_)
            | Fact::Signaled(_)
            | Fact::Planned(_)
            | Fact::Started(_)
            | Fact::Called(_)
            | Fact::Answered(_)
            | Fact::Fired(_)
            | Fact::Child(_) => Err(Broken::NotATurn(at)),
        },
        Some(Ok(Known::Decision(_)) | Err(_)) | None => Err(Broken::NotATurn(at)),
    }
}

/// The command that a record answers: the last one before it for the same work and attempt.
fn command(log: &[Stored<'_>], before: Seq, work: &WorkId, attempt: Attempt) -> Option<TurnWork> {
    let turns = log.iter().rev().filter(|stored| {
        // The kind is looked at first, so that other bodies are not parsed for nothing.
        stored.record.kind == "turn" && stored.seq.forks() == before.forks() && stored.seq < before
    });
    turns.filter_map(|stored| stored.record.known().ok()).find_map(|known| match known {
        Known::Decision(decision) => match *decision {
            Decision::Turn(turn) if turn.work == *work && turn.attempt == attempt => Some(turn),
            Decision::Turn(_)
            | Decision::Plan(_)
            | Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(_)
            | Decision::Finish(_) => None,
        },
        Known::Fact(_) => None,
    })
}

/// The conversation a model is shown in a turn.
pub(crate) fn messages(work: &TurnWork, run: &Run) -> Vec<Message> {
    let language = work.language;
    let mut system = prompt::system(language, &work.model.system, &run.task.goal, work.may_ask);
    if let Some(items) = &work.outline {
        system.push_str(&outline::words(language, items));
    }
    let mut task = prompt::task(language, &run.task);
    let mut hints: Vec<String> = work.notices.iter().map(|n| n.text(language)).collect();
    if offer::is_last(work) {
        hints.push(prompt::last(language));
    }
    // What people say comes before what the machine has to say.
    let told = prompt::instructions(language, &work.instructions);
    let hints = told.into_iter().chain(hints).collect::<Vec<_>>().join("\n\n");
    let beside = if run.exchanges.is_empty() {
        Some(hints.clone()).filter(|hints| !hints.is_empty())
    } else {
        beside_task(language, run)
    };
    if let Some(beside) = beside {
        task = format!("{task}\n\n{beside}");
    }
    let mut messages = vec![Message::System { text: system }, Message::User { text: task }];
    for (number, exchange) in run.exchanges.iter().skip(run.turns_past()).enumerate() {
        let told = prompt::instructions(language, &exchange.instructions);
        messages.extend(told.filter(|_| number > 0).map(|text| Message::User { text }));
        messages.extend(exchange.messages());
    }
    if !run.exchanges.is_empty() && !hints.is_empty() {
        messages.push(Message::User { text: hints });
    }
    messages
}

/// What stands beside the task before anything was done: what people told the job, word for word
/// also where the turns they told it in are put in short, and that summary.
fn beside_task(language: Language, run: &Run) -> Option<String> {
    let first_shown = run.exchanges.iter().take(run.turns_past() + 1);
    let told: Vec<String> =
        first_shown.flat_map(|exchange| exchange.instructions.clone()).collect();
    let told = prompt::instructions(language, &told);
    let past = run.past.as_ref().map(|past| prompt::summarised(language, past.turns, &past.text));
    let beside: Vec<String> = told.into_iter().chain(past).collect();
    (!beside.is_empty()).then(|| beside.join("\n\n"))
}

/// The same conversation with what people told the job after its task: where it stands otherwise
/// goes with the oldest exchanges when there is no room for them. Nothing when nobody said anything
/// between two exchanges.
pub(crate) fn with_instructions(messages: &[Message]) -> Option<Vec<Message>> {
    let (pinned, rest) = messages.split_at_checked(2)?;
    let (last, between) = rest.split_last()?;
    // In between only people have a say; what comes last is for the turn that is to be taken.
    let is_told = |message: &Message| matches!(message, Message::User { .. });
    let told: Vec<&str> = between
        .iter()
        .filter_map(|message| match message {
            Message::User { text } => Some(text.as_str()),
            Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
        })
        .collect();
    let [frame, Message::User { text: task }] = pinned else { return None };
    if told.is_empty() {
        return None;
    }
    let task = format!("{task}\n\n{}", told.join("\n\n"));
    let mut all = vec![frame.clone(), Message::User { text: task }];
    all.extend(between.iter().filter(|message| !is_told(message)).cloned());
    all.push(last.clone());
    Some(all)
}

impl Exchange {
    fn messages(&self) -> impl Iterator<Item = Message> + '_ {
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

#[cfg(test)]
mod tests;
