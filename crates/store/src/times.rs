//! The times of rows: a column of them, or sums of distances that are decoded where they are needed.
//!
//! The time of row 3,000 is that of step 2, which is the time of row 2,048, plus the distances of rows 2,049 to 3,000.
//! The sum begins again at the first row of a source, whose time is in the manifest: sums never cross from one source
//! into the next.

use std::{fmt, ops::Range};

use crate::{
    decode::{self, Far},
    files::FileKind,
    format::{GAP_MAX, STEP_ROWS, Step},
    os,
    row_values::{CheckRows, Kinds, RowValues},
    simd::Simd,
};

/// The times of consecutive rows in ticks, which never decrease unless their files are damaged. A copy is a view of
/// the same rows.
#[derive(Clone, Copy)]
pub struct Times<'a> {
    stored: Stored<'a>,
    /// The rows of the view: the first, and the one after the last.
    rows: (usize, usize),
}

#[derive(Clone, Copy)]
enum Stored<'a> {
    Column(RowValues<'a, i64>),
    Distances(Distances<'a>),
}

/// Rows as distances: the gap of a row, or if that is the largest one, its far distance.
#[derive(Clone, Copy)]
pub(crate) struct Distances<'a> {
    /// The gaps of the rows.
    pub gaps: &'a [u16],
    /// The far distances of the rows.
    pub far: Far<'a>,
    /// The far distances before these.
    pub far_before: u64,
    /// The steps of the rows: the first row is the first of its step.
    pub steps: &'a [Step],
    /// The first row of each source, and its time; they are ascending, and those of other rows may be among them.
    pub sources: &'a [SourceStart],
    /// The row of the run that is the first of these: `sources` counts rows of the run.
    pub first_row: usize,
    pub simd: Simd,
    /// The blocks that are checked before they are read.
    pub check: Option<&'a dyn CheckRows>,
}

/// The first row of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SourceStart {
    pub row: usize,
    pub time: i64,
}

impl<'a> From<RowValues<'a, i64>> for Times<'a> {
    fn from(times: RowValues<'a, i64>) -> Self {
        Self { rows: (0, times.len()), stored: Stored::Column(times) }
    }
}

impl<'a> From<&'a [i64]> for Times<'a> {
    fn from(times: &'a [i64]) -> Self {
        RowValues::from(times).into()
    }
}

impl<'a, const N: usize> From<&'a [i64; N]> for Times<'a> {
    fn from(times: &'a [i64; N]) -> Self {
        times[..].into()
    }
}

impl<'a> Times<'a> {
    /// Times that are sums of these distances.
    pub(crate) fn of(distances: Distances<'a>) -> Self {
        Self { stored: Stored::Distances(distances), rows: (0, distances.gaps.len()) }
    }

    /// Returns the same times without checks, see [`RowValues::unchecked`].
    #[must_use]
    pub fn unchecked(&self) -> Self {
        let stored = match self.stored {
            Stored::Column(times) => Stored::Column(times.unchecked()),
            Stored::Distances(distances) => {
                Stored::Distances(Distances { check: None, ..distances })
            }
        };
        Self { stored, ..*self }
    }

    /// Returns how many rows there are.
    pub fn len(&self) -> usize {
        self.rows.1 - self.rows.0
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the times of these rows.
    ///
    /// # Panics
    /// When the rows are not within.
    #[must_use]
    pub fn rows(&self, rows: Range<usize>) -> Self {
        assert!(rows.start <= rows.end && rows.end <= self.len(), "rows of the view");
        Self { rows: (self.rows.0 + rows.start, self.rows.0 + rows.end), ..*self }
    }

    /// Returns the column if the times have one: else they have to be [read](Self::read).
    pub fn column(&self) -> Option<RowValues<'a, i64>> {
        match self.stored {
            Stored::Column(times) => Some(times.rows(self.rows.0..self.rows.1)),
            Stored::Distances(_) => None,
        }
    }

    /// Returns the bytes that decoding a row reads besides its gap, as a mean over all opened rows: of far distances
    /// and steps. `None` if the times have a column.
    pub fn bytes_beside_gap(&self) -> Option<f64> {
        match self.stored {
            Stored::Column(_) => None,
            Stored::Distances(Distances { gaps, far, steps, .. }) => {
                let bytes = far.bytes() + size_of_val(steps);
                Some(bytes as f64 / gaps.len().max(1) as f64)
            }
        }
    }

