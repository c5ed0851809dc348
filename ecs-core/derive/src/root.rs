//! The path of a trait's crate, as seen from the crate that derives the trait.

use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::quote;
use syn::Path;

/// Returns the path that was given, or otherwise the one from the manifest.
pub(crate) fn path(given: Option<&Path>, home: &TraitCrate) -> Tokens {
    given.map_or_else(|| from_manifest(home), |path| quote! { #path })
}

/// The crate of a derived trait.
pub(crate) struct TraitCrate {
    package: &'static str,
    /// The name of its module in the facade crate.
    module: &'static str,
}

pub(crate) const ECS: TraitCrate = TraitCrate { package: "formic-ecs", module: "ecs" };
pub(crate) const JOBS: TraitCrate = TraitCrate { package: "formic-jobs", module: "jobs" };

/// Looks up the path in the manifest of the crate that is being compiled: for instance `::formic_ecs`,
/// its new name if it was renamed, or `::formic::ecs` for a crate that depends only on the facade.
fn from_manifest(home: &TraitCrate) -> Tokens {
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map(|folder| std::path::Path::new(&folder).join("Cargo.toml"))
        .and_then(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default();
    in_manifest(&package, &manifest, home)
}

fn in_manifest(package: &str, manifest: &str, home: &TraitCrate) -> Tokens {
    let name = |wanted: &str| {
        let listed = || dependencies(manifest).find(|(_, package)| package == wanted);
        let own = (package == wanted).then(|| wanted.to_owned());
        own.or_else(|| listed().map(|(name, _)| name)).map(ident)
    };
    match (name(home.package), name("formic")) {
        (Some(name), _) => quote! { ::#name },
        (None, Some(name)) => {
            let module = ident(home.module.to_owned());
            quote! { ::#name::#module }
        }
        // Not built by cargo, or renamed in the manifest of the workspace.
        (None, None) => {
            let name = ident(home.package.to_owned());
            quote! { ::#name }
        }
    }
}

fn ident(name: String) -> Ident {
    Ident::new(&name.replace('-', "_"), Span::call_site())
}

/// Returns the dependencies of a manifest: the names by which the crate knows them, with the names of
/// their packages.
///
/// A TOML parser would be larger than the rest of this crate. Dependencies that only a parser would find
/// (such as a renamed one that is written over several lines) need `#[component(crate = ...)]`.
fn dependencies(manifest: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let mut section = "";
    manifest.lines().filter_map(move |line| {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            section = header.split(']').next().unwrap_or_default().trim();
            // [dependencies.NAME]
            let (table, name) = section.rsplit_once('.')?;
            return is_dependencies(table).then(|| (unquoted(name), unquoted(name)));
        }
        let (key, value) = line.split_once('=')?;
        let (key, value) = (key.trim(), value.trim());
        if let Some((table, name)) = section.rsplit_once('.') {
            if is_dependencies(table) {
                return (key == "package").then(|| (unquoted(name), unquoted(value)));
            }
        }
        // NAME = ..., NAME.workspace = true
        let name = unquoted(key.split('.').next()?);
        let package =
            value.split_once("package").and_then(|(_, rest)| rest.trim_start().strip_prefix('='));
        let package = package.map_or_else(|| name.clone(), unquoted);
        is_dependencies(section).then_some((name, package))
    })
}

/// Returns true for `dependencies`, `dev-dependencies` and `target.'cfg(...)'.dependencies`.
fn is_dependencies(section: &str) -> bool {
    let last = section.rsplit('.').next().unwrap_or_default();
    matches!(last, "dependencies" | "dev-dependencies")
}

/// Returns the text between the first quotes or, if there are none, the text up to a comma, brace or
/// comment.
fn unquoted(text: &str) -> String {
    let text = text.trim();
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''));
    let text = match quote {
        Some(quote) => text[1..].split(quote).next(),
        None => text.split([',', '}', '#']).next(),
    };
    text.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(manifest: &str, path: &str) {
        let found = in_manifest("game", manifest, &ECS).to_string().replace(' ', "");
        assert_eq!(found, path, "{manifest}");
    }

    #[test]
    fn the_path_is_that_of_the_dependency() {
        check("[dependencies]\nformic-ecs = \"0.1\"", "::formic_ecs");
        check("[dependencies]\nformic-ecs.workspace = true", "::formic_ecs");
        check("[dependencies.formic-ecs]\nversion = \"0.1\"", "::formic_ecs");
        check("[target.'cfg(unix)'.dependencies]\n\"formic-ecs\" = \"0.1\"", "::formic_ecs");
        check("[dev-dependencies]\nformic = { version = \"0.1\" }", "::formic::ecs");
        check("[dependencies]\nformic = \"0.1\"\nformic-ecs = \"0.1\"", "::formic_ecs");
    }

    #[test]
    fn a_renamed_dependency_is_found_under_its_new_name() {
        check("[dependencies]\necs = { version = \"0.1\", package = \"formic-ecs\" }", "::ecs");
        check(
            "[dependencies]\nant-hill = { package = \"formic\", version = \"1\" }",
            "::ant_hill::ecs",
        );
        check("[dependencies.hill]\npackage = \"formic\"\nversion = \"1\"", "::hill::ecs");
    }

    #[test]
    fn what_is_no_dependency_is_not_taken_for_one() {
        check("[features]\nformic = []\n[package]\nname = \"formic\"", "::formic_ecs");
        check(
            "[dependencies]\nformic-jobs = \"0.1\"\n[build-dependencies]\nformic = \"1\"",
            "::formic_ecs",
        );
        check("", "::formic_ecs");
    }

    #[test]
    fn the_crates_themselves_know_their_names() {
        let path = |package| in_manifest(package, "", &ECS).to_string().replace(' ', "");
        assert_eq!(path("formic-ecs"), "::formic_ecs");
        assert_eq!(path("formic"), "::formic::ecs");
        let jobs = in_manifest("game", "[dependencies]\nformic = \"1\"", &JOBS);
        assert_eq!(jobs.to_string().replace(' ', ""), "::formic::jobs");
    }
}
