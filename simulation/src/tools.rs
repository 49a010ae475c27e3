//! The tools of the simulation. Each takes a while, records its effect in the [`Ledger`], and
//! sometimes fails. They replace the world that real tools reach; the worker that runs them is
//! real.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use proto::{
    decision::pools,
    id::ToolName,
    tool::{Approval, Effect, Fault, ToolResult, ToolSpec},
};
use serde_json::{Value, json};
use tokio::time::Instant;
use tool_actors::{CallContext, InvalidToolset, Tool, ToolFault, Toolset};

use crate::{
    chance::Chance,
    fault_rates::FaultRates,
    ledger::{Ledger, Run, Running},
    link::Link,
    story::Story,
};

/// The parts that all tools of a process share.
#[derive(Debug, Clone)]
pub(crate) struct Bench {
    pub(crate) link: Arc<Link>,
    pub(crate) ledger: Ledger,
    pub(crate) chance: Chance,
    pub(crate) fault_rates: FaultRates,
    pub(crate) story: Story,
    pub(crate) process: String,
}

/// The behaviour of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Succeeds, within the fault rates.
    Works,
    /// Is often unavailable.
    Flaky,
    /// Always returns a failed result.
    Doomed,
}

struct Workload {
    name: &'static str,
    effect: Effect,
    approval: Approval,
    manner: Manner,
    bench: Bench,
}

/// Returns all tools of a process.
pub(crate) fn toolset(bench: &Bench) -> Result<Toolset, InvalidToolset> {
    use Approval::{Always, Never};
    use Effect::{Idempotent, Once, Pure};
    use Manner::{Doomed, Flaky, Works};
    let all = [
        ("note", Pure, Never, Works),
        ("put", Idempotent, Never, Works),
        ("pay", Once, Never, Works),
        ("wire", Once, Always, Works),
        ("flaky", Idempotent, Never, Flaky),
        ("doomed", Pure, Never, Doomed),
    ];
    let tools = all.into_iter().map(|(name, effect, approval, manner)| {
        let bench = bench.clone();
        Arc::new(Workload { name, effect, approval, manner, bench }) as Arc<dyn Tool>
    });
    Toolset::new(pools::builtin(), tools.collect())
}

#[async_trait]
impl Tool for Workload {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::new(self.name).expect("plain words are names of tools"),
            description: "Does an errand.".to_owned(),
            schema: json!({
                "type": "object",
                "properties": { "text": { "type": "string" } },
                "required": ["text"],
            }),
            effect: self.effect,
            pool: pools::builtin(),
            timeout_ms: 20_000,
            concurrency: 4,
            approval: self.approval,
            destructive: false,
            untrusted: false,
            version: "1".to_owned(),
            commands: Vec::new(),
            translations: BTreeMap::new(),
        }
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let (name, effect) = (self.name, self.effect);
        let act = Act { name, effect, is_flaky: self.manner == Manner::Flaky };
        self.bench.carry_out(&act, context).await?;
        match self.manner {
            Manner::Doomed => Ok(ToolResult::failed("it will never work")),
            Manner::Works | Manner::Flaky => Ok(ToolResult::ok(json!({ "text": args["text"] }))),
        }
    }
}

/// The part of a tool that a run of it depends on.
pub(crate) struct Act<'a> {
    pub(crate) name: &'a str,
    pub(crate) effect: Effect,
    /// `true` if the tool is often unavailable.
    pub(crate) is_flaky: bool,
}

impl Bench {
    /// Runs a tool: takes a while, has the effect, and sometimes fails, before the effect or after it.
    ///
    /// # Errors
    /// The fault of the run.
    pub(crate) async fn carry_out(
        &self,
        act: &Act<'_>,
        context: CallContext,
    ) -> Result<(), ToolFault> {
        let running = self.begin(act, &context);
        let Self { chance, fault_rates, link, story, process, .. } = self;
        let rough = fault_rates.tools_percent();
        let longest = fault_rates.longest_work(if chance.percent(10) { 12_000 } else { 400 });
        tokio::time::sleep(chance.millis(1..=longest)).await;
        // The tool does not need the broker, so it continues while its process runs.
        link.run().await;
        if chance.percent(rough) || (act.is_flaky && chance.percent(40)) {
            return Err(ToolFault::unavailable("what the tool needs is not there"));
        }
        if chance.percent(rough / 4) {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        }
        if chance.percent(rough) {
            // Like a thread that cannot be stopped: dropping the call's future does not prevent the
            // effect.
            let (hand, link, late) =
                (running.run.hand(), Arc::clone(link), chance.millis(0..=3_000));
            let thread = tokio::spawn(async move {
                tokio::time::sleep(late).await;
                link.run().await;
                hand.effect();
            });
            thread.await.map_err(|_| ToolFault::internal("the thread broke"))?;
        } else {
            running.run.hand().effect();
        }
        story.tell(process, || format!("{} of {} has its effect", context.work, context.job));
        tokio::time::sleep(chance.millis(0..=longest)).await;
        link.run().await;
        if chance.percent(rough / 2) {
            return Err(ToolFault::new(Fault::Internal, "the tool broke after its effect"));
        }
        Ok(())
    }

    fn begin(&self, act: &Act<'_>, context: &CallContext) -> Narrated {
        let Self { link, ledger, story, process, .. } = self;
        let CallContext { job, work, attempt, idempotency_key, .. } = context;
        let name = ToolName::new(act.name).expect("the name of a tool in a toolset");
        story.tell(process, || format!("{name} begins for {work} #{attempt} of {job}"));
        let run = ledger.begin(Run {
            job: job.clone(),
            work: work.clone(),
            attempt: *attempt,
            tool: name.clone(),
            effect: act.effect,
            key: idempotency_key.clone(),
            link: Arc::clone(link),
            began: Instant::now(),
            up_since: link.up_since(),
            effect_at: None,
            over: None,
        });
        Narrated { run, tool: name, bench: self.clone(), context: context.clone() }
    }
}

/// A run whose end the story records, however the run ends.
struct Narrated {
    run: Running,
    tool: ToolName,
    bench: Bench,
    context: CallContext,
}

impl Drop for Narrated {
    fn drop(&mut self) {
        let CallContext { job, work, attempt, .. } = &self.context;
        let Bench { story, process, .. } = &self.bench;
        story.tell(process, || format!("{} ends for {work} #{attempt} of {job}", self.tool));
    }
}
