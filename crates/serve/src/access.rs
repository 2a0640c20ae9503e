//! Checks who may ask: host, origin and token; and the headers of security.
//!
//! A page of `evil.example` that a browser was led to under 127.0.0.1 is refused, because its host header is a name
//! that is not served. Every request passes these checks before anything else; only `/api/login` and the files of the
//! page need no token.

use std::net::{IpAddr, SocketAddr};

use axum::{
    http::{
        HeaderMap, HeaderName, HeaderValue, StatusCode, header, request::Parts, uri::Authority,
    },
    response::Response,
};

use crate::{
    error::{Error, Refusal},
    token::Token,
};

/// The address of this end of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LocalAddress(pub SocketAddr);

/// The names by which the server is reached.
#[derive(Debug, Clone, Default)]
pub struct Sites {
    /// Names of hosts, for proxies, besides `localhost` and the address of the connection.
    pub hosts: Vec<String>,
    /// The path below which it answers, such as `/lab`; empty for the root.
    pub base_path: String,
}

impl Sites {
    /// Returns the base path without a slash at its end.
    pub(crate) fn base(&self) -> Result<&str, Error> {
        let base = self.base_path.trim_end_matches('/');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._~/".contains(c);
        if base.is_empty() || base.starts_with('/') && base.chars().all(is_plain) {
            return Ok(base);
        }
        Err(Error::BasePath(self.base_path.clone()))
    }
}

/// The checks of each request.
pub(crate) struct Access {
    pub hosts: Vec<String>,
    pub token: Option<Token>,
    /// Name of the cookie with the token: browsers send the same cookies to all ports of a host.
    pub cookie: String,
    pub base: String,
}

impl Access {
    /// Checks the host and the origin. A page of another site must not reach the server, also not under a name of its own
    /// that leads to this address.
    pub fn check_site(&self, parts: &Parts) -> Result<(), Refusal> {
        let refused = |reason: &str| Refusal::new(StatusCode::FORBIDDEN, reason);
        let mut hosts = parts.headers.get_all(header::HOST).iter();
        let host = hosts.next().filter(|_| hosts.next().is_none());
        let host = host.and_then(|host| host.to_str().ok());
        let authority: Option<Authority> = host.and_then(|host| host.parse().ok());
        let local = parts.extensions.get::<LocalAddress>().map(|local| local.0.ip());
        let is_own = |authority: &Authority| self.is_own(authority, local);
        let Some(authority) = authority.filter(is_own) else {
            return Err(refused(
                "this host is not served; a proxy or another name needs --allow-host",
            ));
        };
        let is_absolute = parts.uri.authority().is_some_and(|of| *of != authority);
        if is_absolute {
            return Err(refused("the host of the path is not that of the header"));
        }
        let is_cross = |site: &HeaderValue| site == "cross-site" || site == "same-site";
        let is_api = parts.uri.path().starts_with(&format!("{}/api/", self.base));
        if is_api && parts.headers.get("sec-fetch-site").is_some_and(is_cross) {
            return Err(refused("pages of other sites may not ask"));
        }
        let mut origins = parts.headers.get_all(header::ORIGIN).iter();
        let is_same = |origin: &HeaderValue| {
            let text = origin.to_str().ok()?;
            let of: Authority =
                text.strip_prefix("http://").or(text.strip_prefix("https://"))?.parse().ok()?;
            let is_listed = self.hosts.iter().any(|own| own.eq_ignore_ascii_case(of.host()));
            (of == authority || is_listed).then_some(())
        };
        if !origins.all(|origin| is_same(origin).is_some()) {
            return Err(refused("pages of other origins may not ask"));
        }
        Ok(())
    }

    fn is_own(&self, authority: &Authority, local: Option<IpAddr>) -> bool {
        let host = authority.host();
        let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let is_listed = self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        let is_here = |address: IpAddr| {
            address.is_loopback() || local.is_some_and(|local| local.to_canonical() == address)
        };
        !authority.as_str().contains('@')
            && (host.eq_ignore_ascii_case("localhost") || is_listed || address.is_ok_and(is_here))
    }

    /// Checks the token, in the header or in the cookie.
    pub fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let bearer = bearer.and_then(|value| value.strip_prefix("Bearer "));
        let cookies =
            headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let cookies = cookies
            .flat_map(|value| value.split(';'))
            .filter_map(|of| of.trim().strip_prefix(&*self.cookie)?.strip_prefix('='));
        if bearer.into_iter().chain(cookies).any(|given| token.is(given.trim())) {
            return Ok(());
        }
        let reason =
            "a token is needed: Authorization: Bearer TOKEN, or the cookie that /api/login sets";
        Err(Refusal::new(StatusCode::UNAUTHORIZED, reason))
    }

    /// Returns the value of the cookie for this token; `None` if it is not the token.
    pub fn cookie_for(&self, given: &str) -> Option<String> {
        let token = self.token.as_ref().filter(|token| token.is(given))?;
        let (cookie, base) = (&self.cookie, &self.base);
        Some(format!("{cookie}={}; Path={base}/; HttpOnly; SameSite=Strict", token.text()))
    }
}

/// Headers of every response.
const HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Adds the headers of security. Nothing is stored, except where the response says otherwise.
pub(crate) fn secured(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}
