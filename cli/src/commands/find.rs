//! The question that a command means: one that is open now, or the next that its job asks.

use std::pin::pin;

use client::{Client, WatchOptions};
use futures::StreamExt;
use proto::{
    door::{Inbox, InboxEntry, Watched},
    error::{Code, Failure},
    excerpt,
    id::JobId,
    interaction::Question,
    limits,
    view::JobView,
};

use crate::{args::QuestionArg, connect, failure::CliError, interrupt::Interrupts};

/// Characters of a goal that an inbox shows.
const GOAL_CHARS: usize = 200;

impl QuestionArg {
    fn means(&self, question: &Question) -> bool {
        self.ask.as_ref().is_none_or(|ask| question.id == *ask)
    }
}

/// The question that is meant.
///
/// # Errors
/// When there is none, or more than one; with `--wait`, when the job has ended without asking it.
pub(super) async fn question(client: &Client, arg: &QuestionArg) -> Result<InboxEntry, CliError> {
    if arg.wait { awaited(client, arg).await } else { now(client, arg).await }
}

async fn now(client: &Client, arg: &QuestionArg) -> Result<InboxEntry, CliError> {
    let job = JobId::new(&arg.job).map_err(Failure::from)?;
    let request = Inbox { job: Some(job.clone()), limit: Some(limits::INBOX_MAX) };
    let entries = client.inbox(&request).await?.questions;
    if entries.iter().any(|entry| arg.means(&entry.question)) {
        return one(&job, arg, entries);
    }
    // The inbox may hear of a question later than its job, and knows no job by a part of its id.
    let view = connect::job(client, &arg.job).await?;
    one(&view.job, arg, asked(&view))
}

/// The one of these that is meant.
fn one(
    job: &JobId,
    arg: &QuestionArg,
    mut entries: Vec<InboxEntry>,
) -> Result<InboxEntry, CliError> {
    let absent = |why: String| {
        let next = format!(
            "`callboard jobs describe {job}` says what it is at; --wait stays until it asks"
        );
        Err(Failure::new(Code::NotFound, why).advise(next).into())
    };
    let several =
        |why: String| Err(CliError::usage(why).hint(format!("callboard inbox ls --job {job}")));
    let Some(ask) = &arg.ask else {
        return match entries.len() {
            1 => Ok(entries.remove(0)),
            0 => absent(format!("job {job} has no open question")),
            n => several(format!("job {job} has {n} open questions; name one")),
        };
    };
    let mut named = entries.extract_if(.., |entry| entry.question.id == *ask).collect::<Vec<_>>();
    if named.len() > 1 {
        return several(format!(
            "several jobs below {job} have an open question {ask}; name the job"
        ));
    }
    match named.pop() {
        Some(entry) => Ok(entry),
        None => absent(format!(
            "job {job} has no open question {ask}: it was answered, closed, or never asked"
        )),
    }
}

/// The question, as soon as the job asks it. The job itself says so: the inbox may hear of it later.
async fn awaited(client: &Client, arg: &QuestionArg) -> Result<InboxEntry, CliError> {
    let job = connect::job(client, &arg.job).await?.job;
    let mut stream = pin!(client.watch(&job, WatchOptions::default()));
    let mut interrupts = Interrupts::take()?;
    loop {
        let item = tokio::select! {
            item = stream.next() => item,
            () = interrupts.next() => {
                return Err(CliError::interrupted("nothing was answered"));
            }
        };
        match item {
            Some(Ok(Watched::View { view })) => {
                let asked = asked(&view);
                if asked.iter().any(|entry| arg.means(&entry.question)) {
                    return one(&job, arg, asked);
                }
                if view.state.is_terminal() {
                    return Err(ended(&view, arg));
                }
            }
            Some(Ok(
                Watched::Record { .. }
                | Watched::Live { .. }
                | Watched::Event { .. }
                | Watched::Heartbeat,
            )) => {}
            Some(Ok(Watched::End { error: Some(failure) })) => return Err((*failure).into()),
            Some(Err(failure)) => return Err(failure.into()),
            Some(Ok(Watched::End { error: None })) | None => return now(client, arg).await,
        }
    }
}

fn ended(view: &JobView, arg: &QuestionArg) -> CliError {
    let what = arg.ask.as_ref().map(|ask| format!(" {ask}")).unwrap_or_default();
    let (job, state) = (&view.job, view.state);
    let why = format!("job {job} has no open question{what}, and asks no more: it is {state}");
    let next = format!("`callboard jobs describe {job}` says how it ended");
    Failure::new(Code::NotFound, why).advise(next).into()
}

/// Every open question of a job and of those that work for it.
fn asked(view: &JobView) -> Vec<InboxEntry> {
    let entry = |job: &JobId, path: Option<&String>, question: &Question| InboxEntry {
        job: job.clone(),
        root: path.map(|_| view.job.clone()),
        path: path.cloned(),
        goal: excerpt::line(&view.goal, GOAL_CHARS),
        asked: view.updated,
        question: question.clone(),
        schema: question.value_schema(),
    };
    let own = view.questions.iter().map(|question| entry(&view.job, None, question));
    let below = view.children.iter().flat_map(|child| &child.questions);
    own.chain(below.map(|one| entry(&one.job, Some(&one.path), &one.question))).collect()
}
