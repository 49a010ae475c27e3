//! Property tests of random courses: results that fault, come twice, late or out of order, timers
//! that fire twice, answers, pauses and replans. In every course no attempt is sent twice, no
//! result counts twice, and the job ends.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proto::{
    agent::{Agent, Dispatch, Listed, OnBlocked, OnFailure, ReplanApply, ReplanWhen},
    budget::{AtLimit, Axis, Price, Spend},
    decision::Decision,
    fact::{Fact, Fired, PlanReply, Signal, TurnReply},
    guard::Guard,
    id::{Seq, TimerName},
    interaction::{Answer, QuestionKind, Verdict},
    observe::{Summarise, Summary},
    plan::Action,
    tool::{Fault, ToolResult},
};
use serde_json::json;

use super::play::{Play, agent, calls, plan, plan_with, refused_call, tool_call, transient};

const PLANS: [&str; 5] = ["a", "a b c", "a b<a c<b", "a b<a c<a d<b,c", "a b c<a d<b e<c,d f<e"];

#[derive(Debug, Clone)]
pub(super) struct Chances {
    plan: usize,
    axes: Axes,
    confirm: bool,
    /// `true` if steps are loops of model turns.
    loops: bool,
    limits: Limits,
    moves: Vec<u8>,
}

/// The policies of dispatch, failures and replanning.
#[derive(Debug, Clone)]
struct Axes {
    dispatch: Dispatch,
    on_failure: OnFailure,
    on_blocked: OnBlocked,
    when: Option<ReplanWhen>,
    listed: Listed,
    apply: ReplanApply,
}

fn axes() -> impl Strategy<Value = Axes> {
    use prop::sample::select;
    let dispatch = select(vec![Dispatch::Parallel, Dispatch::Sequential, Dispatch::Levels]);
    let on_failure =
        select(vec![OnFailure::Stop, OnFailure::Continue, OnFailure::Replan, OnFailure::FailRun]);
    let on_blocked = select(vec![OnBlocked::Error, OnBlocked::Skip]);
    let when = select(vec![None, Some(ReplanWhen::AfterListed), Some(ReplanWhen::AfterEachStep)]);
    let listed = select(vec![Listed::Each, Listed::All]);
    let apply =
        select(vec![ReplanApply::ReplaceAll, ReplanApply::ReplacePending, ReplanApply::Append]);
    (dispatch, on_failure, on_blocked, when, listed, apply).prop_map(
        |(dispatch, on_failure, on_blocked, when, listed, apply)| Axes {
            dispatch,
            on_failure,
            on_blocked,
            when,
            listed,
            apply,
        },
    )
}

impl Axes {
    fn of(&self, agent: &mut Agent) {
        agent.dispatch = self.dispatch;
        agent.step.on_failure = self.on_failure;
        agent.step.on_blocked = self.on_blocked;
        agent.replan.when = self.when;
        agent.replan.listed = self.listed;
        agent.replan.apply = self.apply;
    }
}

/// The budget and the guard; 0 is no limit.
#[derive(Debug, Clone)]
struct Limits {
    steps: u32,
    turns: u32,
    tokens: u64,
    /// Millionths of a dollar; a token costs one.
    money: u8,
    abandon: bool,
    guard: u32,
    max_calls: u32,
}

fn limits() -> impl Strategy<Value = Limits> {
    (0u32..12, 0u32..9, 0u64..200, any::<u8>(), any::<bool>(), 0u32..5, 1u32..4).prop_map(
        |(steps, turns, tokens, money, abandon, guard, max_calls)| Limits {
            steps,
            turns,
            tokens,
            money,
            abandon,
            guard,
            max_calls,
        },
    )
}

impl Limits {
    fn of(&self, agent: &mut Agent) {
        let budget = &mut agent.budget;
        budget.steps = (self.steps > 0).then_some(self.steps);
        budget.turns = (self.turns > 0).then_some(self.turns);
        budget.tokens = (self.tokens > 0).then_some(self.tokens);
        budget.money = (self.money > 0).then(|| f64::from(self.money) / 1e6);
        budget.price = Some(Price::new(1.0, 1.0));
        budget.counts = [Spend::Plan, Spend::Replan, Spend::Turn, Spend::Tool].into();
        budget.at_limit = if self.abandon { AtLimit::Abandon } else { AtLimit::LetEnd };
        agent.guard = Guard {
            repeat_warn: self.guard,
            repeat_stop: if self.guard == 1 { 2 } else { self.guard },
            failing_warn: self.guard,
            no_progress_stop: self.guard,
        };
        agent.step.max_calls = self.max_calls;
        agent.step.max_turns = 4;
    }
}

