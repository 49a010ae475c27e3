//! Families of jobs, each with a log of its own. Messages arrive once, twice or late.

mod back;
mod bounds;
mod ends;
mod sub_workflows;

use std::collections::BTreeMap;

use proto::{
    agent::Agent,
    budget::{Axis, Price, Spend},
    decision::Decision,
    fact::{CallTarget, Fact, Signal, Signaled, Submitted, TurnCall},
    family::{Callee, Callees, ChildSaid, News, as_tools, child_id},
    id::{AgentName, Attempt, JobId, Seq, ToolName, WorkId},
    interaction::Answer,
    job::{FailReason, JobState, Outcome},
    lang::Language,
    plan::{Action, Plan},
    tool::Binding,
    view::JobView,
};
use rstest::rstest;
use serde_json::{Value, json};

use super::play::{Play, agent, calls, plan_with, question, work};
use crate::Tell;

/// A job and its descendants.
struct Kin {
    jobs: BTreeMap<JobId, Play>,
    /// Number of times that every message is sent.
    times: usize,
    /// Number of submissions that were sent.
    submitted: usize,
}

/// Returns a job that waits for its child.
pub(super) fn parent() -> Play {
    let mut kin = Kin::planned("a:helper", |_| {});
    kin.root().clone()
}

fn name(name: &str) -> AgentName {
    AgentName::new(name).unwrap()
}

/// Returns the definitions of two sub-agents: `helper` carries out its goal itself, and `asker` may
/// ask.
fn callees(change: impl Fn(&mut Agent)) -> Callees {
    let one = |called: &str| {
        let mut policies = agent(|a| {
            a.name = name(called);
            a.plan.when = proto::agent::PlanWhen::Never;
            a.agents = vec![serde_json::from_value(json!("helper")).unwrap()];
        });
        change(&mut policies);
        let about = format!("what {called} does");
        (name(called), Callee { about, agent: policies, workflow: None })
    };
    ["helper", "asker"].map(one).into_iter().collect()
}

fn subs(a: &mut Agent) {
    a.agents =
        serde_json::from_value(json!(["helper", {"name": "asker", "interactive": true}])).unwrap();
}

fn bound(tool: &str) -> Binding {
    let offered = proto::family::Offered { name: name(tool), about: String::new() };
    as_tools(&[offered], Language::En)[0].binding()
}

/// Returns steps of one sub-agent call each, written as `"a:helper b:asker<a"`.
fn handing(steps: &str) -> Plan {
    let who: BTreeMap<String, String> = steps
        .split_whitespace()
        .map(|s| {
            let (id, rest) = s.split_once(':').unwrap();
            (id.to_owned(), rest.split('<').next().unwrap().to_owned())
        })
        .collect();
    let bare: Vec<String> = steps
        .split_whitespace()
        .map(|s| {
            let (id, rest) = s.split_once(':').unwrap();
            let on = rest.split_once('<').map(|(_, on)| format!("<{on}")).unwrap_or_default();
            format!("{id}{on}")
        })
        .collect();
    plan_with(&bare.join(" "), |id| Action::Tool {
        tool: ToolName::new(&who[id]).unwrap(),
        args: json!({"goal": format!("do {id}"), "context": "all there is"}),
        binding: bound(&who[id]),
    })
}

fn agent_call(id: &str, tool: &str, args: Value) -> TurnCall {
    let target = CallTarget::Tool { tool: ToolName::new(tool).unwrap(), binding: bound(tool) };
    TurnCall { id: id.into(), name: tool.into(), args, target }
}

