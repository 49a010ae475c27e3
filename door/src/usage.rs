//! The verb `usage`: the cost of jobs, summed by day, agent, model, tool and job.

use std::{cmp::Ordering, collections::BTreeMap};

use futures::{StreamExt, TryStreamExt, stream};
use jiff::{SignedDuration, Timestamp, civil::Date, tz::TimeZone};
use machine::costs::Costs;
use proto::{
    door::{DaySpent, Filter, GetUsage, JobSpent, NameSpent, UsageReport},
    error::Failure,
    limits,
    spent::Spent,
    view::JobSummary,
};
use runtime::service::{Answers, Asked};

use super::{
    Door,
    index::{Selected, Selection},
    list::AT_A_TIME,
    row,
};

impl Answers<GetUsage> for Door {
    async fn answer(&self, asked: Asked<'_, GetUsage>) -> Result<UsageReport, Failure> {
        let GetUsage { mut filter } = asked.request()?;
        let days = SignedDuration::from_hours(24 * limits::USAGE_DAYS);
        let usual = || self.clock.now().checked_sub(days).unwrap_or(Timestamp::MIN);
        let since = *filter.since.get_or_insert_with(usual);
        let (jobs, more) = self.within(&filter).await?;
        let rows = jobs.into_iter().map(|selected| row::with_costs(&self.observer, selected));
        let mut rows = stream::iter(rows).buffered(AT_A_TIME);
        let (mut sums, mut reached) = (Sums::default(), None);
        while let Some(row) = rows.try_next().await? {
            let Some((row, costs)) = row else { continue };
            reached = Some(row.created);
            if filter.matches(&row) {
                sums.add(row, &costs);
            }
        }
        Ok(sums.report(since, filter.until, reached.filter(|_| more)))
    }
}

impl Door {
    /// Returns the jobs that may match, newest first, and whether there are further ones.
    async fn within(&self, filter: &Filter) -> Result<(Vec<Selected>, bool), Failure> {
        let most = limits::LIST_LOOKED_AT_MAX;
        if filter.conversation.is_none() {
            let selection = Selection::Matching(filter);
            let found = self.index.select(&self.broker.log, selection, None, most + 1).await?;
            if let Some(mut jobs) = found {
                let more = jobs.len() > most;
                jobs.truncate(most);
                return Ok((jobs, more));
            }
        }
        let (mut jobs, mut after): (Vec<Selected>, _) = (Vec::new(), None);
        while jobs.len() < most {
            let page = self.page(filter, most - jobs.len(), after.as_ref()).await?;
            jobs.extend(page.jobs.into_iter().map(|row| Selected { job: row.job, shard: None }));
            after = page.next;
            if !page.more || after.is_none() {
                return Ok((jobs, page.more));
            }
        }
        Ok((jobs, true))
    }
}

/// The sums of a report. Pure.
#[derive(Debug, Default)]
struct Sums {
    jobs: u32,
    total: Spent,
    days: BTreeMap<Date, (u32, Spent)>,
    agents: BTreeMap<String, (u32, Spent)>,
    models: BTreeMap<String, (u32, Spent)>,
    tools: BTreeMap<String, (u32, Spent)>,
    dearest: Vec<JobSpent>,
}

impl Sums {
    fn add(&mut self, row: JobSummary, costs: &Costs) {
        let spent = row.spent;
        self.jobs = self.jobs.saturating_add(1);
        self.total += spent;
        let day = row.created.to_zoned(TimeZone::UTC).date();
        add(&mut self.days, day, spent);
        add(&mut self.agents, row.agent.to_string(), spent);
        for (model, spent) in &costs.models {
            add(&mut self.models, model.clone(), *spent);
        }
        for (tool, spent) in &costs.tools {
            add(&mut self.tools, tool.to_string(), *spent);
        }
        if spent.is_nothing() {
            return;
        }
        let JobSummary { job, goal, agent, state, created, .. } = row;
        let at = self.dearest.partition_point(|other| by_cost(&other.spent, &spent).is_ge());
        self.dearest.insert(at, JobSpent { job, goal, agent, state, created, spent });
        self.dearest.truncate(limits::USAGE_JOBS_MAX);
    }

    fn report(
        self,
        since: Timestamp,
        until: Option<Timestamp>,
        reached: Option<Timestamp>,
    ) -> UsageReport {
        let Self { jobs, total, days, agents, models, tools, dearest } = self;
        let days = days.into_iter().map(|(day, (jobs, spent))| DaySpent { day, jobs, spent });
        UsageReport {
            since,
            until,
            jobs,
            total,
            days: days.collect(),
            agents: named(agents),
            models: named(models),
            tools: named(tools),
            dearest,
            more: reached.is_some(),
            reached,
        }
    }
}

fn add<K: Ord>(sums: &mut BTreeMap<K, (u32, Spent)>, key: K, spent: Spent) {
    let (jobs, sum) = sums.entry(key).or_default();
    *jobs = jobs.saturating_add(1);
    *sum += spent;
}

