//! The machine's own messages to agents and people, in the job's language.

use proto::{
    budget::{Axis, Gauge},
    job::FailReason,
    lang::Language,
    limits,
};

messages::texts!(machine);

/// A person did not agree to a call.
pub(super) fn not_approved(language: Language, reason: &str) -> String {
    match reason {
        "" => Text::NotApproved.text(language),
        reason => Text::NotApprovedBecause { reason: &reason }.text(language),
    }
}

/// A person declined to answer.
pub(super) fn declined(language: Language, reason: &str) -> String {
    match reason {
        "" => Text::Declined.text(language),
        reason => Text::DeclinedBecause { reason: &reason }.text(language),
    }
}

/// The prompt of a plan's confirmation.
pub(super) fn confirm_plan(language: Language, title: &str, steps: usize) -> String {
    // Also of one: recorded logs hold these words, and what follows from a log stays what it was.
    Text::ConfirmPlan { steps: &steps, title: &title }.text(language)
}

/// The planner's replies could not be used. The last one comes first: often it is a question.
pub(super) fn confused(language: Language, reply: &str, error: &str) -> String {
    let reply = proto::excerpt::ends(reply.trim(), limits::EXCERPT_CHARS);
    let asked = Text::Confused { error: &error }.text(language);
    if reply.is_empty() { asked } else { format!("{reply}\n\n{asked}") }
}

/// A step failed.
pub(super) fn step_failed(language: Language, step: &str, error: &str) -> String {
    Text::StepFailed { step: &step, error: &error }.text(language)
}

/// A job completed with what it has: what failed, and what was skipped for that.
pub(super) fn without(language: Language, summary: &str, failed: &str, skipped: &[&str]) -> String {
    if skipped.is_empty() {
        return Text::Without { summary: &summary, failed: &failed }.text(language);
    }
    let skipped = skipped.join(&Text::Comma.text(language));
    Text::WithoutSkipped { summary: &summary, failed: &failed, skipped: &skipped }.text(language)
}

/// All steps are done.
pub(super) fn succeeded(language: Language, steps: usize) -> String {
    let text = match steps {
        0 => Text::NothingToDo,
        1 => Text::SucceededOne,
        _ => Text::Succeeded { steps: &steps },
    };
    text.text(language)
}

/// Steps have completed whose agents reported that they did not reach what they were for.
pub(super) fn unsuccessful(language: Language, steps: usize) -> String {
    let text = match steps {
        1 => Text::UnsuccessfulOne,
        _ => Text::Unsuccessful { steps: &steps },
    };
    text.text(language)
}

/// The job's deadline passed.
pub(super) fn deadline_passed(language: Language) -> String {
    Text::DeadlinePassed.text(language)
}

/// Replans are used up.
pub(super) fn replans_used_up(language: Language, max: u32, error: &str) -> String {
    Text::ReplansUsedUp { max: &max, error: &error }.text(language)
}

/// The job's log is full.
pub(super) fn history_full(language: Language, records: u64) -> String {
    Text::HistoryFull { records: &records }.text(language)
}

/// A limit of the budget is reached.
pub(super) fn used_up(language: Language, gauge: &Gauge) -> String {
    let figures = &gauge.text(language);
    let text = match gauge.axis {
        Axis::Steps | Axis::Turns => Text::StepsUsedUp { figures },
        Axis::TokensIn | Axis::TokensOut | Axis::Tokens => Text::TokensUsedUp { figures },
        Axis::Money => Text::MoneyUsedUp { figures },
        Axis::Time => Text::TimeUsedUp { figures },
        Axis::Depth => Text::DepthUsedUp { figures },
        Axis::Children => Text::ChildrenUsedUp { figures },
    };
    text.text(language)
}

/// What was reached, what was not and why, and what can be done.
pub(super) fn report(
    language: Language,
    reason: FailReason,
    headline: &str,
    done: &[String],
    open: &[&str],
) -> String {
    let numbered = |lines: &mut dyn Iterator<Item = &str>| {
        let lines = lines.enumerate().map(|(n, line)| format!("\n{}. {line}", n + 1));
        let lines = lines.collect::<String>();
        if lines.is_empty() { Text::ReportNothing.text(language) } else { lines }
    };
    let done = numbered(&mut done.iter().map(String::as_str));
    let open = numbered(&mut open.iter().copied());
    let (why, next) = match reason {
        FailReason::NoProgress => (Text::NoProgress, Text::NoProgressNext),
        FailReason::DeadlineExceeded => (Text::DeadlineExceeded, Text::DeadlineExceededNext),
        FailReason::ReplanLimit => (Text::ReplanLimit, Text::ReplanLimitNext),
        FailReason::BudgetExceeded
        | FailReason::PlanFailed
        | FailReason::StepFailed
        | FailReason::QuestionExpired
        | FailReason::HistoryFull
        | FailReason::QuestionRepeated
        | FailReason::TooManyQuestions => (Text::BudgetExceeded, Text::BudgetExceededNext),
    };
    let (why, next) = (why.text(language), next.text(language));
    Text::Report { headline: &headline, done: &done, open: &open, why: &why, next: &next }
        .text(language)
}