impl Kin {
    fn begin(change: impl FnOnce(&mut Agent), below: impl Fn(&mut Agent)) -> Self {
        let policies = agent(|a| {
            subs(a);
            change(a);
        });
        let play = Play::submit_as(Submitted {
            goal: "reach the goal".into(),
            agent: policies,
            language: Language::En,
            language_detected: true,
            digest: "d".into(),
            by: None,
            conversation: None,
            parent: None,
            agents: callees(below),
            forked: None,
            plan: None,
            workflow: None,
            files: Vec::new(),
            labels: serde_json::from_str(r#"{"team":"x"}"#).unwrap(),
            rules: proto::rules::Rules::NOW,
        });
        let jobs = BTreeMap::from([(play.job.id().clone(), play)]);
        Self { jobs, times: 1, submitted: 0 }
    }

    /// Returns a family whose root has a plan in force.
    fn planned(steps: &str, change: impl FnOnce(&mut Agent)) -> Self {
        let mut kin = Self::begin(change, |_| {});
        kin.run();
        kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing(steps) });
        kin.run();
        kin
    }

    fn root(&mut self) -> &mut Play {
        self.jobs.get_mut(&JobId::new("job").unwrap()).unwrap()
    }

    fn view(&mut self) -> JobView {
        self.root().view()
    }

    /// Returns the child of a unit of work of the root.
    fn child(&mut self, unit: &str, attempt: u32) -> &mut Play {
        let id = child_id(&JobId::new("job").unwrap(), Seq(1), &work(unit), Attempt(attempt));
        self.jobs.get_mut(&id).unwrap_or_else(|| panic!("{unit} #{attempt} was never begun"))
    }

    /// Drives all jobs until nothing follows.
    fn run(&mut self) {
        for _ in 0..1000 {
            let mut tells = Vec::new();
            for play in self.jobs.values_mut() {
                play.drive();
                tells.append(&mut play.tells);
            }
            if tells.is_empty() {
                return;
            }
            for tell in tells {
                (0..self.times).for_each(|_| self.hear(tell.clone()));
            }
        }
        panic!("the family never rests");
    }

    fn hear(&mut self, tell: Tell) {
        match tell {
            Tell::Submit { job, submitted, .. } => {
                self.submitted += 1;
                self.jobs.entry(job.clone()).or_insert_with(|| Play::submit_to(job, *submitted));
            }
            Tell::Say { job, fact } => self.jobs.get_mut(&job).unwrap().fact(*fact),
        }
    }

    fn ends(&mut self, unit: &str, attempt: u32, success: bool, response: &str) {
        self.child(unit, attempt).done("g0.r0.goal.n1.t1", success, response);
        self.run();
    }
}

#[test]
fn children_work_side_by_side_and_their_results_are_those_of_the_steps() {
    for times in [1, 2] {
        let mut kin = Kin::begin(|_| {}, |_| {});
        kin.times = times;
        kin.run();
        let plan = handing("a:helper b:helper c:helper<a,b");
        kin.root().reply(1, proto::fact::PlanReply::Plan { plan });
        kin.run();
        assert_eq!(kin.jobs.len(), 3, "c waits");
        let a = kin.child("g0.r0.a", 1).view();
        assert_eq!(a.labels.iter().next().unwrap().to_string(), "team=x");
        assert_eq!(
            (a.goal.as_str(), a.agent.as_str()),
            ("do a\n\nContext:\nall there is", "helper")
        );
        let parent = a.parent.unwrap();
        assert_eq!((parent.path.as_str(), parent.depth, parent.root.as_str()), ("job/a", 1, "job"));
        kin.ends("g0.r0.b", 1, true, "B");
        kin.ends("g0.r0.a", 1, true, "A");
        let c = kin.child("g0.r0.c", 1).view().goal;
        assert!(c.contains("\n[a]: ") && c.contains("B"), "{c}");
        kin.ends("g0.r0.c", 1, true, "C");
        assert_eq!(kin.root().states(), "a:completed b:completed c:completed");
        let Outcome::Completed { results, .. } = kin.root().outcome() else { panic!() };
        assert_eq!(results["a"]["results"]["goal"], "A");
        assert_eq!(kin.view().usage.input_tokens, 30, "what children cost is counted once");
        let children = kin.view().children;
        assert!(
            children.iter().all(|c| c.state == JobState::Completed && c.usage.input_tokens == 10)
        );
    }
}

#[test]
fn a_child_neither_asks_nor_has_its_plan_checked_unless_it_may() {
    let mut kin = Kin::planned("a:helper b:asker", |_| {});
    let may = |kin: &mut Kin, unit: &str| {
        let mut turns = kin.child(unit, 1).log.iter().filter_map(|(_, _, record)| match record {
            Ok(proto::record::Known::Decision(decision)) => match &**decision {
                Decision::Turn(turn) => Some(turn.may_ask),
                _ => None,
            },
            _ => None,
        });
        turns.next().unwrap()
    };
    assert!(!may(&mut kin, "g0.r0.a"));
    assert!(may(&mut kin, "g0.r0.b"));
}

