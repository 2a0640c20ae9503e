//! Several runs as one answer.

use crate::{ChannelFacts, Error, Run, RunFacts};

/// Two runs in which the request does not mean the same.
pub(super) fn unlike(one: &Run, other: &Run) -> Error {
    Error::Question(format!(
        "--sum adds what was counted alike, and {} and {} differ in tick, delays, groups or \
         vetoes; give one --setup or --tick for all, or leave --sum out",
        one.path().display(),
        other.path().display()
    ))
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
