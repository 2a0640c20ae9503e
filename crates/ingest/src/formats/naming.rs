//! The quantity and the unit that the name of a column states.
//!
//! `Time [ps]`, `time_ps` and `Zeit/ps` are times in picoseconds, `Detector` is a channel, and `start_ns` states a unit
//! and no quantity.

use tagq_store::TimeUnit;

/// Names of times, in lower case, without marks and the `s` of a plural: in English, German, French, Spanish, Italian,
/// Portuguese, Dutch, Japanese and Chinese.
#[rustfmt::skip]
const TIMES: [&str; 41] = [
    "time", "t", "timestamp", "timetag", "tagtime", "arrivaltime", "eventtime", "photontime", "abstime",
    "zeit", "zeiten", "zeitstempel", "zeitmarke", "ankunftszeit",
    "temps", "horodatage", "tempsdarrivée", "tempsdarrivee",
    "tiempo", "marcadetiempo", "tiempodellegada",
    "tempo", "tempi", "marcatemporale", "tempodiarrivo",
    "marcadetempo", "carimbodetempo", "tempodechegada",
    "tijd", "tijden", "tijdstempel", "aankomsttijd",
    "時間", "時刻", "到着時刻", "タイムスタンプ", "タイムタグ",
    "时间", "时间戳", "时间标签", "到达时间",
];
/// Names of channels, in the same way.
#[rustfmt::skip]
const CHANNELS: [&str; 41] = [
    "channel", "ch", "chan", "chn", "channelnumber", "channelno", "channelid", "channelname",
    "detector", "det", "detectorid", "detectorname", "input", "inputchannel",
    "kanal", "kanäle", "kanalnummer", "kanalnr", "detektor", "detektoren",
    "canal", "canaux", "voie", "détecteur", "detecteur",
    "canale", "canali", "rivelatore", "rilevatore",
    "canales", "detectores", "canais", "detetor",
    "kanaal", "kanalen",
    "チャンネル", "チャネル", "検出器",
    "通道", "信道", "探测器",
];
/// Words in the place of a unit that say that times are ticks.
const TICKS: [&str; 4] = ["tick", "ticks", "count", "counts"];

/// A quantity of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Time,
    Channel,
    /// Never found by the meaning of a name: a micro time is taken only where it is named.
    Micro,
}

impl Quantity {
    /// The word for it in an error.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Channel => "channel",
            Self::Micro => "micro time",
        }
    }
}

/// Which quantity a name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Of(Quantity),
    Other,
}

/// The unit in a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UnitOfName {
    /// None, or ticks.
    None,
    Known(TimeUnit),
    /// Brackets around something else.
    Unknown(String),
}

/// A name of a column, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub meaning: Meaning,
    pub unit: UnitOfName,
}

impl Name {
    /// Understands a name: a word, and a unit as in `Time [ps]`, `time (s)`, `t/ns` or `time_ps`.
    pub(crate) fn of(name: &str) -> Self {
        let name = name.trim().to_lowercase();
        let (base, unit) = split(&name);
        let word: String = base.chars().filter(|letter| letter.is_alphanumeric()).collect();
        let is_one_of = |words: &[&str]| {
            let single = word.strip_suffix('s').filter(|single| single.len() > 1);
            words.contains(&&*word) || single.is_some_and(|single| words.contains(&single))
        };
        let meaning = match &unit {
            _ if is_one_of(&TIMES) => Meaning::Of(Quantity::Time),
            UnitOfName::None if is_one_of(&CHANNELS) => Meaning::Of(Quantity::Channel),
            _ => Meaning::Other,
        };
        Self { meaning, unit }
    }
}

