//! Recognises secrets by the names of variables, arguments, headers and parameters, and values that are made by machine.

/// Parts of the names of secrets, ignoring separators between words.
const ANYWHERE: &[&str] = &[
    "PASSWORD", "PASSWD", "PASSPHRASE", "SSHPASS", "SECRET", "CREDENTIAL", "CREDS", "AUTHCONFIG", "APIKEY",
    "ACCESSKEY", "PRIVATEKEY", "AUTHTOKEN", "ACCESSTOKEN", "CONNECTIONSTRING",
];
/// Words that mark a name as secret; `TOKENIZERS_PARALLELISM` and `MAX_TOKENS` contain none of them.
const WORDS: &[&str] = &["TOKEN", "AUTHORIZATION", "AUTHENTICATION", "JWT", "BEARER"];
/// Last words of the names of secrets; `KEYBOARD`, `SSH_AUTH_SOCK` and `PASS_COUNT` do not match.
const LAST: &[&str] = &["KEY", "AUTH", "COOKIE", "PASS", "PWD", "PW", "PAT"];
/// Encodings that may follow such a word (`SIGNING_KEY_BASE64`; digits are ignored).
const ENCODINGS: &[&str] = &["BASE", "B", "HEX", "PEM", "JSON", "ENCODED"];
/// Names of parameters in a URL or a list that are secrets only there.
const PARAMETERS: &[&str] = &["PWD", "SIG", "SIGNATURE"];
/// Words in the names of keys that are public, or that unlock nothing.
const OPEN_KEYS: &[&str] = &[
    "PUBLIC", "PUB", "PUBLISHABLE", "PRIMARY", "FOREIGN", "SORT", "PARTITION", "CACHE", "HOT", "COMPOSE",
];
/// Last words of names that only describe a secret or its location.
const ABOUT: &[&str] = &[
    "FILE", "PATH", "DIR", "DIRECTORY", "FOLDER", "HOME", "STORE", "NAME", "ID", "TYPE", "URL", "URI", "ENDPOINT",
    "HOST", "PORT", "LENGTH", "LEN", "LIMIT", "SIZE", "COUNT", "MIN", "MAX", "TTL", "AGE", "EXPIRY", "EXPIRES",
    "TIMEOUT", "PROVIDER", "HELPER", "MODE", "ENABLED", "REQUIRED", "POLICY", "REGION", "ALGORITHM", "FORMAT",
    "VERSION", "SOCK", "COMMAND", "PROMPT",
];
/// Values of variables are searched for from this length on, if they contain letters and digits. Values that people
/// make up occur elsewhere too: with `postgres` as a password, the word would vanish from every text.
const MADE_BY_MACHINE: usize = 16;

/// The variable that names the git setting that another variable sets.
pub const GIT_KEY: &str = "GIT_CONFIG_KEY_";

/// Returns whether a variable, argument or header of this name holds a secret, judging by the name alone.
///
/// A false positive costs little: a command lacks the variable. So every name that is not known to be harmless counts.
pub fn is_secret_name(name: &str) -> bool {
    if name.starts_with(GIT_KEY) {
        return false;
    }
    let mut words = words(name);
    while words.len() > 1 && words.last().is_some_and(|last| ENCODINGS.contains(&last.as_str())) {
        words.pop();
    }
    let Some((last, before)) = words.split_last() else {
        return false;
    };
    let has = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    if ABOUT.contains(&last.as_str()) && before.last().is_none_or(|word| word != "SECRET" || last != "ID") {
        return false;
    }
    let joined = words.concat();
    ANYWHERE.iter().any(|part| joined.contains(part))
        || has(WORDS)
        || words.iter().any(|word| word.ends_with("TOKEN"))
        || match last.as_str() {
            "KEY" => !has(OPEN_KEYS),
            // The shell's working directory.
            "PWD" => !before.is_empty(),
            last => LAST.contains(&last),
        }
}

