//! Text files: the same tags as from messages, for every cut and every number of threads.

use std::{fmt::Write as _, fs, io::Write as _, path::Path};

use tagq_ingest::{
    Change, Error, Settings, SourceFile, SourcePart, Summary, ingest, is_intact, read_tags,
    text::LineFault,
};
use tagq_store::{Creation, Manifest, SourceFacts, Store, Tag, Tick, Writer};

use tagq_sampling::some;

use crate::{
    instruments::{grown_record_by_record, ingested},
    support::{crc32c, file, frame, read, some_tags, tag},
};

fn text_of(tags: &[Tag]) -> String {
    let lines: Vec<String> =
        tags.iter().map(|tag| format!("{}\t{}\n", tag.channel, tag.time)).collect();
    lines.concat()
}

fn read_all(path: &Path, settings: &Settings) -> Result<(Vec<Tag>, Summary), Error> {
    let mut all = Vec::new();
    let summary = read_tags(path, settings, |part| {
        assert!(!part.is_empty() && part.len() <= 16_384);
        all.extend_from_slice(part);
        Ok(())
    })?;
    assert_eq!(summary.tags, all.len() as u64);
    Ok((all, summary))
}

/// Returns frames of `bytes` bytes of the text each.
fn frames(text: &str, bytes: usize, checksum: bool) -> Vec<Vec<u8>> {
    text.as_bytes().chunks(bytes).map(|part| frame(part, checksum)).collect()
}

#[test]
fn any_number_of_threads_and_any_frames_give_the_lines_in_their_order() {
    let tags = some_tags(6, 200_000);
    let text = text_of(&tags);
    // More than a dozen blocks.
    assert!(text.len() > 3 << 20);
    let windows = text.replace('\n', "\r\n");
    let one_frame = frame(text.as_bytes(), true);
    let many = frames(&text, 70_001, true).concat();
    let files = [
        ("plain", text.as_bytes(), 0),
        ("CRLF", windows.as_bytes(), 0),
        ("one frame", &one_frame, 1),
        ("many frames", &many, text.len().div_ceil(70_001)),
    ];
    for (name, bytes, count) in files {
        let (_folder, path) = file(bytes);
        for threads in [1, 2, 16] {
            let settings = Settings { threads, ..Settings::default() };
            let (all, summary) = read_all(&path, &settings).unwrap();
            assert!(all == tags, "{name}, {threads} threads");
            assert_eq!((summary.tags, summary.frames), (200_000, count), "{name}");
            assert_eq!(summary.resume_byte, bytes.len() as u64, "{name}");
            assert_eq!((summary.torn, summary.checksummed), (None, count > 0), "{name}");
            assert_eq!(summary.columns, Some("channel,time".parse().unwrap()), "{name}");
        }
        let first = SourceFile::open(&path).unwrap().first_time(&Settings::default()).unwrap();
        assert_eq!(first, Some(tags[0].time), "{name}");
    }
}

#[test]
fn a_wrong_line_is_named_by_its_number_in_the_file() {
    let tags = some_tags(7, 150_000);
    let mut lines: Vec<String> = text_of(&tags).lines().map(|line| format!("{line}\n")).collect();
    lines[3] = "\r\n# a comment\n\n4\t5\n".into();
    lines[120_000] = "15\t1.5e3\n".into();
    let text = lines.concat();
    // Three lines more than the tags before it, counted from 1.
    for bytes in [text.clone().into_bytes(), frame(text.as_bytes(), true)] {
        let (_folder, path) = file(&bytes);
        for threads in [1, 4] {
            let mut taken = Vec::new();
            let settings = Settings { threads, ..Settings::default() };
            let error = read_tags(&path, &settings, |part| {
                taken.extend_from_slice(part);
                Ok(())
            })
            .unwrap_err();
            assert_eq!(taken.len(), 120_000);
            assert!(error.is_damage());
            let message = error.to_string();
            assert!(message.contains("line 120004: \"15\\t1.5e3\" is no tag"), "{message}");
            assert!(message.contains("times are whole ticks"), "{message}");
        }
    }
    // Line numbers count from the first line, wherever reading began.
    let start = lines[..100_000].concat().len();
    let (_folder, path) = file(text.as_bytes());
    let settings = Settings { start_byte: start as u64, ..Settings::default() };
    match read_all(&path, &settings).unwrap_err() {
        Error::Line { line: 120_004, fault: LineFault::TimeNotWhole, .. } => {}
        error => panic!("{error}"),
    }
    let framed = [&text[..start], &text[start..]].map(|part| frame(part.as_bytes(), false));
    let (_folder, path) = file(&framed.concat());
    let settings = Settings { start_byte: framed[0].len() as u64, ..Settings::default() };
    match read_all(&path, &settings).unwrap_err() {
        Error::Line { line: 120_004, .. } => {}
        error => panic!("{error}"),
    }
}

