//! What the server saw: every request, what was answered, and what became of the connection.

use super::request::Request;
use super::script::Billed;
use super::segment::Place;
use std::sync::Arc;
use std::time::Instant;

/// Everything that happened so far.
///
/// Bodies are kept up to [`BODIES`] bytes altogether; beyond that the oldest are let go, and read as empty.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Requests to the model, in the order in which they came.
    pub exchanges: Vec<Exchange>,
    /// All other requests: method, path, and the status that they were answered with.
    pub others: Vec<(String, String, u16)>,
    /// What went wrong on the test's own side, such as a script without a reply.
    pub troubles: Vec<String>,
    bodies: usize,
    forgotten: usize,
}

/// The bytes of request bodies that a record keeps.
pub const BODIES: usize = 256 << 20;

/// One request to the model and its answer.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// What was asked.
    pub request: Request,
    /// When the request was complete.
    pub arrived: Instant,
    /// How it compares with the request before it.
    pub growth: Growth,
    /// The longest earlier request that it extends.
    pub extends: Option<usize>,
    /// The prompt by the server's own count, in tokens.
    pub tokens: u64,
    /// What was reported; what would have been, where the answer never got so far. Nothing where it was refused.
    pub usage: Billed,
    /// The vendor's rules that it breaks, in the vendor's words. Such a request is refused.
    pub broken: Vec<String>,
    /// The HTTP status of the answer, once there is one.
    pub status: Option<u16>,
    /// The frames that were sent whole.
    pub frames: usize,
    /// What became of it.
    pub end: End,
    pub(super) chain: Arc<[u64]>,
}

/// How a request compares with the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// There was none.
    First,
    /// The earlier one's tools, system prompt and messages, byte for byte but for cache marks, and nothing or more behind.
    Extends,
    /// It differs from here on.
    Breaks(Place),
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It is being answered, or held.
    Open,
    /// The whole answer was sent.
    Finished(Instant),
    /// It was refused with a status.
    Refused(Instant),
    /// The answer ended early, as the script wanted it.
    Cut(Instant),
    /// The client closed the connection before the answer was complete.
    ClientLeft(Instant),
}

impl Record {
    /// The requests that were answered with a stream or a whole reply.
    pub fn accepted(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|exchange| exchange.status == Some(200))
    }

    /// Every rule that was broken and every trouble, one a line; empty after a test that went well.
    pub fn faults(&self) -> String {
        let broken = self.exchanges.iter().flat_map(|exchange| {
            let number = exchange.request.number;
            exchange
                .broken
                .iter()
                .map(move |rule| format!("request {number}: {rule}\n"))
        });
        let troubles = self.troubles.iter().map(|trouble| format!("{trouble}\n"));
        broken.chain(troubles).collect()
    }

    /// The tokens of all accepted requests, added up.
    pub fn billed(&self) -> Billed {
        self.accepted().fold(Billed::default(), |sum, exchange| {
            let usage = exchange.usage;
            Billed {
                fresh: sum.fresh + usage.fresh,
                cache_read: sum.cache_read + usage.cache_read,
                write_5m: sum.write_5m + usage.write_5m,
                write_1h: sum.write_1h + usage.write_1h,
                output: sum.output + usage.output,
                reasoning: sum.reasoning + usage.reasoning,
            }
        })
    }

    pub(super) fn add(&mut self, exchange: Exchange) {
        self.bodies += exchange.request.body.len();
        self.exchanges.push(exchange);
        while self.bodies > BODIES && self.forgotten + 1 < self.exchanges.len() {
            let request = &mut self.exchanges[self.forgotten].request;
            self.bodies -= request.body.len();
            request.body = Arc::from([]);
            self.forgotten += 1;
        }
    }

    /// How a request with these prefixes compares with the one before it, and the longest that it extends.
    pub(super) fn compare(&self, chain: &[u64], places: &[Place]) -> (Growth, Option<usize>) {
        let extends = |earlier: &Exchange| match earlier.chain.len() {
            0 => true,
            length => chain.get(length - 1) == earlier.chain.last(),
        };
        let growth = match self.exchanges.last() {
            None => Growth::First,
            Some(last) if extends(last) => Growth::Extends,
            Some(last) => {
                let same = chain
                    .iter()
                    .zip(&*last.chain)
                    .take_while(|(new, old)| new == old)
                    .count();
                let end = places.last().copied().unwrap_or(Place::Tools);
                Growth::Breaks(places.get(same).copied().unwrap_or(end))
            }
        };
        let longest = self
            .exchanges
            .iter()
            .enumerate()
            .filter(|(_, earlier)| extends(earlier));
        (
            growth,
            longest
                .max_by_key(|(_, earlier)| earlier.chain.len())
                .map(|(index, _)| index),
        )
    }
}
