//! Files large enough for several threads: any number of threads gives the same result.

use std::{collections::BTreeMap, fmt::Write as _, fs, io, path::Path};

use tagq_ingest::{Error, Settings, SourcePart, Summary, encode::Encoder, ingest, read_tags};
use tagq_store::{Access, Creation, RunId, Store, Tag, Tick, Writer};

use crate::support::{file, frame, some_tags};

/// Returns a file of `frames` frames with 2,500 tags each, 20 KB per frame.
fn many_frames(frames: usize, checksum: bool) -> (Vec<Tag>, Vec<u8>) {
    let tags = some_tags(5, frames * 2_500);
    let mut encoder = Encoder::new(Vec::new()).checksum(checksum);
    for part in tags.chunks(2_500) {
        encoder.frame(part.len() as u64, [part]).unwrap();
    }
    (tags, encoder.into_inner())
}

fn read(bytes: &[u8], threads: usize) -> Result<(Vec<Tag>, Summary), Error> {
    let (_folder, path) = file(bytes);
    let mut all = Vec::new();
    let summary = read_tags(&path, &Settings { threads, ..Settings::default() }, |tags| {
        all.extend_from_slice(tags);
        Ok(())
    })?;
    Ok((all, summary))
}

#[test]
fn any_number_of_threads_gives_the_tags_of_the_file_in_its_order() {
    let (tags, bytes) = many_frames(160, false);
    // About six units of work.
    assert!(bytes.len() > 3_000_000, "{}", bytes.len());
    for threads in [1, 2, 3, 16] {
        let (all, summary) = read(&bytes, threads).unwrap();
        assert!(all == tags, "{threads} threads");
        assert_eq!((summary.frames, summary.messages), (160, 160));
        assert_eq!(summary.resume_byte, bytes.len() as u64);
        assert_eq!(summary.torn, None);
    }
    let cut = &bytes[..bytes.len() - 1];
    let (all, summary) = read(cut, 3).unwrap();
    assert!(all == tags[..159 * 2_500]);
    assert!(summary.torn.unwrap().contains("frame 160 begins"));
}

#[test]
fn messages_that_do_not_end_with_their_frames() {
    let (tags, whole) = many_frames(160, false);
    let mut plain = Vec::new();
    io::Read::read_to_end(&mut zstd::stream::Decoder::new(&whole[..]).unwrap(), &mut plain)
        .unwrap();
    for (name, bytes) in [
        ("frames cut anywhere", plain.chunks(70_001).flat_map(|part| frame(part, false)).collect()),
        ("one frame", frame(&plain, false)),
        ("no frame", plain.clone()),
        // The first half as recorded, the second half cut at any byte.
        ("both", {
            let half = plain.len() / 2 / 40_000 * 40_000;
            let (first, second) = plain.split_at(half);
            let mut bytes: Vec<u8> =
                first.chunks(40_000).flat_map(|part| frame(part, false)).collect();
            bytes.extend(second.chunks(50_003).flat_map(|part| frame(part, true)));
            bytes
        }),
    ] {
        let bytes: Vec<u8> = bytes;
        for threads in [1, 3] {
            let (all, summary) = read(&bytes, threads).unwrap();
            assert!(all == tags, "{name}, {threads} threads");
            assert_eq!(summary.messages, 160, "{name}");
            assert_eq!(summary.resume_byte, bytes.len() as u64, "{name}");
        }
    }
}

#[test]
fn a_damaged_frame_is_named_by_its_number_in_the_file() {
    let (tags, bytes) = many_frames(160, true);
    let place = bytes.len() / 3 * 2;
    let mut damaged = bytes.clone();
    damaged[place] ^= 0x10;
    let mut seen = Vec::new();
    for threads in [1, 4] {
        let (_folder, path) = file(&damaged);
        let mut taken = Vec::new();
        let error = read_tags(&path, &Settings { threads, ..Settings::default() }, |part| {
            taken.extend_from_slice(part);
            Ok(())
        })
        .unwrap_err();
        let Error::Frame { number: frame, start, end, .. } = error else { panic!("{error}") };
        assert!((start..end).contains(&(place as u64)), "{start}..{end}");
        assert!(tags.starts_with(&taken), "only tags before the damage, in order");
        seen.push((frame, start));
    }
    assert_eq!(seen[0], seen[1]);
    // Frames of about equal length.
    assert!((105..110).contains(&seen[0].0), "{seen:?}");
}

