//! Approvals that a person remembers for a job, questions that a policy withdraws, and the share of
//! children that a rule denies.

use proptest::prelude::*;
use proto::{
    decision::{CallWork, Closed, Decision, Note, SpawnWork},
    fact::{CallTarget, TurnCall},
    id::ToolName,
    interaction::{Answer, AskedBy, Question, QuestionKind, Remember},
    job::JobState,
    record::Known,
    tool::{Approval, Fault},
    view::QuestionEnd,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::{
    play::{Play, calls},
    trusting::{Obedient, call, submitted},
};

fn obedient(approval: &Value, first: TurnCall) -> Obedient {
    Obedient::new(submitted(approval), first)
}

fn write(path: &str) -> TurnCall {
    call("write_file", json!({ "path": path }))
}

/// A call of a tool that needs an approval by itself.
fn guarded(path: &str) -> TurnCall {
    let mut call = write(path);
    if let CallTarget::Tool { binding, .. } = &mut call.target {
        binding.approval = Approval::Always;
    }
    call
}

fn open_question(play: &Play) -> Option<Question> {
    play.view().questions.first().cloned()
}

fn approve(play: &mut Play, question: &Question, remember: Option<Remember>) {
    let QuestionKind::ToolApproval { digest, .. } = &question.kind else { panic!("no approval") };
    let answer = Answer { remember, ..Answer::approve(Some(digest.clone())) };
    play.answer_with(question.id.as_str(), answer);
}

/// Runs a job until its first call is approved for the job, and then its next calls.
fn after_remembering(approval: &Value, first: TurnCall, next: Vec<TurnCall>) -> Obedient {
    let mut job = obedient(approval, first);
    job.run(&Value::Null);
    let question = open_question(&job.play).unwrap();
    job.orders = next;
    approve(&mut job.play, &question, Some(Remember::Job));
    job.run(&Value::Null);
    job
}

fn sent(play: &Play) -> Vec<CallWork> {
    let decisions = play.log.iter().filter_map(|(_, _, record)| match record {
        Ok(Known::Decision(decision)) => Some(&**decision),
        Ok(Known::Fact(_)) | Err(_) => None,
    });
    decisions
        .filter_map(|decision| match decision {
            Decision::Call(work) if work.refused.is_none() => Some(work.clone()),
            _ => None,
        })
        .collect()
}

#[rstest]
#[case::with_other_arguments(json!({"rules": [{"tool": "write_*", "then": "ask"}]}),
    write("a"), write("b"), true)]
#[case::of_a_tool_that_needs_it_by_itself(json!({}), guarded("a"), guarded("b"), true)]
#[case::of_another_tool_by_the_same_rule(json!({"rules": [{"tool": "write_*", "then": "ask"}]}),
    write("a"), call("write_note", json!({})), false)]
#[case::by_another_rule(
    json!({"rules": [{"tool": "*", "args": {"properties": {"path": {"pattern": "^b"}}}, "then": "ask"},
        {"tool": "write_file", "then": "ask"}]}),
    write("a"), write("b"), false)]
#[case::by_a_rule_above_as_well(
    json!({"rules": [{"tool": "*", "then": "ask"}], "inherited": [{"rules":
        [{"tool": "*", "args": {"properties": {"path": {"pattern": "^b"}}}, "then": "ask"}]}]}),
    write("a"), write("b"), false)]
#[case::by_fewer_policies(
    json!({"rules": [{"tool": "*", "then": "ask"}], "inherited": [{"rules":
        [{"tool": "*", "args": {"properties": {"path": {"pattern": "^a"}}}, "then": "ask"}]}]}),
    write("a"), write("b"), true)]
#[case::by_a_rule_and_the_tool(json!({"rules": [{"tool": "*", "then": "ask"}]}),
    write("a"), guarded("b"), false)]
#[case::by_the_policy_for_content_from_outside(
    json!({"untrusted": {"then": "ask"}, "marked": "http_get"}), write("a"), write("b"), true)]
fn a_remembered_approval_covers_later_calls_that_the_same_policies_ask_about(
    #[case] approval: Value,
    #[case] first: TurnCall,
    #[case] second: TurnCall,
    #[case] covers: bool,
) {
    let job = after_remembering(&approval, first, vec![second]);
    let (sent, view) = (sent(&job.play), job.play.view());
    let remembered: Vec<_> = sent.iter().map(|work| work.remembered.is_some()).collect();
    assert_eq!(remembered, if covers { vec![false, true] } else { vec![false] });
    assert!(sent.iter().all(|work| work.approved.is_some()));
    assert_eq!((view.questions.len(), view.remembered.len()), (usize::from(!covers), 1));
    assert_eq!((view.remembered[0].ask.as_str(), view.remembered[0].by.as_str()), ("q1", "ann"));
}

