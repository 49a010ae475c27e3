//! Texts as a stream of server-sent events.
//!
//! A task puts the texts into a queue of bounded length, from which the response reads. A reader that
//! takes nothing for [`STALLED`] loses its stream. The task does not depend on the reader, so a
//! reader that stalls does not keep what the texts come from.

use std::{convert::Infallible, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use crate::{
    limited::Open,
    stream::{KEEP_ALIVE, UNBUFFERED},
};

/// Largest number of texts that wait for the reader; each is smaller than a message of NATS.
const FRAMES_MAX: usize = 16;
/// Time without progress after which a reader loses its stream.
const STALLED: Duration = Duration::from_secs(15);

/// Builds the response that streams texts, each as the data of one event, until they or the process
/// end.
pub(crate) fn response(
    texts: impl Stream<Item = String> + Send + 'static,
    shutdown: CancellationToken,
    place: Open,
) -> Response {
    let (sender, mut frames) = mpsc::channel(FRAMES_MAX);
    let pumped = shutdown.run_until_cancelled_owned(pump(texts, sender));
    let task = AbortOnDropHandle::new(tokio::spawn(pumped));
    let body = async_stream::stream! {
        let (_task, _place) = (task, place);
        while let Some(text) = frames.recv().await {
            yield Ok::<_, Infallible>(Event::default().data(text));
        }
    };
    let body = Sse::new(body).keep_alive(KeepAlive::new().interval(KEEP_ALIVE));
    ([(UNBUFFERED, "no")], body).into_response()
}

async fn pump(texts: impl Stream<Item = String>, frames: mpsc::Sender<String>) {
    let mut texts = std::pin::pin!(texts);
    while let Some(text) = texts.next().await {
        let sent = tokio::time::timeout(STALLED, frames.send(text)).await;
        // The reader has gone, or takes nothing.
        let Ok(Ok(())) = sent else { return };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_takes_nothing_loses_its_stream() {
        let endless = futures::stream::repeat_with(|| "text".to_owned());
        let (sender, frames) = mpsc::channel(FRAMES_MAX);
        let mut pump = std::pin::pin!(pump(endless, sender));
        assert!(tokio::time::timeout(STALLED / 2, &mut pump).await.is_err());
        pump.await;
        assert_eq!(frames.len(), FRAMES_MAX);
    }
}
