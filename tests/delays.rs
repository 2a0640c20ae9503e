//! `tagq delays` and `tagq name`.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    support::{coincidences, command, output, root, skipped, tagq, without_names},
    validation::recorded,
};

/// Simulates a run of 1 s into `folder`.
fn simulate(folder: &Path, args: &str) -> std::path::PathBuf {
    let out = folder.join("run.tags.zst");
    let made = output(command().arg("simulate").args(args.split_whitespace()).arg(&out));
    assert_eq!(made.code, 0, "{}", made.stderr);
    out
}

fn delays(run: &Path, args: &str) -> Value {
    let args = args.split_whitespace().map(Into::into);
    tagq(["delays".into()].into_iter().chain(args).chain([run.as_os_str().to_owned()])).json()
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

#[test]
fn delays_are_found_wherever_they_are() {
    for delay in ["0ns", "5ns", "-26t", "3us", "-0.7ms"] {
        let folder = tempfile::tempdir().unwrap();
        let light = "--duration 1s --rate 50kHz --dark 20kHz --jitter 300ps";
        let run = simulate(folder.path(), &format!("{light} --delay 2={delay}"));
        let found = delays(&run, "--channels 1,2");
        let row = &found["rows"][0];
        let expected: f64 = match delay {
            "0ns" => 0.0,
            "5ns" => 5e-9,
            "-26t" => -26.0 * 156.25e-12,
            "3us" => 3e-6,
            _ => -0.7e-3,
        };
        let off = (seconds(&row["peak_s"]) - expected).abs();
        assert!(off < 5.0 * seconds(&row["peak_err_s"]) + 156.25e-12 / 2.0, "{delay}: {row}");
        // Two jitters of 300 ps give a peak of width 2.355·√2·300 ps.
        let width = seconds(&row["width_s"]);
        assert!((0.8e-9..1.3e-9).contains(&width), "{delay}: {row}");
        assert!(seconds(&row["sigmas"]) > 50.0 && row["comb_s"].is_null(), "{delay}: {row}");
        // --exact shows all digits, in seconds.
        let words = ["delays", "--channels", "1,2", "--format", "table", "--exact"];
        let exact = output(command().args(words).arg(&run));
        assert!(exact.text().contains("  peak (s)  "), "{}", exact.text());
        // The printed option puts the peak at zero.
        let ticks = found["query"]["delays"][1]["ticks"].as_i64().unwrap();
        let flags = format!("--window 2ns --group 1,2 --delay 2={ticks}t");
        let count = seconds(&coincidences(&flags, &run)["rows"][0]["count"]);
        assert!(count > 0.99 * 50_000.0, "{delay}: {count}");
    }
}

#[test]
fn chance_has_no_peak_and_a_comb_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = simulate(folder.path(), "--coherent --rate 200kHz --duration 1s");
    let found = delays(&run, "--channels 1,2");
    assert!(found["rows"][0]["peak_ticks"].is_null(), "{found}");
    assert!(found["query"]["delays"].as_array().unwrap().is_empty());
    let table =
        output(command().args(["delays", "--channels", "1,2", "--format", "table"]).arg(&run));
    assert!(table.text().contains("no peak above chance: 1,2"), "{}", table.text());

    let folder = tempfile::tempdir().unwrap();
    let pulses = "--pulsed 12.5ns --jitter 100ps --duration 1s";
    let pairs = format!("{pulses} --rate 200kHz --dark 100kHz --delay 2=100ns --efficiency 0.5");
    let run = simulate(folder.path(), &pairs);
    let row = &delays(&run, "--channels 1,2")["rows"][0];
    assert!((seconds(&row["peak_s"]) - 100e-9).abs() < 0.1e-9, "{row}");
    assert!((seconds(&row["comb_s"]) - 12.5e-9).abs() < 0.01e-9, "{row}");
    assert!(seconds(&row["second_sigmas"]) < seconds(&row["sigmas"]), "{row}");

    // Only laser pulses: each peak has the same number of pairs.
    let folder = tempfile::tempdir().unwrap();
    let run = simulate(folder.path(), &format!("{pulses} --coherent --rate 400kHz"));
    let found = delays(&run, "--channels 1,2");
    assert!(found["rows"][0]["peak_ticks"].is_null(), "{found}");
    assert!((seconds(&found["rows"][0]["comb_s"]) - 12.5e-9).abs() < 0.01e-9, "{found}");
    assert!(found["query"]["delays"].as_array().unwrap().is_empty());
    let table =
        output(command().args(["delays", "--channels", "1,2", "--format", "table"]).arg(&run));
    assert!(table.text().contains("no pulse above the others"), "{}", table.text());
}

