//! The reasons why a job does not move, from its log and from what is known about the installation.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proto::{
    decision::{DecisionKind, SpawnWork, pools},
    id::{Attempt, JobId, Pool, Seq, Shard},
    job::FailReason,
    limits,
    why::{OpenCommand, Reason, ReasonCode, Why},
};

use super::{
    at::At,
    excerpt,
    state::{ActiveJob, Job},
    waits::{Labor, Unit},
};

/// Maximum number of reasons of one job.
const REASONS_MAX: usize = 16;
/// Maximum length of a question's text in a reason.
const PROMPT_CHARS: usize = 200;

/// The state of the installation around a job, which the job's log does not contain. The default
/// knows nothing.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Pools that live workers announce, by kind of command; `None` if not all live workers are
    /// known.
    pub announced: Option<BTreeSet<(DecisionKind, Pool)>>,
    /// Shard of the job, if no live supervisor owns it.
    pub unowned: Option<Shard>,
    /// Queues of commands in the job's shard.
    pub queues: BTreeMap<(DecisionKind, Pool), QueueState>,
    /// First reason why each child job does not move, for the children whose logs were read.
    pub children: BTreeMap<JobId, Why>,
}

/// The state of a queue of commands in one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueState {
    /// Position of the last command that was delivered to a worker.
    pub delivered: Seq,
    /// Number of commands that were never delivered.
    pub waiting: u64,
}

impl Surroundings {
    /// Returns `true` if it is known that no live worker takes such commands.
    fn lacks(&self, kind: DecisionKind, pool: &Pool) -> bool {
        let announced = self.announced.as_ref();
        announced.is_some_and(|announced| !announced.contains(&(kind, pool.clone())))
    }
}

impl Job {
    /// Returns the reasons why the job does not move, and the work that it waits for, the most
    /// important first. Empty if the job was never submitted or has ended.
    #[must_use]
    pub fn why(&self, around: &Surroundings) -> Vec<Why> {
        let Some(open) = self.open.as_ref().filter(|open| open.outcome().is_none()) else {
            return Vec::new();
        };
        let mut reasons = match &self.poison {
            Some(poison) => {
                let error = excerpt::line(&poison.reason, limits::EXCERPT_CHARS);
                vec![since(poison.time, Reason::Unreadable { record: poison.seq, error })]
            }
            None => self.waited_for(open, around),
        };
        if let Some(shard) = around.unowned {
            reasons.push(since(self.updated, Reason::NoSupervisor { shard }));
        }
        if reasons.is_empty() && (self.must_be_refolded() || self.decide().is_some()) {
            reasons.push(since(self.updated, Reason::Deciding));
        }
        reasons.sort_by_key(|why| (ReasonCode::from(&why.reason), why.since));
        reasons.truncate(REASONS_MAX);
        reasons
    }

    /// Returns everything that a readable job waits for.
    fn waited_for(&self, open: &ActiveJob, around: &Surroundings) -> Vec<Why> {
        let mut reasons = Vec::new();
        if let (Some(pause), Some(at)) = (open.steering.paused(), open.steering.paused_since()) {
            let (by, note) = (pause.by.clone(), pause.reason.clone());
            reasons.push(since(at, Reason::Paused { by, note }));
        }
        reasons.extend(self.asked(open, around));
        let path = open.family.path(&self.id);
        reasons.extend(open.units().iter().filter_map(|unit| of_unit(unit, open, path, around)));
        let asleep = open.execution.steps().iter().filter_map(|step| Some((step, step.sleep()?)));
        let asleep = asleep.filter(|(_, sleep)| sleep.is_waiting());
        reasons.extend(asleep.map(|(step, sleep)| {
            let (id, event) = (step.id().clone(), sleep.event.clone());
            Why {
                reason: match event {
                    None => Reason::Pausing { step: id },
                    Some(event) => Reason::Event { step: id, event },
                },
                since: step.started.unwrap_or(self.updated),
                until: sleep.until,
            }
        }));
        if reasons.is_empty() {
            // After a rollback the job waits for the ends of the children that it has called off.
            let called_off = open.family.alive().map(|child| &child.spawn);
            reasons.extend(called_off.map(|spawn| of_child(spawn, path, self.updated, around)));
        }
        reasons.extend(open.planning.failing().map(|(failure, at)| since(at, self.end(failure))));
        reasons
    }

    /// Returns the open questions of the job and its descendants.
    fn asked(&self, open: &ActiveJob, around: &Surroundings) -> Vec<Why> {
        let mut reasons = Vec::new();
        for asked in open.questions.open_in_order() {
            let (ask, prompt) = (asked.question.id.clone(), prompt(&asked.question.prompt));
            let reason = Reason::Question { job: self.id.clone(), path: None, ask, prompt };
            reasons.push(Why { reason, since: asked.asked, until: asked.question.deadline });
            // Without an interaction actor the question is not in the inbox.
            let (kind, pool) = (DecisionKind::Ask, pools::people());
            if around.lacks(kind, &pool) {
                let (work, attempt) = (asked.work.clone(), Attempt::FIRST);
                let step = asked.question.step.clone();
                let command =
                    OpenCommand { work, attempt, kind, pool, step, tool: None, remembered: None };
                reasons.push(since(asked.asked, Reason::NoWorker { command }));
            }
        }
        reasons.extend(open.family.reported().map(|reported| {
            let (below, question) = (&reported.question, &reported.question.question);
            let reason = Reason::Question {
                job: below.job.clone(),
                path: Some(below.path.clone()),
                ask: question.id.clone(),
                prompt: prompt(&question.prompt),
            };
            Why { reason, since: reported.since, until: question.deadline }
        }));
        reasons
    }

