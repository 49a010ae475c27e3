//! The session of a job: a browser context with its tabs, its way out, and its last snapshot.

mod act;
mod element;
mod look;
mod navigate;
mod picture;

use std::{io, sync::Arc, time::Duration};

use proto::agent::Hosts;
use serde_json::{Value, json};

pub use self::look::FRAMES_MAX;
use crate::{
    chromium::Chromium,
    desk::AskError,
    link::{Failed, Post},
    proxy::{Guard, Proxy},
    refusal::Refusal,
    request::{Remark, Reply, Request, TabAct, Until},
    state::{Context, Tab},
};

/// The limits of a session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Largest number of tabs.
    pub(crate) tabs: u32,
    /// Longest load of a page.
    pub(crate) timeout: Duration,
    /// Largest number of bytes of a connection, each way.
    pub(crate) connection_bytes: u64,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Session {
    open: Open,
    proxy: Proxy,
    limits: Limits,
    /// The last snapshot.
    taken: Option<look::Taken>,
    /// Number of the last snapshot.
    number: u32,
    /// `true` once the running request may have had an effect.
    has_begun: bool,
    /// Notes of the running request.
    notes: Vec<Remark>,
}

/// The reason why a step of a request failed.
#[derive(Debug)]
enum Fault {
    Refused(Refusal),
    Link(Failed),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Failed> for Fault {
    fn from(failed: Failed) -> Self {
        Self::Link(failed)
    }
}

/// Command that ends a browser context with its pages and cookies.
const DISPOSE: &str = "Target.disposeBrowserContext";

/// An open browser context. It ends with its owner, wherever that one is dropped.
#[derive(Debug)]
struct Open {
    chromium: Arc<Chromium>,
    /// Its id.
    context: String,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.chromium.tabs().lock().close(&self.context);
        let params = json!({"browserContextId": self.context});
        self.chromium.link().post(&Post { session: None, method: DISPOSE, params });
    }
}

/// Returns `true` if a request acts on the page and must not be repeated unseen.
fn acts(request: &Request) -> bool {
    match request {
        Request::Click { .. }
        | Request::Type { .. }
        | Request::Select { .. }
        | Request::Press { .. }
        | Request::Back
        | Request::Tabs { act: TabAct::Close(_) } => true,
        Request::Open { .. }
        | Request::Snapshot { .. }
        | Request::Wait { .. }
        | Request::Screenshot { .. }
        | Request::Tabs { act: TabAct::List | TabAct::Select(_) } => false,
    }
}

/// The reason why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// The proxy cannot listen.
    #[error("the proxy of a browser session cannot listen: {0}")]
    Proxy(#[from] io::Error),
    /// Chromium refused.
    #[error("the browser opens no session: {0:?}")]
    Link(Failed),
}

impl Session {
    /// Opens a session without a tab.
    pub(crate) async fn open(
        chromium: Arc<Chromium>,
        guard: Arc<Guard>,
        hosts: Option<&Hosts>,
        limits: Limits,
    ) -> Result<Self, OpenError> {
        let proxy = Proxy::start(guard, hosts, limits.connection_bytes).await?;
        let create = json!({
            "disposeOnDetach": true,
            "proxyServer": format!("http://{}", proxy.address()),
            "proxyBypassList": "<-loopback>",
        });
        let link = chromium.link();
        let created = link.call(None, "Target.createBrowserContext", create).await;
        let created = created.map_err(OpenError::Link)?;
        let context = created["browserContextId"].as_str().unwrap_or_default().to_owned();
        chromium.tabs().lock().open(&context, limits.tabs);
        let open = Open { chromium, context };
        let deny = json!({"behavior": "deny", "browserContextId": open.context});
        let denied = open.chromium.link().call(None, "Browser.setDownloadBehavior", deny).await;
        denied.map_err(OpenError::Link)?;
        Ok(Self {
            open,
            proxy,
            limits,
            taken: None,
            number: 0,
            has_begun: false,
            notes: Vec::new(),
        })
    }

    /// Returns whether the session's browser is gone.
    pub(crate) fn is_lost(&self) -> bool {
        self.open.chromium.gone().is_cancelled()
    }

    /// Closes the session with its pages and cookies, and waits until they are gone.
    pub(crate) async fn close(self) {
        let dispose = json!({"browserContextId": self.open.context});
        // A browser that is gone has no session either.
        let _ = self.open.chromium.link().call(None, DISPOSE, dispose).await;
    }

