//! `demo`: runs two jobs on a separate log. Exits with 0 only if both had their effects, which are
//! verified in addition to the outcomes.

use std::path::{Path, PathBuf};

use proto::{
    door::Submit,
    id::JobId,
    interaction::{Answer, Question, QuestionKind, Verdict},
    lang::Words,
};
use runtime::{
    config::{Flag, Sources},
    telemetry,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tool_actors::tasks::{Fields, Status, TaskList};

use super::{
    embedded::{self, Embedded, Options, Storage},
    watch::{Asking, Policy, Session},
};
use crate::{
    args::{DemoArgs, Global, Person, Waiting},
    exit::Exit,
    failure::{CliError, Outcome},
    interrupt::Interrupts,
    output::{self, Loudness, Output},
    render::table::note,
    roles,
    settings::Config,
    style::Tone,
    words::Text,
};

/// Goal of the first job: reads a file, asks a question, writes a file.
const SUMMARY: &str =
    "Read examples/demo/notes.md, ask me who the summary is for, and write it to summary.md";
/// Goal of the second job: four task calls; the third one needs the id that the second one returns.
const TASKS: &str = "先标记任务 ID:62 完成，创建发邮件任务，标记完成，创建等待反馈任务";
/// Automatic answer of the demo.
const READER: &str = "the stage crew";

pub(super) async fn run(global: &Global, output: Output, args: DemoArgs) -> Outcome {
    let level = if output.loudness == Loudness::Verbose { "info" } else { "error" };
    let (dir, keep) = directory(args.dir)?;
    let workspace = dir.join("workspace");
    let config = config(&dir, &workspace, level)?;
    telemetry::init(&config.log).map_err(|e| CliError::start(e.to_string()))?;
    embedded::put_examples(&workspace)?;
    let options = Options {
        dir: dir.clone(),
        memory: args.memory,
        port: 0,
        script: embedded::SCRIPT.to_owned(),
    };
    let person =
        if output::is_interactive() && !global.yes { Person::Present } else { Person::Absent };
    let identity = roles::identity(&embedded::all());
    let embedded =
        Box::pin(Embedded::start(config, &identity, options, CancellationToken::new())).await?;
    let demo = Demo { output, person, workspace, embedded: &embedded };
    let ended = match demo.both().await {
        Ok(Exit::Success) => demo.console().await.map(|()| Exit::Success),
        ended => ended,
    };
    let memory = match embedded.kept {
        Storage::Server { .. } => false,
        Storage::Memory(_) => true,
    };
    drop(embedded.stop().await);
    if keep {
        // An in-memory log has vanished by now.
        let dir = &dir.display();
        output.note(if memory { Text::DemoKeptFile { dir } } else { Text::DemoKept { dir } });
    }
    ended
}

fn directory(named: Option<PathBuf>) -> Result<(PathBuf, bool), CliError> {
    if let Some(dir) = named {
        return Ok((dir, false));
    }
    let name = format!("callboard-demo-{}", std::process::id());
    Ok((std::env::temp_dir().join(name), true))
}

/// Builds the default configuration: a demo ignores the machine's settings.
fn config(dir: &Path, workspace: &Path, level: &str) -> Result<Config, CliError> {
    std::fs::create_dir_all(dir).map_err(|e| CliError::io(&dir.display().to_string(), &e))?;
    let flag =
        |key: &str, value: String| Flag { key: key.to_owned(), value, name: "demo".to_owned() };
    let flags = vec![
        flag("tools.workspace", workspace.display().to_string()),
        flag("log.level", level.to_owned()),
        flag("nats.shards", "2".to_owned()),
    ];
    let sources = Sources { file: None, env: Vec::new(), flags, cwd: dir.to_owned() };
    Ok(Config::load(&sources)?)
}

struct Demo<'a> {
    output: Output,
    person: Person,
    workspace: PathBuf,
    embedded: &'a Embedded,
}

