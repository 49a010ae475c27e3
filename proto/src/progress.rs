//! The fixed lines that tell how a job gets on, in the job's language. They are for people: nothing
//! reads them back.

use crate::lang::Language;

/// There is a plan: the first one, or another one after `revision` others.
#[must_use]
pub fn planned(language: Language, revision: u32, steps: usize) -> String {
    match (language, revision) {
        (Language::En, 0) => format!("planning is done ({})", counted(steps)),
        (Language::En, _) => format!("planning anew is done ({})", counted(steps)),
        (Language::Zh, 0) => format!("规划完成（共 {steps} 个步骤）"),
        (Language::Zh, _) => format!("重规划完成（共 {steps} 个步骤）"),
    }
}

fn counted(steps: usize) -> String {
    if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") }
}

/// A step is carried out: the `number`th of `steps`, counted from 1.
#[must_use]
pub fn step(language: Language, number: usize, steps: usize, label: &str) -> String {
    match language {
        Language::En => format!("step {number}/{steps}: {label}"),
        Language::Zh => format!("执行步骤 {number}/{steps}：{label}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_told_in_the_words_that_were_agreed() {
        let (en, zh) = (Language::En, Language::Zh);
        assert_eq!(planned(zh, 0, 3), "规划完成（共 3 个步骤）");
        assert_eq!(planned(zh, 2, 1), "重规划完成（共 1 个步骤）");
        assert_eq!(planned(en, 0, 1), "planning is done (1 step)");
        assert_eq!(planned(en, 1, 3), "planning anew is done (3 steps)");
        assert_eq!(step(zh, 2, 3, "写周报"), "执行步骤 2/3：写周报");
        assert_eq!(step(en, 2, 3, "write"), "step 2/3: write");
    }
}
