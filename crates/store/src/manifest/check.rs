//! Whether the numbers and names of a manifest fit each other. It may come from somebody else, with a right
//! checksum.

use std::path::Path;

use super::{
    Manifest,
    files::FileNames,
    source::{ChannelRows, Source},
};
use crate::{Error, format::BLOCK_ROWS, names::STEMS};

/// Numbers of a manifest are below this, so that those computed from them fit in 64 bits.
const NUMBER_MAX: u64 = 1 << 56;

impl Manifest {
    /// Holds every number of the manifest against the others before anything is computed with it.
    pub(super) fn check(&self, path: &Path) -> Result<(), Error> {
        let fault = Fault { path };
        self.check_files(&fault)?;
        self.check_optional(&fault)?;
        self.check_rows(&fault)?;
        self.check_channels(&fault)?;
        self.check_times(&fault)
    }

    fn check_files(&self, fault: &Fault<'_>) -> Result<(), Error> {
        let FileNames { time, channel, blocks, counts, micro, gap, gaps } = &self.files;
        let of_channel = if channel.width == 2 { ("u16", 2) } else { ("u8", 1) };
        let is_wide = micro.as_ref().is_some_and(|file| file.width == 4);
        let of_micro = if is_wide { ("u32", 4) } else { ("u16", 2) };
        let files = [
            (Some(time), ("i64", 8)),
            (Some(channel), of_channel),
            (Some(blocks), ("block", 64)),
            (Some(counts), ("count", 6)),
            (micro.as_ref(), of_micro),
            (gap.as_ref(), ("u16", 2)),
            (gaps.as_ref(), ("u32", 4)),
        ];
        for ((file, (kind, width)), stem) in files.into_iter().zip(&STEMS) {
            let Some(file) = file else { continue };
            if (file.kind.as_str(), file.width) != (kind, width) {
                return fault.is(
                    &format!("the kind of {}", file.name),
                    format!("{kind} of {width} bytes"),
                    format!("{} of {} bytes", file.kind, file.width),
                );
            }
            // Nothing else is opened, and with the next rebuild removed.
            if !stem.has_name(&file.name) {
                return fault.is("a file name", stem.to_string(), file.name.clone());
            }
        }
        Ok(())
    }

    /// Columns that not every store has come with their checksums, and in version 2 alone.
    fn check_optional(&self, fault: &Fault<'_>) -> Result<(), Error> {
        let (has_micro, has_gaps) = (self.has_micro(), self.has_gaps());
        let last = self.last_block.as_ref();
        let parts = [
            ("the version of the format", (self.version == 2) == (has_micro || has_gaps)),
            ("the unit of micro times", self.micro_tick.is_none() || has_micro),
            (
                "the checksum of the last micro times",
                last.is_none_or(|block| block.crc_micro.is_some() == has_micro),
            ),
            ("the file of the checksums of gaps", self.files.gaps.is_some() == has_gaps),
            (
                "the checksum of the last gaps",
                last.is_none_or(|block| block.crc_gap.is_some() == has_gaps),
            ),
        ];
        match parts.into_iter().find(|(_, fits)| !fits) {
            Some((what, _)) => {
                fault.is(what, "as its columns need it".into(), "something else".into())
            }
            None => Ok(()),
        }
    }

    fn check_rows(&self, fault: &Fault<'_>) -> Result<(), Error> {
        for (what, number) in [
            ("the number of its commit", self.commit),
            ("the number of rows", self.rows),
            ("count_entries", self.count_entries),
        ] {
            if number >= NUMBER_MAX {
                return fault.is(what, "below 2^56".into(), number.to_string());
            }
        }
        let in_sources = self.sources.iter().map(|source| u128::from(source.rows)).sum();
        fault.unless_equal("the sum over sources", self.rows, in_sources)?;
        let last_rows = self.rows % BLOCK_ROWS as u64;
        let found = self.last_block.as_ref().map(|block| u64::from(block.rows));
        if found != (last_rows > 0).then_some(last_rows) {
            let found = found.map_or("no such block".into(), |rows| rows.to_string());
            return fault.is("the rows of the last block", last_rows.to_string(), found);
        }
        for Source { facts, rows, .. } in &self.sources {
            if facts.resume.rows > *rows {
                let what = format!("the rows before the place where {} goes on", facts.name);
                let found = facts.resume.rows.to_string();
                return fault.is(&what, format!("at most {rows}"), found);
            }
        }
        Ok(())
    }

    fn check_channels(&self, fault: &Fault<'_>) -> Result<(), Error> {
        fault.channels("the sum over channels", self.rows, &self.channels)?;
        if let Some(block) = &self.last_block {
            let what = "the sum over channels of the last block";
            fault.channels(what, block.rows.into(), &block.counts)?;
        }
        self.sources.iter().try_for_each(|Source { facts, rows, channels, .. }| {
            fault.channels(&format!("the channels of {}", facts.name), *rows, channels)
        })
    }

    fn check_times(&self, fault: &Fault<'_>) -> Result<(), Error> {
        match (self.time_first, self.time_last) {
            (None, None) if self.rows == 0 => {}
            (Some(first), Some(last)) if self.rows > 0 && last.checked_sub(first) >= Some(0) => {}
            _ => return fault.is("the span of times", "a span".into(), "none".into()),
        }
        let mut time = self.time_first;
        for Source { facts, rows, time_first, time_last, .. } in &self.sources {
            match (time_first, time_last) {
                (None, None) if *rows == 0 => {}
                (Some(first), Some(last))
                    if *rows > 0 && time.is_some_and(|time| *first >= time) && last >= first =>
                {
                    time = *time_last;
                }
                _ => {
                    let what = format!("the times of {}", facts.name);
                    return fault.is(&what, "in order".into(), "not".into());
                }
            }
            let rebased = facts.rebased.unwrap_or(0);
            let mut ends = [time_first, time_last].into_iter().flatten();
            if ends.any(|time| time.checked_sub(rebased).is_none()) {
                let what = format!("the ticks added to {}", facts.name);
                return fault.is(&what, "a difference of two times".into(), rebased.to_string());
            }
        }
        if time != self.time_last {
            let expected = "the end of the run".into();
            return fault.is("the end of the last source", expected, "not".into());
        }
        Ok(())
    }
}

/// Says what is wrong with a manifest.
struct Fault<'a> {
    path: &'a Path,
}

impl Fault<'_> {
    fn is(&self, what: &str, expected: String, found: String) -> Result<(), Error> {
        Err(Error::Damaged { path: self.path.into(), what: what.into(), expected, found })
    }

    fn unless_equal(&self, what: &str, expected: u64, found: u128) -> Result<(), Error> {
        if found == expected.into() {
            return Ok(());
        }
        self.is(what, expected.to_string(), found.to_string())
    }

    /// Rows by channel add up, and no channel comes twice.
    fn channels(&self, what: &str, rows: u64, channels: &[ChannelRows]) -> Result<(), Error> {
        if !channels.is_sorted_by(|one, next| one.channel < next.channel) {
            return self.is(what, "ascending by channel".into(), "not".into());
        }
        self.unless_equal(what, rows, channels.iter().map(|of| u128::from(of.rows)).sum())
    }
}
