//! The fuzz targets, run over their seeds and over thousands of mutations of them. The mutations
//! are the same in every run, and the nightly compiler is not needed.

use std::{fs, path::PathBuf};

use rstest::rstest;

use crate::{
    mutations::{Chance, changed},
    targets,
};

/// Returns the number of mutations for a target. Every agent file resolves all agents again, which
/// is slow.
fn changes(target: &str) -> usize {
    if target == "agents" { 200 } else { 3_000 }
}

/// Returns the initial files of a target: its own seeds and existing samples.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let beside = match target {
        "records" => Some("proto/tests/golden/v1"),
        "agents" => Some("agents"),
        _ => None,
    };
    let own = format!("fuzz/seeds/{target}");
    let mut files: Vec<PathBuf> = [Some(own.as_str()), beside]
        .into_iter()
        .flatten()
        .flat_map(|folder| fs::read_dir(root.join(folder)).unwrap())
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file() && path.extension().is_none_or(|of| of != "toml"))
        .collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[rstest]
fn whatever_is_read_is_refused_or_sound(
    #[values("records", "plans", "subjects", "agents", "answers")] name: &str,
) {
    let (_, target) = targets::TARGETS.into_iter().find(|(target, _)| *target == name).unwrap();
    let seeds = seeds(name);
    assert!(seeds.len() >= 4, "{name} starts from {} seeds", seeds.len());
    let mut chance = Chance(7);
    let changed = std::iter::repeat_with(|| changed(&seeds, &mut chance));
    for data in seeds.iter().cloned().chain(changed.take(changes(name))) {
        let shown = String::from_utf8_lossy(&data).into_owned();
        let run = std::panic::catch_unwind(|| target(&data));
        assert!(run.is_ok(), "{name} does not stand this:\n{shown}");
    }
}
