//! Changes of the options of a query that runs. Each gives the options of a new request, which is settled like any
//! other.
//!
//! A step up from a window of 200 ps is 500 ps, then 1 ns: 1, 2 and 5 in each decade, down to one tick. A reset when
//! the last tag is at tick 99 sets `from` to `@100t`. An option that a change does not name stays as it was given.

use serde_json::Value;
use tagq::{
    Answer,
    requests::{Channel, OptionValues, RequestOption, RequestType, Setup},
    store::{Duration, Tick},
};

/// The options that say how far apart tags may be, or how fine bins are. A query has at most one of them.
const WIDTHS: [&str; 3] = ["window", "full_width", "bin"];

/// A change of the options of a query.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Change {
    /// The next larger window of 1, 2, 5, 10, …, or the next smaller one.
    Step { is_larger: bool },
    /// The window.
    Width(String),
    /// The delay of a channel: `3=-4ns`.
    Delay(String),
    /// This many ticks more for the delay of a channel.
    DelayBy(u16, i64),
    /// The groups of channels, between blanks.
    Groups(String),
    /// The interval that is shown beside the whole run.
    Last(String),
    /// Counts only tags that are recorded from now on.
    Reset,
    /// The time that was given at first.
    Whole,
}

impl Change {
    /// Whether rates after the change are of the same tags as before, only counted over another time.
    pub(super) fn keeps_rates(&self) -> bool {
        matches!(self, Self::Reset | Self::Whole | Self::Last(_))
    }
}

/// Returns the option `from` that selects the tags after this time.
pub(super) fn from_after(end: i64) -> String {
    format!("@{}t", end.saturating_add(1))
}

/// A query as it was counted last.
pub(super) struct InEffect<'a> {
    pub of: &'static RequestType,
    /// The options as they were given at first, and as they are now.
    pub first: &'a OptionValues,
    pub options: &'a OptionValues,
    pub answer: &'a Answer,
    pub setup: &'a Setup,
    /// The last time of the run; `None` without one, and for several runs.
    pub end: Option<i64>,
    pub tick: Tick,
}

