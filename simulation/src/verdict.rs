//! The claims that must hold at the end of every world, about the logs, the effects of tools, and
//! the replies to people. Pure over the collected evidence.

pub(crate) mod back;
pub(crate) mod families;
mod reasons;
mod repeats;
mod workflows;

use std::collections::BTreeMap;

use machine::{Job, Replay, check, replay};
use proto::{
    decision::{Decision, DecisionKind, Finish},
    entry::Entry,
    fact::{Fact, Signal, TurnReply},
    id::{Attempt, Generation, JobId},
    job::Outcome,
    record::Known,
    subject::Family,
    tool::Effect,
};
use sha2::{Digest, Sha256};
use tokio::time::{Duration, Instant};

use crate::{flaky_model::OUTAGE, ledger::Run, link::LinkState, people::Told, story::Story};

/// The time that an unwanted run has after the heartbeat of its worker: the reads of the log, with
/// their latency, and the cleanup.
const STOPS_WITHIN: Duration = Duration::from_secs(12);

/// The logs of all jobs.
pub(crate) type Logs = BTreeMap<JobId, Vec<Entry>>;

/// The evidence of a world.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) logs: Logs,
    /// The runs of all tools.
    pub(crate) runs: Vec<Run>,
    /// The replies to people.
    pub(crate) told: Told,
    /// The keys of the questions in the inbox.
    pub(crate) inbox: Vec<String>,
    /// The times from which no command of a generation of a job is needed.
    pub(crate) ends: BTreeMap<(JobId, Generation), Instant>,
    /// The acknowledgement wait of commands.
    pub(crate) ack_wait: Duration,
    /// The longest time that a message and its reply may travel.
    pub(crate) travel: Duration,
    /// `true` if the broker delivered a message again although its process still held it.
    /// Overlapping runs are legitimate then.
    pub(crate) handed_out_twice: bool,
}

/// Returns `true` if a generation of a job failed because its model could not be reached for some
/// minutes, although its agent waits longer. Jobs with sub-agents are left out: a sub-agent may not
/// wait, and its failure is a result.
fn failed_by_outage(entries: &[Entry]) -> bool {
    let submitted = entries.first().and_then(Entry::submission);
    let waits_longer = submitted.is_some_and(|it| {
        let outage = &it.agent.outage;
        outage.waits() && outage.max_attempts.is_none() && it.agent.agents.is_empty()
    });
    if !waits_longer {
        return false;
    }
    entries.iter().filter_map(Entry::decision).any(|decision| {
        let Decision::Finish(finish) = decision else { return false };
        matches!(finish.outcome, Outcome::Failed { message, .. } if message.contains(OUTAGE))
    })
}

/// Returns all violations, as sentences.
pub(crate) fn wrong(evidence: &Evidence) -> Vec<String> {
    let Evidence { logs, runs, told, inbox, .. } = evidence;
    let mut wrong = told.complaints.clone();
    for (id, entries) in logs {
        wrong.extend(
            failed_by_outage(entries).then(|| format!("{id}: failed because of an outage")),
        );
        let checked = check::check(id, entries);
        wrong.extend(checked.findings.iter().map(|finding| format!("{id}: {finding}")));
        let job = replay(id, entries);
        if !job.has_ended() && job.has_work_out() {
            wrong.push(format!("{id}: waits for a worker, and workers are there"));
        }
        wrong.extend(unseen_questions(id, &job, inbox));
        wrong.extend(unheard_answers(id, entries, told));
        wrong.extend(unheard_cancel(id, entries));
        wrong.extend(miscounted(id, entries));
        wrong.extend(summarised_for_ever(id, entries));
        wrong.extend(reasons::missing(id, entries));
        wrong.extend(workflows::wrong(id, entries));
        wrong.extend(workflows::not_edited(id, entries, told));
    }
    for (id, times) in &told.created {
        if *times > 1 {
            wrong.push(format!("{id}: {times} were told that they made it"));
        }
    }
    wrong.extend(back::wrong(logs, runs, told));
    wrong.extend(repeats::wrong(logs, runs, told));
    wrong.extend(families::wrong(logs));
    let lost = told.accepted.iter().filter(|id| logs.get(*id).is_none_or(Vec::is_empty));
    wrong.extend(lost.map(|id| format!("{id}: accepted, and not in the log")));
    wrong.extend(effects(runs));
    if !evidence.handed_out_twice {
        wrong.extend(overlaps(runs));
    }
    wrong.extend(too_late(evidence));
    wrong.extend(unwanted(evidence));
    wrong
}

