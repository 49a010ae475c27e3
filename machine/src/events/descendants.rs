//! Events of descendants' questions, which wait for a person like the job's own. The outcome of
//! such a question is only in the log of the job that asked it.

use proto::{
    event::{Descendant, Happened, InteractionEvent},
    family::ChildQuestion,
};

use super::{look::Look, memory::Before};

/// Adds the questions that opened.
pub(super) fn asked(before: Option<&Before>, after: &Look<'_>, events: &mut Vec<Happened>) {
    let was_open = |one: &ChildQuestion| before.is_some_and(|before| before.has(one));
    events.extend(after.descendants_questions().filter(|one| !was_open(one)).map(|asked| {
        let below = Descendant { job: asked.job.clone(), path: asked.path.clone() };
        let (question, below) = (asked.question.clone(), Some(Box::new(below)));
        Happened::Interaction(InteractionEvent::Asked { question, below })
    }));
}

/// Adds the questions that closed.
pub(super) fn settled(before: Option<&Before>, after: &Look<'_>, events: &mut Vec<Happened>) {
    let was_open = before.into_iter().flat_map(|before| &before.descendants);
    let is_open = |ask, of: &Descendant| {
        after.descendants_questions().any(|one| one.question.id == ask && one.job == of.job)
    };
    events.extend(was_open.filter(|(ask, of)| !is_open(ask.clone(), of)).map(|(ask, of)| {
        let (ask, below) = (ask.clone(), Box::new(of.clone()));
        Happened::Interaction(InteractionEvent::Settled { ask, below })
    }));
}

impl Before {
    fn has(&self, question: &ChildQuestion) -> bool {
        self.descendants
            .iter()
            .any(|(ask, of)| *ask == question.question.id && of.job == question.job)
    }
}
