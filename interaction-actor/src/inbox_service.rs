//! The verbs `answer` and `inbox` of the front door.
//!
//! An answer is validated completely before it becomes a fact, and it becomes one only if no other
//! answer was stored in between. Of two simultaneous answers exactly one is accepted; the other is
//! refused with the name of the winner.

use std::sync::Arc;

use async_trait::async_trait;
use broker::{
    Broker,
    clock::{Clock, SystemClock},
    kv::{Bucket, KvError},
    log::CasOutcome,
};
use machine::{Job, QuestionStatus};
use proto::{
    agent::Agent,
    decision::Closed,
    door::{AnswerTaken, GiveAnswer, Inbox, InboxPage, Link, Redeem, Server, Unlink, Verb},
    entry::Entry,
    error::{Code, Failure},
    fact::{Answered, Fact},
    id::{AskId, JobId, Seq},
    interaction::{Answer, Misfit, Question, QuestionKind, Verdict},
    lang::Words,
    limits,
    refusal::Text,
    trace::TraceContext,
};
use runtime::{
    people::{Caller, People},
    registry::Registry,
    schema::Schemas,
    service::{Answers, Asked, Call, Handled, Service},
};

use crate::{edit, inbox, question_log::QuestionLog};

/// Default number of questions in a page.
const USUAL: u32 = 100;
/// Retries of an answer after another fact from a person was stored in between.
const RACES_MAX: usize = 50;
/// Name recorded with an answer that names no person.
const ANONYMOUS: &str = "anonymous";

mod links;

/// The person who answers.
#[derive(Debug, Clone)]
struct Giver {
    by: String,
    /// `true` if the server knows this person by a token, and not by what the request says.
    known: bool,
    /// `true` if the request forbids the submitter to answer for plans and calls.
    four_eyes: bool,
}

/// Accepts answers, makes links and lists the inbox, as the service of a [`runtime::service::ServiceActor`].
#[derive(Debug)]
pub struct InboxService {
    broker: Broker,
    people: People,
    registry: Registry,
    schemas: Arc<Schemas>,
    clock: Arc<dyn Clock>,
}

impl InboxService {
    /// Creates the service of an installation. Edited plans are validated against the tools of
    /// `registry`.
    #[must_use]
    pub fn new(broker: Broker, people: People, registry: Registry) -> Self {
        let clock = Arc::new(SystemClock::new());
        Self { broker, people, registry, schemas: Arc::default(), clock }
    }

    /// Sets the clock by which links expire.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
    }
}

impl Answers<Inbox> for InboxService {
    async fn answer(&self, asked: Asked<'_, Inbox>) -> Result<InboxPage, Failure> {
        let request = asked.request()?;
        let limit = request.limit.unwrap_or(USUAL);
        if !(1..=limits::INBOX_MAX).contains(&limit) {
            let why = Text::Between { max: &limits::INBOX_MAX };
            return Err(Failure::about(Code::InvalidRequest, "limit", why));
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let page = inbox::page(&*self.broker.kv, request.job.as_ref(), limit).await;
        page.map_err(|error| unreachable_inbox(&error))
    }
}

impl Answers<GiveAnswer> for InboxService {
    async fn answer(&self, asked: Asked<'_, GiveAnswer>) -> Result<AnswerTaken, Failure> {
        let request = asked.request()?;
        let Asked { caller, call, .. } = asked;
        let by = by(&caller, request.by.as_deref())?;
        let GiveAnswer { job, ask, decision, value, text, digest, remember, four_eyes, .. } =
            request;
        let giver = Giver { by, known: caller != Caller::Anyone, four_eyes };
        self.give(job, ask, Answer { decision, value, text, digest, remember }, giver, call.trace)
            .await
    }
}

impl InboxService {
    /// Validates an answer, and stores it unless another one was stored first.
    async fn give(
        &self,
        job: JobId,
        ask: AskId,
        answer: Answer,
        giver: Giver,
        trace: TraceContext,
    ) -> Result<AnswerTaken, Failure> {
        for _ in 0..RACES_MAX {
            let questions = self.questions(&job, &ask).await?;
            no_crew(&questions, &giver.by)?;
            let question = self.open(&questions, &ask).await?;
            self.by_another(questions.job(), question, &answer, &giver).await?;
            let answer = self.whole(questions.job(), question, &answer)?;
            self.fits(question, &answer)?;
            let answered = Answered { ask: ask.clone(), answer, by: giver.by.clone() };
            let fact = Fact::Answered(answered);
            let after = questions.job().last_answer();
            let stored = self.broker.log.answer(&job, &fact, after, trace);
            match stored.await? {
                CasOutcome::Stored(seq) => return self.taken(questions, job, ask, seq).await,
                // Another answer was stored first, to this or another question of the job: read
                // again.
                CasOutcome::Conflict => {}
            }
        }
        Err(Failure::of(Code::Overloaded, Text::AnswersAtATime { job: &job }))
    }

