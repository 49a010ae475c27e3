//! `inbox link` and `inbox unlink`: answer pages for people without a token.

use client::Client;
use proto::door::{Link, Unlink};
use serde::Serialize;

use super::wait;
use crate::{
    args::{LinkArgs, QuestionArg},
    commands::jobs::caller,
    failure::{CliError, Outcome},
    output::Output,
    words::Text,
};

/// The path of answer pages at a gateway.
const PAGES: &str = "/a/";

/// A link as programs read it.
#[derive(Debug, Serialize)]
struct Made {
    /// Address of the page, or its path if the gateway is not known.
    page: String,
    #[serde(flatten)]
    link: proto::door::Linked,
}

pub(super) async fn make(client: &Client, output: Output, args: LinkArgs) -> Outcome {
    let base = match &args.gateway {
        None => String::new(),
        Some(base) if ["http://", "https://"].iter().any(|start| base.starts_with(start)) => {
            base.trim_end_matches('/').to_owned()
        }
        Some(base) => return Err(CliError::usage(Text::NoGateway { given: base })),
    };
    let entry = wait::question(client, &args.question).await?;
    let by = args.by.or_else(caller);
    let request = Link { job: entry.job, ask: entry.question.id, by };
    let link = client.call(&request).await?;
    let page = format!("{base}{PAGES}{}", link.handle);
    let made = Made { page: page.clone(), link };
    output.one(&made, &page, |style| {
        let proto::door::Linked { job, ask, by, expires, .. } = &made.link;
        let until = style.time(*expires);
        Text::LinkMade { page: &page, ask, job, by, until: &until }.text(style.language)
    })
}

pub(super) async fn revoke(client: &Client, output: Output, arg: QuestionArg) -> Outcome {
    let entry = wait::question(client, &arg).await?;
    let (job, ask) = (entry.job, entry.question.id);
    let unlinked = client.call(&Unlink { job, ask: ask.clone() }).await?;
    let count = unlinked.revoked;
    output.one(&unlinked, ask.as_str(), |style| {
        Text::LinksRevoked { count: &count, ask: &ask }.text(style.language)
    })
}
