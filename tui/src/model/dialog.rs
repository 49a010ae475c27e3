//! The dialog of an action: words if the action needs some, then the consequence and the question
//! whether to go on, with no as the default.

use client::session::{AnswerDraft, OpenQuestion, Taken};
use proto::{
    consequence::Consequence,
    door::{Preview, Previewed},
    error::{Code, Failure},
    escape,
    id::JobId,
    interaction::{Answer, Verdict},
    lang::Language,
    point::Order,
};

use super::{
    Key,
    entry::Entry,
    request::{Confirmed, Request},
};
use crate::words::Text;

/// A dialog.
#[derive(Debug, Clone)]
pub struct Dialog {
    /// Name of the action.
    pub title: String,
    /// Lines about the subject, such as the field that is asked for.
    pub about: Vec<String>,
    /// Error of the last line or request.
    pub error: Option<String>,
    /// Stage of the dialog.
    pub stage: Stage,
    needs: Needs,
}

/// The stages of a dialog.
#[derive(Debug, Clone)]
pub enum Stage {
    /// A line is typed.
    Writing(Entry),
    /// The front door is asked what this request would do.
    Foreseeing(Request),
    /// The front door would refuse the request.
    Refused,
    /// The person decides.
    Deciding {
        /// What follows from a yes.
        consequence: String,
        /// Requests to send.
        requests: Vec<Request>,
        /// `true` while the cursor is on yes.
        yes: bool,
        /// Permission to run again what cannot be undone; absent until the server asks for it.
        again: Option<bool>,
        /// Wish to have the approval remembered; absent where nothing can be remembered.
        remember: Option<bool>,
    },
    /// The requests are on their way.
    Sending {
        /// What follows.
        consequence: String,
        /// Requests that were sent.
        requests: Vec<Request>,
    },
}

/// The words that an action needs.
#[derive(Debug, Clone)]
enum Needs {
    Nothing,
    Instruction(JobId),
    Reason(Box<OpenQuestion>),
    Change(Box<OpenQuestion>),
    Answer { open: Box<OpenQuestion>, draft: Box<AnswerDraft> },
}

/// The result of a key.
#[derive(Debug)]
pub enum Outcome {
    /// The dialog stays open.
    Open,
    /// The dialog closes without an effect.
    Closed,
    /// The person said yes.
    Confirmed(Confirmed),
}

impl Dialog {
    /// Opens a dialog whose action needs no words.
    #[must_use]
    pub fn deciding(title: String, consequence: String, requests: Vec<Request>) -> Self {
        let (again, remember) = (None, None);
        let stage = Stage::Deciding { consequence, requests, yes: false, again, remember };
        Self { title, about: Vec::new(), error: None, stage, needs: Needs::Nothing }
    }

    /// Opens a dialog about a request of which the front door says first what it would do.
    #[must_use]
    pub fn foreseeing(title: String, request: Request) -> Self {
        let stage = Stage::Foreseeing(request);
        Self { title, about: Vec::new(), error: None, stage, needs: Needs::Nothing }
    }

    /// Takes what the front door says about a request, unless the dialog is about another one.
    pub fn foreseen(
        &mut self,
        language: Language,
        asked: &Preview,
        result: Result<Box<Previewed>, Box<Failure>>,
    ) {
        let Stage::Foreseeing(request) = &self.stage else { return };
        if request.preview().as_ref() != Some(asked) {
            return;
        }
        // A question without figures is better than an action that is not to be had.
        let (consequence, refused) = match result {
            Ok(previewed) => {
                let Previewed { text, refused, .. } = previewed.in_language(language);
                (escape::line(&text).into_owned(), refused)
            }
            Err(failure) => {
                self.decide(String::new(), vec![request.clone()], None);
                self.error = Some(said(language, &failure));
                return;
            }
        };
        self.error = refused.as_ref().map(|failure| said(language, failure));
        match refused.map(|failure| failure.code) {
            None => self.decide(consequence, vec![request.clone()], None),
            Some(Code::WouldRepeat) => {
                self.decide(consequence, vec![request.clone()], Some(false));
            }
            Some(_) => self.stage = Stage::Refused,
        }
    }

