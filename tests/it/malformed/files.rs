//! Files that are not binlogs, and files that cannot be read.

use super::{assert_located, failure};
use crate::fixtures::folder;
use crate::log::{Event, Log, stop, transaction};
use crate::rows::{decode, options};
use binarrow::ErrorKind;
use binarrow::source::InputFile;

#[test]
fn not_a_binlog() {
    for bytes in [&b"PK\x03\x04"[..], b"\xfe", b"\xfebi", b"\xfebix\0\0\0\0", &[0; 500]] {
        let error = failure(bytes.to_vec());
        assert_eq!(error.kind(), ErrorKind::Malformed);
        assert!(error.message().contains("not a binary log"), "{error}");
        assert_eq!(error.file(), Some("binlog.000001"));
    }
    let error = failure(Vec::new());
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(error.message().contains("the file is empty"), "{error}");
    assert_eq!(error.file(), Some("binlog.000001"));
}

#[test]
fn only_the_magic_bytes() {
    let error = failure(b"\xfebin".to_vec());
    assert!(error.message().contains("format description"), "{error}");
    assert_located(&error, 4, "Format_desc");
}

#[test]
fn encrypted() {
    let mut bytes = b"\xfdbin".to_vec();
    bytes.resize(600, 7);
    let error = failure(bytes);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("encrypted"), "{error}");
    assert!(error.message().contains("read-from-remote-server"), "says what to do: {error}");
    assert_eq!(error.file(), Some("binlog.000001"));

    let start_encryption = Event::new(164, [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let error = failure(Log::mariadb().with([start_encryption]).bytes);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.message().contains("encrypted"), "{error}");
    assert_located(&error, Log::mariadb().end(), "Start_encryption");
    // The event in a copy of a log that the server sent, which it had decrypted.
    let sent = Event::new(164, [1; 17]).flags(0x80);
    let log = Log::mariadb().with([sent]).with(transaction(1, [1])).with([stop()]);
    assert_eq!(decode(log.inputs(), &options()).ok().inserted(), [1]);
}

#[test]
fn files_that_cannot_be_read() {
    let fail = |path: &str| {
        let outcome = decode(vec![InputFile::at_path(path, 1)], &options());
        assert_eq!(outcome.rows, []);
        outcome.error.unwrap()
    };
    let error = fail("/no/such/binlog.000001");
    assert_eq!(error.kind(), ErrorKind::Io);
    assert_eq!(error.io_error().unwrap().kind(), std::io::ErrorKind::NotFound);
    assert_eq!(error.file(), Some("/no/such/binlog.000001"));

    let error = fail(folder().to_str().unwrap());
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("is a directory"), "{error}");
    assert!(error.to_string().contains("tests/fixtures"), "{error}");

    // The error for a missing file comes after the rows of the files before it.
    let first = Log::mysql().with(transaction(1, [1])).with([stop()]);
    let files = vec![first.input("binlog.000001"), InputFile::at_path("/no/such/binlog.000002", 2)];
    let outcome = decode(files, &options());
    assert_eq!(outcome.inserted(), [1]);
    assert_eq!(outcome.failure().kind(), ErrorKind::Io);
    assert_eq!(outcome.failure().file(), Some("/no/such/binlog.000002"));

    for pattern in ["/no/such/*", "/no/such/folder/binlog.[0-9]*"] {
        let error = binarrow::source::expand(pattern).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error}");
        assert!(error.message().contains(pattern), "{error}");
    }
    assert!(binarrow::source::expand("/tmp/[").is_err());
    let empty = tempfile::tempdir().unwrap();
    assert!(binarrow::source::expand(empty.path().to_str().unwrap()).is_err());
}

#[test]
fn a_table_pattern_that_is_none() {
    for pattern in ["orders", "", "shop.", ".orders"] {
        let error = binarrow::change::TableFilter::try_new(&[pattern], &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.message().contains("database.table"), "{error}");
    }
}
