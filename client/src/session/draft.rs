//! The draft of an answer: lines, one at a time, until the answer is whole. Other lines may come in
//! between. Pure.

use proto::{
    error::Failure,
    interaction::{Answer, Field, Question, QuestionKind, Remember, Verdict},
    lang::Language,
};
use serde_json::{Map, Value};

use super::parse::{self, OnPlan};

/// A question, and the answer so far.
#[derive(Debug, Clone)]
pub struct AnswerDraft {
    question: Question,
    form: Map<String, Value>,
    /// The fields of a form that are still to be asked for, in their order.
    left: std::ops::Range<usize>,
}

/// The effect of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Taken {
    /// Another line is needed: the next field, or the same one after an empty line.
    More,
    /// The line does not fit, and why.
    Refused(String),
    /// The answer is whole.
    Answer(Answer),
}

impl AnswerDraft {
    /// An empty draft.
    #[must_use]
    pub fn new(question: Question) -> Self {
        let mut draft = Self { question, form: Map::new(), left: 0..0 };
        draft.restart();
        draft
    }

    /// The question.
    #[must_use]
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The field of a form that the next line fills in.
    #[must_use]
    pub fn field(&self) -> Option<&Field> {
        self.left.clone().next().and_then(|at| self.fields().get(at))
    }

    /// Returns whether an approval can be remembered for the job.
    #[must_use]
    pub fn remembers(&self) -> bool {
        self.question.can_be_remembered(Verdict::Approve)
    }

    /// Returns whether a field of the form has a value.
    #[must_use]
    pub fn is_begun(&self) -> bool {
        self.left.start > 0
    }

    /// Empties the draft.
    pub fn restart(&mut self) {
        self.form.clear();
        self.left = 0..self.fields().len();
    }

    /// Takes a line. A refusal is in the given language.
    pub fn take(&mut self, language: Language, line: &str) -> Taken {
        let line = line.trim();
        match &self.question.kind {
            QuestionKind::PlanCheck { digest, .. } => match parse::on_plan(line) {
                OnPlan::Nothing => Taken::More,
                OnPlan::Confirm => Taken::Answer(Answer::approve(Some(digest.clone()))),
                OnPlan::Cancel => Taken::Answer(verdict(Verdict::Reject, "")),
                OnPlan::Revise(words) => Taken::Answer(verdict(Verdict::Respond, &words)),
            },
            QuestionKind::ToolApproval { digest, .. } => match (parse::yes(line), line) {
                (_, "") => Taken::More,
                (None, line) if parse::always(line) && self.remembers() => {
                    let remember = Some(Remember::Job);
                    let answer = Answer::approve(Some(digest.clone()));
                    Taken::Answer(Answer { remember, ..answer })
                }
                (Some(true), _) => Taken::Answer(Answer::approve(Some(digest.clone()))),
                (Some(false), _) => Taken::Answer(verdict(Verdict::Reject, "")),
                (None, words) => Taken::Answer(verdict(Verdict::Reject, words)),
            },
            QuestionKind::Question if line.is_empty() => Taken::More,
            QuestionKind::Question => Taken::Answer(Answer::respond(Value::from(line))),
            QuestionKind::Choice { options, multiple } => {
                match parse::choice(language, options, *multiple, line) {
                    Ok(value) => Taken::Answer(Answer::respond(value)),
                    Err(why) => Taken::Refused(why),
                }
            }
            QuestionKind::Form { .. } => self.fill_in(language, line),
        }
    }

    /// Has the field that a refusal names asked for again and no other; all of them when it names none.
    pub fn refused(&mut self, failure: &Failure) {
        let named = failure.field.as_deref().unwrap_or_default();
        let path = named.strip_prefix("value").unwrap_or(named).trim_start_matches(['.', '/', '[']);
        let key = path.split(['.', '/', '[', ']']).next().unwrap_or_default();
        match self.fields().iter().position(|field| field.key == key) {
            Some(at) => self.left = at..at + 1,
            None => self.restart(),
        }
    }

    fn fill_in(&mut self, language: Language, line: &str) -> Taken {
        if let Some(field) = self.field() {
            let key = field.key.clone();
            match parse::field(language, field, line) {
                Err(why) => return Taken::Refused(why),
                Ok(Some(value)) => self.form.insert(key, value),
                Ok(None) => self.form.remove(&key),
            };
            self.left.start += 1;
        }
        if self.left.is_empty() {
            return Taken::Answer(Answer::respond(Value::Object(self.form.clone())));
        }
        Taken::More
    }

    fn fields(&self) -> &[Field] {
        match &self.question.kind {
            QuestionKind::Form { fields } => fields,
            QuestionKind::PlanCheck { .. }
            | QuestionKind::ToolApproval { .. }
            | QuestionKind::Question
            | QuestionKind::Choice { .. } => &[],
        }
    }
}

fn verdict(decision: Verdict, words: &str) -> Answer {
    let text = (!words.is_empty()).then(|| words.to_owned());
    Answer { decision, value: None, text, digest: None, remember: None }
}

