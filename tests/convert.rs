//! `tagq convert`: every format into every other, and their use by other programs.

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tagq::{files::encode::Encoder, store::Tag};

use crate::support::{Output, cat, command, fixture_copy, full_disk, output, root, skipped};

const FORMS: [&str; 9] = [
    ".tags.zst",
    ".tags",
    ".tsv",
    ".tsv.zst",
    ".csv",
    ".csv.zst",
    ".tags.gz",
    ".tsv.gz",
    ".csv.gz",
];

fn convert(from: &Path, out: &Path, args: &[&str]) -> Output {
    output(command().arg("convert").args(args).arg(from).arg(out))
}

/// Writes tags with numbers of all lengths, out of order, in frames of odd sizes.
fn odd_file(folder: &Path) -> PathBuf {
    let tags: Vec<Tag> = (0..5_000_u64)
        .map(|i| {
            let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Tag { time: x.cast_signed() >> (x % 64), channel: x.rotate_left(7) >> (x / 64 % 64) }
        })
        .chain([Tag { time: i64::MIN, channel: u64::MAX }, Tag { time: i64::MAX, channel: 0 }])
        .collect();
    let mut encoder = Encoder::new(Vec::new());
    for part in [&tags[..1], &[], &tags[1..511], &tags[511..1_022], &tags[1_022..]] {
        encoder.frame(part.len() as u64, [part]).unwrap();
    }
    let path = folder.join("odd.tags.zst");
    fs::write(&path, encoder.into_inner()).unwrap();
    path
}

#[test]
fn every_form_becomes_every_other() {
    let folder = tempfile::tempdir().unwrap();
    let odd = odd_file(folder.path());
    let expected = cat(&odd);
    assert_eq!(expected.len(), 5_002);
    for from in FORMS {
        let first = folder.path().join(format!("first{from}"));
        let made = convert(&odd, &first, &[]);
        assert_eq!(made.code, 0, "{from}: {}", made.stderr);
        assert!(made.stderr.contains("5,002 tags"), "{}", made.stderr);
        assert!(cat(&first) == expected, "{from}");
        for to in FORMS {
            let second = folder.path().join(format!("second{from}{to}"));
            assert_eq!(convert(&first, &second, &["-q"]).code, 0, "{from} {to}");
            assert!(cat(&second) == expected, "{from} {to}");
        }
        let printed = convert(&first, Path::new("-"), &[]);
        let mut lines = printed.text().lines();
        assert!(expected.iter().all(|(t, c)| lines.next() == Some(&format!("{c}\t{t}"))));
    }
    let csv = fs::read_to_string(folder.path().join("first.csv")).unwrap();
    let (time, channel) = expected[0];
    assert!(csv.starts_with(&format!("channel,time\n{channel},{time}\n")), "{}", &csv[..60]);
}

#[test]
#[cfg_attr(windows, ignore = "programs of Unix")]
fn other_programs_read_what_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let odd = odd_file(folder.path());
    let (tags, tsv) = (folder.path().join("a.tags.zst"), folder.path().join("a.tsv.zst"));
    for out in [&tags, &tsv] {
        assert_eq!(convert(&odd, out, &[]).code, 0);
    }
    let zstd = |path: &Path| Command::new("zstd").args(["-dc"]).arg(path).output();
    let (Ok(message), Ok(text)) = (zstd(&tags), zstd(&tsv)) else {
        skipped("there is no `zstd` program");
        return;
    };
    assert!(message.status.success() && text.status.success());
    let expected = cat(&odd);
    let lines: Vec<String> =
        expected.iter().map(|(time, channel)| format!("{channel}\t{time}\n")).collect();
    assert!(String::from_utf8(text.stdout).unwrap() == lines.concat());
    let listed = Command::new("zstd").args(["-l", "-v"]).arg(&tags).output().unwrap();
    assert!(String::from_utf8(listed.stdout).unwrap().contains("XXH64"), "checksums");
    // An emulator may start a program that is not there, which then fails.
    if !Command::new("capnp").arg("--version").output().is_ok_and(|of| of.status.success()) {
        skipped("there is no `capnp` program");
        return;
    }
    let mut capnp = Command::new("capnp")
        .args(["decode", "--short"])
        .arg(root().join("crates/ingest/schema/tags.capnp"))
        .arg("Tags")
        .env_remove("PWD")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = capnp.stdin.take().unwrap();
    let feeder = std::thread::spawn(move || stdin.write_all(&message.stdout));
    let decoded = capnp.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert!(decoded.status.success());
    let all: Vec<String> = expected
        .iter()
        .map(|(time, channel)| format!("(time = {time}, channel = {channel})"))
        .collect();
    assert!(
        String::from_utf8(decoded.stdout).unwrap() == format!("(tags = [[{}]])\n", all.join(", "))
    );
}

