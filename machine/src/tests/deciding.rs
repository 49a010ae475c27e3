//! Planning one action at a time: the replies other than plans, and the end.

use proto::{
    decision::{Decision, PlanTalk},
    fact::{PlanNote, PlanPhase, PlanReply},
    job::{FailReason, Outcome},
    outline,
    policy::PlanProtocol,
};

use super::play::{Play, agent, plan};

fn listed(phase: PlanPhase) -> PlanReply {
    let outline = outline::of_texts(["look", "write"]);
    PlanReply::Noted { note: PlanNote { phase, outline, response: None } }
}

fn finished(response: &str) -> PlanReply {
    PlanReply::Finished { response: response.into(), language: None }
}

fn phased() -> Play {
    let mut p = Play::submit(agent(|a| a.plan.protocol = PlanProtocol::Phased));
    p.drive();
    p
}

#[test]
fn what_is_only_intended_is_shown_and_the_planner_goes_on_at_once() {
    let mut p = phased();
    p.reply(1, listed(PlanPhase::Planned));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(p.view().outline.len(), 2);
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert_eq!(work.protocol, PlanProtocol::Phased);
    assert!(
        matches!(work.dialogue.as_slice(), [PlanTalk::Noted { note }] if note.outline.len() == 2)
    );
}

#[test]
fn but_not_for_ever() {
    let mut p = phased();
    for n in 1..=20 {
        p.reply(n, listed(PlanPhase::Replanned));
        p.expect(&[&format!("plan g0.p{} #1", n + 1)]);
    }
    p.reply(21, listed(PlanPhase::Replanned));
    p.expect(&["finish failed"]);
    let Outcome::Failed { reason, message, .. } = p.outcome() else { panic!("not failed") };
    assert_eq!(reason, FailReason::PlanFailed);
    assert_eq!(message, "no usable plan was made: no action was chosen in 20 rounds of planning");
}

#[test]
fn a_goal_that_is_reached_at_once_ends_the_job_with_the_planners_answer() {
    for protocol in [PlanProtocol::Decision, PlanProtocol::Phased] {
        let mut p = Play::submit(agent(|a| a.plan.protocol = protocol));
        p.drive();
        p.reply(1, finished("It is nine o'clock."));
        p.expect(&["finish completed"]);
        let Outcome::Completed { summary, .. } = p.outcome() else { panic!("not completed") };
        assert_eq!(summary, "It is nine o'clock.");
    }
}

#[test]
fn an_end_or_a_note_where_a_plan_is_wanted_is_told_back() {
    for reply in [finished("done"), listed(PlanPhase::Planned)] {
        let mut p = Play::submit(agent(|a| a.plan.attempts = 2));
        p.drive();
        p.reply(1, reply.clone());
        p.expect(&["plan g0.p2 #1"]);
        p.reply(2, reply);
        p.expect(&["finish failed"]);
    }
}

#[test]
fn what_is_intended_beside_an_action_is_kept_and_shown() {
    let mut p = Play::submit(agent(|a| a.plan.protocol = PlanProtocol::Decision));
    p.drive();
    let plan = PlanReply::Plan { plan: plan("step1") };
    p.planned_with(1, plan, |planned| planned.outline = outline::of_texts(["look", "write"]));
    p.expect(&["call g0.r0.step1 #1"]);
    let titles: Vec<_> = p.view().outline.into_iter().map(|item| item.title).collect();
    assert_eq!(titles, ["look", "write"]);
}

#[test]
fn items_that_are_done_by_thought_alone_are_progress() {
    let mut p = phased();
    let noted = |phase, done: usize| {
        let titles: Vec<String> = (0..15).map(|n| format!("item {n}")).collect();
        let mut outline = outline::of_texts(titles.iter().map(String::as_str));
        let items = outline.iter_mut().take(done);
        items.for_each(|item| item.status = outline::ItemStatus::Done);
        PlanReply::Noted { note: PlanNote { phase, outline, response: Some("thought".into()) } }
    };
    p.reply(1, noted(PlanPhase::Planned, 0));
    let mut round = 1;
    for done in 1..=15 {
        for phase in [PlanPhase::ItemDone, PlanPhase::Replanned] {
            round += 1;
            p.expect(&[&format!("plan g0.p{round} #1")]);
            p.reply(round, noted(phase, done));
        }
    }
    p.drive();
    p.reply(round + 1, finished("all thought through"));
    p.expect(&["finish completed"]);
}

#[test]
fn the_same_item_that_is_done_again_and_again_is_none() {
    let mut p = phased();
    let mut rounds = 0;
    while !p.job.has_ended() {
        rounds += 1;
        p.reply(rounds, listed(PlanPhase::ItemDone));
        p.drive();
    }
    assert_eq!(rounds, 22, "the first of them could be something new");
}