pub(super) fn chances() -> impl Strategy<Value = Chances> {
    (
        0..PLANS.len(),
        axes(),
        any::<bool>(),
        any::<bool>(),
        limits(),
        prop::collection::vec(any::<u8>(), 0..80),
    )
        .prop_map(|(plan, axes, confirm, loops, limits, moves)| Chances {
            plan,
            axes,
            confirm,
            loops,
            limits,
            moves,
        })
}

fn submitted(chances: &Chances) -> Play {
    Play::submit(agent(|a| {
        a.confirm = chances.confirm;
        if chances.confirm {
            a.observe.summarise = Summarise::Exchanges;
        }
        chances.axes.of(a);
        chances.limits.of(a);
    }))
}

/// Returns a job in the middle of its course, or at its end.
pub(super) fn midway(chances: &Chances) -> Play {
    let mut p = submitted(chances);
    let mut sent = BTreeSet::new();
    for both in chances.moves.chunks(2) {
        drive(&mut p, &mut sent, chances, both.first().copied().unwrap_or(0));
        if p.job.has_ended() {
            break;
        }
        happen(&mut p, chances, &sent, both.last().copied().unwrap_or(0));
    }
    p
}

fn play(chances: &Chances) {
    let mut p = submitted(chances);
    let mut sent = BTreeSet::new();
    let mut moves = chances.moves.iter().copied().chain(std::iter::repeat(0));
    for _ in 0..400 {
        let chance = moves.next().unwrap_or(0);
        drive(&mut p, &mut sent, chances, chance);
        within_budget(&p);
        if p.job.has_ended() {
            return;
        }
        happen(&mut p, chances, &sent, moves.next().unwrap_or(0));
        assert!(p.job.poison().is_none(), "{:?}", p.job.poison());
    }
    panic!("the job never ends: {:?}", p.view());
}

/// Asserts that no more units were decided than the budget allows. Tokens are known only
/// afterwards, so work that is out may exceed their limit.
fn within_budget(p: &Play) {
    let counted = |axis| matches!(axis, Axis::Steps | Axis::Turns);
    for gauge in p.view().budget.iter().filter(|gauge| counted(gauge.axis)) {
        assert!(gauge.used <= gauge.limit, "{gauge:?}");
    }
}

/// Returns the used-up axis on which the decision would still spend. Tokens and money are spent by
/// every command to a model, retries included.
fn overspends(p: &Play, decision: &Decision) -> Option<Axis> {
    let asks_a_model = matches!(decision, Decision::Plan(_) | Decision::Turn(_));
    let of_tokens = |axis| matches!(axis, Axis::Tokens | Axis::Money);
    let mut used_up = p.view().budget.into_iter().filter(proto::budget::Gauge::is_used_up);
    used_up.find(|gauge| asks_a_model && of_tokens(gauge.axis)).map(|gauge| gauge.axis)
}

/// Stores the decisions that follow. Sometimes a fact is stored between a decision and its write:
/// the writer had not seen it, and the decision must still be able to follow.
fn drive(p: &mut Play, sent: &mut BTreeSet<(String, u32)>, chances: &Chances, chance: u8) {
    let mut interrupted = false;
    while let Some(next) = p.job.decide() {
        assert_eq!(overspends(p, &next.decision), None, "{:?}", next.decision);
        for arm in next.arm {
            if chance % 5 == 4 {
                // The write of the decision takes longer than its timer runs.
                p.fact(Fact::Fired(Fired { timer: arm.timer }));
            } else {
                p.armed.insert(arm.timer, arm.at);
            }
        }
        for timer in &next.disarm {
            p.armed.remove(timer);
        }
        if chance % 4 == 3 && !interrupted {
            interrupted = true;
            match (chance, sent.last().cloned()) {
                (250.., _) => p.signal(Signal::Cancel),
                (240.., _) => p.signal(Signal::Pause),
                (230.., _) => p.signal(steer()),
                (_, Some((work, attempt))) => result(p, chances, &work, attempt, chance),
                (_, None) => {}
            }
        }
        let command = match &next.decision {
            Decision::Plan(w) => Some((w.work.to_string(), w.attempt.0)),
            Decision::Call(w) => Some((w.work.to_string(), w.attempt.0)),
            Decision::Turn(w) => Some((w.work.to_string(), w.attempt.0)),
            _ => None,
        };
        if let Some(command) = command {
            assert!(sent.insert(command.clone()), "{command:?} was sent twice");
        }
        p.decision(next.decision);
        assert!(p.job.poison().is_none(), "{:?}", p.job.poison());
    }
}

