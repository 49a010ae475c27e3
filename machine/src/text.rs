//! The machine's messages to agents and users, in the job's language.

use proto::{
    budget::{Axis, Gauge},
    job::FailReason,
    lang::Language,
    limits,
    rules::Rules,
};

messages::texts!(machine);

/// Returns the text for a call that a person rejected.
pub(super) fn not_approved(language: Language, reason: &str) -> String {
    match reason {
        "" => Text::NotApproved.text(language),
        reason => Text::NotApprovedBecause { reason: &reason }.text(language),
    }
}

/// Returns the text for a question that a person declined to answer.
pub(super) fn declined(language: Language, reason: &str) -> String {
    match reason {
        "" => Text::Declined.text(language),
        reason => Text::DeclinedBecause { reason: &reason }.text(language),
    }
}

/// Returns the prompt of a plan check.
pub(super) fn confirm_plan(language: Language, rules: Rules, title: &str, steps: usize) -> String {
    if steps == 1 && rules.know_the_singular() {
        return Text::ConfirmPlanOne { title: &title }.text(language);
    }
    Text::ConfirmPlan { steps: &steps, title: &title }.text(language)
}

/// Returns the prompt after unusable replies of the planner. The last reply comes first, because it
/// often is a question. The error is worded for the model, so a person reads it only if there is
/// no reply.
pub(super) fn confused(language: Language, reply: &str, error: &str) -> String {
    let reply = proto::excerpt::ends(reply.trim(), limits::EXCERPT_CHARS);
    if reply.is_empty() {
        return Text::Confused { error: &error }.text(language);
    }
    format!("{reply}\n\n{}", Text::ConfusedReply.text(language))
}

/// Returns the failure of a step.
pub(super) fn step_failed(language: Language, step: &str, error: &str) -> String {
    Text::StepFailed { step: &step, error: &error }.text(language)
}

/// Returns the error of an attempt whose result cannot be read.
pub(super) fn result_unreadable(language: Language, place: &str) -> String {
    Text::ResultUnreadable { place: &place }.text(language)
}

/// Returns the summary of a job that completed in spite of a failed step, with the steps skipped
/// because of it.
pub(super) fn without(language: Language, summary: &str, failed: &str, skipped: &[&str]) -> String {
    if skipped.is_empty() {
        return Text::Without { summary: &summary, failed: &failed }.text(language);
    }
    let skipped = skipped.join(&Text::Comma.text(language));
    Text::WithoutSkipped { summary: &summary, failed: &failed, skipped: &skipped }.text(language)
}

/// Returns the summary of a job that completed with open items.
pub(super) fn with_open(language: Language, summary: String, items: &[&str]) -> String {
    if items.is_empty() {
        return summary;
    }
    let items = items.join(&Text::Comma.text(language));
    let items = proto::excerpt::ends(&items, limits::EXCERPT_CHARS);
    Text::WithOpen { summary: &summary, items: &items }.text(language)
}

/// Returns the line of a completed step in the summary.
pub(super) fn summary_line(language: Language, step: &str, response: &str) -> String {
    Text::SummaryLine { step: &step, response: &response }.text(language)
}

/// Returns the heading of the completed steps.
pub(super) fn succeeded(language: Language, steps: usize) -> String {
    let text = match steps {
        0 => Text::NothingToDo,
        1 => Text::SucceededOne,
        _ => Text::Succeeded { steps: &steps },
    };
    text.text(language)
}

/// Returns the heading of the completed steps whose agents reported no success.
pub(super) fn unsuccessful(language: Language, steps: usize) -> String {
    let text = match steps {
        1 => Text::UnsuccessfulOne,
        _ => Text::Unsuccessful { steps: &steps },
    };
    text.text(language)
}

/// Returns the failure of a job whose deadline passed.
pub(super) fn deadline_passed(language: Language) -> String {
    Text::DeadlinePassed.text(language)
}

/// Returns the failure of a job that has no replans left.
pub(super) fn replans_used_up(language: Language, max: u32, error: &str) -> String {
    Text::ReplansUsedUp { max: &max, error: &error }.text(language)
}

/// Returns the failure of a job whose log is full.
pub(super) fn history_full(language: Language, records: u64) -> String {
    Text::HistoryFull { records: &records }.text(language)
}

/// Returns the failure of a job that used up a limit of its budget.
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

/// Returns the report of a job that ended before its goal: the results, the open work, the reason
/// and the next steps.
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
        FailReason::PlanFailed => (Text::PlannerFailed, Text::PlannerFailedNext),
        FailReason::BudgetExceeded
        | FailReason::StepFailed
        | FailReason::QuestionExpired
        | FailReason::HistoryFull
        | FailReason::QuestionRepeated
        | FailReason::TooManyQuestions
        | FailReason::OutputInvalid => (Text::BudgetExceeded, Text::BudgetExceededNext),
    };
    let (why, next) = (why.text(language), next.text(language));
    Text::Report { headline: &headline, done: &done, open: &open, why: &why, next: &next }
        .text(language)
}
