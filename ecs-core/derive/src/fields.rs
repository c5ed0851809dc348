//! The descriptions of fields, and access to them.

use proc_macro2::{Ident, TokenStream as Tokens};
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Fields, Result};

use crate::bundle::pattern;
use crate::{FieldOptions, Options, Saving, component_attributes, is_packed, probe};

/// Generates the function that describes the fields. There is none for values that serde saves, with its
/// own names, for transient ones, and for types without fields.
pub(crate) fn fields_fn(data: &Data, options: &Options) -> Result<Tokens> {
    let texts = |fields: &Fields| {
        let texts = fields.iter().map(|field| {
            let kept = FieldOptions::read(field)?.name;
            match (&kept, &options.saving) {
                (Some(name), Some(Saving::Serde)) => {
                    let message = "#[component(name = ...)] on a field is for plain data: serde saves \
                                   this field, use #[serde(rename = ...)] or #[serde(alias = ...)]";
                    return Err(Error::new_spanned(name, message));
                }
                (Some(name), Some(Saving::Transient)) => {
                    let message = "#[component(name = ...)] on a field is for what is saved: values \
                                   of a transient component are not";
                    return Err(Error::new_spanned(name, message));
                }
                _ => {}
            }
            let kept = kept.map(|name| name.value());
            let name = kept.or_else(|| field.ident.as_ref().map(|name| name.unraw().to_string()));
            let (name, kind) = (name.unwrap_or_default(), &field.ty);
            Ok(quote! { (#name, ::core::any::type_name::<#kind>()) })
        });
        texts.collect::<Result<Vec<Tokens>>>()
    };
    let text = match data {
        Data::Struct(data) => {
            let texts = texts(&data.fields)?;
            quote! { struct_text(&[#(#texts),*]) }
        }
        Data::Enum(data) => {
            let variants = data.variants.iter().map(|variant| {
                if let Some(attribute) = component_attributes(&variant.attrs).next() {
                    let message =
                        "#[component(...)] stands on the type or on a field, not on a variant";
                    return Err(Error::new_spanned(attribute, message));
                }
                let texts = texts(&variant.fields)?;
                let number = variant.discriminant.iter().map(|(_, number)| number);
                let ident = variant.ident.unraw();
                let name = quote! { #ident #(= #number)* }.to_string();
                Ok(quote! { (#name, &[#(#texts),*]) })
            });
            let variants = variants.collect::<Result<Vec<Tokens>>>()?;
            quote! { enum_text(&[#(#variants),*]) }
        }
        Data::Union(_) => return Ok(Tokens::new()),
    };
    let has_none = matches!(data, Data::Struct(data) if data.fields.is_empty());
    if options.saving.is_some() || has_none {
        return Ok(Tokens::new());
    }
    Ok(quote! {
        fn fields() -> _formic_ecs::Name {
            _formic_ecs::__private::#text
        }
    })
}

/// Generates the code that shows the fields to a person and sets them from a text, and the default value.
pub(crate) fn field_access(input: &DeriveInput, options: &Options) -> Tokens {
    if options.buffer.is_some() || !input.generics.params.is_empty() {
        return Tokens::new();
    }
    let default = match &input.data {
        // A type without fields has only one value, but its own `Default` may do more than return it.
        Data::Struct(data) if data.fields.is_empty() => quote! {
            const DEFAULT: ::core::option::Option<fn() -> Self> = {
                #[allow(unused_imports)]
                use _formic_ecs::__private::ProbeFallback as _;
                match _formic_ecs::__private::Probe::<Self>::DEFAULT {
                    ::core::option::Option::Some(own) => ::core::option::Option::Some(own),
                    _ => ::core::option::Option::Some(|| Self {}),
                }
            };
        },
        _ => probe("DEFAULT"),
    };
    let (read, write) = match &input.data {
        // The fields of a packed type cannot be referenced.
        _ if is_packed(input) => return default,
        Data::Struct(data) => {
            let (pattern, read, write) = access_of_fields(&data.fields, 0, options.editable);
            (
                quote! { let Self #pattern = __value; #read },
                quote! { let Self #pattern = __value; #write },
            )
        }
        Data::Enum(data) if !data.variants.is_empty() => access_of_variants(data, options.editable),
        _ => return default,
    };
    let write = if options.editable {
        quote! { |__value, __place, __text| { _ = __place; #write } }
    } else {
        // Fields may be private because unsafe code relies on them.
        quote! { |_, _, __text| _formic_ecs::__private::not_editable(__text) }
    };
    quote! {
        #default
        const FIELDS: ::core::option::Option<_formic_ecs::FieldFns<Self>> = {
            #[allow(unused_imports)]
            use _formic_ecs::__private::{
                ShowDebug as _, ShowFour as _, ShowNothing as _, ShowText as _, ShowThree as _,
                ShowTwo as _,
            };
            ::core::option::Option::Some(_formic_ecs::FieldFns {
                read: |__value, __emit| { _ = &__emit; #read },
                write: #write,
            })
        };
    }
}

/// Returns the pattern that names some fields, and the code that reads and writes them. Their places
/// start at `first`.
fn access_of_fields(fields: &Fields, first: usize, editable: bool) -> (Tokens, Tokens, Tokens) {
    let (pattern, names) = pattern(fields);
    let places = first..first + names.len();
    let texts = fields.iter().zip(0_usize..).map(|(field, number)| {
        field.ident.as_ref().map_or_else(|| number.to_string(), |name| name.unraw().to_string())
    });
    let types = fields.iter().map(|field| &field.ty);
    let probe = quote! { _formic_ecs::__private::FieldProbe::of };
    let read = quote! {
        #( __emit(_formic_ecs::__private::field_text(
            #texts,
            ::core::any::type_name::<#types>(),
            _formic_ecs::__private::offset_in(__value, #names),
            (&&&&&&#probe(#names)).formic_show(#names),
            #editable,
        )); )*
    };
    let write = quote! {
        match __place {
            #( #places => (&&&&&&#probe(&*#names)).formic_set(#names, __text), )*
            _ => _formic_ecs::__private::not_editable(__text),
        }
    };
    (pattern, read, write)
}

/// Returns the code that reads and writes an enum. Its variant is the first of its fields, and is
/// followed by the fields of the variant.
fn access_of_variants(data: &syn::DataEnum, editable: bool) -> (Tokens, Tokens) {
    let is_unit = |variant: &&syn::Variant| variant.fields.is_empty();
    let units: Vec<&Ident> = data.variants.iter().filter(is_unit).map(|it| &it.ident).collect();
    let texts: Vec<String> = units.iter().map(|ident| ident.unraw().to_string()).collect();
    let is_editable = editable && !units.is_empty();
    let arms = data.variants.iter().map(|variant| {
        let (pattern, read, write) = access_of_fields(&variant.fields, 1, editable);
        let (ident, text) = (&variant.ident, variant.ident.unraw().to_string());
        let read = quote! {
            Self::#ident #pattern => {
                __emit(_formic_ecs::__private::variant_text(#text, #is_editable));
                #read
            }
        };
        (read, quote! { Self::#ident #pattern => #write, })
    });
    let (reads, writes): (Vec<Tokens>, Vec<Tokens>) = arms.unzip();
    let write = quote! {
        #( if __place == 0 && __text == #texts {
            *__value = Self::#units {};
            return ::core::result::Result::Ok(());
        } )*
        match __value { #(#writes)* }
    };
    (quote! { match __value { #(#reads)* } }, write)
}
