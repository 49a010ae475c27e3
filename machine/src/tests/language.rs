//! The language of a job: that of its submission, or of its plan when the submission named none.

use proto::{
    decision::Decision,
    fact::{PlanReply, Submitted},
    interaction::{Answer, Verdict},
    job::Outcome,
    lang::Language,
    plan::{Action, Plan},
    view::JobView,
};
use rstest::rstest;
use serde_json::json;

use super::play::{Play, agent, plan, plan_with};

/// Submits a job in English, whose language was named or only detected.
fn submit(detected: bool, agent: proto::agent::Agent) -> Play {
    let submitted =
        Submitted { language_detected: detected, ..Play::submitted(agent, Language::En) };
    Play::submit_as(submitted)
}

fn spoken(language: Option<Language>, steps: &str) -> Plan {
    Plan { language, ..plan(steps) }
}

fn language(view: &JobView) -> Language {
    view.language
}

/// Returns the languages of the last decisions that carry one.
fn commands(p: &Play) -> Vec<Language> {
    let language = |decision: &Decision| match decision {
        Decision::Plan(work) => Some(work.language),
        Decision::Turn(work) => Some(work.language),
        Decision::Call(work) => Some(work.language),
        _ => None,
    };
    p.decisions.iter().filter_map(language).collect()
}

#[rstest]
#[case::detected(true, Some(Language::Zh), Language::Zh, "成功执行 1 个步骤")]
#[case::named(false, Some(Language::Zh), Language::En, "Carried out 1 step")]
#[case::detected_and_not_in_the_plan(true, None, Language::En, "Carried out 1 step")]
fn a_plan_names_the_language_of_what_follows_when_the_submission_named_none(
    #[case] detected: bool,
    #[case] named: Option<Language>,
    #[case] expected: Language,
    #[case] summary: &str,
) {
    let mut p = submit(detected, agent(|a| a.confirm = true));
    p.drive();
    assert_eq!(commands(&p), [Language::En], "nothing is known before the plan");
    p.reply(1, PlanReply::Plan { plan: spoken(named, "a") });
    p.expect(&["ask q1 plan_check"]);
    assert_eq!(language(&p.view()), expected);
    let is_chinese = Language::detect(&p.view().questions[0].prompt) == Language::Zh;
    assert_eq!(is_chinese, expected == Language::Zh);
    p.answer("q1", Verdict::Approve, None);
    p.drive();
    assert_eq!(commands(&p), [expected]);
    p.ok("g0.r0.a", json!(1));
    p.expect(&["finish completed"]);
    let Outcome::Completed { summary: told, .. } = p.outcome() else { panic!() };
    assert!(told.contains(summary), "{told}");
}

#[test]
fn turns_and_failures_are_in_the_language_of_the_plan() {
    let steps = plan_with("a", |_| Action::Agent);
    let mut p = submit(true, agent(|a| a.step.max_turns = 1));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: Plan { language: Some(Language::Zh), ..steps } });
    p.drive();
    assert_eq!(commands(&p), [Language::Zh]);
    p.turn(
        "g0.r0.a.n1.t1",
        super::play::calls(vec![super::play::tool_call("c", "echo", json!({}))]),
    );
    p.drive();
    let Outcome::Failed { message, .. } = p.outcome() else { panic!("{:?}", p.outcome()) };
    assert_eq!(Language::detect(&message), Language::Zh, "{message}");
}

#[test]
fn a_rejected_plan_changes_no_language() {
    let mut p = submit(true, agent(|_| {}));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: spoken(Some(Language::Zh), "a<b") });
    p.expect(&["plan g0.p2 #1"]);
    assert_eq!(commands(&p), [Language::En]);
}

#[test]
fn an_update_keeps_the_language_of_the_plan_unless_it_names_one() {
    use proto::agent::ReplanWhen::AfterEachStep;
    let mut p = submit(true, agent(|a| a.replan.when = Some(AfterEachStep)));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: spoken(Some(Language::Zh), "a") });
    for (round, (named, expected)) in
        [(None, Language::Zh), (Some(Language::En), Language::En), (None, Language::En)]
            .into_iter()
            .enumerate()
    {
        let step = format!("{}", char::from(b'a' + u8::try_from(round).unwrap()));
        p.drive();
        p.ok(&format!("g0.r{round}.{step}"), json!(1));
        p.drive();
        let next = format!("{}", char::from(b'b' + u8::try_from(round).unwrap()));
        p.reply(u32::try_from(round).unwrap() + 2, PlanReply::Plan { plan: spoken(named, &next) });
        p.drive();
        assert_eq!(commands(&p), [expected], "update {round}");
    }
}

#[test]
fn an_answer_in_place_of_a_plan_names_the_language_of_the_result() {
    let mut p = submit(true, agent(|a| a.plan.allow_empty = true));
    p.drive();
    let response = "你好！".to_owned();
    p.reply(1, PlanReply::Finished { response, language: Some(Language::Zh) });
    p.drive();
    assert_eq!(language(&p.view()), Language::Zh);
}

/// A person writes the language into the plan that waits for confirmation.
#[test]
fn a_person_may_change_the_language_of_the_plan() {
    let mut p = submit(true, agent(|a| a.confirm = true));
    p.drive();
    p.reply(1, PlanReply::Plan { plan: spoken(None, "a") });
    p.drive();
    let value = Some(json!(spoken(Some(Language::Zh), "a")));
    p.answer_with(
        "q1",
        Answer { decision: Verdict::Edit, value, text: None, digest: None, remember: None },
    );
    p.expect(&["ask q2 plan_check"]);
    assert_eq!(Language::detect(&p.view().questions[0].prompt), Language::Zh);
}

#[test]
fn a_submitted_plan_names_the_language_too() {
    let given = Submitted {
        plan: Some(spoken(Some(Language::Zh), "a")),
        language_detected: true,
        ..Play::submitted(agent(|_| {}), Language::En)
    };
    let mut p = Play::submit_as(given);
    p.drive();
    assert_eq!(commands(&p), [Language::Zh]);
}

#[test]
fn a_rollback_behind_the_plan_takes_its_language_back() {
    let mut p = submit(true, agent(|_| {}));
    p.drive();
    let before = p.last();
    p.reply(1, PlanReply::Plan { plan: spoken(Some(Language::Zh), "a") });
    p.drive();
    assert_eq!(language(&p.view()), Language::Zh);
    assert!(p.back(before));
    assert_eq!(language(&p.view()), Language::En);
}
