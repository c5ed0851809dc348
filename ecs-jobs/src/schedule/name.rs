//! Names of systems and types, for messages.

/// The last two parts of a path: `miners::systems::identify` becomes `systems::identify`.
pub(super) fn of_system(name: &str) -> String {
    let generics = name.find('<').unwrap_or(name.len());
    let mut parts = name[..generics].rsplitn(3, "::");
    let last = parts.next().unwrap_or_default();
    let owner = parts.next().map(|owner| format!("{owner}::")).unwrap_or_default();
    format!("{owner}{last}{}", of_type(&name[generics..]))
}

/// A type without the paths of its parts: `formic_ecs::query::With<game::Gold>` becomes `With<Gold>`.
pub(super) fn of_type(name: &str) -> String {
    let mut short = String::new();
    let mut part = 0;
    for (place, character) in name.char_indices() {
        if character == ':' {
            part = place + 1;
        } else if character != '_' && !character.is_alphanumeric() {
            short.push_str(&name[part..=place]);
            part = place + character.len_utf8();
        }
    }
    short.push_str(&name[part..]);
    short
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn systems_keep_their_module_and_types_only_their_own_name() {
        assert_eq!(of_system("miners::systems::identify"), "systems::identify");
        assert_eq!(of_system("a::b::load<c::Deep<d::E>>"), "b::load<Deep<E>>");
        assert_eq!(of_system("main"), "main");
        assert_eq!(of_type("formic_ecs::query::With<game::Gold>"), "With<Gold>");
        assert_eq!(of_type("(&a::B, &mut c::d::E)"), "(&B, &mut E)");
        assert_eq!(of_type(""), "");
    }
}
