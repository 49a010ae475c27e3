//! A slot for a process, which is refilled when its process dies, as by an init system. It holds
//! one process at a time, each with a name and a link of its own.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proto::id::WorkerId;
use ractor::ActorCell;
use runtime::{actor::kill, worker::LocalPools};
use tokio_util::sync::CancellationToken;

use crate::{
    environment::Environment,
    flaky_model::Moody,
    link::{Link, LinkState, Moment},
    process::{Equipment, MachineClock, Role, live},
    tools::Bench,
    wire::{self, Wire},
};

#[derive(Debug)]
pub(crate) struct ProcessSlot {
    pub(crate) name: String,
    pub(crate) role: Role,
    clock: MachineClock,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    link: Arc<Link>,
    shutdown: CancellationToken,
    /// The time for which the slot stays empty after its process dies. `None`: for ever.
    empty_for: Option<Duration>,
    /// `true` if the slot stays empty once its process has died.
    given_up: bool,
}

impl ProcessSlot {
    /// Creates a slot, and the task that keeps it filled.
    pub(crate) fn open(environment: &Arc<Environment>, name: String, role: Role) -> Arc<Self> {
        let post = Arc::new(Self {
            name,
            role,
            clock: MachineClock::new(environment.clock),
            state: Mutex::new(State {
                link: Arc::new(environment.link()),
                shutdown: CancellationToken::new(),
                empty_for: Some(Duration::from_secs(1)),
                given_up: false,
            }),
        });
        tokio::spawn(fill(Arc::clone(environment), Arc::clone(&post)));
        post
    }

    /// Returns the link of the current process, or of the last one.
    pub(crate) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.lock().link)
    }

    /// Crashes the process at `moment` of the call after `calls` more, or after 5 s if it makes no
    /// such call. The slot stays empty for `empty_for`, or for ever.
    pub(crate) fn crash(&self, calls: u32, moment: Moment, empty_for: Option<Duration>) {
        let link = self.link();
        let mut state = self.lock();
        state.empty_for = empty_for;
        state.given_up |= empty_for.is_none();
        drop(state);
        link.doom(calls, moment);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            link.set(LinkState::Gone);
        });
    }

    /// Shuts the process down gracefully. Another one takes its place.
    pub(crate) fn replace(&self) {
        self.lock().shutdown.cancel();
    }

    /// Returns whether the slot stays empty once its process has died.
    pub(crate) fn is_given_up(&self) -> bool {
        self.lock().given_up
    }

    /// Moves the clock of the machine.
    pub(crate) fn step_clock(&self, by_ms: i64) {
        self.clock.step(by_ms);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a slot filled.
async fn fill(environment: Arc<Environment>, post: Arc<ProcessSlot>) {
    for n in 1.. {
        let (link, shutdown) = (Arc::new(environment.link()), CancellationToken::new());
        {
            let mut state = post.lock();
            state.link = Arc::clone(&link);
            state.shutdown = shutdown.clone();
            state.empty_for = Some(Duration::from_secs(1));
        }
        let name = format!("{}-{n}", post.name);
        let root = Arc::new(Mutex::new(None));
        let equipment = equip(&environment, &post, &name, &link, shutdown, Arc::clone(&root));
        environment.story.tell(&name, || "starts".to_owned());
        let mut life = tokio::spawn(live(equipment));
        let end = tokio::select! {
            biased;
            () = link.gone() => {
                environment.story.count("processes killed");
                "is killed".to_owned()
            }
            end = &mut life => match end {
                Ok(Ok(end)) => format!("ended: {end}"),
                Ok(Err(error)) => format!("cannot start: {error}"),
                Err(error) => format!("broke: {error}"),
            },
        };
        link.set(LinkState::Gone);
        life.abort();
        if let Some(root) = root.lock().unwrap_or_else(PoisonError::into_inner).take() {
            kill(&root);
        }
        environment.story.tell(&name, || end);
        let empty_for = {
            let state = post.lock();
            if state.given_up { None } else { state.empty_for }
        };
        let Some(empty_for) = empty_for else { return };
        tokio::time::sleep(empty_for).await;
    }
}

fn equip(
    environment: &Environment,
    post: &ProcessSlot,
    name: &str,
    link: &Arc<Link>,
    shutdown: CancellationToken,
    root: Arc<Mutex<Option<ActorCell>>>,
) -> Equipment {
    let worker = WorkerId::new(name).expect("letters, digits and dashes are an id");
    let wire = Wire {
        name: worker.clone(),
        link: Arc::clone(link),
        chance: environment.wires.clone(),
        fault_rates: environment.fault_rates.clone(),
        mutation: environment.mutation,
        decides: post.role.supervises(),
        props: environment.props.clone(),
    };
    let bench = Bench {
        link: Arc::clone(link),
        ledger: environment.ledger.clone(),
        chance: environment.outside.clone(),
        fault_rates: environment.fault_rates.clone(),
        story: environment.story.clone(),
        process: name.to_owned(),
    };
    Equipment {
        role: post.role,
        broker: wire::behind(&wire, environment.memory.connect(worker.clone())),
        worker,
        clock: post.clock.clone(),
        model: match &environment.props {
            Some(props) => props.model(environment.mind.clone(), &bench),
            None => Arc::new(Moody {
                inner: environment.mind.clone(),
                link: Arc::clone(link),
                chance: environment.outside.clone(),
                fault_rates: environment.fault_rates.clone(),
                story: environment.story.clone(),
            }),
        },
        props: environment.props.clone(),
        bench,
        local: LocalPools::default(),
        shutdown,
        root,
    }
}
