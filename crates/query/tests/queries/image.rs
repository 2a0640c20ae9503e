//! Images equal the oracle: scans, frames, channels, regions, lost and double markers with and without repair, level, threads,
//! seams, delays, ranges.

use crate::support::{micro_of, recordings};
use proptest::prelude::*;
use tagq_query::{
    Bins, Delay, Execution, Image, ImageReport, Imaged, Kind as _, Markers, PixelMicro, Raster,
    Regions, Scope, Simd, Sine, TimeRange,
    oracle::{self, ImagePlace},
};
use tagq_sampling::random_cases;

const LINE: u16 = 4;
const LINE_END: u16 = 5;
const FRAME: u16 = 6;

/// The pause before a line, its length, its photons, and faults of its markers.
type LineDrawn = (i64, i64, Vec<(i64, u16)>, u8);

/// Returns what a recording of a scan has, with markers missing and doubled: lines of any length, or of about the same.
fn scans() -> impl Strategy<Value = Vec<Vec<(i64, u16)>>> {
    let lines = |pause, length| {
        let photons = prop::collection::vec((0_i64..30, 0_u16..3), 0..9);
        let source = prop::collection::vec((pause, length, photons, 0_u8..24), 0..24);
        prop::collection::vec(source, 1..3)
    };
    prop_oneof![lines(0_i64..3, 1_i64..23), lines(0_i64..2, 14_i64..17)].prop_map(|sources| {
        let mut time = -90;
        let of_source = |lines: Vec<LineDrawn>| {
            let mut tags = Vec::new();
            for (number, (pause, length, photons, odd)) in lines.into_iter().enumerate() {
                time += pause;
                if (number % 4 == 0) != (odd == 0) {
                    tags.push((time, FRAME));
                }
                let start = [(time, LINE), (time + length / 2, LINE)];
                let end = [(time + length, LINE_END), (time + length + 1, LINE_END)];
                tags.extend(
                    &start[..if odd == 1 {
                        0
                    } else if odd == 2 {
                        2
                    } else {
                        1
                    }],
                );
                tags.extend(
                    &end[..if odd == 3 {
                        0
                    } else if odd == 4 {
                        2
                    } else {
                        1
                    }],
                );
                tags.extend(photons.into_iter().map(|(at, channel)| (time + at, channel)));
                time += length;
            }
            tags.sort_by_key(|&(time, _)| time);
            time = tags.last().map_or(time, |&(last, _)| last.max(time));
            tags
        };
        sources.into_iter().map(of_source).collect()
    })
}

