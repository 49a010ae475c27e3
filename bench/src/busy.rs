//! Scenario S: two processes with all roles, one of which is full of slow work. It measures whether
//! jobs of the busy process wait for it, and who carries out what it has no slots for.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use proto::{
    decision::{DecisionKind, pools},
    door::{AgentChoice, DirectCall, Submit},
    entry::Entry,
    fact::Fact,
    id::{AgentName, Seq, ToolName},
};
use serde::Serialize;
use serde_json::json;

use crate::{
    Failed,
    broker::Keeping,
    company::{Company, Roles, Setup},
    diamond::{self, Latency},
    figures::number,
    load::Submitter,
    logs::Logs,
    options::Options,
    say,
    table::Table,
    workload::Workload,
};

/// Slots for calls of each process.
const SLOTS: u64 = 8;
/// Duration of a slow call, longer than the measurement beside it.
const SLOW: Duration = Duration::from_secs(600);
/// Duration of a call that is too long to be carried out without the queue.
const LONG: Duration = Duration::from_millis(30);
/// Jobs with such a call.
const LONG_JOBS: usize = 50;

/// The figures of scenario S.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Busy {
    /// The version of the broker.
    pub(crate) server: String,
    /// Diamonds, one at a time, while both processes are idle.
    pub(crate) idle: Latency,
    /// Diamonds, one at a time, while all slots of one process hold slow calls.
    pub(crate) busy: Latency,
    /// Records of the diamonds beside slow calls.
    pub(crate) logs: Logs,
    /// Calls of [`LONG`] that each process carried out meanwhile, by its worker id. The jobs belong to
    /// both.
    pub(crate) long_calls: BTreeMap<String, usize>,
}

/// Measures idle processes, and then fills all slots of a process before the second one starts.
pub(crate) async fn measure(options: &Options, program: Option<PathBuf>) -> Result<Busy, Failed> {
    let settings = vec![("CALLBOARD__WORKERS__CALL_SLOTS".to_owned(), SLOTS.to_string())];
    let one = Setup {
        roles: Roles::Together,
        settings,
        ..Setup::new(program, Keeping::Default, Workload::Diamond)
    };
    let two = Setup { processes: 2, ..one.clone() };
    let company = Company::start(&two).await?;
    let submitter = Submitter::new(&company)?;
    diamond::warm_up(&company, &submitter).await?;
    let (idle, _) = diamond::latency(&company, options).await?;
    crate::run::tell_log(&company);
    drop(company);

    let mut company = Company::start(&one).await?;
    let submitter = Submitter::new(&company)?;
    diamond::warm_up(&company, &submitter).await?;
    for _ in 0..SLOTS {
        submitter.client.submit(call(SLOW)?).await?;
    }
    wait_until_full(&company).await?;
    company.grow(&two).await?;
    diamond::warm_up(&company, &submitter).await?;
    say("s: diamonds beside slow calls");
    let (busy, done) = diamond::latency(&company, options).await?;
    let jobs: Vec<_> = done.into_iter().map(|done| done.job).collect();
    let logs = Logs::read(&company.broker, &jobs).await?;
    let long_calls = long_calls(&company, &submitter).await?;
    crate::run::tell_log(&company);
    Ok(Busy { server: company.servers.version().to_string(), idle, busy, logs, long_calls })
}

/// Returns a job that is one call of `sleep`.
fn call(time: Duration) -> Result<Submit, Failed> {
    let args = json!({ "ms": u64::try_from(time.as_millis())? });
    let agent = Some(AgentChoice::Named(AgentName::new("unattended")?));
    let call = Some(DirectCall { tool: ToolName::new("sleep")?, args });
    let goal = format!("Sleep for {time:?}");
    Ok(Submit { id: Some(client::new_id()), agent, call, ..Submit::goal(goal) })
}

/// Waits until all slots for calls are taken.
async fn wait_until_full(company: &Company) -> Result<(), Failed> {
    let full = async {
        loop {
            let depth = company.broker.log.depth(DecisionKind::Call, &pools::builtin()).await?;
            if depth.in_flight >= SLOTS {
                return Ok::<_, Failed>(());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), full).await?
}

/// Runs jobs with a call of [`LONG`], one at a time, and returns who carried them out.
async fn long_calls(
    company: &Company,
    submitter: &Submitter,
) -> Result<BTreeMap<String, usize>, Failed> {
    let crew = company.client.crew().await?;
    let mut by: BTreeMap<_, _> =
        crew.workers.iter().map(|one| (one.worker.to_string(), 0)).collect();
    for _ in 0..LONG_JOBS {
        let submit = call(LONG)?;
        let job = submit.id.clone().ok_or("a job without an id")?;
        let end = submitter.ends.expect(&job);
        submitter.client.submit(submit).await?;
        end.ended().await?;
        let entries = company.broker.log.read(&job, Seq(0)).await?;
        *by.entry(caller(&entries).ok_or("a job without a call")?).or_default() += 1;
    }
    Ok(by)
}

/// Returns the worker id of the process that carried out the call of a job.
fn caller(entries: &[Entry]) -> Option<String> {
    let records = entries.iter().filter_map(|entry| entry.record.as_ref().ok());
    let mut results = records.filter(|record| record.results().iter().any(is_called));
    results.next().map(|record| record.by.clone())
}

fn is_called(fact: &Fact) -> bool {
    matches!(fact, Fact::Called(_))
}

/// Builds the table of S.
pub(crate) fn table(busy: &Busy) -> Table {
    let title = format!("S: two processes with all roles ({})", busy.server);
    let columns = ["diamonds, one at a time", "p50 ms", "p99 ms", "CPU ms/job", "others", "n"];
    let mut table = Table::new(title, &columns);
    let rows = [("both are idle", &busy.idle), ("one has no slot for calls left", &busy.busy)];
    for (name, figures) in rows {
        let mut row = vec![name.to_owned()];
        row.extend([figures.p50_ms, figures.p99_ms, figures.cpu_ms].map(|s| s.to_string()));
        row.push(number(figures.other_cores.median));
        row.push(figures.n.to_string());
        table.rows.push(row);
    }
    let calls: Vec<_> = busy.long_calls.values().map(usize::to_string).collect();
    table.notes.push(format!(
        "beside slow calls a diamond has {} records, of which {} hold commands and their results; calls \
         of {} ms go through the queue: of {LONG_JOBS} each process carried out {}",
        number(busy.logs.records),
        number(busy.logs.joined),
        LONG.as_millis(),
        calls.join(" and "),
    ));
    table
}
