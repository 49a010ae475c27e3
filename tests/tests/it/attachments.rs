//! Tests of attached files at the command line, with a real nats-server, the program, and a
//! scripted model that reads the files.

use callboard_tests::{
    company::Company,
    wait::{until, wait_for_door},
    web::WebServer,
};
use client::Client;
use proto::{
    id::JobId,
    job::{JobState, Outcome},
    step::StepState,
    view::JobView,
};
use wiremock::{Mock, ResponseTemplate, matchers};

use super::chaos::connect;

/// The planner reads one file by its number and gives another to an agent, which gives the third to
/// a sub-agent. Each rule requires that the prompt lists the files.
const SCRIPT: &str = r#"
rules:
  - name: a plan
    when: { system: 'You are a planner', last: '1\. long\.txt \(600010 bytes\)\n2\. note\.md \(\d+ bytes\)\n3\. page \(http\S+\)' }
    reply:
      json:
        title: compare
        steps:
          - { id: s1, description: "read the end", tool: read_attachment, args: { files: [1], from: 300001 } }
          - { id: s2, description: "read the note" }
          - { id: s3, description: "have the page read", tool: reader, args: { goal: "what does the page say?" } }
  - name: the page
    when: { offers: finish, turn: 1, any: 'what does the page say', last: '3\. page' }
    reply: { calls: [ { tool: read_attachment, args: { files: ["page"] } } ] }
  - name: the note, and one that is not there
    when: { offers: finish, turn: 1, last: '2\. note\.md' }
    reply: { calls: [ { tool: read_attachment, args: { files: [2] } }, { tool: read_attachment, args: { files: [9] } } ] }
  - name: read
    when: { turn: 2, any: '"text":"(?<words>[^"]*)"' }
    reply: { calls: [ { tool: finish, args: { success: true, response: "it says {{ captures.words }}" } } ] }
"#;

async fn completed(client: &Client, job: &str) -> JobView {
    until(client, &JobId::new(job).unwrap(), JobState::Completed).await
}

fn says(view: &JobView) -> Vec<&str> {
    let steps = view.plan.iter().flat_map(|plan| &plan.steps);
    steps
        .map(|step| {
            assert_eq!(step.state, StepState::Completed, "{view:#?}");
            step.response.as_deref().unwrap()
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_a_submission_are_read_by_its_tools_its_children_and_its_forks() {
    let mut company = Company::start(SCRIPT).await;
    company.set("TOOLS__HTTP__ALLOW_PRIVATE", "true");
    let agents = company.workspace().join("agents");
    std::fs::create_dir(&agents).unwrap();
    std::fs::write(agents.join("reader.yaml"), "extends: direct\nabout: reads\n").unwrap();
    std::fs::write(agents.join("boss.yaml"), "confirm: false\nagents: [reader]\n").unwrap();
    company.set("DOOR__AGENTS_DIR", &agents.display().to_string());
    let web = WebServer::start().await;
    let page = ResponseTemplate::new(200).set_body_raw("page words", "text/plain");
    Mock::given(matchers::path("/page")).respond_with(page).mount(&web).await;
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_door(&client).await;

    // The file exceeds one piece, so that it is reassembled. Its boundary is inside a character.
    let long = format!("{}the end.", "é".repeat(300_001));
    let files = company.workspace();
    std::fs::write(files.join("long.txt"), &long).unwrap();
    std::fs::write(files.join("note.md"), "note words").unwrap();
    let run = |arguments: &[&str]| {
        let output = company.command().args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), said.concat())
    };
    let path = |name: &str| files.join(name).display().to_string();
    let submit = |id: &str| {
        let (long, note, url) = (path("long.txt"), path("note.md"), format!("{}/page", web.uri()));
        let job = ["submit", "compare them", "--agent", "boss", "--id", id];
        let named = ["--file", &long, "--file", &note, "--file", &url];
        run(&[&job[..], &named[..]].concat())
    };
    let (code, said) = submit("compared");
    assert_eq!(code, Some(0), "{said}");
    let view = completed(&client, "compared").await;
    let told = says(&view);
    let Some(Outcome::Completed { results, .. }) = &view.outcome else { panic!("{view:#?}") };
    assert_eq!(results["s1"]["files"][0]["text"], "the end.", "{results}");
    assert!(told[1] == "it says note words" && told[2].contains("it says page words"), "{told:?}");
    let (_, shown) = run(&["jobs", "get", "compared"]);
    assert!(shown.contains("long.txt (600010 bytes); note.md (10 bytes); page (http"), "{shown}");

    let (_, listed) = run(&["jobs", "files", "compared"]);
    assert!(listed.contains("long.txt  600010 bytes") && listed.contains("an address"), "{listed}");
    let fetched = path("fetched.txt");
    let fetch =
        |name: &str, more: &[&str]| run(&[&["jobs", "files", "compared", name], more].concat());
    let (code, said) = fetch("long.txt", &["--save-as", &fetched]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(std::fs::read_to_string(&fetched).unwrap(), long);
    assert_eq!(fetch("note.md", &["--save-as", "-"]), (Some(0), "note words".to_owned()));
    let refusals = [("page", 2, "the file is an address"), ("nothing", 6, "has no file nothing")];
    for (name, exit, words) in refusals {
        let (code, said) = fetch(name, &["--save-as", "-"]);
        assert!(code == Some(exit) && said.contains(words), "{code:?} {said}");
    }
    // A name that the submission chose replaces nothing.
    let mut command = company.command();
    command.current_dir(&files).args(["jobs", "files", "compared", "note.md"]);
    let refused = command.output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("note.md exists"), "{said}");

    let (code, said) = run(&["jobs", "fork", "compared", "--at", "1", "--id", "again", "--again"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(says(&completed(&client, "again").await), told);

    // A repeated submission attaches to the job. Another content of a file is a conflict.
    let (code, said) = submit("compared");
    assert!(code == Some(0) && said.contains("already exists"), "{said}");
    std::fs::write(files.join("note.md"), "other words").unwrap();
    let (code, said) = submit("compared");
    assert!(code != Some(0) && said.contains("submitted with another body"), "{said}");
    for (file, words) in [(path("missing"), "No such file"), (path("agents"), "is a directory")] {
        let (code, said) = run(&["submit", "compare", "--file", &file]);
        assert!(code == Some(2) && said.contains(words), "{code:?} {said}");
    }
}
