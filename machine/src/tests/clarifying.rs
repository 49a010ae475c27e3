//! Policies on questions of agents: limits, repeated questions, too many questions, and the prefix
//! of prompts.

use proto::{
    agent::Agent,
    asking::AskKind,
    decision::Decision,
    fact::{Asked, AskedKind, CallTarget, PlanReply, TurnCall, TurnReply},
    interaction::Answer,
    job::{FailReason, Outcome},
    lang::Language,
    plan::Action,
    policy::{AskLimit, AskWhen},
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, plan_with};

fn asked(prompt: &str) -> Asked {
    Asked { prompt: prompt.into(), kind: AskedKind::Query, default: None }
}

fn question(prompt: &str) -> PlanReply {
    PlanReply::Question { question: asked(prompt) }
}

fn turn(prompt: &str) -> TurnReply {
    let target = CallTarget::Person { question: asked(prompt) };
    let call = TurnCall { id: "c".into(), name: "ask_user".into(), args: json!({}), target };
    TurnReply::Calls { text: String::new(), calls: vec![call] }
}

/// Returns the error that the planner was told last.
fn rejected(p: &Play) -> String {
    let Some(Decision::Plan(work)) = p.decisions.last() else { panic!("no plan") };
    serde_json::to_value(work.dialogue.last()).unwrap()["error"].as_str().unwrap().to_owned()
}

fn failed(p: &Play) -> (FailReason, String) {
    let Outcome::Failed { reason, message, .. } = p.outcome() else { panic!("not failed") };
    (reason, message)
}

#[test]
fn a_limit_of_none_at_all_offers_no_question_and_takes_none() {
    let mut p = Play::submit(agent(|a| a.ask.limit = AskLimit::AtMost(0)));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert!(!work.may_ask);
    p.reply(1, question("When?"));
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(p.view().questions.len(), 0);
}

#[test]
fn without_a_limit_a_job_asks_as_often_as_it_likes() {
    let mut p = Play::submit(agent(|a| a.ask.limit = AskLimit::Unlimited));
    p.drive();
    for n in 1..=12 {
        p.reply(n, question(&format!("Question {n}?")));
        p.expect(&[&format!("ask q{n} question")]);
        p.answer_with(&format!("q{n}"), Answer::respond(json!("x")));
        p.expect(&[&format!("plan g0.p{} #1", n + 1)]);
    }
}

#[test]
fn a_question_that_was_answered_is_answered_from_memory_and_at_the_limit_ends_the_job() {
    let mut p = Play::submit(agent(|a| a.ask.repeat_limit = Some(2)));
    p.drive();
    p.reply(1, question("Which one?"));
    p.drive();
    p.answer_with("q1", Answer::respond(json!("the red one")));
    p.drive();
    p.reply(2, question(" which ONE "));
    p.expect(&["plan g0.p3 #1"]);
    assert_eq!(
        rejected(&p),
        "This was asked and answered before. Go on with the answer: the red one"
    );
    p.reply(3, question("Which other one?"));
    p.expect(&["ask q2 question"]);
    p.answer_with("q2", Answer::respond(json!("none")));
    p.drive();
    p.reply(4, question("Which one?"));
    p.expect(&["finish failed"]);
    assert_eq!(failed(&p).0, FailReason::QuestionRepeated);
}

#[test]
fn the_same_holds_in_a_step() {
    let policy = |a: &mut Agent| a.ask.repeat_limit = Some(2);
    let mut p = Play::planned(agent(policy), plan_with("a", |_| Action::Agent));
    p.drive();
    p.turn("g0.r0.a.n1.t1", turn("Which one?"));
    p.expect(&["ask q1 question"]);
    p.answer_with("q1", Answer::respond(json!("the red one")));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    p.turn("g0.r0.a.n1.t2", turn("Which one?"));
    p.expect(&["turn g0.r0.a.n1.t3 #1"]);
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert!(work.replies[0].text.ends_with("the red one"), "{:?}", work.replies);
    p.turn("g0.r0.a.n1.t3", turn("Which one?"));
    p.expect(&["finish failed"]);
    assert_eq!(failed(&p).0, FailReason::QuestionRepeated);
}

#[test]
fn without_the_guard_a_question_is_asked_again() {
    let mut p = Play::submit(agent(|_| {}));
    p.drive();
    for n in 1..=2 {
        p.reply(n, question("Which one?"));
        p.expect(&[&format!("ask q{n} question")]);
        p.answer_with(&format!("q{n}"), Answer::respond(json!("x")));
        p.drive();
    }
}

