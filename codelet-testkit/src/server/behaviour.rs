//! The behaviour of a server: its script, and the rules for refusals, token counts and caching.

use super::cache::{CacheRules, Clock};
use super::cloud::Cloud;
use super::request::Request;
use super::script::Reply;
use super::window::Window;
use super::wire::Dialect;
use std::sync::Arc;

/// The behaviour of a server. Everything except the script has the vendor's usual default.
pub struct Behaviour {
    pub(super) script: Script,
    pub(super) rules: Rules,
}

/// Everything except the script.
#[derive(Debug)]
pub(super) struct Rules {
    pub window: Option<Window>,
    pub factor: f64,
    pub dialect: Dialect,
    pub checks: bool,
    pub binds_thinking: bool,
    pub cache: CacheRules,
    pub clock: Clock,
    pub models: Vec<String>,
    pub listed_window: Option<u64>,
    pub loading: usize,
    pub cloud: Option<Arc<Cloud>>,
}

type Answer = Box<dyn FnMut(&Request) -> Reply + Send>;

/// The source of replies.
pub(super) enum Script {
    /// A list, in order.
    List(std::vec::IntoIter<Reply>),
    /// A function of the request.
    Answer(Answer),
}

impl Behaviour {
    /// Responds with these replies in order. A request beyond the last is refused and recorded as trouble.
    pub fn replies(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Behaviour::with(Script::List(replies.into_iter()))
    }

    /// Responds depending on the request. A panic in `answer` becomes a status 500 and is recorded as trouble.
    pub fn answering(answer: impl FnMut(&Request) -> Reply + Send + 'static) -> Self {
        Behaviour::with(Script::Answer(Box::new(answer)))
    }

    fn with(script: Script) -> Self {
        let rules = Rules {
            window: None,
            factor: 1.0,
            dialect: Dialect::Vendor,
            checks: true,
            binds_thinking: false,
            cache: CacheRules::default(),
            clock: Clock::new(),
            models: vec!["model".to_owned()],
            listed_window: None,
            loading: 0,
            cloud: None,
        };
        Behaviour { script, rules }
    }

    /// Refuses prompts longer than the window, with the vendor's message, before consulting the script.
    pub fn window(mut self, window: Window) -> Self {
        self.rules.window = Some(window);
        self
    }

    /// Sets the tokens per four bytes of text for window, usage and cache; 1.0 by default.
    pub fn tokens_per_four_bytes(mut self, factor: f64) -> Self {
        self.rules.factor = factor;
        self
    }

    /// Imitates another server on the same wire.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.rules.dialect = dialect;
        self
    }

    /// Accepts requests that break the vendor's rules. They are still recorded as broken.
    pub fn unchecked(mut self) -> Self {
        self.rules.checks = false;
        self
    }

    /// Refuses thinking that was produced under another system prompt or other tools, as newer models of Anthropic do.
    pub fn binding_thinking(mut self) -> Self {
        self.rules.binds_thinking = true;
        self
    }

    /// Sets the cache parameters.
    pub fn cache(mut self, rules: CacheRules) -> Self {
        self.rules.cache = rules;
        self
    }

    /// Sets a clock controlled by the test, by which the cache ages.
    pub fn clock(mut self, clock: &Clock) -> Self {
        self.rules.clock = clock.clone();
        self
    }

    /// Sets the models that `GET /v1/models` lists.
    pub fn models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.rules.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// Makes `GET /v1/models` report each model's context window in `meta.n_ctx`, like llama.cpp's server.
    pub fn listing_window(mut self, tokens: u64) -> Self {
        self.rules.listed_window = Some(tokens);
        self
    }

    /// Puts the server behind a cloud, which authenticates requests and has its own addresses and response format.
    pub fn cloud(mut self, cloud: &Arc<Cloud>) -> Self {
        self.rules.cloud = Some(Arc::clone(cloud));
        self
    }

    /// Refuses the first `requests` requests for `/v1/models` with 503, like a server that is loading its model.
    pub fn loading(mut self, requests: usize) -> Self {
        self.rules.loading = requests;
        self
    }
}

impl Script {
    /// Returns the next reply, or why there is none.
    pub fn next(&mut self, request: &Request) -> Result<Reply, String> {
        match self {
            Script::List(replies) => replies
                .next()
                .ok_or_else(|| format!("the script has no reply for request {}", request.number)),
            Script::Answer(answer) => {
                let answer = std::panic::AssertUnwindSafe(|| answer(request));
                std::panic::catch_unwind(answer).map_err(|panic| {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?");
                    format!("the script panicked at request {}: {text}", request.number)
                })
            }
        }
    }
}
