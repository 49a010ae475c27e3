//! A real Prometheus, started with the deployed configuration and queried over its API.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use broker::testing::wait::{PATIENCE, eventually};
use serde_json::Value;
use tempfile::TempDir;

/// The interval of scrapes and rule evaluations, in place of the deployed one.
const EVERY: &str = "1s";

/// A Prometheus process. It is killed when it is dropped.
pub(crate) struct Prometheus {
    child: Child,
    url: String,
    http: reqwest::Client,
    dir: TempDir,
    /// The labels of earlier queries, so that a later query sees the same labels.
    seen: tokio::sync::Mutex<HashMap<String, BTreeSet<String>>>,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns a port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Returns the paths of Prometheus and promtool; `None` when they cannot be installed. In CI that
/// is a failure.
pub(crate) fn programs() -> Option<(PathBuf, PathBuf)> {
    let install = callboard_tests::root().join("tools/install");
    let found = Command::new(install).arg("prometheus").output().unwrap();
    if found.status.success() {
        let prometheus = PathBuf::from(String::from_utf8_lossy(&found.stdout).trim());
        let promtool = prometheus.with_file_name("promtool");
        return Some((prometheus, promtool));
    }
    let why = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must have Prometheus: {why}");
    eprintln!(
        "\n*** SKIPPED: dashboards and alerts were NOT checked, there is no Prometheus ***\n{why}"
    );
    None
}

impl Prometheus {
    /// Starts Prometheus with `deploy/prometheus`, with other targets and intervals. `targets` are
    /// addresses.
    pub(crate) async fn start(program: &Path, targets: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let deployed = callboard_tests::root().join("deploy/prometheus");
        let config =
            adapted(&fs::read_to_string(deployed.join("prometheus.yml")).unwrap(), targets);
        fs::write(dir.path().join("prometheus.yml"), config).unwrap();
        fs::create_dir(dir.path().join("rules")).unwrap();
        for rules in fs::read_dir(deployed.join("rules")).unwrap() {
            let rules = rules.unwrap();
            fs::copy(rules.path(), dir.path().join("rules").join(rules.file_name())).unwrap();
        }
        let address = format!("127.0.0.1:{}", free_port());
        let log = fs::File::create(dir.path().join("log")).unwrap();
        let child = Command::new(program)
            .arg(format!("--config.file={}", dir.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        // Fails only when another provider is installed already, which serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
        let this =
            Self { child, url: format!("http://{address}"), http, dir, seen: <_>::default() };
        eventually("Prometheus", async || {
            this.try_get("status/runtimeinfo", &[]).await.map_err(|_| this.log())
        })
        .await;
        this
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    async fn try_get(&self, path: &str, query: &[(&str, &str)]) -> Result<Value, String> {
        let url = format!("{}/api/v1/{path}", self.url);
        let response = self.http.get(url).query(query).send().await.map_err(|e| e.to_string())?;
        let answer: Value = response.json().await.map_err(|e| e.to_string())?;
        if answer["status"] == "success" {
            Ok(answer["data"].clone())
        } else {
            Err(answer["error"].as_str().unwrap_or("no error, no success").to_owned())
        }
    }

    /// Sends a request to the API.
    ///
    /// # Panics
    /// Panics if the API refuses the request.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Value {
        self.try_get(path, query).await.unwrap_or_else(|error| panic!("{path} {query:?}: {error}"))
    }

    /// Returns the number of values of a query between two times (in seconds since 1970), without
    /// NaN.
    ///
    /// # Errors
    /// The message of Prometheus if the query is invalid.
    pub(crate) async fn numbers(&self, query: &str, from: f64, to: f64) -> Result<usize, String> {
        let (from, to) = (from.to_string(), to.to_string());
        let range = [("query", query), ("start", &from), ("end", &to), ("step", "1")];
        let data = self.try_get("query_range", &range).await?;
        let series = data["result"].as_array().cloned().unwrap_or_default();
        let values =
            series.iter().flat_map(|one| one["values"].as_array().cloned().unwrap_or_default());
        Ok(values.filter(|pair| pair[1] != "NaN").count())
    }

    /// Returns whether a series that fits a selector was ever seen.
    pub(crate) async fn exists(&self, selector: &str) -> bool {
        let query = format!("count(last_over_time({selector}[1h]))");
        let data = self.get("query", &[("query", &query)]).await;
        data["result"].as_array().is_some_and(|result| !result.is_empty())
    }

    /// Returns the labels of the series that fit a selector, at the time of the first request for
    /// it.
    pub(crate) async fn labels(&self, selector: &str) -> BTreeSet<String> {
        let mut seen = self.seen.lock().await;
        if let Some(labels) = seen.get(selector) {
            return labels.clone();
        }
        let found = self.get("series", &[("match[]", selector), ("start", "0")]).await;
        let all = found.as_array().into_iter().flatten().filter_map(Value::as_object);
        let labels: BTreeSet<String> = all.flat_map(|one| one.keys().cloned()).collect();
        seen.insert(selector.to_owned(), labels.clone());
        labels
    }

    /// Waits until every target was scraped `times` times more.
    pub(crate) async fn scraped(&self, times: usize) {
        let had = self.scrapes().await;
        eventually("scrapes of every target", async || {
            let all = self.scrapes().await;
            if all >= had + times { Ok(()) } else { Err(self.log()) }
        })
        .await;
    }

    /// Returns the smallest number of scrapes of any target.
    async fn scrapes(&self) -> usize {
        let data = self.get("query", &[("query", "min(sum_over_time(up[1h]))")]).await;
        let count = data["result"][0]["value"][1].as_str().unwrap_or("0").to_owned();
        count.parse().unwrap_or(0)
    }
}

/// Returns the configuration with other targets and intervals.
fn adapted(config: &str, targets: &[String]) -> String {
    let (before, rest) = config.split_once("# targets: begin\n").expect("it is marked");
    let (_, after) = rest.split_once("# targets: end").expect("it is marked");
    let config = format!("{before}static_configs: [{{ targets: {targets:?} }}]{after}");
    let timeout = config.replace("scrape_timeout: 10s", &format!("scrape_timeout: {EVERY}"));
    timeout.replace("_interval: 15s", &format!("_interval: {EVERY}"))
}

#[test]
fn only_targets_and_intervals_differ_from_what_is_deployed() {
    let config = "global:\n  scrape_interval: 15s\n  scrape_timeout: 10s\njobs:\n  # targets: begin\n  x: y\n  # targets: end\n";
    assert_eq!(
        adapted(config, &["a:1".to_owned()]),
        "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\njobs:\n  static_configs: [{ targets: [\"a:1\"] }]\n"
    );
}
