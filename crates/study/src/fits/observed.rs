//! The data of an answer, as a fit takes them: counts in bins, and an exposure that scales the model in each bin.
//!
//! A bin of 120 counts with a g2 of 1.2 has the exposure 100, the expected counts. A bin of a trace with 20 counts at
//! 10 Hz was live for 2 s; bins that are cut are left out. Fits are of counts, never of ratios, because the noise of
//! counts is known. The decay of a region is one row: its list of counts.

use tagq_ask::{Answer, Cell, FigureKind, SeriesOf, Table, Unit};
use tagq_fit::{Bin, Data, Noise};
use tagq_query::Bins;
use tagq_run::RequestError;
use tagq_store::{Duration, Tick};

use crate::error::Error;

/// The horizontal axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Axis {
    /// Times in seconds, of a recording with this tick.
    Time(Tick),
    /// Numbers of a setting.
    Number,
}

/// The values of one channel, group or region.
#[derive(Debug)]
pub(super) struct Observed {
    /// The cells that distinguish its rows, with the keys of their columns.
    pub keys: Vec<(&'static str, Cell)>,
    pub of: SeriesOf,
    /// The live time, in seconds, of its detectors together; `None` if it is not known.
    pub live_s: Option<f64>,
    pub data: Data,
}

/// All values of an answer.
#[derive(Debug)]
pub(super) struct AllObserved {
    pub axis: Axis,
    /// Labels of the axes.
    pub labels: [String; 2],
    /// Whether values are ratios that are 1 by chance.
    pub is_ratio: bool,
    /// Whether bins have equal widths on a logarithmic axis.
    pub is_logarithmic: bool,
    pub series: Vec<Observed>,
}

impl Axis {
    /// Returns a place on the axis from its text.
    pub fn place(self, text: &str) -> Result<f64, Error> {
        match self {
            Self::Time(_) => self.length(&text.parse::<Duration>()?),
            Self::Number => Ok(text
                .parse()
                .map_err(|_| RequestError::Invalid(format!("`{text}` is no number")))?),
        }
    }

    /// Returns a duration on the axis.
    pub fn length(self, duration: &Duration) -> Result<f64, Error> {
        match self {
            Self::Time(tick) => Ok(duration.ticks(tick)? * tick.seconds()),
            Self::Number => Err(RequestError::Invalid(format!(
                "{}: the axis of this answer has no times",
                duration.asked()
            ))
            .into()),
        }
    }

    /// Returns how a place is shown.
    pub fn unit(self) -> Unit {
        match self {
            Self::Time(_) => Unit::Seconds,
            Self::Number => Unit::None,
        }
    }

