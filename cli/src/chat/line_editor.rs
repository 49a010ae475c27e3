//! The line editor of a conversation at a terminal: history, completion, several lines. It runs in a
//! thread of its own, which gives its line up when the program has something to print.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    time::Duration,
};

use crossterm::{
    cursor::MoveToColumn,
    execute,
    terminal::{Clear, ClearType},
};
use reedline::{
    ColumnarMenu, Completer, CompletionResult, EditCommand, Emacs, FileBackedHistory, KeyCode,
    KeyModifiers, MenuBuilder, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span, Suggestion,
    ValidationResult, Validator, default_emacs_keybindings,
};
use tokio::sync::mpsc;

use super::{completing, prompt::Asking};

/// Lines of the history that are kept.
const HISTORY_MAX: usize = 1_000;
/// Pause between two looks at the request to give the line up.
const LOOK: Duration = Duration::from_millis(40);
const MENU: &str = "completions";

/// What became of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A whole line.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D on an empty line.
    End,
    /// The terminal does not support the editor.
    Unusable,
}

/// The editor.
#[derive(Debug)]
pub(crate) struct LineEditor {
    asks: Sender<Ask>,
    typed: mpsc::Receiver<Typed>,
    given_up: Receiver<String>,
    breaks: Arc<AtomicBool>,
    words: completing::Words,
    reads: bool,
    /// The part of a line that was given up.
    begun: String,
}

#[derive(Debug)]
struct Ask {
    prompt: String,
    begun: String,
}

impl LineEditor {
    /// Starts the thread. The history is kept in this file; in memory without one.
    pub(crate) fn open(history: Option<PathBuf>, color: bool) -> Self {
        let (asks, asked) = channel::<Ask>();
        let (sender, typed) = mpsc::channel(4);
        let (broken, given_up) = channel();
        let breaks = Arc::new(AtomicBool::new(false));
        let words = completing::Words::default();
        let make = {
            let (signal, offered) = (Arc::clone(&breaks), words.clone());
            move || editor(history.clone(), color, Arc::clone(&signal), offered.clone())
        };
        std::thread::spawn(move || {
            // The editor asks the terminal where its cursor is, and waits long for each answer.
            let is_usable = crossterm::cursor::position().is_ok();
            let mut editor = make();
            while let Ok(Ask { prompt, begun }) = asked.recv() {
                let read =
                    if is_usable { read(&mut editor, &Asking(prompt), begun) } else { UNUSABLE };
                let typed = match read {
                    Read::Typed(typed) => typed,
                    Read::GivenUp(begun) => {
                        // The next line begins where the cursor then is.
                        editor = make();
                        if broken.send(begun).is_err() {
                            return;
                        }
                        continue;
                    }
                };
                if sender.blocking_send(typed).is_err() {
                    return;
                }
            }
        });
        Self { asks, typed, given_up, breaks, words, reads: false, begun: String::new() }
    }

    /// The words that are completed.
    pub(crate) fn words(&self) -> &completing::Words {
        &self.words
    }

    /// `true` while a line is being typed.
    pub(crate) fn reads(&self) -> bool {
        self.reads
    }

    /// Shows a prompt and begins to read a line, unless one is being read.
    pub(crate) fn ask(&mut self, prompt: &str) {
        if !self.reads {
            let begun = std::mem::take(&mut self.begun);
            self.reads = self.asks.send(Ask { prompt: prompt.to_owned(), begun }).is_ok();
        }
    }

    /// Waits for the line; never resolves while none is being read. Cancellation safe.
    pub(crate) async fn typed(&mut self) -> Typed {
        if !self.reads {
            return std::future::pending().await;
        }
        let typed = self.typed.recv().await.unwrap_or(Typed::Unusable);
        self.reads = false;
        typed
    }

