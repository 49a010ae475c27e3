//! Questions of jobs that work for the one that is watched: they wait for a person as its own do. It
//! never says how one ended, which only the log of the job that asked knows.

use proto::{
    event::{Below, Happened, InteractionEvent},
    family::ChildQuestion,
    view::JobView,
};

/// Questions below that wait for a person. Nobody waits for them once the job has ended.
fn open(view: &JobView) -> impl Iterator<Item = &ChildQuestion> {
    let children = view.children.iter().filter(|_| view.outcome.is_none());
    children.flat_map(|child| &child.questions)
}

/// Those of one look that another one does not have.
fn without<'a>(
    these: &'a JobView,
    those: Option<&'a JobView>,
) -> impl Iterator<Item = &'a ChildQuestion> {
    let same =
        |a: &ChildQuestion, b: &ChildQuestion| a.job == b.job && a.question.id == b.question.id;
    open(these).filter(move |one| !those.into_iter().flat_map(open).any(|other| same(one, other)))
}

fn whose(question: &ChildQuestion) -> Box<Below> {
    Box::new(Below { job: question.job.clone(), path: question.path.clone() })
}

/// Questions that are open and were not.
pub(super) fn asked(before: Option<&JobView>, after: &JobView, events: &mut Vec<Happened>) {
    events.extend(without(after, before).map(|asked| {
        let (question, below) = (asked.question.clone(), Some(whose(asked)));
        Happened::Interaction(InteractionEvent::Asked { question, below })
    }));
}

/// Questions that are open no more.
pub(super) fn settled(before: Option<&JobView>, after: &JobView, events: &mut Vec<Happened>) {
    let gone = before.into_iter().flat_map(|before| without(before, Some(after)));
    events.extend(gone.map(|gone| {
        let (ask, below) = (gone.question.id.clone(), whose(gone));
        Happened::Interaction(InteractionEvent::Settled { ask, below })
    }));
}
