//! Workflows that wait for an event: their memory, and the time until one goes on.

use std::time::{Duration, Instant, SystemTime};

use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    door::SendSignal,
    fact::Fact,
    id::{JobId, Seq},
    point::Order,
    record::Known,
    workflow::EventName,
};
use serde_json::json;

use crate::{
    Failed,
    company::Company,
    diamond,
    figures::ms,
    load::Submitter,
    options::Options,
    parked::{self, PARKING, Parked},
};

/// Begins the workflows, reads the memory, and sends events to some of them.
pub(crate) async fn measure(company: &Company, options: &Options) -> Result<Parked, Failed> {
    let submitter = super::submitter(company)?;
    let sizes = (options.waiting, options.woken);
    // Caches, consumers and connections exist before the first reading.
    let (some, _) = park(&submitter, diamond::WARM.min(options.woken)).await?;
    wake(company, &submitter, some).await?;
    parked::measured(
        company,
        options,
        sizes,
        async |jobs| park(&submitter, jobs).await,
        async |jobs| wake(company, &submitter, jobs).await,
    )
    .await
}

/// Begins workflows, and waits until each of them waits for its event.
async fn park(submitter: &Submitter, jobs: usize) -> Result<(Vec<JobId>, Duration), Failed> {
    let began = Instant::now();
    let waiting = stream::iter(0..jobs).map(|_| async move {
        let job = client::new_id();
        let waits = submitter.ends.expect(&job);
        submitter.client.submit(submitter.submit(&job, false)).await?;
        waits.waits().await.map_err(|why| format!("job {job}: {why}"))?;
        Ok::<_, Failed>(job)
    });
    let waiting = waiting.buffer_unordered(PARKING).try_collect().await?;
    Ok((waiting, began.elapsed()))
}

/// Sends each job its event, one after the other. Returns the times to the next decision and to the
/// end of each job.
async fn wake(
    company: &Company,
    submitter: &Submitter,
    jobs: Vec<JobId>,
) -> Result<(Vec<f64>, Vec<f64>), Failed> {
    let (mut woken, mut done) = (Vec::new(), Vec::new());
    for job in jobs {
        let signal = Order::Event { name: EventName::new("go")?, data: json!({"n": 1}) };
        let (expected_seq, reason, by) = (None, None, Some("bench".to_owned()));
        let signal = SendSignal { job: job.clone(), signal, expected_seq, reason, by };
        let end = submitter.ends.expect(&job);
        let (at, began) = (SystemTime::now(), Instant::now());
        submitter.client.call(&signal).await?;
        let ended = end.completed().await.map_err(|why| format!("job {job}: {why}"))?;
        done.push(ms(ended.saturating_duration_since(began)));
        woken.push((job, at));
    }
    let mut went_on = Vec::with_capacity(woken.len());
    for (job, at) in woken {
        let next = next_decision(company, &job).await?;
        went_on.push(ms(next.duration_since(at).unwrap_or_default()));
    }
    Ok((went_on, done))
}

/// Returns the time at which the first decision after the event was stored.
async fn next_decision(company: &Company, job: &JobId) -> Result<SystemTime, Failed> {
    let entries = company.broker.log.read(job, Seq(0)).await?;
    let mut woken = false;
    for entry in &entries {
        match entry.record.as_ref().ok().and_then(|record| record.known().ok()) {
            Some(Known::Fact(fact)) => woken |= matches!(*fact, Fact::Signaled(_)),
            Some(Known::Decision(_)) if woken => return Ok(entry.time.into()),
            Some(Known::Decision(_)) | None => {}
        }
    }
    Err(format!("job {job} has no decision after its event").into())
}
