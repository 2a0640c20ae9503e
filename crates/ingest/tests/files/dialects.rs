//! Texts as other programs write them: the options that each needs, and the tags that are in it.

use std::fs;

use tagq_ingest::{Columns, Error, Settings, SourceFile, read_recorded};
use tagq_store::{Recording, Tag, Tick};

use tagq_sampling::some;

use crate::{
    instruments::{ingested_again, read_all, stored},
    support::file,
};

/// A text of another program.
struct Dialect {
    /// The program or instrument whose output it resembles.
    of: &'static str,
    text: &'static str,
    /// `--columns`, `--skip-lines` and `--tick`; no option if all are empty.
    columns: &'static str,
    skip_lines: u64,
    tick: &'static str,
    /// The tick that its header states.
    stated: &'static str,
    /// Time in ticks and channel of each tag.
    tags: &'static [(i64, u64)],
    names: &'static [&'static str],
}

const PLAIN: Dialect = Dialect {
    of: "",
    text: "",
    columns: "",
    skip_lines: 0,
    tick: "",
    stated: "1ps",
    tags: &[(1_000, 1), (2_500, 2)],
    names: &[],
};

const DIALECTS: [Dialect; 49] = [
    Dialect {
        of: "Swabian Time Tagger Lab, export with semicolons",
        text: "Channel;Time [ps]\r\n1;1000\r\n2;2500\r\n",
        ..PLAIN
    },
    Dialect {
        of: "quTAG, text export in a unit",
        text: "% quTAG time tags\n% Time (ps) ; Channel\n1000 ; 1\n2500 ; 2\n",
        ..PLAIN
    },
    Dialect {
        of: "ID Quantique Time Controller, timestamps",
        text: "#channel,timestamp [ps]\n1,1000\n2,2500\n",
        ..PLAIN
    },
    Dialect {
        of: "pandas, to_csv(index=False)",
        text: "time_ps,channel\n1000,1\n2500,2\n",
        ..PLAIN
    },
    Dialect {
        of: "pandas, to_csv with its index",
        text: ",time_ps,channel\n0,1000,1\n1,2500,2\n",
        ..PLAIN
    },
    Dialect {
        of: "R, write.csv(row.names = FALSE)",
        text: "\"Time_ns\",\"Detector\"\n1,1\n2.5,2\n",
        ..PLAIN
    },
    Dialect {
        of: "NumPy, savetxt with a header",
        text: "# time [ps] channel\n1.000000000000000000e+03 1.000000000000000000e+00\n\
               2.500000000000000000e+03 2.000000000000000000e+00\n",
        ..PLAIN
    },
    Dialect {
        of: "NumPy, savetxt without one",
        text: "1.000000000000000000e+00 1.000000000000000000e+03\n\
               2.000000000000000000e+00 2.500000000000000000e+03\n",
        columns: "channel,time:ps",
        ..PLAIN
    },
    Dialect {
        of: "LabVIEW, spreadsheet file of a German computer",
        text: "Zeit\tKanal\n1,0\t1\n2,5\t2\n",
        columns: "time=Zeit:ns,channel=Kanal",
        ..PLAIN
    },
    Dialect {
        of: "Excel of a German computer, CSV UTF-8",
        text: "\u{feff}Channel;Time (ns)\r\n1;1,0\r\n2;2,5\r\n",
        ..PLAIN
    },
    Dialect {
        of: "Excel, CSV with quoted decimal commas",
        text: "Channel,\"Time (ns)\"\r\n1,\"1,0\"\r\n2,\"2,5\"\r\n",
        ..PLAIN
    },
    Dialect { of: "MATLAB, writetable", text: "Timestamp_ns,Channel\n1,1\n2.5,2\n", ..PLAIN },
    Dialect {
        of: "MATLAB, writematrix of seconds",
        text: "1e-09,1\n2.5e-09,2\n",
        columns: "time:s,channel",
        ..PLAIN
    },
    Dialect {
        of: "Origin, export of a worksheet",
        text: "Det.\tTime/ns\n1\t1.000\n2\t2.500\n",
        ..PLAIN
    },
    Dialect {
        of: "Becker & Hickl, listing of seconds with its note",
        text: "Timetags of run 7\nDate: 2024-03-01\n\nchannel  time (s)\n1  0.000000001000\n2  0.000000002500\n",
        skip_lines: 3,
        ..PLAIN
    },
    Dialect {
        of: "PicoQuant, conversion script of T2 files",
        text: "record# CHN timetag channel truetime/ps\n0 CHN 250 1 1000\n1 CHN 625 2 2500\n",
        columns: "time=truetime/ps",
        ..PLAIN
    },
    Dialect {
        of: "Roithner TTM, seconds first",
        text: "// start 12:00\n// Time (s) | Input\n0.000000001 | 1\n0.0000000025 | 2\n",
        ..PLAIN
    },
    Dialect {
        of: "PostgreSQL, psql with bars",
        text: " detector | time_ps \n1 | 1000\n2 | 2500\n",
        ..PLAIN
    },
    Dialect {
        of: "DuckDB and SQLite, .mode tabs",
        text: "timestamps_us\tch\n0.001\t1\n0.0025\t2\n",
        ..PLAIN
    },
    Dialect {
        of: "C program, fprintf of names",
        text: "Channel;Time [ps]\nAlice;1000\nBob;2500\nAlice;2600\n",
        tags: &[(1_000, 1), (2_500, 2), (2_600, 1)],
        names: &["Alice", "Bob"],
        ..PLAIN
    },
    Dialect {
        of: "Single Quantum WebSQ, names of detectors",
        text: "detector,time tag (ns)\nSNSPD-3,1\nSNSPD-1,2.5\n",
        names: &["SNSPD-3", "SNSPD-1"],
        ..PLAIN
    },
    Dialect {
        of: "names without a header",
        text: "Alice 1.0\nBob 2.5\n",
        columns: "channel,time:ns",
        names: &["Alice", "Bob"],
        ..PLAIN
    },
    Dialect {
        of: "another recorder's ticks, with a header",
        text: "time;channel\n1000;1\n2500;2\n",
        tick: "156.25ps",
        stated: "",
        ..PLAIN
    },
    Dialect {
        of: "the recorder's own text",
        text: "1\t1000\n2\t2500\n",
        tick: "156.25ps",
        stated: "",
        ..PLAIN
    },
    Dialect {
        of: "ticks with their word",
        text: "Time [ticks], Channels\n1000, 1\n2500, 2\n",
        tick: "4ps",
        stated: "",
        ..PLAIN
    },
    Dialect {
        of: "Julia, writedlm with more columns",
        text: "energy\tArrival time (ps)\tChannel No.\n0.5\t1000\t1\n0.7\t2500\t2\n",
        ..PLAIN
    },
    Dialect {
        of: "Igor Pro, commas at the ends of lines",
        text: "TimeTag_ps,Chan,\n1000,1,\n2500,2,\n",
        ..PLAIN
    },
    Dialect {
        of: "quTAG, text with the unit of its time tags",
        text: "# Time Tags\n# Unit Time Tag: 80.955ps\n# Unit Channel: 1\n# Time Tag ; Channel\n 1000 ; 1\n 2500 ; 2\n",
        stated: "80.955ps",
        ..PLAIN
    },
    Dialect {
        of: "two columns without names below their tick",
        text: "% Resolution = 4 ps\n1\t1000\n2\t2500\n",
        stated: "4ps",
        ..PLAIN
    },
    Dialect {
        of: "the unit in a comment, whole numbers",
        text: "# Unit: ps\n1\t1000\n2\t2500\n",
        ..PLAIN
    },
    Dialect {
        of: "the unit in a comment, decimal numbers",
        text: "// time unit: ns\ntime;channel\n1;1\n2.5;2\n",
        ..PLAIN
    },
    Dialect {
        of: "the unit in a comment, and the order in an option",
        text: "# Unit: ns\n1,1\n2.5,2\n",
        columns: "time,channel",
        ..PLAIN
    },
    Dialect {
        of: "two statements, and the user gives one of them",
        text: "# Unit: 2ps\n# Resolution: 4ps\n1\t1000\n2\t2500\n",
        tick: "4ps",
        stated: "4ps",
        ..PLAIN
    },
    Dialect {
        of: "LabVIEW of a German computer, units in the names",
        text: "Kanal;Zeit [ns]\n1;1,0\n2;2,5\n",
        ..PLAIN
    },
    Dialect {
        of: "Excel of a German computer, seconds first",
        text: "Zeit (s);Kanal\r\n0,000000001;1\r\n2,5E-09;2\r\n",
        ..PLAIN
    },
    Dialect { of: "French", text: "Détecteur;Temps (ns)\n1;1,0\n2;2,5\n", ..PLAIN },
    Dialect { of: "Spanish", text: "Tiempo [ps],Canal\n1000,1\n2500,2\n", ..PLAIN },
    Dialect { of: "Italian", text: "canale\ttempo_ps\n1\t1000\n2\t2500\n", ..PLAIN },
    Dialect { of: "Portuguese", text: "tempo/ps;detetor\n1000;1\n2500;2\n", ..PLAIN },
    Dialect { of: "Dutch", text: "# Kanaal Tijd (ps)\n1 1000\n2 2500\n", ..PLAIN },
    Dialect { of: "Chinese", text: "时间 [ps],通道\n1000,1\n2500,2\n", ..PLAIN },
    Dialect { of: "Japanese", text: "チャンネル,時間(ps)\n1,1000\n2,2500\n", ..PLAIN },
    Dialect {
        of: "times of one channel",
        text: "1000\n2500\n",
        columns: "time,channel:3",
        tick: "1ps",
        stated: "",
        tags: &[(1_000, 3), (2_500, 3)],
        ..PLAIN
    },
    Dialect {
        of: "times of one channel below their name",
        text: "Arrival time (ns)\n1\n2.5\n",
        columns: "channel:3",
        tags: &[(1_000, 3), (2_500, 3)],
        ..PLAIN
    },
    Dialect {
        of: "times and energies of one channel",
        text: "time_ns;energy\n1;0.3\n2,5;0.4\n",
        columns: "channel:3",
        tags: &[(1_000, 3), (2_500, 3)],
        ..PLAIN
    },
    Dialect {
        of: "a column for each detector",
        text: "det1;det2\n1000;2500\n3000;\n",
        columns: "time=det1,time=det2",
        tick: "1ps",
        stated: "",
        tags: &[(1_000, 1), (2_500, 2), (3_000, 1)],
        names: &["det1", "det2"],
        ..PLAIN
    },
    Dialect {
        of: "a column for each detector, chosen among others, in a unit",
        text: "row,Ch 2 [ns],Ch 1 [ns]\n0,1,\n1,2.5,2\n",
        columns: "time=Ch 1 [ns],time=Ch 2 [ns]",
        tags: &[(1_000, 2), (2_000, 1), (2_500, 2)],
        names: &["Ch 1", "Ch 2"],
        ..PLAIN
    },
    Dialect {
        of: "columns of times without names, from channel 5 on",
        text: "1.0\t2.5\n\t3.5\n",
        columns: "time:ns,time:ns,channel:5",
        tags: &[(1_000, 5), (2_500, 6), (3_500, 6)],
        ..PLAIN
    },
    Dialect {
        of: "nanoseconds for a run with another tick",
        text: "channel,time_ns\n1,1\n2,2.5\n",
        tick: "500ps",
        stated: "500ps",
        tags: &[(2, 1), (5, 2)],
        ..PLAIN
    },
];

