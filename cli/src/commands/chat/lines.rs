//! Handling of typed lines: cancellation first, then commands, then answers and tasks.

use client::session::{
    OpenQuestion, Taken,
    parse::{self, OnPlan},
};
use proto::{
    door::{DirectCall, Filter, List, SendSignal, Submit},
    error::{Code, Failure},
    id::JobId,
    interaction::QuestionKind,
    lang::Language,
    point::Order,
    tool::ToolSpec,
};

use super::{
    super::{jobs::caller, watch},
    front::Asked,
    session::Session,
};
use crate::{
    chat::{
        command::{self, Slash},
        line::{self, Line},
        words::Text,
    },
    failure::CliError,
    refusal,
    render::{describe, tools},
    style::Tone,
    text,
};

/// Number of a conversation's jobs that are read on resumption.
const JOBS_MAX: u32 = 100;

impl Session {
    /// Displays the state of a resumed conversation.
    pub(super) async fn greet(&mut self, named: bool) -> Result<(), CliError> {
        let conversation = self.conversation.clone();
        if self.interactive {
            self.tell(Text::Greeting { conversation: &conversation })?;
        }
        if !named {
            return Ok(());
        }
        let list = List {
            filter: Filter { conversation: Some(conversation), ..Filter::default() },
            limit: Some(JOBS_MAX),
            ..List::default()
        };
        let listed = self.client.call(&list).await?;
        let is_command = |goal: &str| matches!(line::read(goal), Line::Command { .. });
        let (commands, tasks): (Vec<_>, Vec<_>) =
            listed.jobs.into_iter().partition(|job| is_command(&job.goal));
        let newest = tasks.first().map(|task| task.created);
        let open = tasks.iter().find(|task| !task.state.is_terminal());
        if let Some(task) = open.or(tasks.first()) {
            let view = self.client.get(&task.job).await?;
            self.recall(&view.goal)?;
            if view.state.is_terminal() {
                self.ending(&view)?;
            } else {
                self.take_up(&view);
            }
        }
        // A command ends soon after it was typed, unless the conversation was left meanwhile.
        let open = commands.iter().find(|command| !command.state.is_terminal());
        let last = commands.first().filter(|last| newest.is_none_or(|task| last.created > task));
        if let Some(command) = open.or(last) {
            self.recall(&command.goal)?;
            self.command = Some(self.watch(command.job.clone()));
        }
        Ok(())
    }

    /// Displays a goal typed before the conversation was resumed.
    fn recall(&mut self, goal: &str) -> Result<(), CliError> {
        let goal = proto::escape::text(goal).into_owned();
        let goal = self.style().paint(Tone::Dim, &format!("… {}", goal.trim_end()));
        self.say(&format!("{goal}\n"))
    }

    pub(super) async fn line(&mut self, typed: &str) -> Result<(), CliError> {
        let done = match line::read(typed) {
            Line::Nothing => self.words("").await,
            Line::Cancel(language) => self.cancel(language).await,
            Line::Command { name, rest } => self.slash(typed.trim(), &name, &rest).await,
            Line::Words(words) => self.words(&words).await,
        };
        match done {
            // The server's refusal of one line does not end an interactive conversation.
            Err(error) if !error.is_closed() && self.interactive => {
                self.complain(&error.text(self.tongue()))
            }
            done => done,
        }
    }

