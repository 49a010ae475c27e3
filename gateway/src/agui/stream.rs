//! A run as a stream of server-sent events.

use std::time::Duration;

use axum::response::Response;
use client::WatchOptions;
use futures::{Stream, StreamExt};
use proto::{
    door::Watched,
    error::{Code, Failure},
    event::EventId,
    id::JobId,
    lang::Language,
};
use tokio_util::sync::CancellationToken;

use super::{
    events::{RunEvent, Stamped},
    run::Run,
};
use crate::{caller::Caller, frames, limited::Open, words::Text};

/// Time for which the front door may be away before the run fails.
const GIVE_UP_AFTER: Duration = Duration::from_secs(60);

/// Builds the response that streams a run to its end.
pub(super) fn response(
    caller: &Caller,
    job: &JobId,
    run: Run,
    shutdown: CancellationToken,
    place: Open,
) -> Response {
    let options =
        WatchOptions { give_up_after: GIVE_UP_AFTER, ..WatchOptions::events(EventId::START) };
    let items = caller.client.watch(job, options);
    frames::response(texts(items, run, caller.language), shutdown, place)
}

/// Builds the response of a run that failed before it had a job to show.
pub(super) fn failed(
    caller: &Caller,
    mut run: Run,
    failure: &Failure,
    shutdown: CancellationToken,
    place: Open,
) -> Response {
    let begun = run.begin().into_iter().take(1);
    let events: Vec<_> = begun.chain(fail(&mut run, failure, caller.language)).collect();
    let texts = events.into_iter().map(|event| text(&event, None));
    frames::response(futures::stream::iter(texts), shutdown, place)
}

fn texts(
    items: impl Stream<Item = Result<Watched, Failure>> + Send + 'static,
    mut run: Run,
    language: Language,
) -> impl Stream<Item = String> + Send + 'static {
    async_stream::stream! {
        let mut items = std::pin::pin!(items);
        for event in run.begin() {
            yield text(&event, None);
        }
        while !run.has_ended() {
            let (events, time) = match items.next().await {
                Some(Ok(Watched::Event { event })) => {
                    (run.take(&event), Some(event.time.as_millisecond()))
                }
                Some(Ok(Watched::View { view })) => (run.view(&view), None),
                Some(Ok(Watched::Record { .. } | Watched::Live { .. } | Watched::Heartbeat)) => {
                    (Vec::new(), None)
                }
                Some(Ok(Watched::End { error: Some(failure) })) => {
                    (fail(&mut run, &failure, language), None)
                }
                Some(Err(failure)) => (fail(&mut run, &failure, language), None),
                Some(Ok(Watched::End { error: None })) | None => {
                    let ended = Failure::composed(Code::JobEnded, &Text::AguiEnded.into());
                    (fail(&mut run, &ended, language), None)
                }
            };
            for event in events {
                yield text(&event, time);
            }
        }
    }
}

fn fail(run: &mut Run, failure: &Failure, language: Language) -> Vec<RunEvent> {
    run.fail(failure.message_in(language), Some(failure.code.to_string()))
}

fn text(event: &RunEvent, timestamp: Option<i64>) -> String {
    let text = serde_json::to_string(&Stamped { event, timestamp });
    text.expect("the event has text keys and finite numbers only")
}
