//! The driver of the model. It carries out the effects of activations in a world, as `job.rs` does
//! on a broker. It also models the parts of `shard.rs` that distribute facts, and the broker's
//! compare-and-set with the resolution of lost replies.

use proto::fact::Fact;

use super::{
    Exploration,
    actor::{Act, Input, Message},
    claims::Sight,
    memory::Memory,
    moves::{Fate, add_fact, place},
    mutation::Mutation,
    script::{Reply, Saying},
    world::{Actor, FIRST, Letter, World},
};

impl Exploration {
    pub(super) fn deliver_fact(&self, world: &mut World, job: u8, fact: u8) {
        let side = world.side_mut(job);
        let me = &mut side.actors[usize::from(side.owner)];
        let again = side.facts.delivered & (1 << fact) != 0;
        let costs = u8::from(again && me.has(fact));
        me.again |= again;
        me.inbox |= 1 << fact;
        side.facts.deliver(fact);
        world.faults -= costs;
    }

    /// Moves the facts of a job to the other supervisor. The new owner's feed begins with a reset,
    /// and jobs with unacknowledged facts of the old owner are activated first.
    pub(super) fn move_pin(&self, world: &mut World, memory: &Memory, job: u8) {
        let owner = &mut world.side_mut(job).owner;
        *owner = 1 - *owner;
        self.reset(world, memory, job);
    }

    fn reset(&self, world: &mut World, memory: &Memory, job: u8) {
        if self.mutation == Some(Mutation::NoResets) {
            return;
        }
        let side = world.side_mut(job);
        let unsettled = side.facts.open & side.facts.delivered != 0;
        let me = &mut side.actors[usize::from(side.owner)];
        // An actor without a fold has nothing to forget.
        me.forget |= me.is_busy || memory.node(me.node).has_fold();
        me.look |= unsettled;
    }

    pub(super) fn take(&self, world: &mut World, memory: &mut Memory, job: u8, who: u8) {
        let log = world.log(job);
        let me = world.actor_mut(job, who);
        let Actor { inbox: facts, again, look, forget, .. } = *me;
        (me.inbox, me.again, me.look, me.forget) = (0, false, false, false);
        me.step(memory, Input::Take { log, facts, again, look, forget });
        (me.held, me.fresh) = (if me.is_busy { facts } else { 0 }, me.is_busy);
    }

    /// Carries out the next effect of an actor.
    pub(super) fn act(
        &self,
        world: &mut World,
        memory: &mut Memory,
        (job, who): (u8, u8),
        fate: Fate,
    ) {
        let log = world.log(job);
        match memory.node(world.actor(job, who).node).act {
            Act::Rest | Act::Run(_) => {}
            Act::Read => {
                // The first job has no parent and concludes nothing, so it reads again only after a
                // conflict.
                if job == FIRST && !world.actor(job, who).fresh {
                    self.see(Sight::SomebodyElse);
                }
                world.actor_mut(job, who).step(memory, Input::Read { log });
            }
            Act::Arm(timer) => {
                if self.mutation != Some(Mutation::DropTimers) {
                    world.side_mut(job).timers |= 1 << timer;
                }
                world.actor_mut(job, who).step(memory, Input::Done);
            }
            Act::Tell(message) => {
                world.actor_mut(job, who).fresh = false;
                let input = self.tell(world, memory, message);
                world.actor_mut(job, who).step(memory, input);
            }
            Act::Store(_) => self.write(world, memory, (job, who), fate),
            Act::Acknowledge => self.acknowledge(world, memory, (job, who), fate),
        }
    }

    /// Carries out the command of an actor that is about to store it, or leaves it to a worker. The
    /// result is stored in a later step, so the supervisor may die in between. Such work has no effects
    /// outside, so it may begin after an end that the supervisor does not know of.
    pub(super) fn run_here(
        &self,
        world: &mut World,
        memory: &mut Memory,
        (job, who): (u8, u8),
        reply: Option<Reply>,
    ) {
        let Act::Run(unit) = memory.node(world.actor(job, who).node).act else { return };
        if reply.is_some() {
            world.ran_lost |= world.lost & (1 << unit) != 0;
            world.actor_mut(job, who).ran |= 1 << unit;
        }
        world.actor_mut(job, who).step(memory, Input::Ran { reply });
    }