/// Returns what the oracle says.
fn expected(image: &Image, pixel_labels: Option<&[u32]>, sources: &[Vec<(i64, u16)>]) -> Imaged {
    let tags: Vec<Vec<(i64, u16, Option<u32>)>> = sources
        .iter()
        .map(|tags| tags.iter().map(|&(time, of)| (time, of, micro_of(time, of))).collect())
        .collect();
    let delays: Vec<(u16, i64)> =
        image.scope.delays.iter().map(|delay| (delay.channel, delay.ticks)).collect();
    let range = image.scope.range;
    let (markers, raster) = (image.markers, image.raster);
    let is_in = |time: i128| {
        range.from.is_none_or(|from| i128::from(from) <= time)
            && range.to.is_none_or(|to| time < i128::from(to))
    };
    let (stride, (pixels, _)) = (image.stride(), image.size());
    let mut counts = vec![0; pixels * stride];
    let mut report = ImageReport::default();
    // The number of a pixel in a frame and a channel, or of its region; none for a pixel in no region.
    let place_of = |plane: usize, line: u64, pixel: u64| -> Option<usize> {
        let at = usize::try_from(line * u64::from(raster.pixels) + pixel).unwrap();
        let Some(of_pixels) = pixel_labels else {
            return Some(plane * raster.pixels as usize * raster.lines as usize + at);
        };
        let mut labels = of_pixels.to_vec();
        labels.sort_unstable();
        labels.dedup();
        labels.retain(|&label| label != 0);
        let region = labels.iter().position(|&label| label == of_pixels[at])?;
        Some(plane * labels.len() + region)
    };
    let places =
        oracle::image(&tags, &image.photons, markers, raster, &delays, [range.from, range.to]);
    for (place, channel, micro) in places {
        match place {
            ImagePlace::Outside => report.photons_outside += 1,
            ImagePlace::Beyond => report.photons_beyond += 1,
            ImagePlace::Skipped => report.photons_skipped += 1,
            ImagePlace::Pixel { frame, line, pixel } => {
                let frame = if image.is_apart { frame } else { 0 };
                let plane = if image.is_by_channel {
                    let of = image.photons.iter().position(|&of| of == channel).unwrap();
                    frame * image.photons.len() + of
                } else {
                    frame
                };
                let Some(place) = place_of(plane, line, pixel) else {
                    report.photons_outside_regions += 1;
                    continue;
                };
                report.photons += 1;
                let at = place * stride;
                counts[at] += 1;
                let Some(micro) = micro.filter(|_| stride > 1) else { continue };
                counts[at + 1] += 1;
                counts[at + 2] += u64::from(micro);
                let square = u64::from(micro) * u64::from(micro);
                counts[at + 3] += square & u64::from(u32::MAX);
                counts[at + 4] += square >> 32;
                if let PixelMicro::Bins(bins) = &image.micro
                    && let Some(bin) = bins.holding(micro.into())
                {
                    counts[at + 5 + bin] += 1;
                }
            }
        }
    }
    let between = [range.from, range.to];
    (report.ends_without_start, report.frames_inside_lines) =
        oracle::image_faults(&tags, markers, raster, &delays, between);
    for line in oracle::image_lines(&tags, markers, raster, &delays).concat() {
        report.line_starts += u64::from(is_in(line.start));
        report.starts_without_end += u64::from(line.end.is_none() && is_in(line.start));
    }
    let mut lines = Vec::new();
    for tags in &tags {
        for frame in oracle::image_frames(tags, markers, raster, &delays) {
            let is_counted = lines.len() >= raster.first_frame as usize && is_in(frame.begin);
            lines.push(if is_counted { frame.lines } else { 0 });
            report.frames_empty += u64::from(is_counted && frame.lines == 0);
        }
        let mended = oracle::image_markers(tags, markers, raster, &delays);
        let count = |times: Vec<i128>| times.into_iter().filter(|&of| is_in(of)).count() as u64;
        report.starts_added += count(mended.starts_added);
        report.ends_added += count(mended.ends_added);
        report.frames_added += count(mended.frames_added);
        report.doubles_left_out += count(mended.doubles);
    }
    lines.resize(image.frames, 0);
    let frames = if image.is_apart { image.frames } else { 1 };
    let mut dwell = vec![0; image.regions.as_ref().map_or(0, |of| of.labels().len() * frames)];
    for (place, ticks) in oracle::image_dwell(&tags, markers, raster, &delays, between) {
        let ImagePlace::Pixel { frame, line, pixel } = place else { unreachable!() };
        let frame = if image.is_apart { frame } else { 0 };
        if let Some(dwell) = place_of(frame, line, pixel).and_then(|place| dwell.get_mut(place)) {
            *dwell += ticks;
        }
    }
    Imaged { counts, stride, dwell, lines, report }
}

