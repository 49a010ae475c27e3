//! A terminal for tests: tmux, which answers what a program asks its terminal.

use std::{path::PathBuf, process::Command};

use tempfile::TempDir;

use crate::{company::Dev, support::eventually};

/// Number of looks in which a dialog answers a key, even on a machine under load.
const PRESS_EVERY: usize = 400;

/// Returns the path of tmux; `None` when it cannot be installed. In CI that is a failure.
fn program() -> Option<PathBuf> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let found = Command::new(root.join("tools/install")).arg("tmux").output().unwrap();
    if found.status.success() {
        return Some(PathBuf::from(String::from_utf8_lossy(&found.stdout).trim()));
    }
    let why = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must have tmux: {why}");
    eprintln!(
        "\n*** SKIPPED: the screens were NOT tested in a terminal, there is no tmux ***\n{why}"
    );
    None
}

/// A tmux server of its own, with one window that runs a shell.
pub(crate) struct Tmux {
    program: PathBuf,
    dir: TempDir,
}

impl Tmux {
    pub(crate) fn open(dev: &Dev, columns: u16, rows: u16) -> Option<Self> {
        let tmux = Self { program: program()?, dir: tempfile::tempdir().unwrap() };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        // The shell has the environment of the program, and says when the program has ended.
        let shell = dev.command(&[]);
        let mut command = tmux.command();
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", &columns, "-y", &rows]);
        for (name, value) in shell.get_envs() {
            let Some(value) = value.filter(|_| name != "CI") else { continue };
            command.arg("-e").arg(format!("{}={}", name.display(), value.display()));
        }
        // What the program keeps for its user stays in the directory of the test.
        let state = format!("XDG_STATE_HOME={}", dev.dir().join("state").display());
        command.args(["-e", &state, "-e", "USER=ann", "-e", "LC_ALL=C.UTF-8"]);
        command.args(["-c", &dev.dir().display().to_string(), "sh"]);
        assert!(command.status().unwrap().success());
        tmux.sees_until("a shell", |shown| shown.trim_end().ends_with(['$', '#']));
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        // Without this, tmux takes text of other scripts than Latin for one column each.
        command.env("LC_ALL", "C.UTF-8").env("TMUX_TMPDIR", self.dir.path()).env_remove("TMUX");
        // In CI the program takes every terminal for none.
        command.env_remove("CI");
        command.arg("-u");
        command
    }

    /// Presses keys, by the names of tmux.
    pub(crate) fn press(&self, keys: &[&str]) {
        let mut command = self.command();
        assert!(command.arg("send-keys").args(keys).status().unwrap().success());
    }

    /// Presses keys until a dialog with these words is gone. A terminal that an editor has just given
    /// back may lose the first ones.
    pub(crate) fn press_until_gone(&self, keys: &[&str], words: &str) {
        let mut looks = 0;
        eventually("an end of the dialog", || {
            if !self.pane().contains(words) {
                return Some(());
            }
            if looks % PRESS_EVERY == 0 {
                self.press(keys);
            }
            looks += 1;
            None
        });
    }

    /// Types a line into the shell.
    pub(crate) fn types(&self, line: &str) {
        let mut command = self.command();
        assert!(command.args(["send-keys", "-l", line]).status().unwrap().success());
        self.press(&["Enter"]);
    }

    pub(crate) fn pane(&self) -> String {
        let shown = self.command().args(["capture-pane", "-p"]).output().unwrap();
        String::from_utf8_lossy(&shown.stdout).into_owned()
    }

    pub(crate) fn flag(&self, name: &str) -> String {
        let format = format!("#{{{name}}}");
        let shown = self.command().args(["display-message", "-p", &format]).output().unwrap();
        String::from_utf8_lossy(&shown.stdout).trim().to_owned()
    }

    pub(crate) fn sees(&self, words: &str) -> String {
        eventually(words, || {
            let shown = self.pane();
            shown.contains(words).then_some(shown)
        })
    }

    pub(crate) fn sees_until(&self, what: &str, is_there: impl Fn(&str) -> bool) -> String {
        eventually(what, || {
            let shown = self.pane();
            is_there(&shown).then_some(shown)
        })
    }

    /// Checks that the shell has its terminal back: the first screen, with echo and a cursor.
    pub(crate) fn is_restored(&self) {
        eventually("the shell", || (self.flag("pane_current_command") == "sh").then_some(()));
        self.types("echo restored $(stty -a | tr ' ;' '\\n\\n' | grep -cx -e icanon -e echo)");
        self.sees("restored 2");
        assert_eq!(self.flag("alternate_on"), "0");
        assert_eq!(self.flag("cursor_flag"), "1");
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = self.command().arg("kill-server").status();
    }
}
