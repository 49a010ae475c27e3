//! Tests of who may confirm a plan over REST and AG-UI: the person who submitted the job, unless the
//! agent wants another one.

use broker::testing::wait::eventually;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Stage, taken};

/// An installation with two people who submit and answer, and an operator. Each token is the name of
/// its person.
pub(super) struct Office {
    stage: Stage,
    _config: tempfile::NamedTempFile,
}

impl Office {
    pub(super) async fn start() -> Self {
        let config = tempfile::NamedTempFile::with_suffix(".toml").unwrap();
        let people = [
            ("ann", r#""submit", "answer", "read""#),
            ("bob", r#""submit", "answer", "read""#),
            ("cat", r#""operate""#),
        ];
        let people = people.map(|(name, roles)| {
            let digest = proto::digest::of_bytes(name.as_bytes());
            format!("[door.people.{name}]\nroles = [{roles}]\ntoken_sha256 = \"{digest}\"\n")
        });
        std::fs::write(config.path(), people.concat()).unwrap();
        let path = config.path().display().to_string();
        let stage = Stage::with(|company| company.variable("CALLBOARD_CONFIG", &path)).await;
        let office = Self { stage, _config: config };
        let agent = json!({"text": "extends: default\napproval: { four_eyes: true }\n"});
        let (status, stored) = office.send("cat", Method::PUT, "/v1/agents/eyes", &agent).await;
        assert!(status.is_success(), "{stored}");
        office
    }

    pub(super) async fn send(
        &self,
        token: &str,
        method: Method,
        path: &str,
        body: &Value,
    ) -> (StatusCode, Value) {
        let request = self.stage.request(method, path).bearer_auth(token).json(body);
        taken(request.send().await.unwrap()).await
    }

    async fn read(&self, job: &str) -> Value {
        let request = self.stage.get(&format!("/v1/jobs/{job}")).bearer_auth("ann");
        taken(request.send().await.unwrap()).await.1
    }

    /// Approves the plan of a job over REST, and returns the status of the answer.
    pub(super) async fn approve(&self, token: &str, job: &str) -> u16 {
        let question = eventually("a plan to confirm", async || {
            let view = self.read(job).await;
            let question = view["questions"][0].clone();
            if question["kind"] == "plan_check" { Ok(question) } else { Err(view) }
        })
        .await;
        let path = format!("/v1/jobs/{job}/questions/{}/answers", question["id"].as_str().unwrap());
        let answer = json!({"decision": "approve", "digest": question["digest"]});
        self.send(token, Method::POST, &path, &answer).await.0.as_u16()
    }

    /// Runs an agent over AG-UI, and returns the last event, or the problem of a refused run.
    pub(super) async fn run(&self, token: &str, agent: &str, body: Value) -> Value {
        let path = format!("/agui/{agent}");
        let (status, stream) = self.send(token, Method::POST, &path, &body).await;
        let Value::String(stream) = stream else { return stream };
        let last = stream.lines().filter_map(|line| line.strip_prefix("data:")).next_back();
        serde_json::from_str(last.unwrap_or_else(|| panic!("{status}: {stream}"))).unwrap()
    }

    /// Returns the person who answered the first question of a job.
    async fn who_answered(&self, job: &str) -> Value {
        self.read(job).await["past_questions"][0]["by"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_confirms_the_plan_of_their_own_job_unless_the_agent_wants_another_person() {
    let office = Office::start().await;
    for (agent, own) in [("default", 200), ("eyes", 403)] {
        let submit = json!({"id": agent, "goal": "two echoes", "agent": agent, "confirm": true});
        let (status, reply) = office.send("ann", Method::POST, "/v1/jobs", &submit).await;
        assert_eq!(status, StatusCode::CREATED, "{reply}");
        assert_eq!(office.approve("ann", agent).await, own, "{agent}");
        if own == 403 {
            assert_eq!(office.approve("bob", agent).await, 200, "{agent}");
        }
    }
    assert_eq!(office.who_answered("default").await, "ann");
    assert_eq!(office.who_answered("eyes").await, "bob");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_confirms_their_own_run_over_agui_unless_the_agent_wants_another_person() {
    let office = Office::start().await;
    for agent in ["default", "eyes"] {
        let said = json!([{"id": "m1", "role": "user", "content": "two echoes"}]);
        let run = json!({"threadId": agent, "runId": "r1", "messages": said});
        let asks = office.run("ann", agent, run).await;
        let interrupt = &asks["outcome"]["interrupts"][0];
        assert_eq!(interrupt["reason"], "confirmation", "{asks}");
        let id = interrupt["id"].as_str().unwrap();
        let (job, _) = id.split_once(':').unwrap();
        let resume = |run: &str| {
            let answer =
                json!({"interruptId": id, "status": "resolved", "payload": {"approved": true}});
            json!({"threadId": agent, "runId": run, "messages": [], "resume": [answer]})
        };
        let resumed = office.run("ann", agent, resume("r2")).await;
        if agent == "default" {
            assert_eq!(resumed["type"], "RUN_FINISHED", "{resumed}");
            assert_eq!(office.who_answered(job).await, "ann");
            continue;
        }
        assert_eq!(resumed["code"], "forbidden", "{resumed}");
        assert_eq!(office.read(job).await["questions"][0]["kind"], "plan_check");
        let resumed = office.run("bob", agent, resume("r3")).await;
        assert_eq!(resumed["type"], "RUN_FINISHED", "{resumed}");
        assert_eq!(office.who_answered(job).await, "bob");
    }
}
