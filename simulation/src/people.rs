//! The simulated people of a world. They submit jobs, send signals, and answer questions: late,
//! sometimes twice, sometimes wrongly, sometimes never. The verdict compares the replies that they
//! received with the logs.

mod signals;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use proto::{
    door::{InboxEntry, InboxPage, Verb},
    error::Code,
    fact::Signal,
    id::{AskId, JobId, Seq, StepId},
    interaction::{Field, Input, QuestionKind},
    plan::{Action, Plan, Step},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    chance::Chance,
    door_client::{Counter, DoorReply},
    story::Story,
    workload::Workload,
};

/// The maximum number of answers to questions of one job. A job whose planner never returns
/// anything usable may ask as long as somebody answers.
const QUESTIONS_MAX: usize = 25;

/// The maximum number of refusals after which a workflow is submitted again.
const REFUSALS_MAX: u32 = 100;

/// The wait before a request is repeated.
const AGAIN: Duration = Duration::from_secs(2);

/// The people of a world, and the replies that they received. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct People {
    counter: Counter,
    chance: Chance,
    story: Story,
    told: Arc<Mutex<Told>>,
}

/// The replies that people received, and the questions that they left open.
#[derive(Debug, Clone, Default)]
pub(crate) struct Told {
    /// Jobs whose submission was accepted.
    pub(crate) accepted: BTreeSet<JobId>,
    /// The number of replies that a submission created the job.
    pub(crate) created: BTreeMap<JobId, u32>,
    /// The time of the first reply that a job is canceled.
    pub(crate) canceled: BTreeMap<JobId, Instant>,
    /// Questions that remain unanswered for ever.
    pub(crate) ignored: BTreeSet<(JobId, AskId)>,
    /// The positions of accepted answers, by question.
    pub(crate) answered: BTreeMap<(JobId, AskId), Vec<u64>>,
    /// Edits of graphs of which people were told that they are in force.
    pub(crate) edited: BTreeSet<(JobId, Seq)>,
    /// Accepted rollbacks by position, with the time of their first request.
    pub(crate) went_back: BTreeMap<(JobId, Seq), Instant>,
    /// Accepted forks, with the time of their first request.
    pub(crate) forked: BTreeMap<JobId, Instant>,
    /// Requested forks that allow repeated effects, accepted or not.
    pub(crate) forked_again: BTreeSet<JobId>,
    /// The number of tasks of people that are still in progress.
    pub(crate) busy: usize,
    /// Replies that violate a claim.
    pub(crate) complaints: Vec<String>,
    seen: BTreeSet<(JobId, AskId)>,
}

impl People {
    /// Starts the people and their workloads.
    pub(crate) fn begin(
        counter: Counter,
        chance: Chance,
        story: Story,
        workloads: Vec<Workload>,
    ) -> Self {
        let people = Self { counter, chance, story, told: Arc::default() };
        people.lock().busy = workloads.len();
        for workload in workloads {
            tokio::spawn(people.clone().run(workload));
        }
        tokio::spawn(people.clone().look_into_the_inbox());
        people
    }

    /// Returns the replies that people received so far.
    pub(crate) fn told(&self) -> Told {
        self.lock().clone()
    }

    async fn run(self, workload: Workload) {
        tokio::time::sleep(workload.at).await;
        if workload.twice {
            let second = self.clone().submit(workload.clone());
            self.lock().busy += 1;
            let people = self.clone();
            tokio::spawn(async move {
                second.await;
                people.lock().busy -= 1;
            });
        }
        self.clone().submit(workload.clone()).await;
        if !workload.deeds.is_empty() {
            self.lock().busy += 1;
            let (people, workload) = (self.clone(), workload.clone());
            tokio::spawn(async move {
                people.do_all(&workload).await;
                people.lock().busy -= 1;
            });
        }
        for (after, signal) in &workload.signals {
            tokio::time::sleep(*after).await;
            self.signal(&workload.job, signal.clone()).await;
        }
        self.lock().busy -= 1;
    }

