//! URLs of servers, histories and files: the one parser of their parts, which alone decides whether a URL contains a password.
//!
//! ```text
//! scheme :// user : password @ hosts / path ? query          mysql://repl@db.example:3306/?tls=required
//! zip://binlog.000001::s3://bucket/a.zip                      a chain of URIs, as in fsspec
//! ```

use std::path::Path;

/// The parts of a URL, with their escapes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Url<'t> {
    /// The text before `://`.
    pub scheme: &'t str,
    /// All from `://` to the path or the query.
    pub authority: &'t str,
    /// The user.
    pub user: Option<&'t str>,
    /// The password.
    pub password: Option<&'t str>,
    /// The authority without user and password: a host, or several with commas, each with its port.
    pub hosts: &'t str,
    /// The path, from its first slash on.
    pub path: &'t str,
    /// The text after the question mark.
    pub query: &'t str,
}

impl<'t> Url<'t> {
    /// Splits a URL; `None` for text without `://`.
    pub fn parse(text: &'t str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (credentials, hosts) = match authority.rsplit_once('@') {
            Some((credentials, hosts)) => (Some(credentials), hosts),
            None => (None, authority),
        };
        let (user, password) = match credentials.map(|both| both.split_once(':').ok_or(both)) {
            Some(Ok((user, password))) => (Some(user), Some(password)),
            Some(Err(user)) => (Some(user), None),
            None => (None, None),
        };
        Some(Self { scheme, authority, user, password, hosts, path, query })
    }

    /// True if it is the URL of a server of MySQL or MariaDB.
    pub fn is_server(&self) -> bool {
        ["mysql", "mariadb"].iter().any(|scheme| self.scheme.eq_ignore_ascii_case(scheme))
    }

    /// True if it contains a password, also one in which `/` or `?` are not escaped.
    pub fn has_password(&self) -> bool {
        self.password.is_some() || (self.has_at_after_hosts() && self.has_no_port())
    }

    /// True if an `@` follows the hosts: the password may contain a `/` or `?` that is not escaped.
    pub fn has_at_after_hosts(&self) -> bool {
        self.path.contains('@') || self.query.contains('@')
    }

    /// True if the authority has the form of a host and a port, but the port is not a number.
    fn has_no_port(&self) -> bool {
        let port = self.authority.rsplit_once(':').map(|(_, port)| port);
        !self.authority.starts_with('[')
            && port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// The URL for messages, without its query and password, and without its user if there is a password.
    fn shown(&self) -> String {
        let Self { scheme, authority, hosts, path, .. } = self;
        let authority = match self.has_password() {
            true if self.has_at_after_hosts() => return format!("{scheme}://..."),
            true => hosts,
            // The container of `abfss://container@account/` is part of the file's name.
            false => authority,
        };
        format!("{scheme}://{authority}{path}")
    }
}

/// Without secrets.
impl std::fmt::Debug for Url<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

/// True if text is a URI and not a path of this system: it has a scheme and `://` (RFC 3986, 3.1), or is a chain of such names.
pub fn is_uri(text: &str) -> bool {
    text.split("::").any(|part| part.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)))
}

/// True if a URL, or one in a chain of URIs, contains a password.
pub fn has_password(text: &str) -> bool {
    links(text).into_iter().filter_map(Url::parse).any(|url| url.has_password())
}

/// The name of a file: the last part of a path, or of the path in a URI.
pub fn base_name(name: &str) -> &str {
    let path = if is_uri(name) { path_of(name) } else { name };
    Path::new(path).file_name().and_then(|base| base.to_str()).unwrap_or(path)
}

/// The name of a file for messages: a URI without its query and password, which may be secrets.
pub fn shown(name: &str) -> String {
    if !is_uri(name) {
        return name.to_owned();
    }
    let show = |link: &str| match Url::parse(link) {
        Some(url) => url.shown(),
        None => link.split_once('?').map_or(link, |(path, _)| path).to_owned(),
    };
    links(name).into_iter().map(show).collect::<Vec<_>>().join("::")
}

/// The names in a chain. A `::` within a password or a path separates nothing: no URI follows it.
fn links(chain: &str) -> Vec<&str> {
    let mut links = Vec::new();
    let (mut link, mut searched) = (chain, 0);
    while let Some(at) = link.get(searched..).and_then(|rest| rest.find("::")) {
        let (end, next) = (searched + at, searched + at + 2);
        let (Some(before), Some(after)) = (link.get(..end), link.get(next..)) else { break };
        let is_link = after.split("::").map_while(first_of_link).any(|is_uri| is_uri);
        if is_link {
            links.push(before);
            (link, searched) = (after, 0);
        } else {
            searched = next;
        }
    }
    links.push(link);
    links
}

