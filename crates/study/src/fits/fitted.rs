//! The fits of the series of an answer, as rows and as they are drawn.
//!
//! Of three regions, one without photons has no fit: its row has its label and nothing else.

use tagq_ask::{Cell, CellType, Cells, Column, FittedSeries, Table, Unit};
use tagq_fit::{Bin, Data, Error as FitError, Fitted, Model, Quantity};

use super::observed::{Axis, Observed};

/// A curve over fewer values is drawn at so many places.
const SMOOTH: usize = 200;

/// The fit of one channel, group or region.
pub(super) struct FittedOne {
    pub observed: Observed,
    pub fitted: Result<Fitted, FitError>,
    /// Where the response ended that was left out.
    pub from: Option<f64>,
    /// The curve at more places than there are values, if these are few.
    pub smooth: Option<Curve>,
}

/// Start, end and value of the bins of a curve.
type Curve = Vec<(f64, f64, Option<f64>)>;

impl FittedOne {
    /// Returns its fit, if it has one.
    pub fn fitted(&self) -> Option<&Fitted> {
        self.fitted.as_ref().ok()
    }
}

/// Whether the counts of one series alone are to blame, so that others can have a fit.
pub(super) fn is_of_series(error: &FitError) -> bool {
    matches!(error, FitError::NoCounts | FitError::Empty | FitError::NoConvergence)
}

/// Returns the curve at many places if there are few values, which are points or bins of one width. The middles of all bins are
/// among these places.
pub(super) fn smooth(model: &dyn Model, data: &Data, fitted: &Fitted) -> Option<Curve> {
    let (first, last) = (data.bins.first()?, data.bins.last()?);
    let is_even =
        data.bins.iter().all(|bin| (bin.width() - first.width()).abs() < 1e-9 * bin.width());
    if data.bins.len() >= SMOOTH || !(first.width() <= 0.0 || is_even) {
        return None;
    }
    let each = SMOOTH.div_ceil(data.bins.len());
    let between = data.bins.windows(2).flat_map(|pair| {
        let step = (pair[1].middle() - pair[0].middle()) / each as f64;
        (0..each).map(move |k| (step.mul_add(k as f64, pair[0].middle()), step))
    });
    let places: Vec<(f64, f64)> = between.chain([(last.middle(), 0.0)]).collect();
    let half = first.width() / 2.0;
    let bins: Vec<Bin> =
        places.iter().map(|(middle, _)| Bin { from: middle - half, to: middle + half }).collect();
    let parameters: Vec<f64> = fitted.parameters.iter().map(|of| of.value).collect();
    let mut values = vec![0.0; bins.len()];
    model.predict(&parameters, &bins, &mut values).ok()?;
    let drawn = |((middle, step), value): (&(f64, f64), f64)| {
        (middle - step / 2.0, middle + step / 2.0, Some(value))
    };
    Some(places.iter().zip(values).map(drawn).collect())
}

