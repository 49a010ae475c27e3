//! The guards, and misbehaving tools.

use async_trait::async_trait;
use futures::FutureExt;
use proto::{
    id::{Attempt, StepId, WorkId},
    lang::Language,
    trace::TraceContext,
};
use rstest::rstest;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;

/// A tool whose behaviour is given by its arguments.
struct Odd(ToolSpec);

#[async_trait]
impl Tool for Odd {
    fn spec(&self) -> ToolSpec {
        self.0.clone()
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        match args["do"].as_str().unwrap_or_default() {
            "panic" => panic!("lost my mind"),
            "hang" => std::future::pending().await,
            "large" => Ok(ToolResult::ok(Value::from("x".repeat(2 * 1024 * 1024)))),
            "refuse" => Ok(ToolResult::failed("no")),
            "break" => Err(ToolFault::internal("broke")),
            "away" => Err(ToolFault::unavailable("away")),
            _ => Ok(ToolResult::ok(json!(context.idempotency_key))),
        }
    }
}

fn spec(effect: Effect, approval: Approval) -> ToolSpec {
    ToolSpec {
        name: ToolName::new("odd").unwrap(),
        description: "Does what it is told.".into(),
        schema: json!({
            "type": "object", "required": ["do"], "additionalProperties": false,
            "properties": {"do": {"type": "string"}, "n": {"type": "integer"}},
        }),
        effect,
        pool: Pool::new("p").unwrap(),
        timeout_ms: 50,
        concurrency: 1,
        approval,
        destructive: false,
        untrusted: false,
        version: "1".into(),
        commands: Vec::new(),
        translations: BTreeMap::new(),
    }
}

fn set(effect: Effect, approval: Approval) -> Toolset {
    Toolset::new(Pool::new("p").unwrap(), vec![Arc::new(Odd(spec(effect, approval)))]).unwrap()
}

fn call(what: &str) -> CallWork {
    CallWork {
        work: WorkId::new("g0.s1").unwrap(),
        attempt: Attempt::FIRST,
        step: StepId::new("1").unwrap(),
        tool: ToolName::new("odd").unwrap(),
        version: "1".into(),
        pool: Pool::new("p").unwrap(),
        effect: Effect::Pure,
        destructive: false,
        untrusted: false,
        args: json!({"do": what}),
        idempotency_key: "j/g0.s1".into(),
        approved: None,
        remembered: None,
        hosts: None,
        refused: None,
        language: Language::En,
    }
}

fn job() -> JobId {
    JobId::new("j").unwrap()
}

fn refused(set: &Toolset, call: &CallWork) -> (Fault, String) {
    let ToolFault { fault, message, .. } = set.admit(&job(), call).unwrap_err();
    (fault, message)
}

#[rstest]
#[case::unknown(|c: &mut CallWork| c.tool = ToolName::new("x").unwrap(), Fault::UnknownTool, "x")]
#[case::version(|c: &mut CallWork| c.version = "2".into(), Fault::VersionMismatch, "version")]
#[case::effect(|c: &mut CallWork| c.effect = Effect::Once, Fault::VersionMismatch, "effect")]
#[case::missing(|c: &mut CallWork| c.args = json!({}), Fault::InvalidArguments, "do")]
#[case::wrong(|c: &mut CallWork| c.args["n"] = json!("5"), Fault::InvalidArguments, "n:")]
#[case::foreign(|c: &mut CallWork| c.args["zz"] = json!(1), Fault::InvalidArguments, "zz:")]
#[case::no_object(|c: &mut CallWork| c.args = json!("do"), Fault::InvalidArguments, "object")]
fn a_call_that_does_not_fit_its_tool_is_refused(
    #[case] change: fn(&mut CallWork),
    #[case] fault: Fault,
    #[case] word: &str,
) {
    let mut call = call("ok");
    change(&mut call);
    let (got, message) = refused(&set(Effect::Pure, Approval::Never), &call);
    assert_eq!(got, fault, "{message}");
    assert!(message.contains(word), "{message}");
    assert_eq!(Language::detect(&message), Language::En, "{message}");
    let (_, message) =
        refused(&set(Effect::Pure, Approval::Never), &CallWork { language: Language::Zh, ..call });
    assert_eq!(Language::detect(&message), Language::Zh, "{message}");
}

