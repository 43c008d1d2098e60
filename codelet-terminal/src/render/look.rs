//! Appearance: width, colours or none, light or dark, and the roles of text.

use ratatui::style::{Color, Modifier, Style};

/// Minimum layout width; a narrower terminal wraps the lines itself.
pub const MIN_WIDTH: usize = 8;
/// Maximum columns of prose; wider lines are hard to read.
const MAX_PROSE: usize = 120;

/// The properties of a terminal that affect the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// Width in columns.
    pub width: usize,
    /// Supported styles.
    pub styles: Styles,
    /// The background.
    pub background: Background,
}

/// The styles that a terminal supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Styles {
    /// None, and only ASCII lines and marks: a dumb terminal, a pipe, a screen reader.
    Plain,
    /// Bold, dim, underlined and reversed, but no colours: `NO_COLOR`.
    Monochrome,
    /// The 16 standard colours, as configured by the user.
    Colour,
}

/// The background of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Background {
    /// Dark.
    #[default]
    Dark,
    /// Light.
    Light,
}

/// The roles of text. Where it matters, a role's style differs from plain text even without colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Role {
    /// Normal text.
    Text,
    /// Secondary text: frames, figures, folded output.
    Dim,
    /// Emphasis.
    Strong,
    /// Headings, marks, and the program's own elements.
    Accent,
    /// The user's input.
    Prompt,
    /// Code within prose.
    Code,
    /// Links.
    Link,
    /// Success.
    Good,
    /// Failure.
    Error,
    /// Needs the user's attention.
    Warning,
    /// An added line.
    Added,
    /// A removed line.
    Removed,
    /// Added words of a line.
    AddedWords,
    /// Removed words of a line.
    RemovedWords,
    /// Keywords, in code.
    Keyword,
    /// Strings, in code.
    Quoted,
    /// Numbers and other constants, in code.
    Number,
    /// Comments, in code.
    Comment,
    /// Names of types and definitions, in code.
    Name,
}

impl Look {
    /// A look without styles.
    pub fn plain(width: usize) -> Self {
        Look::new(width, Styles::Plain, Background::Dark)
    }

    /// A look; `width` is raised to [`MIN_WIDTH`].
    pub fn new(width: usize, styles: Styles, background: Background) -> Self {
        Look {
            width: width.max(MIN_WIDTH),
            styles,
            background,
        }
    }

    /// The same look at another width.
    pub fn at_width(self, width: usize) -> Self {
        Look::new(width, self.styles, self.background)
    }

    /// Returns whether only ASCII marks and no styles are used.
    pub fn is_plain(&self) -> bool {
        self.styles == Styles::Plain
    }

    /// The columns for prose, which is hard to read on very wide lines.
    pub fn prose(&self) -> usize {
        self.width.clamp(MIN_WIDTH, MAX_PROSE)
    }

    /// Picks the Unicode spelling, or the one for plain terminals.
    pub fn pick<'a>(&self, fine: &'a str, plain: &'a str) -> &'a str {
        if self.is_plain() { plain } else { fine }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        let style = Style::new();
        match self.styles {
            Styles::Plain => style,
            Styles::Monochrome => style.add_modifier(modifier(role)),
            Styles::Colour => match self.colour(role) {
                Some(colour) => style.fg(colour).add_modifier(modifier(role) - Modifier::DIM),
                None => style.add_modifier(modifier(role)),
            },
        }
    }

    /// Yellow and the bright colours are illegible on white, and blue nearly so on black.
    fn colour(&self, role: Role) -> Option<Color> {
        let (dark, light) = match role {
            Role::Text | Role::Dim | Role::Strong => return None,
            Role::Accent | Role::Prompt | Role::Keyword => (Color::Cyan, Color::Blue),
            Role::Code | Role::Name => (Color::LightBlue, Color::Blue),
            Role::Link => (Color::LightBlue, Color::Blue),
            Role::Good | Role::Added | Role::AddedWords | Role::Quoted => (Color::Green, Color::Green),
            Role::Error | Role::Removed | Role::RemovedWords => (Color::Red, Color::Red),
            Role::Warning => (Color::Yellow, Color::Magenta),
            Role::Number => (Color::Magenta, Color::Magenta),
            // Bright black is the background colour of some themes; dim text always stays visible.
            Role::Comment => return None,
        };
        Some(match self.background {
            Background::Dark => dark,
            Background::Light => light,
        })
    }
}

fn modifier(role: Role) -> Modifier {
    match role {
        Role::Dim | Role::Comment => Modifier::DIM,
        Role::Strong | Role::Accent | Role::Error | Role::Warning | Role::Prompt => Modifier::BOLD,
        Role::Link => Modifier::UNDERLINED,
        Role::AddedWords | Role::RemovedWords => Modifier::REVERSED,
        _ => Modifier::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: [Role; 19] = [
        Role::Text,
        Role::Dim,
        Role::Strong,
        Role::Accent,
        Role::Prompt,
        Role::Code,
        Role::Link,
        Role::Good,
        Role::Error,
        Role::Warning,
        Role::Added,
        Role::Removed,
        Role::AddedWords,
        Role::RemovedWords,
        Role::Keyword,
        Role::Quoted,
        Role::Number,
        Role::Comment,
        Role::Name,
    ];

    #[test]
    fn without_colour_no_role_has_one_and_without_styles_none_has_any() {
        for role in ROLES {
            for background in [Background::Dark, Background::Light] {
                let style = |styles| Look::new(80, styles, background).style(role);
                assert_eq!(style(Styles::Monochrome).fg, None);
                assert_eq!(style(Styles::Plain), Style::new());
                assert_eq!(style(Styles::Colour).bg, None, "the user's background stays");
            }
        }
    }

    #[test]
    fn no_role_is_written_in_a_colour_that_its_background_swallows() {
        for role in ROLES {
            let on = |background| Look::new(80, Styles::Colour, background).style(role).fg;
            assert!(!matches!(
                on(Background::Dark),
                Some(Color::Black | Color::Blue | Color::DarkGray)
            ));
            assert!(!matches!(
                on(Background::Light),
                Some(Color::White | Color::Yellow | Color::Gray | Color::LightYellow | Color::LightCyan)
            ));
        }
    }
}