/// The note appears where accidentals by formula are wrong, and nowhere else.
#[test]
fn pulsed_light_has_a_note_beside_accidentals_by_formula() {
    let folder = tempfile::tempdir().unwrap();
    let pulses = "--pulsed 12.539077ns --jitter 300ps --coherent --rate 300kHz --duration 1s";
    let run = simulate(folder.path(), pulses);
    let stderr = |args: &str| {
        let words = ["coincidences", "--group", "1,2"].into_iter().chain(args.split_whitespace());
        let asked = output(command().args(words).arg(&run));
        assert_eq!(asked.code, 0, "{}", asked.stderr);
        asked.stderr
    };
    let said = stderr("--window 1ns");
    assert!(said.contains("the light is pulsed, period 12.539"), "{said}");
    assert!(said.contains("--accidentals shifted --shift 12.539"), "{said}");
    // A width of 41 ns needs at least four pulses: 4·12.539 ns.
    let said = stderr("--window 20ns");
    assert!(said.contains("--accidentals shifted --shift 50.15"), "{said}");
    // The shift gives what the note promises: 300 kHz on each channel at 7.98·10⁷ pulses per second, and a
    // full width of many jitters: 3·10⁵·3·10⁵/7.975·10⁷ = 1,128 accidentals, and no true pairs.
    let shift = said.split("--shift ").nth(1).unwrap().split_whitespace().next().unwrap();
    let shifted = format!("--window 4ns --group 1,2 --accidentals shifted:20 --shift {shift}");
    let row = &coincidences(&shifted, &run)["rows"][0];
    let accidentals = seconds(&row["accidentals"]);
    assert!((accidentals - 1_128.5).abs() < 40.0, "{row}");
    for none in [
        "--window 1ns --accidentals shifted --shift 12.5ns",
        "--window 1ns --rule once",
        "--window 100ns",
        "--window 1ns --list --format csv",
    ] {
        let said = stderr(none);
        assert!(!said.contains("pulsed, period"), "{none}: {said}");
    }
    let steady = tempfile::tempdir().unwrap();
    let run = simulate(steady.path(), "--coherent --rate 300kHz --duration 1s");
    let words = ["coincidences", "--group", "1,2", "--window", "1ns"];
    let asked = output(command().args(words).arg(&run));
    assert!(!asked.stderr.contains("pulsed"), "{}", asked.stderr);
}

#[test]
fn a_range_beyond_the_run_is_cut_and_wrong_words_are_said() {
    let folder = tempfile::tempdir().unwrap();
    let run = simulate(folder.path(), "--duration 100ms --rate 50kHz --delay 2=1us");
    let cut = output(command().args(["delays", "--channels", "1,2", "--range", "1s"]).arg(&run));
    assert!(cut.stderr.contains("an eighth of the run"), "{}", cut.stderr);
    assert!((seconds(&cut.json()["rows"][0]["peak_s"]) - 1e-6).abs() < 1e-9);
    let said = |args: &[&str], part: &str| {
        let output = output(command().arg("delays").args(args).arg(&run));
        assert_eq!((output.code, output.stderr.contains(part)), (2, true), "{}", output.stderr);
    };
    said(&["--channels", "1"], "between two channels");
    said(&["--channels", "1,1"], "between two channels");
    said(&["--channels", "1,2", "--range", "0ns"], "below one tick");
    said(&["--channels", "Alice,2"], "Alice");
}

#[test]
fn real_data_has_its_delay_where_it_was_counted() {
    let Some(data) = std::env::var_os("TAGQ_REAL_DATA") else {
        return skipped("TAGQ_REAL_DATA names no folder of real data");
    };
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    fs::create_dir(&run).unwrap();
    let name = "uqd_logic16_500k.tags.zst";
    fs::copy(Path::new(&data).join(name), run.join(name)).unwrap();
    let setup = run.join("tagq.toml");
    fs::write(&setup, "# room 3\ntick = \"156.25ps\"\n").unwrap();
    let words = ["delays", "--channels", "3,15", "--format", "table", "--write"];
    let found = output(command().args(words).arg(&setup).arg(&run));
    assert_eq!(found.code, 0, "{}", found.stderr);
    let flag = found.text().lines().last().unwrap().trim().to_owned();
    // There are 75 differences of 25 ticks and 76 of 26, but 54 of 24 and 36 of 27, so the peak is at 25.
    assert_eq!(flag, "--delay 15=-3.90625ns");
    let counted = coincidences(&format!("--window 2ns --group 3,15 --no-setup {flag}"), &run);
    let known = recorded("uqd-peak", "NumPy");
    assert_eq!(counted["rows"][0]["count"].as_f64(), Some(known));
    // Also with the setup that it wrote.
    assert!(fs::read_to_string(&setup).unwrap().starts_with("# room 3\n"));
    let counted = coincidences("--window 2ns --group 3,15", &run);
    assert_eq!(counted["rows"][0]["count"].as_f64(), Some(known));
}

