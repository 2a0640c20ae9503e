//! Settings of a module (`.set`): a binary header, and texts with lines such as `#SP [SP_TAC_R,F,5e-08]`. A TAC range
//! of 50 ns with a gain of 4 and 4,096 values gives micro times in units of 3.05175781 ps.
//!
//! Source: Becker & Hickl, `SPC_data_file_structure.h`, and the TCSPC Handbook.

use std::{fs::File, io::Read as _, path::Path};

use tagq_store::Tick;

use super::records::SpcBits;

/// Longer files are cut: the texts stand before the rest.
const BYTES_MAX: u64 = 1 << 20;
const VALID_AT: usize = 32;
const VALID: u16 = 0x5555;
/// Place of the offset and of the length of the setup text.
const SETUP_AT: usize = 8;
const SETUP_LEN_AT: usize = 12;
const INFO_AT: usize = 2;
const INFO_LEN_AT: usize = 6;

/// Modules whose records are read: code, name, and layout.
const MODULES: [(u16, &str, SpcBits); 22] = [
    (0x20, "SPC-130", SpcBits::Four),
    (0x21, "SPC-600", SpcBits::Six),
    (0x22, "SPC-630", SpcBits::Six),
    (0x25, "SPC-830", SpcBits::Four),
    (0x26, "SPC-140", SpcBits::Four),
    (0x28, "SPC-150", SpcBits::Four),
    (0x2a, "SPC-130EM", SpcBits::Four),
    (0x2b, "SPC-160", SpcBits::Four),
    (0x2e, "SPC-150N", SpcBits::Four),
    (0x80, "SPC-150NX", SpcBits::Four),
    (0x81, "SPC-160X", SpcBits::Four),
    (0x82, "SPC-160PCIE", SpcBits::Four),
    (0x83, "SPC-130EMN", SpcBits::Four),
    (0x84, "SPC-180N", SpcBits::Four),
    (0x85, "SPC-180NX", SpcBits::Four),
    (0x86, "SPC-180NXX", SpcBits::Four),
    (0x87, "SPC-180N-USB", SpcBits::Four),
    (0x88, "SPC-130IN", SpcBits::Four),
    // The header of the file says which of the layouts of an SPC-QC it has.
    (0x8b, "SPC-QC-104", SpcBits::Qc4),
    (0x8c, "SPC-QC-004", SpcBits::Qc4),
    (0x8d, "SPC-QC-106", SpcBits::Qc4),
    (0x8e, "SPC-QC-006", SpcBits::Qc4),
];

/// Modules of other records.
const OTHERS: [(u16, &str); 4] =
    [(0x23, "SPC-700"), (0x24, "SPC-730"), (0x27, "SPC-930"), (0x29, "DPC-230")];

/// Facts of the texts: what, and the key.
const INFO: [(&str, &str); 3] = [("title", "Title"), ("date", "Date"), ("time", "Time")];

/// The settings of a module that are needed to read its records, and facts for readers.
pub(super) struct ModuleSettings {
    pub module: Module,
    pub name: String,
    /// The range of micro times in seconds, and its gain.
    micro_range: Option<(f64, f64)>,
    /// Facts for readers.
    pub facts: Vec<(String, String)>,
}

/// The kind of module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Module {
    Read(SpcBits),
    Other,
}

impl ModuleSettings {
    /// Reads the settings at `path`; `None` if they cannot be read.
    pub(super) fn read(path: &Path) -> Option<Self> {
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Self::of(&bytes)
    }

    /// Takes the settings from the first bytes of a file with this header.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let short = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        if short(VALID_AT)? != VALID {
            return None;
        }
        let text = |at: usize, len_at: usize| {
            let start = usize::from(short(at)?) | usize::from(short(at + 2)?) << 16;
            let rest = bytes.get(start..)?;
            let len = usize::from(short(len_at)?).min(rest.len());
            Some(String::from_utf8_lossy(&rest[..len]).into_owned())
        };
        let code = short(0)? >> 4 & 0xff;
        let read = MODULES.iter().find(|(other, ..)| *other == code);
        let other = OTHERS.iter().find(|(other, _)| *other == code);
        let (module, name) = match (read, other) {
            (Some((_, name, layout)), _) => (Module::Read(*layout), (*name).to_owned()),
            (None, Some((_, name))) => (Module::Other, (*name).to_owned()),
            (None, None) => (Module::Other, format!("of the code {code:#04x}")),
        };
        let mut facts = vec![("module".to_owned(), name.clone())];
        let info = text(INFO_AT, INFO_LEN_AT).unwrap_or_default();
        for (what, key) in INFO {
            let lines = info.lines().filter_map(|line| line.split_once(':'));
            let value = lines.into_iter().find(|(found, _)| found.trim() == key);
            let value = value.map(|(_, value)| value.trim()).filter(|value| !value.is_empty());
            facts.extend(value.map(|value| (what.to_owned(), value.to_owned())));
        }
        let setup = text(SETUP_AT, SETUP_LEN_AT).unwrap_or_default();
        let number = |key: &str| value(&setup, key)?.parse::<f64>().ok().filter(|n| n.is_finite());
        let (range, gain) = (number("SP_TAC_R"), number("SP_TAC_G").filter(|&gain| gain > 0.0));
        facts.extend(range.map(|range| ("TAC range".into(), format!("{:.6} ns", range * 1e9))));
        facts.extend(gain.map(|gain| ("TAC gain".into(), gain.to_string())));
        facts.extend(value(&setup, "SP_ADC_RE").map(|of| ("ADC values".into(), of.to_owned())));
        // A module without an amplifier of times has no gain.
        let gain = gain.or((module == Module::Read(SpcBits::Qc4)).then_some(1.0));
        let micro_range = range.zip(gain);
        Some(Self { module, name, micro_range, facts })
    }

    /// The unit of micro times that have so many values, to nine digits; `meant` says what the double of the range
    /// means.
    pub(super) fn micro_tick(&self, values: u32, meant: fn(f64) -> f64) -> Option<Tick> {
        let (range, gain) = self.micro_range?;
        let unit = meant(range) / gain / f64::from(values);
        Tick::of_decimal(&format!("{unit:.8e}")).ok()
    }
}

/// Returns the value of `[key,type,value]`.
fn value<'a>(setup: &'a str, key: &str) -> Option<&'a str> {
    let fields = setup.lines().filter_map(|line| line.split_once('[')?.1.split_once(']'));
    let mut fields = fields.map(|(inside, _)| inside.splitn(3, ','));
    fields.find_map(|mut field| (field.next()? == key).then(|| field.nth(1)).flatten())
}
