//! A real Prometheus: started with the configuration that is deployed, asked over its API.

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

/// How often it scrapes and judges here, instead of what is deployed.
const EVERY: &str = "1s";

/// Prometheus. Ended when dropped.
pub(crate) struct Prometheus {
    child: Child,
    url: String,
    http: reqwest::Client,
    dir: TempDir,
    /// Labels that were asked for: what has been seen stays so.
    seen: tokio::sync::Mutex<HashMap<String, BTreeSet<String>>>,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        // It may have ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Prometheus and promtool, or nothing where they cannot be had. In CI they must be.
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
    /// Starts it with `deploy/prometheus`, changed in what is scraped and how often. `targets` are
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
        // Fails only when a provider is there already, which is as good.
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

    /// An answer of its API.
    ///
    /// # Panics
    /// When it refuses.
    pub(crate) async fn get(&self, path: &str, query: &[(&str, &str)]) -> Value {
        self.try_get(path, query).await.unwrap_or_else(|error| panic!("{path} {query:?}: {error}"))
    }

    /// The numbers that a query gives between two times (in seconds since 1970), none of them NaN.
    ///
    /// # Errors
    /// When the query is wrong.
    pub(crate) async fn numbers(&self, query: &str, from: f64, to: f64) -> Result<usize, String> {
        let (from, to) = (from.to_string(), to.to_string());
        let range = [("query", query), ("start", &from), ("end", &to), ("step", "1")];
        let data = self.try_get("query_range", &range).await?;
        let series = data["result"].as_array().cloned().unwrap_or_default();
        let values =
            series.iter().flat_map(|one| one["values"].as_array().cloned().unwrap_or_default());
        Ok(values.filter(|pair| pair[1] != "NaN").count())
    }

    /// Whether a series was seen under a selector.
    pub(crate) async fn exists(&self, selector: &str) -> bool {
        let query = format!("count(last_over_time({selector}[1h]))");
        let data = self.get("query", &[("query", &query)]).await;
        data["result"].as_array().is_some_and(|result| !result.is_empty())
    }

    /// The labels that the series of a selector were seen with until it was first asked for.
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

    /// Waits until every target was scraped so often again.
    pub(crate) async fn scraped(&self, times: usize) {
        let had = self.scrapes().await;
        eventually("scrapes of every target", async || {
            let all = self.scrapes().await;
            if all >= had + times { Ok(()) } else { Err(self.log()) }
        })
        .await;
    }

    /// How often the target that was scraped least answered.
    async fn scrapes(&self) -> usize {
        let data = self.get("query", &[("query", "min(sum_over_time(up[1h]))")]).await;
        let count = data["result"][0]["value"][1].as_str().unwrap_or("0").to_owned();
        count.parse().unwrap_or(0)
    }
}

/// The configuration with other targets and intervals.
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
