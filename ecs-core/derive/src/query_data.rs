//! `#[derive(QueryData)]`: implements a struct as a row of the data of its fields.

use proc_macro2::{Group, Ident, Span, TokenStream as Tokens, TokenTree};
use quote::{ToTokens, quote};
use syn::{
    Attribute, DeriveInput, Error, Field, Fields, GenericParam, Lifetime, Path, Result, Type,
};

use crate::bundle::{pattern, tuple};
use crate::{fields_of_struct, in_scope, root};

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens> {
    let options = Options::read(&input.attrs)?;
    let fields = fields_of_struct(input, "QueryData")?;
    let mut lifetimes = input.generics.lifetimes();
    let lifetime = lifetimes.next().map(|lifetime| &lifetime.lifetime);
    if let Some(second) = lifetimes.next() {
        let message = "a row of a query has one lifetime, that of the query, or none";
        return Err(Error::new_spanned(second, message));
    }
    let data: Vec<Tokens> = fields.iter().map(data_of).collect::<Result<_>>()?;
    let Some(read_only) = &options.read_only else {
        let implementation = implementation(input, &input.ident, fields, &data, &quote! { Self });
        return Ok(in_scope(options.root, &at_derive(implementation)));
    };
    let Some(lifetime) = lifetime else {
        let message = "a row without a lifetime writes nothing: it is its own read-only form";
        return Err(Error::new_spanned(read_only, message));
    };
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let writing = quote! { #read_only #type_generics };
    let writing = implementation(input, &input.ident, fields, &data, &writing);
    // The read-only form consists of the read-only forms of the fields' data, so it covers nested data as
    // well.
    let root_path = root::path(options.root.as_ref(), &root::ECS);
    let read_data = |root: &Tokens| {
        let types = data.iter().map(|data| quote! { <#data as #root::QueryData>::ReadOnly });
        types.collect::<Vec<_>>()
    };
    let reading = read_data(&quote! { _formic_ecs });
    let reading = implementation(input, read_only, fields, &reading, &quote! { Self });
    let structure =
        structure(input, read_only, fields, &read_data(&root_path), lifetime, &root_path);
    let scope = quote! {
        #writing
        #reading
        #[allow(dead_code)]
        fn writes_nothing #impl_generics () #where_clause {
            fn check<Row: _formic_ecs::ReadOnly>() {}
            check::<#read_only #type_generics>();
        }
    };
    let scope = in_scope(options.root, &at_derive(scope));
    Ok(quote! { #structure #scope })
}

/// Generates the implementation for `ident`, whose fields have this data.
fn implementation(
    input: &DeriveInput,
    ident: &Ident,
    fields: &Fields,
    data: &[Tokens],
    read_only: &Tokens,
) -> Tokens {
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let parts = data.iter().map(|data| quote! { <#data as _formic_ecs::QueryData>::Parts });
    let (_, names) = pattern(fields);
    let (parts, pattern) = if fields.is_empty() {
        (quote! { <() as _formic_ecs::QueryData>::Parts }, quote! { _ })
    } else {
        (tuple(&parts.collect::<Vec<_>>()), tuple(&names))
    };
    let members = fields.members().zip(&names).zip(data).map(|((member, name), data)| {
        quote! { #member: <#data as _formic_ecs::QueryData>::from_parts(#name) }
    });
    let arguments = input.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Lifetime(_) => quote! { '_row },
        GenericParam::Type(parameter) => parameter.ident.to_token_stream(),
        GenericParam::Const(parameter) => parameter.ident.to_token_stream(),
    });
    let arguments = if input.generics.params.is_empty() {
        Tokens::new()
    } else {
        quote! { <#(#arguments),*> }
    };
    quote! {
        #[automatically_derived]
        impl #impl_generics _formic_ecs::QueryData for #ident #type_generics #where_clause {
            type Item<'_row> = #ident #arguments;
            type ReadOnly = #read_only;
            type Parts = #parts;

            #[inline]
            fn from_parts<'_row>(
                #pattern: _formic_ecs::__private::PartsItem<'_row, Self>,
            ) -> Self::Item<'_row> {
                #ident { #(#members),* }
            }
        }
    }
}

/// Moves tokens to the span of the derive. The compiler shows equal errors at one place only once, so a
/// field that is not query data is reported once.
fn at_derive(tokens: Tokens) -> Tokens {
    let moved = tokens.into_iter().map(|mut tree| {
        if let TokenTree::Group(group) = tree {
            tree = TokenTree::Group(Group::new(group.delimiter(), at_derive(group.stream())));
        }
        // The span of `$crate` says which crate it is, so it is kept.
        let is_crate = matches!(&tree, TokenTree::Ident(ident) if *ident == "$crate");
        let place = Span::call_site();
        tree.set_span(if is_crate { tree.span().located_at(place) } else { place });
        tree
    });
    moved.collect()
}

/// Generates the struct for rows that only read.
fn structure(
    input: &DeriveInput,
    ident: &Ident,
    fields: &Fields,
    data: &[Tokens],
    lifetime: &Lifetime,
    root: &Tokens,
) -> Tokens {
    let members = fields.iter().zip(data).map(|(field, data)| {
        let docs = field.attrs.iter().filter(|attribute| attribute.path().is_ident("doc"));
        let (visibility, name, colon) = (&field.vis, &field.ident, &field.colon_token);
        quote! { #(#docs)* #visibility #name #colon <#data as #root::QueryData>::Item<#lifetime> }
    });
    let visibility = &input.vis;
    let (generics, where_clause) = (&input.generics, &input.generics.where_clause);
    let body = match fields {
        Fields::Named(_) => quote! { #where_clause { #(#members),* } },
        _ => quote! { (#(#members),*) #where_clause; },
    };
    let doc = format!("[`{}`], of which nothing can be written.", input.ident);
    quote! {
        #[doc = #doc]
        #[allow(dead_code, missing_debug_implementations)]
        #visibility struct #ident #generics #body
    }
}

/// Returns the data of a field: that of its option, or its own type.
fn data_of(field: &Field) -> Result<Tokens> {
    let mut data = None;
    for attribute in query_data_attributes(&field.attrs) {
        attribute.parse_nested_meta(|meta| {
            if !meta.path.is_ident("from") {
                return Err(meta.error("the option on a field is: from"));
            }
            data = Some(meta.value()?.parse::<Type>()?.to_token_stream());
            Ok(())
        })?;
    }
    Ok(data.unwrap_or_else(|| field.ty.to_token_stream()))
}

/// The options on the struct.
#[derive(Default)]
struct Options {
    /// The path of `formic_ecs`.
    root: Option<Path>,
    /// The name of the read-only form.
    read_only: Option<Ident>,
}

impl Options {
    fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut options = Self::default();
        for attribute in query_data_attributes(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("crate") {
                    options.root = Some(meta.value()?.call(Path::parse_mod_style)?);
                } else if meta.path.is_ident("read_only") {
                    options.read_only = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("the options on this type are: crate, read_only"));
                }
                Ok(())
            })?;
        }
        Ok(options)
    }
}

fn query_data_attributes(all: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    all.iter().filter(|attribute| attribute.path().is_ident("query_data"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn a_struct_that_is_no_row_is_an_error_that_says_why() {
        let check = |input: DeriveInput, message: &str| {
            let error = expand(&input).expect_err("it is refused").to_string();
            assert!(error.contains(message), "{error}");
        };
        check(parse_quote! { enum Row { Entity(Entity) } }, "for structs alone");
        check(
            parse_quote! { struct Row<'a, 'b> { gold: &'a Gold, lamp: &'b Lamp } },
            "one lifetime",
        );
        check(
            parse_quote! { #[query_data(read_only = Reader)] struct Row { entity: Entity } },
            "its own read-only form",
        );
        check(parse_quote! { #[query_data(mutable)] struct Row; }, "crate, read_only");
        check(
            parse_quote! { struct Row<'w> { #[query_data(entity)] gold: &'w Gold } },
            "the option on a field is: from",
        );
    }
}
