//! The numbers of jobs over time.

use std::collections::VecDeque;

use jiff::Timestamp;
use proto::door::Counted;

/// Number of samples that are kept.
const SAMPLES_MAX: usize = 240;

/// Samples of the numbers of jobs, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Pulse {
    samples: VecDeque<(Timestamp, Counted)>,
}

impl Pulse {
    /// Takes a sample.
    pub fn take(&mut self, at: Timestamp, counted: Counted) {
        if self.samples.len() == SAMPLES_MAX {
            self.samples.pop_front();
        }
        self.samples.push_back((at, counted));
    }

    /// The last sample.
    #[must_use]
    pub fn last(&self) -> Option<Counted> {
        self.samples.back().map(|(_, counted)| *counted)
    }

    /// The number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// `true` before the first sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The growth of a number between samples, oldest first. A number that a purge lowers counts as
    /// no growth.
    #[must_use]
    pub fn growth(&self, of: impl Fn(&Counted) -> u64) -> Vec<u64> {
        let numbers: Vec<u64> = self.samples.iter().map(|(_, counted)| of(counted)).collect();
        numbers.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }

    /// A number in each sample, oldest first.
    #[must_use]
    pub fn values(&self, of: impl Fn(&Counted) -> u64) -> Vec<u64> {
        self.samples.iter().map(|(_, counted)| of(counted)).collect()
    }

    /// The growth of a number per minute, over all samples.
    #[must_use]
    pub fn per_minute(&self, of: impl Fn(&Counted) -> u64) -> u64 {
        let (Some((first, _)), Some((last, _))) = (self.samples.front(), self.samples.back())
        else {
            return 0;
        };
        let ms = u64::try_from(last.duration_since(*first).as_millis()).unwrap_or_default();
        let grown: u64 = self.growth(of).iter().sum();
        grown.saturating_mul(60_000).checked_div(ms).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_counted_between_samples_and_a_purge_is_no_growth() {
        let mut pulse = Pulse::default();
        assert_eq!(pulse.per_minute(|c| c.completed), 0);
        for (second, completed) in [(0, 5), (2, 7), (4, 1), (6, 3)] {
            let at = Timestamp::from_second(second).unwrap();
            pulse.take(at, Counted { completed, ..Counted::default() });
        }
        assert_eq!(pulse.growth(|c| c.completed), [2, 0, 2]);
        assert_eq!(pulse.values(|c| c.completed), [5, 7, 1, 3]);
        assert_eq!(pulse.per_minute(|c| c.completed), 40);
        for second in 10..400 {
            pulse.take(Timestamp::from_second(second).unwrap(), Counted::default());
        }
        assert_eq!(pulse.len(), SAMPLES_MAX);
    }
}
