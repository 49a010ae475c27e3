//! Facts of a worker that claims more than the job's agent permits.

use jiff::Timestamp;
use proto::{
    agent::{Agent, OnFailure, StepExec},
    decision::{CallWork, Decision, PlanTalk},
    event::{Happened, ToolPhase},
    fact::{CallTarget, PlanReply, Submitted, TurnCall},
    id::ToolName,
    interaction::{Answer, QuestionKind, Verdict},
    job::{FailReason, Outcome, SubStatus},
    lang::Language,
    outline::{self, OutlineChange},
    plan::{Action, Plan},
    policy::PlanProtocol,
    record::Known,
    tool::{Approval, Binding, Effect, ToolResult, ToolSpec},
    work_error::{ErrorClass, WorkError},
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent, binding, calls, plan, plan_with, question, tool_call};
use crate::events::Projection;
use crate::registry_refusal;

fn name(tool: &str) -> ToolName {
    ToolName::new(tool).unwrap()
}

/// Returns a plan of one step that calls a tool.
fn calling(tool: &str, args: &Value) -> Plan {
    plan_with("a", |_| Action::Tool { tool: name(tool), args: args.clone(), binding: binding() })
}

/// Returns a plan of one step that hands its task to a sub-agent.
fn handing_over(to: &str) -> Plan {
    plan_with("a", |_| Action::Tool {
        tool: name(to),
        args: json!({"goal": "g"}),
        binding: agent_binding(),
    })
}

fn agent_binding() -> Binding {
    Binding { pool: proto::decision::pools::nobody(), ..binding() }
}

/// Returns an agent that may read files and has no sub-agents.
fn reader(change: impl FnOnce(&mut Agent)) -> Agent {
    agent(|a| {
        a.tools = Some(vec![name("read_file")]);
        a.plan.attempts = 3;
        change(a);
    })
}

fn shaped(protocol: PlanProtocol) -> Agent {
    reader(|a| a.plan.protocol = protocol)
}

fn deep() -> Value {
    (0..100).fold(json!({}), |inner, _| json!({ "in": inner }))
}

fn tasks(steps: &str) -> Plan {
    plan_with(steps, |_| Action::Agent)
}

fn reading(steps: &str) -> Plan {
    plan_with(steps, |_| Action::Tool {
        tool: name("read_file"),
        args: json!({}),
        binding: binding(),
    })
}

fn second_writes() -> Plan {
    plan_with("a b", |id| Action::Tool {
        tool: name(if id == "b" { "write_file" } else { "read_file" }),
        args: json!({}),
        binding: binding(),
    })
}

#[rstest]
#[case::a_tool(reader(|_| {}), calling("write_file", &json!({"path": "x"})),
    "steps[0].tool: the tool \"write_file\" is not allowed here; the tools are: read_file")]
#[case::a_tool_of_an_agent_without_tools(reader(|a| a.tools = Some(Vec::new())), calling("http_post", &json!({})),
    "steps[0].tool: the tool \"http_post\" is not allowed here; the tools are: none")]
#[case::a_later_step(reader(|_| {}), second_writes(),
    "steps[1].tool: the tool \"write_file\" is not allowed here; the tools are: read_file")]
#[case::an_agent_that_is_not_below_it(reader(|_| {}), handing_over("boss"),
    "steps[0].tool: there is no agent \"boss\" here; the agents are: ")]
#[case::a_tool_that_is_called_an_agent(reader(|_| {}), handing_over("read_file"),
    "steps[0].tool: there is no agent \"read_file\" here; the agents are: ")]
#[case::arguments_that_take_no_presets(reader(|a| {
        a.tool.presets = serde_json::from_value(json!({"read_file": {"path": "public"}})).unwrap();
    }), calling("read_file", &json!(["secret"])),
    "steps[0].args: the arguments must be a JSON object")]
#[case::arguments_that_no_record_can_carry_on(reader(|_| {}), calling("read_file", &deep()),
    "steps[0].args: the arguments are nested deeper than 64 levels")]
