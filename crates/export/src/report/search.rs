//! The result of a search: a table and, if it finds delays, the options to copy.

use std::fmt::Write as _;

use tagq::Searched;

use super::table::{self, TableStyle, quantities::seconds, text};

/// Returns the table and, below it, the options to use.
pub fn text(found: &Searched, tick: tagq::store::Tick, style: TableStyle) -> String {
    let Searched { answer, delays, .. } = found;
    let mut text = table::one(answer, false, style);
    let names = text::names_of(&answer.run);
    let name = |channel: u16| text::name_of(&names, channel);
    let pairs: Vec<Vec<u16>> = match answer.rows.get("channels") {
        Some(pairs) => pairs.cells.iter().map(|pair| pair.group()).collect(),
        None => Vec::new(),
    };
    let pair = |at: usize| pairs[at].iter().map(|&c| name(c)).collect::<Vec<_>>().join(",");
    let [peaks, combs, sigmas, seconds_best, second_sigmas] =
        ["peak_s", "comb_s", "sigmas", "second_s", "second_sigmas"]
            .map(|key| answer.rows.numbers(key));
    let without: Vec<String> = (0..pairs.len())
        .filter(|&at| sigmas[at].is_none() && combs[at].is_none())
        .map(pair)
        .collect();
    let said = |line: &str| format!("\n{}", style.header(line));
    if !without.is_empty() {
        text.push_str(&said(&format!(
            "no peak above chance: {}; a longer --range reaches farther",
            without.join("; ")
        )));
    }
    for at in 0..pairs.len() {
        let pair = pair(at);
        if let Some(comb) = combs[at] {
            let period = seconds(comb);
            let none =
                if sigmas[at].is_none() { "; no pulse above the others, no delay" } else { "" };
            text.push_str(&said(&format!(
                "{pair}: pulsed light, period {period}{none}; its accidentals are measured by"
            )));
            let shift = period.replace(' ', "");
            let _ = writeln!(text, "  --accidentals shifted --shift {shift}");
        }
        let best = peaks[at].is_none().then_some(sigmas[at]).flatten();
        let second = seconds_best[at].zip(second_sigmas[at]);
        if let Some((best, (second, second_sigmas))) = best.zip(second) {
            text.push_str(&said(&format!(
                "{pair}: no delay: the best place has {best:.1} sigmas, another one, {}, {second_sigmas:.1}; \
                 a histogram shows both",
                seconds(second)
            )));
        }
    }
    let moved: Vec<String> = delays
        .iter()
        .filter(|(_, ticks)| *ticks != 0)
        .map(|&(channel, ticks)| format!("--delay {}={}", name(channel), tick.paste_nearest(ticks)))
        .collect();
    if !moved.is_empty() {
        let _ = writeln!(text, "\nthese delays put the peaks at zero:\n  {}", moved.join(" "));
    } else if !delays.is_empty() {
        let _ = writeln!(text, "\nthe peaks are at zero as it is");
    }
    text
}
