//! Columns that a table omits on a narrow terminal.
//!
//! Columns leave by their priority, and a line below the table names them. Before that, `1,976 ± 44` becomes
//! `1,976(44)`. If no choice fits, all columns stay and the terminal wraps the lines.

use std::{
    io::{self, Write},
    ops::Range,
};

use console::measure_text_width;
use tagq::{Cell, Column, Priority, Table};

use super::{
    quantities::thousands,
    style::{TableStyle, concise},
    text::{Names, heading, text_at},
};

/// Spaces between two columns.
const GAP: usize = 2;

/// A column of a table.
struct Laid<'a> {
    column: &'a Column,
    heading: String,
    /// Largest width of the heading and the fields: in the wide form and in the concise form.
    widths: [usize; 2],
}

/// Writes the rows of a table, and below them the names of the omitted columns.
pub fn write_fitting(
    table: &Table,
    names: &Names,
    style: TableStyle,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut laid = laid(table, names, style);
    let order = |of: &Laid<'_>| match of.column.shown.priority {
        Priority::IfRoom(order) => Some(order),
        Priority::Always | Priority::Never => None,
    };
    let is_kept =
        |of: &Laid<'_>, gone: Option<u8>| gone.is_none() || order(of) > gone || order(of).is_none();
    let has_room = |form: usize, gone: Option<u8>| {
        let kept = laid.iter().filter(|of| is_kept(of, gone));
        let width = kept.map(|of| of.widths[form] + GAP).sum::<usize>().saturating_sub(GAP);
        style.exact || style.width.is_none_or(|most| width <= most)
    };
    let mut orders: Vec<u8> = laid.iter().filter_map(order).collect();
    orders.sort_unstable();
    // If no choice fits, all columns are kept and the terminal wraps the lines.
    let gone = [None]
        .into_iter()
        .chain(orders.into_iter().map(Some))
        .find(|&gone| has_room(CONCISE, gone))
        .flatten();
    let form = if has_room(WIDE, gone) { WIDE } else { CONCISE };
    let mut left_out: Vec<String> = Vec::new();
    laid.retain(|of| {
        let is_kept = is_kept(of, gone);
        if !is_kept {
            left_out.push(of.heading.clone());
        }
        is_kept
    });
    let line = |texts: &mut dyn Iterator<Item = String>| {
        let mut line = String::new();
        for (at, (of, text)) in laid.iter().zip(texts).enumerate() {
            let text = in_form(text, form);
            let room = " ".repeat(of.widths[form].saturating_sub(measure_text_width(&text)));
            line += &" ".repeat(if at > 0 { GAP } else { 0 });
            line += &if of.heading.is_empty() { text + &room } else { room + &text };
        }
        line.truncate(line.trim_end().len());
        line
    };
    let mut headings = laid.iter().map(|of| of.heading.clone());
    writeln!(out, "{}", style.painted(line(&mut headings), true))?;
    let shown = rows_shown(table, style);
    let more = |rows: usize| thousands(rows as u64);
    if shown.start > 0 {
        writeln!(out, "\u{2026} {} before", more(shown.start))?;
    }
    for at in shown.clone() {
        let mut texts = laid.iter().map(|of| text_at(of.column, table, at, names, style));
        writeln!(out, "{}", style.painted(line(&mut texts), false))?;
    }
    if shown.len() < table.len() {
        writeln!(out, "\u{2026} {} more (--all)", more(table.len() - shown.end))?;
    }
    if !left_out.is_empty() {
        writeln!(out, "\nno room here for {}", left_out.join(", "))?;
    }
    Ok(())
}

/// Returns the rows that are shown: those around the first bin that holds the delay zero, or else the first ones.
fn rows_shown(table: &Table, style: TableStyle) -> Range<usize> {
    // The line that names one more row takes as much room as the row.
    let Some(most) = style.rows.filter(|most| table.len() > most + 1) else {
        return 0..table.len();
    };
    let first = zero(table).unwrap_or(0).saturating_sub(most / 2).min(table.len() - most);
    first..first + most
}

/// Returns the first bin of a time difference that holds zero.
fn zero(table: &Table) -> Option<usize> {
    let (lows, widths) = (table.get("first_tick")?, table.get("width_ticks")?);
    lows.cells.iter().zip(widths.cells.iter()).position(|bin| match bin {
        (Cell::Integer(low), Cell::Integer(width)) => low <= 0 && low.saturating_add(width) > 0,
        _ => false,
    })
}

/// Returns the shown columns with their widths.
fn laid<'a>(table: &'a Table, names: &Names, style: TableStyle) -> Vec<Laid<'a>> {
    let shown = table.columns().iter().filter(|column| column.is_shown());
    let of = |column| {
        let heading = heading(column, style);
        Laid { column, widths: width_in_forms(&heading), heading }
    };
    let mut laid: Vec<Laid<'_>> = shown.map(of).collect();
    for at in rows_shown(table, style) {
        for of in &mut laid {
            let [wide, concise] = width_in_forms(&text_at(of.column, table, at, names, style));
            of.widths = [of.widths[WIDE].max(wide), of.widths[CONCISE].max(concise)];
        }
    }
    laid
}

