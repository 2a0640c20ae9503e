//! The style of tables: that of the terminal, or plain.

use std::io::{IsTerminal as _, stdout};

use anstream::ColorChoice;
use console::Term;
use tagq_export::report::table::TableStyle;

use crate::args::OutputArgs;

/// Rows of a table that are shown on a terminal.
const ROWS: usize = 40;

/// Returns the style for the destination of the answer.
pub(super) fn style_of(output: &OutputArgs) -> TableStyle {
    let style = if output.output.is_some() { TableStyle::PLAIN } else { style_of_stdout() };
    let rows = style.rows.filter(|_| !output.all);
    TableStyle { exact: output.exact, rows, ..style }
}

/// Returns the style for standard output: coloured if the terminal supports it and NO_COLOR is not set.
pub(super) fn style_of_stdout() -> TableStyle {
    let out = stdout();
    if !out.is_terminal() {
        return TableStyle::PLAIN;
    }
    let colour = anstream::AutoStream::choice(&out) != ColorChoice::Never;
    let width = Some(Term::stdout().size().1.into());
    TableStyle { colour, width, rows: Some(ROWS), ..TableStyle::PLAIN }
}