impl InEffect<'_> {
    /// Returns the options after a change. The error is for the user.
    pub(super) fn changed(&self, change: &Change) -> Result<OptionValues, String> {
        let mut options = self.options.clone();
        match change {
            Change::Step { is_larger } => {
                let name = self.width()?.name;
                let text = self.in_effect(name).or_else(|| self.chosen(name)).ok_or_else(|| {
                    format!("`{name}` has no value to step from; press w and type one")
                })?;
                let next = stepped(&text, *is_larger, self.tick)?;
                options.insert(name.into(), next.into());
            }
            Change::Width(text) => set(&mut options, self.width()?, text),
            Change::Last(text) => set(&mut options, self.option("last")?, text),
            Change::Delay(text) => {
                self.option("delays")?;
                let (channel, delay) = text
                    .split_once('=')
                    .ok_or_else(|| format!("`{text}` is no CH=D; write it as 3=-4ns"))?;
                self.set_delay(&mut options, channel.trim(), delay.trim())?;
            }
            Change::DelayBy(channel, ticks) => {
                self.option("delays")?;
                let ticks = self.delay_ticks(*channel).saturating_add(*ticks);
                let delay = self.tick.format_paste(ticks);
                self.set_delay(&mut options, &channel.to_string(), &delay)?;
            }
            Change::Groups(text) => {
                let of = self.of;
                let names = of.channels.map_or(&[][..], |channels| channels.options);
                if names.is_empty() {
                    return Err(format!("{} has no groups", of.name));
                }
                options.retain(|name, _| !names.contains(&name.as_str()));
                for group in text.split_whitespace() {
                    of.add_channels(group, &mut options).map_err(|error| error.to_string())?;
                }
            }
            Change::Reset => {
                self.option("from")?;
                let end =
                    self.end.ok_or("several runs have no end in common; watch one of them")?;
                options.insert("from".into(), from_after(end).into());
            }
            Change::Whole => {
                options.remove("from");
                options.extend(self.first.get("from").map(|from| ("from".into(), from.clone())));
            }
        }
        Ok(options)
    }

    /// Returns the name and the value of the window or bin; the value is empty if it has none.
    pub(super) fn width_shown(&self) -> Result<(&'static str, String), String> {
        let name = self.width()?.name;
        let value = self.in_effect(name).or_else(|| self.chosen(name));
        Ok((name, value.unwrap_or_default()))
    }

    /// Returns the groups as they are typed.
    pub(super) fn groups_shown(&self) -> String {
        let names = self.of.channels.map_or(&[][..], |channels| channels.options);
        let text = |value: &Value| match value {
            Value::Array(channels) => joined(channels),
            other => plain(other),
        };
        match names {
            [name] => match self.options.get(*name) {
                Some(Value::Array(groups)) if groups.iter().all(Value::is_array) => {
                    groups.iter().map(text).collect::<Vec<_>>().join(" ")
                }
                other => other.map_or(String::new(), text),
            },
            names => {
                let given = names.iter().filter_map(|name| self.options.get(*name));
                given.map(plain).collect::<Vec<_>>().join(",")
            }
        }
    }

    /// Returns the value of an option as it is typed; empty without one.
    pub(super) fn shown(&self, name: &str) -> String {
        self.options.get(name).map_or(String::new(), plain)
    }

    /// Returns the delay of a channel: as given, or else as it was found or as the setup says.
    pub(super) fn delay_ticks(&self, channel: u16) -> i64 {
        let mut given = self.options.get("delays").and_then(Value::as_array).into_iter().flatten();
        let given = given.find(|delay| self.channel_of(delay) == Some(channel));
        let given = given.and_then(|delay| delay.get(1)?.as_str()?.parse::<Duration>().ok());
        if let Some(ticks) = given.and_then(|delay| delay.nearest(self.tick).ok()) {
            return ticks;
        }
        let delays = self.answer.query.get("delays").and_then(Value::as_array);
        let of =
            |delay: &&Value| delay.get("channel").and_then(Value::as_u64) == Some(channel.into());
        let found = delays.into_iter().flatten().find(of);
        found.and_then(|delay| delay.get("ticks")?.as_i64()).unwrap_or(0)
    }

    fn option(&self, name: &str) -> Result<&'static RequestOption, String> {
        let found = self.of.options().find(|option| option.name == name);
        found.ok_or_else(|| format!("{} has no option `{name}`", self.of.name))
    }

    /// Returns the option of the window or bins that is in effect, else the first that the query has.
    fn width(&self) -> Result<&'static RequestOption, String> {
        let known = || WIDTHS.iter().filter(|name| self.option(name).is_ok());
        let is_given = |name: &&&str| self.options.contains_key(**name);
        let has_value = |name: &&&str| self.in_effect(name).is_some();
        let name = known().find(is_given).or_else(|| known().find(has_value));
        let name = name.or_else(|| known().next());
        let name = name.ok_or_else(|| format!("{} has no window and no bins", self.of.name))?;
        self.option(name)
    }

    /// Returns the text of an option: as given, or else that of the setup.
    fn in_effect(&self, name: &str) -> Option<String> {
        self.options.get(name).or_else(|| self.answer.provenance.options.get(name)).map(plain)
    }

    /// Returns the width of bins that was chosen, because none was given.
    fn chosen(&self, name: &str) -> Option<String> {
        let ticks = self.answer.query.get(format!("{name}_ticks"))?.as_i64()?;
        Some(self.tick.format_paste(ticks))
    }

    /// Replaces the delay of a channel.
    fn set_delay(
        &self,
        options: &mut OptionValues,
        channel: &str,
        delay: &str,
    ) -> Result<(), String> {
        let named: Channel = channel.parse()?;
        let of = self.setup.channel(&named).map_err(|error| error.to_string())?;
        let delays = options.entry("delays").or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(delays) = delays else { return Ok(()) };
        delays.retain(|delay| self.channel_of(delay) != Some(of));
        delays.push(vec![channel, delay].into());
        Ok(())
    }

    /// Returns the channel of a pair of channel and delay.
    fn channel_of(&self, delay: &Value) -> Option<u16> {
        let named: Channel = plain(delay.get(0)?).parse().ok()?;
        self.setup.channel(&named).ok()
    }
}

