//! Statistics of workflows: their jobs by state, and the visits of their nodes. The server folds the
//! logs; this module sums up the graphs that it shows.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use proto::{
    door::{Counted, Filter, GetGraph, List},
    error::{Code, Failure},
    id::JobId,
    job::JobState,
    limits,
    workflow::{NodeId, WorkKind, WorkflowGraph, WorkflowName},
};
use serde::Serialize;

use super::Client;

/// Maximum number of jobs whose graphs are read for statistics.
pub const STATS_JOBS_MAX: usize = 1_000;

/// Maximum number of rows of jobs that are read to find those with a workflow.
const STATS_ROWS_MAX: usize = 20_000;

/// Graphs that are requested at the same time.
const AT_ONCE: usize = 8;

/// Errors of a job whose graph cannot be shown; the others are counted without it.
const UNREADABLE: [Code; 3] = [Code::Poisoned, Code::Internal, Code::TooLarge];

/// The statistics of workflows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowStats {
    /// Number of jobs whose graphs were read.
    pub jobs: usize,
    /// `true` if there are older jobs that were not read.
    pub more: bool,
    /// Number of further jobs whose graphs cannot be read.
    pub unread: usize,
    /// Workflows, by name.
    pub workflows: Vec<WorkflowStat>,
}

/// The graph of a job, as far as it can be read.
enum Read {
    Graph(JobState, Box<WorkflowGraph>),
    Unreadable,
    Gone,
}

/// The statistics of one workflow, over all its versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkflowStat {
    /// Name of the workflow.
    pub workflow: WorkflowName,
    /// Jobs by state.
    pub jobs: Counted,
    /// Nodes with visits, by id.
    pub nodes: Vec<NodeStat>,
}

/// The statistics of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeStat {
    /// Id of the node.
    pub node: NodeId,
    /// Type of the node, in the newest job.
    #[serde(rename = "type")]
    pub kind: WorkKind,
    /// Visits.
    pub visits: usize,
    /// Visits that have not ended.
    pub open: usize,
    /// Visits that failed.
    pub failed: u64,
    /// Median of the time from the entry to the end, in milliseconds; absent before the first end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ms: Option<u64>,
    /// Time that 95 of 100 ended visits do not exceed, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p95_ms: Option<u64>,
}

/// The sums over some jobs.
#[derive(Debug, Default)]
struct Sums(BTreeMap<WorkflowName, (Counted, BTreeMap<NodeId, Visits>)>);

/// The visits of one node.
#[derive(Debug)]
struct Visits {
    kind: WorkKind,
    open: usize,
    failed: u64,
    /// Durations of the ended visits, in milliseconds.
    took: Vec<u64>,
}

impl Sums {
    /// Adds a job. Jobs are added newest first.
    fn add(&mut self, state: JobState, graph: &WorkflowGraph) {
        let (jobs, nodes) = self.0.entry(graph.definition.name.clone()).or_default();
        jobs.add(state);
        for node in graph.nodes.iter().filter(|node| node.visits > 0) {
            let visits = nodes.entry(node.shape.id.clone()).or_insert_with(|| Visits {
                kind: node.shape.kind,
                open: 0,
                failed: 0,
                took: Vec::new(),
            });
            visits.failed += u64::from(node.failed);
        }
        for visit in &graph.visits {
            let Some(visits) = nodes.get_mut(&visit.visit.node) else { continue };
            match visit.ended {
                None => visits.open += 1,
                Some(ended) => {
                    let ms = ended.duration_since(visit.entered).as_millis();
                    visits.took.push(u64::try_from(ms).unwrap_or_default());
                }
            }
        }
    }

    fn stats(self) -> Vec<WorkflowStat> {
        let each = self.0.into_iter().map(|(workflow, (jobs, nodes))| {
            let nodes = nodes.into_iter().map(|(node, mut visits)| {
                visits.took.sort_unstable();
                let Visits { kind, open, failed, took } = visits;
                NodeStat {
                    node,
                    kind,
                    visits: open + took.len(),
                    open,
                    failed,
                    p50_ms: percentile(&took, 50),
                    p95_ms: percentile(&took, 95),
                }
            });
            WorkflowStat { workflow, jobs, nodes: nodes.collect() }
        });
        each.collect()
    }
}

/// Returns the smallest of the sorted values that `percent` of 100 do not exceed.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

