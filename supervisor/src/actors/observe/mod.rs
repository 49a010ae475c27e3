//! Metrics and traces of jobs. They decide nothing, and no activation waits for them.

mod activation_metrics;
mod census;
mod changed;
mod figures;
mod label;
mod load;
mod outage_warnings;
#[cfg(test)]
mod tests;
mod visits;
mod walk;

use std::sync::LazyLock;

use machine::{Job, JobStatus};
use opentelemetry::{
    KeyValue,
    metrics::{Counter, Histogram},
};
use proto::{budget::Axis, id::AgentName, notice::Notice};
use runtime::telemetry::{self, LATENCY, SECONDS, keys};
use tokio::time::Instant;

pub(super) use self::load::run as watch_load;
pub(super) use self::{
    activation_metrics::{ActivationSpan, ActivationTimer, ShardFigures, Tally},
    census::Census,
    label::Labels,
    visits::visits,
};

use self::outage_warnings::OutageWarnings;

struct Instruments {
    submitted: Counter<u64>,
    ended: Counter<u64>,
    duration: Histogram<f64>,
    decision: Histogram<f64>,
    ignored: Counter<u64>,
    warned: Counter<u64>,
    outage_waits: Counter<u64>,
    notices: Counter<u64>,
    sweep_found: Counter<u64>,
}

static INSTRUMENTS: LazyLock<Instruments> = LazyLock::new(|| {
    let meter = telemetry::meter();
    let counter = |name: &'static str, what: &'static str| {
        meter.u64_counter(name).with_description(what).build()
    };
    let sweep_found = counter("callboard.sweep.found", "Jobs that a sweep had to reactivate.");
    // A zero is recorded so that a scrape can tell "none found" from "not measured".
    sweep_found.add(0, &[]);
    Instruments {
        submitted: counter("callboard.jobs.submitted", "Submissions that a supervisor saw."),
        ended: counter("callboard.jobs.ended", "Ends of jobs, one in each generation."),
        duration: telemetry::histogram(
            "callboard.job.duration",
            "A job, from its submission to its end, waiting for people included.",
            SECONDS,
        ),
        decision: telemetry::histogram(
            "callboard.decision.duration",
            "Time from the receipt of facts until all resulting decisions are stored.",
            LATENCY,
        ),
        ignored: counter(
            "callboard.results.ignored",
            "Facts that arrived late, twice or without effect.",
        ),
        warned: counter(
            "callboard.budget.warnings",
            "Jobs that came near a limit of their budget.",
        ),
        outage_waits: counter(
            "callboard.outage.waits",
            "Waits of work for a model or a tool's service that could not be reached.",
        ),
        notices: counter(
            "callboard.guard.notices",
            "Notices of guards against loops: to models, and about work that they ended.",
        ),
        sweep_found,
    }
});

/// Counts a job for which only a sweep found the missing decision.
pub(super) fn swept() {
    INSTRUMENTS.sweep_found.add(1, &[]);
}

/// Counts a wait for the end of an outage.
pub(super) fn outage_wait(agent: &AgentName, labels: &Labels) {
    let agent = KeyValue::new(keys::GEN_AI_AGENT_NAME, labels.agent(agent));
    INSTRUMENTS.outage_waits.add(1, &[agent]);
}

/// Counts a guard's notice. Limits of a budget have a metric of their own.
pub(super) fn notice(notice: &Notice, agent: &AgentName, labels: &Labels) {
    match notice {
        Notice::BudgetLow { .. } => {}
        Notice::ToolFailure { .. }
        | Notice::Repeated { .. }
        | Notice::NoProgress { .. }
        | Notice::NoAnswer => {
            let agent = KeyValue::new(keys::GEN_AI_AGENT_NAME, labels.agent(agent));
            let kind = KeyValue::new(keys::NOTICE_KIND, notice.kind().as_str());
            INSTRUMENTS.notices.add(1, &[agent, kind]);
        }
    }
}

/// Counts a wait for a service. Returns the number of waits since the last warning about the
/// service, if another warning is due.
pub(super) fn outage_warning(service: &str) -> Option<u64> {
    static WARNINGS: OutageWarnings = OutageWarnings::new();
    WARNINGS.count(service, Instant::now())
}

fn ignored(kind: &'static str) {
    INSTRUMENTS.ignored.add(1, &[KeyValue::new(keys::RECORD_KIND, kind)]);
}

fn warned(axis: Axis, standing: &JobStatus, labels: &Labels) {
    let agent = KeyValue::new(keys::GEN_AI_AGENT_NAME, labels.agent(&standing.agent));
    INSTRUMENTS.warned.add(1, &[agent, KeyValue::new(keys::BUDGET_AXIS, axis.as_str())]);
}

fn submitted(standing: &JobStatus, labels: &Labels) {
    let agent = KeyValue::new(keys::GEN_AI_AGENT_NAME, labels.agent(&standing.agent));
    INSTRUMENTS.submitted.add(1, &[agent]);
}

fn ended(job: &Job, standing: &JobStatus, labels: &Labels) {
    let Some(outcome) = job.outcome() else { return };
    let agent = KeyValue::new(keys::GEN_AI_AGENT_NAME, labels.agent(&standing.agent));
    let state = KeyValue::new(keys::JOB_STATE, standing.state.as_str());
    let error = KeyValue::new(keys::ERROR_TYPE, label::reason(outcome));
    let seconds = job.updated().duration_since(job.created()).as_secs_f64();
    INSTRUMENTS.duration.record(seconds.max(0.0), &[agent.clone(), state.clone()]);
    INSTRUMENTS.ended.add(1, &[agent, state, error]);
}