#[test]
fn a_question_of_a_child_is_seen_at_the_root_and_answered_where_it_was_asked() {
    let mut kin = Kin::planned("a:helper b:asker", |_| {});
    kin.times = 2;
    kin.child("g0.r0.b", 1).turn("g0.r0.goal.n1.t1", calls(vec![question("c1", "Which?")]));
    kin.run();
    let view = kin.view();
    assert_eq!(view.state, JobState::InputRequired);
    let asks = &view.children.iter().find(|c| c.path == "job/b").unwrap().questions;
    assert_eq!(
        (asks.len(), asks[0].path.as_str(), asks[0].question.prompt.as_str()),
        (1, "job/b", "Which?")
    );
    assert_eq!(kin.root().states(), "a:running b:waiting");
    let where_it_is = asks[0].job.clone();
    kin.jobs.get_mut(&where_it_is).unwrap().answer_with("q1", Answer::respond(json!("this")));
    kin.run();
    assert_eq!(kin.view().state, JobState::Working);
    assert!(kin.view().children.iter().all(|c| c.questions.is_empty()));
    kin.ends("g0.r0.a", 1, true, "A");
    kin.child("g0.r0.b", 1).done("g0.r0.goal.n1.t2", true, "B");
    kin.run();
    assert_eq!(kin.view().state, JobState::Completed);
}

#[test]
fn a_question_that_is_closed_never_opens_again_however_late_it_is_heard_of() {
    let mut kin = Kin::planned("b:asker", |_| {});
    kin.child("g0.r0.b", 1).turn("g0.r0.goal.n1.t1", calls(vec![question("c1", "Which?")]));
    let mut said = Vec::new();
    let child = kin.child("g0.r0.b", 1);
    child.drive();
    said.append(&mut child.tells);
    let late = said.clone();
    said.into_iter().for_each(|tell| kin.hear(tell));
    kin.run();
    kin.child("g0.r0.b", 1).answer_with("q1", Answer::respond(json!("this")));
    kin.run();
    assert_eq!(kin.view().state, JobState::Working);
    late.into_iter().for_each(|tell| kin.hear(tell));
    assert_eq!(kin.view().state, JobState::Working);
}

#[test]
fn canceling_a_job_cancels_everybody_below_before_it_ends() {
    let mut kin = Kin::planned("a:helper b:helper", |_| {});
    kin.child("g0.r0.a", 1).turn(
        "g0.r0.goal.n1.t1",
        calls(vec![agent_call("c1", "helper", json!({"goal": "deeper"}))]),
    );
    kin.run();
    assert_eq!(kin.jobs.len(), 4);
    kin.times = 2;
    kin.root().signal(Signal::Cancel);
    kin.run();
    let states: Vec<JobState> = kin.jobs.values().map(|p| p.view().state).collect();
    assert_eq!(states, [JobState::Canceled; 4]);
    let view = kin.view();
    assert_eq!(view.usage.input_tokens, 10, "what a child spent before it heard of it, once");
    let told: Vec<_> = view.children.iter().map(|c| (c.state, c.usage.input_tokens)).collect();
    assert_eq!(told, [(JobState::Canceled, 10), (JobState::Canceled, 0)]);
    let deepest =
        kin.jobs.values().find(|p| p.view().parent.is_some_and(|p| p.depth == 2)).unwrap();
    let Outcome::Canceled { reason } = deepest.outcome() else { panic!() };
    assert!(reason.unwrap().contains("no longer needs the result"));
}

#[test]
fn a_child_that_was_only_decided_is_begun_before_it_is_canceled() {
    let mut kin = Kin::begin(|_| {}, |_| {});
    kin.run();
    kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
    let next = kin.root().job.decide().unwrap();
    assert!(matches!(next.decision, Decision::Spawn(_)) && next.tell.is_empty());
    kin.root().decision(next.decision);
    kin.root().signal(Signal::Cancel);
    kin.run();
    assert_eq!(kin.submitted, 1);
    assert_eq!(kin.child("g0.r0.a", 1).view().state, JobState::Canceled);
    assert_eq!(kin.view().state, JobState::Canceled);
}

