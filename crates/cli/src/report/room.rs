//! What a table goes without where the terminal is too narrow for it.

use std::io::{self, Write};

use console::measure_text_width;
use tagq::{Column, Columns};

use super::{
    look::{Look, concise},
    quantities::dash,
    table::{Names, fields_at, heads, is_shown},
};

/// The columns that are left out, the first one first: they are made of the others.
const DISPENSABLE: [&str; 8] = [
    "accidentals_independent",
    "accidentals",
    "car_min",
    "car",
    "p_a_given_b",
    "p_b_given_a",
    "comb_s",
    "peak_s",
];

/// Between two columns.
const GAP: usize = 2;

/// A column of a table.
struct Laid<'a> {
    column: &'a Column,
    heads: Vec<String>,
    /// Of each head and its fields: the widest, and the widest in its short form.
    widths: Vec<[usize; 2]>,
}

/// Writes the table of these rows, and below it what it was too wide for.
pub(super) fn write_fitting(
    columns: &Columns,
    names: &Names,
    look: Look,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut laid = laid(columns, names, look);
    let width_of = |laid: &[Laid<'_>], form: usize, gone: &[&str]| {
        let kept = laid.iter().filter(|of| !gone.contains(&&*of.column.name));
        let widths = kept.flat_map(|of| &of.widths).map(|widths| widths[form] + GAP);
        widths.sum::<usize>().saturating_sub(GAP)
    };
    let has_room = |laid: &[Laid<'_>], form, gone: &[&str]| {
        look.exact || look.width.is_none_or(|width| width_of(laid, form, gone) <= width)
    };
    let fits = |gone: &usize| has_room(&laid, CONCISE, &DISPENSABLE[..*gone]);
    // Where nothing helps, the terminal breaks lines, and nothing is lost.
    let gone = &DISPENSABLE[..(0..=DISPENSABLE.len()).find(fits).unwrap_or(0)];
    let without: Vec<String> = laid
        .iter()
        .filter(|of| gone.contains(&&*of.column.name))
        .flat_map(|of| of.heads.clone())
        .collect();
    laid.retain(|of| !gone.contains(&&*of.column.name));
    let form = if has_room(&laid, WIDE, &[]) { WIDE } else { CONCISE };
    let heads = || laid.iter().flat_map(|of| of.heads.clone());
    let is_left: Vec<bool> = heads().map(|head| head.is_empty()).collect();
    let widths: Vec<usize> =
        laid.iter().flat_map(|of| &of.widths).map(|widths| widths[form]).collect();
    let line = |fields: &mut dyn Iterator<Item = String>| {
        let mut line = String::new();
        for (at, field) in fields.enumerate() {
            let field = in_form(field, form);
            let room = " ".repeat(widths[at].saturating_sub(measure_text_width(&field)));
            let gap = " ".repeat(if at > 0 { GAP } else { 0 });
            line += &gap;
            line += &if is_left[at] { field + &room } else { room + &field };
        }
        line.truncate(line.trim_end().len());
        line
    };
    writeln!(out, "{}", look.painted(line(&mut heads()), true))?;
    for at in 0..columns.len() {
        let mut fields = laid.iter().flat_map(|of| of.fields(columns, at, names, look));
        writeln!(out, "{}", look.painted(line(&mut fields), false))?;
    }
    if !without.is_empty() {
        writeln!(out, "\nno room here for {}", without.join(", "))?;
    }
    Ok(())
}

/// The columns that are shown, with their widths.
fn laid<'a>(columns: &'a Columns, names: &Names, look: Look) -> Vec<Laid<'a>> {
    let shown = columns.columns().iter().filter(|column| is_shown(column, columns));
    let of = |column| {
        let heads = heads(column, columns, names, look);
        let widths = heads.iter().map(|head| width_in_forms(head)).collect();
        Laid { column, heads, widths }
    };
    let mut laid: Vec<Laid<'_>> = shown.map(of).collect();
    for at in 0..columns.len() {
        for of in &mut laid {
            let fields = of.fields(columns, at, names, look);
            for (widths, field) in of.widths.iter_mut().zip(&fields) {
                let [wide, concise] = width_in_forms(field);
                *widths = [widths[WIDE].max(wide), widths[CONCISE].max(concise)];
            }
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

impl Laid<'_> {
    fn fields(&self, columns: &Columns, at: usize, names: &Names, look: Look) -> Vec<String> {
        let mut fields = fields_at(self.column, columns, at, names, look);
        fields.resize(self.heads.len(), dash());
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq::Values;

    fn fitting(columns: &Columns, names: &Names, look: Look) -> String {
        let mut text = Vec::new();
        write_fitting(columns, names, look, &mut text).unwrap();
        String::from_utf8(text).unwrap().trim_end().to_owned()
    }

    fn at(width: Option<usize>) -> String {
        let columns = Columns::default()
            .with("channels", Values::Groups(vec![vec![3, 15]].into()))
            .with("count", Values::Counts(vec![1_976].into()))
            .with("car", Values::Floats(vec![Some(8_769.0)].into()))
            .with("p_a_given_b", Values::Floats(vec![Some(0.41)].into()))
            .with("p_b_given_a", Values::Floats(vec![Some(0.25)].into()))
            .with("partial", Values::Flags(vec![true].into()));
        let names = [(3, "Alice".to_owned())].into();
        fitting(&columns, &names, Look { width, ..Look::PLAIN })
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
    fn a_delay_has_room_on_80_columns() {
        let float = |value: f64| Values::Floats(vec![Some(value)].into());
        let columns = Columns::default()
            .with("channels", Values::Groups(vec![vec![3, 15]].into()))
            .with("peak_ticks", Values::SomeIntegers(vec![Some(-26)].into()))
            .with("peak_s", float(-4.0625e-9))
            .with("peak_err_s", float(1.6e-10))
            .with("centre_s", float(-4.062_61e-9))
            .with("centre_err_s", float(3.1e-12))
            .with("width_s", float(1.684_3e-9))
            .with("coincidences", float(12_345_678.0))
            .with("sigmas", float(1_197.9))
            .with("second_s", float(-2.95e-4))
            .with("second_sigmas", float(5.159))
            .with("comb_s", float(1.25e-8));
        let text = fitting(&columns, &Names::new(), Look { width: Some(80), ..Look::PLAIN });
        assert!(text.lines().all(|line| measure_text_width(line) <= 80), "{text}");
        assert!(text.contains("-26") && text.contains("-4.0626(31)"), "{text}");
        assert!(text.ends_with("\n\nno room here for peak, period"), "{text}");
    }
}
