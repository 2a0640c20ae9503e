//! Settles a request for its first run: adds the options that the setup states, and searches for delays of `auto`.
//!
//! If `tagq.toml` states `last` for a query and the user gives `from`, `last` is left out, because it excludes `from`.
//! An option that is given is never replaced, and neither is a delay that is given. Delays that are found become
//! options of the request, so that the answer states them and can be counted again without a search.

use std::borrow::Cow;

use tagq_run::{Error as RunError, RequestError, Run, Silent};
use tagq_store::{Duration, Tick};

use crate::{
    delays::Delays,
    error::Error,
    requests::{
        Channel, DelayAsked, OptionValues, QueryContext, REQUEST_TYPES, Request, RequestOption,
        RequestType, Selection, Setup,
    },
    search::Search as _,
};

/// The query that counts every pair if no group is given.
const COINCIDENCES: &str = "coincidences";

/// Returns the request as it is counted in a run, and its options: those that are not given are as the setup says, and delays
/// that are to be found are searched.
pub(super) fn settled(
    of: &RequestType,
    request: &Request,
    options: &OptionValues,
    (run, context): (&Run, &QueryContext<'_>),
) -> Result<(Request, OptionValues), Error> {
    let options = with_defaults(of, options, context.setup)?;
    let request = match &options {
        Cow::Borrowed(_) => request.clone(),
        Cow::Owned(options) => Request::of_options(of.name, options.clone())?,
    };
    let options = options.into_owned();
    if !request.selection().delays.contains(&DelayAsked::Auto) {
        return Ok((request, options));
    }
    if request.check_channels(context.setup).is_ok()
        && request.named().iter().any(|of| context.setup.channel(of).is_err())
    {
        return Err(RequestError::options(&["delays"], 
            "delays are found between channels of the run, and derived channels are named; give the delays".into(),
        ).into());
    }
    // All pairs of a run are counted also if only some of its channels belong together.
    let is_every_pair = of.name == COINCIDENCES
        && !options.contains_key("groups")
        && context.setup.groups.is_empty();
    let request = with_delays_found(request, is_every_pair, (run, context))?;
    let options = request.stated()?.1;
    Ok((request, options))
}

/// Returns the options with those that the setup states for this request and that are neither given nor excluded by one
/// that is.
fn with_defaults<'a>(
    asked: &RequestType,
    options: &'a OptionValues,
    setup: &Setup,
) -> Result<Cow<'a, OptionValues>, Error> {
    let wrong = |reason: String| {
        let path = setup.path.clone().unwrap_or_default();
        Error::from(RunError::Setup { path, reason })
    };
    let mut all = Cow::Borrowed(options);
    for (table, defaults) in &setup.queries {
        let Some(of) = REQUEST_TYPES.iter().find(|of| of.name == table) else {
            let names = REQUEST_TYPES.map(|of| of.name).join("], [");
            return Err(wrong(format!(
                "unknown field `{table}`: [{table}] is no query; expected one of `tick`, `channels`, `delays`, `groups` or a \
                 table of options: [{names}]"
            )));
        };
        let bare = defaults.iter().find(|(name, value)| {
            let of_time =
                of.options().any(|option| option.name == **name && option.value.is_duration());
            of_time && value.is_number()
        });
        if let Some((name, value)) = bare {
            return Err(wrong(format!(
                "[{table}]: a time has a unit; write {name} = \"{value}ns\""
            )));
        }
        if let Err(error) = Request::of_options(table, defaults.clone()) {
            return Err(wrong(format!("[{table}]: {error}")));
        }
        if of.name != asked.name || defaults.is_empty() {
            continue;
        }
        let option = |name: &str| of.options().find(|option| option.name == name);
        let excludes = |one: &RequestOption, other: &str| one.excludes.contains(&other);
        let is_free = |default: &RequestOption| {
            let against = |given: &String| {
                excludes(default, given)
                    || option(given).is_some_and(|given| excludes(given, default.name))
            };
            !options.contains_key(default.name) && !options.keys().any(against)
        };
        let free = defaults.iter().filter(|(name, _)| option(name).is_some_and(is_free));
        let all = all.to_mut();
        all.extend(free.map(|(name, value)| (name.clone(), value.clone())));
        // A guard without the veto that a given option excludes, for example.
        let needs: Vec<String> = all
            .keys()
            .filter(|name| !options.contains_key(*name))
            .filter(|name| {
                let other = option(name).and_then(|option| option.requires);
                other.is_some_and(|other| !all.contains_key(other))
            })
            .cloned()
            .collect();
        all.retain(|name, _| !needs.contains(name));
    }
    Ok(all)
}