    /// Returns the times of these rows: of the column, or decoded into `buffer`.
    ///
    /// # Panics
    /// When the rows are not within.
    pub fn read<'b>(&self, rows: Range<usize>, buffer: &'b mut Vec<i64>) -> &'b [i64]
    where
        'a: 'b,
    {
        match self.rows(rows) {
            Self { stored: Stored::Column(times), rows: (start, end) } => times.read(start..end),
            Self { stored: Stored::Distances(distances), rows: (start, end) } => {
                distances.decode(start..end, buffer)
            }
        }
    }

    /// Decodes the times of these rows into `buffer` as ticks after a time, which is returned with them. Returns `None`
    /// where [`Times::read`] has to be used: there is a column of times, or the rows span several sources or 2^32 ticks
    /// and more.
    ///
    /// # Panics
    /// When the rows are not within.
    pub fn offsets<'b>(
        &self,
        rows: Range<usize>,
        buffer: &'b mut Vec<u32>,
    ) -> Option<(i64, &'b [u32])> {
        match self.rows(rows) {
            Self { stored: Stored::Column(_), .. } => None,
            Self { stored: Stored::Distances(distances), rows: (start, end) } => {
                distances.decode_offsets(start..end, buffer)
            }
        }
    }

    /// Returns the time of a row; `None` if there is no such row.
    pub fn get(&self, row: usize) -> Option<i64> {
        (row < self.len()).then(|| self.at(row))
    }

    /// Returns the time of a row. Where times are decoded this costs up to [`STEP_ROWS`] of them.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn at(&self, row: usize) -> i64 {
        assert!(row < self.len(), "a row of the view");
        let row = self.rows.0 + row;
        match self.stored {
            Stored::Column(times) => times.at(row),
            Stored::Distances(distances) => distances.at(row),
        }
    }

    /// Returns the first time.
    pub fn first(&self) -> Option<i64> {
        self.get(0)
    }

    /// Returns the last time.
    pub fn last(&self) -> Option<i64> {
        self.get(self.len().checked_sub(1)?)
    }

    /// Returns the ticks from the row before to this one; `None` if there is no row before.
    ///
    /// # Panics
    /// When there is no such row.
    pub fn gap(&self, row: usize) -> Option<i64> {
        let before = row.checked_sub(1)?;
        if let Stored::Distances(distances) = self.stored
            && let Some(gap) = distances.near_gap(self.rows.0 + row)
        {
            return Some(gap.into());
        }
        Some(self.at(row).wrapping_sub(self.at(before)))
    }

    /// Returns the ticks from the row before to each of these rows, in `buffer`: those of 2³² − 1 and more, and of the
    /// first row of the view, are 2³² − 1.
    ///
    /// # Panics
    /// When the rows are not within.
    pub fn distances<'b>(&self, rows: Range<usize>, buffer: &'b mut Vec<u32>) -> &'b [u32] {
        let Self { stored, rows: (first, _) } = self.rows(rows.clone());
        if buffer.len() < rows.len() {
            buffer.resize(rows.len(), 0);
        }
        let distances = &mut buffer[..rows.len()];
        let narrow = |distance: i64| u32::try_from(distance.cast_unsigned()).unwrap_or(u32::MAX);
        match stored {
            Stored::Column(times) => {
                let own = times.read(first..first + rows.len());
                for (distance, pair) in distances.iter_mut().skip(1).zip(own.windows(2)) {
                    *distance = narrow(pair[1].wrapping_sub(pair[0]));
                }
                if let (Some(distance), Some(gap)) =
                    (distances.first_mut(), (!rows.is_empty()).then(|| self.gap(rows.start)))
                {
                    *distance = gap.map_or(u32::MAX, narrow);
                }
            }
            Stored::Distances(of) => {
                of.decode_distances(first..first + rows.len(), distances);
                for start in of.starts_in(first..first + rows.len()).flatten() {
                    let row = start.row - of.first_row - first;
                    let gap = self.gap(rows.start + row);
                    distances[row] = gap.map_or(u32::MAX, narrow);
                }
                if let Some(first) = distances.first_mut().filter(|_| rows.start == 0) {
                    *first = u32::MAX;
                }
            }
        }
        distances
    }

    /// Returns the first row for whose time `is_before` is false; it must be true for all rows before that row and for
    /// no other row.
    pub fn partition_point(&self, is_before: impl Fn(i64) -> bool) -> usize {
        let (start, end) = self.rows;
        let row = match self.stored {
            Stored::Column(times) => {
                search(times, start..end, |times| times.partition_point(|&time| is_before(time)))
            }
            Stored::Distances(distances) => {
                distances.seek(start..end, start.midpoint(end), is_before)
            }
        };
        row - start
    }

    /// Works like [`Times::partition_point`], and searches from near row `hint` on.
    pub fn seek(&self, hint: usize, is_before: impl Fn(i64) -> bool) -> usize {
        let (start, end) = self.rows;
        let row = match self.stored {
            Stored::Column(times) => {
                search(times, start..end, |times| seek(times, hint, |&time| is_before(time)))
            }
            Stored::Distances(distances) => {
                distances.seek(start..end, start.saturating_add(hint), is_before)
            }
        };
        row - start
    }

    /// Returns whether times never decrease. Decodes all.
    pub fn is_sorted(&self) -> bool {
        let mut before = i64::MIN;
        let mut buffer = Vec::new();
        self.pieces().all(|rows| {
            let times = self.read(rows, &mut buffer);
            let follows = times.first().is_none_or(|&first| before <= first) && times.is_sorted();
            before = times.last().copied().unwrap_or(before);
            follows
        })
    }

    /// Returns all times.
    pub fn to_vec(&self) -> Vec<i64> {
        let mut times = Vec::new();
        let mut buffer = Vec::new();
        for rows in self.pieces() {
            times.extend_from_slice(self.read(rows, &mut buffer));
        }
        times
    }

    /// Tells the system that the rows will be read: it fetches their files together.
    pub fn will_need(&self) {
        let (start, end) = self.rows;
        match self.stored {
            Stored::Column(times) => times.will_need(start..end),
            Stored::Distances(Distances { gaps, .. }) => os::will_need(&gaps[start..end]),
        }
    }

    /// Divides the rows into ranges to be [read](Self::read) one after the other, whose times stay in the cache, with a
    /// multiple of 64 rows in each but the last.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (start, len) = (self.rows.0, self.len());
        let piece = match self.stored {
            Stored::Column(_) => COLUMN_PIECE_ROWS,
            Stored::Distances(_) => PIECE_ROWS,
        };
        let mut next = 0;
        std::iter::from_fn(move || {
            let first = next;
            // Pieces begin near the beginning of a step, so that few rows are decoded twice.
            let rows = (piece - (start + first) % STEP_ROWS.min(piece.max(1))).next_multiple_of(64);
            next = len.min(first.saturating_add(rows));
            (first < len).then_some(first..next)
        })
    }
}

