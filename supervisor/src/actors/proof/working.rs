//! What workers do: `runtime`'s loop that takes a command, sees whether it is wanted, carries it out,
//! stores what came of it and acknowledges.

use proto::id::{Attempt, Unit};

use super::{
    Game,
    claims::Sight,
    memory::Memory,
    moves::add_fact,
    plant::Plant,
    script::{Reply, Saying},
    world::{Run, World},
};

impl Game {
    /// A tool, and whatever is handed out again, is only begun after a look at the log. The look and
    /// the beginning are one step: nobody can close the moment between them.
    pub(super) fn begin(&self, world: &mut World, memory: &Memory, command: u8) {
        let log = memory.log(world.log);
        world.troubles -= u8::from(world.running() & (1 << command) != 0);
        let again = world.commands.handed & (1 << command) != 0;
        world.commands.hand(command);
        let unit = &log.written[usize::from(command)].attempt;
        let is_tool = log.plans & (1 << command) == 0;
        let looks = (again || is_tool) && self.plant != Some(Plant::NeverLook);
        let later = log.written.iter().skip(command.into());
        let over = log.ended
            || later.clone().any(|r| r.saying == Saying::Cancel)
            || later.clone().any(|r| unit.as_ref().is_some_and(|unit| r.is_later_than(&unit.work)))
            || later.clone().any(|r| !r.saying.is_decision() && r.attempt == *unit);
        if looks && over {
            self.see(if log.ended { Sight::Unwanted } else { Sight::AnsweredAlready });
            world.commands.acknowledge(1 << command);
            return;
        }
        world.began_late |= is_tool && log.ended;
        if self.plant == Some(Plant::AckBeforeWork) {
            world.commands.acknowledge(1 << command);
        }
        let slot = world.workers.iter_mut().find(|slot| slot.is_none());
        if let Some(slot) = slot {
            *slot = Some(Run { command, answered: false });
        }
    }

    pub(super) fn answer(&self, world: &mut World, memory: &mut Memory, worker: u8, reply: Reply) {
        let Some(run) = &mut world.workers[usize::from(worker)] else { return };
        run.answered = true;
        let command = run.command;
        let log = memory.log(world.log);
        let Some(Unit { work, attempt: sent }) = &log.written[usize::from(command)].attempt else {
            return;
        };
        let out = || log.job.waits().commands.into_iter().find(|unit| unit.work == *work);
        let says: Attempt = match self.plant {
            Some(Plant::AcceptAnyResult) => out().map_or(*sent, |unit| unit.attempt),
            _ => *sent,
        };
        let renamed = self.plant == Some(Plant::CountOldResults);
        add_fact(world, memory, Saying::Result { command, reply, says, renamed });
        if world.troubles == 0 {
            // Nothing can come between the result and the acknowledgement any more.
            world.workers[usize::from(worker)] = None;
            world.commands.acknowledge(1 << command);
        }
    }
}
