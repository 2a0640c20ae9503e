//! One scan: counts a part of a query over all morsels of a recording.
//!
//! Lists 0, 4 and 5, 9, window 5: of 2·2 pairs one is further apart, (0, 9), so three count. A coincidence belongs to
//! the morsel of its latest tag. The tags before the morsel, its head, are only partners: pairs of two of them are
//! subtracted.

use std::ops::Range;

use crate::{
    kernels::{
        self,
        neighbours::{self, REACH},
        pair_bins::PairBins,
        simd::Simd,
    },
    rules::{
        definition::Method,
        grid,
        veto::AllowedRows,
        ways::{
            closing::Near,
            crowded::{Crowded, Job},
            heralds::HeraldChains,
            input::{Morsel, MorselInput, Neighbours},
            part::GroupScan,
            tally::PairTally,
        },
    },
    run::recording::{Recording, Source},
    scan::{
        column::{Decoded, StoredColumn},
        morsels::{Execution, Interval, rows_within_window},
        route::CompareIn,
        selection::{Buffers, List, Selected},
    },
};
use rayon::prelude::*;

impl GroupScan {
    /// Counts the coincidences of each group, or the pairs in each bin, for all rules but `once`.
    pub(crate) fn count(&self, recording: &Recording<'_>, execution: &Execution) -> Vec<u128> {
        let sources = recording.sources.iter();
        let morsels: Vec<Morsel<'_>> =
            sources.flat_map(|source| self.morsels(source, execution)).collect();
        let zero = || vec![0_u128; self.counts()];
        let pieces = recording.pass(self.scope.range).in_pieces(morsels.len());
        morsels
            .par_iter()
            .fold(
                || (zero(), Counter::new(self, execution.simd)),
                |(mut counts, mut counter), morsel| {
                    if pieces.begin().is_ok() {
                        counter.count(morsel, &mut counts);
                    }
                    (counts, counter)
                },
            )
            .map(|(counts, _)| counts)
            .reduce(zero, |mut counts, more| {
                for (count, more) in counts.iter_mut().zip(more) {
                    *count = count.saturating_add(more);
                }
                counts
            })
    }

    /// Divides times into cells, if the rule has any.
    fn divide(&self, list: &mut List) {
        if let Some(width) = self.cells {
            grid::to_cells(list.time_mut(), width);
        }
    }

    /// Returns the window in which divided times are compared.
    fn divided_window(&self) -> i64 {
        if self.cells.is_some() { 0 } else { self.window }
    }
}

/// Counts morsels; holds the buffers of one thread.
struct Counter<'p> {
    part: &'p GroupScan,
    simd: Simd,
    buffers: Buffers,
    vetoes: Buffers,
    allowed: AllowedRows,
    decoded: Decoded,
    /// The number of each label of a narrow column.
    number_of_label: [u8; 256],
    groups: GroupCounter,
    heralds: HeraldChains,
}

impl<'p> Counter<'p> {
    fn new(part: &'p GroupScan, simd: Simd) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "a part has at most 255 channels")]
        let others = part.channels.len() as u8;
        let side = usize::from(others) + 1;
        let has_pairs = matches!(part.method, Method::Pairs);
        let has_heralds = matches!(part.method, Method::Heralds { .. });
        Self {
            part,
            simd,
            buffers: Buffers::default(),
            vetoes: Buffers::default(),
            allowed: AllowedRows::default(),
            decoded: Decoded::default(),
            number_of_label: part.selection.narrow_numbers(others),
            groups: GroupCounter {
                tally: PairTally::new(
                    if has_pairs { side } else { 0 },
                    part.bins.as_ref().map_or(0, PairBins::len),
                ),
                near: Near::default(),
                crowded: Crowded::default(),
            },
            heralds: HeraldChains::new(if has_heralds { side } else { 0 }),
        }
    }

    /// Adds the coincidences that belong to the morsel.
    fn count(&mut self, morsel: &Morsel<'_>, counts: &mut [u128]) {
        let source = morsel.source;
        let interval = match &morsel.input {
            MorselInput::Rows(neighbours, rows) => {
                match self.count_rows(source, neighbours, rows, counts) {
                    Ok(()) => return,
                    Err(interval) => interval,
                }
            }
            MorselInput::Selected(interval) => *interval,
        };
        if self.count_selected(source, interval, counts).is_none() {
            // Reported as counts that do not fit in 64 bits; more can be added to them.
            counts.fill(1 << 127);
        }
    }