/// Returns the names with their cost, the dearest first.
fn named(sums: BTreeMap<String, (u32, Spent)>) -> Vec<NameSpent> {
    let named = |(name, (jobs, spent))| NameSpent { name, jobs, spent };
    let mut names: Vec<NameSpent> = sums.into_iter().map(named).collect();
    names.sort_by(|a, b| by_cost(&b.spent, &a.spent));
    names.truncate(limits::USAGE_NAMES_MAX);
    names
}

/// Compares costs: by the known money, and by tokens where it is the same.
fn by_cost(one: &Spent, other: &Spent) -> Ordering {
    let money = |spent: &Spent| spent.money.unwrap_or_default();
    money(one).total_cmp(&money(other)).then_with(|| one.tokens().cmp(&other.tokens()))
}

#[cfg(test)]
mod tests {
    use proto::{id::ToolName, message::Usage};
    use serde_json::json;

    use super::*;

    fn spent(tokens: u64, money: Option<f64>) -> Spent {
        let usage = Usage::reported(tokens, 0);
        let unpriced = if money.is_none() { usage } else { Usage::default() };
        Spent { usage, money, unpriced }
    }

    /// Returns a job whose model and tool cost something.
    fn job(n: u32, agent: &str, created: &str, costs: &[Spent]) -> (JobSummary, Costs) {
        let mut row: JobSummary = serde_json::from_value(json!({
            "job": format!("j{n}"), "state": "completed", "goal": "g", "agent": agent,
            "steps_done": 0, "steps": 0, "questions": 0, "created": created, "updated": created,
        }))
        .unwrap();
        let mut known = Costs::default();
        if let [model, tool] = *costs {
            known.models.insert("default".to_owned(), model);
            known.tools.insert(ToolName::new("search").unwrap(), tool);
        }
        row.spent = known.total();
        (row, known)
    }

    fn summed(jobs: impl IntoIterator<Item = (JobSummary, Costs)>) -> UsageReport {
        let mut sums = Sums::default();
        jobs.into_iter().for_each(|(row, costs)| sums.add(row, &costs));
        sums.report(Timestamp::UNIX_EPOCH, None, None)
    }

    fn names(all: &[NameSpent]) -> Vec<(&str, u32, Option<f64>)> {
        all.iter().map(|one| (one.name.as_str(), one.jobs, one.spent.money)).collect()
    }

    #[test]
    fn jobs_are_summed_by_day_agent_model_and_tool() {
        let night = "2026-03-01T23:59:59Z";
        let report = summed([
            job(1, "default", night, &[spent(10, Some(1.0)), spent(1, Some(0.5))]),
            job(2, "react", "2026-03-02T00:00:00Z", &[spent(5, Some(4.0)), spent(3, None)]),
            job(3, "default", night, &[]),
        ]);
        assert_eq!((report.jobs, report.total.money, report.more), (3, Some(5.5), false));
        assert_eq!(report.total.unpriced, Usage::reported(3, 0));
        let days = report.days.iter();
        let days: Vec<_> =
            days.map(|one| (one.day.to_string(), one.jobs, one.spent.money)).collect();
        let expected = [("2026-03-01", 2, Some(1.5)), ("2026-03-02", 1, Some(4.0))];
        assert_eq!(days, expected.map(|(day, jobs, money)| (day.to_owned(), jobs, money)));
        assert_eq!(names(&report.agents), [("react", 1, Some(4.0)), ("default", 2, Some(1.5))]);
        assert_eq!(names(&report.models), [("default", 2, Some(5.0))]);
        assert_eq!(names(&report.tools), [("search", 2, Some(0.5))]);
        let dearest: Vec<_> = report.dearest.iter().map(|one| one.job.as_str()).collect();
        assert_eq!(dearest, ["j2", "j1"], "a job that cost nothing is left out");
        // Without any price, tokens decide, and no money is known.
        let morning = "2026-03-01T00:00:00Z";
        let unknown = summed([
            job(1, "default", morning, &[spent(1, None), spent(1, None)]),
            job(2, "react", morning, &[spent(9, None), spent(1, None)]),
        ]);
        assert_eq!(names(&unknown.agents), [("react", 1, None), ("default", 1, None)]);
        assert_eq!((unknown.total.money, unknown.total.tokens()), (None, 12));
    }

    #[test]
    fn the_dearest_jobs_stay_whatever_their_order_and_a_report_is_bounded() {
        let all = [7, 3, 250, 1, 12, 30, 2].into_iter().chain(400..600);
        let report = summed(all.map(|n| {
            let model = spent(1, Some(f64::from(n)));
            job(n, &format!("a{n}"), "2026-03-01T00:00:00Z", &[model, Spent::default()])
        }));
        let money: Vec<_> = report.dearest.iter().map(|one| one.spent.money.unwrap()).collect();
        assert_eq!(money.len(), limits::USAGE_JOBS_MAX);
        assert!(money.is_sorted_by(|a, b| a > b) && money[0] == 599.0, "{money:?}");
        assert_eq!((report.jobs, report.agents.len()), (207, limits::USAGE_NAMES_MAX));
        assert_eq!(report.agents[0].name, "a599");
    }
}