impl Dialect {
    fn settings(&self) -> Settings {
        let columns = Some(self.columns).filter(|columns| !columns.is_empty());
        let columns: Option<Columns> = columns.map(|columns| columns.parse().unwrap());
        let columns = match self.skip_lines {
            0 => columns,
            skip_lines => Some(Columns { skip_lines, ..columns.unwrap_or_default() }),
        };
        let tick = Some(self.tick).filter(|tick| !tick.is_empty());
        let tick = tick.map(|tick| tick.parse::<Tick>().unwrap());
        Settings { columns, tick, ..Settings::default() }
    }

    fn expected(&self) -> Vec<Tag> {
        self.tags.iter().map(|&(time, channel)| Tag { time, channel }).collect()
    }
}

#[test]
fn each_dialect_is_read_with_few_options() {
    for dialect in &DIALECTS {
        let of = dialect.of;
        let (_folder, path) = file(dialect.text.as_bytes());
        let settings = dialect.settings();
        let (mut tags, mut recording) = (Vec::new(), Recording::default());
        let read = read_recorded(&path, &settings, &mut recording, |part| {
            tags.extend_from_slice(part.tags);
            Ok(())
        });
        read.unwrap_or_else(|error| panic!("{of}: {error}"));
        assert_eq!(tags, dialect.expected(), "{of}");
        let names: Vec<(u16, &str)> =
            recording.channel_names.iter().map(|(label, name)| (*label, &**name)).collect();
        let expected: Vec<(u16, &str)> = (1..).zip(dialect.names.iter().copied()).collect();
        assert_eq!(names, expected, "{of}");
        assert_eq!(recording.odd, [], "{of}");
        let header = SourceFile::open(&path).unwrap().header(&settings).unwrap().unwrap();
        let stated = Some(dialect.stated).filter(|stated| !stated.is_empty());
        assert_eq!(header.tick, stated.map(|tick| tick.parse().unwrap()), "{of}");
        assert_eq!(header.channel_names, recording.channel_names, "{of}");
    }
    let is_bare = |dialect: &&Dialect| {
        dialect.columns.is_empty() && dialect.tick.is_empty() && dialect.skip_lines == 0
    };
    assert_eq!(DIALECTS.iter().filter(is_bare).count(), 31);
}

