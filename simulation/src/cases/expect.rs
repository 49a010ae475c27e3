//! The expectations of a case, and their comparison with a run. Pure over the evidence of the run.

use std::collections::{BTreeMap, BTreeSet};

use machine::replay;
use proto::{
    decision::Decision,
    entry::Entry,
    id::ToolName,
    job::{JobState, Outcome},
    tool::Effect,
    view::JobView,
};
use regex::Regex;
use serde::Serialize;
use serde_json::Value;

use super::{
    Case,
    cast::Kind,
    document::{Bound, CallDoc, PathDoc},
    excuse::excuse,
    fit::includes,
    path::{self, Waypoint},
    stage::{self, Played},
    way::{self, Way},
};
use crate::{
    ledger::Run,
    verdict::{Evidence, Logs},
};

/// The expectations of a case.
#[derive(Debug, Clone)]
pub(super) struct Expectations {
    pub(super) state: JobState,
    pub(super) result: ResultExpected,
    /// Results of steps, by the id of the step.
    pub(super) steps: BTreeMap<String, Value>,
    pub(super) path: PathExpected,
    pub(super) visits: PathDoc,
    /// A part of the workflow's output.
    pub(super) output: Option<Value>,
    pub(super) calls: Vec<CallDoc>,
    pub(super) not_called: Vec<ToolName>,
    pub(super) effects: BTreeMap<ToolName, u32>,
    pub(super) questions: Option<Bound<u64>>,
    pub(super) turns: Option<Bound<u64>>,
    pub(super) tokens: Option<Bound<u64>>,
    pub(super) cost: Option<Bound<f64>>,
}

/// The expected final answer; every condition must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct ResultExpected {
    pub(super) text: Option<String>,
    pub(super) contains: Option<String>,
    pub(super) matches: Option<Regex>,
    pub(super) json: Option<Value>,
}

/// The expected path; both conditions must hold.
#[derive(Debug, Clone, Default)]
pub(super) struct PathExpected {
    pub(super) exactly: Option<Vec<Waypoint>>,
    pub(super) includes: Option<Vec<Waypoint>>,
}

/// An expectation that a run did not meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The expectation.
    pub expectation: Expectation,
    /// Its subject: a tool, a step or a condition; empty for the job as a whole.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The expected value, perhaps of several lines; empty if nothing was expected.
    pub expected: String,
    /// The value that was found, perhaps of several lines; empty if there was none.
    pub found: String,
}

/// The kinds of expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// The front door accepts the submission.
    Submission,
    /// The script has a reply to every model call.
    Script,
    /// The file has a result for every tool call.
    Results,
    /// The front door accepts every answer.
    Answers,
    /// The state of the job at its end.
    State,
    /// The final answer.
    Result,
    /// The result of a step.
    Steps,
    /// The work of the job, in order.
    Path,
    /// The visited nodes of a workflow, in order.
    Visits,
    /// The output of a workflow.
    Output,
    /// A call with some arguments.
    Calls,
    /// A tool that must not be called.
    NotCalled,
    /// The number of effects of a tool in the world outside.
    Effects,
    /// The number of questions.
    Questions,
    /// The number of model turns.
    Turns,
    /// The number of tokens.
    Tokens,
    /// The cost in US dollars.
    Cost,
}

/// The reason for which a run with faults is held to fewer expectations: the faults decided its end,
/// as its agent permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Excuse {
    /// The outcome of a call of a `once` tool is unknown, so that the call is not repeated.
    Unknown,
    /// The job failed after attempts that the faults broke.
    Attempts,
    /// The log has no end within the bounds of the world.
    Endless,
}

/// The end of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct End {
    /// The state of the job; absent if there is no job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
    /// The final answer, or the reason of a failure.
    pub result: String,
    /// The work of the job, in order.
    pub path: Vec<String>,
    /// The number of model turns, with those of the planner.
    pub turns: u64,
    /// The number of tokens.
    pub tokens: u64,
    /// The cost in US dollars, as far as prices are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// The number of questions.
    pub questions: u64,
    /// The number of effects in the world outside, by tool.
    pub effects: BTreeMap<String, u32>,
    /// The way through the workflow; absent for a job without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way: Option<Way>,
}

