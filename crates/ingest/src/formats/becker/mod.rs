//! Files of Becker & Hickl's counting modules in FIFO mode (`.spc`), with the settings beside them (`.set`).
//!
//! Nothing in a file tells its format. It is recognised by the settings: `night.set` of `night.spc` names the module.

mod records;
pub(crate) mod sdt;
mod settings;

use std::{
    convert::identity,
    path::{Path, PathBuf},
    sync::Arc,
};

use tagq_store::{Recording, SourceFacts, Tick, of_single};

use super::{
    format::{Format, FormatFacts, Reader},
    records::{Head, RecordFile},
};
use crate::{
    error::Error,
    payload::{Payload, compression::uncompressed_name},
};
use records::{FifoRecords, SpcBits};
use settings::{Module, ModuleSettings};

const SUFFIX: &str = ".spc";
const SETTINGS_SUFFIX: &str = "set";
/// Units of the macro time clock in a header.
const TENTH_NS: &str = "e-10";
const FEMTO: &str = "e-15";
/// Bits of the header of an SPC-QC: its clock is in femtoseconds (in the second of two words), and it has more than
/// four inputs (in the third byte).
const QC_FEMTO: u32 = 1 << 8;
const QC_LARGE: u8 = 1 << 7;
/// The fact about a file without settings.
const SETTINGS: &str = "settings";
const NO_SETTINGS: &str = "no .set file; micro times are taken if --micro-tick gives their unit";
/// How it begins, also in stores of earlier versions.
const NO_SETTINGS_START: &str = "no .set file;";
/// Markers of a module.
const MARKERS: u16 = 4;

/// A format of Becker & Hickl's modules.
pub(crate) struct BeckerHickl(SpcBits);

/// Records of 4 bytes, of SPC-130, 140, 150, 160, 180 and 830.
pub(crate) const SPC: BeckerHickl = BeckerHickl(SpcBits::Four);
/// Records of 6 bytes, of SPC-600 and 630 with 4,096 channels.
pub(crate) const SPC_600: BeckerHickl = BeckerHickl(SpcBits::Six);
/// Records of 4 bytes, of SPC-600 and 630 with 256 channels.
pub(crate) const SPC_600_256: BeckerHickl = BeckerHickl(SpcBits::Four256);
/// Records of 4 bytes, of SPC-QC modules. The header of a file tells the number of inputs, and the layout.
pub(crate) const SPC_QC: BeckerHickl = BeckerHickl(SpcBits::Qc4);

impl Format for BeckerHickl {
    fn facts(&self) -> FormatFacts {
        let (name, recognised): (&[&str], _) = match self.0 {
            SpcBits::Four => (&["spc"], "a .set file beside it, of most SPC modules"),
            SpcBits::Six => (&["spc600"], "a .set file beside it, of an SPC-600 or SPC-630"),
            SpcBits::Four256 => (&["spc600-256"], "its name alone"),
            SpcBits::Qc4 | SpcBits::Qc6 => {
                (&["spc-qc"], "a .set file beside it, of an SPC-QC module")
            }
        };
        // Files of all layouts have the same suffix.
        let suffixes: &[&str] = if self.0 == SpcBits::Four { &[SUFFIX] } else { &[] };
        FormatFacts { names: name, suffixes, recognised }
    }

    fn is_start(&self, _: &[u8]) -> bool {
        false
    }

    fn is_told_beside(&self, path: &Path) -> bool {
        let settings = settings_path(path).and_then(|path| ModuleSettings::read(&path));
        settings.is_some_and(|settings| match settings.module {
            Module::Read(layout) => layout == self.0,
            // The error names it.
            Module::Other => self.0 == SpcBits::Four,
        })
    }

    fn reader(&self, payload: &Payload<'_>) -> Result<Option<Arc<dyn Reader>>, Error> {
        let Some(file) = self.file(payload, of_single)? else { return Ok(None) };
        let of_doubles = self.file(payload, identity)?;
        Ok(Some(Arc::new(file.or_of_doubles(of_doubles))))
    }
}

impl BeckerHickl {
    /// The layout of the records after this header.
    fn layout(&self, header: &[u8]) -> SpcBits {
        let is_large = header.get(2).is_some_and(|byte| byte & QC_LARGE != 0);
        match self.0 {
            SpcBits::Qc4 | SpcBits::Qc6 if is_large => SpcBits::Qc6,
            layout => layout,
        }
    }

    fn file(
        &self,
        payload: &Payload<'_>,
        meant: fn(f64) -> f64,
    ) -> Result<Option<RecordFile<FifoRecords>>, Error> {
        let head = self.head(payload, meant)?;
        Ok(head.map(|head| {
            let layout = self.layout(&head.lasting);
            let records = FifoRecords { layout };
            RecordFile::new(head, records)
        }))
    }