/// Returns a row for each series; a series without a fit has its keys alone.
pub(super) fn rows(axis: Axis, all: &[FittedOne]) -> Table {
    let mut table = Table::default();
    let fits = || all.iter().filter_map(FittedOne::fitted);
    let Some(first) = fits().next() else { return table };
    let keys = all.first().map_or(&[][..], |of| &of.observed.keys);
    for (number, (key, cell)) in keys.iter().enumerate() {
        let of = |one: &FittedOne| {
            one.observed.keys.get(number).map_or(Cell::Missing, |(_, cell)| cell.clone())
        };
        let cells: Vec<Cell> = all.iter().map(of).collect();
        let is_list = matches!(cell, Cell::List(_));
        let of =
            if matches!(cell, Cell::Integer(_)) { CellType::Integer } else { CellType::Channel };
        let column = Column::of_cells(*key, of, cells.into());
        table = table.with(Column { is_list, ..column }.key());
    }
    for number in 0..first.parameters.len() + first.derived.len() {
        table = with_number(table, axis, all, number);
    }
    if all.iter().any(|one| one.from.is_some()) {
        let from: Vec<Option<f64>> = all.iter().map(|one| one.from).collect();
        let column = Column::floats(axis.key("from"), from.into()).heading("from");
        table = table.with(column.unit(axis.unit()));
    }
    let of = |value: fn(&Fitted) -> Option<f64>| -> Cells<Option<f64>> {
        all.iter().map(|one| one.fitted().and_then(value)).collect::<Vec<_>>().into()
    };
    if let Some(amplitude) = first.significance.as_ref().map(|of| format!("{}_limit", of.amplitude))
    {
        let limit = of(|of| of.significance.as_ref()?.limit);
        let sigmas = of(|of| Some(of.significance.as_ref()?.sigmas));
        let ratio = of(|of| Some(of.significance.as_ref()?.likelihood_ratio));
        table = table
            .with(Column::floats(amplitude, limit))
            .with(Column::floats("sigmas", sigmas).unit(Unit::Brief))
            .with(Column::floats("likelihood_ratio", ratio).hidden());
    }
    let degrees = |one: &FittedOne| {
        one.fitted().map_or(Cell::Missing, |fitted| Cell::Count(fitted.degrees as u64))
    };
    let degrees: Vec<Cell> = all.iter().map(degrees).collect();
    let ratio = Column::floats("deviance_ratio", of(Fitted::deviance_ratio));
    table
        .with(Column::floats("deviance", of(|of| Some(of.deviance))).hidden())
        .with(Column::floats("deviance_expected", of(|of| Some(of.deviance_expected))).hidden())
        .with(Column::of_cells("degrees", CellType::Count, degrees.into()).hidden())
        .with(ratio.heading("deviance/expected").unit(Unit::Brief))
}

/// Adds the columns of a parameter, or of a number that follows from parameters.
fn with_number(table: Table, axis: Axis, all: &[FittedOne], number: usize) -> Table {
    let of = |one: &FittedOne| {
        let fitted = one.fitted()?;
        fitted.parameters.iter().chain(&fitted.derived).nth(number).cloned()
    };
    let Some(named) = all.iter().find_map(of) else { return table };
    let (key, unit) = match named.quantity {
        Quantity::Place => (axis.key(&named.name), axis.unit()),
        Quantity::Value | Quantity::Ratio => (named.name.clone(), Unit::None),
    };
    let err_key = format!("{key}_err");
    let value = |one: &FittedOne| of(one).filter(|of| !of.is_absent).map(|of| of.value);
    let values: Vec<Option<f64>> = all.iter().map(value).collect();
    let errors: Vec<Option<f64>> = all.iter().map(|one| of(one)?.err).collect();
    let ends: [fn((f64, f64)) -> f64; 2] = [|(low, _)| low, |(_, high)| high];
    let ends = ends.map(|end| -> Vec<Option<f64>> {
        all.iter().map(|one| of(one)?.interval.map(end)).collect()
    });
    let value = Column::floats(key.clone(), values.into());
    let value = value.heading(named.name.clone()).unit(unit);
    let [low_key, high_key] = ["low", "high"].map(|end| format!("{key}_{end}"));
    let value = value.err(err_key.clone()).ends(low_key.clone(), high_key.clone());
    let table = table.with(value).with(Column::floats(err_key, errors.into()).hidden());
    [low_key, high_key]
        .into_iter()
        .zip(ends)
        .fold(table, |table, (key, values)| table.with(Column::floats(key, values.into()).hidden()))
}

/// Returns the values and the curve as they are drawn, if there is a fit.
pub(super) fn drawn(one: FittedOne) -> Option<FittedSeries> {
    let FittedOne { observed: Observed { of, data, .. }, fitted, smooth, .. } = one;
    let fitted = fitted.ok()?;
    let values = (0..data.bins.len()).map(|k| {
        let exposure = data.exposure(k);
        let err = data.noise.err(k).unwrap_or_else(|| data.values[k].max(1.0).sqrt());
        (exposure > 0.0).then(|| [data.values[k] / exposure, err / exposure])
    });
    let values = values.collect();
    let of_bins = fitted.curve.iter().zip(&data.bins).enumerate().map(|(k, (mean, bin))| {
        let exposure = data.exposure(k);
        (bin.from, bin.to, (exposure > 0.0).then(|| mean / exposure))
    });
    let curve = smooth.unwrap_or_else(|| of_bins.collect());
    Some(FittedSeries {
        of,
        values,
        curve,
        bins: data.bins.iter().map(|bin| (bin.from, bin.to)).collect(),
        residuals: fitted.residuals,
    })
}
