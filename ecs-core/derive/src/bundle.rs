//! `#[derive(Bundle)]`: a struct as the parts of its fields.

use proc_macro2::{Span, TokenStream as Tokens};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Fields, Result};

use crate::{fields_of_struct, in_scope, root_option};

pub(crate) fn expand(input: &DeriveInput) -> Result<Tokens> {
    let root = root_option(&input.attrs, "bundle")?;
    let fields = fields_of_struct(input, "Bundle")?;
    let ident = &input.ident;
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    let types = fields.iter().map(|field| {
        let kind = &field.ty;
        // An error is shown at the field.
        let span = Span::call_site().located_at(kind.span());
        quote_spanned! { span => <#kind as _formic_ecs::Bundle>::Parts }
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

/// The pattern that takes a struct apart, and the names that it gives to the fields.
pub(crate) fn pattern(fields: &Fields) -> (Tokens, Vec<Tokens>) {
    let names = (0..fields.len()).map(|number| format_ident!("field_{number}"));
    let names: Vec<Tokens> = names.map(|name| quote! { #name }).collect();
    let members = fields.members();
    (quote! { { #(#members: #names),* } }, names)
}

/// A tuple of these; of tuples, where there are more than twelve.
pub(crate) fn tuple(members: &[Tokens]) -> Tokens {
    if members.len() <= 12 {
        return quote! { (#(#members,)*) };
    }
    tuple(&members.chunks(12).map(tuple).collect::<Vec<_>>())
}
