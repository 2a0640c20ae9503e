//! Simulated light, the queries, and the true values.

use tagq::{
    query::{Mode, Rule},
    requests::{
        Accidentals, Channel, Coincidences, DelayAsked, Errors, Histogram, Histogram2d, KeptBins,
        Rates, Reach, Request, Selection,
    },
};

use super::light::{Emitter, Light};

/// Light and its queries. Several lights are several runs that are added up.
pub(crate) struct Case {
    pub name: &'static str,
    pub lights: Vec<Light>,
    pub asks: Vec<Ask>,
}

pub(crate) struct Ask {
    pub asked: String,
    pub question: Request,
    /// The form of g2 that is fitted to its answer.
    pub fit: Option<&'static str>,
    pub values: Vec<Value>,
}

/// A value of the answer with an error.
pub(crate) struct Value {
    pub quantity: &'static str,
    pub row: usize,
    /// Its expectation without chance.
    pub truth: Option<f64>,
    pub covers: Covers,
}

/// The errors that should cover the truth.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Covers {
    Both,
    Formula,
    Blocks,
    /// Neither does; the page says why.
    Neither(&'static str),
}

impl Covers {
    /// Returns whether the errors by "formula" or from "blocks" should cover.
    pub(crate) fn claims(self, how: &str) -> bool {
        match self {
            Self::Both => true,
            Self::Formula => how == "formula",
            Self::Blocks => how == "blocks",
            Self::Neither(_) => false,
        }
    }
}

impl Ask {
    pub(crate) fn with(&self, errors: Errors) -> Request {
        let mut question = self.question.clone();
        match &mut question {
            Request::Coincidences(of) => of.errors = errors,
            Request::Histogram(of) => {
                of.errors = Some(errors);
                of.covariance = self.fit.is_some() && errors != Errors::Formula;
            }
            Request::Histogram2d(_) | Request::Image(_) | Request::MicroTimes(_) => {}
            Request::Rates(of) => of.errors = errors,
        }
        question
    }

    /// Excludes the errors by formula of these quantities from the check.
    fn blocks_only(mut self, quantities: &[&str]) -> Self {
        for value in self.values.iter_mut().filter(|value| quantities.contains(&value.quantity)) {
            value.covers = Covers::Blocks;
        }
        self
    }
}

/// Ticks of 1 ns in a case.
const DURATION: f64 = 1e7;

fn pairs(rate: f64, efficiencies: [f64; 2]) -> Emitter {
    let arms = vec![(1, efficiencies[0]), (2, efficiencies[1])];
    Emitter { rate, arms, splits: false, jitter: 1.0, lifetime: 0.0, is_single: false }
}

fn value(quantity: &'static str, truth: Option<f64>) -> Value {
    Value { quantity, row: 0, truth, covers: Covers::Both }
}

/// Two channels with known rates of tags and true pairs.
#[derive(Clone, Copy)]
struct Pair {
    /// Tags per tick.
    rates: [f64; 2],
    /// True pairs per tick.
    true_rate: f64,
    duration: f64,
    window: f64,
}

impl Pair {
    /// Returns pairs at this rate with efficiencies η and background.
    fn new(rate: f64, efficiencies: [f64; 2], background: [f64; 2], window: f64) -> Self {
        let [a, b] = [0, 1].map(|i| rate * efficiencies[i] + background[i]);
        let true_rate = rate * efficiencies[0] * efficiencies[1];
        Self { rates: [a, b], true_rate, duration: DURATION, window }
    }

    fn accidentals(&self) -> f64 {
        self.rates[0] * self.rates[1] * (2.0 * self.window + 1.0) * self.duration
    }

    fn pairs(&self) -> f64 {
        self.true_rate * self.duration
    }

    fn values(&self) -> Vec<Value> {
        let (a, p) = (self.accidentals(), self.pairs());
        vec![
            value("count", Some(a + p)),
            value("accidentals", Some(a)),
            value("car", Some(p / a)),
            value("p_a_given_b", Some(self.true_rate / self.rates[1])),
            value("p_b_given_a", Some(self.true_rate / self.rates[0])),
        ]
    }
}

fn coincidences(
    group: &[u16],
    rule: Rule,
    window: f64,
    more: impl FnOnce(&mut Coincidences),
) -> Request {
    let mut question = Coincidences {
        window: Some(format!("{window}t").parse().unwrap()),
        full_width: None,
        groups: vec![group.iter().copied().map(Channel::Number).collect()],
        choose: None,
        rule,
        veto: Vec::new(),
        guard: None,
        accidentals: Accidentals::Formula,
        shift: None,
        errors: Errors::Formula,
        bin: None,
        by: None,
        exact_bins: false,
        selection: Selection::default(),
    };
    more(&mut question);
    Request::Coincidences(question)
}

