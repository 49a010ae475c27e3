//! An installation in memory: the roles of the program, a scripted model whose requests are kept,
//! and the scripted tools.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use broker::{
    Broker,
    memory::{self, MemoryOptions},
};
use callboard_tests::web::WebServer;
use cli::{
    roles::{Company, Role, identity},
    settings::Config,
};
use client::Client;
use model::{Model, ModelError, ModelRequest, ModelStream, script::ScriptModel};
use proto::{
    id::{Pool, ToolName, WorkerId},
    message::Message,
    subject::Subjects,
    tool::{Approval, Effect, ToolResult, ToolSpec},
};
use runtime::{
    actor::{Restarts, Tree},
    config::Sources,
    presence::Crew,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tool_actors::{CallContext, Tool, ToolFault, Toolset, search::settings::Provider};
use wiremock::{
    Mock, ResponseTemplate,
    matchers::{path, query_param},
};

use super::format::{Scenario, ScriptedTool};

/// The running installation of one scenario.
pub(super) struct Installation {
    pub(super) broker: Broker,
    pub(super) client: Client,
    pub(super) model: Arc<Listening>,
    _company: Company,
    _tools: Tree,
    _workspace: tempfile::TempDir,
    /// The provider of the built-in search, if the scenario has one.
    _provider: Option<WebServer>,
}

impl Installation {
    pub(super) async fn open(scenario: &Scenario) -> Self {
        let workspace = tempfile::tempdir().unwrap();
        let sources = Sources { cwd: workspace.path().to_owned(), ..Sources::default() };
        let mut config = Config::load(&sources).unwrap();
        config.tools.workspace = workspace.path().to_owned();
        let provider = match &scenario.found {
            Some(results) => Some(searxng(results).await),
            None => None,
        };
        if let Some(provider) = &provider {
            config.tools.search.providers = vec![Provider::Searxng];
            config.tools.search.searxng.base_url = Some(provider.uri().parse().unwrap());
        }
        let subjects = Subjects::new("cb", 1).unwrap();
        let broker = memory::start(subjects, MemoryOptions::default());
        let model = Arc::new(Listening { inner: scenario.script(), heard: Mutex::default() });
        let shutdown = CancellationToken::new();
        let tools = scripted(&broker, &scenario.tools, shutdown.clone()).await;
        let roles: BTreeSet<Role> = Role::ALL.iter().copied().collect();
        let identity = identity(&roles);
        let company = Company::start(
            &config,
            &identity,
            broker.clone(),
            &roles,
            Some(Arc::clone(&model) as Arc<dyn Model>),
            shutdown,
        );
        let company = company.await.unwrap();
        let client = Client::new(&broker);
        Self {
            broker,
            client,
            model,
            _company: company,
            _tools: tools,
            _workspace: workspace,
            _provider: provider,
        }
    }
}

/// Starts an instance of SearXNG that finds the same results for every search.
async fn searxng(results: &[Value]) -> WebServer {
    let server = WebServer::start().await;
    let found = json!({ "results": results, "unresponsive_engines": [] });
    let answer = ResponseTemplate::new(200).set_body_json(found);
    let search = Mock::given(path("/search")).and(query_param("format", "json"));
    search.respond_with(answer).mount(&server).await;
    server
}

/// Starts the scenario's own tools, in a pool of their own.
async fn scripted(broker: &Broker, tools: &[ScriptedTool], shutdown: CancellationToken) -> Tree {
    let worker = WorkerId::new("scenario").unwrap();
    let tools = tools.iter().map(|tool| {
        Arc::new(Prepared { tool: tool.clone(), calls: AtomicUsize::new(0) }) as Arc<dyn Tool>
    });
    let tools: Vec<_> = tools.collect();
    let mut children = Vec::new();
    if !tools.is_empty() {
        let toolset = Arc::new(Toolset::new(pool(), tools).unwrap());
        let setup = tool_actors::Setup {
            broker: broker.clone(),
            worker,
            crew: Crew::open(broker),
            content: None,
            options: tool_actors::options(&toolset, 4),
            local: runtime::worker::LocalPools::default(),
            shutdown,
        };
        children = tool_actors::start(setup, toolset).await.unwrap().0;
    }
    Tree::start("scenario", Restarts::default(), children).await.unwrap()
}

fn pool() -> Pool {
    Pool::new("scenario").unwrap()
}

/// A tool that answers with prepared results.
struct Prepared {
    tool: ScriptedTool,
    calls: AtomicUsize,
}

#[async_trait]
impl Tool for Prepared {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::new(&self.tool.name).unwrap(),
            description: self.tool.about.clone(),
            schema: json!({ "type": "object" }),
            effect: Effect::Idempotent,
            pool: pool(),
            timeout_ms: 20_000,
            concurrency: 4,
            approval: Approval::Never,
            destructive: false,
            untrusted: false,
            version: "1".to_owned(),
            commands: Vec::new(),
            translations: BTreeMap::new(),
        }
    }

    async fn call(&self, _context: CallContext, _args: Value) -> Result<ToolResult, ToolFault> {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let last = self.tool.results.len() - 1;
        Ok(self.tool.results[number.min(last)].clone())
    }
}

/// The scripted model, with the requests that it received.
pub(super) struct Listening {
    inner: ScriptModel,
    heard: Mutex<Vec<String>>,
}

impl Listening {
    /// Returns the requests so far, each as text.
    pub(super) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

#[async_trait]
impl Model for Listening {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.heard.lock().unwrap().push(shown(&request));
        self.inner.stream(request).await
    }
}

/// Renders a request: the offered tools, then one paragraph for each message.
fn shown(request: &ModelRequest) -> String {
    let mut text = String::new();
    for tool in &request.tools {
        writeln!(text, "offers {}: {}", tool.name, tool.description).unwrap();
    }
    for message in &request.messages {
        match message {
            Message::System { text: words } => writeln!(text, "system: {words}"),
            Message::User { text: words } => writeln!(text, "user: {words}"),
            Message::Assistant { text: words, calls, .. } => {
                let calls = calls.iter().map(|c| format!(" [{} {} {}]", c.id, c.name, c.args));
                writeln!(text, "assistant: {words}{}", calls.collect::<String>())
            }
            Message::Tool { call, name, text: words } => {
                writeln!(text, "tool {call} {name}: {words}")
            }
        }
        .unwrap();
    }
    text
}
