//! Names of the values of an enum.

/// Gives an enum a list of all its values, their names, and a `Display` that writes the name.
///
/// ```
/// #[derive(Clone, Copy)]
/// enum Size {
///     Small,
///     Large,
/// }
/// codelet_text::named! { Size { Small = "small", Large = "large" } }
///
/// assert_eq!(Size::ALL.map(|size| size.to_string()), ["small", "large"]);
/// ```
#[macro_export]
macro_rules! named {
    ($kind:ident { $($value:ident = $name:literal),+ $(,)? }) => {
        impl $kind {
            /// All, in the order in which they are shown.
            pub const ALL: [$kind; [$($name),+].len()] = [$($kind::$value),+];

            /// The name in settings and reports.
            pub fn name(self) -> &'static str {
                match self {
                    $($kind::$value => $name,)+
                }
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