/// The light had 79.75 MHz: data/validation.json has the period with the highest Rayleigh power. No range gives a
/// delay.
#[test]
fn real_pulsed_light_has_a_period_and_no_delay() {
    let Some(data) = std::env::var_os("TAGQ_REAL_DATA") else {
        return skipped("TAGQ_REAL_DATA names no folder of real data");
    };
    let folder = tempfile::tempdir().unwrap();
    let name = "picoharp_t2.tags.zst";
    let run = folder.path().join(name);
    fs::copy(Path::new(&data).join(name), &run).unwrap();
    let period = recorded("picoharp-period", "NumPy");
    for range in ["1ms", "100us", "300us", "3ms"] {
        let found = delays(&run, &format!("--channels 0,1 --tick 4ps --range {range}"));
        let row = &found["rows"][0];
        assert!(row["peak_s"].is_null(), "{range}: {row}");
        assert!(found["query"]["delays"].as_array().unwrap().is_empty(), "{range}: {found}");
        assert!((seconds(&row["comb_s"]) - period).abs() < 0.00005e-9, "{range}: {row}");
    }
    let words = ["delays", "--channels", "0,1", "--format", "table", "--tick", "4ps"];
    let table = output(command().args(words).arg(&run));
    assert!(table.text().contains("pulsed light, period 12.539"), "{}", table.text());
    assert!(table.text().contains("--accidentals shifted --shift 12.539"), "{}", table.text());
}

#[test]
fn channels_get_names_that_stand_wherever_a_channel_does() {
    let folder = tempfile::tempdir().unwrap();
    let run = crate::support::fixture_copy(folder.path());
    let name = |names: &[&str]| output(command().arg("name").arg(&run).args(names));
    assert_eq!(name(&["1=Idler", "2=Signal"]).code, 0);
    assert_eq!(name(&[]).text(), "1=Idler\n2=Signal\n");
    let named = coincidences("--window 2ns --group Idler,Signal", &run);
    let numbered = coincidences("--window 2ns --group 1,2 --no-setup", &run);
    assert_eq!(named["rows"][0]["names"], json!(["Idler", "Signal"]));
    assert_eq!(without_names(&named["rows"]), numbered["rows"]);
    let taken = name(&["3=Idler"]);
    assert!(taken.code == 2 && taken.stderr.contains("two channels"), "{}", taken.stderr);
    assert_eq!(name(&["1="]).code, 0);
    assert_eq!(name(&[]).text(), "2=Signal\n");
    for bad in ["1", "x=Idler", "1=7up"] {
        assert_eq!(name(&[bad]).code, 2, "{bad}");
    }
    assert_eq!(output(command().args(["name", "/nowhere"])).code, 1);
    assert!(!root().join("data/fixtures/pairs/tagq.toml").exists());
}

/// Of a few pulses that are equally high none is the delay, also if they follow each other.
#[test]
fn no_pulse_is_the_delay_if_another_one_is_about_as_high() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("tagq.toml"), "tick = \"156.25ps\"\n").unwrap();
    // A tag of channel 2 belongs to one of `pulses` pulses after that of channel 1, 80.25 ticks apart.
    let run = |pulses: u64| {
        let mut state = 7_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((state >> 11) as f64 + 0.5) / 2_f64.powi(53)
        };
        let (mut pulse, mut tags) = (0.0, Vec::new());
        for _ in 0..20_000 {
            pulse += 1.0 + (-200.0 * random().ln()).floor();
            let other = pulse + 3.0 + (pulses as f64 * random()).floor();
            for (of, channel) in [(pulse, 1), (other, 2)] {
                let jitter = 8.0 * (random() + random() - 1.0);
                #[expect(clippy::cast_possible_truncation, reason = "a time")]
                tags.push(((of * 80.25 + jitter) as i64, channel));
            }
        }
        tags.sort_unstable();
        let text: Vec<String> =
            tags.iter().map(|(t, channel)| format!("{channel}\t{t}\n")).collect();
        let run = folder.path().join(format!("{pulses}.tsv"));
        fs::write(&run, text.concat()).unwrap();
        delays(&run, "--channels 1,2")["rows"][0].clone()
    };
    let one = run(1);
    assert!((seconds(&one["peak_s"]) - 3.0 * 80.25 * 156.25e-12).abs() < 1e-9, "{one}");
    for pulses in [2, 3, 8] {
        let row = run(pulses);
        assert!(row["peak_s"].is_null() && !row["comb_s"].is_null(), "{pulses}: {row}");
        assert!(seconds(&row["sigmas"]) < seconds(&row["second_sigmas"]) + 4.0, "{pulses}: {row}");
    }
}
