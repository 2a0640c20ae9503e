//! Channels in front of the runs: `tagq g2 3,15 run/`.
//!
//! In `3,15 3,16 run/` the first two arguments are channels; `./3,15` is a run, because it has a slash, and so is a
//! name that exists, unless it is numbers. A question of one list of channels takes a single name as a channel only if
//! another argument follows.

use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use tagq::{
    requests::{Channel, ChannelArgument},
    store::Duration,
};

use super::table::usage;

/// Takes the channels that stand in front of the runs, as they were written.
///
/// An argument with `/` or `.` is a run, and so is one that exists, unless it is numbers: `./3,15` names a file that has the
/// name of channels. A single name is a run if no other argument follows it.
///
/// # Errors
/// No run follows the channels, or a duration stands in place of the run.
pub(super) fn take_channels(
    runs: &mut Vec<PathBuf>,
    argument: Option<ChannelArgument>,
) -> Result<Vec<String>, clap::Error> {
    let mut taken = Vec::new();
    if let Some(argument) = argument {
        while let Some(text) = channels(runs, argument) {
            taken.push(text);
            runs.remove(0);
        }
    }
    let is_list = |run: &&PathBuf| {
        let read = argument.and_then(|argument| channels(std::slice::from_ref(*run), argument));
        read.is_some() && !run.exists()
    };
    if let Some(after) = runs.iter().skip(1).find(is_list) {
        let (run, after) = (runs[0].display(), after.display());
        return Err(usage(&format!(
            "`{after}` is no run; write the channels before the run, as {after} {run}"
        )));
    }
    let is_option = |run: &&str| {
        let name = run.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !Path::new(run).exists()
    };
    if let Some(option) = runs.iter().filter_map(|run| run.to_str()).find(is_option) {
        return Err(usage(&format!(
            "`{option}` is no run; write an option with two dashes, as --{option}"
        )));
    }
    let Some(first) = runs.first() else {
        return Err(clap::Error::raw(
            ErrorKind::MissingRequiredArgument,
            format!("the run is missing after {}; write it last, as run/\n", taken.join(" ")),
        ));
    };
    if let Some(text) = first.to_str()
        && !first.exists()
    {
        if argument.is_some()
            && taken.is_empty()
            && let Some(numbers) = numbers(runs)
        {
            return Err(usage(
                &match numbers.iter().find(|number| number.parse::<u16>().is_err()) {
                    Some(number) => {
                        format!("`{number}` is no channel; channels are numbers from 0 to 65535")
                    }
                    None if numbers.len() == 1 => format!(
                        "`{text}` is no run, and one channel is too few; write them with commas, as {text},2"
                    ),
                    None => format!(
                        "`{text}` is no run; write the channels with commas, as {}",
                        numbers.join(",")
                    ),
                },
            ));
        }
        let is_range =
            text.split_once("..").is_some_and(|(low, high)| is_duration(low) && is_duration(high));
        if is_range || is_duration(text) {
            let option = if is_range { "--range" } else { "--window" };
            return Err(usage(&format!(
                "`{text}` is no run; write a duration with its option, as {option} {text}"
            )));
        }
    }
    Ok(taken)
}

/// Returns the template of a help with this usage. Errors show the usage that clap makes, because it names the arguments
/// that are missing.
pub(super) fn usage_template(usage: &str) -> String {
    format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {usage}\n\n{{all-args}}{{after-help}}"
    )
}

/// Returns the numbers that stand where a run should, between any signs or as arguments of their own.
fn numbers(runs: &[PathBuf]) -> Option<Vec<String>> {
    let divided = |run: &PathBuf| {
        let parts = run.to_str()?.split([',', ';', ':', '-', '+', '&', ' ']);
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let are_numbers = parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
        // A date may be the name of a run.
        let is_date = parts.len() > 2 && run.to_str()?.contains('-');
        (are_numbers && !is_date && !parts.is_empty() && !run.exists()).then_some(parts)
    };
    let numbers = runs.iter().map_while(divided).flatten().collect::<Vec<_>>();
    (!numbers.is_empty()).then_some(numbers)
}

fn is_duration(text: &str) -> bool {
    text.parse::<Duration>().is_ok()
}

/// Returns the first argument if it is channels and not a run.
fn channels(runs: &[PathBuf], argument: ChannelArgument) -> Option<String> {
    let first = runs.first()?;
    let text = first.to_str()?;
    let parts: Vec<Channel> =
        text.split(',').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let are_numbers = parts.iter().all(|channel| matches!(channel, Channel::Number(_)));
    if text.contains(['/', '.']) || (!are_numbers && first.exists()) {
        return None;
    }
    // A single channel can be all that a request needs, or a run whose name is a number.
    let takes_one = argument.options == ["channels"] && (runs.len() > 1 || are_numbers);
    (parts.len() > 1 || (takes_one && !(are_numbers && runs.len() == 1 && first.exists())))
        .then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: ChannelArgument =
        ChannelArgument { value_name: "A,B", options: &["groups"], help: "" };
    const LIST: ChannelArgument = ChannelArgument { options: &["channels"], ..GROUPS };

    #[test]
    fn channels_stand_in_front_of_runs() {
        // `.` and `..` are runs that exist wherever the test runs.
        for (argument, given, taken) in [
            (GROUPS, "3,15 ..", "3,15"),
            (GROUPS, "3,15 3,16 ..", "3,15 3,16"),
            (GROUPS, "Alice,Bob .. ../..", "Alice,Bob"),
            (GROUPS, "./3,15", ""),
            (GROUPS, "Alice ..", ""),
            (GROUPS, "monday tuesday", ""),
            (LIST, "3 ..", "3"),
            (LIST, "Alice ..", "Alice"),
            (LIST, "Alice", ""),
            (LIST, "3,Alice ..", "3,Alice"),
            (LIST, "-", ""),
        ] {
            let mut runs: Vec<PathBuf> = given.split(' ').map(PathBuf::from).collect();
            let found = take_channels(&mut runs, Some(argument)).unwrap();
            assert_eq!(found.join(" "), taken, "{given}");
            assert_eq!(found.len() + runs.len(), given.split(' ').count(), "{given}");
        }
        let refused = |argument, given: &str| {
            let mut runs: Vec<PathBuf> = given.split(' ').map(PathBuf::from).collect();
            take_channels(&mut runs, Some(argument)).unwrap_err().to_string()
        };
        assert!(refused(GROUPS, "3,15").contains("the run is missing after 3,15"));
        assert!(refused(LIST, "3").contains("the run is missing after 3"));
        let ends = ChannelArgument { options: &["start", "stop"], ..GROUPS };
        assert!(refused(ends, "7 8 ..").contains("as 7,8"));
        assert!(refused(GROUPS, "7 8 9 ..").contains("as 7,8,9"));
        assert!(refused(GROUPS, "7-8 ..").contains("as 7,8"));
        assert!(refused(GROUPS, "7 ..").contains("too few"));
        assert!(refused(GROUPS, "7,70000 ..").contains("`70000` is no channel"));
        assert!(refused(GROUPS, "2ns ..").contains("--window 2ns"));
        assert!(refused(GROUPS, "3,15 0ns..1ms ..").contains("--range 0ns..1ms"));
    }
}
