//! `tagq demo`: three small simulated recordings, their stories, and what to type next.
//!
//! A test types every command that is printed.

use std::{fs, io::Write as _, path::Path};

use anyhow::{Context as _, bail};
use tagq::{SimulationOptions, escaped, pasted};
use tagq_export::{PreferredForm, TagFormat};

use crate::{args::DemoArgs, progress::Reporter};

/// The longest line of a story.
const COLUMNS: usize = 78;

/// A recording: the end of its name, the options of `tagq simulate`, what it is, and commands with what they show. `RUN`
/// stands for its path.
struct Demo {
    name: &'static str,
    options: &'static [(&'static str, &'static str)],
    story: &'static str,
    commands: &'static [(&'static str, &'static str)],
}

const DEMOS: [Demo; 3] = [
    Demo {
        name: "pairs.tags.zst",
        options: &[
            ("rate", "100kHz"),
            ("channels", "1"),
            ("channels", "2"),
            ("efficiency", "0.3"),
            ("dark", "500Hz"),
            ("jitter", "200ps"),
            ("delays", "2=5ns"),
        ],
        story: "A source of photon pairs: one photon of each pair goes to channel 1, the other to channel 2, whose cable is \
                5 ns longer. Three in ten photons are detected, and each detector has 500 dark counts a second.",
        commands: &[
            ("rates RUN", "tags and rates of each channel"),
            ("delays 1,2 RUN", "the longer cable: a peak at 5 ns"),
            ("coincidences 1,2 --window 2ns --delay auto RUN", "pairs, accidentals and heralding"),
            ("histogram 1,2 --plot RUN", "the peak, in this terminal"),
        ],
    },
    Demo {
        name: "emitter.tags.zst",
        options: &[
            ("emitter", "1ns"),
            ("pulsed", "12.5ns"),
            ("rate", "2MHz"),
            ("channels", "1"),
            ("channels", "2"),
            ("efficiency", "0.25"),
            ("dark", "500Hz"),
            ("jitter", "100ps"),
        ],
        story: "One quantum emitter with a lifetime of 1 ns, excited once in 12.5 ns. A beam splitter sends its photons to \
                channels 1 and 2. Because it emits one photon at a time, the two never see photons of the same pulse.",
        commands: &[
            ("g2 1,2 --pulsed auto RUN", "g2(0) is 0 within its error: a single emitter"),
            ("g2 1,2 --pulsed auto --plot RUN", "the missing peak, in this terminal"),
        ],
    },
    Demo {
        name: "cells.ptu",
        options: &[
            ("fluorescence", "3ns"),
            ("disc", "1ns"),
            ("rate", "2MHz"),
            ("disc_rate", "4MHz"),
            ("scan", "32x32x4"),
            ("dwell", "40us"),
            ("pulsed", "25ns"),
            ("tick", "50ps"),
            ("channels", "1"),
            ("dark", "2kHz"),
            ("jitter", "80ps"),
            ("delays", "1=2ns"),
        ],
        story: "A fluorescence microscope scans a sample four times: a disc with a lifetime of 1 ns on a background of 3 ns. The \
                file is one of a PicoQuant instrument in mode T3, with markers for lines and frames on channels 101 to 103.",
        commands: &[
            ("image --lifetime RUN", "the lifetime of each pixel"),
            ("image --lifetime --plot RUN", "the lifetime map, in this terminal"),
        ],
    },
];

pub(crate) fn run(args: &DemoArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(false);
    fs::create_dir_all(&args.folder)
        .with_context(|| format!("{}: cannot be made", args.folder.display()))?;
    // Recordings in the folder of a run would become sources of that run.
    for entry in fs::read_dir(&args.folder)? {
        let name = entry?.file_name();
        let name = name.to_string_lossy();
        if !DEMOS.iter().any(|demo| name.contains(demo.name)) {
            let folder = escaped(&args.folder.display().to_string()).into_owned();
            bail!("{folder}: it has other files, such as {}; name a new folder", escaped(&name));
        }
    }
    let mut out = std::io::stdout().lock();
    for demo in DEMOS {
        let path = args.folder.join(demo.name);
        write(&demo, &path, args.force, &reporter)?;
        let story = textwrap::fill(demo.story, COLUMNS);
        writeln!(out, "{}\n{story}\n", escaped(&path.display().to_string()))?;
        let run = pasted(&path);
        let commands =
            demo.commands.iter().map(|(words, shows)| (words.replace("RUN", &run), shows));
        let commands: Vec<(String, &&str)> = commands.collect();
        let width = commands.iter().map(|(words, _)| words.chars().count()).max().unwrap_or(0);
        for (words, shows) in commands {
            writeln!(out, "    tagq {words:width$}   # {shows}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Writes the recording, unless it is there already.
fn write(demo: &Demo, path: &Path, force: bool, reporter: &Reporter) -> anyhow::Result<()> {
    if path.exists() && !force {
        return Ok(());
    }
    let given = demo.options.iter().chain(&[("force", "true")]);
    let given: Vec<(String, String)> =
        given.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let options = SimulationOptions::of_texts(&given)?;
    let format = TagFormat::of_name(path, PreferredForm::Files);
    let form = format.as_ref().map(TagFormat::as_tag_form);
    options.write((path, form), reporter, &mut |_, _| (), &mut |_| ())?;
    Ok(())
}