impl Client {
    /// Returns the statistics of the newest jobs that run a workflow, of one name or of any. It reads
    /// the graphs of at most `max` jobs, and never more than [`STATS_JOBS_MAX`].
    ///
    /// # Errors
    /// Returns the server's refusal or the transport's error.
    pub async fn workflow_stats(
        &self,
        filter: Filter,
        only: Option<&WorkflowName>,
        max: usize,
    ) -> Result<WorkflowStats, Failure> {
        let max = max.min(STATS_JOBS_MAX);
        let (wanted, more) = self.jobs_with_workflow(filter, only, max).await?;
        let graphs = stream::iter(wanted).map(async |(job, state)| {
            match self.call(&GetGraph { job, at: None, files: false }).await {
                // Sums of a part would be wrong.
                Ok(graph) if graph.visits_left_out > 0 => Ok(Read::Unreadable),
                Ok(graph) => Ok(Read::Graph(state, Box::new(graph))),
                // The job was purged meanwhile.
                Err(failure) if failure.code == Code::NotFound => Ok(Read::Gone),
                Err(failure) if UNREADABLE.contains(&failure.code) => Ok(Read::Unreadable),
                Err(failure) => Err(failure),
            }
        });
        let mut graphs = graphs.buffered(AT_ONCE);
        let (mut sums, mut jobs, mut unread) = (Sums::default(), 0, 0);
        while let Some(read) = graphs.try_next().await? {
            match read {
                Read::Graph(state, graph) => {
                    sums.add(state, &graph);
                    jobs += 1;
                }
                Read::Unreadable => unread += 1,
                Read::Gone => {}
            }
        }
        Ok(WorkflowStats { jobs, more, unread, workflows: sums.stats() })
    }

    /// Returns the newest jobs that run a workflow, and whether there may be others.
    async fn jobs_with_workflow(
        &self,
        filter: Filter,
        only: Option<&WorkflowName>,
        max: usize,
    ) -> Result<(Vec<(JobId, JobState)>, bool), Failure> {
        let mut list = List { filter, limit: Some(limits::LIST_MAX), after: None };
        let (mut wanted, mut rows) = (Vec::new(), 0);
        loop {
            let page = self.call(&list).await?;
            rows += page.jobs.len();
            for row in page.jobs {
                let runs = |name: &WorkflowName| only.is_none_or(|only| only == name);
                if !row.workflow.as_ref().is_some_and(runs) {
                    continue;
                }
                if wanted.len() >= max {
                    return Ok((wanted, true));
                }
                wanted.push((row.job, row.state));
            }
            match page.next {
                None => return Ok((wanted, false)),
                Some(_) if rows >= STATS_ROWS_MAX => return Ok((wanted, true)),
                Some(next) => list.after = Some(next),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case::nothing(&[], None, None)]
    #[case::one(&[7], Some(7), Some(7))]
    #[case::two(&[1, 9], Some(1), Some(9))]
    #[case::twenty(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 90], Some(10), Some(19))]
    fn a_percentile_is_a_value_that_was_measured(
        #[case] sorted: &[u64],
        #[case] median: Option<u64>,
        #[case] high: Option<u64>,
    ) {
        assert_eq!((percentile(sorted, 50), percentile(sorted, 95)), (median, high));
    }

    fn visit(number: u32, seconds: Option<u32>, state: &str) -> Value {
        let ended = seconds.map(|s| format!("2026-03-01T09:00:{s:02}Z"));
        let entered = "2026-03-01T09:00:00Z";
        json!({"visit": format!("go--{number}"), "path": "main", "state": state, "entered": entered, "ended": ended})
    }

    fn graph(visits: &[Value]) -> WorkflowGraph {
        let failed = visits.iter().filter(|visit| visit["state"] == "failed").count();
        let node = json!({"work": {"type": "set"}, "write": {}, "next": [{"to": "end"}]});
        serde_json::from_value(json!({
            "job": "j", "seq": 1, "digest": "d", "input": {}, "state": {},
            "definition": {"workflow": "ticket", "version": 1, "start": "go", "nodes": {"go": node}},
            "nodes": [
                {"id": "go", "label": "go", "type": "set", "state": "completed", "visits": visits.len(), "failed": failed},
                {"id": "never", "label": "never", "type": "set", "state": "pending", "visits": 0},
            ],
            "edges": [], "visits": visits,
        }))
        .unwrap()
    }

    #[test]
    fn jobs_are_summed_up_by_workflow_and_visits_by_node() {
        let mut sums = Sums::default();
        sums.add(
            JobState::Working,
            &graph(&[visit(1, Some(3), "completed"), visit(2, None, "running")]),
        );
        sums.add(JobState::Failed, &graph(&[visit(1, Some(20), "failed")]));
        let stats = sums.stats();
        let [ticket] = stats.as_slice() else { panic!("{stats:?}") };
        assert_eq!((ticket.jobs.open, ticket.jobs.failed, ticket.jobs.completed), (1, 1, 0));
        let [go] = ticket.nodes.as_slice() else { panic!("{:?}", ticket.nodes) };
        assert_eq!((go.visits, go.open, go.failed), (3, 1, 1));
        assert_eq!((go.p50_ms, go.p95_ms), (Some(3_000), Some(20_000)));
    }
}
