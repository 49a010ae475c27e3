//! Common mistakes in settings, and the messages that report them.

use std::fs;

use proto::{agent::PlanWhen, lang::Language};
use rstest::rstest;
use secrecy::ExposeSecret;

use runtime::config::{FILE, FILE_VARIABLE, Flag};

use super::*;

/// Sources in a temporary directory.
struct Given {
    dir: tempfile::TempDir,
    sources: Sources,
}

fn given(file: &str) -> Given {
    let dir = tempfile::tempdir().unwrap();
    if !file.is_empty() {
        fs::write(dir.path().join(FILE), file).unwrap();
    }
    let sources = Sources { cwd: dir.path().to_owned(), ..Sources::default() };
    Given { dir, sources }
}

impl Given {
    fn env(mut self, name: &str, value: &str) -> Self {
        self.sources.env.push((name.into(), Some(value.into())));
        self
    }
    fn flag(mut self, key: &str, value: &str) -> Self {
        let name = "--set".to_owned();
        self.sources.flags.push(Flag { key: key.into(), value: value.into(), name });
        self
    }
    fn file(self, name: &str, text: &str) -> Self {
        fs::write(self.dir.path().join(name), text).unwrap();
        self
    }
    fn load(&self) -> Config {
        Config::load(&self.sources).unwrap_or_else(|e| panic!("{e}"))
    }
    fn mistakes(&self) -> Vec<String> {
        let errors = Config::load(&self.sources).expect_err("it was accepted");
        errors.0.iter().map(|mistake| mistake.text(Language::En)).collect()
    }
    fn refused(&self, parts: &[&str]) {
        let mistakes = self.mistakes();
        assert_eq!(mistakes.len(), 1, "{mistakes:#?}");
        for part in parts {
            assert!(mistakes[0].contains(part), "{part:?} is not in {:?}", mistakes[0]);
        }
        let errors = Config::load(&self.sources).expect_err("it was accepted");
        let chinese = errors.0[0].why.text(Language::Zh);
        assert_eq!(Language::detect(chinese), Language::Zh, "{chinese}");
    }
}

#[test]
fn the_defaults_fit() {
    let config = given("").load();
    assert_eq!((config.nats.shards, config.nats.prefix.as_str()), (8, "cb"));
    assert_eq!(config.model.kind, None);
    assert!(config.agents.0.is_empty(), "those that are always there come as files");
}

#[test]
fn every_default_is_explained_where_it_is_set() {
    let mut last = "";
    let defaults = Config::defaults_text();
    for line in defaults.lines().filter(|l| !l.trim().is_empty()) {
        let explained =
            line.starts_with(['#', '[']) || last.starts_with('#') || line.contains(" = ");
        assert!(explained, "{line}");
        last = line;
    }
}

/// Returns the dotted keys of a table's values.
fn keys(table: &toml::Table, above: &str) -> Vec<String> {
    let nested = table.iter().flat_map(|(name, value)| {
        let key = if above.is_empty() { name.clone() } else { format!("{above}.{name}") };
        match value.as_table() {
            Some(table) => keys(table, &key),
            None => vec![key],
        }
    });
    nested.collect()
}

#[test]
fn every_key_that_has_a_value_is_shown_with_its_source() {
    let config = given("[model]\nkind = \"ollama\"\nname = \"m\"\n").load();
    let shown: Vec<&str> = config.explain().iter().map(|s| s.key.as_str()).collect();
    let defaults: toml::Table = toml::from_str(&Config::defaults_text()).unwrap();
    let with_value = keys(&defaults, "");
    assert!(with_value.len() > 40, "{with_value:?}");
    for key in with_value.iter().map(String::as_str).chain(["model.kind", "model.name"]) {
        assert!(shown.contains(&key), "{key} is not shown");
    }
    assert!(!shown.contains(&"model.api_key.env"), "a key without a value is not shown");
}

