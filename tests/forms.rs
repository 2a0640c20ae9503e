//! Every form in which tags are written, by every command that writes tags, read back.

use std::fs;

use tagq_export::{PreferredForm, TagFormat};

use crate::{cases, support::Place};

/// How the tags are simulated: of a tick that every form can state, on channels that every form has.
const LIGHT: &str = "--tick 4ps --rate 100kHz --duration 20ms --jitter 300ps --channels 1,2,3,4 -q";

/// How a file is read: its content says its format, but that of the Time Tagger.
fn read(file: &str) -> String {
    let is_swabian = file.contains(".swabian");
    format!("{file} -q{}", if is_swabian { " --source-format swabian" } else { "" })
}

/// Returns the tags of a file as `tagq cat` prints them, in order of time.
fn printed(place: &Place, file: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        place.done(&format!("cat {}", read(file))).text().lines().map(str::to_owned).collect();
    let time = |line: &String| line.split('\t').nth(1).unwrap().parse::<i64>().unwrap();
    lines.sort_by_key(|line| (time(line), line.clone()));
    lines
}

/// Returns the channels and the times in attoseconds of the tags of a file: by the tick that it or a run file beside it states.
fn in_attoseconds(place: &Place, file: &str) -> Vec<(i128, String)> {
    let rates = place.done(&format!("rates --format json {}", read(file))).json();
    let (over, under) = rates["run"]["tick"].as_str().unwrap().split_once('/').unwrap();
    assert_eq!(under, "1");
    let tick: i128 = over.parse().unwrap();
    let tag = |line: &String| {
        let (channel, time) = line.split_once('\t').unwrap();
        let time = time.split('\t').next().unwrap().parse::<i128>().unwrap();
        (time * tick, channel.to_owned())
    };
    printed(place, file).iter().map(tag).collect()
}

#[test]
fn every_form_is_written_by_every_command_and_read_back() {
    let place = Place::new();
    place.done(&format!("simulate run.tags.zst {LIGHT}"));
    place.done("ingest run.tags.zst -q");
    let expected = in_attoseconds(&place, "run.tags.zst");
    // No tick of 156.25 ps is taken for granted.
    assert!(expected.len() > 3_000 && expected[expected.len() - 1].0 < 20_000_000_000_000_000);
    let mut forms = 0;
    for (number, format) in TagFormat::all().enumerate() {
        let suffix = format.suffix();
        for (command, line) in [
            ("convert", "convert run.tags.zst OUT -q"),
            ("convert of a run", "convert run.tags.zst.tagq OUT -q"),
            ("export", "export run.tags.zst --no-ingest -o OUT -q"),
            ("simulate", &format!("simulate OUT {LIGHT}")),
        ] {
            let out = format!("{number}{}{suffix}", command.replace(' ', "-"));
            place.done(&line.replace("OUT", &out));
            assert!(in_attoseconds(&place, &out) == expected, "{command} {suffix}");
            forms += 1;
        }
    }
    assert!(forms > 60, "{forms}");
}

/// A PTU file has the number of its records in its header, as other readers want it.
#[test]
fn a_ptu_states_its_records() {
    let place = Place::new();
    place.done(&format!("simulate run.ptu {LIGHT}"));
    let bytes = fs::read(place.path("run.ptu")).unwrap();
    let name = b"TTResult_NumberOfRecords";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap() + 40;
    let stated = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let end = bytes.windows(10).position(|window| window == b"Header_End").unwrap() + 48;
    assert_eq!(stated, (bytes.len() - end) as u64 / 4);
    assert!(stated > 3_000);
    // A part of it is known to be a part.
    fs::write(place.path("part.ptu"), &bytes[..bytes.len() - 400]).unwrap();
    assert!(place.done("convert part.ptu part.csv").stderr.contains("records"));
}

#[test]
fn forms_that_keep_micro_times_hold_all_of_them() {
    let place = Place::new();
    cases::make(&place.path(""));
    let expected = printed(&place, "run.tagq");
    assert!(expected.iter().all(|line| line.split('\t').count() == 3));
    let mut kept = 0;
    for (number, format) in TagFormat::all().enumerate() {
        if !format.form().keeps().micro {
            continue;
        }
        for (command, line) in [
            ("convert", "convert run.tagq OUT -q"),
            ("export", "export run.tagq --no-ingest -o OUT -q"),
        ] {
            let out = format!("{number}{command}{}", format.suffix());
            // Text of this name has the columns of files there.
            if command == "convert"
                && TagFormat::of_name(out.as_ref(), PreferredForm::Files) != Some(format)
            {
                continue;
            }
            place.done(&line.replace("OUT", &out));
            place.done(&format!("ingest {out} -q"));
            assert!(printed(&place, &format!("{out}.tagq")) == expected, "{command} {out}");
            kept += 1;
        }
    }
    assert!(kept >= 10, "{kept}");
}

/// A selection is the same in each form; columns of tables are refused in others.
#[test]
fn a_selection_is_written_in_every_form() {
    let place = Place::new();
    place.done(&format!("simulate run.tags.zst {LIGHT}"));
    let words = "--channels 2,3 --from 1ms --to 11ms";
    place.done(&format!("export run.tags.zst {words} -o all.tsv -q"));
    let expected = in_attoseconds(&place, "all.tsv");
    assert!(expected.len() > 1_000);
    for (number, format) in TagFormat::all().enumerate() {
        let out = format!("{number}{}", format.suffix());
        place.done(&format!("export run.tags.zst {words} -o {out} -q"));
        assert!(in_attoseconds(&place, &out) == expected, "{out}");
        let with_floats = format!("export run.tags.zst --time-unit ns -o floats{out} -q");
        let is_table = matches!(format, TagFormat::Table(_))
            || ["csv", "tsv"].iter().any(|ending| out.ends_with(ending));
        assert_eq!(place.tagq(&with_floats).code == 0, is_table, "{out}");
    }
}
