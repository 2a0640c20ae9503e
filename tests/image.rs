//! Images on the command line: headers of instruments, markers that are missing, files, and a real recording.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::support::{Output, command, output, skipped};

fn ask(folder: &Path, words: &str) -> Output {
    output(command().arg("image").args(words.split_whitespace()).current_dir(folder))
}

fn column(answer: &Value, key: &str) -> Vec<u64> {
    answer["rows"].as_array().unwrap().iter().map(|row| row[key].as_u64().unwrap()).collect()
}

/// A field of the header of a PTU file.
pub(crate) fn field(name: &str, kind: u32, value: u64) -> Vec<u8> {
    let mut name = name.as_bytes().to_vec();
    name.resize(32, 0);
    [&name[..], &(-1_i32).to_le_bytes(), &kind.to_le_bytes(), &value.to_le_bytes()].concat()
}

/// A text of the header.
fn text(name: &str, text: &str) -> Vec<u8> {
    [field(name, 0x4001_ffff, text.len() as u64), text.as_bytes().to_vec()].concat()
}

pub(crate) const INT: u32 = 0x1000_0008;
const BOOL: u32 = 0x0000_0008;
const FLOAT: u32 = 0x2000_0008;

/// Returns a file of a MultiHarp in mode T3 with pulses every 10 ns and micro times in units of 1 ns. Its records are
/// photons (pulse, micro time) and markers (pulse, bits), in order.
fn ptu(scan: &[Vec<u8>], records: &[(u32, Result<u32, u32>)]) -> Vec<u8> {
    let of =
        |&(pulse, what): &(u32, Result<u32, u32>)| (pulse.into(), what.map(|micro| (1, micro)));
    ptu_of(1e-9, scan, &records.iter().map(of).collect::<Vec<_>>())
}

/// A pulse, and a photon (input, micro time) or markers.
pub(crate) type Record = (u64, Result<(u32, u32), u32>);

/// Returns such a file with micro times in units of `resolution` seconds.
pub(crate) fn ptu_of(resolution: f64, scan: &[Vec<u8>], records: &[Record]) -> Vec<u8> {
    let mut bytes = b"PQTTTR\0\x001.0.00\0\0".to_vec();
    for of in [
        field("TTResultFormat_TTTRRecType", INT, 0x0001_0307),
        field("TTResultFormat_BitsPerRecord", INT, 32),
        field("MeasDesc_GlobalResolution", FLOAT, 1e-8_f64.to_bits()),
        field("MeasDesc_Resolution", FLOAT, resolution.to_bits()),
        field("TTResult_SyncRate", INT, 100_000_000),
        field("HW_InpChannels", INT, 2),
    ]
    .iter()
    .chain(scan)
    .chain([&field("Header_End", 0xffff_0008, 0)])
    {
        bytes.extend(of);
    }
    let mut wraps = 0;
    for &(pulse, what) in records {
        if pulse >> 10 > wraps {
            let more = u32::try_from((pulse >> 10) - wraps).unwrap();
            bytes.extend((1 << 31 | 63 << 25 | more).to_le_bytes());
            wraps = pulse >> 10;
        }
        let pulse = u32::try_from(pulse & 0x3ff).unwrap();
        let record = match what {
            // Input 1 is number 0.
            Ok((input, micro)) => (input - 1) << 25 | micro << 10 | pulse,
            Err(markers) => 1 << 31 | markers << 25 | pulse,
        };
        bytes.extend(record.to_le_bytes());
    }
    bytes
}

/// Two lines of 40 pulses, the second backwards.
const RECORDS: [(u32, Result<u32, u32>); 9] = [
    (100, Err(0b101)),
    (100, Ok(3)),
    (109, Ok(9)),
    (125, Ok(5)),
    (140, Err(0b010)),
    (150, Err(0b001)),
    (150, Ok(0)),
    (189, Ok(4)),
    (190, Err(0b010)),
];

