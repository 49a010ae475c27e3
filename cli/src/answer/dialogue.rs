//! A dialogue with a user at a terminal, line by line, until there is an answer to send. It sends
//! nothing itself and is cancellation safe.

use std::io::Write;

use proto::{
    error::Failure,
    escape,
    interaction::{Answer, Choice, Field, Question, QuestionKind, Verdict},
};
use serde_json::{Map, Value};

use super::{
    keyboard::Keyboard,
    parse::{self, OnPlan},
};
use crate::{
    look::{Look, Tone},
    render::question,
};

/// A dialogue over a keyboard and an output.
#[derive(Debug)]
pub(crate) struct Dialogue<'a, W> {
    keyboard: &'a mut Keyboard,
    out: W,
    look: Look,
    /// Form values so far, so that one refused field does not discard the others.
    form: Map<String, Value>,
}

impl<'a, W: Write> Dialogue<'a, W> {
    /// Starts a dialogue over `keyboard` and `out`.
    pub(crate) fn new(keyboard: &'a mut Keyboard, out: W, look: Look) -> Self {
        Self { keyboard, out, look, form: Map::new() }
    }

    /// Asks for an answer. `refused` is the server's reason for refusing the previous one. `None`
    /// at the end of input.
    pub(crate) async fn ask(
        &mut self,
        asked: &Question,
        refused: Option<&Failure>,
    ) -> Option<Answer> {
        match refused {
            None => {
                self.say(&question::body(&self.look, asked));
                self.keyboard.forget();
            }
            Some(failure) => {
                let field = failure.field.as_deref().map(|f| format!("{f}: ")).unwrap_or_default();
                let why = format!("  {}{}\n", escape::line(&field), escape::line(&failure.message));
                self.say(&self.look.paint(Tone::Bad, &why));
                self.drop_field(failure.field.as_deref());
            }
        }
        match &asked.kind {
            QuestionKind::PlanCheck { digest, .. } => self.plan(digest).await,
            QuestionKind::ToolApproval { digest, .. } => self.approval(digest).await,
            QuestionKind::Question => self.words().await,
            QuestionKind::Choice { options, multiple } => self.choice(options, *multiple).await,
            QuestionKind::Form { fields } => self.form(fields).await,
        }
    }

    fn say(&mut self, text: &str) {
        // If the terminal is gone, its input ends too, and that is noticed.
        let _ = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush());
    }

    async fn prompt(&mut self, words: &str) -> Option<String> {
        let prompt = self.look.paint(Tone::Wait, &format!("  {words} "));
        self.say(&prompt);
        self.keyboard.line().await
    }

    fn complain(&mut self, why: &str) {
        let why = self.look.paint(Tone::Bad, &format!("  {}\n", escape::line(why)));
        self.say(&why);
    }

    async fn plan(&mut self, digest: &str) -> Option<Answer> {
        loop {
            let line = self.prompt("confirm [c], cancel [x], or say how it is to change:").await?;
            match parse::on_plan(&line) {
                OnPlan::Nothing => {}
                OnPlan::Confirm => return Some(Answer::approve(Some(digest.to_owned()))),
                OnPlan::Revise(words) => return Some(told(Verdict::Respond, words)),
                OnPlan::Cancel => {
                    let line = self.prompt("end the job? [y/N]").await?;
                    if parse::yes(&line) == Some(true) {
                        return Some(told(Verdict::Reject, String::new()));
                    }
                }
            }
        }
    }

    async fn approval(&mut self, digest: &str) -> Option<Answer> {
        loop {
            let line = self.prompt("run it [y], do not [n], or say why not:").await?;
            match (parse::yes(&line), line.trim()) {
                (Some(true), _) => return Some(Answer::approve(Some(digest.to_owned()))),
                (Some(false), _) => return Some(told(Verdict::Reject, String::new())),
                (None, "") => {}
                (None, words) => return Some(told(Verdict::Reject, words.to_owned())),
            }
        }
    }

    async fn words(&mut self) -> Option<Answer> {
        loop {
            let line = self.prompt("answer:").await?;
            if !line.trim().is_empty() {
                return Some(Answer::respond(Value::from(line.trim())));
            }
        }
    }

    async fn choice(&mut self, options: &[Choice], multiple: bool) -> Option<Answer> {
        let words = if multiple { "numbers, with commas:" } else { "number:" };
        loop {
            let line = self.prompt(words).await?;
            match parse::choice(options, multiple, &line) {
                Ok(value) => return Some(Answer::respond(value)),
                Err(why) => self.complain(&why),
            }
        }
    }

    async fn form(&mut self, fields: &[Field]) -> Option<Answer> {
        for field in fields {
            if self.form.contains_key(&field.key) {
                continue;
            }
            let default = match &field.default {
                None => String::new(),
                Some(default) => format!(" [{}]", escape::line(&default.to_string())),
            };
            let words = format!("{}{default}:", escape::line(&field.label));
            loop {
                let line = self.prompt(&words).await?;
                match parse::field(field, &line) {
                    Ok(Some(value)) => {
                        self.form.insert(field.key.clone(), value);
                        break;
                    }
                    Ok(None) => break,
                    Err(why) => self.complain(&why),
                }
            }
        }
        Some(Answer::respond(Value::Object(self.form.clone())))
    }

    /// Discards a refused field, so that it is asked again; discards all fields if none is named.
    fn drop_field(&mut self, field: Option<&str>) {
        let key = field.map(|f| f.trim_start_matches("value").trim_start_matches(['.', '/']));
        let key = key.and_then(|k| k.split(['.', '/', '[']).next()).unwrap_or_default();
        if self.form.remove(key).is_none() {
            self.form.clear();
        }
    }
}

