//! Several runs as one answer.

use crate::{ChannelFacts, Error, Run, RunFacts};

/// There is nothing to add up.
pub(super) fn nothing() -> Error {
    Error::Question("a sum is of at least one run".into())
}

/// Whether what was asked means the same in all runs.
pub(super) fn check_alike<'a, T: PartialEq>(
    meant: impl Iterator<Item = (&'a Run, T)>,
) -> Result<(), Error> {
    let mut first: Option<(&Run, T)> = None;
    for (run, meaning) in meant {
        match &first {
            None => first = Some((run, meaning)),
            Some((_, before)) if *before == meaning => {}
            Some((before, _)) => {
                return Err(Error::Question(format!(
                    "--sum adds what was counted alike, and {} and {} differ in tick, delays, groups or \
                     vetoes; give one --setup or --tick for all, or leave --sum out",
                    before.path().display(),
                    run.path().display()
                )));
            }
        }
    }
    Ok(())
}

impl RunFacts {
    /// Several runs together: tags, sources and times are added; tick and names are those of the first.
    pub(super) fn sum(all: impl Iterator<Item = Self>) -> Self {
        let mut all = all.collect::<Vec<_>>().into_iter();
        let Some(mut sum) = all.next() else { unreachable!("a sum is of at least one run") };
        for more in all {
            sum.path = format!("{} + {}", sum.path, more.path);
            sum.tick_assumed |= more.tick_assumed;
            sum.tags += more.tags;
            sum.sources += more.sources;
            sum.live_s += more.live_s;
            sum.elapsed_s += more.elapsed_s;
            for ChannelFacts { channel, name, count } in more.channels {
                match sum.channels.iter_mut().find(|of| of.channel == channel) {
                    Some(of) => of.count += count,
                    None => sum.channels.push(ChannelFacts { channel, name, count }),
                }
            }
        }
        sum.channels.sort_by_key(|of| of.channel);
        sum
    }
}