/// A text that grows is read as it was begun, wherever it was cut: with the same tags, names and columns.
#[test]
fn each_dialect_goes_on_wherever_it_was_cut() {
    for dialect in &DIALECTS {
        let of = dialect.of;
        // A part of the first character is not yet known as text: it is refused, and read when the file has grown.
        let first = dialect.text.chars().next().map_or(0, char::len_utf8);
        for cut in some(0..=dialect.text.len()).filter(|cut| *cut == 0 || *cut >= first) {
            let settings = dialect.settings();
            let begun = stored(&dialect.text.as_bytes()[..cut], "a.csv", &settings)
                .unwrap_or_else(|error| panic!("{of}, cut at {cut}: {error}"));
            fs::write(&begun.path, dialect.text).unwrap();
            // Columns that were given once hold, and so does the tick of the run.
            let columns = settings.columns.filter(|_| begun.facts.columns.is_none());
            let settings = Settings { columns, ..dialect.settings() };
            let rows = ingested_again(&begun, &settings);
            assert_eq!(rows, dialect.tags, "{of}, cut at {cut}");
        }
    }
}

#[test]
fn digits_below_the_tick_are_rounded_and_counted() {
    let text = "time (s),channel\n0.0000000010004,1\n0.0000000010006,1\n0.000000001,1\n";
    let (_folder, path) = file(text.as_bytes());
    let read = |tick: Option<&str>| {
        let tick = tick.map(|tick| tick.parse().unwrap());
        let (mut times, mut recording) = (Vec::new(), Recording::default());
        let settings = Settings { tick, ..Settings::default() };
        let summary = read_recorded(&path, &settings, &mut recording, |part| {
            times.extend(part.tags.iter().map(|tag| tag.time));
            Ok(())
        });
        assert_eq!(
            summary.unwrap().columns.unwrap().to_string(),
            "time=time (s):s,channel=channel"
        );
        (times, recording.odd)
    };
    let rounded = "time between two ticks, rounded to the nearest".to_owned();
    assert_eq!(read(None), (vec![1_000, 1_001, 1_000], vec![(rounded.clone(), 2)]));
    assert_eq!(read(Some("100as")), (vec![10_004_000, 10_006_000, 10_000_000], vec![]));
    // A tick that is given counts them, too.
    assert_eq!(read(Some("1ns")), (vec![1, 1, 1], vec![(rounded, 2)]));
}

