//! The play of a scenario: its submission, the answers of the person, and the transcripts of what
//! the person saw, the model was sent and the log holds.

use std::{fmt, time::Duration};

use cli::shown::Chat;
use client::{Client, session::open_questions};
use machine::{Replay, events::Projection};
use proto::{
    decision::Decision,
    door::{AgentChoice, GiveAnswer, Submit},
    entry::Entry,
    event::Event,
    id::{AgentName, JobId, Seq, WorkerId},
    interaction::{QuestionKind, Verdict},
    record::Record,
    subject::Family,
    view::JobView,
};

use super::{
    format::{Act, Expectations, Scenario},
    installation::Installation,
};

/// Interval at which the person looks at the job.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Time after which a job that has not ended is judged as it is.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// The transcripts of a played scenario.
pub(super) struct Played {
    /// Answers that did not fit their questions.
    unfit: Vec<String>,
    seen: String,
    described: String,
    events: String,
    sent: Vec<String>,
    log: String,
}

/// Plays a scenario in a runtime of its own, whose time passes only while every task waits.
pub(super) fn play(scenario: &Scenario) -> Played {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().start_paused(true).build().unwrap();
    runtime.block_on(perform(scenario))
}

async fn perform(scenario: &Scenario) -> Played {
    let installation = Installation::open(scenario).await;
    let client = &installation.client;
    let job = submit(client, scenario).await;
    let mut chat = Chat::of(&client.get(&job).await.unwrap());
    let (view, unfit) = answer(client, &job, &scenario.person).await;
    let entries = installation.broker.log.read(&job, Seq(0)).await.unwrap();
    let events = events(&job, &entries);
    let mut seen: Vec<String> = events.iter().flat_map(|e| chat.event(&e.happened)).collect();
    seen.push(chat.ending(&view));
    let json = |event: &Event| serde_json::to_string(event).unwrap();
    Played {
        unfit,
        seen: seen.join("\n"),
        described: chat.description(&view),
        events: events.iter().map(json).collect::<Vec<_>>().join("\n"),
        sent: installation.model.heard(),
        log: entries.iter().map(lines).collect::<Vec<_>>().join("\n"),
    }
}

async fn submit(client: &Client, scenario: &Scenario) -> JobId {
    let agent = AgentChoice::Named(AgentName::new(&scenario.agent).unwrap());
    let language = scenario.language;
    let (goal, plan) = (scenario.goal.trim_end(), scenario.plan.clone());
    let submit = Submit { agent: Some(agent), language, plan, ..Submit::goal(goal) };
    tokio::time::timeout(PATIENCE, async {
        loop {
            match client.submit(submit.clone()).await {
                Ok(submitted) => return submitted.job,
                Err(_) => tokio::time::sleep(LOOK_EVERY).await,
            }
        }
    })
    .await
    .expect("the front door opens")
}

/// Answers the questions of a job in order until it ends, or until a question has no answer.
/// Returns the job then, and the answers that did not fit.
async fn answer(client: &Client, job: &JobId, acts: &[Act]) -> (JobView, Vec<String>) {
    let (mut acts, mut unfit) = (acts.iter(), Vec::new());
    let mut answered = Vec::new();
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        let view = client.get(job).await.unwrap();
        let open = open_questions(&view).into_iter().find(|open| !answered.contains(&open.key()));
        if view.state.is_terminal() || tokio::time::Instant::now() > until {
            unfit.extend(acts.map(|act| format!("was never asked {:?}", act.asked)));
            return (view, unfit);
        }
        let Some(open) = open else {
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        };
        let Some(act) = acts.next() else {
            unfit.push(format!("has no answer to {:?}", open.question.prompt));
            return (view, unfit);
        };
        let shown = Chat::of(&view).question(&open.question);
        unfit.extend(
            missing(&shown, &act.asked).map(|text| format!("{text:?} is not asked in\n{shown}")),
        );
        let digest = match &open.question.kind {
            QuestionKind::PlanCheck { digest, .. } | QuestionKind::ToolApproval { digest, .. } => {
                Some(digest.clone())
            }
            QuestionKind::Question | QuestionKind::Choice { .. } | QuestionKind::Form { .. } => {
                None
            }
        };
        let is_check = digest.is_some();
        let decision = act.decision.unwrap_or(Verdict::Respond);
        let words = act.answer.as_ref().and_then(|answer| answer.as_str().map(str::to_owned));
        let given = GiveAnswer {
            job: open.job.clone(),
            ask: open.question.id.clone(),
            decision,
            value: act.answer.clone().filter(|_| !is_check),
            text: words.filter(|_| is_check),
            digest: digest.filter(|_| decision == Verdict::Approve),
            remember: None,
            by: Some("ann".to_owned()),
            four_eyes: false,
        };
        if let Err(failure) = client.call(&given).await {
            unfit.push(format!("the answer to {:?} is refused: {failure}", open.question.prompt));
            return (view, unfit);
        }
        answered.push(open.key());
    }
}

