//! `jobs show`: prints a job's log. Records that a rollback removed from the timeline are marked. A
//! later record decides that, so output starts only when the stored log has been read.

use std::{pin::pin, time::Duration};

use client::{Client, WatchOptions};
use futures::StreamExt;
use machine::{
    edits::{Edit, Edits},
    timeline::Timeline,
};
use proto::{
    agent::Agent,
    door::Watched,
    entry::Entry,
    id::{JobId, Seq},
};
use serde_json::{Value, json};

use crate::{
    args::{Global, ShowArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    interrupt::Interrupts,
    output::{Format, Output},
    render::history,
    style::Style,
};

/// Time for the agent of a job, which is shown beside what is known already.
const AGENT_WITHIN: Duration = Duration::from_secs(3);

pub(super) async fn run(global: &Global, output: Output, args: ShowArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let job = connect::job(&client, &args.job).await?.job;
    let mut stream = pin!(client.watch(&job, WatchOptions::default()));
    let mut interrupts = Interrupts::take()?;
    let mut log = Log::new(job, output, &args);
    loop {
        let item = tokio::select! {
            item = stream.next() => item,
            () = interrupts.next() => return Ok(Exit::Interrupted),
        };
        match item {
            Some(Ok(Watched::Record { seq, family, time, record })) => {
                log.take(seq, &family, time, &record)?;
            }
            // A view marks the end of the stored records.
            Some(Ok(Watched::View { .. })) => {
                log.catch_up()?;
                if !args.follow {
                    break;
                }
            }
            Some(Ok(Watched::Live { .. } | Watched::Event { .. } | Watched::Heartbeat)) => {}
            Some(Ok(Watched::End { error: None })) | None => break,
            Some(Ok(Watched::End { error: Some(failure) })) => return Err((*failure).into()),
            Some(Err(failure)) => return Err(failure.into()),
        }
    }
    log.end()?;
    Ok(Exit::Success)
}

/// Reads a job's log and returns the plans that people edited before confirming them.
pub(super) async fn edits(client: &Client, job: &JobId) -> Result<Vec<Edit>, CliError> {
    let mut stream = pin!(client.watch(job, WatchOptions::default()));
    let mut edits = Edits::default();
    while let Some(item) = stream.next().await {
        match item? {
            Watched::Record { seq, family, time, record } => {
                if let Some(entry) = Entry::of_watched(job, seq, &family, time, &record) {
                    edits.take(&entry);
                }
            }
            // A view marks the end of the stored records.
            Watched::View { .. } | Watched::End { error: None } => break,
            Watched::End { error: Some(failure) } => return Err((*failure).into()),
            Watched::Live { .. } | Watched::Event { .. } | Watched::Heartbeat => {}
        }
    }
    Ok(edits.all())
}

/// Returns the agent that a job was submitted with, or `None` where its submission is too large to be
/// watched.
pub(super) async fn agent(client: &Client, job: &JobId) -> Result<Option<Agent>, CliError> {
    let options = WatchOptions { give_up_after: AGENT_WITHIN, ..WatchOptions::default() };
    let mut stream = pin!(client.watch(job, options));
    while let Some(item) = stream.next().await {
        match item? {
            Watched::Record { seq, family, time, record } => {
                let first = Entry::of_watched(job, seq, &family, time, &record);
                return Ok(first.and_then(|first| first.submission()).map(|it| it.agent));
            }
            Watched::View { .. } | Watched::End { .. } => break,
            Watched::Live { .. } | Watched::Event { .. } | Watched::Heartbeat => {}
        }
    }
    Ok(None)
}

/// The log read so far.
struct Log {
    job: JobId,
    output: Output,
    style: Style,
    after: Seq,
    /// `true` for the JSON format, which is one value and printed at the end.
    is_whole: bool,
    timeline: Timeline,
    /// Records withheld until it is known whether they are in the timeline.
    held: Vec<(Seq, Value)>,
    follows: bool,
    /// `true` if the reasoning of models is printed.
    reasons: bool,
}

impl Log {
    fn new(job: JobId, output: Output, args: &ShowArgs) -> Self {
        Self {
            job,
            output,
            style: output.style(),
            after: Seq(args.after),
            is_whole: output.format == Format::Json && !args.follow,
            timeline: Timeline::default(),
            held: Vec::new(),
            follows: false,
            reasons: args.reasoning,
        }
    }

    fn take(
        &mut self,
        seq: Seq,
        family: &str,
        time: jiff::Timestamp,
        record: &Value,
    ) -> Result<(), CliError> {
        if let Some(entry) = Entry::of_watched(&self.job, seq, family, time, record) {
            self.timeline.take_entry(&entry);
        }
        if seq > self.after {
            let item = json!({"seq": seq, "time": time, "family": family, "record": record});
            self.held.push((seq, item));
        }
        if self.follows { self.print() } else { Ok(()) }
    }

    fn catch_up(&mut self) -> Result<(), CliError> {
        self.follows = true;
        self.print()
    }

    fn print(&mut self) -> Result<(), CliError> {
        if self.is_whole {
            return Ok(());
        }
        for (seq, item) in std::mem::take(&mut self.held) {
            let (counts, item) = self.marked(seq, item);
            line(self.output, &self.style, &item, counts)?;
            if self.reasons && self.output.format == Format::Table {
                for line in history::reasoning(&self.style, &item["record"]) {
                    self.output.line(&line)?;
                }
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), CliError> {
        if !self.is_whole {
            return self.print();
        }
        let held = std::mem::take(&mut self.held);
        let all: Vec<Value> =
            held.into_iter().map(|(seq, item)| self.marked(seq, item).1).collect();
        self.output.json(&all)
    }

    /// Returns `true` if a record is in the timeline; otherwise marks its JSON.
    fn marked(&self, seq: Seq, mut item: Value) -> (bool, Value) {
        let counts = self.timeline.has(seq);
        if !counts {
            item["taken_out"] = json!(true);
        }
        (counts, item)
    }
}

fn line(output: Output, style: &Style, item: &Value, counts: bool) -> Result<(), CliError> {
    match output.format {
        Format::Json | Format::Jsonl => output.line(&item.to_string()),
        Format::Ids => output.line(&item["seq"].to_string()),
        Format::Table => {
            let entry = history::Entry {
                seq: item["seq"].as_u64().unwrap_or_default(),
                family: item["family"].as_str().unwrap_or_default(),
                time: item["time"].as_str().and_then(|t| t.parse().ok()).unwrap_or(style.now),
                record: &item["record"],
                counts,
            };
            output.line(&history::line(style, &entry))?;
            history::further(style, &entry).iter().try_for_each(|line| output.line(line))
        }
    }
}
