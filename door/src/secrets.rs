//! The detection of text that looks like a secret. A goal is stored verbatim in a log that is kept,
//! so operators should know.
//!
//! The matching text is never logged, not even in part.

use std::sync::LazyLock;

use regex::RegexSet;

/// Patterns of well-known keys, and of words such as `password` with a value.
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

/// Returns `true` if the text looks like it contains a secret. Errors are possible both ways.
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