#[test]
fn a_header_that_states_the_scan_needs_no_options() {
    let folder = tempfile::tempdir().unwrap();
    let scan = [
        field("ImgHdr_PixX", INT, 4),
        field("ImgHdr_PixY", INT, 2),
        field("ImgHdr_PixResol", FLOAT, 0.5_f64.to_bits()),
        field("ImgHdr_LineStart", INT, 1),
        field("ImgHdr_LineStop", INT, 2),
        field("ImgHdr_Frame", INT, 3),
        field("ImgHdr_BiDirect", BOOL, 1),
        field("ImgHdr_SinCorrection", INT, 0),
    ];
    fs::write(folder.path().join("scan.ptu"), ptu(&scan, &RECORDS)).unwrap();
    let answer = ask(folder.path(), "scan.ptu").json();
    let query = &answer["query"];
    for (key, expected) in [
        ("line", json!(101)),
        ("line_end", json!(102)),
        ("frame", json!(103)),
        ("photons", json!([1])),
        ("pixels", json!(4)),
        ("lines", json!(2)),
        ("two_way", json!(true)),
        ("pixel_um", json!(0.5)),
        ("sine_percent", Value::Null),
    ] {
        assert_eq!(query[key], expected, "{key}");
    }
    // Pixels of 10 pulses are 100 ticks. Pulses 100 and 109 are in the first one, also with 9 ns more; the second line
    // begins on the right.
    assert_eq!(column(&answer, "count"), [2, 0, 1, 0, 1, 0, 0, 1]);
    // Micro times 3 and 9: the mean is 6, its error √(18/1/2) = 3.
    let first = &answer["rows"][0];
    assert!((first["micro_mean_s"].as_f64().unwrap() - 6e-9).abs() < 1e-20, "{first}");
    assert!((first["micro_mean_s_err"].as_f64().unwrap() - 3e-9).abs() < 1e-20, "{first}");
    // The other pixels have one photon, and the standard deviation of the first one, √18.
    let one = answer["rows"][2]["micro_mean_s_err"].as_f64().unwrap();
    assert!((one - 18f64.sqrt() * 1e-9).abs() < 1e-20, "{one}");
    let bright = ask(folder.path(), "--min-photons 2 scan.ptu").json();
    let means: Vec<&Value> =
        bright["rows"].as_array().unwrap().iter().map(|row| &row["micro_mean_s"]).collect();
    assert_eq!(means[0], &first["micro_mean_s"]);
    assert!(means[1..].iter().all(|mean| mean.is_null()), "{means:?}");
    assert_eq!(column(&bright, "count"), column(&answer, "count"));
    let cube = ask(folder.path(), "--micro --bin 5ns --range 0ns..10ns scan.ptu").json();
    assert_eq!(cube["rows"][0]["micro_counts"], json!([1, 1]));
    assert_eq!(cube["query"]["bin_ticks"], 5);
    // A block of 2 by 2 pixels has a side of 1 µm.
    for (words, side) in [("", "0.5"), ("--bin-pixels 2", "1")] {
        assert_eq!(
            ask(folder.path(), &format!("{words} -q --force -o scan.ome.tif scan.ptu")).code,
            0
        );
        let file = fs::read(folder.path().join("scan.ome.tif")).unwrap();
        let file = String::from_utf8_lossy(&file);
        for axis in ["X", "Y"] {
            let size = format!("PhysicalSize{axis}=\"{side}\" PhysicalSize{axis}Unit=\"&#181;m\"");
            assert!(file.contains(&size), "{size}");
        }
    }
    // Options replace what the header says. A marker that is named is of another scan.
    let one_way = ask(folder.path(), "--scan one-way --pixels 2 scan.ptu").json();
    assert_eq!(column(&one_way, "count"), [2, 1, 1, 1]);
    assert_eq!(one_way["query"]["pixel_um"], Value::Null);
    let named = ask(folder.path(), "--line marker2 scan.ptu").json();
    assert_eq!(
        (&named["query"]["line_end"], &named["query"]["frame"]),
        (&Value::Null, &Value::Null)
    );
    // The facts are those that `tagq info` shows, and go with the tags into a text.
    let convert = ["convert", "-q", "scan.ptu", "scan.csv"];
    assert_eq!(output(command().args(convert).current_dir(folder.path())).code, 0);
    let text = ask(folder.path(), "scan.csv").json();
    assert_eq!(column(&text, "count"), column(&answer, "count"));
}

