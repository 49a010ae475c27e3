//! Scenario T: the cost of telemetry. The processes export everything to a receiver in this
//! process, which discards it.

use std::{
    future::IntoFuture,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{Router, body::Bytes, http::StatusCode};
use serde::Serialize;
use tokio::{net::TcpListener, task::AbortHandle};

use crate::{
    Failed, broker::Keeping, company::Company, company::Setup, diamond, diamond::Throughput,
    load::Submitter, options::Options, say,
};

/// The figures of scenario T.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TelemetryFigures {
    /// The sampled part of the traces; `None` without telemetry.
    pub(crate) sampled: Option<f64>,
    /// The bytes that the receiver got.
    pub(crate) bytes: u64,
    /// The figures of A under these settings.
    pub(crate) throughput: Throughput,
}

/// Measures A without telemetry, with each sampling ratio, and without telemetry once more, because
/// the machine's load may have changed.
pub(crate) async fn measure(
    options: &Options,
    program: Option<std::path::PathBuf>,
) -> Result<Vec<TelemetryFigures>, Failed> {
    let mut watched = Vec::new();
    let sampled = options.sampled.iter().copied().map(Some);
    for sampled in std::iter::once(None).chain(sampled).chain([None]) {
        say(&format!("t: sampled {sampled:?}"));
        let receiver = Receiver::start().await?;
        let mut setup = diamond::setup(program.clone(), Keeping::Default);
        setup.settings = sampled.map(|sampled| settings(&receiver, sampled)).unwrap_or_default();
        let throughput = one(&setup, options).await?;
        let bytes = receiver.bytes.load(Ordering::Relaxed);
        if sampled.is_some() && bytes == 0 {
            return Err("nothing was sent although telemetry is on".into());
        }
        watched.push(TelemetryFigures { sampled, bytes, throughput });
    }
    Ok(watched)
}

async fn one(setup: &Setup, options: &Options) -> Result<Throughput, Failed> {
    let company = Company::start(setup).await?;
    diamond::warm_up(&company, &Submitter::new(&company)?).await?;
    Ok(diamond::throughput(&company, options).await?.0)
}

fn settings(receiver: &Receiver, sampled: f64) -> Vec<(String, String)> {
    [
        ("OTLP_ENDPOINT", format!("http://{}", receiver.address)),
        ("OTLP_PROTOCOL", "http/protobuf".to_owned()),
        ("TRACE_SAMPLE_RATIO", sampled.to_string()),
        ("METRIC_INTERVAL_MS", "2000".to_owned()),
    ]
    .map(|(key, value)| (format!("CALLBOARD__TELEMETRY__{key}"), value))
    .into()
}

/// A receiver that counts and discards every request.
struct Receiver {
    address: SocketAddr,
    bytes: Arc<AtomicU64>,
    task: AbortHandle,
}

impl Receiver {
    async fn start() -> Result<Self, Failed> {
        let bytes: Arc<AtomicU64> = Arc::default();
        let counted = Arc::clone(&bytes);
        let take = move |body: Bytes| {
            counted.fetch_add(body.len() as u64, Ordering::Relaxed);
            std::future::ready(StatusCode::OK)
        };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let serve = axum::serve(listener, Router::new().fallback(take));
        let task = tokio::spawn(serve.into_future()).abort_handle();
        Ok(Self { address, bytes, task })
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}
