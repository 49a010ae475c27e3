//! Tests of dashboards, alerts and the catalogue of metrics. A real Prometheus that scrapes real
//! processes runs every query, promtool fires every alert, and `docs/metrics.md` documents exactly
//! the exported metrics.

mod catalogue;
mod grafana;
mod prometheus;
mod promql;
mod run;
mod traceql;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
    time::{SystemTime, UNIX_EPOCH},
};

use serde_json::Value;

pub(crate) use self::prometheus::free_port;
use self::{
    catalogue::Seen,
    grafana::{Query, list, text},
    prometheus::Prometheus,
    run::Run,
};

/// Queries of panels that return nothing in the run, with the reason. An entry that returns
/// something is a defect.
const FINDS_NOTHING: &[(&str, &str)] = &[];

/// Metrics and attributes that the run cannot show, with the reason.
const UNSEEN: &[(&str, &str)] = &[
    (
        "callboard_webhook_tries_total",
        "it needs a webhook, and tests/tests/it/gateway/webhooks.rs reads it",
    ),
    (
        "callboard_workflow_node_duration_seconds",
        "it needs a workflow, and tests/tests/it/named_workflows.rs reads it",
    ),
];

fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_finds_what_real_processes_export() {
    let Some((program, _)) = prometheus::programs() else { return };
    let mut run = Run::start().await;
    let from = seconds();
    let prometheus = Prometheus::start(&program, &run.targets).await;
    // Prometheus starts to scrape after some seconds, and needs two scrapes to see growth.
    prometheus.scraped(2).await;
    run.play().await;
    prometheus.scraped(2).await;
    run.disturb().await;
    // Queues and storage are read every five seconds. Two scrapes and two evaluations follow.
    prometheus.scraped(8).await;
    let check = Check { prometheus, from, to: seconds() };
    let mut wrong = check.panels().await;
    wrong.extend(check.rules().await);
    wrong.extend(check.catalogue().await);
    wrong.extend(traceql::wrong(&grafana::dashboards(), &run.receiver.spans()));
    assert!(wrong.is_empty(), "{} defects:\n{}", wrong.len(), wrong.join("\n"));
}

struct Check {
    prometheus: Prometheus,
    from: f64,
    to: f64,
}

impl Check {
    /// Substitutes the variables of a dashboard.
    fn filled(&self, query: &str) -> String {
        let range = format!("{}s", (self.to - self.from).ceil());
        grafana::filled(query, "callboard", "30s", &range)
    }

    async fn panels(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut excused: BTreeSet<&str> = FINDS_NOTHING.iter().map(|(query, _)| *query).collect();
        for dashboard in grafana::dashboards() {
            for Query { place, text } in dashboard.promql() {
                let query = self.filled(&text);
                match self.prometheus.numbers(&query, self.from, self.to).await {
                    _ if query.contains('$') => {
                        wrong.push(format!("{place}: unknown variable: {query}"))
                    }
                    Err(error) => wrong.push(format!("{place}: {error}: {query}")),
                    Ok(0) if !excused.remove(place.as_str()) => {
                        wrong.push(format!("{place}: no data: {query}"));
                    }
                    Ok(_) => {}
                }
                wrong.extend(self.selectors(&place, &query).await);
            }
            for (selector, label) in dashboard.offered() {
                if !self.prometheus.labels(&self.filled(&selector)).await.contains(&label) {
                    wrong.push(format!("{}: {selector} offers no {label}", dashboard.name));
                }
            }
        }
        wrong.extend(excused.iter().map(|place| format!("{place} is excused and finds something")));
        wrong
    }

    /// Checks that every metric of a query exists with the labels that the query uses.
    async fn selectors(&self, place: &str, query: &str) -> Vec<String> {
        let looks = promql::looks(query);
        let (mut wrong, mut labels) = (Vec::new(), BTreeSet::new());
        for selector in looks.selectors {
            let relaxed = selector.relaxed();
            if !self.prometheus.exists(&relaxed).await {
                wrong.push(format!("{place}: nothing was exported that fits {relaxed}"));
            }
            labels.extend(self.prometheus.labels(&selector.metric).await);
            for (label, word) in selector.alternatives() {
                let seen = format!("{}{{{label}=\"{word}\"}}", selector.metric);
                if !is_known(word) && !self.prometheus.exists(&seen).await {
                    wrong.push(format!("{place}: {label} is never {word}"));
                }
            }
        }
        let unknown = looks.grouped.into_iter().filter(|label| !labels.contains(label));
        wrong.extend(unknown.map(|label| format!("{place}: groups by {label}, which nothing has")));
        wrong
    }

    /// Checks that the rules are loaded and that their metrics exist. promtool checks that each
    /// alert can fire.
    async fn rules(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, rule) in rules(&self.prometheus.get("rules", &[]).await) {
            if rule["health"] != "ok" {
                wrong.push(format!("{name}: {}", text(&rule, "lastError")));
            }
            let records = rule["type"] == "recording";
            if records && self.prometheus.numbers(&name, self.from, self.to).await == Ok(0) {
                wrong.push(format!("{name}: records nothing"));
            }
            wrong.extend(self.selectors(&name, text(&rule, "query")).await);
        }
        wrong
    }

    async fn catalogue(&self) -> Vec<String> {
        let names = self.prometheus.get("label/__name__/values", &[]).await;
        let mut seen = Seen::new();
        for name in names.as_array().unwrap().iter().filter_map(Value::as_str) {
            // Series that Prometheus itself adds, and those that the rules record.
            if name == "up"
                || name.starts_with("scrape_")
                || name.starts_with("ALERTS")
                || name.contains(':')
            {
                continue;
            }
            seen.insert(name.to_owned(), self.prometheus.labels(name).await);
        }
        // Its labels describe the process.
        assert!(seen.remove("target_info").is_some(), "no process says who it is");
        catalogue::differences(&catalogue::parse(&read("docs/metrics.md")), &seen, UNSEEN)
    }
}

