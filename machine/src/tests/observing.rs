//! Policies of step execution, and the form in which models are shown results.

use proto::{
    agent::{Agent, StepExec},
    conversation::{Conversation, Exchange},
    decision::Decision,
    fact::{PlanReply, Submitted},
    id::{ConversationId, JobId},
    interaction::Answer,
    job::{JobState, Outcome},
    lang::Language,
    observe::Observe,
    plan::Action,
    retry::RetryPolicy,
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, calls, plan, plan_with, question, refused_call, tool_call};

fn looping(change: impl FnOnce(&mut Agent)) -> Play {
    let mut p = Play::planned(agent(change), plan_with("a", |_| Action::Agent));
    p.drive();
    p
}

fn reply(p: &Play, n: usize) -> String {
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    turn.replies[n].text.clone()
}

#[rstest]
#[case::plain("x")]
#[case::chinese("汉")]
#[case::wide("🎭")]
fn a_model_is_shown_both_ends_of_a_long_result_by_policy(#[case] one: &str) {
    for (head, tail, longest) in [(4960, 4960, 10_000), (1000, 1000, 2_040), (10, 0, 50)] {
        let mut p = looping(|a| a.observe = Observe { head, tail, ..Observe::default() });
        p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("x", "read", json!({}))]));
        p.drive();
        p.ok("g0.r0.a.n1.t1.c0", json!(one.repeat(40_000)));
        p.drive();
        let shown = reply(&p, 0);
        assert!(shown.chars().count() <= longest, "{head}/{tail}: {}", shown.chars().count());
        assert!(shown.starts_with("{\"success\""));
        assert!(shown.contains("characters cut]"));
    }
}

#[test]
fn the_window_travels_with_the_command_and_is_left_out_where_it_is_the_default() {
    let mut p = Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent));
    let Decision::Turn(turn) = p.job.decide().unwrap().decision else { panic!("no turn") };
    let written = serde_json::to_value(&turn).unwrap();
    for absent in ["window", "notices", "must_answer", "max_calls"] {
        assert!(written.get(absent).is_none(), "{absent}: {written}");
    }
    p.drive();
    let narrow = agent(|a| a.observe.context_tokens = Some(5000));
    let p = Play::planned(narrow, plan_with("a", |_| Action::Agent));
    let Decision::Turn(turn) = p.job.decide().unwrap().decision else { panic!("no turn") };
    assert_eq!(turn.window.tokens, Some(5000));
}

#[test]
fn more_calls_than_a_turn_may_have_are_told_and_not_run() {
    let mut p = looping(|a| a.step.max_calls = 2);
    let wanted = |n: usize| tool_call(&format!("c{n}"), "read", json!({"n": n}));
    let unknown = refused_call("r", "fly", json!({}));
    p.turn("g0.r0.a.n1.t1", calls(vec![wanted(0), unknown, wanted(1), wanted(2)]));
    p.expect(&["call g0.r0.a.n1.t1.c0 #1", "call g0.r0.a.n1.t1.c2 #1"]);
    p.ok("g0.r0.a.n1.t1.c0", json!(0));
    p.ok("g0.r0.a.n1.t1.c2", json!(1));
    p.drive();
    assert!(reply(&p, 3).starts_with("Only 2 calls of a turn"), "{}", reply(&p, 3));
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.max_calls, Some(2));
}

#[test]
fn a_single_action_is_the_step() {
    let mut p = looping(|a| a.step.exec = StepExec::SingleAction);
    let wanted = |n: usize| tool_call(&format!("c{n}"), "read", json!({"n": n}));
    p.turn("g0.r0.a.n1.t1", calls(vec![wanted(0), wanted(1)]));
    p.expect(&["call g0.r0.a.n1.t1.c0 #1"]);
    p.ok("g0.r0.a.n1.t1.c0", json!({"id": 7}));
    p.expect(&["finish completed"]);
    let Outcome::Completed { results, .. } = p.outcome() else { panic!("not completed") };
    assert_eq!(results, json!({"a": {"id": 7}}));
}

#[test]
fn what_is_said_instead_of_a_single_action_is_the_result() {
    let mut p = looping(|a| a.step.exec = StepExec::SingleAction);
    p.done("g0.r0.a.n1.t1", true, "nothing needs to be done");
    p.expect(&["finish completed"]);
}

