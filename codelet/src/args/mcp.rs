//! Options of the commands for MCP servers.

use super::DirectoryArgs;
use clap::{Args, Subcommand};

#[derive(Subcommand, Debug)]
pub enum Mcp {
    /// Check every configured server
    #[command(after_help = MCP_LIST_HELP)]
    List(DirectoryArgs),
    /// Check one server and list its tools
    #[command(after_help = MCP_TEST_HELP)]
    Test(McpServer),
    /// Log in to a server that requires it (OAuth), in your browser
    #[command(after_help = MCP_LOGIN_HELP)]
    Login(McpLogin),
    /// Delete the saved login for a server
    #[command(after_help = MCP_LOGOUT_HELP)]
    Logout(McpServer),
}

const MCP_LIST_HELP: &str = "\
Exit status: 0 if every enabled server works, 1 if one does not, 2 if the settings are invalid.";

const MCP_TEST_HELP: &str = "\
Exit status: 0 if the server works, 1 if it does not, 2 if the settings are invalid or have no such server.";

const MCP_LOGIN_HELP: &str = "\
Prints the address to open, and opens it in a browser if there is a display. Tokens are kept in a file that only you can \
read, beside your settings, and are sent only to that server.

Exit status: 0 if you are logged in, 1 if not, 2 if the settings are wrong or name no such server.";

const MCP_LOGOUT_HELP: &str = "\
Deletes the file with the tokens. The server may accept them until they expire, or until you revoke them there.";

#[derive(Args, Debug)]
pub struct McpServer {
    /// Server name: the NAME in [mcp.NAME] of the settings
    #[arg(value_name = "NAME")]
    pub name: String,

    #[command(flatten)]
    pub place: DirectoryArgs,
}

#[derive(Args, Debug)]
pub struct McpLogin {
    #[command(flatten)]
    pub server: McpServer,

    /// Only print the address, open no browser
    #[arg(long)]
    pub no_browser: bool,
}
