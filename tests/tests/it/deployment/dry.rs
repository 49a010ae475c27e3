//! A dry run of the real program with a given command and environment, but without a broker. The
//! exit code shows whether the program accepted them: only the connection may fail.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

/// Exit codes of `callboard`, as in `docs/cli.md`.
const FAILED: i32 = 1;
const UNAVAILABLE: i32 = 5;

/// Variables of the OpenTelemetry specification that the deployments use.
const STANDARD: [&str; 3] =
    ["OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES", "OTEL_METRICS_EXPORTER"];

/// The inputs of a deployed process.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    /// The arguments.
    pub(super) args: Vec<String>,
    /// The environment.
    pub(super) env: BTreeMap<String, String>,
    /// The files, by their path in the process's view.
    pub(super) files: BTreeMap<String, String>,
}

impl Given {
    /// Runs the program, and returns the defect of the inputs, if there is one.
    pub(super) fn wrong(&self) -> Option<String> {
        let foreign = self.foreign();
        if !foreign.is_empty() {
            return Some(format!("nobody reads {}", foreign.join(", ")));
        }
        let expected = match self.args.first().map(String::as_str) {
            Some("health") => FAILED,
            _ => UNAVAILABLE,
        };
        let output = self.run();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code() != Some(expected)).then(|| format!("{:?}: {told}", self.args))
    }

    /// Returns the variables that no setting, no other variable and no OpenTelemetry SDK reads.
    fn foreign(&self) -> Vec<String> {
        let named = |name: &str| {
            let own = self.env.iter().filter(|(key, _)| key.starts_with("CALLBOARD"));
            let mut texts = own.map(|(_, value)| value.as_str()).chain(["$(POD_NAME)"]);
            let used = self.env.get("OTEL_RESOURCE_ATTRIBUTES").map_or("", String::as_str);
            used.contains(&format!("$({name})"))
                || texts.any(|text| text == name || text.contains(&format!("\"{name}\"")))
        };
        let ours = |name: &str| name == "CALLBOARD_CONFIG" || name.starts_with("CALLBOARD__");
        // Proxy variables are for installations that have a proxy.
        let known = |name: &str| ours(name) || STANDARD.contains(&name) || name.ends_with("_PROXY");
        self.env.keys().filter(|name| !known(name) && !named(name)).cloned().collect()
    }

    fn run(&self) -> Output {
        let place = tempfile::tempdir().unwrap();
        let mut command = Command::new(callboard_tests::callboard());
        command.env_clear().current_dir(place.path());
        for (name, value) in &self.env {
            command.env(name, self.placed(value, &place));
        }
        // The port refuses connections at once, and the admin listener binds no fixed port.
        command
            .env("CALLBOARD__NATS__URL", "nats://127.0.0.1:1")
            .env("CALLBOARD__NATS__CONNECT_TIMEOUT_MS", "2000")
            .env("CALLBOARD__ADMIN__LISTEN", "127.0.0.1:1");
        if self.args.first().is_some_and(|word| word == "serve") {
            // Without a time limit, `serve` waits for its broker.
            command.env("CALLBOARD__ADMIN__LISTEN", "127.0.0.1:0").args(["--timeout", "100ms"]);
        }
        command.args(&self.args).output().unwrap()
    }

    /// Returns the value with the path at which the test has put a file.
    fn placed(&self, value: &str, place: &TempDir) -> String {
        let Some(content) = self.files.get(value) else { return value.to_owned() };
        let path = place.path().join(value.trim_start_matches('/').replace('/', "-"));
        let mut content = content.clone();
        // Only settings refer to further files.
        let others = self.files.keys().filter(|other| *other != value && path_is_toml(value));
        for other in others {
            content = content.replace(other.as_str(), &self.placed(other, place));
        }
        fs::write(&path, content).unwrap();
        path.display().to_string()
    }
}

fn path_is_toml(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "toml")
}

/// Returns the seed of a user that no server knows.
pub(super) fn seed() -> String {
    nkeys::KeyPair::new_user().seed().unwrap()
}

#[test]
fn a_dry_run_finds_a_wrong_flag_a_wrong_role_and_a_wrong_variable() {
    let given = |args: &str, env: &[(&str, &str)]| Given {
        args: args.split(' ').map(str::to_owned).collect(),
        env: env.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        files: BTreeMap::new(),
    };
    assert_eq!(given("serve --roles supervisor", &[]).wrong(), None);
    for (args, env, told) in [
        ("serve --role supervisor", [("CALLBOARD__LOG__FORMAT", "json")], "--role"),
        ("serve --roles boss", [("CALLBOARD__LOG__FORMAT", "json")], "no role"),
        ("serve --roles supervisor", [("CALLBOARD__LOG__FORMATS", "json")], "log.formats"),
        ("serve --roles supervisor", [("CALLBOARD_LOG_FORMAT", "json")], "nobody reads"),
    ] {
        let wrong = given(args, &env).wrong().unwrap_or_default();
        assert!(wrong.contains(told), "{args}: {wrong}");
    }
}