/// Counts the outcomes of jobs and their costs in the story.
pub(crate) fn tally(evidence: &Evidence, story: &Story) {
    for (id, entries) in &evidence.logs {
        let job = replay(id, entries);
        story.count(match job.outcome() {
            Some(Outcome::Completed { .. }) => "jobs completed",
            Some(Outcome::Failed { .. }) => "jobs failed",
            Some(Outcome::Canceled { .. }) => "jobs canceled",
            None => "jobs that wait for ever",
        });
        (0..job.ignored()).for_each(|_| story.count("facts without effect"));
        (0..job.generation().0).for_each(|_| story.count("generations after the first"));
        if workflows::compared(id, entries).is_some() {
            story.count("workflows compared");
        }
        let Some(view) = job.view() else { continue };
        view.children.iter().for_each(|_| story.count("jobs for jobs"));
        view.parent.iter().for_each(|_| story.count("jobs that work for a job"));
        view.forked.iter().for_each(|_| story.count("forks"));
        for entry in entries {
            story.count("records");
            match entry.known() {
                Some(Known::Fact(fact)) if is_summary(&fact) => {
                    story.count("summaries of conversations");
                }
                Some(Known::Decision(decision)) if is_another_attempt(&decision) => {
                    story.count("attempts after the first");
                }
                Some(Known::Decision(decision)) if decision.kind() == DecisionKind::Done => {
                    story.count("work without the queue");
                }
                Some(Known::Fact(_) | Known::Decision(_)) | None => {}
            }
        }
    }
    evidence.runs.iter().for_each(|_| story.count("runs of tools"));
}

/// Returns whether a decision is a retry by a worker. A restarted child is a job of its own.
fn is_another_attempt(decision: &Decision) -> bool {
    decision.kind() != DecisionKind::Spawn
        && decision.unit().is_some_and(|unit| unit.attempt != Attempt::FIRST)
}

fn is_summary(fact: &Fact) -> bool {
    matches!(fact, Fact::Turned(turned) if matches!(turned.reply, TurnReply::Summarised { .. }))
}

/// Checks turns whose conversation is summarised: no turn may be summarised again, and each summary
/// must come from an earlier reply.
fn summarised_for_ever(id: &JobId, entries: &[Entry]) -> Vec<String> {
    let mut said = Vec::new();
    let mut wrong = Vec::new();
    for entry in entries {
        for turned in entry.results().into_iter().filter_map(Fact::into_turned) {
            if let TurnReply::Summarised { summary, .. } = turned.reply {
                said.extend(summary.map(|summary| summary.text));
            }
        }
        for turn in entry.decision().map(Decision::into_turns).unwrap_or_default() {
            let Some(summary) = turn.summary else { continue };
            // A fork has those of the job it was forked from.
            let is_known =
                turn.after.is_some_and(|after| after.forks() > 0) || said.contains(&summary.text);
            if turn.summarise || !is_known {
                wrong.push(format!("{id}: {} has a summary it should not have", turn.work));
            }
        }
    }
    wrong
}

/// Checks that every open question is in the inbox.
fn unseen_questions(id: &JobId, job: &Job, inbox: &[String]) -> Vec<String> {
    let Some(view) = job.view().filter(|_| !job.has_ended() && job.poison().is_none()) else {
        return Vec::new();
    };
    let unseen = view.questions.iter().filter(|question| {
        let key = interaction_actor::inbox::key(id, &question.id);
        !inbox.contains(&key)
    });
    unseen.map(|q| format!("{id}: question {} is open and not in the inbox", q.id)).collect()
}

