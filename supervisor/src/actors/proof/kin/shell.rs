//! What supervisors and the broker do in a family, step by step: `shard.rs`, `job.rs` and `tell.rs` as
//! they are written.

use machine::Tell;
use proto::{
    decision::{Decision, Note},
    fact::Fact,
    family::{ChildSaid, News},
    id::Unit,
    job::Outcome,
};

use super::{
    Game, Plant, claims,
    memory::{Memory, Saying},
    script,
    steps::Move,
    world::{Actor, CHILD, Letter, PARENT, Phase, Side, World},
};

impl Game {
    pub(super) fn first(&self, memory: &mut Memory, owners: [u8; 2]) -> World {
        let mut parent = Side::of(memory.say(u32::from(PARENT), &script::submitted()));
        parent.open = 1;
        World {
            jobs: [parent, Side::of(u32::from(CHILD))],
            owners,
            letter: None,
            troubles: self.troubles,
            may_cancel: self.cancels,
            broken: None,
            told_late: false,
        }
    }

    /// What is said before a decision, as far as no bug is planted.
    pub(super) fn tells(&self, memory: &mut Memory, log: u32, next: u32) -> Vec<Tell> {
        let after = memory.log(log).decided;
        let decided = &memory.nexts[next as usize];
        let is_child_told = matches!(decided.decision, Decision::Note(Note::ChildTold { .. }));
        let is_end = matches!(decided.decision, Decision::Finish(_));
        let is_spawn = matches!(decided.decision, Decision::Spawn(_));
        let tell = decided.tell.clone();
        match self.plant {
            Some(Plant::TellAfterStoring) => Vec::new(),
            Some(Plant::ForgetChildren) if is_child_told => Vec::new(),
            Some(Plant::ForgetParent) if is_end => Vec::new(),
            Some(Plant::TellAnotherEnd) if is_end => tell.into_iter().map(another_end).collect(),
            // What would be said once the decision is stored.
            Some(Plant::SubmitFirst) if is_spawn => {
                let longer = memory.append(log, Saying::Decision { next, after });
                let all = memory.all(longer);
                let following = memory.fold(longer, all).next;
                following.map(|next| memory.nexts[next as usize].tell.clone()).unwrap_or_default()
            }
            Some(_) | None => tell,
        }
    }

    pub(super) fn after(&self, world: &World, memory: &mut Memory, step: Move) -> World {
        let mut next = world.clone();
        match step {
            Move::Hand { job, fact } => {
                let owner = next.owners[usize::from(job)];
                let side = next.side(job);
                side.handed |= 1 << fact;
                let me = &mut side.actors[usize::from(owner)];
                let had = (me.inbox | me.held) & (1 << fact) != 0;
                me.inbox |= 1 << fact;
                let is_idle = me.phase == Phase::Idle;
                next.troubles -= u8::from(had);
                if is_idle {
                    next.take(memory, job, owner);
                }
            }
            Move::TurnPin { job } => {
                next.troubles -= 1;
                next.move_pin(job);
            }
            Move::Take { job, who } => next.take(memory, job, who),
            Move::Say { job, who, late } => self.say(&mut next, memory, (job, who), late),
            Move::Write { job, who, late } => self.write(&mut next, memory, (job, who), late),
            Move::Read { job, who } => {
                if let Phase::Owing { next: stored } = next.actor(job, who).phase {
                    let tells = memory.nexts[stored as usize].tell.clone();
                    tells.into_iter().for_each(|tell| self.deliver(&mut next, memory, tell));
                }
                let known = memory.all(next.log(job));
                let me = next.actor(job, who);
                (me.known, me.phase) = (known, Phase::Deciding { told: 0 });
            }
            Move::Rest { job, who, lost } => {
                next.troubles -= u8::from(lost);
                let side = next.side(job);
                let me = &mut side.actors[usize::from(who)];
                if !lost {
                    (side.open, side.handed) = (side.open & !me.held, side.handed & !me.held);
                }
                (me.held, me.phase, me.fresh) = (0, Phase::Idle, false);
            }
            Move::Crash { who, moves } => {
                next.troubles -= 1;
                next.crash(who, moves);
            }
            Move::Arrive => self.arrive(&mut next, memory),
            Move::Answer { command } => {
                let log = memory.log(next.log(CHILD));
                let Some(Unit { work, attempt }) = log.commands.get(&command).cloned() else {
                    return next;
                };
                next.side(CHILD).commands &= !(1 << command);
                let fact = memory.script.turned(work, attempt);
                next.hear(memory, CHILD, &fact);
            }
            Move::Reply => {
                let Some(ask) = memory.log(next.log(CHILD)).asks.clone() else { return next };
                next.hear(memory, CHILD, &script::answered(ask));
            }
            Move::Cancel => {
                next.may_cancel = false;
                next.hear(memory, PARENT, &script::canceled());
            }
        }
        self.simplest(&mut next, memory);
        next
    }

    fn say(&self, world: &mut World, memory: &mut Memory, (job, who): (u8, u8), late: bool) {
        let log = world.log(job);
        let me = *world.actor(job, who);
        let (Phase::Deciding { told }, Some(next)) = (me.phase, memory.fold(log, me.known).next)
        else {
            return;
        };
        if late {
            world.letter = Some(Letter::Tell { next, n: told });
            world.give_up(job, who);
            return;
        }
        let me = world.actor(job, who);
        (me.phase, me.fresh) = (Phase::Deciding { told: told + 1 }, false);
        let tell = self.tells(memory, log, next).into_iter().nth(told.into());
        tell.into_iter().for_each(|tell| self.deliver(world, memory, tell));
    }