#[case::a_tool_among_tasks(
    shaped(PlanProtocol::TaskSteps),
    reading("a"),
    "step a: steps are tasks for an assistant; no step may name a tool"
)]
#[case::a_tool_among_titles(
    shaped(PlanProtocol::TitleSteps),
    reading("a"),
    "step a: steps are tasks for an assistant; no step may name a tool"
)]
#[case::a_task_among_actions(
    shaped(PlanProtocol::ActionSteps),
    tasks("a"),
    "step a: every step must be one tool call"
)]
#[case::several_actions_at_a_time(
    shaped(PlanProtocol::Decision),
    reading("a b"),
    "steps: this plan is one action at a time; give one step"
)]
#[case::a_task_in_the_place_of_an_action(
    shaped(PlanProtocol::Phased),
    tasks("a"),
    "step a: every step must be one tool call"
)]
#[case::a_task_where_steps_are_calls(reader(|a| a.step.exec = StepExec::DirectTool), tasks("a"),
    "step a: every step must be one tool call")]
fn a_plan_that_reaches_beyond_the_agent_is_a_failed_attempt(
    #[case] agent: Agent,
    #[case] forged: Plan,
    #[case] why: &str,
) {
    let mut p = Play::submit(agent.clone());
    p.drive();
    p.reply(1, PlanReply::Plan { plan: forged.clone() });
    p.expect(&["plan g0.p2 #1"]);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let Some(PlanTalk::Rejected { error, .. }) = work.dialogue.last() else {
        panic!("{:?}", work.dialogue)
    };
    assert_eq!(error, why);
    assert_eq!((p.view().sub_status, p.view().plan), (Some(SubStatus::Planning), None));
    // The job fails as it does after any other unusable plan.
    p.reply(2, PlanReply::Plan { plan: forged.clone() });
    p.drive();
    p.reply(3, PlanReply::Plan { plan: forged.clone() });
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::PlanFailed);
    assert!(message.contains(why), "{message}");
}

#[test]
fn what_is_wrong_with_a_forged_plan_is_told_in_the_language_of_the_job() {
    let mut p = Play::submit_in(reader(|_| {}), Language::Zh);
    p.drive();
    p.reply(1, PlanReply::Plan { plan: calling("write_file", &json!({})) });
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    let Some(PlanTalk::Rejected { error, .. }) = work.dialogue.last() else { panic!("not told") };
    assert_eq!(error, "steps[0].tool: 不允许使用工具 write_file；可用的工具：read_file");
}

#[test]
fn a_plan_that_replaces_another_one_is_held_to_the_same() {
    let mut p = Play::planned(
        reader(|a| {
            a.step.on_failure = OnFailure::Replan;
            a.replan.max = 1;
        }),
        reading("a"),
    );
    p.drive();
    p.no("g0.r0.a");
    p.expect(&["plan g0.p2 #1"]);
    p.reply(2, PlanReply::Plan { plan: calling("write_file", &json!({})) });
    p.expect(&["plan g0.p3 #1"]);
}

#[test]
fn an_edited_plan_that_reaches_beyond_the_agent_is_asked_about_once_more_as_it_was() {
    for forged in [calling("write_file", &json!({})), handing_over("boss")] {
        let mut p = Play::submit(reader(|a| a.confirm = true));
        p.drive();
        p.reply(1, PlanReply::Plan { plan: reading("a") });
        p.drive();
        let value = Some(serde_json::to_value(&forged).unwrap());
        let edit =
            Answer { decision: Verdict::Edit, value, text: None, digest: None, remember: None };
        p.answer_with("q1", edit);
        p.expect(&["ask q2 plan_check"]);
        let QuestionKind::PlanCheck { plan, .. } = p.view().questions[0].kind.clone() else {
            panic!("no plan")
        };
        assert_eq!(plan, reading("a"));
    }
}

#[test]
fn a_given_plan_that_reaches_beyond_the_agent_fails_the_job_and_runs_nothing() {
    let mut p = Play::submit_as(Submitted {
        goal: "/write".into(),
        agent: reader(|_| {}),
        language: Language::En,
        language_detected: false,
        digest: "d".into(),
        by: None,
        conversation: None,
        parent: None,
        agents: Default::default(),
        forked: None,
        plan: Some(calling("write_file", &json!({}))),
        workflow: None,
        files: Vec::new(),
        labels: proto::label::Labels::default(),
        rules: proto::rules::Rules::NOW,
    });
    p.expect(&["finish failed"]);
}