    async fn submit(self, workload: Workload) {
        let (job, mut refusals) = (&workload.job, 0);
        loop {
            match self.counter.ask(Verb::Submit, &workload.body).await {
                DoorReply::Reply(reply) => {
                    let created = reply["created"] == json!(true);
                    self.story.tell("people", || format!("{job} is accepted, created: {created}"));
                    let mut told = self.lock();
                    told.accepted.insert(job.clone());
                    *told.created.entry(job.clone()).or_default() += u32::from(created);
                    return;
                }
                // The front door may not have heard of the tools of a workflow yet.
                DoorReply::Refused(Code::InvalidRequest, _)
                    if refusals < REFUSALS_MAX && workload.body.get("workflow").is_some() =>
                {
                    refusals += 1;
                    self.rest().await;
                }
                DoorReply::Refused(code, why) => {
                    let what = format!("the submission of {job} was refused: {code}: {why}");
                    return self.lock().complaints.push(what);
                }
                DoorReply::Nothing => self.rest().await,
            }
        }
    }

    async fn signal(&self, job: &JobId, signal: Signal) {
        let request = json!({ "job": job, "signal": signal, "by": "ann" });
        loop {
            match self.counter.ask(Verb::Signal, &request).await {
                DoorReply::Reply(reply) => {
                    let state = reply["state"].as_str().unwrap_or_default().to_owned();
                    self.story.tell("people", || format!("{job} heard {signal:?}: it is {state}"));
                    if signal == Signal::Cancel && state == "canceled" {
                        self.lock().canceled.entry(job.clone()).or_insert_with(Instant::now);
                    }
                    return;
                }
                // The job had ended before the signal.
                DoorReply::Refused(Code::JobEnded, _) => return,
                // No unit of work waits for an operator any more.
                DoorReply::Refused(Code::NotFound, _) if signal == Signal::Retry => return,
                // The node that waited for the event is gone.
                DoorReply::Refused(Code::InvalidRequest, _)
                    if matches!(signal, Signal::Event { .. }) && self.is_edited(job).await =>
                {
                    return;
                }
                DoorReply::Refused(code, why) => {
                    let what = format!("{signal:?} to {job} was refused: {code}: {why}");
                    return self.lock().complaints.push(what);
                }
                DoorReply::Nothing => self.rest().await,
            }
        }
    }

    async fn look_into_the_inbox(self) {
        loop {
            tokio::time::sleep(self.chance.millis(500..=3_000)).await;
            let DoorReply::Reply(page) = self.counter.ask(Verb::Inbox, &json!({})).await else {
                continue;
            };
            match serde_json::from_value::<InboxPage>(page) {
                Ok(page) => page.questions.iter().for_each(|entry| self.notice(entry)),
                Err(error) => {
                    self.lock().complaints.push(format!("the inbox cannot be read: {error}"));
                }
            }
        }
    }

    /// Decides once for each question whether to answer it, and how many people do.
    fn notice(&self, entry: &InboxEntry) {
        let key = (entry.job.clone(), entry.question.id.clone());
        if !self.lock().seen.insert(key.clone()) {
            return;
        }
        let of_the_job = self.lock().seen.iter().filter(|(job, _)| *job == entry.job).count();
        if self.chance.percent(4) || of_the_job > QUESTIONS_MAX {
            self.story.tell("people", || format!("nobody will answer {} of {}", key.1, key.0));
            self.lock().ignored.insert(key);
            return;
        }
        let people = if self.chance.percent(20) { 2 } else { 1 };
        for _ in 0..people {
            self.lock().busy += 1;
            let (me, entry) = (self.clone(), entry.clone());
            tokio::spawn(async move {
                me.answer(&entry).await;
                me.lock().busy -= 1;
            });
        }
    }

