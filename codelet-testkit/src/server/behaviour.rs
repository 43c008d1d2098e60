//! How a server behaves: its script, and the rules by which it refuses, counts and caches.

use super::cache::{CacheRules, Clock};
use super::cloud::Cloud;
use super::request::Request;
use super::script::Reply;
use super::window::Window;
use super::wire::Dialect;
use std::sync::Arc;

/// What a server does. Beside the script, everything has the vendor's usual value.
pub struct Behaviour {
    pub(super) script: Script,
    pub(super) rules: Rules,
}

/// Everything but the script.
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

/// Where replies come from.
pub(super) enum Script {
    /// From a list, in its order.
    List(std::vec::IntoIter<Reply>),
    /// From a function of the request.
    Answer(Answer),
}

impl Behaviour {
    /// Answers with these replies, one after the other. A request beyond the last is refused and recorded as trouble.
    pub fn replies(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies: Vec<Reply> = replies.into_iter().collect();
        Behaviour::with(Script::List(replies.into_iter()))
    }

    /// Answers by what is asked. A panic in `answer` is refused with 500 and recorded as trouble.
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

    /// Refuses what is longer than the window, in the vendor's words, before the script is asked.
    pub fn window(mut self, window: Window) -> Self {
        self.rules.window = Some(window);
        self
    }

    /// Counts so many tokens for four bytes of text, for the window, usage and cache; 1.0 unless set.
    pub fn tokens_per_four_bytes(mut self, factor: f64) -> Self {
        self.rules.factor = factor;
        self
    }

    /// Talks as another server on the same wire does.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.rules.dialect = dialect;
        self
    }

    /// Takes requests that break the vendor's rules. They are still recorded as broken.
    pub fn unchecked(mut self) -> Self {
        self.rules.checks = false;
        self
    }

    /// Refuses thinking that was made under another system prompt or other tools, as newer models of Anthropic do.
    pub fn binding_thinking(mut self) -> Self {
        self.rules.binds_thinking = true;
        self
    }

    /// Caches by other figures.
    pub fn cache(mut self, rules: CacheRules) -> Self {
        self.rules.cache = rules;
        self
    }

    /// Lets the cache age by a clock of the test's.
    pub fn clock(mut self, clock: &Clock) -> Self {
        self.rules.clock = clock.clone();
        self
    }

    /// The models that `GET /v1/models` lists.
    pub fn models<M: Into<String>>(mut self, models: impl IntoIterator<Item = M>) -> Self {
        self.rules.models = models.into_iter().map(Into::into).collect();
        self
    }

    /// `GET /v1/models` tells each model's window, in `meta.n_ctx`, as llama.cpp's server does.
    pub fn listing_window(mut self, tokens: u64) -> Self {
        self.rules.listed_window = Some(tokens);
        self
    }

    /// Stands behind a cloud: it lets in whom that knows, at its addresses, and answers as it does.
    pub fn cloud(mut self, cloud: &Arc<Cloud>) -> Self {
        self.rules.cloud = Some(Arc::clone(cloud));
        self
    }

    /// The first so many requests for `/v1/models` are refused with 503, as by a server that loads its model.
    pub fn loading(mut self, requests: usize) -> Self {
        self.rules.loading = requests;
        self
    }
}

impl Script {
    /// The next reply, or why there is none.
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
