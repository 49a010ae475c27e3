//! A browser with its jobs, as tests use it.

use std::{io, net::IpAddr, sync::Arc};

use async_trait::async_trait;
use broker::testing::wait::soon;
use browser_tools::{AskError, Browser, Place, Refusal, Reply, Request, Target, create};
use proto::{agent::Hosts, id::JobId};
use runtime::{config::Section, egress::Lookup};
use tool_actors::{
    browser::{Browser as Settings, Confinement},
    settings::{Http, Tools},
};

/// Every name ends in `.test` and is this machine.
struct Local;

#[async_trait]
impl Lookup for Local {
    async fn lookup(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        match name.ends_with(".test") {
            true => Ok(vec![IpAddr::from([127, 0, 0, 1])]),
            false => Err(io::Error::other("no such name")),
        }
    }
}

pub(crate) struct Stage {
    pub(crate) browser: Arc<Browser>,
}

/// Settings for containers, in which tests run as root.
pub(crate) fn settings() -> Settings {
    Settings { enabled: true, sandbox: Confinement::Container, ..Tools::defaults().browser }
}

impl Stage {
    /// Creates a browser that reaches these hosts only.
    pub(crate) fn new(hosts: &[&str]) -> Self {
        Self::with(hosts, &settings())
    }

    pub(crate) fn with(hosts: &[&str], settings: &Settings) -> Self {
        let allow_hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
        let http = Http { allow_private: true, allow_hosts, ..Http::default() };
        Self { browser: Arc::new(create(settings, &http, Arc::new(Local)).unwrap()) }
    }

    pub(crate) fn job(&self, id: &str) -> Job<'_> {
        Job { stage: self, id: JobId::new(id).unwrap(), hosts: None }
    }
}

/// A job and its requests.
pub(crate) struct Job<'a> {
    stage: &'a Stage,
    pub(crate) id: JobId,
    pub(crate) hosts: Option<Hosts>,
}

impl Job<'_> {
    pub(crate) async fn ask(&self, request: Request) -> Result<Reply, AskError> {
        let asked = self.stage.browser.ask(&self.id, self.hosts.as_ref(), request);
        soon("an answer of the browser", asked).await
    }

    pub(crate) async fn open(&self, url: &str) -> Reply {
        self.ask(Request::Open { url: url.to_owned() }).await.unwrap()
    }

    pub(crate) async fn refused(&self, request: Request) -> Refusal {
        match self.ask(request).await {
            Err(AskError::Refused(refusal)) => refusal,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn click(&self, reply: &Reply, line: &str, name: &str) -> Reply {
        let target = target(reply, line, name);
        self.ask(Request::Click { target }).await.unwrap()
    }

    pub(crate) async fn look(&self) -> Reply {
        self.ask(Request::Snapshot { root: None, depth: None }).await.unwrap()
    }
}

/// Returns the text of a reply's snapshot.
pub(crate) fn text(reply: &Reply) -> &str {
    &reply.snapshot.as_ref().unwrap().text
}

/// Returns the target whose line contains a text.
pub(crate) fn target(reply: &Reply, line: &str, name: &str) -> Target {
    let snapshot = reply.snapshot.as_ref().unwrap();
    let found = snapshot.text.lines().find(|it| it.contains(line));
    let found = found.unwrap_or_else(|| panic!("{line}:\n{}", snapshot.text));
    let reference = found.split("[ref=e").nth(1).and_then(|rest| rest.split(']').next()).unwrap();
    let at = Place { snapshot: snapshot.number, element: reference.parse().unwrap() };
    Target { at, name: name.to_owned() }
}
