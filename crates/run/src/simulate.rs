//! Files of simulated detections: their options as a user states them, and how they are written.
//!
//! With the efficiencies `0.5` and `2=0.3`, channel 2 has 0.3 and all others have 0.5.

use std::{
    fmt::Display,
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Seek as _, Write},
    path::{Path, PathBuf},
    str::FromStr,
    time,
};

use tagq_ingest::{
    RunFile,
    write::{Content, Form, Packing, TagForm, Times},
};
use tagq_simulate::{
    Clock, Detector, Light, Simulation, WriteError,
    live::{self, Appended},
    write,
};
use tagq_store::{Duration, Tick, units::Frequency};

use crate::{
    destination::Destination,
    destination::folder_of,
    error::{Error, RequestError},
    fluorescence::{self, FluorescenceOptions, micro_times},
    new_file::NewFile,
    progress::Progress,
    recorded::write_run_file,
    work,
};

/// Interval at which a recorder appends frames.
const FRAME_INTERVAL: time::Duration = time::Duration::from_millis(250);
/// The form of a recorder.
const RECORDED: Form = Form { content: Content::Messages, packing: Packing::Zstd };
/// The name of the format whose header states a scan.
const PTU: &str = "ptu";
/// The largest number of files or of frames.
const FILES_MAX: u64 = 1_000_000;

/// A value for all channels, or `CH=VALUE` for one.
#[derive(Debug, Clone, PartialEq)]
pub struct ForChannel<T> {
    /// The channel; `None` for all.
    pub channel: Option<u16>,
    /// The value.
    pub value: T,
}

impl<T: FromStr<Err: Display>> FromStr for ForChannel<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |value: &str| value.parse().map_err(|e: T::Err| e.to_string());
        match text.split_once('=') {
            Some((name, value)) => {
                let channel = name.trim().parse().map_err(|_| {
                    format!("`{name}` is no channel; channels are numbers from 0 to 65535")
                })?;
                Ok(Self { channel: Some(channel), value: parse(value)? })
            }
            None => Ok(Self { channel: None, value: parse(text)? }),
        }
    }
}

/// Options of simulated files. Of values for channels the last one counts, and one for a channel before one for all.
#[expect(clippy::struct_excessive_bools, reason = "they are options of a user")]
#[derive(Debug, Clone)]
pub struct SimulationOptions {
    /// Recording time of each file; one second, or that of a scan, by default.
    pub duration: Option<Duration>,
    /// Tick of the files.
    pub tick: Tick,
    /// Time of the first recorded tick.
    pub start: Duration,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Channels of the detectors.
    pub channels: Vec<u64>,
    /// Pairs per second of each source. Of coherent light: photons per second on each detector or on the beam splitter. Of an
    /// emitter: on all detectors together.
    pub rate: Frequency,
    /// Whether the light is that of a laser.
    pub coherent: bool,
    /// The light is that of one quantum emitter with this lifetime.
    pub emitter: Option<Duration>,
    /// The light is fluorescence, if it has lifetimes.
    pub fluorescence: FluorescenceOptions,
    /// Time between pulses.
    pub pulsed: Option<Duration>,
    /// A channel with the pulses.
    pub clock: Option<u16>,
    /// Of so many pulses one is recorded.
    pub clock_divider: u32,
    /// Whether there is one source, whose light a beam splitter divides.
    pub beam_splitter: bool,
    /// Probability that a photon is detected.
    pub efficiency: Vec<ForChannel<f64>>,
    /// Dark counts per second.
    pub dark: Vec<ForChannel<Frequency>>,
    /// Standard deviation of the time of a detection.
    pub jitter: Vec<ForChannel<Duration>>,
    /// Added to the photons of a channel.
    pub delays: Vec<ForChannel<Duration>>,
    /// Time after a detection without another one.
    pub dead_time: Vec<ForChannel<Duration>>,
    /// Frames in each file.
    pub frames: u64,
    /// Files to write into a folder, recorded one after another.
    pub files: Option<u64>,
    /// Time between the files.
    pub gap: Duration,
    /// Whether each frame has a checksum.
    pub checksum: bool,
    /// Tags per second that are appended in real time.
    pub live: Option<Frequency>,
    /// How late some tags are appended.
    pub late: Option<Duration>,
    /// Whether the recorder fails now and then.
    pub faults: bool,
    /// Whether files that are there are replaced.
    pub force: bool,
    /// Whether a simulation is made that takes longer than a day.
    pub long: bool,
}

