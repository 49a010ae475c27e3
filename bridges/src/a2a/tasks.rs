//! The operations that read tasks and cancel them.

use std::time::Duration;

use futures::StreamExt;
use proto::{
    door::{Count, Filter, List, SendSignal},
    error::{Code, Failure},
    id::{ConversationId, JobId},
    point::Order,
    view::{JobSummary, JobView},
};

use super::{
    A2aServer, page,
    rpc::{Fault, Kind, Refused},
    task::{listed, task},
    types::{ListTasks, OfTask, Task, TaskPage},
    updates::Updates,
    words::Text,
};

/// Tasks of a page whose client names no number.
const PAGE: u32 = 50;
/// Largest number of tasks of a page.
const PAGE_MAX: u32 = 100;
/// Jobs of a page that are read at once.
const READ_AT_ONCE: usize = 8;
/// Time for which a cancellation waits for the end of its task.
const CANCEL_WITHIN: Duration = Duration::from_secs(10);

/// Reads the number of messages that a client wants; all without a wish.
pub(super) fn messages(wish: Option<i64>) -> Result<usize, Fault> {
    let Some(wish) = wish else { return Ok(usize::MAX) };
    let wrong = |_| Fault::new(Kind::InvalidParams, Text::Negative).at("historyLength");
    usize::try_from(wish).map_err(wrong)
}

/// Reads the number of tasks that a client wants.
fn page_size(wish: Option<i64>) -> Result<u32, Fault> {
    let wish = wish.map_or(Ok(PAGE), u32::try_from);
    let wish = wish.ok().filter(|wish| (1..=PAGE_MAX).contains(wish));
    wish.ok_or_else(|| {
        Fault::new(Kind::InvalidParams, Text::PageSize { max: &PAGE_MAX }).at("pageSize")
    })
}

impl A2aServer {
    /// Returns the job of a task. `field` is where the request names it.
    pub(super) async fn find(&self, id: &str, field: &str) -> Result<JobView, Refused> {
        Ok(self.client.get(&job(id, field)?).await?)
    }

    /// `GetTask`.
    pub(super) async fn get_task(&self, request: OfTask) -> Result<Task, Refused> {
        let messages = messages(request.history_length)?;
        Ok(task(&self.find(&request.id, "id").await?, messages, Some(&self.files())))
    }

    /// `ListTasks`, newest submission first.
    pub(super) async fn list_tasks(&self, request: ListTasks) -> Result<TaskPage, Refused> {
        let page_size = page_size(request.page_size)?;
        let messages = request.history_length.map_or(Ok(0), |wish| messages(Some(wish)))?;
        let has_artifacts = request.include_artifacts.unwrap_or_default();
        let conversation: Option<ConversationId> = request
            .context_id
            .filter(|id| !id.is_empty())
            .map(|id| id.parse())
            .transpose()
            .map_err(|invalid| Failure::from(invalid).at("contextId"))?;
        let states = request.status.and_then(|status| status.job_state()).into_iter().collect();
        let updated_since = request.status_timestamp_after;
        let filter = Filter { states, conversation, updated_since, ..Filter::default() };
        let unknown = || Fault::new(Kind::InvalidParams, Text::OtherPage).at("pageToken");
        let token = request.page_token.filter(|token| !token.is_empty());
        let after = token
            .map(|token| page::read(&self.subject, &filter, &token).ok_or_else(unknown))
            .transpose()?;
        let list = List { filter: filter.clone(), limit: Some(page_size), after };
        let listed_jobs = self.client.call(&list).await?;
        let total_size = self.client.call(&Count { filter: filter.clone() }).await?.total();
        let next = listed_jobs.next.filter(|_| listed_jobs.more);
        let next = next.map(|after| page::token(&self.subject, &filter, &after));
        let jobs = listed_jobs.jobs;
        let tasks = if has_artifacts || messages > 0 {
            self.whole(&jobs, messages, has_artifacts).await?
        } else {
            jobs.iter().map(listed).collect()
        };
        Ok(TaskPage { tasks, next_page_token: next.unwrap_or_default(), page_size, total_size })
    }

    async fn whole(
        &self,
        jobs: &[JobSummary],
        messages: usize,
        has_artifacts: bool,
    ) -> Result<Vec<Task>, Failure> {
        let ids: Vec<JobId> = jobs.iter().map(|job| job.job.clone()).collect();
        let read = ids.into_iter().map(|id| {
            let client = self.client.clone();
            async move { client.get(&id).await }
        });
        let read: Vec<_> = futures::stream::iter(read).buffered(READ_AT_ONCE).collect().await;
        let files = has_artifacts.then(|| self.files());
        let mut tasks = Vec::new();
        for view in read {
            match view {
                Ok(view) => tasks.push(task(&view, messages, files.as_ref())),
                // It was purged meanwhile.
                Err(failure) if failure.code == Code::NotFound => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(tasks)
    }

    /// `CancelTask`.
    pub(super) async fn cancel_task(&self, request: OfTask) -> Result<Task, Refused> {
        let job = job(&request.id, "id")?;
        let signal = SendSignal {
            job: job.clone(),
            signal: Order::Cancel,
            expected_seq: None,
            reason: None,
            by: None,
        };
        match self.client.call(&signal).await {
            Ok(_) => {}
            Err(failure) if failure.code == Code::JobEnded => {
                return Err(Fault::new(Kind::TaskNotCancelable, Text::EndedAlready).into());
            }
            Err(failure) => return Err(failure.into()),
        }
        let view = self.client.get(&job).await?;
        let updates = Updates::of_subscription(&view, self.files());
        let ended = self.settled(view, updates);
        let view = match tokio::time::timeout(CANCEL_WITHIN, ended).await {
            Ok(view) if view.as_ref().is_ok_and(|view| view.state.is_terminal()) => view?,
            Ok(_) | Err(_) => self.client.get(&job).await?,
        };
        Ok(task(&view, usize::MAX, Some(&self.files())))
    }
}

/// Reads the id of a task. Another text names no task.
fn job(id: &str, field: &str) -> Result<JobId, Fault> {
    let none = |_| Fault::new(Kind::TaskNotFound, Text::NoTask { task: &id }).at(field);
    id.parse().map_err(none)
}