#[test]
fn a_nearer_source_wins_and_is_named() {
    let given = given("[nats]\nshards = 3\nprefix = \"a\"\nreplicas = 3\n")
        .env("CALLBOARD__NATS__SHARDS", "4")
        .env("CALLBOARD__NATS__PREFIX", "b")
        .env("CALLBOARD_NATS__SHARDS", "99")
        .flag("nats.prefix", "c");
    let config = given.load();
    assert_eq!(
        (config.nats.shards, config.nats.prefix.as_str(), config.nats.replicas),
        (4, "c", 3)
    );
    let shown = |key: &str| {
        let setting = config.explain().iter().find(|s| s.key == key).unwrap();
        format!("{} {}", setting.value, setting.source)
    };
    assert_eq!(shown("nats.shards"), "4 $CALLBOARD__NATS__SHARDS");
    assert_eq!(shown("nats.prefix"), "\"c\" --set");
    assert_eq!(shown("nats.replicas"), "3 callboard.toml");
    assert_eq!(shown("nats.ack_wait_ms"), "30000 default");
    assert_eq!(shown("tools.http.allow_hosts"), "[] default");
}

#[test]
fn text_means_what_the_type_of_its_setting_says() {
    let config = given("")
        .env("CALLBOARD__TOOLS__HTTP__ALLOW_HOSTS", "a.example, b.example")
        .env("CALLBOARD__TOOLS__HTTP__ALLOW_PRIVATE", "true")
        .env("CALLBOARD__TOOLS__WORKSPACE", "2026")
        .env("CALLBOARD__MODEL__RETRY__BACKOFF_FACTOR", "3")
        .env("CALLBOARD__AGENTS__QUICK__PLAN", "{ when = \"never\" }")
        .flag("agents.quick.tools", "[\"stop\"]")
        .load();
    assert_eq!(config.tools.http.allow_hosts, ["a.example", "b.example"]);
    assert!(config.tools.http.allow_private);
    assert_eq!(config.tools.workspace.to_str(), Some("2026"));
    let quick = &config.agents.0[&"quick".parse().unwrap()];
    assert_eq!(quick.plan.when, PlanWhen::Never);
    assert_eq!(quick.tools.as_ref().unwrap()[0].as_str(), "stop");
}

#[test]
fn what_is_known_of_models_is_said_by_name_wherever_settings_come_from() {
    const LIST: &str = r#"[{ name = "gpt-4.1", context_tokens = 5000 }, { name = "org/large", price = { input_per_million = 2.0, output_per_million = 8.0 } }]"#;
    let usual = "[model]\nkind = \"ollama\"\nname = \"usual\"\ncontext_tokens = 900\n[model.price]\ninput_per_million = 1.0\noutput_per_million = 1.0\n";
    let table = "[[model.known]]\nname = \"gpt-4.1\"\ncontext_tokens = 5000\n[[model.known]]\nname = \"org/large\"\nprice = { input_per_million = 2.0, output_per_million = 8.0 }\n";
    for given in [
        given(&format!("{usual}{table}")),
        given(usual).env("CALLBOARD__MODEL__KNOWN", LIST),
        given(usual).flag("model.known", LIST),
    ] {
        let model = given.load().model;
        let (windows, prices) = (model.windows(), model.prices());
        let found = [None, Some("usual"), Some("gpt-4.1"), Some("org/large"), Some("x")]
            .map(|name| (windows.of(name), prices.of(name).map(|p| p.output_per_million)));
        let expected = [
            (Some(900), Some(1.0)),
            (Some(900), Some(1.0)),
            (Some(5000), None),
            (Some(900), Some(8.0)),
            (Some(900), None),
        ];
        assert_eq!(found, expected);
    }
}

