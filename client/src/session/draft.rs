//! A question that is open, and what has been typed of its answer so far: one line at a time, so that
//! other lines may come in between.

use proto::{
    error::Failure,
    escape,
    interaction::{Answer, Field, Question, QuestionKind, Verdict},
};
use serde_json::{Map, Value};

use crate::answer::parse::{self, OnPlan};

/// A question that is being answered.
#[derive(Debug, Clone)]
pub(crate) struct Answering {
    question: Question,
    form: Map<String, Value>,
    /// The field of a form that is asked for.
    at: usize,
}

/// What a line was to a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Took {
    /// More is wanted: the next field.
    More,
    /// It does not fit, and why.
    Refused(String),
    /// The answer is whole.
    Answer(Answer),
}

impl Answering {
    /// Begins.
    pub(crate) fn new(question: Question) -> Self {
        Self { question, form: Map::new(), at: 0 }
    }

    /// The question.
    pub(crate) fn question(&self) -> &Question {
        &self.question
    }

    /// Whether something has been answered of it already.
    pub(crate) fn is_begun(&self) -> bool {
        self.at > 0
    }

    /// Forgets what has been answered of it.
    pub(crate) fn restart(&mut self) {
        self.form.clear();
        self.at = 0;
    }

    /// What stands before the cursor.
    pub(crate) fn prompt(&self) -> String {
        match &self.question.kind {
            QuestionKind::PlanCheck { .. } => {
                "confirm [c], cancel [x], or say how it is to change:".to_owned()
            }
            QuestionKind::ToolApproval { .. } => {
                "run it [y], do not [n], or say why not:".to_owned()
            }
            QuestionKind::Question => "answer:".to_owned(),
            QuestionKind::Choice { multiple: false, .. } => "choose:".to_owned(),
            QuestionKind::Choice { multiple: true, .. } => "choose, with commas:".to_owned(),
            QuestionKind::Form { fields } => fields.get(self.at).map(field).unwrap_or_default(),
        }
    }

    /// Takes a line.
    pub(crate) fn take(&mut self, line: &str) -> Took {
        let line = line.trim();
        match &self.question.kind {
            QuestionKind::PlanCheck { digest, .. } => match parse::on_plan(line) {
                OnPlan::Nothing => Took::More,
                OnPlan::Confirm => Took::Answer(Answer::approve(Some(digest.clone()))),
                OnPlan::Cancel => Took::Answer(told(Verdict::Reject, "")),
                OnPlan::Revise(words) => Took::Answer(told(Verdict::Respond, &words)),
            },
            QuestionKind::ToolApproval { digest, .. } => match (parse::yes(line), line) {
                (_, "") => Took::More,
                (Some(true), _) => Took::Answer(Answer::approve(Some(digest.clone()))),
                (Some(false), _) => Took::Answer(told(Verdict::Reject, "")),
                (None, words) => Took::Answer(told(Verdict::Reject, words)),
            },
            QuestionKind::Question if line.is_empty() => Took::More,
            QuestionKind::Question => Took::Answer(Answer::respond(Value::from(line))),
            QuestionKind::Choice { options, multiple } => {
                match parse::choice(options, *multiple, line) {
                    Ok(value) => Took::Answer(Answer::respond(value)),
                    Err(why) => Took::Refused(why),
                }
            }
            QuestionKind::Form { fields } => {
                let Some(field) = fields.get(self.at) else {
                    return Took::Answer(Answer::respond(Value::Object(self.form.clone())));
                };
                match parse::field(field, line) {
                    Err(why) => return Took::Refused(why),
                    Ok(Some(value)) => drop(self.form.insert(field.key.clone(), value)),
                    Ok(None) => {}
                }
                self.at += 1;
                if self.at < fields.len() {
                    return Took::More;
                }
                Took::Answer(Answer::respond(Value::Object(self.form.clone())))
            }
        }
    }