/// Checks that every accepted answer is in the log, and that one answer at most was accepted.
fn unheard_answers(id: &JobId, entries: &[Entry], told: &Told) -> Vec<String> {
    let mut wrong = Vec::new();
    for ((job, ask), taken) in &told.answered {
        if job != id {
            continue;
        }
        if taken.len() > 1 {
            wrong.push(format!("{id}: {} answers to {ask} were taken", taken.len()));
        }
        let stored = |seq: &u64| entries.iter().any(|entry| entry.seq.0 == *seq);
        if let Some(lost) = taken.iter().find(|seq| !stored(seq)) {
            wrong.push(format!("{id}: an answer to {ask} was taken at {lost} and is not there"));
        }
    }
    wrong
}

/// Checks that a job with a cancel signal in its timeline has ended.
fn unheard_cancel(id: &JobId, entries: &[Entry]) -> Option<String> {
    let is_cancel =
        |entry: &&Entry| entry.signal().is_some_and(|said| said.signal == Signal::Cancel);
    entries.iter().find(is_cancel)?;
    let mut replay = Replay::of(id, entries);
    entries.iter().for_each(|entry| replay.take(entry));
    let counts = |entry: &&Entry| replay.timeline().has(entry.seq);
    let canceled = entries.iter().filter(counts).find(is_cancel)?;
    let ended = replay.job().has_ended();
    (!ended).then(|| format!("{id}: canceled in record {} and not ended", canceled.seq))
}

/// Checks that the machine decides the end of a job, with its cost, on the records before it.
fn miscounted(id: &JobId, entries: &[Entry]) -> Option<String> {
    entries.iter().enumerate().find_map(|(end, entry)| {
        if !matches!(entry.family, Family::Do(DecisionKind::Finish, _)) {
            return None;
        }
        let finish = entry.decision()?.into_finish()?;
        let before = &entries[..end];
        // An end that was decided before a concurrent rollback does not count.
        if finish.generation < replay(id, before).generation() {
            return None;
        }
        let fits = facts_before(id, before, &finish).is_some();
        (!fits).then(|| format!("{id}: it says at its end that it cost {:?}", finish.usage))
    })
}

/// Returns the number of the records `before` an end up to the last fact that its supervisor had read:
/// the most on which the machine decides exactly this end. An activation reads no facts between its
/// decisions, so an end may lack those that arrived meanwhile.
pub(super) fn facts_before(id: &JobId, before: &[Entry], finish: &Finish) -> Option<usize> {
    (1..=before.len()).rev().find(|facts| {
        let (read, later) = before.split_at(*facts);
        let decided = later.iter().filter(|entry| matches!(entry.family, Family::Do(..)));
        let known: Vec<Entry> = read.iter().chain(decided).cloned().collect();
        let next = replay(id, &known).decide().map(|next| next.decision);
        matches!(next, Some(Decision::Finish(end)) if end == *finish)
    })
}

/// Checks that no call of a `once` tool had its effect twice.
fn effects(runs: &[Run]) -> Vec<String> {
    let mut counts: BTreeMap<&str, (u32, &Run)> = BTreeMap::new();
    for run in runs.iter().filter(|run| run.effect == Effect::Once && run.effect_at.is_some()) {
        counts.entry(&run.key).or_insert((0, run)).0 += 1;
    }
    let twice = counts.into_values().filter(|(times, _)| *times > 1);
    let words = |(times, run): (u32, &Run)| {
        format!("{}: {} of {} had its effect {times} times", run.job, run.tool, run.work)
    };
    twice.map(words).collect()
}

