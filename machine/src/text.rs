//! The machine's own messages to agents and people, in the job's language.

use proto::{
    budget::{Axis, Gauge},
    job::FailReason,
    lang::Language,
    limits,
    notice::Notice,
};

messages::texts!(machine);

/// A question's limit is reached.
pub(super) fn no_more_questions(language: Language) -> String {
    Text::NoMoreQuestions.text(language)
}

/// As many questions are open as there may be at a time.
pub(super) fn too_many_open_questions(language: Language) -> String {
    Text::TooManyOpenQuestions { max: &limits::OPEN_QUESTIONS_MAX }.text(language)
}

/// An agent's question, with the words that say that an answer is waited for.
pub(super) fn please_confirm(language: Language, question: &str) -> String {
    Text::PleaseConfirm { question: &question }.text(language)
}

/// An agent asks what has been answered.
pub(super) fn asked_before(language: Language, answer: &str) -> String {
    Text::AskedBefore { answer: &answer }.text(language)
}

/// An agent asked again and again what had been answered.
pub(super) fn asked_again_and_again(language: Language) -> String {
    Text::AskedAgainAndAgain.text(language)
}

/// Agents asked more questions than they may.
pub(super) fn asked_too_often(language: Language) -> String {
    Text::AskedTooOften.text(language)
}

/// The list a loop keeps was changed.
pub(super) fn outline_taken(language: Language) -> String {
    Text::OutlineTaken.text(language)
}

/// The planner said something that is no plan where one is wanted.
pub(super) fn needs_a_plan(language: Language) -> String {
    Text::NeedsAPlan.text(language)
}

/// The planner goes on and on, and nothing can be carried out.
pub(super) fn only_thoughts(language: Language, rounds: usize) -> String {
    Text::OnlyThoughts { rounds: &rounds }.text(language)
}

/// A `once` tool was caught in the middle.
pub(super) fn effect_unknown(language: Language, why: &str) -> String {
    Text::EffectUnknown { why: &why }.text(language)
}

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

/// Nobody answered in time.
pub(super) fn expired(language: Language) -> String {
    Text::Expired.text(language)
}

/// The prompt of a plan's confirmation.
pub(super) fn confirm_plan(language: Language, title: &str, steps: usize) -> String {
    // Also of one: recorded logs hold these words, and what follows from a log stays what it was.
    Text::ConfirmPlan { steps: &steps, title: &title }.text(language)
}

/// The prompt of a tool call's approval.
pub(super) fn approve_call(language: Language, tool: &str) -> String {
    Text::ApproveCall { tool: &tool }.text(language)
}

/// The planner's replies could not be used. The last one comes first: often it is a question.
pub(super) fn confused(language: Language, reply: &str, error: &str) -> String {
    let reply = proto::excerpt::ends(reply.trim(), limits::EXCERPT_CHARS);
    let asked = Text::Confused { error: &error }.text(language);
    if reply.is_empty() { asked } else { format!("{reply}\n\n{asked}") }
}

/// A run used up its turns.
pub(super) fn turns_used_up(language: Language, turns: u32) -> String {
    Text::TurnsUsedUp { turns: &turns }.text(language)
}

/// A placeholder cannot be resolved.
pub(super) fn unresolved(language: Language, what: &str) -> String {
    Text::Unresolved { what: &what }.text(language)
}

/// A text looks like a placeholder and is malformed.
pub(super) fn malformed(language: Language, written: &str) -> String {
    Text::Malformed { written: &proto::excerpt::ends(written, 60) }.text(language)
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

/// No plan was made; commands need none.
pub(super) fn plan_failed(language: Language, error: &str) -> String {
    Text::PlanFailed { error: &error }.text(language)
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

/// More calls in one turn than are carried out.
pub(super) fn too_many_calls(language: Language, max: u32) -> String {
    Text::TooManyCalls { max: &max }.text(language)
}

/// A plan's step must be a tool call.
pub(super) fn must_name_a_tool(language: Language, step: &str) -> String {
    Text::MustNameATool { step: &step }.text(language)
}

/// A plan's step must not be a tool call.
pub(super) fn must_not_name_a_tool(language: Language, step: &str) -> String {
    Text::MustNotNameATool { step: &step }.text(language)
}

/// A worker answered with a summary where none can be.
pub(super) fn no_summary_wanted(language: Language) -> String {
    Text::NoSummaryWanted.text(language)
}

/// A guard ended a run.
pub(super) fn stopped(language: Language, notice: &Notice) -> String {
    notice.text(language)
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
