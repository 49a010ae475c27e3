//! The machine's messages to agents and users, in the job's language.

use proto::{
    budget::{Axis, Gauge},
    job::FailReason,
    lang::Language,
    limits,
    notice::Notice,
};

messages::texts!(machine);

/// Returns the text for an agent that has no questions left.
pub(super) fn no_more_questions(language: Language) -> String {
    Text::NoMoreQuestions.text(language)
}

/// Returns the text for a question when the job has too many open ones.
pub(super) fn too_many_open_questions(language: Language) -> String {
    Text::TooManyOpenQuestions { max: &limits::OPEN_QUESTIONS_MAX }.text(language)
}

/// Returns an agent's question, prefixed with a request for confirmation.
pub(super) fn please_confirm(language: Language, question: &str) -> String {
    Text::PleaseConfirm { question: &question }.text(language)
}

/// Returns the reply to a question that was answered before.
pub(super) fn asked_before(language: Language, answer: &str) -> String {
    Text::AskedBefore { answer: &answer }.text(language)
}

/// Returns the failure of a job whose agent repeats an answered question.
pub(super) fn asked_again_and_again(language: Language) -> String {
    Text::AskedAgainAndAgain.text(language)
}

/// Returns the failure of a job whose agents ask too many questions.
pub(super) fn asked_too_often(language: Language) -> String {
    Text::AskedTooOften.text(language)
}

/// Returns the reply to a change of the outline.
pub(super) fn outline_taken(language: Language) -> String {
    Text::OutlineTaken.text(language)
}

/// Returns the error for a planner's reply that contains no plan although one is needed.
pub(super) fn needs_a_plan(language: Language) -> String {
    Text::NeedsAPlan.text(language)
}

/// Returns the failure of a job whose planner continues without an action.
pub(super) fn only_thoughts(language: Language, rounds: usize) -> String {
    Text::OnlyThoughts { rounds: &rounds }.text(language)
}

/// Returns the text for a `once` call whose effect is unknown.
pub(super) fn effect_unknown(language: Language, why: &str) -> String {
    Text::EffectUnknown { why: &why }.text(language)
}

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

/// Returns the text for a question that was not answered in time.
pub(super) fn expired(language: Language) -> String {
    Text::Expired.text(language)
}

/// Returns the prompt of a plan check.
pub(super) fn confirm_plan(language: Language, title: &str, steps: usize) -> String {
    // Recorded logs hold these words, so they are the same for one step.
    Text::ConfirmPlan { steps: &steps, title: &title }.text(language)
}

/// Returns the prompt of a tool approval.
pub(super) fn approve_call(language: Language, tool: &str) -> String {
    Text::ApproveCall { tool: &tool }.text(language)
}

/// Returns the prompt after unusable replies of the planner. The last reply comes first, because it
/// often is a question.
pub(super) fn confused(language: Language, reply: &str, error: &str) -> String {
    let reply = proto::excerpt::ends(reply.trim(), limits::EXCERPT_CHARS);
    let asked = Text::Confused { error: &error }.text(language);
    if reply.is_empty() { asked } else { format!("{reply}\n\n{asked}") }
}

/// Returns the error of a run that reached the limit of turns.
pub(super) fn turns_used_up(language: Language, turns: u32) -> String {
    Text::TurnsUsedUp { turns: &turns }.text(language)
}

/// Returns the error for a placeholder that cannot be resolved.
pub(super) fn unresolved(language: Language, what: &str) -> String {
    Text::Unresolved { what: &what }.text(language)
}

/// Returns the error for a malformed placeholder.
pub(super) fn malformed(language: Language, written: &str) -> String {
    Text::Malformed { written: &proto::excerpt::ends(written, 60) }.text(language)
}

/// Returns the failure of a step.
pub(super) fn step_failed(language: Language, step: &str, error: &str) -> String {
    Text::StepFailed { step: &step, error: &error }.text(language)
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

/// Returns the failure of a job without a plan.
pub(super) fn plan_failed(language: Language, error: &str) -> String {
    Text::PlanFailed { error: &error }.text(language)
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

/// Returns the text for a call beyond the limit of one turn.
pub(super) fn too_many_calls(language: Language, max: u32) -> String {
    Text::TooManyCalls { max: &max }.text(language)
}

/// Returns the error for a step that must be a tool call.
pub(super) fn must_name_a_tool(language: Language, step: &str) -> String {
    Text::MustNameATool { step: &step }.text(language)
}

/// Returns the error for a step that must not be a tool call.
pub(super) fn must_not_name_a_tool(language: Language, step: &str) -> String {
    Text::MustNotNameATool { step: &step }.text(language)
}

/// Returns the error for an unsolicited or empty summary.
pub(super) fn no_summary_wanted(language: Language) -> String {
    Text::NoSummaryWanted.text(language)
}

/// Returns the error of a run that a guard stopped.
pub(super) fn stopped(language: Language, notice: &Notice) -> String {
    notice.text(language)
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
