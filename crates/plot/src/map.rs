//! Figures of values in cells of two time differences.

use tagq::{Answer, Cell, store::Tick};

use crate::{
    axis::Axis,
    figure::{Map, Plot, floats},
    quantity::Quantity,
};

/// Returns a note and the values.
pub(crate) fn of(
    answer: &Answer,
    [x, y]: &[String; 2],
    value: &str,
    is_ratio: bool,
) -> (Option<String>, Plot) {
    let cells = floats(&answer.rows, value);
    let rows = cells.len().isqrt();
    let missing = cells.iter().filter(|value| value.is_none()).count();
    let note = (missing > 0 && missing < cells.len())
        .then(|| format!("{value} is not defined in {missing} of {} cells", cells.len()));
    let most = cells.iter().flatten().copied().fold(0.0, f64::max);
    let (label, quantity) =
        if is_ratio { (value, Quantity::Ratio) } else { ("counts", Quantity::Count) };
    let most = if most > 0.0 { most } else { 1.0 };
    let (low, high) = ends(answer);
    let axis = |label: &str| Axis::linear(label, Quantity::Time, low, high);
    let values = Axis::linear(label, quantity, 0.0, most);
    let map = Map { x: axis(x), y: axis(y), values, columns: rows, cells };
    (note, Plot::Map(map))
}

/// Returns the ends of both axes in seconds: half a tick before the first tick of the first bin to half a
/// tick after the last one of the last bin.
fn ends(answer: &Answer) -> (f64, f64) {
    let Ok(tick) = Tick::from_fraction(&answer.run.tick) else { return (0.0, 1.0) };
    let Some(lows) = answer.rows.get("delay_b_ticks") else { return (0.0, 1.0) };
    // The first column of cells has all bins of B, in order.
    let integer = |cell| if let Cell::Integer(low) = cell { Some(low) } else { None };
    let lows: Vec<i64> =
        lows.cells.iter().take(lows.cells.len().isqrt()).filter_map(integer).collect();
    let (Some(least), Some(most)) = (lows.first(), lows.last()) else { return (0.0, 1.0) };
    let width = lows.get(1).map_or(1, |second| second - least);
    let half = |twice: i128| tick.seconds_of(twice) / 2.0;
    let (first, last) =
        (2 * i128::from(*least) - 1, 2 * (i128::from(*most) + i128::from(width)) - 1);
    (half(first), half(last))
}
