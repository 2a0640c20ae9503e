//! Files of tables and of Photon-HDF5: any bytes, which the fuzzer changes from valid files.

use tagq_ingest::Settings;

use crate::{recipe::Recipe, sources::check_whole};

/// The columns by which a table is read.
const COLUMNS: [Option<&str>; 4] =
    [None, Some("time=:ns"), Some("time,channel"), Some("channel,time:s")];

/// What [`crate::sources`] checks of a whole file holds for tables and files of Photon-HDF5. The first byte of the
/// input chooses the columns, and the file follows.
///
/// # Panics
/// When it does not.
pub fn tables(input: &[u8]) {
    let mut recipe = Recipe::new(input);
    let columns = COLUMNS[recipe.below(COLUMNS.len())];
    let settings = Settings {
        threads: 2,
        columns: columns.map(|columns| columns.parse().unwrap()),
        tick: Some("1ps".parse().unwrap()),
        ..Settings::default()
    };
    check_whole(recipe.rest(), &settings);
}