#[test]
fn one_round_of_questions_too_many_ends_the_job() {
    let mut p = Play::submit(agent(|a| {
        a.ask.limit = AskLimit::Unlimited;
        a.ask.rounds = Some(2);
    }));
    p.drive();
    for n in 1..=2 {
        p.reply(n, question(&format!("Question {n}?")));
        p.drive();
        p.answer_with(&format!("q{n}"), Answer::respond(json!("x")));
        p.drive();
    }
    p.reply(3, question("Question 3?"));
    p.expect(&["finish failed"]);
    assert_eq!(failed(&p).0, FailReason::TooManyQuestions);
}

#[test]
fn fixed_words_are_in_the_language_of_the_job() {
    for (language, prefix, too_often, again) in [
        (
            Language::En,
            "Please confirm: When?",
            "The job needed too many questions",
            "Replanning failed repeatedly",
        ),
        (Language::Zh, "请确认：When?", "澄清次数过多", "无法完成重规划"),
    ] {
        let policy = |rounds: Option<u32>| {
            agent(|a| {
                a.ask.prefix = true;
                a.ask.limit = AskLimit::Unlimited;
                (a.ask.rounds, a.ask.repeat_limit) = (rounds, Some(1));
            })
        };
        for (rounds, second, expected) in [(Some(1), "Where?", too_often), (None, "When?", again)] {
            let mut p = Play::submit_in(policy(rounds), language);
            p.drive();
            p.reply(1, question("When?"));
            p.drive();
            assert_eq!(p.view().questions[0].prompt, prefix);
            p.answer_with("q1", Answer::respond(json!("now")));
            p.drive();
            p.reply(2, question(second));
            p.drive();
            assert_eq!(failed(&p).1, expected);
        }
    }
}

/// An agent that may not ask is not offered the tool, and a question that it asks all the same is
/// refused.
#[rstest]
#[case(AskWhen::Both, true, true)]
#[case(AskWhen::Planning, true, false)]
#[case(AskWhen::Steps, false, true)]
fn who_may_ask_is_a_policy(#[case] when: AskWhen, #[case] plans: bool, #[case] works: bool) {
    let mut p = Play::submit(agent(|a| a.ask.when = when));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert_eq!(work.may_ask, plans);
    p.reply(1, question("When?"));
    p.drive();
    if plans {
        p.answer_with("q1", Answer::respond(json!("now")));
        p.drive();
    } else {
        assert_eq!(p.view().questions.len(), 0);
        assert!(rejected(&p).contains("question"), "{}", rejected(&p));
    }
    p.reply(2, PlanReply::Plan { plan: plan_with("a", |_| Action::Agent) });
    p.drive();
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert_eq!(work.may_ask, works);
    p.turn("g0.r0.a.n1.t1", turn("Where?"));
    p.drive();
    assert_eq!(
        p.view().questions.iter().filter(|q| q.prompt == "Where?").count(),
        usize::from(works)
    );
    if !works {
        let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("it goes on") };
        assert_eq!(work.replies.len(), 1);
    }
}

/// Workers refuse such a question already; the machine also refuses one from a worker that does not
/// know the policy.
#[test]
fn a_question_of_another_kind_than_the_agent_may_ask_is_told_back() {
    let only = |a: &mut Agent| a.ask.kinds = [AskKind::Select].into_iter().collect();
    let mut p = Play::submit(agent(only));
    p.drive();
    let [Decision::Plan(work)] = p.decisions.as_slice() else { panic!("not one plan") };
    assert!(work.may_ask && !work.ask_kinds.has(AskKind::Query));
    p.reply(1, question("When?"));
    p.expect(&["plan g0.p2 #1"]);
    assert!(rejected(&p).contains("ask with \"select\""), "{}", rejected(&p));
    p.reply(2, PlanReply::Plan { plan: plan_with("a", |_| Action::Agent) });
    p.drive();
    p.turn("g0.r0.a.n1.t1", turn("Where?"));
    p.expect(&["turn g0.r0.a.n1.t2 #1"]);
    let [Decision::Turn(work)] = p.decisions.as_slice() else { panic!("not one turn") };
    assert!(serde_json::to_string(&work.replies).unwrap().contains("select"), "{:?}", work.replies);
}
