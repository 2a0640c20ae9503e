//! Figures of answers, according to the figure kind of each answer.

use std::path::Path;

use tagq::{Answer, FigureKind, escaped};

use crate::{
    Error, FigureName, Look, Page,
    axis::Axis,
    bins,
    figure::{Bars, Figure, Plot},
    fit, groups, lanes, map, peaks, phasor, pixels,
    quantity::Quantity,
    scan, trace,
    values::Values,
    words::typeset,
};

impl Figure {
    /// Creates the figure of an answer; empty bars if it has no figure.
    pub fn of(answer: &Answer) -> Self {
        Self::of_values(answer, None, &Look::default()).noted()
    }

    /// Creates the figure of an answer in the style of `look`.
    ///
    /// # Errors
    /// [`Error::NoQuantity`], [`Error::NoFigure`], [`Error::NoBrightness`], and those of [`Figure::with`].
    pub fn of_look(answer: &Answer, look: &Look) -> Result<Self, Error> {
        let values = look.quantity.as_ref().map(|name| Values::named(&answer.rows, name));
        let values = values.transpose()?;
        check(answer, look)?;
        Self::of_values(answer, values.as_ref(), look).noted().with(look)
    }

    /// Creates the figure of the values that were asked for; by default of those that the answer is about.
    fn of_values(answer: &Answer, asked: Option<&Values>, look: &Look) -> Self {
        let label = asked.map(|values| values.label.clone());
        let or = |own: Values| asked.cloned().unwrap_or(own);
        let (what, note, plot) = match &answer.figure {
            Some(FigureKind::Bins {
                title,
                name,
                unit,
                labels: [x_label, y_label],
                value: [value, _],
                is_ratio,
                is_logarithmic,
            }) => {
                let quantity = if *is_ratio { Quantity::Ratio } else { Quantity::Count };
                let values = or(Values::of(value, y_label, quantity));
                let (note, plot) =
                    bins::of(answer, name.as_deref(), (*unit, x_label), *is_logarithmic, &values);
                (title.clone(), note, plot)
            }
            Some(FigureKind::Peaks { title, unit, edges, counts, curve, low_peak }) => {
                let plot = match asked {
                    Some(values) => {
                        bins::of(answer, Some("g2"), (*unit, bins::DELAY), false, values).1
                    }
                    None => peaks::of(answer, *unit, (edges, counts, curve.as_deref()), *low_peak),
                };
                (title.clone(), None, plot)
            }
            Some(FigureKind::Fit { title, labels, is_time, is_ratio, is_logarithmic, series }) => {
                let quantity = if *is_time { Quantity::Time } else { Quantity::Ratio };
                let axes = (labels, quantity, *is_logarithmic);
                let (note, plot) = fit::of(answer, axes, *is_ratio, series);
                (title.clone(), note, plot)
            }
            Some(FigureKind::Scan { label, key, is_time, value, values }) => {
                let shown = or(match *value {
                    "rate_hz" => Values::rate(values),
                    value => Values::of(value, values, Quantity::Count),
                });
                (format!("Scan of {label}"), None, scan::of(answer, (label, key, *is_time), &shown))
            }
            Some(FigureKind::Map { title, labels, value, is_ratio }) => {
                let (label, quantity) =
                    if *is_ratio { (*value, Quantity::Ratio) } else { ("counts", Quantity::Count) };
                let (note, plot) = map::of(answer, labels, &or(Values::of(value, label, quantity)));
                (title.clone(), note, plot)
            }
            Some(FigureKind::MapOverTime {
                title,
                labels: [label, values],
                value,
                unit,
                is_logarithmic,
                width_s,
            }) => {
                let quantity = if *value == "count" { Quantity::Count } else { Quantity::Ratio };
                let shown = or(Values::of(value, values, quantity));
                let delays = (*label, *unit, *is_logarithmic);
                let (note, plot) = map::over_time(answer, delays, *width_s, &shown);
                (title.clone(), note, plot)
            }
            Some(FigureKind::Image { title, pixels, lines, pixel_um, value, phasor_hz }) => {
                let size = (*pixels, *lines);
                let of = PixelsOf { size, pixel_um: *pixel_um, phasor_hz: *phasor_hz };
                of.drawn(answer, title, &or(of_pixels(value)), look)
            }
            Some(FigureKind::Regions { title, value, .. }) => {
                let (note, plot) = groups::of_regions(answer, &or(of_pixels(value)));
                (title.clone(), note, plot)
            }
            Some(FigureKind::Lanes { names, times_s, gates }) => {
                ("Tags and gates".to_owned(), None, lanes::of(answer, names, *times_s, *gates))
            }
            Some(FigureKind::Trace { title, label, width_s }) => {
                trace::of(answer, *title, *width_s, &or(Values::rate(label)))
            }
            Some(FigureKind::Groups { title, label }) => {
                groups::of(answer, title, &or(Values::of("count", label, Quantity::Count)))
            }
            Some(FigureKind::Rates) => {
                ("Rates".to_owned(), None, groups::of_channels(answer, &or(Values::rate("rate"))))
            }
            None => {
                let axis = Axis::for_values("", Quantity::Count, 0.0, 1.0, false);
                (String::new(), None, Plot::Bars(Bars { axis, bars: Vec::new() }))
            }
        };
        let what = match label {
            // The title may begin with it, as that of g2 does.
            Some(label) if !what.starts_with(&label) => {
                format!("{label} of {}", uncapitalised(&what))
            }
            _ => what,
        };
        let title = format!("{what}, {}", run_name(answer));
        Self {
            title: typeset(&escaped(&title)),
            header: typeset(&escaped(&answer.header)),
            note,
            plot,
            page: Page::default(),
        }
    }
}

