//! The verb `preview`: says what a signal or a fork would do. It changes nothing, and checks the
//! request with the code that would carry it out.

use machine::preview::{self, Foresight};
use proto::{
    consequence::{Consequence, Undone},
    door::{Get, Preview, Previewed, SendSignal, Submit},
    entry::Entry,
    error::{Code, Failure},
    fact::Signal,
    id::JobId,
    lang::Language,
    point::{Fork, Order},
};
use runtime::service::{Answers, Asked};

use super::{
    Door, descendants, fold, forking,
    signal::{Checked, check_reason, unmoved},
};

impl Answers<Preview> for Door {
    async fn answer(&self, asked: Asked<'_, Preview>) -> Result<Previewed, Failure> {
        let request = asked.request()?;
        let Asked { caller, call, .. } = asked;
        match request {
            Preview::Signal(request) => {
                Asked::<SendSignal>::admit(call, &self.people).await?;
                check_reason(request.reason.as_deref())?;
                caller.recorded(request.by.as_deref())?;
                self.preview_signal(&request).await
            }
            Preview::Fork(fork) => {
                Asked::<Submit>::admit(call, &self.people).await?;
                // The reply shows the job.
                Asked::<Get>::admit(call, &self.people).await?;
                self.preview_fork(&fork).await
            }
        }
    }
}

impl Door {
    async fn preview_signal(&self, request: &SendSignal) -> Result<Previewed, Failure> {
        let SendSignal { job, signal: order, expected_seq, .. } = request;
        let entries = fold::read(&*self.broker.log, job).await?;
        if let Err(moved) = unmoved(job, &entries, *expected_seq) {
            return Ok(shown(job, &entries, Foresight::default(), None, Some(moved)));
        }
        let checked = self.check(job, order.clone(), &entries).await;
        let repeating = self.check(job, repeating(order.clone()), &entries);
        let (checked, refused) = judged(checked, repeating).await;
        let signal = match checked {
            Some(Checked::Back(signal) | Checked::Open { signal, .. }) => signal,
            Some(Checked::Unread) => {
                let consequence = Some(Consequence::Reread);
                return Ok(shown(job, &entries, Foresight::default(), consequence, refused));
            }
            None => return Ok(shown(job, &entries, Foresight::default(), None, refused)),
        };
        let foresight = fold::apart(job, || preview::of_signal(job, &entries, &signal))?;
        let foresight = self.with_descendants(foresight).await?;
        let consequence = consequence(order, &signal, &foresight);
        Ok(shown(job, &entries, foresight, Some(consequence), refused))
    }

    async fn preview_fork(&self, fork: &Fork) -> Result<Previewed, Failure> {
        let (log, job) = (&*self.broker.log, &fork.job);
        let entries = forking::source(log, fork).await?;
        let again = Fork { again: true, ..fork.clone() };
        let along = forking::along(log, fork, &entries).await;
        let (along, refused) = judged(along, forking::along(log, &again, &entries)).await;
        let Some(along) = along else {
            return Ok(shown(job, &entries, Foresight::default(), None, refused));
        };
        let foresight = fold::apart(job, || preview::of_fork(job, &entries, along.seq))?;
        let foresight = self.with_descendants(foresight).await?;
        let at = fork.at.is_some().then_some(along.seq);
        let consequence = Consequence::Fork { at, undone: undone(&foresight) };
        Ok(shown(job, &entries, foresight, Some(consequence), refused))
    }

    /// Adds what the logs of the jobs below tell.
    async fn with_descendants(&self, mut foresight: Foresight) -> Result<Foresight, Failure> {
        let log = &*self.broker.log;
        foresight.ends = descendants::running(log, foresight.ends).await?;
        let children = std::mem::take(&mut foresight.children);
        descendants::outside(log, children, &mut foresight.effects).await?;
        Ok(foresight)
    }
}

/// Returns what a check found, and its refusal. A request that would repeat effects is checked again
/// as one that may, because its sender wants to know what it does then.
async fn judged<T>(
    checked: Result<T, Failure>,
    repeating: impl Future<Output = Result<T, Failure>>,
) -> (Option<T>, Option<Failure>) {
    match checked {
        Ok(found) => (Some(found), None),
        Err(refused) if refused.code == Code::WouldRepeat => (repeating.await.ok(), Some(refused)),
        Err(refused) => (None, Some(refused)),
    }
}

/// Returns the order with the permission to repeat effects.
fn repeating(order: Order) -> Order {
    match order {
        Order::RollBack { to, .. } => Order::RollBack { to, again: true },
        Order::Recover { .. } => Order::Recover { again: true },
        Order::Restart { step, .. } => Order::Restart { step, again: true },
        Order::Cancel
        | Order::Pause
        | Order::Resume
        | Order::Retry
        | Order::Steer { .. }
        | Order::Event { .. }
        | Order::EditGraph { .. }
        | Order::Migrate { .. }
        | Order::Snapshot { .. } => order,
    }
}

fn consequence(order: &Order, signal: &Signal, foresight: &Foresight) -> Consequence {
    match (order, signal) {
        (Order::Restart { step, .. }, _) => {
            let title = foresight.steps.iter().find(|one| one.id == *step);
            let step = title.map_or_else(|| step.to_string(), |one| one.title.clone());
            Consequence::Restart { step, undone: undone(foresight) }
        }
        (Order::Recover { .. }, _) => Consequence::Recover(undone(foresight)),
        (_, Signal::RollBack { .. }) => Consequence::RollBack(undone(foresight)),
        (_, Signal::Cancel) => Consequence::Cancel { below: foresight.ends.len() },
        (_, Signal::Pause) => Consequence::Pause,
        (_, Signal::Resume) => Consequence::Resume,
        (_, Signal::Retry) => Consequence::Retry,
        (_, Signal::Steer { .. }) => Consequence::Steer,
        (_, Signal::Event { .. }) => Consequence::Event,
        (_, Signal::EditGraph { changes, .. }) => {
            Consequence::EditGraph { changes: changes.clone() }
        }
        (_, Signal::Snapshot { at, .. }) => Consequence::Snapshot { at: *at },
    }
}

fn undone(foresight: &Foresight) -> Undone {
    Undone {
        records: foresight.records,
        steps: foresight.steps.iter().map(|step| step.title.clone()).collect(),
        plans: foresight.plans,
        tools: foresight.effects.iter().map(|one| one.tool.clone()).collect(),
        ends: foresight.ends.clone(),
    }
}

fn shown(
    job: &JobId,
    entries: &[Entry],
    foresight: Foresight,
    consequence: Option<Consequence>,
    refused: Option<Failure>,
) -> Previewed {
    let Foresight { records, steps, plans, effects, ends, children: _ } = foresight;
    Previewed {
        job: job.clone(),
        seq: entries.last().map(|entry| entry.seq).unwrap_or_default(),
        text: consequence.as_ref().map(|it| it.text(Language::En)).unwrap_or_default(),
        sentences: consequence.map(|it| it.sentences()).unwrap_or_default(),
        records,
        steps,
        plans,
        effects,
        ends,
        refused: refused.map(Box::new),
    }
}