/// Wide: value ± error. Concise: the error in brackets after the digits that it applies to.
const WIDE: usize = 0;
const CONCISE: usize = 1;

fn in_form(field: String, form: usize) -> String {
    if form == WIDE { field } else { concise(field) }
}

fn width_in_forms(field: &str) -> [usize; 2] {
    [measure_text_width(field), measure_text_width(&concise(field.to_owned()))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq::Unit;

    fn fitting(table: &Table, names: &Names, style: TableStyle) -> String {
        let mut text = Vec::new();
        write_fitting(table, names, style, &mut text).unwrap();
        String::from_utf8(text).unwrap().trim_end().to_owned()
    }

    fn float(key: &'static str, value: f64) -> Column {
        Column::floats(key, vec![Some(value)].into())
    }

    fn at(width: Option<usize>) -> String {
        let table = Table::default()
            .with(Column::groups("channels", vec![vec![3, 15]].into()))
            .with(Column::counts("count", vec![1_976].into()))
            .with(float("car", 8_769.0).heading("CAR").if_room(3))
            .with(float("p_a_given_b", 0.41).heading("P(Alice|15)").if_room(4))
            .with(float("p_b_given_a", 0.25).heading("P(15|Alice)").if_room(5))
            .with(Column::flags("partial", vec![true].into()));
        let names = [(3, "Alice".to_owned())].into();
        fitting(&table, &names, TableStyle { width, ..TableStyle::PLAIN })
    }

    #[test]
    fn what_is_made_of_the_rest_goes_first_and_is_named() {
        let wide = at(None);
        assert!(wide.contains("P(Alice|15)") && wide.contains("partial"), "{wide}");
        let width = wide.lines().map(measure_text_width).max();
        assert_eq!(at(width), wide);
        let narrow = at(width.map(|width| width - 1));
        assert!(narrow.contains("P(Alice|15)") && narrow.contains("partial"), "{narrow}");
        assert!(narrow.ends_with("\n\nno room here for CAR"), "{narrow}");
        let narrower = at(Some(30));
        assert!(narrower.contains("1,976") && narrower.contains("partial"), "{narrower}");
        assert!(narrower.ends_with("no room here for CAR, P(Alice|15), P(15|Alice)"), "{narrower}");
        assert_eq!(at(Some(5)), wide, "where nothing helps, all is there");
    }

    #[test]
    fn a_long_table_says_how_many_rows_are_more() {
        let table = Table::default().with(Column::counts("count", vec![5; 1_240].into()));
        let at = |rows| fitting(&table, &Names::new(), TableStyle { rows, ..TableStyle::PLAIN });
        let cut = at(Some(40));
        assert!(
            cut.lines().count() == 42 && cut.ends_with("\n\u{2026} 1,200 more (--all)"),
            "{cut}"
        );
        assert_eq!(at(Some(1_239)), at(None));
        assert_eq!(at(None).lines().count(), 1_241);
    }

    #[test]
    fn a_long_histogram_shows_the_bins_around_zero() {
        // 200 bins of 10 ticks from -1000; bin 100 begins at zero, and rows 80 to 119 are around it.
        let table = Table::default()
            .with(Column::integers(
                "first_tick",
                (-100..100).map(|at| 10 * at).collect::<Vec<i64>>().into(),
            ))
            .with(Column::integers("width_ticks", vec![10; 200].into()).hidden());
        let cut =
            fitting(&table, &Names::new(), TableStyle { rows: Some(40), ..TableStyle::PLAIN });
        let lines: Vec<&str> = cut.lines().map(str::trim).collect();
        assert_eq!(lines.len(), 43);
        assert_eq!(
            [lines[1], lines[2], lines[22], lines[41]],
            ["\u{2026} 80 before", "-200", "0", "190"]
        );
        assert_eq!(lines[42], "\u{2026} 80 more (--all)");
    }

    #[test]
    fn a_delay_has_room_on_80_columns() {
        let table = Table::default()
            .with(Column::groups("channels", vec![vec![3, 15]].into()))
            .with(Column::some_integers("peak (ticks)", vec![Some(-26)].into()))
            .with(float("peak", -4.0625e-9).unit(Unit::Seconds).err("peak_err_s").if_room(7))
            .with(float("peak_err_s", 1.6e-10).hidden())
            .with(float("centre", -4.062_61e-9).unit(Unit::Seconds).err("centre_err_s"))
            .with(float("centre_err_s", 3.1e-12).hidden())
            .with(float("width", 1.684_3e-9).unit(Unit::BriefSeconds))
            .with(float("coincidences", 12_345_678.0))
            .with(float("sigmas", 1_197.9))
            .with(float("second best", -2.95e-4).unit(Unit::BriefSeconds))
            .with(float("second_sigmas", 5.159).heading("sigmas"))
            .with(float("period", 1.25e-8).unit(Unit::Seconds).if_room(6));
        let text =
            fitting(&table, &Names::new(), TableStyle { width: Some(80), ..TableStyle::PLAIN });
        assert!(text.lines().all(|line| measure_text_width(line) <= 80), "{text}");
        assert!(text.contains("-26") && text.contains("-4.0626(31)"), "{text}");
        assert!(text.ends_with("\n\nno room here for peak, period"), "{text}");
    }
}