    /// Delivers a message to the log of another job.
    fn tell(&self, world: &mut World, memory: &mut Memory, message: u32) -> Input {
        match memory.messages[message as usize].clone() {
            Message::Append(to, fact) => {
                let saying = Saying::Fact(memory.intern_fact(&fact));
                add_fact(world, memory, memory.index(&to), saying);
            }
            Message::Submit(child, submitted) => {
                let index = memory.index(&child);
                let is_decided = |job| memory.log(world.log(job)).spawned.contains(&child);
                world.submitted_early |= !world.all_jobs().any(is_decided);
                let is_there = memory.log(world.log(index)).is_there();
                if is_there && self.mutation != Some(Mutation::SubmitUnguarded) {
                    return Input::Occupied { child: world.log(index) };
                }
                let saying = Saying::Fact(memory.intern_fact(&Fact::Submitted(submitted)));
                add_fact(world, memory, index, saying);
            }
        }
        Input::Done
    }

    fn write(&self, world: &mut World, memory: &mut Memory, (job, who): (u8, u8), fate: Fate) {
        world.faults -= u8::from(fate != Fate::Done);
        let node = memory.node(world.actor(job, who).node);
        let Act::Store(next) = node.act else { return };
        let letter = Letter { job, next, after: node.after(), writer: Some(who) };
        if fate == Fate::Late {
            world.letter = Some(letter);
            world.actor_mut(job, who).settling = Some(false);
            return;
        }
        match self.store(world, memory, letter) {
            Some(at) if fate == Fate::Done => {
                self.stored(world, memory, (job, who), at);
                if world.actor(job, 1 - who).is_busy {
                    self.see(Sight::BothAtIt);
                }
            }
            Some(_) => world.actor_mut(job, who).settling = Some(true),
            None => {
                self.see(Sight::Conflict);
                world.actor_mut(job, who).settling = Some(false);
            }
        }
    }

    fn stored(&self, world: &mut World, memory: &mut Memory, (job, who): (u8, u8), at: u8) {
        let log = world.log(job);
        let me = world.actor_mut(job, who);
        (me.settling, me.ran) = (None, 0);
        me.step(memory, Input::Stored { log, at });
        forget_writer(world, Some(job), who);
    }

    /// Models the broker's compare-and-set. Returns the position, or `None` on a conflict.
    fn store(&self, world: &mut World, memory: &mut Memory, letter: Letter) -> Option<u8> {
        let Letter { job, next, after, writer } = letter;
        if let Some(writer) = writer {
            world.actor_mut(job, writer).fresh = false;
        }
        let log = memory.log(world.log(job));
        if log.decided != after && self.mutation != Some(Mutation::NoCompareAndSet) {
            return None;
        }
        let at = place(log.written.len());
        let mut longer = memory.append(world.log(job), Saying::Decision { next, after });
        if self.mutation == Some(Mutation::AdvanceTwice) && memory.is_advance(next) {
            longer = memory.append(longer, Saying::Decision { next, after });
        }
        let knows_all = writer.is_some_and(|writer| {
            memory.node(world.actor(job, writer).node).knows(memory.log(world.log(job)).all())
        });
        world.dropped_units |=
            knows_all && memory.log(longer).dropped_units(memory.log(world.log(job)));
        let is_command = memory.log(longer).written[usize::from(at)].is_command();
        // The write cancels the first timer; cancellation of the others is best effort, and here it
        // always fails.
        let disarm = memory.nexts[next as usize].disarm.first().cloned();
        let disarm = disarm.map(|timer| memory.timer(&timer));
        let side = world.side_mut(job);
        side.log = longer;
        if is_command {
            side.commands.add(at);
        }
        if let Some(timer) = disarm {
            side.timers &= !(1 << timer);
        }
        Some(at)
    }

