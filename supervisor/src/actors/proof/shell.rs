//! What supervisors and the broker do, step by step: `shard.rs`, `sweep.rs` and `job.rs` as they are
//! written, and the settling of writes as `runtime`'s log does it.

use super::{
    Game,
    claims::Sight,
    memory::Memory,
    moves::{Weather, forget_writer, last_decision, place},
    plant::Plant,
    script::Saying,
    world::{Letter, Phase, Supervisor, World, places},
};

impl Game {
    pub(super) fn hand(&self, world: &mut World, fact: u8) {
        let me = &mut world.supervisors[0];
        let again = world.facts.handed & (1 << fact) != 0;
        world.troubles -= u8::from(again && me.has(fact));
        me.again |= again;
        me.inbox |= 1 << fact;
        world.facts.hand(fact);
    }

    /// The feed of the one that is handed facts now begins with a reset, and jobs whose facts the
    /// other one has not acknowledged are looked at first.
    pub(super) fn move_pin(&self, world: &mut World) {
        world.supervisors.swap(0, 1);
        if let Some(Letter { writer: Some(writer), .. }) = &mut world.letter {
            *writer = 1 - *writer;
        }
        self.reset(world);
    }

    pub(super) fn reset(&self, world: &mut World) {
        if self.plant == Some(Plant::NoResets) {
            return;
        }
        let unsettled = world.facts.open & world.facts.handed != 0;
        let me = &mut world.supervisors[0];
        // One that keeps nothing has nothing to forget.
        me.forget |= me.phase != Phase::Idle || me.fold.is_some();
        me.look |= unsettled;
    }

    pub(super) fn take(&self, world: &mut World, memory: &mut Memory, who: u8) {
        let log = world.log;
        let (open, handed) = (world.facts.open, world.facts.handed);
        let me = &mut world.supervisors[usize::from(who)];
        let Supervisor { inbox, again, look, forget, .. } = *me;
        if forget || again {
            me.fold = None;
        }
        (me.inbox, me.again, me.look, me.forget) = (0, false, false, false);
        if inbox == 0 && !look {
            return;
        }
        (me.held, me.phase, me.fresh) = (inbox, Phase::Deciding { armed: false }, true);
        let all = (1 << memory.log(log).written.len()) - 1;
        let mut fold = me.fold;
        for fact in places(inbox) {
            fold = fold.and_then(|fold| memory.insert(fold, log, fact));
        }
        let is_new = inbox == 1 && !again && open & handed & 1 != 0;
        me.fold = Some(match fold {
            Some(fold) => fold,
            None if is_new => memory.fold(log, 1),
            None if self.plant == Some(Plant::DecideBeforeReading) => memory.fold(log, inbox),
            None => memory.fold(log, all),
        });
        if self.plant == Some(Plant::AckBeforeDeciding) {
            me.held = 0;
            world.facts.acknowledge(inbox);
        }
    }

    pub(super) fn arm(&self, world: &mut World, memory: &mut Memory, who: u8) {
        let me = &mut world.supervisors[usize::from(who)];
        me.phase = Phase::Deciding { armed: true };
        let Some(next) = me.fold.and_then(|fold| memory.next(fold)) else { return };
        for arm in memory.nexts[next as usize].arm.clone() {
            if self.plant != Some(Plant::DropTimers) {
                world.armed |= 1 << memory.timer(&arm.timer);
            }
        }
    }

    pub(super) fn write(&self, world: &mut World, memory: &mut Memory, who: u8, weather: Weather) {
        world.troubles -= u8::from(weather != Weather::Fine);
        let me = world.supervisors[usize::from(who)];
        let Some(fold) = me.fold else { return };
        let Some(next) = memory.next(fold) else { return };
        let letter = Letter { next, after: last_decision(memory, fold), writer: Some(who) };
        if weather == Weather::Delay {
            world.letter = Some(letter);
            world.supervisors[usize::from(who)].phase = Phase::Settling { ours: false };
            return;
        }
        let stored = self.store(world, memory, letter);
        let me = &mut world.supervisors[usize::from(who)];
        match stored {
            Some(at) if weather == Weather::Fine => {
                me.fold = Some(memory.stored(fold, world.log, at));
                me.phase = Phase::Deciding { armed: false };
                forget_writer(world, who);
                if world.supervisors[usize::from(1 - who)].phase != Phase::Idle {
                    self.see(Sight::BothAtIt);
                }
            }
            Some(_) => me.phase = Phase::Settling { ours: true },
            None => {
                self.see(Sight::Conflict);
                me.phase = Phase::Settling { ours: false };
            }
        }
    }