impl Demo<'_> {
    async fn both(&self) -> Outcome {
        self.introduce()?;
        self.head("1", SUMMARY, Text::DemoSummary)?;
        let summary = unique("demo-summary")?;
        let first = self.job(summary.clone(), SUMMARY).await?;
        if first != Exit::Success {
            return Ok(first);
        }
        self.check_file(&summary)?;

        let tasks = TaskList::new(self.embedded.broker.kv.clone());
        let sixty_two = Fields { title: Some("写周报".to_owned()), ..Fields::default() };
        tasks.import(62, sixty_two).await.map_err(|e| CliError::start(e.to_string()))?;
        self.head("2", TASKS, Text::DemoList)?;
        let second = self.job(unique("demo-tasks")?, TASKS).await?;
        if second != Exit::Success {
            return Ok(second);
        }
        self.check_tasks(&tasks).await?;
        let style = self.output.style();
        let done = format!("✓ {}", style.say(Text::DemoDone));
        self.output.line(&style.paint(Tone::Good, &done))?;
        Ok(Exit::Success)
    }

    /// Names the console. A person gets time to look at the jobs there, until Ctrl-C.
    async fn console(&self) -> Result<(), CliError> {
        match (self.person, self.embedded.company.gateway()) {
            (Person::Present, Some(at)) => {
                let mut interrupts = Interrupts::take()?;
                let url = format!("http://{at}");
                self.output.say(Text::DemoConsole { url: &url })?;
                interrupts.next().await;
                Ok(())
            }
            (Person::Present | Person::Absent, _) => {
                let url = format!("http://127.0.0.1:{}", gateway::PORT);
                self.output.say(Text::DemoConsoleLater { url: &url })
            }
        }
    }

    fn introduce(&self) -> Result<(), CliError> {
        let style = self.output.style();
        self.output.line(&style.paint(Tone::Strong, &style.say(Text::DemoTitle)))?;
        let tone = match self.embedded.kept {
            Storage::Server { .. } => Tone::Good,
            Storage::Memory(_) => Tone::Wait,
        };
        self.output.line(&style.paint(tone, &self.embedded.kept.words(style.language)))?;
        if let Some(server) = &self.embedded.model.script {
            self.output.say(Text::DemoModel { url: &server.base_url() })?;
        }
        match self.person {
            Person::Present => self.output.say(Text::DemoByUser),
            Person::Absent => self.output.say(Text::DemoByItself),
        }
    }

    /// Introduces a job: its goal, and what it shows.
    fn head(&self, number: &str, goal: &str, shows: Text<'_>) -> Result<(), CliError> {
        let style = self.output.style();
        let head = style.say(Text::DemoJob { number: &number, goal: &goal });
        self.output.line(&style.paint(Tone::Strong, &format!("\n{head}")))?;
        self.output.print(&note(&style, &style.say(shows)))
    }

    /// Submits a job and watches it to its end.
    async fn job(&self, id: JobId, goal: &str) -> Result<Exit, CliError> {
        let submit = Submit { id: Some(id.clone()), ..Submit::goal(goal) };
        self.embedded.client.submit(submit).await?;
        let asking = match self.person {
            Person::Present => Asking::by(Policy::Nothing, true),
            Person::Absent => Asking::by(Policy::Decide(by_itself), false),
        };
        let session = Session {
            client: &self.embedded.client,
            output: self.output,
            job: id,
            waiting: Waiting::default(),
            asking,
            silent: false,
        };
        Ok(session.watch().await?.0)
    }

    /// Verifies the effects of the second job: task 62 and the mail done, the other one open.
    async fn check_tasks(&self, tasks: &TaskList) -> Result<(), CliError> {
        let all = tasks.list().await.map_err(|e| CliError::start(e.to_string()))?;
        let mut lines = Vec::new();
        for task in &all {
            let (mark, state) = match task.status {
                Status::Completed => ("✓", Text::TaskDone),
                Status::Pending => ("○", Text::TaskOpen),
                Status::Deleted => ("–", Text::TaskDeleted),
            };
            let state = state.text(self.output.language);
            lines.push(format!("  {mark} {} {} ({state})", task.id, task.title()));
        }
        self.output.say(Text::DemoTasks)?;
        self.output.line(&lines.join("\n"))?;
        let is = |title: &str, status: Status| {
            all.iter().any(|task| task.title() == title && task.status == status)
        };
        let sixty_two = all.iter().any(|t| t.id == 62 && t.status == Status::Completed);
        // A user may have edited the plan; then the expected effects are unknown.
        let as_planned =
            sixty_two && is("发邮件", Status::Completed) && is("等待反馈", Status::Pending);
        if as_planned || self.person == Person::Present {
            return Ok(());
        }
        Err(CliError::start(Text::DemoUnexpected))
    }

    /// Verifies the effect of the first job: the file.
    fn check_file(&self, job: &JobId) -> Result<(), CliError> {
        let path = self.workspace.join("jobs").join(job.as_str()).join("summary.md");
        match std::fs::read_to_string(&path) {
            Ok(text) if text.contains("20:45") || self.person == Person::Present => {
                let shown = proto::escape::text(&text);
                self.output.say(Text::DemoFile { path: &path.display() })?;
                self.output.line(shown.trim_end())
            }
            Ok(_) => Err(CliError::start(Text::DemoNoSummary { path: &path.display() })),
            Err(_) if self.person == Person::Present => Ok(()),
            Err(error) => Err(CliError::io(&path.display().to_string(), &error)),
        }
    }
}

/// Returns a new id that begins with this name.
fn unique(name: &str) -> Result<JobId, CliError> {
    let unique = uuid::Uuid::new_v4().simple().to_string();
    let id = format!("{name}-{}", unique.get(..6).unwrap_or_default());
    JobId::new(id).map_err(|e| CliError::internal(e.to_string()))
}

/// Returns the demo's automatic answer and a text about it.
fn by_itself(asked: &Question) -> Option<(Answer, Words)> {
    match &asked.kind {
        QuestionKind::PlanCheck { digest, plan, .. } => {
            let said = match plan.steps.len() {
                1 => Words::from(Text::DemoConfirmsOne),
                steps => Text::DemoConfirms { steps: &steps }.into(),
            };
            Some((Answer::approve(Some(digest.clone())), said))
        }
        QuestionKind::Choice { options, .. } => {
            let reader = options.iter().find(|option| option.value == READER)?;
            let prompt = proto::escape::line(&asked.prompt);
            let said = Text::DemoAnswers { prompt: &prompt, answer: &READER };
            Some((Answer::respond(json!(reader.value)), said.into()))
        }
        QuestionKind::Question | QuestionKind::Form { .. } => None,
        QuestionKind::ToolApproval { .. } => {
            let no = Answer {
                decision: Verdict::Reject,
                value: None,
                text: None,
                digest: None,
                remember: None,
            };
            Some((no, Text::DemoRejects.into()))
        }
    }
}
