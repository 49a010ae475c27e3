//! A tool call that a person approves on the command line, as tests of tools need it.

use std::process::Output;

use broker::{Broker, testing::wait::eventually};
use client::Client;
use proto::{
    door::Submit,
    entry::Entry,
    fact::{Called, Fact},
    id::JobId,
    job::JobState,
};
use serde_json::json;

use crate::{
    company::Company,
    wait::{self, until},
};

/// Returns all that a program printed.
#[must_use]
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Submits a job that calls a tool once and gives up after it, and waits for the question about the
/// call in the inbox.
///
/// # Panics
/// If the job is refused or never asks.
pub async fn asked(company: &Company, client: &Client, id: &str, goal: &str) -> JobId {
    let job = JobId::new(id).expect("the id of a test is one");
    let agent = json!({"confirm": false, "step": {"retry": {"max_attempts": 1}}});
    let agent = Some(serde_json::from_value(agent).expect("the agent is one"));
    let submit = Submit { id: Some(job.clone()), agent, ..Submit::goal(goal) };
    client.submit(submit).await.expect("the job is taken");
    until(client, &job, JobState::InputRequired).await;
    eventually("the question", async || {
        let shown = run(company, &["inbox", "ls"]);
        if shown.contains(id) { Ok(()) } else { Err(shown) }
    })
    .await;
    job
}

/// Approves the call of a job as a person does.
///
/// # Panics
/// If the approval is refused.
pub fn approve(company: &Company, id: &str) {
    let approved = company.command().args(["inbox", "approve", id, "--yes"]).output();
    let approved = approved.expect("the program starts");
    assert!(approved.status.success(), "{}", said(&approved));
}

/// Runs a command, and returns all that it printed.
///
/// # Panics
/// If the program does not start.
#[must_use]
pub fn run(company: &Company, args: &[&str]) -> String {
    said(&company.command().args(args).output().expect("the program starts"))
}

/// Returns the answer of the job's first call, from its log.
pub async fn answer(broker: &Broker, job: &JobId) -> Called {
    let called = |entry: &Entry| {
        let Some(Fact::Called(called)) = entry.fact() else { return None };
        Some(called)
    };
    wait::log(broker, job, |entries| entries.iter().find_map(called)).await
}
