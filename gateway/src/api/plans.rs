//! The plan or the workflow of a job as a graph, and the differences between two of its points or plans.

use std::{borrow::Cow, str::FromStr};

use axum::{Json, extract::Path, http::Uri, response::IntoResponse};
use proto::{
    diff::{JobDiff, PlanDiff},
    door::{Get, GetGraph},
    error::{Code, Failure},
    graph::PlanGraph,
    id::{InvalidId, JobId},
    point::Point,
    view::JobView,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::body::{Answered, named, reply};
use crate::{caller::Caller, params::Params, problem::Problem, words::Text};

/// Prefix of a plan's number beside points. No name of a snapshot has a colon.
const REVISION: &str = "revision:";

/// `GET /v1/jobs/{job}/graph`.
pub(super) async fn graph(caller: Caller, Path(job): Path<String>, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let (at, revision) = (params.one("at")?, params.one("revision")?);
    let files = params.is_set("files")?;
    let job: JobId = named(&caller, &job)?;
    let view = view(&caller, job.clone(), ("at", at.clone())).await?;
    if view.graph.is_some() && revision.is_none() {
        return reply(&caller, caller.client.call(&GetGraph { job, at, files }).await);
    }
    let graph = match revision {
        None => PlanGraph::of(&view),
        Some(number) => PlanGraph::of_revision(&view, number),
    };
    let absent = || match revision {
        None => absent(&caller, "at", Text::NoPlan),
        Some(number) => absent(&caller, "revision", Text::NoPlanRevision { number: &number }),
    };
    Ok(Json(graph.ok_or_else(absent)?).into_response())
}

/// `GET /v1/jobs/{job}/diff`.
pub(super) async fn diff(caller: Caller, Path(job): Path<String>, uri: Uri) -> Answered {
    let params = Params::read(&caller, &uri);
    let (a, b, with) = (params.one("a")?, params.one("b")?, params.one::<JobId>("with")?);
    let job: JobId = named(&caller, &job)?;
    // A caller without the right to see the job is told that before anything else.
    let now = view(&caller, job.clone(), ("b", None)).await?;
    match (a, b) {
        (None, _) => Err(caller.wrong_field("a", &Text::SideExpected.into())),
        (Some(Side::Revision(_)), Some(Side::Revision(_))) if with.is_some() => {
            Err(caller.wrong_field("with", &Text::RevisionsOfOneJob.into()))
        }
        (Some(Side::Revision(from)), Some(Side::Revision(to))) => {
            let missing = |number: u32| {
                let field = if number == from { "a" } else { "b" };
                absent(&caller, field, Text::NoPlanRevision { number: &number })
            };
            Ok(Json(PlanDiff::between(&now, from, to).map_err(missing)?).into_response())
        }
        (Some(Side::Revision(_)), Some(Side::At(_)) | None)
        | (Some(Side::At(_)), Some(Side::Revision(_))) => {
            Err(caller.wrong_field("b", &Text::SidesDiffer.into()))
        }
        (Some(Side::At(from)), to) => {
            let to = match (to.and_then(Side::point), with) {
                (None, None) => now,
                (to, other) => view(&caller, other.unwrap_or(now.job), ("b", to)).await?,
            };
            let from = view(&caller, job, ("a", Some(from))).await?;
            Ok(Json(JobDiff::between(&from, &to)).into_response())
        }
    }
}

/// Returns a job at a point, which the parameter `field` names.
async fn view(
    caller: &Caller,
    job: JobId,
    (field, at): (&str, Option<Point>),
) -> Result<JobView, Problem> {
    let shown = caller.client.call(&Get { job, at }).await;
    shown.map_err(|mut failure| {
        if failure.field.as_deref() == Some("at") {
            failure.field = Some(field.to_owned());
        }
        caller.refused(failure)
    })
}

fn absent(caller: &Caller, field: &str, why: Text<'_>) -> Problem {
    caller.refused(Failure::composed(Code::NotFound, &why.into()).at(field))
}

/// One side of a difference: a record, a snapshot, or `revision:` with the number of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Side {
    At(Point),
    Revision(u32),
}

impl Side {
    fn point(self) -> Option<Point> {
        match self {
            Self::At(point) => Some(point),
            Self::Revision(_) => None,
        }
    }
}

impl FromStr for Side {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let number = text.strip_prefix(REVISION).and_then(|number| number.parse().ok());
        match number {
            Some(number) => Ok(Self::Revision(number)),
            None => text.parse().map(Self::At),
        }
    }
}

impl JsonSchema for Side {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Side".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "examples": ["23", "before-sending", "revision:1"]})
    }
}

#[cfg(test)]
mod tests {
    use proto::id::Seq;

    use super::*;

    #[test]
    fn a_side_is_a_record_a_snapshot_or_a_plan() {
        assert_eq!("23".parse(), Ok(Side::At(Point::Seq(Seq(23)))));
        assert_eq!("revision:1".parse(), Ok(Side::Revision(1)));
        assert!(matches!("before".parse(), Ok(Side::At(Point::Name(_)))));
        assert!("revision:x".parse::<Side>().is_err());
    }
}
