//! Jobs that work for other jobs: what a child knows of its parent, and what a parent hears of its
//! children. Pure vocabulary; who publishes it is for the supervisor to say.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    agent::Agent,
    cost::Paid,
    decision::pools,
    digest,
    id::{AgentName, AskId, Attempt, JobId, Seq, ToolName, WorkId},
    interaction::Question,
    job::{JobState, Outcome},
    lang::Language,
    message::Usage,
    tool::{Approval, Effect, ToolSpec},
};

messages::texts!(agents);

/// Characters of the parent's id that are kept in a child's.
const KEPT_OF_PARENT: usize = 40;
/// Hexadecimal digits that tell the children of one parent apart.
const DIGITS: usize = 20;

/// What a child knows of the job it works for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The job that wants it done.
    pub job: JobId,
    /// The unit of work there that it is.
    pub work: WorkId,
    /// Which attempt of that.
    pub attempt: Attempt,
    /// The job at the top: nobody's child.
    pub root: JobId,
    /// Where it is, for people: the root and the steps on the way, `report-7/s2`.
    pub path: String,
    /// How many jobs are above it; at least 1.
    pub depth: u32,
}

/// An agent that may be handed a task, as it was when the job was submitted: editing it later never
/// changes a job that runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Callee {
    /// What it is for, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Its policies.
    pub agent: Agent,
}

/// All agents that a job may hand tasks to, and that these may, by name.
pub type Callees = BTreeMap<AgentName, Callee>;

/// An agent that a model or planner is offered beside tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// Its name, under which it is called.
    pub name: AgentName,
    /// What it is for, in a line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

/// A child said something to its parent. It is said at least once; hearing it again changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildSaid {
    /// The unit of work of the parent that the child is.
    pub work: WorkId,
    /// Which attempt.
    pub attempt: Attempt,
    /// The child.
    pub child: JobId,
    /// What it said.
    #[serde(flatten)]
    pub news: News,
}

/// What a child says to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "news", rename_all = "snake_case")]
pub enum News {
    /// A question waits for a person, in the child or below it.
    Asks {
        /// Where, for people.
        path: String,
        /// The job whose question it is: that is where it is answered.
        job: JobId,
        /// The question.
        question: Box<Question>,
    },
    /// A question does not wait any more.
    Closed {
        /// The job whose question it was.
        job: JobId,
        /// The question.
        ask: AskId,
    },
    /// It has ended, or is about to and nothing can change how.
    Ended {
        /// How.
        outcome: Outcome,
        /// What its model calls cost, those of its own children included.
        #[serde(default)]
        usage: Usage,
        /// The model turns it took, those of its own children included.
        #[serde(default)]
        turns: u32,
        /// What was paid for its tools, those of its own children included.
        #[serde(default, skip_serializing_if = "Paid::is_nothing")]
        paid: Paid,
    },
}

/// A child as its parent knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildView {
    /// The child.
    pub job: JobId,
    /// Its agent.
    pub agent: AgentName,
    /// Where it is, for people.
    pub path: String,
    /// The unit of work that it is.
    pub work: WorkId,
    /// Which attempt.
    pub attempt: Attempt,
    /// Where it stands, as far as the parent has been told.
    pub state: JobState,
    /// What it cost, once it has ended.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// Questions that wait for a person, in it or below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<ChildQuestion>,
}

/// A question of a job below.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChildQuestion {
    /// Where, for people.
    pub path: String,
    /// The job whose question it is: that is where it is answered.
    pub job: JobId,
    /// The question.
    pub question: Question,
}

/// The id of the child that is an attempt of a unit of work: derived, so that submitting it twice is
/// submitting it once. `first` is the first record of the parent's log: a job that is purged and
/// submitted again under its old id takes no child of its earlier life for its own. Under the first
/// [rules](crate::rules::Rules) it is not looked at.
#[must_use]
pub fn child_id(parent: &JobId, first: Option<Seq>, work: &WorkId, attempt: Attempt) -> JobId {
    let life = first.map(|first| format!("{first}/")).unwrap_or_default();
    let whole = digest::of_bytes(format!("{parent}/{life}{work}/{attempt}").as_bytes());
    let kept: String = parent.as_str().chars().take(KEPT_OF_PARENT).collect();
    let digits: String = whole.chars().take(DIGITS).collect();
    JobId::new(format!("{kept}-c{digits}")).expect("40 characters of an id, and 22 more, are an id")
}