#[rstest]
#[case::what_was_approved(|_: &mut CallWork| (), true)]
#[case::other_arguments(|c: &mut CallWork| c.args = json!({"do": "large"}), false)]
#[case::another_unit_of_work(|c: &mut CallWork| c.work = WorkId::new("g0.s2").unwrap(), false)]
#[case::no_approval(|c: &mut CallWork| c.approved = None, false)]
#[case::nonsense(|c: &mut CallWork| c.approved = Some("yes".into()), false)]
fn only_what_was_approved_runs(#[case] change: fn(&mut CallWork), #[case] runs: bool) {
    let set = set(Effect::Pure, Approval::Always);
    let mut call = call("ok");
    let digest = approval_digest(&job(), call.work.as_str(), &call.tool, "1", &call.args);
    call.approved = Some(digest.clone());
    change(&mut call);
    assert_eq!(set.admit(&job(), &call).is_ok(), runs);
    if runs {
        // The same approval is not valid for another job.
        let other = JobId::new("other").unwrap();
        assert_eq!(set.admit(&other, &call).unwrap_err().fault, Fault::VersionMismatch);
    }
}

#[test]
fn an_approval_of_another_version_does_not_count() {
    let mut call = call("ok");
    let digest = approval_digest(&job(), call.work.as_str(), &call.tool, "0", &call.args);
    call.approved = Some(digest);
    let (fault, _) = refused(&set(Effect::Pure, Approval::Never), &call);
    assert_eq!(fault, Fault::VersionMismatch);
}

async fn run(effect: Effect, what: &str) -> Result<ToolResult, ToolFault> {
    let call = CallWork { effect, ..call(what) };
    let admitted = set(effect, Approval::Never).admit(&job(), &call).unwrap();
    let trace = TraceContext::new(1, 2, true);
    let context = CallContext::of(&job(), &call, trace, CancellationToken::new());
    admitted.run(context, call.args).await
}

