//! `jobs snapshot`, `rollback`, `restart`, `fork` and `diff`: positions of a job's log, and
//! continuation from one.

use client::Client;
use proto::{
    diff::JobDiff,
    door::{Preview, SendSignal, Signaled, Submit},
    id::{JobId, Seq},
    lang::Words,
    point::{Fork, Order, Point},
    view::JobView,
};

use super::{
    jobs::{caller, check_terminal, confirmed},
    preview, submit,
};
use crate::{
    args::{DiffArgs, ForkArgs, Global, RestartArgs, RollBackArgs, SnapshotArgs},
    connect,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    render::{diff, marks, points},
    words::Text,
};

pub(super) async fn snapshot(global: &Global, output: Output, args: SnapshotArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let SnapshotArgs { job, name, at, reason } = args;
    let Some(name) = name else { return named(&client, output, &job).await };
    let signal = Order::Snapshot { name: name.clone(), at: at.clone() };
    let sending = Sending { signal, expected_seq: None, reason, yes: true };
    let SendSignal { job, .. } = send(&client, output, &job, sending, |signaled| {
        let Signaled { job, seq, .. } = signaled;
        let at = at.unwrap_or(Point::Seq(*seq));
        Text::SnapshotMade { job, name: &name, at: &at }.into()
    })
    .await?;
    output.note(Text::RollBackWith { job: &job, name: &name });
    Ok(Exit::Success)
}

/// Lists the snapshots of a job.
async fn named(client: &Client, output: Output, job: &str) -> Outcome {
    let view = connect::job(client, job).await?;
    let all = &view.snapshots;
    output.list(all, all, |one| one.name.to_string(), |style| points::list(style, &view))
}

pub(super) async fn roll_back(global: &Global, output: Output, args: RollBackArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let RollBackArgs { job, to, again, expect, dry_run, reason } = args;
    let signal = Order::RollBack { to: to.clone(), again };
    let sending = Sending { signal, expected_seq: expect.map(Seq), reason, yes: global.yes };
    if dry_run {
        return foretell(&client, output, &job, sending).await;
    }
    send(&client, output, &job, sending, |Signaled { job, state, .. }| {
        Text::RolledBack { job, to: &to, state }.into()
    })
    .await?;
    Ok(Exit::Success)
}

pub(super) async fn restart(global: &Global, output: Output, args: RestartArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let RestartArgs { job, step, again, expect, dry_run, reason } = args;
    let signal = Order::Restart { step: step.clone(), again };
    let sending = Sending { signal, expected_seq: expect.map(Seq), reason, yes: global.yes };
    if dry_run {
        return foretell(&client, output, &job, sending).await;
    }
    send(&client, output, &job, sending, |Signaled { job, state, .. }| {
        Text::Restarted { job, step: &step, state }.into()
    })
    .await?;
    Ok(Exit::Success)
}

/// Prints what a signal would do.
async fn foretell(client: &Client, output: Output, named: &str, sending: Sending) -> Outcome {
    let job = connect::job(client, named).await?.job;
    let request = preview::of(&job, sending.signal, sending.expected_seq);
    preview::run(client, output, vec![request]).await
}

/// A signal to send.
struct Sending {
    signal: Order,
    /// Last record that the user saw.
    expected_seq: Option<Seq>,
    reason: Option<String>,
    /// `true` to ask nothing.
    yes: bool,
}

async fn send(
    client: &Client,
    output: Output,
    named: &str,
    sending: Sending,
    said: impl FnOnce(&Signaled) -> Words,
) -> Result<SendSignal, CliError> {
    let Sending { signal, expected_seq, reason, yes } = sending;
    let view = connect::job(client, named).await?;
    // An ended job that is rolled back runs again and repeats its effects.
    let goes_back = matches!(signal, Order::RollBack { .. } | Order::Restart { .. });
    if goes_back && view.state.is_terminal() && !yes {
        check_terminal(Text::RollingBackEnded)?;
        let goal = proto::escape::line(&view.goal);
        let job = Text::JobWithGoal { job: &view.job, state: &view.state, goal: &goal };
        let sentence = preview::sentence(client, &view.job, signal.clone()).await?;
        let lines = [Some(job.into()), sentence, Some(Text::ConfirmRollBack.into())];
        confirmed(output, Text::RollingBackEnded, lines.into_iter().flatten()).await?;
    }
    let job = view.job;
    let request = SendSignal { job, signal, expected_seq, reason, by: caller() };
    let signaled = client.call(&request).await?;
    output.one(&signaled, signaled.job.as_str(), |style| {
        let (mark, tone) = marks::job(signaled.state);
        let said = said(&signaled);
        let said = said.text(style.language);
        format!("{}\n", style.paint(tone, &format!("{mark} {said}")))
    })?;
    Ok(request)
}

pub(super) async fn fork(global: &Global, output: Output, args: ForkArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let ForkArgs { job, at, id, again, dry_run } = args;
    let job = connect::job(&client, &job).await?.job;
    let fork = Fork { job, at, again };
    if dry_run {
        return preview::run(&client, output, vec![Preview::Fork(fork)]).await;
    }
    let fork = Some(fork);
    let id = Some(id.unwrap_or_else(client::new_id));
    let submitted = submit::store(&client, output, Submit { id, fork, ..Submit::goal("") }).await?;
    submit::print(output, &submitted)?;
    Ok(Exit::Success)
}

pub(super) async fn diff(global: &Global, output: Output, args: DiffArgs) -> Outcome {
    let client = connect::client(global, output).await?;
    let one = connect::job(&client, &args.job).await?;
    let other = match &args.with {
        Some(named) => connect::job(&client, named).await?,
        None => one.clone(),
    };
    let from = at(&client, one, args.a).await?;
    let to = at(&client, other, args.b).await?;
    let difference = JobDiff::between(&from, &to);
    output.one(&difference, difference.to.job.as_str(), |style| diff::show(style, &difference))
}

async fn at(client: &Client, now: JobView, point: Option<Point>) -> Result<JobView, CliError> {
    let job: JobId = now.job.clone();
    match point {
        None => Ok(now),
        Some(point) => Ok(client.get_at(&job, point).await?),
    }
}