/// Returns whether a word is a value of a closed enum, which a healthy run need not show.
fn is_known(word: &str) -> bool {
    proto::error::Code::ALL.iter().any(|code| code.as_str() == word)
        || proto::job::JobState::ALL.iter().any(|state| state.as_str() == word)
}

fn rules(answer: &Value) -> Vec<(String, Value)> {
    let groups = list(answer, "groups").iter();
    let rules = groups.flat_map(|group| list(group, "rules"));
    rules.map(|rule| (text(rule, "name").to_owned(), rule.clone())).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(callboard_tests::root().join(path)).unwrap()
}

fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(callboard_tests::root().join(directory)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn succeeds(command: &mut Command) {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}:\n{}", String::from_utf8_lossy(&said));
}

#[test]
fn promtool_fires_every_alert() {
    let Some((_, promtool)) = prometheus::programs() else { return };
    let config = callboard_tests::root().join("deploy/prometheus/prometheus.yml");
    succeeds(Command::new(&promtool).args(["check", "config"]).arg(config));
    succeeds(
        Command::new(&promtool).args(["test", "rules"]).args(files("deploy/prometheus/tests")),
    );
    let (alerts, fired) = (alerts(), fired());
    let never: Vec<&String> = alerts.keys().filter(|name| !fired.contains(*name)).collect();
    assert!(never.is_empty(), "no test fires {never:?}");
}

/// Returns the number of definitions of each alert.
fn alerts() -> BTreeMap<String, usize> {
    let mut alerts = BTreeMap::new();
    for path in files("deploy/prometheus/rules") {
        let rules = fs::read_to_string(path).unwrap();
        for name in rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
            *alerts.entry(name.to_owned()).or_default() += 1;
        }
    }
    alerts
}

/// Returns the alerts that some test of promtool expects to fire.
fn fired() -> BTreeSet<String> {
    let mut fired = BTreeSet::new();
    for path in files("deploy/prometheus/tests") {
        let tests = fs::read_to_string(path).unwrap();
        for (_, rest) in
            tests.match_indices("alertname: ").map(|(at, word)| tests[at..].split_at(word.len()))
        {
            let case = rest.split("alertname: ").next().unwrap_or_default();
            if case.contains("- exp_labels:") {
                fired.insert(case.lines().next().unwrap_or_default().trim().to_owned());
            }
        }
    }
    fired
}

#[test]
fn every_alert_has_a_runbook_and_a_dashboard() {
    let document = crate::markdown::parse(&read("docs/alerts.md"));
    let alerts = alerts();
    let mut wrong = Vec::new();
    for path in files("deploy/prometheus/rules") {
        let rules = fs::read_to_string(path).unwrap();
        for rule in rules.split("- alert: ").skip(1) {
            let name = rule.lines().next().unwrap_or_default();
            let anchor = name.to_lowercase();
            if !rule.contains(&format!("runbook: docs/alerts.md#{anchor}\n")) {
                wrong.push(format!("{name}: its runbook is docs/alerts.md#{anchor}"));
            }
            if !document.anchors.contains(&anchor) {
                wrong.push(format!("{name}: docs/alerts.md has no section of that name"));
            }
            let dashboard =
                rule.lines().find_map(|line| line.trim().strip_prefix("dashboard: /d/"));
            let there =
                |uid: &str| grafana::dashboards().iter().any(|d| text(&d.json, "uid") == uid);
            if !dashboard.is_some_and(there) {
                wrong.push(format!("{name}: {dashboard:?} is no dashboard"));
            }
        }
    }
    let anchors: BTreeSet<String> = alerts.keys().map(|name| name.to_lowercase()).collect();
    let sections = document.anchors.iter().filter(|anchor| anchor.starts_with("callboard"));
    wrong.extend(
        sections
            .filter(|s| !anchors.contains(*s))
            .map(|s| format!("docs/alerts.md: {s} is no alert")),
    );
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn dashboards_are_whole() {
    assert_eq!(grafana::wrong(&grafana::dashboards()), Vec::<String>::new());
}

#[test]
fn dashboards_are_what_their_source_makes_and_what_grafana_reads() {
    let python = callboard_tests::installed("python");
    let at = |name: &str| callboard_tests::root().join("deploy/grafana").join(name);
    succeeds(Command::new(&python).arg(at("build.py")).arg("--check"));
    succeeds(Command::new(&python).arg(at("check.py")));
    // A field that Grafana does not know is found.
    let dir = tempfile::tempdir().unwrap();
    let spoilt = dir.path().join("spoilt.json");
    fs::write(
        &spoilt,
        read("deploy/grafana/dashboards/tools.json").replace("\"gridPos\"", "\"gridpos\""),
    )
    .unwrap();
    assert!(
        !Command::new(&python).arg(at("check.py")).arg(spoilt).output().unwrap().status.success()
    );
}