/// Rows of a column of times that are read at once: 256 KiB of times, which are in a core's cache after their block was
/// compared with its checksum.
pub const COLUMN_PIECE_ROWS: usize = 1 << 15;

/// Rows that are decoded at once by default: 16 KiB of times, which stay in the fastest cache.
const PIECE_ROWS: usize = 2 * STEP_ROWS;

/// Reads times row by row, mostly in ascending order: they are decoded piece by piece.
#[derive(Debug, Clone)]
pub struct TimeReader<'a> {
    times: Times<'a>,
    /// The rows in the buffer.
    rows: Range<usize>,
    buffer: Vec<i64>,
    /// The index in the buffer of the first of these rows: times are decoded from the beginning of a step on.
    lead: usize,
}

impl<'a> TimeReader<'a> {
    /// Prepares to read these times.
    pub fn new(times: Times<'a>) -> Self {
        Self { times, rows: 0..0, buffer: Vec::new(), lead: 0 }
    }

    /// Returns the time of a row; `None` if there is no such row.
    #[inline]
    pub fn get(&mut self, row: usize) -> Option<i64> {
        (row < self.times.len()).then(|| self.at(row))
    }

    /// Returns the time of a row.
    ///
    /// # Panics
    /// When there is no such row.
    #[inline]
    pub fn at(&mut self, row: usize) -> i64 {
        if !self.rows.contains(&row) {
            self.fill(row);
        }
        match self.times.stored {
            Stored::Column(times) => times.values()[self.times.rows.0 + row],
            Stored::Distances(_) => self.buffer[self.lead + row - self.rows.start],
        }
    }

    #[cold]
    fn fill(&mut self, row: usize) {
        let of_run = self.times.rows.0 + row;
        let first = row - (of_run % STEP_ROWS).min(row);
        let rows = first..self.times.len().min(first + STEP_ROWS);
        let len = self.times.read(rows.clone(), &mut self.buffer).len();
        self.lead = (self.times.rows.0 + first) % STEP_ROWS;
        debug_assert_eq!(len, rows.len());
        self.rows = rows;
    }
}

/// Searches these rows of a column. A time that misleads the search is next to the row that it finds: these are
/// checked.
fn search(
    times: RowValues<'_, i64>,
    rows: Range<usize>,
    find: impl FnOnce(&[i64]) -> usize,
) -> usize {
    let row = rows.start + find(&times.values()[rows.clone()]);
    times.is_right(row.saturating_sub(1).max(rows.start)..rows.end.min(row + 1));
    row
}

