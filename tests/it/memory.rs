//! Memory is limited by constants, not by the input: a transaction of 2 GiB, and wrong lengths.
//!
//! Each test starts itself again as a child process, so that the peak of memory (`VmHWM`) is its
//! own.

use crate::log::{
    Event, Log, T, TABLE_MAP, begin, compressed, fragment, gtid, image, insert, packed_as,
    payload_of, payload_packed, query, rows_event, stop, table_map, transaction, xid, zlib,
};
use crate::malformed::{documents_that_lie, map_of, one_cell};
use crate::rows::{decode, options, segments_of};
use binarrow::reader::{ReadOptions, Reader};
use binarrow::source::InputFile;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Set for the child: the file that it reads, if it reads one.
const CHILD: &str = "BINARROW_MEMORY_CHILD";

#[test]
fn a_transaction_of_2_gib() {
    if let Some(path) = child() {
        let options = ReadOptions { threads: 2, ..ReadOptions::default() };
        let mut reader = Reader::try_new(vec![InputFile::at_path(path, 1)], options).unwrap();
        let mut rows = 0;
        while let Some(batch) = reader.next_batch().unwrap() {
            rows += batch.batch.num_rows() as u64;
        }
        assert_eq!(reader.stats().transactions, 1);
        report(rows);
        return;
    }
    // It is deleted with its folder, however the test ends.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("binlog.000001");
    let rows = write_large(&path, 2 << 30);
    assert!(path.metadata().unwrap().len() >= 2 << 30);
    let (peak, counted) = run("memory::a_transaction_of_2_gib", &path);
    assert_eq!(counted, rows);
    assert!(peak < 400 << 20, "the peak was {} MiB", peak >> 20);
}

/// The number of threads does not matter.
#[test]
fn large_events_one_after_the_other() {
    const COUNT: u64 = 24;
    if let Some(path) = child() {
        let mut options = ReadOptions { threads: 16, ..ReadOptions::default() };
        options.decode.limits.rows = 100;
        let mut reader = Reader::try_new(vec![InputFile::at_path(path, 1)], options).unwrap();
        // The maximum is read ahead.
        while !other_threads_wait() {
            std::thread::sleep(Duration::from_millis(10));
        }
        while reader.next_batch().unwrap().is_some() {}
        report(reader.stats().transactions);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("binlog.000001");
    let rows = rows_event(30, T, &image(1, Some(&"x".repeat(8000))).repeat(100));
    let [map, rows] = [table_map(T), rows].map(|event| event.bytes(0, false));
    let inner = [begin().bytes(0, false), map, rows.repeat(40), xid().bytes(0, false)].concat();
    let transaction = payload_of(false, &inner).bytes(0, true);
    assert!(transaction.len() > 30 << 20);
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(&Log::mysql().bytes).unwrap();
    for gno in 0..COUNT {
        file.write_all(&gtid(1 + gno as i64).bytes(0, true)).unwrap();
        file.write_all(&transaction).unwrap();
    }
    file.write_all(&stop().bytes(0, true)).unwrap();
    let (peak, counted) = run("memory::large_events_one_after_the_other", &path);
    assert_eq!(counted, COUNT);
    assert!(peak < 450 << 20, "the peak was {} MiB", peak >> 20);
}

/// True if all other threads of this process wait for something.
fn other_threads_wait() -> bool {
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap());
    threads.filter(|entry| Some(&*entry.file_name()) != own.file_name()).all(|entry| {
        // A thread that has ended meanwhile waits for nothing.
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The state follows the name of the thread, which is in parentheses.
        stat.rsplit_once(") ").is_none_or(|(_, state)| state.starts_with('S'))
    })
}

/// H4, H6, H10, H14, H17, H18, H23
#[test]
fn lengths_that_lie_take_no_room() {
    if child().is_some() {
        let mut errors = 0;
        for log in lying() {
            for options in [options(), segments_of(1)] {
                errors += u64::from(decode(log.clone().inputs(), &options).error.is_some());
            }
        }
        report(errors);
        return;
    }
    let (peak, errors) = run("memory::lengths_that_lie_take_no_room", Path::new("none"));
    assert_eq!(errors, 2 * lying().len() as u64);
    assert!(peak < 100 << 20, "the peak was {} MiB", peak >> 20);
}

