//! Waits for what happens to jobs. Each is for an event of the log or of the front door, where there
//! is one; `broker::testing::wait` has the others, and the one bound of all.

use std::time::Duration;

use broker::{
    Broker,
    log::LogError,
    testing::wait::{PATIENCE, eventually, patiently, repeatedly, until as holds},
};
use client::{Client, WatchOptions};
use futures::StreamExt;
use proto::{
    door::{List, Watched},
    entry::Entry,
    id::{JobId, Seq},
    job::JobState,
    view::JobView,
    wire::Presence,
};

use crate::company::Process;

/// How long the front door has for an answer. A question that reaches a door while it closes may be
/// lost: then it is asked again.
const ANSWER: Duration = Duration::from_secs(5);

/// Waits until somebody serves the front door.
///
/// # Panics
/// When nobody ever does.
pub async fn wait_for_door(client: &Client) {
    holds("somebody who serves the front door", async || {
        client.call(&List::default()).await.is_ok()
    })
    .await;
}

/// Waits until a tool is registered.
///
/// # Panics
/// When it never is.
pub async fn wait_for_tool(client: &Client, name: &str) {
    let is_there = |tools: proto::door::Tools| tools.tools.iter().any(|t| t.name.as_str() == name);
    holds(name, async || client.tools().await.is_ok_and(is_there)).await;
}

/// Waits until a process says something of itself.
///
/// # Panics
/// When it never does, with what it logged.
pub async fn member(
    client: &Client,
    process: &Process,
    says: impl Fn(&Presence) -> bool,
) -> Presence {
    let client = client.clone().with_timeout(ANSWER);
    eventually("a process that says so", async || {
        let crew = client.crew().await.map(|crew| crew.workers).unwrap_or_default();
        let member = crew.into_iter().find(|member| member.pid == process.id() && says(member));
        member.ok_or_else(|| process.logged())
    })
    .await
}

/// Waits until a job is in a state.
///
/// # Panics
/// When it never is, with what it is instead.
pub async fn until(client: &Client, job: &JobId, state: JobState) -> JobView {
    view(client, job, |view| view.state == state).await
}

/// Waits until the front door shows a job as wanted.
///
/// # Panics
/// When it never does, with what it shows instead.
#[expect(clippy::panic, reason = "a test that waits in vain fails, and shows the job")]
pub async fn view(client: &Client, job: &JobId, wanted: impl Fn(&JobView) -> bool) -> JobView {
    // Views alone: no record has that position.
    let options =
        WatchOptions { give_up_after: PATIENCE, ..WatchOptions::records(Seq(i64::MAX as u64)) };
    let mut last = None;
    // A watch ends with the job, which an operator may take back; or there is no such job yet.
    let looking = repeatedly(async || {
        let mut shown = Box::pin(client.watch(job, options));
        while let Some(item) = shown.next().await {
            match item {
                Ok(Watched::View { view }) if wanted(&view) => return Some(*view),
                Ok(Watched::View { view }) => last = Some(Ok(view)),
                Ok(
                    Watched::Record { .. }
                    | Watched::Event { .. }
                    | Watched::Live { .. }
                    | Watched::Heartbeat
                    | Watched::End { .. },
                ) => {}
                Err(failure) => last = Some(Err(failure)),
            }
        }
        None
    });
    match patiently(looking).await {
        Some(view) => view,
        None => panic!("{job} never became what it should: {last:#?}"),
    }
}

/// Waits until `look` finds something in a job's whole log.
///
/// # Panics
/// When it never does, with what the log says of the job.
#[expect(clippy::panic, reason = "a test that waits in vain fails, and shows the job")]
pub async fn log<T>(broker: &Broker, job: &JobId, look: impl Fn(&[Entry]) -> Option<T>) -> T {
    // An error is a broker that is away, and gives no event when it is back.
    let looking = repeatedly(async || follow(broker, job, &look).await.ok());
    if let Some(found) = patiently(looking).await {
        return found;
    }
    let entries = broker.log.read(job, Seq(0)).await;
    let view = entries.map(|entries| machine::replay(job, &entries).view());
    panic!("the log of {job} never became what it should: {view:#?}");
}

async fn follow<T>(
    broker: &Broker,
    job: &JobId,
    look: impl Fn(&[Entry]) -> Option<T>,
) -> Result<T, LogError> {
    let mut entries = broker.log.read(job, Seq(0)).await?;
    let last = entries.last().map_or(Seq(0), |entry| entry.seq);
    let mut more = broker.log.watch(job, last).await?;
    loop {
        if let Some(found) = look(&entries) {
            return Ok(found);
        }
        match more.next().await {
            Some(entry) => entries.push(entry?),
            None => return Err(LogError::Unavailable("the watch ended".to_owned())),
        }
    }
}

/// Waits until a record in a job's log is of a kind.
///
/// # Panics
/// When there never is one.
pub async fn record(broker: &Broker, job: &JobId, kind: &str) -> Seq {
    let of_kind = |entry: &&Entry| entry.record.as_ref().is_ok_and(|record| record.kind == kind);
    log(broker, job, |entries| entries.iter().find(of_kind).map(|entry| entry.seq)).await
}