#[test]
fn a_run_is_converted_in_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let out = folder.path().join("all.csv.zst");
    let made = convert(&run, &out, &[]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let expected = cat(&run);
    assert!(expected.len() > 18_000 && cat(&out) == expected);
    let again = folder.path().join("again.tags");
    assert_eq!(convert(&run.join(".tagq"), &again, &[]).code, 0);
    assert!(cat(&again) == expected);
    // In the folder of the run it would become a source.
    let inside = convert(&run, &run.join("all.csv"), &[]);
    assert_eq!(inside.code, 1, "{}", inside.stderr);
    assert!(inside.stderr.contains("elsewhere"), "{}", inside.stderr);
}

#[test]
fn tags_at_given_times_are_printed() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let cat = |args: &[&str]| output(command().arg("cat").arg(&run).args(args));
    let all = cat(&[]).text().to_owned();
    let tags: Vec<(&str, i64)> = all
        .lines()
        .map(|line| {
            let (_, time) = line.split_once('\t').unwrap();
            (line, time.parse().unwrap())
        })
        .collect();
    let from = |time: i64| tags.partition_point(|&(_, at)| at < time);
    let lines = |first: usize, tags_of: usize| {
        let lines = tags.iter().skip(first).take(tags_of);
        lines.flat_map(|(line, _)| [line, "\n"]).collect::<String>()
    };
    let (first, last) = (tags[0].1, tags[tags.len() - 1].1);
    let middle = first + (last - first) / 3;
    let at = format!("@{middle}t");
    assert_eq!(cat(&["--at", &at]).text(), lines(from(middle), 1));
    // A tick of the fixture is 156.25 ps.
    let second = from(first + 6_400_000_000 / 5);
    let found = cat(&["--at", "200ms,-0ns", "--at", "0s", "--tags", "3"]);
    assert_eq!(found.text(), [lines(second, 3), lines(0, 3), lines(0, 3)].concat());
    assert_eq!(cat(&["--at", "-1t", "--tags", "9"]).text(), lines(from(last - 1), 9));
    let after = cat(&["--at", &format!("@{}t", last + 1)]);
    assert_eq!((after.code, after.text()), (0, ""));
    assert!(after.stderr.contains("t or later"), "{}", after.stderr);
    let piped = output(command().args(["cat", "-", "--at", "1s"]).stdin(Stdio::null()));
    assert_eq!(piped.code, 2);
    assert_eq!(cat(&["--tags", "2"]).code, 2);
}

#[test]
fn several_frames_are_made_of_many_tags() {
    /// A frame of 2²⁰ tags, and a few more.
    const COUNT: i64 = (1 << 20) + 50_000;

    let folder = tempfile::tempdir().unwrap();
    let tags: Vec<Tag> = (0..COUNT).map(|i| Tag { time: i, channel: 3 }).collect();
    let mut encoder = Encoder::new(Vec::new());
    encoder.frame(tags.len() as u64, [&tags[..]]).unwrap();
    let path = folder.path().join("many.tags.zst");
    fs::write(&path, encoder.into_inner()).unwrap();
    for to in FORMS {
        let out = folder.path().join(format!("out{to}"));
        assert_eq!(convert(&path, &out, &["-q"]).code, 0);
        let printed = output(command().arg("cat").arg(&out)).stdout;
        let mut lines = printed.split(|&byte| byte == b'\n');
        let is_equal = (0..COUNT).all(|i| lines.next() == Some(format!("3\t{i}").as_bytes()));
        assert!(is_equal && lines.next() == Some(b"") && lines.next().is_none(), "{to}");
        if to == ".csv" {
            let text = fs::read_to_string(&out).unwrap();
            assert!(text.starts_with("channel,time\n") && text.matches('t').count() == 1);
        }
        if out.extension().is_some_and(|end| end == "zst") {
            let ends = frame_ends(&fs::read(&out).unwrap());
            assert_eq!(ends.len(), 2, "{to}");
            // Each frame can be read separately.
            let last = &fs::read(&out).unwrap()[ends[0]..];
            let alone = folder.path().join(format!("last{to}"));
            fs::write(&alone, last).unwrap();
            assert_eq!(cat(&alone).len(), 50_000, "{to}");
        }
    }
}

