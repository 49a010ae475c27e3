//! Approvals that are remembered for a job: who may give them, and by which answers.

use broker::memory::MemoryOptions;
use proto::{
    error::Code,
    interaction::{QuestionKind, Remember},
};
use serde_json::json;

use crate::{
    answering::{answers, approval, people},
    office::{Office, question},
};

#[tokio::test]
async fn an_approval_is_remembered_only_by_a_person_who_may_approve() {
    // Ann submitted the job, whose agent wants another person to approve. Bob may not answer.
    let office = Office::with(MemoryOptions::default(), people()).await;
    let job = office.submit_with("j", |submitted| submitted.agent.approval.four_eyes = true).await;
    let (kind, digest) = approval(&job);
    let asked = [question("q1", kind), question("q2", QuestionKind::Question)];
    office.ask_all(&job, asked.into_iter()).await;
    let approve = json!({"job": "j", "ask": "q1", "decision": "approve", "digest": digest,
        "remember": "job"});
    for caller in [Some("ann"), Some("bob"), None] {
        let refused = office.send("answer", &approve.to_string(), caller).await.unwrap_err();
        assert_eq!(refused.code, Code::Forbidden, "{caller:?}: {refused:?}");
    }
    let reject = json!({"job": "j", "ask": "q1", "decision": "reject", "remember": "job"});
    let value = json!({"job": "j", "ask": "q2", "value": "soon", "remember": "job"});
    for body in [reject, value] {
        let refused = office.send("answer", &body.to_string(), Some("cat")).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidAnswer);
        assert_eq!(refused.field.as_deref(), Some("remember"));
    }
    // A link answers its question and does nothing else.
    let link = json!({"job": "j", "ask": "q1"}).to_string();
    let link = office.send("link", &link, Some("cat")).await.unwrap();
    let answer = json!({"decision": "approve", "digest": digest, "remember": "job"});
    let redeem = json!({"handle": link["handle"], "answer": answer}).to_string();
    let refused = office.send("redeem", &redeem, None).await.unwrap_err();
    assert_eq!(refused.code, Code::InvalidAnswer, "{refused:?}");
    office.send("answer", &approve.to_string(), Some("cat")).await.unwrap();
    let stored = answers(&office, &job).await;
    assert_eq!((stored.len(), stored[0].by.as_str()), (1, "cat"));
    assert_eq!(stored[0].answer.remember, Some(Remember::Job));
}
