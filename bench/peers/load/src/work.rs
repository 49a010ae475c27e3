//! The job: a plan of four steps in a diamond. Each step answers at once with 200 bytes that depend
//! on its inputs. The functions are pure, so that the submitter can check the result.
//!
//! A job with `graph` is a workflow in place of a plan: a draft in three rounds of a loop, a branch on
//! the number of rounds, two paths at the same time, and a merge after both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The length of a step's result, in bytes.
const RESULT_BYTES: usize = 200;

/// A submission.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The id of the job, unique over the run.
    pub id: String,
    /// The goal, in natural language.
    pub goal: String,
    /// The time that every activity sleeps, in milliseconds. With 0 it answers at once.
    pub sleep_ms: u64,
    /// `true` if the job waits for an approval between its plan and its first step.
    pub approve: bool,
    /// `true` if the job is the workflow, whose activities are steps too.
    pub graph: bool,
}

impl Job {
    /// Creates a job with the goal that all jobs share.
    pub fn new(id: String) -> Self {
        let goal = "Compare the three offers and write a summary of one page".to_owned();
        Self { id, goal, sleep_ms: 0, approve: false, graph: false }
    }
}

/// The number of rounds of the workflow's loop.
pub const ROUNDS: u32 = 3;

/// Returns the input of a node of the workflow, with the results that it reads, by the names of
/// their nodes.
pub fn node(job: &Job, id: &str, results: &[(&str, &str)]) -> StepInput {
    let results = results.iter().map(|(id, result)| ((*id).to_owned(), (*result).to_owned()));
    let (goal, sleep_ms) = (job.goal.clone(), job.sleep_ms);
    StepInput { id: id.to_owned(), goal, results: results.collect(), sleep_ms }
}

/// A step of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlannedStep {
    /// The name of the step, unique within the job.
    pub id: String,
    /// The names of the steps whose results are this step's input.
    pub needs: Vec<String>,
}

/// The input of a step's activity.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StepInput {
    /// The name of the step.
    pub id: String,
    /// The job's goal.
    pub goal: String,
    /// The results of the required steps, by name.
    pub results: BTreeMap<String, String>,
    /// The time to sleep, in milliseconds.
    pub sleep_ms: u64,
}

/// Runs the plan activity.
pub async fn plan(job: &Job) -> Vec<PlannedStep> {
    rest(job.sleep_ms).await;
    diamond()
}

/// Runs the activity of a step.
pub async fn step(input: &StepInput) -> String {
    rest(input.sleep_ms).await;
    answer(input)
}

/// Returns the inputs of the steps that can start: steps that are not done and whose required steps
/// all are.
pub fn ready(job: &Job, plan: &[PlannedStep], done: &BTreeMap<String, String>) -> Vec<StepInput> {
    plan.iter()
        .filter(|step| !done.contains_key(&step.id))
        .filter_map(|step| {
            let results: Option<BTreeMap<_, _>> = step
                .needs
                .iter()
                .map(|need| done.get(need).map(|result| (need.clone(), result.clone())))
                .collect();
            results.map(|results| StepInput {
                id: step.id.clone(),
                goal: job.goal.clone(),
                results,
                sleep_ms: job.sleep_ms,
            })
        })
        .collect()
}

/// Returns the result of the job, which is that of its last step.
pub fn finished(mut done: BTreeMap<String, String>) -> String {
    done.remove("s4").unwrap_or_default()
}

/// Returns the result that a job must have. The submitter compares the actual result with it.
pub(crate) fn expected(job: &Job) -> String {
    if job.graph {
        let mut draft = String::new();
        for _ in 0..ROUNDS {
            draft = answer(&node(job, "draft", &[("draft", &draft)]));
        }
        let path = |id| answer(&node(job, id, &[("draft", &draft)]));
        let (left, right) = (path("left"), path("right"));
        return answer(&node(job, "merge", &[("left", &left), ("right", &right)]));
    }
    let (plan, mut done) = (diamond(), BTreeMap::new());
    while done.len() < plan.len() {
        for input in ready(job, &plan, &done) {
            done.insert(input.id.clone(), answer(&input));
        }
    }
    finished(done)
}

fn diamond() -> Vec<PlannedStep> {
    let step = |id: &str, needs: &[&str]| PlannedStep {
        id: id.to_owned(),
        needs: needs.iter().map(|&need| need.to_owned()).collect(),
    };
    vec![step("s1", &[]), step("s2", &["s1"]), step("s3", &["s1"]), step("s4", &["s2", "s3"])]
}

/// Returns `<step>:<crc32 of the goal and the results, in the order of their names>`, padded with
/// dots.
fn answer(input: &StepInput) -> String {
    let mut crc = crc32fast::Hasher::new();
    crc.update(input.goal.as_bytes());
    for result in input.results.values() {
        crc.update(result.as_bytes());
    }
    let text = format!("{}:{:08x}", input.id, crc.finalize());
    format!("{text:.<RESULT_BYTES$}")
}

async fn rest(milliseconds: u64) {
    if milliseconds > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(milliseconds)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_depends_on_every_step() {
        let job = Job::new("j".to_owned());
        let other = Job { goal: "Something else".to_owned(), ..job.clone() };
        assert_eq!(expected(&job).len(), RESULT_BYTES);
        assert_ne!(expected(&job), expected(&other));
        // The same value as in harness/work.py.
        assert!(expected(&job).starts_with("s4:6c3529bf..."), "{}", expected(&job));
        let graph = Job { graph: true, ..job };
        assert!(expected(&graph).starts_with("merge:92c64243..."), "{}", expected(&graph));
    }
}