#[test]
fn a_receiver_that_refuses_stops_everything() {
    let (_, bytes) = many_frames(160, false);
    let (_folder, path) = file(&bytes);
    for threads in [1, 4] {
        let mut calls = 0;
        let error = read_tags(&path, &Settings { threads, ..Settings::default() }, |_| {
            calls += 1;
            if calls == 20 { Err(Error::Sink(io::Error::other("full"))) } else { Ok(()) }
        })
        .unwrap_err();
        assert!(matches!(error, Error::Sink(_)), "{error}");
        assert_eq!(calls, 20);
    }
}

#[test]
fn reading_goes_on_where_it_stopped() {
    let (tags, bytes) = many_frames(60, false);
    let (_, first) = many_frames(60, false);
    let border = {
        let (_, summary) = read(&first[..first.len() - 1], 2).unwrap();
        summary.resume_byte
    };
    let (_folder, path) = file(&bytes);
    let mut rest = Vec::new();
    let settings = Settings { start_byte: border, ..Settings::default() };
    let summary = read_tags(&path, &settings, |part| {
        rest.extend_from_slice(part);
        Ok(())
    })
    .unwrap();
    assert!(rest == tags[59 * 2_500..]);
    assert_eq!(summary.resume_byte, bytes.len() as u64);
}

/// The readable part of a torn end is ingested on request, and only complete tags.
#[test]
fn a_torn_end_can_be_salvaged() {
    let tags = some_tags(8, 30_000);
    let mut encoder = Encoder::new(Vec::new());
    encoder.frame(10_000, [&tags[..10_000]]).unwrap();
    encoder.frame(20_000, [&tags[10_000..]]).unwrap();
    let bytes = encoder.into_inner();
    for len in [bytes.len() - 1, bytes.len() - 50_000, bytes.len() / 3 + 5_000] {
        let (_folder, path) = file(&bytes[..len]);
        let mut all = Vec::new();
        let settings = Settings { salvage: true, ..Settings::default() };
        let summary = read_tags(&path, &settings, |part| {
            all.extend_from_slice(part);
            Ok(())
        })
        .unwrap();
        assert!(tags.starts_with(&all), "{len}");
        assert!(summary.torn.is_some());
        // A block of 128 KiB is 8,192 tags; those before the torn block are read.
        let share = len * 30_000 / bytes.len();
        assert!(all.len() + 9_000 > share, "{len}: {} of {share}", all.len());
        if len == bytes.len() - 1 {
            assert!(all.len() > 20_000, "{}", all.len());
        }
    }
    let mut plain = Vec::new();
    io::Read::read_to_end(&mut zstd::stream::Decoder::new(&bytes[..]).unwrap(), &mut plain)
        .unwrap();
    let (_folder, path) = file(&plain[..plain.len() - 24]);
    let mut all = Vec::new();
    let settings = Settings { salvage: true, ..Settings::default() };
    read_tags(&path, &settings, |part| {
        all.extend_from_slice(part);
        Ok(())
    })
    .unwrap();
    // 24 bytes are one and a half tags.
    assert!(all == tags[..29_998]);
}

/// Returns all files of a store of the file at `path`, with gaps. It is ingested in one call for each of `steps`.
fn store_files(path: &Path, steps: &[Settings]) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let creation =
        Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: Some(RunId([3; 16])) };
    let mut writer = Writer::open(folder.path(), &creation).unwrap();
    writer.make_gaps().unwrap();
    for (step, settings) in steps.iter().enumerate() {
        let part = if step == 0 { SourcePart::Whole { rebase: None } } else { SourcePart::Rest };
        ingest(path, "a", part, settings, &mut writer).unwrap();
        writer.commit().unwrap();
    }
    drop(writer);
    let store = Store::open(folder.path(), Access::Mapped).unwrap();
    for block in store.blocks().unwrap() {
        store.check_block(&block).unwrap();
    }
    let entries = fs::read_dir(folder.path()).unwrap().map(Result::unwrap);
    let name = |entry: &fs::DirEntry| entry.file_name().into_string().unwrap();
    entries.map(|entry| (name(&entry), fs::read(entry.path()).unwrap())).collect()
}