/// 80 % of the amplitude of a sine is less of it than 80 % of its half period, which is sin(0.4π) = 95 % of the amplitude. The
/// second pixel of four begins at 28 % and at 30 % of the line; a photon is at 29 %.
#[test]
fn the_part_of_a_sine_is_what_the_program_of_the_file_means() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = RECORDS.to_vec();
    records.insert(3, (111, Ok(6)));
    let counts = |name: &str, program: &str, words: &str| {
        let fields = [
            text("CreatorSW_Name", program),
            field("ImgHdr_PixX", INT, 4),
            field("ImgHdr_PixY", INT, 2),
            field("ImgHdr_LineStart", INT, 1),
            field("ImgHdr_LineStop", INT, 2),
            field("ImgHdr_Frame", INT, 3),
            field("ImgHdr_SinCorrection", INT, 80),
        ];
        fs::write(folder.path().join(name), ptu(&fields, &records)).unwrap();
        let answer = ask(folder.path(), &format!("{words} {name}")).json();
        (
            answer["query"]["sine_of"].as_str().unwrap().to_owned(),
            column(&answer, "count")[..2].to_vec(),
        )
    };
    let (of_amplitude, of_period) =
        (("amplitude".into(), vec![2, 1]), ("period".into(), vec![3, 0]));
    assert_eq!(counts("a.ptu", "SymPhoTime 64", ""), of_amplitude);
    assert_eq!(counts("b.ptu", "LAS X", ""), of_period);
    assert_eq!(counts("c.ptu", "SymPhoTime 64", "--sine-of period"), of_period);
    assert_eq!(counts("d.ptu", "LAS X", "--sine-of amplitude"), of_amplitude);
    let header = String::from_utf8(ask(folder.path(), "--format csv b.ptu").stdout).unwrap();
    assert!(header.contains("sine of 80 % of the period"), "{header}");
    let said = ask(folder.path(), "--scan one-way --sine-of period b.ptu");
    assert!(said.stderr.contains("--sine-of is of a --scan that is sinusoidal"), "{}", said.stderr);
}

#[test]
fn headers_that_state_no_scan_and_other_scans_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("point.ptu"), ptu(&[], &RECORDS)).unwrap();
    let photons: Vec<_> = RECORDS.into_iter().filter(|(_, what)| what.is_ok()).collect();
    fs::write(folder.path().join("dot.ptu"), ptu(&[], &photons)).unwrap();
    for (words, reason) in [
        ("point.ptu", "`line` is missing: the marker at which lines begin; the store has none"),
        (
            "dot.ptu",
            "dot.ptu has no markers, as of a point that is not scanned; `tagq micro dot.ptu` counts its micro times",
        ),
        ("--line 101 point.ptu", "--pixels is missing"),
        ("--line 101 --pixels 4 point.ptu", "--lines is missing"),
        ("--line 101 --pixels 4 --lines 2 --line-end 101 point.ptu", "are different channels"),
        ("--line 101 --pixels 4 --lines 2 --sine 80 point.ptu", "of a --scan that is sinusoidal"),
        (
            "--line 101 --pixels 4 --lines 2 --scan sinusoidal --sine 101 point.ptu",
            "1 to 100 percent",
        ),
        ("--line 101 --pixels 4 --lines 2 --channels 101 point.ptu", "is a marker"),
        ("--line 101 --pixels 0 --lines 2 point.ptu", "1 to 65,535 pixels"),
        ("--line 101 --pixels 60000 --lines 60000 point.ptu", "would take"),
        ("--line 101 --pixels 4 --lines 2 --bin 1ns point.ptu", "--micro"),
    ] {
        let said = ask(folder.path(), words);
        assert!(said.code == 2 && said.stderr.contains(reason), "{words}: {}", said.stderr);
    }
    // A pixel has a count and four sums of its micro times, 8 bytes each, once: large images are not copied for each thread.
    let said = ask(folder.path(), "--line 101 --pixels 60000 --lines 60000 point.ptu").stderr;
    let number = |before: &str, after: &str| -> f64 {
        let (_, rest) = said.split_once(before).unwrap();
        rest.split_once(after).unwrap().0.parse().unwrap()
    };
    let (gib, pixels) = (number("at most ", " GiB"), number("is used: ", " pixels would fit"));
    assert!((pixels * 40.0 / f64::from(1 << 30) - gib).abs() < 0.06, "{said}");
    let pasted = output(command().args(["micro", "dot.ptu"]).current_dir(folder.path()));
    assert_eq!(pasted.code, 0, "{}", pasted.stderr);
    let scan = |side: u64| {
        [
            field("ImgHdr_PixX", INT, side),
            field("ImgHdr_LineStart", INT, 1),
            field("ImgHdr_PixY", INT, 2),
        ]
    };
    fs::create_dir(folder.path().join("two")).unwrap();
    let later: Vec<(u32, Result<u32, u32>)> =
        RECORDS.iter().map(|&(pulse, what)| (pulse + 500, what)).collect();
    fs::write(folder.path().join("two/1.ptu"), ptu(&scan(4), &RECORDS)).unwrap();
    fs::write(folder.path().join("two/2.ptu"), ptu(&scan(5), &later)).unwrap();
    let said = ask(folder.path(), "two");
    assert!(said.code == 2 && said.stderr.contains("state different scans"), "{}", said.stderr);
}