    async fn cancel(&mut self, typed: Option<Language>) -> Result<(), CliError> {
        let language = self.language.or(typed).unwrap_or_else(|| self.tongue());
        // A command precedes the task, which waits for it.
        let Some(front) = self.front() else {
            return self.say(&format!("{}\n", Text::NothingToCancel.text(language)));
        };
        let (job, signal) = (front.session.job().clone(), Order::Cancel);
        let request = SendSignal { job, signal, expected_seq: None, reason: None, by: caller() };
        match self.client.call(&request).await {
            Ok(_) if self.command.take().is_some() => {
                self.say(&format!("{}\n", Text::CommandCanceled.text(language)))?;
                self.remind()
            }
            Ok(_) => {
                self.task = None;
                self.exit = crate::exit::Exit::Canceled;
                self.say(&format!("{}\n", Text::Canceled.text(language)))
            }
            // The job ended meanwhile; its watch displays the outcome.
            Err(failure) if failure.code == Code::JobEnded => {
                self.say(&format!("{}\n", Text::NothingToCancel.text(language)))
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Sends a slash command directly to its tool. The task and its question are unaffected.
    async fn slash(&mut self, typed: &str, name: &str, rest: &str) -> Result<(), CliError> {
        let known = self.client.tools().await?;
        match command::resolve(self.tongue(), name, rest, &known.tools) {
            Err(why) => self.complain(&why),
            Ok(Slash::Help) => self.help(&known.tools),
            Ok(Slash::Tools) => self.say(&tools::list(&self.style(), &known)),
            Ok(Slash::Status) => self.status(),
            Ok(Slash::Agent(named)) => self.agent(named.trim()).await,
            Ok(Slash::Cost) => self.cost(),
            Ok(Slash::Diff) => self.difference(),
            Ok(Slash::Edit) => self.edit().await,
            Ok(Slash::Resume(named)) => Box::pin(self.resume(named.trim())).await,
            Ok(Slash::Quit) => {
                self.leaving = true;
                Ok(())
            }
            Ok(Slash::Call(call)) => self.call(typed, call).await,
        }
    }

    async fn call(&mut self, typed: &str, call: DirectCall) -> Result<(), CliError> {
        if self.command.is_some() {
            return self.complain(&Text::CommandRunning.text(self.tongue()));
        }
        let submit = Submit {
            id: Some(client::new_id()),
            conversation: Some(self.conversation.clone()),
            language: self.language_of_command(typed),
            call: Some(call),
            ..Submit::goal(typed)
        };
        match self.client.submit(submit).await {
            Ok(submitted) => {
                self.command = Some(self.watch(submitted.job));
                Ok(())
            }
            Err(failure) if failure.code == Code::InvalidRequest => self.refused(&failure),
            Err(failure) => Err(failure.into()),
        }
    }

    /// Returns the language of a command's texts: that of its words if they tell it, or else that of
    /// the conversation. `None` leaves it to the front door.
    fn language_of_command(&self, typed: &str) -> Option<Language> {
        let told = Some(Language::detect(typed)).filter(|told| *told != Language::default());
        let task = self.task.as_ref().and_then(|task| task.language);
        self.language.or(told).or(task).or(self.spoken)
    }

    fn refused(&mut self, failure: &Failure) -> Result<(), CliError> {
        let message = refusal::message(failure);
        self.complain(message.text(self.tongue()))
    }

    fn help(&mut self, specs: &[ToolSpec]) -> Result<(), CliError> {
        let language = self.tongue();
        let all = command::all(specs, language);
        let width = all.iter().map(|(name, _)| text::width(name)).max().unwrap_or_default();
        let mut words = String::new();
        for (name, about) in &all {
            let about = proto::escape::line(about);
            words.push_str(&format!("  /{name:width$}  {about}\n"));
        }
        words.push_str(&Text::Beside.text(language));
        self.say(&words)
    }

    fn status(&mut self) -> Result<(), CliError> {
        let view = self.task.as_ref().and_then(|task| task.session.state.view()).cloned();
        match view {
            Some(view) => {
                let style = self.style();
                self.say(&describe::describe(&style, &view))
            }
            None => self.tell(Text::NothingToCancel),
        }
    }

    async fn words(&mut self, words: &str) -> Result<(), CliError> {
        if let Some(change) = self.change.take() {
            return self.decide_change(change, words).await;
        }
        if self.asked().is_some() {
            if self.interactive && self.changes_a_plan(words) {
                self.change = Some(words.to_owned());
                return self.tell(Text::ChangeAsks);
            }
            return self.answer(words).await;
        }
        if words.is_empty() {
            return Ok(());
        }
        let language = self.language.unwrap_or_else(|| Language::detect(words));
        let Some(task) = &self.task else {
            self.spoken = Some(language);
            return self.submit(words, language).await;
        };
        // A text typed during a task is an instruction to it.
        let signal = Order::Steer { text: words.to_owned() };
        let request = SendSignal {
            job: task.session.job().clone(),
            signal,
            expected_seq: None,
            reason: None,
            by: caller(),
        };
        match self.client.call(&request).await {
            Ok(_) => self.tell(Text::Told),
            Err(failure) if failure.code == Code::JobEnded => {
                self.spoken = Some(language);
                self.next_task(&request.job, words, language).await
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Returns whether words would change the plan that waits.
    fn changes_a_plan(&mut self, words: &str) -> bool {
        let asked = self.asked().and_then(|front| front.asked.as_ref());
        let is_plan =
            |asked: &Asked| matches!(asked.open.question.kind, QuestionKind::PlanCheck { .. });
        asked.is_some_and(is_plan) && matches!(parse::on_plan(words), OnPlan::Revise(_))
    }

    /// Sends words as a change of the plan, or begins a new task with them, as the person decides.
    async fn decide_change(&mut self, change: String, decision: &str) -> Result<(), CliError> {
        match parse::on_plan(decision) {
            OnPlan::Confirm => self.answer(&change).await,
            OnPlan::Nothing => self.remind(),
            OnPlan::Cancel => {
                if let Some(left) = self.task.take() {
                    let job = left.session.job().clone();
                    self.tell(Text::PlanLeft { job: &job })?;
                }
                let language = self.language.unwrap_or_else(|| Language::detect(&change));
                self.spoken = Some(language);
                self.submit(&change, language).await
            }
            // Other words take the place of the first ones.
            OnPlan::Revise(words) => {
                self.change = Some(words);
                self.tell(Text::ChangeAsks)
            }
        }
    }

    /// Displays the end of a task that ended meanwhile, and submits the typed text as the next
    /// task.
    async fn next_task(
        &mut self,
        ended: &JobId,
        words: &str,
        language: Language,
    ) -> Result<(), CliError> {
        let view = self.client.get(ended).await?;
        self.task = None;
        self.exit = watch::exit_of(&view);
        self.ending(&view)?;
        self.submit(words, language).await
    }

    async fn submit(&mut self, words: &str, language: Language) -> Result<(), CliError> {
        let crew = self.client.crew().await?;
        let mut pools = crew.workers.iter().flat_map(|worker| &worker.pools);
        if !pools.any(|load| load.pool.starts_with("plan.") || load.pool.starts_with("turn.")) {
            self.exit = crate::exit::Exit::Unavailable;
            return self.say(&format!("{}\n", Text::NoModel.text(language)));
        }
        let submit = Submit {
            id: Some(client::new_id()),
            agent: self.agent.clone(),
            conversation: Some(self.conversation.clone()),
            language: self.language,
            confirm: self.confirm,
            ..Submit::goal(words)
        };
        let submitted = self.client.submit(submit).await?;
        for warning in submitted.warnings.words() {
            let warning = warning.text(language).to_owned();
            // Every task of the conversation would repeat the warning.
            if self.warned.insert(warning.clone()) {
                self.complain(&format!("! {warning}"))?;
            }
        }
        self.task = Some(self.watch(submitted.job));
        Ok(())
    }

    /// Approves a waiting plan if `--yes` was given.
    pub(super) async fn approve(&mut self) -> Result<(), CliError> {
        let approves = self.approves;
        let asked = self.front().and_then(|front| front.asked.as_ref());
        let is_plan =
            |asked: &Asked| matches!(asked.open.question.kind, QuestionKind::PlanCheck { .. });
        if approves && asked.is_some_and(is_plan) {
            self.tell(Text::PlanApproved)?;
            return self.answer("y").await;
        }
        Ok(())
    }

    async fn answer(&mut self, words: &str) -> Result<(), CliError> {
        let client = self.client.clone();
        let language = self.tongue();
        let Some(front) = self.asked() else { return Ok(()) };
        let Some(asked) = &mut front.asked else { return Ok(()) };
        let answer = match asked.draft.take(language, words) {
            Taken::More => return Ok(()),
            Taken::Refused(why) => return self.complain(&format!("  {why}")),
            Taken::Answer(answer) => answer,
        };
        let OpenQuestion { job, question, .. } = asked.open.clone();
        let refused = watch::send(&client, &job, &question, answer).await?;
        let Some(front) = self.asked() else { return Ok(()) };
        match refused {
            Some(failure) => {
                if let Some(asked) = &mut front.asked {
                    asked.draft.refused(&failure);
                }
                let why = refusal::reason(&failure);
                self.complain(&format!("  {}", proto::escape::line(why.text(language))))
            }
            None => {
                front.asked = None;
                Ok(())
            }
        }
    }
}