impl SimulationOptions {
    /// Makes options of texts, as names and values. Options that are not given have the defaults of `tagq simulate`.
    ///
    /// # Errors
    /// [`Error::Request`] for an invalid text.
    pub fn of_texts(given: &[(String, String)]) -> Result<Self, Error> {
        let texts = Texts { given };
        Ok(Self {
            duration: texts.optional("duration")?,
            tick: texts.one("tick", "156.25ps")?,
            start: texts.one("start", "0t")?,
            seed: texts.one("seed", "1")?,
            channels: texts.each("channels")?,
            rate: texts.one("rate", "100kHz")?,
            coherent: texts.one("coherent", "false")?,
            emitter: texts.optional("emitter")?,
            fluorescence: FluorescenceOptions {
                lifetimes: texts.each("fluorescence")?,
                scan: texts.optional("scan")?,
                dwell: texts.one("dwell", "10us")?,
                two_way: texts.one("two_way", "false")?,
                sine: texts.optional("sine")?,
                disc: texts.each("disc")?,
                disc_rate: texts.optional("disc_rate")?,
            },
            pulsed: texts.optional("pulsed")?,
            clock: texts.optional("clock")?,
            clock_divider: texts.one("clock_divider", "1")?,
            beam_splitter: texts.one("beam_splitter", "false")?,
            efficiency: texts.each("efficiency")?,
            dark: texts.each("dark")?,
            jitter: texts.each("jitter")?,
            delays: texts.each("delays")?,
            dead_time: texts.each("dead_time")?,
            frames: texts.one("frames", "1")?,
            files: texts.optional("files")?,
            gap: texts.one("gap", "1s")?,
            checksum: texts.one("checksum", "false")?,
            live: texts.optional("live")?,
            late: texts.optional("late")?,
            faults: texts.one("faults", "false")?,
            force: texts.one("force", "false")?,
            long: texts.one("long", "false")?,
        })
    }

    /// Returns the simulation of the first file, in ticks.
    ///
    /// # Errors
    /// [`Error::Unit`] for durations that leave 64-bit ticks.
    pub fn simulation(&self) -> Result<Simulation, Error> {
        let tick = self.tick;
        let rate = self.rate.per_tick(tick);
        // Not rounded to ticks: jitter and pulse period belong to light and detector, not to the recorder.
        let pulse_period = self.pulsed.as_ref().map(|period| period.ticks(tick)).transpose()?;
        let beam_splitter = self.beam_splitter;
        let fluorescence = self.fluorescence.light(rate, pulse_period, tick)?;
        let light = if let Some(light) = fluorescence {
            light
        } else if let Some(lifetime) = &self.emitter {
            let missing = || RequestError::missing("pulsed", ": an emitter is excited by pulses");
            let pulse_period = pulse_period.ok_or_else(missing)?;
            Light::Emitter { rate, pulse_period, lifetime: lifetime.ticks(tick)? }
        } else if self.coherent {
            Light::Coherent { rate, pulse_period, beam_splitter }
        } else {
            Light::Pairs { rate, pulse_period, beam_splitter }
        };
        let ticks =
            |duration: Option<&Duration>| duration.map_or(Ok(0.0), |duration| duration.ticks(tick));
        let detector = |&channel: &u64| -> Result<Detector, Error> {
            let dead_time = value_for(&self.dead_time, channel);
            let dark = value_for(&self.dark, channel);
            Ok(Detector {
                channel,
                efficiency: value_for(&self.efficiency, channel).copied().unwrap_or(1.0),
                dark_rate: dark.map_or(0.0, |rate| rate.per_tick(tick)),
                jitter: ticks(value_for(&self.jitter, channel))?,
                delay: ticks(value_for(&self.delays, channel))?,
                dead_time: dead_time.map_or(Ok(0), |duration| duration.nearest(tick))?,
            })
        };
        let clock = self.clock.map(|of| Clock { channel: of.into(), divider: self.clock_divider });
        let mut simulation = Simulation {
            light,
            detectors: self.channels.iter().map(detector).collect::<Result<_, _>>()?,
            drift: None,
            clock,
            start: self.start.nearest(tick)?,
            duration: 1,
            seed: self.seed,
        };
        simulation.duration = match (&self.duration, simulation.scan_duration()) {
            (Some(duration), _) => duration.nearest(tick)?,
            (None, Some(duration)) => duration,
            (None, None) => Duration::from_str("1s")?.nearest(tick)?,
        };
        Ok(simulation)
    }