#[test]
fn micro_times_are_those_of_photons() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("scan.ptu"), ptu(&[], &RECORDS)).unwrap();
    let micro = |words: &str| {
        let words = format!("micro --format json {words} scan.ptu");
        output(command().args(words.split_whitespace()).current_dir(folder.path()))
    };
    let channels = |answer: &Value| {
        let mut all = column(answer, "channel");
        all.dedup();
        all
    };
    for words in ["", "--range 0ns..10ns", "--derive PAIR=1|101"] {
        let said = micro(words);
        assert_eq!(channels(&said.json()), [1], "{words}");
        assert!(
            said.stderr.contains("not counted without being named: marker1"),
            "{}",
            said.stderr
        );
    }
    assert_eq!(channels(&micro("1,101").json()), [1, 101]);
}

/// Lines of 10 ticks at 0, 20, …; line 1 has no end, line 3 begins twice, and the second frame has one line.
const FAULTS: &str = "5\t0\n3\t0\n1\t5\n4\t10\n4\t15\n3\t20\n1\t25\n3\t40\n1\t45\n4\t50\n3\t60\n3\t61\n1\t65\n4\t70\n1\t75\n\
                      5\t80\n5\t80\n3\t80\n5\t85\n1\t88\n4\t90\n1\t95\n";

#[test]
fn missing_and_double_markers_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("faults.tsv"), FAULTS).unwrap();
    let words = "--line 3 --line-end 4 --frame 5 --pixels 2 --lines 4 --tick 1ns --frames apart --format json faults.tsv";
    let said = ask(folder.path(), words);
    let answer = said.json();
    let expected = json!({
        "photons_in_pixels": 3,
        "photons_outside_lines": 3,
        // The double beginning makes a fifth line.
        "photons_beyond_lines": 1,
        "photons_skipped": 0,
        "line_starts": 6,
        "line_starts_without_end": 2,
        "line_ends_without_start": 1,
        "frames_with_lines": 2,
        "frames_with_fewer_lines": 1,
        "frames_with_more_lines": 1,
        // The first of the two markers at 80.
        "frames_without_lines": 1,
        "frame_markers_inside_lines": 1,
        "frames_of_other_lines": [[0, 5], [2, 1]],
    });
    assert_eq!(answer["query"]["seen"], expected);
    for note in [
        "2 of 6 line starts without an end",
        "1 line end is in no line",
        "frame 0 has 5, frame 2 has 1",
        "1 photon is in lines after line 3",
        "of 2 frames, 1 with fewer than 4 lines and 1 with more",
        "1 frame marker is followed by no line",
        "1 frame marker is inside",
    ] {
        assert!(said.stderr.contains(note), "{note}: {}", said.stderr);
    }
    // Frame 0: lines 0 and 2; frame 1 has no line; frame 2: line 0.
    let counts = column(&answer, "count");
    let seen: Vec<usize> = (0..counts.len()).filter(|&row| counts[row] > 0).collect();
    assert_eq!((seen, counts.len()), (vec![1, 5, 17], 24));
}

