//! The conversations of a data set, read in blocks, so that a file of any size needs little memory.

use crate::input::MAX_BYTES;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

/// Bytes and lines read at the beginning of a file to find out whether each line is a conversation.
const HEAD_BYTES: u64 = 64 << 20;
const HEAD_LINES: usize = 9;
/// The maximum rows held per worker, and the approximate bytes of all of them.
const ROWS: usize = 16;
const BLOCK_BYTES: usize = 64 << 20;

/// The remaining rows of a data set.
pub enum Rows {
    /// The lines of a file, the first of which are already read.
    Lines(BufReader<Chain<Cursor<Vec<u8>>, BufReader<File>>>),
    /// The items of a list.
    Items(VecDeque<Vec<u8>>),
}

impl Rows {
    /// Reads the first lines of a file, up to the limit, and returns them with the rest.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn head(file: File) -> io::Result<(Vec<u8>, BufReader<File>)> {
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut head = Vec::new();
        for _ in 0..HEAD_LINES {
            let left = HEAD_BYTES.saturating_sub(head.len() as u64);
            if left == 0 || (&mut file).take(left).read_until(b'\n', &mut head)? == 0 {
                break;
            }
        }
        Ok((head, file))
    }

    /// Returns whether each of these first lines is a conversation.
    pub fn is_set(head: &[u8]) -> bool {
        let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
        // The items of a list cannot be recognized from its beginning.
        text.first() == Some(&b'{') && codelet_transcript::conversations(head).is_some()
    }

    /// Returns the lines of a file.
    pub fn of_lines(mut head: Vec<u8>, rest: BufReader<File>) -> Self {
        if head.starts_with(b"\xef\xbb\xbf") {
            head.drain(..3);
        }
        Rows::Lines(BufReader::new(Cursor::new(head).chain(rest)))
    }

    /// Returns the items of a list.
    pub fn of_items(items: Vec<&[u8]>) -> Self {
        Rows::Items(items.into_iter().map(<[u8]>::to_vec).collect())
    }

    /// Reads the next rows, enough for `jobs` workers; empty at the end.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is too long to be a conversation.
    pub fn next_block(&mut self, jobs: usize) -> io::Result<Vec<Vec<u8>>> {
        let (mut block, mut bytes) = (Vec::new(), 0);
        while block.len() < jobs * ROWS && bytes < BLOCK_BYTES {
            let Some(row) = self.next()? else { break };
            bytes += row.len();
            block.push(row);
        }
        Ok(block)
    }

    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let lines = match self {
            Rows::Items(items) => return Ok(items.pop_front()),
            Rows::Lines(lines) => lines,
        };
        loop {
            let mut line = Vec::new();
            if lines.take(MAX_BYTES).read_until(b'\n', &mut line)? == 0 {
                return Ok(None);
            }
            if line.len() as u64 == MAX_BYTES {
                return Err(io::Error::other("a line is too long to be a conversation"));
            }
            let text = line.trim_ascii();
            if !text.is_empty() {
                return Ok(Some(text.to_vec()));
            }
        }
    }
}
