//! The job: a plan of four steps in a diamond, each of which answers at once with 200 bytes made
//! from what it depends on. Pure, so that the submitter can check the result it sees.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Length of a step's result in bytes.
const RESULT_BYTES: usize = 200;

/// What is submitted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// Unique over the run.
    pub id: String,
    /// What is wanted, in words.
    pub goal: String,
    /// How long every activity sleeps, in milliseconds; 0 answers at once.
    pub sleep_ms: u64,
    /// Whether the job waits for an approval between its plan and its first step.
    pub approve: bool,
}

impl Job {
    /// A job with the goal that all jobs have.
    pub fn new(id: String) -> Self {
        let goal = "Compare the three offers and write a summary of one page".to_owned();
        Self { id, goal, sleep_ms: 0, approve: false }
    }
}

/// A step of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlannedStep {
    /// Its name within the job.
    pub id: String,
    /// The steps whose results it gets.
    pub needs: Vec<String>,
}

/// What the activity of a step is given.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StepInput {
    /// The step.
    pub id: String,
    /// The job's goal.
    pub goal: String,
    /// The results of the steps it needs, by their names.
    pub results: BTreeMap<String, String>,
    /// How long to sleep, in milliseconds.
    pub sleep_ms: u64,
}

/// The plan activity.
pub async fn plan(job: &Job) -> Vec<PlannedStep> {
    rest(job.sleep_ms).await;
    diamond()
}

/// The activity of a step.
pub async fn step(input: &StepInput) -> String {
    rest(input.sleep_ms).await;
    answer(input)
}

/// The steps that can start: not done yet, and everything they need is.
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

/// The result of the job, which is the result of its last step.
pub fn finished(mut done: BTreeMap<String, String>) -> String {
    done.remove("s4").unwrap_or_default()
}

/// The result that a job must have; what the submitter compares with.
pub(crate) fn expected(job: &Job) -> String {
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

/// `<step>:<crc32 of the goal and of the results, in the order of their names>`, filled up with dots.
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
        // As harness/work.py has it.
        assert!(expected(&job).starts_with("s4:6c3529bf..."), "{}", expected(&job));
    }
}