    /// Writes the tags to the file `out` in `form`, the one that its name selects, if any, or to files in the folder
    /// `out`. Returns the number of tags. The tick stands in a run file beside a file that has no place for it. `wrote`
    /// receives each file with its number of tags, `appended` each frame of a live recording.
    ///
    /// # Errors
    /// [`Error::Request`] for options that exclude each other and for light that cannot be simulated; those of
    /// [`Destination::check`], [`Error::Io`].
    pub fn write(
        &self,
        (out, form): (&Path, Option<&dyn TagForm>),
        progress: &dyn Progress,
        wrote: &mut dyn FnMut(&Path, u64),
        appended: &mut dyn FnMut(&Appended),
    ) -> Result<u64, Error> {
        let first = self.simulation()?;
        first.tags().map_err(|error| refused(&error))?;
        self.check(out, form)?;
        if let Some(rate) = self.live {
            return self.append_live(&first, rate, out, progress, appended);
        }
        self.check_work(&first, progress)?;
        let Some(files) = self.files else {
            return self.write_one(&first, (out, other_form(out, form)), progress, wrote);
        };
        let gap = self.gap.nearest(self.tick)?;
        fs::create_dir_all(out).map_err(io_error(out, "make this folder"))?;
        let digits = files.to_string().len();
        let path = |number: u64| out.join(format!("{:0digits$}.tags.zst", number + 1));
        // Check all files before the first is created.
        for number in 0..files {
            self.to(&path(number)).check()?;
        }
        let mut tags = 0;
        for number in 0..files {
            let simulation = following(&first, number, gap).ok_or_else(|| {
                RequestError::TooLarge(format!("{files} files of that length leave 64-bit ticks"))
            })?;
            tags += self.write_one(&simulation, (&path(number), None), progress, wrote)?;
        }
        Ok(tags)
    }

    /// Rejects more than a day of work, unless that is allowed.
    fn check_work(&self, first: &Simulation, progress: &dyn Progress) -> Result<(), Error> {
        /// Tags that are made and compressed in a second.
        const TAGS_PER_S: f64 = 1e7;
        let rate = match first.light {
            Light::Coherent { .. } | Light::Pairs { .. } | Light::Fluorescence { .. } => {
                first.light.rate()
            }
            Light::Emitter { rate, .. } => rate / first.detectors.len() as f64,
        };
        let pulses = self.pulsed.as_ref().map(|period| period.ticks(self.tick)).transpose()?;
        let clock = first.clock.zip(pulses);
        let clock = clock.map_or(0.0, |(of, period)| 1.0 / (period * f64::from(of.divider)));
        let of_detector = |detector: &Detector| rate * detector.efficiency + detector.dark_rate;
        let per_tick = clock + first.detectors.iter().map(of_detector).sum::<f64>();
        let files = self.files.unwrap_or(1) as f64;
        let tags = per_tick * first.duration as f64 * files;
        work::check(tags / TAGS_PER_S, &format!("{tags:.1e} tags"), self.long, progress)
    }

