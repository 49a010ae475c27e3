//! Reasons for refusing a plan or a call, in the job's language.

use proto::{lang::Language, limits};

messages::texts!(authorize);

/// Returns the text for a plan of several actions where the protocol allows one at a time.
pub(super) fn one_action(language: Language) -> String {
    Text::OneAction.text(language)
}

/// Returns the text for a call in a turn that offered none.
pub(super) fn no_more_calls(language: Language) -> String {
    Text::NoMoreCalls.text(language)
}

pub(super) fn args_no_object(language: Language) -> String {
    Text::ArgsNoObject.text(language)
}

pub(super) fn args_too_deep(language: Language) -> String {
    Text::ArgsTooDeep { max: &limits::JSON_DEPTH_MAX }.text(language)
}

pub(super) fn not_registered(language: Language, tool: &str) -> String {
    Text::NotRegistered { tool: &tool }.text(language)
}

/// Returns the text for a claim about a tool that the registry contradicts.
pub(super) fn registered_otherwise(
    language: Language,
    tool: &str,
    field: &str,
    registered: &str,
    claimed: &str,
) -> String {
    Text::RegisteredOtherwise {
        tool: &tool,
        field: &field,
        registered: &registered,
        claimed: &claimed,
    }
    .text(language)
}

/// Returns the text for a call without the approval that the registry requires.
pub(super) fn approval_missing(language: Language, tool: &str) -> String {
    Text::ApprovalMissing { tool: &tool }.text(language)
}
