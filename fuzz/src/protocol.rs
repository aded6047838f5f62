//! Packets that a server may send: the login, answers to queries, a dump, compressed frames.
//!
//! A session consists of its packets, one after another:
//!
//! ```text
//! length 2, payload (as much of it as there is)
//! ```

use super::split;
use binarrow::binlog::EventHeader;
use binarrow::protocol::{
    Compression, DumpPacket, FRAME_HEADER_LEN, FrameHeader, Frames, Login, LoginOptions, ResultSet,
    Secret, ServerRefusal, Step, TlsWish,
};

/// A login: two bytes of options, and the server's packets. Whatever these are, the password is
/// sent in the clear only if no one else can read it, and not before TLS if TLS is required.
pub(crate) fn login(data: &[u8]) {
    let [choice, more, data @ ..] = data else { return };
    let options = LoginOptions {
        user: "me".into(),
        password: Secret::new(if choice & 1 == 0 { PASSWORD } else { b"" }),
        database: (more & 4 != 0).then(|| "shop".into()),
        tls: match choice >> 1 & 3 {
            0 => TlsWish::Never,
            1 => TlsWish::IfOffered,
            _ => TlsWish::Always,
        },
        is_local: choice & 8 != 0,
        compression: compression(*more),
        allow_public_key_retrieval: choice & 0x10 != 0,
        server_public_key: (choice & 0x20 != 0).then(|| PUBLIC_KEY.to_vec()),
        allow_clear_password: choice & 0x40 != 0,
        attributes: vec![("_client_name".into(), "fuzz".into())],
    };
    let mut login = Login::new(&options);
    let mut is_tls = false;
    let mut rounds = 0;
    for packet in Packets(data) {
        rounds += 1;
        let mut step = login.on_packet(packet);
        if let Ok(Step::StartTls(request)) = &step {
            assert_eq!(request.len(), 32);
            assert!(!is_tls && options.tls != TlsWish::Never);
            is_tls = true;
            step = login.tls_started();
        }
        match step {
            Ok(Step::Send(sent)) => {
                assert!(is_tls || options.tls != TlsWish::Always);
                let is_clear = sent.windows(PASSWORD.len()).any(|window| window == PASSWORD);
                assert!(!is_clear || is_tls || options.is_local);
            }
            Ok(Step::Read) => {}
            Ok(Step::Done) => assert!(login.greeting().is_some()),
            Ok(Step::StartTls(_)) => unreachable!("TLS twice"),
            Err(error) => {
                assert!(error.to_string().len() < 5000);
                break;
            }
        }
    }
    assert!(rounds <= MOST_ROUNDS);
}

/// The answer to a query.
pub(crate) fn result_set(data: &[u8]) {
    let mut set = ResultSet::default();
    for packet in Packets(data) {
        if let Some(refusal) = ServerRefusal::decode(packet) {
            assert!(refusal.message.len() < 5000 && refusal.sqlstate.len() < 20);
            assert!(!refusal.message.contains(char::is_control));
            return;
        }
        match set.push(packet) {
            Ok(false) => {}
            Ok(true) => break,
            Err(_) => return,
        }
    }
    let columns = set.columns().len();
    assert!(set.into_rows().iter().all(|row| row.len() == columns));
}

/// Compressed frames: one byte of options, then frames, or bytes that are packed into frames and
/// must be unpacked again.
pub(crate) fn frames(data: &[u8]) {
    let Some((&choice, data)) = data.split_first() else { return };
    let mut frames = Frames::new(compression(choice));
    let mut packed = Vec::new();
    if choice & 4 != 0 {
        let mut sequence_id = choice;
        frames.pack(data, &mut sequence_id, &mut packed);
        assert_eq!(sequence_id, choice.wrapping_add(u8::from(!data.is_empty())));
    } else {
        packed.extend_from_slice(data);
    }
    let (mut rest, mut out) = (&packed[..], Vec::new());
    while let Some((header, tail)) = rest.split_first_chunk::<FRAME_HEADER_LEN>() {
        let header = FrameHeader::decode(*header);
        let (body, tail) = split(tail, header.len.min(usize::from(u16::MAX)) as u16);
        rest = tail;
        out.clear();
        out.push(7);
        let result = frames.unpack(header, body, &mut out);
        let added = match (&result, header.plain_len) {
            (Err(_), _) => 0,
            (Ok(()), 0) => body.len(),
            (Ok(()), len) => len,
        };
        assert_eq!((out.len(), out[0]), (1 + added, 7));
        if choice & 4 != 0 {
            assert_eq!(&out[1..], data);
        }
        if result.is_err() {
            return;
        }
    }
}

/// The packets of a dump: an event remains the same event after a semi-synchronous header.
pub(crate) fn dump(data: &[u8]) {
    for packet in Packets(data) {
        match DumpPacket::decode(packet) {
            Ok(DumpPacket::Event(event)) => {
                assert!(packet.ends_with(event) && packet.len() - event.len() <= 3);
                let is_complete = EventHeader::decode(event)
                    .is_ok_and(|header| header.event_size as usize == event.len());
                if is_complete {
                    let packet = [&[0, 0xef, 1], event].concat();
                    let event = DumpPacket::Event(event);
                    assert!(DumpPacket::decode(&packet).is_ok_and(|found| found == event));
                }
            }
            Ok(DumpPacket::End) => assert!(packet.len() < 9),
            Ok(DumpPacket::Refused(refusal)) => {
                assert!(
                    refusal.message.len() < 5000 && !refusal.message.contains(char::is_control)
                );
            }
            Err(_) => return,
        }
    }
}

fn compression(choice: u8) -> Compression {
    match choice & 3 {
        1 => Compression::Zlib,
        2 => Compression::Zstd,
        _ => Compression::None,
    }
}

/// The packets of a session.
struct Packets<'a>(&'a [u8]);

impl<'a> Iterator for Packets<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk()?;
        let (payload, rest) = split(rest, u16::from_le_bytes(*len));
        self.0 = rest;
        Some(payload)
    }
}

const PASSWORD: &[u8] = b"correct horse battery";

/// The maximum number of a server's packets in one login, and one more.
const MOST_ROUNDS: usize = 17;

/// A key of 1024 bits.
const PUBLIC_KEY: &[u8] = include_bytes!("public_key.pem");
