//! Cloud settings besides the API key: region, project, and the credentials that the cloud's own tools keep in the
//! user's home.

use crate::input;
use crate::settings::LookUp;
use codelet_providers::host::aws::{self, AwsKeys, AwsSource, Profile};
use codelet_providers::host::google::GoogleCredentials;
use codelet_providers::{Host, Secret, Site, Vendor};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The maximum number of bytes read from a file; files with many profiles have a few kilobytes.
const MOST: u64 = 1 << 20;

/// Environment variables for Bedrock's region and Vertex' location and project, the most common first.
const AWS_REGIONS: [&str; 2] = ["AWS_REGION", "AWS_DEFAULT_REGION"];
const LOCATIONS: [&str; 2] = ["CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION"];
const PROJECTS: [&str; 3] = ["GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID", "GCLOUD_PROJECT"];

/// Access to a cloud.
#[derive(Default)]
pub struct CloudAccess {
    /// The endpoint and identity for requests.
    pub site: Site,
    /// The source of credentials other than a key, if there are any.
    pub from: Option<String>,
}

/// Reads a cloud vendor's settings from the environment and the user's home; returns defaults for other vendors. Reads
/// no file of the project.
pub fn access(vendor: &Vendor, variable: &LookUp<'_>) -> CloudAccess {
    match vendor.host {
        Some(Host::Bedrock) => bedrock(variable),
        Some(Host::Vertex) => vertex(variable),
        Some(Host::Azure) | None => CloudAccess::default(),
    }
}

/// Returns the paths of the AWS profile files, whether they exist or not.
pub fn aws_files(variable: &LookUp<'_>) -> impl Iterator<Item = PathBuf> {
    let files = AwsFiles::find(variable);
    files.credentials.into_iter().chain(files.config)
}

fn bedrock(variable: &LookUp<'_>) -> CloudAccess {
    let (name, files) = (profile_name(variable), AwsFiles::find(variable));
    let profile = files.profile(&name);
    let region = first(&AWS_REGIONS, variable).or_else(|| profile.region.clone());
    let own = variable("AWS_ACCESS_KEY_ID")
        .zip(variable("AWS_SECRET_ACCESS_KEY"))
        .map(|(id, secret)| AwsKeys {
            id: id.trim().to_owned(),
            secret: Secret::new(&secret),
            session: variable("AWS_SESSION_TOKEN").map(|token| Secret::new(&token)),
        });
    let mut access = CloudAccess {
        site: Site {
            region,
            ..Site::default()
        },
        from: None,
    };
    if let Some(keys) = own {
        access.from = Some("$AWS_ACCESS_KEY_ID".to_owned());
        access.site.aws = Some(AwsSource::new(move || Ok(keys.clone())));
    } else if profile.keys.is_some() {
        access.from = Some(format!("the AWS profile {name}"));
        access.site.aws = Some(AwsSource::new(move || {
            let profile = files.profile(&name);
            profile.keys.clone().ok_or_else(|| missing(&name, &profile, true))
        }));
    } else {
        let is_named = PROFILES.iter().any(|own| variable(own).is_some());
        access.site.missing = Some(missing(&name, &profile, is_named));
    }
    access
}

const PROFILES: [&str; 2] = ["AWS_PROFILE", "AWS_DEFAULT_PROFILE"];

fn profile_name(variable: &LookUp<'_>) -> String {
    first(&PROFILES, variable).unwrap_or_else(|| "default".to_owned())
}

/// Explains why a profile cannot be used.
fn missing(name: &str, profile: &Profile, is_named: bool) -> String {
    match profile {
        Profile { elsewhere: Some(from), .. } => format!(
            "the AWS profile {name} gets its keys from {from}, which Codelet does not support; first run \
             eval \"$(aws configure export-credentials --profile {name} --format env)\""
        ),
        Profile { is_there: true, .. } => format!("the AWS profile {name} has no keys"),
        _ if is_named => format!("there is no AWS profile {name} in ~/.aws/credentials or ~/.aws/config"),
        _ => "no AWS keys: set $AWS_BEARER_TOKEN_BEDROCK, or $AWS_ACCESS_KEY_ID and $AWS_SECRET_ACCESS_KEY, or $AWS_PROFILE to a \
              profile with keys"
            .to_owned(),
    }
}

/// The files in which the AWS tools keep profiles.
#[derive(Clone)]
struct AwsFiles {
    credentials: Option<PathBuf>,
    config: Option<PathBuf>,
}

impl AwsFiles {
    fn find(variable: &LookUp<'_>) -> Self {
        let home = home(variable);
        let usual = |name: &str| home.as_ref().map(|home| home.join(".aws").join(name));
        let named =
            |variable_name: &str, name: &str| variable(variable_name).map(PathBuf::from).or_else(|| usual(name));
        AwsFiles {
            credentials: named("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
            config: named("AWS_CONFIG_FILE", "config"),
        }
    }

    fn profile(&self, name: &str) -> Profile {
        let text = |file: &Option<PathBuf>| file.as_deref().and_then(read).unwrap_or_default();
        aws::profile(&text(&self.credentials), &text(&self.config), name)
    }
}

fn vertex(variable: &LookUp<'_>) -> CloudAccess {
    let mut access = CloudAccess {
        site: Site {
            region: first(&LOCATIONS, variable),
            project: first(&PROJECTS, variable),
            ..Site::default()
        },
        from: None,
    };
    let file = google_file(variable).filter(|file| file.exists() || variable(CREDENTIALS).is_some());
    let Some(file) = file else {
        access.site.missing = Some(format!(
            "no Google credentials: run `gcloud auth application-default login`, or set ${CREDENTIALS} to a service account's key file"
        ));
        return access;
    };
    let text = read(&file).ok_or("it cannot be read".to_owned());
    match text.and_then(|text| GoogleCredentials::read(&text)) {
        Ok(credentials) => {
            let project = credentials.project().map(str::to_owned);
            access.site.project = access.site.project.or(project);
            access.site.google = Some(credentials.telling(|token| learn(token.reveal())));
            access.from = Some(file.display().to_string());
        }
        Err(why) => access.site.missing = Some(format!("no Google credentials in {}: {why}", file.display())),
    }
    access
}

/// Tokens that a cloud has issued to this program.
static TOKENS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn learn(token: &str) {
    TOKENS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(token.to_owned());
}

/// Returns the tokens that clouds have issued to this program so far.
pub fn tokens() -> Vec<String> {
    TOKENS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The variable that names the file of Google's credentials.
const CREDENTIALS: &str = "GOOGLE_APPLICATION_CREDENTIALS";

/// Returns the path of Google's application default credentials, whether the file exists or not.
pub fn google_file(variable: &LookUp<'_>) -> Option<PathBuf> {
    let folder = || {
        let named = variable("CLOUDSDK_CONFIG").map(PathBuf::from);
        named.or_else(|| Some(home(variable)?.join(".config").join("gcloud")))
    };
    let usual = || Some(folder()?.join("application_default_credentials.json"));
    variable(CREDENTIALS).map(PathBuf::from).or_else(usual)
}

fn home(variable: &LookUp<'_>) -> Option<PathBuf> {
    variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
}

fn first(names: &[&str], variable: &LookUp<'_>) -> Option<String> {
    let found = names.iter().find_map(|name| variable(name));
    found.map(|value| value.trim().to_owned())
}

fn read(file: &Path) -> Option<String> {
    String::from_utf8(input::regular(file, MOST).ok()?).ok()
}
