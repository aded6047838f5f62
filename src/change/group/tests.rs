use super::*;

fn gtid(begins: bool) -> TransactionEvent {
    TransactionEvent::Gtid {
        gtid: None,
        begins,
        commit_timestamp: None,
        original_commit_timestamp: None,
        thread_id: None,
        without_effect: false,
    }
}

fn run(events: Vec<TransactionEvent>) -> (TransactionTracker, Vec<EventEffect>) {
    let mut tracker = TransactionTracker::default();
    let verdicts = events
        .into_iter()
        .enumerate()
        .map(|(index, event)| tracker.on_event(&event, index as u64 * 100, 1, 1).unwrap())
        .collect();
    (tracker, verdicts)
}

const ROWS: TransactionEvent = TransactionEvent::Rows { statement_end: true };

#[test]
fn a_transaction_ends_with_xid() {
    let (_, verdicts) = run(vec![
        gtid(false),
        TransactionEvent::Query(QueryKind::Begin, 7),
        TransactionEvent::TableMap,
        ROWS,
        TransactionEvent::Xid(9),
    ]);
    assert_eq!(verdicts.last(), Some(&EventEffect::Ends(TransactionEnd::Committed)));
    assert_eq!(verdicts[3], EventEffect::Inside);
}

#[test]
fn a_statement_alone_is_a_group() {
    let (_, verdicts) = run(vec![gtid(false), TransactionEvent::Query(QueryKind::Other, 7)]);
    assert_eq!(verdicts[1], EventEffect::Ends(TransactionEnd::Committed));
    let (_, verdicts) = run(vec![gtid(true), TransactionEvent::Query(QueryKind::Other, 7)]);
    assert_eq!(verdicts[1], EventEffect::Inside);
}

#[test]
fn rows_without_an_opening_event_end_with_their_statement() {
    let (_, verdicts) = run(vec![TransactionEvent::TableMap, ROWS]);
    assert_eq!(verdicts, [EventEffect::Opens, EventEffect::Ends(TransactionEnd::Committed)]);
}

#[test]
fn savepoints_nest_and_what_is_undone_is_left_out() {
    let savepoint = |name: &[u8]| TransactionEvent::Query(QueryKind::Savepoint(name.to_vec()), 7);
    let back = |name: &[u8]| TransactionEvent::Query(QueryKind::RollbackTo(name.to_vec()), 7);
    let (tracker, _) = run(vec![
        gtid(true),
        ROWS,            // 100
        savepoint(b"a"), // 200
        ROWS,            // 300
        savepoint(b"b"), // 400
        ROWS,            // 500
        back(b"b"),      // 600
        ROWS,            // 700
        back(b"a"),      // 800
        ROWS,            // 900
        savepoint(b"c"), // 1000
        back(b"c"),      // 1100
        ROWS,            // 1200
    ]);
    let kept: Vec<_> = tracker.group().unwrap().kept(1300).collect();
    assert_eq!(kept, [(0, 200, 0), (800, 1000, 4), (1100, 1300, 5)]);
}

#[test]
fn a_group_with_rows_must_end_before_the_next() {
    let mut tracker = TransactionTracker::default();
    tracker.on_event(&gtid(true), 0, 1, 1).unwrap();
    tracker.on_event(&ROWS, 1, 1, 1).unwrap();
    assert!(tracker.on_event(&gtid(true), 2, 1, 1).is_err());
}