#[cfg(test)]
mod tests {
    use proto::error::Code;
    use serde_json::json;

    use super::*;

    fn question(kind: &Value) -> AnswerDraft {
        let mut question = json!({"id": "q1", "prompt": "?"});
        for (name, value) in kind.as_object().unwrap() {
            question[name] = value.clone();
        }
        AnswerDraft::new(serde_json::from_value(question).unwrap())
    }

    fn value(took: Taken) -> Value {
        match took {
            Taken::Answer(answer) => answer.value.unwrap_or_default(),
            other @ (Taken::More | Taken::Refused(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_question_is_answered_with_a_line_and_a_choice_by_number_or_text() {
        assert_eq!(
            value(question(&json!({"kind": "question"})).take(Language::En, " Ann ")),
            "Ann"
        );
        let options = json!([{"value": "r", "label": "Red"}, {"value": "b"}]);
        let mut choice =
            question(&json!({"kind": "choice", "options": options, "multiple": false}));
        assert!(
            matches!(choice.take(Language::En, "3"), Taken::Refused(why) if why.contains("not one of the options"))
        );
        assert_eq!(value(choice.take(Language::En, "1")), "r");
        assert_eq!(value(choice.take(Language::En, "Red")), "r");
        let mut many = question(&json!({"kind": "choice", "options": options, "multiple": true}));
        assert_eq!(value(many.take(Language::En, "2, 1")), json!(["b", "r"]));
    }

    #[test]
    fn an_approval_is_remembered_for_the_job_where_it_can_be() {
        let approval = |asked_by: Value| {
            question(&json!({"kind": "tool_approval", "tool": "echo", "version": "1", "args": {},
                "digest": "ab", "asked_by": asked_by}))
        };
        let approve = Answer::approve(Some("ab".into()));
        for line in ["a", " Always", "总是"] {
            let remembered = Answer { remember: Some(Remember::Job), ..approve.clone() };
            let taken = approval(json!([{"by": "tool"}])).take(Language::En, line);
            assert_eq!(taken, Taken::Answer(remembered));
        }
        let taken = approval(json!([{"by": "tool"}])).take(Language::En, "y");
        assert_eq!(taken, Taken::Answer(approve));
        // A question of an older version takes the letter for the reason of a rejection.
        assert_eq!(
            approval(json!([])).take(Language::En, "a"),
            Taken::Answer(verdict(Verdict::Reject, "a"))
        );
    }

    #[test]
    fn a_form_is_filled_in_field_by_field_and_a_refused_field_is_asked_again() {
        let mut form = question(&json!({"kind": "form", "fields": [
            {"key": "who", "label": "Who", "type": "text", "required": true},
            {"key": "n", "label": "How many", "type": "number", "integer": true, "default": 2},
        ]}));
        let asked = |form: &AnswerDraft| form.field().map(|field| field.label.clone());
        assert_eq!(asked(&form).as_deref(), Some("Who"));
        assert!(matches!(form.take(Language::En, ""), Taken::Refused(_)));
        assert_eq!(form.take(Language::En, "Ann"), Taken::More);
        assert_eq!((asked(&form).as_deref(), form.is_begun()), (Some("How many"), true));
        assert_eq!(value(form.take(Language::En, "")), json!({"who": "Ann", "n": 2}));
        let failure = Failure::new(Code::InvalidAnswer, "too many").at("value.n");
        form.refused(&failure);
        assert_eq!(value(form.take(Language::En, "1")), json!({"who": "Ann", "n": 1}));
        form.restart();
        assert_eq!(asked(&form).as_deref(), Some("Who"));
        for name in ["Li", "Wang"] {
            assert_eq!(form.take(Language::En, name), Taken::More);
            assert_eq!(value(form.take(Language::En, "7")), json!({"who": name, "n": 7}));
            form.refused(&Failure::new(Code::InvalidAnswer, "again"));
        }
        form.take(Language::En, "Li");
        form.take(Language::En, "7");
        form.refused(&Failure::new(Code::InvalidAnswer, "is taken").at("value.who"));
        assert_eq!(value(form.take(Language::En, "Wang")), json!({"who": "Wang", "n": 7}));
    }

    #[test]
    fn a_plan_is_confirmed_in_both_languages_changed_or_rejected() {
        let plan = json!({"kind": "plan_check", "plan": {"title": "t", "steps": []}, "revision": 0, "digest": "d"});
        let verdict = |line: &str| match question(&plan).take(Language::En, line) {
            Taken::Answer(answer) => (answer.decision, answer.text),
            other @ (Taken::More | Taken::Refused(_)) => panic!("{line}: {other:?}"),
        };
        assert_eq!(verdict("确认执行"), (Verdict::Approve, None));
        assert_eq!(verdict("y"), (Verdict::Approve, None));
        assert_eq!(verdict("x"), (Verdict::Reject, None));
        assert_eq!(verdict("no mail"), (Verdict::Respond, Some("no mail".into())));
    }
}
