//! Every world that a small job can get into: two supervisors, two workers, two steps, and a few
//! troubles of any kind at any moment. Stateright walks through all of them and holds each against
//! the claims in [`claims`].
//!
//! The fold, the cache of it and the decisions are the real ones ([`memory`]); the shell around them
//! is cut into steps by hand ([`moves`]), because what is looked for lies between its steps. The shell
//! itself is run by the simulation. What is proved here and what is not: `docs/internals/proof.md`.

mod claims;
mod kin;
mod memory;
mod moves;
mod plant;
mod script;
mod shell;
mod simplest;
mod tests;
mod working;
mod world;

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use machine::Next;
use stateright::{Model, Property};

use self::{
    claims::Sight,
    memory::{LogNode, Memory},
    moves::{Move, Trouble},
    plant::Plant,
    script::Script,
    world::World,
};

/// A job, and what may happen to it.
struct Game {
    /// How many troubles may come.
    troubles: u8,
    /// Of which kinds.
    of: &'static [Trouble],
    /// Whether somebody may cancel, at any moment.
    cancels: bool,
    /// Whether somebody may take the job back to its plan, at any moment.
    goes_back: bool,
    plant: Option<Plant>,
    /// Worked out once for all worlds: a function of its keys, so no part of any state.
    memory: Mutex<Memory>,
    seen: Mutex<BTreeSet<Sight>>,
}

impl Game {
    fn new(script: Script, troubles: u8, of: &'static [Trouble]) -> Self {
        let memory = Mutex::new(Memory::new(script));
        Self {
            troubles,
            of,
            cancels: true,
            goes_back: false,
            plant: None,
            memory,
            seen: Mutex::default(),
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Memory) -> T) -> T {
        work(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn see(&self, sight: Sight) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert(sight);
    }

    /// Whether the log does not break this claim.
    fn is_right(&self, world: &World, claim: &'static str) -> bool {
        self.with(|memory| !memory.log(world.log).wrong.contains(claim))
    }

    fn says(&self, world: &World, what: impl FnOnce(&[Next], &LogNode) -> bool) -> bool {
        self.with(|memory| what(&memory.nexts, memory.log(world.log)))
    }
}

impl Model for Game {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![self.with(|memory| moves::first(memory, self))]
    }

    fn actions(&self, world: &World, moves: &mut Vec<Move>) {
        moves.extend(self.with(|memory| self.moves(world, memory)));
    }

    fn next_state(&self, world: &World, step: Move) -> Option<World> {
        Some(self.with(|memory| self.after(world, memory, step)))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let back = if self.goes_back { claims::sometimes_back() } else { Vec::new() };
        claims::always().into_iter().chain(claims::sometimes()).chain(back).collect()
    }
}