/// An image, and the labels of its pixels if it has regions.
fn images() -> impl Strategy<Value = (Image, Option<Vec<u32>>)> {
    let channels = Just(vec![0_u16, 1, 2, 1_255]).prop_shuffle();
    let raster = (
        1_u32..9,
        (1_u32..6, 0_u32..3, prop::sample::select(vec![0_u32, 0, 0, 1, 2])),
        any::<bool>(),
        prop::option::weighted(0.3, (1_u16..=1_000, any::<bool>())),
    );
    let micro = prop_oneof![
        Just(PixelMicro::None),
        Just(PixelMicro::Mean),
        Just(PixelMicro::Bins(Bins::Linear { low: 3, width: 7, count: 5 })),
        // What is counted besides follows from bins of one micro time.
        Just(PixelMicro::Bins(Bins::Linear { low: 3, width: 1, count: 20 })),
        Just(PixelMicro::Bins(Bins::Linear { low: -2, width: 1, count: 9 })),
    ];
    let has = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let delays = prop::collection::vec(-9_i64..9, 0..7);
    let end = || prop::option::weighted(0.3, -90_i64..400);
    let label = prop_oneof![Just(0_u32), Just(5), Just(2), Just(u32::MAX)];
    let mask = prop::option::of(prop::collection::vec(label, 40));
    let image = (channels, 0_usize..4, raster, micro, has, delays, (end(), end())).prop_map(
        |(
            channels,
            of,
            (pixels, (lines, first_line, first_frame), is_two_way, sine),
            micro,
            has,
            delays,
            (from, to),
        )| Image {
            markers: Markers {
                line: LINE,
                line_end: has.0.then_some(LINE_END),
                frame: has.1.then_some(FRAME),
                is_repaired: has.3,
            },
            photons: channels[..of].to_vec(),
            raster: Raster {
                pixels,
                lines,
                first_line,
                first_frame,
                is_two_way,
                sine: sine.map(|(thousandths, is_of_period)| Sine { thousandths, is_of_period }),
            },
            micro,
            is_apart: has.2,
            is_by_channel: has.4,
            frames: 0,
            scope: Scope {
                channels: None,
                delays: (0..)
                    .zip(delays)
                    .map(|(channel, ticks)| Delay { channel, ticks })
                    .collect(),
                range: TimeRange { from, to },
            },
            regions: None,
        },
    );
    (image, mask).prop_map(|(image, mask)| {
        let pixels = (image.raster.pixels * image.raster.lines) as usize;
        let labels = mask.map(|labels| labels[..pixels].to_vec());
        let labels = labels.filter(|labels| labels.iter().any(|&label| label > 0));
        let regions = labels.clone().map(|labels| Regions::new(labels).unwrap());
        (Image { regions, ..image }, labels)
    })
}

proptest! {
    #![proptest_config(random_cases(1_500))]

    #[test]
    fn every_way_of_counting_equals_the_oracle(
        sources in scans(),
        (image, labels) in images(),
        threads in 1_usize..4,
        morsel_rows in prop::option::of(1_usize..30),
        cuts in prop::collection::vec(-90_i64..400, 0..3),
    ) {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for recording in recordings(&sources, Some(40)) {
            let frames = Image::frames_max(&recording.facts(), image.markers, &image.raster);
            let image = Image { frames, ..image.clone() };
            let expected = expected(&image, labels.as_deref(), &sources);
            for simd in Simd::available() {
                let execution = Execution { simd, morsel_rows };
                let counts = pool.install(|| image.run(&recording, &execution)).unwrap();
                prop_assert_eq!(&counts, &expected, "{:?}", execution);
            }
            // Intervals add up.
            let execution = Execution::best();
            let mut cuts = cuts.clone();
            cuts.retain(|&cut| {
                image.scope.range.from.is_none_or(|from| from <= cut)
                    && image.scope.range.to.is_none_or(|to| cut <= to)
            });
            cuts.sort_unstable();
            let mut from = image.scope.range.from;
            let mut partials = Vec::new();
            for to in cuts.into_iter().map(Some).chain([image.scope.range.to]) {
                let interval = TimeRange { from, to };
                partials.push(image.partial(&recording, interval, None, &execution));
                from = to;
            }
            if image.scope.range.from.zip(image.scope.range.to).is_none_or(|(from, to)| from < to) {
                let merged = partials.into_iter().map(Result::unwrap);
                let merged = merged.reduce(|sum, more| sum.merge(&more).unwrap()).unwrap();
                prop_assert_eq!(image.finish(&recording, &merged, &execution).unwrap(), expected);
            }
        }
    }
}

fn raster(pixels: u32, lines: u32, is_two_way: bool) -> Raster {
    Raster { pixels, lines, first_line: 0, first_frame: 0, is_two_way, sine: None }
}