#[rstest]
#[case("[nats]\nshrads = 4", &["nats.shrads (callboard.toml)", "did you mean \"shards\""])]
#[case("[natz]\nurl = \"x\"", &["natz", "did you mean \"nats\""])]
#[case("[model]\napikey = \"canary\"", &["model.apikey", "api_key"])]
#[case("[agents.mine.step]\nretires = 1", &["agents.mine.step.retires", "did you mean \"retry\""])]
#[case("[nats]\nshards = \"many\"", &["nats.shards (callboard.toml)", "must be a whole number from 0 up, not \"many\""])]
#[case("[nats]\nshards = 1.5", &["nats.shards", "1.5"])]
#[case("[nats]\nshards = -1", &["nats.shards", "-1"])]
#[case("nats = 5", &["nats (callboard.toml)", "must be a mapping of fields, not 5"])]
#[case("[nats\nurl = 1", &["callboard.toml: line 1"])]
#[case("[nats]\nshards = 0", &["nats.shards (callboard.toml)", "1 to 256"])]
#[case("[nats]\nreplicas = 2", &["nats.replicas", "1, 3 or 5"])]
#[case("[nats]\nprefix = \"a.b\"", &["nats.prefix"])]
#[case("[nats]\nurl = \"nats://u:canary@h\"", &["nats.url", "nats.credentials"])]
#[case("[nats]\ninbox_prefix = \"_INBOX.>\"", &["nats.inbox_prefix", "A-Z"])]
#[case("[nats]\ninbox_prefix = \"cb.x\"", &["nats.inbox_prefix", "nats.prefix"])]
#[case("[nats]\nreply_inboxes = []", &["nats.reply_inboxes", "at least one inbox"])]
#[case("[nats]\nreply_inboxes = [\"_INBOX\", \"$KV\"]", &["nats.reply_inboxes[1]", "A-Z"])]
#[case("[nats]\nreply_inboxes = [\"_R_\"]", &["nats.reply_inboxes[0]", "server"])]
#[case("[nats]\nreply_inboxes = [\"cb\"]", &["nats.reply_inboxes[0]", "nats.prefix"])]
#[case("[nats.tls]\ncert = \"c.pem\"", &["nats.tls.key", "is missing"])]
#[case("[nats.tls]\nkey = \"k.pem\"", &["nats.tls.cert", "is missing"])]
#[case("[nats.tls]\nca_file = \"\"", &["nats.tls.ca_file", "names no file"])]
#[case("[nats.tls]\nrequire = true", &["nats.tls.require", "did you mean \"required\""])]
#[case("[nats]\nnkey = \"canary\"", &["nats.nkey", "never written"])]
#[case("[nats]\nurl = \"localhost\"", &["nats.url", "nats://"])]
#[case("[nats]\nack_wait_ms = 9223372036854775807", &["nats.ack_wait_ms", "1000 to 3600000"])]
#[case("[workers]\ncall_slots = 0", &["workers.call_slots", "1 to 1000000, got 0"])]
#[case("[log]\nformat = \"xml\"", &["log.format", "there is no such value"])]
#[case("[log]\nlevel = \"a=b=c\"", &["log.level"])]
#[case("[agents.\"a b\"]\nconfirm = true", &["agents.a b", "agent name"])]
#[case("[[model.known]]\nname = \"a.b\"\ncontxt_tokens = 900", &["model.known[0].contxt_tokens (callboard.toml)", "did you mean \"context_tokens\""])]
#[case("[[model.known]]\ncontext_tokens = 900", &["model.known[0].name", "is missing"])]
#[case("[[model.known]]\nname = \"a.b\"\ncontext_tokens = 9", &["model.known[0].context_tokens (callboard.toml)", "256 to"])]
#[case("[[model.known]]\nname = \"\"\ncontext_tokens = 900", &["model.known[0].name", "1 to 256"])]
#[case("[[model.known]]\nname = \"a\"", &["model.known[0].price", "set at least one of them"])]
#[case("[[model.known]]\nname = \"a\"\nprice = { input_per_million = -1.0, output_per_million = 0.0 }", &["model.known[0].price", "negative"])]
#[case("[[model.known]]\nname = \"a\"\ncontext_tokens = 900\n[[model.known]]\nname = \"a\"\ncontext_tokens = 901", &["model.known[1].name", "once"])]
#[case("[agents.x]\nname = \"y\"", &["agents.x.name", "named by its key"])]
#[case("[agents.x.step]\nmax_turns = 0", &["agents.x.step.max_turns (callboard.toml)", "1 to 100"])]
#[case("[door.people.ann]\nroles = [\"read\"]", &["door.people.ann.token_sha256", "is missing"])]
#[case("[door.people.ann]\nroles = [\"rule\"]\ntoken_sha256 = \"{HASH}\"", &["door.people.ann.roles[0]", "submit, answer, operate, read"])]
fn a_mistake_is_named_with_its_place(#[case] file: &str, #[case] parts: &[&str]) {
    let given = given(&file.replace("{HASH}", &"0".repeat(64)));
    given.refused(parts);
    assert!(!given.mistakes()[0].contains("canary"));
}