/// Returns whether a parameter of a URL or a list with this name holds a secret.
pub fn is_secret_parameter(name: &str) -> bool {
    is_secret_name(name)
        || words(name)
            .last()
            .is_some_and(|last| PARAMETERS.contains(&last.as_str()))
}

/// Returns whether a parameter of a URL's query holds a secret: by its name, or by a value that is made by machine if the
/// name does not say that it is something else, such as a version.
pub fn is_secret_in_query(name: &str, value: &str) -> bool {
    is_secret_parameter(name) || is_made_by_machine(value) && !is_about(name)
}

/// Returns whether a name only describes a secret or its location, as `TOKEN_LIMIT` does.
pub fn is_about(name: &str) -> bool {
    words(name).last().is_some_and(|last| ABOUT.contains(&last.as_str()))
}

/// Returns whether a text is long and mixed enough to be machine-generated.
pub fn is_made_by_machine(value: &str) -> bool {
    value.len() >= MADE_BY_MACHINE
        && value.contains(|c: char| c.is_ascii_digit())
        && value.contains(|c: char| c.is_ascii_alphabetic())
}

/// Splits a name into upper-case words without digits: `API`, `KEY` for `apiKey2`.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        let begins = c.is_uppercase() && was_small;
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        was_small = c.is_lowercase();
        if let Some(word) = words.last_mut().filter(|_| c.is_alphabetic()) {
            word.extend(c.to_uppercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_that_it_is_a_secrets() {
        for name in [
            "OPENAI_API_KEY",
            "OPENAI_KEY",
            "API_KEY_2",
            "GITHUB_TOKEN",
            "NPMTOKEN",
            "SLACK_TOKEN_PROD",
            "npm_config_//registry.npmjs.org/:_authToken",
            "PGPASSWORD",
            "MYSQL_PWD",
            "DB_PASS",
            "DB_PASS2",
            "SSHPASS",
            "GITHUB_PAT",
            "DJANGO_SECRET_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "VAULT_SECRET_ID",
            "SSH_PRIVATE_KEY",
            "AZURE_CLIENT_SECRET",
            "AZURE_STORAGE_CONNECTION_STRING",
            "AWS_CREDENTIALS",
            "DEPLOY_CREDS",
            "DOCKER_AUTH_CONFIG",
            "REDISCLI_AUTH",
            "RELEASE_COOKIE",
            "--api-key",
            "--apiKey",
            "--password",
            "Authorization",
            "X-Api-Key",
            "Private-Token",
            "key",
            "pass",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "PATH", "PWD", "OLDPWD", "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "TOKEN_LIMIT", "KEYBOARD", "KEYTIMEOUT",
            "MONKEY", "LESSKEY", "SSH_AUTH_SOCK", "XAUTHORITY", "GIT_ASKPASS", "SSH_ASKPASS", "PGPASSFILE",
            "PASSWORD_STORE_DIR", "POSTGRES_PASSWORD_FILE", "AWS_ACCESS_KEY_ID", "AWS_SHARED_CREDENTIALS_FILE",
            "TOKEN_URL", "SSH_PUBLIC_KEY", "STRIPE_PUBLISHABLE_KEY", "SORT_KEY", "BYPASS", "COMPASS", "PATTERN",
            "AUTHOR", "GIT_AUTHOR_NAME", "GNOME_KEYRING_CONTROL", "", "__",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_query_holds_a_secret_by_name_or_by_value() {
        for (name, value, is) in [
            ("api_key", "short", true),
            ("sig", "lovelace", true),
            ("code", "Zm9vYmFyMDEyMzQ1Njc4OQ==", true),
            ("", "Zm9vYmFyMDEyMzQ1Njc4OQ==", true),
            ("api-version", "2024-10-01-preview", false),
            ("api-version", "preview", false),
            ("alt", "sse", false),
        ] {
            assert_eq!(is_secret_in_query(name, value), is, "{name}={value}");
        }
    }
}
