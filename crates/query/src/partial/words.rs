//! Queries in words, the same for all that count the same.

use crate::{Bins, Coincidences, Fold, Groups, Histogram, Mode, Rates, Rule, Scope};

impl Coincidences {
    pub(crate) fn in_words(&self) -> String {
        let rule = match self.rule {
            Rule::All => "all",
            Rule::Herald => "herald",
            Rule::PerHerald => "herald-once",
            Rule::Once => "once",
            Rule::Cluster => "cluster",
            Rule::Grid => "grid",
        };
        let every = |size: usize| format!("every {size} {}", channels(&self.scope));
        let groups = match (&self.groups, self.rule) {
            (_, Rule::Cluster) => channels(&self.scope),
            (Groups::EveryPair, _) => every(2),
            (Groups::EveryFold(size), _) => every(*size),
            (Groups::Listed(groups), _) => {
                let mut listed: Vec<String> = groups.iter().map(|group| numbers(group)).collect();
                listed.sort_unstable();
                listed.dedup();
                format!("groups {}", listed.join(" "))
            }
        };
        let veto = self.veto.as_ref().map_or(String::new(), |veto| {
            let mut channels = veto.channels.clone();
            channels.sort_unstable();
            channels.dedup();
            format!("; veto {} within {}", numbers(&channels), veto.guard)
        });
        let delays = delays(&self.scope, self.touched().as_deref());
        format!("coincidences; rule {rule}; window {}; {groups}{veto}{delays}", self.window)
    }

    /// The channels whose tags can matter; nothing when any can.
    fn touched(&self) -> Option<Vec<u16>> {
        let mut touched = match &self.groups {
            Groups::Listed(groups) if self.rule != Rule::Cluster => groups.concat(),
            _ => self.scope.channels.clone()?,
        };
        touched.extend(self.veto.iter().flat_map(|veto| &veto.channels));
        Some(touched)
    }
}

impl Histogram {
    pub(crate) fn in_words(&self) -> String {
        let mode = match self.mode {
            Mode::All => "all",
            Mode::Grid => "grid",
            Mode::Next => "next",
            Mode::Last => "last",
        };
        let bins = match &self.bins {
            Bins::Linear { low, width, count } => format!("{count} of {width} from {low}"),
            Bins::Edges(edges) => {
                let edges: Vec<String> = edges.iter().map(i64::to_string).collect();
                format!("at {}", edges.join(","))
            }
        };
        let fold = match self.fold {
            None => String::new(),
            Some(Fold::Period(period)) => {
                format!("; period {}/{}", period.numerator, period.denominator)
            }
            Some(Fold::SyncDivider(divider)) => format!("; sync divided by {divider}"),
        };
        let delays = delays(&self.scope, Some(&[self.start, self.stop]));
        format!(
            "histogram; mode {mode}; {} to {}; bins {bins}{fold}{delays}",
            self.start, self.stop
        )
    }
}

impl Rates {
    pub(crate) fn in_words(&self) -> String {
        let delays = delays(&self.scope, self.scope.channels.as_deref());
        format!("rates; {}{delays}", channels(&self.scope))
    }
}

fn channels(scope: &Scope) -> String {
    scope.channels.as_ref().map_or("of all channels".to_owned(), |channels| {
        let mut channels = channels.clone();
        channels.sort_unstable();
        channels.dedup();
        format!("of channels {}", numbers(&channels))
    })
}

/// The delays of the channels `touched`, or of all, that move anything.
fn delays(scope: &Scope, touched: Option<&[u16]>) -> String {
    let is_touched = |channel: &u16| touched.is_none_or(|touched| touched.contains(channel));
    let delays = scope.delays.iter().filter(|delay| delay.ticks != 0);
    let mut delays: Vec<(u16, i64)> = delays.map(|delay| (delay.channel, delay.ticks)).collect();
    delays.retain(|(channel, _)| is_touched(channel));
    delays.sort_unstable();
    delays.dedup();
    let words = delays.iter().map(|(channel, ticks)| format!("; {channel} delayed {ticks}"));
    words.collect::<Vec<_>>().concat()
}

fn numbers(channels: &[u16]) -> String {
    let numbers: Vec<String> = channels.iter().map(u16::to_string).collect();
    numbers.join(",")
}