#[rstest]
#[case("[workers]\nheartbeat_ms = 20000", &["workers.heartbeat_ms", "nats.ack_wait_ms (30000)"])]
#[case("[model.timeouts_ms]\nidle = 700000", &["model.timeouts_ms.idle", "model.timeouts_ms.total"])]
#[case("[nats]\npin_timeout_ms = 40000", &["nats.pin_timeout_ms", "nats.facts_ack_wait_ms"])]
#[case("[model]\nname = \"m\"", &["model.kind", "model.name is set"])]
#[case("[model]\nkind = \"ollama\"", &["model.name", "model.kind is set"])]
#[case("[model]\nkind = \"openai\"\nname = \"m\"", &["model.api_key", "model.kind"])]
fn settings_that_contradict_each_other_are_both_named(#[case] file: &str, #[case] parts: &[&str]) {
    given(file).refused(parts);
}

#[test]
fn all_mistakes_are_told_at_once() {
    let mistakes = given("[nats]\nshrads = 4\nreplicas = 2\n[log]\nformat = \"xml\"\n[a]\nb = 1")
        .env("CALLBOARD__NATS__SHARDS", "lots")
        .env("CALLBOARD__WORKERS__DRAIN", "1")
        .env("CALLBOARD__NATS__NKEY__ENV", "NOT_THERE")
        .flag("nats.ack_wait_ms", "0")
        .mistakes();
    let expected = [
        "nats.shrads (callboard.toml)",
        "nats.replicas (callboard.toml)",
        "log.format (callboard.toml)",
        "a (callboard.toml)",
        "nats.shards ($CALLBOARD__NATS__SHARDS)",
        "workers.drain ($CALLBOARD__WORKERS__DRAIN)",
        "nats.nkey ($CALLBOARD__NATS__NKEY__ENV)",
        "nats.ack_wait_ms (--set)",
    ];
    for part in expected {
        assert!(mistakes.iter().any(|m| m.contains(part)), "{part} is not in {mistakes:#?}");
    }
    assert_eq!(mistakes.len(), expected.len(), "{mistakes:#?}");
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    given(" \n").refused(&["callboard.toml", "is empty"]);
    given("# only words\n").load();
    given("").env(FILE_VARIABLE, "gone.toml").refused(&["gone.toml", "cannot be read"]);
    let mut flagged = given("[nats]\nshards = 2").file("other.toml", "[nats]\nshards = 5");
    flagged.sources.file = Some("other.toml".into());
    assert_eq!(flagged.load().nats.shards, 5);
    flagged.sources.file = Some(".".into());
    flagged.refused(&["cannot be read"]);
    let binary = given("");
    fs::write(binary.dir.path().join(FILE), [0xff, 0xfe]).unwrap();
    binary.refused(&["callboard.toml", "cannot be read"]);
    let mut env = given("");
    env.sources.env.push(("CALLBOARD__LOG__LEVEL".into(), None));
    env.refused(&["log.level ($CALLBOARD__LOG__LEVEL)", "not Unicode"]);
}

const SCRIPTED: &str = "[model]\nkind = \"openai\"\nname = \"m\"\n";

#[test]
fn a_secret_is_fetched_and_never_shown() {
    let config =
        given(&format!("{SCRIPTED}api_key = {{ env = \"KEY\" }}")).env("KEY", "canary\n").load();
    let key = config.model.api_key.as_ref().unwrap();
    assert_eq!(key.value().unwrap().expose_secret(), "canary");
    assert!(!format!("{config:?}").contains("canary"));
    let shown = config.explain().iter().find(|s| s.key == "model.api_key.env").unwrap();
    assert_eq!(shown.value, "\"KEY\"");
    let hash = "0".repeat(64);
    let config =
        given(&format!("[door.people.ann]\nroles = [\"read\"]\ntoken_sha256 = \"{hash}\"")).load();
    assert!(!config.explain().iter().any(|s| s.value.contains(&hash)));
}

