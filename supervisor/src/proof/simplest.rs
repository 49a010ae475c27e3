//! The canonical form of worlds. Worlds without a relevant difference become one, which makes the
//! walk short enough to be complete. Each rule says why it omits nothing.

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
            // Only processes that continue after the end remain to be explored.
            world.faults = 0;
        }
        world.workers.sort_unstable();
        self.rename(world);
    }

    fn simplify_job(&self, world: &mut World, memory: &mut Memory, job: u8) {
        for who in 0..2 {
            let me = world.actor(job, who);
            // A crash before the acknowledgements, with nothing written, equals a crash before the
            // activation.
            let is_done = memory.node(me.node).act == Act::Acknowledge;
            if is_done && (world.faults == 0 || me.fresh) {
                self.acknowledge(world, memory, (job, who), Fate::Done);
            }
        }
        let log = memory.log(world.log(job));
        let (ended, decided, unchecked) = (log.ended, log.decided, log.unchecked);
        let side = world.side_mut(job);
        // Every other command is checked at its first delivery as well.
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
            // The next delivery to this actor begins with a reset.
            let is_foreign = who != side.owner && self.mutation != Some(Mutation::NoResets);
            if me.forget || me.again || is_foreign && me.rests() {
                me.node = job.into();
            }
            me.forget = false;
        }
    }

    /// Refuses a write whose position is taken. Such a write can never be stored, so the log is
    /// read next, whatever the decision and the fold were.
    fn refuse_too_late(&self, me: &mut Actor, memory: &mut Memory, decided: u8) {
        let node = memory.node(me.node);
        let is_sent = matches!(node.act, Act::Store(_)) && me.settling != Some(true);
        let is_guarded = !matches!(
            self.mutation,
            Some(Mutation::NoCompareAndSet | Mutation::BelieveTheOccupant)
        );
        if is_sent && is_guarded && node.after() < decided {
            self.see(Sight::Conflict);
            (me.settling, me.fresh, me.ran) = (None, false, 0);
            me.step(memory, Input::Conflict);
        }
    }

    /// Renames supervisors so that the owner of the first job is number 0. If no supervisor can die
    /// any more, the grouping of actors by process is irrelevant, and the owner of each job becomes
    /// number 0.
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
