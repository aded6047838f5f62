//! Names of files in other places: `s3://bucket/binlog.000001`, and chains of them,
//! `zip://binlog.000001::s3://bucket/a.zip`.

use std::path::Path;

/// True if `text` is a URI and not a path of this system: a scheme and `://` (RFC 3986, 3.1), or a
/// chain of names that ends with one.
pub fn is_uri(text: &str) -> bool {
    text.split("::").any(|part| part.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme)))
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|each| each.is_ascii_alphanumeric() || "+.-".contains(each))
}

/// The file's own name: the last part of a path, or of the path in a URI.
pub fn base_name(name: &str) -> &str {
    let path = if is_uri(name) { path_of(name) } else { name };
    Path::new(path).file_name().and_then(|base| base.to_str()).unwrap_or(path)
}

/// The name for messages: a URI without its query and user, which may contain secrets.
pub fn shown(name: &str) -> String {
    if !is_uri(name) {
        return name.to_owned();
    }
    let part = |part: &str| {
        let part = part.split_once('?').map_or(part, |(path, _)| path);
        let Some((scheme, rest)) = part.split_once("://") else { return part.to_owned() };
        let authority = rest.split('/').next().unwrap_or_default();
        // The container of `abfss://container@account/` is not a user, and it does not matter for
        // the name if it is removed.
        match authority.rsplit_once('@').filter(|(user, _)| user.contains(':')) {
            Some((user, _)) => {
                format!("{scheme}://{}", rest.get(user.len() + 1..).unwrap_or_default())
            }
            None => part.to_owned(),
        }
    };
    name.split("::").map(part).collect::<Vec<_>>().join("::")
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
    fn uris_are_told_from_paths() {
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
    fn a_file_has_its_base_name_wherever_it_lies() {
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
        ] {
            assert_eq!(shown(uri), expected);
        }
    }
}
