//! Figures of answers, according to the figure kind of each answer.

use std::path::Path;

use tagq::{Answer, FigureKind, escaped};

use crate::{
    axis::Axis,
    bins,
    figure::{Bars, Figure, Plot},
    groups, map,
    quantity::Quantity,
    trace,
    words::typeset,
};

impl Figure {
    /// Creates the figure of an answer; empty bars if it has no figure.
    pub fn of(answer: &Answer) -> Self {
        let (what, note, plot) = match &answer.figure {
            Some(FigureKind::Bins {
                title,
                name,
                unit,
                labels,
                value,
                is_ratio,
                is_logarithmic,
            }) => {
                let (note, plot) = bins::of(
                    answer,
                    name.as_deref(),
                    *unit,
                    *labels,
                    *value,
                    [*is_ratio, *is_logarithmic],
                );
                (title.clone(), note, plot)
            }
            Some(FigureKind::Map { title, labels, value, is_ratio }) => {
                let (note, plot) = map::of(answer, labels, value, *is_ratio);
                (title.clone(), note, plot)
            }
            Some(FigureKind::Trace { title, label, width_s, says_width }) => {
                trace::of(answer, *title, label, *width_s, *says_width)
            }
            Some(FigureKind::Groups { title, label }) => groups::of(answer, title, label),
            Some(FigureKind::Rates) => ("Rates".to_owned(), None, groups::rates(answer)),
            None => {
                let axis = Axis::for_values("", Quantity::Count, 0.0, 1.0, false);
                (String::new(), None, Plot::Bars(Bars { axis, bars: Vec::new() }))
            }
        };
        let title = format!("{what}, {}", run_name(answer));
        Self {
            title: typeset(&escaped(&title)),
            header: typeset(&escaped(&answer.header)),
            note,
            plot,
        }
    }
}

/// Returns the name of the run, shortened for a title.
fn run_name(answer: &Answer) -> String {
    if let Some(runs) = answer.query["runs_summed"].as_u64() {
        return format!("{runs} runs added up");
    }
    let path = Path::new(&answer.run.path);
    match path.file_name() {
        _ if answer.run.path == "-" => "standard input".to_owned(),
        Some(name) => name.to_string_lossy().into_owned(),
        None => answer.run.path.clone(),
    }
}
