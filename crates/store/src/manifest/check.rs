//! Whether the numbers and names of a manifest fit each other. It may come from somebody else, with a right checksum.
//!
//! In a store of 70,000 rows the last block must have 70,000 − 65,536 = 4,464 rows, and the rows of all sources must
//! add up to 70,000. All other code relies on these checks: a new number in the manifest needs one here.

use std::path::Path;

use super::{
    Manifest,
    source::{ChannelRows, Source},
};
use crate::{
    Error,
    files::{Checksum, FileKind},
    format::BLOCK_ROWS,
};

/// Numbers of a manifest are below this, so that those computed from them fit in 64 bits.
const NUMBER_MAX: u64 = 1 << 56;

impl Manifest {
    /// Compares every number of the manifest with the others before anything is computed with it.
    pub(super) fn check(&self, path: &Path) -> Result<(), Error> {
        let fault = ManifestFault { path };
        self.check_files(&fault)?;
        self.check_optional(&fault)?;
        self.check_rows(&fault)?;
        self.check_channels(&fault)?;
        self.check_times(&fault)
    }

    fn check_files(&self, fault: &ManifestFault<'_>) -> Result<(), Error> {
        for (kind, file) in self.files.present() {
            let layout = kind.layout();
            if layout.type_of(file.width) != Some(&file.kind) {
                let types = layout.values.iter();
                let types = types.map(|(name, width)| format!("{name} of {width} bytes"));
                return fault.is(
                    &format!("the kind of {}", file.name),
                    types.collect::<Vec<_>>().join(" or "),
                    format!("{} of {} bytes", file.kind, file.width),
                );
            }
            // No other file may be opened, or removed by the next rebuild.
            if !layout.has_name(&file.name) {
                return fault.is("a file name", layout.to_string(), file.name.clone());
            }
        }
        Ok(())
    }

    /// Checks that each column comes with its checksums, and that the version is the one that the files need.
    fn check_optional(&self, fault: &ManifestFault<'_>) -> Result<(), Error> {
        let fits = |kind: FileKind| {
            let last = self.last_block.as_ref();
            let is_needed = self.is_checksummed(kind);
            let has_place = match kind.layout().checksum {
                Checksum::InFile(file, at) => usize::from(self.width_of(file)) >= at + 4,
                Checksum::InEntry(_) | Checksum::NotNeeded => is_needed,
            };
            has_place == is_needed
                && last.is_none_or(|last| last.checksums[kind].is_some() == is_needed)
        };
        let unit_fits = self.micro_tick.is_none() || self.has_micro();
        // Times have a column, or are sums of distances.
        let is_derived = !self.has_times();
        let are_distances =
            [FileKind::Far, FileKind::Steps].map(|kind| self.has(kind) == is_derived);
        let others = [
            ("the version of the format".to_owned(), self.version == self.version_of_files()),
            ("the unit of micro times".to_owned(), unit_fits),
            ("the columns of times and distances".to_owned(), are_distances == [true; 2]),
            ("far_entries".to_owned(), self.far_entries.is_some() == is_derived),
            ("the file of dead spans".to_owned(), self.dead.is_some() == self.has(FileKind::Dead)),
        ];
        let checksums = FileKind::all()
            .map(|kind| (format!("the checksums of the column {}", kind.layout().key), fits(kind)));
        let mut parts = others.into_iter().chain(checksums);
        match parts.find(|(_, fits)| !fits) {
            Some((what, _)) => {
                fault.is(&what, "as its columns need it".into(), "something else".into())
            }
            None => Ok(()),
        }
    }

    fn check_rows(&self, fault: &ManifestFault<'_>) -> Result<(), Error> {
        for (what, number) in [
            ("the number of its commit", self.commit),
            ("the number of rows", self.rows),
            ("count_entries", self.count_entries),
        ] {
            if number >= NUMBER_MAX {
                return fault.is(what, "below 2^56".into(), number.to_string());
            }
        }
        let far_entries = self.far_entries.unwrap_or(0);
        if far_entries > self.rows {
            let expected = format!("at most {} rows", self.rows);
            return fault.is("far_entries", expected, far_entries.to_string());
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

    fn check_channels(&self, fault: &ManifestFault<'_>) -> Result<(), Error> {
        fault.channels("the sum over channels", self.rows, &self.channels)?;
        if let Some(block) = &self.last_block {
            let what = "the sum over channels of the last block";
            fault.channels(what, block.rows.into(), &block.counts)?;
        }
        self.sources.iter().try_for_each(|Source { facts, rows, channels, .. }| {
            fault.channels(&format!("the channels of {}", facts.name), *rows, channels)
        })
    }

    fn check_times(&self, fault: &ManifestFault<'_>) -> Result<(), Error> {
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
struct ManifestFault<'a> {
    path: &'a Path,
}

impl ManifestFault<'_> {
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
