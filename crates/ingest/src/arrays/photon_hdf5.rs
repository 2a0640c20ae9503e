//! Photon-HDF5: the arrays of one spot with the fields that the format demands. Titles are those that it prescribes.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use chrono::{SecondsFormat, Utc};
use hdf5_pure::{
    AttrValue, DatasetBuilder, File, FileAccessProperties, FileBuilder, FinishedGroup,
    GroupBuilder, MaxExtent, SyncPolicy,
};

use super::{About, ROWS, SpilledColumns, Units, each_part};

const FORMAT: &str = "Photon-HDF5";
const VERSION: &str = "0.5";
const URL: &str = "http://photon-hdf5.org/";

/// Writes the file.
pub(super) fn write<W: Write>(
    columns: SpilledColumns,
    units: Units,
    about: &About,
    out: &mut W,
) -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("tags.h5");
    described(&columns, units, about).and_then(|file| file.write(&path)).map_err(refused)?;
    let SpilledColumns { time, channel, micro, .. } = columns;
    let access = FileAccessProperties::new().with_sync_policy(SyncPolicy::OnClose);
    let file = File::open_rw_with_options(&path, access).map_err(refused)?;
    let mut timestamps = file.dataset("photon_data/timestamps").map_err(refused)?;
    each_part(time, |part| {
        let values: Vec<i64> = part.iter().copied().map(i64::from_le_bytes).collect();
        timestamps.append(&values).map(drop).map_err(refused)
    })?;
    let mut detectors = file.dataset("photon_data/detectors").map_err(refused)?;
    each_part(channel, |part| {
        let values: Vec<u16> = part.iter().copied().map(u16::from_le_bytes).collect();
        detectors.append(&values).map(drop).map_err(refused)
    })?;
    if let Some(micro) = micro {
        let mut nanotimes = file.dataset("photon_data/nanotimes").map_err(refused)?;
        each_part(micro, |part| {
            let values: Vec<u32> = part.iter().copied().map(u32::from_le_bytes).collect();
            nanotimes.append(&values).map(drop).map_err(refused)
        })?;
    }
    file.close().map_err(refused)?;
    io::copy(&mut std::fs::File::open(&path)?, out)?;
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn refused(error: hdf5_pure::Error) -> io::Error {
    io::Error::other(error.to_string())
}

/// The file with arrays that have no rows yet.
fn described(
    columns: &SpilledColumns,
    Units { tick, micro_tick }: Units,
    about: &About,
) -> Result<FileBuilder, hdf5_pure::Error> {
    let mut file = FileBuilder::new();
    for (name, value) in [
        (
            "TITLE",
            "A file format for photon-counting detector based single-molecule spectroscopy experiments.",
        ),
        ("format_name", FORMAT),
        ("format_version", VERSION),
        ("format_url", URL),
    ] {
        file.set_attr(name, AttrValue::String(value.into()));
    }
    let (first, last) = columns.span.map_or((0, 0), |(first, last)| (first.into(), last.into()));
    text(
        file.create_dataset("description"),
        "Tags written by tagq",
        "A user-defined comment describing the data file.",
    )?;
    scalar(
        file.create_dataset("acquisition_duration").with_f64_data(&[tick.seconds_of(last - first)]),
        "Measurement duration in seconds.",
    );
    let groups = ["identity", "setup", "photon_data"].map(|name| file.create_group(name));
    let [of_identity, of_setup, of_photons] = groups;
    file.add_group(identity(of_identity)?);
    file.add_group(setup(of_setup, columns, about)?);
    file.add_group(photons(of_photons, columns, tick, micro_tick));
    Ok(file)
}

fn photons(
    mut photons: GroupBuilder,
    columns: &SpilledColumns,
    tick: tagq_store::Tick,
    micro_tick: Option<tagq_store::Tick>,
) -> FinishedGroup {
    title(&mut photons, "Group containing arrays of photon-data.");
    growing(
        photons.create_dataset("timestamps").with_i64_data(&[]),
        "Array of photon timestamps. Units specified in timestamps_units (defined in timestamps_specs/).",
    );
    growing(
        photons.create_dataset("detectors").with_u16_data(&[]),
        "Array of pixel IDs for each timestamp.",
    );
    let mut specs = photons.create_group("timestamps_specs");
    title(&mut specs, "Specifications for timestamps.");
    let unit = specs.create_dataset("timestamps_unit").with_f64_data(&[tick.seconds()]);
    scalar(unit, "Value of 1-unit timestamp-increment in seconds.");
    photons.add_group(specs.finish());
    if columns.micro.is_some()
        && let Some(micro_tick) = micro_tick
    {
        growing(
            photons.create_dataset("nanotimes").with_u32_data(&[]),
            "TCSPC photon arrival time (nanotimes). Units and other specifications are in nanotimes_specs group.",
        );
        let mut specs = photons.create_group("nanotimes_specs");
        title(&mut specs, "Group for nanotime-specific data.");
        let unit = specs.create_dataset("tcspc_unit").with_f64_data(&[micro_tick.seconds()]);
        scalar(unit, "Value of 1-unit nanotime-increment in seconds (TCSPC bin size).");
        let bins = i64::from(columns.micro_max) + 1;
        let bins = specs.create_dataset("tcspc_num_bins").with_i64_data(&[bins]);
        scalar(bins, "Number of TCSPC bins.");
        photons.add_group(specs.finish());
    }
    photons.finish()
}

