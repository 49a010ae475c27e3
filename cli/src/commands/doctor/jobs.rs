//! Findings about tools without workers and jobs that the installation holds.

use std::collections::BTreeMap;

use client::Client;
use proto::{
    door::{Filter, List, Tools},
    escape,
    job::JobState,
    lang::Words,
};

use super::words::Text;
use crate::render::findings::Finding;

/// Number of open jobs that are examined, the newest first.
const EXAMINED: u32 = 100;
/// Number of names in one finding.
const NAMED: usize = 5;

/// Reports the number of registered tools, and those without a live worker.
pub(super) fn tools(tools: &Tools) -> Finding {
    let dead = tools.tools.iter().filter(|tool| tools.workers.get(&tool.name) == Some(&0));
    let (dead, all): (Vec<_>, _) = (dead.collect(), &tools.tools.len());
    if dead.is_empty() {
        return Finding::ok("tools", Text::Tools { count: all });
    }
    let found = Words::new(|language| {
        let named = dead.iter().take(NAMED);
        let mut names: Vec<_> = named
            .map(|tool| Text::ToolOfPool { tool: &tool.name, pool: &tool.pool }.text(language))
            .collect();
        names.extend((dead.len() > NAMED).then(|| "…".to_owned()));
        Text::ToolsDead { dead: &dead.len(), all, names: &names.join(&Text::Comma.text(language)) }
            .text(language)
    });
    Finding::warning("tools", found, Text::StartWorkers)
}

/// Reports the open jobs that do not move because of a fault, with the reason of one of them.
pub(super) async fn held(client: &Client) -> Finding {
    let open = List {
        filter: Filter::of_states([
            JobState::Submitted,
            JobState::Working,
            JobState::InputRequired,
        ]),
        limit: Some(EXAMINED),
        ..List::default()
    };
    let jobs = match client.call(&open).await {
        Ok(listed) => listed.jobs,
        Err(failure) => return Finding::error("jobs", &failure.into()),
    };
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    let mut example = None;
    for job in &jobs {
        let Some(why) = job.why.as_ref().filter(|why| why.reason.is_fault()) else { continue };
        *codes.entry(why.reason.code()).or_default() += 1;
        example.get_or_insert((&job.job, &why.reason));
    }
    let Some((job, reason)) = example else {
        return Finding::ok("jobs", Text::Jobs { count: &jobs.len() });
    };
    let each: Vec<_> = codes.iter().map(|(code, count)| format!("{count} {code}")).collect();
    let (held, codes) = (&codes.values().sum::<usize>(), &each.join(", "));
    let found = Words::new(|language| {
        let why = &escape::line(&reason.text(language)).into_owned();
        Text::JobsHeld { held, all: &jobs.len(), codes, job, why }.text(language)
    });
    let advice = Words::new(|language| reason.unblock(job, language).unwrap_or_default());
    Finding::warning("jobs", found, advice)
}
