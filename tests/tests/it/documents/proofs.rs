//! The commands of documents that are proved elsewhere.

/// A command that is proved elsewhere.
pub(super) struct Proof {
    /// The command, as in the documents.
    pub(super) command: &'static str,
    /// The file of the test or script that runs the command.
    pub(super) file: &'static str,
    /// A text of that file that proves the command: the name of the test, or the line.
    pub(super) marker: &'static str,
}

/// Commands that take too long here, or need resources that a test must not use, with their proofs.
/// An entry that no document uses is an error.
pub(super) const PROVED: &[Proof] = &[
    Proof {
        command: "callboard webhooks test audit",
        file: "tests/tests/it/gateway/webhooks.rs",
        marker: "\"webhooks\", \"test\", \"audit\"",
    },
    Proof {
        command: "callboard webhooks on audit",
        file: "tests/tests/it/gateway/webhooks.rs",
        marker: "\"webhooks\", \"on\", \"gone\"",
    },
    // The same file, with its full path.
    Proof {
        command: "callboard workflow set sort.yaml",
        file: "tests/tests/it/named_workflows.rs",
        marker: r#"&["workflow", "set", &file, "--expect", "0"]"#,
    },
    Proof {
        command: r#"callboard workflow run sort --input '{"goal":"where is it?"}'"#,
        file: "tests/tests/it/named_workflows.rs",
        marker: r##"&["workflow", "run", "sort", "--input", r#"{"goal":"where is it?"}"#"##,
    },
    // The same commands, with another workflow.
    Proof {
        command: "callboard workflow versions sort",
        file: "tests/tests/it/named_workflows.rs",
        marker: r#"&["workflow", "versions", "above"]"#,
    },
    Proof {
        command: "callboard workflow show sort --version 1",
        file: "tests/tests/it/named_workflows.rs",
        marker: r#"&["workflow", "show", "above", "--version", "1"]"#,
    },
    Proof {
        command: "callboard workflow diff sort 1 2",
        file: "tests/tests/it/named_workflows.rs",
        marker: r#"&["workflow", "diff", "above", "1", "2"]"#,
    },
    Proof {
        command: "callboard workflow rollback sort --to 1",
        file: "tests/tests/it/named_workflows.rs",
        marker: r#"&["workflow", "rollback", "above", "--to", "1"]"#,
    },
    Proof {
        command: "callboard workflow stats sort",
        file: "tests/tests/it/named_workflows.rs",
        marker: r#"&["workflow", "stats", "sort"]"#,
    },
    Proof {
        command: "callboard workflow graph --job improve --format mermaid",
        file: "tests/tests/it/workflows.rs",
        marker: "\"--job\", \"improve\", \"--format\", \"mermaid\"",
    },
    Proof {
        command: "callboard workflow edit improve examples/workflows/improve-edits.yaml --dry-run",
        file: "tests/tests/it/workflows.rs",
        marker: r#"["workflow", "edit", "improve", &edits, "--dry-run"]"#,
    },
    Proof {
        command: "callboard mcp list",
        file: "tests/tests/it/mcp_servers.rs",
        marker: r#"&["mcp", "list"]"#,
    },
    Proof {
        command: "callboard mcp trust files",
        file: "tests/tests/it/mcp_servers.rs",
        marker: r#"["mcp", "trust", "files", "--yes"]"#,
    },
    Proof {
        command: "callboard script-model my-script.yaml",
        file: "tests/tests/it/script_model.rs",
        marker: "fn a_script_is_served_over_http",
    },
    Proof {
        command: "callboard serve --roles gateway",
        file: "tests/tests/it/gateway/mod.rs",
        marker: r#"company.serve("gateway", "gateway")"#,
    },
    Proof {
        command: "callboard agents ls",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "ls"]"#,
    },
    Proof {
        command: "callboard agents show mine",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "show", "mine"]"#,
    },
    // The same files, with their full path.
    Proof {
        command: "callboard agents check mine.yaml",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "check", &path]"#,
    },
    Proof {
        command: "callboard agents put mine.yaml",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "put", &path]"#,
    },
    Proof {
        command: "callboard agents put mine.yaml --dry-run",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "put", &path, "--dry-run"]"#,
    },
    Proof {
        command: "callboard agents log mine",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "log", "mine"]"#,
    },
    Proof {
        command: "callboard agents diff mine",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "diff", "mine"]"#,
    },
    Proof {
        command: "callboard agents rm mine",
        file: "tests/tests/it/agents.rs",
        marker: r#"&["agents", "rm", "mine"]"#,
    },
    Proof {
        command: r#"callboard jobs steer steered "say it in metres""#,
        file: "tests/tests/it/agents.rs",
        marker: r#"&["jobs", "steer", "steered", "say it in metres"]"#,
    },
    Proof {
        command: r#"callboard submit "Find a hotel in Kyoto" --conversation trip"#,
        file: "tests/tests/it/limits.rs",
        marker: r#""submit", "Find a hotel in Kyoto", "--conversation", "trip""#,
    },
    Proof {
        command: r#"callboard submit "What do these two agree on?" --file offer.txt --file https://example.com/terms.txt"#,
        file: "tests/tests/it/attachments.rs",
        marker: r#"let named = ["--file", &long, "--file", &note, "--file", &url];"#,
    },
    Proof {
        command: r#"callboard submit "Book the first of them" --conversation trip"#,
        file: "tests/tests/it/limits.rs",
        marker: r#""submit", "Book the first of them", "--conversation", "trip""#,
    },
    Proof {
        command: "callboard jobs ls --conversation trip",
        file: "tests/tests/it/limits.rs",
        marker: r#""jobs", "ls", "--conversation", "trip""#,
    },
    Proof {
        command: "callboard ui",
        file: "cli/tests/it/screens.rs",
        marker: r#"dev.line(&["ui"])"#,
    },
    Proof {
        command: "callboard ui JOB",
        file: "cli/tests/it/screens.rs",
        marker: r#"dev.line(&["ui", "j1"])"#,
    },
    Proof {
        command: "callboard top --read-only",
        file: "cli/tests/it/screens.rs",
        marker: r#"dev.line(&["top", "--read-only"])"#,
    },
    Proof {
        command: "callboard chat",
        file: "tests/tests/it/chat.rs",
        marker: r#"command.arg("chat").args(arguments)"#,
    },
    Proof {
        command: "callboard chat --conversation trip",
        file: "tests/tests/it/chat.rs",
        marker: r#"["chat", "--conversation", "trip"]"#,
    },
    Proof {
        command: r"printf '/todo buy milk\n/todo list\n' | callboard chat",
        file: "tests/tests/it/chat.rs",
        marker: r#"/todo buy milk\n3\n1\nconfirm\n/todo list\n"#,
    },
    Proof {
        command: "callboard -o jsonl watch report-7 --live",
        file: "tests/tests/it/events.rs",
        marker: r#"&["-o", "jsonl", "watch", "report-7", "--live"]"#,
    },
    Proof {
        command: "callboard -o jsonl watch report-7 --after 0.0 --no-follow",
        file: "tests/tests/it/events.rs",
        marker: r#"&["-o", "jsonl", "watch", "report-7", "--after", "0.0", "--no-follow"]"#,
    },
    Proof {
        command: "callboard setup --recreate",
        file: "tests/tests/it/lost_streams.rs",
        marker: r#"["setup", "--recreate"]"#,
    },
    Proof {
        command: "callboard jobs purge --dry-run",
        file: "tests/tests/it/purge.rs",
        marker: r#"stage.purge(&["--dry-run"])"#,
    },
    Proof {
        command: "callboard jobs purge --ended-before 90d --yes",
        file: "tests/tests/it/purge.rs",
        marker: r#"stage.purge(&["--ended-before", "90d", "--yes"])"#,
    },
    // docs/cli.md executes these commands here; other documents may show them too.
    Proof {
        command: "callboard watch summary-1",
        file: "docs/cli.md",
        marker: "callboard watch summary-1",
    },
    Proof { command: "make demo", file: ".ci/run", marker: "step make demo" },
    Proof { command: "make packages", file: "Makefile", marker: "deploy/packages/build --strip" },
    Proof {
        command: "pip install target/packages/callboard-*.whl",
        file: "tests/tests/it/packages.rs",
        marker: r#"["install", "--no-index", "--quiet"]"#,
    },
    Proof {
        command: "npm install --global target/packages/callboard-*.tgz",
        file: "tests/tests/it/packages.rs",
        marker: r#"["install", "--offline", "--no-audit", "--no-fund"]"#,
    },
    // The same resolution and the same build.
    Proof {
        command: "cargo install --path cli --locked",
        file: "deploy/Dockerfile",
        marker: "cargo build --locked --release --package callboard",
    },
    Proof {
        command: "callboard dev",
        file: "docs/cli.md",
        marker: "callboard dev > dev.log 2>&1 &",
    },
    Proof {
        command: r#"callboard submit "Read examples/demo/notes.md and write a summary" --id summary-1"#,
        file: "docs/cli.md",
        marker: r#"callboard submit "Read examples/demo/notes.md and write a summary" --id summary-1"#,
    },
    Proof {
        command: r#"export PATH="$PWD/target/debug:$PWD/.tools/bin:$PATH""#,
        file: "docs/cli.md",
        marker: r#"export PATH="$PWD/target/debug:$PWD/.tools/bin:$PATH""#,
    },
    Proof {
        command: "callboard inbox show summary-1 --wait",
        file: "docs/cli.md",
        marker: "callboard inbox show summary-1 --wait",
    },
    Proof {
        command: "callboard inbox approve summary-1",
        file: "docs/cli.md",
        marker: "callboard inbox approve summary-1",
    },
    Proof {
        command: r#"callboard inbox answer summary-1 q2 --wait --text "the cast""#,
        file: "docs/cli.md",
        marker: r#"callboard inbox answer summary-1 q2 --wait --text "the cast""#,
    },
    Proof {
        command: "callboard run --attach summary-1",
        file: "docs/cli.md",
        marker: "callboard run --attach summary-1",
    },
    Proof {
        command: "callboard jobs show summary-1",
        file: "docs/cli.md",
        marker: "callboard jobs show summary-1",
    },
    Proof {
        command: "callboard jobs describe summary-1",
        file: "docs/cli.md",
        marker: "callboard jobs describe summary-1",
    },
    Proof {
        command: "callboard doctor",
        file: "docs/operations.md",
        marker: "callboard doctor || true",
    },
    Proof {
        command: "callboard health ready",
        file: "tests/tests/it/admin/mod.rs",
        marker: r#"["health", "ready", "--address", &address]"#,
    },
    Proof {
        command: "curl -s http://127.0.0.1:9464/metrics",
        file: "docs/operations.md",
        marker: "curl -fs http://$admin/metrics",
    },
    Proof { command: "callboard crew ls", file: "docs/cli.md", marker: "callboard crew ls" },
    Proof {
        command: "callboard serve --roles supervisor,interaction,door",
        file: "tests/tests/it/chaos.rs",
        marker: r#"company.serve("supervisor", "supervisor,interaction,door")"#,
    },
    Proof {
        command: "callboard serve --roles planner,executor,tools",
        file: "tests/tests/it/chaos.rs",
        marker: r#"company.serve("worker1", "planner,executor,tools")"#,
    },
    // The same arguments, given to the program that cargo built for the test.
    Proof {
        command: "cargo run --profile simulation -p callboard-simulation -- --seeds 2000",
        file: "simulation/tests/it/main.rs",
        marker: r#"#[case::many(&["--seeds", "2"]"#,
    },
    Proof {
        command: "cargo run --profile simulation -p callboard-simulation -- --seed 7 --trace",
        file: "simulation/tests/it/main.rs",
        marker: r#"&["--seed", "7", "--trace"]"#,
    },
    Proof {
        command: "cargo run --profile simulation -p callboard-simulation -- --from 1000000 --seeds 1000000",
        file: "simulation/tests/it/main.rs",
        marker: r#"&["--from", "1000000", "--seeds", "2"]"#,
    },
    // The same functions over the same seeds. Fuzzing itself needs a nightly compiler.
    Proof {
        command: "make fuzz TARGET=records",
        file: "agents/tests/it/fuzzing.rs",
        marker: r#"#[values("records", "plans", "subjects", "agents", "answers")]"#,
    },
    Proof {
        command: "cargo test -p callboard-supervisor --lib proof",
        file: "supervisor/src/proof/tests.rs",
        marker: "fn a_small_job_keeps_every_claim_whatever_goes_wrong",
    },
    Proof {
        command: "deploy/nats/keys",
        file: "tests/tests/it/permissions/broker.rs",
        marker: r#"Command::new(dir.path().join("keys"))"#,
    },
    Proof {
        command: "callboard setup",
        file: "tests/tests/it/permissions/flow.rs",
        marker: "brokers.set_up(1);",
    },
    Proof {
        command: "callboard setup --tool-pool python",
        file: "tests/tests/it/permissions/broker.rs",
        marker: r#"["setup", "--tool-pool", "python"]"#,
    },
    Proof {
        command: "deploy/nats/keys --rotate tools",
        file: "tests/tests/it/permissions/table.rs",
        marker: "fn a_key_that_was_rotated_is_good_for_nothing",
    },
    Proof { command: "make test", file: ".ci/run", marker: "step make test" },
    Proof { command: "make lint", file: ".ci/run", marker: "step make --keep-going lint" },
    Proof {
        command: "callboard worker check --pool python --tool word_count --args '{\"text\": \"to be\"}' -- .tools/venv/bin/python3 examples/python-worker/worker.py",
        file: "cli/tests/it/worker.rs",
        marker: "fn the_example_in_python_keeps_every_promise_that_can_be_checked",
    },
    Proof {
        command: ".tools/venv/bin/python3 examples/python-worker/worker.py",
        file: "tool-actors/tests/it/python.rs",
        marker: "fn a_worker_in_python_announces_answers_and_drains",
    },
    Proof {
        command: "bench/peers/run all --list",
        file: "tests/tests/it/peers.rs",
        marker: r#"python(&["bench/peers/run", "all", "--list"])"#,
    },
];
