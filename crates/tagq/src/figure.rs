//! How the rows of an answer are drawn, whatever draws them. Keys name columns of the table.

/// How the rows of an answer are drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum FigureKind {
    /// A value for each bin of a time difference (`delay_ticks`, `width_ticks`).
    Bins {
        /// What was counted.
        title: String,
        /// The channels.
        name: String,
        /// What the axes say.
        labels: [&'static str; 2],
        /// The columns of the value and of its error.
        value: [&'static str; 2],
        /// Whether the value is a ratio that is 1 by chance, drawn as points; else counts, as steps.
        is_ratio: bool,
        /// Whether bins have equal widths on a logarithmic axis.
        is_logarithmic: bool,
    },
    /// A rate for each bin of time (`start_s`) and each key.
    Trace {
        /// What was counted, of one key and of several.
        title: [&'static str; 2],
        /// What the axis of the rates says.
        label: &'static str,
        /// The width of a bin in seconds.
        width_s: f64,
        /// Whether the note says the width, because the header does not.
        says_width: bool,
    },
    /// A number for each group of channels: a matrix if they are pairs, else bars.
    Groups {
        /// What was counted.
        title: &'static str,
        /// What the axis says.
        label: &'static str,
    },
    /// A rate for each channel, as bars.
    Rates,
}