#[test]
fn what_the_agent_may_use_is_carried_out() {
    let mut p = Play::planned(reader(|_| {}), reading("a b<a"));
    p.expect(&["call g0.r0.a #1"]);
    // An agent without a list of tools may use every tool.
    let mut p = Play::planned(agent(|_| {}), calling("write_file", &json!({})));
    p.expect(&["call g0.r0.a #1"]);
}

fn agent_call(tool: &str) -> TurnCall {
    let target = CallTarget::Tool { tool: name(tool), binding: agent_binding() };
    TurnCall { id: "x".into(), name: tool.into(), args: json!({"goal": "g"}), target }
}

fn list_change() -> TurnCall {
    let change = OutlineChange::Set { items: outline::of_texts(["look"]) };
    let target = CallTarget::Outline { change };
    TurnCall { id: "x".into(), name: "set_plan".into(), args: json!({}), target }
}

#[rstest]
#[case::a_tool(tool_call("x", "write_file", json!({})), 9,
    "the tool \"write_file\" is not allowed here; the tools are: read_file")]
#[case::a_tool_under_the_name_of_another(
    TurnCall { name: "read_file".into(), ..tool_call("x", "http_post", json!({})) }, 9,
    "the tool \"http_post\" is not allowed here; the tools are: read_file")]
#[case::an_agent(agent_call("boss"), 9, "there is no agent \"boss\" here; the agents are: ")]
#[case::arguments_that_take_no_presets(tool_call("x", "read_file", json!("secret")), 9,
    "the arguments must be a JSON object")]
#[case::arguments_that_no_record_can_carry_on(
    tool_call("x", "read_file", deep()),
    9,
    "the arguments are nested deeper than 64 levels"
)]
#[case::a_list_that_the_step_does_not_keep(
    list_change(),
    9,
    "there is no tool \"set_plan\"; the tools are: read_file"
)]
fn a_call_that_reaches_beyond_the_agent_is_told_to_the_model_and_not_carried_out(
    #[case] forged: TurnCall,
    #[case] turns: u32,
    #[case] why: &str,
) {
    let mut p = Play::planned(reader(|a| a.step.max_turns = turns), tasks("a"));
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![forged, tool_call("y", "read_file", json!({}))]));
    p.expect(&["call g0.r0.a.n1.t1.c1 #1"]);
    p.ok("g0.r0.a.n1.t1.c1", json!("read"));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.replies[0].text, why);
    assert_eq!((turn.replies[0].id.as_str(), &turn.outline), ("x", &None));
}

#[test]
fn the_last_turn_calls_nothing_and_asks_nobody() {
    for forged in [tool_call("x", "read_file", json!({})), question("x", "Sure?"), list_change()] {
        let mut p = Play::planned(reader(|a| a.step.max_turns = 1), tasks("a"));
        p.drive();
        p.turn("g0.r0.a.n1.t1", calls(vec![forged]));
        p.expect(&["finish failed"]);
    }
}

fn spec(change: impl FnOnce(&mut ToolSpec)) -> ToolSpec {
    let spec = json!({
        "name": "write_file", "description": "d", "schema": {}, "effect": "idempotent",
        "pool": "builtin", "version": "1",
    });
    let mut spec = serde_json::from_value(spec).unwrap();
    change(&mut spec);
    spec
}

/// Returns a call of `write_file` as a job's log stores it.
fn called(approved: Option<&str>) -> CallWork {
    let mut p = Play::planned(agent(|_| {}), calling("write_file", &json!({})));
    p.drive();
    let [Decision::Call(call)] = p.decisions.as_slice() else { panic!("not one call") };
    CallWork { approved: approved.map(str::to_owned), ..call.clone() }
}

