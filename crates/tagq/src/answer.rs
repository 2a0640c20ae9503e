//! Answers as every program wants them: what was asked, of which run, and columns of rows.

use std::borrow::Cow;

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap as _, SerializeSeq as _},
};
use tagq_store::Tick;

use crate::{Cells, Run};

/// What was asked, of what, and what came out.
#[derive(Debug, Clone)]
pub struct Answer {
    /// What was asked and what was done, on one line.
    pub header: String,
    /// The query as it was counted, key by key (docs/queries.md, section "Output").
    pub query: serde_json::Value,
    /// The run it was counted over.
    pub run: RunFacts,
    /// What came out.
    pub rows: Columns,
}

/// The run that was counted over.
#[derive(Debug, Clone, Serialize)]
pub struct RunFacts {
    /// What was named.
    pub path: String,
    /// A fraction of attoseconds.
    pub tick: String,
    /// Whether nobody confirmed the tick.
    pub tick_assumed: bool,
    /// The store's commit.
    pub commit: u64,
    /// Tags of all channels.
    pub tags: u64,
    /// Number of sources.
    pub sources: usize,
    /// Live time of the whole run in seconds.
    pub live_s: f64,
    /// Last minus first time of the run in seconds.
    pub elapsed_s: f64,
    /// Tags by channel.
    pub channels: Vec<ChannelFacts>,
    /// The names that the setup gives, also to channels without tags.
    #[serde(skip)]
    pub names: Vec<(u16, String)>,
}

/// The tags of one channel of a run.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelFacts {
    /// The channel.
    pub channel: u16,
    /// Its name, when the setup has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its tags.
    pub count: u64,
}

impl RunFacts {
    /// What is known of a run, with the names that a setup gives to its channels.
    pub fn named(run: &Run, setup: &crate::ask::Setup) -> Self {
        let mut facts = Self::of(run);
        facts.names.clone_from(&setup.names);
        for of in &mut facts.channels {
            let name = setup.names.iter().find(|(channel, _)| *channel == of.channel);
            of.name = name.map(|(_, name)| name.clone());
        }
        facts
    }

    /// What is known of a run.
    pub fn of(run: &Run) -> Self {
        let manifest = run.store().manifest();
        let tick: Tick = manifest.tick;
        let channels = manifest.channels.iter().map(|of| ChannelFacts {
            channel: of.channel,
            name: None,
            count: of.rows,
        });
        Self {
            path: run.path().display().to_string(),
            tick: tick.fraction(),
            tick_assumed: manifest.tick_assumed,
            commit: manifest.commit,
            tags: manifest.rows,
            sources: manifest.sources.len(),
            live_s: tick.seconds_of(run.live_ticks()),
            elapsed_s: tick.seconds_of(run.elapsed_ticks()),
            channels: channels.collect(),
            names: Vec::new(),
        }
    }
}

/// Columns of equal length.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Columns {
    columns: Vec<Column>,
}

/// One column: the key of docs/queries.md, and a value for each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The key.
    pub name: Cow<'static, str>,
    /// The values.
    pub values: Values,
}

/// The values of a column. What is not defined is absent.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers of things.
    Counts(Cells<u64>),
    /// Ticks, rows.
    Integers(Cells<i64>),
    /// The same, absent where a channel is not in the row's group.
    SomeIntegers(Cells<Option<i64>>),
    /// Everything else that is measured.
    Floats(Cells<Option<f64>>),
    /// Yes or no.
    Flags(Cells<bool>),
    /// Channels; absent for all of them together.
    Channels(Cells<Option<u16>>),
    /// The channels of groups.
    Groups(Cells<Vec<u16>>),
    /// Numbers of things for each channel of a group.
    CountLists(Cells<Vec<u64>>),
    /// Measures for each channel of a group.
    FloatLists(Cells<Vec<Option<f64>>>),
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Counts(values) => values.len(),
            Self::Integers(values) => values.len(),
            Self::SomeIntegers(values) => values.len(),
            Self::Floats(values) => values.len(),
            Self::Flags(values) => values.len(),
            Self::Channels(values) => values.len(),
            Self::Groups(values) => values.len(),
            Self::CountLists(values) => values.len(),
            Self::FloatLists(values) => values.len(),
        }
    }
}

impl Columns {
    /// Adds a column.
    ///
    /// # Panics
    /// When it has not as many values as the others.
    #[must_use]
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, values: Values) -> Self {
        let name = name.into();
        let len = self.columns.first().map_or(values.len(), |first| first.values.len());
        assert_eq!(values.len(), len, "{name}: a value for each row");
        self.columns.push(Column { name, values });
        self
    }

    /// Puts other columns behind that of the key `behind`; at the end where it is not there.
    ///
    /// # Panics
    /// When they have not as many values as the others.
    #[must_use]
    pub(crate) fn with_behind(mut self, behind: &str, others: Self) -> Self {
        let at = self.columns.iter().position(|column| column.name == behind);
        let rest = self.columns.split_off(at.map_or(self.columns.len(), |at| at + 1));
        let columns = others.columns.into_iter().chain(rest);
        columns.fold(self, |all, Column { name, values }| all.with(name, values))
    }

    /// The columns, in the order of the keys.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of this key.
    pub fn get(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows, one by one.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|at| Row { columns: &self.columns, at })
    }
}

/// One row; serialises as an object of the keys.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [Column],
    at: usize,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.columns.len()))?;
        let at = self.at;
        for Column { name, values } in self.columns {
            match values {
                Values::Counts(values) => map.serialize_entry(name, &values.at(at))?,
                Values::Integers(values) => map.serialize_entry(name, &values.at(at))?,
                Values::SomeIntegers(values) => map.serialize_entry(name, &values.at(at))?,
                Values::Floats(values) => map.serialize_entry(name, &values.at(at))?,
                Values::Flags(values) => map.serialize_entry(name, &values.at(at))?,
                Values::Channels(values) => map.serialize_entry(name, &values.at(at))?,
                Values::Groups(values) => map.serialize_entry(name, &values.at(at))?,
                Values::CountLists(values) => map.serialize_entry(name, &values.at(at))?,
                Values::FloatLists(values) => map.serialize_entry(name, &values.at(at))?,
            }
        }
        map.end()
    }
}

impl Serialize for Columns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(Some(self.len()))?;
        self.rows().try_for_each(|row| rows.serialize_element(&row))?;
        rows.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_objects_in_the_order_of_the_columns() {
        let columns = Columns::default()
            .with("channels", Values::Groups(vec![vec![3, 15], vec![3, 16]].into()))
            .with("count", Values::Counts(vec![61, u64::MAX].into()))
            .with("car", Values::Floats(vec![None, Some(0.5)].into()));
        assert_eq!(
            serde_json::to_string(&columns).unwrap(),
            r#"[{"channels":[3,15],"count":61,"car":null},{"channels":[3,16],"count":18446744073709551615,"car":0.5}]"#
        );
        assert_eq!((columns.len(), columns.get("count").is_some()), (2, true));
        assert!(Columns::default().is_empty());
    }
}
