//! Tests of the telemetry of a job, as real processes export it to an OTLP receiver: one trace from
//! the submission to the result, metrics and logs, without users' content unless it is enabled.

mod canary;
pub(crate) mod receiver;
mod stage;
mod tree;

use proto::{
    id::{JobId, Seq},
    trace::TraceContext,
};
use receiver::{Receiver, Sent};
use stage::Stage;

/// Returns the context of the submitter: a sampled span of another program.
fn caller() -> TraceContext {
    TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap()
}

/// Returns the spans of the caller's trace.
fn traced(receiver: &Receiver) -> Vec<Sent> {
    let trace = caller().trace_id().to_be_bytes();
    receiver.spans().into_iter().filter(|sent| sent.span.trace_id == trace).collect()
}

/// Waits for `number` spans of the job's stretches, oldest first. The span of a stretch is exported
/// after the supervisor's spans in it.
async fn stretches(receiver: &Receiver, number: usize) -> Vec<Sent> {
    let found = |receiver: &Receiver| {
        let mut spans = traced(receiver);
        spans.retain(|sent| sent.span.name == "invoke_agent greeter");
        spans.sort_by_key(|sent| sent.span.start_time_unix_nano);
        (spans.len() >= number).then_some(spans)
    };
    receiver.until(&format!("stretch {number}"), found).await
}

/// Waits for `number` spans of a name, and returns them.
async fn named(receiver: &Receiver, name: &str, number: usize) -> Vec<Sent> {
    let found = |receiver: &Receiver| {
        let mut spans = traced(receiver);
        spans.retain(|sent| sent.span.name == name);
        (spans.len() >= number).then_some(spans)
    };
    receiver.until(&format!("{name} {number}"), found).await
}

/// Checks that no span of the job is open: every span has ended, and its parent has ended too or is
/// the caller's. Each process exports on its own schedule, so a parent may arrive a moment later.
async fn nothing_is_open(receiver: &Receiver) {
    let whole = |receiver: &Receiver| {
        let spans = traced(receiver);
        let drawn = tree::draw(&spans, &caller().span_id().to_be_bytes());
        (!drawn.contains(tree::LOST)).then_some(spans)
    };
    let spans = receiver.until("what the spans hang on", whole).await;
    for Sent { span, .. } in &spans {
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_one_trace_from_submission_to_result_across_processes_languages_and_waits() {
    let receiver = Receiver::grpc().await;
    let stage = Stage::start(&receiver, &[]).await;
    let job = stage.submit("please", Some(caller())).await;

    let parked = stretches(&receiver, 1).await;
    assert_eq!(parked[0].attribute("callboard.job.status"), "parked");
    named(&receiver, "process ask", 1).await;
    nothing_is_open(&receiver).await;
    let asked = named(&receiver, "publish ask", 1).await.remove(0);

    stage.answer("Ann").await;
    let resumed = stretches(&receiver, 2).await.remove(1);
    let [link] = &resumed.span.links[..] else { panic!("{:?}", resumed.span.links) };
    assert_eq!(link.span_id, asked.span.span_id, "it goes back to where the question was put");
    assert_eq!(link.trace_id, asked.span.trace_id);
    named(&receiver, "process ask", 2).await;
    nothing_is_open(&receiver).await;

    stage.approve().await;
    stage.completed(&job).await;
    stretches(&receiver, 4).await;
    named(&receiver, "process turn", 2).await;
    named(&receiver, "process call", 4).await;
    nothing_is_open(&receiver).await;
    let root = caller().span_id().to_be_bytes();
    insta::assert_snapshot!(tree::draw(&traced(&receiver), &root));
    the_worker_in_python_went_on_with_the_trace(&receiver, &stage, &job).await;

    let wanted = [
        "callboard.jobs.ended",
        "callboard.queue.messages",
        "callboard.tool.duration",
        "gen_ai.client.operation.duration",
        "gen_ai.client.operation.time_to_first_chunk",
        "gen_ai.client.token.usage",
        "messaging.process.duration",
        "process.memory.usage",
    ];
    let all = |receiver: &Receiver| {
        let names = receiver.metrics();
        (wanted.iter().all(|name| names.contains(*name)) && receiver.logs() > 0).then_some(())
    };
    receiver.until("every metric, and logs", all).await;
}

/// The worker's result has a span of its own in the same trace, to which the supervisor links.
async fn the_worker_in_python_went_on_with_the_trace(
    receiver: &Receiver,
    stage: &Stage,
    job: &JobId,
) {
    let log = stage.broker.log.read(job, Seq(0)).await.unwrap();
    let by_snake = |entry: &&proto::entry::Entry| {
        entry.record.as_ref().is_ok_and(|record| record.by.as_str() == "snake")
    };
    let trace = log.iter().find(by_snake).and_then(|entry| entry.trace).unwrap();
    assert_eq!(trace.trace_id(), caller().trace_id());
    let theirs = trace.span_id().to_be_bytes();
    let spans = traced(receiver);
    assert!(spans.iter().all(|sent| sent.span.span_id != theirs), "a span of its own");
    let links = |sent: &Sent| sent.span.links.iter().any(|link| link.span_id == theirs);
    assert!(spans.iter().any(|sent| sent.span.name == "process called" && links(sent)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_that_is_not_sampled_is_not_sent_unless_the_caller_decided_otherwise() {
    let receiver = Receiver::http().await;
    let more = [
        ("CALLBOARD__TELEMETRY__OTLP_PROTOCOL", "http/protobuf"),
        ("CALLBOARD__TELEMETRY__TRACE_SAMPLE_RATIO", "0.0"),
    ];
    let stage = Stage::start(&receiver, &more).await;
    for trace in [None, Some(caller())] {
        let job = stage.submit("please", trace).await;
        stage.answer("Ann").await;
        stage.approve().await;
        stage.completed(&job).await;
    }
    // Spans of the first job would have arrived before this.
    stretches(&receiver, 3).await;
    named(&receiver, "process turn", 2).await;
    let foreign: Vec<String> = receiver
        .spans()
        .into_iter()
        .filter(|sent| sent.span.trace_id != caller().trace_id().to_be_bytes())
        .map(|sent| sent.span.name)
        .collect();
    assert_eq!(foreign, Vec::<String>::new());
    let counted = |receiver: &Receiver| {
        receiver.metrics().contains("gen_ai.client.operation.duration").then_some(())
    };
    receiver.until("the metrics of both", counted).await;
}