/// Returns queries of a pair by rule `all`, with accidentals by formula and by shifts.
fn pair_asks(pair: Pair, shift: Option<&str>) -> Vec<Ask> {
    let window = pair.window;
    let by_shifts = |q: &mut Coincidences| {
        q.accidentals = Accidentals::Shifted(10);
        q.shift = shift.map(|shift| shift.parse().unwrap());
    };
    vec![
        Ask {
            asked: "pair, rule all".into(),
            fit: None,
            question: coincidences(&[1, 2], Rule::All, window, |_| {}),
            values: pair.values(),
        },
        Ask {
            asked: "pair, 10 shifts".into(),
            fit: None,
            question: coincidences(&[1, 2], Rule::All, window, by_shifts),
            values: pair.values(),
        },
    ]
}

fn steady(name: &'static str, rate: f64, eta: [f64; 2], background: [f64; 2], window: f64) -> Case {
    let light = Light {
        duration: DURATION,
        emitters: if rate > 0.0 { vec![pairs(rate, eta)] } else { Vec::new() },
        background: vec![(1, background[0]), (2, background[1])]
            .into_iter()
            .filter(|(_, rate)| *rate > 0.0)
            .collect(),
        ..Light::default()
    };
    let pair = Pair::new(rate, eta, background, window);
    Case { name, lights: vec![light], asks: pair_asks(pair, None) }
}

fn only(values: Vec<Value>, quantities: &[&str]) -> Vec<Value> {
    values.into_iter().filter(|value| quantities.contains(&value.quantity)).collect()
}

