//! The submitter: requests to Restate's ingress through the SDK's own client. They have no
//! idempotency keys, and so are the cheapest durable invocations of Restate. The submitter runs no
//! part of a job.

use std::collections::HashMap;

use peer_load::{Job, Peer};
use restate_sdk::{
    ingress::{InvocationHandle, RequestTarget, ReqwestClient},
    prelude::*,
};
use tokio::sync::Mutex;

pub(crate) struct Restate {
    ingress: ReqwestClient,
    admin: reqwest::Client,
    query: String,
    inline: bool,
    /// The handles of the parked jobs' invocations, for waiting for their results later.
    parked: Mutex<HashMap<String, InvocationHandle<reqwest::Client, String>>>,
}

impl Restate {
    pub(crate) fn connect(ingress: &str, admin: &str, inline: bool) -> Result<Self, String> {
        let ingress = ingress.parse().map_err(|error| format!("{ingress}: {error}"))?;
        let ingress = ReqwestClient::connect(ingress).map_err(|error| error.to_string())?;
        let (admin, query) = (reqwest::Client::new(), format!("{admin}/query"));
        Ok(Self { ingress, admin, query, inline, parked: Mutex::default() })
    }

    async fn call(&self, target: RequestTarget, job: Job) -> Result<String, String> {
        let response = self.ingress.request::<Json<Job>, String>(target, Json(job)).call().await;
        response.map_err(|error| error.to_string())?.into_body().map_err(|error| error.to_string())
    }
}

impl Peer for Restate {
    async fn run(&self, job: Job) -> Result<String, String> {
        let service = if self.inline { "Inline" } else { "Rpc" };
        let handler = if job.graph { "graph" } else { "run" };
        self.call(RequestTarget::service(service, handler), job).await
    }

    async fn park(&self, job: Job) -> Result<(), String> {
        let target = RequestTarget::workflow("Approval", job.id.clone(), "run");
        let id = job.id.clone();
        let sent = self.ingress.request::<Json<Job>, String>(target, Json(job)).send().await;
        let sent = sent.map_err(|error| error.to_string())?;
        self.parked.lock().await.insert(id, sent.invocation_handle());
        Ok(())
    }

    async fn parked(&self) -> Result<u64, String> {
        let sql = "select count(*) as parked from sys_invocation where status = 'suspended' and \
                   target_service_name = 'Approval' and target_handler_name = 'run'";
        let request = self.admin.post(&self.query).header("accept", "application/json");
        let body = serde_json::json!({ "query": sql }).to_string();
        let response = request.header("content-type", "application/json").body(body).send().await;
        let text = response.map_err(|error| error.to_string())?.text().await;
        let text = text.map_err(|error| error.to_string())?;
        let answer: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| format!("{text}: {error}"))?;
        answer["rows"][0]["parked"].as_u64().ok_or_else(|| format!("no count in {text}"))
    }

    async fn resume(&self, job: Job) -> Result<String, String> {
        let approve = RequestTarget::workflow("Approval", job.id.clone(), "approve");
        let handle = self.parked.lock().await.remove(&job.id);
        let handle = handle.ok_or_else(|| format!("{} was never parked", job.id))?;
        let approved = async {
            let sent = self.ingress.request::<(), ()>(approve, ()).call().await;
            sent.map(drop).map_err(|error| error.to_string())
        };
        let result = async {
            handle
                .attach()
                .await
                .map(|response| response.into_body())
                .map_err(|error| error.to_string())
        };
        tokio::try_join!(approved, result).map(|((), result)| result)
    }
}
