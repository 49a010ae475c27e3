//! The detection of loops: repeated calls, tools that keep failing, and turns without new results.

use std::collections::{BTreeMap, BTreeSet};

use proto::{guard::Guard, notice::Notice};
use serde_json::Value;

/// The record of a run, as far as the loop guards need it.
#[derive(Debug, Clone, Default)]
pub(super) struct Watch {
    /// Signatures of all calls made.
    seen: BTreeSet<u64>,
    /// Signatures of all results.
    results: BTreeSet<u64>,
    /// Number of turns that made each call since the last new call.
    repeats: BTreeMap<u64, u32>,
    /// Consecutive failures, by tool.
    failing: BTreeMap<String, u32>,
    /// Consecutive turns without a new call or result.
    idle: u32,
}

/// An ended call, as the guards see it.
pub(super) struct Ended<'a> {
    /// Signature of tool and arguments; `None` if nothing was called.
    pub(super) call: Option<u64>,
    pub(super) name: &'a str,
    pub(super) came: Came,
}

/// The result of a call, as the guards see it.
pub(super) enum Came {
    /// A result or a person's answer, by its signature.
    Result(u64),
    /// The tool's negative answer, or a call that could not be run.
    Failure,
    /// An unknown outcome, or a rejected approval.
    Neither,
}

/// The consequences of a turn.
#[derive(Debug, Default)]
pub(super) struct LoopVerdict {
    /// Notices for the model.
    pub(super) notices: Vec<Notice>,
    /// `true` if the next turn must answer without calls.
    pub(super) must_answer: bool,
}

impl Watch {
    /// Records a finished turn and returns its consequences.
    pub(super) fn over(&mut self, ended: &[Ended<'_>], guard: &Guard) -> LoopVerdict {
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

    fn verdict(&self, ended: &[Ended<'_>], guard: &Guard) -> LoopVerdict {
        let mut verdict = LoopVerdict::default();
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

    /// Returns the notice that ends the run, once enough turns in a row were idle.
    pub(super) fn stops(&self, guard: &Guard) -> Option<Notice> {
        reached(self.idle, guard.no_progress_stop)
            .then_some(Notice::NoProgress { turns: self.idle })
    }
}

/// Returns `true` if the bound is set (not 0) and reached.
fn reached(count: u32, bound: u32) -> bool {
    bound > 0 && count >= bound
}

/// Returns a hash of tool and arguments (FNV-1a, 64 bits) that does not depend on the order of
/// fields.
pub(super) fn signature(tool: &str, args: &Value) -> u64 {
    let mut hash = bytes(0xcbf2_9ce4_8422_2325, tool.as_bytes());
    value(&mut hash, args);
    hash
}

fn bytes(hash: u64, bytes: &[u8]) -> u64 {
    // The length comes first, so that adjacent texts cannot be confused with other texts.
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