#[test]
fn the_digest_of_a_covered_call_is_that_of_its_own_arguments() {
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}]});
    let job = after_remembering(&approval, write("a"), vec![write("b")]);
    let sent = sent(&job.play);
    for work in &sent {
        let id = job.play.job.id();
        let digest = proto::interaction::approval_digest(
            id,
            work.work.as_str(),
            &work.tool,
            &work.version,
            &work.args,
        );
        assert_eq!(work.approved.as_ref(), Some(&digest));
    }
    assert_ne!(sent[0].approved, sent[1].approved);
}

#[test]
fn a_call_that_a_rule_denies_is_refused_whatever_was_remembered() {
    let secret = json!({"properties": {"path": {"pattern": "^secret"}}});
    let approval = json!({"rules": [{"tool": "*", "args": secret, "then": "deny"},
        {"tool": "write_file", "then": "ask"}]});
    let job = after_remembering(&approval, write("a"), vec![write("secret")]);
    assert_eq!((job.sent.len(), job.refused.len()), (1, 1));
}

#[test]
fn an_approval_that_is_not_remembered_covers_its_call_alone() {
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}]});
    let mut job = obedient(&approval, write("a"));
    job.run(&Value::Null);
    let question = open_question(&job.play).unwrap();
    job.orders = vec![write("b")];
    approve(&mut job.play, &question, None);
    job.run(&Value::Null);
    assert_eq!((job.sent.len(), job.play.view().remembered.len()), (1, 0));
    assert!(open_question(&job.play).is_some());
}

#[test]
fn content_from_outside_ends_the_approvals_that_were_remembered_before_it() {
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}]});
    let mut job = after_remembering(&approval, write("a"), vec![call("http_get", json!({}))]);
    assert_eq!(job.play.view().state, JobState::Completed);
    assert_eq!(job.play.view().remembered, []);

    // An approval that was asked for before the content, and given after it, counts once.
    job = obedient(&approval, write("a"));
    job.orders.push(TurnCall { id: "c2".into(), ..call("http_get", json!({})) });
    job.run(&Value::Null);
    assert!(job.play.view().untrusted.is_some());
    let question = open_question(&job.play).unwrap();
    approve(&mut job.play, &question, Some(Remember::Job));
    job.orders = vec![write("b")];
    job.run(&Value::Null);
    assert!(job.did("write_file") && job.play.view().remembered.is_empty());
    // One that was asked for after it is remembered.
    let question = open_question(&job.play).unwrap();
    assert!(question.prompt.contains("http_get"), "{}", question.prompt);
    approve(&mut job.play, &question, Some(Remember::Job));
    assert_eq!(job.play.view().remembered.len(), 1);
}

#[test]
fn each_content_from_outside_ends_the_approvals_that_were_remembered_before_it() {
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}], "marked": "http_get"});
    let mut job = after_remembering(&approval, write("a"), vec![write("b")]);
    assert_eq!((job.play.view().remembered.len(), job.did("write_file")), (1, true));
    // The job is marked from its beginning, and sees more.
    job = after_remembering(&approval, write("a"), vec![call("http_get", json!({}))]);
    assert_eq!(job.play.view().remembered, []);

    // A question that was asked before further content does not tell of it.
    job = obedient(&approval, write("a"));
    job.orders.push(TurnCall { id: "c2".into(), ..call("http_get", json!({})) });
    job.run(&Value::Null);
    assert_eq!(job.play.view().untrusted.unwrap().seq, None, "the first mark stays");
    let question = open_question(&job.play).unwrap();
    approve(&mut job.play, &question, Some(Remember::Job));
    assert_eq!(job.play.view().remembered, []);
}