#[rstest]
#[case::as_it_is(spec(|_| {}), None, None)]
#[case::approved(spec(|s| s.approval = Approval::Always), Some("digest"), None)]
#[case::approved_without_need(spec(|_| {}), Some("digest"), None)]
#[case::not_approved(spec(|s| s.approval = Approval::Always), None,
    Some("write_file: its approval is always in the registry, and nobody approved the call; the call was not sent"))]
#[case::another_pool(spec(|s| s.pool = proto::id::Pool::new("python").unwrap()), None,
    Some("write_file: its pool is python in the registry, and the call has builtin; the call was not sent"))]
#[case::another_effect(spec(|s| s.effect = Effect::Once), None,
    Some("write_file: its effect is once in the registry, and the call has idempotent; the call was not sent"))]
#[case::another_version(spec(|s| s.version = "2".into()), None,
    Some("write_file: its version is 2 in the registry, and the call has 1; the call was not sent"))]
#[case::destructive(spec(|s| s.destructive = true), None,
    Some("write_file: its destructive is true in the registry, and the call has false; the call was not sent"))]
fn a_call_is_sent_as_the_registry_has_its_tool_or_not_at_all(
    #[case] registered: ToolSpec,
    #[case] approved: Option<&str>,
    #[case] why: Option<&str>,
) {
    let refused = registry_refusal(&called(approved), Some(&registered));
    assert_eq!(refused.as_ref().map(|error| error.message.as_str()), why);
    assert!(refused.is_none_or(|error| !error.is_transient()));
}

#[test]
fn a_tool_that_nobody_has_announced_may_be_announced_later() {
    let refused = registry_refusal(&called(None), None).unwrap();
    let why = "write_file: no worker has announced this tool; the call was not sent";
    assert_eq!((refused.message.as_str(), refused.is_transient()), (why, true));
}

/// Returns the decision with which the supervisor refuses to send a call.
fn refuse(p: &Play, class: ErrorClass) -> Decision {
    let Some(Decision::Call(call)) = p.job.decide().map(|next| next.decision) else {
        panic!("no call")
    };
    let error = WorkError::new("not so", class);
    Decision::Call(CallWork { refused: Some(error), ..call })
}

#[test]
fn a_call_that_was_not_sent_goes_to_no_pool_and_fails_its_step() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    let mut watching = Projection::default();
    watching.take(p.job.seq(), Timestamp::UNIX_EPOCH, None, &p.job);
    let decision = refuse(&p, ErrorClass::Permanent);
    assert_eq!(decision.pool(), proto::decision::pools::nobody());
    p.decision(decision.clone());
    let (seq, known) = (p.job.seq(), Known::Decision(Box::new(decision)));
    let events = watching.take(seq, Timestamp::UNIX_EPOCH, Some(&known), &p.job);
    let told = events.iter().filter_map(|event| match &event.happened {
        Happened::Tool(tool) => Some(tool.phase.clone()),
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert!(
        matches!(
            told.as_slice(),
            [ToolPhase::Calling { .. }, ToolPhase::Called { success: false, error: Some(why), .. }]
                if why == "not so"
        ),
        "{told:?}"
    );
    assert!(!p.job.has_work_out());
    // No worker has the call, so a result for it is a forgery.
    p.result("g0.r0.a", 1, ToolResult::ok(json!("forged")), None);
    p.expect(&["finish failed"]);
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(message, "step a failed: not so");
}

#[test]
fn a_call_of_a_turn_that_was_not_sent_is_told_to_the_model() {
    let mut p = Play::planned(agent(|_| {}), tasks("a"));
    p.drive();
    p.turn("g0.r0.a.n1.t1", calls(vec![tool_call("x", "write_file", json!({}))]));
    p.decision(refuse(&p, ErrorClass::Permanent));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    let [Decision::Turn(turn)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(turn.replies[0].text, r#"{"success":false,"error":"not so"}"#);
}

#[test]
fn a_call_of_a_tool_that_nobody_has_announced_is_tried_again() {
    let mut p = Play::planned(agent(|_| {}), plan("a"));
    p.decision(refuse(&p, ErrorClass::Transient));
    p.expect(&["wait g0.r0.a #2"]);
    p.fire("retry-1");
    p.expect(&["call g0.r0.a #2"]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
}
