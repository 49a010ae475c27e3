//! The loop of a worker: it takes a command, checks whether it is wanted, carries it out, stores
//! the result and acknowledges.

use proto::id::{Attempt, Unit};

use super::{
    Exploration,
    claims::Sight,
    memory::Memory,
    moves::add_fact,
    mutation::Mutation,
    script::{Reply, Saying},
    world::{Run, World},
};

impl Exploration {
    /// Starts a command. A tool, and every redelivered command, starts only after a check of the
    /// log. The check and the start are one step: no system can eliminate the moment between them.
    pub(super) fn begin(&self, world: &mut World, memory: &mut Memory, job: u8, command: u8) {
        let log = memory.log(world.log(job));
        world.faults -= u8::from(world.running(job) & (1 << command) != 0);
        let commands = &mut world.side_mut(job).commands;
        let again = commands.delivered & (1 << command) != 0;
        commands.deliver(command);
        let is_tool = log.unchecked & (1 << command) == 0;
        let checks = (again || is_tool) && self.mutation != Some(Mutation::NeverCheck);
        if checks && log.is_unwanted(command) {
            self.see(if log.ended { Sight::Unwanted } else { Sight::AnsweredAlready });
            commands.acknowledge(1 << command);
            return;
        }
        if self.mutation == Some(Mutation::AckBeforeWork) {
            commands.acknowledge(1 << command);
        }
        let ended = log.ended;
        world.began_late |= is_tool && ended;
        let slot = world.workers.iter_mut().position(|slot| slot.is_none());
        let Some(slot) = slot else { return };
        world.workers[slot] = Some(Run { job, command, answered: false });
        if memory.script.is_coarse() && !ended {
            let worker = u8::try_from(slot).expect("there are two workers");
            self.answer(world, memory, worker, Reply::Done);
            self.release(world, worker);
        }
    }

    pub(super) fn answer(&self, world: &mut World, memory: &mut Memory, worker: u8, reply: Reply) {
        let Some(run) = &mut world.workers[usize::from(worker)] else { return };
        run.answered = true;
        let Run { job, command, .. } = *run;
        let log = memory.log(world.log(job));
        let Some(Unit { work, attempt: sent }) = &log.written[usize::from(command)].attempt else {
            return;
        };
        let current = || log.job.waits().commands.into_iter().find(|unit| unit.work == *work);
        let says: Attempt = match self.mutation {
            Some(Mutation::AcceptAnyResult) => current().map_or(*sent, |unit| unit.attempt),
            Some(_) | None => *sent,
        };
        let renamed = self.mutation == Some(Mutation::CountOldResults);
        add_fact(world, memory, job, Saying::Result { command, reply, says, renamed });
        if world.faults == 0 {
            // Nothing can happen between the result and the acknowledgement any more.
            self.release(world, worker);
        }
    }

    /// Acknowledges the command of a worker.
    pub(super) fn release(&self, world: &mut World, worker: u8) {
        if let Some(run) = world.workers[usize::from(worker)].take() {
            world.side_mut(run.job).commands.acknowledge(1 << run.command);
        }
    }
}
