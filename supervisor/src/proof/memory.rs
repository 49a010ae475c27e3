//! The memoised parts of worlds. A state of the model refers to logs and activations by number; the
//! numbers refer to entries as the log stores them, and to activations as a job's actor holds them.
//!
//! Architecture invariant: the code that reads, folds and decides here is production code.
//! code of production.

use std::collections::HashMap;

use machine::Next;
use proto::{
    decision::{Decision, Note},
    fact::Fact,
    id::{JobId, TimerName, Unit},
};

use super::{
    actor::{Input, Message, Node},
    log::Log,
    mutation::Mutation,
    script::{Saying, Script},
    world::Places,
};

pub(super) struct Memory {
    pub(super) script: Script,
    pub(super) mutation: Option<Mutation>,
    pub(super) jobs: Vec<JobId>,
    /// Logs. The first are the empty logs of the jobs.
    logs: Vec<Log>,
    longer: HashMap<(u32, Saying), u32>,
    /// Activations. The first are those of jobs that have not been read.
    pub(super) nodes: Vec<Node>,
    pub(super) by_content: HashMap<(u64, u64, Places), u32>,
    pub(super) steps: HashMap<(u32, Input), u32>,
    pub(super) nexts: Vec<Next>,
    by_next: HashMap<String, u32>,
    pub(super) messages: Vec<Message>,
    by_message: HashMap<String, u32>,
    facts: Vec<Fact>,
    by_fact: HashMap<String, u32>,
    timers: Vec<TimerName>,
    /// Units of work that a supervisor may carry out itself.
    units: Vec<Unit>,
}

impl Memory {
    pub(super) fn new(script: Script) -> Self {
        let jobs = script.jobs();
        let mut memory = Self {
            script,
            mutation: None,
            logs: jobs.iter().cloned().map(Log::empty).collect(),
            longer: HashMap::new(),
            nodes: Vec::new(),
            by_content: HashMap::new(),
            steps: HashMap::new(),
            nexts: Vec::new(),
            by_next: HashMap::new(),
            messages: Vec::new(),
            by_message: HashMap::new(),
            facts: Vec::new(),
            by_fact: HashMap::new(),
            timers: Vec::new(),
            units: Vec::new(),
            jobs: jobs.clone(),
        };
        jobs.into_iter().for_each(|job| memory.add_actor(job));
        memory
    }

    pub(super) fn log(&self, log: u32) -> &Log {
        &self.logs[log as usize]
    }

    /// Returns the index of a job in its family.
    pub(super) fn index(&self, job: &JobId) -> u8 {
        let index = self.jobs.iter().position(|other| other == job);
        u8::try_from(index.expect("it is of the family")).expect("a family is small")
    }

    /// Returns the number of a timer.
    pub(super) fn timer(&mut self, name: &TimerName) -> u8 {
        let known = self.timers.iter().position(|timer| timer == name);
        let number = known.unwrap_or_else(|| {
            self.timers.push(name.clone());
            self.timers.len() - 1
        });
        u8::try_from(number).ok().filter(|n| *n < 16).expect("a small job has few timers")
    }

    /// Returns the number of a unit of work.
    pub(super) fn unit(&mut self, unit: &Unit) -> u8 {
        let known = self.units.iter().position(|other| other == unit);
        let number = known.unwrap_or_else(|| {
            self.units.push(unit.clone());
            self.units.len() - 1
        });
        u8::try_from(number).ok().filter(|n| *n < 16).expect("a small job has few units of work")
    }

    pub(super) fn timer_name(&self, timer: u8) -> &TimerName {
        &self.timers[usize::from(timer)]
    }

    /// Returns the log with one more record.
    pub(super) fn append(&mut self, log: u32, saying: Saying) -> u32 {
        if let Some(longer) = self.longer.get(&(log, saying)) {
            return *longer;
        }
        let before = &self.logs[log as usize];
        let written = self.script.write(before, saying, self);
        let mut longer = before.clone();
        longer.take(written);
        self.logs.push(longer);
        let longer = number(self.logs.len() - 1);
        self.longer.insert((log, saying), longer);
        longer
    }

    pub(super) fn fact(&self, fact: u32) -> &Fact {
        &self.facts[fact as usize]
    }

    /// Returns the number of a fact.
    pub(super) fn intern_fact(&mut self, fact: &Fact) -> u32 {
        intern(&mut self.facts, &mut self.by_fact, fact)
    }

    /// Returns the number of a decision with its timers and messages.
    pub(super) fn intern_next(&mut self, next: &Next) -> u32 {
        intern(&mut self.nexts, &mut self.by_next, next)
    }

    /// Returns `true` if a decision advances a workflow.
    pub(super) fn is_advance(&self, next: u32) -> bool {
        matches!(self.nexts[next as usize].decision, Decision::Note(Note::Advanced(_)))
    }

    /// Returns the number of a message to another job.
    pub(super) fn intern_message(&mut self, message: &Message) -> u32 {
        intern(&mut self.messages, &mut self.by_message, message)
    }
}

fn intern<T: Clone + std::fmt::Debug>(
    all: &mut Vec<T>,
    by_content: &mut HashMap<String, u32>,
    one: &T,
) -> u32 {
    *by_content.entry(format!("{one:?}")).or_insert_with(|| {
        all.push(one.clone());
        number(all.len() - 1)
    })
}

pub(super) fn number(n: usize) -> u32 {
    u32::try_from(n).expect("the model is small")
}
