//! The counts that every format is scanned for: tags of each channel, and pairs of different channels.

use std::ops::Range;

/// What a scan counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Tags of each channel.
    pub singles: Vec<u64>,
    /// Pairs of tags of different channels within the window.
    pub pairs: u64,
}

/// A plain walk by two pointers over tags in order of time, batch by batch.
#[derive(Debug)]
pub struct Walk {
    window: i64,
    singles: [u64; 256],
    pairs: u64,
    /// Tags of earlier batches within the window of the last one.
    tail: Vec<(i64, u8)>,
}

impl Walk {
    /// Starts to count pairs with a time difference of at most `window` ticks.
    pub fn new(window: i64) -> Self {
        Self { window, singles: [0; 256], pairs: 0, tail: Vec::new() }
    }

    /// Counts the tags of the rows of a batch, which `tag` reads. They come after those of earlier batches.
    pub fn batch(&mut self, rows: Range<usize>, tag: impl Fn(usize) -> (i64, u8)) {
        let mut first = rows.start;
        let mut earliest = i64::MIN;
        for row in rows.clone() {
            let (time, channel) = tag(row);
            earliest = time - self.window;
            self.singles[usize::from(channel)] += 1;
            if !self.tail.is_empty() {
                self.tail.retain(|&(time, _)| time >= earliest);
                let others = self.tail.iter().filter(|&&(_, other)| other != channel);
                self.pairs += others.count() as u64;
            }
            while tag(first).0 < earliest {
                first += 1;
            }
            let others = (first..row).filter(|&row| tag(row).1 != channel);
            self.pairs += others.count() as u64;
        }
        self.tail.retain(|&(time, _)| time >= earliest);
        self.tail.extend((first..rows.end).map(tag));
    }

    /// Returns the counts.
    pub fn finish(self) -> Counts {
        Counts { singles: self.singles.to_vec(), pairs: self.pairs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_across_batches_count_once() {
        // Within 2 ticks: 0-1, 0-2, 1-2 of channels 1, 2, 1, of which two differ; 5-5 and 5-7 twice.
        let tags = [(0, 1), (1, 2), (2, 1), (5, 1), (5, 2), (7, 3)];
        for len in 1..=tags.len() {
            let mut walk = Walk::new(2);
            for batch in tags.chunks(len) {
                walk.batch(0..batch.len(), |row| batch[row]);
            }
            let counts = walk.finish();
            assert_eq!(counts.pairs, 2 + 3, "batches of {len}");
            assert_eq!(counts.singles[..4], [0, 3, 2, 1]);
        }
    }
}
