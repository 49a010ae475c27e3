//! `watch`: streams the events of a job, starting at any of them. It changes nothing.

use std::pin::pin;

use client::WatchOptions;
use futures::StreamExt;
use proto::{
    door::Watched,
    escape,
    event::{Event, EventId},
};

use crate::{
    args::{Global, WatchArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    interrupt::Interrupts,
    output::{Format, Output},
    render::event,
    style::{Style, Tone},
    words::Text,
};

pub(super) async fn run(global: &Global, output: Output, args: WatchArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let job = connect::job(&client, &args.job).await?.job;
    // Live updates are only for programs; lines for users show lasting events.
    let live = args.live && output.format.is_json();
    if args.live && !live {
        output.note(Text::LiveForPrograms);
    }
    let after = args.after.unwrap_or(EventId::START);
    let options =
        WatchOptions { live, give_up_after: super::watch::PATIENCE, ..WatchOptions::events(after) };
    let mut stream = pin!(client.watch(&job, options));
    let mut interrupts = Interrupts::take()?;
    let style = output.style();
    // An endless stream is never one JSON value; the events up to now are.
    let mut whole = (output.format == Format::Json && args.no_follow).then(Vec::new);
    loop {
        let item = tokio::select! {
            item = stream.next() => item,
            () = interrupts.next() => return Ok(Exit::Interrupted),
        };
        match item {
            Some(Ok(Watched::Event { event })) => match &mut whole {
                Some(all) => all.push(event),
                None => print(output, &style, &event)?,
            },
            Some(Ok(said @ Watched::Live { .. })) => compact(output, &said)?,
            // A view marks the end of the stored events.
            Some(Ok(Watched::View { .. })) if args.no_follow => break,
            Some(Ok(Watched::View { .. } | Watched::Record { .. } | Watched::Heartbeat)) => {}
            Some(Ok(Watched::End { error: None })) | None => break,
            Some(Ok(Watched::End { error: Some(failure) })) => return Err((*failure).into()),
            Some(Err(failure)) => return Err(failure.into()),
        }
    }
    if let Some(all) = whole {
        output.json(&all)?;
    }
    Ok(Exit::Success)
}

fn print(output: Output, style: &Style, event: &Event) -> Result<(), CliError> {
    match output.format {
        Format::Json | Format::Jsonl => compact(output, event),
        Format::Ids => output.line(&event.id.to_string()),
        Format::Table => {
            let time = style.paint(Tone::Dim, &style.clock(event.time));
            // The time stamp occupies columns of every line; continuation lines have the same
            // indent.
            let width =
                style.width.map(|width| width.saturating_sub(style.clock(event.time).len() + 1));
            let narrow = Style { width, ..*style };
            let lines = event::lines(&narrow, &event.happened);
            lines.iter().try_for_each(|line| output.line(&format!("{time} {line}")))
        }
    }
}

/// Prints an item as one line in both JSON formats: an endless stream is never one value.
fn compact(output: Output, item: &impl serde::Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(item).map_err(|e| CliError::internal(e.to_string()))?;
    output.line(&escape::in_json(&text))
}
