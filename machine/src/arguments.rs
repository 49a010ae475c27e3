//! The arguments of a one-call step, with placeholders resolved. A placeholder that cannot be
//! resolved is an error, never a guess.

use agents::placeholder;
use proto::{excerpt, id::StepId, lang::Language};
use serde_json::Value;

use super::text::Text;

/// Returns the resolved arguments, or the error in the job's language. A malformed placeholder that names
/// a dependency is an error.
pub(super) fn resolved(
    (args, depends_on): (&Value, &[StepId]),
    lookup: &impl Fn(&StepId) -> Option<Value>,
    language: Language,
) -> Result<Value, String> {
    let mut malformed = placeholder::malformed(args).into_iter();
    match malformed.find(|(of, _)| depends_on.contains(of)) {
        Some((_, written)) => {
            let written = &excerpt::ends(&written, 60);
            Err(Text::Malformed { written }.text(language))
        }
        None => placeholder::resolve(args, lookup).map_err(|why| why.text(language)),
    }
}
