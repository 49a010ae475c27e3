//! The `callboard` program: commands, their output, and the composition of the roles. Commands use
//! the front door like any other client, except `fsck` and `jobs purge`, which access the logs
//! directly.

pub mod agents;
mod answer;
mod args;
mod chat;
mod commands;
mod connect;
mod contexts;
mod exit;
mod failure;
mod input;
mod interrupt;
mod live;
mod output;
mod refusal;
mod render;
pub mod roles;
pub mod settings;
pub mod shown;
mod token;
mod words;

use std::{ffi::OsString, process::ExitCode};

use clap::error::ErrorKind;
use clap_complete::CompleteEnv;
use proto::lang::Language;
use tui::render::{style, text};

pub use self::exit::Exit;
use self::{
    args::Cli,
    failure::CliError,
    output::{Color, Format, Loudness, Output},
    style::Times,
};

/// Runs the program with this process's arguments.
#[must_use]
pub fn main() -> ExitCode {
    // A process of the sandbox must have one thread, so this comes first.
    if let Some(code) = sandbox::enter(std::env::args_os()) {
        return code;
    }
    // Answers a shell that completes a line, and then ends the process.
    CompleteEnv::with_factory(args::completion::command).bin("callboard").complete();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let mut cli = match Cli::of(&arguments) {
        Ok(cli) => cli,
        Err(error) => return misread(&error, &arguments).into(),
    };
    let output = output_of(&cli);
    if let Err(error) = contexts::apply(&mut cli.global, cli.command.in_use()) {
        return told(output, &error).into();
    }
    if cli.global.verbose > 1 {
        let log = runtime::telemetry::settings::Log {
            level: "debug".to_owned(),
            format: runtime::telemetry::settings::LogFormat::Pretty,
        };
        // Fails only if logging is initialised already.
        let _ = runtime::telemetry::init(&log);
    }
    // Fails only if a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let started = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let exit = match started {
        Err(error) => told(output, &CliError::io("tokio", &error)),
        Ok(runtime) => {
            let outcome = runtime.block_on(Box::pin(commands::run(cli, output)));
            // The thread that waits for typed input must not delay the exit.
            runtime.shutdown_background();
            outcome.unwrap_or_else(|error| told(output, &error))
        }
    };
    exit.into()
}

fn output_of(cli: &Cli) -> Output {
    let global = &cli.global;
    let loudness = match (global.quiet, global.verbose) {
        (true, _) => Loudness::Quiet,
        (false, 0) => Loudness::Normal,
        (false, _) => Loudness::Verbose,
    };
    let format = if global.json { Format::Json } else { global.output };
    let language = cli.command.language().unwrap_or_else(language);
    Output::new(format, loudness, global.color, global.time.into(), language)
}

/// Returns the language of this process's locale.
fn language() -> Language {
    words::of_locale(|name| std::env::var(name).ok())
}

/// Prints an error to standard error, as text or JSON.
fn told(output: Output, error: &CliError) -> Exit {
    if error.is_closed() {
        return error.exit;
    }
    let told = if output.format.is_json() {
        error.json(output.language)
    } else {
        error.text(output.language)
    };
    output.warn(told);
    error.exit
}

/// Prints help and version, or an error of the arguments. The error is JSON if the unparsed
/// arguments appear to request JSON.
fn misread(error: &clap::Error, arguments: &[OsString]) -> Exit {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // A closed output needs no further text.
        let _ = error.print();
        return Exit::Success;
    }
    if wants_json(arguments) {
        let rendered = error.render().to_string();
        let message = rendered.trim_start_matches("error: ").trim();
        let output =
            Output::new(Format::Json, Loudness::Normal, Color::Never, Times::default(), language());
        return told(output, &CliError::usage(message));
    }
    let _ = error.print();
    Exit::Usage
}

fn wants_json(arguments: &[OsString]) -> bool {
    let words: Vec<String> = arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let json = |value: &str| matches!(value, "json" | "jsonl");
    words.iter().enumerate().any(|(n, word)| match word.as_str() {
        "--json" => true,
        "-o" | "--output" => words.get(n + 1).is_some_and(|next| json(next)),
        _ => word
            .strip_prefix("--output=")
            .or_else(|| word.strip_prefix("-o="))
            .or_else(|| word.strip_prefix("-o"))
            .is_some_and(json),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_errors_is_found_in_arguments_that_cannot_be_read() {
        let check = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            wants_json(&words)
        };
        for line in ["x -o json", "x --output=jsonl", "x -ojson", "x -o=json --what"] {
            assert!(check(line), "{line}");
        }
        for line in ["x", "x -o table", "x -o", "x --json-ish"] {
            assert!(!check(line), "{line}");
        }
    }
}
