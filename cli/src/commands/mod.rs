//! The commands, one file per verb.

mod agents;
mod attachments;
mod batch;
mod chat;
mod completions;
mod config;
mod crew;
mod ctx;
mod dead;
mod demo;
mod dev;
mod doctor;
mod edit;
mod embedded;
mod events;
mod files;
mod fsck;
mod inbox;
mod jobs;
mod keys;
mod mcp;
mod operate;
mod positions;
mod preview;
mod process;
mod purge;
mod retry;
mod run;
mod schema;
mod script_model;
mod serve;
mod setup;
mod show;
mod submit;
mod tools;
mod ui;
mod usage;
mod version;
mod watch;
mod webhooks;
mod worker;
mod workflow;

use tui::model::Screen;

use crate::{
    args::{self, Cli, Command},
    exit::Exit,
    failure::Outcome,
    output::Output,
};

pub(crate) async fn run(cli: Cli, output: Output) -> Outcome {
    let Cli { global, command } = cli;
    match command {
        Command::Demo(args) => Box::pin(demo::run(&global, output, args)).await,
        Command::Dev(args) => Box::pin(dev::run(&global, output, args)).await,
        Command::Serve(args) => serve::run(&global, output, args).await,
        Command::Setup(args) => setup::run(&global, output, args).await,
        Command::Keys(args) => keys::run(output, &args),
        Command::Submit(args) => submit::run(&global, output, args).await,
        Command::Run(args) => Box::pin(run::run(&global, output, args)).await,
        Command::Chat(args) => Box::pin(chat::run(&global, output, args)).await,
        Command::Ui(args) => Box::pin(ui::run(&global, output, args, Screen::Jobs)).await,
        Command::Top(args) => Box::pin(ui::run(&global, output, args, Screen::Pulse)).await,
        Command::Watch(args) => events::run(&global, output, args).await,
        Command::Jobs(command) => Box::pin(jobs::run(&global, output, command)).await,
        Command::Usage(args) => usage::run(&global, output, args).await,
        Command::Inbox(command) => inbox::run(&global, output, command).await,
        Command::Agents(command) => agents::run(&global, output, command).await,
        Command::Workflow(command) => workflow::run(&global, output, command).await,
        Command::Tools(command) => Box::pin(tools::run(&global, output, command)).await,
        Command::Crew(_) => crew::ls(&global, output).await,
        Command::Mcp(command) => mcp::run(&global, output, command).await,
        Command::Webhooks(command) => webhooks::run(&global, output, command).await,
        Command::Doctor(args) => Box::pin(doctor::run(&global, output, args)).await,
        Command::Fsck(args) => fsck::run(&global, output, args).await,
        Command::Health(args) => operate::health(&global, output, args).await,
        Command::Log(args) => operate::log(&global, output, args).await,
        Command::Config(_) => config::show(&global, output),
        Command::Worker(command) => Box::pin(worker::run(output, command)).await,
        Command::Ctx(command) => ctx::run(&global, output, command),
        Command::Schema(args) => schema::run(output, &args),
        Command::ScriptModel(args) => script_model::run(output, args).await,
        Command::Completions { shell } => completions::print(output, shell),
        Command::Options => {
            output.print(&args::help::options().ansi().to_string()).map(|()| Exit::Success)
        }
        Command::Version => version::print(output),
    }
}
