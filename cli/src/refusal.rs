//! Refusals of the front door, translated to the command line: flags and arguments instead of
//! request fields, commands instead of advice to programs.

use proto::error::{Code, Failure};

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
pub(crate) fn hint(failure: &Failure) -> Option<String> {
    if failure.hint != failure.code.hint() {
        return Some(failure.hint.clone()).filter(|hint| !hint.is_empty());
    }
    general(failure.code).map(str::to_owned)
}

fn general(code: Code) -> Option<&'static str> {
    match code {
        // The message is complete, and there is no further advice.
        Code::InvalidRequest => None,
        Code::UnsupportedVersion => {
            Some("the program and the server are of different versions; see `callboard version`")
        }
        Code::UnknownAgent => Some(
            "`callboard agents ls` lists the agents; --agent @FILE takes the policies from a file",
        ),
        Code::UnknownPrice => Some(
            "set the price of the model in model.known of the configuration, or in budget.prices of the agent",
        ),
        Code::AlreadyAnswered => Some("no action is needed: the first answer counts"),
        Code::InvalidAnswer => Some("`callboard inbox show JOB` shows the question"),
        Code::WouldRepeat => {
            Some("roll back to a later record, or allow the repetition with --again")
        }
        Code::IdempotencyConflict => Some("take another --id for a new job"),
        Code::Forbidden => Some(
            "use the token of a caller with the required role: $CALLBOARD_TOKEN or --token-file; see docs/front-door.md",
        ),
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
        | Code::Internal => Some(code.hint()),
    }
}

#[cfg(test)]
mod tests {
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
            let hint = hint(&Failure::new(*code, "m")).unwrap_or_default();
            for of_programs in ["`field`", "in the request", "inline", "`winner`", "same body"] {
                assert!(!hint.contains(of_programs), "{code}: {hint}");
            }
        }
        let own = Failure::new(Code::NotFound, "m").advise("look there");
        assert_eq!(hint(&own).as_deref(), Some("look there"));
    }
}