fn setup(
    mut setup: GroupBuilder,
    columns: &SpilledColumns,
    about: &About,
) -> Result<FinishedGroup, hdf5_pure::Error> {
    title(&mut setup, "Information about the experimental setup.");
    let detectors = i64::try_from(columns.labels.len()).unwrap_or(i64::MAX);
    for (name, value, what) in [
        ("num_pixels", detectors, "Total number of detector pixels."),
        ("num_spots", 1, "Number of excitation (or detection) \"spots\" in the sample."),
        ("num_spectral_ch", 1, "Number of distinct spectral bands which are acquired."),
        ("num_polarization_ch", 1, "Number of distinct polarization states which are acquired."),
        (
            "num_split_ch",
            detectors.max(1),
            "Number of distinct detection channels detecting the same spectral band and polarization. This value is > 1 when using a non-polarizing beam splitter.",
        ),
        (
            "modulated_excitation",
            0,
            "True (i.e. 1) if there is any form of excitation modulation of excitation wavelength (as in us-ALEX or PAX) or polarization. This field is also True for pulse-interleaved excitation (PIE) or ns-ALEX measurements.",
        ),
        (
            "lifetime",
            columns.micro.is_some().into(),
            "True (i.e. 1) if the measurement includes a nanotimes array of photon arrival times with respect to a laser pulse (as in TCSPC measurements).",
        ),
    ] {
        scalar(setup.create_dataset(name).with_i64_data(&[value]), what);
    }
    for (name, what) in [
        (
            "excitation_cw",
            "For each excitation source, this field indicates whether excitation is continuous wave (CW), True (i.e. 1), or pulsed, False (i.e. 0).",
        ),
        (
            "excitation_alternated",
            "New in version 0.5. Indicates whether each excitation source is alternated (True, or 1) or not alternated (False, or 0).",
        ),
    ] {
        array(setup.create_dataset(name).with_i64_data(&[0]), what);
    }
    let mut labels = columns.labels.clone();
    labels.sort_unstable();
    if !labels.is_empty() {
        let mut group = setup.create_group("detectors");
        title(
            &mut group,
            "Metadata relative to each detector's pixel. Each field is an array with size equal to the number of the detectors.",
        );
        array(
            group.create_dataset("id").with_u16_data(&labels),
            "Detector IDs as they appear on /photon_data/detectors.",
        );
        // Of two names of a label, the first counts.
        let named = about.channel_names.iter().rev().map(|(label, name)| (*label, name.as_str()));
        let named: HashMap<u16, &str> = named.collect();
        if labels.iter().any(|label| named.contains_key(label)) {
            let name = |label: &u16| named.get(label).copied().unwrap_or_default();
            let names: Vec<&str> = labels.iter().map(name).collect();
            array(
                group.create_dataset("label").with_strings(&names)?,
                "Labels (strings) describing each detector.",
            );
        }
        setup.add_group(group.finish());
    }
    Ok(setup.finish())
}

fn identity(mut identity: GroupBuilder) -> Result<FinishedGroup, hdf5_pure::Error> {
    title(&mut identity, "Information about the Photon-HDF5 data file.");
    let now = Utc::now().to_rfc3339_opts(SecondsFormat::Secs, true);
    for (name, value, what) in [
        ("author", "unknown", "Author of the current data file."),
        ("author_affiliation", "unknown", "Company or institution the author is affiliated with."),
        ("creation_time", &now, "Creation time of the current Photon-HDF5 file."),
        ("software", "tagq", "Name of the software used to create the current Photon-HDF5 file."),
        (
            "software_version",
            env!("CARGO_PKG_VERSION"),
            "Version of the software used to create current the Photon-HDF5 file.",
        ),
        ("format_name", FORMAT, "Name of the file format."),
        ("format_version", VERSION, "Version for the Photon-HDF5 format."),
        ("format_url", URL, "Official URL for the Photon-HDF5 format."),
    ] {
        text(identity.create_dataset(name), value, what)?;
    }
    Ok(identity.finish())
}

fn title(group: &mut GroupBuilder, what: &str) {
    group.set_attr("TITLE", AttrValue::String(what.into()));
}

fn array(dataset: &mut DatasetBuilder, what: &str) {
    dataset.set_attr("TITLE", AttrValue::String(what.into()));
}

fn scalar(dataset: &mut DatasetBuilder, what: &str) {
    array(dataset.with_shape(&[]), what);
}

fn text(dataset: &mut DatasetBuilder, value: &str, what: &str) -> Result<(), hdf5_pure::Error> {
    scalar(dataset.with_strings(&[value])?, what);
    Ok(())
}

/// An array to which rows are appended.
fn growing(dataset: &mut DatasetBuilder, what: &str) {
    let dataset = dataset.with_shape(&[0]).with_maxshape(&[MaxExtent::Unlimited]);
    array(dataset.with_chunks(&[ROWS as u64]).with_shuffle().with_deflate(1), what);
}