    /// The broker's part: compare and set.
    pub(super) fn store(
        &self,
        world: &mut World,
        memory: &mut Memory,
        letter: Letter,
    ) -> Option<u8> {
        if let Some(writer) = letter.writer {
            world.supervisors[usize::from(writer)].fresh = false;
        }
        let written = &memory.log(world.log).written;
        if memory.log(world.log).decided != letter.after
            && self.plant != Some(Plant::NoCompareAndSet)
        {
            return None;
        }
        let at = place(written.len());
        let is_command = {
            let Letter { next, after, .. } = letter;
            world.log = memory.append(world.log, Saying::Decision { next, after });
            memory.log(world.log).written[usize::from(at)].attempt.is_some()
        };
        if is_command {
            world.commands.add(at);
        }
        // The first of them is canceled in the same write; canceling the others may fail, and does.
        let disarm = memory.nexts[letter.next as usize].disarm.first().cloned();
        if let Some(timer) = disarm {
            world.armed &= !(1 << memory.timer(&timer));
        }
        Some(at)
    }

    pub(super) fn settle(&self, world: &mut World, memory: &mut Memory, who: u8) {
        let me = world.supervisors[usize::from(who)];
        if me.phase == Phase::TooLate {
            let fold = memory.fold(world.log, (1 << memory.log(world.log).written.len()) - 1);
            let me = &mut world.supervisors[usize::from(who)];
            (me.fold, me.phase) = (Some(fold), Phase::Deciding { armed: false });
            self.see(Sight::SomebodyElse);
            return;
        }
        let (Some(fold), Phase::Settling { ours }) = (me.fold, me.phase) else { return };
        let after = last_decision(memory, fold);
        let written = &memory.log(world.log).written;
        let first =
            written.iter().skip(after.into()).position(|record| record.saying.is_decision());
        let all = (1 << written.len()) - 1;
        let me = &mut world.supervisors[usize::from(who)];
        me.phase = Phase::Deciding { armed: false };
        match first {
            Some(first) if ours || self.plant == Some(Plant::BelieveTheOccupant) => {
                self.see(Sight::StoredAllTheSame);
                me.fold = Some(memory.stored(fold, world.log, after + place(first)));
                forget_writer(world, who);
            }
            Some(_) => {
                self.see(Sight::SomebodyElse);
                me.fold = Some(memory.fold(world.log, all));
                forget_writer(world, who);
            }
            // Nobody is there: the same write is made again. Should the first one arrive meanwhile,
            // this is as if it had arrived before the look.
            None => {
                me.phase = Phase::Settling { ours: false };
                self.write(world, memory, who, Weather::Fine);
            }
        }
    }

    pub(super) fn arrive(&self, world: &mut World, memory: &mut Memory) {
        let Some(letter) = world.letter.take() else { return };
        // The broker knows a write that it has stored, by its id.
        let stored = self.store(world, memory, letter).is_some();
        if stored {
            self.see(Sight::LateWrite);
        }
        if stored
            && let Some(writer) = letter.writer
            && let Phase::Settling { ours } = &mut world.supervisors[usize::from(writer)].phase
        {
            *ours = true;
        }
    }

    pub(super) fn rest(&self, world: &mut World, memory: &mut Memory, who: u8, lost: bool) {
        world.troubles -= u8::from(lost);
        let me = &mut world.supervisors[usize::from(who)];
        if !lost {
            world.facts.acknowledge(me.held);
        }
        (me.held, me.phase, me.fresh) = (0, Phase::Idle, false);
        // A job that waits for no worker has no actor, once nothing is in its inbox.
        let has_work_out = me.fold.is_some_and(|fold| memory.job(fold).has_work_out());
        if !has_work_out && me.rests() {
            me.fold = None;
        }
    }

    pub(super) fn crash(&self, world: &mut World, who: u8, moves_pin: bool) {
        world.troubles -= 1;
        world.supervisors[usize::from(who)] = Supervisor::default();
        forget_writer(world, who);
        if moves_pin {
            self.move_pin(world);
        } else if who == 0 {
            self.reset(world);
        }
    }
}
