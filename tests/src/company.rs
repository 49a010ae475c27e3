//! An installation for tests: a real nats-server, the scripted model over HTTP, and `callboard
//! serve` processes that can be killed, stopped and restarted.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use broker::testing::{NatsCluster, NatsServer};
use model::script::{Script, ScriptServer};
use tempfile::TempDir;

use crate::callboard;

/// A broker, a scripted model, and the settings of the processes.
pub struct Company<N = NatsServer> {
    /// The broker, which a test may kill.
    pub nats: N,
    /// The scripted model's server.
    pub model: ScriptServer,
    dir: TempDir,
    settings: BTreeMap<String, String>,
}

/// A broker to which the processes of an installation connect.
pub trait Broker {
    /// Returns the addresses of the servers, separated by commas.
    fn address(&self) -> String;
}

impl Broker for NatsServer {
    fn address(&self) -> String {
        self.url().to_owned()
    }
}

impl Broker for NatsCluster {
    fn address(&self) -> String {
        self.urls().join(",")
    }
}

impl<N> std::fmt::Debug for Company<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Company").field("dir", &self.dir.path()).finish_non_exhaustive()
    }
}

/// A `callboard serve` process. It is killed when it is dropped.
#[derive(Debug)]
pub struct Process {
    roles: String,
    log: PathBuf,
    child: Child,
}

impl Company {
    /// Starts a nats-server and a model with the given script.
    ///
    /// # Panics
    /// Panics if either cannot be started.
    pub async fn start(script: &str) -> Self {
        Self::on(NatsServer::start().await, script).await
    }
}

impl<N: Broker> Company<N> {
    /// Starts an installation on a running broker, with a model as in [`Company::start`].
    ///
    /// # Panics
    /// Panics if the model cannot be started.
    pub async fn on(nats: N, script: &str) -> Self {
        let script = Script::parse(script).expect("the script of a test is right");
        let model = model::script::serve(script, SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let model = model.expect("a free port can be listened on");
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let workspace = dir.path().join("workspace");
        std::fs::create_dir(&workspace).expect("a directory can be made in it");
        let settings = [
            ("NATS__URL", nats.address()),
            ("NATS__ACK_WAIT_MS", "3000".to_owned()),
            ("NATS__FACTS_ACK_WAIT_MS", "2000".to_owned()),
            ("NATS__PIN_TIMEOUT_MS", "1000".to_owned()),
            // Every kill causes one more delivery, and a test kills more often than reality does.
            ("WORKERS__DELIVERIES_MAX", "1000".to_owned()),
            ("MODEL__KIND", "openai".to_owned()),
            ("MODEL__NAME", "scripted".to_owned()),
            ("MODEL__BASE_URL", model.base_url()),
            ("TOOLS__WORKSPACE", workspace.display().to_string()),
            ("LOG__FORMAT", "json".to_owned()),
        ];
        let settings =
            settings.into_iter().map(|(key, value)| (format!("CALLBOARD__{key}"), value)).collect();
        Self { nats, model, dir, settings }
    }

    /// Sets a setting (`SECTION__KEY`) for processes started from now on.
    pub fn set(&mut self, key: &str, value: &str) {
        self.variable(&format!("CALLBOARD__{key}"), value);
    }

    /// Removes a setting (`SECTION__KEY`) for processes started from now on.
    pub fn unset(&mut self, key: &str) {
        self.settings.remove(&format!("CALLBOARD__{key}"));
    }

    /// Sets an environment variable of processes that start from now on.
    pub fn variable(&mut self, name: &str, value: &str) {
        self.settings.insert(name.to_owned(), value.to_owned());
    }

    /// Returns the directory that holds the files of all jobs, and their workspaces.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.dir.path().join("workspace")
    }

    /// Starts a process with the given roles, separated by commas.
    ///
    /// # Panics
    /// Panics if the program cannot be started.
    #[must_use]
    pub fn serve(&self, name: &str, roles: &str) -> Process {
        let log = self.dir.path().join(format!("{name}.log"));
        let child = self.spawn(roles, &log);
        Process { roles: roles.to_owned(), log, child }
    }

    fn spawn(&self, roles: &str, log: &Path) -> Child {
        let output = std::fs::OpenOptions::new().create(true).append(true).open(log);
        let output = output.expect("a log can be opened");
        let mut command = self.command();
        command.args(["serve", "--roles", roles]).stdout(Stdio::null()).stderr(output);
        command.spawn().expect("the program that was just built can be started")
    }

    /// Returns a command for `callboard` with the installation's settings.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(callboard());
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        for (key, value) in &self.settings {
            command.env(key, value);
        }
        command
    }
}

impl Process {
    /// Kills the process with SIGKILL, as a crash would.
    pub fn kill9(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Kills the process, and starts it again in the same roles.
    pub fn restart<N: Broker>(&mut self, company: &Company<N>) {
        self.kill9();
        self.child = company.spawn(&self.roles, &self.log);
    }

    /// Sends a signal by name (`STOP`, `CONT`, `TERM`).
    ///
    /// # Panics
    /// Panics if `kill` fails.
    pub fn signal(&self, name: &str) {
        let sent =
            Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name} failed");
    }

    /// Returns whether the process is running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for the end of the process, and returns its exit code; `None` when a signal ended it.
    /// It blocks the thread, and so needs a multi-threaded runtime.
    ///
    /// # Panics
    /// Panics if the process cannot be waited for.
    pub fn wait(&mut self) -> Option<i32> {
        let status = tokio::task::block_in_place(|| self.child.wait());
        status.expect("a child can be waited for").code()
    }

    /// Returns the process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the log of the process so far.
    #[must_use]
    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill9();
    }
}
