//! Targets for GTIDs: decoding and encoding must return the same value.

use binarrow::binlog::{GtidEvent, MariadbGtidEvent, MariadbGtidList, PreviousGtids};
use binarrow::position::{GtidSet, GtidState, MariadbGtidPosition, Position};

/// The text of a GTID set, of a MariaDB position, of a position in files.
pub(crate) fn text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(set) = text.parse::<GtidSet>() {
        check_set(&set);
    }
    if let Ok(position) = text.parse() {
        check_position(&position);
    }
    if let Ok(state) = text.parse::<GtidState>() {
        assert_eq!(state.to_string().parse::<GtidState>().ok(), Some(state));
    }
    if let Ok(position) = Position::from_json(text) {
        let json = position.to_json().expect("JSON");
        assert_eq!(Position::from_json(&json).ok(), Some(position));
    }
    let _ = Position::parse(text);
}

/// The bytes of a GTID set in a Previous_gtids event, and of MariaDB's list.
pub(crate) fn binary(data: &[u8]) {
    if let Ok(event) = PreviousGtids::decode(data) {
        check_set(&event.gtid_set);
    }
    if let Ok(list) = MariadbGtidList::decode(data) {
        check_position(&list.position());
    }
}

/// The events that open a transaction, except tagged ones.
pub(crate) fn event(data: &[u8]) {
    check_event(GtidEvent::decode(data).ok());
    check_event(GtidEvent::decode_anonymous(data).ok());
    if let Ok(event) = MariadbGtidEvent::decode(data) {
        let mut position = MariadbGtidPosition::new();
        position.update(event.gtid(1));
        check_position(&position);
    }
}

/// Gtid_tagged, in the server's own serialization.
pub(crate) fn tagged(data: &[u8]) {
    check_event(GtidEvent::decode_tagged(data).ok());
}

fn check_event(event: Option<GtidEvent<'_>>) {
    if let Some(gtid) = event.and_then(|event| event.gtid()) {
        let set: GtidSet = gtid.to_string().parse().expect("the text of a GTID");
        assert_eq!(set.len(), 1);
    }
}

fn check_position(position: &MariadbGtidPosition) {
    let read: MariadbGtidPosition = position.to_string().parse().expect("the text of a position");
    assert_eq!(&read, position);
}

fn check_set(set: &GtidSet) {
    let read: GtidSet = set.to_string().parse().expect("the text of a set");
    assert_eq!(&read, set);
    let mut bytes = Vec::new();
    set.encode(&mut bytes);
    assert_eq!(GtidSet::decode(&bytes).as_ref(), Ok(set));
    assert!(set.is_subset(set));
    let mut rest = set.clone();
    rest.union(set);
    assert_eq!(&rest, set);
    rest.subtract(set);
    assert!(rest.is_empty());
}