#[test]
fn a_pause_is_passed_on_and_one_that_was_overtaken_changes_nothing() {
    let mut kin = Kin::planned("a:helper", |_| {});
    kin.root().signal(Signal::Pause);
    kin.run();
    let paused = |kin: &mut Kin| {
        kin.child("g0.r0.a", 1).view().sub_status == Some(proto::job::SubStatus::Paused)
    };
    assert!(paused(&mut kin));
    kin.root().signal(Signal::Resume);
    kin.run();
    assert!(!paused(&mut kin));
    let late = Signaled { signal: Signal::Pause, reason: None, by: None, parent_seq: Some(Seq(1)) };
    kin.child("g0.r0.a", 1).fact(Fact::Signaled(late));
    assert!(!paused(&mut kin));
}

#[test]
fn a_child_that_failed_is_tried_again_as_another_child_by_the_steps_policy() {
    let mut kin = Kin::planned("a:helper", |a| a.step.retry.max_attempts = 2);
    kin.ends("g0.r0.a", 1, false, "no idea");
    kin.root().fire("retry-1");
    kin.run();
    assert_ne!(kin.child("g0.r0.a", 1).job.id().clone(), kin.child("g0.r0.a", 2).job.id().clone());
    kin.ends("g0.r0.a", 2, false, "still none");
    let Outcome::Failed { reason, message, .. } = kin.root().outcome() else { panic!() };
    assert_eq!(reason, FailReason::StepFailed);
    assert!(message.contains("still none"), "{message}");
    assert_eq!(kin.view().usage.input_tokens, 20, "both are counted");
}

#[test]
fn a_child_that_was_canceled_fails_its_step_and_is_not_begun_again() {
    let mut kin = Kin::planned("a:helper", |a| a.step.retry.max_attempts = 3);
    kin.child("g0.r0.a", 1).signal(Signal::Cancel);
    kin.run();
    let Outcome::Failed { message, .. } = kin.root().outcome() else { panic!() };
    assert!(message.contains("the agent's job was canceled: because"), "{message}");
}

#[test]
fn a_model_calls_an_agent_as_it_calls_a_tool_and_is_told_what_came_of_it() {
    let mut kin = Kin::begin(|a| a.plan.when = proto::agent::PlanWhen::Never, |_| {});
    kin.run();
    let turn = |p: &mut Play| {
        let Decision::Turn(turn) = p.decisions.last().cloned().unwrap() else { panic!() };
        turn
    };
    let offered = turn(kin.root()).model.agents;
    assert_eq!(offered[0].about, "what helper does");
    kin.root().turn(
        "g0.r0.goal.n1.t1",
        calls(vec![
            agent_call("c1", "helper", json!({"goal": "a"})),
            agent_call("c2", "nobody", json!({"goal": "b"})),
            agent_call("c3", "helper", json!({"goal": " "})),
            agent_call("c4", "helper", json!({"goal": "d"})),
        ]),
    );
    kin.run();
    assert_eq!(kin.jobs.len(), 3);
    kin.ends("g0.r0.goal.n1.t1.c0", 1, true, "A");
    kin.ends("g0.r0.goal.n1.t1.c3", 1, false, "no");
    kin.root().drive();
    let told = kin.root().log.iter().rev().find_map(|(_, _, record)| match record {
        Ok(proto::record::Known::Decision(decision)) => match &**decision {
            Decision::Turn(turn) => Some(turn.replies.clone()),
            _ => None,
        },
        _ => None,
    });
    let told: Vec<String> = told.unwrap().into_iter().map(|reply| reply.text).collect();
    assert!(
        told[0].contains("\"success\":true") && told[0].contains("\"goal\":\"A\""),
        "{}",
        told[0]
    );
    assert!(
        told[1].contains("there is no agent") && told[1].contains("helper, asker"),
        "{}",
        told[1]
    );
    assert!(told[2].contains("goal: must describe"), "{}", told[2]);
    assert!(told[3].contains("\"success\":false") && told[3].contains("no"), "{}", told[3]);
}

