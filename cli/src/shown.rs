//! The chat's rendering of a job, without a terminal, for tests of what a person reads.

use proto::{
    event::{Happened, InteractionEvent},
    interaction::Question,
    view::JobView,
};

use crate::{
    chat::show::{self, Course},
    render::{describe, question},
    style::{Style, Times},
};

/// A chat about one job.
#[derive(Debug)]
pub struct Chat {
    course: Course,
    style: Style,
}

impl Chat {
    /// Opens a chat in the present language of a job, at the time of the job's last record.
    #[must_use]
    pub fn of(view: &JobView) -> Self {
        let style = Style {
            width: None,
            color: false,
            times: Times::Relative,
            now: view.updated,
            language: view.language,
        };
        Self { course: Course::default(), style }
    }

    /// Renders an event, with the question that it asks.
    pub fn event(&mut self, happened: &Happened) -> Vec<String> {
        self.style.language = show::language(happened).unwrap_or(self.style.language);
        let mut lines = self.course.task(&self.style, happened);
        if let Happened::Interaction(InteractionEvent::Asked { question, .. }) = happened {
            lines.push(self.question(question));
        }
        lines
    }

    /// Renders a question.
    #[must_use]
    pub fn question(&self, asked: &Question) -> String {
        question::body(&self.style, asked)
    }

    /// Renders the end of the job; empty before it.
    #[must_use]
    pub fn ending(&self, view: &JobView) -> String {
        show::ending(&Self::of(view).style, view).unwrap_or_default()
    }

    /// Renders everything about the job.
    #[must_use]
    pub fn description(&self, view: &JobView) -> String {
        describe::describe(&Self::of(view).style, view)
    }
}
