//! The server's record: every request, its response, and the fate of the connection.

use super::request::Request;
use super::script::Billed;
use super::segment::Place;
use std::sync::Arc;
use std::time::Instant;

/// Everything that has happened so far.
///
/// Bodies are kept up to [`BODIES`] bytes in total; beyond that the oldest are dropped and read as empty.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Requests to the model, in order of arrival.
    pub exchanges: Vec<Exchange>,
    /// All other requests: method, path, and response status.
    pub others: Vec<(String, String, u16)>,
    /// Errors of the test itself, such as a script without a reply.
    pub troubles: Vec<String>,
    bodies: usize,
    forgotten: usize,
}

/// Maximum bytes of request bodies that a record keeps.
pub const BODIES: usize = 256 << 20;

/// A request to the model and its response.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request.
    pub request: Request,
    /// The time at which the request was complete.
    pub arrived: Instant,
    /// Its relation to the request before it.
    pub growth: Growth,
    /// The index of the longest earlier request that it extends.
    pub extends: Option<usize>,
    /// The size of the prompt by the server's own count, in tokens.
    pub tokens: u64,
    /// The reported usage, or the one that would have been reported if the response had got so far. Zero if it was
    /// refused.
    pub usage: Billed,
    /// The vendor's rules that it breaks, as the vendor's messages. Such a request is refused.
    pub broken: Vec<String>,
    /// The HTTP status of the response, once there is one.
    pub status: Option<u16>,
    /// The number of complete frames sent.
    pub frames: usize,
    /// The outcome.
    pub end: End,
    pub(super) chain: Arc<[u64]>,
}

/// The relation of a request to the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// There is no earlier request.
    First,
    /// It begins with the earlier one's tools, system prompt and messages, byte for byte except for cache marks.
    Extends,
    /// It differs from here on.
    Breaks(Place),
}

/// The outcome of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// It is being answered, or held.
    Open,
    /// The complete response was sent.
    Finished(Instant),
    /// It was refused with a status.
    Refused(Instant),
    /// The response ended early, as scripted.
    Cut(Instant),
    /// The client disconnected before the response was complete.
    ClientLeft(Instant),
}

impl Record {
    /// The requests that were answered with a stream or a complete reply.
    pub fn accepted(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges.iter().filter(|exchange| exchange.status == Some(200))
    }

    /// Every broken rule and every error of the test, one per line; empty after a successful test.
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

    /// The total tokens of all accepted requests.
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

    /// Compares a request with these prefixes to the one before it, and finds the longest one that it extends.
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
