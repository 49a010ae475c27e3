//! Jobs in which everything happens by chance: results that fault, come twice, late or out of
//! order, timers that fire twice, answers, pauses and replans. Whatever happens, no attempt is sent
//! twice, no result counts twice, and the job ends.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proto::{
    agent::{Dispatch, OnFailure},
    decision::Decision,
    fact::{Fact, Fired, PlanReply, Signal},
    id::TimerName,
    interaction::{Answer, QuestionKind, Verdict},
    tool::{Fault, ToolResult},
};
use serde_json::json;

use super::play::{Play, agent, plan};

const PLANS: [&str; 5] = ["a", "a b c", "a b<a c<b", "a b<a c<a d<b,c", "a b c<a d<b e<c,d f<e"];

#[derive(Debug, Clone)]
struct Chances {
    plan: usize,
    sequential: bool,
    on_failure: u8,
    confirm: bool,
    moves: Vec<u8>,
}

fn chances() -> impl Strategy<Value = Chances> {
    (
        0..PLANS.len(),
        any::<bool>(),
        0u8..3,
        any::<bool>(),
        prop::collection::vec(any::<u8>(), 0..80),
    )
        .prop_map(|(plan, sequential, on_failure, confirm, moves)| Chances {
            plan,
            sequential,
            on_failure,
            confirm,
            moves,
        })
}

fn play(chances: &Chances) {
    let mut p = Play::submit(agent(|a| {
        a.confirm = chances.confirm;
        a.dispatch = if chances.sequential { Dispatch::Sequential } else { Dispatch::Parallel };
        a.step.on_failure = [OnFailure::Stop, OnFailure::Continue, OnFailure::Replan]
            [usize::from(chances.on_failure)];
    }));
    let mut sent = BTreeSet::new();
    let mut moves = chances.moves.iter().copied().chain(std::iter::repeat(0));
    for _ in 0..400 {
        let chance = moves.next().unwrap_or(0);
        drive(&mut p, &mut sent, PLANS[chances.plan], chance);
        if p.job.has_ended() {
            return;
        }
        happen(&mut p, PLANS[chances.plan], &sent, moves.next().unwrap_or(0));
        assert!(p.job.poison().is_none(), "{:?}", p.job.poison());
    }
    panic!("the job never ends: {:?}", p.view());
}

/// Stores what should follow. Sometimes a fact is stored between the moment something is decided and
/// the moment the decision is: the decider did not know, and the decision must still be able to
/// follow.
fn drive(p: &mut Play, sent: &mut BTreeSet<(String, u32)>, steps: &str, chance: u8) {
    let mut interrupted = false;
    while let Some(next) = p.job.decide() {
        for arm in next.arm {
            if chance % 5 == 4 {
                // Storing the decision takes longer than its timer runs.
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
                (_, Some((work, attempt))) => result(p, steps, &work, attempt, chance),
                (_, None) => {}
            }
        }
        let command = match &next.decision {
            Decision::Plan(w) => Some((w.work.to_string(), w.attempt.0)),
            Decision::Call(w) => Some((w.work.to_string(), w.attempt.0)),
            _ => None,
        };
        if let Some(command) = command {
            assert!(sent.insert(command.clone()), "{command:?} was sent twice");
        }
        p.decision(next.decision);
        assert!(p.job.poison().is_none(), "{:?}", p.job.poison());
    }
}

/// One thing happens. A move of 0 is what a healthy world would do next.
fn happen(p: &mut Play, steps: &str, sent: &BTreeSet<(String, u32)>, chance: u8) {
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
        result(p, steps, work, *attempt, chance);
        if chance > 100 && chance.is_multiple_of(3) {
            result(p, steps, work, *attempt, chance); // Delivered twice.
        }
    }
    match chance {
        251 => p.signal(Signal::Pause),
        252 => p.signal(Signal::Cancel),
        253 => p.fact(Fact::Fired(Fired { timer: TimerName::new("retry-1").unwrap() })),
        254 => p.answer_with("q1", Answer::approve(None)),
        _ => p.signal(Signal::Resume),
    }
}

fn result(p: &mut Play, steps: &str, work: &str, attempt: u32, chance: u8) {
    if let Some(round) = work.strip_prefix("g0.p") {
        // Step ids must be new after a replan.
        let fresh: String = steps
            .chars()
            .map(|c| if c.is_ascii_lowercase() { format!("{c}{round}") } else { c.to_string() })
            .collect();
        let reply = match chance % 7 {
            6 => PlanReply::Unparseable { text: "?".into(), error: "?".into() },
            _ => PlanReply::Plan { plan: plan(&fresh) },
        };
        p.reply(round.parse().unwrap(), reply);
        return;
    }
    match chance % 9 {
        6 => p.result(work, attempt, ToolResult::failed("bad"), Some(Fault::InvalidArguments)),
        7 => p.result(work, attempt, ToolResult::failed("no"), None),
        8 => p.result(work, attempt, ToolResult::failed("broken"), Some(Fault::Timeout)),
        _ => p.result(work, attempt, ToolResult::ok(json!(work)), None),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_job_ends_and_nothing_counts_twice(chances in chances()) {
        play(&chances);
    }
}
