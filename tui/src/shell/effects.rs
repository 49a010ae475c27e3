//! The effects of the model over the client of the front door. Each task reports its result as an
//! input.

use client::{Client, WatchOptions};
use futures::StreamExt;
use proto::{
    door::{Count, Dead, Inbox, List, Preview, Watched},
    error::Failure,
    event::EventId,
    id::JobId,
    limits,
    point::Point,
};
use tokio::{sync::mpsc::Sender, task::AbortHandle};

use crate::model::{Confirmed, Fetch, Input, Loaded, Request};

/// Number of jobs that a list has.
const JOBS: u32 = 500;
/// Number of questions that the inbox has.
const QUESTIONS: u32 = 200;

/// Performs effects.
pub(super) struct Hands {
    client: Client,
    inputs: Sender<Input>,
    watch: Option<AbortHandle>,
}

impl Hands {
    pub(super) fn new(client: Client, inputs: Sender<Input>) -> Self {
        Self { client, inputs, watch: None }
    }

    fn spawn(&self, work: impl Future<Output = Input> + Send + 'static) {
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            // Nobody listens any more after the end.
            let _ = inputs.send(work.await).await;
        });
    }

    /// Asks for data.
    pub(super) fn fetch(&self, fetch: Fetch) {
        let client = self.client.clone();
        self.spawn(async move {
            match loaded(&client, &fetch).await {
                Ok(loaded) => Input::Loaded(loaded),
                Err(failure) => Input::NotLoaded(fetch, Box::new(failure)),
            }
        });
    }

    /// Watches a job in place of the one before.
    pub(super) fn watch(&mut self, job: JobId) {
        if let Some(before) = self.watch.take() {
            before.abort();
        }
        let (client, inputs) = (self.client.clone(), self.inputs.clone());
        let task = tokio::spawn(async move {
            let options = WatchOptions { live: true, ..WatchOptions::events(EventId::START) };
            let mut messages = Box::pin(client.watch(&job, options));
            while let Some(message) = messages.next().await {
                let input = match message {
                    Ok(Watched::Heartbeat) => continue,
                    Ok(message) => Input::Watched(job.clone(), Box::new(message)),
                    Err(failure) => Input::WatchFailed(job.clone(), Box::new(failure)),
                };
                if inputs.send(input).await.is_err() {
                    return;
                }
            }
        });
        self.watch = Some(task.abort_handle());
    }

    /// Asks what a request would do.
    pub(super) fn preview(&self, asked: Box<Preview>) {
        let client = self.client.clone();
        self.spawn(async move {
            let result = client.call(&*asked).await.map(Box::new).map_err(Box::new);
            Input::Previewed(asked, result)
        });
    }

    /// Sends requests one after another. The first failure ends them.
    pub(super) fn send(&self, confirmed: Confirmed) {
        let client = self.client.clone();
        self.spawn(async move {
            for request in confirmed.requests() {
                if let Err(failure) = sent(&client, request).await {
                    return Input::Sent(Err(Box::new(failure)));
                }
            }
            Input::Sent(Ok(()))
        });
    }
}

async fn sent(client: &Client, request: &Request) -> Result<(), Failure> {
    match request {
        Request::Signal(signal) => client.call(signal).await.map(|_| ()),
        Request::Answer(answer) => client.call(answer).await.map(|_| ()),
        Request::Fork(submit) => client.submit((**submit).clone()).await.map(|_| ()),
    }
}

async fn loaded(client: &Client, fetch: &Fetch) -> Result<Loaded, Failure> {
    Ok(match fetch {
        Fetch::Jobs => {
            let limit = Some(JOBS.min(limits::LIST_MAX));
            Loaded::Jobs(client.call(&List { limit, ..List::default() }).await?)
        }
        Fetch::Inbox => {
            let limit = Some(QUESTIONS);
            Loaded::Inbox(client.call(&Inbox { job: None, limit }).await?)
        }
        Fetch::Crew => Loaded::Crew(client.crew().await?),
        Fetch::Dead => Loaded::Dead(client.call(&Dead::default()).await?),
        Fetch::Count => Loaded::Count(client.call(&Count::default()).await?),
        Fetch::At(job, seq) => {
            let view = client.get_at(job, Point::Seq(*seq)).await?;
            Loaded::At(job.clone(), *seq, Box::new(view))
        }
    })
}
