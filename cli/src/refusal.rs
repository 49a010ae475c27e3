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
pub(crate) fn message(failure: &Failure) -> Words {
    let reason = reason(failure);
    Words::new(|language| in_flags(failure.field.as_deref(), reason.text(language).to_owned()))
}

/// Translates the message, which names the field as the request does.
pub(crate) fn reason(failure: &Failure) -> Words {
    Words::new(|language| failure.message_in(language))
}

fn in_flags(field: Option<&str>, message: String) -> String {
    let Some(field) = field else { return message };
    if field.starts_with(OF_A_PLAN.0) {
        return message.replace(OF_A_PLAN.0, OF_A_PLAN.1);
    }
    if field.starts_with("files") {
        return format!("--file: {message}");
    }
    let rest = message.strip_prefix(field).and_then(|m| m.strip_prefix([':', '：']));
    let rest = rest.map(str::trim_start);
    let flag = FLAGS.iter().find(|(known, _)| *known == field).map(|(_, flag)| flag);
    match (rest, flag) {
        (Some(rest), Some(flag)) => format!("{flag}: {rest}"),
        (Some(_), None) | (None, _) => message,
    }
}

/// Returns the advice. The server's advice on this case takes precedence; its general advice for a
/// code is meant for programs.
pub(crate) fn hint(failure: &Failure) -> Option<Words> {
    if failure.hint != failure.code.hint() {
        let hint = Words::new(|language| failure.hint_in(language));
        return Some(hint).filter(|_| !failure.hint.is_empty());
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
        Code::InvalidEncoding => Text::SendUtf8,
        Code::TooDeep => Text::Flatten,
        Code::TooLarge => Text::SendLess,
        Code::InvalidId => Text::IdForm,
        Code::NotFound => Text::CheckId,
        Code::Closed => Text::LookAtJob,
        Code::Stale => Text::ApproveAgain,
        Code::JobEnded => Text::ContinueEnded,
        Code::Overloaded => Text::SendLater,
        Code::Unavailable => Text::CheckServer,
        Code::Timeout => Text::SendAgain,
        Code::Poisoned => Text::UnreadableRecord,
        Code::Internal => Text::ReportDefect,
    };
    Some(hint.into())
}

#[cfg(test)]
mod tests {
    use proto::{lang::Language, refusal::Text as Refusal};

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
            assert_eq!(super::message(&failure).text(Language::En), told);
        }
    }

    #[test]
    fn a_refusal_is_told_in_the_language_of_the_user() {
        let failure = Failure::about(Code::InvalidRequest, "goal", Refusal::NoGoal);
        let failure = failure.next(Refusal::SeeAgents);
        let (message, hint) = (super::message(&failure), super::hint(&failure).unwrap());
        assert_eq!(message.text(Language::En), "GOAL: must describe what the job should achieve");
        assert_eq!(message.text(Language::Zh), "GOAL: 必须说明任务要达到的目标");
        assert!(hint.text(Language::Zh).contains("列出各智能体"), "{hint:?}");
    }

    #[test]
    fn a_refusal_with_an_unknown_reason_is_told_as_the_server_wrote_it() {
        let mut failure = Failure::of(Code::NotFound, Refusal::NoJob { job: &"j" });
        for (name, args) in [("of_another_release", true), ("no_job", false)] {
            let reason = failure.reason.as_mut().unwrap();
            reason.name = name.to_owned();
            if !args {
                reason.args.clear();
            }
            assert_eq!(super::message(&failure).text(Language::Zh), "there is no job j");
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
