//! `inbox`: lists and answers open questions.

use std::collections::BTreeSet;

use client::Client;
use proto::{
    door::{AnswerTaken, GiveAnswer, Inbox, InboxEntry, InboxPage},
    error::{Code, Failure},
    id::JobId,
    interaction::{Answer, QuestionKind, Remember, Verdict},
    lang::Words,
    limits,
    view::JobView,
};
use serde_json::Value;

use super::{edit, jobs::caller};
use crate::{
    answer::{dialogue::Dialogue, keyboard::Keyboard},
    args::{Answering, ApproveArgs, Global, InboxCommand, InboxListArgs, QuestionArg, RejectArgs},
    connect,
    failure::{CliError, Outcome},
    input,
    interrupt::Interrupts,
    output::{self, Output},
    render::question,
    style::Tone,
    words::Text,
};

mod link;
mod pick;
mod wait;

pub(super) async fn run(global: &Global, output: Output, command: InboxCommand) -> Outcome {
    let client = connect::client(global, output).await?;
    match command {
        InboxCommand::Ls(args) => ls(&client, output, args).await,
        InboxCommand::Show(arg) => {
            let entry = wait::question(&client, &arg).await?;
            let id = entry.question.id.to_string();
            output.one(&entry, &id, |style| question::show(style, &entry.job, &entry.question))
        }
        InboxCommand::Answer(args) => answer(&client, output, args).await,
        InboxCommand::Pick(args) => pick::one(&client, output, &args).await,
        InboxCommand::Approve(args) => approve(&client, output, global.yes, args).await,
        InboxCommand::Reject(args) => reject(&client, output, args).await,
        InboxCommand::Link(args) => link::make(&client, output, args).await,
        InboxCommand::Unlink(arg) => link::revoke(&client, output, arg).await,
    }
}

async fn ls(client: &Client, output: Output, args: InboxListArgs) -> Outcome {
    listed(output, &page(client, &args).await?)
}

fn listed(output: Output, page: &InboxPage) -> Outcome {
    let id = |entry: &InboxEntry| format!("{} {}", entry.job, entry.question.id);
    output.list(page, &page.questions, id, |style| question::list(style, page))
}

async fn page(client: &Client, args: &InboxListArgs) -> Result<InboxPage, CliError> {
    let job = match &args.job {
        None => None,
        Some(named) => Some(connect::job(client, named).await?.job),
    };
    Ok(client.call(&Inbox { job, limit: Some(args.limit) }).await?)
}

/// Finds a question by its job, by an ancestor of that job, or by its own id if no job has that id
/// and one open question does.
async fn find(client: &Client, arg: &QuestionArg) -> Result<InboxEntry, CliError> {
    let mut entries = of(client, arg).await?;
    let named = &arg.job;
    if let Some(ask) = &arg.ask {
        entries.retain(|entry| entry.question.id == *ask);
    }
    if let [first, .., last] = entries.as_slice() {
        let count = entries.len();
        let why = match first.job == last.job {
            true => Text::SeveralQuestions { job: named, count: &count },
            false => Text::SeveralJobs { job: named, count: &count },
        };
        return Err(CliError::usage(why).hint("callboard inbox ls"));
    }
    entries.pop().ok_or_else(|| {
        CliError::not_found(match &arg.ask {
            None => Text::NoQuestion { job: named },
            Some(question) => Text::NoSuchQuestion { job: named, question },
        })
    })
}

/// Returns the open questions of the job named first.
async fn of(client: &Client, arg: &QuestionArg) -> Result<Vec<InboxEntry>, CliError> {
    let id = JobId::new(&arg.job).map_err(Failure::from)?;
    let entries = open(client, Some(&id)).await?;
    if !entries.is_empty() {
        return Ok(entries);
    }
    match connect::job(client, &arg.job).await {
        Ok(view) => {
            let own = open(client, Some(&view.job)).await?;
            if own.is_empty() { below(client, &view).await } else { Ok(own) }
        }
        Err(missing) => {
            let mut all = open(client, None).await?;
            all.retain(|entry| arg.ask.is_none() && entry.question.id.as_str() == arg.job);
            if all.is_empty() { Err(missing) } else { Ok(all) }
        }
    }
}

/// Returns open questions below a job that is itself a descendant: the inbox knows only root jobs.
async fn below(client: &Client, view: &JobView) -> Result<Vec<InboxEntry>, CliError> {
    let asking: BTreeSet<JobId> =
        client::session::open_questions(view).into_iter().map(|asked| asked.job).collect();
    let mut entries = Vec::new();
    for job in asking.iter().filter(|job| **job != view.job) {
        entries.extend(open(client, Some(job)).await?);
    }
    Ok(entries)
}

async fn open(client: &Client, job: Option<&JobId>) -> Result<Vec<InboxEntry>, CliError> {
    let request = Inbox { job: job.cloned(), limit: Some(limits::INBOX_MAX) };
    Ok(client.call(&request).await?.questions)
}

