use super::*;
use crate::protocol::Secret;
use crate::protocol::auth::from_hex;

const NONCE: [u8; 20] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20];

fn greeting(capabilities: u32, plugin: &str) -> Vec<u8> {
    let mut bytes = b"\x0a9.7.0\0\x07\0\0\0".to_vec();
    bytes.extend(&NONCE[..8]);
    bytes.push(0);
    bytes.extend((capabilities as u16).to_le_bytes());
    bytes.extend([45, 2, 0]);
    bytes.extend(((capabilities >> 16) as u16).to_le_bytes());
    bytes.push(21);
    bytes.extend([0; 10]);
    bytes.extend(&NONCE[8..]);
    bytes.push(0);
    bytes.extend(plugin.bytes());
    bytes.push(0);
    bytes
}

const COMPLETE_OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];

const ALL: u32 = 0xdfff_ffff;
const NO_TLS: u32 = ALL & !0x800;

fn options() -> LoginOptions {
    LoginOptions { user: "me".into(), password: Secret::new("secret"), ..LoginOptions::default() }
}

fn sent(step: Step) -> Vec<u8> {
    match step {
        Step::Send(bytes) => bytes.to_vec(),
        other => unreachable!("{other:?}"),
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

/// A login with TLS, up to the answer to the handshake.
fn over_tls<'a>(options: &'a LoginOptions, plugin: &str) -> (Login<'a>, Vec<u8>) {
    let mut login = Login::new(options);
    let Step::StartTls(request) = login.on_packet(&greeting(ALL, plugin)).unwrap() else {
        unreachable!("no TLS")
    };
    assert_eq!(request.len(), 32);
    assert!(!contains(&request, b"me"));
    let response = sent(login.tls_started().unwrap());
    (login, response)
}

#[test]
fn the_fast_way() {
    let options = options();
    let mut login = Login::new(&options);
    let response = sent(login.on_packet(&greeting(ALL, "caching_sha2_password")).unwrap());
    let hash = from_hex("746ebe205d56a0707acb3e796e834e0dd7b1d61743b26bd5202c7a623230c7c9");
    assert!(contains(&response, &hash) && contains(&response, b"me\0"));
    assert!(contains(&response, b"caching_sha2_password\0"));
    assert_eq!(login.on_packet(&[1, 3]), Ok(Step::Read));
    assert_eq!(login.on_packet(COMPLETE_OK), Ok(Step::Done));
    assert_eq!(login.on_packet(&[0]), Err(LoginError::Unexpected(0)));
}

#[test]
fn tls_or_nothing() {
    let mut options = options();
    options.tls = TlsWish::Always;
    let refused = Login::new(&options).on_packet(&greeting(NO_TLS, "caching_sha2_password"));
    assert_eq!(refused, Err(LoginError::NoTls));
    let (mut login, response) = over_tls(&options, "caching_sha2_password");
    assert!(!contains(&response, b"secret"));
    assert_eq!(sent(login.on_packet(&[1, 4]).unwrap()), b"secret\0");
    assert_eq!(login.on_packet(COMPLETE_OK), Ok(Step::Done));

    options.tls = TlsWish::IfOffered;
    let mut login = Login::new(&options);
    assert!(matches!(login.on_packet(&greeting(NO_TLS, "x")), Ok(Step::Send(_))));
}

#[test]
fn no_password_in_the_clear_without_tls() {
    let options = options();
    for (plugin, leads_there) in
        [("caching_sha2_password", &[1_u8, 4][..]), ("x", b"\xfesha256_password\0aaa")]
    {
        let mut login = Login::new(&options);
        login.on_packet(&greeting(NO_TLS, plugin)).unwrap();
        let error = login.on_packet(leads_there).unwrap_err();
        assert!(matches!(error, LoginError::NeedsSecureTransport(_)), "{error}");
    }
    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "x")).unwrap();
    let error = login.on_packet(b"\xfemysql_clear_password\0").unwrap_err();
    assert_eq!(error, LoginError::ClearNotAllowed);
    let allowed = LoginOptions { allow_clear_password: true, ..options };
    let mut login = Login::new(&allowed);
    login.on_packet(&greeting(NO_TLS, "x")).unwrap();
    let error = login.on_packet(b"\xfemysql_clear_password\0").unwrap_err();
    assert!(matches!(error, LoginError::NeedsSecureTransport(_)), "{error}");
    let local = LoginOptions { is_local: true, ..allowed };
    let mut login = Login::new(&local);
    login.on_packet(&greeting(NO_TLS, "x")).unwrap();
    assert_eq!(sent(login.on_packet(b"\xfemysql_clear_password\0").unwrap()), b"secret\0");
}