/// The option that an error prints reads the file, with its names, in its order.
#[test]
fn a_header_that_is_not_understood_gives_the_option_that_reads_it() {
    let plain = [(1_000, 1), (2_500, 2)];
    let one = [(1_000, 1), (2_500, 1)];
    for (text, option, expected) in [
        ("Wert;Nummer\n1000;1\n2500;2\n", "--columns time=Wert,channel=Nummer", &plain[..]),
        ("Nummer;Wert\n1;1000\n2;2500\n", "--columns channel=Nummer,time=Wert", &plain),
        ("nr\tx (ns)\n1\t1\n2\t2.5\n", "--columns 'channel=nr,time=x (ns)'", &plain),
        ("x;nr\n1,0;1\n2,5;2\n", "--columns time=x:ns,channel=nr", &plain),
        ("pixel;time [ps]\n1;1000\n2;2500\n", "--columns 'channel=pixel,time=time [ps]'", &plain),
        ("x;channel\n1000;1\n2500;2\n", "--columns time=x,channel=channel", &plain),
        ("x;energy\n1000;0.5\n2500;0.7\n", "--columns time=x --channel 1", &one),
        ("x\n1000\n2500\n", "--columns time=x --channel 1", &one),
        ("Time [ps]\n1000\n2500\n", "--channel 1", &one),
        ("det1,det2\n1000,2500\n", "--columns time=det1,time=det2", &plain),
        (
            "Channel 1 (ns);Channel 2 (ns)\n1,0;2,5\n",
            "--columns 'time=Channel 1 (ns),time=Channel 2 (ns)'",
            &plain,
        ),
    ] {
        let error = refused(text, &Settings::default());
        let printed =
            error.rsplit_once("` reads it").and_then(|(before, _)| before.rsplit_once('`'));
        let printed = printed.unwrap_or_else(|| panic!("{text}: {error}")).1;
        assert_eq!(printed, option, "{text}");
        let columns = printed.strip_prefix("--columns ").map(|rest| {
            let rest = rest.split(" --channel").next().unwrap();
            rest.trim_matches('\'').parse().unwrap()
        });
        let channel =
            printed.rsplit_once("--channel ").map(|(_, channel)| channel.parse().unwrap());
        let settings = Settings {
            columns: Some(Columns { channel, ..columns.unwrap_or_default() }),
            ..Settings::default()
        };
        let (_folder, path) = file(text.as_bytes());
        let tags = read_all(&path, &settings).unwrap_or_else(|error| panic!("{text}: {error}"));
        let tags: Vec<(i64, u64)> = tags.iter().map(|tag| (tag.time, tag.channel)).collect();
        assert_eq!(tags, expected, "{text}");
    }
}

