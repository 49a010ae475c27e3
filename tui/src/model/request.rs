//! The requests that change something, each with the command that it equals. Only a dialog whose
//! answer is yes creates a [`Confirmed`].

use proto::{
    door::{GiveAnswer, Preview, SendSignal, Submit},
    id::{AskId, JobId},
    interaction::{Answer, Remember, Verdict},
    point::{Fork, Order, Point},
};

/// A request that changes something.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A signal to a job.
    Signal(SendSignal),
    /// An answer to a question.
    Answer(GiveAnswer),
    /// A job that continues from a point of another one.
    Fork(Box<Submit>),
}

/// Requests that a person confirmed.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmed(Vec<Request>);

impl Confirmed {
    /// Wraps requests; for the dialog alone.
    pub(super) fn by_a_person(requests: Vec<Request>) -> Self {
        Self(requests)
    }

    /// The requests, in order.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.0
    }
}

impl Request {
    /// Creates a signal.
    #[must_use]
    pub fn signal(job: &JobId, signal: Order) -> Self {
        Self::Signal(SendSignal {
            job: job.clone(),
            signal,
            expected_seq: None,
            reason: None,
            by: None,
        })
    }

    /// Creates an answer.
    #[must_use]
    pub fn answer(job: &JobId, ask: &AskId, answer: Answer) -> Self {
        Self::Answer(GiveAnswer::new(job.clone(), ask.clone(), answer))
    }

    /// Creates a fork.
    #[must_use]
    pub fn fork(job: &JobId, at: Option<Point>) -> Self {
        let fork = Some(Fork { job: job.clone(), at, again: false });
        Self::Fork(Box::new(Submit { fork, ..Submit::goal("") }))
    }

    /// Returns the question what the request would do; `None` for an answer.
    #[must_use]
    pub fn preview(&self) -> Option<Preview> {
        match self {
            Self::Signal(signal) => Some(Preview::Signal(signal.clone())),
            Self::Fork(submit) => submit.fork.clone().map(Preview::Fork),
            Self::Answer(_) => None,
        }
    }

    /// Has an approval remembered for its job, where the request is one.
    pub fn remember(&mut self) {
        if let Self::Answer(answer) = self
            && answer.decision == Verdict::Approve
        {
            answer.remember = Some(Remember::Job);
        }
    }

    /// Allows the repetition of irreversible actions, where the request has such a permission.
    pub fn allow_again(&mut self) {
        match self {
            Self::Signal(SendSignal { signal, .. }) => match signal {
                Order::RollBack { again, .. }
                | Order::Recover { again }
                | Order::Restart { again, .. } => *again = true,
                Order::Cancel
                | Order::Pause
                | Order::Resume
                | Order::Retry
                | Order::Steer { .. }
                | Order::Event { .. }
                | Order::EditGraph { .. }
                | Order::Migrate { .. }
                | Order::Snapshot { .. } => {}
            },
            Self::Fork(submit) => submit.fork.iter_mut().for_each(|fork| fork.again = true),
            Self::Answer(_) => {}
        }
    }

    /// Returns the command line that has the same effect.
    #[must_use]
    pub fn command(&self) -> String {
        match self {
            Self::Signal(SendSignal { job, signal, .. }) => signal_command(job, signal),
            Self::Answer(answer) => answer_command(answer),
            Self::Fork(submit) => {
                let Some(Fork { job, at, again }) = &submit.fork else { return String::new() };
                let at = at.as_ref().map(|at| format!(" --at {at}")).unwrap_or_default();
                format!("callboard jobs fork {job}{at}{}", flag(*again))
            }
        }
    }
}

fn flag(again: bool) -> &'static str {
    if again { " --again" } else { "" }
}

