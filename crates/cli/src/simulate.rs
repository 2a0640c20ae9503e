//! `tagq simulate`: hands over the options, and tells what was written.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{SystemTime, UNIX_EPOCH},
};

use tagq::{Appended, Event, FluorescenceOptions, Progress as _, SimulationOptions};
use tagq_export::{PreferredForm, TagFormat, report::table::quantities::counted};

use crate::{args::SimulateArgs, progress::Reporter};

pub(crate) fn run(args: &SimulateArgs) -> anyhow::Result<()> {
    let reporter = Reporter::new(args.quiet);
    let mut last = None;
    let format = TagFormat::of_name(&args.out, PreferredForm::Files);
    args.options().write(
        (&args.out, format.as_ref().map(TagFormat::as_tag_form)),
        &reporter,
        &mut |path, tags| {
            reporter.note(&format!("{}: {}", path.display(), counted(tags, "tag")));
        },
        &mut |appended| {
            tell_appended(appended);
            last = Some(*appended);
        },
    )?;
    if let Some(Appended { file, tags, .. }) = last {
        let (out, tags) = (args.out.display(), counted(tags, "tag"));
        reporter.note(&format!("{out}: {tags} in {}", counted(file as u64 + 1, "file")));
    }
    Ok(())
}

impl SimulateArgs {
    fn options(&self) -> SimulationOptions {
        let args = self.clone();
        SimulationOptions {
            duration: args.duration,
            tick: args.tick,
            start: args.start,
            seed: args.seed,
            channels: args.channels.into_iter().map(u64::from).collect(),
            rate: args.rate,
            coherent: args.coherent,
            emitter: args.emitter,
            fluorescence: FluorescenceOptions {
                lifetimes: args.fluorescence.fluorescence,
                scan: args.fluorescence.scan,
                dwell: args.fluorescence.dwell,
                two_way: args.fluorescence.two_way,
                sine: args.fluorescence.sine,
                disc: args.fluorescence.disc,
                disc_rate: args.fluorescence.disc_rate,
            },
            pulsed: args.pulsed,
            clock: args.clock,
            clock_divider: args.clock_divider,
            beam_splitter: args.beam_splitter,
            efficiency: args.efficiency,
            dark: args.dark,
            jitter: args.jitter,
            delays: args.delays,
            dead_time: args.dead_time,
            frames: args.frames,
            files: args.files,
            gap: args.gap,
            checksum: args.checksum,
            live: args.live,
            late: args.late,
            faults: args.faults,
            force: args.force,
            long: args.long,
        }
    }
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
