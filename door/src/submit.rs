//! `submit`: a new job, or the one that is there.

use broker::{Broker, log::Submission};
use proto::{
    agent::Agent,
    door,
    entry::Entry,
    error::{Code, Failure},
    fact::{Fact, Submitted},
    id::{JobId, Seq},
    toolbox::Toolbox,
};
use runtime::{
    config::Role,
    service::{Call, Handled},
};
use uuid::Uuid;

use super::{Door, admit, conversation, direct, files, forking, presets, secrets};

impl Door {
    pub(super) async fn submit(&self, call: &Call) -> Result<Handled, Failure> {
        let caller = self.admit(call, Role::Submit)?;
        self.quota.take(caller.key())?;
        let by = caller.recorded(None)?;
        let mut admitted = self
            .agents
            .look(|agents| admit::submission(&call.payload, agents, &self.prices, by))?;
        if admitted.fork.is_none() {
            presets::check(&admitted.submitted.agent, &self.registry, &self.schemas)?;
        }
        if let Some(call) = admitted.call.take() {
            direct::plan(&mut admitted.submitted, call, &self.registry, &self.schemas)?;
        } else if admitted.fork.is_none() {
            admit::like_a_tool(&admitted.submitted, &self.tool_names())?;
        }
        let job = match admitted.id {
            Some(id) => id,
            None => JobId::new(Uuid::now_v7().simple().to_string())?,
        };
        if let Some(fork) = &admitted.fork {
            self.admit(call, Role::Read)?;
            // A fork that is there is not made again: the other job may have been purged since.
            let there = self.broker.log.read(&job, Seq(0)).await?;
            if let Some(first) = there.first() {
                return self.attached(job, first, &admitted.submitted.digest);
            }
            admitted.submitted =
                forking::submission(&*self.broker.log, fork, admitted.submitted).await?;
            files::renew(&admitted.submitted.files, &*self.broker.objects).await?;
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
            // Looking through large files takes a while: a request that was sent again is answered first.
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
        Handled::json(&door::Submitted { job, shard, seq, created, warnings })
    }
}

impl Door {
    /// The answer to a submission of a job that is there.
    fn attached(&self, job: JobId, first: &Entry, digest: &str) -> Result<Handled, Failure> {
        same(&job, first, digest)?;
        let shard = self.broker.log.subjects().shard_of(&job);
        let (seq, warnings) = (first.seq, Vec::new());
        Handled::json(&door::Submitted { job, shard, seq, created: false, warnings })
    }

    /// Tools that the job's agents name and no worker announces.
    fn unannounced(&self, submitted: &Submitted) -> Vec<String> {
        let callees = submitted.agents.iter().flat_map(|(name, callee)| {
            let told = self.unannounced_by(&callee.agent);
            told.into_iter().map(move |told| format!("agent {name}: {told}"))
        });
        self.unannounced_by(&submitted.agent).into_iter().chain(callees).collect()
    }

    /// Tools that an agent names and no worker announces. Where none is known at all, nobody can say
    /// that a name is wrong.
    pub(super) fn unannounced_by(&self, agent: &Agent) -> Vec<String> {
        let registered = self.registry.all();
        if registered.is_empty() {
            return Vec::new();
        }
        let tools = Toolbox::new(registered.iter().map(|tool| &tool.spec), None);
        tools.unannounced(agent.tools.as_deref().unwrap_or_default())
    }
}

/// Whether the job that is there was submitted with the same body.
fn same(job: &JobId, first: &Entry, digest: &str) -> Result<(), Failure> {
    match first.submission() {
        Some(submitted) if submitted.digest == digest => Ok(()),
        Some(_) => {
            let why = format!("job {job} already exists and was submitted with another body");
            Err(Failure::new(Code::IdempotencyConflict, why).at("id"))
        }
        None => {
            let why = format!("job {job} already exists; its record {} cannot be read", first.seq);
            Err(Failure::new(Code::Poisoned, why).at("id"))
        }
    }
}