    /// Returns the reason of a job that will fail when running work has ended.
    fn end(&self, failure: FailReason) -> Reason {
        let used_up = |open: &ActiveJob| open.gauges(self.age_ms()).find(|it| it.is_used_up());
        match self.open.as_ref().and_then(used_up) {
            Some(gauge) if failure == FailReason::BudgetExceeded => Reason::BudgetUsed { gauge },
            Some(_) | None => Reason::Ending { failure },
        }
    }
}

/// Returns the reason why a unit of work has not ended, or `None` if its next command or wait is
/// about to be stored.
fn of_unit(unit: &Unit<'_>, open: &ActiveJob, path: &str, around: &Surroundings) -> Option<Why> {
    let (work, attempts) = (unit.work.clone(), unit.attempts);
    if let Some((attempt, at)) = attempts.command() {
        if let Labor::Call(_, call) = unit.labor
            && call.is_agent()
        {
            return child(unit, open, path, attempt, at, around);
        }
        let why = of_command(command(unit, attempt)?, at, around);
        let is_lost = matches!(why.reason, Reason::NoWorker { .. });
        return Some(match attempts.retry().filter(|_| !is_lost) {
            Some(retry) if let Some(start) = retry.outage_since => {
                let error = excerpt::line(retry.error, limits::EXCERPT_CHARS);
                since(start, Reason::Outage { work, attempt, error })
            }
            Some(_) | None => why,
        });
    }
    if let Some((attempt, error, at)) = attempts.broken_attempt() {
        let error = excerpt::line(&error.message, limits::EXCERPT_CHARS);
        return match attempts.outage_since() {
            _ if unit.is_parked() => Some(since(at, Reason::GivenUp { work, attempt, error })),
            Some(start) => {
                let attempt = attempt.next();
                Some(since(start, Reason::Outage { work, attempt, error }))
            }
            None => None,
        };
    }
    let retry = attempts.retry().filter(|retry| retry.until.is_some())?;
    let (attempt, error) = (retry.next, excerpt::line(retry.error, limits::EXCERPT_CHARS));
    let (at, reason) = match retry.outage_since {
        Some(start) => (start, Reason::Outage { work, attempt, error }),
        None => {
            let max_attempts = attempts.last_allowed(unit.retries);
            (retry.broke, Reason::Retry { work, attempt, max_attempts, error })
        }
    };
    Some(Why { reason, since: at, until: retry.until })
}

/// Returns the command of a unit of work; `None` for a run of a step, which has none.
fn command(unit: &Unit<'_>, attempt: Attempt) -> Option<OpenCommand> {
    let mut remembered = None;
    let (kind, pool, step, tool) = match unit.labor {
        Labor::Plan => (DecisionKind::Plan, pools::models(), None, None),
        Labor::Turn(step) => (DecisionKind::Turn, pools::models(), Some(step), None),
        Labor::Call(step, call) => {
            remembered.clone_from(&call.remembered);
            (DecisionKind::Call, call.binding.pool.clone(), Some(step), Some(call.tool.clone()))
        }
        Labor::Run => return None,
    };
    let (work, step) = (unit.work.clone(), step.map(|step| step.id().clone()));
    Some(OpenCommand { work, attempt, kind, pool, step, tool, remembered })
}

/// Returns the place of a command: in its queue, or with a worker.
fn of_command(command: OpenCommand, at: At, around: &Surroundings) -> Why {
    let queue = around.queues.get(&(command.kind, command.pool.clone()));
    let reason = match queue {
        _ if around.lacks(command.kind, &command.pool) => Reason::NoWorker { command },
        None => Reason::Sent { command },
        Some(queue) if at.seq > queue.delivered => {
            Reason::Queued { command, waiting: queue.waiting.max(1) }
        }
        Some(_) => Reason::Running { command },
    };
    since(at.time, reason)
}

/// Returns the wait for a child job.
fn child(
    unit: &Unit<'_>,
    open: &ActiveJob,
    path: &str,
    attempt: Attempt,
    at: At,
    around: &Surroundings,
) -> Option<Why> {
    Some(of_child(&open.family.child(&unit.work, attempt)?.spawn, path, at.time, around))
}

/// Returns the wait for the child job of a spawn.
fn of_child(spawn: &SpawnWork, path: &str, at: Timestamp, around: &Surroundings) -> Why {
    let why = around.children.get(&spawn.child).cloned().map(Box::new);
    let until = why.as_ref().and_then(|why| why.until);
    let reason = Reason::Child {
        job: spawn.child.clone(),
        path: format!("{path}/{}", spawn.step),
        agent: spawn.agent.name.clone(),
        why,
    };
    Why { reason, since: at, until }
}

fn since(since: Timestamp, reason: Reason) -> Why {
    Why { reason, since, until: None }
}

fn prompt(prompt: &str) -> String {
    excerpt::line(prompt, PROMPT_CHARS)
}
