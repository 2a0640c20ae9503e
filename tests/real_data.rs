//! Real photon data; `validation` compares the answers of other programs. The files are not in the repository:
//! `TAGQ_REAL_DATA` names their folder. Without it these tests print that they are skipped.

use std::{fs, io::Read as _, path::PathBuf};

use tagq::{
    OpenOptions, Silent,
    query::{Execution, Kind as _, Rates, Scope, TimeDivision},
};

use crate::{
    support::{coincidences, counts, skipped, store_file, tagq},
    validation::recorded,
};

/// Copies a real file, so that its store is created elsewhere. Returns `None` without data.
fn real(name: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let Some(folder) = std::env::var_os("TAGQ_REAL_DATA") else {
        skipped(&format!("TAGQ_REAL_DATA does not name the folder of {name}"));
        return None;
    };
    let copy = tempfile::tempdir().unwrap();
    let path = copy.path().join(name);
    fs::copy(PathBuf::from(folder).join(name), &path).unwrap();
    Some((copy, path))
}

#[test]
fn an_answer_states_its_rule_and_the_recording() {
    let Some((_folder, run)) = real("uqd_logic16_500k.tags.zst") else { return };
    let narrow = coincidences("--window 2ns", &run);
    let query = &narrow["query"];
    assert_eq!(query["window_ticks"], 12);
    assert_eq!(query["full_width_ticks"], 25);
    assert_eq!(query["rule"], "all");
    let used = &narrow["run"];
    assert_eq!(used["tags"], 500_000);
    assert_eq!(used["tick"], "156250000/1");
    assert_eq!(used["tick_assumed"], true);
    let wide = coincidences("--window 1us", &run);
    assert_eq!(wide["query"]["window_ticks"], 6_400);

    // All groups in one answer, as each in its own, for which data/validation.json has counts.
    let known = |pair: &str, ticks| recorded(&format!("uqd-{pair}-{ticks}"), "NumPy");
    for (answer, ticks) in [(narrow, 12), (wide, 6_400)] {
        let rows = counts(&answer).into_iter();
        let found: Vec<f64> = rows.map(|(_, _, count)| count as f64).collect();
        assert_eq!(found, ["3-15", "3-16", "15-16"].map(|pair| known(pair, ticks)));
    }
    let delayed = coincidences("--window 2ns --group 3,15 --delay 15=-4.0625ns", &run);
    assert_eq!(delayed["query"]["delays"][0]["ticks"], -26);
}

#[test]
fn any_number_of_threads_gives_the_same_answer() {
    let Some((_folder, run)) = real("uqd_logic16_500k.tags.zst") else { return };
    let one = coincidences("--window 1us --delay 15=-4.0625ns --threads 1", &run);
    let many = coincidences("--window 1us --delay 15=-4.0625ns --threads 7", &run);
    assert_eq!(one["rows"], many["rows"]);
    let copied = coincidences("--window 1us --delay 15=-4.0625ns --io read", &run);
    assert_eq!(one["rows"], copied["rows"]);
}

#[test]
fn text_out_is_the_text_it_was_made_from() {
    let Some((folder, run)) = real("uqd_logic16_500k.tags.zst") else { return };
    let Some((_other, text)) = real("uqd_logic16_500k.tsv.zst") else { return };
    let mut expected = Vec::new();
    zstd::stream::Decoder::new(fs::File::open(text).unwrap())
        .unwrap()
        .read_to_end(&mut expected)
        .unwrap();
    expected.retain(|&byte| byte != b'\r');
    let of_file = tagq(["cat".as_ref(), run.as_os_str()]);
    assert!(of_file.stdout == expected, "cat of the file");
    // The folder of the file is a run; its store gives the same text.
    let of_store = tagq(["cat".as_ref(), folder.path().as_os_str()]);
    assert!(of_store.stdout == expected, "cat of the store");
}

#[test]
fn text_is_taken_into_the_same_rows() {
    let Some((folder, run)) = real("uqd_logic16_500k.tags.zst") else { return };
    let Some((other, text)) = real("uqd_logic16_500k.tsv.zst") else { return };
    let answer = coincidences("--window 1us --tick 156.25ps", &text);
    assert_eq!(answer["rows"], coincidences("--window 1us", &run)["rows"]);
    let column = |folder: &tempfile::TempDir, source: &str, key: &str| {
        fs::read(store_file(&folder.path().join(format!("{source}.tagq")), key)).unwrap()
    };
    for name in ["gap", "far", "steps", "channel"] {
        let of_text = column(&other, "uqd_logic16_500k.tsv.zst", name);
        let of_tags = column(&folder, "uqd_logic16_500k.tags.zst", name);
        assert!(of_text.len() > 4_096 && of_text[4_096..] == of_tags[4_096..], "{name}");
    }
    // After both conversions the text is the same, except for carriage returns.
    let tsv = folder.path().join("back.tsv");
    let made = tagq(["convert".as_ref(), run.as_os_str(), tsv.as_os_str()]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let mut expected = zstd::decode_all(fs::File::open(&text).unwrap()).unwrap();
    expected.retain(|&byte| byte != b'\r');
    assert!(fs::read(tsv).unwrap() == expected);
}

#[test]
fn rates_of_a_16_channel_tagger() {
    let Some((_folder, path)) = real("uqd_logic16_500k.tags.zst") else { return };
    let run = tagq::open(&path, &OpenOptions::default(), &Silent).unwrap();
    // 100 ms are 640,000,000 ticks: 24 bins, the last one of 107,730,247 ticks.
    let query = Rates { scope: Scope::default(), trace: Some(TimeDivision::Width(640_000_000)) };
    let rated = run.count(|tags| query.run(tags, &Execution::best())).unwrap();
    assert_eq!((&rated.channels[..], rated.live()), (&[3, 15, 16][..], 14_827_730_247));
    let counts = rated.counts();
    let singles = [3, 15, 16].map(|label| recorded(&format!("uqd-singles-{label}"), "NumPy"));
    assert_eq!(counts.iter().map(|&count| count as f64).collect::<Vec<_>>(), singles);
    let trace = rated.trace.unwrap();
    assert_eq!(trace.bins.len(), 24);
    assert_eq!((trace.bins[23].live, trace.bins[23].of.is_final), (107_730_247, false));
    for (i, total) in counts.into_iter().enumerate() {
        assert_eq!(trace.counts.chunks(3).map(|counts| counts[i]).sum::<u64>(), total);
    }
}
