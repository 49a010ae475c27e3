//! One form for worlds that differ in nothing that can still matter: what makes the walk short enough
//! to go all of it. Each rule says why it leaves nothing out.

use super::{
    Game,
    claims::Sight,
    memory::Memory,
    moves::last_decision,
    plant::Plant,
    world::{Phase, Queue, Supervisor, World},
};

impl Game {
    /// Gives worlds one form that differ in nothing that can still matter.
    pub(super) fn in_its_simplest_form(&self, world: &mut World, memory: &mut Memory) {
        for who in 0..2 {
            let me = &world.supervisors[usize::from(who)];
            let is_done = |memory: &mut Memory| me.fold.is_none_or(|f| memory.next(f).is_none());
            let decides = matches!(me.phase, Phase::Deciding { .. });
            // Dying before the acknowledgements, with nothing written, is dying before the look.
            if decides && (world.troubles == 0 || me.fresh) && is_done(memory) {
                self.rest(world, memory, who, false);
            }
        }
        let log = memory.log(world.log);
        let (ended, decided) = (log.ended, log.decided);
        // Only a plan is begun without a look when it is handed out for the first time.
        world.commands.handed &= log.plans;
        if ended {
            // What is left to see is who goes on all the same.
            (world.troubles, world.armed, world.facts) = (0, 0, Queue::default());
            world.workers = [None; 2];
        }
        if self.plant != Some(Plant::NoCompareAndSet) {
            world.letter = world.letter.filter(|letter| letter.after == decided);
        }
        for me in &mut world.supervisors {
            self.give_up_what_is_too_late(me, memory, decided);
        }
        for (who, me) in world.supervisors.iter_mut().enumerate() {
            me.held &= world.facts.open;
            if me.phase != Phase::Idle {
                continue;
            }
            if ended {
                *me = Supervisor::default();
            }
            let must_reset = who == 1 && self.plant != Some(Plant::NoResets) && me.rests();
            if me.forget || me.again || must_reset {
                me.fold = None;
            }
            me.forget = false;
        }
        world.workers.sort_unstable();
    }

    /// A write whose position is taken cannot be stored any more, and then the log is read: whatever
    /// it was that somebody wanted to write, and whatever was folded for it.
    pub(super) fn give_up_what_is_too_late(
        &self,
        me: &mut Supervisor,
        memory: &mut Memory,
        decided: u8,
    ) {
        let Some(fold) = me.fold else { return };
        let is_sent = match me.phase {
            Phase::Idle | Phase::Settling { ours: true } | Phase::TooLate => false,
            Phase::Settling { ours: false } => true,
            Phase::Deciding { armed } => memory
                .next(fold)
                .is_some_and(|next| armed || memory.nexts[next as usize].arm.is_empty()),
        };
        let believes = self.plant == Some(Plant::BelieveTheOccupant);
        let guarded = self.plant != Some(Plant::NoCompareAndSet) && !believes;
        if is_sent && guarded && last_decision(memory, fold) < decided {
            self.see(Sight::Conflict);
            (me.fold, me.phase, me.fresh) = (None, Phase::TooLate, false);
        }
    }
}