fn events(job: &JobId, entries: &[Entry]) -> Vec<Event> {
    let (mut replay, mut projection) = (Replay::of(job, entries), Projection::default());
    let mut events = Vec::new();
    for entry in entries {
        events.extend(projection.replay(&mut replay, entry));
    }
    events
}

/// Writes a record. Work without the queue appears as commands and results, as it would with
/// it: the speed of the machine decides which of the two happens.
fn lines(entry: &Entry) -> String {
    let record = entry.record.as_ref().unwrap();
    let Some(done) = record.decision().and_then(Decision::into_done) else {
        return line(&entry.family, record);
    };
    let by = WorkerId::new("scenario").unwrap();
    let units = done.units().flat_map(|unit| {
        let (command, result) = (unit.command(), unit.result());
        let sent = Record::of_decision(&command, "", &by).unwrap();
        let answered = Record::of_fact(&result, "", &by).unwrap();
        let family = Family::Do(command.kind(), command.pool());
        [line(&family, &sent), line(&Family::In(result.source()), &answered)]
    });
    units.collect::<Vec<_>>().join("\n")
}

fn line(family: &Family, record: &Record) -> String {
    format!("{family} {} {}", record.kind, serde_json::to_value(record).unwrap()["body"])
}

/// Returns the texts that do not occur in this order.
fn missing<'a>(within: &str, texts: &'a [String]) -> impl Iterator<Item = &'a String> {
    let mut rest = within;
    texts.iter().filter(move |text| match rest.find(text.as_str()) {
        Some(at) => {
            rest = &rest[at + text.len()..];
            false
        }
        None => true,
    })
}

impl Played {
    /// Returns the expectations that are not met.
    pub(super) fn wrong(&self, expect: &Expectations) -> Vec<String> {
        let lacks = |what: &'static str, within: &str, texts: &[String]| {
            missing(within, texts).map(|text| format!("{what} lacks {text:?}")).collect::<Vec<_>>()
        };
        let has = |what: &'static str, within: &str, texts: &[String]| {
            let found = texts.iter().filter(|text| within.contains(text.as_str()));
            found.map(|text| format!("{what} has {text:?}")).collect::<Vec<_>>()
        };
        let mut wrong = self.unfit.clone();
        wrong.extend(lacks("the chat", &self.seen, &expect.sees));
        wrong.extend(has("the chat", &self.seen, &expect.never_sees));
        wrong.extend(lacks("the description", &self.described, &expect.described));
        wrong.extend(lacks("the events", &self.events, &expect.events));
        wrong.extend(lacks("the log", &self.log, &expect.log));
        wrong.extend(has("the log", &self.log, &expect.never_logged));
        for sent in &expect.sent {
            let nothing = String::new();
            let request = self.sent.get(sent.request - 1).unwrap_or(&nothing);
            wrong.extend(lacks("a request", request, &sent.has));
            wrong.extend(has("a request", request, &sent.lacks));
        }
        let count = self.sent.len();
        let wanted = expect.requests.filter(|wanted| *wanted != count);
        wrong.extend(wanted.map(|wanted| format!("{count} requests and not {wanted}")));
        wrong
    }
}

impl fmt::Display for Played {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "— seen\n{}\n— described\n{}", self.seen, self.described)?;
        writeln!(f, "— events\n{}\n— log\n{}", self.events, self.log)?;
        for (n, request) in self.sent.iter().enumerate() {
            writeln!(f, "— request {}\n{request}", n + 1)?;
        }
        Ok(())
    }
}
