//! Tables for a person: aligned, thousands readable, units chosen.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use tagq::Run;

use super::{Answer, PairRow, RunUsed, header};

pub(super) fn answers(answers: &[Answer]) -> String {
    let mut text = String::new();
    for (i, answer) in answers.iter().enumerate() {
        if i > 0 {
            text.push('\n');
        }
        if answers.len() > 1 {
            let _ = writeln!(text, "{}", answer.run.path);
        }
        let _ = writeln!(text, "{}\n", header(answer));
        let _ = writeln!(text, "{}\n", singles(&answer.run));
        let _ = writeln!(text, "{}", pairs(&answer.rows));
    }
    text
}

pub(super) fn info(runs: &[Run], used: &[RunUsed]) -> String {
    let mut text = String::new();
    for (i, (run, used)) in runs.iter().zip(used).enumerate() {
        if i > 0 {
            text.push('\n');
        }
        let manifest = run.store().manifest();
        let tick = manifest.tick;
        let assumed = if manifest.tick_assumed { " (assumed; --tick sets it)" } else { "" };
        let _ = writeln!(text, "run      {}", used.path);
        let _ = writeln!(
            text,
            "store    {} (commit {})",
            run.store().folder().display(),
            manifest.commit
        );
        let _ = writeln!(text, "tags     {}", thousands(used.tags));
        let _ = writeln!(text, "tick     {tick}{assumed}");
        let _ = writeln!(text, "live     {}", tick.format(run.live_ticks()));
        let _ = writeln!(text, "elapsed  {}", tick.format(run.elapsed_ticks()));
        let _ = writeln!(text, "\n{}\n", singles(used));
        let _ = writeln!(text, "{}", sources(run));
        text.push_str(&recorded(run));
    }
    text
}

/// What recorders noted of the sources: settings, which their hardware applied, and differences.
fn recorded(run: &Run) -> String {
    let mut text = String::new();
    let manifest = run.store().manifest();
    for (source, notes) in manifest.sources.iter().zip(run.notes()) {
        let Some(notes) = notes else { continue };
        let _ = write!(text, "\n{}: recorded", source.facts.name);
        if let Some(timestamp) = &notes.timestamp {
            let _ = write!(text, " {timestamp}");
        }
        if let Some(seconds) = notes.duration_s() {
            let _ = write!(text, ", {seconds} s");
        }
        text.push('\n');
        if !notes.description.is_empty() {
            let _ = writeln!(text, "  {}", notes.description);
        }
        for of in &notes.channel_settings {
            let edge = if of.invert == Some(true) { "falling edge" } else { "rising edge" };
            let _ = write!(text, "  channel {}: {edge}", of.channel);
            if let Some(volts) = of.threshold {
                let _ = write!(text, ", threshold {volts} V");
            }
            if let Some(delay) = of.delay {
                let _ = write!(text, ", delay {delay} ticks (applied by the recorder)");
            }
            text.push('\n');
        }
        for difference in notes.differences(source, manifest.tick) {
            let _ = writeln!(text, "  differs: {difference}");
        }
    }
    text
}

fn singles(run: &RunUsed) -> Table {
    let mut table = plain(&["channel", "singles", "rate"], 0);
    for of in &run.channels {
        let rate = if run.live_s > 0.0 { hertz(of.count as f64 / run.live_s) } else { dash() };
        table.add_row([of.channel.to_string(), thousands(of.count), rate]);
    }
    table
}

fn pairs(rows: &[PairRow]) -> Table {
    let head = ["channels", "count", "rate", "accidentals", "CAR", "heralding a", "heralding b"];
    let mut table = plain(&head, 0);
    for row in rows {
        let [a, b] = row.channels;
        let [of_a, of_b] = [0, 1].map(|i| ratio(row.heralding[i], row.heralding_err[i]));
        table.add_row([
            format!("{a},{b}"),
            format!("{} \u{b1} {}", thousands(row.count), two_digits(row.count_err)),
            row.rate_hz
                .zip(row.rate_err_hz)
                .map_or_else(dash, |(rate, err)| rate_with_err(rate, err)),
            row.accidentals.map_or_else(dash, short),
            row.car.zip(row.car_err).map_or_else(dash, |(car, err)| with_err(car, err)),
            of_a,
            of_b,
        ]);
    }
    table
}