/// Returns the place of the first value for which `is_before` is false; it must be true for all values before that one
/// and for no other. Starts the search near place `hint`.
fn seek<T>(values: &[T], hint: usize, is_before: impl Fn(&T) -> bool) -> usize {
    let hint = hint.min(values.len());
    let (mut low, mut high) = (0, values.len());
    let mut reach = 1;
    if hint < high && is_before(&values[hint]) {
        low = hint + 1;
        while low + reach < high {
            if !is_before(&values[low + reach]) {
                high = low + reach;
                break;
            }
            low += reach + 1;
            reach *= 2;
        }
    } else {
        high = hint;
        while high > reach {
            if is_before(&values[high - reach]) {
                low = high - reach + 1;
                break;
            }
            high -= reach;
            reach *= 2;
        }
    }
    low + values[low..high].partition_point(is_before)
}

impl<'a> Distances<'a> {
    /// Decodes the times of these rows into `buffer`.
    fn decode<'b>(&self, rows: Range<usize>, buffer: &'b mut Vec<i64>) -> &'b [i64] {
        if rows.is_empty() {
            return &[];
        }
        let lead = rows.start % STEP_ROWS;
        let len = lead + rows.len();
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        self.decode_steps(rows, &mut buffer[..len]);
        &buffer[lead..len]
    }

    /// Decodes the times of these rows, and of those before them in the step that holds the first of them.
    fn decode_steps(&self, rows: Range<usize>, times: &mut [i64]) {
        self.check(rows.clone());
        TimeDecoder::new(*self, rows.start).fill(times);
    }

    /// Decodes the times of these rows as ticks after that of the step that holds the first of them.
    fn decode_offsets<'b>(
        &self,
        rows: Range<usize>,
        buffer: &'b mut Vec<u32>,
    ) -> Option<(i64, &'b [u32])> {
        let begin = rows.start / STEP_ROWS * STEP_ROWS;
        if rows.is_empty() || self.starts_in(begin + 1..rows.end).next().is_some() {
            return None;
        }
        self.check(rows.clone());
        let Step { time, far } = *self.steps.get(begin / STEP_ROWS)?;
        let gaps = &self.gaps[begin..rows.end];
        if buffer.len() < gaps.len() {
            buffer.resize(gaps.len(), 0);
        }
        let offsets = &mut buffer[..gaps.len()];
        offsets[0] = 0;
        // The first row is the one to which the offsets refer.
        let first = self.far_of(far).saturating_add(decode::far_rows(&gaps[..1]));
        let far = self.far.from(first);
        let fit = decode::offsets(self.simd, &gaps[1..], far, &mut offsets[1..]);
        fit.then(|| (time, &offsets[rows.start - begin..]))
    }

    /// Decodes the distances of these rows; those of first rows of sources are 0.
    fn decode_distances(&self, rows: Range<usize>, distances: &mut [u32]) {
        self.check(rows.clone());
        let begin = rows.start / STEP_ROWS * STEP_ROWS;
        let far = self.steps.get(begin / STEP_ROWS).map_or(0, |step| self.far_of(step.far));
        let far = far.saturating_add(decode::far_rows(&self.gaps[begin..rows.start]));
        decode::distances(self.simd, &self.gaps[rows], self.far.from(far), distances);
    }

    /// Returns the first rows of sources among these rows.
    fn starts_in(&self, rows: Range<usize>) -> impl Iterator<Item = Option<SourceStart>> + use<'a> {
        let of_run = self.first_row + rows.start..self.first_row + rows.end;
        let first = self.sources.partition_point(|start| start.row < of_run.start);
        let starts = self.sources[first..].iter();
        starts.take_while(move |start| start.row < of_run.end).map(|&start| Some(start))
    }

    fn at(&self, row: usize) -> i64 {
        self.check(row..row + 1);
        let mut begin = row / STEP_ROWS * STEP_ROWS;
        let step = self.steps.get(begin / STEP_ROWS).copied();
        let Step { mut time, far } = step.unwrap_or(Step { time: 0, far: self.far_before });
        let mut far = self.far_of(far);
        if let Some(start) = self.starts_in(begin + 1..row + 1).flatten().last() {
            let first = start.row - self.first_row;
            far = far.saturating_add(decode::far_rows(&self.gaps[begin..first]));
            (begin, time) = (first, start.time);
        }
        far = far.saturating_add(decode::far_rows(&self.gaps[begin..=begin]));
        decode::last_time(&self.gaps[begin + 1..=row], self.far.from(far), time)
    }

    /// Returns the gap of a row if it says the distance.
    fn near_gap(&self, row: usize) -> Option<u16> {
        self.check(row..row + 1);
        Some(self.gaps[row]).filter(|&gap| gap < GAP_MAX)
    }

    /// See [`Times::seek`]; the rows are counted from the first one of all.
    fn seek(&self, rows: Range<usize>, hint: usize, is_before: impl Fn(i64) -> bool) -> usize {
        if rows.is_empty() {
            return rows.start;
        }
        // The steps that begin after the first row, and up to the last one.
        let first = rows.start / STEP_ROWS + 1;
        let last = rows.end.div_ceil(STEP_ROWS).min(self.steps.len());
        let steps = self.steps.get(first..last).unwrap_or_default();
        let hint = (hint / STEP_ROWS + 1).saturating_sub(first);
        let step = first + seek(steps, hint, |step| is_before(step.time));
        let begin = ((step - 1) * STEP_ROWS).max(rows.start);
        let end = (step * STEP_ROWS).min(rows.end);
        // A step that misleads the search is next to the row that it finds.
        self.check(begin..rows.end.min(end + 1));
        let mut walk = TimeDecoder::new(*self, begin);
        // Few rows at once: those after the one that is found are not decoded.
        let mut times = [0; 128];
        while walk.row < end {
            let first = walk.row;
            let times = &mut times[..(end - first).min(128)];
            walk.fill(times);
            // Rows before the first one, from the beginning of its step on, are before.
            let known = begin.saturating_sub(first).min(times.len());
            let found = known + times[known..].partition_point(|&time| is_before(time));
            if found < times.len() {
                return first + found;
            }
        }
        end
    }

    /// Returns the place of the far distance with this number.
    fn far_of(&self, number: u64) -> usize {
        let place = number.checked_sub(self.far_before).and_then(|place| place.try_into().ok());
        place.unwrap_or(usize::MAX)
    }

    fn check(&self, rows: Range<usize>) {
        if let Some(check) = self.check {
            let kinds = Kinds::from(FileKind::Gap) | FileKind::Far.into() | FileKind::Steps.into();
            check.check_rows(kinds, self.first_row + rows.start..self.first_row + rows.end);
        }
    }
}

