//! The notes that accidentals by formula are wrong for pulsed light, and for times that are recorded in steps.
//!
//! For a period of 12.5 ns and a full width of 20 ns the note gives a shift of 25 ns: the smallest multiple of the
//! period that is not shorter than the full width, because a shorter shift would count true pairs. A full width of more
//! than ten periods has no note.

use tagq_run::Run;
use tagq_store::Tick;

use super::{find::Pulses, resolution::Resolution, sample::Effort};

/// Over this many periods pulses are nearly even.
const EVEN: f64 = 10.0;

/// Returns the pulses of the light on two channels; `None` if it is steady.
///
/// Reads a bounded sample of the run.
pub(crate) fn of_run(run: &Run, channels: [u16; 2]) -> Option<Pulses> {
    let tick_s = run.store().manifest().tick.seconds();
    let any = (0, f64::INFINITY);
    let find =
        || run.count(|recording| Ok(Pulses::find(recording, channels, tick_s, any, Effort::Small)));
    run.memo().get(&channels, find).ok().flatten()
}

impl Pulses {
    /// Advises on formula accidentals; `None` if a full width of `full_width` ticks holds many pulses. `aside` says what is
    /// outside of the window, and the options that move it there.
    pub(crate) fn note(
        &self,
        full_width: i128,
        tick_s: f64,
        aside: Option<[String; 2]>,
    ) -> Option<String> {
        let periods = full_width as f64 / self.period;
        if periods > EVEN {
            return None;
        }
        // A shift below the full width would count true pairs.
        let multiple = periods.ceil().max(1.0);
        let seconds = |periods: f64| self.in_seconds(periods, tick_s);
        let [outside, options] = aside
            .map_or_else(Default::default, |[what, by]| [format!(", {what}"), format!("{by} ")]);
        Some(format!(
            "the light is pulsed, period {}{outside}, and accidentals by formula are those of steady light; measure them \
             with {options}`accidentals` shifted `shift` {}",
            seconds(1.0),
            seconds(multiple).replace(' ', "")
        ))
    }

    /// Returns how far the pulse next to zero is from it, in ticks, if it is far from the middle of a window: further than the
    /// sixteenth part of a period. The delays of the channels move pulses by `moved` ticks.
    pub(crate) fn aside(&self, moved: f64) -> Option<f64> {
        let turns = self.phase + moved / self.period;
        let aside = (turns - turns.round()) * self.period;
        (aside.abs() > self.period / 16.0).then_some(aside)
    }
}

/// Advises on another window if the times of two channels are recorded in steps, `apart` ticks from the multiples of a
/// step by their delays: |Δ| ≤ `window` holds whole steps, whose width is not that of the window. `matters` tells whether a
/// share of more pairs by chance does.
///
/// Reads a bounded sample of the run.
pub(crate) fn steps_note(
    run: &Run,
    channels: [u16; 2],
    (window, apart): (i64, i64),
    matters: impl Fn(f64) -> bool,
) -> Option<String> {
    let found = Resolution::of(run, channels)?;
    let step = found.step;
    let (window, apart) = (window as f64, apart as f64 + found.phase);
    let steps = ((window - apart) / step).floor() - ((-window - apart) / step).ceil() + 1.0;
    let excess = steps * step / (2.0 * window + 1.0) - 1.0;
    if steps < 1.0 || !matters(excess.abs()) {
        return None;
    }
    let tick = run.store().manifest().tick;
    #[expect(clippy::cast_possible_truncation, reason = "about as long as the window")]
    let same = ((steps * step - 1.0) / 2.0).round() as i64;
    Some(format!(
        "times are recorded in steps of {}, and the window holds {steps} of them; accidentals by formula are those of its \
         width; `window` {} counts the same pairs, and is as wide as these steps",
        found.format(tick),
        tick.format_paste(same)
    ))
}

impl Resolution {
    /// Returns the steps of the times of two channels of a run; `None` if they are in ticks.
    pub(crate) fn of(run: &Run, channels: [u16; 2]) -> Option<Self> {
        let find = || run.count(|recording| Ok(Self::find(recording, channels)));
        run.memo().get(&channels, find).ok().flatten()
    }

    /// Formats a step with its unit.
    pub(crate) fn format(&self, tick: Tick) -> String {
        if self.step_err > 0.0 {
            return in_words(self.step * tick.seconds(), self.step_err * tick.seconds());
        }
        #[expect(clippy::cast_possible_truncation, reason = "whole ticks")]
        let ticks = self.step as i128;
        tick.format(ticks)
    }
}

impl Pulses {
    /// Formats the time of so many periods, with the digits that are known.
    pub(crate) fn in_seconds(&self, periods: f64, tick_s: f64) -> String {
        in_words(periods * self.period * tick_s, periods * self.period_err * tick_s)
    }
}

/// Formats a time with the digits that its error justifies, at least four.
pub(crate) fn in_words(value: f64, err: f64) -> String {
    let units = [("s", 1.0), ("ms", 1e-3), ("us", 1e-6)];
    let unit = units.into_iter().find(|&(_, size)| value.abs() >= size).unwrap_or(("ns", 1e-9));
    let digits =
        libm::log10(value.abs() / err.abs().max(value.abs() * 1e-9)).floor().clamp(3.0, 9.0);
    let places = digits - libm::log10(value.abs() / unit.1).floor();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 9")]
    let places = places.clamp(0.0, 9.0) as usize;
    format!("{:.places$} {}", value / unit.1, unit.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_the_digits_that_are_known() {
        assert_eq!(in_words(12.539_077e-9, 1e-14), "12.53908 ns");
        assert_eq!(in_words(12.539_077e-9, 1e-9), "12.54 ns");
        assert_eq!(in_words(1e-3, 0.0), "1.000000000 ms");
        assert_eq!(in_words(25.078e-9, 2e-13), "25.0780 ns");
        assert_eq!(in_words(0.6e-9, 1e-14), "0.60000 ns");
    }
}
