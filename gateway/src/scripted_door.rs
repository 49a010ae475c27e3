//! A front door on a bus in memory. It admits every caller until the caller's token is revoked.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use broker::{
    Broker,
    bus::Request,
    memory::{Memory, MemoryOptions},
};
use bytes::Bytes;
use client::Client;
use futures::StreamExt;
use proto::{
    door::{Verb, Watch},
    error::{Code, Failure},
    event::EventId,
    id::WorkerId,
    limits,
    subject::Subjects,
};
use serde_json::{Value, json};

/// A front door with one job.
pub(crate) struct ScriptedDoor {
    broker: Broker,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    revoked: Mutex<BTreeSet<String>>,
    is_away: AtomicBool,
    /// The tokens of all requests.
    asked: Mutex<Vec<String>>,
    /// The records of the job. Each has one event.
    records: Mutex<Vec<u64>>,
}

impl ScriptedDoor {
    pub(crate) async fn open() -> Self {
        let memory = Memory::new(Subjects::new("cb", 4).unwrap(), MemoryOptions::default());
        let broker = memory.connect(WorkerId::new("test").unwrap());
        let state = Arc::<State>::default();
        let mut requests = broker.bus.serve(vec![Verb::Watch, Verb::Crew]).await.unwrap();
        let serving = state.clone();
        tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                tokio::spawn(answer(request, serving.clone()));
            }
        });
        Self { broker, state }
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(&self.broker).with_token(Some(token.to_owned()))
    }

    pub(crate) fn revoke(&self, token: &str) {
        lock(&self.state.revoked).insert(token.to_owned());
    }

    /// Answers nothing from now on.
    pub(crate) fn leave(&self) {
        self.state.is_away.store(true, Ordering::SeqCst);
    }

    pub(crate) fn come_back(&self) {
        self.state.is_away.store(false, Ordering::SeqCst);
    }

    /// Returns the number of requests with a token.
    pub(crate) fn asked(&self, token: &str) -> usize {
        lock(&self.state.asked).iter().filter(|asked| *asked == token).count()
    }

    /// Stores a record with one event, of which a watch that is open does not hear.
    pub(crate) fn store(&self, seq: u64) {
        lock(&self.state.records).push(seq);
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap()
}

async fn answer(request: Request, state: Arc<State>) {
    let token = request.context.token.clone().unwrap_or_default();
    lock(&state.asked).push(token.clone());
    if state.is_away.load(Ordering::SeqCst) {
        return;
    }
    if lock(&state.revoked).contains(&token) {
        let refusal = Failure::new(Code::Forbidden, "the token is revoked");
        return request.reply.refuse(refusal).await.unwrap();
    }
    if request.verb == Verb::Crew {
        return send(&request, &json!({"workers": []})).await;
    }
    let Watch { after_event, stored, .. } = serde_json::from_slice(&request.payload).unwrap();
    let records = lock(&state.records).clone();
    for seq in &records {
        let event = json!({"id": format!("{seq}.1"), "time": "2026-03-01T09:00:00Z", "type": "job",
            "state": "submitted", "goal": "g"});
        let id: EventId = serde_json::from_value(event["id"].clone()).unwrap();
        if after_event.is_none_or(|after| id > after) {
            send(&request, &json!({"type": "event", "event": event})).await;
        }
    }
    let seq = records.last().copied().unwrap_or_default();
    send(&request, &json!({"type": "view", "view": view(seq)})).await;
    if stored {
        return;
    }
    for _ in 0..limits::WATCH_SECONDS_MAX / limits::WATCH_HEARTBEAT_SECONDS {
        tokio::time::sleep(Duration::from_secs(limits::WATCH_HEARTBEAT_SECONDS)).await;
        send(&request, &json!({"type": "heartbeat"})).await;
    }
}

async fn send(request: &Request, message: &Value) {
    // A reader that has gone hears nothing.
    let _ = request.reply.send(Bytes::from(message.to_string())).await;
}

fn view(seq: u64) -> Value {
    let at = "2026-03-01T09:00:00Z";
    json!({"job": "j", "state": "working", "sub_status": "executing", "goal": "g",
        "agent": "default", "language": "en", "usage": {"input_tokens": 0, "output_tokens": 0},
        "ignored": 0, "records": seq, "seq": seq, "created": at, "updated": at})
}