    /// Refuses the answer to a plan or a tool call of the submitter, where the request forbids it or
    /// the answer is an approval and the agent forbids it.
    async fn by_another(
        &self,
        job: &Job,
        question: &Question,
        answer: &Answer,
        giver: &Giver,
    ) -> Result<(), Failure> {
        match question.kind {
            QuestionKind::PlanCheck { .. } | QuestionKind::ToolApproval { .. } => {}
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
                return Ok(());
            }
        }
        let approves = answer.decision == Verdict::Approve;
        if !giver.four_eyes && !approves {
            return Ok(());
        }
        // The submitter of a child is that of the root of its family, whose policy binds it, too.
        let root = job.parent().map_or(job.id(), |parent| &parent.root);
        let first = self.broker.log.first(root).await?;
        let submitted = first.as_ref().and_then(Entry::submission);
        let submitted = submitted.as_ref();
        let demands = |agent: &Agent| agent.approval.four_eyes;
        let by_policy = job.agent().is_some_and(demands)
            || submitted.is_some_and(|submitted| demands(&submitted.agent));
        let is_another =
            giver.known && submitted.is_some_and(|it| it.by.as_deref() != Some(giver.by.as_str()));
        if is_another || !(giver.four_eyes || by_policy) {
            return Ok(());
        }
        let failure = Failure::of(Code::Forbidden, Text::FourEyes { job: root });
        Err(failure.next(Text::AnotherPerson { job: job.id(), ask: &question.id }))
    }

    async fn questions(&self, job: &JobId, ask: &AskId) -> Result<QuestionLog, Failure> {
        let questions = QuestionLog::read(&*self.broker.log, job).await?;
        if questions.is_empty() {
            // The job was purged while its question was open, or never existed.
            self.forget(job, ask).await;
            return Err(Failure::of(Code::NotFound, Text::NoJob { job }).at("job"));
        }
        Ok(questions)
    }

    /// Returns the question if it can be answered now. Removes a stale entry from the inbox
    /// otherwise.
    async fn open<'q>(
        &self,
        questions: &'q QuestionLog,
        ask: &AskId,
    ) -> Result<&'q Question, Failure> {
        let job = questions.job().id();
        let failure = match questions.question(ask) {
            Some(QuestionStatus::Open { question, .. }) => match questions.job().poison() {
                None => return Ok(question),
                Some(poison) => {
                    let (record, why) = (&poison.seq, &poison.reason);
                    let why = Text::ParkedAt { job, record, why };
                    return Err(Failure::of(Code::Poisoned, why));
                }
            },
            Some(QuestionStatus::Answered { winner, .. }) => already(job, ask, winner),
            Some(QuestionStatus::Closed { because }) => closed(job, ask, because),
            None => Failure::of(Code::NotFound, Text::NoQuestion { job, ask }).at("ask"),
        };
        self.forget(job, ask).await;
        Err(failure)
    }

    /// Builds the answer to store: an edited plan is completed, or refused.
    fn whole(&self, job: &Job, question: &Question, answer: &Answer) -> Result<Answer, Failure> {
        let mut answer = answer.clone();
        let edits = answer.decision == Verdict::Edit
            && matches!(question.kind, QuestionKind::PlanCheck { .. });
        if edits && let (Some(value), Some(agent)) = (answer.value.take(), job.agent()) {
            let (tools, schemas) = (self.registry.all(), &*self.schemas);
            let rules = edit::Rules {
                agent,
                goal: job.goal(),
                language: job.language(),
                tools: &tools,
                schemas,
            };
            let plan = edit::plan(question, value, &rules)?;
            let whole = serde_json::to_value(&plan).map_err(|error| {
                Failure::new(Code::Internal, format!("the plan cannot be written: {error}"))
            })?;
            answer.value = Some(whole);
        }
        Ok(answer)
    }

    /// Validates the verdict, the digest that it binds, and the value.
    fn fits(&self, question: &Question, answer: &Answer) -> Result<(), Failure> {
        question.check(answer).map_err(|misfit| refused(&misfit))?;
        // An edited plan has been validated by the rules of plans.
        let value = answer.value.as_ref().filter(|_| answer.decision != Verdict::Edit);
        let Some(value) = value else { return Ok(()) };
        let Some(schema) = question.value_schema() else {
            let why = Text::TakesNoValue { kind: &question.kind.name() };
            return Err(Failure::about(Code::InvalidAnswer, "value", why));
        };
        let schema = self.schemas.get(&schema).map_err(|error| {
            Failure::new(Code::Internal, format!("the question has no usable schema: {error}"))
        })?;
        let misfits = schema.check(value);
        let Some(first) = misfits.first() else { return Ok(()) };
        let inside = |field: &str| match field {
            "." => "value".to_owned(),
            field if field.starts_with('[') => format!("value{field}"),
            field => format!("value.{field}"),
        };
        let why = Words::new(|language| {
            let all = misfits.iter().map(|misfit| {
                let (field, why) = (inside(&misfit.field), misfit.why_in(language));
                edit::Text::At { field: &field, why: &why }.text(language)
            });
            all.collect::<Vec<_>>().join(&edit::Text::Semicolon.text(language))
        });
        Err(Failure::composed(Code::InvalidAnswer, &why).at(inside(&first.field)))
    }

    /// Determines whether the stored answer counts, which depends on the records before it.
    async fn taken(
        &self,
        mut questions: QuestionLog,
        job: JobId,
        ask: AskId,
        seq: Seq,
    ) -> Result<AnswerTaken, Failure> {
        questions.catch_up(&*self.broker.log).await?;
        self.forget(&job, &ask).await;
        match questions.question(&ask) {
            Some(QuestionStatus::Closed { because }) => Err(closed(&job, &ask, because)),
            Some(QuestionStatus::Answered { winner, seq: won }) if won != seq => {
                Err(already(&job, &ask, winner))
            }
            Some(QuestionStatus::Answered { .. } | QuestionStatus::Open { .. }) | None => {
                Ok(AnswerTaken { job, ask, seq })
            }
        }
    }

    async fn forget(&self, job: &JobId, ask: &AskId) {
        let deleted = self.broker.kv.delete(Bucket::Inbox, &inbox::key(job, ask)).await;
        if let Err(error) = deleted {
            tracing::warn!(%job, %ask, %error, "a closed question is still in the inbox");
        }
    }
}

