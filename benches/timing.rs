//! Cases timed in turn, and their results.

use std::{cell::LazyCell, env, rc::Rc, time::Instant};

/// A known answer, computed when a timed case needs it, and shared.
pub type Answer<'a> = Rc<LazyCell<Vec<u64>, Box<dyn FnOnce() -> Vec<u64> + 'a>>>;

/// Returns the answer that `make` computes.
pub fn answer<'a>(make: impl FnOnce() -> Vec<u64> + 'a) -> Option<Answer<'a>> {
    Some(Rc::new(LazyCell::new(Box::new(make))))
}

/// A case to time. It returns its answer, which must be the same every time.
pub struct Case<'a> {
    /// Name for the output.
    pub name: String,
    /// Runs the case once.
    pub run: Box<dyn FnMut() -> Vec<u64> + 'a>,
    /// The expected answer, or `None` to compare with its own first answer.
    pub answer: Option<Answer<'a>>,
}

/// Cases over one run; the first is the floor.
pub struct Suite<'a> {
    /// Rows scanned by each case.
    pub rows: u64,
    /// Bytes per row.
    pub row_bytes: u64,
    /// The cases.
    pub cases: Vec<Case<'a>>,
}

impl Suite<'_> {
    /// Times every case `rounds` times, one after another in each round, and prints the medians. Words on the
    /// command line select the cases whose names contain one of them; the floor always runs.
    ///
    /// # Panics
    /// Panics if an answer differs from the expected one.
    pub fn run(&mut self, rounds: usize) {
        let words: Vec<String> = env::args().skip(1).filter(|word| word != "--bench").collect();
        let mut is_first = true;
        self.cases.retain(|case| {
            let is_named = words.is_empty() || words.iter().any(|word| case.name.contains(word));
            std::mem::take(&mut is_first) || is_named
        });
        let mut seconds = vec![Vec::new(); self.cases.len()];
        let mut firsts = vec![None; self.cases.len()];
        for round in 0..=rounds {
            let cases = self.cases.iter_mut().zip(&mut firsts).zip(&mut seconds);
            for ((case, first), seconds) in cases {
                let start = Instant::now();
                let answer = (case.run)();
                let taken = start.elapsed().as_secs_f64();
                if let Some(known) = &case.answer {
                    assert_eq!(answer, ***known, "{}", case.name);
                } else {
                    let expected = first.get_or_insert_with(|| answer.clone());
                    assert_eq!(answer, *expected, "{}", case.name);
                }
                // The first round fills the caches and is not recorded.
                if round > 0 {
                    seconds.push(taken);
                }
            }
        }
        let median = |seconds: &mut Vec<f64>| {
            seconds.sort_by(f64::total_cmp);
            seconds[seconds.len() / 2]
        };
        let medians: Vec<f64> = seconds.iter_mut().map(median).collect();
        println!("{:<44} {:>9} {:>9} {:>8} {:>8}", "", "ms", "Mrows/s", "GB/s", "floor");
        for (case, &taken) in self.cases.iter().zip(&medians) {
            let rows = self.rows as f64 / taken;
            println!(
                "{:<44} {:>9.1} {:>9.0} {:>8.2} {:>7.1}%",
                case.name,
                taken * 1e3,
                rows / 1e6,
                rows * self.row_bytes as f64 / 1e9,
                medians[0] / taken * 100.0
            );
        }
    }
}
