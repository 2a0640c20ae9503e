//! A fit in a sentence for the methods of a publication: model, noise, fixed parameters, errors, deviance and the
//! version of tagq.

use tagq_fit::{Fitted, Significance, lifetimes::ResponseOf};

use super::request::Instrument;

/// Says what a decay is fitted with.
pub(super) fn instrument(of: &Instrument, is_pile_up: bool) -> String {
    let response = match of.response {
        None => "",
        Some(ResponseOf::Measured(_)) => {
            " with the measured response of the instrument, whose counting error is part of the errors (200 Poisson draws)"
        }
        Some(ResponseOf::Auto) => " with a Gaussian response of the instrument, fitted with it",
        Some(ResponseOf::Tail) => {
            ", from three standard deviations after a Gaussian response of the instrument on,"
        }
    };
    let pile_up = ", corrected for pile-up (Coates)";
    let pile_up = if is_pile_up { pile_up } else { "" };
    format!("{response}{pile_up}")
}

/// Describes a fit with this title, and what it was made with.
pub(super) fn sentence(title: &str, with: &str, fitted: &Fitted) -> String {
    let Fitted { deviance, deviance_expected, deviance_spread, degrees, .. } = fitted;
    let all = || fitted.parameters.iter().filter(|of| !of.is_absent);
    let fixed: Vec<&str> = all().filter(|of| of.is_fixed).map(|of| &*of.name).collect();
    let fixed = match &fixed[..] {
        [] => String::new(),
        fixed => format!(" at fixed {}", fixed.join(", ")),
    };
    let errors = if all().any(|of| of.interval.is_some()) {
        "intervals of 68.3 % are those of the profile likelihood"
    } else {
        "standard errors are from the inverse Fisher information"
    };
    let structure = fitted.significance.as_ref().map(|of| {
        let Significance { name, against, sigmas, likelihood_ratio, .. } = of;
        format!(
            "; the likelihood ratio of the {name} against {against} was {likelihood_ratio:.1}, which simulations of data without it \
             and the search for its place make {sigmas:.1} standard deviations"
        )
    });
    format!(
        "methods: {title}{with} by maximum likelihood of Poisson counts (Levenberg-Marquardt on deviance residuals){fixed}; {errors}; \
         the deviance was {deviance:.1} for {degrees} degrees of freedom ({deviance_expected:.1} ± {deviance_spread:.1} \
         expected){}. tagq {}.",
        structure.unwrap_or_default(),
        env!("CARGO_PKG_VERSION")
    )
}
