//! The files of a server's log, one after another, as its dump sends them.

use super::LOG;
use super::file::{LiveFile, Shared, lock};
use super::options::LiveOptions;
use super::server_files::check_there;
use super::start::{LiveStart, begin};
use super::stream::Stream;
use crate::baseline::{Baseline, BaselineOptions};
use crate::change::TableFilter;
use crate::error::{Error, ErrorKind, Result};
use crate::net::{DumpStart, Identity, NextFile, Server};
use crate::position::Position;
use crate::source::event_source::LiveEvents;
use crate::source::feed::{FedFile, FileFeed, ResumePoint};
use crate::source::file_list::{InputFile, InputSource};
use std::sync::{Arc, Mutex};

/// The files of one server, or of all servers on which its log continues.
pub struct LiveFeed {
    shared: Arc<Mutex<Shared>>,
    files: u64,
}

impl LiveFeed {
    /// Starts the dump from a connected server, or from the first one that answers; it waits for an
    /// answer as it does after a lost connection. Also returns the start.
    pub fn start(
        server: Option<Server>,
        start: &LiveStart,
        options: LiveOptions,
    ) -> Result<(Self, ResumePoint)> {
        let (stream, (next, begin)) = match server {
            Some(mut server) => {
                let mut stream = Stream::new(server.identity().clone(), options);
                stream.connecting.watch(server.connection().handle()?);
                let started = begin_or_retry(&mut stream, server, start)?;
                (stream, started)
            }
            None => {
                let mut stream = Stream::unconnected(options);
                let started = stream.connect(|stream, server| begin(stream, server, start))?;
                (stream, started)
            }
        };
        Ok((Self { shared: Shared::new(stream, Some(next)), files: 0 }, begin))
    }
}

impl FileFeed for LiveFeed {
    fn next_file(&mut self, position: &Position) -> Result<Option<FedFile>> {
        let mut shared = lock(&self.shared);
        let mut moved = None;
        if let Some(server) = shared.stream.take_elsewhere() {
            let start = LiveStart::Position(Box::new(position.clone()));
            let (next, begin) = begin_or_retry(&mut shared.stream, server, &start)?;
            shared.next = Some(next);
            moved = Some(Box::new(begin));
        } else {
            shared.stream.set_by_gtid(position.by_gtid);
        }
        let Some(NextFile { name, offset }) = shared.next.take() else { return Ok(None) };
        drop(shared);
        log::info!(target: LOG, "reading {name} from offset {offset}");
        self.files += 1;
        let events = LiveFile::new(Arc::clone(&self.shared), name.clone(), offset);
        let source = InputSource::Live(Some(Box::new(events)));
        Ok(Some(FedFile { file: InputFile::new(&name, self.files, source), moved }))
    }

    /// Reads with a second dump, which ends at the current end of the log.
    fn reopen(&mut self, file: &str, offset: u64) -> Result<Box<dyn LiveEvents>> {
        let stream = self.second(&Position::in_file(file, offset), |_, _| Ok(()))?;
        Ok(Box::new(LiveFile::new(Shared::new(stream, None), file.to_owned(), offset)))
    }

    fn again(&mut self, from: &Position) -> Result<Box<dyn FileFeed>> {
        let stream =
            self.second(from, |server, start| check_there(server, &start.file, start.offset))?;
        let next = NextFile { name: from.file.clone(), offset: from.offset };
        Ok(Box::new(Self { shared: Shared::new(stream, Some(next)), files: 0 }))
    }

    fn files(&mut self) -> Result<Vec<(String, u64)>> {
        let mut stream = lock(&self.shared).stream.second();
        let identity = stream.identity().clone();
        stream.connect(|_, mut server| {
            same_server(&identity, &server)?;
            Ok(server.binlogs()?.into_iter().map(|file| (file.name, file.size)).collect())
        })
    }

    fn structures(&mut self) -> Result<Baseline> {
        let mut stream = lock(&self.shared).stream.second();
        let identity = stream.identity().clone();
        stream.connect(|stream, mut server| {
            same_server(&identity, &server)?;
            let server_id = stream.options.dump.server_id;
            let options = BaselineOptions { tables: TableFilter::default(), server_id };
            Baseline::take(&mut server, &options, &stream.options.cancel)
        })
    }
}

impl LiveFeed {
    /// Starts a second dump, which ends at the current end of the log.
    fn second(
        &self,
        from: &Position,
        check: impl Fn(&mut Server, &Position) -> Result<()>,
    ) -> Result<Stream> {
        let mut stream = lock(&self.shared).stream.second();
        let identity = stream.identity().clone();
        let start = DumpStart::File { file: from.file.clone(), offset: from.offset };
        stream.connect(|stream, mut server| {
            same_server(&identity, &server)?;
            check(&mut server, from)?;
            stream.start_dump(server, &start)
        })?;
        Ok(stream)
    }
}

fn same_server(first: &Identity, second: &Server) -> Result<()> {
    let second = second.identity();
    if first.id == second.id {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::ServerIdentity,
        format!(
            "a second connection to the server {} is needed, but {} answers",
            first.id, second.id
        ),
    ))
}

fn begin_or_retry(
    stream: &mut Stream,
    server: Server,
    start: &LiveStart,
) -> Result<(NextFile, ResumePoint)> {
    match begin(stream, server, start) {
        Err(error) if stream.connecting.may_retry(&error) => {
            stream.connect_again(|stream, server| begin(stream, server, start))
        }
        started => started,
    }
}
