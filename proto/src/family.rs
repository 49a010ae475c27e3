//! Parent and child jobs: the child's reference to its parent, and the child's messages to it. The
//! module is pure; the supervisor decides who publishes the messages.

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
    workflow::WorkflowRun,
};

messages::texts!(agents);

/// Number of characters of the parent's id at the start of a child's id.
const KEPT_OF_PARENT: usize = 40;
/// Number of hexadecimal digits that distinguish the children of one parent.
const DIGITS: usize = 20;

/// The parent of a child job, in the child's submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Parent {
    /// Id of the parent.
    pub job: JobId,
    /// Unit of the parent's work that the child carries out.
    pub work: WorkId,
    /// Attempt at the unit.
    pub attempt: Attempt,
    /// Root of the family, which has no parent.
    pub root: JobId,
    /// Path to the child, for users: the root and the steps on the way, `report-7/s2`.
    pub path: String,
    /// Number of ancestors; at least 1.
    pub depth: u32,
}

/// An agent that a job may delegate to, as of the job's submission. Editing the agent later never
/// changes a running job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Callee {
    /// Purpose of the agent, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Policies of the agent.
    pub agent: Agent,
    /// Workflow that the agent's jobs run in place of a plan; its input is that of each task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<Box<WorkflowRun>>,
}

/// The agents that a job and its descendants may delegate to, by name.
pub type Callees = BTreeMap<AgentName, Callee>;

/// An agent that models and planners are offered as a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Offered {
    /// Name of the agent, by which the model calls it.
    pub name: AgentName,
    /// Purpose of the agent, in one line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

/// A message of a child to its parent. It is delivered at least once; a repetition changes nothing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChildSaid {
    /// Unit of the parent's work that the child carries out.
    pub work: WorkId,
    /// Attempt at the unit.
    pub attempt: Attempt,
    /// Id of the child.
    pub child: JobId,
    /// Content of the message.
    #[serde(flatten)]
    pub news: News,
}

/// The content of a child's message to its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "news", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "facts are kept boxed")]
pub enum News {
    /// A question of the child or of one of its descendants is open.
    Asks {
        /// Path to the job that asks, for users.
        path: String,
        /// Job that asks. The question is answered under this id.
        job: JobId,
        /// Question that was asked.
        question: Box<Question>,
    },
    /// A question is no longer open.
    Closed {
        /// Job that asked.
        job: JobId,
        /// Id of the question.
        ask: AskId,
    },
    /// The child has ended, or is about to end with an outcome that is final.
    Ended {
        /// Outcome of the child.
        outcome: Outcome,
        /// Tokens that the child and its descendants used.
        #[serde(default)]
        usage: Usage,
        /// Model turns of the child and its descendants.
        #[serde(default)]
        turns: u32,
        /// Cost of the tools of the child and its descendants.
        #[serde(default, skip_serializing_if = "Paid::is_nothing")]
        paid: Paid,
    },
}

/// A child as seen by its parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChildView {
    /// Id of the child.
    pub job: JobId,
    /// Agent of the child.
    pub agent: AgentName,
    /// Path to the child, for users.
    pub path: String,
    /// Unit of the parent's work that the child carries out.
    pub work: WorkId,
    /// Attempt at the unit.
    pub attempt: Attempt,
    /// Last state that the child reported to the parent.
    pub state: JobState,
    /// Tokens that the child and its descendants used, once the child has ended.
    #[serde(default, skip_serializing_if = "Usage::is_nothing")]
    pub usage: Usage,
    /// Open questions of the child and its descendants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<ChildQuestion>,
}

/// An open question of a descendant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ChildQuestion {
    /// Path to the job that asks, for users.
    pub path: String,
    /// Job that asks. The question is answered under this id.
    pub job: JobId,
    /// Question that was asked.
    pub question: Question,
}

/// Returns the id of the child for an attempt at a unit of work. The id is derived, so submitting
/// the child again attaches to the same job. `first` is the position of the first record of the
/// parent's log: a parent that was purged and submitted again under its old id has other children.
#[must_use]
pub fn child_id(parent: &JobId, first: Seq, work: &WorkId, attempt: Attempt) -> JobId {
    let whole = digest::of_bytes(format!("{parent}/{first}/{work}/{attempt}").as_bytes());
    let kept: String = parent.as_str().chars().take(KEPT_OF_PARENT).collect();
    let digits: String = whole.chars().take(DIGITS).collect();
    JobId::new(format!("{kept}-c{digits}")).expect("40 characters of an id, and 22 more, are an id")
}

/// Returns the agents among `all` that `agent` can delegate to, directly or through others.
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

/// Returns whether a call is bound to an agent instead of a tool.
#[must_use]
pub fn is_agent(binding: &crate::tool::Binding) -> bool {
    binding.pool.as_str() == pools::NOBODY
}

/// The arguments of a call of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
pub struct Task {
    /// Goal of the child.
    pub goal: String,
    /// Context that the child needs for the goal.
    #[serde(default)]
    pub context: String,
}

/// Returns the descriptions of agents as tools, for models and planners.
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
        destructive: false,
        untrusted: false,
        version: "1".to_owned(),
        commands: Vec::new(),
        translations: BTreeMap::new(),
    };
    offered.iter().map(spec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, agents: &[&str]) -> Callee {
        let agent = serde_json::json!({"name": name, "agents": agents});
        Callee {
            about: String::new(),
            agent: serde_json::from_value(agent).unwrap(),
            workflow: None,
        }
    }

    #[test]
    fn a_childs_id_is_derived_and_always_an_id() {
        let (work, attempt) = (WorkId::new("g0.r0.s1").unwrap(), Attempt::FIRST);
        let mut job = JobId::new("j".repeat(64)).unwrap();
        let mut seen = BTreeSet::new();
        for _ in 0..10 {
            let child = child_id(&job, Seq(1), &work, attempt);
            assert_eq!(child, child_id(&job, Seq(1), &work, attempt));
            assert!(seen.insert(child.clone()));
            assert!(seen.insert(child_id(&job, Seq(1), &work, attempt.next())));
            assert!(seen.insert(child_id(&job, Seq(2), &work, attempt)));
            job = child;
        }
        let short = child_id(&JobId::new("report-7").unwrap(), Seq(1), &work, attempt);
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
