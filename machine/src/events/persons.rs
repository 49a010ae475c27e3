//! Events of users' messages and of questions to users. The fold alone decides which answer counts.

use proto::{
    decision::{Closed, Decision, Note},
    event::{Happened, InteractionEvent},
    fact::{Fact, Signal, Signaled},
    point::Point,
    record::Known,
};

use super::{look::Look, memory::Before};
use crate::state::EditWords;

/// Adds the messages of users, and the questions that closed.
pub(super) fn said(
    before: Option<&Before>,
    known: Option<&Known>,
    after: &Look<'_>,
    events: &mut Vec<Happened>,
) {
    let (fact, decision) = match known {
        Some(Known::Fact(fact)) => (Some(&**fact), None),
        Some(Known::Decision(decision)) => (None, Some(&**decision)),
        None => (None, None),
    };
    if let Some(Fact::Signaled(signaled)) = fact {
        events.extend(signal(signaled).map(Happened::Interaction));
    }
    // A rollback takes edits back and brings none into force.
    let edited = before.and_then(|before| before.edited);
    if let Some(edit) = after.newest_edit().filter(|edit| Some(edit.seq) > edited) {
        let EditWords { signal, changes, reason, by } = edit.said.clone();
        events.push(Happened::Interaction(InteractionEvent::Signaled {
            signal: signal.to_owned(),
            to: None,
            changes: Some(changes),
            reason,
            by,
        }));
    }
    for ask in before.into_iter().flat_map(|before| &before.questions) {
        if after.questions().any(|question| question.id == *ask) {
            continue;
        }
        let ask = ask.clone();
        events.push(Happened::Interaction(match fact {
            Some(Fact::Answered(answered)) if answered.ask == ask => InteractionEvent::Answered {
                ask,
                answer: answered.answer.clone(),
                by: answered.by.clone(),
            },
            Some(Fact::Signaled(signaled))
                if matches!(signaled.signal, Signal::RollBack { .. }) =>
            {
                InteractionEvent::Closed { ask, because: Closed::RolledBack }
            }
            Some(Fact::Fired(_)) => InteractionEvent::Closed { ask, because: Closed::Expired },
            Some(
                Fact::Answered(_)
                | Fact::Submitted(_)
                | Fact::Signaled(_)
                | Fact::Planned(_)
                | Fact::Turned(_)
                | Fact::Started(_)
                | Fact::Called(_)
                | Fact::Child(_),
            )
            | None => {
                let because =
                    match decision {
                        Some(Decision::Note(Note::QuestionClosed {
                            ask: closed, because, ..
                        })) if *closed == ask => *because,
                        Some(_) | None if after.outcome().is_some() => Closed::JobEnded,
                        Some(_) | None => Closed::Superseded,
                    };
                InteractionEvent::Closed { ask, because }
            }
        }));
    }
}

/// Returns the event of a signal, or `None` for an edit of the graph, which is an event when it comes
/// into force.
fn signal(signaled: &Signaled) -> Option<InteractionEvent> {
    let (reason, by) = (signaled.reason.clone(), signaled.by.clone());
    let to = match &signaled.signal {
        Signal::Steer { text } => {
            return Some(InteractionEvent::Told { text: text.clone(), reason, by });
        }
        Signal::EditGraph { .. } => return None,
        Signal::RollBack { to, .. } => Some(Point::Seq(*to)),
        Signal::Snapshot { name, at: _ } => Some(Point::Name(name.clone())),
        Signal::Cancel | Signal::Pause | Signal::Resume | Signal::Retry | Signal::Event { .. } => {
            None
        }
    };
    let signal = signaled.signal.word().to_owned();
    Some(InteractionEvent::Signaled { signal, to, changes: None, reason, by })
}

/// Adds the questions that opened.
pub(super) fn asked(before: Option<&Before>, after: &Look<'_>, events: &mut Vec<Happened>) {
    let known = |id| before.is_some_and(|before| before.questions.contains(id));
    let fresh = after.questions().filter(|question| !known(&question.id));
    events.extend(fresh.map(|question| {
        Happened::Interaction(InteractionEvent::Asked { question: question.clone(), below: None })
    }));
}
