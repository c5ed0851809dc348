//! `#[derive(Bundle)]`: implements a struct as a bundle with the parts of its fields.

use proc_macro2::{Span, TokenStream as Tokens};
use quote::{format_ident, quote};
use syn::spanned::Spanned;
use syn::{DeriveInput, Fields, Result, WhereClause, parse_quote_spanned};

use crate::{fields_of_struct, in_scope, root_option};

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens> {
    let root = root_option(&input.attrs, "bundle")?;
    let fields = fields_of_struct(input, "Bundle")?;
    let ident = &input.ident;
    let (impl_generics, type_generics, _) = input.generics.split_for_impl();
    let where_clause = where_clause(input, fields);
    let types = fields.iter().map(|field| {
        let kind = &field.ty;
        quote! { <#kind as _formic_ecs::Bundle>::Parts }
    });
    let types = tuple(&types.collect::<Vec<_>>());
    let (pattern, names) = pattern(fields);
    let parts = tuple(&names);
    let taken = names.iter().map(|name| quote! { _formic_ecs::Bundle::into_parts(#name) });
    let taken = tuple(&taken.collect::<Vec<_>>());
    let members = fields.members();
    let implementation = quote! {
        #[automatically_derived]
        impl #impl_generics _formic_ecs::Bundle for #ident #type_generics #where_clause {
            type Parts = #types;

            #[inline]
            fn into_parts(self) -> Self::Parts {
                let Self #pattern = self;
                #taken
            }

            #[inline]
            fn from_parts(#parts: Self::Parts) -> Self {
                Self { #(#members: _formic_ecs::Bundle::from_parts(#names)),* }
            }
        }
    };
    Ok(in_scope(root, &implementation))
}

/// Returns the bounds of the struct. If it is not generic, they require that each field is a bundle: the
/// compiler then reports one that is not once, at the field, and assumes the bound in the implementation.
fn where_clause(input: &DeriveInput, fields: &Fields) -> WhereClause {
    let mut generics = input.generics.clone();
    let is_generic = !generics.params.is_empty();
    let all = generics.make_where_clause();
    for kind in fields.iter().map(|field| &field.ty).filter(|_| !is_generic) {
        let span = Span::call_site().located_at(kind.span());
        all.predicates.push(parse_quote_spanned! { span => #kind: _formic_ecs::Bundle });
    }
    all.clone()
}

/// Returns a pattern that destructures a struct, and the names that it gives to the fields.
pub(crate) fn pattern(fields: &Fields) -> (Tokens, Vec<Tokens>) {
    let names = (0..fields.len()).map(|number| format_ident!("__field_{number}"));
    let names: Vec<Tokens> = names.map(|name| quote! { #name }).collect();
    let members = fields.members();
    (quote! { { #(#members: #names),* } }, names)
}

/// Returns a tuple of these members. More than twelve become nested tuples.
pub(crate) fn tuple(members: &[Tokens]) -> Tokens {
    if members.len() <= 12 {
        return quote! { (#(#members,)*) };
    }
    tuple(&members.chunks(12).map(tuple).collect::<Vec<_>>())
}