/// Reads the pages of a TIFF of 32-bit values that are not compressed, by the text of the format.
fn pages(bytes: &[u8]) -> Vec<(usize, usize, Vec<usize>)> {
    let at = |at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0_usize, |sum, &byte| sum << 8 | usize::from(byte))
    };
    assert_eq!(&bytes[..4], b"II\x2a\0");
    let mut pages = Vec::new();
    let mut page = at(4, 4);
    while page != 0 {
        let fields = at(page, 2);
        let value = |tag: usize| {
            let field = (0..fields).map(|n| page + 2 + 12 * n).find(|&field| at(field, 2) == tag);
            let field = field.unwrap_or_else(|| panic!("no tag {tag}"));
            at(field + 8, if at(field + 2, 2) == 3 { 2 } else { 4 })
        };
        assert_eq!([258, 259, 262, 277, 339].map(value), [32, 1, 1, 1, 1]);
        let (data, len) = (value(273), value(279));
        let values = (data..data + len).step_by(4).map(|place| at(place, 4)).collect();
        pages.push((value(256), value(257), values));
        page = at(page + 2 + 12 * fields, 4);
    }
    pages
}

#[test]
fn a_tiff_has_a_page_for_each_frame_or_bin() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("faults.tsv"), FAULTS).unwrap();
    let words = "-q --line 3 --line-end 4 --frame 5 --pixels 2 --lines 4 --tick 1ns --frames apart faults.tsv -o image.tif";
    assert_eq!(ask(folder.path(), words).code, 0);
    let empty = vec![0; 8];
    let read = pages(&fs::read(folder.path().join("image.tif")).unwrap());
    let frames = [vec![0, 1, 0, 0, 0, 1, 0, 0], empty, vec![0, 1, 0, 0, 0, 0, 0, 0]];
    assert_eq!(read, frames.map(|values| (2, 4, values)));
    fs::write(folder.path().join("scan.ptu"), ptu(&[], &RECORDS)).unwrap();
    let words = "-q --line 101 --line-end 102 --pixels 2 --lines 2 --micro --bin 5ns --range 0ns..10ns scan.ptu -o c.tiff";
    assert_eq!(ask(folder.path(), words).code, 0);
    let bins = pages(&fs::read(folder.path().join("c.tiff")).unwrap());
    assert_eq!(bins, [(2, 2, vec![1, 0, 1, 1]), (2, 2, vec![1, 1, 0, 0])]);
    let rates = ["rates", "-q", "faults.tsv", "-o", "rates.tif"];
    let said = output(command().args(rates).current_dir(folder.path()));
    assert!(said.stderr.contains("a TIFF holds one image"), "{}", said.stderr);
    assert!(!folder.path().join("rates.tif").exists());
}

/// The sums were computed from the image that ptufile decodes.
#[test]
fn a_real_image_is_that_of_ptufile() {
    let Some(data) = std::env::var_os("TAGQ_REAL_DATA") else {
        return skipped("TAGQ_REAL_DATA names no folder of real data");
    };
    let folder = tempfile::tempdir().unwrap();
    let file = Path::new(&data).join("instruments/picoharp300_t3_image.ptu");
    fs::copy(file, folder.path().join("cells.ptu")).unwrap();
    let answer = ask(folder.path(), "--micro --range 0t..133t --format json cells.ptu").json();
    assert_eq!(answer["query"]["pixel_um"], 0.253_983_647_100_000_04);
    let counts = column(&answer, "count");
    let weighted = |weight: &dyn Fn(usize) -> u64| {
        (0..counts.len()).map(|row| counts[row] * weight(row)).sum::<u64>()
    };
    assert_eq!(counts.len(), 65_536);
    assert_eq!(weighted(&|_| 1), 722_402);
    assert_eq!(weighted(&|row| row as u64 / 256), 92_582_826);
    assert_eq!(weighted(&|row| row as u64 % 256), 72_591_857);
    assert_eq!(weighted(&|row| counts[row]), 29_489_842);
    assert_eq!(counts[99 * 256 + 110], 84);
    let of_bins = |row: usize| {
        let bins = answer["rows"][row]["micro_counts"].as_array().unwrap();
        (0..).zip(bins).map(|(bin, count)| bin * count.as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((0..counts.len()).map(of_bins).sum::<u64>(), 28_531_315);
    assert_eq!(
        (0..counts.len()).map(|row| of_bins(row) * (row as u64 % 256)).sum::<u64>(),
        2_865_582_070
    );
    assert_eq!(of_bins(100 * 256 + 200), 1_228);
}