/// Returns the ends of the frames of a file, found by decompressing one after another.
fn frame_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut decoder = zstd::stream::Decoder::with_buffer(rest).unwrap().single_frame();
        std::io::copy(&mut decoder, &mut std::io::sink()).unwrap();
        rest = decoder.finish();
        ends.push(bytes.len() - rest.len());
    }
    ends
}

#[test]
fn what_is_empty_is_empty_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("none.txt");
    fs::write(&empty, "").unwrap();
    for to in FORMS {
        let out = folder.path().join(format!("out{to}"));
        assert_eq!(convert(&empty, &out, &[]).code, 0);
        assert!(cat(&out).is_empty());
        if out.extension().is_some_and(|end| end == "zst") {
            assert_eq!(frame_ends(&fs::read(&out).unwrap()).len(), 1);
        }
    }
}

#[test]
fn what_is_there_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let odd = odd_file(folder.path());
    fs::write(here("there.csv"), "mine").unwrap();
    fs::create_dir(here("folder.csv")).unwrap();
    let refused = |from: &Path, out: &Path, args: &[&str], code: i32, word: &str| {
        let refused = convert(from, out, args);
        assert_eq!(refused.code, code, "{}", refused.stderr);
        assert!(refused.stderr.contains(word), "no `{word}` in {}", refused.stderr);
    };
    refused(&odd, &here("there.csv"), &[], 1, "--force");
    refused(&odd, &here("folder.csv"), &["--force"], 1, "is there already");
    refused(&odd, &odd, &["--force"], 1, "is a file to read");
    refused(&odd, &here("out.txt"), &[], 2, ".swabian");
    refused(&here("none"), &here("out.csv"), &[], 1, "no such file");
    refused(&odd, &here("none/out.csv"), &[], 1, "mkdir -p");
    fs::write(here("wrong.tsv"), "1\t2\n".repeat(300_000) + "1\tx\n").unwrap();
    refused(&here("wrong.tsv"), &here("out.csv"), &[], 3, "line 300001");
    refused(&here("wrong.tsv"), &here("there.csv"), &["--force"], 3, "line 300001");
    let turned = ["--columns", "time,channel"];
    refused(&here("head.csv"), &here("out.csv"), &turned, 1, "no such file");
    fs::write(here("head.csv"), "channel,time\n1,2\n").unwrap();
    refused(&here("head.csv"), &here("out.csv"), &turned, 2, "leave --columns out");
    assert_eq!(fs::read(here("there.csv")).unwrap(), b"mine");
    let mut names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["folder.csv", "head.csv", "odd.tags.zst", "there.csv", "wrong.tsv"]);
    assert_eq!(convert(&odd, &here("there.csv"), &["--force"]).code, 0);
    assert!(cat(&here("there.csv")) == cat(&odd));
}

#[test]
fn torn_files_are_converted_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let run = fixture_copy(folder.path());
    let whole = fs::read(run.join("2.tags.zst")).unwrap();
    let plain = zstd::decode_all(&whole[..]).unwrap();
    let here = |name: &str| folder.path().join(name);
    for (name, bytes) in [
        ("a.tags.zst", &whole[..whole.len() - 1]),
        ("b.tags", &plain[..plain.len() - 8]),
        ("c.tsv", b"1\t10\n2\t20\n3\t3"),
    ] {
        fs::write(here(name), bytes).unwrap();
        let out = here("out.csv");
        let made = convert(&here(name), &out, &["--force"]);
        assert_eq!(made.code, 0, "{name}: {}", made.stderr);
        assert!(made.stderr.contains("tags before it are written"), "{}", made.stderr);
        // Queries read it the same way.
        let taken = output(command().args(["info", "-q", "--tick", "1ps"]).arg(here(name))).json();
        let written = cat(&out);
        assert!(written.len() as u64 >= taken["tags"].as_u64().unwrap(), "{name}");
    }
    assert_eq!(cat(&here("out.csv")), [(10, 1), (20, 2)]);
}