    fn decide(&mut self, consequence: String, requests: Vec<Request>, again: Option<bool>) {
        let remember = None;
        self.stage = Stage::Deciding { consequence, requests, yes: false, again, remember };
    }

    /// Offers to have the approval remembered for its job.
    pub fn offer_to_remember(&mut self) {
        if let Stage::Deciding { remember, .. } = &mut self.stage {
            *remember = Some(false);
        }
    }

    /// Opens a dialog for an instruction to a job.
    #[must_use]
    pub fn steering(language: Language, job: &JobId) -> Self {
        let title = Text::DoSteer.text(language);
        Self::writing(title, Text::SteerAsks.text(language), Needs::Instruction(job.clone()))
    }

    /// Opens a dialog for a rejection, which may have a reason.
    #[must_use]
    pub fn rejecting(language: Language, open: OpenQuestion) -> Self {
        let title = Text::DoReject.text(language);
        Self::writing(title, Text::RejectAsks.text(language), Needs::Reason(Box::new(open)))
    }

    /// Opens a dialog for a change of a plan in words.
    #[must_use]
    pub fn changing(language: Language, open: OpenQuestion) -> Self {
        let title = Text::DoChange.text(language);
        Self::writing(title, Text::ChangeAsks.text(language), Needs::Change(Box::new(open)))
    }

    /// Opens a dialog for the answer to a question, a choice or a form. `begun` is the first line.
    #[must_use]
    pub fn answering(language: Language, open: OpenQuestion, begun: &str) -> Self {
        let draft = Box::new(AnswerDraft::new(open.question.clone()));
        let needs = Needs::Answer { open: Box::new(open), draft };
        let mut dialog = Self::writing(Text::DoAnswer.text(language), String::new(), needs);
        dialog.stage = Stage::Writing(Entry::of(begun));
        dialog.ask(language);
        dialog
    }

    fn writing(title: String, about: String, needs: Needs) -> Self {
        let stage = Stage::Writing(Entry::default());
        Self { title, about: vec![about], error: None, stage, needs }
    }

    /// Inserts a pasted text.
    pub fn paste(&mut self, text: &str) {
        if let Stage::Writing(entry) = &mut self.stage {
            entry.insert(text);
        }
    }

    /// Takes a key.
    pub fn take(&mut self, language: Language, key: Key) -> Outcome {
        if key == Key::Escape {
            return Outcome::Closed;
        }
        match &mut self.stage {
            Stage::Foreseeing(_) if key == Key::Char('n') => Outcome::Closed,
            Stage::Refused if [Key::Enter, Key::Char('n')].contains(&key) => Outcome::Closed,
            Stage::Foreseeing(_) | Stage::Refused | Stage::Sending { .. } => Outcome::Open,
            Stage::Writing(entry) => {
                if key == Key::Enter {
                    let line = entry.text();
                    self.written(language, &line);
                } else {
                    entry.take(key);
                }
                Outcome::Open
            }
            Stage::Deciding { yes, again, remember, .. } => match key {
                Key::Left | Key::Right | Key::Tab | Key::BackTab | Key::Char('h' | 'l') => {
                    *yes = !*yes;
                    Outcome::Open
                }
                Key::Char(' ') => {
                    *again = again.map(|again| !again);
                    *remember = remember.map(|remember| !remember);
                    Outcome::Open
                }
                Key::Char('n') => Outcome::Closed,
                Key::Char('y') => {
                    *yes = true;
                    Outcome::Open
                }
                Key::Enter if *yes => self.send(),
                Key::Enter => Outcome::Closed,
                Key::Char(_)
                | Key::Control(_)
                | Key::Escape
                | Key::Backspace
                | Key::Delete
                | Key::Up
                | Key::Down
                | Key::PageUp
                | Key::PageDown
                | Key::Home
                | Key::End => Outcome::Open,
            },
        }
    }

