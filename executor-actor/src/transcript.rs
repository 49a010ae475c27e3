//! The conversation shown to a model in a turn, built from the run of the step so far.

use machine::transcript::Run;
use proto::{decision::TurnWork, lang::Language, message::Message};

use crate::{offer, outline, prompt};

/// Builds the conversation of a turn.
pub(crate) fn messages(work: &TurnWork, run: &Run) -> Vec<Message> {
    let language = work.language;
    let mut system = prompt::system(language, &work.model.system, &run.task().goal, work.may_ask);
    if let Some(items) = &work.outline {
        system.push_str(&outline::words(language, items));
    }
    let mut task = prompt::task(language, run.task());
    let mut hints: Vec<String> = work.notices.iter().map(|n| n.text(language)).collect();
    if offer::is_last(work) {
        hints.push(prompt::last(language));
    }
    // People's instructions precede the machine's notices.
    let told = prompt::instructions(language, &work.instructions);
    let hints = told.into_iter().chain(hints).collect::<Vec<_>>().join("\n\n");
    let beside = if run.exchanges().is_empty() {
        Some(hints.clone()).filter(|hints| !hints.is_empty())
    } else {
        beside_task(language, run)
    };
    if let Some(beside) = beside {
        task = format!("{task}\n\n{beside}");
    }
    let mut messages = vec![Message::System { text: system }, Message::User { text: task }];
    for (number, exchange) in run.exchanges().iter().skip(run.turns_past()).enumerate() {
        let told = prompt::instructions(language, &exchange.instructions);
        messages.extend(told.filter(|_| number > 0).map(|text| Message::User { text }));
        messages.extend(exchange.messages());
    }
    if !run.exchanges().is_empty() && !hints.is_empty() {
        messages.push(Message::User { text: hints });
    }
    messages
}

/// Renders the text after the task and before the first exchange: people's instructions, verbatim
/// even if their turns are summarised, and that summary.
fn beside_task(language: Language, run: &Run) -> Option<String> {
    let first_shown = run.exchanges().iter().take(run.turns_past() + 1);
    let told: Vec<String> =
        first_shown.flat_map(|exchange| exchange.instructions.clone()).collect();
    let told = prompt::instructions(language, &told);
    let past = run.past().map(|past| prompt::summarised(language, past.turns, &past.text));
    let beside: Vec<String> = told.into_iter().chain(past).collect();
    (!beside.is_empty()).then(|| beside.join("\n\n"))
}

/// Moves people's instructions from between the exchanges to the task, where they stay if the
/// oldest exchanges are left out for lack of room. `None` if there are no such instructions.
pub(crate) fn with_instructions(messages: &[Message]) -> Option<Vec<Message>> {
    let (pinned, rest) = messages.split_at_checked(2)?;
    let (last, between) = rest.split_last()?;
    // Between exchanges only people write user messages; the last message belongs to the next turn.
    let is_told = |message: &Message| matches!(message, Message::User { .. });
    let told: Vec<&str> = between
        .iter()
        .filter_map(|message| match message {
            Message::User { text } => Some(text.as_str()),
            Message::System { .. } | Message::Assistant { .. } | Message::Tool { .. } => None,
        })
        .collect();
    let [frame, Message::User { text: task }] = pinned else { return None };
    if told.is_empty() {
        return None;
    }
    let task = format!("{task}\n\n{}", told.join("\n\n"));
    let mut all = vec![frame.clone(), Message::User { text: task }];
    all.extend(between.iter().filter(|message| !is_told(message)).cloned());
    all.push(last.clone());
    Some(all)
}

#[cfg(test)]
mod tests;