#[test]
fn a_call_that_was_covered_is_approved_by_itself_when_it_is_tried_again_after_content_from_outside()
{
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}]});
    let first = TurnCall { id: "c2".into(), ..call("http_get", json!({})) };
    let mut job = obedient(&approval, write("a"));
    job.run(&Value::Null);
    let question = open_question(&job.play).unwrap();
    approve(&mut job.play, &question, Some(Remember::Job));
    job.play.drive();
    let written = sent(&job.play).pop().unwrap();
    job.play.ok(written.work.as_str(), json!("ok"));
    job.orders = vec![write("b"), first];
    take_turn(&mut job);
    let [_, covered, page] = <[CallWork; 3]>::try_from(sent(&job.play)).unwrap();
    assert_eq!(covered.remembered.as_ref(), Some(&question.id));
    job.play.ok(page.work.as_str(), json!("a page"));
    job.play.fault(covered.work.as_str(), Fault::Unavailable);
    job.play.drive();
    let timer = job.play.armed.keys().next_back().unwrap().to_string();
    job.play.fire(&timer);
    job.play.drive();
    assert_eq!(sent(&job.play).len(), 3, "the call is not sent again without a question");
    let question = open_question(&job.play).unwrap();
    assert!(question.prompt.contains("http_get"), "{}", question.prompt);
    approve(&mut job.play, &question, None);
    job.play.drive();
    let again = sent(&job.play).pop().unwrap();
    assert_eq!((again.work, again.attempt.0, again.remembered), (covered.work, 2, None));
}

#[test]
fn a_rollback_before_the_answer_forgets_it_and_so_does_a_fork() {
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}]});
    let mut job = after_remembering(&approval, write("a"), vec![write("b")]);
    let view = job.play.view();
    let answered = view.remembered[0].seq;
    let fork = job.play.job.clone().into_fork();
    assert_eq!(fork.view().unwrap().remembered, []);
    let before = job.play.log.iter().map(|(at, ..)| at.seq).take_while(|seq| *seq < answered);
    let before = before.last().unwrap();
    assert!(job.play.back(answered));
    assert_eq!(job.play.view().remembered, view.remembered);
    assert!(job.play.back(before));
    assert_eq!(job.play.view().remembered, []);
}

#[test]
fn only_the_approval_of_a_call_can_be_remembered() {
    let approval = json!({"rules": [{"tool": "write_*", "then": "ask"}]});
    let mut job = obedient(&approval, write("a"));
    job.run(&Value::Null);
    let no = Answer::of(proto::interaction::Verdict::Reject);
    job.play.answer_with("q1", Answer { remember: Some(Remember::Job), ..no });
    assert!(open_question(&job.play).is_some(), "the answer does not count");
}

/// Runs the first turn of a job, which makes all calls.
fn take_turn(job: &mut Obedient) {
    job.play.drive();
    let [Decision::Turn(turn)] = job.play.decisions.as_slice() else { panic!("not one turn") };
    let work = turn.work.to_string();
    let orders = std::mem::take(&mut job.orders);
    job.play.turn(&work, calls(orders));
    job.play.drive();
}

/// Ends the only call that was sent.
fn end_call(job: &mut Obedient) {
    let [work] = sent(&job.play).try_into().unwrap();
    job.play.ok(work.work.as_str(), json!("a page"));
}

/// A job in which the content of a page makes a rule deny a call that a person is asked about.
fn withdrawn() -> Obedient {
    let approval = json!({"rules": [{"tool": "write_file", "after": "untrusted", "then": "deny"},
        {"tool": "write_file", "then": "ask"}]});
    let mut submitted = submitted(&approval);
    submitted.agent.ask.deadline_ms = Some(60_000);
    let mut job = Obedient::new(submitted, write("a"));
    job.orders.push(TurnCall { id: "c2".into(), ..call("http_get", json!({})) });
    take_turn(&mut job);
    assert!(open_question(&job.play).is_some());
    job
}

#[test]
fn a_question_about_a_call_that_a_policy_now_denies_is_withdrawn() {
    let mut job = withdrawn();
    let question = open_question(&job.play).unwrap();
    end_call(&mut job);
    let decided = job.play.drive();
    assert!(decided[0].starts_with("close q1 Denied"), "{decided:?}");
    let view = job.play.view();
    assert!(view.questions.is_empty() && job.play.armed.is_empty());
    let [past] = view.past_questions.as_slice() else { panic!("{:?}", view.past_questions) };
    assert!(matches!(past.end, QuestionEnd::Closed { because: Closed::Denied, .. }));
    assert_eq!(sent(&job.play).len(), 1, "only the page was read");
    approve(&mut job.play, &question, None);
    job.run(&Value::Null);
    assert_eq!(sent(&job.play).len(), 1);
}