/// A file whose lines are times alone has the channel in its name.
#[test]
fn the_name_of_a_file_of_times_states_its_channel() {
    for (name, channel) in [
        ("ch3.csv", Some(3)),
        ("night_channel-12.tsv", Some(12)),
        ("Kanal 4.txt", Some(4)),
        ("det0.txt", Some(0)),
        ("run3.csv", None),
        ("ch.csv", None),
        ("ch3b.csv", None),
        ("ch70000.csv", None),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, "1000\n2500\n").unwrap();
        let read = read_all(&path, &Settings::default());
        match (read, channel) {
            (Ok(tags), Some(channel)) => {
                assert!(tags.iter().all(|tag| tag.channel == channel), "{name}");
            }
            (Err(error), None) => {
                let words = "if each line is a time, --channel 1 reads them as those of channel 1";
                assert!(error.to_string().contains(words), "{error}");
            }
            (read, _) => panic!("{name}: {read:?}"),
        }
        // A file with a column of channels has these.
        fs::write(&path, "7\t2500\n").unwrap();
        assert_eq!(read_all(&path, &Settings::default()).unwrap()[0].channel, 7, "{name}");
    }
}

#[test]
fn texts_that_are_not_understood_say_what_to_type() {
    for (text, words) in [
        (
            "Run 7\nby hand\nchannel,time\n1,2\n",
            "line 1: \"Run 7\" is no tag: the tags begin in line 3",
        ),
        ("Run 7\nby hand\n1,2\n", "the lines before it by --skip-lines 2"),
        ("time [ps];energy\n1;2\n", "line 1: no column is named `channel`"),
        ("time [ps];energy\n", "--columns channel=NAME; its columns are `time [ps]`, `energy`"),
        ("time,channel\n1.5,2\n", "say the unit of other times, as in --columns time:ns,channel"),
        ("1,1.5\n", "say the unit of other times, as in --columns channel,time:ns"),
        ("Zeit;Kanal\n1,5;2\n", "as in --columns time=Zeit:ns,channel=Kanal"),
        ("1.5,1\n", "digits only (is the time first? --columns time:ns,channel)"),
        (
            "-5,1\n",
            "outside of 0 to 18446744073709551615 (is the time first? --columns time,channel)",
        ),
        (
            "# Unit: ns\n# Tick: 4ps\n1,2\n",
            "line 2 says that times are in units of 4 ps, and a line before it 1 ns; give the right one, as in \
             `--tick 1ns`",
        ),
        (
            "# Unit: ns\ntime [ps];ch\n1;2\n",
            "in ns, and the name of their column says ps; give the right",
        ),
        ("1000\n2000\n", "one field; a line is a channel"),
        ("time (fs);ch\n1;2\n", "the unit `fs` of the column `time (fs)` is not known; say"),
        ("time_ps;time tag [ns];ch\n1;2;3\n", "the time could be `time_ps` and `time tag [ns]`"),
        ("time_ps;ch\n1;2\n1.0.0;2\n", "line 3: \"1.0.0;2\" is no tag: its time is no number"),
        ("time_ns;ch\n1;2\n1.234,5;2\n", "line 3: \"1.234,5;2\" is no tag: its time is no number"),
        ("time_ns;ch\n1;2\n1,234,567;2\n", "line 3: \"1,234,567;2\" is no tag: its time is no"),
        ("time_ps;ch\n1;A\n1;2\n", "line 3: \"1;2\" is no tag: its channel is a number, and those"),
        ("time_ps;ch\n1;2\n1;A\n", "line 3: \"1;A\" is no tag: its channel is no number"),
        ("time_ps;ch\n1;2\n1\n", "line 3: \"1\" is no tag: not as many fields as the header"),
        ("Alice,2\n", "line 1: \"Alice,2\" is no tag: its channel is no number"),
    ] {
        let error = refused(text, &Settings::default());
        assert!(error.contains(words), "{text}: {error}");
    }
    // Without a header, the first line says what separates its fields, also if one of them is wrong.
    let columns = Some("time:s,channel".parse().unwrap());
    let settings = Settings { columns, ..Settings::default() };
    for (text, words) in [
        ("99999999,3\n", "line 1: \"99999999,3\" is no tag: its time is outside of 64 bits"),
        ("1x;3\n", "line 1: \"1x;3\" is no tag: its time is no number"),
        ("1,2,3\n", "line 1: \"1,2,3\" is no tag: not as many fields"),
    ] {
        let error = refused(text, &settings);
        assert!(error.contains(words), "{text}: {error}");
    }
}

