//! The verbs `link`, `unlink` and `redeem`: capabilities to answer one question as one person.
//!
//! Architecture invariant: only the SHA-256 of a link's secret is stored. A link has no right but to
//! show and to answer its question, and none once its person may not answer any more.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use proto::{
    digest,
    door::{Linked, Redeemed, Unlinked},
    tool::Effect,
    view::PastQuestion,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    AnswerTaken, Answers, AskId, Asked, Bucket, Code, Failure, Giver, InboxService, JobId, Link,
    Misfit, Question, QuestionKind, QuestionLog, QuestionStatus, Redeem, Text, Unlink, Verb, by,
    no_crew, refused, unreachable_inbox,
};

/// Longest life of a link.
const LIFE: SignedDuration = SignedDuration::from_hours(72);
/// Largest number of links of a question.
const LINKS_MAX: usize = 16;
/// Hexadecimal digits of a secret: 128 bits.
const SECRET_DIGITS: usize = 32;

/// A link as the bucket has it, under the SHA-256 of its secret.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Stored {
    job: JobId,
    ask: AskId,
    /// Digest of the question for which the link was made.
    digest: String,
    by: String,
    expires: Timestamp,
    /// `true` if an issuer named the person. The link then ends with the token that made it, since
    /// nothing later shows that this person may still answer.
    #[serde(default)]
    vouched: bool,
}

impl Answers<Link> for InboxService {
    async fn answer(&self, asked: Asked<'_, Link>) -> Result<Linked, Failure> {
        let Link { job, ask, by: told } = asked.request()?;
        let by = by(&asked.caller, told.as_deref())?;
        let questions = self.questions(&job, &ask).await?;
        no_crew(&questions, &by)?;
        let question = self.open(&questions, &ask).await?;
        if self.links_of(&job, &ask).await?.len() >= LINKS_MAX {
            let why = Text::TooManyLinks { ask: &ask, job: &job, max: &LINKS_MAX };
            return Err(Failure::of(Code::Overloaded, why));
        }
        let latest = self.clock.now().saturating_add(LIFE).unwrap_or(Timestamp::MAX);
        let ends = [question.deadline, asked.caller.until()].into_iter().flatten();
        let expires = ends.fold(latest, Timestamp::min);
        let (digest, vouched) = (digest_of(question), asked.caller.until().is_some());
        let stored = Stored { job, ask, digest, by, expires, vouched };
        let handle = secret();
        let value = serde_json::to_vec(&stored)
            .map_err(|error| Failure::new(Code::Internal, error.to_string()))?;
        let written = self.broker.kv.put(Bucket::Links, &key(&handle), Bytes::from(value)).await;
        written.map_err(|error| unreachable_inbox(&error))?;
        let Stored { job, ask, by, expires, .. } = stored;
        Ok(Linked { job, ask, by, handle, expires })
    }
}

impl Answers<Unlink> for InboxService {
    async fn answer(&self, asked: Asked<'_, Unlink>) -> Result<Unlinked, Failure> {
        let Unlink { job, ask } = asked.request()?;
        let mut revoked = 0;
        for key in self.links_of(&job, &ask).await? {
            let deleted = self.broker.kv.delete(Bucket::Links, &key).await;
            deleted.map_err(|error| unreachable_inbox(&error))?;
            revoked += 1;
        }
        Ok(Unlinked { revoked })
    }
}

