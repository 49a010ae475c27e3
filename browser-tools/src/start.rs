//! The start of the browser of a process, and its end.

use std::{path::PathBuf, sync::Arc, time::Duration};

use broker::Broker;
use proto::id::WorkerId;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use runtime::{
    actor::Child,
    egress::{Lookup, SystemLookup},
    sessions::{self, HostArgs, HostLimits, Sessions},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tool_actors::{
    Toolset,
    browser::{Browser as Settings, Confinement, PROGRAMS},
    settings::Http,
};

use crate::{
    browser::Browser, chromium::find, desk::Desk, keeper::BrowserKeeper, remote::Remote, specs,
    tool,
};

/// Interval at which idle sessions are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// The reason why a process offers no browser.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Chromium's own sandbox refuses root.
    #[error(
        "tools.browser.sandbox: Chromium's own sandbox refuses root. Run the process as another \
         user, or set `container` where the container confines it"
    )]
    Root,
    /// The program is not there.
    #[error("tools.browser.program: there is no program {0}")]
    NoProgram(String),
}

/// The arguments of the browser's start.
#[derive(Debug)]
pub struct Setup {
    /// Carries requests between processes.
    pub broker: Broker,
    /// The id of this process.
    pub worker: WorkerId,
    /// The set that receives the tools.
    pub tools: Arc<Toolset>,
    /// Starts the shutdown when cancelled.
    pub shutdown: CancellationToken,
}

/// Offers the browser's tools to a set, and makes this process a host of browser sessions. Returns the
/// children of an actor tree that keep the sessions. Chromium itself starts with the first page. The
/// children stop after `shutdown` by themselves, and Chromium with them.
///
/// # Errors
/// If Chromium is missing, or cannot run under this user.
pub fn start(setup: Setup, settings: &Settings, http: &Http) -> Result<Vec<Child>, StartError> {
    let Setup { broker, worker, tools, shutdown } = setup;
    let browser = Arc::new(create(settings, http, Arc::new(SystemLookup))?);
    let within = specs::longest(settings.timeout_ms);
    let desk: Arc<dyn Desk> = Arc::new(Remote { sessions: Sessions::new(broker.clone()), within });
    for why in tools.source(specs::PREFIX).offer(tool::tools(&desk, settings.timeout_ms)) {
        tracing::error!(%why, "a tool of the browser is left out");
    }
    let host = sessions::child(HostArgs {
        broker,
        host: worker,
        keeper: Arc::new(BrowserKeeper(Arc::clone(&browser))),
        limits: HostLimits {
            sessions: settings.places(),
            in_flight: settings.places(),
            idle: settings.idle(),
        },
        shutdown: shutdown.clone(),
    });
    let args = Args { browser, shutdown };
    Ok(vec![host, Child::actor("browser", || BrowserActor, args)])
}

/// Returns the program that would be the browser of a process.
///
/// # Errors
/// If Chromium is missing, or cannot run under this user.
pub fn look(settings: &Settings) -> Result<PathBuf, StartError> {
    let program = program(settings)?;
    match settings.sandbox {
        Confinement::Namespaces if rustix::process::geteuid().is_root() => Err(StartError::Root),
        Confinement::Namespaces | Confinement::Container => Ok(program),
    }
}

/// Creates a browser with a resolver of host names.
///
/// # Errors
/// If Chromium is missing, or cannot run under this user.
pub fn create(
    settings: &Settings,
    http: &Http,
    lookup: Arc<dyn Lookup>,
) -> Result<Browser, StartError> {
    Ok(Browser::new(look(settings)?, settings.clone(), http.clone(), lookup))
}

fn program(settings: &Settings) -> Result<PathBuf, StartError> {
    match &settings.program {
        Some(program) => find(program).ok_or_else(|| StartError::NoProgram(program.clone())),
        None => {
            let found = PROGRAMS.iter().find_map(|program| find(program));
            found.ok_or_else(|| StartError::NoProgram(PROGRAMS.join(", ")))
        }
    }
}

/// The actor that ends Chromium after its last session, and at its own end.
struct BrowserActor;

#[derive(Clone)]
struct Args {
    browser: Arc<Browser>,
    shutdown: CancellationToken,
}

struct Look;

impl Actor for BrowserActor {
    type Msg = Look;
    type State = (Args, AbortOnDropHandle<()>);
    type Arguments = Args;

    async fn pre_start(
        &self,
        myself: ActorRef<Look>,
        args: Args,
    ) -> Result<Self::State, ActorProcessingErr> {
        myself.send_interval(LOOK_EVERY, || Look);
        let shutdown = args.shutdown.clone();
        let stop = AbortOnDropHandle::new(tokio::spawn(async move {
            shutdown.cancelled().await;
            myself.stop(None);
        }));
        Ok((args, stop))
    }

    async fn handle(
        &self,
        _: ActorRef<Look>,
        Look: Look,
        (Args { browser, shutdown }, _): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        tokio::select! {
            () = browser.close_idle() => {}
            () = shutdown.cancelled() => {}
        }
        Ok(())
    }

    async fn post_stop(
        &self,
        _: ActorRef<Look>,
        (args, _): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if args.shutdown.is_cancelled() {
            args.browser.stop_after_sessions().await;
        }
        Ok(())
    }
}