/// Returns the end of a run.
pub(super) fn end(case: &Case, evidence: &Evidence) -> End {
    let Some((entries, view)) = root(&evidence.logs) else { return End::default() };
    let path = path::of(entries);
    let count = |is: fn(&Waypoint) -> bool| path.iter().filter(|point| is(point)).count() as u64;
    let (result, _) = outcome(&view);
    let tested = case.workflow.is_some();
    let graph = tested.then(|| replay(&stage::job(), entries).graph()).flatten();
    End {
        state: Some(view.state),
        result,
        turns: count(|point| matches!(point, Waypoint::Plan | Waypoint::Turn)),
        questions: count(|point| matches!(point, Waypoint::Ask(_))),
        path: path.iter().map(Waypoint::to_string).collect(),
        tokens: view.usage.input_tokens.saturating_add(view.usage.output_tokens),
        cost: view.spent.money,
        effects: effects(case, evidence),
        way: graph.map(|graph| way::of(graph, view.outcome.as_ref())),
    }
}

/// Returns the expectations that a run did not meet, and the excuse for others that it did not meet
/// either. A run with faults is not held to its path and to numbers that repeated work changes; an
/// excused one only to what must never happen.
pub(super) fn judge(case: &Case, played: &Played, rough: bool) -> (Vec<Finding>, Option<Excuse>) {
    let all = findings(case, played, rough, false);
    if !rough || (all.is_empty() && played.evidence.is_some()) {
        return (all, None);
    }
    match excuse(played) {
        None => (all, None),
        excuse => (findings(case, played, rough, true), excuse),
    }
}

