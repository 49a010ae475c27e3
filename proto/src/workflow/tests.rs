//! Tests of the names, the reducers and the stored form of workflows.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn sample() -> Value {
    json!({
        "workflow": "ticket", "version": 3, "about": "Answers tickets.",
        "input": {"type": "object"},
        "state": {"found": {"schema": {"type": "array"}, "reduce": "extend", "initial": []}},
        "output": {"answer": "{{ state.found }}"},
        "limits": {"steps": 50, "visits": 4, "deadline_ms": 60000},
        "start": "sort",
        "nodes": {
            "sort": {
                "title": "Sort", "work": {"type": "model", "prompt": "{{ input.x }}", "reply": {"type": "object"}},
                "write": {"found": "{{ reply.list }}"},
                "next": [{"when": "reply.ok", "to": "gather"}, {"to": "end"}],
                "on_error": "stop",
                "retry": {"initial_interval_ms": 1, "backoff_factor": 2.0, "max_interval_ms": 9, "max_attempts": 2, "jitter": 0.5}
            },
            "gather": {"work": {"type": "parallel", "join": {"at_least": 1}, "branches": [
                {"name": "logs", "start": "logs", "nodes": ["logs"]},
                {"name": "docs", "start": "docs", "nodes": ["docs"]}
            ]}, "next": [{"to": "each"}]},
            "logs": {"work": {"type": "tool", "tool": "search", "args": {"q": 1}}, "next": [{"to": "end"}]},
            "docs": {"work": {"type": "set"}, "write": {"found": [1]}, "next": [{"to": "end"}]},
            "each": {"work": {"type": "map", "over": "state.found", "item": "item", "max_parallel": 4,
                "max_items": 50, "start": "judge", "nodes": ["judge"], "collect": {"found": ["{{ result }}"]},
                "join": "all"}, "next": [{"to": "ask"}]},
            "judge": {"work": {"type": "agent", "does": {"named": {"agent": "writer", "task": "x"}}}, "next": [{"to": "end"}]},
            "ask": {"work": {"type": "human", "ask": "Send?", "form": [
                {"key": "send", "label": "Send", "input": {"type": "boolean"}, "required": true, "default": false}
            ], "deadline": {"after_ms": 5, "then": "end"}}, "next": [{"to": "paid"}]},
            "paid": {"work": {"type": "event", "event": "pay.ment", "match": "event.data", "timeout": {"after_ms": 7, "then": "stop"}}, "next": [{"to": "cool"}]},
            "cool": {"work": {"type": "wait", "pause": {"for_ms": 600_000}}, "next": [{"to": "choose"}]},
            "choose": {"work": {"type": "branch"}, "next": [{"when": "true", "to": "stop"}, {"to": "sub"}]},
            "sub": {"work": {"type": "agent", "does": {"workflow": {"workflow": "other", "input": {}}}}, "next": [{"to": "end"}]},
            "stop": {"work": {"type": "end", "fail": "no"}}
        }
    })
}

fn read(value: &Value) -> Result<Workflow, serde_json::Error> {
    serde_json::from_value(value.clone())
}

#[test]
fn the_stored_form_is_read_and_written_again_as_it_was() {
    let workflow = read(&sample()).unwrap();
    assert_eq!(serde_json::to_value(&workflow).unwrap(), sample());
}

