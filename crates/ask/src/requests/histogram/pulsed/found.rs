//! g2 of each peak, from areas or from heights, and the rows, words and figure of an answer.
//!
//! With blocks the error comes from g2 without each of them, and that of one pair is added: blocks of a peak with few
//! pairs hardly differ. If the heights of overlapping peaks cannot be told, all rows are without g2, also those of side
//! peaks.

use std::sync::Arc;

use tagq_query::{Binned, covariance};
use tagq_store::Tick;

use super::{
    Peaks, PeaksUsed,
    areas::PeakValue,
    in_seconds,
    layout::SectionBins,
    overlap::{Overlap, PeakCounts},
};
use crate::{
    cells::Cells,
    error::Error,
    figure::FigureKind,
    requests::{
        columns::{DelayCells, MIDDLE},
        context::QueryContext,
        histogram::counts::{HistogramBlock, HistogramCounts},
    },
    table::{Column, Table, Unit},
};

/// g2 of each peak.
pub(in super::super) struct FoundPeaks {
    values: Vec<PeakValue>,
    overlap: Overlap,
}

impl Peaks {
    /// Returns g2 of each peak, with errors by formula or from blocks.
    ///
    /// # Errors
    /// After cancellation, which ends fits.
    pub(in super::super) fn found(
        &self,
        tallied: &HistogramCounts,
        is_elsewhere: bool,
        context: &QueryContext<'_>,
    ) -> Result<FoundPeaks, Error> {
        let HistogramCounts { binned, expected, blocks, .. } = tallied;
        let none = vec![None; binned.counts.len()];
        let expected = expected.as_deref().unwrap_or(&none);
        let counts: Vec<f64> = binned.counts.iter().map(|&count| count as f64).collect();
        let counted = PeakCounts { bins: &binned.bins, counts: &counts, expected };
        let areas = self.apart(&counts, expected, blocks);
        let overlap = self.overlap(&counted, blocks, &areas, &|| context.progress.is_cancelled());
        context.progress.check()?;
        let values = match &overlap {
            Overlap::None(_) => areas,
            Overlap::Fitted(heights) => heights.values.clone(),
            Overlap::Undetermined { .. } => vec![PeakValue::default(); self.count()],
        };
        match &overlap {
            Overlap::Fitted(heights) if heights.is_off() => context.progress.note(
                "the peaks do not quite have the shape that was fitted to them, so that errors of g2 may be too small",
            ),
            Overlap::Undetermined { why, .. } => {
                context.progress.note(&format!("g2(0) is not determined: {why}"));
            }
            _ => {}
        }
        // The one low peak is no bunching of the others.
        if !is_elsewhere {
            let (counts, expected) = (self.by_section(&counts), self.expected_by_section(expected));
            self.note_bunching(&counts, &expected, context);
        }
        Ok(FoundPeaks { values, overlap })
    }

    /// Returns g2 of each peak, if they do not overlap.
    fn apart(
        &self,
        counts: &[f64],
        expected: &[Option<f64>],
        blocks: &[HistogramBlock],
    ) -> Vec<PeakValue> {
        let by_section = |counts: &[f64], expected: &[Option<f64>]| {
            self.areas(&self.by_section(counts), &self.expected_by_section(expected))
        };
        let mut values = by_section(counts, expected);
        let without = |block: &HistogramBlock| {
            let left = counts.iter().zip(&block.counts);
            let left: Vec<f64> = left.map(|(all, of)| all - *of as f64).collect();
            Some(by_section(&left, block.expected_without.as_deref()?))
        };
        let left_out: Vec<Vec<PeakValue>> = blocks.iter().filter_map(without).collect();
        if left_out.is_empty() {
            return values;
        }
        for (peak, value) in values.iter_mut().enumerate() {
            let of: Option<Vec<f64>> = left_out.iter().map(|of| of[peak].value).collect();
            let err = of.filter(|of| of.len() > 1).map(|of| covariance(&of, &of));
            // As by formula, a count stands for one more.
            let err = err.map(|variance| (variance + value.of_pair).sqrt());
            value.err = err.or(value.err);
        }
        values
    }

