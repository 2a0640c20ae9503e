//! `tagq simulate`: converts arguments into a simulation, in ticks.

use std::{
    fs::{self, OpenOptions},
    io::{self, BufWriter, IsTerminal as _, Seek as _, Write as _},
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use anyhow::Context as _;
use tagq::{
    Destination, NewFile, Progress as _,
    files::write::{Content, Form, Packing, TagWriter},
    store::{Tick, units::Frequency},
};
use tagq_export::report::table::quantities::thousands;
use tagq_simulate::{
    Detector, Light, Simulation,
    live::{self, Appended, Event},
    write,
};

use crate::{
    Usage,
    args::{ForChannel, SimulateArgs},
    progress::Reporter,
};

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<()> {
    let first = simulation(args)?;
    // With --files or --faults, OUT is a folder, created if it does not exist.
    let wants_folder = args.files.is_some() || args.live.is_some() && args.faults;
    if !wants_folder && args.out.is_dir() {
        let (out, inside) = (args.out.display(), args.out.join("1.tags.zst"));
        let message = format!("{out} is a folder; name a file, as {}", inside.display());
        return Err(Usage(message).into());
    }
    check_form(args)?;
    let reporter = Reporter::new(args.quiet);
    if let Some(rate) = args.live {
        return live(&first, rate, args, &reporter);
    }
    let Some(files) = args.files else {
        return one(&first, args, &args.out, &reporter);
    };
    let gap = args.gap.nearest(args.tick).map_err(tagq::Error::from)?;
    fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: cannot make this folder", args.out.display()))?;
    let digits = files.to_string().len();
    let path = |number: u64| args.out.join(format!("{:0digits$}.tags.zst", number + 1));
    // Check all files before the first is created.
    for number in 0..files {
        to(&path(number), args).check()?;
    }
    for number in 0..files {
        let simulation = following(&first, number, gap)
            .ok_or_else(|| Usage(format!("{files} files of that length leave 64-bit ticks")))?;
        one(&simulation, args, &path(number), &reporter)?;
    }
    Ok(())
}

/// Returns the destination of a file, for which nothing is read.
fn to<'a>(path: &'a Path, args: &SimulateArgs) -> Destination<'a> {
    Destination { path, force: args.force, reads: &[] }
}

/// Returns the simulation of file `number`, later than the first and with its own random numbers.
fn following(first: &Simulation, number: u64, gap: i64) -> Option<Simulation> {
    let step = first.duration.checked_add(gap)?.checked_mul(i64::try_from(number).ok()?)?;
    Some(Simulation {
        start: first.start.checked_add(step)?,
        seed: first.seed.wrapping_add(number),
        ..first.clone()
    })
}

fn one(
    simulation: &Simulation,
    args: &SimulateArgs,
    path: &Path,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    simulation.tags().map_err(|e| Usage(e.to_string()))?;
    let fresh = NewFile::create(&to(path, args), reporter)?;
    let shown = || format!("{}: cannot be written", path.display());
    let file = fresh.file()?;
    let tags = match other_form(path) {
        Some(form) => write_as(simulation, form, args.tick, file).with_context(shown)?,
        None => write(simulation, args.frames, args.checksum, BufWriter::new(file))
            .with_context(shown)?,
    };
    let written = fresh.file()?;
    fresh.keep(&written)?;
    reporter.note(&format!("{}: {} tags", path.display(), thousands(tags)));
    Ok(())
}

/// Returns the format given by the name of a file, unless it is that of a recorder.
fn other_form(path: &Path) -> Option<Form> {
    let recorded = Form { content: Content::Messages, packing: Packing::Zstd };
    Form::of_name(path).filter(|&form| form != recorded)
}

