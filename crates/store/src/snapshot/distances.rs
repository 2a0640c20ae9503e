//! The rows of a store without a column of times, read from its files before they are opened as columns.
//!
//! The far distances of rows 2,048 to 4,095 are those from the number in step 2 up to the number in step 4.

use std::ops::Range;

use crate::{
    Error, Folder, Manifest,
    checked::CheckedFile,
    decode::Far,
    files::{FileKind, PerFile},
    format::{STEP_ROWS, Step},
    simd::Simd,
    times::{Distances, SourceStart, Times},
};

/// The files of a store and its sources.
pub(super) struct RowFiles<'a> {
    pub manifest: &'a Manifest,
    pub files: &'a PerFile<Option<CheckedFile>>,
    pub sources: &'a [SourceStart],
}

impl RowFiles<'_> {
    /// Reads the times of these rows, the first of which begins a step.
    pub(super) fn times(&self, rows: Range<usize>) -> Result<Vec<i64>, Error> {
        let files = self.files;
        if let Some(time) = &files[FileKind::Time] {
            return time.rows(rows);
        }
        let (Some(gap), Some(far), Some(steps)) =
            (&files[FileKind::Gap], &files[FileKind::Far], &files[FileKind::Steps])
        else {
            return Ok(Vec::new());
        };
        let gaps = gap.rows(rows.clone())?;
        let steps: Vec<Step> = steps.rows(rows.start / STEP_ROWS..rows.end.div_ceil(STEP_ROWS))?;
        let far_rows = self.far(rows.clone())?;
        let (narrow, wide);
        let far = if self.manifest.width_of(FileKind::Far) == 4 {
            narrow = far.rows(far_rows.clone())?;
            Far::U32(&narrow)
        } else {
            wide = far.rows(far_rows.clone())?;
            Far::U64(&wide)
        };
        let distances = Distances {
            gaps: &gaps,
            far,
            far_before: far_rows.start as u64,
            steps: &steps,
            sources: self.sources,
            first_row: rows.start,
            simd: Simd::best(),
            check: None,
        };
        Ok(Times::of(distances).to_vec())
    }

    /// Returns which far distances belong to these rows, which begin and end with steps or the run.
    pub(super) fn far(&self, rows: Range<usize>) -> Result<Range<usize>, Error> {
        let Some(steps) = &self.files[FileKind::Steps] else { return Ok(0..0) };
        let all = self.manifest.far_entries.unwrap_or(0);
        let before = |row: usize| {
            // One that is damaged is met where the rows are read.
            if row == 0 {
                return Ok(0);
            }
            if row as u64 >= self.manifest.rows {
                return Ok(all);
            }
            let step: Vec<Step> = steps.rows(row / STEP_ROWS..row / STEP_ROWS + 1)?;
            Ok(step.first().map_or(all, |step| step.far))
        };
        let (start, end) = (before(rows.start)?, before(rows.end)?);
        if start > end || end > all {
            return Err(Error::Damaged {
                path: steps.path.clone(),
                what: format!("the far distances before rows {} and {}", rows.start, rows.end),
                expected: format!("ascending, at most {all}"),
                found: format!("{start} and {end}"),
            });
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most the values of an opened file")]
        Ok(start as usize..end as usize)
    }
}

/// Returns how many far distances the first `rows` rows of a store have, of which `manifest` is the last commit.
pub(super) fn far_before(
    folder: &Folder,
    manifest: &Manifest,
    rows: u64,
) -> Result<Option<u64>, Error> {
    if manifest.has_times() || rows == manifest.rows {
        return Ok(manifest.far_entries);
    }
    let mut files = PerFile::<Option<CheckedFile>>::default();
    for committed in manifest.committed() {
        if [FileKind::Gap, FileKind::Steps].contains(&committed.kind) {
            let file = folder.open_file(&committed.file.name)?;
            files[committed.kind] =
                Some(CheckedFile::new(folder, file, &committed, manifest.run_id)?);
        }
    }
    let all = RowFiles { manifest, files: &files, sources: &[] };
    let rows = usize::try_from(rows).unwrap_or(usize::MAX);
    let step = rows / STEP_ROWS * STEP_ROWS;
    let before = all.far(step..step)?.start as u64;
    let gaps: Vec<u16> =
        files[FileKind::Gap].as_ref().map_or(Ok(Vec::new()), |gap| gap.rows(step..rows))?;
    Ok(Some(before + crate::decode::far_rows(&gaps) as u64))
}

/// Returns the first rows of all sources that have rows.
pub(super) fn source_starts(manifest: &Manifest) -> Vec<SourceStart> {
    let mut row = 0;
    let of = |source: &crate::Source| {
        let first = row;
        row += usize::try_from(source.rows).unwrap_or(usize::MAX);
        source.time_first.map(|time| SourceStart { row: first, time })
    };
    manifest.sources.iter().filter_map(of).collect()
}