/// Makes one event happen. A move of 0 is the event of a healthy run.
fn happen(p: &mut Play, chances: &Chances, sent: &BTreeSet<(String, u32)>, chance: u8) {
    if let Some((timer, _)) = p.armed.first_key_value() {
        let timer = timer.to_string();
        if chance.is_multiple_of(2) {
            p.fire(&timer);
            return;
        }
    }
    if let Some(question) = p.view().questions.first().cloned() {
        let QuestionKind::PlanCheck { .. } = question.kind else { panic!("unexpected question") };
        let words = chance % 5 == 4;
        let verdict = if words { Verdict::Respond } else { Verdict::Approve };
        p.answer(question.id.as_str(), verdict, words.then_some("differently"));
        return;
    }
    let commands: Vec<_> = sent.iter().cloned().collect();
    let newest_first = commands.iter().rev();
    for (index, (work, attempt)) in newest_first.enumerate() {
        if chance > 200 && index == 0 {
            continue; // The newest result is late.
        }
        result(p, chances, work, *attempt, chance);
        if chance > 100 && chance.is_multiple_of(3) {
            result(p, chances, work, *attempt, chance); // Delivered twice.
        }
    }
    match chance {
        246..=250 => p.signal(steer()),
        251 => p.signal(Signal::Pause),
        252 => p.signal(Signal::Cancel),
        253 => p.fact(Fact::Fired(Fired { timer: TimerName::new("retry-1").unwrap() })),
        254 => p.answer_with("q1", Answer::approve(None)),
        _ => p.signal(Signal::Resume),
    }
}

fn result(p: &mut Play, chances: &Chances, work: &str, attempt: u32, chance: u8) {
    if let Some(round) = work.strip_prefix("g0.p") {
        // Step ids must not be reused after a replan.
        let fresh: String = PLANS[chances.plan]
            .chars()
            .map(|c| if c.is_ascii_lowercase() { format!("{c}{round}") } else { c.to_string() })
            .collect();
        let reply = match chance % 7 {
            6 => PlanReply::Unparseable { text: "?".into(), error: "?".into(), action: false },
            _ => {
                let mut plan =
                    if chances.loops { plan_with(&fresh, |_| Action::Agent) } else { plan(&fresh) };
                let listed = plan.steps.iter().map(|step| step.id.clone());
                plan.replan = listed.step_by(2).take(usize::from(chance % 3)).collect();
                PlanReply::Plan { plan }
            }
        };
        p.reply(round.parse().unwrap(), reply);
        return;
    }
    let turn = work.strip_suffix(".s").unwrap_or(work);
    let number = turn.rsplit_once(".t").and_then(|(_, n)| n.parse::<u32>().ok());
    if let Some(number) = number.filter(|_| chances.loops) {
        p.turned(work, attempt, said(number, chance));
        return;
    }
    match chance % 9 {
        6 => p.result(work, attempt, ToolResult::failed("bad"), Some(Fault::InvalidArguments)),
        7 => p.result(work, attempt, ToolResult::failed("no"), None),
        8 => p.result(work, attempt, ToolResult::failed("broken"), Some(Fault::Timeout)),
        _ => p.result(work, attempt, ToolResult::ok(json!(work)), None),
    }
}

fn done(success: bool, response: &str) -> TurnReply {
    TurnReply::Done {
        success,
        response: response.into(),
        attachments: Vec::new(),
        value: serde_json::Value::Null,
    }
}

fn steer() -> Signal {
    Signal::Steer { text: "otherwise".into() }
}

/// Returns a model's reply: a repeated call, a new one, one that cannot be run, several, or an end.
fn said(number: u32, chance: u8) -> TurnReply {
    let read = |page: u32| tool_call(&format!("c{page}"), "read", json!({ "page": page }));
    match chance % 8 {
        0 | 1 if number > 1 => done(true, "done"),
        2 => calls(vec![refused_call("c", "fly", json!({}))]),
        3 => calls(vec![read(1)]),
        4 => calls(vec![read(1), read(number), refused_call("c", "fly", json!({}))]),
        5 => TurnReply::Failed { error: transient() },
        6 => done(false, "no"),
        // Sometimes unsolicited.
        7 if chance >= 128 => {
            let summary = Summary { text: "as before".into(), through: Seq(1) };
            TurnReply::Summarised { summary: Some(summary), results: Vec::new() }
        }
        _ => calls(vec![read(number), read(number + 1)]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_job_ends_and_nothing_counts_twice(chances in chances()) {
        play(&chances);
    }
}