    /// Refuses options that exclude each other, and a name that does not fit them.
    fn check(&self, out: &Path, form: Option<&dyn TagForm>) -> Result<(), Error> {
        let refuse =
            |options: &[&str], why: &str| Err(RequestError::options(options, why.into()).into());
        if self.emitter.is_some() && (self.coherent || self.beam_splitter) {
            return refuse(
                &["emitter"],
                "an emitter is neither `coherent` nor needs a `beam_splitter`: all channels share its photons",
            );
        }
        let lifetimes = &self.fluorescence.lifetimes;
        if !lifetimes.is_empty() && (self.coherent || self.beam_splitter || self.emitter.is_some())
        {
            return refuse(
                &["fluorescence", "coherent", "beam_splitter", "emitter"],
                "`fluorescence` excludes `coherent`, `beam_splitter` and `emitter`",
            );
        }
        if self.fluorescence.scan.is_some() && self.duration.is_some() {
            return refuse(&["scan", "duration"], "a `scan` has its own `duration`");
        }
        for (name, number) in [("frames", Some(self.frames)), ("files", self.files)] {
            if number.is_some_and(|number| !(1..=FILES_MAX).contains(&number)) {
                let reason = format!("a whole number from 1 to {FILES_MAX} is wanted");
                return Err(
                    RequestError::Option { option: name.into(), place: None, reason }.into()
                );
            }
        }
        if self.live.is_none() && (self.late.is_some() || self.faults) {
            return refuse(
                &["late", "faults", "live"],
                "`late` and `faults` are for a recording with `live`",
            );
        }
        if self.live.is_some() && (self.frames > 1 || self.files.is_some() || self.checksum) {
            return refuse(
                &["live", "frames", "files", "checksum"],
                "`live` excludes `frames`, `files` and `checksum`",
            );
        }
        // With files or faults, the output is a folder, created if it does not exist.
        let wants_folder = self.files.is_some() || self.live.is_some() && self.faults;
        if !wants_folder && out.is_dir() {
            let inside = out.join("1.tags.zst");
            let message =
                format!("{} is a folder; name a file, as {}", out.display(), inside.display());
            return Err(RequestError::Invalid(message).into());
        }
        let is_recorded = self.live.is_some() || self.frames > 1 || self.checksum;
        if !wants_folder {
            self.to(out).check()?;
            form.ok_or_else(|| Error::NoForm { path: out.into() })?;
        }
        match out.extension() {
            Some(ending)
                if is_recorded && self.files.is_none() && other_form(out, form).is_some() =>
            {
                Err(RequestError::options(
                    &["live", "frames", "checksum"],
                    format!(
                        "`live`, `frames` and `checksum` are for a .tags.zst, and {} is a .{}",
                        out.display(),
                        ending.display()
                    ),
                )
                .into())
            }
            _ => Ok(()),
        }
    }

