//! Facts that belong to tags besides times and channels, and which of them a form holds.
//!
//! A text has no place for the tick and the names of channels: they go to the run file beside it, if that is free. The
//! micro times are lost there, and the result says so.

use tagq_ingest::{
    Settings, SourceFile,
    write::{TagForm, Times},
};
use tagq_store::{Recording, Tick};

use super::{selection::TagSelection, tags::TagOrigin};
use crate::{Run, error::Error, left_out::LeftOut, recorded::Recorded};

/// The facts that belong to tags besides times and channels.
pub(super) struct Described {
    pub tick: Option<Tick>,
    /// The tick if the source states it.
    pub stated_tick: Option<Tick>,
    /// The period of the sync pulses, if every time is that of a pulse plus the micro time of the tag, in one unit.
    pub sync_period: Option<Tick>,
    pub micro_tick: Option<Tick>,
    pub recording: Recording,
    /// The damaged blocks that are left out.
    pub left_out: LeftOut,
    /// Facts of the run that a file of one source cannot hold, in words.
    pub lost: Vec<&'static str>,
}

impl Described {
    /// Describes `tags`. `given` is the unit of times of a file that does not state it.
    pub(super) fn of(
        tags: TagOrigin<'_>,
        given: Option<Tick>,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let path = match tags {
            TagOrigin::Run(run, selection) => return Ok(Self::of_run(run, selection)),
            TagOrigin::File(path) => path,
            TagOrigin::Input(stream) => stream.path(),
        };
        // A tick that is only usual for the format yields to the one of the user.
        let header = SourceFile::open(path)?.header(settings)?.unwrap_or_default();
        let tick = if header.tick_assumed { given.or(header.tick) } else { header.tick.or(given) };
        let is_micro = header.tick == header.micro_tick;
        Ok(Self {
            tick,
            stated_tick: if header.tick_assumed { given } else { tick },
            sync_period: header.sync_period.filter(|_| is_micro),
            micro_tick: header.micro_tick,
            recording: Recording { channel_names: header.channel_names, ..Recording::default() },
            left_out: LeftOut::default(),
            lost: Vec::new(),
        })
    }

    fn of_run(run: &Run, selection: &TagSelection) -> Self {
        let manifest = run.store().manifest();
        let Recorded { recording, lost } = selection.recorded(run);
        let left_out = selection.left_out.clone();
        let period = recording.pulses.map(|pulses| pulses.period);
        Self {
            tick: Some(manifest.tick),
            stated_tick: Some(manifest.tick).filter(|_| !manifest.tick_assumed),
            sync_period: period.filter(|_| manifest.micro_tick == Some(manifest.tick)),
            micro_tick: manifest.micro_tick,
            recording,
            left_out,
            lost,
        }
    }

    /// Returns the units of times in a file of this form.
    ///
    /// # Errors
    /// If the file states the tick: [`Error::NoTick`], [`Error::TickForm`].
    pub(super) fn times(&self, tags: TagOrigin<'_>, form: &dyn TagForm) -> Result<Times, Error> {
        let Some(tick) = self.tick else {
            if !form.keeps().tick {
                return Ok(Tick::DEFAULT.into());
            }
            return Err(Error::NoTick { path: tags.path().into(), command: None });
        };
        let times = Times { tick, micro_tick: self.micro_tick, sync_period: self.sync_period };
        form.times(times).ok_or_else(|| Error::TickForm { tick, needs: form.needs() })
    }

    /// Returns the tick that a file of this form does not hold, and that its readers need.
    pub(super) fn unstated_tick(&self, form: &dyn TagForm) -> Option<Tick> {
        let keeps = form.keeps();
        let known = if keeps.assumes_tick { self.stated_tick } else { self.tick };
        known.filter(|_| !keeps.tick)
    }

    /// Returns the facts that a file of this form, with these times, does not hold, in words.
    pub(super) fn lost(&self, times: Times, form: &dyn TagForm) -> Vec<&'static str> {
        let keeps = form.keeps();
        let Recording { channel_names, facts, left_out, dead, dead_since, .. } = &self.recording;
        let has_dead = !dead.is_empty() || dead_since.is_some();
        let lost = [
            (TICK, self.unstated_tick(form).is_some()),
            (
                "the micro times",
                self.micro_tick.is_some() && times.sync_period.is_none() && !keeps.micro,
            ),
            (NAMES, !channel_names.is_empty() && !keeps.names),
            (FACTS, (!facts.is_empty() || !left_out.is_empty()) && !keeps.facts),
            (DEAD, has_dead && !keeps.dead),
        ];
        let lost = lost.into_iter().filter_map(|(what, is_lost)| is_lost.then_some(what));
        lost.chain(self.lost.iter().copied()).collect()
    }
}

const TICK: &str = "the tick";
pub(super) const NAMES: &str = "the names of channels";
const FACTS: &str = "the facts";
pub(super) const DEAD: &str = "the dead time";
/// The facts that a run file holds.
pub(super) const KEPT_BESIDE: [&str; 4] = [TICK, NAMES, FACTS, DEAD];
