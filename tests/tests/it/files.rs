//! A test of the tools on files: a plan that changes the files of its workspace, in the real program.

use callboard_tests::{
    company::Company,
    wait::{until, wait_for_tool},
};
use client::Client;
use proto::{
    door::{AgentChoice, Submit},
    id::{AgentName, JobId},
    job::JobState,
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