fn findings(case: &Case, played: &Played, rough: bool, excused: bool) -> Vec<Finding> {
    let mut found = Findings::default();
    if let Some(why) = &played.refused {
        found.add(Expectation::Submission, "", "", why);
        return found.0;
    }
    let missed = &played.missed;
    missed.replies.iter().for_each(|last| found.add(Expectation::Script, "", "", last));
    missed.calls.iter().for_each(|call| found.add(Expectation::Results, "", "", call));
    let refused = &played.refused_answers;
    refused.iter().for_each(|why| found.add(Expectation::Answers, "", "", why));
    let Some(evidence) = &played.evidence else { return found.0 };
    let end = end(case, evidence);
    found.effects(case, &end, excused);
    found.not_called(case, &evidence.logs);
    if excused {
        return found.0;
    }
    found.ending(case, played, &end);
    found.output(case, &end);
    if let Some((_, view)) = root(&evidence.logs) {
        found.steps(case, &view);
    }
    found.calls(case, &evidence.logs);
    if !rough {
        found.path(case, &end);
        found.visits(case, &end);
        found.numbers(case, &end);
    }
    found.0.sort_by_key(|finding| finding.expectation);
    found.0
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, expectation: Expectation, about: &str, expected: &str, found: &str) {
        let text = str::to_owned;
        let (about, expected, found) = (text(about), text(expected), text(found));
        self.0.push(Finding { expectation, about, expected, found });
    }

    /// Checks the state and the final answer.
    fn ending(&mut self, case: &Case, played: &Played, end: &End) {
        let expected = &case.expect;
        if end.state != Some(expected.state) {
            let state = end.state.map_or("", JobState::as_str);
            let mut found = state.to_owned();
            // The reason of a job that waits is its question.
            let silent = played.unanswered.is_empty();
            let result = Some(&end.result).filter(|result| silent && !result.is_empty());
            for line in played.unanswered.iter().chain(result) {
                found.push('\n');
                found.push_str(line);
            }
            self.add(Expectation::State, "", expected.state.as_str(), &found);
        }
        let ResultExpected { text, contains, matches, json } = &expected.result;
        if let Some(text) = text.as_ref().filter(|text| text.trim() != end.result.trim()) {
            self.add(Expectation::Result, "text", text, &end.result);
        }
        if let Some(part) = contains.as_ref().filter(|part| !end.result.contains(*part)) {
            self.add(Expectation::Result, "contains", part, &end.result);
        }
        if let Some(regex) = matches.as_ref().filter(|regex| !regex.is_match(&end.result)) {
            self.add(Expectation::Result, "matches", regex.as_str(), &end.result);
        }
        if let Some(json) = json {
            let found = serde_json::from_str::<Value>(&end.result);
            if !found.is_ok_and(|found| includes(&found, json)) {
                self.add(Expectation::Result, "json", &pretty(json), &end.result);
            }
        }
    }

    fn output(&mut self, case: &Case, end: &End) {
        let found = end.way.as_ref().map(|way| &way.output).unwrap_or(&Value::Null);
        if let Some(part) = case.expect.output.as_ref().filter(|part| !includes(found, part)) {
            self.add(Expectation::Output, "", &pretty(part), &pretty(found));
        }
    }

    fn steps(&mut self, case: &Case, view: &JobView) {
        let (_, results) = outcome(view);
        for (step, expected) in &case.expect.steps {
            let found = results.get(step).cloned().unwrap_or_default();
            if !includes(&found, expected) {
                self.add(Expectation::Steps, step, &pretty(expected), &pretty(&found));
            }
        }
    }

    fn path(&mut self, case: &Case, end: &End) {
        let PathExpected { exactly, includes } = &case.expect.path;
        let lines =
            |path: &[Waypoint]| path.iter().map(Waypoint::to_string).collect::<Vec<_>>().join("\n");
        let found = end.path.join("\n");
        if let Some(path) = exactly.as_ref().filter(|path| lines(path) != found) {
            self.add(Expectation::Path, "exactly", &lines(path), &found);
        }
        if let Some(path) = includes {
            let mut all = end.path.iter();
            // Each unit of work is looked for behind the one before it.
            if !path.iter().all(|point| all.any(|found| *found == point.to_string())) {
                self.add(Expectation::Path, "includes", &lines(path), &found);
            }
        }
    }

    fn visits(&mut self, case: &Case, end: &End) {
        let PathDoc { exactly, includes } = &case.expect.visits;
        let visits = end.way.as_ref().map(|way| way.visits.as_slice()).unwrap_or_default();
        let found = visits.join("\n");
        if let Some(path) = exactly.as_ref().filter(|path| path.as_slice() != visits) {
            self.add(Expectation::Visits, "exactly", &path.join("\n"), &found);
        }
        if let Some(path) = includes {
            let mut all = visits.iter();
            if !path.iter().all(|node| all.any(|found| found == node)) {
                self.add(Expectation::Visits, "includes", &path.join("\n"), &found);
            }
        }
    }

    fn calls(&mut self, case: &Case, logs: &Logs) {
        let made = calls(logs);
        for CallDoc { tool, args } in &case.expect.calls {
            let mut of_tool = made.iter().filter(|(named, _)| named == tool).peekable();
            let found: Vec<String> = of_tool.clone().map(|(_, args)| args.to_string()).collect();
            let fits = of_tool.any(|(_, made)| args.is_null() || includes(made, args));
            if !fits {
                let wanted = if args.is_null() { String::new() } else { args.to_string() };
                self.add(Expectation::Calls, tool.as_str(), &wanted, &found.join("\n"));
            }
        }
    }

    fn not_called(&mut self, case: &Case, logs: &Logs) {
        let made = calls(logs);
        for tool in &case.expect.not_called {
            let found: Vec<String> = made
                .iter()
                .filter(|(named, _)| named == tool)
                .map(|(_, args)| args.to_string())
                .collect();
            if !found.is_empty() {
                self.add(Expectation::NotCalled, tool.as_str(), "", &found.join("\n"));
            }
        }
    }

    /// Checks the effects. Of an excused run, effects may be missing, and none may be too many.
    fn effects(&mut self, case: &Case, end: &End, excused: bool) {
        for (tool, expected) in &case.expect.effects {
            let found = end.effects.get(tool.as_str()).copied().unwrap_or_default();
            let fits = if excused { found <= *expected } else { found == *expected };
            if !fits {
                let (expected, found) = (expected.to_string(), found.to_string());
                self.add(Expectation::Effects, tool.as_str(), &expected, &found);
            }
        }
    }

    fn numbers(&mut self, case: &Case, end: &End) {
        let Expectations { questions, turns, tokens, cost, .. } = &case.expect;
        let numbers = [
            (Expectation::Questions, questions, end.questions),
            (Expectation::Turns, turns, end.turns),
            (Expectation::Tokens, tokens, end.tokens),
        ];
        for (expectation, bound, found) in numbers {
            if let Some(bound) = bound.filter(|bound| !bound.has(found)) {
                self.add(expectation, "", &bound.to_string(), &found.to_string());
            }
        }
        let found = end.cost.unwrap_or_default();
        if let Some(bound) = cost.filter(|bound| !bound.has(found)) {
            self.add(Expectation::Cost, "", &bound.to_string(), &found.to_string());
        }
    }
}