    /// Returns a row for each peak.
    pub(in super::super) fn rows(self, binned: &Binned, found: FoundPeaks, tick: Tick) -> Table {
        let rows = self.count();
        let bins = Arc::new(self.section_bins(&binned.bins));
        let values = Arc::new(found.values);
        let of_peak = |peak: usize| -> u64 {
            binned.counts[SectionBins::of(&self).section(Self::section(peak))].iter().sum()
        };
        let counts: Arc<Vec<u64>> = Arc::new((0..rows).map(of_peak).collect());
        let cells = |of: fn(PeakValue) -> Option<f64>| {
            let values = Arc::clone(&values);
            Cells::made(rows, move |peak| of(values[peak]))
        };
        let DelayCells { low, width, middle } = DelayCells::of(rows, &bins, Self::section, tick);
        let times = self.times();
        let err = {
            let counts = Arc::clone(&counts);
            move |peak| {
                let times = if self.number(peak) == 0 { times } else { 1.0 };
                Some((times * counts[peak].max(1) as f64).sqrt())
            }
        };
        let table = Table::default()
            .with(Column::integers("peak", Cells::made(rows, move |peak| self.number(peak))).key())
            .with(Column::integers("first_tick", low).heading("from (ticks)").if_room(1))
            .with(Column::integers("width_ticks", width).heading("ticks").hidden())
            .with(
                Column::floats("delay_s", middle)
                    .heading("delay")
                    .about(MIDDLE)
                    .unit(Unit::Seconds),
            )
            .with(
                Column::counts("count", Cells::made(rows, move |peak| counts[peak]))
                    .err("count_err")
                    .compared(),
            )
            .with(Column::floats("count_err", Cells::made(rows, err)).hidden())
            .with(Column::floats("background", cells(|of| of.background)).if_room(1))
            .with(Column::floats("g2", cells(|of| of.value)).err("g2_err"))
            .with(Column::floats("g2_err", cells(|of| of.err)).hidden())
            .with(
                Column::flags("side", Cells::made(rows, move |peak| self.is_side(peak))).hidden(),
            );
        if values.iter().any(|of| of.limit.is_some()) {
            return table.with(
                Column::floats("g2_max", cells(|of| of.limit)).heading("g2 (95 %) <").if_room(0),
            );
        }
        table
    }

    /// Returns the peaks as the answer states them.
    pub(in super::super) fn used(&self, found: &FoundPeaks, tick: Tick) -> PeaksUsed {
        let (method, valley, shape) = match &found.overlap {
            Overlap::None(valley) => ("areas", *valley, None),
            Overlap::Fitted(heights) => ("fit", Some(heights.valley), Some(heights.shape(tick))),
            Overlap::Undetermined { valley, .. } => ("none", Some(*valley), None),
        };
        PeaksUsed {
            period_ticks: self.period,
            period_err_ticks: self.period_err,
            period_s: self.period * tick.seconds(),
            peak_ticks: self.width,
            sides: self.sides,
            skip: self.skip,
            method,
            reference_s: self.reference().map(|time| time * tick.seconds()),
            valley,
            shape,
        }
    }
}

impl FoundPeaks {
    /// Returns the text of g2(0).
    pub(in super::super) fn words(&self, peaks: &Peaks, tick: Tick) -> String {
        let zero = self.values[self.values.len() / 2];
        let text = match (zero.value, zero.err, zero.limit) {
            (Some(_), _, Some(limit)) => format!("g2(0) < {limit:.4} (95 %)"),
            (Some(value), Some(err), None) => format!("g2(0) = {value:.4} \u{b1} {err:.4}"),
            (Some(value), None, None) => format!("g2(0) = {value:.4}"),
            (None, ..) => {
                return match &self.overlap {
                    Overlap::Undetermined { .. } => {
                        "g2(0) is not determined".into()
                    }
                    _ if zero.background.is_none() => {
                        "g2(0) is not defined: no pairs are expected there".into()
                    }
                    _ => "g2(0) is not defined: the side peaks do not exceed what is between them; are the peaks at \
                          multiples of the period?"
                        .into(),
                };
            }
        };
        let how = match &self.overlap {
            Overlap::Fitted(heights) => {
                let times = heights.of_shape().filter(|of| of.name.starts_with("tau"));
                let times: Vec<String> = times
                    .map(|of| in_seconds(of.value, of.err.unwrap_or(of.value / 1e3), tick))
                    .collect();
                let digits = usize::from(heights.valley < 0.01);
                format!(
                    "by a fit of all peaks, lifetime {}, which fall to {:.digits$} % between each other",
                    times.join(" and "),
                    100.0 * heights.valley
                )
            }
            _ => "from areas".into(),
        };
        let [from, to] =
            peaks.reference().map(|time| in_seconds(time, peaks.period_err.max(1.0), tick));
        format!("{text} ({how}; relative to the peaks at {from} to {to})")
    }

    /// Returns the figure of the peaks over the histogram of all differences. `low_peak` has the ends of one that is not at zero.
    pub(in super::super) fn figure(
        &self,
        title: String,
        all: &Binned,
        unit: Tick,
        low_peak: Option<[i64; 2]>,
    ) -> FigureKind {
        let curve = match &self.overlap {
            Overlap::Fitted(heights) => Some(heights.fitted_counts().to_vec()),
            _ => None,
        };
        FigureKind::Peaks {
            title,
            unit,
            edges: (0..=all.bins.count()).map(|bin| all.bins.edge(bin)).collect(),
            counts: all.counts.clone(),
            curve,
            low_peak,
        }
    }
}
