//! Irreversible effects: the records from which a rollback, a restart or a fork would repeat one.

use std::collections::BTreeMap;

use proto::{
    cost::Cost,
    decision::Decision,
    fact::{CallTarget, Called, Fact, PlanReply, Signal, Source, Started, TurnCall},
    id::{Attempt, Pool, Seq, ToolName, WorkId},
    plan::{Action, Plan},
    record::Known,
    tool::{Binding, Effect, Fault, ToolResult},
};
use rstest::rstest;
use serde_json::json;

use super::{forking::fork, play::*};
use crate::{Effects, Repeated};

/// A history of a job whose tools must not run twice, with named points.
struct History {
    play: Play,
    points: BTreeMap<&'static str, Seq>,
}

fn once() -> Binding {
    Binding { effect: Effect::Once, ..binding() }
}

fn paying(steps: &str) -> Plan {
    let tool = ToolName::new("pay").unwrap();
    plan_with(steps, |_| Action::Tool { tool: tool.clone(), args: json!({}), binding: once() })
}

fn pay(id: &str) -> TurnCall {
    let target = CallTarget::Tool { tool: ToolName::new("pay").unwrap(), binding: once() };
    TurnCall { id: id.into(), name: "pay".into(), args: json!({"n": id}), target }
}

impl History {
    fn of(plan: Plan) -> Self {
        Self::begun(Play::planned(agent(|_| {}), plan))
    }

    fn begun(play: Play) -> Self {
        let mut history = Self { play, points: BTreeMap::new() };
        history.name("plan");
        history
    }

    fn name(&mut self, point: &'static str) {
        self.points.insert(point, self.play.last());
    }

    fn sends(&mut self, point: &'static str) {
        self.play.drive();
        self.name(point);
    }

    fn starts(&mut self, id: &str, attempt: u32, point: &'static str) {
        self.play.fact(started(work(id), Attempt(attempt)));
        self.name(point);
    }

    fn ends(&mut self, id: &str, attempt: u32, fault: Option<Fault>, point: &'static str) {
        let result = match fault {
            None => ToolResult::ok(json!("paid")),
            Some(_) => ToolResult::failed("broken"),
        };
        self.play.result(id, attempt, result, fault);
        self.name(point);
    }

    /// Returns the work that the job would repeat from a point.
    fn repeated(&self, point: &str) -> Repeated {
        repeated(&self.play, self.points[point])
    }

    /// Returns the calls that the job would repeat, each with the point from which it would.
    fn calls(&self) -> Vec<(&'static str, String)> {
        let mut points: Vec<_> = self.points.iter().map(|(name, seq)| (*seq, *name)).collect();
        points.sort_unstable();
        let calls = points.into_iter().flat_map(|(seq, name)| {
            let calls = repeated(&self.play, seq).calls;
            calls.into_iter().map(move |(_, work)| (name, work.to_string()))
        });
        calls.collect()
    }
}

fn started(work: WorkId, attempt: Attempt) -> Fact {
    Fact::Started(Started { work, attempt })
}

fn repeated(play: &Play, to: Seq) -> Repeated {
    let mut effects = Effects::default();
    for (at, family, record) in &play.log {
        effects.apply(at.seq, family, record.as_ref());
    }
    effects.repeated(to, &play.at(to))
}

#[rstest]
#[case::another_pool("python", 0)]
#[case::the_pool_of_the_call("builtin", 1)]
fn only_the_pool_of_a_call_shows_that_it_began(#[case] pool: &str, #[case] calls: usize) {
    let source = Source::Call(Pool::new(pool).unwrap());
    let result = Called {
        work: work("g0.r0.a"),
        attempt: Attempt::FIRST,
        result: ToolResult::ok(json!("paid")),
        fault: None,
        outage: false,
        duration_ms: 0,
        cost: Cost::default(),
        files: Vec::new(),
    };
    for fact in [started(work("g0.r0.a"), Attempt::FIRST), Fact::Called(result)] {
        let mut h = History::of(paying("a"));
        h.sends("command");
        h.play.fact_from(source.clone(), fact);
        assert_eq!(h.repeated("plan").calls.len(), calls);
    }
}

type Act<'a> = &'a dyn Fn(&mut History);