    /// The server did not take the answer: the field that it names is asked for again, and those after
    /// it; everything when it names none.
    pub(crate) fn refused(&mut self, failure: &Failure) -> String {
        let named = failure.field.as_deref().unwrap_or_default();
        if let QuestionKind::Form { fields } = &self.question.kind {
            let of_field = |field: &Field| named.split('.').any(|part| part == field.key);
            self.at = fields.iter().position(of_field).unwrap_or_default();
        }
        escape::line(&failure.message).into_owned()
    }
}

fn field(field: &Field) -> String {
    let label = escape::line(&field.label);
    match (&field.default, field.required) {
        (Some(default), _) => format!("{label} [{}]:", escape::line(&plain(default))),
        (None, true) => format!("{label}:"),
        (None, false) => format!("{label} (may be left empty):"),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn told(decision: Verdict, words: &str) -> Answer {
    let text = (!words.is_empty()).then(|| words.to_owned());
    Answer { decision, value: None, text, digest: None }
}

#[cfg(test)]
mod tests {
    use proto::error::Code;
    use serde_json::json;

    use super::*;

    fn question(kind: &Value) -> Answering {
        let mut question = json!({"id": "q1", "prompt": "?"});
        for (name, value) in kind.as_object().unwrap() {
            question[name] = value.clone();
        }
        Answering::new(serde_json::from_value(question).unwrap())
    }

    fn value(took: Took) -> Value {
        match took {
            Took::Answer(answer) => answer.value.unwrap_or_default(),
            other @ (Took::More | Took::Refused(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_answered_with_a_line_and_a_choice_by_number_or_text() {
        assert_eq!(value(question(&json!({"kind": "question"})).take(" Ann ")), "Ann");
        let options = json!([{"value": "r", "label": "Red"}, {"value": "b"}]);
        let mut choice =
            question(&json!({"kind": "choice", "options": options, "multiple": false}));
        assert!(
            matches!(choice.take("3"), Took::Refused(why) if why.contains("not one of the options"))
        );
        assert_eq!(value(choice.take("1")), "r");
        assert_eq!(value(choice.take("Red")), "r");
        let mut many = question(&json!({"kind": "choice", "options": options, "multiple": true}));
        assert_eq!(value(many.take("2, 1")), json!(["b", "r"]));
    }

    #[test]
    fn a_form_is_filled_in_field_by_field_and_a_refused_field_is_asked_again() {
        let mut form = question(&json!({"kind": "form", "fields": [
            {"key": "who", "label": "Who", "type": "text", "required": true},
            {"key": "n", "label": "How many", "type": "number", "integer": true, "default": 2},
        ]}));
        assert_eq!(form.prompt(), "Who:");
        assert!(matches!(form.take(""), Took::Refused(_)));
        assert_eq!(form.take("Ann"), Took::More);
        assert_eq!((form.prompt().as_str(), form.is_begun()), ("How many [2]:", true));
        assert_eq!(value(form.take("")), json!({"who": "Ann", "n": 2}));
        let failure = Failure::new(Code::InvalidAnswer, "too many").at("value.n");
        assert_eq!(form.refused(&failure), "too many");
        assert_eq!(value(form.take("1")), json!({"who": "Ann", "n": 1}));
        form.restart();
        assert_eq!(form.prompt(), "Who:");
    }

    #[test]
    fn a_plan_is_confirmed_in_both_languages_changed_or_rejected() {
        let plan = json!({"kind": "plan_check", "plan": {"title": "t", "steps": []}, "revision": 0, "digest": "d"});
        let verdict = |line: &str| match question(&plan).take(line) {
            Took::Answer(answer) => (answer.decision, answer.text),
            other @ (Took::More | Took::Refused(_)) => panic!("{line}: {other:?}"),
        };
        assert_eq!(verdict("确认执行"), (Verdict::Approve, None));
        assert_eq!(verdict("y"), (Verdict::Approve, None));
        assert_eq!(verdict("x"), (Verdict::Reject, None));
        assert_eq!(verdict("no mail"), (Verdict::Respond, Some("no mail".into())));
    }
}
