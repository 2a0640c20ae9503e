//! Facts about a measurement, and units, from the header of any of PicoQuant's formats.

use tagq_store::Tick;

use super::tags::HeaderFault;

/// Returns the number that a double of a header stands for: [`tagq_store::of_single`], or the double as earlier
/// versions took it.
pub(super) type Meaning = fn(f64) -> f64;

/// Returns a divider of the sync above one. The numbers of pulses count all of them all the same.
pub(super) fn sync_divider(divider: i64) -> Option<String> {
    (divider > 1).then(|| format!("{divider} (pulse numbers count all pulses)"))
}

/// Returns the unit of times of this decimal number of seconds.
pub(super) fn tick(seconds: &str) -> Result<Tick, HeaderFault> {
    Tick::of_decimal(seconds).map_err(|_| {
        HeaderFault::Damaged(format!("a resolution of {seconds} s cannot be the unit of times"))
    })
}

/// The fault of a T3 file without the period of its pulses.
pub(super) fn no_sync(rate: impl std::fmt::Display) -> HeaderFault {
    let kind = format!(
        "a T3 file whose header has a sync rate of {rate} Hz, so the times of its pulses are not known"
    );
    HeaderFault::Refused(kind, "record it again with the sync connected, or in T2 mode")
}

/// Whether `period` is what a program stored of the period of this rate in hertz.
pub(super) fn is_period(period: f64, rate: i64, meant: Meaning) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "compared with what a program rounded")]
    let exact = 1.0 / rate as f64;
    #[expect(clippy::cast_possible_truncation, reason = "as a program rounded it")]
    let single = f64::from(exact as f32);
    let is_stored = |rounded: f64| period.to_bits() == rounded.to_bits();
    is_stored(exact) || is_stored(single) && !is_stored(meant(period))
}

/// Facts about a measurement for readers.
#[derive(Default)]
pub(super) struct Facts(pub Vec<(String, String)>);

impl Facts {
    pub(super) fn add(&mut self, what: &str, value: Option<impl Into<String>>) {
        self.0.extend(value.map(|value| (what.to_owned(), value.into())));
    }
}

pub(super) fn milliseconds(value: i64) -> String {
    format!("{}.{:03} s", value / 1_000, value.unsigned_abs() % 1_000)
}
