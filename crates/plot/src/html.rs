//! Figures as HTML pages: the drawing, which a script makes interactive, and the values.
//!
//! Text of an answer is escaped wherever it stands, and the page states by its policy that no script but its own may
//! run.

use std::fmt::Write as _;

use tagq::{Answer, Cell, CellType, Column, RunFacts};

use crate::{
    Figure, Plot,
    drawing::Drawing,
    figure::group_name,
    svg,
    words::{counted, places, thousands},
};

/// Maximum number of rows on a page.
const MOST_ROWS: usize = 5_000;
/// A longer table is closed until the reader opens it.
const OPEN_ROWS: usize = 200;

/// More values than this are drawn as a picture alone: the data of each take about 100 bytes.
const MOST_VALUES: usize = 200_000;

/// The script and its style, built from `web/` by `node web/build.mjs`, and the SHA-256 of the script.
const SCRIPT: &str = include_str!("figure.js");
const SCRIPT_STYLE: &str = include_str!("figure.css");
const SCRIPT_SHA256: &str = include_str!("figure.js.sha256");

const STYLE: &str = "\
:root { color-scheme: light dark; --paper: #fff; --ink: #1a1a1a; --faint: #595959; --grid: #ddd; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.45 system-ui, 'DejaVu Sans', Verdana, sans-serif; }
main { max-width: 1600px; margin: 0 auto; padding: 12px 12px 48px; }
svg { max-width: 100%; height: auto; display: block; }
p { color: var(--faint); overflow-wrap: anywhere; }
.scrolled { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 3px 10px; text-align: right; border-bottom: 1px solid var(--grid); white-space: nowrap; }
th { position: sticky; top: 0; background: var(--paper); }
.paper { fill: var(--paper); }
.ink.fill { fill: var(--ink); } .ink.line { stroke: var(--ink); }
.faint.fill { fill: var(--faint); } .faint.line { stroke: var(--faint); }
.grid.fill { fill: var(--grid); } .grid.line { stroke: var(--grid); }
";

/// Colours for a dark screen.
const DARK_STYLE: &str = "\
:root { --paper: #15181c; --ink: #ececec; --faint: #a6adb5; --grid: #333a42; }
.s0.fill { fill: #4aa8e0; } .s0.line { stroke: #4aa8e0; }
.s1.fill { fill: #f07c2e; } .s1.line { stroke: #f07c2e; }
.s2.fill { fill: #1fc498; } .s2.line { stroke: #1fc498; }
";

/// Returns the number of values of a figure.
fn values(plot: &Plot) -> usize {
    match plot {
        Plot::Chart(chart) => chart.series.iter().map(|series| series.points.len()).sum(),
        Plot::Bars(bars) => bars.bars.len(),
        Plot::Matrix(matrix) => matrix.cells.len(),
        Plot::Map(map) => map.cells.len(),
    }
}

/// Returns the rule of the page: it loads nothing, and no script but the figure's own runs in it. Data have no rule.
fn rule() -> String {
    let hash = SCRIPT_SHA256.trim_end();
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'"
    )
}

/// Returns the data of a figure and the script that draws them in place of the picture; empty if there are too many.
fn interactive(figure: &Figure) -> String {
    if values(&figure.plot) > MOST_VALUES {
        return String::new();
    }
    let Ok(data) = serde_json::to_string(figure) else { return String::new() };
    // No text ends the element: as a letter, `<` stands in strings alone.
    let data = data.replace('<', "\\u003c");
    format!(
        "<script type=\"application/json\" id=\"figure\">{data}</script>\n<script>{SCRIPT}</script>\n"
    )
}

/// Returns the colours of a dark screen, for every screen if the figure is for a dark background.
fn dark_style(figure: &Figure) -> String {
    if figure.page.is_dark {
        return DARK_STYLE.to_owned();
    }
    format!("@media (prefers-color-scheme: dark) {{\n{DARK_STYLE}}}\n")
}

/// Returns the page.
pub(crate) fn page(figure: &Figure, drawing: &Drawing, answer: &Answer) -> String {
    let title = if figure.title.is_empty() { &answer.run.path } else { &figure.title };
    let title = svg::escaped(title);
    let table = answer.rows_with_totals();
    // Channels are written as names already.
    let columns = || table.columns().iter().filter(|column| column.of != CellType::Name);
    let rows = table.len();
    let shown = rows.min(MOST_ROWS);
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n\
         <title>{title}</title>\n<style>\n{STYLE}{}{SCRIPT_STYLE}</style>\n</head>\n<body>\n<main>\n\
         <figure style=\"margin: 0\">\n{}</figure>\n<p>{}: {}, {}</p>\n<details{}>\n<summary>{}</summary>\n\
         <div class=\"scrolled\">\n<table>\n<thead><tr>",
        rule(),
        dark_style(figure),
        svg::element(drawing),
        svg::escaped(&answer.run.path),
        counted(answer.run.tags, "tag"),
        counted(answer.run.sources as u64, "source"),
        if rows <= OPEN_ROWS { " open=\"open\"" } else { "" },
        counted(rows as u64, "row")
    );
    for column in columns() {
        let _ = write!(text, "<th>{}</th>", svg::escaped(&column.key));
    }
    text.push_str("</tr></thead>\n<tbody>\n");
    for at in 0..shown {
        text.push_str("<tr>");
        for column in columns() {
            let _ = write!(text, "<td>{}</td>", svg::escaped(&field(column, at, &answer.run)));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</tbody>\n</table>\n</div>\n</details>\n");
    if shown < rows {
        let left_out = thousands((rows - shown) as u64);
        let _ = writeln!(text, "<p>and {left_out} more rows, which --format csv gives</p>");
    }
    text.push_str("</main>\n");
    text.push_str(&interactive(figure));
    text.push_str("</body>\n</html>\n");
    text
}

/// Returns the text of a cell, floats with six digits; empty if it is missing.
fn field(column: &Column, at: usize, run: &RunFacts) -> String {
    let text = |cell: &Cell| match cell {
        Cell::Float(value) => six_digits(*value),
        cell => cell.to_string(),
    };
    match column.cells.at(at) {
        Cell::Missing if column.of == CellType::Channel => "all".to_owned(),
        cell if column.of == CellType::Channel => group_name(run, &cell.group()),
        Cell::List(items) => items.iter().map(|item| text(&item)).collect::<Vec<_>>().join(", "),
        cell => text(&cell),
    }
}

fn six_digits(value: f64) -> String {
    let trimmed = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    let is_plain = (1e-3..1e7).contains(&value.abs());
    if value == 0.0 || is_plain {
        let text = format!("{value:.*}", places(value, 6));
        return if text.contains('.') { trimmed(&text) } else { text };
    }
    let text = format!("{value:.5e}");
    match text.split_once('e') {
        Some((digits, power)) if digits.contains('.') => format!("{}e{power}", trimmed(digits)),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_six_digits() {
        let shown = [-1.007_812_5e-8, 0.0, 1.584_858_441_771, 97_660.0, 1e7, 100.0, 3e-9, 0.5];
        let shown = shown.map(six_digits);
        assert_eq!(shown, ["-1.00781e-8", "0", "1.58486", "97660", "1e7", "100", "3e-9", "0.5"]);
    }
}
