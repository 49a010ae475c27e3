//! The tools of two processes, one of which has the session of the job.

use std::sync::Arc;

use broker::{
    Broker,
    memory::{self, MemoryOptions},
    testing::wait::soon,
};
use proto::{
    decision::{CallWork, pools},
    id::{JobId, WorkerId},
    subject::Subjects,
    tool::{Fault, ToolResult},
    trace::TraceContext,
};
use runtime::{
    actor::{Restarts, Tree},
    config::Section,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_actors::{
    CallContext, ToolFault, Toolset,
    settings::{Http, Tools},
};

use crate::{site::Site, stage::settings};

/// A process with the role `tools`.
struct Process {
    broker: Broker,
    tools: Arc<Toolset>,
    shutdown: CancellationToken,
    tree: Tree,
}

impl Process {
    /// Starts a process with room for this number of sessions.
    async fn start(broker: &Broker, name: &str, sessions: u32) -> Self {
        let tools = Arc::new(Toolset::new(pools::builtin(), Vec::new()).unwrap());
        let shutdown = CancellationToken::new();
        let setup = browser_tools::Setup {
            broker: broker.clone(),
            worker: WorkerId::new(name).unwrap(),
            tools: Arc::clone(&tools),
            shutdown: shutdown.clone(),
        };
        let settings = tool_actors::browser::Browser { sessions, ..settings() };
        let http = Http { allow_private: true, ..Tools::defaults().http };
        let children = browser_tools::start(setup, &settings, &http).unwrap();
        let tree = Tree::start(name, Restarts::default(), children).await.unwrap();
        Self { broker: broker.clone(), tools, shutdown, tree }
    }

    async fn stop(self) {
        self.shutdown.cancel();
        soon("the end of a process", self.tree.ended()).await;
    }

    /// Carries out the `n`-th call of a job.
    async fn call(
        &self,
        job: &str,
        n: u32,
        tool: &str,
        args: Value,
    ) -> Result<ToolResult, ToolFault> {
        let spec = self.tools.specs().into_iter().find(|spec| spec.name.as_str() == tool).unwrap();
        let call: CallWork = serde_json::from_value(json!({
            "work": format!("g0.r0.s.n1.t{n}.c0"), "attempt": 1, "step": "s", "tool": tool,
            "version": spec.version, "pool": "builtin", "effect": spec.effect, "args": args,
            "idempotency_key": "k",
        }))
        .unwrap();
        let (job, trace) = (JobId::new(job).unwrap(), TraceContext::new(1, 1, false));
        let context = CallContext::of(&job, &call, trace, CancellationToken::new());
        let context = context.with_files(&self.broker);
        let admitted = self.tools.admit(&job, &call).unwrap();
        soon("the result of a call", admitted.run(context, call.args)).await
    }

    async fn page(&self, job: &str, n: u32, tool: &str, args: Value) -> Value {
        let result = self.call(job, n, tool, args).await.unwrap();
        assert!(result.success, "{result:?}");
        result.data.unwrap()
    }
}

fn installation() -> Broker {
    memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn any_process_acts_on_the_page_that_another_one_has() {
    let (site, broker) = (Site::start().await, installation());
    let (host, other) =
        (Process::start(&broker, "host", 1).await, Process::start(&broker, "other", 1).await);
    let url = site.at("127.0.0.1", "/");

    let nothing = other.call("a", 1, "browser_snapshot", json!({})).await.unwrap();
    assert!(nothing.error.unwrap().contains("there is no page yet"));
    // Each process has room for one session.
    host.page("a", 2, "browser_open", json!({"url": url})).await;
    other.page("b", 1, "browser_open", json!({"url": url})).await;
    let full = host.call("c", 1, "browser_open", json!({"url": url})).await.unwrap_err();
    assert_eq!(full.fault, Fault::Unavailable);
    for (n, process, button, after) in
        [(3, &host, "Change", "Changed"), (4, &other, "Stock", "Sold")]
    {
        let page = process.page("a", n, "browser_snapshot", json!({})).await;
        let quoted = format!("{button:?}");
        let line = page["page"].as_str().unwrap().lines().find(|line| line.contains(&quoted));
        let (_, reference) = line.unwrap().split_once("[ref=").unwrap();
        let reference = reference.split(']').next().unwrap();
        let target = json!({"snapshot": page["snapshot"], "ref": reference, "name": button});
        let page = process.page("a", n + 10, "browser_click", target).await;
        assert!(page["page"].as_str().unwrap().contains(&format!("{after:?}")), "{page}");
    }
    host.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_stops_takes_its_sessions_along_and_the_next_page_opens_elsewhere() {
    let (site, broker) = (Site::start().await, installation());
    let host = Process::start(&broker, "host", 1).await;
    let url = site.at("127.0.0.1", "/");
    host.page("a", 1, "browser_open", json!({"url": url})).await;
    let other = Process::start(&broker, "other", 1).await;
    host.stop().await;
    let lost = other.call("a", 2, "browser_snapshot", json!({})).await.unwrap();
    assert!(!lost.success, "{lost:?}");
    let page = other.page("a", 3, "browser_open", json!({"url": url})).await;
    assert_eq!(page["title"], "Shop");
    other.stop().await;
}