/// Checks that a store of this file has the same bytes for any number of threads. Returns these.
fn check_store(bytes: &[u8], steps: &[Settings]) -> BTreeMap<String, Vec<u8>> {
    let (_folder, path) = file(bytes);
    let of = |threads| {
        let steps: Vec<Settings> =
            steps.iter().map(|settings| Settings { threads, ..settings.clone() }).collect();
        store_files(&path, &steps)
    };
    let one = of(1);
    for threads in [2, 3, 8] {
        assert!(of(threads) == one, "{threads} threads");
    }
    one
}

fn in_frames(tags: &[Tag]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new());
    for part in tags.chunks(70_001) {
        encoder.frame(part.len() as u64, [part]).unwrap();
    }
    encoder.into_inner()
}

/// Enough tags for several releases, in order of time and closer than the largest gap.
fn many_tags() -> Vec<Tag> {
    let random = some_tags(9, 2_300_000);
    let tag =
        |(i, tag): (i64, &Tag)| Tag { time: i * 64 + (tag.time & 63), channel: tag.channel % 200 };
    (0..).zip(&random).map(tag).collect()
}

/// The times in the column of a store.
fn times(files: &BTreeMap<String, Vec<u8>>) -> Vec<i64> {
    let values = files["time.col"][4096..].as_chunks::<8>().0;
    values.iter().map(|&bytes| i64::from_le_bytes(bytes)).collect()
}

#[test]
fn a_store_does_not_depend_on_the_number_of_threads() {
    let tags = many_tags();
    let bytes = in_frames(&tags);
    assert!(bytes.len() > 4 << 20, "several units");
    let files = check_store(&bytes, &[Settings::default()]);
    assert!(times(&files).into_iter().eq(tags.iter().map(|tag| tag.time)));
}

#[test]
fn a_store_of_late_tags_does_not_depend_on_the_number_of_threads() {
    let mut tags = many_tags();
    let expected: Vec<i64> = tags.iter().map(|tag| tag.time).collect();
    for (at, by) in [(900_000, 10), (1_048_576, 40_000), (2_200_000, 1_048_000)] {
        let late = tags.remove(at - by);
        tags.insert(at, late);
    }
    let files = check_store(&in_frames(&tags), &[Settings::default()]);
    assert!(times(&files) == expected);
}

#[test]
fn a_store_of_held_back_tags_does_not_depend_on_the_number_of_threads() {
    let tags = many_tags();
    let hold_back = Some(tags[2_299_999].time - tags[1_500_000].time);
    let steps = [false, true].map(|eager| Settings { hold_back, eager, ..Settings::default() });
    let files = check_store(&in_frames(&tags), &steps);
    let rows = tags.partition_point(|tag| tag.time < tags[1_500_000].time);
    assert_eq!(times(&files).len(), rows);
    let files = check_store(&in_frames(&tags), &[steps[0].clone(), Settings::default()]);
    assert!(times(&files).into_iter().eq(tags.iter().map(|tag| tag.time)));
}

#[test]
fn a_store_that_becomes_wider_does_not_depend_on_the_number_of_threads() {
    let mut tags = many_tags();
    tags[1_700_000].channel = 300;
    let files = check_store(&in_frames(&tags), &[Settings::default()]);
    assert_eq!(files["channel.1.col"].len(), 4096 + 2 * tags.len());
}

#[test]
fn a_store_of_micro_times_does_not_depend_on_the_number_of_threads() {
    let mut text = "t;detector;micro\n".to_owned();
    for i in 0..1_300_000_u32 {
        let micro = if i == 1_200_000 { 70_000 } else { i % 4_096 };
        writeln!(text, "{};{};{micro}", i * 3, i % 7).unwrap();
    }
    let columns = Some("time=t,channel=detector,micro=micro".parse().unwrap());
    let files = check_store(text.as_bytes(), &[Settings { columns, ..Settings::default() }]);
    let micro = files.iter().find(|(name, _)| name.starts_with("micro")).unwrap().1;
    assert_eq!(micro.len(), 4096 + 4 * 1_300_000);
}
