//! The first setup of a run: every line that a setup can have, from what the run contains.

use std::{fmt::Write as _, io::Write as _};

use super::experiment::Setup;
use crate::{Run, destination::Destination, error::Error, new_file::NewFile, progress::Progress};

/// Channels that are listed.
const CHANNELS_MAX: usize = 64;

impl Setup {
    /// Returns the text of a setup for a run: its channels with their rates, and the rest as comments.
    pub fn initial(run: &Run) -> String {
        let manifest = run.store().manifest();
        let (tick, live) = (manifest.tick, run.live_ticks());
        let live_s = tick.seconds_of(live);
        let recorded = Self::of_sources(run.path());
        let mut text = String::from(
            "# The setup of the runs in this folder. Lines that begin with # are examples.\n\n\
             # The unit of recorded times. It is needed where the files do not state it.\n",
        );
        let comment = if manifest.tick_assumed { "" } else { "# " };
        let assumed = if manifest.tick_assumed { " # assumed: check it" } else { "" };
        let _ = writeln!(text, "{comment}tick = \"{}\"{assumed}\n", tick.format_paste(1));
        let channels: Vec<u16> = manifest.channels.iter().map(|of| of.channel).collect();
        text.push_str("# Names, which every command takes in place of a channel.\n[channels]\n");
        for of in manifest.channels.iter().take(CHANNELS_MAX) {
            let rate = if live_s > 0.0 { of.rows as f64 / live_s } else { 0.0 };
            let (comment, name) = match recorded.named(of.channel) {
                Some(name) => ("", name.to_owned()),
                None => ("# ", format!("Detector-{}", of.channel)),
            };
            let name = toml_edit::Value::from(name);
            let _ = writeln!(text, "{comment}{} = {name} # {}", of.channel, hertz(rate));
        }
        if channels.len() > CHANNELS_MAX {
            let _ = writeln!(text, "# and {} more channels", channels.len() - CHANNELS_MAX);
        }
        let [a, b] = [(0, 1), (1, 2)].map(|(at, other)| channels.get(at).copied().unwrap_or(other));
        let _ = write!(
            text,
            "\n# Delays that are added to the times of channels. `tagq delays RUN --write FILE` finds and writes them.\n\
             # [delays]\n# {b} = \"-4.0625ns\"\n\n\
             # Channels made from channels, and gates, which queries take like channels and by --gate.\n\
             # [derived]\n# Pair = \"{a} & {b} within 2ns\"\n# Any = \"{a} | {b}\"\n\n\
             # [gates]\n# near = \"{b} for 10us\"\n\n\
             # The options of a query, where they are not given. A table has the name of the query.\n\
             # [coincidences]\n# window = \"2ns\"\n# groups = [[{a}, {b}]]\n\n\
             # [g2]\n# bin = \"1ns\"\n# range = \"100ns\"\n\n\
             # [rates]\n# bin = \"1s\"\n"
        );
        text
    }

    /// Writes the text of a first setup.
    ///
    /// # Errors
    /// [`Error::Exists`] if there is a file and it is not to be replaced; [`Error::Io`].
    pub fn write_initial(
        run: &Run,
        to: &Destination<'_>,
        progress: &dyn Progress,
    ) -> Result<(), Error> {
        let fresh = NewFile::create(to, progress)?;
        let mut file = fresh.file()?;
        let written = file.write_all(Self::initial(run).as_bytes());
        written.map_err(|source| Error::Io { path: to.path.into(), action: "write", source })?;
        fresh.keep(&file)
    }
}

/// Formats a rate with three digits.
fn hertz(rate: f64) -> String {
    let units = [(1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz")];
    let (size, unit) = units.into_iter().find(|(size, _)| rate >= *size).unwrap_or((1.0, "Hz"));
    format!("{:.1} {unit}", rate / size)
}
