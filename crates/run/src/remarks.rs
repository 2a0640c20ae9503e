//! Remarks about a source that each answer repeats: it is cut, or contradicts its own header.
//!
//! If the header states 1,000 records, and 900 are found, the file was cut.

use tagq_ingest::{EARLY, ROUNDED};
use tagq_store::{Recording, Source, Tick, TimeUnit};

use crate::{counted::are, counted::counted, counted::thousands};

/// Odd tags are noise, and no remark, if they are fewer than one in so many.
const ODD_MIN: u64 = 1_000;

/// Words that describe a message or a member that is cut; the part before the cut can be read.
const CUT: [&str; 2] = ["is not complete", "ends inside message"];
const SALVAGE: &str = "; `tagq ingest --salvage RUN` takes what can be read of it";

/// Remarks about a source of a run, with both numbers where two contradict.
pub fn remarks(source: &Source, tick: Tick) -> Vec<String> {
    let facts = &source.facts;
    let mut remarks = Vec::new();
    if let Some(torn) = &facts.torn {
        let can_salvage = !facts.salvaged && CUT.iter().any(|words| torn.contains(words));
        let salvage = if can_salvage { SALVAGE } else { "" };
        let (tags, are) = (counted(source.rows, "tag"), are(source.rows));
        remarks.push(format!("{torn}; the {tags} before it {are} kept{salvage}"));
    }
    if source.rows == 0 && facts.size == 0 && tagq_ingest::needs_header(facts.name.as_bytes()) {
        remarks.push("the file is empty: it has not even a header".into());
    }
    let Some(recording) = &facts.recording else { return remarks };
    remarks.extend(recorded_remarks(recording, source.rows, Some(tick)));
    let stated = recording.stated.and_then(|stated| stated.duration_ms);
    let span = source.time_first.zip(source.time_last);
    if let (Some(stated), Some((first, last))) = (stated, span) {
        let stated = stated as f64 / 1e3;
        let ends = i128::from(last) - i128::from(facts.rebased.unwrap_or(0));
        let found = tick.seconds_of(ends);
        let spacing = tick.seconds_of(i128::from(last) - i128::from(first)) / source.rows as f64;
        // After the last tag there are at most a few gaps.
        if (found - stated).abs() > 0.01 * stated + 10.0 * spacing {
            remarks.push(format!(
                "its last tag is at {}, and its header says that {stated} s were measured",
                tick.format(ends)
            ));
        }
    }
    remarks
}

/// Remarks about what was read of a file of so many tags with this tick.
pub fn recorded_remarks(recording: &Recording, tags: u64, tick: Option<Tick>) -> Vec<String> {
    let mut remarks = Vec::new();
    let stated = recording.stated.unwrap_or_default();
    match (stated.records, stated.records_found) {
        (Some(0), _) => remarks.push(
            "its header says nothing about its end: the instrument did not finish the file".into(),
        ),
        (Some(stated), Some(found)) if found < stated => remarks.push(format!(
            "{} of {} {} there: the file was cut",
            thousands(found),
            counted(stated, "record"),
            are(found)
        )),
        (Some(stated), Some(found)) if found > stated => remarks.push(format!(
            "the file has {}, and its header says {}",
            counted(found, "record"),
            thousands(stated)
        )),
        _ => {}
    }
    for (what, count) in &recording.odd {
        if what == ROUNDED {
            let picosecond = TimeUnit::Ps.length();
            let tick = tick.unwrap_or(picosecond);
            let finer = if tick.seconds() > picosecond.seconds() { "1ps" } else { "1fs" };
            remarks.push(format!(
                "{} of {} times have digits below {} and were rounded; `tagq ingest --rebuild --tick {finer} RUN` keeps \
                 more of them",
                thousands(*count),
                thousands(tags),
                tick.exact()
            ));
        } else if what == EARLY {
            remarks.push(format!(
                "{} of {} tags came before the counter of the instrument began again, and were recorded after it: their \
                 times are one period of the counter earlier than their places in the file say",
                thousands(*count),
                thousands(tags)
            ));
        } else if count.saturating_mul(ODD_MIN) > tags {
            let period = recording.pulses.map(|pulses| format!(" of {}", pulses.period));
            remarks.push(format!(
                "{} of {} tags have a {what}{}: the sync was divided, or the file is damaged",
                thousands(*count),
                thousands(tags),
                period.unwrap_or_default()
            ));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use tagq_store::Stated;

    use super::*;

    #[test]
    fn a_header_that_says_otherwise_is_noted_with_both_numbers() {
        let of = |records, records_found| {
            let stated = Some(Stated { records, records_found, duration_ms: None });
            recorded_remarks(&Recording { stated, ..Recording::default() }, 100, None)
        };
        assert_eq!(
            of(Some(929_254), Some(23_857))[0].split(':').next(),
            Some("23,857 of 929,254 records are there")
        );
        assert_eq!(of(Some(5), Some(1_000)), ["the file has 1,000 records, and its header says 5"]);
        assert!(of(Some(0), Some(7))[0].contains("did not finish"));
        assert_eq!(of(Some(7), Some(7)), [""; 0]);
        assert_eq!(of(Some(7), None), [""; 0]);
        assert_eq!(of(None, Some(7)), [""; 0]);
    }

    #[test]
    fn many_long_micro_times_are_noted() {
        let of = |count| {
            let odd = vec![("micro time beyond the sync period".to_owned(), count)];
            recorded_remarks(&Recording { odd, ..Recording::default() }, 10_000, None)
        };
        assert_eq!(of(10), [""; 0]);
        assert!(of(1_234)[0].starts_with("1,234 of 10,000 tags have a micro time beyond the sync"));
        let odd = vec![(ROUNDED.to_owned(), 1)];
        let recording = Recording { odd, ..Recording::default() };
        let rounded = recorded_remarks(&recording, 10_000, None);
        assert!(
            rounded[0].starts_with("1 of 10,000 times have digits below 1 ps and were rounded")
        );
        let rounded = recorded_remarks(&recording, 10_000, "1ns".parse().ok());
        assert!(rounded[0].starts_with("1 of 10,000 times have digits below 1 ns"));
        assert!(rounded[0].contains("--tick 1ps RUN"));
    }
}
