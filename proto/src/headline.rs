//! The headline of a job: the parts of its submission by which lists select it. They never change.

use serde::Deserialize;

use crate::{
    excerpt,
    fact::Submitted,
    id::{AgentName, ConversationId, JobId},
    label::Labels,
    record::{Body, Record},
};

/// Characters of a goal that a row of a list shows, and that lists search.
pub const GOAL_CHARS: usize = 200;

/// Returns the part of a goal that a row of a list shows.
#[must_use]
pub fn goal(goal: &str) -> String {
    excerpt::first_line(goal, GOAL_CHARS)
}

/// The parts of a submission by which lists select jobs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headline {
    /// Name of the agent.
    pub agent: AgentName,
    /// Parent of the job, when the job is a child.
    pub parent: Option<JobId>,
    /// Conversation that the job belongs to.
    pub conversation: Option<ConversationId>,
    /// Labels of the job.
    pub labels: Labels,
    /// Goal as a row shows it, in lower case.
    pub goal: Box<str>,
}

/// The same parts in a record. The rest of the record is not parsed.
#[derive(Deserialize)]
struct Fields {
    goal: String,
    agent: Named,
    #[serde(default)]
    parent: Option<Above>,
    #[serde(default)]
    conversation: Option<Within>,
    #[serde(default)]
    labels: Labels,
}

#[derive(Deserialize)]
struct Named {
    name: AgentName,
}

#[derive(Deserialize)]
struct Above {
    job: JobId,
}

#[derive(Deserialize)]
struct Within {
    id: ConversationId,
}

impl Headline {
    /// Returns the headline of a submission.
    #[must_use]
    pub fn of(submitted: &Submitted) -> Self {
        Self {
            agent: submitted.agent.name.clone(),
            parent: submitted.parent.as_ref().map(|parent| parent.job.clone()),
            conversation: submitted.conversation.as_ref().map(|within| within.id.clone()),
            labels: submitted.labels.clone(),
            goal: goal(&submitted.goal).to_lowercase().into(),
        }
    }

    /// Returns the headline of the record of a submission, or `None` if its body is stored apart or
    /// cannot be read.
    #[must_use]
    pub fn of_record(record: &Record) -> Option<Self> {
        let Body::Inline(body) = &record.body else { return None };
        let fields: Fields = serde_json::from_str(body.get()).ok()?;
        Some(Self {
            agent: fields.agent.name,
            parent: fields.parent.map(|parent| parent.job),
            conversation: fields.conversation.map(|within| within.id),
            labels: fields.labels,
            goal: goal(&fields.goal).to_lowercase().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headline_of_a_record_is_that_of_its_submission() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1");
        let mut seen = 0;
        for file in std::fs::read_dir(dir).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !name.starts_with("submitted.") {
                continue;
            }
            let record = Record::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let submitted = record.fact().unwrap().into_submitted().unwrap();
            assert_eq!(Headline::of_record(&record), Some(Headline::of(&submitted)), "{name}");
            seen += 1;
        }
        assert!(seen > 10, "{seen}");
    }
}
