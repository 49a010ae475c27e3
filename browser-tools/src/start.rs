//! The start of the browser of a process, and its end.

use std::{path::PathBuf, sync::Arc, time::Duration};

use ractor::{Actor, ActorProcessingErr, ActorRef};
use runtime::{
    actor::Child,
    egress::{Lookup, SystemLookup},
};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};
use tool_actors::{
    browser::{Browser as Settings, Confinement, PROGRAMS},
    settings::Http,
};

use crate::{browser::Browser, chromium::find};

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

/// Creates the browser of a process, and the child of an actor tree that closes its idle sessions.
/// Chromium itself starts with the first session. The child stops after `shutdown` by itself, and
/// Chromium with it.
///
/// # Errors
/// If Chromium is missing, or cannot run under this user.
pub fn start(
    settings: &Settings,
    http: &Http,
    shutdown: &CancellationToken,
) -> Result<(Arc<Browser>, Child), StartError> {
    let browser = Arc::new(create(settings, http, Arc::new(SystemLookup))?);
    let args = Args { browser: Arc::clone(&browser), shutdown: shutdown.clone() };
    Ok((browser, Child::actor("browser", || Keeper, args)))
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
    let program = program(settings)?;
    match settings.sandbox {
        Confinement::Namespaces if rustix::process::geteuid().is_root() => {
            return Err(StartError::Root);
        }
        Confinement::Namespaces | Confinement::Container => {}
    }
    Ok(Browser::new(program, settings.clone(), http.clone(), lookup))
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

/// The actor that closes idle sessions, and the browser at its own end.
struct Keeper;

#[derive(Clone)]
struct Args {
    browser: Arc<Browser>,
    shutdown: CancellationToken,
}

struct Look;

impl Actor for Keeper {
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
            args.browser.stop().await;
        }
        Ok(())
    }
}
