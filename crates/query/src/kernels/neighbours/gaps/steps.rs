//! The kernel of differences, built from the instructions of a level, written once.

/// Defines `differences` for a level with these target features, beside its kernels of neighbours. The level provides
/// `write` (writes distances, negated for some rows, less a number).
macro_rules! difference_kernel {
    ($features:literal) => {
        /// See [`super::differences`].
        #[target_feature(enable = $features)]
        pub(super) fn differences(
            gaps: &[u16],
            labels: &[u8],
            rows: Range<usize>,
            pair: [u8; 2],
            (wanted, low): (&PairDistances, u16),
            gathered: &mut Gathered,
            take: &mut impl FnMut(&mut [u16]),
        ) -> Result<(), usize> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let one_by_one = |rows, gathered: &mut _, take: &mut _| {
                super::scalar::differences(gaps, labels, rows, pair, (wanted, low), gathered, take)
            };
            one_by_one(rows.start..begin, gathered, take)?;
            let (rest, spans) = (begin..rows.end, wanted.map(ticks));
            let mut ends = Ends::default();
            let windows = (spans.reach(), &mut Order::new());
            let end = steps(gaps, labels, rest, windows, |start, labels, k, near, distances| {
                if k == 1 {
                    look(&mut ends, start, labels, pair);
                    gathered.begin(take);
                }
                let [forward, back] = inside(ends.pairs(k), near, distances, &spans);
                if pair[0] == pair[1] {
                    write(distances, forward, 0, low, gathered);
                    write(distances, back, back, low, gathered);
                } else {
                    write(distances, forward | back, back, low, gathered);
                }
            });
            let end = end.inspect_err(|_| gathered.give_up())?;
            one_by_one(end..rows.end, gathered, take)
        }
    };
}

pub(super) use difference_kernel;