#[test]
fn pixels_lines_and_frames_by_arithmetic() {
    // Two frames of two lines of ten ticks, the second backwards; five pixels of two ticks.
    let tags = vec![vec![
        (0, FRAME),
        (0, LINE),
        (3, 0),
        (9, 0),
        (10, LINE_END),
        (12, 0),
        (20, LINE),
        (20, 0),
        (21, 0),
        (30, 0),
        (30, LINE_END),
        (40, FRAME),
        (41, LINE),
        (50, 0),
        (51, LINE_END),
    ]];
    let image = Image {
        markers: Markers {
            line: LINE,
            line_end: Some(LINE_END),
            frame: Some(FRAME),
            is_repaired: false,
        },
        photons: vec![0],
        raster: raster(5, 2, true),
        micro: PixelMicro::None,
        regions: None,
        is_apart: true,
        is_by_channel: false,
        frames: 3,
        scope: Scope::default(),
    };
    let counted = image.run(&recordings(&tags, None)[0], &Execution::best()).unwrap();
    let of_frames = [
        // Ticks 3 and 9 of the first line; ticks 0 and 1 of the second, from its end.
        [0, 1, 0, 0, 1, 0, 0, 0, 0, 2],
        [0, 0, 0, 0, 1, 0, 0, 0, 0, 0],
        [0; 10],
    ];
    assert_eq!(counted.counts, of_frames.concat());
    assert_eq!(counted.lines, [2, 1, 0]);
    // The photons at 12 and 30 are in no line.
    let report =
        ImageReport { photons: 5, photons_outside: 2, line_starts: 3, ..ImageReport::default() };
    assert_eq!(counted.report, report);
}

/// A scan of six frames of eight lines, with a photon in each tick, and without the markers that are lost.
fn regular_scan(has_ends: bool, is_lost: impl Fn(u16, i64, i64) -> bool) -> Vec<(i64, u16)> {
    let mut tags: Vec<(i64, u16)> = Vec::new();
    let mut end = 0;
    for frame in 0..6 {
        let begin = frame * 1_057;
        let mut put = |of, line, time| {
            if !is_lost(of, frame, line) {
                tags.push((time, of));
            }
        };
        put(FRAME, -1, begin);
        for line in 0..8 {
            // Without ends, the last line of a frame ends with the next frame marker.
            let start = begin + if has_ends { 7 } else { 0 } + 120 * line;
            put(LINE, line, start);
            if has_ends {
                put(LINE_END, line, start + 100);
            }
            end = start + 120;
        }
    }
    tags.extend((0..end).step_by(3).map(|time| (time, 0)));
    tags.sort_by_key(|&(time, _)| time);
    tags
}

#[test]
fn a_repaired_scan_is_the_one_without_faults() {
    let count = |tags: Vec<(i64, u16)>, line_end, is_repaired| {
        let markers = Markers { line: LINE, line_end, frame: Some(FRAME), is_repaired };
        let image = Image {
            markers,
            photons: vec![0],
            raster: raster(5, 8, true),
            micro: PixelMicro::None,
            regions: None,
            is_apart: true,
            is_by_channel: false,
            frames: 20,
            scope: Scope::default(),
        };
        image.run(&recordings(&vec![tags], None)[0], &Execution::best()).unwrap()
    };
    // In the first frame the end of a line, in the second a line, in the third the beginnings of two lines, in the fourth
    // the frame marker, in the fifth the first line, in the sixth an end.
    let is_lost = |of, frame, line| {
        matches!(
            (of, frame, line),
            (LINE_END, 0, 2)
                | (LINE | LINE_END, 1, 5)
                | (LINE, 2, 3 | 4)
                | (FRAME, 3, _)
                | (LINE, 4, 0)
                | (LINE_END, 5, 7)
        )
    };
    for line_end in [None, Some(LINE_END)] {
        let whole = count(regular_scan(line_end.is_some(), |_, _, _| false), line_end, true);
        let mut faulty = regular_scan(line_end.is_some(), is_lost);
        assert_ne!(count(faulty.clone(), line_end, false).counts, whole.counts);
        // A line and a frame that begin twice.
        faulty.extend([(5 * 1_057 + 240 + 27, LINE), (2 * 1_057 + 300, FRAME)]);
        faulty.sort_by_key(|&(time, _)| time);
        let repaired = count(faulty, line_end, true);
        assert_eq!((&repaired.counts, &repaired.lines), (&whole.counts, &whole.lines));
        let ImageReport { starts_added, ends_added, frames_added, doubles_left_out, .. } =
            repaired.report;
        let ends = if line_end.is_some() { 3 } else { 1 };
        assert_eq!(
            (starts_added, ends_added, frames_added, doubles_left_out),
            (4, ends, 1, 2),
            "{line_end:?}"
        );
    }
}