fn sources(run: &Run) -> Table {
    let mut table = plain(&["source", "tags", "begins", "live", ""], 1);
    let tick = run.store().manifest().tick;
    for source in &run.store().manifest().sources {
        let span = source.time_first.zip(source.time_last);
        let mut remarks = Vec::new();
        if source.facts.reordered > 0 {
            remarks.push(format!("{} put in order", thousands(source.facts.reordered)));
        }
        if let Some(ticks) = source.facts.rebased {
            remarks.push(format!("moved by {}", tick.format(ticks.into())));
        }
        if !source.facts.checksummed {
            remarks.push("no checksum".to_owned());
        }
        remarks.extend(source.facts.torn.clone());
        table.add_row([
            source.facts.name.clone(),
            thousands(source.rows),
            span.map_or(String::new(), |(first, _)| tick.format(first.into())),
            span.map_or(String::new(), |(first, last)| {
                tick.format(i128::from(last) - i128::from(first))
            }),
            remarks.join(", "),
        ]);
    }
    table
}

/// A table without lines, all columns aligned right but the first `left`.
fn plain(head: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(head.iter().copied());
    for (i, column) in table.column_iter_mut().enumerate() {
        let is_left = i < left || head[i].is_empty();
        column.set_cell_alignment(if is_left { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((if i == 0 { 0 } else { 2 }, 0));
    }
    table
}

/// 1234567 as 1,234,567.
pub(crate) fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// What is not defined.
fn dash() -> String {
    "\u{2013}".to_owned()
}

/// The error with two significant digits, the value up to the same place.
fn with_err(value: f64, err: f64) -> String {
    let places = places(err, 2);
    let shown = |value: f64| {
        if places == 0 && value.abs() < 1e15 {
            let sign = if value <= -0.5 { "-" } else { "" };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "below 1e15"
            )]
            return format!("{sign}{}", thousands(value.abs().round() as u64));
        }
        format!("{value:.places$}")
    };
    format!("{} \u{b1} {}", shown(value), shown(err))
}

fn two_digits(err: f64) -> String {
    format!("{err:.*}", places(err, 2))
}

/// Decimal places that show `digits` significant digits of a value.
fn places(value: f64, digits: i32) -> usize {
    if value == 0.0 || !value.is_finite() {
        return 0;
    }
    #[expect(clippy::cast_possible_truncation, reason = "an exponent")]
    let exponent = value.abs().log10().floor() as i32;
    usize::try_from(digits - 1 - exponent).unwrap_or(0)
}

fn ratio(value: Option<f64>, err: Option<f64>) -> String {
    match value.zip(err) {
        Some((value, err)) => format!("({}) %", with_err(value * 100.0, err * 100.0)),
        None => dash(),
    }
}

fn rate_with_err(rate: f64, err: f64) -> String {
    let (unit, size) = hertz_unit(rate.max(err));
    format!("({}) {unit}", with_err(rate / size, err / size))
}

/// Four significant digits, without exponent where it can be read.
fn short(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e7).contains(&magnitude) {
        return format!("{value:.3e}");
    }
    if magnitude >= 1e3 {
        let sign = if value < 0.0 { "-" } else { "" };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below 1e7")]
        return format!("{sign}{}", thousands(magnitude.round() as u64));
    }
    format!("{value:.*}", places(value, 4))
}

fn hertz(rate: f64) -> String {
    let (unit, size) = hertz_unit(rate);
    format!("{} {unit}", short(rate / size))
}

fn hertz_unit(rate: f64) -> (&'static str, f64) {
    let units = [("GHz", 1e9), ("MHz", 1e6), ("kHz", 1e3)];
    units.into_iter().find(|&(_, size)| rate.abs() >= size).unwrap_or(("Hz", 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_short() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(999), "999");
        assert_eq!(short(94.645_1), "94.65");
        assert_eq!(short(0.012_345), "0.01235");
        assert_eq!(short(-12_345.6), "-12,346");
        assert_eq!(short(1e-9), "1.000e-9");
        assert_eq!(hertz(96_277.2), "96.28 kHz");
        assert_eq!(with_err(8_769.4, 197.3), "8,769 \u{b1} 197");
        assert_eq!(with_err(-0.355_5, 0.082_5), "-0.355 \u{b1} 0.083");
        assert_eq!(with_err(-2_000.0, 100.0), "-2,000 \u{b1} 100");
        assert_eq!(ratio(Some(0.410_94), Some(0.009_245)), "(41.09 \u{b1} 0.92) %");
        assert_eq!(rate_with_err(4_941.3, 111.2), "(4.94 \u{b1} 0.11) kHz");
        assert_eq!(rate_with_err(0.0, 2.5), "(0.0 \u{b1} 2.5) Hz");
    }
}