    /// Resolves a write with an unknown outcome: the broker's client reads which decision has its
    /// position.
    pub(super) fn settle(&self, world: &mut World, memory: &mut Memory, (job, who): (u8, u8)) {
        let me = *world.actor(job, who);
        let Some(ours) = me.settling else { return };
        let after = memory.node(me.node).after();
        let written = &memory.log(world.log(job)).written;
        let first =
            written.iter().skip(after.into()).position(|record| record.saying.is_decision());
        match first {
            Some(first) if ours || self.mutation == Some(Mutation::BelieveTheOccupant) => {
                self.see(Sight::StoredAllTheSame);
                self.stored(world, memory, (job, who), after + place(first));
            }
            Some(_) => {
                let me = world.actor_mut(job, who);
                (me.settling, me.ran) = (None, 0);
                me.step(memory, Input::Conflict);
                forget_writer(world, Some(job), who);
            }
            // The position is free: the same write is repeated. If the first one arrives meanwhile,
            // the result is the same as if it had arrived before the read.
            None => self.write(world, memory, (job, who), Fate::Done),
        }
    }

    pub(super) fn arrive(&self, world: &mut World, memory: &mut Memory) {
        let Some(letter) = world.letter.take() else { return };
        // The broker recognises a write that it has stored by its id.
        if self.store(world, memory, letter).is_none() {
            return;
        }
        self.see(Sight::LateWrite);
        if let Some(writer) = letter.writer
            && let Some(ours) = &mut world.actor_mut(letter.job, writer).settling
        {
            *ours = true;
        }
    }

    pub(super) fn acknowledge(
        &self,
        world: &mut World,
        memory: &mut Memory,
        (job, who): (u8, u8),
        fate: Fate,
    ) {
        world.faults -= u8::from(fate == Fate::Lost);
        let side = world.side_mut(job);
        let me = &mut side.actors[usize::from(who)];
        if fate != Fate::Lost {
            side.facts.acknowledge(me.held);
        }
        me.held = 0;
        me.step(memory, Input::Done);
        me.fresh &= me.is_busy;
        // The actor of a job that waits for no worker may leave once its inbox is empty, or keep its
        // fold. Those of one supervisor keep it, those of the other one leave.
        if who > 0 && me.rests() && memory.node(me.node).may_leave() {
            *me = Actor::new(job.into());
        }
    }

    /// Gives up an activation whose write has an unknown outcome.
    pub(super) fn give_up(&self, world: &mut World, job: u8, who: u8) {
        world.faults -= 1;
        world.lost |= world.actor(job, who).ran;
        let me = world.actor_mut(job, who);
        let Actor { inbox, again, .. } = *me;
        *me = Actor { inbox, again, look: true, forget: true, ..Actor::new(job.into()) };
        forget_writer(world, Some(job), who);
    }

    /// Crashes a supervisor with all its actors and restarts it. Its shards may move.
    pub(super) fn crash(&self, world: &mut World, memory: &Memory, who: u8, moves: bool) {
        world.faults -= 1;
        forget_writer(world, None, who);
        for job in world.all_jobs() {
            world.lost |= world.actor(job, who).ran;
            *world.actor_mut(job, who) = Actor::new(job.into());
            if world.side(job).owner != who {
                continue;
            }
            if moves {
                self.move_pin(world, memory, job);
            } else {
                self.reset(world, memory, job);
            }
        }
    }
}

impl Actor {
    pub(super) fn step(&mut self, memory: &mut Memory, input: Input) {
        self.node = memory.step(self.node, input);
        self.is_busy = memory.node(self.node).act != Act::Rest;
    }
}

/// Marks that no supervisor awaits the outcome of a write: of one job, or of any.
fn forget_writer(world: &mut World, job: Option<u8>, who: u8) {
    if let Some(letter) = &mut world.letter
        && letter.writer == Some(who)
        && job.is_none_or(|job| letter.job == job)
    {
        letter.writer = None;
    }
}