#[async_trait]
impl Service for InboxService {
    fn name(&self) -> &'static str {
        "inbox"
    }

    fn verbs(&self) -> Vec<Verb> {
        Server::Interaction.verbs().collect()
    }

    async fn handle(&self, call: &Call) -> Result<Handled, Failure> {
        match call.verb {
            Verb::Inbox => call.answer::<Inbox>(&self.people, self).await,
            Verb::Answer => call.answer::<GiveAnswer>(&self.people, self).await,
            Verb::Link => call.answer::<Link>(&self.people, self).await,
            Verb::Unlink => call.answer::<Unlink>(&self.people, self).await,
            Verb::Redeem => call.answer::<Redeem>(&self.people, self).await,
            Verb::Submit
            | Verb::Get
            | Verb::List
            | Verb::Count
            | Verb::Graph
            | Verb::Watch
            | Verb::Signal
            | Verb::Batch
            | Verb::Dead
            | Verb::Tools
            | Verb::Crew
            | Verb::About
            | Verb::Agents
            | Verb::SetAgent
            | Verb::DropAgent
            | Verb::AgentRevisions
            | Verb::Workflows
            | Verb::SetWorkflow
            | Verb::DropWorkflow
            | Verb::Upload
            | Verb::Download
            | Verb::Preview
            | Verb::Usage => Err(call.served_elsewhere()),
        }
    }
}

fn by(caller: &Caller, told: Option<&str>) -> Result<String, Failure> {
    Ok(caller.recorded(told)?.unwrap_or_else(|| ANONYMOUS.to_owned()))
}

/// Refuses the name of an agent or a process of the job, which never answers for a person.
fn no_crew(questions: &QuestionLog, by: &str) -> Result<(), Failure> {
    if questions.is_crew(by) {
        tracing::warn!(job = %questions.job().id(), by, "an answer in the name of an agent was refused");
        return Err(Failure::of(Code::Forbidden, Text::IsCrew { by: &by }).at("by"));
    }
    Ok(())
}

fn already(job: &JobId, ask: &AskId, winner: &Answered) -> Failure {
    let failure = Failure::of(Code::AlreadyAnswered, Text::Answered { by: &winner.by, ask, job });
    Failure { winner: Some(Box::new(winner.clone())), ..failure }
}

fn closed(job: &JobId, ask: &AskId, because: Closed) -> Failure {
    let why = match because {
        Closed::Expired => Text::QuestionExpired { ask, job },
        Closed::JobEnded => Text::QuestionJobEnded { ask, job },
        Closed::Superseded => Text::QuestionSuperseded { ask, job },
        Closed::RolledBack => Text::QuestionRolledBack { ask, job },
        Closed::Denied => Text::QuestionDenied { ask, job },
    };
    Failure::of(Code::Closed, why)
}

fn refused(misfit: &Misfit) -> Failure {
    let (code, field) = match misfit {
        Misfit::Stale => (Code::Stale, "digest"),
        Misfit::Verdict { .. } => (Code::InvalidAnswer, "decision"),
        Misfit::NotRemembered => (Code::InvalidAnswer, "remember"),
        Misfit::NoText | Misfit::TooLong => (Code::InvalidAnswer, "text"),
        Misfit::NoValue | Misfit::Plan(_) => (Code::InvalidAnswer, "value"),
    };
    Failure::composed(code, &misfit.words()).at(field)
}

fn unreachable_inbox(error: &KvError) -> Failure {
    Failure::new(Code::Unavailable, error.to_string())
}
