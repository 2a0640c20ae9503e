//! The forms of files of tags: contents and compressions. `night.tags.zst` asks for messages in Zstandard frames.

use std::path::Path;

use super::interface::Keeps;
use crate::{
    arrays::ArrayForm,
    formats::{photon_hdf5, picoquant, swabian, tables::numpy, tags, text},
    payload::compression::{Gzip, Zstd, interface::Compression as _},
};

/// The ends of the names of files of Photon-HDF5; the first one is listed.
const HDF5_SUFFIXES: [&str; 2] = [".h5", ".hdf5"];

/// The form in which a file of tags is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    /// Messages, lines or records.
    pub content: Content,
    /// How they are compressed.
    pub packing: Packing,
}

/// The compression of a file of tags. Each member can be read without the others and has a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// Not at all.
    Plain,
    /// In Zstandard frames.
    Zstd,
    /// In gzip members.
    Gzip,
}

impl Packing {
    const ALL: [Self; 3] = [Self::Plain, Self::Zstd, Self::Gzip];

    /// The end of the name of a file.
    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Zstd => Zstd.suffix(),
            Self::Gzip => Gzip.suffix(),
        }
    }
}

/// The content of a file of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Cap'n Proto messages.
    Messages,
    /// Lines `channel TAB time`.
    Tabs,
    /// Lines `channel,time`, and these two words as the first line.
    Commas,
    /// A PTU file, of mode T3 if the times are those of sync pulses and micro times, else of mode T2.
    Ptu,
    /// Records of 16 bytes of Swabian's Time Tagger.
    Swabian,
    /// Arrays of Photon-HDF5.
    PhotonHdf5,
    /// Arrays of NumPy in an archive.
    Npz,
}

impl Content {
    const ALL: [Self; 7] = [
        Self::Messages,
        Self::Tabs,
        Self::Commas,
        Self::Ptu,
        Self::Swabian,
        Self::PhotonHdf5,
        Self::Npz,
    ];

    /// The name of its format, see [`FormatName`](crate::FormatName).
    pub(super) fn format_name(self) -> &'static str {
        match self {
            Self::Messages => tags::NAME,
            Self::Tabs | Self::Commas => text::NAME,
            Self::Ptu => picoquant::NAME,
            Self::Swabian => swabian::NAME,
            Self::PhotonHdf5 => photon_hdf5::NAME,
            Self::Npz => numpy::NPZ,
        }
    }

    /// How it is written, if it is a file of arrays.
    pub(super) fn arrays(self) -> Option<ArrayForm> {
        match self {
            Self::Messages | Self::Tabs | Self::Commas | Self::Ptu | Self::Swabian => None,
            Self::PhotonHdf5 => Some(ArrayForm::PhotonHdf5),
            Self::Npz => Some(ArrayForm::Npz),
        }
    }

    /// The facts for which such a file has a place.
    pub(super) fn keeps(self) -> Keeps {
        let nothing = Keeps {
            tick: false,
            assumes_tick: false,
            micro: false,
            names: false,
            facts: false,
            dead: false,
        };
        match self {
            Self::Messages => Keeps { assumes_tick: true, ..nothing },
            Self::Tabs | Self::Commas => nothing,
            // Channels of a PTU file have their names by their numbers.
            Self::Ptu => Keeps { tick: true, names: true, ..nothing },
            Self::Swabian => Keeps { tick: true, dead: true, ..nothing },
            Self::PhotonHdf5 => Keeps { tick: true, micro: true, names: true, ..nothing },
            Self::Npz => Keeps { tick: true, micro: true, ..nothing },
        }
    }

    /// The end of the name of a file of it that is not compressed.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Messages => tags::SUFFIX,
            Self::Tabs => text::TABS_SUFFIX,
            Self::Commas => text::COMMAS_SUFFIX,
            Self::Ptu => picoquant::SUFFIX,
            Self::Swabian => swabian::SUFFIX,
            Self::PhotonHdf5 => HDF5_SUFFIXES[0],
            Self::Npz => ".npz",
        }
    }
}

impl Form {
    /// Returns all forms.
    pub fn all() -> impl Iterator<Item = Self> {
        let forms = |content: Content| {
            let packings =
                if content.arrays().is_some() { &[Packing::Plain][..] } else { &Packing::ALL };
            packings.iter().map(move |&packing| Self { content, packing })
        };
        Content::ALL.into_iter().flat_map(forms)
    }

    /// The end of the name of a file of it.
    pub fn suffix(self) -> String {
        format!("{}{}", self.content.suffix(), self.packing.suffix())
    }

    /// The form that the name of a file asks for; `None` for other names.
    pub fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.as_encoded_bytes();
        let name = HDF5_SUFFIXES.iter().find_map(|suffix| {
            let stem = name.strip_suffix(suffix.as_bytes())?;
            Some([stem, HDF5_SUFFIXES[0].as_bytes()].concat())
        });
        let name = name.as_deref().unwrap_or(path.file_name()?.as_encoded_bytes());
        Self::all().find(|form| name.ends_with(form.suffix().as_bytes()))
    }
}
