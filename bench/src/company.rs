//! A nats-server, a scripted model, a supervisor and a worker, each a process but the model.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use model::script::{Script, ScriptServer};
use proto::{id::WorkerId, subject::Subjects};
use runtime::{
    broker::Broker,
    nats::{self, NatsOptions},
    nats_server::{self, ChildOptions},
};
use tempfile::TempDir;

/// One diamond of direct tool calls.
const SCRIPT: &str = r#"
else:
  json:
    title: "diamond"
    steps:
      - { id: s1, description: "one", tool: echo, args: { value: 1 } }
      - { id: s2, description: "two", depends_on: [s1], tool: echo, args: { value: 2 } }
      - { id: s3, description: "three", depends_on: [s1], tool: echo, args: { value: 3 } }
      - { id: s4, description: "four", depends_on: [s2, s3], tool: echo, args: { value: 4 } }
"#;

pub(crate) type Failed = Box<dyn std::error::Error + Send + Sync>;

/// The processes of a measurement.
pub(crate) struct Company {
    pub(crate) broker: Broker,
    pub(crate) server: nats_server::Child,
    processes: Vec<Child>,
    _model: ScriptServer,
    _dir: TempDir,
}

impl Company {
    pub(crate) async fn start(sync_always: bool) -> Result<Self, Failed> {
        let dir = tempfile::tempdir()?;

        let jetstream =
            if sync_always { vec!["sync_interval: always".to_owned()] } else { Vec::new() };
        let options = ChildOptions {
            store_dir: dir.path().join("nats"),
            jetstream,
            ..ChildOptions::default()
        };
        let server = nats_server::Child::start(&options).await?;
        let model =
            model::script::serve(Script::parse(SCRIPT)?, SocketAddr::from(([127, 0, 0, 1], 0)))
                .await?;
        let url = server.url();
        let mut processes = Vec::new();
        for (name, roles) in
            [("supervisor", "supervisor,interaction"), ("worker", "planner,executor,tools")]
        {
            let log = std::fs::File::create(dir.path().join(format!("{name}.log")))?;
            let mut command = Command::new(program()?);
            command
                .args(["serve", "--roles", roles])
                .current_dir(dir.path())
                .env("CALLBOARD__NATS__URL", &url)
                .env("CALLBOARD__MODEL__KIND", "openai")
                .env("CALLBOARD__MODEL__NAME", "scripted")
                .env("CALLBOARD__MODEL__BASE_URL", model.base_url())
                .env("CALLBOARD__LOG__LEVEL", "warn")
                .env("CALLBOARD__TOOLS__WORKSPACE", dir.path())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log);
            processes.push(command.spawn()?);
        }
        let subjects = Subjects::new("cb", 8)?;
        let options = NatsOptions { servers: vec![url], ..NatsOptions::default() };
        let broker = nats::connect(&options, subjects, WorkerId::new("bench")?).await?;
        Ok(Self { broker, server, processes, _model: model, _dir: dir })
    }

    /// The broker's, the supervisor's and the worker's process ids.
    pub(crate) fn pids(&self) -> Vec<(&'static str, u32)> {
        let ours = ["supervisor", "worker"].into_iter().zip(self.processes.iter().map(Child::id));
        std::iter::once(("nats-server", self.server.id())).chain(ours).collect()
    }
}

impl Drop for Company {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // It may have ended by itself, which is as good.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// The `callboard` program beside this one.
fn program() -> Result<PathBuf, Failed> {
    let program = std::env::current_exe()?.with_file_name("callboard");
    if program.is_file() {
        Ok(program)
    } else {
        Err("build callboard first, with the same profile".into())
    }
}