#[test]
fn what_is_shown_of_a_line_is_short_and_harmless() {
    let line = format!("\u{1b}[31m\"{}\n", "x".repeat(60_000));
    let message = read(format!("1\t2\n{line}").as_bytes()).unwrap_err().to_string();
    assert!(message.contains("line 2: \"\\x1b[31m\\\"xxx"), "{message}");
    assert!(message.len() < 400 && message.contains("…\""), "{message}");
    let endless = [b"1\t2\n".to_vec(), vec![b'7'; 10 << 20]].concat();
    for bytes in [endless.clone(), frame(&endless, false)] {
        let message = read(&bytes).unwrap_err().to_string();
        assert!(message.contains("line 2: ") && message.contains("64 KiB"), "{message}");
    }
}

#[test]
fn a_last_line_without_an_end_is_left_out_or_salvaged() {
    for (end, salvaged) in [("4\t17", Some(17)), ("4\t1", Some(1)), ("4\t", None), ("4", None)] {
        let text = format!("3\t10\n{end}");
        let (_folder, path) = file(text.as_bytes());
        let (tags, summary) = read_all(&path, &Settings::default()).unwrap();
        assert_eq!((tags.len(), summary.resume_byte), (1, 5));
        let torn = summary.torn.unwrap();
        assert!(torn.contains("byte 5") && torn.contains("--salvage takes it"), "{torn}");
        let salvage = Settings { salvage: true, ..Settings::default() };
        let (tags, summary) = read_all(&path, &salvage).unwrap();
        assert_eq!(tags.get(1).map(|tag| tag.time), salvaged, "{end}");
        assert!(summary.torn.unwrap().contains("has no line end"));
    }
    // These ends lose no tags.
    for end in [" ", "# end", "channel\ttime", "\r"] {
        let (tags, summary) = read(format!("3\t10\n{end}").as_bytes()).unwrap();
        assert_eq!((tags.len(), summary.torn, summary.resume_byte), (1, None, 5), "{end}");
    }
    // A torn frame gives its complete lines, and never a truncated number.
    let tags = some_tags(3, 60_000);
    let text = text_of(&tags);
    let bytes = frame(text.as_bytes(), false);
    let cut = &bytes[..bytes.len() * 2 / 3];
    let (found, summary) = read(cut).unwrap();
    assert!(found.is_empty() && summary.torn.unwrap().contains("left out"));
    let (_folder, path) = file(cut);
    let salvage = Settings { salvage: true, ..Settings::default() };
    let (found, _) = read_all(&path, &salvage).unwrap();
    assert!(tags.starts_with(&found) && found.len() > 30_000, "{}", found.len());
}

fn new_writer(store: &Path) -> Writer {
    let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
    Writer::open(store, &creation).unwrap()
}

fn facts(store: &Path) -> SourceFacts {
    Manifest::read(store).unwrap().unwrap().sources.remove(0).facts
}

fn times(store: &Path) -> Vec<i64> {
    Store::open(store, tagq_store::Access::Copied).unwrap().tags().time.to_vec()
}

