//! The rows of one source between reader and store.
//!
//! If 100 rows are committed and the resume point is after 60 tags, the first 40 rows that are read again are skipped.
//! Rows are committed only after complete messages, lines or records, together with the byte up to which the file was
//! read: the next ingest continues there as if there had been no interruption.

use std::{collections::HashMap, path::Path};

use tagq_store::{CHANNEL_MAX, Recording, Rows, Source, SourceFacts, Writer};

use super::{
    change::recorded_format,
    held::Held,
    order::{HORIZON, Late, Order},
    resume::Points,
};
use crate::{
    Error, FormatName, Settings,
    formats::{
        format::{Checkpoint, Complete, Dead, Piece},
        tags, text,
    },
    payload::crc::Crc,
    read::add_left_out,
    run_file::RunFile,
    source_file::SourceFile,
};

/// The part of a source to ingest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourcePart {
    /// The whole file.
    Whole {
        /// Ticks added to every time, for a counter that started again from zero.
        rebase: Option<i64>,
    },
    /// The tags after the committed rows. The source is the last one of the store.
    Rest,
}

/// The ingest of one source.
pub(super) struct Intake<'a> {
    source: &'a SourceFile,
    /// The format that the file is read by, if it was given one or a part of it is ingested.
    pub format: Option<FormatName>,
    /// Where reading begins.
    pub start: Checkpoint,
    pub facts: SourceFacts,
    /// The header, as [`crate::payload::opened::Opened::ends`] wants it.
    lasting: Vec<u8>,
    /// The checksum of the bytes read before; `None` if an older store has none.
    crc: Option<Crc>,
    pub order: Order,
    pub points: Points,
    pub rows: Sorted<'a>,
    /// The run file beside the source, until the header of the source was read.
    beside: Option<RunFile>,
    /// Labels of named channels in the file that have others in the run.
    renumbered: Vec<(u16, u16)>,
}

/// Appends the rows of one source in order of time.
pub(super) struct Sorted<'a> {
    pub writer: &'a mut Writer,
    rebased: i64,
    /// Number of rows that are read again and already stored.
    again: u64,
    /// The time of the last row, before it is moved.
    pub last: Option<i64>,
}

impl<'a> Intake<'a> {
    pub(super) fn begin(
        horizon: usize,
        source: &'a SourceFile,
        name: &str,
        part: SourcePart,
        settings: &Settings,
        writer: &'a mut Writer,
        held: Option<Held>,
    ) -> Result<Self, Error> {
        let mut facts = SourceFacts { checksummed: true, ..SourceFacts::named(name) };
        let (mut rows, mut last, mut kept) = (0, None, None);
        let mut crc = Some(Crc::from(0));
        match part {
            SourcePart::Whole { rebase } => {
                writer.begin_source();
                facts.rebased = rebase;
            }
            SourcePart::Rest => {
                if let Some(before) = writer.continue_source() {
                    (rows, last) = (before.rows, before.time_last);
                    kept = held.and_then(|held| held.of(&before));
                    facts = SourceFacts { name: name.into(), whole_xxh3: None, ..before.facts };
                    let read = facts.read_crc32c.as_deref();
                    crc = read.and_then(|hex| Crc::of_start(facts.read_byte, hex));
                }
            }
        }
        let rebased = facts.rebased.unwrap_or(0);
        // Committed rows never change: a tag that belongs before them is too late.
        let last = last.map(|last| last - rebased);
        let again = if kept.is_some() { 0 } else { rows - facts.resume.rows };
        let Held { order, points, start, .. } =
            kept.unwrap_or_else(|| Held::read_again(horizon, &facts, last));
        let rows = Sorted { writer, rebased, again, last };
        source.opened.describe(&mut facts);
        let format = settings.format.or_else(|| recorded_format(&facts));
        let lasting = source.lasting_head(format)?;
        let mut intake = Self {
            source,
            format,
            lasting,
            start,
            facts,
            crc,
            order,
            points,
            rows,
            beside: None,
            renumbered: Vec::new(),
        };
        if start.byte == 0 {
            intake.begin_beside()?;
        }
        Ok(intake)
    }

    /// Takes the facts of the run file beside the source.
    fn begin_beside(&mut self) -> Result<(), Error> {
        self.beside = RunFile::beside(&self.source.opened.path, self.source.opened.size());
        let Some(beside) = &self.beside else { return Ok(()) };
        self.facts.recording = Some(beside.recording.clone());
        let micro_tick = beside.micro_tick;
        Ok(micro_tick.map_or(Ok(()), |tick| self.rows.writer.set_micro_tick(tick))?)
    }

    /// Takes tags. A channel may be too large for a label.
    pub(super) fn take_tags(&mut self, piece: &Piece<'_>) -> Result<(), Error> {
        let Some(rows) = piece.rows() else {
            let mut numbered = (self.order.number + 1..).zip(&piece.tags[..]);
            let wrong = numbered.find(|(_, tag)| tag.channel > CHANNEL_MAX);
            let (number, channel) = wrong.map_or((0, 0), |(number, tag)| (number, tag.channel));
            return Err(Error::Channel { path: self.source.opened.path.clone(), number, channel });
        };
        self.take(rows)
    }

