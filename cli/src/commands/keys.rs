//! `keys`: generates keys of broker users. Seeds are written only to files that their owner alone
//! can read.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use broker::nats::keys::User;
use secrecy::{ExposeSecret, SecretString};

use crate::{
    args::KeysArgs,
    exit::Exit,
    failure::{CliError, Outcome},
    output::Output,
    words::Text,
};

/// Name of the file with the public keys for nats-server.
const PUBLIC: &str = "users.conf";

pub(super) fn run(output: Output, args: &KeysArgs) -> Outcome {
    let failed = |e: io::Error| CliError::io(&args.dir.display().to_string(), &e);
    fs::create_dir_all(&args.dir).map_err(failed)?;
    for user in &args.users {
        let path = args.dir.join(format!("{user}.nk"));
        if path.exists() && !args.rotate {
            output.note(Text::KeyKept { path: &path.display() });
            continue;
        }
        let made = User::new().map_err(|e| CliError::internal(e.to_string()))?;
        write_secret(&path, &made.seed).map_err(|e| CliError::io(&shown(&path), &e))?;
        output.note(Text::KeyCreated { path: &path.display() });
    }
    let public = args.dir.join(PUBLIC);
    let known = known(&args.dir)?;
    fs::write(&public, known).map_err(|e| CliError::io(&shown(&public), &e))?;
    output.line(&shown(&public))?;
    Ok(Exit::Success)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Writes a secret atomically, without a moment in which others can read it.
fn write_secret(path: &Path, seed: &SecretString) -> io::Result<()> {
    let new = path.with_extension("nk.new");
    // Leftover of an interrupted run.
    if new.exists() {
        fs::remove_file(&new)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    writeln!(file, "{}", seed.expose_secret())?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// Collects the public keys of all seeds in a directory, as variables for nats-server.
fn known(dir: &Path) -> Result<String, CliError> {
    let failed = |e: io::Error| CliError::io(&shown(dir), &e);
    let mut users = Vec::new();
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let (Some(name), Some("nk")) = (name, path.extension().and_then(|e| e.to_str())) else {
            continue;
        };
        let seed = fs::read_to_string(&path).map_err(|e| CliError::io(&shown(&path), &e))?;
        let user = User::of(&SecretString::from(seed.trim().to_owned()))
            .map_err(|e| CliError::usage(format!("{} {e}", path.display())))?;
        users.push(format!("NKEY_{}: {}", name.to_uppercase().replace('-', "_"), user.public));
    }
    users.sort();
    let head = "# Public keys of the broker's users, made by `callboard keys`. No secrets.";
    Ok(format!("{head}\n{}\n", users.join("\n")))
}
