//! The open questions of a job as elicitations, and the responses to these as answers. Pure.

use ::client::{
    answer_form,
    session::{OpenQuestion, open_questions},
};
use proto::{
    door::GiveAnswer,
    error::{Code, Failure},
    id::{AskId, JobId},
    interaction::Answer,
    view::JobView,
};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
};
use serde_json::{Value, json};

use super::{status::is_approval, words::Text};

/// Returns the open questions that the client may answer, each with its form. Approvals are for other
/// people than the submitter, and a form that MCP cannot show is answered by the tool.
pub(super) fn requests(view: &JobView) -> impl Iterator<Item = (OpenQuestion, InputRequest)> {
    let open = open_questions(view).into_iter();
    open.filter_map(|open| {
        let request = request(&open)?;
        Some((open, request))
    })
}

fn request(open: &OpenQuestion) -> Option<InputRequest> {
    if is_approval(&open.question.kind) {
        return None;
    }
    let form = json!({
        "mode": "form",
        "message": open.question.prompt,
        "requestedSchema": answer_form::schema(&open.question),
    });
    let form: ElicitRequestParams = serde_json::from_value(form).ok()?;
    Some(InputRequest::Elicitation(ElicitRequest::new(form)))
}

/// Returns the key of a question: the job that asks and its id.
pub(super) fn key(job: &JobId, ask: &AskId) -> String {
    format!("{job}:{ask}")
}

/// `true` for a key of some question.
pub(super) fn is_key(key: &str) -> bool {
    key.split_once(':')
        .is_some_and(|(job, ask)| job.parse::<JobId>().is_ok() && ask.parse::<AskId>().is_ok())
}

/// The response of a client to an elicitation.
#[derive(Debug, PartialEq)]
pub(super) enum Response {
    /// The user answered, or declined to.
    Answered(GiveAnswer),
    /// The user did neither.
    Dismissed,
}

/// Reads the response to the elicitation of a question.
///
/// # Errors
/// `invalid_answer` for anything that does not fit the form.
pub(super) fn response(open: &OpenQuestion, response: &Value) -> Result<Response, Failure> {
    let key = key(&open.job, &open.question.id);
    let misfit = || {
        let why = Text::OtherInput { key: &key };
        Failure::composed(Code::InvalidAnswer, &why.into()).at(format!("inputResponses.{key}"))
    };
    let result: ElicitResult = serde_json::from_value(response.clone()).map_err(|_| misfit())?;
    let answer = match (result.action, result.content) {
        (ElicitationAction::Accept, Some(content)) => {
            answer_form::answer(&open.question, &content).ok_or_else(misfit)?
        }
        (ElicitationAction::Decline, _) => answer_form::decline(),
        (ElicitationAction::Cancel, _) => return Ok(Response::Dismissed),
        _ => return Err(misfit()),
    };
    Ok(Response::Answered(given(open, answer)))
}

/// Returns the refusal to answer a question.
pub(super) fn declined(open: &OpenQuestion) -> GiveAnswer {
    given(open, answer_form::decline())
}

fn given(open: &OpenQuestion, answer: Answer) -> GiveAnswer {
    let (job, ask) = open.key();
    // A model answers whatever it is asked, so it never approves its own job.
    GiveAnswer { four_eyes: true, ..GiveAnswer::new(job, ask, answer) }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::testing::asking;

    fn open() -> OpenQuestion {
        open_questions(&asking(&json!({"kind": "question"}))).remove(0)
    }

    #[test]
    fn approvals_are_not_for_the_client() {
        let approval = json!({"kind": "tool_approval", "tool": "echo", "version": "1", "args": {}, "digest": "d"});
        assert_eq!(requests(&asking(&approval)).count(), 0);
        let (asked, _) = requests(&asking(&json!({"kind": "question"}))).next().unwrap();
        assert_eq!(asked, open());
        assert!(is_key(&key(&asked.job, &asked.question.id)));
    }

    #[rstest]
    #[case::accepted(json!({"action": "accept", "content": {"answer": "Ann"}}), Some("Ann"))]
    #[case::declined(json!({"action": "decline"}), None)]
    fn a_response_is_an_answer(#[case] said: Value, #[case] value: Option<&str>) {
        let Response::Answered(given) = response(&open(), &said).unwrap() else { panic!("{said}") };
        assert_eq!(given.value, value.map(Value::from));
        assert!(given.four_eyes);
    }

    #[test]
    fn a_user_who_closes_the_form_has_not_answered() {
        let closed = response(&open(), &json!({"action": "cancel"}));
        assert_eq!(closed, Ok(Response::Dismissed));
    }

    #[rstest]
    #[case::no_action(json!({"content": {"answer": "Ann"}}))]
    #[case::no_content(json!({"action": "accept"}))]
    #[case::another_form(json!({"action": "accept", "content": {"name": "Ann"}}))]
    fn any_other_response_is_refused(#[case] said: Value) {
        assert_eq!(response(&open(), &said).unwrap_err().code, Code::InvalidAnswer);
    }
}