/// Returns the request with delays in place of [`DelayAsked::Auto`].
fn with_delays_found(
    mut request: Request,
    is_every_pair: bool,
    (run, context): (&Run, &QueryContext<'_>),
) -> Result<Request, Error> {
    request.selection_mut().delays.retain(|delay| *delay != DelayAsked::Auto);
    let silent = QueryContext { progress: &Silent, ..*context };
    let groups = request.groups(run, &silent)?;
    // In the order in which they are named: the first one keeps its times.
    let mut channels: Vec<u16> = Vec::new();
    for &channel in groups.iter().flatten() {
        if !channels.contains(&channel) {
            channels.push(channel);
        }
    }
    let selection = request.selection();
    let times = Selection {
        from: selection.from.clone(),
        to: selection.to.clone(),
        last: selection.last.clone(),
        join: selection.join,
        ..Selection::default()
    };
    let named = channels.iter().copied().map(Channel::Number).collect();
    let search = Delays { channels: named, range: None, selection: times };
    let found = search.ask(run, &silent)?;
    let name = |channel: &u16| context.setup.name_of(*channel);
    for group in &groups {
        let has = |of: &Vec<u16>| group.iter().all(|channel| of.contains(channel));
        let are_others = is_every_pair && !found.connected.is_empty();
        if are_others || !has_pair(group) || found.connected.iter().any(has) {
            continue;
        }
        let names: Vec<String> = group.iter().map(name).collect();
        return Err(RequestError::not_found("delays", format!(
            "no clear peak connects the channels {} within 1 ms, so their delays cannot be found; `tagq delays` shows what \
             there is, and a delay is given as {}=D",
            names.join(" and "),
            names.last().map_or("CH", String::as_str)
        )).into());
    }
    let setup = context.setup;
    let given = request.selection().delayed(setup)?;
    let tick = run.store().manifest().tick;
    let mut words = Vec::new();
    for &(channel, ticks) in &found.delays {
        let is_known = setup.delays.iter().any(|(other, _)| *other == channel);
        // A delay of zero replaces one of the setup.
        if given.contains(&channel) || (ticks == 0 && !is_known) {
            continue;
        }
        let delay = duration(ticks)?;
        request.selection_mut().delays.push(DelayAsked::Of(Channel::Number(channel), delay));
        words.push(format!("{} by {}", name(&channel), in_ticks(ticks, tick)));
    }
    let alone = |channel: &&u16| !found.connected.iter().any(|of| of.contains(channel));
    let alone: Vec<String> = channels.iter().filter(alone).map(name).collect();
    if !alone.is_empty() {
        words.push(format!("no clear peak of {}", alone.join(", ")));
    }
    let words = if words.is_empty() { "none is needed".to_owned() } else { words.join(", ") };
    context.progress.note(&format!("{}: delays found: {words}", run.path().display()));
    Ok(request)
}

/// Whether a group has channels that are to be aligned.
fn has_pair(group: &[u16]) -> bool {
    group.iter().any(|channel| *channel != group[0])
}

fn duration(ticks: i64) -> Result<Duration, Error> {
    Ok(format!("{ticks}t").parse()?)
}

fn in_ticks(ticks: i64, tick: Tick) -> String {
    let plural = if ticks == 1 { "" } else { "s" };
    format!("{ticks} tick{plural} = {}", tick.format(ticks.into()))
}