    /// Takes the line off the screen, so that something can be printed. The next prompt brings back
    /// what was typed. A line that was finished just then is returned by [`LineEditor::typed`].
    pub(crate) fn give_up(&mut self) {
        if !self.reads {
            return;
        }
        self.breaks.store(true, Ordering::Relaxed);
        loop {
            if let Ok(begun) = self.given_up.recv_timeout(LOOK) {
                (self.begun, self.reads) = (begun, false);
                return;
            }
            if !self.typed.is_empty() {
                self.breaks.store(false, Ordering::Relaxed);
                return;
            }
        }
    }

    /// `true` if a line was begun and given up.
    pub(crate) fn has_begun(&self) -> bool {
        !self.begun.is_empty()
    }
}

enum Read {
    Typed(Typed),
    GivenUp(String),
}

const UNUSABLE: Read = Read::Typed(Typed::Unusable);

fn read(editor: &mut Reedline, prompt: &Asking, begun: String) -> Read {
    if !begun.is_empty() {
        editor.run_edit_commands(&[EditCommand::Clear, EditCommand::InsertString(begun)]);
    }
    match editor.read_line(prompt) {
        Ok(Signal::Success(line)) => Read::Typed(Typed::Line(line.replace("\\\n", "\n"))),
        Ok(Signal::CtrlC) => Read::Typed(Typed::Interrupted),
        Ok(Signal::ExternalBreak(begun)) => {
            let clear = Clear(ClearType::FromCursorDown);
            // What cannot be cleared stays in sight.
            let _ = execute!(std::io::stdout(), MoveToColumn(0), clear);
            Read::GivenUp(begun)
        }
        Ok(Signal::CtrlD | Signal::HostCommand(_)) => Read::Typed(Typed::End),
        // The other signals are for programs that configure them.
        Ok(_) => Read::Typed(Typed::End),
        Err(_) => UNUSABLE,
    }
}

fn editor(
    history: Option<PathBuf>,
    color: bool,
    breaks: Arc<AtomicBool>,
    words: completing::Words,
) -> Reedline {
    let mut keys = default_emacs_keybindings();
    let complete = ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.to_owned()),
        ReedlineEvent::MenuNext,
    ]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline);
    let menu = Box::new(ColumnarMenu::default().with_name(MENU));
    let editor = Reedline::create()
        .with_edit_mode(Box::new(Emacs::new(keys)))
        .with_menu(ReedlineMenu::EngineCompleter(menu))
        .with_completer(Box::new(Known(words)))
        .with_validator(Box::new(WholeLine))
        .with_partial_completions(true)
        .with_quick_completions(true)
        .with_ansi_colors(color)
        .use_bracketed_paste(true)
        // A line that begins with a space is not kept.
        .with_history_exclusion_prefix(Some(" ".to_owned()))
        .with_poll_interval(LOOK)
        .with_break_signal(breaks);
    let kept = match history {
        Some(file) => FileBackedHistory::with_file(HISTORY_MAX, file).ok(),
        None => FileBackedHistory::new(HISTORY_MAX).ok(),
    };
    match kept {
        Some(kept) => editor.with_history(Box::new(kept)),
        None => editor,
    }
}

/// Offers the known words.
struct Known(completing::Words);

impl Completer for Known {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let found = self.0.complete(line, pos);
        let suggestions = found.into_iter().map(|offer| Suggestion {
            value: offer.text,
            description: Some(offer.about).filter(|about| !about.is_empty()),
            span: Span::new(offer.from, pos),
            append_whitespace: true,
            ..Suggestion::default()
        });
        CompletionResult::fresh(suggestions.collect::<Vec<_>>())
    }
}

/// A line that ends with a backslash goes on in the next one.
struct WholeLine;

impl Validator for WholeLine {
    fn validate(&self, line: &str) -> ValidationResult {
        match line.ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Complete,
        }
    }
}

/// The file of the history: `$XDG_STATE_HOME/callboard/chat-history`, below `~/.local/state` without
/// the variable. Only its owner can read it; `None` if it cannot be created.
pub(crate) fn history_file(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name| variable(name).filter(|value: &String| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")))?;
    let file = state.join("callboard/chat-history");
    std::fs::create_dir_all(file.parent()?).ok()?;
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(&file).ok()?;
    Some(file)
}