/// H17
#[test]
fn a_payload_bomb_takes_no_room() {
    if child().is_some() {
        let bomb = bomb();
        assert!(bomb.bytes.len() < 200 << 10, "{} bytes", bomb.bytes.len());
        let mut reader = Reader::try_new(bomb.inputs(), options()).unwrap();
        let error = reader.next_batch().unwrap_err();
        assert_eq!(error.event(), Some("Transaction_payload"));
        assert!(error.message().contains("has no end"), "{error}");
        report(0);
        return;
    }
    let (peak, _) = run("memory::a_payload_bomb_takes_no_room", Path::new("none"));
    assert!(peak < 200 << 20, "the peak was {} MiB", peak >> 20);
}

/// H18
#[test]
fn rows_text_and_cells_that_are_bombs_take_no_room() {
    if child().is_some() {
        let bombs = deflate_bombs();
        for (log, event) in &bombs {
            let outcome = decode(log.clone().inputs(), &options());
            assert_eq!(outcome.rows, []);
            let error = outcome.failure();
            assert_eq!(error.event(), Some(*event));
            assert!(error.message().contains("cannot be decompressed"), "{error}");
        }
        report(bombs.len() as u64);
        return;
    }
    let (peak, count) =
        run("memory::rows_text_and_cells_that_are_bombs_take_no_room", Path::new("none"));
    assert_eq!(count, 3);
    assert!(peak < 60 << 20, "the peak was {} MiB", peak >> 20);
}

/// Writes a file of one transaction of at least `size` bytes, which consists of rows events of 8
/// KiB. Returns the number of its rows.
fn write_large(path: &Path, size: u64) -> u64 {
    // Rows like those of an OLTP table. The position in the headers is always 0, so that each event
    // is built only once.
    let text = "x".repeat(100);
    let count = 8192 / image(0, Some(&text)).len() as i32;
    let images: Vec<u8> = (0..count).flat_map(|id| image(id, Some(&text))).collect();
    let events = [table_map(T), rows_event(30, T, &images)];
    let unit: Vec<u8> = events.iter().flat_map(|event| event.bytes(0, true)).collect();
    let chunk = unit.repeat(100);

    let mut file = BufWriter::with_capacity(4 << 20, std::fs::File::create(path).unwrap());
    file.write_all(&Log::mysql().with([gtid(1), begin()]).bytes).unwrap();
    let chunks = size.div_ceil(chunk.len() as u64);
    for _ in 0..chunks {
        file.write_all(&chunk).unwrap();
    }
    for event in [xid(), stop()] {
        file.write_all(&event.bytes(0, true)).unwrap();
    }
    file.into_inner().unwrap();
    chunks * 100 * count as u64
}

/// Small files with lengths and counts of up to 4 GiB or more.
fn lying() -> Vec<Log> {
    let huge = [0xfe, 0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0];
    let mut logs = Vec::new();
    // Sizes of events, up to the maximum that is allowed.
    for index in 1..=5 {
        for size in [1 << 30, (1 << 30) - 1, 500 << 20, 1 << 31] {
            let mut log = Log::mysql().with(transaction(1, [1])).with([stop()]);
            let at = log.starts[index] as usize + 9;
            log.bytes[at..at + 4].copy_from_slice(&u32::to_le_bytes(size));
            logs.push(log);
        }
    }
    let broken = |events: Vec<Event>| {
        Log::mysql().with([gtid(1), begin()]).with(events).with([xid(), stop()])
    };
    let spliced = |mut event: Event, at: usize, bytes: &[u8]| {
        event.body.splice(at..=at, bytes.iter().copied());
        event
    };
    // Lengths in table maps: names, columns, metadata, optional metadata, its members.
    for at in [8, 11, 14, 17] {
        logs.push(broken(vec![spliced(table_map(T), at, &huge), insert(T, [1])]));
    }
    let mut members = vec![254, 2, 247, 1, 0, 10, 1, 45, 6, 9];
    members.extend(huge);
    let mut map = T.id.to_le_bytes()[..6].to_vec();
    map.extend([1, 0, 1, b'd', 0, 1, b't', 0, 1]);
    map.extend(members);
    logs.push(broken(vec![Event::new(TABLE_MAP, map), insert(T, [1])]));
    // Lengths in rows events: columns, a cell.
    logs.push(broken(vec![table_map(T), spliced(insert(T, [1]), 10, &huge)]));
    logs.push(broken(vec![table_map(T), rows_event(30, T, &[0xfc, 1, 0, 0, 0, 255, 255])]));
    // In documents: counts, sizes, values that share bytes, depth.
    for (document, _) in documents_that_lie() {
        let cell = [&(document.len() as u32).to_le_bytes(), &document[..]].concat();
        logs.push(broken(vec![map_of(&[245], &[4], &[]), one_cell(&cell)]));
    }
    // In payloads: the compressed size, the uncompressed size, the size of an event.
    let mut packed = payload_of(true, &begin().bytes(0, false));
    packed.body[15..23].copy_from_slice(&u64::to_le_bytes(1 << 40));
    logs.push(Log::mysql().with([gtid(1), packed, stop()]));
    logs.push(Log::mysql().with([gtid(1), payload_packed(&[0], 1 << 40, b"(\xb5/\xfd"), stop()]));
    // MariaDB: the decompressed sizes of rows, text and a cell, the size of fragments.
    let mut rows = compressed(insert(T, [1]));
    rows.body.truncate(12);
    rows.body.extend(packed_as(1 << 30, &image(1, None)));
    logs.push(broken(vec![table_map(T), rows]));
    let mut text = query("");
    text.code = 165;
    text.body.extend(packed_as(1 << 30, b"CREATE TABLE x (id INT)"));
    logs.push(broken(vec![text]));
    let cell = [&[0x8c, 0x40, 0, 0, 0, 3, 0][..]].concat();
    logs.push(broken(cell_of(&cell).to_vec()));
    let bytes = insert(T, [1]).bytes(0, false);
    let first = fragment(2, 1, Some(1 << 30), &bytes[..30]);
    logs.push(broken(vec![table_map(T), first, fragment(2, 2, None, &bytes[30..])]));
    logs.push(broken(vec![table_map(T), fragment(u32::MAX, 1, None, &bytes)]));
    let mut event = query("BEGIN").bytes(0, false);
    event[9..13].copy_from_slice(&u32::to_le_bytes(1 << 30));
    for zstd in [true, false] {
        logs.push(Log::mysql().with([gtid(1), payload_of(zstd, &event), stop()]));
    }
    logs
}

