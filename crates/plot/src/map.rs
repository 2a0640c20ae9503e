//! Figures of values in cells of two time differences.

use tagq::{Answer, Cell, store::Tick};

use crate::{
    axis::Axis,
    figure::{Map, Plot, floats},
    quantity::Quantity,
};

/// Returns a note and the values.
pub(crate) fn of(answer: &Answer, [x, y]: &[String; 2], value: &str) -> (Option<String>, Plot) {
    let cells = floats(&answer.rows, value);
    let rows = cells.len().isqrt();
    let missing = cells.iter().filter(|value| value.is_none()).count();
    let note = (missing > 0 && missing < cells.len())
        .then(|| format!("{value} is not defined in {missing} of {} cells", cells.len()));
    let most = cells.iter().flatten().copied().fold(0.0, f64::max);
    let quantity = if value == "count" { Quantity::Count } else { Quantity::Ratio };
    let most = if most > 0.0 { most } else { 1.0 };
    let (low, high) = ends(answer);
    let axis = |label: &str| Axis::linear(label, Quantity::Time, low, high);
    let values = Axis::linear(if value == "count" { "counts" } else { value }, quantity, 0.0, most);
    let map = Map { x: axis(x), y: axis(y), values, columns: rows, cells };
    (note, Plot::Map(map))
}

/// Returns the ends of both axes in seconds: half a tick before the first tick of the first bin to half a
/// tick after the last one of the last bin.
fn ends(answer: &Answer) -> (f64, f64) {
    let Ok(tick) = Tick::from_fraction(&answer.run.tick) else { return (0.0, 1.0) };
    let Some(lows) = answer.rows.get("delay_b_ticks") else { return (0.0, 1.0) };
    let (mut least, mut most, mut second) = (i64::MAX, i64::MIN, i64::MAX);
    for cell in lows.cells.iter().take(lows.cells.iter().len().isqrt()) {
        let Cell::Integer(low) = cell else { continue };
        if low > least {
            second = second.min(low);
        }
        (least, most) = (least.min(low), most.max(low));
    }
    if least > most {
        return (0.0, 1.0);
    }
    let width = if second == i64::MAX { 1 } else { second - least };
    let half = |twice: i128| tick.seconds_of(twice) / 2.0;
    let (first, last) = (2 * i128::from(least) - 1, 2 * (i128::from(most) + i128::from(width)) - 1);
    (half(first), half(last))
}
