//! A real issuer of OpenID Connect: oidc-provider, pinned by a lock file. It asks nobody for a
//! password, and signs in `ann`, a member of the group `writers`.

use std::{path::PathBuf, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdout, Command},
};

use crate::{installed, root};

/// Environment variable that the settings name for the client's secret, which is `a-secret`.
pub const SECRET: &str = "ISSUER_SECRET";

/// A running issuer, killed when dropped.
#[derive(Debug)]
pub struct Issuer {
    process: Child,
    /// Kept open: a later line must not end the process.
    _out: BufReader<ChildStdout>,
    address: String,
}

impl Issuer {
    /// Starts an issuer that sends its codes to `redirect`.
    ///
    /// # Panics
    /// If the issuer cannot be installed or does not start.
    pub async fn start(redirect: &str) -> Self {
        let beside = installed("npm").with_file_name("node");
        let node = if beside.exists() { beside } else { PathBuf::from("node") };
        let mut process = Command::new(node)
            .arg(root().join("tests/src/issuer.mjs"))
            .arg(redirect)
            .env("NODE_PATH", installed("issuer").join("node_modules"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("tools/install npm installs Node.js");
        let out = process.stdout.take().expect("its output is a pipe");
        let (mut out, mut port) = (BufReader::new(out), String::new());
        out.read_line(&mut port).await.expect("a pipe can be read");
        Self { process, _out: out, address: format!("http://127.0.0.1:{}", port.trim()) }
    }

    /// The settings of an installation that accepts its tokens.
    #[must_use]
    pub fn settings(&self) -> String {
        format!(
            "[oidc]\nissuer = \"{}\"\naudience = [\"callboard\"]\nclient_id = \"callboard\"\n\
             client_secret = {{ env = \"{SECRET}\" }}\nscopes = [\"openid\", \"groups\"]\n\
             roles = {{ writers = [\"submit\", \"answer\"], \"*\" = [\"read\"] }}\n",
            self.address
        )
    }

    /// Kills the issuer.
    ///
    /// # Panics
    /// If the operating system refuses.
    pub async fn kill(&mut self) {
        self.process.kill().await.expect("a child can be killed");
    }
}
