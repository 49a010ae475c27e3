//! Ownership of shards by rendezvous hashing. Every supervisor computes the same owner from the
//! same set of live supervisors, and a change of the set moves few shards. Ownership is a hint for
//! balance and warm caches; correctness does not depend on it.

use std::collections::BTreeSet;

use proto::id::{Shard, WorkerId};

/// Returns the live supervisor that should own a shard, or `None` without live supervisors.
///
/// Capacity is bounded: no supervisor owns more than an equal share, rounded up. Plain rendezvous
/// hashing could leave a supervisor without shards when there are few.
#[must_use]
pub fn owner_of(shard: Shard, shards: u16, live: &BTreeSet<WorkerId>) -> Option<WorkerId> {
    let share = usize::from(shards).div_ceil(live.len().max(1));
    let mut given: std::collections::BTreeMap<&WorkerId, usize> = std::collections::BTreeMap::new();
    let mut owner = None;
    for at in (0..=shard.0).map(Shard) {
        let has_room = |w: &&WorkerId| given.get(*w).copied().unwrap_or(0) < share;
        owner = live.iter().filter(has_room).max_by_key(|worker| (weight(at, worker), *worker));
        if let Some(worker) = owner {
            *given.entry(worker).or_default() += 1;
        }
    }
    owner.cloned()
}

/// Returns FNV-1a of the worker and the shard with a finishing mix, which gives neighbouring shards
/// unrelated weights.
fn weight(shard: Shard, worker: &WorkerId) -> u64 {
    let bytes = worker.as_str().bytes().chain(shard.0.to_be_bytes());
    let mut h = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    h = (h ^ (h >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    h = (h ^ (h >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    h ^ (h >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(names: &[&str]) -> BTreeSet<WorkerId> {
        names.iter().map(|n| WorkerId::new(n).unwrap()).collect()
    }

    fn owners(names: &[&str], shards: u16) -> Vec<String> {
        let live = live(names);
        (0..shards).map(|s| owner_of(Shard(s), shards, &live).unwrap().to_string()).collect()
    }

    #[test]
    fn every_shard_has_one_owner_and_shares_are_even() {
        for (names, shards) in
            [(vec!["a", "b"], 8), (vec!["a", "b", "c"], 8), (vec!["x1", "x2", "x3", "x4"], 16)]
        {
            let owners = owners(&names, shards);
            for name in &names {
                let owned = owners.iter().filter(|o| o == name).count();
                let share = usize::from(shards).div_ceil(names.len());
                assert!(
                    (share - 1..=share).contains(&owned) || owned + 1 == share,
                    "{name}: {owners:?}"
                );
            }
        }
    }

    #[test]
    fn a_supervisor_that_leaves_takes_little_else_with_it() {
        let before = owners(&["a", "b", "c", "d"], 32);
        let after = owners(&["a", "b", "c"], 32);
        let moved = before.iter().zip(&after).filter(|(b, a)| *b != "d" && b != a).count();
        assert!(moved <= 8, "{moved} shards moved that need not");
    }

    #[test]
    fn alone_one_owns_all_and_without_any_nobody_does() {
        assert_eq!(owners(&["a"], 8), vec!["a"; 8]);
        assert_eq!(owner_of(Shard(0), 8, &BTreeSet::new()), None);
    }
}