#[rstest]
#[case("panic", Fault::Internal, Fault::Unknown)]
#[case("hang", Fault::Timeout, Fault::Unknown)]
#[case("break", Fault::Internal, Fault::Unknown)]
#[case("away", Fault::Unavailable, Fault::Unavailable)]
#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_answer_is_a_fault_and_unknown_when_it_must_not_run_twice(
    #[case] what: &str,
    #[case] repeatable: Fault,
    #[case] once: Fault,
) {
    for (effect, expected) in
        [(Effect::Pure, repeatable), (Effect::Idempotent, repeatable), (Effect::Once, once)]
    {
        let fault = run(effect, what).await.unwrap_err();
        assert_eq!(fault.fault, expected, "{effect:?}: {fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_says_why() {
    assert!(run(Effect::Pure, "panic").await.unwrap_err().message.contains("lost my mind"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_large_is_a_failure_that_says_so() {
    let result = run(Effect::Pure, "large").await.unwrap();
    assert!(!result.success && result.data.is_none());
    assert!(result.error.unwrap().contains("request less"));
}

#[tokio::test(start_paused = true)]
async fn a_no_of_the_tool_is_an_answer() {
    assert_eq!(run(Effect::Once, "refuse").await.unwrap(), ToolResult::failed("no"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_runs_no_more_calls_than_it_allows() {
    let set = set(Effect::Pure, Approval::Never);
    let admitted = set.admit(&job(), &call("ok")).unwrap();
    let place = admitted.place().await;
    assert!(admitted.place().now_or_never().is_none(), "it has to wait");
    drop(place);
    let _free = admitted.place().await;
}

#[rstest]
#[case(|s: &mut ToolSpec| s.pool = Pool::new("q").unwrap(), "pool")]
#[case(|s: &mut ToolSpec| s.timeout_ms = 0, "timeout")]
#[case(|s: &mut ToolSpec| s.concurrency = 0, "concurrency")]
#[case(|s: &mut ToolSpec| s.schema = json!({"type": "strnig"}), "schema")]
fn a_tool_that_cannot_work_is_refused_at_the_start(
    #[case] change: fn(&mut ToolSpec),
    #[case] word: &str,
) {
    let mut spec = spec(Effect::Pure, Approval::Never);
    change(&mut spec);
    let error = Toolset::new(Pool::new("p").unwrap(), vec![Arc::new(Odd(spec))]).unwrap_err();
    assert!(error.to_string().contains(word), "{error}");
}

#[test]
fn two_tools_of_one_name_are_refused() {
    let tool = || Arc::new(Odd(spec(Effect::Pure, Approval::Never))) as Arc<dyn Tool>;
    let error = Toolset::new(Pool::new("p").unwrap(), vec![tool(), tool()]).unwrap_err();
    assert_eq!(error, InvalidToolset::Twice(ToolName::new("odd").unwrap()));
}

/// A tool of that name and version.
fn changing(name: &str, version: &str) -> Arc<dyn Tool> {
    let (name, version) = (ToolName::new(name).unwrap(), version.to_owned());
    Arc::new(Odd(ToolSpec { name, version, ..spec(Effect::Pure, Approval::Never) }))
}

fn names(set: &Toolset) -> Vec<String> {
    set.specs().iter().map(|spec| format!("{}@{}", spec.name, spec.version)).collect()
}

#[test]
fn a_source_adds_and_withdraws_tools_and_says_so() {
    let set = Arc::new(set(Effect::Pure, Approval::Never));
    let (source, mut changes) = (set.source("a"), set.watch());
    assert!(source.offer(vec![changing("b", "1"), changing("a", "1")]).is_empty());
    assert_eq!(names(&set), ["a@1", "b@1", "odd@1"]);
    assert!(changes.has_changed().unwrap());
    changes.mark_unchanged();
    assert!(source.offer(vec![changing("a", "1"), changing("b", "1")]).is_empty());
    assert!(!changes.has_changed().unwrap(), "the same tools are no change");
    assert!(source.offer(vec![changing("a", "2")]).is_empty());
    assert_eq!(names(&set), ["a@2", "odd@1"]);
    assert!(changes.has_changed().unwrap());
}

#[test]
fn a_call_of_a_withdrawn_tool_may_come_again_and_one_of_a_changed_tool_is_refused() {
    let set = Arc::new(set(Effect::Pure, Approval::Never));
    let source = set.source("a");
    source.offer(vec![changing("a", "1")]);
    let job = JobId::new("j").unwrap();
    let call = CallWork { tool: ToolName::new("a").unwrap(), ..call("go") };
    assert!(set.admit(&job, &call).is_ok());
    source.offer(vec![changing("a", "2")]);
    assert_eq!(set.admit(&job, &call).unwrap_err().fault, Fault::VersionMismatch);
    source.offer(Vec::new());
    assert_eq!(set.admit(&job, &call).unwrap_err().fault, Fault::Unavailable);
    let unknown = CallWork { tool: ToolName::new("c").unwrap(), ..call };
    assert_eq!(set.admit(&job, &unknown).unwrap_err().fault, Fault::UnknownTool);
}

#[test]
fn a_source_takes_no_name_of_another_and_loses_only_the_tool_that_is_refused() {
    let set = Arc::new(set(Effect::Pure, Approval::Never));
    let (first, second) = (set.source("a"), set.source("b"));
    assert!(first.offer(vec![changing("a", "1")]).is_empty());
    let foreign: Arc<dyn Tool> = Arc::new(Odd(ToolSpec {
        pool: Pool::new("other").unwrap(),
        ..spec(Effect::Pure, Approval::Never)
    }));
    let refused =
        second.offer(vec![changing("a", "9"), changing("odd", "9"), foreign, changing("b", "1")]);
    let twice = |name: &str| InvalidToolset::Twice(ToolName::new(name).unwrap());
    assert_eq!(refused[..2], [twice("a"), twice("odd")]);
    assert!(matches!(refused[2], InvalidToolset::ForeignPool { .. }));
    assert_eq!(names(&set), ["a@1", "b@1", "odd@1"]);
    second.offer(Vec::new());
    assert_eq!(names(&set), ["a@1", "odd@1"]);
}
