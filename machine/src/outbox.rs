//! The messages of a job to its parent and children, and the first record of a child. The
//! supervisor that stores a decision sends its messages first.

use proto::{
    cost::Paid,
    decision::{Decision, Finish, Note, SpawnWork},
    digest,
    fact::{Fact, Signal, Signaled, Submitted},
    family::{self, ChildQuestion, ChildSaid, News, Parent},
    id::JobId,
    job::Outcome,
    message::Usage,
    workflow::WorkflowRun,
};

use super::{
    kin_text::{self, Text},
    state::{Account, ActiveJob, Job},
    step::{Exec, StepRun},
};

/// A message to another job, to be sent before a decision is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Tell {
    /// Submit the job, unless its log already exists.
    Submit {
        /// Id of the child.
        job: JobId,
        /// Submission of the child.
        submitted: Box<Submitted>,
        /// Fact for this job's own log if the id belongs to a job that is not its child.
        refused: Box<Fact>,
    },
    /// Append a fact to the job's log.
    Say {
        /// Id of the parent or child.
        job: JobId,
        /// Fact to append.
        fact: Box<Fact>,
    },
}

impl Job {
    /// Returns the messages that must be sent before the decision is stored.
    pub(super) fn tells(&self, open: &ActiveJob, decision: &Decision) -> Vec<Tell> {
        let tell = match decision {
            Decision::Note(note) => self.tell(open, note),
            Decision::Finish(Finish { outcome, .. }) => {
                let (outcome, Account { usage, turns, paid }) = (outcome.clone(), open.account());
                self.to_parent(open, News::Ended { outcome, usage, turns, paid })
            }
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Ask(_)
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Done(_) => None,
        };
        tell.into_iter().collect()
    }

    fn tell(&self, open: &ActiveJob, note: &Note) -> Option<Tell> {
        match note {
            Note::Spawned { work, attempt, .. } => {
                let child = open.family.child(work, *attempt)?;
                Some(self.submit(open, &child.spawn))
            }
            Note::ChildTold { work, attempt, signal, .. } => {
                let child = open.family.child(work, *attempt)?;
                let reason = match signal {
                    Signal::Cancel => {
                        Some(Text::EndedAbove { job: &self.id }.text(open.language()))
                    }
                    Signal::Pause => {
                        open.steering.paused().and_then(|paused| paused.reason.clone())
                    }
                    Signal::Resume
                    | Signal::Retry
                    | Signal::Steer { .. }
                    | Signal::Snapshot { .. }
                    | Signal::Event { .. }
                    | Signal::EditGraph { .. }
                    | Signal::RollBack { .. } => None,
                };
                let (signal, parent_seq) = (signal.clone(), Some(open.family.halted()));
                let said = Signaled { signal, reason, by: None, parent_seq };
                let (job, fact) = (child.spawn.child.clone(), Box::new(Fact::Signaled(said)));
                Some(Tell::Say { job, fact })
            }
            Note::ParentTold { job, ask, open: true, .. } => {
                let mut asking = open.asking(&self.id);
                let found = asking.find(|q| q.job == *job && q.question.id == *ask)?;
                let ChildQuestion { path, job, question } = found;
                self.to_parent(open, News::Asks { path, job, question: Box::new(question) })
            }
            Note::ParentTold { job, ask, open: false, .. } => {
                self.to_parent(open, News::Closed { job: job.clone(), ask: ask.clone() })
            }
            Note::QuestionClosed { .. }
            | Note::Stopped { .. }
            | Note::Held { .. }
            | Note::GraphEdited { .. }
            | Note::Advanced(_)
            | Note::Concluded { .. } => None,
        }
    }

    fn to_parent(&self, open: &ActiveJob, news: News) -> Option<Tell> {
        let parent = open.family.parent()?;
        let (work, attempt) = (parent.work.clone(), parent.attempt);
        let said = ChildSaid { work, attempt, child: self.id.clone(), news };
        Some(Tell::Say { job: parent.job.clone(), fact: Box::new(Fact::Child(said)) })
    }

