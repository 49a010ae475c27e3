//! Findings about disk usage and its limits.

use broker::{inspect::Inspector, log::LogError};
use proto::subject::Subjects;
use runtime::nats::Nats;

use crate::render::findings::Finding;

/// Usage in percent from which a warning is reported.
const TIGHT: u128 = 80;
/// Usage in percent from which a problem is reported.
const FULL: u128 = 95;

/// Reports the usage of the account.
pub(super) async fn account(inspector: &Inspector) -> Finding {
    match inspector.account().await {
        Ok(account) => judged("storage", "this account", account.used, account.limit),
        Err(error) => Finding::skipped("storage", error.to_string()),
    }
}

/// Reports whether every shard stores a message.
pub(super) async fn writes(nats: &Nats, subjects: &Subjects) -> Finding {
    let probed = match broker::nats::probe(&nats.into(), subjects).await {
        Ok(probed) => probed,
        Err(error) => return Finding::skipped("writes", error.to_string()),
    };
    let failed: Vec<_> =
        probed.into_iter().filter_map(|(shard, probe)| Some((shard, probe.err()?))).collect();
    let Some((shard, error)) = failed.first() else {
        return Finding::ok("writes", "every shard stores a message");
    };
    let found = format!("{} of {} shards: shard {shard}: {error}", failed.len(), subjects.shards());
    match error {
        LogError::Forbidden(_) => Finding::skipped(
            "writes",
            "this user may not write; the readiness of the supervisors says whether they can",
        ),
        LogError::Unwritable(_) | LogError::Full(_) => Finding::bad(
            "writes",
            found,
            "free disk space, then restart nats-server: it keeps the error of a full disk until then",
        ),
        LogError::Unavailable(_)
        | LogError::Unknown(_)
        | LogError::Lost(_)
        | LogError::TooLarge(_)
        | LogError::Drift(_)
        | LogError::Taken(_)
        | LogError::Invalid(_) => Finding::bad("writes", found, "look at the log of nats-server"),
    }
}

/// Converts a usage and its limit in bytes to a finding.
pub(super) fn judged(check: &'static str, who: &str, used: u64, limit: Option<u64>) -> Finding {
    let mib = |bytes: u64| format!("{} MiB", bytes / (1024 * 1024));
    let Some(limit) = limit.filter(|limit| *limit > 0) else {
        let words = format!("{who} stores {}, without a limit of its own", mib(used));
        return Finding::ok(check, words);
    };
    let percent = u128::from(used) * 100 / u128::from(limit);
    let words = format!("{who} stores {} of {} ({percent} %)", mib(used), mib(limit));
    let advice = "raise max_file in nats-server's configuration, add disk, or remove logs of ended jobs; at the limit writes are refused and jobs wait; nothing is lost";
    if percent >= FULL {
        Finding::bad(check, words, advice)
    } else if percent >= TIGHT {
        Finding::warning(check, words, advice)
    } else {
        Finding::ok(check, words)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::render::findings::Grade;

    #[rstest]
    #[case(79, Some(100), Grade::Ok)]
    #[case(80, Some(100), Grade::Warning)]
    #[case(95, Some(100), Grade::Bad)]
    #[case(u64::MAX, Some(u64::MAX), Grade::Bad)]
    #[case(7, None, Grade::Ok)]
    fn room_is_judged_by_its_part(
        #[case] used: u64,
        #[case] limit: Option<u64>,
        #[case] is: Grade,
    ) {
        assert_eq!(judged("storage", "it", used, limit).grade, is);
    }
}
