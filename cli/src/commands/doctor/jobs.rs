//! Findings about tools without workers and jobs that the installation holds.

use std::collections::BTreeMap;

use client::Client;
use proto::{
    door::{List, Tools},
    escape,
    job::JobState,
};

use crate::render::findings::{Finding, LANGUAGE};

/// Number of open jobs that are examined, the newest first.
const EXAMINED: u32 = 100;
/// Number of names in one finding.
const NAMED: usize = 5;

/// Reports the number of registered tools, and those without a live worker.
pub(super) fn tools(tools: &Tools) -> Finding {
    let dead = tools.tools.iter().filter(|tool| tools.workers.get(&tool.name) == Some(&0));
    let dead: Vec<_> = dead.map(|tool| format!("{} (pool {})", tool.name, tool.pool)).collect();
    let registered = tools.tools.len();
    if dead.is_empty() {
        return Finding::ok("tools", format!("{registered} are registered"));
    }
    let some = dead.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if dead.len() > NAMED { ", …" } else { "" };
    let found = format!(
        "{} of {registered} registered tools have no live worker: {some}{more}",
        dead.len()
    );
    let advice = "start workers of these pools; workers in other languages announce themselves (docs/tools.md)";
    Finding::warning("tools", found, advice)
}

/// Reports the open jobs that do not move because of a fault, with the reason of one of them.
pub(super) async fn held(client: &Client) -> Finding {
    let open = List {
        states: vec![JobState::Submitted, JobState::Working, JobState::InputRequired],
        limit: Some(EXAMINED),
        ..List::default()
    };
    let jobs = match client.call(&open).await {
        Ok(listed) => listed.jobs,
        Err(failure) => return Finding::bad("jobs", failure.message, failure.hint),
    };
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut example = None;
    for job in &jobs {
        let Some(why) = job.why.as_ref().filter(|why| why.reason.is_fault()) else { continue };
        *codes.entry(why.reason.code()).or_default() += 1;
        example.get_or_insert((&job.job, &why.reason));
    }
    let Some((job, reason)) = example else {
        return Finding::ok("jobs", format!("{} are open, and no fault holds any", jobs.len()));
    };
    let each: Vec<_> = codes.iter().map(|(code, count)| format!("{count} {code}")).collect();
    let text = reason.text(LANGUAGE);
    let found = format!(
        "{} of {} open jobs are held ({}): {job}: {}",
        codes.values().sum::<usize>(),
        jobs.len(),
        each.join(", "),
        escape::line(&text)
    );
    let advice = reason.unblock(job, LANGUAGE).unwrap_or_default();
    Finding::warning("jobs", found, advice)
}