/// Returns several rules for the same pairs.
fn rules() -> Case {
    let pair = Pair::new(2e-3, [0.7, 0.5], [2e-4, 4e-4], 50.0);
    let light = Light {
        duration: DURATION,
        emitters: vec![pairs(2e-3, [0.7, 0.5])],
        background: vec![(1, 2e-4), (2, 4e-4)],
        ..Light::default()
    };
    let ask = |asked: &str, rule, accidentals, values: Vec<Value>| Ask {
        asked: asked.into(),
        fit: None,
        question: coincidences(&[1, 2], rule, pair.window, |q| q.accidentals = accidentals),
        values,
    };
    let scatter = |names: &[&'static str]| names.iter().map(|name| value(name, None)).collect();
    Case {
        name: "True pairs of η 0.7 and 0.5, rate × full width 0.30, by other rules",
        lights: vec![light],
        asks: vec![
            ask("pair, rule herald", Rule::Herald, Accidentals::Formula, pair.values()),
            ask(
                "pair, rule grid",
                Rule::Grid,
                Accidentals::Formula,
                scatter(&["count", "accidentals", "car"]),
            ),
            ask(
                "pair, rule herald, each herald once, 10 shifts",
                Rule::PerHerald,
                Accidentals::Shifted(10),
                vec![
                    value("count", None),
                    value("p_b_given_a", Some(pair.true_rate / pair.rates[0])),
                ],
            ),
            ask(
                "pair, rule once, 10 shifts",
                Rule::Once,
                Accidentals::Shifted(10),
                scatter(&["count", "accidentals", "car"]),
            )
            .blocks_only(&["accidentals", "car"]),
        ],
    }
}

/// Returns sources of different rates, added up.
fn two_rates() -> Case {
    let window = 20.0;
    let rates = [3e-3, 6e-4];
    let of = |rate: f64| Light {
        duration: DURATION,
        emitters: vec![pairs(rate, [0.5, 0.8])],
        background: vec![(1, 1e-4), (2, 1e-4)],
        ..Light::default()
    };
    let pair = |rate: f64| Pair::new(rate, [0.5, 0.8], [1e-4; 2], window);
    let [one, two] = rates.map(pair);
    let (a, p) = (one.accidentals() + two.accidentals(), one.pairs() + two.pairs());
    let singles = |i: usize| (one.rates[i] + two.rates[i]) * DURATION;
    let values = || {
        vec![
            value("count", Some(a + p)),
            value("accidentals", Some(a)),
            value("car", Some(p / a)),
            value("p_a_given_b", Some(p / singles(1))),
            value("p_b_given_a", Some(p / singles(0))),
        ]
    };
    let mut asks = pair_asks(one, None);
    for ask in &mut asks {
        ask.values = values();
    }
    Case { name: "Two sources, one five times as bright", lights: rates.map(of).into(), asks }
}

/// Returns pulsed pairs; accidentals are pairs of different pulses.
fn pulsed() -> Case {
    let (period, rate, eta) = (100.0, 2e-3, [0.5, 0.4]);
    let light = Light {
        duration: DURATION,
        emitters: vec![pairs(rate, eta)],
        background: Vec::new(),
        period: Some(period),
        ..Light::default()
    };
    let pair = Pair::new(rate, eta, [0.0; 2], 10.0);
    let a = pair.rates[0] * pair.rates[1] * period * DURATION;
    let values = vec![
        value("count", Some(a + pair.pairs())),
        value("accidentals", Some(a)),
        value("car", Some(pair.pairs() / a)),
        value("p_a_given_b", Some(eta[0])),
        value("p_b_given_a", Some(eta[1])),
    ];
    let mut asks = pair_asks(pair, Some("100t"));
    asks.remove(0);
    asks[0].values = values;
    Case {
        name: "Pulsed pairs, 0.2 pairs a pulse, shifts of the period",
        lights: vec![light],
        asks,
    }
}

/// Returns pairs with a veto by an independent channel.
fn vetoed() -> Case {
    let (rate, eta, window) = (2e-3, [0.5, 0.6], 20.0);
    let light = Light {
        duration: DURATION,
        emitters: vec![pairs(rate, eta)],
        background: vec![(1, 5e-4), (2, 5e-4), (7, 4e-3)],
        ..Light::default()
    };
    let pair = Pair::new(rate, eta, [5e-4; 2], window);
    // A veto extends 20 ticks before and after a tag: e^(-41·0.004) of the heralds remain.
    let veto = |q: &mut Coincidences| {
        q.veto = vec![Channel::Number(7)];
        q.accidentals = Accidentals::Shifted(10);
    };
    let values = vec![
        value("count", None),
        value("accidentals", None),
        value("p_a_given_b", Some(pair.true_rate / pair.rates[1])),
        value("p_b_given_a", Some(pair.true_rate / pair.rates[0])),
    ];
    let ask = Ask {
        asked: "pair, veto, 10 shifts".into(),
        fit: None,
        question: coincidences(&[1, 2], Rule::All, window, veto),
        values,
    };
    Case {
        name: "Pairs and an unrelated veto that takes 15 %",
        lights: vec![light],
        asks: vec![ask],
    }
}

/// Returns independent light with one channel moved by a third of the run.
fn delayed() -> Case {
    let light =
        Light { duration: DURATION, background: vec![(1, 2e-3), (2, 3e-3)], ..Light::default() };
    let pair = Pair { duration: 0.7 * DURATION, ..Pair::new(0.0, [0.0; 2], [2e-3, 3e-3], 20.0) };
    let ask = Ask {
        asked: "pair, delay 0.3 T".into(),
        fit: None,
        question: coincidences(&[1, 2], Rule::All, pair.window, |q| {
            q.selection.delays = vec![DelayAsked::Of(Channel::Number(2), "3ms".parse().unwrap())];
        }),
        values: only(pair.values(), &["count", "accidentals", "car"]),
    };
    Case { name: "Independent channels, a delay of 0.3 T", lights: vec![light], asks: vec![ask] }
}

/// Returns groups of independent channels.
fn independent_groups() -> Case {
    let rates = [2e-3, 1e-3, 3e-3, 1.5e-3];
    let light =
        Light { duration: DURATION, background: (1..).zip(rates).collect(), ..Light::default() };
    let w = 100.0_f64;
    let ask = |group: &[u16], rule: Rule| {
        let n = group.len();
        let rates: f64 = rates[..n].iter().product();
        let ways = match rule {
            Rule::Herald => (2.0 * w + 1.0).powf(n as f64 - 1.0),
            Rule::All | Rule::PerHerald | Rule::Once | Rule::Cluster | Rule::Grid => {
                (w + 1.0).powf(n as f64) - w.powf(n as f64)
            }
        };
        let name = if rule == Rule::Herald { "herald" } else { "all" };
        Ask {
            asked: format!("group of {n}, rule {name}"),
            fit: None,
            question: coincidences(group, rule, w, |_| {}),
            values: vec![value("count", Some(rates * ways * DURATION))],
        }
    };
    let three = Ask {
        asked: "group of 3, rule all, 10 shifts".into(),
        fit: None,
        question: coincidences(&[1, 2, 3], Rule::All, w, |q| {
            q.accidentals = Accidentals::Shifted(10);
        }),
        values: vec![value("accidentals", None), value("car", Some(0.0))],
    };
    Case {
        name: "Three and four independent channels, rate × window 0.1 to 0.3",
        lights: vec![light],
        asks: vec![
            ask(&[1, 2, 3], Rule::All),
            ask(&[1, 2, 3, 4], Rule::All),
            ask(&[1, 2, 3], Rule::Herald),
            ask(&[1, 2, 3, 4], Rule::Herald),
            three,
        ],
    }
}

/// Returns photon triples at rates at which strays matter.
fn triples() -> Case {
    let arms = vec![(1, 0.6), (2, 0.5), (3, 0.7)];
    let light = Light {
        duration: DURATION,
        emitters: vec![Emitter {
            rate: 2e-3,
            arms,
            splits: false,
            jitter: 1.0,
            lifetime: 0.0,
            is_single: false,
        }],
        background: vec![(1, 2e-4), (2, 2e-4), (3, 2e-4)],
        ..Light::default()
    };
    let ask = |asked: &str, rule, accidentals, names: &[&'static str]| Ask {
        asked: asked.into(),
        fit: None,
        question: coincidences(&[1, 2, 3], rule, 60.0, |q| q.accidentals = accidentals),
        values: names.iter().map(|name| value(name, None)).collect(),
    };
    let all = ["count", "accidentals", "car"];
    Case {
        name: "Photon triples, rate × window 0.1",
        lights: vec![light],
        asks: vec![
            ask("group of 3, rule all, 10 shifts", Rule::All, Accidentals::Shifted(10), &all)
                .blocks_only(&all),
            ask("group of 3, rule herald", Rule::Herald, Accidentals::Formula, &["count"])
                .blocks_only(&["count"]),
            ask("group of 3, rule once", Rule::Once, Accidentals::Formula, &["count"])
                .blocks_only(&["count"]),
        ],
    }
}

/// Returns a heralded single photon on a beam splitter.
fn heralded(name: &'static str, rate: f64, efficiency: f64, window: f64) -> Case {
    // The second photon of a pair goes to 2 or 3: two emitters, one for each way.
    let emitter = |arm: u16| Emitter {
        rate: rate / 2.0,
        arms: vec![(1, efficiency), (arm, efficiency)],
        splits: false,
        jitter: 1.0,
        lifetime: 0.0,
        is_single: false,
    };
    let light = Light {
        duration: 3.0 * DURATION,
        emitters: vec![emitter(2), emitter(3)],
        background: vec![(1, 1e-5), (2, 1e-5), (3, 1e-5)],
        ..Light::default()
    };
    let ask = |asked: &str, rule| Ask {
        asked: asked.into(),
        fit: None,
        question: coincidences(&[1, 2, 3], rule, window, |_| {}),
        values: vec![value("g2_heralded", None)],
    };
    Case {
        name,
        lights: vec![light],
        asks: vec![
            ask("heralded g2, each herald once", Rule::PerHerald),
            ask("heralded g2, rule herald", Rule::Herald),
        ],
    }
}

fn histogram(ends: [u16; 2], bin: &str, range: &str, log: Option<u32>) -> Request {
    Request::Histogram(Histogram {
        pulsed: None,
        peak: None,
        sides: None,
        skip: None,
        by: None,
        start: Some(Channel::Number(ends[0])),
        stop: Some(Channel::Number(ends[1])),
        bin: log.is_none().then(|| bin.parse().unwrap()),
        exact_bins: false,
        range: Some(range.parse::<Reach>().unwrap()),
        log,
        mode: Mode::All,
        period: None,
        sync_divider: None,
        g2: true,
        errors: None,
        covariance: false,
        selection: Selection::default(),
        kept: KeptBins::default(),
    })
}

/// Returns g2 of independent light at short and at long lags.
fn correlations() -> Case {
    let light =
        Light { duration: DURATION, background: vec![(1, 2e-3), (2, 1e-3)], ..Light::default() };
    let ask = |asked: &str, question, rows: &[usize]| Ask {
        asked: asked.into(),
        fit: None,
        question,
        values: rows.iter().map(|&row| Value { row, ..value("g2", Some(1.0)) }).collect(),
    };
    // At a fifth of the run and more, the expectation depends on the counts themselves, so √C is too large.
    let wide =
        ask("a bin from 1 to 3.2 ms", histogram([1, 2], "1t", "100us..3.2ms", Some(2)), &[2])
            .blocks_only(&["g2"]);
    Case {
        name: "g2 of independent light, T = 10 ms",
        lights: vec![light],
        asks: vec![
            ask("bins of 1 us about 0", histogram([1, 2], "1us", "5us", None), &[0, 5]),
            ask(
                "a channel with itself: at 0, and from 3 us on",
                histogram([1, 1], "2us", "-5us..7us", None),
                &[2, 4],
            ),
            ask(
                "bins from 0.1 to 0.32 and from 0.32 to 1 ms",
                histogram([1, 2], "1t", "100us..3.2ms", Some(2)),
                &[0, 1],
            ),
            wide,
        ],
    }
}

/// Pulsed light of a single emitter and a laser with the same lifetime, over steady background, on a beam splitter. Photons are detected
/// per pulse, times are in periods.
struct Pulses {
    name: &'static str,
    period: f64,
    number: f64,
    emitter: f64,
    laser: f64,
    background: f64,
    lifetime: f64,
    jitter: f64,
}

const PULSES: Pulses = Pulses {
    name: "",
    period: 1_000.0,
    number: 200_000.0,
    emitter: 0.1,
    laser: 0.0,
    background: 0.004,
    lifetime: 0.05,
    jitter: 0.012,
};

impl Pulses {
    fn light(&self) -> Light {
        let emitter = |rate: f64, is_single| Emitter {
            rate: rate / self.period,
            arms: vec![(1, 1.0), (2, 1.0)],
            splits: true,
            jitter: self.jitter * self.period,
            lifetime: self.lifetime * self.period,
            is_single,
        };
        // An emitter emits in a pulse or not.
        let emitters = [emitter(-f64::ln_1p(-self.emitter), true), emitter(self.laser, false)];
        let background = self.background / 2.0 / self.period;
        Light {
            duration: self.number * self.period,
            emitters: emitters.into_iter().filter(|of| of.rate > 0.0).collect(),
            background: vec![(1, background), (2, background)],
            period: Some(self.period),
            ..Light::default()
        }
    }

    /// Returns g2(0): of pairs, E[n (n − 1)] / E[n]², where n is the sum of 0 or 1 and a Poisson number.
    fn truth(&self) -> f64 {
        let (s, c) = (self.emitter, self.laser);
        (2.0 * s * c + c * c) / (s + c).powi(2)
    }

    /// Returns g2(0) and, of light whose pulses are independent, that of some side peaks, of ten on each side, with the light changed.
    fn case(&self, truth: Option<f64>, change: impl Fn(&mut Light)) -> Case {
        let mut light = self.light();
        change(&mut light);
        let is_independent =
            light.blinking.is_none() && light.dead_time <= 0.0 && light.afterpulses.is_none();
        let rows: &[(usize, Option<f64>)] = if is_independent {
            &[(10, truth), (11, Some(1.0)), (3, Some(1.0))]
        } else {
            &[(10, truth)]
        };
        let values: Vec<Value> =
            rows.iter().map(|&(row, truth)| Value { row, ..value("g2", truth) }).collect();
        let period = self.period;
        let asks = vec![
            pulsed_ask("g2(0) and two sides, of 10 sides".into(), [1, 2], period, |_| {}, values)
                .blocks_only(&["g2"]),
        ];
        Case { name: self.name, lights: vec![light], asks }
    }
}

fn pulsed_ask(
    asked: String,
    ends: [u16; 2],
    period: f64,
    change: impl FnOnce(&mut Histogram),
    values: Vec<Value>,
) -> Ask {
    let Request::Histogram(mut question) = histogram(ends, "1t", "1t", None) else {
        unreachable!("a histogram")
    };
    (question.bin, question.range) = (None, None);
    question.pulsed = Some(format!("{period}ns").parse().unwrap());
    change(&mut question);
    Ask { asked, fit: None, question: Request::Histogram(question), values }
}

/// Returns pulsed light, from peaks that are apart to peaks that overlap.
fn peaks() -> Vec<Case> {
    let mut cases = Vec::new();
    let names = [
        (
            0.05,
            2e5,
            [
                "Pulsed emitter, lifetime P/20",
                "Pulsed emitter, lifetime P/20, 10 % laser",
                "Pulsed emitter, lifetime P/20, 30 % laser",
            ],
        ),
        (
            0.125,
            2e5,
            [
                "Pulsed emitter, lifetime P/8",
                "Pulsed emitter, lifetime P/8, 10 % laser",
                "Pulsed emitter, lifetime P/8, 30 % laser",
            ],
        ),
        (
            0.25,
            2e5,
            [
                "Pulsed emitter, lifetime P/4",
                "Pulsed emitter, lifetime P/4, 10 % laser",
                "Pulsed emitter, lifetime P/4, 30 % laser",
            ],
        ),
        (
            0.5,
            4e6,
            [
                "Pulsed emitter, lifetime P/2",
                "Pulsed emitter, lifetime P/2, 10 % laser",
                "Pulsed emitter, lifetime P/2, 30 % laser",
            ],
        ),
    ];
    for (lifetime, number, names) in names {
        for (name, part) in names.into_iter().zip([0.0, 0.1, 0.3]) {
            let (emitter, laser) = (0.1 * (1.0 - part), 0.1 * part);
            let of = Pulses { name, number, emitter, laser, lifetime, ..PULSES };
            cases.push(of.case(Some(of.truth()), |_| {}));
        }
    }
    for (name, lifetime, number) in [
        ("Pulses of coherent light", 0.05, 2e5),
        ("Pulses of coherent light, lifetime P/4", 0.25, 2e6),
    ] {
        let of = Pulses { name, number, emitter: 0.0, laser: 0.1, lifetime, ..PULSES };
        cases.push(of.case(Some(1.0), |_| {}));
    }
    cases.extend(other_peaks());
    cases
}

/// Returns pulsed light at the limits: an odd period, many and few photons, wide jitter, detectors and emitters that correlate pulses.
fn other_peaks() -> Vec<Case> {
    let mut cases = Vec::new();
    let odd = Pulses {
        name: "Pulsed emitter, lifetime P/4, P = 129.3 ticks",
        period: 129.3,
        lifetime: 0.25,
        ..PULSES
    };
    cases.push(odd.case(Some(0.0), |_| {}));
    let bright = Pulses {
        name: "Pulses of an emitter detected in 60 %",
        emitter: 0.6,
        background: 0.02,
        number: 50_000.0,
        ..PULSES
    };
    cases.push(bright.case(Some(0.0), |_| {}));
    let few = Pulses {
        name: "Pulses with four pairs in a peak",
        emitter: 0.0,
        laser: 0.02,
        background: 0.001,
        number: 40_000.0,
        ..PULSES
    };
    cases.push(few.case(Some(1.0), |_| {}));
    let wide = Pulses { name: "Pulses of an emitter with jitter of P/12", jitter: 0.08, ..PULSES };
    cases.push(wide.case(Some(0.0), |_| {}));
    let of = Pulses { name: "Pulses of an emitter, dead time of 6 periods", ..PULSES };
    cases.push(of.case(Some(0.0), |light| light.dead_time = 6_000.0));
    let of = Pulses { name: "Pulses of an emitter, afterpulses of 5 % after 4 periods", ..PULSES };
    cases.push(of.case(Some(0.0), |light| light.afterpulses = Some((0.05, 4_000.0))));
    let blinks = |light: &mut Light| light.blinking = Some((160_000.0, 160_000.0));
    let of = Pulses { name: "Pulses of an emitter that blinks", ..PULSES };
    cases.push(of.case(Some(0.0), blinks));
    let of = Pulses {
        name: "Pulses of an emitter that blinks, lifetime P/4, 10 % laser",
        lifetime: 0.25,
        laser: 0.01,
        ..PULSES
    };
    cases.push(of.case(None, blinks));
    let of = Pulses { emitter: 0.0, laser: 0.1, ..PULSES };
    let side = vec![Value { row: 5, ..value("g2", Some(1.0)) }];
    let ask = pulsed_ask(
        "a side of a channel with itself".into(),
        [1, 1],
        of.period,
        |question| question.sides = Some(4),
        side,
    );
    let name = "Pulses of coherent light, one channel";
    cases.push(Case { name, lights: vec![of.light()], asks: vec![ask.blocks_only(&["g2"])] });
    cases
}

/// Returns light with bursts.
fn thermal() -> Case {
    let light = Light {
        duration: 5.0 * DURATION,
        emitters: vec![Emitter {
            rate: 1e-3,
            arms: vec![(1, 1.0), (2, 1.0)],
            splits: true,
            jitter: 1.0,
            lifetime: 0.0,
            is_single: false,
        }],
        coherence: Some(20_000.0),
        ..Light::default()
    };
    let quantities = [
        "count",
        "accidentals",
        "car",
        "p_a_given_b",
        "p_b_given_a",
        "rate_hz",
        "g2",
        "contrast",
        "tau_s",
    ];
    let scatter = |names: &[&'static str]| names.iter().map(|name| value(name, None)).collect();
    let asks = vec![
        Ask {
            asked: "pair, 10 shifts".into(),
            fit: None,
            question: coincidences(&[1, 2], Rule::All, 50.0, |q| {
                q.accidentals = Accidentals::Shifted(10);
                q.shift = Some("25us".parse().unwrap());
            }),
            values: scatter(&["count", "accidentals", "car", "p_a_given_b"]),
        },
        Ask {
            asked: "rates".into(),
            fit: None,
            question: Request::Rates(Rates::default()),
            values: scatter(&["rate_hz"]),
        },
        Ask {
            asked: "bins of 1 us about 0".into(),
            fit: None,
            question: histogram([1, 2], "1us", "5us", None),
            values: scatter(&["g2"]),
        },
        Ask {
            asked: "fit of g2 in 20 bins a decade".into(),
            fit: Some("bunching"),
            question: histogram([1, 2], "1us", "1us..200us", Some(20)),
            values: vec![
                value("contrast", Some(1.0)),
                value("tau_s", Some(20e-6)),
                Value {
                    covers: Covers::Neither(
                        "the level of long lags depends on few fluctuations of the intensity, and a block holds too few of them",
                    ),
                    ..value("level", Some(1.0))
                },
            ],
        },
    ];
    let asks = asks.into_iter().map(|ask| ask.blocks_only(&quantities)).collect();
    Case { name: "Thermal light, coherence time 20 us", lights: vec![light], asks }
}

/// Returns independent light on an instrument that records nothing in a part of each 100 us.
fn dead(name: &'static str, percent: f64) -> Case {
    let rates = [2e-3, 3e-3, 2e-3];
    let light = Light {
        duration: DURATION,
        background: (1..).zip(rates).collect(),
        dead: Some((1e5, 1e3 * percent)),
        ..Light::default()
    };
    let live = DURATION * (1.0 - percent / 100.0);
    let pair = Pair { duration: live, ..Pair::new(0.0, [0.0; 2], [rates[0], rates[1]], 20.0) };
    let of =
        |asked: &str, question, values| Ask { asked: asked.into(), question, fit: None, values };
    let is_one = |quantity, rows: &[usize]| -> Vec<Value> {
        rows.iter().map(|&row| Value { row, ..value(quantity, Some(1.0)) }).collect()
    };
    let mut asks = pair_asks(pair, None);
    // A delay beyond a dead span: the time that both channels share has twice as many of them.
    let delayed = coincidences(&[1, 2], Rule::All, pair.window, |q| {
        q.selection.delays = vec![DelayAsked::Of(Channel::Number(2), "40us".parse().unwrap())];
    });
    let mut shifted = delayed.clone();
    if let Request::Coincidences(question) = &mut shifted {
        question.accidentals = Accidentals::Shifted(10);
        question.shift = Some("7us".parse().unwrap());
    }
    let scatter =
        || vec![value("count", None), value("accidentals", None), value("car", Some(0.0))];
    asks.push(of("pair, delay 40 us", delayed, scatter()));
    asks.push(of("pair, delay 40 us, 10 shifts of 7 us", shifted, scatter()));
    let short = histogram([1, 2], "1us", "5us", None);
    asks.push(of("g2, bins of 1 us about 0", short, is_one("g2", &[0, 5])));
    let long = histogram([1, 2], "1t", "10us..1ms", Some(2));
    asks.push(of("g2, bins from 10 to 32 us and from 0.32 to 1 ms", long, is_one("g2", &[0, 3])));
    let cells = Request::Histogram2d(Histogram2d {
        herald: Some(Channel::Number(1)),
        a: Some(Channel::Number(2)),
        b: Some(Channel::Number(3)),
        bin: Some("20t".parse().unwrap()),
        exact_bins: false,
        range: Some("5000t..5040t".parse().unwrap()),
        g3: true,
        selection: Selection::default(),
    });
    let mut values = is_one("g3", &[0, 3]);
    for value in &mut values {
        value.covers = Covers::Formula;
    }
    asks.push(of("g3, cells of 20 ns at 5 us", cells, values));
    Case { name, lights: vec![light], asks }
}

/// Returns independent light whose heralds an unrelated veto selects.
fn heralds_vetoed() -> Case {
    let light = Light {
        duration: DURATION,
        background: vec![(1, 3e-3), (2, 3e-3), (3, 3e-3), (7, 2e-3)],
        ..Light::default()
    };
    let ask = |asked: &str, rule| Ask {
        asked: asked.into(),
        fit: None,
        question: coincidences(&[1, 2, 3], rule, 30.0, |q| q.veto = vec![Channel::Number(7)]),
        values: vec![value("g2_heralded", Some(1.0))],
    };
    Case {
        name: "Independent channels, heralds selected by an unrelated veto",
        lights: vec![light],
        asks: vec![
            ask("heralded g2, each herald once", Rule::PerHerald),
            ask("heralded g2, rule herald", Rule::Herald),
        ],
    }
}

/// Returns light so weak that most counts are zero.
fn nothing() -> Case {
    let why = "a mean of 0.4 counts has no symmetric error that covers; a count of 0 has the error of one count, and a ratio of 0 an upper limit";
    let light =
        Light { duration: DURATION, background: vec![(1, 1e-5), (2, 1e-4)], ..Light::default() };
    let values = |quantities: &[&'static str], truth: f64| -> Vec<Value> {
        let of = |quantity: &&'static str| Value {
            covers: Covers::Neither(why),
            ..value(quantity, Some(truth))
        };
        quantities.iter().map(of).collect()
    };
    Case {
        name: "0.4 counts on average",
        lights: vec![light],
        asks: vec![
            Ask {
                asked: "pair, rule all".into(),
                fit: None,
                question: coincidences(&[1, 2], Rule::All, 20.0, |_| {}),
                values: values(&["count"], 0.41),
            },
            Ask {
                asked: "g2, a bin of 41 ns".into(),
                fit: None,
                question: histogram([1, 2], "41t", "20t", None),
                values: values(&["g2"], 1.0),
            },
        ],
    }
}

/// Returns light that becomes three times as bright.
fn drift() -> Case {
    let light = Light {
        duration: DURATION,
        background: vec![(1, 3e-3), (2, 3e-3)],
        rise: Some(3.0),
        ..Light::default()
    };
    Case {
        name: "Light that becomes three times as bright",
        lights: vec![light],
        asks: vec![
            Ask {
                asked: "rates".into(),
                fit: None,
                question: Request::Rates(Rates::default()),
                // Two thirds of the highest rate.
                values: vec![value("rate_hz", Some(2e6))],
            },
            Ask {
                asked: "pair, 10 shifts".into(),
                fit: None,
                question: coincidences(&[1, 2], Rule::All, 20.0, |q| {
                    q.accidentals = Accidentals::Shifted(10);
                }),
                values: vec![value("count", None), value("car", Some(0.0))],
            },
            Ask {
                asked: "g2, bins of 1 us about 0".into(),
                fit: None,
                question: histogram([1, 2], "1us", "5us", None),
                values: vec![value("g2", None)],
            },
        ],
    }
}

/// Returns rates of steady light.
fn rates() -> Case {
    let light =
        Light { duration: DURATION, background: vec![(1, 5e-4), (2, 3e-3)], ..Light::default() };
    let values = [(0, 5e5), (1, 3e6), (2, 3.5e6)]
        .map(|(row, truth)| Value { row, ..value("rate_hz", Some(truth)) });
    let ask = Ask {
        asked: "rates".into(),
        fit: None,
        question: Request::Rates(Rates::default()),
        values: values.into(),
    };
    Case { name: "Rates of steady light", lights: vec![light], asks: vec![ask] }
}

pub(crate) fn all() -> Vec<Case> {
    let mut cases = vec![
        rates(),
        steady("Independent channels, rate × full width 0.04", 0.0, [0.0; 2], [1e-3; 2], 20.0),
        steady("Independent channels, rate × full width 0.4", 0.0, [0.0; 2], [2e-3; 2], 100.0),
        steady("True pairs of η 0.3, rate × full width 0.01", 1e-3, [0.3; 2], [0.0; 2], 15.0),
        steady("True pairs of η 0.8, rate × full width 0.08", 2e-3, [0.8; 2], [0.0; 2], 25.0),
        steady("True pairs of η 0.9, rate × full width 0.36", 2e-3, [0.9; 2], [0.0; 2], 100.0),
        steady(
            "True pairs of η 0.8 and 0.3, background on the second channel",
            1e-3,
            [0.8, 0.3],
            [1e-5, 3e-3],
            50.0,
        ),
        rules(),
        two_rates(),
        pulsed(),
        vetoed(),
        delayed(),
        independent_groups(),
        triples(),
        heralded("Heralded photon, η 0.3, 0.06 pairs in the window", 1e-3, 0.3, 30.0),
        heralded("Heralded photon, η 0.7, 0.12 pairs in the window", 2e-3, 0.7, 30.0),
        heralds_vetoed(),
        correlations(),
        dead("Independent channels, 5 % dead", 5.0),
        dead("Independent channels, 10 % dead", 10.0),
        dead("Independent channels, 30 % dead", 30.0),
        nothing(),
        drift(),
        thermal(),
    ];
    cases.extend(peaks());
    cases
}

/// Returns the cases of the ordinary tests.
pub(crate) fn few() -> Vec<Case> {
    vec![
        steady("True pairs of η 0.8, rate × full width 0.08", 2e-3, [0.8; 2], [0.0; 2], 25.0),
        vetoed(),
        dead("Independent channels, 10 % dead", 10.0),
        heralds_vetoed(),
    ]
}