    /// Returns the submission of a child.
    fn submit(&self, open: &ActiveJob, spawn: &SpawnWork) -> Tell {
        let parent = Parent {
            job: self.id.clone(),
            work: spawn.work.clone(),
            attempt: spawn.attempt,
            root: open.family.parent().map_or(&self.id, |above| &above.root).clone(),
            path: format!("{}/{}", open.family.path(&self.id), spawn.step),
            depth: open.family.depth().saturating_add(1),
        };
        let callees = open.family.callees();
        let submitted =
            Submitted {
                goal: spawn.goal.clone(),
                agent: spawn.agent.clone(),
                language: spawn.language,
                language_detected: false,
                digest: digest::of_bytes(spawn.child.as_str().as_bytes()),
                by: None,
                conversation: None,
                parent: Some(parent),
                agents: callees.map(|all| family::reachable(&spawn.agent, all)).unwrap_or_default(),
                forked: None,
                plan: None,
                workflow: match &spawn.workflow {
                    Some(sub) => Some(open.sub_run(sub).unwrap_or_else(|| {
                        WorkflowRun::gone(sub.workflow.clone(), sub.input.clone())
                    })),
                    None => open.callee_run(spawn),
                }
                .map(Box::new),
                files: open.brief.files.clone(),
                labels: open.brief.labels.clone(),
                rules: open.brief.rules,
            };
        let message = Text::IdTaken { id: &spawn.child }.text(open.language());
        let reason = proto::job::FailReason::StepFailed;
        let outcome = Outcome::Failed { reason, message, results: serde_json::Value::Null };
        let refused = ChildSaid {
            work: spawn.work.clone(),
            attempt: spawn.attempt,
            child: spawn.child.clone(),
            news: News::Ended { outcome, usage: Usage::default(), turns: 0, paid: Paid::default() },
        };
        let (job, refused) = (spawn.child.clone(), Box::new(Fact::Child(refused)));
        Tell::Submit { job, submitted: Box::new(submitted), refused }
    }

    /// Returns the decision to spawn the child that a call needs, if it may start now.
    pub(super) fn spawn(
        &self,
        open: &ActiveJob,
        step: &StepRun,
        call: &super::call::Call,
    ) -> Option<SpawnWork> {
        let attempt = call.would_send()?;
        let share = open.share()?;
        let mut agent = match &call.workflow {
            // A sub-workflow runs under the policies of the job.
            Some(sub) => open.sub_workflow_agent(sub)?,
            None => {
                let sub = open.brief.agent.sub_agent(call.tool.as_str())?;
                let callee = open.family.callees()?.get(&sub.name)?;
                sub.policies(&callee.agent)
            }
        };
        share.bound(&mut agent, &open.brief.agent);
        let marked = open.mark.as_ref().map(|mark| &mark.tool);
        agent.approval = open.brief.agent.approval.passed_on(&agent.approval, marked);
        if let Some(ms) = open.brief.agent.deadline_ms {
            let left = ms.saturating_sub(self.age_ms()).max(1);
            agent.deadline_ms = Some(agent.deadline_ms.map_or(left, |own| own.min(left)));
        }
        let language = agent.language.unwrap_or(open.language());
        let is_step = matches!(step.exec, Exec::Tool(_));
        let observe = &open.brief.agent.observe;
        let before = if is_step { open.execution.dependencies(step, observe) } else { Vec::new() };
        let goal = match &call.workflow {
            Some(_) => step.step.title.clone(),
            None => kin_text::task(language, &call.task().ok()?, &before),
        };
        Some(SpawnWork {
            work: call.work.clone(),
            attempt,
            step: step.id().clone(),
            child: family::child_id(&self.id, self.first, &call.work, attempt),
            agent,
            goal,
            language,
            workflow: call.workflow.as_deref().cloned(),
            remembered: call.covered_by().cloned(),
        })
    }
}
