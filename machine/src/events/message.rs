//! Message events.

use proto::{
    event::{Happened, MessageEvent, Stream},
    id::{StepId, WorkId},
};

/// Adds a message event, unless the text is blank.
pub(super) fn message(
    stream: Stream,
    step: Option<StepId>,
    work: Option<&WorkId>,
    text: &str,
    events: &mut Vec<Happened>,
) {
    if !text.trim().is_empty() {
        let (work, text) = (work.cloned(), text.to_owned());
        events.push(Happened::Message(MessageEvent { stream, step, work, text }));
    }
}
