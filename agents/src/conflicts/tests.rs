//! Tests that every row of the table is refused for its own reason, and that every agent is legal
//! or refused.

use proto::lang::Language;

use super::*;
use crate::source;

#[test]
fn every_pair_of_the_table_is_refused_for_its_own_reason() {
    for clash in clashes() {
        let written = source::json(clash.example).unwrap();
        let agent: Agent = serde_json::from_value(written.clone()).unwrap();
        let refused = check_written(&agent, &written).expect_err(clash.example);
        assert_eq!(
            (refused.field.as_str(), refused.why),
            (clash.fields[0], clash.why()),
            "{}",
            clash.example
        );
        if clash.idle {
            assert_eq!(check(&agent), Ok(()), "{}: inherited, it does no harm", clash.example);
        }
    }
}

/// Covers all values of the enumerated policies. The machine's tests run every legal combination.
#[test]
fn every_combination_of_words_is_legal_or_refused_with_a_reason() {
    let mut legal = 0;
    let mut refused = 0;
    for agent in crate::words::combinations() {
        match check(&agent) {
            Ok(()) => legal += 1,
            Err(invalid) => {
                assert!(Language::ALL.iter().all(|l| !invalid.why.text(*l).is_empty()));
                refused += 1;
            }
        }
    }
    assert!(legal > 1000 && refused > 1000, "{legal} legal, {refused} refused");
}