    /// Carries out a request.
    pub(crate) async fn ask(
        &mut self,
        hosts: Option<&Hosts>,
        request: Request,
    ) -> Result<Reply, AskError> {
        self.proxy.permit(hosts);
        (self.has_begun, self.notes) = (false, Vec::new());
        let gone = self.open.chromium.gone().clone();
        let acts = acts(&request);
        let done = gone.run_until_cancelled(Box::pin(self.carry_out(request))).await;
        match done.unwrap_or(Err(Fault::Link(Failed::Gone))) {
            Ok(reply) => Ok(reply),
            Err(Fault::Link(Failed::Gone)) => {
                Err(AskError::Lost { may_have_begun: self.has_begun })
            }
            Err(_) if acts && self.has_begun => Err(AskError::Unfinished),
            Err(Fault::Refused(refusal)) => Err(refusal.into()),
            Err(Fault::Link(Failed::Refused(why))) => Err(Refusal::Browser(why).into()),
            Err(Fault::Link(Failed::Late)) => Err(Refusal::Unresponsive.into()),
        }
    }

    /// Returns the reply after an action, which was done even if the page cannot be read.
    async fn reply_after_action(&mut self) -> Result<Reply, Fault> {
        match self.reply(look::Part::default(), false).await {
            Err(Fault::Refused(_) | Fault::Link(Failed::Refused(_) | Failed::Late)) => {
                let notes = std::mem::take(&mut self.notes).into_iter().chain([Remark::Unread]);
                let url = self.tab().map(|tab| tab.url).unwrap_or_default();
                Ok(Reply { url, notes: notes.collect(), ..Reply::default() })
            }
            read => read,
        }
    }

    async fn carry_out(&mut self, request: Request) -> Result<Reply, Fault> {
        match request {
            Request::Open { url } => {
                self.show(&url).await?;
                return self.reply(look::Part::default(), false).await;
            }
            Request::Snapshot { root, depth } => {
                let extent = self.extent(root, depth)?;
                return self.reply(extent, false).await;
            }
            Request::Click { target } => self.click(&target).await?,
            Request::Type { target, text, submit } => self.fill(&target, &text, submit).await?,
            Request::Select { target, values } => self.choose(&target, &values).await?,
            Request::Press { key } => self.press(&key).await?,
            Request::Wait { until } => {
                self.wait(until).await?;
                return self.reply(look::Part::default(), false).await;
            }
            Request::Back => self.back().await?,
            Request::Screenshot { full } => {
                let picture = self.picture(full).await?;
                let reply = self.header(false).await?;
                return Ok(Reply { picture: Some(picture), ..reply });
            }
            Request::Tabs { act } => {
                self.change_tabs(act).await?;
                return match act {
                    TabAct::Select(_) => self.reply(look::Part::default(), true).await,
                    TabAct::List | TabAct::Close(_) => self.header(true).await,
                };
            }
        }
        self.reply_after_action().await
    }

    async fn wait(&mut self, until: Until) -> Result<(), Fault> {
        self.tab()?;
        let (text, gone) = match until {
            Until::Milliseconds(ms) => {
                let pause = ms.min(crate::request::PAUSE_MS_MAX);
                tokio::time::sleep(Duration::from_millis(pause.into())).await;
                return Ok(());
            }
            Until::Text(text) => (text, false),
            Until::Gone(text) => (text, true),
        };
        let seen = tokio::time::timeout(self.limits.timeout, self.see(&text, gone)).await;
        seen.map_err(|_| Refusal::NotSeen { text, gone })?
    }

    /// Returns the state of the session.
    fn context(&self) -> Context {
        self.open.chromium.tabs().lock().context(&self.open.context).cloned().unwrap_or_default()
    }

    /// Returns the current tab.
    fn tab(&self) -> Result<Tab, Fault> {
        Ok(self.context().tab().cloned().ok_or(Refusal::NoPage)?)
    }

    /// Sends a command to a page or a frame.
    async fn call(&self, session: &str, method: &str, params: Value) -> Result<Value, Failed> {
        self.open.chromium.link().call(Some(session), method, params).await
    }

    /// Sends a command to the browser.
    async fn command(&self, method: &str, params: Value) -> Result<Value, Failed> {
        self.open.chromium.link().call(None, method, params).await
    }
}
