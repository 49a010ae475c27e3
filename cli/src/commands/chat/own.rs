//! The chat's own commands about agents, costs, plans, texts and conversations.

use std::collections::BTreeMap;

use client::session::OpenQuestion;
use proto::{
    door::{AgentChoice, InboxEntry, List},
    escape,
    id::{AgentName, ConversationId},
    interaction::QuestionKind,
    view::JobView,
};

use super::{super::edit, session::Session};
use crate::{
    chat::{quiet::Quiet, words::Text},
    failure::CliError,
    render::{revisions, tree},
    text,
};

/// Number of jobs whose conversations `/resume` lists.
const JOBS_MAX: u32 = 200;
/// Number of conversations that `/resume` lists.
const SHOWN_MAX: usize = 12;

impl Session {
    /// Shows the agents, or chooses the one of the next tasks.
    pub(super) async fn agent(&mut self, named: &str) -> Result<(), CliError> {
        let agents = self.client.agents(None).await?.agents;
        let names: Vec<String> = agents.iter().map(|agent| agent.name.to_string()).collect();
        let names = names.join(", ");
        let language = self.tongue();
        if named.is_empty() {
            let name = match &self.agent {
                Some(AgentChoice::Named(name)) => name.to_string(),
                Some(AgentChoice::Inline(agent)) => agent.name.to_string(),
                None => Text::AgentDefault.text(language),
            };
            return self.tell(Text::AgentsKnown { names: &names, name: &name });
        }
        let known = AgentName::new(named).ok();
        let known = known.filter(|name| agents.iter().any(|agent| agent.name == *name));
        match known {
            Some(name) => {
                self.tell(Text::AgentChosen { name: &name })?;
                self.agent = Some(AgentChoice::Named(name));
                Ok(())
            }
            None => {
                let name = &escape::line(named);
                self.complain(&Text::AgentUnknown { name, names: &names }.text(language))
            }
        }
    }

    /// The current task, or the last one.
    fn subject(&self) -> Option<JobView> {
        let current = self.task.as_ref().and_then(|task| task.session.state.view());
        current.or(self.last.as_ref()).cloned()
    }

    /// Shows what the task used.
    pub(super) fn cost(&mut self) -> Result<(), CliError> {
        let Some(view) = self.subject() else { return self.tell(Text::NoTask) };
        let style = self.style();
        let money = view.tools.iter().filter_map(|tool| tool.money).sum::<f64>();
        let paid = (money > 0.0).then(|| format!("${money:.4}"));
        let gauges = view.budget.iter().map(|gauge| gauge.text(style.language));
        let used = tree::usage(&style, view.usage).into_iter().chain(paid).chain(gauges);
        let used: Vec<String> = used.collect();
        if used.is_empty() {
            return self.tell(Text::NoCost);
        }
        let lines: String = used.iter().map(|line| format!("  {line}\n")).collect();
        self.say(&lines)
    }

    /// Shows every plan of the task as a change of the one before.
    pub(super) fn difference(&mut self) -> Result<(), CliError> {
        let Some(view) = self.subject() else { return self.tell(Text::NoTask) };
        if view.revisions.is_empty() {
            return self.tell(Text::OnePlan);
        }
        let style = self.style();
        self.say(&revisions::show(&style, &view, &[]))
    }

    /// Edits the plan that waits, or a text that then counts as typed, in the person's editor.
    pub(super) async fn edit(&mut self) -> Result<(), CliError> {
        let open = self.asked().and_then(|front| front.asked.as_ref());
        let open = open.map(|asked| asked.open.clone());
        let open = open.filter(|o| matches!(o.question.kind, QuestionKind::PlanCheck { .. }));
        // The editor needs the terminal as it was.
        let was_quiet = self.quiet.take().is_some();
        let edited = match open {
            Some(open) => self.edit_plan(open).await.map(|()| None),
            None => edit::text().map(Some),
        };
        if was_quiet {
            self.quiet = Quiet::begin();
        }
        match edited? {
            Some(text) if !text.trim().is_empty() => Box::pin(self.line(&text)).await,
            Some(_) | None => Ok(()),
        }
    }

    async fn edit_plan(&mut self, open: OpenQuestion) -> Result<(), CliError> {
        let view = self.client.get(&open.job).await?;
        let entry = InboxEntry {
            job: open.job,
            root: None,
            path: open.path,
            goal: view.goal,
            asked: view.updated,
            question: open.question,
            schema: None,
        };
        let (client, output) = (self.client.clone(), self.output);
        edit::in_editor(&client, output, &entry).await.map(|_| ())
    }

    /// Shows the conversations, or continues one. The current task goes on.
    pub(super) async fn resume(&mut self, named: &str) -> Result<(), CliError> {
        if !named.is_empty() {
            let id = ConversationId::new(named).map_err(proto::error::Failure::from)?;
            self.part()?;
            (self.task, self.command, self.last, self.change) = (None, None, None, None);
            self.conversation = id;
            return self.greet(true).await;
        }
        let list = List { limit: Some(JOBS_MAX), ..List::default() };
        let jobs = self.client.call(&list).await?.jobs;
        let mut newest: Vec<(String, String)> = Vec::new();
        let mut seen = BTreeMap::new();
        for job in jobs.iter().filter(|job| job.parent.is_none()) {
            let Some(id) = job.conversation.as_ref().filter(|id| **id != self.conversation) else {
                continue;
            };
            if seen.insert(id.to_string(), ()).is_none() && newest.len() < SHOWN_MAX {
                newest.push((id.to_string(), escape::line(&job.goal).into_owned()));
            }
        }
        if newest.is_empty() {
            return self.tell(Text::NoConversations);
        }
        let width = newest.iter().map(|(id, _)| id.len()).max().unwrap_or_default();
        let room = self.style().columns().saturating_sub(width + 4);
        let lines = newest.iter().map(|(id, goal)| {
            let (id, goal) = (&format!("{id:width$}"), &text::fit(goal, room));
            format!("{}\n", Text::ConversationLine { id, goal }.text(self.tongue()))
        });
        let lines: String = lines.collect();
        self.say(&lines)
    }
}