    /// Returns the destination of a file, for which nothing is read.
    fn to<'a>(&self, path: &'a Path) -> Destination<'a> {
        Destination { path, force: self.force, reads: &[] }
    }

    fn write_one(
        &self,
        simulation: &Simulation,
        (path, other): (&Path, Option<&dyn TagForm>),
        progress: &dyn Progress,
        wrote: &mut dyn FnMut(&Path, u64),
    ) -> Result<u64, Error> {
        simulation.tags().map_err(|error| refused(&error))?;
        let fresh = NewFile::create(&self.to(path), progress)?;
        let file = fresh.file()?;
        let tags = if let Some(form) = other {
            self.write_as(simulation, form, (file, path), progress)?
        } else {
            let out = BufWriter::new(Cancelling { out: file, progress });
            write(simulation, self.frames, self.checksum, out).map_err(|error| {
                if progress.is_cancelled() { cancelled() } else { not_written(path)(error) }
            })?
        };
        let written = fresh.file()?;
        let bytes = written.metadata().map_err(io_error(path, "read the length of"))?.len();
        fresh.keep(&written)?;
        self.keep_facts(&simulation.light, (path, other), Some(bytes), progress)?;
        wrote(path, tags);
        Ok(tags)
    }

    /// Writes a run file beside a file of this length that does not state the tick or the scan; `None` if it grows. The
    /// usual tick is left out where readers take it by default.
    fn keep_facts(
        &self,
        light: &Light,
        (path, other): (&Path, Option<&dyn TagForm>),
        bytes: Option<u64>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let form = other.unwrap_or(&RECORDED);
        let keeps = form.keeps();
        let is_known = keeps.tick || keeps.assumes_tick && self.tick == Tick::DEFAULT;
        let tick = (!is_known).then_some(self.tick);
        let mut recording = fluorescence::recording(light, form.format_name(), None);
        // A file that states names states the scan, too.
        if keeps.facts || form.format_name() == PTU {
            (recording.channel_names, recording.facts) = (Vec::new(), Vec::new());
        }
        let run_file = RunFile { bytes, tick, recording, ..RunFile::default() };
        write_run_file(path, &run_file, progress).map(drop)
    }

    /// Writes the tags in a format other than a recorder's. Returns the number of tags.
    fn write_as(
        &self,
        simulation: &Simulation,
        form: &dyn TagForm,
        (file, path): (File, &Path),
        progress: &dyn Progress,
    ) -> Result<u64, Error> {
        let of_io = io_error(path, "write");
        let mut tags = simulation.tags().map_err(|error| refused(&error))?;
        let period = self.period(simulation)?;
        let (micro_tick, sync_period) = (period.map(|_| self.tick), period);
        let times = form.times(Times { tick: self.tick, micro_tick, sync_period });
        let needs = form.needs();
        let times = times.ok_or(Error::TickForm { tick: self.tick, needs })?;
        let mut writer = form.start(Box::new(file), times, 0).map_err(&of_io)?;
        let pulses = times.micro_tick.and(period);
        writer.describe(&fluorescence::recording(&simulation.light, form.format_name(), pulses));
        let period = pulses.and(self.pulsed.as_ref());
        let period = period.map(|period| period.fraction(self.tick)).transpose()?;
        let mut micro = period.and_then(|period| micro_times(simulation, period));
        let mut written = 0;
        while let Some(slab) = tags.next_slab() {
            if progress.is_cancelled() {
                return Err(cancelled());
            }
            let (tags, micro) = match &mut micro {
                Some(micro) => micro.of(slab),
                None => (slab, &[][..]),
            };
            writer.push(tags, micro).map_err(&of_io)?;
            written += slab.len() as u64;
        }
        writer.finish().map_err(&of_io)?;
        Ok(written)
    }

    /// The period of the pulses, if an instrument would measure the times of photons after them: if it gets the pulses on
    /// no channel.
    fn period(&self, simulation: &Simulation) -> Result<Option<Tick>, Error> {
        let has_micro = !self.fluorescence.lifetimes.is_empty() && simulation.clock.is_none();
        let period = self.pulsed.as_ref().filter(|_| has_micro);
        Ok(period.map(|period| period.unit(self.tick)).transpose()?)
    }

    /// Appends the frames in real time. All frames are prepared before the first one is due.
    fn append_live(
        &self,
        simulation: &Simulation,
        rate: Frequency,
        out: &Path,
        progress: &dyn Progress,
        appended: &mut dyn FnMut(&Appended),
    ) -> Result<u64, Error> {
        // The rate per tick, divided by the seconds of a tick: tags per second.
        let per_second = rate.per_tick(self.tick) / self.tick.seconds();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
        let frame_tags = (per_second * FRAME_INTERVAL.as_secs_f64()).round() as u64;
        let late = match &self.late {
            Some(late) => late.nearest(self.tick)?,
            None => 0,
        };
        if self.faults {
            fs::create_dir_all(out).map_err(io_error(out, "make this folder"))?;
        }
        let name = |number: usize| -> PathBuf {
            if self.faults {
                out.join(format!("{:04}.tags.zst", number + 1))
            } else {
                out.to_path_buf()
            }
        };
        self.to(&name(0)).check()?;
        let folder = if self.faults { out } else { folder_of(out) };
        let aside = tempfile::tempfile_in(folder);
        let mut prepared = aside.map_err(io_error(folder, "make a file in this folder"))?;
        let frames = live::prepare(simulation, frame_tags, late, BufWriter::new(&prepared))
            .map_err(not_written(out))?;
        // Sync first, so that writing to the disk does not delay the replay.
        let synced = tagq_store::os::sync(&prepared).and_then(|()| prepared.rewind());
        synced.map_err(io_error(out, "write the frames aside"))?;
        let faults = self.faults.then_some(simulation.seed);
        let open = |number| {
            self.keep_facts(&simulation.light, (&name(number), None), None, progress)
                .map_err(io::Error::other)?;
            let mut options = OpenOptions::new();
            options.write(true).truncate(true).create(self.force).create_new(!self.force);
            options.open(name(number))
        };
        let mut tags = 0;
        let replayed =
            live::replay(&prepared, &frames, FRAME_INTERVAL, faults, open, |frame: Appended| {
                tags = frame.tags;
                appended(&frame);
                if progress.is_cancelled() { Err(io::Error::other("cancelled")) } else { Ok(()) }
            });
        match replayed {
            Err(_) if progress.is_cancelled() => Err(cancelled()),
            replayed => replayed.map(|()| tags).map_err(io_error(out, "append to it")),
        }
    }
}

