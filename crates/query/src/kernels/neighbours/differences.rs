//! The kernel of differences, built from the instructions of a level, written once.

/// Defines `differences` for a column and a level with these target features, beside its kernels of neighbours. The
/// level provides `write`, which writes differences less the smallest, and the column `Difference` and
/// `WRITE_SELECTS`: whether `write` omits differences that are not wanted.
macro_rules! difference_kernel {
    ($features:literal) => {
        /// See [`crate::kernels::neighbours::differences`].
        #[target_feature(enable = $features)]
        pub(in crate::kernels::neighbours) fn differences(
            values: &[Value],
            labels: &[u8],
            rows: Range<usize>,
            pair: [u8; 2],
            wanted: &PairDistances,
            gathered: &mut Gathered<Difference>,
            take: &mut impl FnMut(&mut [Difference]),
        ) -> Result<(), usize> {
            let begin = ROWS.clamp(rows.start, rows.end);
            let head = rows.start..begin;
            scalar::differences_of(values, labels, head, pair, wanted, gathered, take)?;
            let (rest, spans) = (begin..rows.end, wanted.map(ticks));
            let range = wanted.range();
            let (mut ends, mut order) = (Ends::default(), Order::new());
            let windows = (spans.reach(), &mut order);
            let end = steps(values, labels, rest, windows, |start, labels, k, near, distances| {
                if k == 1 {
                    look(&mut ends, start, labels, pair);
                    gathered.begin(take);
                }
                let pairs = ends.pairs(k);
                let [forward, back] = if WRITE_SELECTS {
                    pairs.map(|pairs| pairs & near)
                } else {
                    inside(pairs, near, distances, &spans)
                };
                if pair[0] == pair[1] {
                    write(distances, forward, 0, &range, gathered);
                    write(distances, back, back, &range, gathered);
                } else {
                    write(distances, forward | back, back, &range, gathered);
                }
            });
            let end = end.inspect_err(|_| gathered.give_up())?;
            scalar::differences_of(values, labels, end..rows.end, pair, wanted, gathered, take)?;
            if is_in_order(order, values, &rows) { Ok(()) } else { Err(rows.start) }
        }
    };
}

pub(super) use difference_kernel;
