//! The path of a job: the work that its log orders, in order, each unit once.

use std::{collections::BTreeSet, fmt};

use proto::{
    decision::Decision,
    entry::Entry,
    id::{AgentName, ToolName},
    interaction::KindOfQuestion,
};

/// A unit of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Waypoint {
    /// A round with the planner.
    Plan,
    /// A model turn.
    Turn,
    /// A call of a tool.
    Call(ToolName),
    /// A question to a person.
    Ask(KindOfQuestion),
    /// A task for a sub-agent.
    Spawn(AgentName),
}

/// The kinds of question, by their words in a path.
const KINDS: [KindOfQuestion; 5] = [
    KindOfQuestion::PlanCheck,
    KindOfQuestion::Question,
    KindOfQuestion::Choice,
    KindOfQuestion::Form,
    KindOfQuestion::ToolApproval,
];

impl Waypoint {
    /// Parses the form in which files write a unit of work: `plan`, `turn`, `call TOOL`, `ask KIND`,
    /// `spawn AGENT`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.trim().split_once(' ') {
            None => match text.trim() {
                "plan" => Some(Self::Plan),
                "turn" => Some(Self::Turn),
                _ => None,
            },
            Some(("call", tool)) => ToolName::new(tool.trim()).ok().map(Self::Call),
            Some(("spawn", agent)) => AgentName::new(agent.trim()).ok().map(Self::Spawn),
            Some(("ask", kind)) => {
                KINDS.into_iter().find(|known| known.as_str() == kind.trim()).map(Self::Ask)
            }
            Some(_) => None,
        }
    }
}

impl fmt::Display for Waypoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan => f.write_str("plan"),
            Self::Turn => f.write_str("turn"),
            Self::Call(tool) => write!(f, "call {tool}"),
            Self::Ask(kind) => write!(f, "ask {}", kind.as_str()),
            Self::Spawn(agent) => write!(f, "spawn {agent}"),
        }
    }
}

/// Returns the path of a log. A unit of work that was attempted several times is in it once.
pub(super) fn of(entries: &[Entry]) -> Vec<Waypoint> {
    let mut seen = BTreeSet::new();
    let mut path = Vec::new();
    let decisions = entries.iter().filter_map(Entry::decision);
    for decision in decisions.flat_map(Decision::into_commands) {
        let (work, point) = match decision {
            Decision::Plan(plan) => (plan.work, Waypoint::Plan),
            Decision::Turn(turn) => (turn.work, Waypoint::Turn),
            Decision::Call(call) => (call.work, Waypoint::Call(call.tool)),
            Decision::Ask(ask) => {
                let kind = KindOfQuestion::from(&ask.question.kind);
                let point = Waypoint::Ask(kind);
                // A question has the unit of work that needs the answer.
                if seen.insert(format!("ask {}", ask.question.id)) {
                    path.push(point);
                }
                continue;
            }
            Decision::Spawn(spawn) => (spawn.work, Waypoint::Spawn(spawn.agent.name)),
            Decision::Wait(_) | Decision::Note(_) | Decision::Done(_) | Decision::Finish(_) => {
                continue;
            }
        };
        if seen.insert(work.to_string()) {
            path.push(point);
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("plan")]
    #[case("turn")]
    #[case("call find_order")]
    #[case("ask tool_approval")]
    #[case("spawn researcher")]
    fn a_unit_of_work_is_written_as_it_is_read(#[case] text: &str) {
        assert_eq!(Waypoint::parse(text).unwrap().to_string(), text);
    }

    #[rstest]
    #[case("")]
    #[case("call")]
    #[case("ask nobody")]
    #[case("find_order")]
    fn other_words_are_no_unit_of_work(#[case] text: &str) {
        assert_eq!(Waypoint::parse(text), None);
    }
}
