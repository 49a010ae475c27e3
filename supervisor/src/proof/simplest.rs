//! One form for worlds that differ in nothing that can still matter: it makes the walk short enough to
//! be complete. Each rule says why it leaves nothing out.

use super::{
    Exploration,
    actor::{Act, Input},
    claims::Sight,
    memory::Memory,
    moves::{Fate, Fault},
    mutation::Mutation,
    world::{Actor, Queue, World},
};

impl Exploration {
    pub(super) fn simplify(&self, world: &mut World, memory: &mut Memory) {
        for job in world.all_jobs() {
            self.simplify_job(world, memory, job);
        }
        if world.jobs.iter().all(|side| memory.log(side.log).is_over()) {
            // What is left to see is who goes on all the same.
            world.faults = 0;
        }
        world.workers.sort_unstable();
        self.rename(world);
    }

    fn simplify_job(&self, world: &mut World, memory: &mut Memory, job: u8) {
        for who in 0..2 {
            let me = world.actor(job, who);
            // Dying before the acknowledgements, with nothing written, is dying before the activation.
            let is_done = memory.node(me.node).act == Act::Acknowledge;
            if is_done && (world.faults == 0 || me.fresh) {
                self.acknowledge(world, memory, (job, who), Fate::Done);
            }
        }
        let log = memory.log(world.log(job));
        let (ended, decided, unchecked) = (log.ended, log.decided, log.unchecked);
        let side = world.side_mut(job);
        // Every other command is checked at its first delivery too.
        side.commands.delivered &= unchecked;
        if ended {
            (side.timers, side.facts) = (0, Queue::default());
            for slot in &mut world.workers {
                *slot = slot.filter(|run| run.job != job);
            }
        }
        if self.mutation != Some(Mutation::NoCompareAndSet) {
            world.letter =
                world.letter.filter(|letter| letter.job != job || letter.after == decided);
        }
        let side = world.side_mut(job);
        for (who, me) in (0..).zip(&mut side.actors) {
            self.refuse_too_late(me, memory, decided);
            me.held &= side.facts.open;
            if me.is_busy {
                continue;
            }
            if ended {
                *me = Actor::new(job.into());
            }
            // Its next delivery begins with a reset.
            let is_foreign = who != side.owner && self.mutation != Some(Mutation::NoResets);
            if me.forget || me.again || is_foreign && me.rests() {
                me.node = job.into();
            }
            me.forget = false;
        }
    }

    /// A write whose position is taken cannot be stored any more, and then the log is read: whatever
    /// the decision was, and whatever was folded for it.
    fn refuse_too_late(&self, me: &mut Actor, memory: &mut Memory, decided: u8) {
        let node = memory.node(me.node);
        let is_sent = matches!(node.act, Act::Store(_)) && me.settling != Some(true);
        let is_guarded = !matches!(
            self.mutation,
            Some(Mutation::NoCompareAndSet | Mutation::BelieveTheOccupant)
        );
        if is_sent && is_guarded && node.after() < decided {
            self.see(Sight::Conflict);
            (me.settling, me.fresh) = (None, false);
            me.step(memory, Input::Conflict);
        }
    }

    /// The supervisor that owns the first job stands first. Where none dies any more, nothing says
    /// which actors of two jobs are of one process: then the owner of each job stands first.
    fn rename(&self, world: &mut World) {
        let may_die = self.of.contains(&Fault::Supervisors) && world.faults > 0;
        let first = world.jobs[0].owner;
        for job in world.all_jobs() {
            let side = world.side_mut(job);
            if (if may_die { first } else { side.owner }) == 0 {
                continue;
            }
            side.owner = 1 - side.owner;
            side.actors.swap(0, 1);
            if let Some(letter) = world.letter.as_mut().filter(|letter| letter.job == job) {
                letter.writer = letter.writer.map(|writer| 1 - writer);
            }
        }
    }
}
