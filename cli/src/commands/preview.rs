//! What signals and forks would do: the result of a dry run, and the sentence before a confirmation.

use client::Client;
use proto::{
    door::{Preview, Previewed, SendSignal},
    error::Failure,
    escape,
    id::{JobId, Seq},
    lang::{Language, Words},
    point::Order,
};

use super::{batch::Refusals, jobs::caller};
use crate::{
    failure::{CliError, Outcome},
    output::Output,
};

/// Returns the request for a preview of a signal.
pub(super) fn of(job: &JobId, signal: Order, expected_seq: Option<Seq>) -> Preview {
    let (job, reason, by) = (job.clone(), None, caller());
    Preview::Signal(SendSignal { job, signal, expected_seq, reason, by })
}

/// Prints what requests would do, and ends as they would: with the first refusal, if there is one.
pub(super) async fn run(client: &Client, output: Output, requests: Vec<Preview>) -> Outcome {
    let mut previewed = Vec::new();
    for request in requests {
        previewed.push(client.call(&request).await?.in_language(output.language));
    }
    let lines = || previewed.iter().filter(|one| !one.text.is_empty()).map(line).collect();
    match previewed.as_slice() {
        [one] => output.one(one, one.job.as_str(), |_| lines())?,
        all => output.list(&all, all, |one| one.job.to_string(), |_| lines())?,
    };
    let mut refusals = Refusals::new(output);
    for one in previewed {
        if let Some(refused) = one.refused {
            refusals.add(&one.job, *refused);
        }
    }
    refusals.end()
}

fn line(previewed: &Previewed) -> String {
    format!("{}: {}\n", previewed.job, escape::line(&previewed.text))
}

/// Returns the sentences that a user reads before a confirmation; none if the server cannot say
/// them, because a confirmation without figures is better than a command that cannot be used.
///
/// # Errors
/// The refusal that the request would get.
pub(super) async fn sentence(
    client: &Client,
    job: &JobId,
    signal: Order,
) -> Result<Option<Words>, CliError> {
    let Ok(previewed) = client.call(&of(job, signal, None)).await else { return Ok(None) };
    if let Some(refused) = previewed.refused {
        let refused: Failure = *refused;
        return Err(refused.into());
    }
    let text = |language: Language| {
        let shown = Previewed { refused: None, ..previewed.clone() }.in_language(language);
        escape::line(&shown.text).into_owned()
    };
    Ok(Some(Words::new(text)))
}