    async fn answer(&self, entry: &InboxEntry) {
        let longest = if self.chance.percent(15) { 60_000 } else { 4_000 };
        tokio::time::sleep(self.chance.millis(100..=longest)).await;
        let (job, ask) = (&entry.job, &entry.question.id);
        if self.chance.percent(15) {
            let wrong = json!({ "job": job, "ask": ask, "decision": "respond", "value": [[1]], "by": "bob" });
            if let DoorReply::Reply(_) = self.counter.ask(Verb::Answer, &wrong).await {
                let what = format!("a wrong answer to {ask} of {job} was taken");
                self.lock().complaints.push(what);
            }
        }
        let mut request = self.draw(&entry.question.kind);
        request["job"] = json!(job);
        request["ask"] = json!(ask);
        request["by"] = json!("ann");
        loop {
            match self.counter.ask(Verb::Answer, &request).await {
                DoorReply::Reply(taken) => {
                    self.story.tell("people", || format!("{ask} of {job} is answered: {request}"));
                    if request["decision"] == json!("edit") {
                        self.story.count("plans edited");
                    }
                    let seq = taken["seq"].as_u64().unwrap_or_default();
                    let key = (job.clone(), ask.clone());
                    return self.lock().answered.entry(key).or_default().push(seq);
                }
                DoorReply::Refused(
                    Code::AlreadyAnswered | Code::Closed | Code::JobEnded | Code::NotFound,
                    _,
                ) => return,
                // The changed plan may contradict the agent. Then the plan is approved unchanged.
                DoorReply::Refused(..) if request["decision"] == json!("edit") => {
                    self.story.count("edits refused");
                    request["decision"] = json!("approve");
                    request["value"] = Value::Null;
                }
                DoorReply::Refused(code, why) => {
                    let what = format!("the answer to {ask} of {job} was refused: {code}: {why}");
                    return self.lock().complaints.push(what);
                }
                DoorReply::Nothing => self.rest().await,
            }
        }
    }

    /// Draws a valid answer.
    fn draw(&self, kind: &QuestionKind) -> Value {
        let respond = |value: Value| json!({ "decision": "respond", "value": value });
        match kind {
            QuestionKind::PlanCheck { plan, digest, .. } => match self.chance.number(0..=9) {
                0 => json!({ "decision": "reject" }),
                1 | 2 => json!({ "decision": "respond", "text": "please another one" }),
                3 | 4 => json!({ "decision": "edit", "digest": digest, "value": self.edit(plan) }),
                _ => json!({ "decision": "approve", "digest": digest }),
            },
            QuestionKind::ToolApproval { digest, .. } => match self.chance.number(0..=9) {
                0 | 1 => json!({ "decision": "reject" }),
                _ => json!({ "decision": "approve", "digest": digest }),
            },
            QuestionKind::Question => respond(json!("for ann")),
            QuestionKind::Choice { options, multiple } => {
                let one = self.chance.pick(options).value.clone();
                respond(if *multiple { json!([one]) } else { json!(one) })
            }
            QuestionKind::Form { fields } => {
                let filled = fields.iter().map(|field| (field.key.clone(), filled_in(field)));
                respond(Value::Object(filled.collect()))
            }
        }
    }

    /// Returns the plan with one change: a step removed, a step added, or the order reversed.
    fn edit(&self, plan: &Plan) -> Value {
        let mut steps: Vec<Value> = plan.steps.iter().map(drafted).collect();
        let needed = |id: &StepId| plan.steps.iter().any(|step| step.depends_on.contains(id));
        let spare = plan.steps.iter().position(|step| !needed(&step.id));
        match (self.chance.number(0..=2), spare) {
            (0, Some(spare)) if steps.len() > 1 => _ = steps.remove(spare),
            (1, _) => steps.reverse(),
            _ => {
                let number = self.chance.number(0..=999);
                steps.push(json!({
                    "id": format!("mine{number}"), "description": "what ann wants",
                    "tool": "put", "args": { "text": "ann" },
                }));
            }
        }
        json!({ "title": format!("{}, edited", plan.title), "steps": steps })
    }

    async fn rest(&self) {
        tokio::time::sleep(AGAIN + self.chance.millis(0..=1_000)).await;
    }

    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts a step to the form of an edited plan.
fn drafted(step: &Step) -> Value {
    let mut draft = json!({
        "id": step.id, "title": step.title, "description": step.description,
        "depends_on": step.depends_on,
    });
    if let Action::Tool { tool, args, .. } = &step.action {
        draft["tool"] = json!(tool);
        draft["args"] = args.clone();
    }
    draft
}

fn filled_in(field: &Field) -> Value {
    match &field.input {
        Input::Text { .. } => json!("words"),
        Input::Number { min, .. } => json!(min.unwrap_or(3.0)),
        Input::Boolean => json!(true),
        Input::Select { options, multiple } => {
            let one = options.first().map(|option| option.value.clone()).unwrap_or_default();
            if *multiple { json!([one]) } else { json!(one) }
        }
    }
}
