//! Tests of admission: accepted submissions, and refusals with their messages.

use proto::budget::Price;

use super::*;

fn agents() -> Catalogue {
    let named = |name: &str, confirm| Agent {
        name: AgentName::new(name).unwrap(),
        confirm,
        ..Agent::default()
    };
    let given = ["default", "unattended"].map(|name| named(name, name == "default"));
    Catalogue::default().with_given(given)
}

fn admit(body: impl AsRef<[u8]>) -> Result<Admitted, Failure> {
    submission(body.as_ref(), &agents(), &ByModel::default(), None)
}

fn refused(body: impl AsRef<[u8]>) -> (Code, String) {
    let failure = admit(body.as_ref()).map(|a| a.submitted).expect_err(&format!(
        "taken: {}",
        String::from_utf8_lossy(&body.as_ref()[..body.as_ref().len().min(200)])
    ));
    assert!(!failure.message.is_empty() && !failure.hint.is_empty());
    (failure.code, failure.field.unwrap_or_default())
}

fn check(body: impl AsRef<[u8]>, code: Code, field: &str) {
    let body = body.as_ref();
    let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    assert_eq!(refused(body), (code, field.to_owned()), "{shown}");
}

const WHOLE: &str = r#"{"v":1,"id":"job-1","goal":"do it 好","agent":{"confirm":false,"step":{"retry":{"max_attempts":2}}},"language":"en","deadline_ms":60000}"#;

#[test]
fn an_empty_body_is_an_invalid_request() {
    for body in ["", " ", "\r\n\t"] {
        check(body, Code::InvalidRequest, "");
    }
}