    /// Compares rows with their neighbours; crowded pairs with different delays are put in order first.
    /// Returns as an error the interval to extract instead.
    fn count_rows(
        &mut self,
        source: &Source<'_>,
        neighbours: &Neighbours<'_>,
        rows: &Range<usize>,
        counts: &mut [u128],
    ) -> Result<(), Interval> {
        if self.count_near(source, neighbours, rows, counts).is_some() {
            return Ok(());
        }
        let (part, time) = (self.part, source.tags.time);
        if let StoredColumn::Times(_) = neighbours.column {
            // Times may decrease where the interval does not show it.
            let first = rows.start.saturating_sub(REACH);
            if !source.is_in_order(self.simd, first..rows.end) {
                return Ok(());
            }
        }
        if !part.has_different_delays() {
            return Err(Interval::of_rows(time, rows, part.delays[0]));
        }
        self.count_crowded(source, neighbours, rows, counts);
        Ok(())
    }

    /// Extracts the channels and counts. Returns `None` if times do not fit in 64 bits.
    fn count_selected(
        &mut self,
        source: &Source<'_>,
        interval: Interval,
        counts: &mut [u128],
    ) -> Option<()> {
        let (part, simd) = (self.part, self.simd);
        let (selection, start) = (&part.selection, interval.start);
        let interval = interval.looking_back(part.look_back);
        let vetoes = part.veto.as_ref().map(|veto| {
            let times = veto.times(simd, source, interval, &mut self.vetoes);
            (veto, times)
        });
        // Removes vetoed tags; returns how many tags are before the morsel.
        let head_of = |list: &mut List, base: Option<i64>| match (vetoes, base) {
            (Some((veto, times)), Some(base)) => veto.part(list, times, base, start, part.window),
            _ => Some(list.view().time.partition_point(|&time| time < start)),
        };
        let base_of = |lists: &[List]| {
            lists.iter().filter_map(|list| list.view().time.first()).min().copied()
        };
        match part.method {
            Method::Pair => {
                let lists = selection.lists(simd, source, interval, &mut self.buffers);
                let base = base_of(lists);
                let mut heads = Vec::new();
                for list in &mut *lists {
                    heads.push(head_of(list, base)?);
                    part.divide(list);
                }
                let times = [0, 1].map(|at: usize| lists[at].view().time);
                counts[0] += pairs_by_rank(times, [heads[0], heads[1]], part.divided_window());
            }
            Method::Pairs | Method::Groups { .. } | Method::Heralds { .. } => {
                let list = selection.select_list(simd, source, interval, &mut self.buffers);
                let base = list.view().time.first().copied();
                let head = head_of(list, base)?;
                part.divide(list);
                let (tags, window) = (list.view(), part.divided_window());
                let job = Job { simd, closing: &part.closing, tags, head, window };
                self.groups.count(part, &job, counts);
            }
            // Counted from gap to gap elsewhere.
            Method::Matches => {}
        }
        Some(())
    }

    /// Compares rows with their neighbours. Returns `None`, and adds nothing, if windows are too crowded or times
    /// decrease.
    fn count_near(
        &mut self,
        source: &Source<'_>,
        &Neighbours { column, labels, window }: &Neighbours<'_>,
        rows: &Range<usize>,
        counts: &mut [u128],
    ) -> Option<()> {
        let (part, simd) = (self.part, self.simd);
        match column {
            StoredColumn::Times(time) if !source.spans(time.rows(rows.clone())) => return None,
            // Damage was recorded, so the counts are rejected.
            StoredColumn::Gaps(gaps)
                if !gaps.is_right(rows.start.saturating_sub(REACH)..rows.end) =>
            {
                return Some(());
            }
            StoredColumn::Gaps(_) | StoredColumn::WideGaps(_) | StoredColumn::Times(_) => {}
        }
        let is_of_pairs = matches!(part.method, Method::Pair | Method::Pairs);
        let look_back = match part.method {
            // Groups are walked through to the beginning of their window.
            Method::Groups { .. } => column.rows_before(rows.start, window.reach).max(REACH),
            _ => REACH,
        };
        let whole = (!is_of_pairs).then(|| rows.clone());
        let parts = is_of_pairs.then(|| column.parts(rows)).into_iter().flatten();
        let mut pairs = 0;
        self.groups.tally.clear();
        for rows in parts.chain(whole) {
            let labels = (labels, &self.number_of_label);
            let rows = match (&part.veto, column) {
                (Some(veto), StoredColumn::Gaps(gaps)) => {
                    let (labels, number_of) = labels;
                    let (columns, rows) = ((gaps, labels), (rows, number_of));
                    match self.allowed.fill(simd, veto, source, columns, rows, window.reach) {
                        Some(allowed) => allowed,
                        // Damage was recorded, so the counts are rejected.
                        None => return Some(()),
                    }
                }
                _ => column.compared(&rows, look_back, labels, &mut self.decoded).0,
            };
            match part.method {
                Method::Pair => {
                    if let [Ok(a), Ok(b)] = [part.channels[0], part.channels[1]].map(u8::try_from) {
                        pairs += neighbours::pairs(simd, &rows, [a, b], &part.distances()?)?;
                    }
                }
                Method::Pairs => self.groups.tally.take(part, simd, window, &rows)?,
                Method::Groups { .. } => {
                    part.closing.count_near(
                        simd,
                        part.window,
                        &rows,
                        &mut self.groups.near,
                        counts,
                    )?;
                }
                Method::Heralds { .. } => {
                    self.heralds.count(part, simd, &rows, &mut self.groups.crowded, counts)?;
                }
                // Counted from gap to gap elsewhere.
                Method::Matches => {}
            }
        }
        match part.method {
            Method::Pair => counts[0] += u128::from(pairs),
            Method::Pairs => self.groups.tally.add_to(part, counts),
            Method::Groups { .. } | Method::Heralds { .. } | Method::Matches => {}
        }
        Some(())
    }

