//! The services: the activities, and the job in two forms. In `Rpc` every activity is a durable
//! call that any worker may take. In `Inline` every activity is a journaled step of the handler
//! that runs the job. `Approval` is the first form as a workflow that waits for a person between
//! the plan and the steps. `graph` is the workflow in the first two forms. The services contain only
//! orchestration.

use std::collections::BTreeMap;

use peer_load::{Job, PlannedStep, ROUNDS, StepInput, finished, node, plan, ready, step};
use restate_sdk::prelude::*;

pub(crate) struct Activities;

#[service]
impl Activities {
    #[handler]
    async fn plan(
        &self,
        _ctx: Context<'_>,
        job: Json<Job>,
    ) -> HandlerResult<Json<Vec<PlannedStep>>> {
        Ok(Json(plan(&job.into_inner()).await))
    }

    #[handler]
    async fn step(&self, _ctx: Context<'_>, input: Json<StepInput>) -> HandlerResult<String> {
        Ok(step(&input.into_inner()).await)
    }
}

pub(crate) struct Rpc;

#[service]
impl Rpc {
    #[handler]
    async fn run(&self, ctx: Context<'_>, job: Json<Job>) -> HandlerResult<String> {
        let job = job.into_inner();
        let activities = ctx.service_client::<ActivitiesClient>();
        let plan = activities.plan(Json(job.clone())).call().await?.into_inner();
        let mut done = BTreeMap::new();
        while done.len() < plan.len() {
            // Calls start when they are created, so all calls of a wave run concurrently.
            let wave: Vec<_> = ready(&job, &plan, &done)
                .into_iter()
                .map(|input| (input.id.clone(), activities.step(Json(input)).call()))
                .collect();
            for (id, call) in wave {
                done.insert(id, call.await?);
            }
        }
        Ok(finished(done))
    }

    #[handler]
    async fn graph(&self, ctx: Context<'_>, job: Json<Job>) -> HandlerResult<String> {
        let job = job.into_inner();
        let activities = ctx.service_client::<ActivitiesClient>();
        let (mut draft, mut rounds) = (String::new(), 0);
        while rounds < ROUNDS {
            let input = node(&job, "draft", &[("draft", &draft)]);
            draft = activities.step(Json(input)).call().await?;
            rounds += 1;
        }
        if rounds != ROUNDS {
            return Err(TerminalError::new("the loop has not ended").into());
        }
        // Both calls start when they are created.
        let [left, right] = ["left", "right"].map(|id| {
            activities.step(Json(node(&job, id, &[("draft", &draft)]))).call()
        });
        let (left, right) = (left.await?, right.await?);
        let input = node(&job, "merge", &[("left", &left), ("right", &right)]);
        Ok(activities.step(Json(input)).call().await?)
    }
}

pub(crate) struct Inline;

#[service]
impl Inline {
    #[handler]
    async fn run(&self, ctx: Context<'_>, job: Json<Job>) -> HandlerResult<String> {
        let job = job.into_inner();
        let plan = ctx.run(async || Ok(Json(plan(&job).await))).await?.into_inner();
        let mut done = BTreeMap::new();
        while done.len() < plan.len() {
            for input in ready(&job, &plan, &done) {
                // This SDK has no concurrent `run`: s2 and s3 follow each other.
                let result = ctx.run(async || Ok(step(&input).await)).await?;
                done.insert(input.id, result);
            }
        }
        Ok(finished(done))
    }

    #[handler]
    async fn graph(&self, ctx: Context<'_>, job: Json<Job>) -> HandlerResult<String> {
        let job = job.into_inner();
        let (mut draft, mut rounds) = (String::new(), 0);
        while rounds < ROUNDS {
            let input = node(&job, "draft", &[("draft", &draft)]);
            draft = ctx.run(async || Ok(step(&input).await)).await?;
            rounds += 1;
        }
        if rounds != ROUNDS {
            return Err(TerminalError::new("the loop has not ended").into());
        }
        // This SDK has no concurrent `run`: the two paths follow each other.
        let input = node(&job, "left", &[("draft", &draft)]);
        let left = ctx.run(async || Ok(step(&input).await)).await?;
        let input = node(&job, "right", &[("draft", &draft)]);
        let right = ctx.run(async || Ok(step(&input).await)).await?;
        let input = node(&job, "merge", &[("left", &left), ("right", &right)]);
        Ok(ctx.run(async || Ok(step(&input).await)).await?)
    }
}

pub(crate) struct Approval;

#[workflow]
impl Approval {
    #[handler]
    async fn run(&self, ctx: WorkflowContext<'_>, job: Json<Job>) -> HandlerResult<String> {
        let job = job.into_inner();
        let activities = ctx.service_client::<ActivitiesClient>();
        let plan = activities.plan(Json(job.clone())).call().await?.into_inner();
        ctx.promise::<String>("approved").await?;
        let mut done = BTreeMap::new();
        while done.len() < plan.len() {
            let wave: Vec<_> = ready(&job, &plan, &done)
                .into_iter()
                .map(|input| (input.id.clone(), activities.step(Json(input)).call()))
                .collect();
            for (id, call) in wave {
                done.insert(id, call.await?);
            }
        }
        Ok(finished(done))
    }

    #[handler]
    async fn approve(&self, ctx: SharedWorkflowContext<'_>) -> HandlerResult<()> {
        ctx.resolve_promise("approved", "yes".to_owned());
        Ok(())
    }
}
