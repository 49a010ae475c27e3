//! Workflows drawn by chance. The choices are numbers, so a test that shrinks them shrinks the
//! workflow.

use proto::workflow::Workflow;
use serde_json::{Map, Value, json};

use crate::workflow::read::{Known, KnownTool, read};

/// Maximum nesting of parallel parts and choices.
const DEPTH: u32 = 3;

/// Returns the tools that drawn workflows name: `work`.
#[must_use]
pub fn known() -> Known {
    let tool = KnownTool { schema: json!({"type": "object"}), once: false };
    let tools = proto::id::ToolName::new("work").map(|name| (name, tool));
    Known { tools: tools.into_iter().collect(), is_complete: true, ..Known::default() }
}

/// Draws a valid workflow. Each number is a choice; after the last one every choice is 0.
///
/// # Panics
/// Panics when the drawn workflow has a mistake, which is an error of this module.
#[must_use]
#[expect(clippy::panic, reason = "a tool of tests, whose own error this would be")]
pub fn drawn(choices: &[u32]) -> Workflow {
    let file = drawn_file(choices);
    let checked = read("drawn", &file.to_string(), &known());
    checked.map(|checked| checked.workflow).unwrap_or_else(|wrong| panic!("{wrong}\n{file:#}"))
}

/// Draws the file of a valid workflow, as [`drawn`] reads it.
///
/// Every node appends its id to the key `log` and adds 1 to `count`. Conditions read `count`, the
/// visits and the outcome's field `yes`, so a script decides the path.
#[must_use]
pub fn drawn_file(choices: &[u32]) -> Value {
    let mut draw = Draw { choices: choices.iter(), nodes: Map::new(), next: 0, in_map: false };
    let length = 1 + draw.choose(4);
    let start = draw.chain(length, "end", 0);
    json!({
        "workflow": "drawn", "version": 1, "start": start, "nodes": draw.nodes,
        "limits": {"steps": 60, "visits": 4},
        "state": {
            "log": {"schema": {"type": "array"}, "reduce": "append", "initial": []},
            "count": {"schema": {"type": "integer"}, "reduce": "sum", "initial": 0},
        },
    })
}

struct Draw<'a> {
    choices: std::slice::Iter<'a, u32>,
    nodes: Map<String, Value>,
    next: u32,
    in_map: bool,
}

impl Draw<'_> {
    fn choose(&mut self, below: u32) -> u32 {
        self.choices.next().copied().unwrap_or_default() % below
    }

    fn id(&mut self) -> String {
        self.next += 1;
        format!("n{}", self.next)
    }

    /// Draws a chain of parts before `then`, and returns its first node.
    fn chain(&mut self, length: u32, then: &str, depth: u32) -> String {
        (0..length).fold(then.to_owned(), |then, _| self.part(&then, depth))
    }

    fn part(&mut self, then: &str, depth: u32) -> String {
        let id = self.id();
        match self.choose(if depth < DEPTH { 9 } else { 5 }) {
            0 => self.node(&id, json!({"type": "model", "prompt": "{{ state.count }}"}), then),
            1 => self.node(&id, json!({"type": "tool", "tool": "work", "on_error": then}), then),
            2 => self.node(&id, json!({"type": "set"}), then),
            3 => {
                let ask =
                    json!({"type": "human", "ask": "x", "deadline": {"after": "1h", "then": then}});
                self.node(&id, ask, then)
            }
            4 => self.event(&id, then),
            5 => self.choice(&id, then, depth),
            6 => self.circle(&id, then),
            7 => self.parallel(&id, then, depth),
            _ if self.in_map => self.parallel(&id, then, depth),
            _ => self.map(&id, then, depth),
        }
        id
    }

    fn node(&mut self, id: &str, work: Value, then: &str) {
        let mut node = work;
        node["write"] = json!({"log": id, "count": 1});
        node["next"] = Value::from(then);
        self.nodes.insert(id.to_owned(), node);
    }

    /// Draws a wait for an event that names its visit, and its item inside of a map.
    fn event(&mut self, id: &str, then: &str) {
        let visit = format!("event.data.visit == visits.{id}");
        let fits = match self.in_map {
            true => format!("{visit} and event.data.item == index"),
            false => visit,
        };
        let timeout = json!({"after": "1h", "then": then});
        let node = json!({"type": "event", "event": id, "match": fits, "timeout": timeout});
        self.node(id, node, then);
    }

    fn choice(&mut self, id: &str, then: &str, depth: u32) {
        let length = 1 + self.choose(2);
        let other = self.chain(length, then, depth + 1);
        let bound = self.choose(6);
        let when = format!("state.count > {bound}");
        let next = json!([{"when": when, "to": other}, {"to": then}]);
        self.nodes.insert(id.to_owned(), json!({"type": "branch", "next": next}));
    }

    fn circle(&mut self, id: &str, then: &str) {
        let bound = 1 + self.choose(3);
        let again = format!("visits.{id} <= {bound} and reply.yes");
        let next = json!([{"when": again, "to": id}, {"to": then}]);
        let reply = json!({"type": "object", "properties": {"yes": {"type": "boolean"}}});
        let node = json!({"type": "model", "prompt": "x", "reply": reply, "next": next,
            "write": {"log": id, "count": 1}});
        self.nodes.insert(id.to_owned(), node);
    }

    fn join(&mut self, paths: u32) -> Value {
        match self.choose(3) {
            0 => json!("all"),
            1 => json!("any"),
            _ => json!({"at_least": 1 + self.choose(paths)}),
        }
    }

    fn parallel(&mut self, id: &str, then: &str, depth: u32) {
        let paths = 1 + self.choose(3);
        let mut branches = Map::new();
        for n in 0..paths {
            let length = 1 + self.choose(2);
            let start = self.chain(length, "end", depth + 1);
            branches.insert(format!("b{n}"), Value::from(start));
        }
        let join = self.join(paths);
        let mut node =
            json!({"type": "parallel", "branches": branches, "join": join, "next": then});
        if self.choose(2) == 1 {
            node["on_error"] = Value::from(then);
        }
        self.nodes.insert(id.to_owned(), node);
    }

    fn map(&mut self, id: &str, then: &str, depth: u32) {
        let length = 1 + self.choose(2);
        self.in_map = true;
        let body = self.chain(length, "end", depth + 1);
        self.in_map = false;
        let items: Vec<u32> = (0..self.choose(4)).collect();
        let node = json!({"type": "map", "over": Value::from(items).to_string(), "do": body,
            "max_parallel": 1 + self.choose(3), "collect": {"log": "{{ index }}"}, "join": "all",
            "on_error": then, "next": then});
        self.nodes.insert(id.to_owned(), node);
    }
}
