//! Chromium, driven over the DevTools protocol, for the tests of the console.
//!
//! The protocol is JSON over a pipe, so it needs no library: its messages end with a zero byte.
//! Waits are for changes of the document; the one bound of all tests only ends a wait in vain.

mod keys;
mod link;
mod page;
pub mod program;

use std::{
    fs::File,
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
};

use broker::testing::wait::soon;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::link::Link;
pub use crate::page::{Look, Page};

/// Flags of every start: no window, no services of the browser's vendor, no throttled tabs, and no
/// host but this machine.
const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-quic",
    "--disable-renderer-backgrounding",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--no-default-browser-check",
    "--no-first-run",
    "--password-store=basic",
];

/// A running Chromium with an empty profile. It is killed when it is dropped.
#[derive(Debug)]
pub struct Browser {
    link: Arc<Link>,
    /// The agent string, which the override of the language repeats.
    agent: String,
    child: Child,
    /// The profile, and the log of the process.
    _dir: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// Starts the Chromium at `program`.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub async fn start(program: &Path) -> Self {
        Self::with(program, &[]).await
    }

    /// Starts the Chromium at `program` with additional flags.
    ///
    /// # Panics
    /// Panics if it does not start.
    pub async fn with(program: &Path, flags: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let log = File::create(dir.path().join("log")).expect("a file can be made in it");
        // Chromium reads commands from descriptor 3 and writes to 4. The shell moves the pipes
        // there, and Chromium takes its place.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(program);
        command.args(FLAGS).args(flags);
        command.arg(format!("--user-data-dir={}", dir.path().join("profile").display()));
        // The sandbox of Chromium refuses root, and containers often have no other user.
        command.arg("--no-sandbox").arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().expect("there is a shell");
        let link = Arc::new(Link::of(&mut child));
        let version = soon("a browser", link.call(None, "Browser.getVersion", json!({}))).await;
        let version = version.unwrap_or_else(|e| {
            let log = std::fs::read_to_string(dir.path().join("log")).unwrap_or_default();
            panic_with(&format!("Chromium does not start: {e:?}\n{log}"))
        });
        let agent = version["userAgent"].as_str().unwrap_or_default().to_owned();
        Self { link, agent, child, _dir: dir }
    }

    /// Opens an empty tab in a profile of its own, so that it shares no settings with others.
    ///
    /// # Panics
    /// Panics if the browser refuses.
    pub async fn page(&self, look: &Look) -> Page {
        let context = self.command("Target.createBrowserContext", json!({})).await;
        let page = json!({"url": "about:blank", "browserContextId": context["browserContextId"]});
        let target = self.command("Target.createTarget", page).await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.command("Target.attachToTarget", attach).await;
        let session = session["sessionId"].as_str().unwrap_or_default().to_owned();
        Page::new(Arc::clone(&self.link), session, &self.agent, look).await
    }

    async fn command(&self, method: &str, params: Value) -> Value {
        let reply = soon(method, self.link.call(None, method, params)).await;
        reply.unwrap_or_else(|e| panic_with(&format!("{method}: {e:?}")))
    }
}

/// Ends a test with a message.
#[expect(clippy::panic, reason = "support of tests, where a panic is the report")]
fn panic_with(message: &str) -> ! {
    panic!("{message}")
}
