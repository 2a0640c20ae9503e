//! The tuples of a coincidence query, in batches.
//!
//! If channel 2 has a delay of −2 ticks, a pair of tags at 100 on channel 1 and at 103 on channel 2 has `dt_1` 0 and
//! `dt_2` 1. `time_2` is 103, as recorded, so that a row can be found again in its file. Every batch has the same
//! columns, those of the head.

use std::{io, ops::ControlFlow};

use tagq_query::{ClusterTag, Coincidences as Query, Execution, Rule, ScanProgress, Tuples};
use tagq_run::Run;

use crate::{
    answer::Answer,
    error::Error,
    requests::context::QueryContext,
    table::{Column, Table, Unit},
};

/// A list that is still to be computed (docs/queries.md, section "Lists"): its head, then its rows in
/// batches of columns, in time order. Only one batch is in memory at a time, whatever the number of
/// rows.
pub struct Listing<'a> {
    run: Run,
    pool: &'a rayon::ThreadPool,
    /// By which it is cancelled.
    scan: Option<&'a ScanProgress>,
    is_joined: bool,
    query: Query,
    shape: Shape,
    head: Answer,
}

/// The content of the rows.
enum Shape {
    Tuples {
        groups: Vec<Vec<u16>>,
        /// The channels of all groups, in order of appearance, and the delay of each.
        channels: Vec<(u16, i64)>,
    },
    /// One row per tag of a cluster.
    Clusters,
}

impl std::fmt::Debug for Listing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listing").field("query", &self.query).finish_non_exhaustive()
    }
}

impl<'a> Listing<'a> {
    pub(super) fn new(
        run: Run,
        context: &QueryContext<'a>,
        is_joined: bool,
        query: Query,
        groups: Vec<Vec<u16>>,
        head: impl FnOnce(Table) -> Result<Answer, Error>,
    ) -> Result<Self, Error> {
        let shape = if query.rule == Rule::Cluster {
            Shape::Clusters
        } else {
            let mut channels: Vec<(u16, i64)> = Vec::new();
            for &channel in groups.iter().flatten() {
                if channels.iter().all(|(other, _)| *other != channel) {
                    channels.push((channel, query.scope.delay_of(channel)));
                }
            }
            Shape::Tuples { groups, channels }
        };
        let none = match &shape {
            Shape::Tuples { groups, channels } => tuples(&Tuples::default(), groups, channels),
            Shape::Clusters => clusters(&[], &query),
        };
        let mut head = head(none)?;
        head.rows = head.rows.with_names(&head.run.names);
        let (pool, scan) = (context.pool, context.progress.scan());
        Ok(Self { run, pool, scan, is_joined, query, shape, head })
    }

    /// Returns the query and the run; its columns are those of every batch, without rows.
    pub fn head(&self) -> &Answer {
        &self.head
    }

    /// Returns the number of channels of the largest group; 0 for clusters.
    pub fn widest_group(&self) -> usize {
        match &self.shape {
            Shape::Tuples { groups, .. } => groups.iter().map(Vec::len).max().unwrap_or(0),
            Shape::Clusters => 0,
        }
    }

    /// Passes all rows to `take`, in batches. Stops at the first error.
    ///
    /// # Errors
    /// Errors of the query, and those of `take` as [`Error::Output`].
    pub fn stream(
        &self,
        take: &mut (dyn FnMut(Table) -> io::Result<()> + Send),
    ) -> Result<(), Error> {
        let mut fault = None;
        let mut give = |columns: Table| match take(columns.with_names(&self.head.run.names)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                fault = Some(error);
                ControlFlow::Break(())
            }
        };
        let query = &self.query;
        let execution = Execution::best();
        self.run.count_as(self.is_joined, self.scan, |recording| {
            self.pool.install(|| match &self.shape {
                Shape::Tuples { groups, channels } => {
                    query.list(recording, &execution, &mut |batch| {
                        give(tuples(batch, groups, channels))
                    })
                }
                Shape::Clusters => query.list_clusters(recording, &execution, &mut |batch| {
                    give(clusters(batch, query))
                }),
            })
        })?;
        fault.map_or(Ok(()), |fault| Err(Error::Output(fault)))
    }
}

/// Converts a row number; it fits because all rows of a run fit in the address space.
fn row_number(row: u64) -> i64 {
    row.cast_signed()
}

fn tuples(batch: &Tuples, groups: &[Vec<u16>], channels: &[(u16, i64)]) -> Table {
    let mut columns = Table::default();
    if groups.len() != 1 {
        let of = batch.iter().map(|tuple| groups[tuple.group].clone());
        columns = columns.with(Column::groups("channels", of.collect()));
    }
    let time = Column::integers("time", batch.iter().map(|tuple| tuple.time).collect());
    columns = columns.with(time.about("delayed time of the latest tag, in ticks"));
    // The position of a channel in each group.
    for &(channel, delay) in channels {
        let places: Vec<Option<usize>> =
            groups.iter().map(|group| group.iter().position(|&of| of == channel)).collect();
        let first_delay = |group: usize| {
            let first = groups[group][0];
            channels.iter().find(|(of, _)| *of == first).map_or(0, |(_, delay)| *delay)
        };
        let first_delays: Vec<i64> = (0..groups.len()).map(first_delay).collect();
        let mut row = Vec::with_capacity(batch.len());
        let mut time = Vec::with_capacity(batch.len());
        let mut dt = Vec::with_capacity(batch.len());
        for tuple in batch.iter() {
            let tag = places[tuple.group].map(|place| tuple.tags[place]);
            row.push(tag.map(|tag| row_number(tag.row)));
            time.push(tag.map(|tag| tag.time));
            // Delayed times of a source and their differences fit.
            let first = tuple.tags[0].time + first_delays[tuple.group];
            dt.push(tag.map(|tag| tag.time + delay - first));
        }
        for (name, values, about) in [
            ("row", row, ""),
            ("time", time, "time as recorded, in ticks"),
            ("dt", dt, "delayed time after that of the first channel of the group, in ticks"),
        ] {
            let values = integers(format!("{name}_{channel}"), values, groups.len());
            columns = columns.with(values.about(about));
        }
    }
    columns
}

/// Every channel is in the only group.
fn integers(key: String, values: Vec<Option<i64>>, groups: usize) -> Column {
    match groups {
        1 => Column::integers(key, values.into_iter().flatten().collect()),
        _ => Column::some_integers(key, values.into()),
    }
}

fn clusters(batch: &[ClusterTag], query: &Query) -> Table {
    let of = |key: &'static str, value: fn(&ClusterTag) -> i64| {
        Column::integers(key, batch.iter().map(value).collect())
    };
    let dt = |of: &ClusterTag| of.tag.time + query.scope.delay_of(of.channel) - of.time;
    let cluster = Column::counts("cluster", batch.iter().map(|of| of.cluster).collect());
    Table::default()
        .with(cluster.unit(Unit::Plain))
        .with(
            of("time", |of| of.time)
                .about("delayed time of the first tag of the cluster, in ticks"),
        )
        .with(Column::channels("channel", batch.iter().map(|of| Some(of.channel)).collect()))
        .with(of("row", |of| row_number(of.tag.row)))
        .with(of("time_recorded", |of| of.tag.time))
        .with(
            Column::integers("dt", batch.iter().map(dt).collect())
                .about("delayed time after that of the first tag of the cluster, in ticks"),
        )
}