    fn send(&mut self) -> Outcome {
        let Stage::Deciding { consequence, requests, again, remember, .. } = &mut self.stage else {
            return Outcome::Open;
        };
        if *again == Some(true) {
            requests.iter_mut().for_each(Request::allow_again);
        }
        if *remember == Some(true) {
            requests.iter_mut().for_each(Request::remember);
        }
        let (consequence, requests) = (std::mem::take(consequence), std::mem::take(requests));
        self.stage = Stage::Sending { consequence, requests: requests.clone() };
        self.error = None;
        Outcome::Confirmed(Confirmed::by_a_person(requests))
    }

    /// Shows the failure of the requests. They are sent again only after another yes.
    pub fn failed(&mut self, language: Language, failure: &Failure) {
        let Stage::Sending { consequence, requests } = &mut self.stage else { return };
        let (consequence, requests) = (std::mem::take(consequence), std::mem::take(requests));
        let again = (failure.code == Code::WouldRepeat).then_some(false);
        self.decide(consequence, requests, again);
        self.error = Some(said(language, failure));
    }

    /// Takes a whole line: what the action needs, or a part of it.
    fn written(&mut self, language: Language, line: &str) {
        let words = line.trim();
        self.error = None;
        let (consequence, request) = match &mut self.needs {
            Needs::Nothing => return,
            Needs::Instruction(_) | Needs::Change(_) if words.is_empty() => return,
            Needs::Instruction(job) => {
                let order = Order::Steer { text: words.to_owned() };
                (Consequence::Steer.text(language), Request::signal(job, order))
            }
            Needs::Reason(open) => {
                let text = (!words.is_empty()).then(|| words.to_owned());
                let answer = Answer {
                    decision: Verdict::Reject,
                    value: None,
                    text,
                    digest: None,
                    remember: None,
                };
                let request = Request::answer(&open.job, &open.question.id, answer);
                (rejection(language, open), request)
            }
            Needs::Change(open) => {
                let text = Some(words.to_owned());
                let answer = Answer {
                    decision: Verdict::Respond,
                    value: None,
                    text,
                    digest: None,
                    remember: None,
                };
                let request = Request::answer(&open.job, &open.question.id, answer);
                (Text::ChangeMeans.text(language), request)
            }
            Needs::Answer { open, draft } => match draft.take(language, line) {
                Taken::More => {
                    self.stage = Stage::Writing(Entry::default());
                    return self.ask(language);
                }
                Taken::Refused(why) => {
                    self.error = Some(escape::line(&why).into_owned());
                    return;
                }
                Taken::Answer(answer) => {
                    let request = Request::answer(&open.job, &open.question.id, answer);
                    (Text::AnswerMeans.text(language), request)
                }
            },
        };
        self.about = if words.is_empty() { Vec::new() } else { vec![format!("“{words}”")] };
        self.decide(consequence, vec![request], None);
    }

    /// Says what the next line is about: the question, or a field of the form.
    fn ask(&mut self, language: Language) {
        let Needs::Answer { open, draft } = &self.needs else { return };
        let style = crate::render::style::Style {
            language,
            ..crate::render::style::Style::plain(Some(60))
        };
        let lines = match draft.field() {
            Some(field) => crate::render::question::field_lines(&style, field),
            None => crate::render::question::body(&style, &open.question),
        };
        self.about = lines.lines().map(|line| line.trim_end().to_owned()).collect();
    }
}

fn rejection(language: Language, open: &OpenQuestion) -> String {
    use proto::interaction::QuestionKind;
    match &open.question.kind {
        QuestionKind::ToolApproval { tool, .. } => Text::RejectCallMeans { tool }.text(language),
        QuestionKind::PlanCheck { .. }
        | QuestionKind::Question
        | QuestionKind::Choice { .. }
        | QuestionKind::Form { .. } => Text::RejectPlanMeans.text(language),
    }
}

/// Returns a failure as one line.
#[must_use]
pub(super) fn said(language: Language, failure: &Failure) -> String {
    let line = format!("{}: {}", failure.code.as_str(), failure.message_in(language));
    escape::line(&line).into_owned()
}
