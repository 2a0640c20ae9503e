//! What the search for delays found: a table, and the flags to paste.

use std::fmt::Write as _;

use tagq::{Delayed, Values};

use super::{look::Look, quantities::seconds, table};

/// The table, and below it what to do with it.
pub(super) fn text(found: &Delayed, tick: tagq::store::Tick, look: Look) -> String {
    let Delayed { answer, delays } = found;
    let mut text = table::one(answer, false, look);
    let names = table::names_of(&answer.run);
    let name = |channel: u16| names.get(&channel).map_or_else(|| channel.to_string(), Clone::clone);
    let pairs: &[Vec<u16>] = match answer.rows.get("channels") {
        Some(Values::Groups(pairs)) => pairs,
        _ => &[],
    };
    let floats = |key: &str| match answer.rows.get(key) {
        Some(Values::Floats(values)) => values.clone(),
        _ => vec![None; pairs.len()],
    };
    let pair = |at: usize| pairs[at].iter().map(|&c| name(c)).collect::<Vec<_>>().join(",");
    let (peaks, combs) = (floats("peak_s"), floats("comb_s"));
    let without: Vec<String> = (0..pairs.len())
        .filter(|&at| peaks[at].is_none() && combs[at].is_none())
        .map(pair)
        .collect();
    let said = |line: &str| format!("\n{}", look.header(line));
    if !without.is_empty() {
        text.push_str(&said(&format!(
            "no peak above chance: {}; a longer --range reaches farther, a shorter one looks at more of \
             a long run",
            without.join("; ")
        )));
    }
    for (at, comb) in combs.iter().enumerate() {
        let Some(comb) = comb else { continue };
        let (pair, period) = (pair(at), seconds(*comb));
        if peaks[at].is_some() {
            text.push_str(&said(&format!(
                "{pair}: lower peaks each {period} on both sides, as of pulsed light; its accidentals are \
                 measured by"
            )));
            let shift = period.replace(' ', "");
            let _ = writeln!(text, "  --accidentals shifted --shift {shift}");
        } else {
            let none =
                format!("{pair}: peaks each {period}, and none higher than the others: no delay");
            text.push_str(&said(&none));
        }
    }
    let moved: Vec<String> = delays
        .iter()
        .filter(|(_, ticks)| *ticks != 0)
        .map(|&(channel, ticks)| format!("--delay {}={}", name(channel), tick.format_paste(ticks)))
        .collect();
    if !moved.is_empty() {
        let _ = writeln!(text, "\nthese delays put the peaks at zero:\n  {}", moved.join(" "));
    } else if !delays.is_empty() {
        let _ = writeln!(text, "\nthe peaks are at zero as it is");
    }
    text
}
