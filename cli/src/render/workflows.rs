//! Rendering of workflows by name: their list, one of them, and statistics.

use client::workflow_stats::{NodeStat, WorkflowStat, WorkflowStats};
use jiff::{SignedDuration, Timestamp};
use proto::{
    agent::Layer,
    door::{WorkflowEntry, WorkflowList, WorkflowVersion},
    escape,
    workflow::WorkflowName,
};

use crate::{
    render::table::{Piece, note, plain, table},
    style::{Style, Tone, lasted},
    words::Text,
};

/// Characters of a digest that a table shows.
const DIGEST_SHOWN: usize = 12;

/// Renders the list, by name.
pub(crate) fn list(style: &Style, workflows: &WorkflowList) -> String {
    let rows = workflows.workflows.iter().map(|entry| row(style, entry)).collect();
    table(style, Text::WorkflowsHeads, rows, Text::NoWorkflows)
}

fn row(style: &Style, entry: &WorkflowEntry) -> Vec<Piece> {
    let about = match entry.mistakes.first() {
        Some(why) => (Tone::Bad, style.say(Text::AgentUnusable { why: &escape::line(why) })),
        None => plain(escape::line(&entry.about)),
    };
    let revision = entry.revision.map_or("–".to_owned(), |revision| revision.to_string());
    let version = entry.version.map_or("–".to_owned(), |version| version.to_string());
    let layer = plain(entry.layer.as_str());
    vec![plain(entry.name.as_str()), layer, plain(revision), plain(version), about]
}

/// Renders the versions of a workflow, highest first.
pub(crate) fn versions(style: &Style, entry: &WorkflowEntry) -> String {
    let rows = entry.versions.iter().map(|one| version(style, entry, one)).collect();
    let name = &entry.name;
    table(style, Text::WorkflowVersionsHeads, rows, Text::NoWorkflowVersions { name })
}

fn version(style: &Style, entry: &WorkflowEntry, one: &WorkflowVersion) -> Vec<Piece> {
    let unknown = || "–".to_owned();
    let is_in_force = entry.layer == Layer::Bucket && entry.version == Some(one.version);
    let state = match is_in_force {
        true => (Tone::Good, style.say(Text::RevisionCurrent)),
        false => plain(style.say(Text::RevisionStored)),
    };
    let by = one.by.as_deref().map_or_else(unknown, |by| escape::line(by).into_owned());
    vec![
        plain(one.version.to_string()),
        plain(one.time.map_or_else(unknown, |time| style.time(time))),
        plain(by),
        plain(one.digest.chars().take(DIGEST_SHOWN).collect::<String>()),
        state,
    ]
}

/// Renders a workflow: its text, which is a valid file.
pub(crate) fn show(style: &Style, entry: &WorkflowEntry) -> String {
    let (name, layer) = (&entry.name, entry.layer.as_str());
    let mut out = match entry.revision {
        Some(revision) => format!("# {name} · {layer} · {revision}\n"),
        None => format!("# {name} · {layer}\n"),
    };
    if let Some(text) = &entry.text {
        out.push_str(&format!("{}\n", escape::text(text.trim_end())));
    }
    for mistake in &entry.mistakes {
        out.push_str(&format!("{}\n", style.say(Text::Wrong { why: &escape::line(mistake) })));
    }
    out
}

/// Renders statistics: the jobs by state, the nodes, and the number of jobs that were read.
pub(crate) fn stats(style: &Style, stats: &WorkflowStats, only: Option<&WorkflowName>) -> String {
    let WorkflowStats { jobs, more, unread, workflows } = stats;
    let empty = match only {
        Some(name) => Text::NoJobsOfWorkflow { name },
        None => Text::NoWorkflowJobs,
    };
    let runs = workflows.iter().map(run).collect();
    let mut out = table(style, Text::WorkflowRunsHeads, runs, empty);
    let nodes: Vec<_> = workflows
        .iter()
        .flat_map(|one| one.nodes.iter().map(|it| node(&one.workflow, it)))
        .collect();
    if !nodes.is_empty() {
        out.push('\n');
        out.push_str(&table(style, Text::WorkflowNodesHeads, nodes, Text::NoWorkflowJobs));
    }
    let read = match more {
        true => Text::WorkflowJobsReadNewest { count: jobs },
        false => Text::WorkflowJobsRead { count: jobs },
    };
    out.push_str(&note(style, &style.say(read)));
    if *unread > 0 {
        out.push_str(&note(style, &style.say(Text::WorkflowJobsUnread { count: unread })));
    }
    out
}

fn run(stat: &WorkflowStat) -> Vec<Piece> {
    let WorkflowStat { workflow, jobs, nodes: _ } = stat;
    let counts = [jobs.total(), jobs.open, jobs.completed, jobs.failed, jobs.canceled];
    let counts = counts.into_iter().map(|count| plain(count.to_string()));
    [plain(workflow.as_str())].into_iter().chain(counts).collect()
}

fn node(workflow: &WorkflowName, stat: &NodeStat) -> Vec<Piece> {
    let NodeStat { node, kind, visits, open, failed, p50_ms, p95_ms } = stat;
    let failed = match failed {
        0 => plain("0"),
        count => (Tone::Bad, count.to_string()),
    };
    let took = |ms: &Option<u64>| plain(ms.map_or("–".to_owned(), took));
    vec![
        plain(workflow.as_str()),
        plain(node.as_str()),
        plain(kind.as_str()),
        plain(visits.to_string()),
        plain(open.to_string()),
        failed,
        took(p50_ms),
        took(p95_ms),
    ]
}

fn took(ms: u64) -> String {
    let took = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
    let end = Timestamp::UNIX_EPOCH.saturating_add(took).unwrap_or(Timestamp::MAX);
    lasted(Timestamp::UNIX_EPOCH, end)
}