/// Checks that the answer has the figure and the brightness that the style names.
fn check(answer: &Answer, look: &Look) -> Result<(), Error> {
    let all: &[FigureName] = match &answer.figure {
        // Phasors have no other values.
        Some(FigureKind::Image { phasor_hz: Some(_), .. }) if look.quantity.is_none() => {
            &FigureName::ALL
        }
        Some(FigureKind::Image { .. }) => &[FigureName::Map, FigureName::Histogram],
        _ => &[],
    };
    if let Some(figure) = look.figure.filter(|figure| !all.contains(figure)) {
        let names: Vec<&str> = all.iter().map(|figure| figure.name()).collect();
        let all = if names.is_empty() { "one alone".to_owned() } else { names.join(" and ") };
        return Err(Error::NoFigure { name: figure.name(), all });
    }
    let is_map = look.figure.unwrap_or_default() == FigureName::Map;
    if look.brightness && (all.is_empty() || !is_map) {
        return Err(Error::NoBrightness);
    }
    Ok(())
}

/// Returns a title in the middle of a sentence: without its first capital, unless it is a symbol.
fn uncapitalised(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => title.to_owned(),
    }
}

/// Returns the name of the run, shortened for a title.
fn run_name(answer: &Answer) -> String {
    if let Some(runs) = answer.query["runs_summed"].as_u64() {
        return format!("{} added up", tagq::counted(runs, "run"));
    }
    if answer.provenance.runs.len() > 1 {
        return format!("{} runs", answer.provenance.runs.len());
    }
    let path = Path::new(&answer.run.path);
    match path.file_name() {
        _ if answer.run.path == "-" => "standard input".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => answer.run.path.clone(),
    }
}

/// Returns the values of pixels: counts, or lifetimes.
fn of_pixels(value: &'static str) -> Values {
    match value {
        "count" => Values::of("count", "counts", Quantity::Count),
        value => Values::of(value, "lifetime", Quantity::Time),
    }
}

/// What the figures of an image know of it.
struct PixelsOf {
    size: (u32, u32),
    pixel_um: Option<f64>,
    phasor_hz: Option<f64>,
}

impl PixelsOf {
    /// Returns the title, the note and the plot of the figure that is asked for.
    fn drawn(
        &self,
        answer: &Answer,
        title: &str,
        values: &Values,
        look: &Look,
    ) -> (String, Option<String>, Plot) {
        let (note, plot) = match (look.figure.unwrap_or_default(), self.phasor_hz) {
            (FigureName::Phasor, Some(frequency)) => {
                let (note, plot) = phasor::of(answer, frequency);
                return ("Phasors".to_owned(), note, plot);
            }
            (FigureName::Histogram, _) => pixels::histogram(answer, values),
            (FigureName::Map | FigureName::Phasor, _) => {
                map::image(answer, self.size, self.pixel_um, values, look.brightness)
            }
        };
        (title.to_owned(), note, plot)
    }
}