/// Options as names and texts.
struct Texts<'a> {
    given: &'a [(String, String)],
}

impl Texts<'_> {
    fn parse<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, Error> {
        text.parse().map_err(|error: T::Err| {
            let reason = error.to_string();
            RequestError::Option { option: name.into(), place: None, reason }.into()
        })
    }

    fn each<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Vec<T>, Error> {
        let own = self.given.iter().filter(|(of, _)| of == name);
        own.map(|(_, text)| Self::parse(name, text)).collect()
    }

    fn optional<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>, Error> {
        Ok(self.each(name)?.pop())
    }

    fn one<T: FromStr<Err: Display>>(&self, name: &str, default: &str) -> Result<T, Error> {
        self.optional(name)?.map_or_else(|| Self::parse(name, default), Ok)
    }
}

fn cancelled() -> Error {
    tagq_query::Error::Cancelled.into()
}

/// A file that takes no more bytes after cancellation.
struct Cancelling<'a> {
    out: File,
    progress: &'a dyn Progress,
}

impl Write for Cancelling<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.progress.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
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

/// Returns the form of a file, unless it is that of a recorder.
fn other_form<'a>(path: &Path, form: Option<&'a dyn TagForm>) -> Option<&'a dyn TagForm> {
    form.filter(|_| Form::of_name(path) != Some(RECORDED))
}

/// Returns the value for a channel: the last one given for it, else the last one given for all.
fn value_for<T>(values: &[ForChannel<T>], channel: u64) -> Option<&T> {
    let of = |wanted: Option<u64>| {
        values.iter().rev().find(|value| value.channel.map(u64::from) == wanted)
    };
    of(Some(channel)).or_else(|| of(None)).map(|value| &value.value)
}

fn refused(error: &tagq_simulate::Error) -> Error {
    RequestError::Invalid(error.to_string()).into()
}

fn not_written(path: &Path) -> impl Fn(WriteError) -> Error {
    move |error| match error {
        WriteError::Simulation(error) => refused(&error),
        WriteError::Output(source) => io_error(path, "write")(source),
    }
}

fn io_error(path: &Path, action: &'static str) -> impl Fn(io::Error) -> Error {
    move |source| Error::Io { path: path.into(), action, source }
}
