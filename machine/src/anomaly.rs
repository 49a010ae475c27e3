//! Loops that lead nowhere: the same call again and again, a tool that keeps failing, turns of which
//! nothing new comes. What is seen here is a matter of the records alone. It takes effect only
//! through decisions that are stored (a command that says that the model must answer, or the note
//! that a run was stopped), so that a log written before a guard was there folds as it did.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proto::{
    guard::Guard, id::WorkId, job::FailReason, notice::Notice, plan::Action, rules::Rules,
    step::StepState,
};
use serde_json::Value;

use super::{
    call::CallEnd,
    names,
    state::{Open, Stage},
    step::{Exec, StepRun},
    text,
    tries::Tries,
    turn::{Acting, Unit, UnitKind},
};

/// What a loop has come to so far, as far as its guards look at it.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    /// Every call that was made.
    seen: BTreeSet<u64>,
    /// Every result that was got.
    results: BTreeSet<u64>,
    /// In how many turns each call was made since something new was called.
    repeats: BTreeMap<u64, u32>,
    /// Failures in a row, by tool.
    failing: BTreeMap<String, u32>,
    /// Turns in a row of which nothing new came.
    idle: u32,
}

/// One call that has ended, as guards look at it.
pub(super) struct Ended<'a> {
    /// What was called with what; absent when nothing was.
    call: Option<u64>,
    name: &'a str,
    came: Came,
}

/// What came of a call.
enum Came {
    /// A result, or a person's answer.
    Result(u64),
    /// The tool's no, or nothing that could be run.
    Failure,
    /// Nobody knows, or a person did not agree.
    Neither,
}

/// What follows from a turn.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// What the model is told.
    pub(super) notices: Vec<Notice>,
    /// Whether the next turn may only answer.
    pub(super) must_answer: bool,
}

impl Watch {
    /// A turn is over.
    pub(super) fn over(&mut self, ended: &[Ended<'_>], guard: &Guard) -> Verdict {
        let mut progress = false;
        for call in ended.iter().filter_map(|one| one.call) {
            if self.seen.insert(call) {
                progress = true;
                self.repeats.clear();
            }
        }
        let calls: BTreeSet<u64> = ended.iter().filter_map(|one| one.call).collect();
        for call in calls {
            let times = self.repeats.entry(call).or_default();
            *times = times.saturating_add(1);
        }
        for one in ended {
            match one.came {
                Came::Result(result) => {
                    progress |= self.results.insert(result);
                    self.failing.remove(one.name);
                }
                Came::Failure => {
                    let times = self.failing.entry(one.name.to_owned()).or_default();
                    *times = times.saturating_add(1);
                }
                Came::Neither => {}
            }
        }
        self.idle = if progress { 0 } else { self.idle.saturating_add(1) };
        self.verdict(ended, guard)
    }

    fn verdict(&self, ended: &[Ended<'_>], guard: &Guard) -> Verdict {
        let mut verdict = Verdict::default();
        let repeated = ended
            .iter()
            .filter_map(|one| Some((one.name, *self.repeats.get(&one.call?)?)))
            .max_by_key(|(_, times)| *times);
        if let Some((name, times)) = repeated {
            verdict.must_answer = reached(times, guard.repeat_stop);
            if verdict.must_answer || reached(times, guard.repeat_warn) {
                let (tool, must_answer) = (name.to_owned(), verdict.must_answer);
                verdict.notices.push(Notice::Repeated { tool, times, must_answer });
            }
        }
        let mut told = BTreeSet::new();
        for one in ended {
            let times = self.failing.get(one.name).copied().unwrap_or_default();
            if reached(times, guard.failing_warn) && told.insert(one.name) {
                verdict.notices.push(Notice::ToolFailure { tool: one.name.to_owned(), times });
            }
        }
        verdict
    }

    /// What ends the loop, when nothing new has come of it for long enough.
    pub(super) fn stops(&self, guard: &Guard) -> Option<Notice> {
        reached(self.idle, guard.no_progress_stop)
            .then_some(Notice::NoProgress { turns: self.idle })
    }
}

/// Whether a bound is there and reached.
fn reached(count: u32, bound: u32) -> bool {
    bound > 0 && count >= bound
}

impl Acting {
    /// The calls of the turn, once all have ended, in the model's order.
    pub(super) fn ended(&self) -> Vec<Ended<'_>> {
        self.units.iter().map(Unit::ended).collect()
    }
}

impl Unit {
    fn ended(&self) -> Ended<'_> {
        let (call, came) = match &self.kind {
            // It says nothing of the tool that there was no room for the call.
            UnitKind::Refused(_) if self.withheld => (None, Came::Neither),
            UnitKind::Refused(_) => (None, Came::Failure),
            // A list that changed is a step further; one that is written again as it is is none.
            UnitKind::Noted(_) => (Some(self.signature), Came::Result(self.signature)),
            UnitKind::Person { reply, .. } => {
                let answer = Value::from(reply.as_deref().unwrap_or_default());
                (Some(self.signature), Came::Result(signature("", &answer)))
            }
            UnitKind::Tool(call) => match &call.end {
                Some(CallEnd::Answered(result)) if result.success => {
                    let data = result.data.as_ref().unwrap_or(&Value::Null);
                    let said = result.message.as_deref().unwrap_or_default();
                    (Some(self.signature), Came::Result(signature(said, data)))
                }
                Some(CallEnd::Answered(_)) => (Some(self.signature), Came::Failure),
                Some(CallEnd::Unknown(_) | CallEnd::Refused(_)) | None => {
                    (Some(self.signature), Came::Neither)
                }
            },
        };
        Ended { call, name: &self.name, came }
    }
}

