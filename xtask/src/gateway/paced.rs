//! The bill of a provider on loopback that keeps prompts as the vendor does, for requests that are really sent to it.

use bytes::Bytes;
use codelet_context::price::PriceCard;
use codelet_context::tokens::Tokens;
use codelet_context::usage::Usage;
use codelet_testkit::server::{Behaviour, CacheRules, Clock, Reply, Server, Wire};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A provider, and what it has billed in dollars.
pub struct Paced<'a> {
    card: &'a PriceCard,
    stream: BufReader<TcpStream>,
    clock: Clock,
    pub dollars: f64,
    _server: Server,
}

impl<'a> Paced<'a> {
    /// Starts a provider of Anthropic's interface that counts so many tokens per four bytes.
    ///
    /// # Errors
    /// If it cannot be reached.
    pub fn start(card: &'a PriceCard, ratio: f64) -> std::io::Result<Self> {
        let clock = Clock::new();
        let rules = CacheRules {
            minimum: card.minimum,
            ..CacheRules::default()
        };
        let behaviour = Behaviour::answering(|_| Reply::text("Noted."))
            .unchecked()
            .tokens_per_four_bytes(ratio)
            .cache(rules)
            .clock(&clock);
        let server = Server::start(Wire::Anthropic, behaviour);
        let stream = TcpStream::connect(server.url().trim_start_matches("http://"))?;
        stream.set_nodelay(true)?;
        Ok(Paced {
            card,
            stream: BufReader::new(stream),
            clock,
            dollars: 0.0,
            _server: server,
        })
    }

    /// Sends a request at `now` in milliseconds, and adds what is billed for it and a reply of `output` tokens.
    ///
    /// # Errors
    /// If the connection breaks, or the answer reports no usage.
    pub fn request(&mut self, body: &Bytes, output: Tokens, now: u64) -> std::io::Result<()> {
        self.clock
            .advance(Duration::from_millis(now).saturating_sub(self.clock.now()));
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: localhost\r\nanthropic-version: 2023-06-01\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let stream = self.stream.get_mut();
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let answer: Value = serde_json::from_slice(&self.answer()?)?;
        let count = |name: &str| answer["usage"][name].as_u64().ok_or(std::io::ErrorKind::InvalidData);
        let hour = answer.pointer("/usage/cache_creation/ephemeral_1h_input_tokens");
        let usage = Usage {
            fresh: count("input_tokens")?,
            cache_read: count("cache_read_input_tokens")?,
            cache_write: count("cache_creation_input_tokens")?,
            output,
        };
        self.dollars += self.card.cost(usage, hour.and_then(Value::as_u64).unwrap_or(0));
        Ok(())
    }

    fn answer(&mut self) -> std::io::Result<Vec<u8>> {
        let (mut length, mut line) = (0, String::new());
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            let lower = line.trim_end().to_ascii_lowercase();
            if let Some(told) = lower.strip_prefix("content-length: ") {
                length = told.parse().map_err(std::io::Error::other)?;
            }
            if lower.is_empty() {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        Ok(answer)
    }
}
