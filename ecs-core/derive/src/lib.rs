//! The derive macros of `ecs-core`, and that of `ecs-jobs`. The traits of the same names document what
//! they accept.

mod bundle;
mod fields;
mod query_data;
mod root;
mod system_param;

use proc_macro::TokenStream;
use proc_macro2::{Ident, Span, TokenStream as Tokens};
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, LitInt, LitStr, Member, Path, Result,
    parse_macro_input, parse_quote,
};

use crate::bundle::pattern;
use crate::fields::{field_access, fields_fn};

/// Implements `formic_ecs::Component`, or `formic_ecs::BufferElement` with the option
/// `#[component(buffer = N)]`.
#[proc_macro_derive(Component, attributes(component))]
pub fn derive_component(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `formic_ecs::Bundle` for a struct of bundles.
#[proc_macro_derive(Bundle, attributes(bundle))]
pub fn derive_bundle(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    bundle::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `formic_ecs::QueryData` for a struct of query data.
#[proc_macro_derive(QueryData, attributes(query_data))]
pub fn derive_query_data(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    query_data::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `formic_jobs::SystemParam` for a struct of parameters.
#[proc_macro_derive(SystemParam, attributes(system_param))]
pub fn derive_system_param(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    system_param::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Implements `formic_ecs::HashState` by hashing every field.
#[proc_macro_derive(HashState)]
pub fn derive_hash_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand_hash_state(input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand_hash_state(mut input: DeriveInput) -> Result<Tokens> {
    for parameter in input.generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(_formic_ecs::HashState));
    }
    let hash_fields = hash_fields(&input.data)?;
    let ident = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let implementation = quote! {
        #[automatically_derived]
        impl #impl_generics _formic_ecs::HashState for #ident #type_generics #where_clause {
            fn hash_state(&self, __hasher: &mut _formic_ecs::StateHasher) {
                let __value = self;
                #hash_fields
            }
        }
    };
    Ok(in_scope(None, &implementation))
}

/// Generates `name` from the option, if it is given.
fn name_fn(options: &Options) -> Tokens {
    let name = options.name.iter();
    quote! { #( fn name() -> &'static str { #name } )* }
}

/// Generates the description of the type, which is compiled only here.
fn info_fn() -> Tokens {
    quote! {
        fn info() -> _formic_ecs::__private::InfoOf<Self> {
            _formic_ecs::__private::InfoOf::of()
        }
    }
}

/// The options of `#[component(...)]` on a type.
const OPTIONS: &[&str] = &[
    "enableable",
    "tracked",
    "unique",
    "cleanup",
    "hides",
    "name",
    "buffer",
    "serde",
    "transient",
    "crate",
    "unhashed",
    "was",
    "editable",
];

fn expand(input: &DeriveInput) -> Result<Tokens> {
    let options = Options::read(input)?;
    let map_entities = map_entities(&input.data)?;
    let ident = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    // Only a concrete type can be probed for its capabilities, not a generic one.
    let probed = if input.generics.params.is_empty() {
        let clone = if options.unique { Tokens::new() } else { probe("CLONE") };
        let bytes = probe("BYTES");
        let map = if map_entities.is_none() { probe("MAP_ENTITIES") } else { Tokens::new() };
        // Buffers are formatted element by element, if at all: the constant belongs to `Component`.
        let debug = if options.buffer.is_none() { probe("DEBUG") } else { Tokens::new() };
        let info = if options.buffer.is_none() { info_fn() } else { Tokens::new() };
        quote! { #clone #bytes #map #debug #info }
    } else {
        Tokens::new()
    };
    let codec = codec(input, &options);
    let (implemented, inline) = match &options.buffer {
        Some(count) => (quote!(BufferElement), quote! { type Inline = [Self; #count]; }),
        None => (quote!(Component), Tokens::new()),
    };
    let hash = hash(input, &options, &implemented)?;
    let &Options { enableable, tracked, cleanup, hides, .. } = &options;
    let flags = [("CLEANUP", cleanup), ("HIDES", hides)];
    let flags = flags.iter().filter(|(_, set)| *set).map(|(constant, _)| {
        let constant = Ident::new(constant, Span::call_site());
        quote! { const #constant: bool = true; }
    });
    let name = name_fn(&options);
    let field_access = field_access(input, &options);
    let fields = fields_fn(&input.data, &options)?;
    let was = match options.was.as_slice() {
        [] => Tokens::new(),
        was => quote! { const WAS: &'static [&'static str] = &[#(#was),*]; },
    };
    let implementation = quote! {
        #[automatically_derived]
        impl #impl_generics _formic_ecs::#implemented for #ident #type_generics #where_clause {
            #inline
            const ENABLEABLE: bool = #enableable;
            const TRACKED: bool = #tracked;
            #(#flags)*
            #probed
            #map_entities
            #codec
            #hash
            #field_access
            #was
            #name
            #fields
        }
    };
    Ok(in_scope(options.root, &implementation))
}

/// Wraps items that name `_formic_ecs` in a scope in which that is the path of the crate.
fn in_scope(root: Option<Path>, items: &Tokens) -> Tokens {
    let root = root::path(root.as_ref(), &root::ECS);
    quote! {
        const _: () = {
            use #root as _formic_ecs;
            #items
        };
    }
}

/// Returns the path of `formic_ecs` from `#[ATTRIBUTE(crate = PATH)]`, if it is given.
fn root_option(attributes: &[Attribute], name: &str) -> Result<Option<Path>> {
    let mut root = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(name)) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("crate") {
                return Err(meta.error("the option on this type is: crate"));
            }
            root = Some(meta.value()?.call(Path::parse_mod_style)?);
            Ok(())
        })?;
    }
    Ok(root)
}

/// Returns the fields of the input, which must be a struct.
fn fields_of_struct<'a>(input: &'a DeriveInput, name: &str) -> Result<&'a Fields> {
    match &input.data {
        Data::Struct(data) => Ok(&data.fields),
        _ => Err(Error::new_spanned(&input.ident, format!("{name} is derived for structs alone"))),
    }
}

/// Generates a constant of the trait whose value is probed from the type itself.
fn probe(constant: &str) -> Tokens {
    let constant = Ident::new(constant, Span::call_site());
    let kind = match constant.to_string().as_str() {
        "CLONE" => quote! { fn(&Self) -> Self },
        "BYTES" => quote! { fn(&[Self]) -> &[u8] },
        "DEBUG" => quote! { _formic_ecs::DebugFn<Self> },
        "DEFAULT" => quote! { fn() -> Self },
        _ => map_fn(),
    };
    probe_typed(&constant, &quote! { ::core::option::Option<#kind> })
}

fn probe_typed(constant: &Ident, kind: &Tokens) -> Tokens {
    quote! {
        const #constant: #kind = {
            #[allow(unused_imports)]
            use _formic_ecs::__private::ProbeFallback as _;
            _formic_ecs::__private::Probe::<Self>::#constant
        };
    }
}

/// Generates the codec that saves values in a snapshot.
fn codec(input: &DeriveInput, options: &Options) -> Tokens {
    let value = match (&options.saving, &input.data) {
        (Some(Saving::Serde), _) => quote! { _formic_ecs::Codec::serde() },
        (Some(Saving::Transient), _) => quote! { _formic_ecs::Codec::transient() },
        (None, Data::Struct(data)) if data.fields.is_empty() => {
            quote! { _formic_ecs::Codec::tag(|_| ::core::result::Result::Ok(Self {})) }
        }
        (None, _) if input.generics.params.is_empty() => {
            let constant = Ident::new("CODEC", Span::call_site());
            return probe_typed(&constant, &quote! { _formic_ecs::Codec<Self> });
        }
        (None, _) => return Tokens::new(),
    };
    quote! { const CODEC: _formic_ecs::Codec<Self> = #value; }
}

/// Generates the rule by which the state hash reads values.
fn hash(input: &DeriveInput, options: &Options, implemented: &Tokens) -> Result<Tokens> {
    let rule = quote! { _formic_ecs::HashRule };
    let otherwise = if options.unhashed {
        quote! { #rule::Unhashed }
    } else if matches!(options.saving, Some(Saving::Serde)) {
        quote! { #rule::serde() }
    } else if is_packed(input) {
        // Its fields cannot be referenced, so it must be plain data.
        quote! { #rule::Bytes(_formic_ecs::__private::bytes_of_packed::<Self>()) }
    } else {
        let hash_fields = hash_fields(&input.data)?;
        quote! { #rule::Fields(|__value, __hasher| { #hash_fields }) }
    };
    let is_probed = !options.unhashed && input.generics.params.is_empty();
    let value = if is_probed {
        quote! {
            match <Self as _formic_ecs::#implemented>::BYTES {
                ::core::option::Option::Some(bytes) => #rule::Bytes(bytes),
                ::core::option::Option::None => #otherwise,
            }
        }
    } else {
        otherwise
    };
    Ok(quote! { const HASH: #rule<Self> = #value; })
}

fn is_packed(input: &DeriveInput) -> bool {
    let mut packed = false;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("repr")) {
        // The compiler reports attributes that cannot be parsed.
        drop(attribute.parse_nested_meta(|meta| {
            packed |= meta.path.is_ident("packed");
            if meta.input.peek(syn::token::Paren) {
                let content;
                syn::parenthesized!(content in meta.input);
                drop(content.parse::<Tokens>());
            }
            Ok(())
        }));
    }
    packed
}

/// Generates the statements that hash every field of `__value` with `__hasher`.
fn hash_fields(data: &Data) -> Result<Tokens> {
    let of_fields = |fields: &Fields| {
        let (pattern, names) = pattern(fields);
        (pattern, quote! { #((&&&HashProbe(#names)).formic_hash_to(__hasher);)* })
    };
    let seen = match data {
        Data::Struct(data) => {
            let (pattern, hash_fields) = of_fields(&data.fields);
            quote! { let Self #pattern = __value; #hash_fields }
        }
        Data::Enum(data) if data.variants.is_empty() => quote! { match *__value {} },
        Data::Enum(data) => {
            let arms = data.variants.iter().zip(0_u64..).map(|(variant, number)| {
                let (pattern, hash_fields) = of_fields(&variant.fields);
                let ident = &variant.ident;
                quote! { Self::#ident #pattern => { __hasher.write_u64(#number); #hash_fields } }
            });
            quote! { match __value { #(#arms)* } }
        }
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span,
                "the state hash cannot see into a union",
            ));
        }
    };
    Ok(quote! {
        #[allow(unused_imports)]
        use _formic_ecs::__private::{HashProbe, HashBytes as _, HashElements as _, HashByState as _};
        _ = __hasher;
        #seen
    })
}

/// Returns the type of a function that maps the entities inside a value.
fn map_fn() -> Tokens {
    quote! {
        fn(&mut Self, &mut dyn ::core::ops::FnMut(_formic_ecs::Entity) -> _formic_ecs::Entity)
    }
}

/// The options on a type.
#[derive(Default)]
struct Options {
    enableable: bool,
    tracked: bool,
    unique: bool,
    cleanup: bool,
    hides: bool,
    name: Option<LitStr>,
    /// The type is an element of buffers, of which each has this many in the chunk.
    buffer: Option<LitInt>,
    saving: Option<Saving>,
    /// The path of `formic_ecs`.
    root: Option<Path>,
    unhashed: bool,
    editable: bool,
    /// Earlier names of the type.
    was: Vec<LitStr>,
}

/// The way to save values, if the type itself does not determine it.
enum Saving {
    Serde,
    Transient,
}

impl Options {
    /// Reads the options on the type.
    fn read(input: &DeriveInput) -> Result<Self> {
        let mut options = Self::default();
        for attribute in component_attributes(&input.attrs) {
            attribute.parse_nested_meta(|meta| {
                if !OPTIONS.iter().any(|option| meta.path.is_ident(option)) {
                    let allowed = OPTIONS.join(", ");
                    return Err(meta.error(format!("the options on this type are: {allowed}")));
                }
                if meta.path.is_ident("enableable") {
                    options.enableable = true;
                } else if meta.path.is_ident("tracked") {
                    options.tracked = true;
                } else if meta.path.is_ident("unique") {
                    options.unique = true;
                } else if meta.path.is_ident("cleanup") {
                    options.cleanup = true;
                } else if meta.path.is_ident("hides") {
                    options.hides = true;
                } else if meta.path.is_ident("unhashed") {
                    options.unhashed = true;
                } else if meta.path.is_ident("editable") {
                    options.editable = true;
                } else if meta.path.is_ident("name") {
                    options.name = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("was") {
                    options.was.push(meta.value()?.parse()?);
                } else if meta.path.is_ident("crate") {
                    options.root = Some(meta.value()?.call(Path::parse_mod_style)?);
                } else if meta.path.is_ident("buffer") {
                    options.buffer = Some(element_count(meta.value()?.parse()?)?);
                } else {
                    let serde = meta.path.is_ident("serde");
                    let saving = if serde { Saving::Serde } else { Saving::Transient };
                    if options.saving.replace(saving).is_some() {
                        return Err(meta.error("serde and transient exclude each other"));
                    }
                }
                Ok(())
            })?;
        }
        if options.buffer.is_some() && (options.cleanup || options.hides || options.editable) {
            let message = "cleanup, hides and editable are not for buffers";
            return Err(Error::new_spanned(&input.ident, message));
        }
        Ok(options)
    }
}

/// Returns the number of a buffer's elements in the chunk as a `usize` literal, whatever suffix it has.
fn element_count(count: LitInt) -> Result<LitInt> {
    let number: usize = count.base10_parse()?;
    Ok(LitInt::new(&format!("{number}usize"), count.span()))
}

/// Generates the function that maps the fields marked `#[component(entity)]`, if there are any.
fn map_entities(data: &Data) -> Result<Option<Tokens>> {
    let fields = match data {
        Data::Struct(data) => &data.fields,
        Data::Enum(data) => {
            for field in data.variants.iter().flat_map(|variant| &variant.fields) {
                if is_entity(field)? {
                    let message =
                        "entities inside an enum: implement MapEntities and Component by hand";
                    return Err(Error::new_spanned(field, message));
                }
            }
            return Ok(None);
        }
        Data::Union(data) => {
            return Err(Error::new(data.union_token.span, "a union cannot be a component"));
        }
    };
    let members = entity_members(fields)?;
    if members.is_empty() {
        return Ok(None);
    }
    let map_fn = map_fn();
    Ok(Some(quote! {
        const MAP_ENTITIES: ::core::option::Option<#map_fn> = ::core::option::Option::Some(|__value, __map| {
            #( _formic_ecs::MapEntities::map_entities(&mut __value.#members, __map); )*
        });
    }))
}

fn entity_members(fields: &Fields) -> Result<Vec<Member>> {
    let mut members = Vec::new();
    for (member, field) in fields.members().zip(fields) {
        if is_entity(field)? {
            members.push(member);
        }
    }
    Ok(members)
}

fn is_entity(field: &Field) -> Result<bool> {
    Ok(FieldOptions::read(field)?.entity)
}

fn component_attributes(all: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    all.iter().filter(|attribute| attribute.path().is_ident("component"))
}

/// The options on a field.
#[derive(Default)]
struct FieldOptions {
    entity: bool,
    /// The name of the field in snapshots.
    name: Option<LitStr>,
}

impl FieldOptions {
    fn read(field: &Field) -> Result<Self> {
        let mut options = Self::default();
        for attribute in component_attributes(&field.attrs) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("entity") {
                    options.entity = true;
                } else if meta.path.is_ident("name") {
                    options.name = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("the options on a field are: entity, name"));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_that_would_have_no_effect_is_an_error_that_names_it() {
        let check = |input: DeriveInput, message: &str| {
            let error = expand(&input).expect_err("it is refused").to_string();
            assert!(error.contains(message), "{error}");
        };
        check(
            parse_quote! {
                #[component(serde)]
                struct Name {
                    #[component(name = "title")]
                    text: String,
                }
            },
            "#[serde(rename = ...)]",
        );
        check(
            parse_quote! {
                #[component(transient)]
                enum Cache {
                    Full(#[component(name = "value")] u32),
                }
            },
            "values of a transient component",
        );
        check(
            parse_quote! {
                enum Mood {
                    #[component(name = "happy")]
                    Glad,
                }
            },
            "not on a variant",
        );
        check(
            parse_quote! {
                struct Gold(#[component(serde)] u32);
            },
            "the options on a field are: entity, name",
        );
        check(
            parse_quote! {
                #[component(buffer = 4, editable)]
                struct Step(u32);
            },
            "not for buffers",
        );
    }
}