/// The agents among `all` that an agent can reach, over however many others.
#[must_use]
pub fn reachable(agent: &Agent, all: &Callees) -> Callees {
    let mut found = Callees::new();
    let mut wanted: BTreeSet<&AgentName> = agent.agents.iter().map(|sub| &sub.name).collect();
    while let Some(name) = wanted.pop_first() {
        let Some(callee) = all.get(name).filter(|_| !found.contains_key(name)) else { continue };
        wanted.extend(callee.agent.agents.iter().map(|sub| &sub.name));
        found.insert(name.clone(), callee.clone());
    }
    found
}

/// Whether a call is bound to an agent instead of a tool.
#[must_use]
pub fn is_agent(binding: &crate::tool::Binding) -> bool {
    binding.pool.as_str() == pools::NOBODY
}

/// What a call of an agent is given.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Task {
    /// What it is to reach.
    pub goal: String,
    /// What it must know for that.
    #[serde(default)]
    pub context: String,
}

/// Agents as models and planners are offered them: like tools.
#[must_use]
pub fn as_tools(offered: &[Offered], language: Language) -> Vec<ToolSpec> {
    let spec = |one: &Offered| ToolSpec {
        name: ToolName::new(one.name.as_str()).expect("names of agents and tools are of one kind"),
        description: Text::Description { name: &one.name, about: &one.about }
            .text(language)
            .trim_end()
            .to_owned(),
        schema: serde_json::json!({
            "type": "object",
            "properties": {
                "goal": {
                    "type": "string",
                    "minLength": 1,
                    "description": Text::Goal.text(language)
                },
                "context": {
                    "type": "string",
                    "description": Text::Context.text(language)
                }
            },
            "required": ["goal"],
            "additionalProperties": false
        }),
        effect: Effect::Idempotent,
        pool: pools::nobody(),
        timeout_ms: 60_000,
        concurrency: 1,
        approval: Approval::Never,
        version: "1".to_owned(),
        commands: Vec::new(),
    };
    offered.iter().map(spec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, agents: &[&str]) -> Callee {
        let agent = serde_json::json!({"name": name, "agents": agents});
        Callee { about: String::new(), agent: serde_json::from_value(agent).unwrap() }
    }

    #[test]
    fn a_childs_id_is_derived_and_always_an_id() {
        let (work, attempt) = (WorkId::new("g0.r0.s1").unwrap(), Attempt::FIRST);
        let mut job = JobId::new("j".repeat(64)).unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..10 {
            let child = child_id(&job, Some(Seq(1)), &work, attempt);
            assert_eq!(child, child_id(&job, Some(Seq(1)), &work, attempt));
            assert!(seen.insert(child.clone()));
            assert!(seen.insert(child_id(&job, Some(Seq(1)), &work, attempt.next())));
            assert!(seen.insert(child_id(&job, Some(Seq(2)), &work, attempt)));
            job = child;
        }
        let short = child_id(&JobId::new("report-7").unwrap(), None, &work, attempt);
        assert!(short.as_str().starts_with("report-7-c"), "{short}");
    }

    #[test]
    fn only_what_can_be_reached_is_handed_on_and_circles_end() {
        let all: Callees =
            [named("a", &["b"]), named("b", &["a", "c"]), named("c", &[]), named("d", &["a"])]
                .into_iter()
                .map(|callee| (callee.agent.name.clone(), callee))
                .collect();
        let reach = |from: &str| {
            let agent = &all[&AgentName::new(from).unwrap()].agent;
            reachable(agent, &all).into_keys().map(|n| n.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(reach("d"), "a b c");
        assert_eq!(reach("a"), "a b c");
        assert_eq!(reach("c"), "");
    }
}
