//! An OTLP receiver, over gRPC or HTTP, that keeps everything it receives.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard},
};

use axum::{Router, body::Bytes, routing::post};
use broker::testing::wait::patiently;
use opentelemetry_proto::tonic::{
    collector::{
        logs::v1::{
            ExportLogsServiceRequest, ExportLogsServiceResponse,
            logs_service_server::{LogsService, LogsServiceServer},
        },
        metrics::v1::{
            ExportMetricsServiceRequest, ExportMetricsServiceResponse,
            metrics_service_server::{MetricsService, MetricsServiceServer},
        },
        trace::v1::{
            ExportTraceServiceRequest, ExportTraceServiceResponse,
            trace_service_server::{TraceService, TraceServiceServer},
        },
    },
    common::v1::{AnyValue, KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;
use tokio::{net::TcpListener, sync::Notify, task::JoinHandle};
use tonic::{
    Request, Response, Status,
    transport::{Server, server::TcpIncoming},
};

/// A span, and the roles of the process that exported it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) roles: String,
    pub(crate) span: Span,
}

impl Sent {
    /// Returns an attribute as text; empty when it is missing.
    pub(crate) fn attribute(&self, key: &str) -> String {
        text_of(&self.span.attributes, key)
    }
}

/// Everything that was received.
#[derive(Debug, Default)]
struct All {
    spans: Vec<Sent>,
    metrics: BTreeSet<String>,
    logs: usize,
    /// Every request as text, for searches.
    text: String,
}

/// A receiver on a free port. It stops when it is dropped.
pub(crate) struct Receiver {
    kept: Kept,
    address: String,
    serving: JoinHandle<()>,
}

#[derive(Clone, Default)]
struct Kept {
    all: Arc<Mutex<All>>,
    came: Arc<Notify>,
}

impl Receiver {
    /// Starts a receiver over gRPC.
    pub(crate) async fn grpc() -> Self {
        let (listener, kept) = (listener().await, Kept::default());
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Server::builder()
            .add_service(TraceServiceServer::new(kept.clone()))
            .add_service(MetricsServiceServer::new(kept.clone()))
            .add_service(LogsServiceServer::new(kept.clone()))
            .serve_with_incoming(TcpIncoming::from(listener));
        let serving = tokio::spawn(async { server.await.unwrap() });
        Self { kept, address, serving }
    }

    /// Starts a receiver of protocol buffers over HTTP.
    pub(crate) async fn http() -> Self {
        let (listener, kept) = (listener().await, Kept::default());
        let address = format!("http://{}", listener.local_addr().unwrap());
        let [spans, metrics, logs] = [kept.clone(), kept.clone(), kept.clone()];
        let take_spans = async move |body: Bytes| {
            spans.spans(ExportTraceServiceRequest::decode(body).unwrap());
        };
        let take_metrics = async move |body: Bytes| {
            metrics.metrics(&ExportMetricsServiceRequest::decode(body).unwrap());
        };
        let take_logs = async move |body: Bytes| {
            logs.logs(&ExportLogsServiceRequest::decode(body).unwrap());
        };
        let router = Router::new()
            .route("/v1/traces", post(take_spans))
            .route("/v1/metrics", post(take_metrics))
            .route("/v1/logs", post(take_logs));
        let serving = tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        Self { kept, address, serving }
    }

    /// Returns the address of the receiver.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the spans received so far.
    pub(crate) fn spans(&self) -> Vec<Sent> {
        self.kept.lock().spans.clone()
    }

    /// Returns the names of the metrics received so far.
    pub(crate) fn metrics(&self) -> BTreeSet<String> {
        self.kept.lock().metrics.clone()
    }

    /// Returns the number of log lines received so far.
    pub(crate) fn logs(&self) -> usize {
        self.kept.lock().logs
    }

    /// Returns every request so far, as text.
    pub(crate) fn text(&self) -> String {
        self.kept.lock().text.clone()
    }

    /// Waits until `found` returns a value.
    pub(crate) async fn until<T>(&self, what: &str, found: impl Fn(&Self) -> Option<T>) -> T {
        let waiting = async {
            loop {
                let came = self.kept.came.notified();
                if let Some(found) = found(self) {
                    return found;
                }
                came.await;
            }
        };
        let Some(found) = patiently(waiting).await else {
            let names: Vec<_> = self.spans().into_iter().map(|sent| sent.span.name).collect();
            panic!("{what} never came; there are {names:#?}");
        };
        found
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

impl Kept {
    fn lock(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap()
    }

    fn spans(&self, request: ExportTraceServiceRequest) {
        let mut all = self.lock();
        all.text.push_str(&format!("{request:?}\n"));
        for resource in request.resource_spans {
            let attributes = resource.resource.map(|r| r.attributes).unwrap_or_default();
            let roles = text_of(&attributes, "callboard.roles");
            let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            all.spans.extend(spans.map(|span| Sent { roles: roles.clone(), span }));
        }
        drop(all);
        self.came.notify_waiters();
    }

    fn metrics(&self, request: &ExportMetricsServiceRequest) {
        let mut all = self.lock();
        all.text.push_str(&format!("{request:?}\n"));
        let scopes = request.resource_metrics.iter().flat_map(|r| &r.scope_metrics);
        all.metrics.extend(scopes.flat_map(|s| &s.metrics).map(|metric| metric.name.clone()));
        drop(all);
        self.came.notify_waiters();
    }

    fn logs(&self, request: &ExportLogsServiceRequest) {
        let mut all = self.lock();
        all.text.push_str(&format!("{request:?}\n"));
        let scopes = request.resource_logs.iter().flat_map(|r| &r.scope_logs);
        all.logs += scopes.map(|scope| scope.log_records.len()).sum::<usize>();
        drop(all);
        self.came.notify_waiters();
    }
}

#[tonic::async_trait]
impl TraceService for Kept {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        self.spans(request.into_inner());
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl MetricsService for Kept {
    async fn export(
        &self,
        request: Request<ExportMetricsServiceRequest>,
    ) -> Result<Response<ExportMetricsServiceResponse>, Status> {
        self.metrics(&request.into_inner());
        Ok(Response::new(Default::default()))
    }
}

#[tonic::async_trait]
impl LogsService for Kept {
    async fn export(
        &self,
        request: Request<ExportLogsServiceRequest>,
    ) -> Result<Response<ExportLogsServiceResponse>, Status> {
        self.logs(&request.into_inner());
        Ok(Response::new(Default::default()))
    }
}

fn text_of(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    let Some(AnyValue { value: Some(value) }) = found.and_then(|found| found.value.as_ref()) else {
        return String::new();
    };
    if let Value::StringValue(text) = value {
        text.clone()
    } else if let Value::IntValue(number) = value {
        number.to_string()
    } else {
        format!("{value:?}")
    }
}