/// Returns the error of a text that cannot be read.
fn refused(text: &str, settings: &Settings) -> String {
    let (_folder, path) = file(text.as_bytes());
    let read = read_recorded(&path, settings, &mut Recording::default(), |_| Ok(()));
    read.unwrap_err().to_string()
}

/// Names have one number in a run, whatever their order in a file; numbers and names in one run are refused.
#[test]
fn channels_of_a_run_have_one_name() {
    use tagq_ingest::{SourcePart, ingest};
    use tagq_store::{Access, Creation, Store, Writer};
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::default();
    let run = |texts: &[&str]| -> Result<Vec<(i64, u16)>, Error> {
        let place = tempfile::tempdir_in(folder.path()).unwrap();
        let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
        let mut writer = Writer::open(&place.path().join("run.tagq"), &creation).unwrap();
        for (number, text) in texts.iter().enumerate() {
            let name = format!("{number}.csv");
            let path = place.path().join(&name);
            fs::write(&path, text).unwrap();
            let part = SourcePart::Whole { rebase: None };
            ingest(&path, &name, part, &settings, &mut writer)?;
        }
        writer.commit().unwrap();
        drop(writer);
        let store = Store::open(&place.path().join("run.tagq"), Access::Copied).unwrap();
        let tags = store.tags();
        let rows = (0..tags.len()).map(|row| (tags.time.at(row), tags.channels.label(row)));
        Ok(rows.collect())
    };
    let first = "channel,time_ps\nAlice,1\nBob,2\n";
    assert_eq!(
        run(&[first, "channel,time_ps\nEve,3\nBob,4\nAlice,5\n"]).unwrap(),
        [(1, 1), (2, 2), (3, 3), (4, 2), (5, 1)]
    );
    for (other, words) in [
        (
            "channel,time_ps\n1,3\n",
            "1.csv: its channel 1 is a number, and that of 0.csv is `Alice`",
        ),
        ("1,3\n", "1.csv: its channel 1 is a number, and that of 0.csv is `Alice`"),
    ] {
        let error = run(&[first, other]).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let error = run(&["1,0\n", first]).unwrap_err().to_string();
    assert!(
        error.contains("1.csv: its channel 1 is `Alice`, and that of 0.csv is a number"),
        "{error}"
    );
}
