//! `todo` and `schedule`: slash commands of the task list as tools of a model, in the grammar that
//! people type.

use async_trait::async_trait;
use proto::{
    lang::Language,
    slash,
    tool::{Effect, ToolResult, ToolSpec},
};
use runtime::{
    arguments::{self, Placeholders},
    schema::Schemas,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{About, CreateTask, ListTasks, Text, read, required, spec};
use crate::{
    tasks::TaskList,
    tool::{CallContext, Tool, ToolFault},
};

/// A tool that carries out slash commands of other tools.
pub struct SlashTool {
    name: &'static str,
    about: About,
    /// Description of the line that it takes.
    line: About,
    /// Names of the commands that it takes.
    commands: &'static [&'static str],
    tools: Vec<Box<dyn Tool>>,
    schemas: Schemas,
}

#[derive(Deserialize)]
struct Args {
    command: String,
}

impl SlashTool {
    /// Creates the tool `todo` on a task list.
    #[must_use]
    pub fn todo(tasks: &TaskList) -> Self {
        Self {
            name: "todo",
            about: About::Todo,
            line: About::TodoLine,
            commands: &["todo", "view"],
            tools: vec![Box::new(CreateTask(tasks.clone())), Box::new(ListTasks(tasks.clone()))],
            schemas: Schemas::new(),
        }
    }

    /// Creates the tool `schedule` on a task list.
    #[must_use]
    pub fn schedule(tasks: &TaskList) -> Self {
        Self {
            name: "schedule",
            about: About::Schedule,
            line: About::ScheduleLine,
            commands: &["schedule"],
            tools: vec![Box::new(CreateTask(tasks.clone()))],
            schemas: Schemas::new(),
        }
    }

    /// Returns the words with which a command begins, for people and models.
    fn starts(&self, language: Language) -> String {
        let starts: Vec<_> = self.commands.iter().map(|name| format!("/{name}")).collect();
        starts.join(&Text::Or.text(language))
    }
}

#[async_trait]
impl Tool for SlashTool {
    fn spec(&self) -> ToolSpec {
        let line = json!({"type": "string", "minLength": 2, "maxLength": 8192});
        let line = required("command", self.line, line);
        spec(self.name, self.about, Effect::Idempotent, &[line])
    }

    async fn call(&self, context: CallContext, args: Value) -> Result<ToolResult, ToolFault> {
        let Args { command } = read(args)?;
        let language = context.language;
        let specs: Vec<ToolSpec> = self.tools.iter().map(|tool| tool.spec()).collect();
        let known = slash::read(&command).filter(|(name, _)| self.commands.contains(name));
        let found = known.and_then(|(name, rest)| slash::resolve(&specs, name, rest));
        let Some(found) = found else {
            let (starts, given) = (&self.starts(language), &command);
            let refused = Text::NotACommand { starts, given }.text(language);
            return Ok(ToolResult::failed(refused));
        };
        let call = match found {
            Ok(call) => call,
            Err(unfit) => return Ok(ToolResult::failed(unfit.text(language))),
        };
        let behind = self.tools.iter().zip(&specs).find(|(_, spec)| spec.name == call.tool);
        let (tool, spec) = behind.ok_or_else(|| ToolFault::internal("no tool has the command"))?;
        match arguments::check(&self.schemas, spec, &call.args, Placeholders::Literal) {
            Ok(()) => tool.call(context, call.args).await,
            Err(wrong) => Ok(ToolResult::failed(wrong.text(language))),
        }
    }
}
