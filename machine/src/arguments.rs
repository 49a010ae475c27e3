//! The arguments of a step that is one call, with values where placeholders stand. What cannot be read
//! is named; nothing is ever made up for it.

use proto::{excerpt, id::StepId, lang::Language, placeholder, rules::Rules};
use serde_json::Value;

use super::text::Text;

/// The arguments with values in them, or what is missing, in a language. What begins like the way into
/// the result of a step they depend on, and leads nowhere, was taken as it is by the first rules.
pub(super) fn resolved(
    (args, depends_on): (&Value, &[StepId]),
    lookup: &impl Fn(&StepId) -> Option<Value>,
    rules: Rules,
    language: Language,
) -> Result<Value, String> {
    let mut malformed = placeholder::malformed(args).into_iter();
    match malformed.find(|(of, _)| rules >= Rules::SECOND && depends_on.contains(of)) {
        Some((_, written)) => {
            let written = &excerpt::ends(&written, 60);
            Err(Text::Malformed { written }.text(language))
        }
        None => placeholder::resolve(args, rules, lookup).map_err(|why| why.text(language)),
    }
}
