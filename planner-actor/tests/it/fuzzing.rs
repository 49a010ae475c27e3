//! The fuzz target `replies`, run over its seeds and over thousands of mutations of them. The
//! mutations are the same in every run, and the nightly compiler is not needed.

use std::{fs, path::PathBuf};

use crate::{
    mutations::{Chance, changed},
    replies::replies,
};

/// Number of mutations.
const CHANGES: usize = 3_000;

#[test]
fn whatever_a_model_replies_is_a_sound_plan_or_an_error_it_can_act_upon() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/replies");
    let mut files: Vec<_> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let seeds: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    assert!(seeds.len() >= 7, "a seed for each protocol");
    let mut chance = Chance(7);
    let changed = std::iter::repeat_with(|| changed(&seeds, &mut chance));
    for data in seeds.iter().cloned().chain(changed.take(CHANGES)) {
        let shown = String::from_utf8_lossy(&data).into_owned();
        let run = std::panic::catch_unwind(|| replies(&data));
        assert!(run.is_ok(), "a reply breaks the property:\n{shown}");
    }
}
