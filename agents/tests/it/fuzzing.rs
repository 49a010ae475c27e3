//! The fuzz targets, run over their seeds and over thousands of mutations of them. The mutations
//! are the same in every run, and the nightly compiler is not needed.

use std::{fs, path::PathBuf};

use rstest::rstest;

use crate::targets;

/// Returns the number of mutations for a target. Every agent file resolves all agents again, which
/// is slow.
fn changes(target: &str) -> usize {
    if target == "agents" { 200 } else { 3_000 }
}

/// Fragments of the formats, which mutations insert as a whole, like a fuzzer's dictionary.
const WORDS: [&str; 28] = [
    "\"",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\n",
    "  ",
    "- ",
    "null",
    "true",
    "-1",
    "1e999",
    "0.1",
    "{{a.id}}",
    "*",
    ">",
    ".",
    "cb.6.demo.",
    "do.call.",
    "+",
    "00",
    "\\u0000",
    "字",
    "&a ",
    "*a",
    "!!str ",
];

/// A generator with the same numbers on every machine (splitmix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end as u64 + 1)).unwrap()
    }
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

/// Applies one to four mutations: a changed byte, a removed piece, a repeated piece, an inserted
/// fragment, a truncated end, or a piece of another seed.
fn changed(seeds: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut data = seeds[chance.below(seeds.len() - 1)].clone();
    for _ in 0..=chance.below(3) {
        let (from, to) = (chance.below(data.len()), chance.below(data.len()));
        let (from, to) = (from.min(to), from.max(to));
        match chance.below(5) {
            0 if from < data.len() => data[from] ^= 1 << chance.below(7),
            1 => drop(data.drain(from..to)),
            2 => {
                let piece = data[from..to].to_vec();
                data.splice(to..to, piece);
            }
            3 => {
                let word = WORDS[chance.below(WORDS.len() - 1)].bytes();
                data.splice(from..from, word);
            }
            4 => data.truncate(to),
            _ => {
                let other = &seeds[chance.below(seeds.len() - 1)];
                let end = chance.below(other.len());
                data.splice(from..to, other[end / 2..end].iter().copied());
            }
        }
        data.truncate(64 * 1024);
    }
    data
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
