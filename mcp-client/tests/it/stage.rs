//! A set of tools in a process that has one server, which is a scripted program.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use broker::{
    Broker,
    memory::{self, MemoryOptions},
    testing::wait::soon,
};
use callboard_mcp_client::{
    Launch, Probed, Setup, probe,
    settings::{Mcp, Server, ServerName},
    start, trust,
};
use proto::{
    decision::{CallWork, pools},
    id::{Attempt, JobId, StepId, ToolName, WorkId},
    interaction::approval_digest,
    lang::Language,
    subject::Subjects,
    tool::{Approval, Effect, ToolResult, ToolSpec},
    trace::TraceContext,
};
use runtime::actor::{Restarts, Tree};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tool_actors::{CallContext, ToolFault, Toolset};

/// A running stage. Its server ends with it.
pub(crate) struct Stage {
    _broker: Broker,
    pub(crate) tools: Arc<Toolset>,
    pub(crate) home: TempDir,
    pub(crate) shutdown: CancellationToken,
    pub(crate) tree: Tree,
}

pub(crate) fn name() -> ServerName {
    "odd".parse().unwrap()
}

/// Returns the path of something that this checkout installs.
pub(crate) fn installed(what: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = std::process::Command::new(root.join("tools/install")).arg(what).output();
    let found = found.expect("tools/install is a script of this checkout");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    PathBuf::from(String::from_utf8_lossy(&found.stdout).trim())
}

/// Returns the settings of the scripted program in one of its modes.
pub(crate) fn server(mode: &str, home: &Path, more: &str) -> Server {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/hostile.py");
    let args = json!(["-B", script, mode, home]);
    toml::from_str(&format!("command = 'python3'\nargs = {args}\n{more}")).unwrap()
}

pub(crate) async fn look(server: &Server) -> Result<Probed, String> {
    let launch = Launch::of(&name(), server).unwrap();
    probe(&name(), server, &launch).await.map_err(|error| error.to_string())
}

impl Stage {
    /// Starts a trusted server in one of its modes.
    pub(crate) async fn start(mode: &str, more: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let stage = Self::set_up(server(mode, home.path(), more), home, true).await;
        stage.offered().await;
        stage
    }

    /// Starts any server, and trusts what it shows first.
    pub(crate) async fn of(server: Server) -> Self {
        let stage = Self::set_up(server, tempfile::tempdir().unwrap(), true).await;
        stage.offered().await;
        stage
    }

    /// Starts a server that nobody trusts.
    pub(crate) async fn untrusted() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::set_up(server("plain", home.path(), ""), home, false).await
    }

    async fn offered(&self) {
        let mut changes = self.tools.watch();
        while self.tools.specs().is_empty() {
            soon("the tools of the server", changes.changed()).await.unwrap();
        }
    }

    async fn set_up(server: Server, home: TempDir, is_trusted: bool) -> Self {
        let broker = memory::start(Subjects::new("cb", 1).unwrap(), MemoryOptions::default());
        if is_trusted {
            let pins = look(&server).await.unwrap().pins;
            trust(&broker, &name(), &pins).await.unwrap();
        }
        // Counts the starts from here on.
        std::fs::write(home.path().join("starts"), "").unwrap();
        let tools = Arc::new(Toolset::new(pools::builtin(), Vec::new()).unwrap());
        let shutdown = CancellationToken::new();
        let mcp = Mcp { servers: [(name(), server)].into() };
        let setup =
            Setup { broker: broker.clone(), tools: Arc::clone(&tools), shutdown: shutdown.clone() };
        let children = start(&setup, &mcp).unwrap();
        let tree = Tree::start("mcp", Restarts::default(), children).await.unwrap();
        Self { _broker: broker, tools, home, shutdown, tree }
    }

    /// Calls the tool `act`, approved if need be.
    pub(crate) async fn call(&self, args: Value) -> Result<ToolResult, ToolFault> {
        let (job, call) = self.planned(args);
        self.run(&job, &call).await
    }

    /// Calls one of several tools.
    pub(crate) async fn call_of(&self, tool: &str, args: Value) -> Result<ToolResult, ToolFault> {
        let (job, call) = Self::planned_of(self.spec(tool), args);
        self.run(&job, &call).await
    }

    /// Returns the specification of an offered tool.
    pub(crate) fn spec(&self, tool: &str) -> ToolSpec {
        let found = self.tools.specs().into_iter().find(|spec| spec.name.as_str() == tool);
        found.expect("the tool is offered")
    }

    /// Returns the command of a call of the tool as it is offered now.
    pub(crate) fn planned(&self, args: Value) -> (JobId, CallWork) {
        Self::planned_of(self.tools.specs().into_iter().next().expect("a tool is offered"), args)
    }

    fn planned_of(spec: ToolSpec, args: Value) -> (JobId, CallWork) {
        let (job, work) = (JobId::new("job").unwrap(), WorkId::new("g0.s1").unwrap());
        let approved = match spec.approval {
            Approval::Always => {
                Some(approval_digest(&job, work.as_str(), &spec.name, &spec.version, &args))
            }
            Approval::Never => None,
        };
        let call = CallWork {
            work,
            attempt: Attempt::FIRST,
            step: StepId::new("1").unwrap(),
            tool: spec.name,
            version: spec.version,
            pool: spec.pool,
            effect: spec.effect,
            destructive: spec.destructive,
            untrusted: spec.untrusted,
            args,
            idempotency_key: "job/g0.s1".into(),
            approved,
            remembered: None,
            hosts: None,
            refused: None,
            language: Language::En,
        };
        (job, call)
    }

    pub(crate) async fn run(&self, job: &JobId, call: &CallWork) -> Result<ToolResult, ToolFault> {
        let admitted = self.tools.admit(job, call)?;
        let trace = TraceContext::new(7, 7, false);
        let context = CallContext::of(job, call, trace, CancellationToken::new());
        soon("the end of the call", admitted.run(context, call.args.clone())).await
    }

    /// Returns the text that the tool answers.
    pub(crate) async fn text(&self, what: &str) -> String {
        let result = self.call(json!({ "do": what })).await.unwrap();
        assert!(result.success, "{result:?}");
        result.data.unwrap().as_str().unwrap().to_owned()
    }

    pub(crate) fn tool(&self) -> ToolName {
        ToolName::new("odd__act").unwrap()
    }
}

/// Settings with which calls need no approval and have this effect.
pub(crate) fn free(effect: Effect) -> String {
    format!("tools.set.act = {{ effect = '{}', approval = 'never' }}", effect.as_str())
}
