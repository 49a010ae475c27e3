//! A test of the tools on files: a plan that changes the files of its workspace, in the real program.

use callboard_tests::{
    company::Company,
    wait::{until, wait_for_tool},
};
use client::Client;
use proto::{
    door::{AgentChoice, Submit},
    error::Code,
    file::FileName,
    id::{AgentName, JobId},
    job::{JobState, Outcome},
    limits::FILE_BYTES_MAX,
};
use serde_json::{Value, json};

use super::chaos::connect;

/// Returns the submission of a plan whose steps follow one another.
fn plan(job: &JobId, steps: &[(&str, &str, Value)]) -> Submit {
    let mut before: Option<&str> = None;
    let steps = steps.iter().map(|(id, tool, args)| {
        let depends_on: Vec<_> = before.replace(id).into_iter().collect();
        json!({ "id": id, "description": id, "tool": tool, "args": args, "depends_on": depends_on })
    });
    let agent = AgentName::new("unattended").unwrap();
    Submit {
        id: Some(job.clone()),
        agent: Some(AgentChoice::Named(agent)),
        plan: Some(json!({ "title": "Files", "steps": steps.collect::<Vec<_>>() })),
        ..Submit::goal("change some files")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_looks_at_the_files_of_its_workspace_and_changes_them() {
    let company = Company::start("else: { text: unused }").await;
    std::fs::create_dir_all(company.workspace().join("src")).unwrap();
    std::fs::write(company.workspace().join("src/main.rs"), "fn main() { old(); }\n").unwrap();
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    for tool in
        ["list_files", "find_files", "search_files", "edit_file", "move_file", "delete_file"]
    {
        wait_for_tool(&client, tool).await;
    }

    let job = JobId::new("files").unwrap();
    let found = "{{search.matches}}";
    let steps = [
        ("find", "find_files", json!({"pattern": "*.rs"})),
        ("edit", "edit_file", json!({"path": "src/main.rs", "old": "old()", "new": "new()"})),
        ("draft", "write_file", json!({"path": "draft.md", "content": "one\ntwo\nthree\n"})),
        ("move", "move_file", json!({"from": "draft.md", "to": "notes/final.md"})),
        ("lines", "read_file", json!({"path": "notes/final.md", "from_line": 2, "lines": 1})),
        ("search", "search_files", json!({"pattern": "new\\(|two", "files": "**/*.{rs,md}"})),
        ("keep", "echo", json!({"value": found})),
        ("delete", "delete_file", json!({"path": "notes/final.md"})),
        ("list", "list_files", json!({"path": "src"})),
    ];
    client.submit(plan(&job, &steps)).await.unwrap();
    let view = until(&client, &job, JobState::Completed).await;

    let responses: Vec<_> =
        view.plan.unwrap().steps.into_iter().map(|step| step.response.unwrap()).collect();
    insta::assert_snapshot!(responses.join("\n"));
    // The file for all jobs stays as it is; the job has its own.
    let text = |path: &str| std::fs::read_to_string(company.workspace().join(path)).unwrap();
    assert_eq!(text("src/main.rs"), "fn main() { old(); }\n");
    assert_eq!(text("jobs/files/src/main.rs"), "fn main() { new(); }\n");
    assert!(!company.workspace().join("jobs/files/notes/final.md").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_file_stays_as_it_was_and_can_be_saved() {
    let company = Company::start("else: { text: unused }").await;
    std::fs::create_dir_all(company.workspace()).unwrap();
    // Two pieces in the object store.
    let large = "line\n".repeat(150_000);
    std::fs::write(company.workspace().join("table.csv"), &large).unwrap();
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    for tool in ["write_file", "publish_file"] {
        wait_for_tool(&client, tool).await;
    }
    let job = JobId::new("report").unwrap();
    let steps = [
        ("write", "write_file", json!({"path": "out/report.md", "content": "# Found\n"})),
        ("publish", "publish_file", json!({"path": "out/report.md"})),
        ("table", "publish_file", json!({"path": "table.csv", "name": "all rows.csv"})),
        ("change", "write_file", json!({"path": "out/report.md", "content": "gone"})),
    ];
    client.submit(plan(&job, &steps)).await.unwrap();
    let view = until(&client, &job, JobState::Completed).await;
    let told: Vec<_> = view.artifacts.iter().map(|it| it.file.to_string()).collect();
    assert_eq!(
        told,
        ["report.md (text/markdown, 8 bytes)", "all rows.csv (text/csv, 750000 bytes)"]
    );
    let saved = async |name: &str| client.download(&job, &FileName::new(name).unwrap()).await;
    assert_eq!(saved("report.md").await.unwrap(), b"# Found\n");
    assert_eq!(saved("all rows.csv").await.unwrap(), large.as_bytes());
    assert_eq!(saved("other.md").await.unwrap_err().code, Code::NotFound);
    let other = client.download_rest(&job, &FileName::new("report.md").unwrap(), 0, None).await;
    assert_eq!(other.unwrap_err().code, Code::Stale, "the piece is of another file of the name");

    let run = |arguments: &[&str]| {
        let output = company.command().args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run(&["jobs", "files", "report"]).contains("published by step publish"));
    assert_eq!(run(&["jobs", "files", "report", "report.md", "--save-as", "-"]), "# Found\n");
    // A fork has the files of its source from its first record on.
    let at = view.artifacts[1].seq.unwrap().to_string();
    run(&["jobs", "fork", "report", "--at", &at, "--id", "again"]);
    let again = until(&client, &JobId::new("again").unwrap(), JobState::Completed).await;
    assert_eq!(again.artifacts.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_published_is_an_answer() {
    let company = Company::start("else: { text: unused }").await;
    std::fs::create_dir_all(company.workspace()).unwrap();
    let file = std::fs::File::create(company.workspace().join("huge.bin")).unwrap();
    file.set_len(FILE_BYTES_MAX + 1).unwrap();
    let _process = company.serve("all", "all");
    let client = Client::new(&connect(&company).await);
    wait_for_tool(&client, "publish_file").await;
    for (id, args, why) in [
        ("missing", json!({"path": "nothing.md"}), "nothing.md"),
        ("outside", json!({"path": "../secret"}), "../secret"),
        ("huge", json!({"path": "huge.bin"}), "huge.bin"),
        ("name", json!({"path": "huge.bin", "name": "a/b"}), "a/b"),
    ] {
        let job = JobId::new(id).unwrap();
        let submit = plan(&job, &[("publish", "publish_file", args)]);
        client.submit(submit).await.unwrap();
        let view = until(&client, &job, JobState::Failed).await;
        assert_eq!(view.artifacts, []);
        let Some(Outcome::Failed { message, .. }) = view.outcome else { panic!("not failed") };
        assert!(message.contains(why), "{id}: {message}");
    }
}