    pub(super) fn take(&mut self, rows: Rows) -> Result<(), Error> {
        let rows = if self.renumbered.is_empty() { rows } else { self.in_run(&rows) };
        let Self { order, rows: sorted, source, .. } = self;
        order
            .push(rows, |rows| sorted.append(rows))
            .map_err(|failure: Failure| failure.name(&source.opened.path))?;
        if let Some(time) = order.take_late() {
            self.points.late(time);
        }
        Ok(())
    }

    /// Notes that all tags so far are in complete messages, and commits them if a commit is due.
    pub(super) fn complete(
        &mut self,
        complete: Complete,
        commit_rows: Option<u64>,
    ) -> Result<(), Error> {
        if let Some(checkpoint) = complete.checkpoint {
            self.points.add(self.order.point(checkpoint));
        }
        let is_due = commit_rows.is_some_and(|rows| self.rows.writer.uncommitted_rows() >= rows);
        if !is_due || self.rows.again > 0 {
            return Ok(());
        }
        self.note_progress();
        self.note_read(complete.crc())?;
        self.facts.finished = false;
        self.rows.writer.finish_source(self.facts.clone());
        self.rows.writer.commit()?;
        self.rows.writer.continue_source();
        Ok(())
    }

    /// Notes the header of the file. Counts of records before byte [`crate::Settings::start_byte`] stay.
    pub(super) fn begin_recording(&mut self, recording: Recording) {
        let before = self.facts.recording.take().filter(|_| self.start.byte > 0);
        self.facts.recording = Some(match before {
            Some(Recording { left_out, dead, dead_since, odd, .. }) => {
                Recording { left_out, dead, dead_since, odd, ..recording }
            }
            None => match self.beside.take() {
                Some(beside) => beside.completing(recording),
                None => recording,
            },
        });
    }

    /// Notes records that are no tags.
    pub(super) fn note_left_out(&mut self, what: &str, records: u64) {
        add_left_out(self.facts.recording.get_or_insert_default(), what, records);
    }

    /// Returns the names that channels of this text have so far, as numbers of the run.
    pub(super) fn names_before(&self) -> Vec<(u16, String)> {
        let recording = self.facts.recording.as_ref().filter(|of| of.format == text::NAME);
        recording.map_or_else(Vec::new, |recording| recording.channel_names.clone())
    }

    /// Notes the name of a channel. It has the number that it has in earlier sources; one that is new there, a number
    /// that no other name has.
    pub(super) fn name_channel(&mut self, label: u16, name: String) {
        let own = self.names_before();
        let earlier = self.rows.writer.sources().iter().filter_map(names_of).flatten();
        let known: Vec<&(u16, String)> = own.iter().chain(earlier).collect();
        let is_free = |label: u16| known.iter().all(|(other, _)| *other != label);
        let same = known.iter().find(|(_, other)| *other == name).map(|(label, _)| *label);
        let number = same.or_else(|| [label].into_iter().chain(1..=u16::MAX).find(|&n| is_free(n)));
        let number = number.unwrap_or(label);
        if number != label {
            self.renumbered.push((label, number));
        }
        let recording = self.facts.recording.get_or_insert_default();
        recording.channel_names.push((number, name));
    }

    /// The same rows with the numbers of the run.
    fn in_run(&self, rows: &Rows) -> Rows {
        let number = |&label: &u16| {
            let changed = self.renumbered.iter().find(|(from, _)| *from == label);
            changed.map_or(label, |&(_, to)| to)
        };
        let channels = rows.channels().iter().map(number).collect();
        Rows::new(rows.times().to_vec(), channels, rows.micro().to_vec())
    }

    /// Checks that channels have the same names in this source as in the earlier ones; `is_text` if it has columns.
    ///
    /// # Errors
    /// [`Error::ChannelNames`].
    pub(super) fn check_names(&self, is_text: bool) -> Result<(), Error> {
        let differ = |label: u16, name: &str, other: &str, name_there: &str| {
            let path = self.source.opened.path.clone();
            let what =
                format!("its channel {label} is {name}, and that of {other} is {name_there}");
            Error::ChannelNames { path, what }
        };
        let quoted = |name: &str| format!("`{}`", name.escape_debug());
        let recording = self.facts.recording.as_ref();
        let own = recording.filter(|of| is_named(of)).map_or(&[][..], |of| &of.channel_names);
        for other in self.rows.writer.sources().iter().filter(|source| source.rows > 0) {
            let (facts, theirs) = (&other.facts, names_of(other).unwrap_or_default());
            let named: HashMap<u16, &String> =
                theirs.iter().rev().map(|(label, name)| (*label, name)).collect();
            for (label, name) in own {
                match named.get(label) {
                    Some(there) if *there != name => {
                        return Err(differ(*label, &quoted(name), &facts.name, &quoted(there)));
                    }
                    None if theirs.is_empty() && is_text && facts.columns.is_some() => {
                        return Err(differ(*label, &quoted(name), &facts.name, "a number"));
                    }
                    _ => {}
                }
            }
            if own.is_empty()
                && is_text
                && facts.columns.is_some()
                && let Some((label, there)) = theirs.first()
            {
                return Err(differ(*label, "a number", &facts.name, &quoted(there)));
            }
        }
        Ok(())
    }