fn told(decision: Verdict, words: String) -> Answer {
    let text = Some(words).filter(|words| !words.is_empty());
    Answer { decision, value: None, text, digest: None }
}

#[cfg(test)]
mod tests {
    use proto::error::Code;
    use serde_json::json;

    use super::*;
    use crate::render::samples;

    fn question(n: usize) -> Question {
        serde_json::from_value(samples::questions()[n].clone()).unwrap()
    }

    async fn answered(n: usize, typed: &[&str]) -> (Option<Answer>, String) {
        let mut keyboard = Keyboard::of(&[]);
        let mut out = Vec::new();
        let mut dialogue = Dialogue::new(&mut keyboard, &mut out, Look::plain(Some(80)));
        // Input typed before the question is shown is ignored.
        *dialogue.keyboard = Keyboard::of(typed);
        let answer =
            dialogue.ask(&question(n), Some(&Failure::new(Code::InvalidAnswer, "again"))).await;
        (answer, String::from_utf8(out).unwrap())
    }

    async fn check(n: usize, typed: &[&str], expected: Answer) {
        let (answer, _) = answered(n, typed).await;
        assert_eq!(answer, Some(expected), "{typed:?}");
    }

    #[tokio::test]
    async fn questions_of_every_kind_are_answered_in_place() {
        check(0, &["", "c"], Answer::approve(Some("ab12".into()))).await;
        check(0, &["x", "n", "only one step"], told(Verdict::Respond, "only one step".into()))
            .await;
        check(0, &["x", "y"], told(Verdict::Reject, String::new())).await;
        check(1, &[" ", "李"], Answer::respond(json!("李"))).await;
        check(2, &["green", "1,blue"], Answer::respond(json!(["r", "blue"]))).await;
        check(
            3,
            &["", "Li", "12", "7", "yes", "First"],
            Answer::respond(json!({"name": "Li", "n": 7, "go": true, "c": "1"})),
        )
        .await;
        check(4, &["y"], Answer::approve(Some("9f86d081884c7d65".into()))).await;
        check(4, &["wrong address"], told(Verdict::Reject, "wrong address".into())).await;
    }

    #[tokio::test]
    async fn a_field_the_server_refuses_is_asked_again_and_no_other() {
        let mut keyboard = Keyboard::of(&["Li", "7", "yes", "1", "Wang"]);
        let mut out = Vec::new();
        let mut dialogue = Dialogue::new(&mut keyboard, &mut out, Look::plain(Some(80)));
        let form = question(3);
        let first = Failure::new(Code::InvalidAnswer, "again");
        dialogue.ask(&form, Some(&first)).await.unwrap();
        let refused = Failure::new(Code::InvalidAnswer, "is taken").at("value.name");
        let answer = dialogue.ask(&form, Some(&refused)).await.unwrap();
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
        Dialogue::new(&mut keyboard, &mut out, Look::plain(Some(80))).ask(&question(4), None).await;
        let shown = String::from_utf8(out).unwrap();
        assert!(shown.contains(r"eve\u200b@example.org") && shown.contains("9f86d081884c7d65"));
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
}
