//! The model that the settings name: its key, its address and its price.

use crate::clouds;
use crate::exit::Failure;
use crate::network;
use crate::place::variable;
use crate::settings::{From, Login, Settings};
use codelet_agent::effort::{Effort, names};
use codelet_agent::model::Model;
use codelet_context::price::{self, PriceCard, Rates};
use codelet_providers::{Choice, Loading, Secret, TimeLimits, Vendor, address, catalogue};
use std::time::Duration;

/// Connects to the model of the settings; `told` is called while waiting for a server that is not ready.
///
/// # Errors
/// If it cannot be used: the vendor is unknown, the key is missing or the URL is invalid; or if there is a cost limit
/// but no known price.
pub async fn connect(settings: &Settings, told: &mut (dyn FnMut(Loading) + Send)) -> Result<Box<dyn Model>, Failure> {
    let name = &settings.model.value;
    let choice = choice(settings);
    let connected = codelet_providers::connect_telling(&choice, told).await;
    let model = connected.map_err(|error| {
        Failure::Told(match &error {
            codelet_providers::ConnectError::NoKey { vendor, variable } => format!(
                "no API key for {vendor}: set ${variable}, or add `{vendor} = \"…\"` under [keys] in {}",
                settings
                    .user_file
                    .as_ref()
                    .map_or("the settings".to_owned(), |path| path.display().to_string())
            ),
            codelet_providers::ConnectError::UnknownVendor { .. } => {
                let from = match &settings.model.from {
                    From::CommandLine => String::new(),
                    from => format!("model, {from}; "),
                };
                format!(
                    "{error} ({from}`codelet models --search WORDS` finds models; for another server, add --base-url URL)"
                )
            }
            codelet_providers::ConnectError::BaseUrl { .. } => format!("{error} ({})", settings.base_url.from),
            error => error.to_string(),
        })
    })?;
    if settings.max_cost.value.is_some() && model.profile().price.is_none() {
        return Err(Failure::Told(format!(
            "the price of {name} is unknown, so --max-cost cannot be enforced; set its prices under [models.\"{name}\"] in the settings"
        )));
    }
    let Some(effort) = settings.effort.value else {
        return Ok(model);
    };
    match model.with_effort(Some(effort)) {
        Some(model) => Ok(model),
        // A setting applies to every model; a command-line option to this one.
        None if settings.effort.from == From::CommandLine => {
            Err(Failure::Told(format!("--effort: {}", effort_refused(&*model, effort))))
        }
        None => Ok(model),
    }
}

/// Returns the model of the settings and its connection options.
pub fn choice(settings: &Settings) -> Choice {
    let name = &settings.model.value;
    let file = settings.models.get(name);
    let login = settings.vendor().and_then(|vendor| key(settings, vendor));
    let cloud = settings.vendor().map(|vendor| clouds::access(vendor, &variable));
    let key_source = match login.as_ref().map(|login| &login.from) {
        Some(From::File(path)) => Some(format!("[keys] in {}", path.display())),
        Some(from) => Some(from.to_string()),
        None => cloud.as_ref().and_then(|cloud| cloud.from.clone()),
    };
    Choice {
        model: name.clone(),
        base_url: settings.base_url.value.clone(),
        is_token: login.as_ref().is_some_and(|login| login.is_token),
        key: login.map(|login| Secret::new(login.key.reveal())),
        key_source,
        window: settings
            .window
            .value
            .filter(|_| !settings.window_is_bound)
            .or(file.and_then(|file| file.window)),
        most_window: settings.window.value.filter(|_| settings.window_is_bound),
        max_output: file.and_then(|file| file.max_output),
        sees_images: file.and_then(|file| file.sees_images),
        price: price(settings, name),
        limits: settings.idle_timeout.value.map(|seconds| {
            let silence = Duration::from_secs(seconds);
            TimeLimits {
                first_byte: silence,
                idle: silence,
                ..TimeLimits::CLOUD
            }
        }),
        network: network::network(&variable),
        site: cloud.map(|cloud| cloud.site).unwrap_or_default(),
        ..Choice::default()
    }
}

/// Returns the source of the credential for a vendor: a key, or a cloud's other credentials.
pub fn let_in(settings: &Settings, vendor: &Vendor) -> Option<String> {
    let key = key(settings, vendor).map(|login| login.from.to_string());
    key.or_else(|| clouds::access(vendor, &variable).from)
}

/// Returns the endpoint of the model, as far as it is known.
pub fn asked_at(settings: &Settings) -> String {
    let vendor = settings.vendor();
    let usual = || match vendor {
        Some(vendor) => match vendor.host {
            Some(host) => host
                .address(&clouds::access(vendor, &variable).site)
                .unwrap_or_default(),
            None => vendor.base_url.to_owned(),
        },
        None => String::new(),
    };
    address::shown(&settings.base_url.value.clone().unwrap_or_else(usual))
}

/// Returns the vendor of the model if its key is missing and no request is possible. A cloud's missing credentials are
/// reported when connecting.
pub fn without_key(settings: &Settings) -> Option<&'static Vendor> {
    let vendor = settings.vendor()?;
    let is_elsewhere = settings.base_url.value.as_ref().is_some_and(|url| !vendor.is_at(url));
    let needs_one = !vendor.keys.is_empty() && !is_elsewhere && vendor.host.is_none();
    (needs_one && key(settings, vendor).is_none()).then_some(vendor)
}

/// Explains, in a fragment, why a model does not support an effort.
pub fn effort_refused(model: &dyn Model, effort: Effort) -> String {
    let (name, efforts) = (&model.profile().name, model.efforts());
    match efforts.is_empty() {
        true => format!("{name} does not support a thinking effort"),
        false => format!("{name} does not take {effort}, it takes {}", names(&efforts)),
    }
}

/// Returns the credential for a vendor, with its source.
pub fn key(settings: &Settings, vendor: &Vendor) -> Option<Login> {
    settings.key(vendor, &variable)
}

/// Returns the user's price card: from the price file, with the prices of the settings over it or over the built-in
/// card.
fn price(settings: &Settings, name: &str) -> Option<PriceCard> {
    let own = price::among(&settings.prices.value, name);
    let file = settings.models.get(name);
    let is_given = file.is_some_and(|file| file.rates().any(|rate| rate.is_some()));
    if !is_given {
        return own.cloned();
    }
    let file = file?;
    let known = own.cloned().or_else(|| {
        let (vendor, model) = name.split_once('/')?;
        catalogue::price(vendor, model)
    });
    if known.is_none() && file.input.is_none() && file.output.is_none() {
        return None;
    }
    let known = known.unwrap_or_else(|| PriceCard::flat(name, Rates::default()));
    let rates = known.rates;
    let input = file.input.unwrap_or(rates.input);
    // By default a cache neither saves nor costs anything.
    let or = |given: Option<f64>, known: f64| given.or(Some(known).filter(|&known| known > 0.0)).unwrap_or(input);
    Some(known.costing(Rates {
        input,
        output: file.output.unwrap_or(rates.output),
        cache_read: or(file.cache_read, rates.cache_read),
        cache_write: or(file.cache_write, rates.cache_write),
        cache_write_1h: or(file.cache_write_1h, rates.cache_write_1h),
    }))
}