#[test]
#[cfg_attr(windows, ignore = "a shell of Unix")]
fn columns_are_turned_and_pipes_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("a.tags.zst");
    let mut child = command()
        .args(["convert", "--columns", "time,channel", "-"])
        .arg(&out)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"100 1\n101 2\n").unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(cat(&out), [(100, 1), (101, 2)]);
    // A closed pipe is not an error, but a full disk is.
    let odd = odd_file(folder.path());
    let mut child =
        command().arg("convert").arg(&odd).arg("-").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    let Some(full) = full_disk() else { return };
    let refused = command().arg("convert").arg(&odd).arg("-").stdout(full).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("No space left"));
}

/// The tags of a file or run as `tagq cat` prints them: times, channels and micro times.
fn printed(path: &Path) -> String {
    let printed = output(command().arg("cat").arg(path));
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    printed.text().into()
}

#[test]
fn pulses_and_micro_times_of_t3_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let original = root().join("data/fixtures/picoquant/t3.ptu");
    fs::create_dir(here("run")).unwrap();
    fs::copy(&original, here("run/t3.ptu")).unwrap();
    let expected = printed(&original);
    assert!(expected.lines().count() >= 2_000);
    // Of the file, of its run, of a store without its file, and of the copy.
    assert_eq!(convert(&original, &here("a.ptu"), &[]).code, 0);
    assert_eq!(convert(&here("run"), &here("b.ptu.gz"), &[]).code, 0);
    fs::remove_file(here("run/t3.ptu")).unwrap();
    assert_eq!(convert(&here("run/.tagq"), &here("c.ptu.zst"), &[]).code, 0);
    assert_eq!(convert(&here("a.ptu"), &here("d.ptu"), &[]).code, 0);
    assert_eq!(convert(&original, &here("e.h5"), &[]).code, 0);
    assert_eq!(convert(&here("run/.tagq"), &here("f.hdf5"), &[]).code, 0);
    assert_eq!(convert(&here("e.h5"), &here("g.npz"), &[]).code, 0);
    for name in ["a.ptu", "b.ptu.gz", "c.ptu.zst", "d.ptu", "e.h5", "f.hdf5", "g.npz"] {
        assert_eq!(printed(&here(name)), expected, "{name}");
        let micro = |path: &Path| {
            let counted = output(command().args(["micro", "1", "--format", "csv", "-q"]).arg(path));
            assert_eq!(counted.code, 0, "{}", counted.stderr);
            // The first line names the run. Not all formats hold the names of channels, the second column.
            let lines = counted.text().lines().filter(|line| !line.starts_with('#'));
            let has_names = lines.clone().next().unwrap().starts_with("channel,name,");
            let fields = lines.map(|line| line.split(',').collect::<Vec<_>>());
            let unnamed = fields.map(|mut fields| {
                if has_names {
                    fields.remove(1);
                }
                fields.join(",")
            });
            unnamed.collect::<Vec<_>>()
        };
        fs::copy(&original, here("original.ptu")).unwrap();
        assert_eq!(micro(&here(name)), micro(&here("original.ptu")), "{name}");
    }
    let noted = |name: &str| convert(&original, &here(name), &["--force"]).stderr;
    // Facts that a file has no place for are in its run file, but for micro times.
    for (name, lost, kept) in [
        (
            "v.csv",
            "the micro times of",
            "v.json holds the tick, the names of channels and the facts for",
        ),
        (
            "w.tags.gz",
            "the micro times of",
            "w.json holds the tick, the names of channels and the facts for",
        ),
        ("x.ptu", "", "x.json holds the facts for"),
        ("y.swabian", "the micro times, the names of channels and the facts of", ""),
        ("z.h5", "the facts of", ""),
        ("z.npz", "the names of channels and the facts of", ""),
    ] {
        let said = noted(name);
        assert!(said.contains(&format!("does not hold {lost}")) != lost.is_empty(), "{said}");
        assert!(said.contains(kept), "{said}");
    }
}

