//! The settings of servers, and every mistake in them.

use proto::lang::Language;
use rstest::rstest;
use runtime::config::{self, Part, Settings, Sources};

use super::*;

/// The settings of a program that has nothing else.
#[derive(Debug, Deserialize)]
struct Only {
    mcp: Mcp,
}

impl Settings for Only {
    fn parts() -> Vec<Part> {
        vec![Part::of::<Mcp>()]
    }
    fn secrets(&mut self) -> Vec<&mut Option<Secret>> {
        Vec::new()
    }
    fn secrets_of_entries(&mut self) -> Vec<&mut Secret> {
        self.mcp.secrets_of_entries()
    }
    fn check(&self, check: &mut Check) {
        self.mcp.check(check);
    }
}

fn load(file: &str) -> Result<Mcp, Vec<String>> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join(config::FILE), file).unwrap();
    let env = vec![("FILES_TOKEN".into(), Some("secret".into()))];
    let sources = Sources { cwd: directory.path().to_owned(), env, ..Sources::default() };
    match config::load::<Only>(&sources) {
        Ok((only, _)) => Ok(only.mcp),
        Err(errors) => Err(errors.0.iter().map(|wrong| wrong.text(Language::En)).collect()),
    }
}

#[test]
fn a_program_and_an_address_are_read_with_their_secrets() {
    let file = r#"
        [mcp.servers.files]
        command = "mcp-server-filesystem"
        args = ["/srv/docs"]
        env = { TOKEN = { env = "FILES_TOKEN" }, MODE = "ro" }
        scope = "worker"
        tools = { allow = ["read_*"], set = { write_file = { effect = "idempotent", approval = "always" } } }
        timeout_ms = 5000

        [mcp.servers.far-1]
        url = "https://mcp.example.com/mcp"
        headers = { Authorization = { env = "FILES_TOKEN" } }
        trust_annotations = true
    "#;
    let mcp = load(file).unwrap();
    let files = &mcp.servers[&"files".parse().unwrap()];
    assert_eq!(files.timeout_ms, 5000);
    let Given::Secret(token) = &files.env["TOKEN"] else { panic!("a secret") };
    assert!(token.value().is_ok());
    assert_eq!(files.env["MODE"], Given::Plain("ro".to_owned()));
    let set = files.tools.set["write_file"].clone();
    assert_eq!((set.effect, set.approval), (Some(Effect::Idempotent), Some(Approval::Always)));
    let far = &mcp.servers[&"far-1".parse().unwrap()];
    assert!(far.trust_annotations && far.timeout_ms == 60_000 && far.tools.allow.is_none());
}

#[rstest]
#[case("[mcp.servers.Files]\ncommand = 'x'", "mcp.servers")]
#[case("[mcp.servers.a]", "mcp.servers.a.command")]
#[case("[mcp.servers.a]\ncommand = 'x'\nurl = 'https://a.example'", "mcp.servers.a.url")]
#[case("[mcp.servers.a]\ncommand = ' '", "mcp.servers.a.command")]
#[case("[mcp.servers.a]\ncommand = 'x'\nscope = 'job'", "mcp.servers.a.scope")]
#[case("[mcp.servers.a]\ncommand = 'x'\nscope = 'all'", "mcp.servers.a.scope")]
#[case("[mcp.servers.a]\ncommand = 'x'\ntimeout_ms = 0", "mcp.servers.a.timeout_ms")]
#[case("[mcp.servers.a]\ncommand = 'x'\nargs = [\"a\\u0000\"]", "mcp.servers.a.args")]
#[case("[mcp.servers.a]\ncommand = 'x'\nheaders = { A = 'b' }", "mcp.servers.a.headers")]
#[case("[mcp.servers.a]\ncommand = 'x'\nallow_private = true", "mcp.servers.a.allow_private")]
#[case("[mcp.servers.a]\ncommand = 'x'\nenv = { 'A=B' = 'c' }", "mcp.servers.a.env.A=B")]
#[case("[mcp.servers.a]\ncommand = 'x'\nenv = { A = 1 }", "mcp.servers.a.env.A")]
#[case("[mcp.servers.a]\ncommand = 'x'\nenv = { A = { vault = 'b' } }", "mcp.servers.a.env.A")]
#[case("[mcp.servers.a]\ncommand = 'x'\ntools = { allow = [''] }", "mcp.servers.a.tools.allow")]
#[case(
    "[mcp.servers.a]\ncommand = 'x'\ntools = { set = { t = { effect = 'never' } } }",
    "mcp.servers.a.tools.set.t.effect"
)]
#[case("[mcp.servers.a]\nurl = 'http://a.example'", "mcp.servers.a.url")]
#[case("[mcp.servers.a]\nurl = 'ftp://a.example'", "mcp.servers.a.url")]
#[case("[mcp.servers.a]\nurl = 'https://u:p@a.example'", "mcp.servers.a.url")]
#[case("[mcp.servers.a]\nurl = 'https://a.example'\nargs = ['b']", "mcp.servers.a.args")]
#[case("[mcp.servers.a]\nurl = 'https://a.example'\nenv = { A = 'b' }", "mcp.servers.a.env")]
#[case(
    "[mcp.servers.a]\nurl = 'https://a.example'\nheaders = { 'a b' = 'c' }",
    "mcp.servers.a.headers.a b"
)]
#[case(
    "[mcp.servers.a]\nurl = 'https://a.example'\nheaders = { Authorization = 'Bearer x' }",
    "mcp.servers.a.headers.Authorization"
)]
#[case("[mcp.servers.a]\ncommand = 'x'\ncolour = 'red'", "mcp.servers.a")]
fn a_mistake_names_its_field(#[case] file: &str, #[case] field: &str) {
    let mistakes = load(file).unwrap_err();
    assert!(mistakes.iter().any(|mistake| mistake.contains(field)), "{mistakes:#?}");
}

#[rstest]
#[case("read_*", "read_file", true)]
#[case("read_*", "write_file", false)]
#[case("*", "", true)]
#[case("*_file", "read_file", true)]
#[case("*_file", "file", false)]
#[case("a*b*c", "a-b-b-c", true)]
#[case("a*b*c", "a-c-b", false)]
#[case("aa*aa", "aaa", false)]
#[case("exact", "exact", true)]
#[case("exact", "exactly", false)]
fn a_pattern_fits_whole_names(#[case] pattern: &str, #[case] name: &str, #[case] fits: bool) {
    assert_eq!(matches(pattern, name), fits);
}