/// Refuses options of a recorder's file for other formats.
fn check_form(args: &SimulateArgs) -> Result<(), Usage> {
    let is_recorded = args.live.is_some() || args.frames > 1 || args.checksum;
    match args.out.extension() {
        Some(ending) if is_recorded && args.files.is_none() && other_form(&args.out).is_some() => {
            Err(Usage(format!(
                "--live, --frames and --checksum are for a .tags.zst, and {} is a .{}",
                args.out.display(),
                ending.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Writes the tags in a format other than a recorder's. Returns the number of tags.
fn write_as(
    simulation: &Simulation,
    form: Form,
    tick: Tick,
    file: fs::File,
) -> anyhow::Result<u64> {
    let mut tags = simulation.tags()?;
    let mut writer = TagWriter::new(file, form, tick, 0)?;
    let mut written = 0;
    while let Some(slab) = tags.next_slab() {
        writer.push(slab)?;
        written += slab.len() as u64;
    }
    writer.finish()?;
    Ok(written)
}

/// Interval at which a recorder appends frames.
const FRAME_INTERVAL: Duration = Duration::from_millis(250);

/// Appends the frames in real time. All frames are prepared before the first one is due.
fn live(
    simulation: &Simulation,
    rate: Frequency,
    args: &SimulateArgs,
    reporter: &Reporter,
) -> anyhow::Result<()> {
    simulation.tags().map_err(|e| Usage(e.to_string()))?;
    // The rate per tick, divided by the seconds of a tick: tags per second.
    let per_second = rate.per_tick(args.tick) / args.tick.seconds();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let frame_tags = (per_second * FRAME_INTERVAL.as_secs_f64()).round() as u64;
    let late = match &args.late {
        Some(late) => late.nearest(args.tick).map_err(tagq::Error::from)?,
        None => 0,
    };
    if args.faults {
        let made = fs::create_dir_all(&args.out);
        made.with_context(|| format!("{}: cannot make this folder", args.out.display()))?;
    }
    let name = |number: usize| {
        if args.faults {
            args.out.join(format!("{:04}.tags.zst", number + 1))
        } else {
            args.out.clone()
        }
    };
    to(&name(0), args).check()?;
    let folder = match args.out.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !args.faults => folder,
        _ if args.faults => &args.out,
        _ => Path::new("."),
    };
    let aside = || format!("{}: cannot make a file in this folder", folder.display());
    let mut prepared = tempfile::tempfile_in(folder).with_context(aside)?;
    let frames = live::prepare(simulation, frame_tags, late, BufWriter::new(&prepared))
        .with_context(|| format!("{}: frames not made", args.out.display()))?;
    // Sync first, so that writing to the disk does not delay the replay.
    prepared.sync_all()?;
    prepared.rewind()?;
    let faults = args.faults.then_some(simulation.seed);
    let open = |number| {
        let mut options = OpenOptions::new();
        options.write(true).truncate(true).create(args.force).create_new(!args.force);
        options.open(name(number))
    };
    let mut last = None;
    live::replay(&prepared, &frames, FRAME_INTERVAL, faults, open, |appended| {
        tell_appended(&appended);
        last = Some(appended);
    })
    .with_context(|| format!("{}: not complete", args.out.display()))?;
    if let Some(Appended { file, tags, .. }) = last {
        let (out, tags) = (args.out.display(), thousands(tags));
        reporter.note(&format!("{out}: {tags} tags in {} files", file + 1));
    }
    Ok(())
}

/// Prints one line per frame, for measurements of the delay between a frame and its answer.
fn tell_appended(appended: &Appended) {
    if io::stdout().is_terminal() {
        return;
    }
    let Appended { file, frame, tags, event } = *appended;
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let event = match event {
        Event::Whole => "whole",
        Event::Pieces => "pieces",
        Event::Died => "died",
    };
    // A closed stdout does not stop the recorder.
    let _ = writeln!(
        io::stdout(),
        r#"{{"at_s":{at:.6},"frame":{frame},"file":{file},"tags":{tags},"event":"{event}"}}"#
    );
}

fn simulation(args: &SimulateArgs) -> Result<Simulation, tagq::Error> {
    let tick = args.tick;
    let rate = args.rate.per_tick(tick);
    // Not rounded to ticks: jitter and pulse period belong to light and detector, not to the recorder.
    let pulse_period = args.pulsed.as_ref().map(|period| period.ticks(tick)).transpose()?;
    let beam_splitter = args.beam_splitter;
    let light = if args.coherent {
        Light::Coherent { rate, pulse_period, beam_splitter }
    } else {
        Light::Pairs { rate, pulse_period, beam_splitter }
    };
    let detector = |&channel: &u64| -> Result<Detector, tagq::Error> {
        let delay = args.delays.iter().rev().find(|delay| u64::from(delay.channel) == channel);
        Ok(Detector {
            channel,
            efficiency: *value_for(&args.efficiency, channel),
            dark_rate: value_for(&args.dark, channel).per_tick(tick),
            jitter: value_for(&args.jitter, channel).ticks(tick)?,
            delay: delay.map_or(Ok(0.0), |delay| delay.delay.ticks(tick))?,
            dead_time: value_for(&args.dead_time, channel).nearest(tick)?,
        })
    };
    Ok(Simulation {
        light,
        detectors: args.channels.iter().map(detector).collect::<Result<_, _>>()?,
        drift: None,
        start: args.start.nearest(tick)?,
        duration: args.duration.nearest(tick)?,
        seed: args.seed,
    })
}

/// Returns the value for a channel: the last one given for it, else the last one given for all.
fn value_for<T>(values: &[ForChannel<T>], channel: u64) -> &T {
    let own = values.iter().rev().find(|value| value.channel == Some(channel));
    let shared = || values.iter().rev().find(|value| value.channel.is_none());
    &own.or_else(shared).unwrap_or(&values[0]).value
}