impl Open {
    /// What stops the making of plans: nothing has come of the last ones.
    pub(super) fn stalled_plans(&self) -> Option<Notice> {
        let mut watch = self.watch.as_deref().cloned().unwrap_or_default();
        watch.over(&ended_steps(&self.steps, self.rules), &self.agent.guard);
        watch.stops(&self.agent.guard)
    }

    /// The plan in force is over and another one is made.
    pub(super) fn watch_plan(&mut self) {
        let ended = ended_steps(&self.steps, self.rules);
        let watch = self.watch.get_or_insert_default();
        // A planner always answers with a plan: there is nothing else it could be made to do.
        let mut notices = watch.over(&ended, &self.agent.guard).notices;
        for notice in &mut notices {
            if let Notice::Repeated { must_answer, .. } = notice {
                *must_answer = false;
            }
        }
        self.notices = notices;
    }

    /// It was stored that a guard ended something. What the note is about may have gone another way
    /// between the moment it was decided and the moment it was stored: then it says nothing.
    pub(super) fn stopped(&mut self, at: Timestamp, work: &WorkId, notice: &Notice) {
        let language = self.language;
        if *work == names::plan(self.generation, self.round.saturating_add(1))
            && self.wants_replan()
        {
            let message = notice.text(language);
            self.stage = Stage::Failing { reason: FailReason::NoProgress, message };
            return;
        }
        let agent = std::sync::Arc::clone(&self.agent);
        for step in &mut self.steps {
            let Exec::Turn(turn) = &step.exec else { continue };
            if turn.work == *work && turn.tries == Tries::Idle {
                let run = turn.run;
                step.stop(notice.clone(), run, text::stopped(language, notice), &agent, at);
            }
        }
    }
}

/// The steps of a plan that have ended, as calls. By the first rules tasks with the same result were
/// the same.
fn ended_steps(steps: &[StepRun], rules: Rules) -> Vec<Ended<'_>> {
    let ended = steps.iter().filter_map(|step| {
        let came = match step.state {
            // A loop that did not reach what it was for has come to nothing new.
            StepState::Completed if step.unsuccessful => Came::Neither,
            StepState::Completed => {
                let result = step.result.as_ref().unwrap_or(&Value::Null);
                Came::Result(signature("", result))
            }
            // A loop that failed is no tool that could be used differently.
            StepState::Failed if matches!(step.step.action, Action::Agent) => Came::Neither,
            StepState::Failed => Came::Failure,
            StepState::Pending
            | StepState::Ready
            | StepState::Running
            | StepState::Waiting
            | StepState::Blocked
            | StepState::Skipped
            | StepState::Canceled => return None,
        };
        Some(match &step.step.action {
            Action::Tool { tool, args, .. } => {
                Ended { call: Some(signature(tool.as_str(), args)), name: tool.as_str(), came }
            }
            // Another task that was carried out is a step further, whatever its words of it are.
            Action::Agent => {
                let name = step.step.label();
                let came = match came {
                    Came::Result(result) if rules >= Rules::SECOND => {
                        let done = serde_json::json!([step.step.description, result]);
                        Came::Result(signature(name, &done))
                    }
                    came @ (Came::Result(_) | Came::Failure | Came::Neither) => came,
                };
                Ended { call: None, name, came }
            }
        })
    });
    ended.collect()
}

/// A number that is the same for the same tool and arguments, whatever the order of their fields
/// (FNV-1a, 64 bits).
pub(super) fn signature(tool: &str, args: &Value) -> u64 {
    let mut hash = bytes(0xcbf2_9ce4_8422_2325, tool.as_bytes());
    value(&mut hash, args);
    hash
}

fn bytes(hash: u64, bytes: &[u8]) -> u64 {
    // The length first, so that two texts are not taken for another two.
    let length = bytes.len().to_le_bytes();
    let all = length.iter().chain(bytes);
    all.fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn value(hash: &mut u64, json: &Value) {
    match json {
        Value::Null => *hash = bytes(*hash, b"n"),
        Value::Bool(b) => *hash = bytes(*hash, if *b { b"t" } else { b"f" }),
        Value::Number(n) => *hash = bytes(bytes(*hash, b"#"), n.to_string().as_bytes()),
        Value::String(s) => *hash = bytes(bytes(*hash, b"\""), s.as_bytes()),
        Value::Array(items) => {
            *hash = bytes(bytes(*hash, b"["), &items.len().to_le_bytes());
            items.iter().for_each(|item| value(hash, item));
        }
        Value::Object(fields) => {
            *hash = bytes(bytes(*hash, b"{"), &fields.len().to_le_bytes());
            let mut names: Vec<_> = fields.iter().collect();
            names.sort_by_key(|(name, _)| *name);
            for (name, field) in names {
                *hash = bytes(*hash, name.as_bytes());
                value(hash, field);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_call_is_known_whatever_the_order_of_its_arguments() {
        let one = signature("t", &json!({"a": [1, {"x": "y", "z": null}], "b": true}));
        assert_eq!(one, signature("t", &json!({"b": true, "a": [1, {"z": null, "x": "y"}]})));
        for other in [
            json!({"a": [1, {"x": "y", "z": null}], "b": false}),
            json!({"a": [{"x": "y", "z": null}, 1], "b": true}),
            json!({"a": [1, {"x": "y"}], "b": true}),
            json!([]),
            json!({}),
            json!(""),
        ] {
            assert_ne!(one, signature("t", &other), "{other}");
        }
        assert_ne!(signature("ab", &json!("c")), signature("a", &json!("bc")));
    }
}