#[test]
fn an_unknown_field_is_refused_at_every_depth() {
    fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
        // Schemas, arguments and inputs are data of the author.
        let is_data =
            ["input", "args", "schema", "reply", "collect", "write", "output", "nodes", "state"];
        match value {
            Value::Object(fields) => {
                let last = path.rsplit('/').next().unwrap_or_default();
                let above = path.rsplit('/').nth(1).unwrap_or_default();
                if !is_data.contains(&last) && above != "form" && last != "input" {
                    found.push(path.to_owned());
                }
                for (name, field) in fields {
                    objects(field, &format!("{path}/{name}"), found);
                }
            }
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    objects(item, &format!("{path}/{n}"), found);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut paths = Vec::new();
    objects(&sample(), "", &mut paths);
    assert!(paths.len() > 30, "{paths:?}");
    for path in paths {
        let mut value = sample();
        value.pointer_mut(&path).unwrap()["strange"] = json!(1);
        assert!(read(&value).is_err(), "{path} took a strange field");
    }
}

#[test]
fn the_digest_never_changes_and_follows_the_content_alone() {
    let workflow = read(&sample()).unwrap();
    assert_eq!(
        workflow.digest(),
        "0be2758398b9adf63d5f279263b3a5e47ef0f1ba3830d2b5d22b8236e0e75b7c"
    );
    let mut other = workflow.clone();
    other.limits.steps = 51;
    assert_ne!(other.digest(), workflow.digest());
}

#[test]
fn every_node_has_the_region_that_its_parallel_part_names() {
    let workflow = read(&sample()).unwrap();
    let regions = workflow.regions();
    let of = |id: &str| regions[&NodeId::new(id).unwrap()].clone();
    let gather = NodeId::new("gather").unwrap();
    assert_eq!(of("docs"), Region::Branch { parallel: gather.clone(), branch: 1 });
    assert_eq!(of("docs").joins(), Some(&gather));
    assert_eq!(of("judge"), Region::Item { map: NodeId::new("each").unwrap() });
    assert_eq!(of("stop"), Region::Main);
    assert_eq!(regions.len(), workflow.nodes.len());
}

#[test]
fn the_initial_state_has_the_keys_with_an_initial_value() {
    let mut value = sample();
    value["state"]["draft"] = json!({"schema": {"type": "string"}});
    let state = read(&value).unwrap().initial_state();
    assert_eq!(serde_json::to_value(state).unwrap(), json!({"found": []}));
}

#[test]
fn names_that_would_break_a_step_or_an_expression_are_refused() {
    for bad in ["", "end", "a--b", "-a", "a-", "_a", "A", "a.b", "a b", "é", "*", &"x".repeat(41)]
    {
        assert!(NodeId::new(bad).is_err(), "{bad:?} was accepted");
        assert!(BranchName::new(bad).is_err(), "{bad:?} was accepted");
    }
    for good in ["a", "a-b_c", "9", &"x".repeat(40)] {
        assert!(NodeId::new(good).is_ok(), "{good:?} was refused");
    }
    for bad in ["", "1a", "a-b", "a.b", "a/b", &"x".repeat(41)] {
        assert!(Key::new(bad).is_err(), "{bad:?} was accepted");
    }
    for bad in ["", "A", "a_b", "../x", "a.b", "a>", &"x".repeat(49)] {
        assert!(WorkflowName::new(bad).is_err(), "{bad:?} was accepted");
    }
    for bad in ["", "a b", "a/b", "é", &"x".repeat(65)] {
        assert!(EventName::new(bad).is_err(), "{bad:?} was accepted");
    }
    assert_eq!(serde_json::from_value::<Target>(json!("end")).unwrap(), Target::End);
    assert!(serde_json::from_value::<Target>(json!("a--b")).is_err());
}

#[test]
fn each_reducer_combines_values_and_refuses_other_types() {
    let one = |reducer, old: Value, new: Value| apply(reducer, Some(&old), new).unwrap();
    assert_eq!(one(Reducer::Replace, json!(1), json!("x")), json!("x"));
    assert_eq!(one(Reducer::Append, json!([1]), json!([2])), json!([1, [2]]));
    assert_eq!(one(Reducer::Extend, json!([1]), json!([2, 3])), json!([1, 2, 3]));
    assert_eq!(one(Reducer::Union, json!([1, 2]), json!([2, 3, 3])), json!([1, 2, 3]));
    assert_eq!(
        one(Reducer::Merge, json!({"a": {"x": 1}, "b": 1}), json!({"a": 2})),
        json!({"a": 2, "b": 1})
    );
    assert_eq!(one(Reducer::Sum, json!(1), json!(2)), json!(3));
    assert_eq!(one(Reducer::Sum, json!(1), json!(0.5)), json!(1.5));
    assert_eq!(one(Reducer::Sum, json!(i64::MAX), json!(1)), json!(9_223_372_036_854_775_808_u64));
    assert_eq!(one(Reducer::Min, json!(2), json!(1.5)), json!(1.5));
    assert_eq!(
        one(Reducer::Max, json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992_u64)),
        json!(9_007_199_254_740_993_u64)
    );
    for (reducer, empty) in [
        (Reducer::Append, json!([[5]])),
        (Reducer::Extend, json!([5])),
        (Reducer::Union, json!([5])),
    ] {
        assert_eq!(apply(reducer, None, json!([5])), Ok(empty));
    }
    assert_eq!(apply(Reducer::Sum, None, json!(4)), Ok(json!(4)));
    for (reducer, old, new) in [
        (Reducer::Append, json!({}), json!(1)),
        (Reducer::Extend, json!([]), json!(1)),
        (Reducer::Union, json!([]), json!("ab")),
        (Reducer::Merge, json!({}), json!([])),
        (Reducer::Merge, json!(1), json!({})),
        (Reducer::Sum, json!(1), json!("1")),
        (Reducer::Max, json!("a"), json!(1)),
    ] {
        let error = apply(reducer, Some(&old), new).unwrap_err();
        assert!(error.to_string().contains(reducer.as_str()), "{error}");
    }
    let error = apply(Reducer::Sum, Some(&json!(u64::MAX)), json!(1)).unwrap_err();
    assert_eq!(error, ReduceError::Overflow);
    assert_eq!(apply(Reducer::Sum, Some(&json!(1e308)), json!(1e308)), Err(ReduceError::Overflow));
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        Just(Target::End),
        "[a-z][a-z0-9]{0,6}[a-z]"
            .prop_filter_map("a node", |id| { NodeId::new(id).ok().map(Target::Node) })
    ]
}

fn id() -> impl Strategy<Value = NodeId> {
    "[a-z]{4,8}".prop_map(|id| NodeId::new(id).unwrap())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect()))
        ]
    })
}

