//! A dialogue with a user at a terminal, line by line, until there is an answer to send. It sends
//! nothing itself and is cancellation safe.

use std::io::Write;

use client::session::{
    AnswerDraft, Taken,
    parse::{self, OnPlan},
};
use proto::{
    error::Failure,
    escape,
    interaction::{Answer, Question, QuestionKind},
    lang::Language,
};

use super::{keyboard::Keyboard, prompt};
use crate::{
    refusal,
    render::question,
    style::{Style, Tone},
    words::Text,
};

/// A dialogue over a keyboard and an output.
#[derive(Debug)]
pub(crate) struct Dialogue<'a, W> {
    keyboard: &'a mut Keyboard,
    out: W,
    style: Style,
    /// The answer so far, so that one refused field does not cost the others.
    draft: AnswerDraft,
}

impl<'a, W: Write> Dialogue<'a, W> {
    /// Starts a dialogue over `keyboard` and `out`.
    pub(crate) fn new(keyboard: &'a mut Keyboard, out: W, style: Style, asked: Question) -> Self {
        Self { keyboard, out, style, draft: AnswerDraft::new(asked) }
    }

    /// Asks for an answer. `refused` is the server's reason for refusing the previous one. `None`
    /// at the end of input.
    pub(crate) async fn ask(&mut self, refused: Option<&Failure>) -> Option<Answer> {
        match refused {
            None => {
                self.say(&question::body(&self.style, self.draft.question()));
                self.keyboard.forget();
            }
            Some(failure) => {
                self.complain(&complaint(failure, self.style.language));
                self.draft.refused(failure);
            }
        }
        loop {
            let line = self.prompt(&prompt::of(&self.style, &self.draft)).await?;
            if self.cancels(&line) {
                let sure = self.prompt(&self.style.say(Text::EndJob)).await?;
                if parse::yes(&sure) != Some(true) {
                    continue;
                }
            }
            match self.draft.take(self.style.language, &line) {
                Taken::More => {}
                Taken::Refused(why) => self.complain(&why),
                Taken::Answer(answer) => return Some(answer),
            }
        }
    }

    /// Returns whether a line ends the job, which needs a confirmation.
    fn cancels(&self, line: &str) -> bool {
        matches!(self.draft.question().kind, QuestionKind::PlanCheck { .. })
            && parse::on_plan(line) == OnPlan::Cancel
    }

    fn say(&mut self, text: &str) {
        // If the terminal is gone, its input ends too, and that is noticed.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    async fn prompt(&mut self, words: &str) -> Option<String> {
        let prompt = self.style.paint(Tone::Wait, &format!("  {words} "));
        self.say(&prompt);
        self.keyboard.line().await
    }

    fn complain(&mut self, why: &str) {
        let why = self.style.paint(Tone::Bad, &format!("  {}\n", escape::line(why)));
        self.say(&why);
    }
}

/// Returns the reason of a refusal, with the field if the reason does not name it.
fn complaint(failure: &Failure, language: Language) -> String {
    let words = refusal::reason(failure);
    let why = words.text(language);
    match failure.field.as_deref() {
        Some(field) if !why.contains(field) => format!("{field}: {why}"),
        Some(_) | None => why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proto::{error::Code, interaction::Verdict};
    use serde_json::json;

    use super::*;
    use crate::render::samples;

    fn question(n: usize) -> Question {
        serde_json::from_value(samples::questions()[n].clone()).unwrap()
    }

    async fn answered(n: usize, typed: &[&str]) -> (Option<Answer>, String) {
        let mut keyboard = Keyboard::of(&[]);
        let mut out = Vec::new();
        let mut dialogue =
            Dialogue::new(&mut keyboard, &mut out, Style::plain(Some(80)), question(n));
        // Input typed before the question is shown is ignored.
        *dialogue.keyboard = Keyboard::of(typed);
        let answer = dialogue.ask(Some(&Failure::new(Code::InvalidAnswer, "again"))).await;
        (answer, String::from_utf8(out).unwrap())
    }

    fn told(decision: Verdict, words: &str) -> Answer {
        let text = Some(words.to_owned()).filter(|words| !words.is_empty());
        Answer { decision, value: None, text, digest: None, remember: None }
    }

    async fn check(n: usize, typed: &[&str], expected: Answer) {
        let (answer, _) = answered(n, typed).await;
        assert_eq!(answer, Some(expected), "{typed:?}");
    }

    #[tokio::test]
    async fn questions_of_every_kind_are_answered_in_place() {
        check(0, &["", "c"], Answer::approve(Some("ab12".into()))).await;
        check(0, &["x", "n", "only one step"], told(Verdict::Respond, "only one step")).await;
        check(0, &["x", "y"], told(Verdict::Reject, "")).await;
        check(1, &[" ", "李"], Answer::respond(json!("李"))).await;
        check(2, &["green", "1,blue"], Answer::respond(json!(["r", "blue"]))).await;
        check(
            3,
            &["", "Li", "12", "7", "yes", "First"],
            Answer::respond(json!({"name": "Li", "n": 7, "go": true, "c": "1"})),
        )
        .await;
        check(4, &["y"], Answer::approve(Some("9f86d081884c7d65".into()))).await;
        check(4, &["wrong address"], told(Verdict::Reject, "wrong address")).await;
    }

    #[tokio::test]
    async fn a_field_the_server_refuses_is_asked_again_and_no_other() {
        let mut keyboard = Keyboard::of(&["Li", "7", "yes", "1", "Wang"]);
        let mut out = Vec::new();
        let style = Style::plain(Some(80));
        let mut dialogue = Dialogue::new(&mut keyboard, &mut out, style, question(3));
        let first = Failure::new(Code::InvalidAnswer, "again");
        dialogue.ask(Some(&first)).await.unwrap();
        let refused = Failure::new(Code::InvalidAnswer, "is taken").at("value.name");
        let answer = dialogue.ask(Some(&refused)).await.unwrap();
        assert_eq!(answer.value.unwrap()["name"], "Wang");
        let shown = String::from_utf8(out).unwrap();
        assert!(shown.contains("value.name: is taken"), "{shown}");
        assert_eq!(shown.matches("How many").count(), 1, "{shown}");
    }

    #[tokio::test]
    async fn input_that_ends_is_no_answer() {
        assert_eq!(answered(1, &[]).await.0, None);
        assert_eq!(answered(3, &["Li"]).await.0, None);
    }

    #[tokio::test]
    async fn what_is_asked_cannot_drive_the_terminal() {
        let mut keyboard = Keyboard::of(&[]);
        let mut out = Vec::new();
        let style = Style::plain(Some(80));
        Dialogue::new(&mut keyboard, &mut out, style, question(4)).ask(None).await;
        let shown = String::from_utf8(out).unwrap();
        assert!(shown.contains(r"eve\u200b@example.org") && shown.contains("9f86d081884c7d65"));
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
}
