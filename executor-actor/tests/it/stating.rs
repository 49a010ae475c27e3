//! Commands that ask for the structured result of a job, and reasoning that goes from turn to turn.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use executor_actor::{ExecutorActor, options};
use model::{Delta, Model, ModelError, ModelRequest, ModelStream};
use proto::{
    fact::Fact,
    message::{Message, ModelCall, StopReason, Usage},
    opaque::Opaque,
};
use runtime::{registry::Registry, testing::RoleStage};
use serde_json::{Value, json};

use crate::stage::{Stage, command};

fn stating(more: &Value) -> Value {
    let schema = json!({
        "type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}
    });
    let mut fields = json!({
        "may_ask": false, "must_answer": true, "output": schema,
        "task": {"goal": "price it", "description": "State the result.", "dependencies": [
            {"id": "s1", "state": "completed", "response": "it costs 3"}
        ]},
    });
    for (name, value) in more.as_object().unwrap() {
        fields[name] = value.clone();
    }
    fields
}

#[tokio::test]
async fn a_result_that_does_not_fit_is_answered_with_its_places_and_one_that_fits_with_its_value() {
    let script = r#"
rules:
  - when: { any: 'did not fit', last: 'it costs 3' }
    reply: { text: '{"total": 3}' }
  - when: { any: '"required":\["total"\]' }
    reply: { text: '{"total": "three"}' }
"#;
    let mut stage = Stage::new(script).await;
    stage.command(stating(&json!({}))).await;
    let (_, fact) = stage.fact().await;
    assert_eq!(fact["reply"]["type"], "misfit", "{fact}");
    assert_eq!(fact["reply"]["text"], r#"{"total": "three"}"#);
    assert_eq!(fact["reply"]["misfits"][0]["field"], "total");
    let mut again = stating(&json!({"work": "g0.s1.r1.n2.t1"}));
    again["task"]["previous_error"] = json!("the reply did not fit");
    stage.command(again).await;
    let (_, fact) = stage.fact().await;
    let value = json!({"type": "done", "success": true, "response": "", "value": {"total": 3}});
    assert_eq!(fact["reply"], value);
    stage.end().await;
}

/// A model that calls a tool with opaque reasoning, and keeps its requests.
struct Reasoning(Arc<Mutex<Vec<ModelRequest>>>);

fn kept() -> Opaque {
    Opaque { model: "gemini:h/m".into(), parts: vec![json!({"of": 0, "thoughtSignature": "s1"})] }
}

#[async_trait]
impl Model for Reasoning {
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        self.0.lock().unwrap().push(request);
        let call = ModelCall { id: "c1".into(), name: "none".into(), args: json!({}) };
        let (usage, stop) = (Usage::default(), StopReason::ToolCalls);
        let end = Delta::End { usage, stop, model: "m".to_owned() };
        let deltas = [Delta::Call(call), Delta::Opaque(kept()), end];
        Ok(Box::pin(futures::stream::iter(deltas.map(Ok))))
    }
}

#[tokio::test]
async fn the_next_turn_has_the_opaque_parts_of_the_one_before_from_the_log() {
    let broker = RoleStage::broker(&[]).await;
    let requests = Arc::new(Mutex::new(Vec::new()));
    let model = Arc::new(Reasoning(Arc::clone(&requests)));
    let registry = Registry::open(&broker).await.unwrap();
    let role = ExecutorActor::new(broker.clone(), model, registry);
    let mut stage = RoleStage::start(broker, role, options(4)).await;
    stage.decide(&command(json!({"task": {"goal": "g", "description": "d"}}))).await;
    let (seq, Fact::Turned(turned)) = stage.fact().await else { panic!("not a turn") };
    assert_eq!(turned.opaque, Some(kept()));
    let replies = json!([{"id": "c1", "name": "none", "text": "there is no tool"}]);
    let next = json!({"work": "g0.s1.r1.t2", "turn": 2, "after": seq, "replies": replies});
    stage.decide(&command(next)).await;
    stage.fact().await;
    let requests = std::mem::take(&mut *requests.lock().unwrap());
    let said = requests[1].messages.iter().find_map(|message| match message {
        Message::Assistant { opaque, .. } => Some(opaque.clone()),
        Message::System { .. } | Message::User { .. } | Message::Tool { .. } => None,
    });
    assert_eq!(said, Some(Some(kept())));
    stage.end().await;
}
