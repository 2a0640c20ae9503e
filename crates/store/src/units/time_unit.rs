//! Units of columns of times that are not ticks, such as `time_ns`.

use std::str::FromStr;

use num_rational::Ratio;

use super::{decimal::ATTOSECONDS_PER_SECOND, tick::Tick};

/// The unit of a column of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Picoseconds.
    Ps,
    /// Nanoseconds.
    Ns,
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// Seconds.
    S,
}

impl TimeUnit {
    const ALL: [Self; 5] = [Self::Ps, Self::Ns, Self::Us, Self::Ms, Self::S];

    /// Returns the name of a column of times in this unit.
    pub fn column(self) -> &'static str {
        match self {
            Self::Ps => "time_ps",
            Self::Ns => "time_ns",
            Self::Us => "time_us",
            Self::Ms => "time_ms",
            Self::S => "time_s",
        }
    }

    /// Returns the unit symbol that follows a number.
    pub fn name(self) -> &'static str {
        &self.column()["time_".len()..]
    }

    /// Returns the length of the unit.
    pub fn length(self) -> Tick {
        let per_second = match self {
            Self::Ps => 1_000_000_000_000,
            Self::Ns => 1_000_000_000,
            Self::Us => 1_000_000,
            Self::Ms => 1_000,
            Self::S => 1,
        };
        Tick(Ratio::from_integer(ATTOSECONDS_PER_SECOND / per_second))
    }
}

impl FromStr for TimeUnit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|unit| unit.name() == text)
            .ok_or_else(|| format!("`{text}` is no unit of times; they are ps, ns, us, ms, s"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_have_their_lengths() {
        for unit in TimeUnit::ALL {
            assert_eq!(unit.name().parse(), Ok(unit));
            assert_eq!(Ok(unit.length()), format!("1{}", unit.name()).parse());
        }
        assert!("min".parse::<TimeUnit>().unwrap_err().contains("ps, ns, us, ms, s"));
    }
}