/// Checks that no call with an effect runs twice at once. Only a pause or the death of the first
/// run's process excuses an overlap: a running worker must end its run before the broker delivers
/// the call to another one.
fn overlaps(runs: &[Run]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (n, first) in runs.iter().enumerate().filter(|(_, run)| run.effect != Effect::Pure) {
        let overlapped = runs[n + 1..].iter().any(|second| {
            let same = first.key == second.key && first.attempt == second.attempt;
            let goes_on = first.over.is_none_or(|over| over > second.began);
            let stood_still = first.link.last_paused().is_some_and(|at| at >= first.began);
            let dead = first.link.standing() == LinkState::Gone;
            same && goes_on && !stood_still && !dead
        });
        if overlapped {
            wrong.push(format!(
                "{}: {} for {} #{} was begun again while it ran",
                first.job, first.tool, first.work, first.attempt
            ));
        }
    }
    wrong
}

/// Checks that no tool with an effect begins after the end of its job, in a process that was
/// connected all the time.
fn too_late(evidence: &Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    for run in evidence.runs.iter().filter(|run| run.effect != Effect::Pure) {
        let Some(over) = evidence.ends.get(&(run.job.clone(), run.work.generation())) else {
            continue;
        };
        let knew = run.up_since.is_some_and(|since| since <= *over);
        if knew && run.began > *over + evidence.travel {
            let canceled = evidence.told.canceled.contains_key(&run.job);
            let over = if canceled { "was canceled" } else { "ended" };
            wrong.push(format!("{}: {} began after the job {over}", run.job, run.tool));
        }
    }
    wrong
}

/// Checks that no run continues long after the end of its job, in a process that was connected all
/// the time.
fn unwanted(evidence: &Evidence) -> Vec<String> {
    let mut wrong = Vec::new();
    for run in &evidence.runs {
        let Some(ended) = evidence.ends.get(&(run.job.clone(), run.work.generation())) else {
            continue;
        };
        let knew = run.link.up_since().is_some_and(|since| since <= *ended);
        let by = *ended + evidence.ack_wait / 3 + STOPS_WITHIN;
        if knew && run.began <= *ended && run.over.is_none_or(|over| over > by) {
            wrong.push(format!("{}: {} went on long after the job ended", run.job, run.tool));
        }
    }
    wrong
}

/// Returns the transcript of a world, byte by byte. Two runs of one seed must have equal
/// transcripts.
pub(crate) fn transcript(logs: &Logs, runs: &[Run], begin: Instant) -> Vec<String> {
    let mut lines = Vec::new();
    for (id, entries) in logs {
        for entry in entries {
            let record = match &entry.record {
                Ok(record) => String::from_utf8_lossy(&record.to_vec()).into_owned(),
                Err(error) => error.to_string(),
            };
            let (seq, time, family) = (entry.seq, entry.time, &entry.family);
            lines.push(format!("{id} {seq} {time} {family:?} {record}"));
        }
    }
    for run in runs {
        let at = |time: Option<Instant>| time.map(|time| time.duration_since(begin));
        let times = (run.began.duration_since(begin), at(run.effect_at), at(run.over));
        lines.push(format!("{} {} {} {times:?}", run.tool, run.job, run.work));
    }
    lines
}

pub(crate) fn hash(transcript: &[String]) -> String {
    let mut hash = Sha256::new();
    for line in transcript {
        hash.update(line);
        hash.update("\n");
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats a record as one line.
pub(crate) fn line(entry: &Entry) -> String {
    let Ok(record) = &entry.record else { return format!("{} unreadable", entry.seq) };
    let what = match record.known() {
        Ok(Known::Fact(fact)) => format!("fact      {fact:?}"),
        Ok(Known::Decision(decision)) => format!("decision  {decision:?}"),
        Err(error) => error.to_string(),
    };
    let what: String = what.chars().take(150).collect();
    // The beginning of the record's id distinguishes two runs with similar records.
    let id = record.id.get(..6).unwrap_or(&record.id);
    format!("{:>4} {} (by {}, {id})", entry.seq.0, what, record.by)
}
