//! Waits for events of jobs. Each function waits for an event of the log or of the front door,
//! where such an event exists. `broker::testing::wait` has the other waits, and the common timeout.

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

/// The timeout of a request to the front door. A request to a closing door may be lost, and is then
/// repeated.
const ANSWER: Duration = Duration::from_secs(5);

/// Waits until a process serves the front door.
///
/// # Panics
/// Panics if no process ever does.
pub async fn wait_for_door(client: &Client) {
    holds("somebody who serves the front door", async || {
        client.call(&List::default()).await.is_ok()
    })
    .await;
}

/// Waits until a tool is registered.
///
/// # Panics
/// Panics if the tool is never registered.
pub async fn wait_for_tool(client: &Client, name: &str) {
    let is_there = |tools: proto::door::Tools| tools.tools.iter().any(|t| t.name.as_str() == name);
    holds(name, async || client.tools().await.is_ok_and(is_there)).await;
}

/// Waits until a process announces a presence for which `says` is `true`.
///
/// # Panics
/// Panics with the log of the process if it never does.
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

/// Waits until a job has a state.
///
/// # Panics
/// Panics with the job's view if the job never has the state.
pub async fn until(client: &Client, job: &JobId, state: JobState) -> JobView {
    view(client, job, |view| view.state == state).await
}

/// Waits until the front door shows a view of the job for which `wanted` is `true`.
///
/// # Panics
/// Panics with the last view if none is ever shown.
#[expect(clippy::panic, reason = "a test that waits in vain fails, and shows the job")]
pub async fn view(client: &Client, job: &JobId, wanted: impl Fn(&JobView) -> bool) -> JobView {
    // Only views: no record has that position.
    let options =
        WatchOptions { give_up_after: PATIENCE, ..WatchOptions::records(Seq(i64::MAX as u64)) };
    let mut last = None;
    // A watch ends with its job, which may be rolled back later. It also ends when the job does not
    // exist yet.
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
/// Panics with the job's view if `look` never does.
#[expect(clippy::panic, reason = "a test that waits in vain fails, and shows the job")]
pub async fn log<T>(broker: &Broker, job: &JobId, look: impl Fn(&[Entry]) -> Option<T>) -> T {
    // After an error the watch is repeated, because a broker that returns causes no event.
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

/// Waits until a job's log has a record of a kind, and returns its position.
///
/// # Panics
/// Panics if the log never has such a record.
pub async fn record(broker: &Broker, job: &JobId, kind: &str) -> Seq {
    let of_kind = |entry: &&Entry| entry.record.as_ref().is_ok_and(|record| record.kind == kind);
    log(broker, job, |entries| entries.iter().find(of_kind).map(|entry| entry.seq)).await
}