/// Returns a history in which the first attempt of a call fails without an effect, according to the
/// log.
fn tried_twice(until: &str, end: Option<Fault>) -> History {
    let mut h = History::of(paying("a"));
    let steps: [(&str, Act<'_>); 8] = [
        ("command 1", &|h| h.sends("command 1")),
        ("start 1", &|h| h.starts("g0.r0.a", 1, "start 1")),
        ("fault 1", &|h| h.ends("g0.r0.a", 1, Some(Fault::Unavailable), "fault 1")),
        ("wait", &|h| h.sends("wait")),
        ("timer", &|h| {
            h.play.fire("retry-1");
            h.name("timer");
        }),
        ("command 2", &|h| h.sends("command 2")),
        ("start 2", &|h| h.starts("g0.r0.a", 2, "start 2")),
        ("result 2", &|h| h.ends("g0.r0.a", 2, end, "result 2")),
    ];
    for (name, step) in steps {
        step(&mut h);
        if name == until {
            break;
        }
    }
    h
}

const ALL: &[&str] =
    &["plan", "command 1", "start 1", "fault 1", "wait", "timer", "command 2", "start 2"];

/// The job's state at the point does not know the second attempt, although it knows the end of the
/// first.
#[rstest]
#[case::nothing_has_begun("command 1", None, &[])]
#[case::the_first_has_begun("start 1", None, &["plan", "command 1", "start 1"])]
#[case::the_first_has_failed("fault 1", None, &["plan", "command 1", "start 1"])]
#[case::the_second_was_sent("command 2", None, &["plan", "command 1", "start 1"])]
#[case::the_second_has_begun("start 2", None, ALL)]
#[case::the_second_has_ended("result 2", None, ALL)]
#[case::nobody_knows_how("result 2", Some(Fault::Unknown), ALL)]
fn a_call_is_repeated_from_where_the_end_of_an_attempt_that_began_is_not_known(
    #[case] until: &str,
    #[case] end: Option<Fault>,
    #[case] from: &[&str],
) {
    let history = tried_twice(until, end);
    let expected: Vec<_> = from.iter().map(|point| (*point, "g0.r0.a".to_owned())).collect();
    assert_eq!(history.calls(), expected);
}

/// A negative answer of the tool is a result; the step is retried by its own policy.
#[test]
fn an_attempt_that_follows_a_no_is_one_by_itself() {
    let mut h = History::begun(Play::planned(
        agent(|a| {
            a.step.retry = proto::retry::RetryPolicy { max_attempts: 2, ..a.step.retry.clone() }
        }),
        paying("a"),
    ));
    h.sends("command 1");
    h.starts("g0.r0.a", 1, "start 1");
    h.play.no("g0.r0.a");
    h.name("no");
    h.play.drive();
    h.play.fire("retry-1");
    h.sends("command 2");
    assert!(h.repeated("no").calls.is_empty());
    h.starts("g0.r0.a", 2, "start 2");
    h.ends("g0.r0.a", 2, None, "result 2");
    let points: Vec<_> = h.calls().into_iter().map(|(point, _)| point).collect();
    assert_eq!(points, ["plan", "command 1", "start 1", "no", "command 2", "start 2"]);
}

#[test]
fn calls_of_a_turn_are_looked_at_one_by_one() {
    let mut h = History::begun(Play::planned(agent(|_| {}), plan_with("a", |_| Action::Agent)));
    h.play.drive();
    h.play.turn("g0.r0.a.n1.t1", calls(vec![pay("1"), pay("2")]));
    h.name("turn");
    h.sends("commands");
    let (first, second) = ("g0.r0.a.n1.t1.c0", "g0.r0.a.n1.t1.c1");
    h.starts(first, 1, "first starts");
    h.starts(second, 1, "second starts");
    h.ends(second, 1, None, "second ends");
    h.ends(first, 1, None, "first ends");
    h.sends("next turn");
    let all = |point| [(point, first.to_owned()), (point, second.to_owned())];
    let mut expected = ["plan", "turn", "commands", "first starts", "second starts"]
        .into_iter()
        .flat_map(all)
        .collect::<Vec<_>>();
    expected.push(("second ends", first.to_owned()));
    assert_eq!(h.calls(), expected);
}

/// Only the fold decides which results count: a forged result, or one of another attempt, ends
/// nothing.
#[rstest]
#[case::by_a_person(Some(proto::fact::Source::People), 1)]
#[case::of_another_attempt(None, 2)]
fn a_result_that_does_not_count_ends_nothing(
    #[case] from: Option<proto::fact::Source>,
    #[case] attempt: u32,
) {
    let mut h = History::of(paying("a"));
    h.sends("command");
    h.starts("g0.r0.a", 1, "start");
    let mut other = tried_twice("command 1", None);
    other.ends("g0.r0.a", attempt, None, "end");
    let Some((_, _, Ok(Known::Fact(called)))) = other.play.log.pop() else { panic!("no result") };
    match from {
        Some(source) => h.play.fact_from(source, *called),
        None => h.play.fact(*called),
    }
    h.name("said");
    assert_eq!(h.play.view().ignored, 1);
    assert_eq!(h.repeated("said").calls.len(), 1);
}

#[test]
fn a_command_that_a_roll_back_left_behind_holds_nothing() {
    let mut h = History::of(paying("a"));
    h.sends("command");
    assert!(h.play.back(h.points["command"]));
    h.name("back");
    // The worker is not granted the run, and reports so.
    h.starts("g0.r0.a", 1, "late start");
    h.ends("g0.r0.a", 1, Some(Fault::Unknown), "late word");
    assert_eq!(h.calls(), []);
    h.sends("command again");
    h.starts("g1.r0.a", 1, "start");
    let begun: Vec<_> = h.calls().into_iter().map(|(point, _)| point).collect();
    let all = ["plan", "command", "back", "late start", "late word", "command again", "start"];
    assert_eq!(begun, all);
    h.ends("g1.r0.a", 1, None, "result");
    assert!(h.repeated("result").calls.is_empty());
}

/// The caller allowed the effect to be repeated, and it was.
#[test]
fn what_ran_again_because_it_might_holds_nothing_once_it_has_ended() {
    let mut h = History::of(paying("a"));
    h.sends("command");
    h.starts("g0.r0.a", 1, "start");
    let (to, seen) = (h.play.last(), h.play.last());
    h.play.signal(Signal::RollBack { to, seen, again: true });
    h.name("back");
    assert_eq!(h.repeated("back").calls, []);
    h.sends("command again");
    h.starts("g1.r0.a", 1, "start again");
    assert_eq!(h.repeated("command again").calls.len(), 1);
    h.ends("g1.r0.a", 1, None, "result");
    assert_eq!(h.repeated("result").calls, []);
}

/// A fork may start at a point that a rollback removed: attempts that started in that timeline
/// count there, and attempts since then count too, unless the point is later.
#[test]
fn a_point_that_was_taken_out_knows_what_began_there() {
    let mut h = History::of(paying("a"));
    h.sends("command");
    h.starts("g0.r0.a", 1, "start");
    h.ends("g0.r0.a", 1, None, "result");
    let (to, seen) = (h.points["plan"], h.play.last());
    h.play.signal(Signal::RollBack { to, seen, again: true });
    h.name("back");
    let at = |point, work: &str| (point, work.to_owned());
    assert_eq!(h.calls(), [at("command", "g0.r0.a"), at("start", "g0.r0.a")]);
    h.sends("command again");
    h.starts("g1.r0.a", 1, "start again");
    let expected = [
        at("plan", "g1.r0.a"),
        at("command", "g0.r0.a"),
        at("command", "g1.r0.a"),
        at("start", "g0.r0.a"),
        at("start", "g1.r0.a"),
        at("back", "g1.r0.a"),
        at("command again", "g1.r0.a"),
        at("start again", "g1.r0.a"),
    ];
    assert_eq!(h.calls(), expected);
}

/// Work that a plan left undone is not done because of a rollback to a later point.
#[test]
fn a_call_of_a_step_that_is_over_holds_nothing() {
    let mut h = History::begun(Play::planned(
        agent(|a| {
            a.step.on_failure = proto::agent::OnFailure::Replan;
            a.replan.max = 1;
        }),
        paying("a b"),
    ));
    h.sends("commands");
    h.starts("g0.r0.b", 1, "b starts");
    h.ends("g0.r0.b", 1, Some(Fault::Unavailable), "b waits");
    h.starts("g0.r0.a", 1, "a starts");
    h.ends("g0.r0.a", 1, Some(Fault::InvalidArguments), "a fails");
    h.sends("replanned");
    assert!(h.play.states().is_empty() || !h.play.states().contains("b:running"));
    assert_eq!(h.repeated("replanned").calls, []);
    h.play.reply(2, PlanReply::Plan { plan: paying("c") });
    h.name("plan 2");
    assert_eq!(h.repeated("plan 2").calls, []);
}

/// Carries out the rest of a job; every tool has its effect.
fn carry_on(play: &mut Play, plan: &Plan) {
    while !play.job.has_ended() {
        play.drive();
        let sent = std::mem::take(&mut play.decisions);
        assert!(!sent.is_empty(), "nothing follows");
        for decision in sent {
            match decision {
                Decision::Call(call) => {
                    play.fact(started(call.work.clone(), call.attempt));
                    let (work, attempt) = (call.work.as_str(), call.attempt.0);
                    play.result(work, attempt, ToolResult::ok(json!("paid")), None);
                }
                Decision::Turn(turn) if turn.turn == 1 => {
                    play.turn(turn.work.as_str(), calls(vec![pay("1"), pay("2")]));
                }
                Decision::Turn(turn) => play.done(turn.work.as_str(), true, "done"),
                Decision::Plan(_) => play.reply(1, PlanReply::Plan { plan: plan.clone() }),
                _ => {}
            }
        }
    }
}

/// Returns how often each call had its effect: a started run had it, unless its tool reported that
/// nothing was done.
fn effects(play: &Play) -> BTreeMap<String, u32> {
    let mut times = BTreeMap::new();
    for (_, _, record) in &play.log {
        let Ok(Known::Fact(fact)) = record else { continue };
        match &**fact {
            Fact::Started(started) => {
                *times.entry(started.work.unit().to_owned()).or_default() += 1
            }
            Fact::Called(called) if called.fault == Some(Fault::Unavailable) => {
                *times.entry(called.work.unit().to_owned()).or_default() -= 1;
            }
            _ => {}
        }
    }
    times
}

/// At every record of a log: a rollback that is allowed repeats no effect, and one that is refused
/// would have repeated one.
#[rstest]
#[case::two_attempts(tried_twice("result 2", None).play, paying("a"))]
#[case::the_second_is_under_way(tried_twice("start 2", None).play, paying("a"))]
#[case::some_calls(some_calls(), two_and_a_loop())]
fn what_is_not_held_back_has_its_effect_once(#[case] mut play: Play, #[case] plan: Plan) {
    if play.job.waits().commands.is_empty() {
        carry_on(&mut play, &plan);
    }
    let (mut held, mut free) = (0, 0);
    for (at, _, _) in &play.log {
        if play.at(at.seq).has_ended() {
            continue;
        }
        let calls = repeated(&play, at.seq).calls;
        let mut back = play.clone();
        assert!(back.back(at.seq));
        carry_on(&mut back, &plan);
        let mut forked = fork(&play, at.seq);
        carry_on(&mut forked, &plan);
        let mut both = effects(&play);
        for (unit, times) in effects(&forked) {
            *both.entry(unit).or_default() += times;
        }
        for (way, times) in [("roll-back", effects(&back)), ("fork", both)] {
            for (unit, _) in times.iter().filter(|(_, times)| **times > 1) {
                let named = calls.iter().any(|(_, work)| work.unit() == unit);
                assert!(named, "{way} to {}: {unit} has its effect twice", at.seq);
            }
        }
        for (_, work) in &calls {
            let again = effects(&forked).contains_key(work.unit());
            assert!(again, "{}: {work} is held back, and does not run again", at.seq);
        }
        held += usize::from(!calls.is_empty());
        free += usize::from(calls.is_empty());
    }
    assert!(held > 2, "{held} records were held back");
    assert_eq!(free > 0, play.job.has_ended(), "{free} records were not");
}

fn two_and_a_loop() -> Plan {
    plan_with("a b c<a,b", |id| match id {
        "b" => Action::Agent,
        _ => paying("x").steps.remove(0).action,
    })
}

/// Returns a job with two one-call steps and a step that loops over calls; the first attempt of one
/// call fails.
fn some_calls() -> Play {
    let mut p = Play::planned(agent(|_| {}), two_and_a_loop());
    p.drive();
    p.fact(started(work("g0.r0.a"), Attempt::FIRST));
    p.turn("g0.r0.b.n1.t1", calls(vec![pay("1"), pay("2")]));
    p.drive();
    p.fact(started(work("g0.r0.b.n1.t1.c1"), Attempt::FIRST));
    p.fault("g0.r0.b.n1.t1.c1", Fault::Unavailable);
    p.drive();
    p.ok("g0.r0.a", json!("paid"));
    p.fact(started(work("g0.r0.b.n1.t1.c0"), Attempt::FIRST));
    p.ok("g0.r0.b.n1.t1.c0", json!("paid"));
    p.fire("retry-1");
    p
}
