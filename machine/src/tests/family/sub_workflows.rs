//! Workflows that nodes of other workflows run as child jobs.

use proto::{
    rules::Rules,
    workflow::{EventName, SubWorkflow, Workflow, WorkflowName, WorkflowRun},
};

use super::*;

fn definition(name: &str, mut definition: Value) -> Workflow {
    definition["workflow"] = json!(name);
    definition["version"] = json!(1);
    serde_json::from_value(definition).unwrap()
}

/// A workflow that asks the sub-workflow `inner`, which waits for an event.
fn run(input: &Value) -> WorkflowRun {
    let outer = definition(
        "outer",
        json!({
            "state": {"got": {"schema": {}}},
            "start": "below",
            "nodes": {
                "below": {
                    "work": {
                        "type": "agent", "does": {"workflow": {"workflow": "inner", "input": input}},
                    },
                    "write": {"got": "{{ result.twice }}"},
                    "on_error": "failed",
                    "next": [{"to": "end"}],
                },
                "failed": {
                    "work": {"type": "set"}, "write": {"got": "failed"}, "next": [{"to": "end"}],
                },
            },
        }),
    );
    let inner = definition(
        "inner",
        json!({
            "input": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},
            "state": {"twice": {"schema": {"type": "integer"}}},
            "start": "wait",
            "nodes": {"wait": {
                "work": {"type": "event", "event": "go"},
                "write": {"twice": "{{ input.n + input.n }}"},
                "next": [{"to": "end"}],
            }},
        }),
    );
    let sub = SubWorkflow { definition: inner, tools: BTreeMap::new() };
    let workflows = BTreeMap::from([(WorkflowName::new("inner").unwrap(), sub)]);
    let input = json!({"n": 4});
    WorkflowRun { definition: outer, input, tools: BTreeMap::new(), workflows }
}

fn begun(run: WorkflowRun, change: impl FnOnce(&mut Agent)) -> Kin {
    let submitted = Play::submitted(agent(change), Language::En);
    let (workflow, rules) = (Some(Box::new(run)), Rules::WORKFLOWS);
    let play = Play::submit_as(Submitted { workflow, rules, ..submitted });
    let jobs = BTreeMap::from([(play.job.id().clone(), play)]);
    let mut kin = Kin { jobs, times: 2, submitted: 0 };
    kin.run();
    kin
}

fn go() -> Signal {
    Signal::Event { name: EventName::new("go").unwrap(), data: Value::Null }
}

fn got(kin: &mut Kin) -> Value {
    match kin.root().outcome() {
        Outcome::Completed { value, .. } => value["got"].clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_sub_workflow_is_a_job_of_its_own_whose_output_is_the_result() {
    let mut kin = begun(run(&json!({"n": "{{ input.n }}"})), |_| {});
    let child = kin.child("g0.r0.below--1", 1);
    assert_eq!(child.states(), "wait--1:waiting");
    child.signal(go());
    kin.run();
    assert_eq!(got(&mut kin), json!(8));
    assert_eq!(kin.view().children.len(), 1);
    let again = kin.root().folded();
    assert_eq!(again.view(), kin.root().job.view());
}

#[test]
fn an_input_that_does_not_fit_is_an_error_of_the_node() {
    let mut kin = begun(run(&json!({"n": "{{ 'four' }}"})), |_| {});
    assert_eq!(got(&mut kin), json!("failed"));
    assert_eq!(kin.submitted, 0);
}

#[test]
fn a_job_without_depth_left_runs_no_sub_workflow() {
    let mut kin = begun(run(&json!({"n": 1})), |a| a.budget.depth = 0);
    assert_eq!(got(&mut kin), json!("failed"));
    assert_eq!(kin.submitted, 0);
}

#[test]
fn a_cancellation_ends_the_sub_workflow() {
    let mut kin = begun(run(&json!({"n": 1})), |_| {});
    kin.root().signal(Signal::Cancel);
    kin.run();
    assert_eq!(kin.child("g0.r0.below--1", 1).view().state, JobState::Canceled);
    assert_eq!(kin.view().state, JobState::Canceled);
}

#[test]
fn a_rollback_runs_the_sub_workflow_again() {
    let mut kin = begun(run(&json!({"n": 1})), |_| {});
    let before = Seq(1);
    assert!(kin.root().back(before));
    kin.run();
    let child = kin.child("g1.r0.below--1", 1);
    child.signal(go());
    kin.run();
    assert_eq!(got(&mut kin), json!(2));
}

/// A job whose plan hands a task to a sub-agent with a workflow that takes such a goal.
fn greeting(goal: &Value) -> Kin {
    let greet = definition(
        "greet",
        json!({
            "input": {"type": "object", "properties": {"goal": goal}},
            "output": {"said": "{{ input.goal }}"},
            "start": "go",
            "nodes": {"go": {"work": {"type": "set"}, "next": [{"to": "end"}]}},
        }),
    );
    let (tools, workflows) = (BTreeMap::new(), BTreeMap::new());
    let run = WorkflowRun { definition: greet, input: json!({}), tools, workflows };
    let mut agents = callees(|_| {});
    agents.get_mut(&name("helper")).unwrap().workflow = Some(Box::new(run));
    let submitted = Play::submitted(agent(subs), Language::En);
    let rules = Rules::WORKFLOWS;
    let play = Play::submit_as(Submitted { agents, rules, ..submitted });
    let jobs = BTreeMap::from([(play.job.id().clone(), play)]);
    let mut kin = Kin { jobs, times: 2, submitted: 0 };
    kin.run();
    kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
    kin.run();
    kin
}

#[test]
fn a_sub_agent_with_a_workflow_runs_it_with_its_task_as_the_goal() {
    let mut kin = greeting(&json!({"type": "string"}));
    let child = kin.child("g0.r0.a", 1).view();
    assert_eq!(child.graph.as_ref().unwrap().name.as_str(), "greet");
    let Some(Outcome::Completed { value, .. }) = child.outcome else { panic!("{child:?}") };
    assert_eq!(value, json!({"said": "do a\n\nContext:\nall there is"}));
    assert_eq!(kin.root().states(), "a:completed");
}

#[test]
fn a_task_that_does_not_fit_the_workflow_of_a_sub_agent_fails_and_begins_no_job() {
    let mut kin = greeting(&json!({"type": "string", "maxLength": 3}));
    assert_eq!((kin.submitted, kin.root().states().as_str()), (0, "a:failed"));
    let Outcome::Failed { message, .. } = kin.root().outcome() else { panic!("it does not fail") };
    assert!(message.contains("does not fit the workflow greet"), "{message}");
}
