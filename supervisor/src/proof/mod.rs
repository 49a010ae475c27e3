//! An exhaustive model of a small family of jobs: one job, or a job and its child, with two
//! supervisors, two workers, and a few faults of any kind at any moment. Stateright walks through
//! every world and checks the [`claims`] in each.
//!
//! The code between two writes is production code: every supervisor is an
//! [`crate::activation::Activation`], which [`supervising`] drives as the job's actor does. Folds,
//! decisions and the order of effects come from there. The broker, the mailbox of a job's actor and
//! the loop of a worker are modelled. `docs/internals/proof.md` says what is proved and what is
//! not.

mod actor;
mod claims;
mod log;
mod memory;
mod moves;
mod mutation;
mod script;
mod simplest;
mod supervising;
mod tests;
mod working;
mod world;

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use stateright::{Model, Property};

use self::{
    claims::Sight,
    memory::Memory,
    moves::{Fault, Move},
    mutation::Mutation,
    script::Script,
    world::World,
};

/// An exploration of a family, with the events that may happen to it.
struct Exploration {
    /// Number of faults.
    faults: u8,
    /// Kinds of the faults.
    of: &'static [Fault],
    /// `true` if the first job may be canceled, at any moment.
    cancels: bool,
    /// `true` if the first job may be rolled back to its plan, at any moment.
    rolls_back: bool,
    /// `true` if the graph of the first job may be edited, at any moment.
    edits: bool,
    mutation: Option<Mutation>,
    /// Memoised parts of worlds. They depend on their keys alone, so they belong to no state.
    memory: Mutex<Memory>,
    seen: Mutex<BTreeSet<Sight>>,
}

impl Exploration {
    fn new(script: Script, faults: u8, of: &'static [Fault]) -> Self {
        Self {
            faults,
            of,
            cancels: true,
            rolls_back: false,
            edits: false,
            mutation: None,
            memory: Mutex::new(Memory::new(script)),
            seen: Mutex::default(),
        }
    }

    /// Plants a bug.
    fn mutated(self, mutation: Mutation) -> Self {
        self.with(|memory| memory.mutation = Some(mutation));
        Self { mutation: Some(mutation), ..self }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn see(&self, sight: Sight) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(sight);
    }
}

impl Model for Exploration {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        self.with(|memory| moves::first(memory, self))
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        moves.extend(self.with(|memory| self.moves(world, memory)));
    }

    fn next_state(&self, world: &World, step: Move) -> Option<World> {
        Some(self.with(|memory| self.after(world, memory, step)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let sometimes = match self.with(|memory| memory.script) {
            Script::Alone { .. } => claims::of_jobs(),
            Script::Family { .. } => claims::of_families(),
            Script::Workflow => {
                claims::of_jobs().into_iter().chain(claims::of_workflows()).collect()
            }
        };
        let local = self.with(|memory| memory.script.is_local());
        let local = if local { claims::of_local_work() } else { Vec::new() };
        let back = if self.rolls_back { claims::of_rollbacks() } else { Vec::new() };
        let edits = if self.edits { claims::of_edits() } else { Vec::new() };
        claims::always()
            .into_iter()
            .chain(sometimes)
            .chain(local)
            .chain(back)
            .chain(edits)
            .collect()
    }
}