    /// Counts pairs with different delays whose later row is one of these: those among these rows and the rows that
    /// they reach before them, less those among the latter.
    fn count_crowded(
        &mut self,
        source: &Source<'_>,
        &Neighbours { labels, window, .. }: &Neighbours<'_>,
        rows: &Range<usize>,
        counts: &mut [u128],
    ) {
        let (part, simd, time) = (self.part, self.simd, source.tags.time);
        let earliest = time.at(rows.start).saturating_sub(window.reach);
        // A damaged row may mislead the search.
        let head = time.seek(rows.start, |time| time < earliest).min(rows.start);
        if !source.is_in_order(simd, head..rows.end) {
            return;
        }
        let time = time.read(head..rows.end, &mut self.decoded.times);
        let labels = labels.read(head..rows.end);
        let mut pairs = |end: usize| {
            let numbers = labels[..end].iter().map(|&l| self.number_of_label[usize::from(l)]);
            let in_use = time[..end].iter().zip(numbers).filter_map(|(&time, number)| {
                let delay = part.delays.get(usize::from(number))?;
                Some((time + delay, number))
            });
            let mut tags: Vec<(i64, u8)> = in_use.collect();
            tags.sort_by_key(|&(time, _)| time);
            let (time, number): (Vec<i64>, Vec<u8>) = tags.into_iter().unzip();
            let mut counts = vec![0; part.groups.len()];
            let tags = Selected { time: &time, number: &number };
            let job = Job { simd, closing: &part.closing, tags, head: 0, window: part.window };
            self.groups.count_crowded(part, &job, &mut counts);
            counts
        };
        let (all, before) = (pairs(rows.end - head), pairs(rows.start - head));
        for (count, (all, before)) in counts.iter_mut().zip(all.into_iter().zip(before)) {
            *count += all - before;
        }
    }
}

/// Counts the groups of a scan in the tags of their channels; the buffers of one thread.
struct GroupCounter {
    tally: PairTally,
    near: Near,
    crowded: Crowded,
}

impl GroupCounter {
    /// Adds the coincidences of a job: by comparing neighbours, if few tags are in a window.
    fn count(&mut self, part: &GroupScan, job: &Job<'_>, counts: &mut [u128]) {
        let &Job { simd, closing, tags, head, window } = job;
        let rows = tags.after(head).rows();
        let crowded = part.work().crowded(CompareIn::List, simd, false);
        let is_sparse = rows_within_window(tags.time.into(), window) < crowded;
        let is_counted = is_sparse
            && match part.method {
                Method::Groups { .. } => {
                    let near = &mut self.near;
                    closing.count_near(simd, window, &rows, near, counts).is_some()
                }
                Method::Pairs => self.tally.add(part, simd, window, &rows, counts).is_some(),
                Method::Pair | Method::Heralds { .. } | Method::Matches => false,
            };
        if !is_counted {
            self.count_crowded(part, job, counts);
        }
    }

    /// Adds the coincidences of a job, for any number of tags in a window.
    fn count_crowded(&mut self, part: &GroupScan, job: &Job<'_>, counts: &mut [u128]) {
        let is_of_tally = part.bins.is_some() || job.closing.sizes.is_empty();
        if matches!(part.method, Method::Pairs) && is_of_tally {
            self.tally.add_crowded(part, &mut self.crowded, job, counts);
        } else {
            self.crowded.add(job, counts);
        }
    }
}

/// Counts the pairs of two lists that are at most `window` apart and whose later tag is not in the head of
/// its list: all pairs minus those in the heads, minus those further apart.
fn pairs_by_rank(lists: [&[i64]; 2], heads: [usize; 2], window: i64) -> u128 {
    let product = |[a, b]: [usize; 2]| a as u128 * b as u128;
    let far = kernels::far_pairs(lists, heads, window);
    product(lists.map(<[i64]>::len)) - product(heads) - u128::from(far)
}