    /// Notes an edge of a time during which nothing was recorded.
    pub(super) fn note_dead(&mut self, edge: Dead) {
        let before = self.order.latest();
        edge.note(before, self.facts.recording.get_or_insert_default());
    }

    pub(super) fn finish(&mut self, hold_back: Option<i64>) -> Result<(), Error> {
        let Self { order, rows, source, .. } = self;
        order
            .finish(hold_back, |sorted| rows.append(sorted))
            .map_err(|failure: Failure| failure.name(&source.opened.path))?;
        self.note_progress();
        Ok(())
    }

    /// Notes the hashes that identify the bytes read so far; `crc` is the checksum of the new ones.
    pub(super) fn note_read(&mut self, crc: Crc) -> Result<(), Error> {
        self.facts.read_byte = crc.end;
        self.facts.read_crc32c = self.crc.map(|before| before.join(crc).hex());
        (self.facts.head_xxh3, self.facts.tail_xxh3) =
            self.source.opened.ends(crc.end, &self.lasting)?;
        Ok(())
    }

    /// Notes how far the source was read and released.
    fn note_progress(&mut self) {
        let released = self.order.released_rows();
        self.facts.read_tags = self.order.number;
        self.facts.finished = released == self.order.number;
        self.facts.resume = self.points.committed(released, self.rows.last);
        self.facts.reordered = self.order.reordered;
    }
}

impl Sorted<'_> {
    fn append(&mut self, mut all: Vec<Rows>) -> Result<(), Failure> {
        self.last = self.last.max(all.last().and_then(|rows| rows.times().last().copied()));
        for rows in &mut all {
            let again = self.again.min(rows.len() as u64);
            self.again -= again;
            #[expect(clippy::cast_possible_truncation, reason = "at most the rows at hand")]
            let new = rows.split_off(again as usize);
            *rows = if self.rebased == 0 { new } else { moved(&new, self.rebased)? };
        }
        Ok(self.writer.append_rows(all)?)
    }
}

/// Whether the names of channels are those that a user gave, in a text or in a run file.
fn is_named(recording: &Recording) -> bool {
    let formats = [text::NAME, tags::NAME];
    formats.contains(&&*recording.format) && !recording.channel_names.is_empty()
}

/// The names that a user gave to the channels of a source.
fn names_of(source: &Source) -> Option<&[(u16, String)]> {
    let recording = source.facts.recording.as_ref().filter(|of| is_named(of))?;
    Some(&recording.channel_names)
}

fn moved(rows: &Rows, ticks: i64) -> Result<Rows, Failure> {
    let moved = |&time: &i64| time.checked_add(ticks).ok_or(Failure::Rebase { time });
    let times: Result<Vec<i64>, Failure> = rows.times().iter().map(moved).collect();
    Ok(Rows::new(times?, rows.channels().to_vec(), rows.micro().to_vec()))
}

enum Failure {
    Late(Late),
    Rebase { time: i64 },
    Store(tagq_store::Error),
}

impl Failure {
    fn name(self, path: &Path) -> Error {
        let path = path.to_path_buf();
        match self {
            Self::Late(Late { number, time, after }) => {
                Error::Late { path, number, time, after, horizon: HORIZON }
            }
            Self::Rebase { time } => Error::Rebase { path, time },
            Self::Store(error) => error.into(),
        }
    }
}

impl From<Late> for Failure {
    fn from(late: Late) -> Self {
        Self::Late(late)
    }
}

impl From<tagq_store::Error> for Failure {
    fn from(error: tagq_store::Error) -> Self {
        Self::Store(error)
    }
}

#[cfg(test)]
mod tests {
    use tagq_store::{Access, Creation, RunId, Store, Tick};

    use super::*;

    #[test]
    fn rows_take_their_micro_times_to_the_store() {
        for rebased in [0, 100] {
            let folder = tempfile::tempdir().unwrap();
            let run_id = Some(RunId([7; 16]));
            let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id };
            let mut writer = Writer::open(folder.path(), &creation).unwrap();
            writer.begin_source();
            // Three rows are stored already.
            let mut sorted = Sorted { writer: &mut writer, rebased, again: 3, last: None };
            let without = Rows::new(vec![1, 2], vec![1, 2], Vec::new());
            let with = Rows::new(vec![3, 4, 5], vec![3, 4, 5], vec![7, 8, 9]);
            assert!(sorted.append(vec![without]).is_ok());
            assert!(sorted.append(vec![with]).is_ok());
            writer.finish_source(SourceFacts::named("x"));
            writer.commit().unwrap();
            let store = Store::open(folder.path(), Access::Mapped).unwrap();
            assert_eq!(store.tags().time, [4 + rebased, 5 + rebased]);
            let micro = store.micro().unwrap();
            assert_eq!((micro.get(0), micro.get(1)), (Some(8), Some(9)));
        }
    }
}
