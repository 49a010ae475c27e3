//! The short form of help: the options of every command have a page of their own, and the help of a
//! command refers to it.

use clap::{Args as _, Command, CommandFactory as _, builder::StyledStr};

use super::{Cli, Global};

/// The name of the page.
const PAGE: &str = "options";
/// The reference to the page.
const REFERENCE: &str = "Options of every command: callboard help options";

/// Returns the command line, as it is parsed and as its help shows it.
pub(crate) fn command() -> Command {
    let hide = |arg: clap::Arg| if arg.is_global_set() { arg.hide(true) } else { arg };
    let root = short(Cli::command().mut_args(hide));
    root.mut_subcommand(PAGE, |page| page.after_help(options()))
}

/// Adds the reference to a command and the commands below it.
fn short(command: Command) -> Command {
    let help = command.get_after_help().map(ToString::to_string);
    let help = help.map_or(REFERENCE.to_owned(), |help| format!("{help}\n\n{REFERENCE}"));
    command.after_help(help).mut_subcommands(short)
}

/// Renders the options of every command.
pub(crate) fn options() -> StyledStr {
    let page = Command::new("callboard")
        .disable_help_flag(true)
        .styles(super::styles())
        .max_term_width(super::WIDTH_MAX)
        .help_template("{all-args}");
    Global::augment_args(page).render_help()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the help of a command, by its words.
    fn help(words: &[&str]) -> String {
        let words = ["callboard"].iter().chain(words).chain(&["--help"]);
        command().try_get_matches_from(words).unwrap_err().to_string()
    }

    #[test]
    fn the_help_of_a_command_has_its_own_options_and_a_reference_to_the_others() {
        for words in
            [&["jobs", "ls"][..], &["submit"], &["inbox", "answer"], &["doctor"], &["jobs"]]
        {
            let help = help(words);
            assert!(help.trim_end().ends_with(REFERENCE), "{help}");
            assert!(!help.contains("--token-file") && !help.contains("--color"), "{help}");
            assert!(help.lines().count() <= 45, "{}\n{help}", help.lines().count());
        }
        assert!(help(&["jobs", "ls"]).contains("--conversation"));
    }

    #[test]
    fn the_options_of_every_command_are_on_one_page() {
        let page = command().try_get_matches_from(["callboard", "help", "options"]).unwrap_err();
        let page = page.to_string();
        for part in
            ["Connection:", "Output:", "--config", "--ctx", "--token-file", "--color", "--yes"]
        {
            assert!(page.contains(part), "{part} is not in\n{page}");
        }
    }
}