#[test]
fn a_key_that_the_server_sends_is_used_only_where_that_is_allowed() {
    let options = LoginOptions { allow_public_key_retrieval: true, ..options() };
    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "caching_sha2_password")).unwrap();
    assert_eq!(sent(login.on_packet(&[1, 4]).unwrap()), [2]);
    assert_eq!(login.on_packet(b"\x01no key"), Err(LoginError::BadPublicKey));
    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "x")).unwrap();
    assert_eq!(sent(login.on_packet(b"\xfesha256_password\0aaa").unwrap()), [1]);
    assert_eq!(login.on_packet(&[0]), Err(LoginError::Unexpected(0)));
}

#[test]
fn over_a_unix_socket() {
    let options = LoginOptions { is_local: true, ..options() };
    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "caching_sha2_password")).unwrap();
    assert_eq!(sent(login.on_packet(&[1, 4]).unwrap()), b"secret\0");
    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "x")).unwrap();
    assert_eq!(sent(login.on_packet(b"\xfesha256_password\0aaa").unwrap()), [1]);
}

#[test]
fn a_switch_brings_its_own_nonce() {
    let options = options();
    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "caching_sha2_password")).unwrap();
    let other: Vec<u8> = (0x31..0x45).collect();
    let request = [b"\xfemysql_native_password\0", &other[..], b"\0"].concat();
    let answer = sent(login.on_packet(&request).unwrap());
    assert_eq!(answer, native_answer(&options.password, &other));
    assert_eq!(login.on_packet(&request), Err(LoginError::Unexpected(EOF)));

    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "mysql_native_password")).unwrap();
    let request = [b"\xfeclient_ed25519\0", &[0; 32][..]].concat();
    let answer = sent(login.on_packet(&request).unwrap());
    assert_eq!(answer, ed25519_signature(&options.password, &[0; 32]));

    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "mysql_native_password")).unwrap();
    let request = [b"\xfeparsec\0", &[7; 32][..]].concat();
    assert!(sent(login.on_packet(&request).unwrap()).is_empty());
    let answer = sent(login.on_packet(b"P\0eighteen bytes of it").unwrap());
    assert_eq!(answer.len(), 96);
    assert_eq!(login.on_packet(COMPLETE_OK), Ok(Step::Done));
}

#[test]
fn old_and_unknown_plugins() {
    let options = options();
    for request in [&b"\xfe"[..], b"\xfedialog\0x", b"\xfe\0"] {
        let mut login = Login::new(&options);
        login.on_packet(&greeting(NO_TLS, "x")).unwrap();
        let error = login.on_packet(request).unwrap_err();
        assert!(matches!(error, LoginError::UnknownPlugin(_)), "{error}");
    }
}

#[test]
fn compression_is_asked_for_or_an_error() {
    for (compression, bit) in [(Compression::Zlib, 0x20), (Compression::Zstd, 1 << 26)] {
        let options = LoginOptions { compression, ..options() };
        let refused = Login::new(&options).on_packet(&greeting(NO_TLS & !bit, "x"));
        assert!(matches!(refused, Err(LoginError::NoCompression(_))));
        let mut login = Login::new(&options);
        login.on_packet(&greeting(NO_TLS, "x")).unwrap();
        assert_eq!(login.capabilities().0 & (0x20 | 1 << 26), bit);
    }
}

#[test]
fn refusals_and_endless_logins() {
    let options = options();
    let refused = Login::new(&options).on_packet(b"\xff\x10\x04Too many connections").unwrap_err();
    let LoginError::Refused(refusal) = refused else { unreachable!("{refused}") };
    assert_eq!(refusal.code, 1040);
    let mut login = Login::new(&options);
    login.on_packet(&greeting(NO_TLS, "caching_sha2_password")).unwrap();
    for _ in 1..MAX_ROUNDS {
        assert_eq!(login.on_packet(&[1, 3]), Ok(Step::Read));
    }
    assert_eq!(login.on_packet(&[1, 3]), Err(LoginError::TooManyRounds));
}

#[test]
fn an_ok_that_is_cut_short() {
    let options = options();
    for len in 1..COMPLETE_OK.len() {
        let mut login = Login::new(&options);
        login.on_packet(&greeting(NO_TLS, "caching_sha2_password")).unwrap();
        let error = login.on_packet(&COMPLETE_OK[..len]).unwrap_err();
        assert!(matches!(error, LoginError::Malformed(_)), "{error}");
    }
}

#[test]
fn no_step_or_error_shows_the_password() {
    let options = options();
    let login = Login::new(&options);
    assert!(!format!("{login:?} {options:?}").contains("secret"));
}

proptest::proptest! {
    #[test]
    fn any_packets(packets: Vec<Vec<u8>>, first: bool) {
        let options = options();
        let mut login = Login::new(&options);
        if first {
            login.on_packet(&greeting(NO_TLS, "caching_sha2_password")).unwrap();
        }
        for packet in packets {
            let _ = login.on_packet(&packet);
        }
    }
}
