//! The reasons for which a plan or call is refused, in the job's language.

use proto::{lang::Language, limits};

messages::texts!(authorize);

/// A plan of several actions where one at a time is decided.
pub(super) fn one_action(language: Language) -> String {
    Text::OneAction.text(language)
}

/// A call in a turn that offered none.
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

/// A worker claimed of a tool what the registry does not say.
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

/// A call without the approval that the registry asks for.
pub(super) fn approval_missing(language: Language, tool: &str) -> String {
    Text::ApprovalMissing { tool: &tool }.text(language)
}