fn signal_command(job: &JobId, signal: &Order) -> String {
    match signal {
        Order::Cancel => format!("callboard jobs cancel {job}"),
        Order::Pause => format!("callboard jobs pause {job}"),
        Order::Resume => format!("callboard jobs resume {job}"),
        Order::Retry => format!("callboard jobs retry {job}"),
        Order::Steer { text } => format!("callboard jobs steer {job} {}", quoted(text)),
        Order::Event { name, data } => {
            format!("callboard jobs event {job} {name} --data {}", quoted(&data.to_string()))
        }
        Order::EditGraph { base, .. } => {
            format!("callboard workflow edit {job} edits.yaml --base {base}")
        }
        Order::Migrate { base, .. } => {
            format!("callboard workflow migrate {job} workflow.yaml --base {base}")
        }
        Order::Snapshot { name, at } => {
            let at = at.as_ref().map(|at| format!(" --at {at}")).unwrap_or_default();
            format!("callboard jobs snapshot {job} {name}{at}")
        }
        Order::RollBack { to, again } => {
            format!("callboard jobs rollback {job} --to {to}{}", flag(*again))
        }
        Order::Recover { again } => format!("callboard jobs retry {job}{}", flag(*again)),
        Order::Restart { step, again } => {
            format!("callboard jobs restart {job} {step}{}", flag(*again))
        }
    }
}

fn answer_command(answer: &GiveAnswer) -> String {
    let GiveAnswer { job, ask, decision, value, text, digest, remember, by: _, four_eyes: _ } =
        answer;
    let text = text.as_ref().map(|text| format!(" --text {}", quoted(text))).unwrap_or_default();
    match decision {
        Verdict::Approve => {
            let digest = digest.as_ref().map(|digest| format!(" --digest {}", quoted(digest)));
            let keeps = match remember {
                None => "",
                Some(Remember::Job) => " --remember",
            };
            format!("callboard inbox approve {job} {ask}{}{keeps}", digest.unwrap_or_default())
        }
        Verdict::Reject => format!("callboard inbox reject {job} {ask}{text}"),
        Verdict::Respond => {
            let value = value.as_ref().map(|value| format!(" --value {}", quoted(&json(value))));
            format!("callboard inbox answer {job} {ask}{}{text}", value.unwrap_or_default())
        }
        // The plan is long, and a shell reads it from a file.
        Verdict::Edit => format!("callboard inbox answer {job} {ask} --plan plan.yaml"),
    }
}

fn json(value: &serde_json::Value) -> String {
    proto::escape::in_json(&value.to_string()).into_owned()
}

/// Quotes a text for a shell, unless it needs no quotes.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_request_is_a_command_that_a_shell_reads_as_one() {
        let (job, ask) = (JobId::new("j1").unwrap(), AskId::new("q1").unwrap());
        let answer = |answer| Request::answer(&job, &ask, answer).command();
        let mut back =
            Request::signal(&job, Order::RollBack { to: "17".parse().unwrap(), again: false });
        assert_eq!(back.command(), "callboard jobs rollback j1 --to 17");
        back.allow_again();
        assert_eq!(back.command(), "callboard jobs rollback j1 --to 17 --again");
        let steer = Request::signal(&job, Order::Steer { text: "don't $(rm)".into() });
        assert_eq!(steer.command(), r"callboard jobs steer j1 'don'\''t $(rm)'");
        let mut fork = Request::fork(&job, Some("17".parse().unwrap()));
        fork.allow_again();
        assert_eq!(fork.command(), "callboard jobs fork j1 --at 17 --again");
        assert_eq!(
            answer(Answer::approve(Some("ab12".into()))),
            "callboard inbox approve j1 q1 --digest ab12"
        );
        let mut for_job = Request::answer(&job, &ask, Answer::approve(Some("ab12".into())));
        for_job.remember();
        assert_eq!(for_job.command(), "callboard inbox approve j1 q1 --digest ab12 --remember");
        assert_eq!(
            answer(Answer::respond(json!(["a b"]))),
            r#"callboard inbox answer j1 q1 --value '["a b"]'"#
        );
    }
}
