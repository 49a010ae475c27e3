//! nats-servers with the files of `deploy/nats`, and with keys and certificates of its script. Only
//! addresses are given on the command line.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use broker::testing::wait::eventually_blocking;
use callboard_tests::{callboard, installed, root};
use tempfile::TempDir;

use super::wire::Wire;

/// The users with rights in permissions.conf.
pub(super) const USERS: [&str; 12] = [
    "supervisor",
    "planner",
    "executor",
    "tools",
    "interaction",
    "door",
    "gateway",
    "client",
    "watcher",
    "operator",
    "python",
    "monitor",
];

/// A copy of `deploy/nats` with keys, and the servers that use it.
pub(super) struct Brokers {
    pub(super) dir: TempDir,
    pub(super) ports: Vec<u16>,
    servers: Vec<Child>,
}

impl Brokers {
    /// Starts one server, from single.conf.
    pub(super) fn single() -> Self {
        let dir = made();
        let ports = free(2);
        let server = start(dir.path(), "single.conf", ports[0], ports[1], &[]);
        Self { dir, ports: vec![ports[0]], servers: vec![server] }.ready()
    }

    /// Starts three servers, from cluster/nats-1.conf and the others.
    pub(super) fn cluster() -> Self {
        let dir = made();
        let ports = free(9);
        let routes: Vec<String> =
            ports[6..].iter().map(|port| format!("tls://127.0.0.1:{port}")).collect();
        let servers = (0..3)
            .map(|n| {
                let file = format!("cluster/nats-{}.conf", n + 1);
                let listen = format!("nats://127.0.0.1:{}", ports[6 + n]);
                let cluster = ["--cluster", &listen, "--routes", &routes.join(",")];
                start(dir.path(), &file, ports[n], ports[3 + n], &cluster)
            })
            .collect();
        Self { dir, ports: ports[..3].to_vec(), servers }.ready()
    }

    fn ready(mut self) -> Self {
        for (server, port) in self.servers.iter_mut().zip(&self.ports) {
            eventually_blocking("a nats-server that listens", || {
                let ended = server.try_wait().unwrap();
                assert!(ended.is_none(), "nats-server did not start: {}", logs(self.dir.path()));
                TcpStream::connect(("127.0.0.1", *port)).map_err(|_| logs(self.dir.path()))
            });
        }
        self
    }

    pub(super) fn url(&self) -> String {
        let urls: Vec<String> =
            self.ports.iter().map(|port| format!("tls://localhost:{port}")).collect();
        urls.join(",")
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join("private").join(name)
    }

    /// Runs the script again.
    pub(super) fn keys(&self, arguments: &[&str]) {
        keys(&self.dir, arguments);
    }

    /// Makes the servers reload their files.
    pub(super) fn reload(&self) {
        for server in &self.servers {
            let sent = Command::new("kill").args(["-HUP", &server.id().to_string()]).status();
            assert!(sent.unwrap().success());
        }
    }

    /// Kills one server.
    pub(super) fn kill(&mut self, n: usize) {
        self.servers[n].kill().unwrap();
        self.servers[n].wait().unwrap();
    }

    pub(super) fn wire(&self, user: &str) -> Wire {
        let seed = fs::read_to_string(self.file(&format!("{user}.nk"))).unwrap();
        Wire::connect(self.ports[0], &self.ca(), &seed).unwrap()
    }

    pub(super) fn ca(&self) -> Vec<u8> {
        fs::read(self.file("ca.pem")).unwrap()
    }

    /// Returns the logs of all servers.
    pub(super) fn logs(&self) -> String {
        logs(self.dir.path())
    }

    /// Returns a command for `callboard` as a user of this broker, in a directory of its own.
    pub(super) fn callboard(&self, user: &str, replicas: u8) -> Command {
        let mut command = Command::new(callboard());
        let inbox = if user == "client" {
            "_INBOX_client.shared".to_owned()
        } else {
            format!("_INBOX_{user}")
        };
        let settings = [
            ("URL", self.url()),
            ("NKEY__FILE", self.file(&format!("{user}.nk")).display().to_string()),
            ("INBOX_PREFIX", inbox),
            ("TLS__REQUIRED", "true".to_owned()),
            ("TLS__CA_FILE", self.file("ca.pem").display().to_string()),
            ("REPLICAS", replicas.to_string()),
            ("CREATE", "false".to_owned()),
            ("CONNECT_TIMEOUT_MS", "20000".to_owned()),
        ];
        command.current_dir(self.dir.path()).stdin(Stdio::null());
        for (key, value) in settings {
            command.env(format!("CALLBOARD__NATS__{key}"), value);
        }
        command
    }

    /// Runs `callboard setup` as the operator.
    pub(super) fn set_up(&self, replicas: u8) {
        let mut command = self.callboard("operator", replicas);
        let done = command.args(["setup", "--tool-pool", "python"]).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}\n{}", self.logs());
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // The server may have been killed before.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// Returns a copy of the directory, with the output of its script.
fn made() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(&root().join("deploy/nats"), dir.path());
    keys(&dir, &[]);
    dir
}

/// Runs the script of the directory.
fn keys(dir: &TempDir, arguments: &[&str]) {
    let mut script = Command::new(dir.path().join("keys"));
    let made = script.args(arguments).env("CALLBOARD", callboard()).output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success(), "deploy/nats/keys (it needs openssl): {said}");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_name().to_str() {
            Some("private" | "data") => {}
            _ if path.is_dir() => copy(&path, &to),
            _ => drop(fs::copy(&path, &to).unwrap()),
        }
    }
}

/// Returns ports on which no process listens.
fn free(count: usize) -> Vec<u16> {
    let held: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

fn start(dir: &Path, config: &str, port: u16, monitor: u16, more: &[&str]) -> Child {
    // Paths of certificates and data are relative, so each server has a working directory of its
    // own.
    let home = dir.join(format!("server-{port}"));
    fs::create_dir(&home).unwrap();
    std::os::unix::fs::symlink(dir.join("private"), home.join("private")).unwrap();
    let log = fs::File::create(dir.join(format!("server-{port}.log"))).unwrap();
    let mut command = Command::new(installed("nats-server"));
    command.current_dir(home).arg("--config").arg(dir.join(config)).args(["--addr", "127.0.0.1"]);
    command.args(["--port", &port.to_string(), "--http_port", &monitor.to_string()]);
    command.args(more);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap()
}

fn logs(dir: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "log") {
            all.push_str(&fs::read_to_string(path).unwrap_or_default());
        }
    }
    all
}