fn template() -> impl Strategy<Value = TemplateValue> {
    value().prop_map(TemplateValue::checked)
}

fn expression() -> impl Strategy<Value = Expression> {
    ".{0,12}".prop_map(Expression::checked)
}

fn bound() -> impl Strategy<Value = Option<Timeout>> {
    prop::option::of(
        (any::<u64>(), target()).prop_map(|(after_ms, then)| Timeout { after_ms, then }),
    )
}

fn work() -> impl Strategy<Value = Work> {
    let nodes = || prop::collection::btree_set(id(), 1..3);
    let join =
        || prop_oneof![Just(Join::All), Just(Join::Any), any::<u32>().prop_map(Join::AtLeast)];
    let branch = (id(), id(), nodes()).prop_map(|(name, start, nodes)| Branch {
        name: BranchName::new(name.as_str()).unwrap(),
        start,
        nodes,
    });
    let map = (expression(), id(), nodes(), join(), template(), 1..9_u32).prop_map(
        |(over, start, nodes, join, value, n)| {
            let collect = [(Key::new("k").unwrap(), value)].into();
            let item = Key::new("item").unwrap();
            Work::Map(Map {
                over,
                item,
                max_parallel: n,
                max_items: n,
                start,
                nodes,
                collect,
                join,
            })
        },
    );
    prop_oneof![
        (
            template(),
            prop::option::of(template().prop_filter("a prompt", |v| !v.as_value().is_null())),
            prop::option::of(".{0,4}"),
            prop::option::of(value().prop_filter("a schema", |v| !v.is_null()))
        )
            .prop_map(|(prompt, system, model, reply)| Work::Model(Model {
                prompt,
                system,
                model,
                reply
            })),
        template().prop_map(|args| Work::Tool(Tool {
            tool: crate::id::ToolName::new("t").unwrap(),
            args
        })),
        template()
            .prop_map(|task| Work::Agent(Agent { does: AgentTask::Here { task, tools: None } })),
        (template(), bound()).prop_map(|(ask, deadline)| Work::Human(Human {
            ask,
            form: Vec::new(),
            deadline
        })),
        Just(Work::Branch {}),
        Just(Work::Set {}),
        (prop::collection::vec(branch, 1..3), join())
            .prop_map(|(branches, join)| Work::Parallel(Parallel { branches, join })),
        map,
        any::<u64>().prop_map(|ms| Work::Wait(Wait { pause: Pause::ForMs(ms) })),
        template().prop_map(|at| Work::Wait(Wait { pause: Pause::Until(at) })),
        (prop::option::of(expression()), bound()).prop_map(|(matches, timeout)| Work::Event(
            Event { event: EventName::new("e").unwrap(), matches, timeout }
        )),
        template()
            .prop_filter("an output", |v| !v.as_value().is_null())
            .prop_map(|v| Work::End(End::Output(Some(v)))),
        Just(Work::End(End::Output(None))),
        template().prop_map(|v| Work::End(End::Fail(v))),
    ]
}

fn node() -> impl Strategy<Value = Node> {
    let route =
        (prop::option::of(expression()), target()).prop_map(|(when, to)| Route { when, to });
    let parts = (
        prop::option::of(".{0,6}"),
        work(),
        prop::collection::btree_map(
            "[a-z]{1,4}".prop_map(|k| Key::new(k).unwrap()),
            template(),
            0..3,
        ),
        prop::collection::vec(route, 0..3),
        prop::option::of(target()),
        prop::option::of(Just(crate::retry::RetryPolicy::never())),
    );
    parts.prop_map(|(title, work, write, next, on_error, retry)| Node {
        title,
        work,
        write,
        next,
        on_error,
        retry,
    })
}

fn workflow() -> impl Strategy<Value = Workflow> {
    (
        prop::collection::btree_map(id(), node(), 1..5),
        id(),
        1..9_u32,
        prop::option::of(template().prop_filter("an output", |v| !v.as_value().is_null())),
    )
        .prop_map(|(nodes, start, version, output)| Workflow {
            name: WorkflowName::new("w").unwrap(),
            version,
            about: String::new(),
            input: None,
            state: [].into(),
            output,
            limits: Limits::default(),
            start,
            nodes,
        })
}

proptest! {
    #[test]
    fn every_workflow_is_read_back_as_it_was_written(workflow in workflow()) {
        let text = serde_json::to_string(&workflow).unwrap();
        let again: Workflow = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&again, &workflow);
        prop_assert_eq!(again.digest(), workflow.digest());
    }

    #[test]
    fn a_reducer_never_panics_and_keeps_its_type(old in value(), new in value()) {
        for reducer in <Reducer as strum::VariantArray>::VARIANTS {
            if let Ok(value) = apply(*reducer, Some(&old), new.clone()) {
                let again = apply(*reducer, Some(&value), new.clone());
                prop_assert!(again.is_ok(), "{:?} of {} and {}", reducer, value, new);
            }
        }
    }
}
