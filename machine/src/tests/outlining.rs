//! `plan.protocol: inline_tools`: the model keeps its plan as an outline.

use proto::{
    decision::Decision,
    fact::{CallTarget, TurnCall, TurnReply},
    id::StepId,
    outline::{Item, ItemStatus, ItemUpdate, OutlineChange},
    policy::PlanProtocol,
};
use serde_json::json;

use super::play::{Play, agent};

fn item(id: &str) -> Item {
    let (id, title) = (StepId::new(id).unwrap(), format!("do {id}"));
    Item { id, title, status: ItemStatus::Pending, note: None }
}

fn changes(changes: Vec<OutlineChange>) -> TurnReply {
    let call = |(n, change): (usize, OutlineChange)| TurnCall {
        id: format!("c{n}"),
        name: "set_plan".into(),
        args: json!({}),
        target: CallTarget::Outline { change },
    };
    let calls = changes.into_iter().enumerate().map(call).collect();
    TurnReply::Calls { text: String::new(), calls }
}

fn set(ids: &str) -> OutlineChange {
    OutlineChange::Set { items: ids.split_whitespace().map(item).collect() }
}

fn update(id: &str, status: ItemStatus) -> OutlineChange {
    let update = ItemUpdate { id: StepId::new(id).unwrap(), status, note: None };
    OutlineChange::Update { updates: vec![update] }
}

fn shown(p: &Play) -> String {
    let step = p.view().plan.unwrap().steps.remove(0);
    let item = |item: &Item| format!("{}:{}", item.id, item.status.as_str());
    step.outline.iter().map(item).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_goal_is_one_step_whose_calls_are_shown_as_its_plan() {
    let mut p = Play::submit(agent(|a| a.plan.protocol = PlanProtocol::InlineTools));
    p.expect(&["turn g0.r0.goal.n1.t1 #1"]);
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(work.outline, Some(vec![]), "the tools are offered");
    p.turn("g0.r0.goal.n1.t1", changes(vec![set("a b c"), update("a", ItemStatus::InProgress)]));
    assert_eq!(shown(&p), "a:in_progress b:pending c:pending");
    p.expect(&["turn g0.r0.goal.n1.t2 #1"]);
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(work.replies.len(), 2);
    assert_eq!(work.outline.as_ref().map(Vec::len), Some(3));
    let both = vec![update("a", ItemStatus::Done), update("b", ItemStatus::Skipped)];
    p.turn("g0.r0.goal.n1.t2", changes(both));
    assert_eq!(shown(&p), "a:done b:skipped c:pending");
}

#[test]
fn items_are_never_deleted_and_the_model_is_told() {
    let mut p = Play::submit(agent(|a| a.plan.protocol = PlanProtocol::InlineTools));
    p.drive();
    p.turn("g0.r0.goal.n1.t1", changes(vec![set("a b"), set("a"), update("z", ItemStatus::Done)]));
    assert_eq!(shown(&p), "a:pending b:pending");
    p.drive();
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("not one turn") };
    let told: Vec<_> = work.replies.iter().map(|reply| reply.text.as_str()).collect();
    assert_eq!(
        told,
        [
            "The plan is kept.",
            "items cannot be removed; keep b and mark it skipped if it is not needed",
            "there is no item z; the items are: a, b",
        ]
    );
    p.done("g0.r0.goal.n1.t2", true, "done all the same");
    p.expect(&["finish completed"]);
}

#[test]
fn other_agents_are_offered_no_such_tools() {
    let mut p = Play::submit(agent(|a| a.plan.when = proto::agent::PlanWhen::Never));
    p.drive();
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(work.outline, None);
}
