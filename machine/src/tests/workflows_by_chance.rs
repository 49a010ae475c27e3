//! Workflows drawn by chance: the job machine and a small interpreter that shares no code with it give
//! the same visits, state and end.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use agents::workflow::testing::{Ended, Failure, Ready, Run, Script, Visit, drawn, run};
use proptest::prelude::*;
use proto::{
    fact::{Signal, Submitted, TurnReply},
    id::ToolName,
    interaction::Verdict,
    job::{FailReason, Outcome},
    lang::Language,
    record::Known,
    rules::Rules,
    workflow::{Work, Workflow, WorkflowRun},
};
use serde_json::{Value, json};

use super::play::{Play, agent, binding};
use crate::step::Exec;

/// Decides every outcome and the order of the ends from the name of a visit and a number.
struct Chance<'a> {
    workflow: &'a Workflow,
    number: u64,
}

fn drawn_by(number: u64, what: &str, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (number, what, name).hash(&mut hasher);
    hasher.finish()
}

fn name(visit: &Visit) -> String {
    let item = visit.item.map(|item| format!("--{item}")).unwrap_or_default();
    format!("{}--{}{item}", visit.node, visit.visit)
}

impl Chance<'_> {
    fn of(&self, name: &str) -> Result<Value, Failure> {
        let node = name.split("--").next().unwrap();
        let work = &self.workflow.nodes.iter().find(|(id, _)| id.as_str() == node).unwrap().1.work;
        let drawn = drawn_by(self.number, "outcome", name) % 8;
        match work {
            Work::Model(model) if model.reply.is_some() => Ok(json!({"yes": drawn < 5})),
            Work::Model(_) => Ok(json!("text")),
            Work::Tool(_) if drawn == 0 => Err(Failure::Error),
            Work::Tool(_) => Ok(json!({"yes": drawn < 5})),
            Work::Human(_) | Work::Event(_) if drawn < 3 => Err(Failure::Timeout),
            _ => Ok(json!({"text": "fine"})),
        }
    }
}

impl Script for Chance<'_> {
    fn outcome(&mut self, visit: &Visit) -> Result<Value, Failure> {
        self.of(&name(visit))
    }

    fn pick(&mut self, ready: &[Ready]) -> usize {
        let order = |n: &usize| drawn_by(self.number, "order", &name(&ready[*n]));
        (0..ready.len()).min_by_key(order).unwrap()
    }
}

/// Runs the workflow on the job machine with the same outcomes in the same order.
fn played(workflow: &Workflow, number: u64) -> Play {
    let chance = Chance { workflow, number };
    let tools = [(ToolName::new("work").unwrap(), binding())].into_iter().collect();
    let run = WorkflowRun {
        definition: workflow.clone(),
        input: json!({}),
        tools,
        workflows: Default::default(),
    };
    let submitted = Play::submitted(agent(|_| {}), Language::En);
    let rules = Rules::WORKFLOWS;
    let mut p = Play::submit_as(Submitted { workflow: Some(Box::new(run)), rules, ..submitted });
    p.drive();
    while !p.job.has_ended() {
        let open = p.job.open.as_ref().unwrap();
        let steps = open.execution.steps().iter().filter(|step| !step.state.is_terminal());
        let next = steps.min_by_key(|step| drawn_by(number, "order", step.id().as_str())).unwrap();
        let (id, outcome) = (next.id().to_string(), chance.of(next.id().as_str()));
        match (&next.exec, outcome) {
            (Exec::Turn(turn), Ok(value)) => {
                let work = turn.work.to_string();
                let (response, value) = match value {
                    Value::String(text) => (text, Value::Null),
                    value => (String::new(), value),
                };
                let attachments = Vec::new();
                p.turn(&work, TurnReply::Done { success: true, response, attachments, value });
            }
            (Exec::Tool(_), Ok(value)) => p.ok(&format!("g0.r0.{id}"), value),
            (Exec::Tool(_), Err(_)) => p.no(&format!("g0.r0.{id}")),
            (Exec::Asked(inquiry), outcome) => {
                let ask = inquiry.ask.clone().unwrap();
                match outcome {
                    Ok(_) => {
                        let answer = proto::interaction::Answer::respond(json!("fine"));
                        assert_eq!(answer.decision, Verdict::Respond);
                        p.answer_with(ask.as_str(), answer);
                    }
                    Err(_) => p.fire(&format!("ask-{ask}")),
                }
            }
            (Exec::Sleep(sleep), Ok(_)) => {
                let name = sleep.event.clone().unwrap();
                let visit: proto::workflow::Visit = id.parse().unwrap();
                let data = json!({"visit": visit.number, "item": visit.items.first()});
                p.signal(Signal::Event { name, data });
            }
            (Exec::Sleep(sleep), Err(_)) => {
                let timer = sleep.timer.clone().unwrap();
                p.fire(timer.as_str());
            }
            (exec, outcome) => panic!("{exec:?} {outcome:?}"),
        }
        p.drive();
    }
    p
}

/// Returns the visits of nodes with work of their own, in the order of their names.
fn visits(run: &Run, workflow: &Workflow) -> Vec<String> {
    let has_step = |visit: &&Visit| {
        matches!(
            workflow.nodes[&visit.node].work,
            Work::Model(_) | Work::Tool(_) | Work::Human(_) | Work::Event(_)
        )
    };
    let mut names: Vec<_> = run.trace.iter().filter(has_step).map(name).collect();
    names.sort();
    names
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_workflow_goes_the_way_of_the_reference(
        choices in prop::collection::vec(any::<u32>(), 0..60),
        number in any::<u64>(),
    ) {
        let workflow = drawn(&choices);
        let expected = run(&workflow, &json!({}), &mut Chance { workflow: &workflow, number });
        let play = played(&workflow, number);
        match (&expected.ended, play.outcome()) {
            (Ended::Output(output), Outcome::Completed { value, .. }) => {
                prop_assert_eq!(output, &value);
            }
            (Ended::Limit, Outcome::Failed { reason, .. }) => {
                prop_assert_eq!(reason, FailReason::BudgetExceeded);
            }
            (Ended::Error(node), Outcome::Failed { message, .. }) => {
                prop_assert!(message.contains(node.as_str()), "{}", message);
            }
            (expected, outcome) => {
                prop_assert!(false, "{:?} and {:?}", expected, outcome);
            }
        }
        let steps = play.view().plan.unwrap().steps;
        let done = |step: &&proto::view::StepView| {
            use proto::step::StepState::{Completed, Failed};
            matches!(step.state, Completed | Failed)
        };
        let mut visited: Vec<_> =
            steps.iter().filter(done).map(|step| step.id.to_string()).collect();
        visited.sort();
        prop_assert_eq!(visits(&expected, &workflow), visited);
    }

    /// A supervisor that dies after any record is replaced by one that reads the log.
    #[test]
    fn a_cold_fold_of_any_prefix_decides_what_the_log_has_next(
        choices in prop::collection::vec(any::<u32>(), 0..60),
        number in any::<u64>(),
    ) {
        let play = played(&drawn(&choices), number);
        for pair in play.log.windows(2) {
            let ((before, _, _), (_, _, next)) = (&pair[0], &pair[1]);
            let decided = play.at(before.seq).decide().map(|next| next.decision);
            match next.as_ref().unwrap() {
                Known::Decision(stored) => prop_assert_eq!(decided.as_ref(), Some(&**stored)),
                Known::Fact(_) => prop_assert_eq!(decided, None),
            }
        }
        prop_assert!(play.at(play.last()).decide().is_none());
    }
}
