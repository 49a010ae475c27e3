//! The verb `submit`: stores a new job, or attaches to an identical one.

use agents::toolbox::{Toolbox, Unannounced};
use broker::{Broker, log::Submission};
use proto::{
    agent::Agent,
    door,
    entry::Entry,
    error::{Code, Failure},
    fact::{Fact, Submitted},
    id::{JobId, Seq},
    point::Fork,
    refusal::{Text, Warnings},
};
use runtime::service::{Answers, Asked};
use uuid::Uuid;

use super::{
    Door,
    admit::{self, Given},
    conversation, direct, files,
    forking::{self, NewFork},
    output, planned, presets, secrets, workflow,
};

impl Answers<door::Submit> for Door {
    async fn answer(&self, asked: Asked<'_, door::Submit>) -> Result<door::Submitted, Failure> {
        let Asked { caller, call, .. } = asked;
        self.quota.take(caller.key())?;
        let by = caller.recorded(None)?;
        let mut admitted = self
            .agents
            .look(|agents| admit::submission(&call.payload, agents, &self.prices, by))?;
        // Tools and workflows may have changed since the first of two equal submissions.
        if let (Some(job), true) = (&admitted.id, admitted.depends())
            && let Some(first) = self.broker.log.first(job).await?
        {
            return self.attached(job.clone(), &first, &admitted.submitted.digest);
        }
        if admitted.fork.is_none() {
            presets::check(&admitted.submitted.agent, &self.registry, &self.schemas)?;
            self.usable_outputs(&admitted.submitted, admitted.has_output)?;
        }
        let (given, submitted) = (admitted.given.take(), &mut admitted.submitted);
        let has_agents = admitted.fork.is_none() && !matches!(given, Some(Given::Call(_)));
        if has_agents {
            admit::like_a_tool(submitted, &self.tool_names())?;
        }
        match given {
            None => {}
            Some(Given::Call(call)) => {
                direct::plan(submitted, call, &self.registry, &self.schemas)?;
            }
            Some(Given::Plan(plan)) => {
                planned::plan(submitted, plan, &self.registry, &self.schemas)?;
            }
            Some(Given::Workflow(workflow)) => {
                self.workflows
                    .look(|shelf| workflow::adopt(submitted, workflow, &self.registry, shelf))?;
            }
        }
        if has_agents {
            self.workflows
                .look(|shelf| workflow::of_sub_agents(submitted, &self.registry, shelf))?;
        }
        let job = match admitted.id {
            Some(id) => id,
            None => JobId::new(Uuid::now_v7().simple().to_string())?,
        };
        if let Some(fork) = &admitted.fork {
            Asked::<door::Get>::admit(call, &self.people).await?;
            // An existing fork is returned without a look at its source, which may have been purged
            // since.
            let there = self.broker.log.read(&job, Seq(0)).await?;
            if let Some(first) = there.first() {
                return self.attached(job, first, &admitted.submitted.digest);
            }
            admitted.submitted = self.forked(fork, admitted.submitted).await?;
        }
        if secrets::looks_like_one(&admitted.submitted.goal) {
            tracing::warn!(%job, "the goal seems to contain a secret; it is stored unchanged");
        }
        let Submitted { agent, conversation, forked, .. } = &mut admitted.submitted;
        if let (Some(joined), None) = (conversation, forked) {
            let Broker { log, kv, .. } = &self.broker;
            *joined = conversation::join(&**log, &**kv, &joined.id, &job, &agent.memory).await?;
        }
        if !admitted.files.is_empty() {
            // Checking large files takes a while, so a repeated request is answered first.
            if let Some(first) = self.broker.log.read(&job, Seq(0)).await?.first() {
                return self.attached(job, first, &admitted.submitted.digest);
            }
            admitted.submitted.files = files::keep(admitted.files, &*self.broker.objects).await?;
        }
        let warnings = self.unannounced(&admitted.submitted);
        let digest = admitted.submitted.digest.clone();
        let fact = Fact::Submitted(admitted.submitted);
        let (seq, created) = match self.broker.log.submit(&job, &fact, call.trace).await? {
            Submission::Stored(seq) => (seq, true),
            Submission::Exists(first) => {
                same(&job, &first, &digest)?;
                (first.seq, false)
            }
        };
        let shard = self.broker.log.subjects().shard_of(&job);
        tracing::debug!(%job, %seq, created, "submitted");
        Ok(door::Submitted { job, shard, seq, created, warnings })
    }
}

impl Door {
    /// Returns the submission of a fork, and refreshes what it takes along.
    async fn forked(&self, fork: &Fork, own: Submitted) -> Result<Submitted, Failure> {
        let NewFork { submitted, artifacts } =
            forking::submission(&*self.broker.log, fork, own).await?;
        files::renew(&submitted.files, &*self.broker.objects).await?;
        files::renew_present(&artifacts, &*self.broker.objects).await?;
        Ok(submitted)
    }

    /// Returns the reply to a repeated submission.
    fn attached(
        &self,
        job: JobId,
        first: &Entry,
        digest: &str,
    ) -> Result<door::Submitted, Failure> {
        same(&job, first, digest)?;
        let shard = self.broker.log.subjects().shard_of(&job);
        let (seq, warnings) = (first.seq, Warnings::default());
        Ok(door::Submitted { job, shard, seq, created: false, warnings })
    }

    /// Refuses schemas of results that no reply can be checked against.
    fn usable_outputs(&self, submitted: &Submitted, by_request: bool) -> Result<(), Failure> {
        let before = if by_request { "" } else { "agent." };
        output::usable(&submitted.agent, before, &self.schemas)?;
        submitted.agents.iter().try_for_each(|(name, callee)| {
            output::usable(&callee.agent, &format!("agent.agents.{name}."), &self.schemas)
        })
    }

    /// Returns warnings about tools that the job's agents name and no worker announces.
    fn unannounced(&self, submitted: &Submitted) -> Warnings {
        let own = self.unannounced_by(&submitted.agent).into_iter().map(|tool| (None, tool));
        let callees = submitted.agents.iter().flat_map(|(name, callee)| {
            let tools = self.unannounced_by(&callee.agent);
            tools.into_iter().map(move |tool| (Some(name), tool))
        });
        let all: Vec<_> = own.chain(callees).collect();
        all.iter().map(|(agent, tool)| tool.text(*agent)).collect()
    }

    /// Returns the tools that an agent names and no worker announces. Without any announced tool
    /// there are none, because no name can be judged.
    pub(super) fn unannounced_by(&self, agent: &Agent) -> Vec<Unannounced> {
        let registered = self.registry.all();
        if registered.is_empty() {
            return Vec::new();
        }
        let tools = Toolbox::new(registered.iter().map(|tool| &tool.spec), None);
        tools.unannounced(agent.tools.as_deref().unwrap_or_default())
    }
}

/// Checks that the existing job was submitted with the same body.
fn same(job: &JobId, first: &Entry, digest: &str) -> Result<(), Failure> {
    match first.submission() {
        Some(submitted) if submitted.digest == digest => Ok(()),
        Some(_) => Err(Failure::of(Code::IdempotencyConflict, Text::Taken { job }).at("id")),
        None => {
            let why = Text::TakenUnreadable { job, record: &first.seq };
            Err(Failure::of(Code::Poisoned, why).at("id"))
        }
    }
}
