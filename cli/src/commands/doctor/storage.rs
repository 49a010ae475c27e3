//! Findings about disk usage and its limits.

use broker::{inspect::Inspector, log::LogError};
use proto::{lang::Words, subject::Subjects};
use runtime::nats::Nats;

use super::words::Text;
use crate::{connect, render::findings::Finding};

/// A store with a limit of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Store {
    /// The account of this user.
    Account,
    /// The server, over all accounts.
    Server,
}

/// Usage in percent from which a warning is reported.
const TIGHT: u128 = 80;
/// Usage in percent from which a problem is reported.
const FULL: u128 = 95;

/// Reports the usage of the account.
pub(super) async fn account(inspector: &Inspector) -> Finding {
    match inspector.account().await {
        Ok(account) => judged(Store::Account, account.used, account.limit),
        Err(error) => Finding::skipped("storage", error.to_string()),
    }
}

/// Reports whether every shard stores a message.
pub(super) async fn writes(nats: &Nats, subjects: &Subjects) -> Finding {
    let probed = match broker::nats::probe(&nats.into(), subjects).await {
        Ok(probed) => probed,
        Err(error) => return Finding::skipped("writes", connect::refused(&error)),
    };
    let failed: Vec<_> =
        probed.into_iter().filter_map(|(shard, probe)| Some((shard, probe.err()?))).collect();
    let Some((shard, error)) = failed.first() else {
        return Finding::ok("writes", Text::Writes);
    };
    let (failed, shards) = (&failed.len(), &subjects.shards());
    let why = error.words();
    let found = Words::new(|language| {
        Text::WritesFailed { failed, shards, shard, why: &why.text(language) }.text(language)
    });
    match error {
        LogError::Forbidden(_) => Finding::skipped("writes", Text::MayNotWrite),
        LogError::Unwritable(_) | LogError::Full(_) => {
            Finding::bad("writes", found, Text::FreeDisk)
        }
        LogError::Unavailable(_)
        | LogError::Unknown(_)
        | LogError::Lost(_)
        | LogError::TooLarge(_)
        | LogError::Drift(_)
        | LogError::Taken(_)
        | LogError::Invalid(_) => Finding::bad("writes", found, Text::ServerLog),
    }
}

/// Converts a usage and its limit in bytes to a finding.
pub(super) fn judged(store: Store, bytes: u64, limit: Option<u64>) -> Finding {
    const MIB: u64 = 1024 * 1024;
    let check = match store {
        Store::Account => "storage",
        Store::Server => "disk",
    };
    let used = &(bytes / MIB);
    let Some(most) = limit.filter(|limit| *limit > 0) else {
        return Finding::ok(
            check,
            match store {
                Store::Account => Text::AccountStoresUnlimited { used },
                Store::Server => Text::ServerStoresUnlimited { used },
            },
        );
    };
    let (limit, percent) = (&(most / MIB), u128::from(bytes) * 100 / u128::from(most));
    let found = match store {
        Store::Account => Text::AccountStores { used, limit, percent: &percent },
        Store::Server => Text::ServerStores { used, limit, percent: &percent },
    };
    if percent >= FULL {
        Finding::bad(check, found, Text::MakeRoom)
    } else if percent >= TIGHT {
        Finding::warning(check, found, Text::MakeRoom)
    } else {
        Finding::ok(check, found)
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
        assert_eq!(judged(Store::Account, used, limit).grade, is);
    }
}
