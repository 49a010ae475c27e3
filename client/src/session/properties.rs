//! A watcher never displays the same text twice, nor text of a finished attempt, for any loss,
//! delay, repetition or retry, and from any starting point.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proto::door::Watched;
use serde_json::json;

use super::SessionState;

/// Attempts at one model turn; all but the last fail.
const ATTEMPTS: u32 = 3;
/// Pieces of text per attempt.
const PIECES: u32 = 4;

/// The fate of one piece in transit.
#[derive(Debug, Clone, Copy)]
struct Way {
    lost: bool,
    twice: bool,
    /// Delay of the piece, in items.
    late: usize,
}

fn way() -> impl Strategy<Value = Way> {
    (0..4u8, 0..4u8, 0..12usize).prop_map(|(lost, twice, late)| Way {
        lost: lost == 0,
        twice: twice == 0,
        late,
    })
}

fn event(happened: &serde_json::Value) -> Watched {
    let mut event = json!({"id": "7.1", "time": "2026-03-01T09:00:00Z"});
    event.as_object_mut().unwrap().extend(happened.as_object().unwrap().clone());
    Watched::Event { event: serde_json::from_value(event).unwrap() }
}

fn live(attempt: u32, index: u32) -> Watched {
    let (what, text) = match index {
        0 => ("taken", "worker".to_owned()),
        _ => ("text", format!("[{attempt}:{index}]")),
    };
    let (work, step) = ("g0.r0.s.n1.t1".to_owned(), Some("s".to_owned()));
    Watched::Live { work, attempt, step, index, what: what.to_owned(), text }
}

/// Builds the events that end an attempt, as the projection emits them.
fn ends(attempt: u32) -> Vec<Watched> {
    let usage = |attempt: u32| {
        let mut usage = json!({"type": "usage", "work": "g0.r0.s.n1.t1", "spent": {"input_tokens": 1, "output_tokens": 1}, "total": {"input_tokens": 1, "output_tokens": 1}});
        if attempt > 1 {
            usage["attempt"] = attempt.into();
        }
        event(&usage)
    };
    if attempt == ATTEMPTS {
        return vec![usage(attempt)];
    }
    let error = json!({"type": "error", "scope": "attempt", "message": "m", "work": "g0.r0.s.n1.t1", "attempt": attempt});
    vec![event(&error), usage(attempt)]
}

/// Returns the items in order of arrival, each with the number of the last finished attempt.
fn heard(ways: &[Way]) -> Vec<(Watched, u32)> {
    let mut ways = ways.iter();
    let mut items: Vec<(usize, Watched, u32)> = Vec::new();
    let mut now = 0;
    for attempt in 1..=ATTEMPTS {
        for index in 0..=PIECES {
            let way = ways.next().copied().unwrap_or(Way { lost: false, twice: false, late: 0 });
            now += 1;
            if way.lost {
                continue;
            }
            items.push((now + way.late, live(attempt, index), 0));
            if way.twice {
                items.push((now + way.late * 2, live(attempt, index), 0));
            }
        }
        for end in ends(attempt) {
            now += 1;
            items.push((now, end, attempt));
        }
    }
    items.sort_by_key(|(at, ..)| *at);
    items.into_iter().map(|(_, item, over)| (item, over)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_words_are_shown_twice_nor_any_of_an_attempt_that_is_over(
        ways in prop::collection::vec(way(), (ATTEMPTS * (PIECES + 1)) as usize),
        from in 0..20usize,
    ) {
        let mut state = SessionState::default();
        let mut over = 0;
        // A watcher that joins later has missed the earlier text.
        for (item, ended) in heard(&ways).into_iter().skip(from) {
            over = over.max(ended);
            state.apply(item);
            let shown = state.text().of_steps().into_values().next().unwrap_or_default();
            let pieces: Vec<&str> = shown.split(['[', ']']).filter(|p| p.contains(':')).collect();
            let unique: BTreeSet<&str> = pieces.iter().copied().collect();
            prop_assert_eq!(unique.len(), pieces.len(), "{}", shown);
            let attempts: BTreeSet<u32> =
                pieces.iter().map(|piece| piece.split(':').next().unwrap().parse().unwrap()).collect();
            prop_assert!(attempts.len() <= 1, "{}", shown);
            prop_assert!(attempts.iter().all(|attempt| *attempt > over), "{} of {}", shown, over);
        }
    }
}