    /// Reads the header and the settings; `None` if the file ends inside its header.
    fn head(&self, payload: &Payload<'_>, meant: fn(f64) -> f64) -> Result<Option<Head>, Error> {
        let settings = settings_path(payload.path).and_then(|path| ModuleSettings::read(&path));
        let is_other = |module| match module {
            Module::Read(layout) => layout.is_qc() != self.0.is_qc(),
            Module::Other => true,
        };
        if let Some(ModuleSettings { module, name, .. }) = &settings
            && is_other(*module)
        {
            return Err(Error::Foreign {
                path: payload.path.into(),
                kind: format!("a file of a module {name}, whose records are other ones"),
                way: "write its tags as text, and name their unit with --tick",
            });
        }
        let header = payload.first(self.0.bytes())?;
        let word =
            |at| header.get(at..at + 2).map(|two| u32::from(two[0]) | u32::from(two[1]) << 8);
        let (clock, exponent, routing_bits) = match self.0 {
            SpcBits::Four | SpcBits::Four256 => {
                let (Some(low), Some(high)) = (word(0), word(2)) else { return Ok(None) };
                (low | (high & 0xff) << 16, TENTH_NS, high >> 11 & 15)
            }
            SpcBits::Qc4 | SpcBits::Qc6 => {
                let (Some(low), Some(high)) = (word(0), word(2)) else { return Ok(None) };
                let exponent = if high & QC_FEMTO == 0 { TENTH_NS } else { FEMTO };
                (low | (high & 0x3f) << 16, exponent, high >> 11 & 15)
            }
            SpcBits::Six => {
                let (Some(routing), Some(clock), Some(_)) = (word(0), word(2), word(4)) else {
                    return Ok(None);
                };
                (clock, TENTH_NS, routing & 15)
            }
        };
        let tick = Tick::of_decimal(&format!("{clock}{exponent}")).map_err(|_| Error::Header {
            path: payload.path.into(),
            what: format!("a macro time clock of {clock}{exponent} s cannot be the unit of times"),
        })?;
        let mut facts = vec![("routing bits".to_owned(), routing_bits.to_string())];
        let micro_tick =
            settings.as_ref().and_then(|of| of.micro_tick(self.0.micro_values(), meant));
        match settings {
            Some(settings) => facts.extend(settings.facts),
            None => facts.push((SETTINGS.into(), NO_SETTINGS.into())),
        }
        let markers = (1..=MARKERS).map(|marker| (100 + marker, format!("marker{marker}")));
        let recording = Recording {
            format: self.facts().names[0].into(),
            channel_names: if self.0.has_markers() { markers.collect() } else { Vec::new() },
            facts,
            ..Recording::default()
        };
        Ok(Some(Head { lasting: header, recording, tick: Some(tick), micro_tick }))
    }
}

/// The error for a file whose name is that of a module, and whose format nothing tells.
pub(crate) fn untold(path: &Path) -> Option<Error> {
    let stem = stem_path(path)?;
    let name = format!("{}.{SETTINGS_SUFFIX}", stem.file_name()?.to_string_lossy());
    Some(Error::Foreign {
        path: path.into(),
        kind: format!(
            "a Becker & Hickl file, and {name} beside it, which would name its module, is missing"
        ),
        way: "put it there, or say the records of the module: --source-format spc (most modules), spc-qc (SPC-QC), \
              spc600 or spc600-256 (SPC-600 and 630), and the unit of micro times, as in --micro-tick 4.07ps (TAC range / \
              TAC gain / 4096)",
    })
}

/// Returns the settings of the source at `path`, if they appeared after it was ingested without them.
pub fn late_settings(facts: &SourceFacts, path: &Path) -> Option<PathBuf> {
    let recording = facts.recording.as_ref()?;
    let is_without =
        |(what, value): &(String, String)| what == SETTINGS && value.starts_with(NO_SETTINGS_START);
    recording.facts.iter().find(|fact| is_without(fact))?;
    settings_path(path).filter(|path| ModuleSettings::read(path).is_some())
}

/// Returns the path of a file of a module without its suffix; `None` for a file of another name.
fn stem_path(path: &Path) -> Option<PathBuf> {
    let name = uncompressed_name(path.file_name()?.as_encoded_bytes());
    let name = str::from_utf8(name).ok()?;
    let end = name.len().checked_sub(SUFFIX.len())?;
    let is_spc = name.get(end..)?.eq_ignore_ascii_case(SUFFIX);
    is_spc.then(|| path.with_file_name(&name[..end]))
}

/// Returns the path of the settings of the file at `path`, if there are some.
fn settings_path(path: &Path) -> Option<PathBuf> {
    let settings = stem_path(path)?;
    let with = |suffix: &str| {
        let mut settings = settings.clone().into_os_string();
        settings.push(format!(".{suffix}"));
        PathBuf::from(settings)
    };
    let paths = [with(SETTINGS_SUFFIX), with(&SETTINGS_SUFFIX.to_uppercase())];
    paths.into_iter().find(|path| path.is_file())
}