#[test]
fn a_nearer_source_may_name_another_place_of_a_secret() {
    let given = given(&format!("{SCRIPTED}api_key = {{ env = \"KEY\" }}"))
        .file("key", "from-file")
        .env("KEY", "from-env")
        .flag("model.api_key", "{ file = \"key\" }");
    let config = given.load();
    assert_eq!(config.model.api_key.unwrap().value().unwrap().expose_secret(), "from-file");
}

#[rstest]
#[case("\"sk-canary\"", &["nats.credentials", "never written", "{ env ="])]
#[case("{ env = \"GONE\" }", &["nats.credentials (callboard.toml)", "GONE is not set"])]
#[case("{ env = \"BLANK\" }", &["nats.credentials", "BLANK is empty"])]
#[case("{ env = \"CALLBOARD__NATS__PREFIX\" }", &["nats.credentials", "is a setting itself"])]
#[case("{ file = \"gone\" }", &["nats.credentials", "the file gone"])]
#[case("{ file = \"callboard.toml\" }", &["nats.credentials", "this configuration itself"])]
#[case("{ file = \"loop\" }", &["nats.credentials", "the file loop"])]
#[case("{ file = \".\" }", &["nats.credentials", "not a regular file"])]
#[case("{ file = \"large\" }", &["nats.credentials", "larger than"])]
#[case("{ env = \"A\", file = \"b\" }", &["nats.credentials", "one place"])]
#[case("{ vault = \"a\" }", &["nats.credentials", "{ env ="])]
#[case("{}", &["nats.credentials", "{ env ="])]
fn a_secret_that_cannot_be_had_is_refused(#[case] reference: &str, #[case] parts: &[&str]) {
    let given = given(&format!("[nats]\ncredentials = {reference}"))
        .env("BLANK", " \n")
        .env("CALLBOARD__NATS__PREFIX", "cb")
        .file("large", &"x".repeat(70_000));
    std::os::unix::fs::symlink("loop", given.dir.path().join("loop")).unwrap();
    given.refused(parts);
    assert!(!given.mistakes()[0].contains("sk-canary"));
}

#[tokio::test]
async fn a_model_key_that_is_not_there_is_a_mistake_of_processes_that_call_the_model() {
    for (reference, why) in
        [("{ env = \"GONE\" }", "GONE is not set"), ("{ file = \"gone\" }", "the file gone")]
    {
        let config = given(&format!("{SCRIPTED}api_key = {reference}")).load();
        let error = crate::roles::connect_model(&config, None).await.unwrap_err().to_string();
        assert!(error.contains("model.api_key") && error.contains(why), "{error}");
    }
    given(&format!("{SCRIPTED}api_key = \"sk-canary\""))
        .refused(&["model.api_key", "never written"]);
}

#[test]
fn an_nkey_is_a_secret_with_a_place_and_is_checked() {
    let seed = broker::nats::keys::User::new().unwrap().seed;
    let seed = seed.expose_secret();
    let config = given("[nats]\nnkey = { file = \"role.nk\" }\ncreate = false\n")
        .file("role.nk", &format!("{seed}\n"))
        .load();
    let options = broker::nats::NatsOptions::from(&config.nats);
    assert_eq!(options.nkey.unwrap().expose_secret(), seed);
    assert!(!options.create);
    let shown = config.explain().iter().find(|s| s.key.starts_with("nats.nkey")).unwrap();
    assert!(shown.value.contains("role.nk") && !format!("{config:?}").contains(seed));
    given("[nats]\nnkey = { env = \"SEED\" }\n")
        .env("SEED", "SUcanary")
        .refused(&["nats.nkey", "begins with SU"]);
    given("[nats]\nnkey = { env = \"SEED\" }\ncredentials = { env = \"SEED\" }\n")
        .env("SEED", seed)
        .refused(&["nats.nkey", "nats.credentials"]);
}