/// Sets an option to a text; an empty one removes it.
fn set(options: &mut OptionValues, option: &RequestOption, text: &str) {
    if text.is_empty() {
        options.remove(option.name);
    } else {
        options.insert(option.name.into(), text.into());
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn joined(values: &[Value]) -> String {
    values.iter().map(plain).collect::<Vec<_>>().join(",")
}

/// Units of time, with their powers of ten.
const UNITS: [(&str, i32); 7] =
    [("s", 0), ("ms", -3), ("us", -6), ("ns", -9), ("ps", -12), ("fs", -15), ("as", -18)];

/// Returns the next larger or smaller time of 1, 2, 5, 10, …, at least one tick.
pub(super) fn stepped(text: &str, is_larger: bool, tick: Tick) -> Result<String, String> {
    let time: Duration = text.parse().map_err(|error: tagq::store::UnitError| error.to_string())?;
    let ticks = time.ticks(tick).map_err(|error| error.to_string())?;
    let is_in_ticks = text.trim_end().ends_with('t') || ticks <= 0.0;
    let unit_s = if is_in_ticks { 1.0 } else { tick.seconds() };
    let (mantissa, exponent) = next(ticks.max(0.0) * unit_s, is_larger);
    if f64::from(mantissa) * 10_f64.powi(exponent) < unit_s * (1.0 - 1e-9) {
        return Err(format!("{text} is the smallest step; the shortest is one tick, {tick}"));
    }
    if is_in_ticks {
        return Ok(format!("{mantissa}{}t", "0".repeat(usize::try_from(exponent).unwrap_or(0))));
    }
    let (unit, power) = UNITS.into_iter().find(|(_, power)| *power <= exponent).unwrap_or(UNITS[6]);
    let zeros = usize::try_from(exponent - power).unwrap_or(0);
    Ok(format!("{mantissa}{}{unit}", "0".repeat(zeros)))
}

/// Returns the next number of 1, 2, 5, 10, … as a digit and a power of ten. After zero comes one.
fn next(value: f64, is_larger: bool) -> (u32, i32) {
    if value <= 0.0 {
        return if is_larger { (1, 0) } else { (0, 0) };
    }
    #[expect(clippy::cast_possible_truncation, reason = "an exponent")]
    let power = libm::log10(value).floor() as i32;
    let steps = (power - 1..=power + 1).flat_map(|power| [1, 2, 5].map(|digit| (digit, power)));
    let of = |(digit, power): (u32, i32)| f64::from(digit) * 10_f64.powi(power);
    let mut steps = steps.filter(|&step| {
        if is_larger { of(step) > value * (1.0 + 1e-9) } else { of(step) < value * (1.0 - 1e-9) }
    });
    let found = if is_larger { steps.next() } else { steps.next_back() };
    found.unwrap_or((1, power))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tagq::{Provenance, RunFacts, Table, requests::Request};

    use super::*;

    fn options(value: Value) -> OptionValues {
        if let Value::Object(options) = value { options } else { OptionValues::new() }
    }

    /// Returns an answer of a query that was counted with these delays, and options of the setup.
    fn answer(delays: &Value, in_effect: Value) -> Answer {
        let run = json!({
            "path": "run", "tick": Tick::DEFAULT.fraction(), "tick_assumed": false, "commit": 1, "tags": 9,
            "sources": 1, "live_s": 1.0, "elapsed_s": 1.0, "channels": [],
        });
        let run: RunFacts = serde_json::from_value(run).unwrap();
        Answer {
            header: String::new(),
            query: json!({ "delays": delays }),
            run,
            singles: None,
            rows: Table::default(),
            total: None,
            provenance: Provenance { options: options(in_effect), ..Provenance::default() },
            figure: None,
        }
    }

    /// Returns the options after changes of a query; each result is a request.
    fn after(name: &str, given: Value, changes: &[Change]) -> Result<Value, String> {
        let first = options(given);
        let mut options = first.clone();
        let mut answer =
            answer(&json!([{ "channel": 3, "ticks": 10 }]), json!({ "window": "4ns" }));
        answer.query["bin_ticks"] = if name == "g2" { json!(2) } else { Value::Null };
        let setup = Setup { names: vec![(2, "Bob".into())], ..Setup::default() };
        for change in changes {
            let now = InEffect {
                of: tagq::QUERY_TYPES.into_iter().find(|of| of.name == name).unwrap(),
                first: &first,
                options: &options,
                answer: &answer,
                setup: &setup,
                end: Some(99),
                tick: Tick::DEFAULT,
            };
            options = now.changed(change)?;
            Request::of_options(name, options.clone()).map_err(|error| error.to_string())?;
        }
        Ok(options.into())
    }

    fn width(text: &str) -> Change {
        Change::Width(text.into())
    }

    #[test]
    fn the_window_or_the_bin_is_what_the_query_has() {
        let larger = Change::Step { is_larger: true };
        let [pairs, g2] = ["coincidences", "g2"];
        for (name, given, change, expected) in [
            (pairs, json!({ "window": "2ns" }), larger.clone(), json!({ "window": "5ns" })),
            // The setup has the window.
            (pairs, json!({}), larger.clone(), json!({ "window": "5ns" })),
            (pairs, json!({ "full_width": "1us" }), width("3us"), json!({ "full_width": "3us" })),
            (g2, json!({ "bin": "64t" }), larger.clone(), json!({ "bin": "100t" })),
            (g2, json!({}), width("1ns"), json!({ "bin": "1ns" })),
            // Two ticks were chosen, 312.5 ps.
            (g2, json!({}), larger.clone(), json!({ "bin": "500ps" })),
            (g2, json!({ "bin": "1ns" }), width(""), json!({})),
        ] {
            assert_eq!(after(name, given.clone(), &[change]), Ok(expected), "{given}");
        }
        let none = after("rates", json!({}), &[larger]).unwrap_err();
        assert!(none.contains("`bin` has no value"), "{none}");
        let wrong = after(pairs, json!({}), &[width("3")]).unwrap_err();
        assert!(wrong.contains("3ns, 3ps"), "{wrong}");
    }

    #[test]
    fn a_delay_replaces_that_of_the_same_channel() {
        let delay = |text: &str| Change::Delay(text.into());
        let given = json!({ "delays": [["2", "1ns"], ["4", "2ns"]] });
        assert_eq!(
            after("coincidences", given.clone(), &[delay("Bob=-4ns")]),
            Ok(json!({ "delays": [["4", "2ns"], ["Bob", "-4ns"]] }))
        );
        // 2 ns are 13 ticks, 3 ticks more are 2.5 ns.
        assert_eq!(
            after("coincidences", given, &[Change::DelayBy(4, 2), Change::DelayBy(4, 1)]),
            Ok(json!({ "delays": [["2", "1ns"], ["4", "2.5ns"]] }))
        );
        // The delay that was found, or that the setup has, is 10 ticks.
        assert_eq!(
            after("coincidences", json!({ "delays": ["auto"] }), &[Change::DelayBy(3, -12)]),
            Ok(json!({ "delays": ["auto", ["3", "-312.5ps"]] }))
        );
        for (text, part) in [("4ns", "is no CH=D"), ("Eve=1ns", "Eve"), ("3=4", "4ns")] {
            let error = after("coincidences", json!({}), &[delay(text)]).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn groups_are_what_stands_in_front_of_the_run() {
        let groups = |text: &str| Change::Groups(text.into());
        let pairs = json!({ "window": "2ns", "groups": [["1", "2"]] });
        assert_eq!(
            after("coincidences", pairs.clone(), &[groups("1,3 1,2,3")]),
            Ok(json!({ "window": "2ns", "groups": [["1", "3"], ["1", "2", "3"]] }))
        );
        assert_eq!(after("coincidences", pairs, &[groups("")]), Ok(json!({ "window": "2ns" })));
        let g2 = json!({ "start": "1", "stop": "2", "bin": "1ns" });
        assert_eq!(
            after("g2", g2.clone(), &[groups("3,4")]),
            Ok(json!({ "start": "3", "stop": "4", "bin": "1ns" }))
        );
        assert!(after("g2", g2, &[groups("3,4,5")]).unwrap_err().contains("is not 2 channels"));
        let chosen = after("coincidences", json!({ "choose": 3 }), &[groups("1,2")]).unwrap_err();
        assert!(chosen.contains("`choose` excludes `groups`"), "{chosen}");
    }

    #[test]
    fn a_reset_counts_after_the_last_tag() {
        let given = json!({ "from": "1s" });
        assert_eq!(after("rates", given.clone(), &[Change::Reset]), Ok(json!({ "from": "@100t" })));
        assert_eq!(after("rates", given.clone(), &[Change::Reset, Change::Whole]), Ok(given));
        assert_eq!(after("rates", json!({}), &[Change::Reset, Change::Whole]), Ok(json!({})));
        let last = Change::Last("2s".into());
        assert_eq!(after("rates", json!({}), &[last]), Ok(json!({ "last": "2s" })));
    }

    #[test]
    fn steps_are_1_2_5_and_end_at_a_tick() {
        let up = |text: &str| stepped(text, true, Tick::DEFAULT);
        let down = |text: &str| stepped(text, false, Tick::DEFAULT);
        let ok = |text: &str| Ok(text.to_owned());
        for (small, large) in [
            ("200ps", "500ps"),
            ("500ps", "1ns"),
            ("1ns", "2ns"),
            ("5ns", "10ns"),
            ("500ns", "1us"),
            ("50ms", "100ms"),
            ("5s", "10s"),
            ("1t", "2t"),
            ("50t", "100t"),
        ] {
            assert_eq!((up(small), down(large)), (ok(large), ok(small)));
        }
        assert_eq!((up("3ns"), down("3ns")), (ok("5ns"), ok("2ns")));
        assert_eq!(
            (up("13t"), down("13t"), up("0t"), up("0")),
            (ok("20t"), ok("10t"), ok("1t"), ok("1t"))
        );
        assert_eq!(up("1e-9s"), ok("2ns"));
        // A tick is 156.25 ps.
        assert!(down("200ps").unwrap_err().contains("one tick, 156.25 ps"));
        assert!(down("1t").is_err() && down("0t").is_err() && up("x").is_err());
    }
}