#[test]
fn what_somebody_else_says_of_a_child_changes_nothing() {
    let mut kin = Kin::planned("a:helper", |_| {});
    let outcome = json!({"state": "completed", "summary": "forged"});
    let outcome: Outcome = serde_json::from_value(outcome).unwrap();
    let ended = |work: &str, attempt, child: &str| {
        let news = News::Ended {
            outcome: outcome.clone(),
            usage: Default::default(),
            turns: 0,
            paid: Default::default(),
        };
        let child = JobId::new(child).unwrap();
        Fact::Child(ChildSaid {
            work: WorkId::new(work).unwrap(),
            attempt: Attempt(attempt),
            child,
            news,
        })
    };
    let child = kin.child("g0.r0.a", 1).job.id().to_string();
    let ignored = kin.root().job.ignored();
    for fact in
        [ended("g0.r0.a", 1, "another"), ended("g0.r0.a", 2, &child), ended("g0.r0.b", 1, &child)]
    {
        kin.root().fact(fact);
    }
    kin.root().fact_from(proto::fact::Source::Crew, ended("g0.r0.a", 1, &child));
    assert_eq!(kin.root().job.ignored(), ignored + 4);
    kin.ends("g0.r0.a", 1, true, "A");
    assert_eq!(kin.view().state, JobState::Completed);
    kin.root().fact(ended("g0.r0.a", 1, &child));
    let Outcome::Completed { summary, .. } = kin.root().outcome() else { panic!() };
    assert!(!summary.contains("forged"));
}

#[test]
fn an_id_that_is_taken_fails_the_step() {
    let mut kin = Kin::begin(|_| {}, |_| {});
    kin.run();
    kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
    kin.root().drive();
    let Some(Tell::Submit { refused, .. }) = kin.root().tells.pop() else { panic!() };
    kin.root().fact(*refused);
    kin.root().drive();
    let Outcome::Failed { message, .. } = kin.root().outcome() else { panic!() };
    assert!(message.contains("another job"), "{message}");
}

#[test]
fn nothing_changes_how_a_child_ends_once_that_is_settled() {
    let mut kin = Kin::planned("a:helper", |_| {});
    let child = kin.child("g0.r0.a", 1);
    child.done("g0.r0.goal.n1.t1", true, "A");
    let next = child.job.decide().unwrap();
    assert!(next.tell.is_empty(), "the parent is not told of what may still change");
    child.decision(next.decision);
    child.signal(Signal::Cancel);
    let next = child.job.decide().unwrap();
    assert!(matches!(&next.tell[..], [Tell::Say { .. }]));
    child.expect(&["finish completed"]);
    kin.run();
    assert_eq!(kin.view().state, JobState::Completed);
}

#[test]
fn a_child_works_in_the_language_of_the_plan_of_its_parent() {
    let mut kin = Kin::begin(|_| {}, |_| {});
    kin.run();
    let plan = Plan { language: Some(Language::Zh), ..handing("a:helper") };
    kin.root().reply(1, proto::fact::PlanReply::Plan { plan });
    kin.run();
    assert_eq!(kin.child("g0.r0.a", 1).view().language, Language::Zh);
}

/// The text around the child's task is in that language too.
#[test]
fn a_child_works_in_its_own_language_and_without_one_in_that_of_the_job() {
    for (own, told, expected, words) in [
        (None, None, Language::En, "Context:"),
        (Some(Language::Zh), None, Language::Zh, "背景"),
        (Some(Language::Zh), Some("en"), Language::En, "Context:"),
    ] {
        let sub = json!({"name": "helper", "language": told});
        let hands_over = |a: &mut Agent| a.agents = serde_json::from_value(json!([sub])).unwrap();
        let mut kin = Kin::begin(hands_over, |a| a.language = own);
        kin.run();
        kin.root().reply(1, proto::fact::PlanReply::Plan { plan: handing("a:helper") });
        kin.run();
        let view = kin.child("g0.r0.a", 1).view();
        assert_eq!(view.language, expected, "{own:?} {told:?}");
        assert!(view.goal.contains(words), "{}", view.goal);
    }
}