impl Answers<Redeem> for InboxService {
    async fn answer(&self, asked: Asked<'_, Redeem>) -> Result<Redeemed, Failure> {
        let Redeem { handle, answer } = asked.request()?;
        let Stored { job, ask, digest, by, expires, vouched } = self.link(&handle).await?;
        if !vouched {
            self.people.still(&by, Verb::Answer.spec().roles)?;
        }
        if let Some(answer) = answer {
            // A link answers one question and does nothing else.
            if answer.remember.is_some() {
                return Err(refused(&Misfit::NotRemembered));
            }
            let giver = Giver { by: by.clone(), known: !self.people.is_open(), four_eyes: false };
            let given = self.give(job.clone(), ask.clone(), answer, giver, asked.call.trace);
            let AnswerTaken { seq, .. } = given.await?;
            tracing::info!(%job, %ask, by, %seq, "a question was answered by a link");
        }
        let questions = self.questions(&job, &ask).await?;
        let question = match questions.question(&ask) {
            Some(QuestionStatus::Open { question, .. }) => Some(question),
            Some(QuestionStatus::Answered { .. } | QuestionStatus::Closed { .. }) | None => None,
        };
        let now = question.map(digest_of);
        Ok(Redeemed {
            goal: questions.job().goal().to_owned(),
            changed: now.as_ref().is_some_and(|now| *now != digest),
            once: question.is_some_and(|question| self.is_once(question)),
            question: question.cloned(),
            digest: now,
            past: if question.is_none() { past(&questions, &ask) } else { None },
            job,
            ask,
            by,
            expires,
        })
    }
}

impl InboxService {
    /// Finds the link of a secret. Unknown, expired and revoked links are told apart by nothing.
    async fn link(&self, handle: &str) -> Result<Stored, Failure> {
        let unknown = || Failure::of(Code::NotFound, Text::NoLink).at("handle");
        let key = key(handle);
        let found = self.broker.kv.get(Bucket::Links, &key).await;
        let found = found.map_err(|error| unreachable_inbox(&error))?.ok_or_else(unknown)?;
        let stored: Stored = serde_json::from_slice(&found.value).map_err(|_| unknown())?;
        if self.clock.now() < stored.expires {
            return Ok(stored);
        }
        self.drop_link(&key).await;
        Err(unknown())
    }

    /// Returns the keys of a question's links, and removes expired links of any question.
    async fn links_of(&self, job: &JobId, ask: &AskId) -> Result<Vec<String>, Failure> {
        let all = self.broker.kv.list(Bucket::Links, "").await;
        let (now, mut found) = (self.clock.now(), Vec::new());
        for value in all.map_err(|error| unreachable_inbox(&error))? {
            match serde_json::from_slice::<Stored>(&value.value) {
                Ok(stored) if now < stored.expires => {
                    if (&stored.job, &stored.ask) == (job, ask) {
                        found.push(value.key);
                    }
                }
                Ok(_) => self.drop_link(&value.key).await,
                Err(error) => tracing::warn!(%error, "a link cannot be read"),
            }
        }
        Ok(found)
    }

    async fn drop_link(&self, key: &str) {
        if let Err(error) = self.broker.kv.delete(Bucket::Links, key).await {
            tracing::warn!(%error, "an expired link is still in the bucket");
        }
    }

    /// `true` for a call that must not run twice. So is one of a tool that is not registered now.
    fn is_once(&self, question: &Question) -> bool {
        match &question.kind {
            QuestionKind::ToolApproval { tool, .. } => {
                let tool = self.registry.get(tool);
                tool.is_none_or(|tool| tool.spec.effect == Effect::Once)
            }
            QuestionKind::PlanCheck { .. }
            | QuestionKind::Question
            | QuestionKind::Choice { .. }
            | QuestionKind::Form { .. } => false,
        }
    }
}

/// Returns a question after its end.
fn past(questions: &QuestionLog, ask: &AskId) -> Option<PastQuestion> {
    let view = questions.job().view()?;
    view.past_questions.into_iter().find(|past| past.id == *ask)
}

fn digest_of(question: &Question) -> String {
    digest::of_json(&serde_json::to_value(question).unwrap_or_default())
}

fn key(handle: &str) -> String {
    digest::of_bytes(handle.as_bytes())
}

/// Returns 128 random bits. One UUID has 122.
fn secret() -> String {
    let random = [Uuid::new_v4().into_bytes(), Uuid::new_v4().into_bytes()].concat();
    digest::of_bytes(&random).chars().take(SECRET_DIGITS).collect()
}
