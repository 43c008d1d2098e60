//! Lines on their way to a file, by a thread of their own: whatever becomes of the file, no request waits for it.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

/// The maximum number of waiting lines; more are lost.
const WAITING: usize = 10_000;
/// The time limit for writing the last lines at the end.
const FAREWELL: Duration = Duration::from_secs(2);

enum Told {
    Line(String),
    /// All that came before it is written once this is dropped.
    End(SyncSender<()>),
}

/// Lines for a file.
pub(crate) struct Lines {
    to: SyncSender<Told>,
    lost: Arc<AtomicU64>,
}

impl Lines {
    /// Begins to write what comes to a file.
    pub fn new(mut file: impl Write + Send + 'static) -> Self {
        let (to, told) = sync_channel(WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let unwritten = lost.clone();
        let write = move || {
            let mut is_torn = false;
            for one in told {
                match one {
                    Told::Line(line) => {
                        if put(&mut file, &line, &mut is_torn).is_err() {
                            unwritten.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    Told::End(reached) => drop(reached),
                }
            }
        };
        // Without a thread nobody takes the lines, and each of them is counted as lost.
        let _ = std::thread::Builder::new().name("ledger".to_owned()).spawn(write);
        Lines { to, lost }
    }

    /// Adds a line, with its end; one that there is no room for is lost.
    pub fn add(&self, line: String) {
        if self.to.try_send(Told::Line(line)).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The number of lines that were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until all that was added is written, for two seconds at most.
    pub fn flush(&self) {
        let (reached, ended) = sync_channel(0);
        if self.to.try_send(Told::End(reached)).is_ok() {
            let _ = ended.recv_timeout(FAREWELL);
        }
    }
}

/// Writes a line. Where the disk is full in the midst of one, what is there of it gets an end before the next.
fn put(file: &mut impl Write, line: &str, is_torn: &mut bool) -> std::io::Result<()> {
    if *is_torn {
        file.write_all(b"\n")?;
        *is_torn = false;
    }
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(std::io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        *is_torn = !rest.is_empty();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// A file that takes a line whenever it is told to, and whether it then fails.
    struct Slow(Receiver<bool>, Sender<Vec<u8>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.0.recv() {
                Ok(true) => {
                    let _ = self.1.send(bytes.to_vec());
                    Ok(bytes.len())
                }
                _ => Err(std::io::ErrorKind::StorageFull.into()),
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_file_that_takes_nothing_holds_nobody_up_and_what_is_lost_is_counted() {
        let (go, waits) = channel();
        let (written, seen) = channel();
        let lines = Lines::new(Slow(waits, written));
        // The thread may have taken one of them already.
        for number in 0..WAITING + 11 {
            lines.add(format!("{number}\n"));
        }
        let lost = lines.lost();
        assert!((10..=11).contains(&lost), "{lost}");
        go.send(false).unwrap();
        for _ in 0..WAITING + 1 {
            go.send(true).unwrap();
        }
        let kept = WAITING + 11 - lost as usize - 1;
        let seen: Vec<Vec<u8>> = seen.iter().take(kept).collect();
        lines.flush();
        assert_eq!((lines.lost(), seen.len()), (lost + 1, kept));
        assert_eq!(seen[0], b"1\n");
    }

    /// A disk with room for so many bytes at each attempt.
    struct Disk(Vec<usize>, Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            match self.0.pop() {
                Some(0) => Err(std::io::ErrorKind::StorageFull.into()),
                room => {
                    let count = bytes.len().min(room.unwrap_or(usize::MAX));
                    self.1.lock().unwrap().extend(&bytes[..count]);
                    Ok(count)
                }
            }
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_line_that_a_full_disk_has_torn_takes_no_other_with_it() {
        let written = Arc::default();
        let lines = Lines::new(Disk(vec![0, 0, 2, 100], Arc::clone(&written)));
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            lines.add(line.to_owned());
        }
        lines.flush();
        let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        assert_eq!((written.as_str(), lines.lost()), ("one\ntw\nfour\n", 2));
    }
}