/// Splits a name into what it names and the unit.
fn split(name: &str) -> (&str, UnitOfName) {
    let in_brackets = |open: char, close: char| {
        let (base, inside) = name.strip_suffix(close)?.rsplit_once(open)?;
        Some((base, inside.trim()))
    };
    let bracketed = in_brackets('[', ']').or_else(|| in_brackets('(', ')'));
    if let Some((base, inside)) = bracketed.or_else(|| name.rsplit_once('/')) {
        let inside = inside.trim();
        let unit = match unit_of(inside) {
            Some(unit) => UnitOfName::Known(unit),
            None if TICKS.contains(&inside) => UnitOfName::None,
            None => UnitOfName::Unknown(format!("`{inside}`")),
        };
        return (base, unit);
    }
    let suffix = name.rsplit_once(['_', ' ', '-', '.']);
    match suffix.and_then(|(base, last)| Some((base, unit_of(last)?))) {
        Some((base, unit)) => {
            let without_in = base.strip_suffix("in").filter(|base| base.ends_with(['_', ' ', '-']));
            (without_in.unwrap_or(base), UnitOfName::Known(unit))
        }
        None => (name, UnitOfName::None),
    }
}

/// The unit of a word, in lower case.
pub(crate) fn unit_of(word: &str) -> Option<TimeUnit> {
    Some(match word {
        "ps" | "psec" | "picosecond" | "picoseconds" => TimeUnit::Ps,
        "ns" | "nsec" | "nanosecond" | "nanoseconds" => TimeUnit::Ns,
        "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "microsecond" | "microseconds" => TimeUnit::Us,
        "ms" | "msec" | "millisecond" | "milliseconds" => TimeUnit::Ms,
        "s" | "sec" | "second" | "seconds" => TimeUnit::S,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_a_quantity_in_a_unit() {
        use TimeUnit::{Ms, Ns, Ps, S, Us};
        let time = Meaning::Of(Quantity::Time);
        for (name, unit) in [
            ("Time [ps]", Some(Ps)),
            ("time_ps", Some(Ps)),
            ("time (s)", Some(S)),
            ("Times", None),
            ("TIMESTAMPS (ns)", Some(Ns)),
            ("Time Tag / \u{b5}s", Some(Us)),
            ("time-tag", None),
            ("TimeTags[ms]", Some(Ms)),
            ("t_s", Some(S)),
            ("t", None),
            ("time in ns", Some(Ns)),
            ("Timestamp_us", Some(Us)),
            ("time [ticks]", None),
            ("Arrival time (\u{3bc}s)", Some(Us)),
            ("time seconds", Some(S)),
            ("Zeit [ns]", Some(Ns)),
            ("Zeit in ns", Some(Ns)),
            ("Temps d'arrivée (ps)", Some(Ps)),
            ("Marca de tiempo", None),
            ("TEMPO/us", Some(Us)),
            ("Tijdstempel", None),
            ("时间 [ps]", Some(Ps)),
        ] {
            let unit = unit.map_or(UnitOfName::None, UnitOfName::Known);
            assert_eq!(Name::of(name), Name { meaning: time, unit }, "{name}");
        }
        for name in
            ["CH", "chan", "Channels", "Channel No.", "detector", "Det", "Input", "detector id"]
                .into_iter()
                .chain([
                    "Kanal",
                    "KANÄLE",
                    "Kanal-Nr.",
                    "Détecteur",
                    "voies",
                    "Canales",
                    "Rivelatore",
                ])
                .chain(["kanaal", "canais", "チャンネル", "通道"])
        {
            let channel = Meaning::Of(Quantity::Channel);
            assert_eq!(Name::of(name), Name { meaning: channel, unit: UnitOfName::None }, "{name}");
        }
        for name in
            ["", "s", "ts", "note", "channel [ps]", "dead time", "time2", "start_ps", "[ps]"]
        {
            assert_eq!(Name::of(name).meaning, Meaning::Other, "{name}");
        }
        assert_eq!(Name::of("start_ps").unit, UnitOfName::Known(Ps));
        assert_eq!(Name::of("time (fs)").unit, UnitOfName::Unknown("`fs`".into()));
    }
}