    /// What one job of the family says to another one arrives there.
    fn deliver(&self, world: &mut World, memory: &mut Memory, tell: Tell) {
        let ended = |job: u8| memory.log(world.log(job)).ended;
        world.told_late |= ended(PARENT) && ended(CHILD);
        match tell {
            Tell::Submit { job, submitted, .. } => {
                if !memory.log(world.log(PARENT)).spawned.contains(&job) {
                    world.broken = Some(claims::BEGUN_WHEN_DECIDED);
                }
                let is_there = memory.log(world.log(CHILD)).is_there();
                if !is_there || self.plant == Some(Plant::SubmitUnguarded) {
                    world.hear(memory, CHILD, &Fact::Submitted(*submitted));
                }
            }
            Tell::Say { job, fact } => {
                let [parent, _] = script::jobs();
                let to = if job == parent { PARENT } else { CHILD };
                world.hear(memory, to, &fact);
            }
        }
    }

    fn write(&self, world: &mut World, memory: &mut Memory, (job, who): (u8, u8), late: bool) {
        let log = world.log(job);
        let me = *world.actor(job, who);
        let fold = memory.fold(log, me.known);
        let Some(next) = fold.next else { return };
        if late {
            world.letter = Some(Letter::Decision { job, next, after: fold.after });
            world.give_up(job, who);
            return;
        }
        let stored = store(self.plant, world, memory, (job, next, fold.after));
        let settles = is_conclusion(&memory.nexts[next as usize].decision);
        let me = world.actor(job, who);
        me.fresh = false;
        match stored {
            Some(at) => {
                me.known |= 1 << at;
                me.phase = if settles { Phase::Reading } else { Phase::Deciding { told: 0 } };
                if self.plant == Some(Plant::TellAfterStoring) {
                    me.phase = Phase::Owing { next };
                }
            }
            None => me.phase = Phase::Reading,
        }
    }

    fn arrive(&self, world: &mut World, memory: &mut Memory) {
        match world.letter.take() {
            Some(Letter::Tell { next, n }) => {
                let tell = memory.nexts[next as usize].tell.get(usize::from(n)).cloned();
                tell.into_iter().for_each(|tell| self.deliver(world, memory, tell));
            }
            Some(Letter::Decision { job, next, after }) => {
                store(self.plant, world, memory, (job, next, after));
            }
            None => {}
        }
    }
}

/// The broker's part: compare and set.
fn store(
    plant: Option<Plant>,
    world: &mut World,
    memory: &mut Memory,
    (job, next, after): (u8, u32, u8),
) -> Option<u8> {
    let log = world.log(job);
    if memory.log(log).decided != after && plant != Some(Plant::NoCompareAndSet) {
        return None;
    }
    let at = u8::try_from(memory.log(log).entries.len()).ok()?;
    let longer = memory.append(log, Saying::Decision { next, after });
    let is_command = memory.log(longer).commands.contains_key(&at);
    let side = world.side(job);
    side.log = longer;
    side.commands |= u32::from(is_command) << at;
    Some(at)
}

/// What is said of an end, with another one.
fn another_end(tell: Tell) -> Tell {
    match tell {
        Tell::Say { job, mut fact } => {
            if let Fact::Child(ChildSaid { news: News::Ended { outcome, .. }, .. }) = &mut *fact {
                *outcome = Outcome::Canceled { reason: Some("said by a bug".to_owned()) };
            }
            Tell::Say { job, fact }
        }
        Tell::Submit { .. } => tell,
    }
}

fn is_conclusion(decision: &Decision) -> bool {
    matches!(decision, Decision::Note(Note::Concluded { .. }))
}

impl World {
    fn hear(&mut self, memory: &mut Memory, job: u8, fact: &Fact) {
        let log = self.log(job);
        let at = memory.log(log).entries.len();
        let side = self.side(job);
        side.log = memory.say(log, fact);
        side.open |= 1 << at;
    }

    /// An actor lets go of its job: it looks again later, and its facts are handed out again.
    fn give_up(&mut self, job: u8, who: u8) {
        let me = self.actor(job, who);
        let inbox = me.inbox;
        *me = Actor { inbox, look: true, ..Actor::default() };
    }

    /// Whoever is handed the facts of a job first looks at it when some are not acknowledged.
    fn move_pin(&mut self, job: u8) {
        let owner = &mut self.owners[usize::from(job)];
        *owner = 1 - *owner;
        self.look(job);
    }

    fn look(&mut self, job: u8) {
        let owner = self.owners[usize::from(job)];
        let side = self.side(job);
        side.actors[usize::from(owner)].look |= side.open & side.handed != 0;
    }

    fn crash(&mut self, who: u8, moves: bool) {
        for job in [PARENT, CHILD] {
            *self.actor(job, who) = Actor::default();
            if self.owners[usize::from(job)] == who {
                if moves { self.move_pin(job) } else { self.look(job) }
            }
        }
    }

    /// An actor takes what waits for it, and reads the log.
    fn take(&mut self, memory: &Memory, job: u8, who: u8) {
        let known = memory.all(self.log(job));
        let me = self.actor(job, who);
        (me.held, me.inbox, me.look) = (me.inbox, 0, false);
        (me.known, me.phase, me.fresh) = (known, Phase::Deciding { told: 0 }, true);
    }
}