/// True if text begins with a scheme and `://`, false if it is the name of a protocol alone; `None` for other text.
fn first_of_link(text: &str) -> Option<bool> {
    match text.split_once("://") {
        Some((scheme, _)) => is_scheme(scheme).then_some(true),
        None => is_scheme(text).then_some(false),
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|each| each.is_ascii_alphanumeric() || "+.-".contains(each))
}

/// The path in the first URI of a chain, without its query.
fn path_of(uri: &str) -> &str {
    let first = uri.split("::").find(|part| part.contains("://")).unwrap_or(uri);
    first.split_once('?').map_or(first, |(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_and_paths() {
        for uri in
            ["s3://b/k", "simplecache::gs://b/k", "zip://a/b.000001::file:///x.zip", "a+b.c-1://x"]
        {
            assert!(is_uri(uri), "{uri}");
        }
        for path in ["/a/b", "a:b", "a::b", "C://x/://", "://x", "1a://x", "a b://c", ""] {
            assert_eq!(is_uri(path), path == "C://x/://", "{path}");
        }
    }

    #[test]
    fn base_names() {
        for name in [
            "/archive/binlog.000007",
            "binlog.000007",
            "s3://bucket/year/binlog.000007",
            "s3://bucket/binlog.000007?region=eu-north-1",
            "simplecache::s3://bucket/binlog.000007",
            "zip://binlog.000007::https://host/logs.zip?X-Amz-Signature=a/b",
        ] {
            assert_eq!(base_name(name), "binlog.000007", "{name}");
        }
        assert_eq!(base_name("<input 1>"), "<input 1>");
    }

    #[test]
    fn secrets_are_not_shown() {
        for (uri, expected) in [
            ("https://h/b.1?sig=secret", "https://h/b.1"),
            ("s3://key:secret@bucket/b.1", "s3://bucket/b.1"),
            (
                "abfss://logs@account.dfs.core.windows.net/b.1",
                "abfss://logs@account.dfs.core.windows.net/b.1",
            ),
            ("zip://b.1::sftp://me:secret@h/a.zip?x=secret", "zip://b.1::sftp://h/a.zip"),
            ("/what?is=this", "/what?is=this"),
            ("simplecache::s3://key:secret@bucket/b.1", "simplecache::s3://bucket/b.1"),
            ("s3://bucket/a@b:c/b.1", "s3://bucket/a@b:c/b.1"),
            ("http://host:9000/a@b/b.1?x=secret", "http://host:9000/a@b/b.1"),
            ("http://[::1]:9000/a@b", "http://[::1]:9000/a@b"),
            // A password whose special characters are not escaped.
            ("s3://key:sec/ret@bucket/b.1", "s3://..."),
            ("mysql://me:sec?ret@host/", "mysql://..."),
            ("mysql://me:secret@host/x@y", "mysql://..."),
            ("mysql://me:secret@host/?x=a@b", "mysql://..."),
            ("mysql://me:sec::ret@host/", "mysql://host/"),
            ("mysql://me:sec#ret@host/", "mysql://host/"),
        ] {
            assert_eq!(shown(uri), expected);
        }
    }

    #[test]
    fn passwords() {
        for (url, expected) in [
            ("mysql://me@host:3306/", false),
            ("mysql://me:@host/", true),
            ("mysql://me:secret@host/", true),
            ("mysql://me:a@b@host/", true),
            ("mysql://me:sec/ret@host/", true),
            ("mysql://me:sec?ret@host/", true),
            ("mysql://me:sec::ret@host/", true),
            ("mysql://[::1]:3306,b:3306/", false),
            ("s3://bucket/a@b", false),
            ("s3://bucket/a:b@c", false),
            ("http://host:9000/a@b", false),
            ("abfss://logs@account/b.1", false),
            ("zip://b.1::sftp://me:secret@h/a.zip", true),
            ("sftp://me:secret@h/a.zip::zip://b.1", true),
            ("blockcache::simplecache::s3://k:secret@b/x", true),
            ("me:secret@host", false),
            ("", false),
        ] {
            assert_eq!(has_password(url), expected, "{url}");
        }
    }

    #[test]
    fn parts() {
        let url = Url::parse("MySQL://me:a@b:c@h:1,[::1]:2/db/x?k=v&l").unwrap();
        assert_eq!((url.scheme, url.user, url.password), ("MySQL", Some("me"), Some("a@b:c")));
        assert_eq!((url.authority, url.hosts), ("me:a@b:c@h:1,[::1]:2", "h:1,[::1]:2"));
        assert_eq!((url.path, url.query, url.is_server()), ("/db/x", "k=v&l", true));
        assert_eq!(format!("{url:?}"), "MySQL://h:1,[::1]:2/db/x");
        let url = Url::parse("sqlite:////var/x.db").unwrap();
        assert_eq!((url.user, url.hosts, url.path), (None, "", "//var/x.db"));
        assert!(!url.is_server());
        assert_eq!(Url::parse("/a/b.db"), None);
    }
}
