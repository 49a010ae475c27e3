//! `callboard worker check` against the Python example, and against workers that break the protocol.

use std::{collections::BTreeMap, path::PathBuf};

use rstest::rstest;
use serde_json::Value;

use crate::support::Place;

/// A worker over examples/python-worker/callboard.py with the tool `nap`, which breaks the promises
/// that its argument names.
const WORKER: &str = r#"
import asyncio, os, sys
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from callboard import Tool, Worker

async def nap(call, args):
    await asyncio.sleep(args["ms"] / 1000)
    return {"success": True, "data": args}

class Careless(Worker):
    """Acknowledges first, ignores approvals, and cannot fetch large calls."""
    async def answer(self, message, placed):
        placed.set()
        await message.ack()
        command = await self.body(message)
        command.pop("approved", None)
        called = await self.called("job", command, 1, placed)
        _, shard, job, *_ = message.subject.split(".")
        await self.append(shard, job, called, None)
    async def fetch(self, **ref):
        raise ValueError("large calls are for others")

class Greedy(Worker):
    """Takes whatever there is, sends no heartbeats, and never looks at the log."""
    async def answer(self, message, placed):
        placed.set()
        await super().answer(message, placed)
    async def beat(self, message, run, effect):
        pass
    async def has_ended(self, *call):
        return False
    async def is_obsolete(self, *call):
        return False

schema = {"type": "object", "properties": {"ms": {"type": "integer"}}, "required": ["ms"]}
tool = Tool("nap", "Sleeps.", schema, "pure", nap, concurrency=1)
kind = {"good": Worker, "careless": Careless, "greedy": Greedy}[sys.argv[2]]
servers, prefix = os.environ["CALLBOARD__NATS__URL"], os.environ["CALLBOARD__NATS__PREFIX"]
asyncio.run(kind("naps", [tool], servers=servers, prefix=prefix).run())
"#;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The Python of `make test`, which has nats-py, or the machine's.
fn python() -> String {
    let installed = root().join(".tools/venv/bin/python3");
    if installed.exists() { installed.display().to_string() } else { "python3".to_owned() }
}

/// Runs a check; returns the verdicts by name.
fn verdicts(pool: &[&str], worker: &[&str], code: i32) -> BTreeMap<String, String> {
    let args = [&["-o", "json", "worker", "check"], pool, &["--"], worker].concat();
    let ran = Place::new().run(&args).expect(code);
    let checks: Vec<Value> = serde_json::from_str(&ran.out).unwrap();
    let word = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks.iter().map(|check| (word(check, "check"), word(check, "verdict"))).collect()
}

fn nap(kind: &str, code: i32) -> BTreeMap<String, String> {
    let place = Place::new();
    let (script, python) = (place.write("worker.py", WORKER), python());
    let examples = root().join("examples/python-worker").display().to_string();
    let pool =
        ["--pool", "naps", "--tool", "nap", "--args", r#"{"ms":0}"#, "--slow", r#"{"ms":20000}"#];
    verdicts(&pool, &[&python, &script, &examples, kind], code)
}

#[test]
fn the_example_in_python_keeps_every_promise_that_can_be_checked() {
    let all = nap("good", 0);
    assert_eq!(all.len(), 10);
    assert!(all.values().all(|verdict| verdict == "passed"), "{all:?}");

    let (python, worker) = (python(), root().join("examples/python-worker/worker.py"));
    let pool = ["--pool", "python", "--tool", "word_count", "--args", r#"{"text":"to be"}"#];
    let found =
        verdicts(&pool, &[&python, "-B", &worker.display().to_string(), "--data", ":memory:"], 0);
    assert_eq!(
        (found["redelivery"].as_str(), found["concurrency"].as_str()),
        ("passed", "not_checked")
    );
}

#[rstest]
#[case("careless", &["digest", "body_ref", "ack_order"], "not_checked")]
#[case("greedy", &["ended_job", "heartbeat", "cancel", "concurrency"], "failed")]
fn a_worker_that_breaks_a_promise_is_found(
    #[case] kind: &str,
    #[case] broken: &[&str],
    // Nothing is held that was acknowledged at once.
    #[case] held: &str,
) {
    let all = nap(kind, 1);
    for check in broken {
        assert_eq!(all[*check], "failed", "{all:?}");
    }
    assert_eq!(all["announcement"], "passed", "{all:?}");
    assert_eq!(all["concurrency"], held, "{all:?}");
}

#[test]
fn a_worker_that_announces_nothing_is_told_so() {
    let pool = ["--pool", "p", "--tool", "t", "--args", "{}"];
    let all = verdicts(&pool, &["sleep", "60"], 1);
    assert_eq!((all["announcement"].as_str(), all["answer"].as_str()), ("failed", "not_checked"));
}