#[test]
fn an_answer_that_precedes_the_withdrawal_does_not_let_a_denied_call_run() {
    let mut job = withdrawn();
    let question = open_question(&job.play).unwrap();
    end_call(&mut job);
    let note = job.play.job.decide().unwrap().decision;
    assert!(matches!(note, Decision::Note(Note::QuestionClosed { because: Closed::Denied, .. })));
    approve(&mut job.play, &question, Some(Remember::Job));
    job.play.decision(note);
    job.run(&Value::Null);
    assert_eq!((sent(&job.play).len(), job.refused.len()), (1, 1));
    assert_eq!(job.play.view().state, JobState::Completed);
}

#[rstest]
#[case::denied(json!({"rules": [
    {"tool": "helper", "args": {"properties": {"goal": {"pattern": "^bad"}}}, "then": "deny"}]}))]
#[case::asked_about(json!({"rules": [
    {"tool": "helper", "args": {"properties": {"goal": {"pattern": "^bad"}}}, "then": "ask"}]}))]
fn a_child_that_a_rule_keeps_back_takes_no_share_of_the_budget(#[case] approval: Value) {
    let mut submitted = submitted(&approval);
    submitted.agent.budget.tokens = Some(10_000);
    let mut job = Obedient::new(submitted, call("helper", json!({"goal": "good"})));
    job.orders.push(TurnCall { id: "c2".into(), ..call("helper", json!({"goal": "bad"})) });
    take_turn(&mut job);
    let spawned: Vec<SpawnWork> =
        job.play.decisions.iter().cloned().filter_map(Decision::into_spawn).collect();
    let [spawn] = spawned.as_slice() else { panic!("{spawned:?}") };
    let usage = job.play.view().usage;
    let left = 10_000 - usage.input_tokens - usage.output_tokens;
    assert_eq!(spawn.agent.budget.tokens, Some(left));
}

/// Returns the number of the rule that asks about a call, and 0 for one that is denied.
fn asking_rule(tool: &str, path: &str) -> Option<u32> {
    match (tool, path) {
        (_, path) if path.starts_with("secret") => Some(0),
        ("write_file", path) if path.starts_with("tmp/a") => Some(2),
        ("write_file" | "run", _) => Some(3),
        _ => None,
    }
}

proptest! {
    #[test]
    fn no_remembered_approval_covers_a_call_that_another_rule_asks_about(
        wished in proptest::collection::vec((0..5_usize, "(secret|tmp)/[ab]", any::<bool>()), 1..7),
    ) {
        let tools = ["write_file", "run", "read_file", "create_task", "write_file"];
        let path = |pattern: &str| json!({"properties": {"path": {"pattern": pattern}}});
        let rules = json!({"rules": [
            {"tool": "*", "args": path("^secret"), "then": "deny"},
            {"tool": "write_file", "args": path("^tmp/a"), "then": "ask"},
            {"tool": "write_file", "then": "ask"},
            {"tool": "run", "then": "ask"},
        ]});
        let mut job = obedient(&rules, call("read_file", json!({})));
        for (n, (tool, path, remember)) in wished.iter().enumerate() {
            let one = call(tools[*tool], json!({ "path": path }));
            job.orders.push(TurnCall { id: format!("c{n}"), ..one });
            job.run(&Value::Null);
            while let Some(question) = open_question(&job.play) {
                approve(&mut job.play, &question, remember.then_some(Remember::Job));
                job.play.drive();
                job.run(&Value::Null);
            }
            if job.play.view().state == JobState::Completed {
                break;
            }
        }
        let view = job.play.view();
        for work in sent(&job.play) {
            let path = work.args["path"].as_str().unwrap_or_default();
            let rule = asking_rule(work.tool.as_str(), path);
            prop_assert_ne!(rule, Some(0), "{:?}", work);
            prop_assert_eq!(rule.is_some(), work.approved.is_some(), "{:?}", work);
            if let Some(ask) = &work.remembered {
                let given = view.remembered.iter().find(|one| one.ask == *ask);
                let by = given.map(|one| (one.tool.clone(), one.asked_by.clone()));
                let expected = if work.tool.as_str() == "run" { 4 } else { rule.unwrap() };
                let rule = AskedBy::Rule { level: 0, rule: expected };
                prop_assert_eq!(by, Some((ToolName::new(work.tool.as_str()).unwrap(), vec![rule])));
            }
        }
    }
}