/// Ingests after every append.
fn grown(parts: &[&[u8]], settings: &Settings) -> (Vec<i64>, SourceFacts) {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("a.tsv"), folder.path().join("run.tagq"));
    let mut writer = new_writer(&store);
    for (i, part) in parts.iter().enumerate() {
        let mut out = fs::OpenOptions::new().append(true).create(true).open(&path).unwrap();
        out.write_all(part).unwrap();
        let settings = if i == 0 { settings.clone() } else { Settings::default() };
        let what = if i == 0 { SourcePart::Whole { rebase: None } } else { SourcePart::Rest };
        ingest(&path, "a.tsv", what, &settings, &mut writer).unwrap();
    }
    writer.commit().unwrap();
    drop(writer);
    assert_eq!(
        SourceFile::open(&path).unwrap().compare(&facts(&store)).unwrap() == Change::None,
        {
            let facts = facts(&store);
            facts.torn.is_none() || facts.salvaged
        }
    );
    (times(&store), facts(&store))
}

#[test]
fn a_text_that_grows_is_continued_wherever_it_was_cut() {
    for (text, columns) in [
        ("time,channel\r\n5,65535\r\n17,3\r\n\r\n18,4\r\n", "time,channel"),
        ("# begun\n\n# by hand\ntime channel\n5 3\n17 3\n18 4\n", "time,channel"),
        ("# begun\n\nnote;t;ch\n;5;3\n;17;3\nx;18;4\n", "time=t,channel=ch"),
    ] {
        for first in some(0..=text.len()) {
            for second in (first..=text.len()).step_by(5) {
                let (a, b, c) = (&text[..first], &text[first..second], &text[second..]);
                let (times, facts) =
                    grown(&[a.as_bytes(), b.as_bytes(), c.as_bytes()], &Settings::default());
                assert_eq!(times, [5, 17, 18], "cut at {first} and {second}");
                assert_eq!((facts.torn, facts.resume.byte), (None, text.len() as u64));
                assert_eq!(facts.columns.as_deref(), Some(columns));
                assert_eq!(facts.read_crc32c, Some(crc32c(text.as_bytes())));
            }
        }
    }
    // The order given at first applies to later data.
    let given = Settings { columns: Some("time,channel".parse().unwrap()), ..Settings::default() };
    let (times, facts) = grown(&[b"5 1\n1", b"7 2\n", b"18"], &given);
    assert_eq!(times, [5, 17]);
    assert_eq!(facts.columns.as_deref(), Some("time,channel"));
    assert!(facts.torn.is_some());
    assert_eq!(facts.read_crc32c, Some(crc32c(b"5 1\n17 2\n")));
}

#[test]
fn text_in_frames_grows_at_their_borders() {
    let text = text_of(&(0..3_000).map(|i| tag(1_000_000 + i, 1)).collect::<Vec<_>>());
    // Ten bytes per line: all frames end with a line.
    let whole = frames(&text, 10_000, true);
    let torn = [&whole[1][..], &whole[2][..7]].concat();
    let (times, facts) = grown(&[&whole[0], &torn, &whole[2][7..]], &Settings::default());
    assert_eq!(times, (1_000_000..1_003_000).collect::<Vec<_>>());
    assert_eq!((facts.torn, facts.salvaged, facts.checksummed), (None, false, true));
    // Frames that end inside a line: reading starts again at the last common border and skips the stored
    // rows.
    let odd = frames(&text, 10_005, false);
    let (times, facts) = grown(&[&odd[0]], &Settings::default());
    assert_eq!((times.len(), facts.salvaged, facts.resume.byte), (1_000, false, 0));
    assert!(facts.torn.unwrap().contains("--salvage"));
    let (times, _) = grown(&[&odd[0], &odd[1..].concat()], &Settings::default());
    assert_eq!(times, (1_000_000..1_003_000).collect::<Vec<_>>());
    let (times, facts) = grown(&[&odd.concat()], &Settings::default());
    assert_eq!((times.len(), facts.salvaged, facts.torn), (3_000, false, None));
}

