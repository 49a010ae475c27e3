//! Notices text that looks as if a secret was pasted into it. A goal is stored as it was given, in
//! a log that is kept, so the operator should know.
//!
//! It must never show what it found, not even in part.

use std::sync::LazyLock;

use regex::RegexSet;

/// What is looked for: the forms that well-known keys have, and words for them with a value.
static FORMS: LazyLock<RegexSet> = LazyLock::new(|| {
    RegexSet::new([
        r"\bsk-[A-Za-z0-9_-]{16,}",
        r"\b(ghp|gho|ghu|ghs|ghr|glpat|xox[abprs])[-_][A-Za-z0-9_-]{10,}",
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\b(AKIA|ASIA)[0-9A-Z]{16}\b",
        r"\bAIza[0-9A-Za-z_-]{30,}",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
        r"\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.",
        r"(?i)\b(password|passwd|secret|token|api[_-]?key)\s*[:=]\s*\S{6,}",
        r"(?i)\bbearer\s+[A-Za-z0-9._~+/-]{16,}",
    ])
    .expect("the patterns above are valid")
});

/// Whether a text looks as if it holds a secret. May err either way.
pub(super) fn looks_like_one(text: &str) -> bool {
    FORMS.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pasted_keys_are_noticed_and_plain_words_are_not() {
        for secret in [
            "use sk-proj-abcdefghijklmnop1234 to call it",
            "token: ghp_abcdefghijklmnopqrstuvwxyz012345",
            "AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN RSA PRIVATE KEY-----",
            "password = hunter22",
            "Authorization: Bearer abcdefghijklmnop.qrstuv",
        ] {
            assert!(looks_like_one(secret), "{secret}");
        }
        for plain in
            ["reset the password of task 62", "write a token ring essay", "先标记任务 ID:62 完成"]
        {
            assert!(!looks_like_one(plain), "{plain}");
        }
    }
}
