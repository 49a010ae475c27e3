//! Resolution of a command's question: an open one, or the next one that its job asks.

use std::pin::pin;

use client::{Client, WatchOptions};
use futures::StreamExt;
use proto::{
    door::{InboxEntry, Watched},
    error::Code,
    excerpt,
    id::JobId,
    interaction::Question,
    view::JobView,
};

use super::find;
use crate::{args::QuestionArg, connect, failure::CliError, interrupt::Interrupts, words::Text};

/// Characters of a goal in an inbox entry.
const GOAL_CHARS: usize = 200;

impl QuestionArg {
    fn means(&self, question: &Question) -> bool {
        self.ask.as_ref().is_none_or(|ask| question.id == *ask)
    }
}

/// Finds the question.
///
/// # Errors
/// If no question or several are open; with `--wait`, if the job has ended without asking.
pub(super) async fn question(client: &Client, arg: &QuestionArg) -> Result<InboxEntry, CliError> {
    if arg.wait {
        return awaited(client, arg).await;
    }
    match find(client, arg).await {
        Err(error) if error.code == Code::NotFound.as_str() => late(client, arg, error).await,
        found => found,
    }
}

/// Falls back to the job's view, because the inbox may lag behind it.
async fn late(client: &Client, arg: &QuestionArg, error: CliError) -> Result<InboxEntry, CliError> {
    let Ok(view) = connect::job(client, &arg.job).await else { return Err(error) };
    let job = &view.job;
    one(job, meant(&view, arg)).unwrap_or_else(|| Err(error.hint(Text::WaitForQuestion { job })))
}

/// Waits until the job asks the question, by its log instead of the inbox.
async fn awaited(client: &Client, arg: &QuestionArg) -> Result<InboxEntry, CliError> {
    let job = connect::job(client, &arg.job).await?.job;
    let mut stream = pin!(client.watch(&job, WatchOptions::default()));
    let mut interrupts = Interrupts::take()?;
    loop {
        let item = tokio::select! {
            item = stream.next() => item,
            () = interrupts.next() => {
                return Err(CliError::interrupted(Text::NotAnswered));
            }
        };
        match item {
            Some(Ok(Watched::View { view })) => {
                if let Some(found) = one(&job, meant(&view, arg)) {
                    return found;
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
            Some(Ok(Watched::End { error: None })) | None => return find(client, arg).await,
        }
    }
}

/// Returns the only entry, `None` without one, an error with several.
fn one(job: &JobId, mut entries: Vec<InboxEntry>) -> Option<Result<InboxEntry, CliError>> {
    if entries.len() > 1 {
        let why = Text::SeveralQuestions { job, count: &entries.len() };
        return Some(Err(CliError::usage(why).hint(format!("callboard inbox ls --job {job}"))));
    }
    entries.pop().map(Ok)
}

fn ended(view: &JobView, arg: &QuestionArg) -> CliError {
    let (job, state) = (&view.job, &view.state);
    let error = CliError::not_found(match &arg.ask {
        None => Text::AsksNoMore { job, state },
        Some(question) => Text::AsksNoMoreOf { job, question, state },
    });
    error.hint(Text::HowItEnded { job })
}

/// Returns the matching open questions of a job and of its sub-agents.
fn meant(view: &JobView, arg: &QuestionArg) -> Vec<InboxEntry> {
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
    let all = own.chain(below.map(|one| entry(&one.job, Some(&one.path), &one.question)));
    all.filter(|entry| arg.means(&entry.question)).collect()
}
