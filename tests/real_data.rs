//! Real photon data with answers from independent programs. The files are not in the repository:
//! `TAGQ_REAL_DATA` names their folder. Without it these tests print that they are skipped.

use std::{fs, io::Read as _, path::PathBuf};

use tagq::{
    OpenOptions, Silent,
    query::{Bins, Execution, Histogram, Kind as _, Mode, Rates, Scope, TimeDivision},
};

use crate::support::{coincidences, counts, skipped, store_file, tagq};

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

fn close(value: &serde_json::Value, expected: f64, tolerance: f64) -> bool {
    value.as_f64().is_some_and(|value| (value - expected).abs() <= tolerance)
}

#[test]
fn pairs_of_a_16_channel_tagger() {
    let Some((_folder, run)) = real("uqd_logic16_500k.tags.zst") else { return };
    let narrow = coincidences("--window 2ns", &run);
    assert_eq!(counts(&narrow), [(3, 15, 61), (3, 16, 3), (15, 16, 9)]);
    let query = &narrow["query"];
    assert_eq!(query["window_ticks"], 12);
    assert_eq!(query["full_width_ticks"], 25);
    assert_eq!(query["rule"], "all");
    let used = &narrow["run"];
    assert_eq!(used["tags"], 500_000);
    assert_eq!(used["tick"], "156250000/1");
    assert_eq!(used["tick_assumed"], true);
    assert_eq!(used["channels"][0]["count"], 223_058);
    assert_eq!(used["channels"][1]["count"], 251_662);
    assert_eq!(used["channels"][2]["count"], 25_280);
    // 14,827,730,247 ticks of 156.25 ps.
    assert!(close(&used["live_s"], 2.316_832_851_093_75, 1e-12), "{used}");
    assert!(close(&narrow["rows"][0]["accidentals"], 94.6, 0.05), "{narrow}");

    let wide = coincidences("--window 1us", &run);
    assert_eq!(counts(&wide), [(3, 15, 49_014), (3, 16, 4_959), (15, 16, 5_503)]);
    assert_eq!(wide["query"]["window_ticks"], 6_400);

    // Triples by two rules, one-to-one pairs, and cells as in the recorder's own tools.
    let triples = |rule: &str| {
        let args = format!("--window 1us --group 3,15,16 --rule {rule}");
        coincidences(&args, &run)["rows"][0]["count"].as_u64()
    };
    assert_eq!((triples("all"), triples("once")), (Some(788), Some(673)));
    let once = coincidences("--window 2ns --rule once", &run);
    assert_eq!(counts(&once), [(3, 15, 61), (3, 16, 3), (15, 16, 9)]);
    let cells = coincidences("--window 13t --rule grid", &run);
    assert_eq!(counts(&cells), [(3, 15, 33), (3, 16, 2), (15, 16, 5)]);

    let delayed = coincidences("--window 2ns --group 3,15 --delay 15=-4.0625ns", &run);
    assert_eq!(counts(&delayed), [(3, 15, 370)]);
    assert!(close(&delayed["rows"][0]["accidentals"], 94.6, 0.05), "{delayed}");
    assert!(close(&delayed["rows"][0]["car"], 2.91, 0.005), "{delayed}");
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
fn pairs_of_a_picoharp() {
    let Some((_folder, run)) = real("picoharp_t2.tags.zst") else { return };
    let answer = coincidences("--window 2ns --tick 4ps", &run);
    assert_eq!(counts(&answer), [(0, 1, 189)]);
    let cells = coincidences("--tick 4ps --window 500t --rule grid", &run);
    assert_eq!(counts(&cells), [(0, 1, 119)]);
    assert_eq!(answer["query"]["window_ticks"], 500);
    assert_eq!(answer["run"]["tick_assumed"], false);
    assert_eq!(answer["run"]["channels"][0]["count"], 531_477);
    assert_eq!(answer["run"]["channels"][1]["count"], 388_700);
    // 1,912,597,668,189 − 32,486,569 ticks of 4 ps.
    assert!(close(&answer["run"]["live_s"], 7.650_260_726_48, 1e-12), "{answer}");
}

/// Returns the columns of a reference file that another program computed.
fn reference(name: &str) -> Vec<(f64, f64)> {
    let folder = std::env::var_os("TAGQ_REAL_DATA").unwrap();
    let text = fs::read_to_string(PathBuf::from(folder).join(name)).unwrap();
    let row = |line: &str| {
        let (delay, value) = line.split_once('\t').unwrap();
        (delay.trim().parse().unwrap(), value.trim().parse().unwrap())
    };
    text.lines().map(row).collect()
}

#[test]
fn histogram_and_g2_of_a_16_channel_tagger() {
    let Some((_folder, path)) = real("uqd_logic16_500k.tags.zst") else { return };
    let run = tagq::open(&path, &OpenOptions::default(), &Silent).unwrap();
    let query = Histogram {
        start: 3,
        stop: 15,
        bins: Bins::linear(-64, 65, 1).unwrap(),
        mode: Mode::All,
        fold: None,
        scope: Scope::default(),
    };
    let (binned, g2) = run
        .count(|tags| {
            let binned = query.run(tags, &Execution::best())?;
            let g2 = query.g2(tags, &binned, &Execution::best())?;
            Ok((binned, g2))
        })
        .unwrap();
    let count = |delay: i64| binned.counts[query.bins.holding(delay).unwrap()];
    assert_eq!(binned.counts.iter().sum::<u64>(), 754);
    assert_eq!((count(26), count(-8)), (76, 3));
    assert_eq!(binned.counts.iter().max(), Some(&76));
    assert_eq!((binned.singles(), binned.sources[0].live), ([223_058, 251_662], 14_827_730_247));

    // The first and the last row of the references are always 0.
    let counts = reference("uqd_logic16_500k.histogram_3_15.txt");
    let expected_g2 = reference("uqd_logic16_500k.g2_3_15.txt");
    assert_eq!((counts.len(), expected_g2.len()), (129, 129));
    for k in 1..128 {
        let delay_ns = query.bins.edge(k) as f64 * 0.156_25;
        assert!((counts[k].0 - delay_ns).abs() < 1e-3, "{k}");
        assert!((counts[k].1 - binned.counts[k] as f64).abs() < 0.5, "{k}");
        let value = g2[k].unwrap().value;
        assert!((value - expected_g2[k].1).abs() <= 3e-4 * value, "{k}: {value}");
    }
    assert!((g2[90].unwrap().value - 20.075).abs() < 6e-3);
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
    assert_eq!(counts, [223_058, 251_662, 25_280]);
    let trace = rated.trace.unwrap();
    assert_eq!(trace.bins.len(), 24);
    assert_eq!((trace.bins[23].live, trace.bins[23].of.is_final), (107_730_247, false));
    for (i, total) in counts.into_iter().enumerate() {
        assert_eq!(trace.counts.chunks(3).map(|counts| counts[i]).sum::<u64>(), total);
    }
}
