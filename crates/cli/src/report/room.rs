//! What a table goes without where the terminal is too narrow for it.

use tagq::Columns;

use super::{
    look::Look,
    table::{Names, heads, is_shown, rows},
};

/// The columns that are left out, the first one first: they are made of the others.
const DISPENSABLE: [&str; 6] =
    ["accidentals_independent", "accidentals", "car", "heralding", "comb_s", "peak_s"];

/// The table of these rows, and below it what it was too wide for.
pub(super) fn fitting(columns: &Columns, names: &Names, look: Look) -> String {
    let without = |gone: usize| {
        let gone = &DISPENSABLE[..gone];
        move |in_room: fn(String) -> String| rows(columns, names, look, gone, in_room)
    };
    let gone = (0..=DISPENSABLE.len()).find(|&gone| look.has_room(without(gone)));
    // Where nothing helps, lines break, and nothing is lost.
    let gone = gone.unwrap_or(0);
    let mut text = look.draw(without(gone));
    let is_gone = |name: &str| DISPENSABLE[..gone].contains(&name);
    let gone = columns.columns().iter().filter(|of| is_gone(&of.name) && is_shown(of, columns));
    let gone: Vec<String> = gone.flat_map(|column| heads(column, columns, names, look)).collect();
    if !gone.is_empty() {
        text.push_str("\n\nno room here for ");
        text.push_str(&gone.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use tagq::Values;

    fn at(width: Option<usize>) -> String {
        let columns = Columns::default()
            .with("channels", Values::Groups(vec![vec![3, 15]]))
            .with("count", Values::Counts(vec![1_976]))
            .with("car", Values::Floats(vec![Some(8_769.0)]))
            .with("heralding", Values::FloatLists(vec![vec![Some(0.41), Some(0.25)]]))
            .with("partial", Values::Flags(vec![true]));
        let names = [(3, "Alice".to_owned())].into();
        fitting(&columns, &names, Look { width, ..Look::PLAIN })
    }

    #[test]
    fn what_is_made_of_the_rest_goes_first_and_is_named() {
        let wide = at(None);
        assert!(wide.contains("P(Alice|15)") && wide.contains("partial"), "{wide}");
        let width = wide.lines().map(console::measure_text_width).max();
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
        let float = |value: f64| Values::Floats(vec![Some(value)]);
        let columns = Columns::default()
            .with("channels", Values::Groups(vec![vec![3, 15]]))
            .with("peak_ticks", Values::SomeIntegers(vec![Some(-26)]))
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
        assert!(text.lines().all(|line| console::measure_text_width(line) <= 80), "{text}");
        assert!(text.contains("-26") && text.contains("-4.0626(31)"), "{text}");
        assert!(text.ends_with("\n\nno room here for peak, again each"), "{text}");
    }
}