#[test]
fn a_single_action_that_fails_fails_the_run() {
    let mut p = looping(|a| {
        a.step.exec = StepExec::SingleAction;
        a.step.retry = RetryPolicy { max_attempts: 2, jitter: 0.0, ..RetryPolicy::default() };
    });
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("x", "read", json!({}))]));
    p.drive();
    p.no("g0.r0.a.n1.t1.c0");
    p.expect(&["wait g0.r0.a #2"]);
    p.fire("retry-1");
    p.expect(&["turn g0.r0.a.n2.t1 #1"]);
}

#[test]
fn a_single_action_that_cannot_be_run_is_told_to_the_model() {
    let mut p = looping(|a| a.step.exec = StepExec::SingleAction);
    p.turn("g0.r0.a.n1.t1", calls(vec![refused_call("x", "fly", json!({}))]));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    assert_eq!(reply(&p, 0), "there is no tool fly");
}

#[test]
fn a_question_can_be_the_single_action() {
    let mut p = looping(|a| a.step.exec = StepExec::SingleAction);
    p.turn("g0.r0.a.n1.t1", calls(vec![question("x", "Which?")]));
    p.expect(&["ask q1 question"]);
    p.answer_with("q1", Answer::respond(json!("the red one")));
    p.expect(&["finish completed"]);
}

#[rstest]
#[case::direct_tool(StepExec::DirectTool, "every step must be one tool call")]
#[case::master_loop(StepExec::MasterLoop, "no step may name a tool")]
fn a_plan_that_cannot_be_carried_out_so_goes_back_to_the_planner(
    #[case] exec: StepExec,
    #[case] why: &str,
) {
    let calls = plan("a");
    let tasks = plan_with("a", |_| Action::Agent);
    let (wrong, right) = if exec == StepExec::DirectTool { (tasks, calls) } else { (calls, tasks) };
    let mut p = Play::submit(agent(|a| a.step.exec = exec));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: wrong });
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one round") };
    assert!(format!("{:?}", work.dialogue).contains(why), "{:?}", work.dialogue);
    p.reply(2, PlanReply::Plan { plan: right });
    assert_eq!(p.drive().len(), 1);
}

#[test]
fn what_was_said_before_reaches_the_planner_and_every_loop() {
    let earlier = vec![Exchange {
        untrusted: None,
        job: JobId::new("first").unwrap(),
        goal: "find a hotel".into(),
        state: JobState::Completed,
        response: "The Palace".into(),
        results: String::new(),
        plan: Vec::new(),
        omitted_steps: 0,
    }];
    let id = ConversationId::new("trip").unwrap();
    let mut p = Play::submit_as(Submitted {
        goal: "book it".into(),
        agent: agent(|_| {}),
        language: Language::En,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: Some(Conversation { id: id.clone(), earlier: earlier.clone(), omitted: 0 }),
        parent: None,
        agents: Default::default(),
        forked: None,
        plan: None,
        workflow: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    });
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one round") };
    assert_eq!(work.earlier, earlier);
    p.reply(1, PlanReply::Plan { plan: plan_with("a", |_| Action::Agent) });
    p.drive();
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.task.as_ref().unwrap().earlier, earlier);
    assert_eq!(p.view().conversation, Some(id));
}

#[test]
fn planners_and_steps_that_need_a_result_see_as_much_of_it_as_the_policy_says() {
    let observe = Observe { head: 30, tail: 10, ..Observe::default() };
    let change = |a: &mut Agent| {
        a.observe = observe.clone();
        a.replan.when = Some(proto::agent::ReplanWhen::AfterEachStep);
        a.replan.apply = proto::agent::ReplanApply::ReplaceAll;
    };
    let long = "0123456789".repeat(300);
    let mut p = Play::planned(agent(change), plan("a"));
    p.drive();
    p.ok("g0.r0.a", json!(long));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let shown = work.dialogue.iter().find_map(|talk| match talk {
        proto::decision::PlanTalk::Progressed { steps, .. } => Some(steps[0].response.clone()),
        _ => None,
    });
    assert_eq!(shown, Some(observe.cut(&long)));
    let mut next = plan_with("b<a", |_| Action::Agent);
    next.title = "read it".into();
    p.reply(2, PlanReply::Plan { plan: next });
    p.drive();
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.task.as_ref().unwrap().dependencies[0].response, observe.cut(&long));
    assert!(Observe::default().cut(&long).len() == long.len(), "by default nothing of it is cut");
}
