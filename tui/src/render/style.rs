//! The style of output: width, colour, times. Determined once and passed to all rendering, which
//! accesses neither terminal nor clock.

use anstyle::AnsiColor;
use jiff::{Timestamp, tz::TimeZone};
use proto::{
    escape,
    lang::{Language, Words},
};

use super::words::Text;

/// How times are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Times {
    /// How long ago.
    #[default]
    Relative,
    /// The date and time, in UTC.
    Iso,
}

/// The meaning of a text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// No emphasis.
    Plain,
    /// A heading.
    Strong,
    /// Of minor importance.
    Dim,
    /// A success.
    Good,
    /// Work in progress.
    Busy,
    /// A wait for a person.
    Wait,
    /// A failure.
    Bad,
}

impl Tone {
    fn escapes(self) -> anstyle::Style {
        let fg = |color: AnsiColor| anstyle::Style::new().fg_color(Some(color.into()));
        match self {
            Self::Plain => anstyle::Style::new(),
            Self::Strong => anstyle::Style::new().bold(),
            Self::Dim => anstyle::Style::new().dimmed(),
            Self::Good => fg(AnsiColor::Green),
            Self::Busy => fg(AnsiColor::Cyan),
            Self::Wait => fg(AnsiColor::Yellow),
            Self::Bad => fg(AnsiColor::Red),
        }
    }
}

/// The style of output.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// Columns of the output; absent for unlimited lines.
    pub width: Option<usize>,
    /// `true` if colours are used.
    pub color: bool,
    /// Format of times.
    pub times: Times,
    /// The current time, for relative times.
    pub now: Timestamp,
    /// Language of texts for the user.
    pub language: Language,
}

impl Style {
    /// Returns a text in the user's language.
    #[must_use]
    pub fn say(&self, text: impl Into<Words>) -> String {
        text.into().text(self.language).to_owned()
    }

    /// Returns the suffix that names the number of an attempt.
    #[must_use]
    pub fn try_number(&self, number: u32) -> String {
        self.say(Text::TryNumber { number: &number })
    }

    /// Returns the suffix that names a person; `who` is escaped.
    #[must_use]
    pub fn by(&self, who: &str) -> String {
        self.say(Text::By { who: &escape::line(who) })
    }

    /// Colours a text, if colours are used.
    #[must_use]
    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.color || tone == Tone::Plain || text.is_empty() {
            return text.to_owned();
        }
        let style = tone.escapes();
        format!("{style}{text}{style:#}")
    }

    /// Width of wrapped texts: the terminal's, or 100.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.width.unwrap_or(100)
    }

    /// Formats a time in the configured format.
    #[must_use]
    pub fn time(&self, at: Timestamp) -> String {
        match self.times {
            Times::Relative => self.relative(at),
            Times::Iso => at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        }
    }

    /// Formats a time relative to now.
    fn relative(&self, at: Timestamp) -> String {
        let seconds = self.now.duration_since(at).as_secs();
        let time = self.rough(seconds.unsigned_abs());
        self.say(match seconds {
            -1..=1 => Text::Now,
            2.. => Text::Ago { time: &time },
            _ => Text::Later { time: &time },
        })
    }

    fn rough(&self, seconds: u64) -> String {
        match seconds {
            0..60 => self.say(Text::Seconds { count: &seconds }),
            60..3_600 => self.say(Text::Minutes { count: &(seconds / 60) }),
            3_600..86_400 => self.say(Text::Hours { count: &(seconds / 3_600) }),
            _ => self.say(Text::Days { count: &(seconds / 86_400) }),
        }
    }

    /// Formats a time of day, for logs.
    #[must_use]
    pub fn clock(&self, at: Timestamp) -> String {
        match self.times {
            Times::Relative => at.to_zoned(TimeZone::UTC).strftime("%H:%M:%S%.3f").to_string(),
            Times::Iso => at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        }
    }

    /// Creates a style without colours at a fixed time, for tests.
    #[must_use]
    pub fn plain(width: Option<usize>) -> Self {
        // 2026-11-21T10:00:00Z.
        let now = Timestamp::from_second(1_795_255_200).unwrap_or_default();
        Self { width, color: false, times: Times::Relative, now, language: Language::En }
    }
}

/// Formats a duration.
#[must_use]
pub fn lasted(from: Timestamp, to: Timestamp) -> String {
    let ms = to.duration_since(from).as_millis().max(0);
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..10_000 => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
        10_000..60_000 => format!("{}s", ms / 1_000),
        60_000..3_600_000 => format!("{}m{:02}s", ms / 60_000, ms % 60_000 / 1_000),
        _ => format!("{}h{:02}m", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_people_say_them() {
        let at = |s: &str| s.parse::<Timestamp>().unwrap();
        let style = Style::plain(None);
        for (time, shown) in [
            ("2026-11-21T09:59:59.5Z", "now"),
            ("2026-11-21T09:59:30Z", "30s ago"),
            ("2026-11-21T09:00:00Z", "1h ago"),
            ("2026-11-18T09:00:00Z", "3d ago"),
            ("2026-11-21T10:05:00Z", "in 5m"),
        ] {
            assert_eq!(style.time(at(time)), shown);
        }
        let chinese = Style { language: Language::Zh, ..style };
        assert_eq!(chinese.time(at("2026-11-21T09:58:00Z")), "2 分钟前");
        assert_eq!(chinese.time(at("2026-11-21T11:00:00Z")), "1 小时后");
        let from = at("2026-11-21T10:00:00Z");
        for (to, shown) in [
            ("2026-11-21T09:59:59Z", "0ms"),
            ("2026-11-21T10:00:00.250Z", "250ms"),
            ("2026-11-21T10:00:02.34Z", "2.3s"),
            ("2026-11-21T10:01:05Z", "1m05s"),
            ("2026-11-21T12:01:05Z", "2h01m"),
        ] {
            assert_eq!(lasted(from, at(to)), shown);
        }
    }
}