async fn answer(client: &Client, output: Output, args: Answering) -> Outcome {
    let entry = wait::question(client, &args.question).await?;
    if args.edit {
        return edit::in_editor(client, output, &entry).await;
    }
    if let Some(file) = &args.plan {
        let plan = edit::from_file(&entry, file)?;
        return send(client, output, &entry, plan).await;
    }
    let given = match (&args.value, &args.text) {
        (Some(value), _) => Some(Answer::respond(json("value", value)?)),
        (None, Some(text)) => Some(worded(&entry, text)?),
        (None, None) => None,
    };
    match given {
        Some(given) => send(client, output, &entry, given).await,
        None if output::is_interactive() => converse(client, output, &entry, None).await,
        None => Err(CliError::usage(Text::AnswerByFlag).hint(how(&entry))),
    }
}

/// Lists the commands that answer a question, one per line.
fn how(entry: &InboxEntry) -> Words {
    Words::new(|language| question::how(language, &entry.job, &entry.question).join("\n    "))
}

fn json(field: &str, argument: &str) -> Result<Value, CliError> {
    let text = input::text(field, argument, limits::REQUEST_BYTES_MAX)?;
    serde_json::from_str(&text).map_err(|e| {
        CliError::input(field, Text::NotJson { field: &field, why: &e }).hint(Text::JsonQuotes)
    })
}

/// Builds an answer from text: a change to a plan, or the value of a question or a choice.
fn worded(entry: &InboxEntry, text: &str) -> Result<Answer, CliError> {
    let text = input::text("text", text, limits::ANSWER_BYTES_MAX)?;
    match &entry.question.kind {
        QuestionKind::PlanCheck { .. } => Ok(Answer {
            decision: Verdict::Respond,
            value: None,
            text: Some(text),
            digest: None,
            remember: None,
        }),
        QuestionKind::Question | QuestionKind::Choice { multiple: false, .. } => {
            Ok(Answer::respond(Value::from(text)))
        }
        QuestionKind::Choice { multiple: true, .. } => Ok(Answer::respond(Value::from(vec![text]))),
        QuestionKind::Form { .. } => Err(CliError::usage(Text::FormByValue).hint(how(entry))),
        QuestionKind::ToolApproval { .. } => {
            Err(CliError::usage(Text::CallByVerdict).hint(how(entry)))
        }
    }
}

/// Asks for an answer at the terminal. An approval is remembered as `remember` says, or as the
/// person does.
async fn converse(
    client: &Client,
    output: Output,
    entry: &InboxEntry,
    remember: Option<Remember>,
) -> Outcome {
    let mut keyboard = Keyboard::open();
    let mut interrupts = Interrupts::take()?;
    let (out, asked) = (std::io::stdout(), entry.question.clone());
    let mut dialogue = Dialogue::new(&mut keyboard, out, output.style(), asked);
    let mut refused: Option<Failure> = None;
    loop {
        let given = tokio::select! {
            given = dialogue.ask(refused.as_ref()) => given,
            () = interrupts.next() => None,
        };
        let Some(given) = given else {
            return Err(CliError::interrupted(Text::StaysOpen));
        };
        let approves = given.decision == Verdict::Approve;
        let remember = given.remember.or(remember.filter(|_| approves));
        let given = Answer { remember, ..given };
        match client.call(&request(entry, given)).await {
            Err(failure) if failure.code == Code::InvalidAnswer => refused = Some(failure),
            answered => return taken(output, &answered?),
        }
    }
}

async fn approve(client: &Client, output: Output, yes: bool, args: ApproveArgs) -> Outcome {
    let entry = wait::question(client, &args.question).await?;
    let remember = args.remember.then_some(Remember::Job);
    let digest = match (&entry.question.kind, args.digest) {
        (_, Some(digest)) => Some(digest),
        (QuestionKind::PlanCheck { digest, .. }, None) => Some(digest.clone()),
        (QuestionKind::ToolApproval { digest, .. }, None) => {
            if !yes && !output::is_interactive() {
                let shows = format!("callboard inbox show {} {}", entry.job, entry.question.id);
                let hint =
                    Words::new(|language| format!("{shows}\n    {}", how(&entry).text(language)));
                return Err(CliError::usage(Text::DigestNeeded).hint(hint));
            }
            if !yes {
                return converse(client, output, &entry, remember).await;
            }
            Some(digest.clone())
        }
        (
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. },
            None,
        ) => None,
    };
    send(client, output, &entry, Answer { remember, ..Answer::approve(digest) }).await
}

async fn reject(client: &Client, output: Output, args: RejectArgs) -> Outcome {
    let entry = wait::question(client, &args.question).await?;
    let text = match &args.text {
        None => None,
        Some(text) => Some(input::text("text", text, limits::ANSWER_BYTES_MAX)?),
    };
    let answer =
        Answer { decision: Verdict::Reject, value: None, text, digest: None, remember: None };
    send(client, output, &entry, answer).await
}

async fn send(client: &Client, output: Output, entry: &InboxEntry, answer: Answer) -> Outcome {
    taken(output, &client.call(&request(entry, answer)).await?)
}

/// Builds the request for an answer.
pub(super) fn request(entry: &InboxEntry, answer: Answer) -> GiveAnswer {
    let answer = GiveAnswer::new(entry.job.clone(), entry.question.id.clone(), answer);
    GiveAnswer { by: caller(), ..answer }
}

pub(super) fn taken(output: Output, answered: &AnswerTaken) -> Outcome {
    output.one(answered, answered.ask.as_str(), |style| {
        let words = style.say(Text::Answered { job: &answered.job, question: &answered.ask });
        format!("{}\n", style.paint(Tone::Good, &format!("✓ {words}")))
    })
}