impl<N: PartialOrd + Copy> Bound<N> {
    fn has(&self, number: N) -> bool {
        self.min.is_none_or(|min| number >= min) && self.max.is_none_or(|max| number <= max)
    }
}

impl<N: std::fmt::Display + PartialEq> std::fmt::Display for Bound<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.min, &self.max) {
            (Some(min), Some(max)) if min == max => write!(f, "{min}"),
            (Some(min), Some(max)) => write!(f, "{min}..={max}"),
            (Some(min), None) => write!(f, ">= {min}"),
            (None, Some(max)) => write!(f, "<= {max}"),
            (None, None) => Ok(()),
        }
    }
}

pub(super) fn root(logs: &Logs) -> Option<(&[Entry], JobView)> {
    let job = stage::job();
    let entries = logs.get(&job)?;
    Some((entries, replay(&job, entries).view()?))
}

/// Returns the final answer or the reason of a failure, and the results of the steps.
fn outcome(view: &JobView) -> (String, Value) {
    match &view.outcome {
        Some(Outcome::Completed { summary, results, value }) => {
            let value = if value.is_null() { results } else { value };
            (summary.clone(), value.clone())
        }
        Some(Outcome::Failed { message, results, .. }) => (message.clone(), results.clone()),
        Some(Outcome::Canceled { reason }) => (reason.clone().unwrap_or_default(), Value::Null),
        None => (view.reason.clone().unwrap_or_default(), Value::Null),
    }
}

/// Returns the calls of a job and its descendants with their arguments, each once.
fn calls(logs: &Logs) -> Vec<(ToolName, Value)> {
    let mut seen = BTreeSet::new();
    let mut calls = Vec::new();
    for (job, entries) in logs {
        for decision in entries.iter().filter_map(Entry::decision) {
            if let Decision::Call(call) = decision
                && call.refused.is_none()
                && seen.insert((job.clone(), call.work.clone()))
            {
                calls.push((call.tool, call.args));
            }
        }
    }
    calls
}

/// Counts the effects of each tool in the world outside; a pure one has none. A careful idempotent tool recognises a
/// repeated key, so that its runs with one key have one effect.
fn effects(case: &Case, evidence: &Evidence) -> BTreeMap<String, u32> {
    let keyed: BTreeSet<&ToolName> = case
        .parts
        .iter()
        .filter(|part| match part.kind {
            Kind::BuiltIn(_) => false,
            Kind::Scripted { careless, .. } => !careless && part.spec.effect == Effect::Idempotent,
        })
        .map(|part| &part.spec.name)
        .collect();
    let mut seen = BTreeSet::new();
    let mut effects = BTreeMap::new();
    let had = |run: &&Run| run.effect != Effect::Pure && run.effect_at.is_some();
    for run in evidence.runs.iter().filter(had) {
        if !keyed.contains(&run.tool) || seen.insert((run.tool.clone(), run.key.clone())) {
            *effects.entry(run.tool.to_string()).or_default() += 1;
        }
    }
    effects
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
}
