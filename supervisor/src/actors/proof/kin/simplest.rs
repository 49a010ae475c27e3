//! One form for worlds of a family that differ in nothing that can still matter: what makes the walk
//! short enough to go all of it. Each rule says why it leaves nothing out.

use super::{
    Game,
    memory::Memory,
    steps::Trouble,
    world::{Actor, CHILD, Letter, PARENT, Phase, World},
};
use machine::Tell;

impl Game {
    pub(super) fn simplest(&self, world: &mut World, memory: &mut Memory) {
        for job in [PARENT, CHILD] {
            let (log, troubles) = (world.log(job), world.troubles);
            let (ended, decided) = (memory.log(log).ended, memory.log(log).decided);
            let is_wanted = world.letter.is_some();
            let side = world.side(job);
            for me in &mut side.actors {
                let Phase::Deciding { told } = me.phase else { continue };
                let fold = memory.fold(log, me.known);
                match fold.next {
                    // Dying before the acknowledgements, with nothing said or written, is dying
                    // before the look.
                    None if troubles == 0 || me.fresh => {
                        side.open &= !me.held;
                        side.handed &= !me.held;
                        (me.held, me.phase, me.fresh) = (0, Phase::Idle, false);
                    }
                    // A write whose position is taken is refused, and then the log is read.
                    Some(next) if fold.after < decided && self.plant.is_none() => {
                        if usize::from(told) >= memory.nexts[next as usize].tell.len() {
                            (me.phase, me.fresh) = (Phase::Reading, false);
                        }
                    }
                    Some(_) | None => {}
                }
            }
            if ended {
                // What is left to see is who goes on all the same.
                (side.open, side.handed, side.commands) = (0, 0, 0);
            }
            for me in &mut side.actors {
                me.held &= side.open;
                me.inbox &= side.open;
                match me.phase {
                    Phase::Idle => {
                        let look = me.look && !ended;
                        *me = Actor { inbox: me.inbox, look, ..Actor::default() };
                    }
                    Phase::Reading => me.known = 0,
                    Phase::Deciding { .. } | Phase::Owing { .. } => {}
                }
            }
            if is_wanted
                && let Some(Letter::Decision { job: of, after, .. }) = world.letter
                && of == job
                && after != decided
            {
                // Its position is taken.
                world.letter = None;
            }
        }
        if let Some(Letter::Tell { next, .. }) = world.letter
            && self.plant.is_none()
            && memory.log(world.log(CHILD)).is_there()
            && is_submission(&memory.nexts[next as usize].tell)
        {
            // A job that has begun begins no second time.
            world.letter = None;
        }
        rename(world, self.of.contains(&Trouble::Supervisors) && world.troubles > 0);
    }
}

fn is_submission(tells: &[Tell]) -> bool {
    tells.iter().all(|tell| matches!(tell, Tell::Submit { .. }))
}

/// The supervisor that owns the parent stands first. Where none dies any more, nothing says which
/// actors of the two jobs are of one process: then the owner of each job stands first.
fn rename(world: &mut World, may_die: bool) {
    if !may_die {
        for (side, owner) in world.jobs.iter_mut().zip(&mut world.owners) {
            if *owner == 1 {
                side.actors.swap(0, 1);
                *owner = 0;
            }
        }
    } else if world.owners[0] == 1 {
        world.owners = world.owners.map(|owner| 1 - owner);
        world.jobs.iter_mut().for_each(|side| side.actors.swap(0, 1));
    }
}