#[test]
fn records_of_a_time_tagger_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    fs::write(here("a.tsv"), "1\t10\n1003\t20\n0\t30\n").unwrap();
    let made = convert(&here("a.tsv"), &here("b.swabian.gz"), &["--tick", "5ps"]);
    assert_eq!(made.code, 0, "{}", made.stderr);
    let again =
        output(command().args(["cat", "--source-format", "swabian"]).arg(here("b.swabian.gz")));
    assert_eq!(again.text(), "1\t50\n1003\t100\n0\t150\n");
    let refused = convert(&here("a.tsv"), &here("c.swabian"), &["--tick", "156.25ps"]);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("whole picoseconds; this tick is 156.25 ps"),
        "{}",
        refused.stderr
    );
    let untold = convert(&here("a.tsv"), &here("c.swabian"), &[]);
    assert!(untold.stderr.contains("--tick"), "{}", untold.stderr);
}

/// Arrays of all channels and times of a store, with and without micro times, by both commands.
#[test]
fn arrays_hold_the_tags_and_their_units() {
    let folder = tempfile::tempdir().unwrap();
    let here = |name: &str| folder.path().join(name);
    let rows = |path: &Path| output(command().args(["export", "-q", "--format", "csv"]).arg(path));
    let lines = (0..70_000_i64)
        .map(|i| format!("{}\t{}\n", i * i % 7 * 9_000, (i - 35_000) * 1_000_003))
        .collect::<Vec<_>>();
    fs::write(here("a.tsv"), lines.concat()).unwrap();
    let tick = ["--tick", "4ps"];
    assert_eq!(output(command().arg("ingest").args(tick).arg(here("a.tsv"))).code, 0);
    let expected = rows(&here("a.tsv")).text().to_owned();
    assert_eq!(expected.lines().count(), 70_001);
    for (name, verb) in
        [("b.h5", "convert"), ("c.npz", "convert"), ("d.h5", "export"), ("e.npz", "export")]
    {
        let out = here(name);
        let made = match verb {
            "convert" => convert(&here("a.tsv"), &out, &tick),
            _ => output(command().args(["export", "-o"]).arg(&out).arg(here("a.tsv"))),
        };
        assert_eq!(made.code, 0, "{name}: {}", made.stderr);
        assert_eq!(rows(&out).text(), expected, "{name}");
        let info = output(command().args(["info", "--format", "json"]).arg(&out)).json();
        assert_eq!(info["tick"], "4000000/1", "{name}");
    }
    // A third of a picosecond is no float, and no channel above 65,535 fits.
    fs::write(here("odd.tsv"), "65536\t1\n").unwrap();
    let third = convert(&here("a.tsv"), &here("f.h5"), &["--tick", "1/3ps"]);
    assert!(third.code != 0 && third.stderr.contains("as floats of seconds"), "{}", third.stderr);
    assert_eq!(convert(&here("a.tsv"), &here("f.npz"), &["--tick", "1/3ps"]).code, 0);
    let info = output(command().args(["info", "--format", "json"]).arg(here("f.npz"))).json();
    assert_eq!(info["tick"], "1000000/3");
    let odd = convert(&here("odd.tsv"), &here("g.npz"), &tick);
    assert!(odd.code != 0 && odd.stderr.contains("channel 65536 is above 65535"), "{}", odd.stderr);
    assert!(!here("g.npz").exists());
    let answer = output(
        command().args(["export", "--time-unit", "ns", "-o"]).args([here("h.h5"), here("a.tsv")]),
    );
    assert!(answer.code != 0 && answer.stderr.contains("only tables have"), "{}", answer.stderr);
    // Without tags, too.
    fs::write(here("none.tsv"), "# nothing\n").unwrap();
    for name in ["i.h5", "i.npz"] {
        assert_eq!(convert(&here("none.tsv"), &here(name), &tick).code, 0);
        assert_eq!(cat(&here(name)), [], "{name}");
    }
}
