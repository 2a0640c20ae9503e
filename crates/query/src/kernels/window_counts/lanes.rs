//! The kernels of a level of vector instructions, written once.
//!
//! A level provides `Edges`, the values at the edges of a tile of rows, and `Vector`, with `spread`, `shuffle`, `or`,
//! `multiply_narrow`, `multiply`, `load`, `add` and `store` on lanes of 32 bits. It is a macro for the reason that
//! [`super::super::columns`] gives.

/// The rows of a tile. Its edges are found together.
pub(super) const TILE: usize = 8;
/// The earlier rows that a tile is compared with at once: rarely do more lie between the edges of its first and last
/// row.
pub(super) const OTHERS: usize = 16;

/// Defines `at_edges`, `products` and `one_product` for a level with these target features.
macro_rules! kernels {
    ($features:literal) => {
        /// See [`super::at_edges`]. Two walks take turns: where the next tile begins is known only when one is done.
        #[target_feature(enable = $features)]
        pub(super) fn at_edges(
            time: &[i64],
            rows: Range<usize>,
            beyond: i64,
            values: &[u64],
            into: &mut [u64],
        ) {
            let half = into.len() / 2 / TILE * TILE;
            let (early, rest) = into.split_at_mut(half);
            let (late, rest) = rest.split_at_mut(half);
            let first = [rows.start, rows.start + half];
            let [mut early_edge, mut late_edge] = first.map(|row| scalar::edge(time, row, beyond));
            let list = (time, values, beyond);
            let tiles = early.as_chunks_mut().0.iter_mut().zip(late.as_chunks_mut().0);
            for (tile, (early, late)) in tiles.enumerate() {
                let tiles = first.map(|row| time[row + tile * TILE..].first_chunk());
                let [Some(early_tile), Some(late_tile)] = tiles else { return };
                let mut early_edges = Edges::new(early_tile, beyond, values[early_edge]);
                let mut late_edges = Edges::new(late_tile, beyond, values[late_edge]);
                let early_passed = early_edges.pass(time, values, early_edge);
                let late_passed = late_edges.pass(time, values, late_edge);
                early_edge = early_edges.finish(list, early_edge, early_passed, early_tile, early);
                late_edge = late_edges.finish(list, late_edge, late_passed, late_tile, late);
            }
            scalar::at_edges(time, rows.start + 2 * half..rows.end, beyond, values, rest);
        }

        impl Edges {
            /// Moves the edges past the next times, from row `at` on, with the value after each. Returns how many of
            /// them are beyond the edge of the last row; [`OTHERS`], if more may be, or if there are fewer times.
            #[inline]
            #[target_feature(enable = $features)]
            fn pass(&mut self, time: &[i64], values: &[u64], at: usize) -> usize {
                match (time[at..].first_chunk(), values[at + 1..].first_chunk()) {
                    (Some(others), Some(after)) => self.pass_others(others, after),
                    _ => OTHERS,
                }
            }

            /// Writes the values at the edges of the rows of a tile, with the edge `before` it, after which so many
            /// times were passed. Returns the edge of its last row.
            #[inline]
            #[target_feature(enable = $features)]
            fn finish(
                self,
                list: (&[i64], &[u64], i64),
                before: usize,
                passed: usize,
                tile: &[i64; TILE],
                into: &mut [u64; TILE],
            ) -> usize {
                if passed < OTHERS {
                    self.write(into);
                    return before + passed;
                }
                self.pass_more(list, before, tile, into)
            }

            /// Passes more times than at once, or few at the end.
            #[cold]
            #[target_feature(enable = $features)]
            fn pass_more(
                mut self,
                list: (&[i64], &[u64], i64),
                before: usize,
                tile: &[i64; TILE],
                into: &mut [u64; TILE],
            ) -> usize {
                let (time, values, _) = list;
                let mut at = before;
                while time.len() - at >= OTHERS {
                    let passed = self.pass(time, values, at);
                    at += passed;
                    if passed < OTHERS {
                        self.write(into);
                        return at;
                    }
                }
                scalar::tile_at_edges(list, before, tile, into)
            }
        }

        /// See [`super::products`]; adds `rows` rows at once to sums of 32 bits.
        #[target_feature(enable = $features)]
        pub(super) fn products<const L: usize>(
            windows: &Windows<'_, u16, L>,
            products: &Products,
            rows: usize,
            sums: &mut Sums,
        ) {
            match products.size {
                1 => products_of::<L, 1>(windows, products, rows, sums),
                2 => products_of::<L, 2>(windows, products, rows, sums),
                3 => products_of::<L, 3>(windows, products, rows, sums),
                4 => products_of::<L, 4>(windows, products, rows, sums),
                size => unreachable!("products of {size} factors"),
            }
        }

        /// Adds products of F factors, up to four vectors of them at once.
        #[target_feature(enable = $features)]
        fn products_of<const L: usize, const F: usize>(
            windows: &Windows<'_, u16, L>,
            products: &Products,
            rows: usize,
            sums: &mut Sums,
        ) {
            const LANES: usize = Vector::LANES;
            let mut first = 0;
            while first < products.most {
                let left = (products.most - first).div_ceil(LANES);
                match left {
                    1 => add_vectors::<L, F, 1>(windows, products, first, rows, sums),
                    2 => add_vectors::<L, F, 2>(windows, products, first, rows, sums),
                    3 => add_vectors::<L, F, 3>(windows, products, first, rows, sums),
                    _ => add_vectors::<L, F, 4>(windows, products, first, rows, sums),
                }
                first += 4 * LANES;
            }
        }

        /// Adds V vectors of products, from the one in place `first` on.
        #[target_feature(enable = $features)]
        fn add_vectors<const L: usize, const F: usize, const V: usize>(
            windows: &Windows<'_, u16, L>,
            products: &Products,
            first: usize,
            rows: usize,
            sums: &mut Sums,
        ) {
            // The places of each factor in the first and the second half of the counts, for each number.
            let of_factor = |products: &[[u8; F]], factor: usize| {
                let mut halves = [[u8::MAX; Vector::LANES]; 2];
                for (lane, product) in products.iter().enumerate() {
                    let number = product[factor];
                    halves[usize::from(number >= HALF)][lane] = number % HALF;
                }
                halves.map(|half| Vector::places(&half))
            };
            let of_number = |factors: &Vec<u8>| -> [[[Vector; 2]; F]; V] {
                let products = factors.as_chunks::<F>().0.get(first..).unwrap_or_default();
                let mut vectors = products.chunks(Vector::LANES);
                std::array::from_fn(|_| {
                    let products = vectors.next().unwrap_or_default();
                    std::array::from_fn(|factor| of_factor(products, factor))
                })
            };
            // All counts have the same places for every number.
            let are_shared = products.factors.windows(2).all(|two| two[0] == two[1]);
            let with_places = if are_shared { 1 } else { products.factors.len() };
            let places: Vec<_> = products.factors[..with_places].iter().map(of_number).collect();
            for part in windows.parts(rows) {
                sums.add_narrow(first, V * Vector::LANES, |sums| {
                    add_part(&part, &places, sums.as_chunks_mut().0);
                });
            }
        }

        /// Adds the products of these rows.
        #[target_feature(enable = $features)]
        fn add_part<const L: usize, const F: usize, const V: usize>(
            windows: &Windows<'_, u16, L>,
            places: &[[[[Vector; 2]; F]; V]],
            sums: &mut [[u32; Vector::LANES]],
        ) {
            let are_shared = places.len() == 1;
            let (sums, _) = sums.as_chunks_mut::<V>();
            let one = _mm_set1_epi16(1);
            let [from, to] = windows.ends;
            for ((&from, &to), &number) in from.iter().zip(to).zip(windows.number) {
                let [from, to] = [from, to].map(|row| &windows.before[index(row)]);
                let half = |first: u8| {
                    let first = usize::from(first);
                    let [from, to] = [from, to].map(|counts| load_half(&counts[first..]));
                    let counts = _mm_sub_epi16(to, from);
                    Vector::spread(if windows.once { _mm_min_epu16(counts, one) } else { counts })
                };
                let low = half(0);
                let high = if L > usize::from(HALF) { half(HALF) } else { low };
                let sums = &mut sums[usize::from(number)];
                let places = &places[if are_shared { 0 } else { number.into() }];
                for (places, sums) in places.iter().zip(sums) {
                    let factor = |factor: usize| {
                        let [of_low, of_high] = places[factor];
                        let counts = low.shuffle(of_low);
                        if L > usize::from(HALF) {
                            counts.or(high.shuffle(of_high))
                        } else {
                            counts
                        }
                    };
                    let mut product = factor(0);
                    if F > 1 {
                        product = product.multiply_narrow(factor(1));
                    }
                    for more in 2..F {
                        product = product.multiply(factor(more));
                    }
                    Vector::load(sums).add(product).store(sums);
                }
            }
        }

        /// Loads eight counts.
        #[inline]
        #[target_feature(enable = $features)]
        fn load_half(counts: &[u16]) -> __m128i {
            let counts = &counts[..usize::from(HALF)];
            // SAFETY: `counts` has 16 readable bytes; the load needs no alignment.
            unsafe { _mm_loadu_si128(counts.as_ptr().cast()) }
        }

        /// See [`super::one_product`].
        #[target_feature(enable = $features)]
        pub(super) fn one_product(product: OneProduct, own: [&[u64]; 2], ends: [&[u64]; 2]) -> u64 {
            scalar::one_product(product, own, ends)
        }
    };
}

pub(super) use kernels;

/// The counts that one shuffle chooses from.
pub(super) const HALF: u8 = 8;
