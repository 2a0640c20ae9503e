//! The key of a query: identical for all queries that count the same thing (docs/partials.md).

use super::Coincidences;
use crate::{
    partial::words::{channels, delays, numbers},
    rules::{groups::Groups, rule::Rule, veto::Veto},
};

impl Coincidences {
    /// Returns the key of the query, without its range.
    pub(super) fn key(&self) -> String {
        // No `..` here: a new field must be added to the key.
        let Self { groups, rule, window, veto, scope } = self;
        let every = |size: usize| format!("every {size} {}", channels(scope));
        let asked = match (groups, rule) {
            (_, Rule::Cluster) => channels(scope),
            (Groups::EveryPair, _) => every(2),
            (Groups::EveryFold(size), _) => every(*size),
            (Groups::Listed(groups), _) => {
                let mut listed: Vec<String> = groups.iter().map(|group| numbers(group)).collect();
                listed.sort_unstable();
                listed.dedup();
                format!("groups {}", listed.join(" "))
            }
        };
        let vetoed = veto.as_ref().map_or(String::new(), |Veto { channels, guard }| {
            let mut channels = channels.clone();
            channels.sort_unstable();
            channels.dedup();
            format!("; veto {} within {guard}", numbers(&channels))
        });
        let delays = delays(scope, self.touched().as_deref());
        format!("coincidences; rule {}; window {window}; {asked}{vetoed}{delays}", word(*rule))
    }

    /// Returns the channels whose tags can affect the result; `None` if all can.
    fn touched(&self) -> Option<Vec<u16>> {
        let mut touched = match &self.groups {
            Groups::Listed(groups) if self.rule != Rule::Cluster => groups.concat(),
            _ => self.scope.channels.clone()?,
        };
        touched.extend(self.veto.iter().flat_map(|veto| &veto.channels));
        Some(touched)
    }
}

fn word(rule: Rule) -> &'static str {
    match rule {
        Rule::All => "all",
        Rule::Herald => "herald",
        Rule::PerHerald => "herald-once",
        Rule::Once => "once",
        Rule::Cluster => "cluster",
        Rule::Grid => "grid",
    }
}