/// Less than 200 KiB that decompress to 4 GiB of events without any effect, and without an end.
fn bomb() -> Log {
    let statement = Event::new(28, vec![0; 1 << 20]).flags(0x80).bytes(0, false);
    let mut frame = Vec::new();
    for _ in 0..64 {
        frame.extend(&statement);
    }
    let frame = zstd::bulk::compress(&frame, 3).unwrap();
    let mut packed = zstd::bulk::compress(&begin().bytes(0, false), 3).unwrap();
    for _ in 0..64 {
        packed.extend(&frame);
    }
    Log::mysql().with([gtid(1), payload_packed(&[0], 100, &packed), stop()])
}

/// Less than 1 MiB each that decompress to 256 MiB, while the stated length is 1000 bytes.
fn deflate_bombs() -> [(Log, &'static str); 3] {
    let stream = zlib(&vec![0; 256 << 20]);
    assert!(stream.len() < 1 << 20);
    let bomb = [&[0x82, 0x03, 0xe8][..], &stream].concat();
    let log = |events: &[Event]| {
        Log::mysql().with([gtid(1), begin()]).with(events.iter().cloned()).with([xid(), stop()])
    };
    let mut rows = compressed(insert(T, [1]));
    rows.body.truncate(12);
    rows.body.extend(&bomb);
    let mut text = query("");
    text.code = 165;
    text.body.extend(&bomb);
    [
        (log(&[table_map(T), rows]), "Write_rows_compressed"),
        (log(&[text]), "Query_compressed"),
        (log(&cell_of(&bomb)), "Write_rows"),
    ]
}

/// A row of one LONGBLOB COMPRESSED column.
fn cell_of(cell: &[u8]) -> [Event; 2] {
    let mut map = T.id.to_le_bytes()[..6].to_vec();
    map.extend([1, 0, 1, b'd', 0, 1, b't', 0, 1, 140, 1, 4, 1]);
    let mut row = vec![0xfe];
    row.extend((cell.len() as u32).to_le_bytes());
    row.extend(cell);
    let mut rows = T.id.to_le_bytes()[..6].to_vec();
    rows.extend([1, 0, 2, 0, 1, 0xff]);
    rows.extend(row);
    [Event::new(TABLE_MAP, map), Event::new(30, rows)]
}

// ---- the child

fn child() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Runs one test of this binary in a separate process. Returns its peak of memory in bytes and the
/// number that it reported.
fn run(test: &str, path: &Path) -> (u64, u64) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let numbers = text.lines().find_map(|line| line.split_once("peak and number: "));
    let (peak, number) = numbers.expect("a report").1.split_once(' ').unwrap();
    (peak.parse::<u64>().unwrap() << 10, number.parse().unwrap())
}

/// Reports the peak of memory in KiB and a number to the parent.
fn report(number: u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak = peak.trim().trim_end_matches(" kB");
    println!("\npeak and number: {peak} {number}");
}
