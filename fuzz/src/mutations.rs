//! Mutations of seeds, the same in every run, for tests that run a fuzz target without a fuzzer.

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
pub struct Chance(pub u64);

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

/// Applies one to four mutations: a changed byte, a removed piece, a repeated piece, an inserted
/// fragment, a truncated end, or a piece of another seed.
pub fn changed(seeds: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
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
