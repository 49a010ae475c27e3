//! Refusals of the front door, translated to the command line: flags and arguments instead of
//! request fields, commands instead of advice to programs.

use proto::{
    error::{Code, Failure},
    lang::Words,
};

use crate::words::Text;

/// Flags and arguments by request field.
const FLAGS: &[(&str, &str)] = &[
    ("agent", "--agent"),
    ("conversation", "--conversation"),
    ("deadline_ms", "--deadline"),
    ("digest", "--digest"),
    ("fork.at", "--at"),
    ("fork.job", "JOB"),
    ("goal", "GOAL"),
    ("id", "--id"),
    ("job", "JOB"),
    ("limit", "--limit"),
    ("reason", "--reason"),
    ("signal.restart.step", "STEP"),
    ("signal.roll_back.to", "--to"),
    ("signal.snapshot.name", "NAME"),
    ("signal.steer.text", "WORDS"),
    ("text", "--text"),
    ("value", "--value"),
];

/// Field of an edited plan, and its name in the plan file.
const OF_A_PLAN: (&str, &str) = ("value.steps", "steps");

/// Translates the message: the flag replaces the field.
pub(crate) fn message(failure: &Failure) -> String {
    let Some(field) = &failure.field else { return failure.message.clone() };
    if field.starts_with(OF_A_PLAN.0) {
        return failure.message.replace(OF_A_PLAN.0, OF_A_PLAN.1);
    }
    if field.starts_with("files") {
        return format!("--file: {}", failure.message);
    }
    let rest = failure.message.strip_prefix(field.as_str()).and_then(|m| m.strip_prefix(": "));
    let flag = FLAGS.iter().find(|(known, _)| known == field).map(|(_, flag)| flag);
    match (rest, flag) {
        (Some(rest), Some(flag)) => format!("{flag}: {rest}"),
        (Some(_), None) | (None, _) => failure.message.clone(),
    }
}

/// Returns the advice. The server's advice on this case takes precedence; its general advice for a
/// code is meant for programs.
pub(crate) fn hint(failure: &Failure) -> Option<Words> {
    if failure.hint != failure.code.hint() {
        return Some(failure.hint.as_str()).filter(|hint| !hint.is_empty()).map(Words::from);
    }
    general(failure.code)
}

fn general(code: Code) -> Option<Words> {
    let hint = match code {
        // The message is complete, and there is no further advice.
        Code::InvalidRequest => return None,
        Code::UnsupportedVersion => Text::OtherVersion,
        Code::UnknownAgent => Text::UnknownAgent,
        Code::UnknownPrice => Text::UnknownPrice,
        Code::AlreadyAnswered => Text::FirstAnswerCounts,
        Code::InvalidAnswer => Text::ShowsQuestion,
        Code::WouldRepeat => Text::WouldRepeat,
        Code::IdempotencyConflict => Text::OtherId,
        Code::Forbidden => Text::NeedsRole,
        Code::InvalidEncoding
        | Code::TooDeep
        | Code::TooLarge
        | Code::InvalidId
        | Code::NotFound
        | Code::Closed
        | Code::Stale
        | Code::JobEnded
        | Code::Overloaded
        | Code::Unavailable
        | Code::Timeout
        | Code::Poisoned
        | Code::Internal => return Some(code.hint().into()),
    };
    Some(hint.into())
}

#[cfg(test)]
mod tests {
    use proto::lang::Language;

    use super::*;

    #[test]
    fn a_field_of_a_request_is_told_as_the_flag_that_was_typed() {
        for (field, message, told) in [
            ("signal.roll_back.to", "signal.roll_back.to: no record 9", "--to: no record 9"),
            ("fork.at", "fork.at: no record 9", "--at: no record 9"),
            ("deadline_ms", "deadline_ms: must be 1 to 9", "--deadline: must be 1 to 9"),
            ("agent.step.exec", "agent.step.exec: no such word", "agent.step.exec: no such word"),
            ("job", "there is no job x", "there is no job x"),
            (
                "value.steps[0].tool",
                "value.steps[0].tool: a; value.steps[1].args: b",
                "steps[0].tool: a; steps[1].args: b",
            ),
        ] {
            let failure = Failure::new(Code::InvalidRequest, message).at(field);
            assert_eq!(super::message(&failure), told);
        }
    }

    #[test]
    fn no_hint_speaks_of_what_a_person_cannot_see() {
        for code in Code::ALL {
            let hint = hint(&Failure::new(*code, "m"));
            let hint = hint.as_ref().map_or("", |hint| hint.text(Language::En));
            for of_programs in ["`field`", "in the request", "inline", "`winner`", "same body"] {
                assert!(!hint.contains(of_programs), "{code}: {hint}");
            }
        }
        let own = Failure::new(Code::NotFound, "m").advise("look there");
        assert_eq!(hint(&own), Some("look there".into()));
    }
}