/// Decodes the times of rows one after the other, from the beginning of a step on.
struct TimeDecoder<'a> {
    of: Distances<'a>,
    /// The next row.
    row: usize,
    /// The place of its far distance, if it has one.
    far: usize,
    /// The time of the next row if it is the first of its step, else of the row before it.
    time: i64,
    is_first: bool,
}

impl<'a> TimeDecoder<'a> {
    /// Begins with the step that holds this row.
    fn new(of: Distances<'a>, row: usize) -> Self {
        // Sums begin where a step does.
        let step = of.steps.get(row / STEP_ROWS).copied();
        let Step { time, far } = step.unwrap_or(Step { time: 0, far: of.far_before });
        let row = row / STEP_ROWS * STEP_ROWS;
        Self { of, row, far: of.far_of(far), time, is_first: true }
    }

    /// Writes the times of the next rows.
    fn fill(&mut self, times: &mut [i64]) {
        let Distances { gaps, far, simd, first_row, .. } = self.of;
        let rows = self.row..self.row + times.len();
        let mut at = 0;
        for start in self.of.starts_in(rows.start..rows.end).chain([None]) {
            let end = start.map_or(times.len(), |start| start.row - first_row - rows.start);
            let mut of_rows = &gaps[rows.start + at..rows.start + end];
            let times = &mut times[at..end];
            if let (true, Some((first, later))) = (self.is_first, of_rows.split_first()) {
                // The time of this row is known, and what its gap says is not needed.
                times[0] = self.time;
                self.far = self.far.saturating_add(decode::far_rows(&[*first]));
                self.is_first = false;
                of_rows = later;
            }
            let later = times.len() - of_rows.len();
            let far = far.from(self.far);
            let used = decode::times(simd, of_rows, far, self.time, &mut times[later..]);
            self.far = self.far.saturating_add(used);
            self.time = times.last().copied().unwrap_or(self.time);
            at = end;
            if let Some(start) = start {
                (self.time, self.is_first) = (start.time, true);
            }
        }
        self.row = rows.end;
    }
}

impl fmt::Debug for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.to_vec()).finish()
    }
}

impl<T: AsRef<[i64]>> PartialEq<T> for Times<'_> {
    fn eq(&self, other: &T) -> bool {
        self.to_vec() == other.as_ref()
    }
}