#[test]
fn what_is_known_of_a_text_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (folder.path().join("a"), folder.path().join("run.tagq"));
    fs::write(&path, "1\t2\n3\t4\n").unwrap();
    let mut writer = new_writer(&store);
    ingest(&path, "a", SourcePart::Whole { rebase: None }, &Settings::default(), &mut writer)
        .unwrap();
    writer.commit().unwrap();
    let facts = facts(&store);
    assert_eq!((facts.columns.as_deref(), facts.resume.byte), (Some("channel,time"), 8));
    assert_eq!(is_intact(&facts, &path, &Settings::default()).unwrap(), Some(true));
    fs::write(&path, "1\t2\n3\t5\n").unwrap();
    assert_eq!(is_intact(&facts, &path, &Settings::default()).unwrap(), Some(false));
    assert_eq!(SourceFile::open(&path).unwrap().compare(&facts).unwrap(), Change::Other);
}

#[test]
fn the_bytes_of_text_are_counted() {
    let text = text_of(&some_tags(1, 60_000));
    for bytes in [text.clone().into_bytes(), frame(text.as_bytes(), false)] {
        let (_folder, path) = file(&bytes);
        let counted = std::sync::Arc::new(0.into());
        let settings =
            Settings { bytes_read: Some(std::sync::Arc::clone(&counted)), ..Settings::default() };
        read_all(&path, &settings).unwrap();
        assert_eq!(counted.load(std::sync::atomic::Ordering::Relaxed), bytes.len() as u64);
    }
}

#[test]
fn a_receiver_that_refuses_stops_the_threads() {
    let (_folder, path) = file(text_of(&some_tags(2, 200_000)).as_bytes());
    for threads in [1, 4] {
        let mut calls = 0;
        let settings = Settings { threads, ..Settings::default() };
        let error = read_tags(&path, &settings, |_| {
            calls += 1;
            if calls == 9 { Err(Error::Sink(std::io::Error::other("full"))) } else { Ok(()) }
        })
        .unwrap_err();
        assert!(matches!(error, Error::Sink(_)), "{error}");
        assert_eq!(calls, 9);
    }
}

#[test]
fn columns_that_a_header_names_are_read_as_the_file_grows() {
    let mut text = "# by another program\nnote;\"t\";detector;micro\n".to_owned();
    for i in 0..40 {
        let _ = writeln!(text, "x y;{};\"{}\";{i}", i * 100, i % 5);
    }
    let settings = Settings::default();
    let header = text.find("micro").unwrap() + "micro\n".len();
    let stored = grown_record_by_record(text.as_bytes(), header, "a.csv", &settings);
    let expected: Vec<(i64, u64)> = (0..40_i64).map(|i| (i * 100, i.unsigned_abs() % 5)).collect();
    assert_eq!(stored.rows, expected);
    assert_eq!(stored.facts.columns.as_deref(), Some("time=t,channel=detector,micro=micro"));
    let (_, micro) = ingested(&stored.path);
    assert_eq!(micro, (0..40).collect::<Vec<u32>>());
    // Two frames; only the first has the header.
    let (head, rest) = text.split_at(200);
    let frames = [frame(head.as_bytes(), true), frame(rest.as_bytes(), true)].concat();
    let (_folder, path) = file(&frames);
    let tags = read_all(&path, &settings).unwrap().0;
    assert_eq!(tags.len(), 40);
}

#[test]
fn columns_given_by_name_must_be_in_the_header() {
    let text = "time,start,arm\n1,2,3\n";
    let (_folder, path) = file(text.as_bytes());
    let by =
        |columns: &str| Settings { columns: Some(columns.parse().unwrap()), ..Settings::default() };
    let (tags, summary) = read_all(&path, &by("time=start,channel=arm")).unwrap();
    assert_eq!(tags, [tag(2, 3)]);
    assert_eq!(summary.columns.unwrap().to_string(), "time=start,channel=arm");
    let error = read_all(&path, &by("time=end,channel=arm")).unwrap_err().to_string();
    assert!(error.contains("line 1: it has no column `end`"), "{error}");
    let (_folder, path) = file(b"1,2\n");
    let error = read_all(&path, &by("time=start")).unwrap_err().to_string();
    assert!(error.contains("line 1 is no header of names"), "{error}");
}
