//! Files: the pieces of submissions, and the files of a job. Their content comes from outside, so a
//! browser never shows it as a page of this origin: it is saved.

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{Path, Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::IntoResponse,
};
use futures::stream;
use proto::{
    file::{FileName, FileTold},
    id::{JobId, StepId},
    view::{Artifact, JobView},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::body::{self, Answered, named, reply};
use crate::{Desk, caller::Caller, words::Text};

/// The policy of a file that is opened nevertheless: no script, no form, no origin.
const SANDBOX: &str = "sandbox; default-src 'none'";
/// Header that keeps other sites from embedding the file.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// `GET /v1/jobs/{job}/files`.
pub(super) async fn list(caller: Caller, Path(job): Path<String>) -> Answered {
    let job: JobId = named(&caller, &job)?;
    let view = caller.client.get(&job).await.map_err(|failure| caller.refused(failure))?;
    let steps = of_steps(&view);
    let JobView { files, artifacts, .. } = view;
    Ok(Json(Files { files, artifacts, steps }).into_response())
}

/// The files of a job.
#[derive(Serialize, JsonSchema)]
pub(super) struct Files {
    /// Those of the submission.
    files: Vec<FileTold>,
    /// Those that calls published.
    artifacts: Vec<Artifact>,
    /// Those that steps name.
    steps: Vec<OfStep>,
}

/// The files and addresses that a step names.
#[derive(Serialize, JsonSchema)]
struct OfStep {
    step: StepId,
    attachments: Vec<String>,
}

fn of_steps(view: &JobView) -> Vec<OfStep> {
    let steps = view.plan.iter().flat_map(|plan| &plan.steps);
    let named = steps.filter(|step| !step.attachments.is_empty());
    named
        .map(|step| OfStep { step: step.id.clone(), attachments: step.attachments.clone() })
        .collect()
}

/// `GET /v1/jobs/{job}/files/{name}`. A failure after the first piece breaks the connection off, so
/// the reader sees that the file is not whole.
pub(super) async fn file_of(caller: Caller, Path((job, name)): Path<(String, String)>) -> Answered {
    let job: JobId = named(&caller, &job)?;
    let name = FileName::new(name)
        .map_err(|invalid| caller.wrong_field("name", &invalid.to_string().into()))?;
    let first = caller.client.download_piece(&job, &name, 0).await;
    let first = first.map_err(|failure| caller.refused(failure))?;
    let (count, bytes, seq) = (first.pieces, first.bytes, first.seq);
    let client = caller.client.clone();
    let disposition = disposition(name.as_str());
    let rest = stream::unfold(1, move |piece| {
        let (client, job, name) = (client.clone(), job.clone(), name.clone());
        async move {
            if piece >= count {
                return None;
            }
            let got = client.download_rest(&job, &name, piece, seq).await;
            Some((got.map(|got| Bytes::from(got.data.0)), piece + 1))
        }
    });
    let first = stream::iter([Ok(Bytes::from(first.data.0))]);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (header::CONTENT_LENGTH, HeaderValue::from(bytes)),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX)),
        (RESOURCE_POLICY, HeaderValue::from_static("same-origin")),
    ];
    let body = Body::from_stream(futures::StreamExt::chain(first, rest));
    Ok((headers, body).into_response())
}

/// `PUT /v1/pieces/{sha256}`.
pub(super) async fn piece(
    State(desk): State<Desk>,
    caller: Caller,
    Path(sha256): Path<String>,
    request: Request,
) -> Answered {
    let body = body::read(request, &desk).await?;
    if proto::digest::of_bytes(&body) != sha256.to_ascii_lowercase() {
        return Err(caller.wrong(StatusCode::UNPROCESSABLE_ENTITY, Text::OtherDigest));
    }
    reply(&caller, caller.client.upload(body).await)
}

/// Builds the header that has a browser save a file under its name (RFC 6266): the name in ASCII
/// for old readers, and in full for others.
fn disposition(name: &str) -> HeaderValue {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._-()".contains(c);
    let ascii: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let mut full = String::new();
    for byte in name.bytes() {
        match is_safe(byte) {
            true => full.push(char::from(byte)),
            false => full.push_str(&format!("%{byte:02X}")),
        }
    }
    let value = format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{full}");
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("notes.md", "attachment; filename=\"notes.md\"; filename*=UTF-8''notes.md")]
    #[case(
        "a\"; x=\".sh",
        "attachment; filename=\"a__ x__.sh\"; filename*=UTF-8''a%22%3B%20x%3D%22.sh"
    )]
    #[case("会议.txt", "attachment; filename=\"__.txt\"; filename*=UTF-8''%E4%BC%9A%E8%AE%AE.txt")]
    #[case(
        "gpj.\u{202e}exe",
        "attachment; filename=\"gpj._exe\"; filename*=UTF-8''gpj.%E2%80%AEexe"
    )]
    #[case(
        "a\r\nSet-Cookie: x",
        "attachment; filename=\"a__Set-Cookie_ x\"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x"
    )]
    fn a_name_is_only_a_name(#[case] name: &str, #[case] header: &str) {
        assert_eq!(disposition(name), header);
    }
}