#[test]
fn a_body_that_is_no_text_is_an_invalid_encoding() {
    check(b"\xff\xfe\x00", Code::InvalidEncoding, "");
    let random: Vec<u8> =
        (0..999u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    check(random, Code::InvalidEncoding, "");
    let utf16: Vec<u8> = WHOLE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(admit(utf16).is_err());
}

#[test]
fn a_body_cut_at_any_byte_is_refused() {
    assert!(admit(WHOLE).is_ok());
    for n in 0..WHOLE.len() {
        let (code, _) = refused(&WHOLE.as_bytes()[..n]);
        assert!(matches!(code, Code::InvalidRequest | Code::InvalidEncoding), "{n}: {code}");
    }
}

#[test]
fn json_without_end_is_too_deep() {
    check("[".repeat(100_000), Code::TooDeep, "");
    check(format!(r#"{{"goal":{}"#, r#"{"a":"#.repeat(40_000)), Code::TooDeep, "");
}

#[test]
fn a_body_over_the_limit_is_too_large_whatever_is_in_it() {
    check(vec![b'x'; limits::REQUEST_BYTES_MAX + 1], Code::TooLarge, "");
    let spaces = " ".repeat(limits::REQUEST_BYTES_MAX - WHOLE.len());
    assert!(admit(format!("{WHOLE}{spaces}")).is_ok(), "the limit itself is taken");
    check(format!("{WHOLE}{spaces} "), Code::TooLarge, "");
}

#[test]
fn an_id_that_would_break_a_subject_is_refused() {
    for id in ["*", ">", "a.b", "a b", "", &"x".repeat(10_000), "a\0", "..", "a\r\n", "\u{202e}x"] {
        let body = serde_json::json!({"goal": "g", "id": id}).to_string();
        check(body, Code::InvalidId, "id");
    }
}

#[test]
fn a_field_that_is_there_twice_is_refused() {
    check(r#"{"goal":"a","goal":"b"}"#, Code::InvalidRequest, "");
    check(r#"{"goal":"a","g\u006fal":"b"}"#, Code::InvalidRequest, "");
    check(r#"{"goal":"a","agent":{"confirm":true,"confirm":false}}"#, Code::InvalidRequest, "");
}

#[test]
fn a_number_that_does_not_fit_is_refused_and_never_wraps() {
    for n in
        ["9223372036854775808000", "-1", "1e400", "1.5", "1.0", "NaN", "Infinity", "\"7\"", "0x10"]
    {
        let (code, _) = refused(format!(r#"{{"goal":"g","deadline_ms":{n}}}"#));
        assert_eq!(code, Code::InvalidRequest, "{n}");
    }
    check(r#"{"goal":"g","deadline_ms":9223372036854775808}"#, Code::InvalidRequest, "deadline_ms");
    let attempts = r#"{"goal":"g","agent":{"plan":{"attempts":4294967297}}}"#;
    check(attempts, Code::InvalidRequest, "agent.plan.attempts");
}

#[test]
fn text_that_is_no_text_is_refused() {
    check(r#"{"goal":"\ud800"}"#, Code::InvalidRequest, "");
    check(r#"{"goal":"\udc00\ud800"}"#, Code::InvalidRequest, "");
    check(b"{\"goal\":\"\xed\xa0\x80\"}", Code::InvalidEncoding, "");
    check(b"{\"goal\":\"\xc0\xaf\"}", Code::InvalidEncoding, "");
    check("{\"goal\":\"a\nb\"}", Code::InvalidRequest, "");
    assert!(admit(r#"{"goal":"\ud83d\ude00 \u0000"}"#).is_ok(), "a pair, and a NUL as an escape");
}

#[test]
fn an_unknown_version_or_field_is_refused_by_name() {
    for v in ["2", "0", "1.5", "-1", "\"1\"", "null", "99999999999999999999"] {
        check(format!(r#"{{"goal":"g","v":{v},"new":1}}"#), Code::UnsupportedVersion, "v");
    }
    check(r#"{"goal":"g","gaol":1}"#, Code::InvalidRequest, "gaol");
    check(
        r#"{"goal":"g","agent":{"step":{"retires":{}}}}"#,
        Code::InvalidRequest,
        "agent.step.retires",
    );
    check(r#"{"goal":"g","agent":"nobody"}"#, Code::UnknownAgent, "agent");
    check(r#"{"goal":"g","language":"fr"}"#, Code::InvalidRequest, "language");
    check("{}", Code::InvalidRequest, "goal");
    check("[]", Code::InvalidRequest, "");
    check(r#"{"goal":["g"]}"#, Code::InvalidRequest, "goal");
}

#[test]
fn a_deadline_that_makes_no_sense_is_refused() {
    for ms in ["0", "-5", "31536000001", "253402300799000"] {
        check(format!(r#"{{"goal":"g","deadline_ms":{ms}}}"#), Code::InvalidRequest, "deadline_ms");
        let (code, field) = refused(format!(r#"{{"goal":"g","agent":{{"deadline_ms":{ms}}}}}"#));
        assert_eq!((code, field.as_str()), (Code::InvalidRequest, "agent.deadline_ms"));
    }
    let year = admit(r#"{"goal":"g","deadline_ms":31536000000}"#).unwrap();
    assert_eq!(year.submitted.agent.deadline_ms, Some(limits::WAIT_MS_MAX));
}

#[test]
fn policies_beyond_reason_are_refused() {
    for (policy, field) in [
        (r#"{"plan":{"attempts":1000000000}}"#, "agent.plan.attempts"),
        (r#"{"step":{"max_turns":1000000000}}"#, "agent.step.max_turns"),
        (r#"{"step":{"retry":{"max_attempts":1000000000}}}"#, "agent.step.retry.max_attempts"),
        (r#"{"replan":{"max":1000000000}}"#, "agent.replan.max"),
        (r#"{"ask":{"limit":1000000000}}"#, "agent.ask.limit"),
        (r#"{"temperature":1e9}"#, "agent.temperature"),
    ] {
        check(format!(r#"{{"goal":"g","agent":{policy}}}"#), Code::InvalidRequest, field);
    }
}

#[test]
fn a_goal_that_is_empty_or_endless_is_refused() {
    check(r#"{"goal":""}"#, Code::InvalidRequest, "goal");
    check(r#"{"goal":" \n\t\u3000 "}"#, Code::InvalidRequest, "goal");
    let long = |n| serde_json::json!({"goal": "x".repeat(n)}).to_string();
    check(long(limits::GOAL_BYTES_MAX + 1), Code::TooLarge, "goal");
    assert!(admit(long(limits::GOAL_BYTES_MAX)).is_ok());
}

#[test]
fn the_agent_and_the_language_come_from_the_request_or_have_a_default() {
    let plain = admit(r#"{"goal":"先标记任务"}"#).unwrap().submitted;
    assert_eq!((plain.language, plain.agent.confirm), (Language::Zh, true));
    let named = admit(r#"{"goal":"x","agent":"unattended","language":"zh"}"#).unwrap().submitted;
    assert_eq!((named.language, named.agent.name.as_str()), (Language::Zh, "unattended"));
    assert!(!named.agent.confirm);
    for (body, expected) in [
        (r#"{"goal":"x","agent":{"language":"zh"}}"#, Language::Zh),
        (r#"{"goal":"先标记任务","agent":{"language":"en"}}"#, Language::En),
        (r#"{"goal":"x","agent":{"language":"zh"},"language":"en"}"#, Language::En),
        (r#"{"goal":"先标记任务","agent":{"language":null}}"#, Language::Zh),
    ] {
        assert_eq!(admit(body).unwrap().submitted.language, expected, "{body}");
    }
    check(r#"{"goal":"x","agent":{"language":"fr"}}"#, Code::InvalidRequest, "agent.language");
    let overridden = admit(r#"{"goal":"x","agent":"unattended","confirm":true}"#).unwrap();
    assert!(overridden.submitted.agent.confirm);
}

#[test]
fn a_submission_takes_tools_from_its_agent_and_sub_agents_and_gives_none() {
    let named = |name: &str, tools: Option<&[&str]>, agents: &[&str]| {
        let tools = tools.map(|tools| tools.iter().map(|t| ToolName::new(*t).unwrap()).collect());
        let sub = |name: &&str| serde_json::from_value(serde_json::json!({"name": name})).unwrap();
        let agents = agents.iter().map(sub).collect();
        Agent { name: AgentName::new(name).unwrap(), tools, agents, ..Agent::default() }
    };
    let agents = Catalogue::default().with_given([
        named("default", Some(&["read", "write"]), &["free", "bound"]),
        named("free", None, &[]),
        named("bound", Some(&["write", "send"]), &[]),
    ]);
    let admit = |tools: &str| {
        let body = format!(r#"{{"goal":"x","tools":{tools}}}"#);
        submission(body.as_bytes(), &agents, &ByModel::default(), None)
    };
    let submitted = admit(r#"["read"]"#).unwrap().submitted;
    let of = |agent: &Agent| agent.tools.clone().unwrap().iter().map(ToString::to_string).collect();
    let callees = submitted.agents.values().map(|callee| &callee.agent);
    let tools: Vec<Vec<String>> =
        std::iter::once(&submitted.agent).chain(callees).map(of).collect();
    assert_eq!(tools, [vec!["read".to_owned()], vec![], vec!["read".to_owned()]]);
    assert_eq!(admit("[]").unwrap().submitted.agent.tools, Some(Vec::new()));
    assert_eq!(admit("null").unwrap().submitted.agent.tools.map(|tools| tools.len()), Some(2));
    for (tools, field) in
        [(r#"["read","send"]"#, "tools[1]"), (r#"["no tool"]"#, "tools[0]"), ("7", "tools")]
    {
        let failure = admit(tools).unwrap_err();
        assert_eq!(failure.field.as_deref(), Some(field), "{failure}");
    }
}

#[test]
fn an_agent_without_some_tools_is_checked_again() {
    let agent = |written: serde_json::Value| serde_json::from_value::<Agent>(written).unwrap();
    let agents = Catalogue::default().with_given([
        agent(serde_json::json!({
            "name": "default", "agents": [{"name": "search"}],
            "tool": {"presets": {"read": {"path": "a"}, "send": {"to": "b"}}},
        })),
        agent(serde_json::json!({"name": "search"})),
    ]);
    let admit = |tools: &str| {
        let body = format!(r#"{{"goal":"x","tools":{tools}}}"#);
        submission(body.as_bytes(), &agents, &ByModel::default(), None)
    };
    let narrowed = admit(r#"["read"]"#).unwrap().submitted.agent;
    let presets = narrowed.tool.presets.iter().map(|(tool, _)| tool.to_string());
    assert_eq!(presets.collect::<Vec<_>>(), ["read"]);
    let failure = admit(r#"["search"]"#).unwrap_err();
    assert_eq!(failure.field.as_deref(), Some("tools"), "a tool with the name of a sub-agent");
}

#[test]
fn a_job_has_a_plan_or_a_call_and_not_both() {
    let both = r#"{"goal":"x","plan":{"steps":["a"]},"call":{"tool":"echo"}}"#;
    check(both, Code::InvalidRequest, "plan");
    let given = |body| admit(body).unwrap().given;
    assert_eq!(given(r#"{"goal":"x"}"#), None);
    assert!(matches!(given(r#"{"goal":"x","plan":["a"]}"#), Some(Given::Plan(_))));
    assert!(matches!(given(r#"{"goal":"x","call":{"tool":"echo"}}"#), Some(Given::Call(_))));
}

#[test]
fn a_job_keeps_the_price_of_the_day_and_a_limit_on_money_needs_one() {
    let price = |input| Price::new(input, 1.0);
    let configured = ByModel::usual(Some("m".into()), Some(price(2.0)));
    let admit = |agent: &str, configured: &ByModel<Price>| {
        let body = format!(r#"{{"goal":"x","agent":{agent}}}"#);
        let admitted = submission(body.as_bytes(), &agents(), configured, None);
        admitted.map(|admitted| admitted.submitted.agent.budget.price)
    };
    assert_eq!(admit(r#"{"budget":{"money":0.5}}"#, &configured), Ok(Some(price(2.0))));
    assert_eq!(admit(r#"{"model":"m","budget":{"money":0.5}}"#, &configured), Ok(Some(price(2.0))));
    assert_eq!(admit(r#"{"budget":{"turns":5}}"#, &configured), Ok(Some(price(2.0))));
    assert_eq!(admit(r#"{"budget":{"turns":5}}"#, &ByModel::default()), Ok(None));
    let own =
        r#"{"budget":{"money":0.5,"price":{"input_per_million":9.0,"output_per_million":1.0}}}"#;
    assert_eq!(admit(own, &configured), Ok(Some(price(9.0))));
    for (agent, configured) in [
        (r#"{"budget":{"money":0.5}}"#, &ByModel::default()),
        (r#"{"model":"n","budget":{"money":0.5}}"#, &configured),
    ] {
        let failure = admit(agent, configured).expect_err(agent);
        assert_eq!(failure.code, Code::UnknownPrice);
        assert_eq!(failure.field.as_deref(), Some("agent.budget.money"));
    }
}

#[test]
fn a_conversation_is_named_as_an_id() {
    let admitted = admit(r#"{"goal":"x","conversation":"trip-1"}"#).unwrap().submitted;
    assert_eq!(admitted.conversation.map(|c| c.id.to_string()).as_deref(), Some("trip-1"));
    check(r#"{"goal":"x","conversation":"a.b"}"#, Code::InvalidId, "conversation");
}

#[test]
fn equal_bodies_have_equal_digests_whatever_their_order_and_id() {
    let digest = |body: &str| admit(body).unwrap().submitted.digest;
    let one = digest(r#"{"goal":"g","id":"a","confirm":true}"#);
    assert_eq!(one, digest(r#"{ "confirm": true, "v": 1, "id": "b", "goal": "g" }"#));
    assert_eq!(one, digest(r#"{"goal":"g","confirm":true,"language":null}"#));
    assert_ne!(one, digest(r#"{"goal":"g","confirm":false}"#));
    assert_ne!(one, digest(r#"{"goal":"g"}"#));
}
