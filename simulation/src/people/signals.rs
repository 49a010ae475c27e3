//! The operations of people who roll jobs back, fork them, or signal their children. The verdict
//! compares the replies with the logs.

use proto::{
    door::Verb,
    error::Code,
    id::{JobId, Seq},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::People;
use crate::{
    door_client::DoorReply,
    operator_actions::{Deed, What, Where},
    workload::Workload,
};

/// The maximum number of attempts to read the target of an operation.
const LOOKS_MAX: u32 = 5;

impl People {
    /// Performs the operations of a workload, after its job was accepted.
    pub(super) async fn do_all(&self, workload: &Workload) {
        let job = &workload.job;
        for (n, deed) in workload.deeds.iter().enumerate() {
            tokio::time::sleep(deed.after).await;
            let Some(job) = self.whom(job, deed).await else { continue };
            match &deed.what {
                What::Say(signal) => self.order(&job, json!(signal)).await,
                What::EditGraph(edits) => {
                    let view = self.view(&job).await;
                    let known = view.map(|view| view["graph"]["revision"].as_u64());
                    let base = known.flatten().unwrap_or_default();
                    let edit = json!({ "edit_graph": { "base": base, "edits": edits } });
                    self.order(&job, edit).await;
                }
                What::Name(name) => {
                    self.order(&job, json!({ "snapshot": { "name": name } })).await;
                }
                What::Back { to, again } => {
                    if let Some(to) = self.point(&job, to).await {
                        self.order(&job, json!({ "roll_back": { "to": to, "again": again } }))
                            .await;
                    }
                }
                What::Restart { step, again } => {
                    if let Some(step) = self.step(&job, *step).await {
                        self.order(&job, json!({ "restart": { "step": step, "again": again } }))
                            .await;
                    }
                }
                What::Fork { at, again } => {
                    if let Some(at) = self.point(&job, at).await {
                        let id = format!("{}-f{n}", workload.job);
                        let fork = json!({ "job": job, "at": at, "again": again });
                        self.fork(JobId::new(id).expect("a job's id, and two letters more"), fork)
                            .await;
                    }
                }
            }
        }
    }

    /// Returns the target of an operation; `None` when it concerns a child and the job has none.
    async fn whom(&self, job: &JobId, deed: &Deed) -> Option<JobId> {
        if !deed.below {
            return Some(job.clone());
        }
        let view = self.view(job).await?;
        let below: Vec<JobId> = view["children"]
            .as_array()?
            .iter()
            .filter_map(|child| JobId::new(child["job"].as_str()?).ok())
            .collect();
        (!below.is_empty()).then(|| self.chance.pick(&below).clone())
    }

    /// Returns `true` if the graph of a job was changed.
    pub(super) async fn is_edited(&self, job: &JobId) -> bool {
        let view = self.view(job).await;
        view.is_some_and(|view| view["graph"]["revision"].as_u64().is_some_and(|it| it > 0))
    }

    async fn view(&self, job: &JobId) -> Option<Value> {
        for _ in 0..LOOKS_MAX {
            match self.counter.ask(Verb::Get, &json!({ "job": job })).await {
                DoorReply::Reply(view) => return Some(view),
                DoorReply::Refused(Code::NotFound, _) => return None,
                DoorReply::Refused(code, why) => {
                    let what = format!("nobody may look at {job}: {code}: {why}");
                    self.lock().complaints.push(what);
                    return None;
                }
                DoorReply::Nothing => self.rest().await,
            }
        }
        None
    }

    /// Returns a position in the form of a request.
    async fn point(&self, job: &JobId, point: &Where) -> Option<Value> {
        let percent = match point {
            Where::Named(name) => return Some(json!(name)),
            Where::Into(percent) => usize::try_from(*percent).unwrap_or_default(),
        };
        for _ in 0..LOOKS_MAX {
            if let Ok(entries) = self.counter.broker.log.read(job, Seq(0)).await {
                let at = entries.len() * percent / 100;
                return entries.get(at).map(|entry| json!(entry.seq));
            }
            self.rest().await;
        }
        None
    }

    /// Returns the id of a step of the current plan.
    async fn step(&self, job: &JobId, n: u64) -> Option<Value> {
        let view = self.view(job).await?;
        let steps = view["plan"]["steps"].as_array()?;
        let n = usize::try_from(n).unwrap_or_default();
        (!steps.is_empty()).then(|| steps[n % steps.len()]["id"].clone())
    }

    /// Sends a signal that the job's state may have refused.
    async fn order(&self, job: &JobId, order: Value) {
        let request = json!({ "job": job, "signal": order, "by": "ann" });
        let asked = Instant::now();
        loop {
            match self.counter.ask(Verb::Signal, &request).await {
                DoorReply::Reply(reply) => {
                    let seq = Seq(reply["seq"].as_u64().unwrap_or_default());
                    self.story.tell("people", || format!("{job} heard {order} at {seq}"));
                    if !order["edit_graph"].is_null() {
                        self.story.count("graphs edited");
                        self.lock().edited.insert((job.clone(), seq));
                    }
                    if !order["roll_back"].is_null() || !order["restart"].is_null() {
                        self.lock().went_back.insert((job.clone(), seq), asked);
                    }
                    return;
                }
                DoorReply::Refused(code, why) => return self.refused(job, &order, code, &why),
                DoorReply::Nothing => self.rest().await,
            }
        }
    }

    async fn fork(&self, id: JobId, fork: Value) {
        let body = json!({ "id": id, "fork": fork });
        let asked = Instant::now();
        if fork["again"] == json!(true) {
            self.lock().forked_again.insert(id.clone());
        }
        loop {
            match self.counter.ask(Verb::Submit, &body).await {
                DoorReply::Reply(reply) => {
                    self.story.tell("people", || format!("{id} goes on from {fork}"));
                    let created = reply["created"] == json!(true);
                    let mut told = self.lock();
                    told.accepted.insert(id.clone());
                    told.forked.insert(id.clone(), asked);
                    *told.created.entry(id.clone()).or_default() += u32::from(created);
                    return;
                }
                DoorReply::Refused(code, why) => return self.refused(&id, &fork, code, &why),
                DoorReply::Nothing => self.rest().await,
            }
        }
    }

    /// Records a refusal, and complains about one that no state of a job justifies.
    fn refused(&self, job: &JobId, what: &Value, code: Code, why: &str) {
        self.story.tell("people", || format!("{what} to {job} was refused: {code}: {why}"));
        let may_be = matches!(
            code,
            Code::InvalidRequest | Code::NotFound | Code::WouldRepeat | Code::JobEnded
        ) || (code == Code::Stale && !what["edit_graph"].is_null());
        if may_be {
            self.story.count("deeds refused");
        } else {
            let what = format!("{what} to {job} was refused: {code}: {why}");
            self.lock().complaints.push(what);
        }
    }
}
