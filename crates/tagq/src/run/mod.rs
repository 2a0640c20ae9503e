//! Opening a run: `location` finds its store and its sources, `open` opens it for queries, `update` ingests new
//! data of the sources, `follow` repeats the update while they grow, `left_out` finds damaged blocks, `held` opens the
//! counts that a file holds in place of tags. `options` says
//! how to open a run, `writer` opens the writer of its store, `room` checks the free disk space.

pub(crate) mod options;

pub(crate) mod left_out;
pub(crate) mod location;
pub(crate) mod memo;

pub(crate) mod room;
pub(crate) mod writer;

mod held;
mod update;

pub(crate) mod follow;
pub(crate) mod open;

pub(crate) use open::Run;
