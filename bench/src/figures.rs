//! The figures of reports: not a single number, but the median of several rounds with their range.

use std::{fmt, time::Duration};

use serde::Serialize;

/// The median of several rounds, with their minimum and maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The number of rounds.
    pub(crate) rounds: usize,
}

impl Spread {
    /// Computes the spread of some rounds; all zeros when there are none.
    pub(crate) fn of(rounds: impl IntoIterator<Item = f64>) -> Self {
        let mut rounds: Vec<f64> = rounds.into_iter().collect();
        rounds.sort_unstable_by(f64::total_cmp);
        let (Some(min), Some(max)) = (rounds.first(), rounds.last()) else {
            return Self::default();
        };
        let middle = rounds.len() / 2;
        let median = if rounds.len() % 2 == 1 {
            rounds[middle]
        } else {
            f64::midpoint(rounds[middle - 1], rounds[middle])
        };
        Self { median, min: *min, max: *max, rounds: rounds.len() }
    }
}

/// Shows the median, with digits that fit its size, and the range when there are several rounds.
impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", number(self.median))?;
        if self.rounds > 1 {
            write!(f, " [{}..{}]", number(self.min), number(self.max))?;
        }
        Ok(())
    }
}

/// Formats a number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 10.0 => format!("{value:.2}"),
        size if size < 100.0 => format!("{value:.1}"),
        size if size < 10_000.0 => format!("{value:.0}"),
        _ => {
            let digits = format!("{value:.0}");
            let (head, tail) = digits.split_at(digits.len() - 3);
            match head.len() {
                0..=3 => format!("{head},{tail}"),
                long => format!("{},{},{tail}", &head[..long - 3], &head[long - 3..]),
            }
        }
    }
}

/// Returns the duration in milliseconds.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Returns the percentile `share` of the values, by the nearest rank; zero when there are none.
pub(crate) fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index into a short list"
    )]
    let index = (values.len() as f64 * share) as usize;
    values.get(index.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Returns a rate per second.
#[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
pub(crate) fn per_second(count: u64, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// Returns the part of a duration for each of `count` items, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "a number of jobs")]
pub(crate) fn ms_each(time: Duration, count: u64) -> f64 {
    if count == 0 { 0.0 } else { ms(time) / count as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_shows_its_middle_and_its_range() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]).to_string(), "2.00 [1.00..3.00]");
        assert_eq!(Spread::of([1.0, 2.0]).median, 1.5);
        assert_eq!(Spread::of([1234.5]).to_string(), "1234");
        assert_eq!(Spread::of([]), Spread::default());
    }

    #[test]
    fn numbers_have_the_digits_they_deserve() {
        let shown = [0.0, 0.016, 12.34, 345.6, 12_345.6, 1_234_567.0].map(number);
        assert_eq!(shown, ["0", "0.02", "12.3", "346", "12,346", "1,234,567"]);
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let mut values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&mut values, 0.5), 51.0);
        assert_eq!(percentile(&mut values, 0.99), 100.0);
        assert_eq!(percentile(&mut [], 0.5), 0.0);
    }
}