    /// Returns the key of a column of places with this name.
    pub fn key(self, name: &str) -> String {
        match self {
            Self::Time(_) => format!("{name}_s"),
            Self::Number => name.to_owned(),
        }
    }
}

impl AllObserved {
    /// Returns the data of an answer.
    ///
    /// # Errors
    /// [`tagq_run::RequestError`] if its rows are no function of a time or of a setting.
    pub fn of(answer: &Answer) -> Result<Self, Error> {
        match &answer.figure {
            Some(FigureKind::Bins { unit, labels, is_ratio, is_logarithmic, .. }) => {
                let is_logarithmic = *is_logarithmic;
                let bins = answer.bin_edges(*unit);
                let labels = labels.map(str::to_owned);
                let series = if *is_ratio {
                    vec![of_ratio(answer, bins)?]
                } else {
                    of_counts(answer, &bins, &[])
                };
                Ok(Self { axis: Axis::Time(*unit), labels, is_ratio: *is_ratio, is_logarithmic, series })
            }
            Some(FigureKind::Trace { width_s, .. }) => {
                let tick = Tick::from_fraction(&answer.run.tick)?;
                let bins = trace_bins(answer, *width_s);
                let labels = ["time", "counts"].map(str::to_owned);
                let series = of_counts(answer, &bins, &live_of_bins(answer));
                Ok(Self { axis: Axis::Time(tick), labels, is_ratio: false, is_logarithmic: false, series })
            }
            Some(FigureKind::Scan { label, key, is_time, .. }) => {
                let axis = if *is_time {
                    Axis::Time(Tick::from_fraction(&answer.run.tick)?)
                } else {
                    Axis::Number
                };
                let places = answer.rows.numbers(key);
                let bins: Vec<(f64, f64)> = places
                    .into_iter()
                    .map(|place| place.unwrap_or(f64::NAN))
                    .map(|place| (place, place))
                    .collect();
                let labels = [label.clone(), "counts".to_owned()];
                let live = answer.rows.get("live_s").map_or(Vec::new(), |column| {
                    column.cells.iter().map(|cell| cell.number()).collect()
                });
                let mut series = of_counts(answer, &bins, &live);
                for of in &mut series {
                    in_order(&mut of.data);
                }
                Ok(Self { axis, labels, is_ratio: false, is_logarithmic: false, series })
            }
            Some(FigureKind::Regions { micro: Some((bins, unit)), .. }) => {
                let labels = ["micro time", "photons per bin"].map(str::to_owned);
                let series = of_regions(answer, bins, *unit);
                Ok(Self { axis: Axis::Time(*unit), labels, is_ratio: false, is_logarithmic: false, series })
            }
            _ => Err(RequestError::options(&["bin", "trace", "by", "pulsed", "mask", "micro"], 
                "a fit needs one value for each bin of time or of a setting: rates and coincidences need `bin`, or a scan; micro, \
                 histogram and g2 have bins, without `trace`, `by` and `pulsed`; an image has decays of the regions of a `mask`, \
                 with `micro`"
                    .into(),
            ).into()),
        }
    }
}

/// Returns the bins of a trace.
fn trace_bins(answer: &Answer, width_s: Option<f64>) -> Vec<(f64, f64)> {
    let starts = answer.rows.numbers("start_s");
    let lengths = answer.rows.numbers("length_s");
    let bin = |(row, start): (usize, Option<f64>)| {
        let length = width_s.or_else(|| lengths.get(row).copied().flatten());
        let start = start.unwrap_or(0.0);
        (start, start + length.unwrap_or(0.0))
    };
    starts.into_iter().enumerate().map(bin).collect()
}

/// Returns the decay of each region of an image.
fn of_regions(answer: &Answer, bins: &Bins, unit: Tick) -> Vec<Observed> {
    let rows = &answer.rows;
    // Half a tick before the first one of a bin.
    let edge = |at: usize| unit.seconds_of(2 * i128::from(bins.edge(at)) - 1) / 2.0;
    let bins: Vec<Bin> =
        (0..bins.count()).map(|bin| Bin { from: edge(bin), to: edge(bin + 1) }).collect();
    let keys = ["frame", "channel", "label"].into_iter();
    let keys: Vec<_> = keys.filter_map(|key| Some((key, rows.get(key)?))).collect();
    // The photons of all detectors are added up where no column tells them apart.
    let added = match rows.get("channel") {
        Some(_) => 1,
        None => answer.query["photons"].as_array().map_or(1, Vec::len),
    };
    let dwell = rows.numbers("dwell_s");
    let decays = rows.get("micro_counts").into_iter().flat_map(|column| column.cells.iter());
    let one = |(row, decay): (usize, Cell)| {
        let keys: Vec<_> = keys.iter().map(|(key, column)| (*key, column.cells.at(row))).collect();
        let integer = |name: &str| {
            keys.iter().find_map(|(key, cell)| match cell {
                Cell::Integer(of) if *key == name => Some(*of),
                _ => None,
            })
        };
        let of = SeriesOf::Region {
            frame: integer("frame"),
            channel: keys.iter().find_map(|(_, cell)| cell.group().first().copied()),
            label: integer("label").unwrap_or_default(),
        };
        let values = match decay {
            Cell::List(counts) => {
                counts.iter().map(|count| count.number().unwrap_or_default()).collect()
            }
            _ => Vec::new(),
        };
        let live_s = dwell.get(row).copied().flatten().map(|dwell| dwell * added as f64);
        let data = Data { bins: bins.clone(), values, noise: Noise::Poisson, exposure: None };
        Observed { keys, of, live_s, data }
    };
    decays.enumerate().map(one).collect()
}

/// Returns the live time of each bin of a trace: its count over its rate, or what follows from the error of the rate of none.
fn live_of_bins(answer: &Answer) -> Vec<Option<f64>> {
    let rows = &answer.rows;
    let counts = rows.numbers("count");
    let (rates, errors) = (rows.numbers("rate_hz"), rows.numbers("rate_err_hz"));
    let live = |(count, (rate, err)): (Option<f64>, (Option<f64>, Option<f64>))| {
        let live = if count? > 0.0 { count? / rate? } else { 1.0 / err? };
        Some(live).filter(|live| live.is_finite())
    };
    counts.into_iter().zip(rates.into_iter().zip(errors)).map(live).collect()
}

/// Returns the counts of each channel or group, without bins that are cut. Their exposures are the live times, as parts of their
/// mean; of those without live times all are 1.
fn of_counts(answer: &Answer, bins: &[(f64, f64)], live: &[Option<f64>]) -> Vec<Observed> {
    let rows = &answer.rows;
    let counts = rows.numbers("count");
    let key = ["channel", "group"].into_iter().find_map(|key| Some((key, rows.get(key)?)));
    let partial = rows.get("partial");
    let mut series: Vec<Observed> = Vec::new();
    for (row, (&(from, to), count)) in bins.iter().zip(counts).enumerate() {
        let is_cut = partial.is_some_and(|partial| partial.cells.at(row) == Cell::Flag(true));
        let Some(count) = count.filter(|_| !is_cut) else { continue };
        let own = live.get(row).copied().flatten();
        // A bin without live time says nothing.
        if own.is_none() && !live.is_empty() {
            continue;
        }
        let keys: Vec<_> = key.iter().map(|(key, column)| (*key, column.cells.at(row))).collect();
        let at = series.iter().rposition(|of| of.keys == keys).unwrap_or_else(|| {
            let group = keys.first().map_or(Vec::new(), |(_, cell)| cell.group());
            let of = if group.is_empty() { SeriesOf::All } else { SeriesOf::Channels(group) };
            let live_s = Some(answer.run.live_s);
            let data = Data {
                bins: Vec::new(),
                values: Vec::new(),
                noise: Noise::Poisson,
                exposure: None,
            };
            series.push(Observed { keys, of, live_s, data });
            series.len() - 1
        });
        let data = &mut series[at].data;
        data.bins.push(Bin { from, to });
        data.values.push(count);
        if let Some(live) = own {
            data.exposure.get_or_insert_default().push(live);
        }
    }
    for exposure in series.iter_mut().filter_map(|of| of.data.exposure.as_mut()) {
        let mean = exposure.iter().sum::<f64>() / exposure.len() as f64;
        for live in exposure {
            *live /= mean;
        }
    }
    series
}

/// Returns the counts of a g2, and the counts that are expected by chance.
fn of_ratio(answer: &Answer, bins: Vec<(f64, f64)>) -> Result<Observed, Error> {
    let rows = &answer.rows;
    let column = |key| rows.numbers(key);
    let (counts, count_errors) = (column("count"), column("count_err"));
    let (ratios, errors) = (column("g2"), column("g2_err"));
    // Each pair of a channel with itself counts on both sides: one side has all that is known.
    let is_auto = answer.query["start"] == answer.query["stop"];
    let mut data =
        Data { bins: Vec::new(), values: Vec::new(), noise: Noise::Poisson, exposure: None };
    let (mut exposure, mut kept) = (Vec::new(), Vec::new());
    for (row, (from, to)) in bins.into_iter().enumerate() {
        let (Some(count), Some(ratio)) = (counts[row], ratios[row]) else { continue };
        if is_auto && from < 0.0 {
            continue;
        }
        // Both errors are those of the count where it is zero.
        let expected = if ratio > 0.0 {
            count / ratio
        } else {
            match (count_errors[row], errors[row]) {
                (Some(count_err), Some(err)) if err > 0.0 => count_err / err,
                _ => continue,
            }
        };
        data.bins.push(Bin { from, to });
        data.values.push(count);
        exposure.push(expected);
        kept.push(row);
    }
    if !answer.query["error_blocks"].is_null() {
        data.noise = Noise::Covariance(of_blocks(rows, &errors, &kept, &exposure));
    }
    if data.bins.is_empty() {
        return Err(RequestError::Invalid("g2 is defined in no bin".into()).into());
    }
    data.exposure = Some(exposure);
    let (of, live_s) = (SeriesOf::All, Some(answer.run.live_s));
    Ok(Observed { keys: Vec::new(), of, live_s, data })
}

/// Returns the covariances of counts from blocks, or their variances if the answer has no more.
fn of_blocks(
    rows: &Table,
    errors: &[Option<f64>],
    kept: &[usize],
    exposure: &[f64],
) -> Vec<Vec<f64>> {
    let covariance = rows.get("g2_covariance");
    let of_row = |(k, &row): (usize, &usize)| {
        let Some(Cell::List(all)) = covariance.map(|column| column.cells.at(row)) else {
            return vec![(errors[row].unwrap_or(0.0) * exposure[k]).powi(2)];
        };
        let all: Vec<Cell> = all.iter().collect();
        let of = |(l, &other): (usize, &usize)| {
            all[other].number().unwrap_or(0.0) * exposure[k] * exposure[l]
        };
        kept.iter().enumerate().map(of).collect()
    };
    kept.iter().enumerate().map(of_row).collect()
}

/// Puts the values in the order of the axis.
fn in_order(data: &mut Data) {
    let mut order: Vec<usize> = (0..data.bins.len()).collect();
    order.sort_by(|&one, &other| data.bins[one].from.total_cmp(&data.bins[other].from));
    data.bins = order.iter().map(|&k| data.bins[k]).collect();
    data.values = order.iter().map(|&k| data.values[k]).collect();
    if let Some(exposure) = &mut data.exposure {
        *exposure = order.iter().map(|&k| exposure[k]).collect();
    }
}