#[test]
fn a_large_image_of_few_rows_is_counted_without_copies() {
    // A photon at tick 7 of ten ticks: pixel 770 of 1,100. Each of 1,000 lines of two frames has one.
    let line = |at: i64| [(at, LINE), (at + 7, 0), (at + 10, LINE_END)];
    let of_frame = |frame: i64| {
        let begin = 100_000 * frame;
        std::iter::once((begin, FRAME)).chain((0..1_000).flat_map(move |k| line(begin + 20 * k)))
    };
    let tags = vec![(0..2).flat_map(of_frame).collect::<Vec<_>>()];
    let image = Image {
        markers: Markers {
            line: LINE,
            line_end: Some(LINE_END),
            frame: Some(FRAME),
            is_repaired: false,
        },
        photons: vec![0],
        raster: raster(1_100, 1_000, false),
        micro: PixelMicro::None,
        regions: None,
        is_apart: false,
        is_by_channel: false,
        frames: 3,
        scope: Scope::default(),
    };
    assert!(!image.is_copied());
    let counted = image.run(&recordings(&tags, None)[0], &Execution::best()).unwrap();
    let expected: Vec<u64> =
        (0..1_100_000).map(|at| if at % 1_100 == 770 { 2 } else { 0 }).collect();
    assert!(counted.counts == expected);
    assert_eq!(counted.report.photons, 2_000);
}

#[test]
fn regions_by_arithmetic() {
    // Two lines of ten ticks, the second backwards; five pixels of two ticks.
    let tags = vec![vec![
        (0, LINE),
        (3, 0),
        (9, 0),
        (10, LINE_END),
        (12, 0),
        (20, LINE),
        (20, 0),
        (23, 0),
        (30, LINE_END),
    ]];
    let labels = vec![0, 8, 8, 3, 3, 8, 0, 0, 3, 0];
    let image = Image {
        markers: Markers { line: LINE, line_end: Some(LINE_END), frame: None, is_repaired: false },
        photons: vec![0],
        raster: raster(5, 2, true),
        regions: Some(Regions::new(labels).unwrap()),
        micro: PixelMicro::None,
        is_apart: false,
        is_by_channel: false,
        frames: 1,
        scope: Scope { range: TimeRange { from: Some(3), to: None }, ..Scope::default() },
    };
    let recording = &recordings(&tags, None)[0];
    let counted = image.run(recording, &Execution::best()).unwrap();
    // Ticks 3 and 9 of the first line are in pixels 1 and 4, of the labels 8 and 3. Ticks 0 and 3 of the second one are in its
    // last pixel, of label 0, and in the one before, of label 3.
    assert_eq!(counted.counts, [2, 1]);
    // Label 3: two pixels of the first line, one of the second. Label 8: ticks 3 to 6 of the first line, since tick 2 is not
    // selected, and a pixel of the second.
    assert_eq!(counted.dwell, [6, 5]);
    let report = counted.report;
    assert_eq!((report.photons, report.photons_outside_regions, report.photons_outside), (3, 1, 1));
    let other = Image { raster: Raster { lines: 3, ..image.raster }, ..image };
    assert_eq!(other.run(recording, &Execution::best()), Err(tagq_query::Error::Regions));
}
